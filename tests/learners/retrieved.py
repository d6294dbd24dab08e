"""What the retriever's towers make of utterances, number by number, for the oracle."""

from __future__ import annotations

from collections.abc import Sequence, Set

import torch

from handful.learners.retriever import RetrieverLearner
from handful.types import Episode, Utterance
from oracles import baselines as oracle

Span = tuple[int, int]  # first and last word


class Towers:
    def __init__(self, learner: RetrieverLearner) -> None:
        self._learner = learner
        network = learner.network
        self._weights = {
            name: getattr(network, name).weight.tolist()
            for name in ("asked_sentence", "shown_sentence", "asked_span", "shown_span")
        }

    def sentences_near(self, asked: Utterance, shown: Utterance) -> float:
        """The cosine of e(x) = V f(x) in one tower with that in the other."""
        one, other = self._seen(asked)[1], self._seen(shown)[1]
        return oracle.cosine(
            oracle.times(self._weights["asked_sentence"], one), oracle.times(self._weights["shown_sentence"], other)
        )

    def spans_near(self, asked: Utterance, span: Span, shown: Utterance, other: Span) -> float:
        """The cosine of e(i, j) = W [h_i; h_j] in one tower with that in the other."""
        ends = [self._ends(asked, span), self._ends(shown, other)]
        return oracle.cosine(
            oracle.times(self._weights["asked_span"], ends[0]), oracle.times(self._weights["shown_span"], ends[1])
        )

    def slots_near(
        self, asked: Utterance, span: Span, support: Sequence[Utterance], keys: Set[str]
    ) -> dict[str, float]:
        """Of each slot, the cosine of its nearest span."""
        found: dict[str, float] = {}
        for shown in support:
            for slot in shown.slots:
                if slot.key in keys:
                    near = self.spans_near(asked, span, shown, (slot.start, slot.end - 1))
                    found[slot.key] = max(near, found.get(slot.key, near))
        return found

    def losses(self, episode: Episode) -> tuple[float, float]:
        """Of intents and of slots."""
        config = self._learner.config
        intent = oracle.batch_softmax(
            [[self.sentences_near(q, s) / config.temperature for s in episode.support] for q in episode.query],
            [u.intent for u in episode.query],
            [u.intent for u in episode.support],
            None,
        )
        rows, labels = [], []
        for u in episode.query:
            keys = {(slot.start, slot.end - 1): slot.key for slot in u.slots}
            for first in range(len(u.words)):
                for last in range(first, len(u.words)):
                    if last - first < config.longest:
                        rows.append(
                            [
                                self.spans_near(u, (first, last), s, (slot.start, slot.end - 1)) / config.temperature
                                for s in episode.support
                                for slot in s.slots
                            ]
                        )
                        labels.append(keys.get((first, last), ""))
        shown = [slot.key for u in episode.support for slot in u.slots]
        return intent, oracle.batch_softmax(rows, labels, shown, self._learner.network.no_slot.item())

    def _ends(self, u: Utterance, span: Span) -> list[float]:
        words, _ = self._seen(u)
        return [*words[span[0]], *words[span[1]]]

    def _seen(self, u: Utterance) -> tuple[list[list[float]], list[float]]:
        with torch.no_grad():
            words, (sentence,) = self._learner.network.body([u.sentence])
        return words.tolist(), sentence.tolist()
