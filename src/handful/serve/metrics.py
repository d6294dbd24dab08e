"""What Prometheus may read: counts and times, never texts."""

from __future__ import annotations

import os
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """Of one server: a registry of its own, so that two in a process do not count each other's."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Histogram(
            "handful_request_seconds",
            "Seconds of a request, by endpoint and status.",
            ("method", "endpoint", "status"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.batches = Histogram(
            "handful_batch_sentences", "Sentences of a forward pass.", buckets=_SIZES, registry=self.registry
        )
        self.parses = Counter(
            "handful_parses", "Parsed sentences: understood, rejected (out of scope), or empty.", ("result",),
            registry=self.registry,
        )  # fmt: skip
        self.turned_away = Counter(
            "handful_turned_away", "Requests that were refused unheard, by reason.", ("reason",), registry=self.registry
        )
        self.in_flight = self._gauge("handful_requests_in_flight", "Requests under way.")
        self.changes = Counter("handful_changes", "Acknowledged changes of bots.", registry=self.registry)
        # What the library calls an Info, which cannot be gathered from several processes.
        self.model = self._gauge("handful_model_info", "The model that bots are parsed with.", ("identity",))
        self.loaded = self._gauge("handful_bots_loaded", "Bots in memory.")

    def _gauge(self, name: str, what: str, labels: Sequence[str] = ()) -> Gauge:
        """Of several processes, the sum over those that live."""
        return Gauge(name, what, labels, registry=self.registry, multiprocess_mode="livesum")

    def text(self) -> bytes:
        """Where several processes share a port, of all of them, whichever is asked."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self.registry)
        gathered = CollectorRegistry()
        MultiProcessCollector(gathered)
        return generate_latest(gathered)
