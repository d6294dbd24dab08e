"""What Prometheus may read: counts and times, never texts."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.exposition import generate_latest

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
        self.in_flight = Gauge("handful_requests_in_flight", "Requests under way.", registry=self.registry)
        self.changes = Counter("handful_changes", "Acknowledged changes of bots.", registry=self.registry)
        self.model = Info("handful_model", "The model that bots are parsed with.", registry=self.registry)
        self._loaded = Gauge("handful_bots_loaded", "Bots in memory.", registry=self.registry)

    def watch(self, loaded: Callable[[], int]) -> None:
        self._loaded.set_function(loaded)

    def text(self) -> bytes:
        return generate_latest(self.registry)
