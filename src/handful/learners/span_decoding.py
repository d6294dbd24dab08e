"""From views of sentences to predictions: intents and slots decided together, many sentences at once, in numpy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Self

import numpy as np

from handful.data.bio import OUTSIDE, tags_of
from handful.learners.bot_heads import BotHeads, EncodedSupport, fit_heads
from handful.learners.intent_slots import Compared, IntentSlots
from handful.learners.slot_paths import labelled_paths
from handful.learners.span_model import Encodings, Seen, SpanModel
from handful.learners.span_support import SpanSupport
from handful.learners.support import ranked
from handful.model.nearness import ClassMeans
from handful.model.prototypes import Floats
from handful.model.segments import best_segmentations, log_sum, span_probabilities
from handful.model.spans import Likeness, Members, Numbers, class_subset
from handful.model.views import Names, Views
from handful.types import Prediction, Slot, Utterance, Words

Hints = Sequence[Sequence[Slot]]  # of each sentence the spans that could be some slot

_OUTSIDE_EXAMPLES = 2048  # of the words outside all slots; a bot of ten thousand examples has no need of more
_MOST_INTENTS = 8  # of a sentence, whose slots are looked at before one is chosen: a thousand alike must not cost more
_COMPARED_AT_ONCE = 512  # intents and spans; where a bot has more, a sentence meets those of its own intents
_NUMBERS_AT_A_TIME = 1 << 23  # what the spans of a long list of sentences may take of the memory
# Of a span that a lookup table or a regular expression names. For the maps as they are shipped 2.0 was right: with
# tables of other utterances' values ATIS's dev intents gain 0.4 points of F1, TOP, whose values are ambiguous, loses
# 0.5, and more loses more. Fitted maps score spans higher.
HINT_BONUS = 3.0


class AdaptedSpans:
    def __init__(
        self,
        model: SpanModel,
        support: Sequence[Utterance],
        *,
        encodings: Encodings | None = None,
        descriptions: Mapping[str, str] | None = None,
        heads: BotHeads | None = None,
        start: BotHeads | None = None,
    ) -> None:
        """`encodings` has what is known of examples already, and is given what is new. `descriptions` are the bot's
        own, beside the model's. `heads`, where they are known, are not fitted again; `start` are those of the bot
        before an edit, and change how long the fit takes."""
        shown = SpanSupport(support, {**model.config.descriptions, **(descriptions or {})})
        encodings = Encodings() if encodings is None else encodings
        encoded = EncodedSupport.of(shown, [utterance.sentence for utterance in support], model, encodings)
        with model.undisturbed():
            heads = heads or fit_heads(encoded, model.maps, model.config.fitting, start=start)
        self._use(model, encoded, heads)

    @classmethod
    def with_heads(cls, model: SpanModel, encoded: EncodedSupport, heads: BotHeads) -> Self:
        adapted = cls.__new__(cls)
        adapted._use(model, encoded, heads)
        return adapted

    def _use(self, model: SpanModel, encoded: EncodedSupport, heads: BotHeads) -> None:
        self._model, self.encoded, self.heads = model, encoded, heads
        self._shown = shown = encoded.shown
        self._measures = measures = heads.maps.measures
        self._numbers_a_word, self._numbers_a_span = 0, heads.maps.width
        seen = encoded.seen
        names = Names(encoded.intent_names, *heads.maps.slot_names(encoded.slot_names))
        parts = ((np.array(rows), self._views([seen[row] for row in rows])) for rows in self._batches(seen))
        with model.undisturbed():
            self._members = shown.members_in(parts, names)
        self._intent_means = ClassMeans.of(self._members.intents)
        outside = _sampled(class_subset(self._members.types, [len(shown.labels.slots)]))
        self._like_outside = Likeness(outside, measures.types)
        every = range(len(shown.labels.intents))
        small = len(self._members.spans.classes) + len(every) <= _COMPARED_AT_ONCE
        self._whole = IntentSlots(shown, self._members, measures, every) if small else None
        self._numbers_a_word = self._largest(self._members.types)
        self._numbers_a_span = max(heads.maps.width, self._largest(self._members.spans))
        # Two scorers ask for the same sentences one after the other.
        self._last: tuple[tuple[Words, ...], list[Seen]] | None = None

    @property
    def label_texts(self) -> tuple[Sequence[Words], Sequence[Words]]:
        """Of intents and of slots, as they are encoded."""
        return self._shown.intent_texts, self._shown.slot_texts

    def predict(
        self, sentences: Sequence[Words], *, tag_candidates: Set[str] | None = None, hints: Hints | None = None
    ) -> list[Prediction]:
        """`hints` are spans that a table or a pattern of the bot names: they get a bonus, no more."""
        if not sentences:
            return []
        last = self._last  # read once: another thread may be predicting, too
        if last is None or last[0] != tuple(sentences):
            self._last = last = (tuple(sentences), self._model.see(sentences))
        seen = last[1]
        found: dict[int, Prediction] = {}
        with self._model.undisturbed():
            for rows in self._batches(seen):
                asked = _Asked(
                    [seen[row] for row in rows], tag_candidates, None if hints is None else [hints[row] for row in rows]
                )
                found |= zip(rows, self._decoded(asked)[2], strict=True)
        return [found[row] for row in range(len(seen))]

    def own_predictions(self, rows: Numbers, intents: Floats) -> tuple[Floats, Floats, list[Prediction]]:
        """What is said of the bot's own examples `rows`, each without itself, given the log-probabilities of its
        intents [n, N]: what each intent scores, how near its other examples are, and the predictions."""
        scores, cosines = np.empty(intents.shape), np.empty(intents.shape)
        predictions: dict[int, Prediction] = {}
        alone = self._shown.alone()
        with self._model.undisturbed():
            for places in self._batches([self.encoded.seen[row] for row in rows]) if len(rows) else ():
                own = rows[places]
                asked = _Asked(
                    [self.encoded.seen[row] for row in own],
                    None,
                    None,
                    own,
                    [alone[row] for row in own],
                    intents[places],
                )
                scores[places], cosines[places], found = self._decoded(asked)
                predictions |= zip(places, found, strict=True)
        return scores, cosines, [predictions[place] for place in range(len(rows))]

    def nearest_spans(self, words: Words, spans: Sequence[Slot], count: int) -> list[list[tuple[int, Slot, float]]]:
        """Of each span of a sentence the examples' slots that it is likest to, whatever their label: the number of the
        utterance, its slot, and the cosine."""
        views = self._views(self._model.see([words]))
        members = self._members.spans
        found: list[list[tuple[int, Slot, float]]] = []
        for span in spans:
            cosines = np.where(
                members.named, -2.0, members.vectors @ views.spans[0, span.start, span.end - span.start - 1]
            )
            best = np.argsort(-cosines, kind="stable")[:count]
            found.append(
                [
                    (*self._shown.span_of(members, int(place)), float(cosines[place]))
                    for place in best
                    if cosines[place] > -2
                ]
            )
        return found

    def _batches(self, seen: Sequence[Seen]) -> Iterator[list[int]]:
        """Sentences of like lengths, as many as fit the memory that their spans may take, with their vectors or with
        their likenesses to the examples that they meet: a short one should not pay for a long one."""
        batch: list[int] = []
        for row in sorted(range(len(seen)), key=lambda row: len(seen[row][0])):
            length = len(seen[row][0])
            spans = min(self._shown.longest, length) * self._numbers_a_span
            size = (len(batch) + 1) * length * (spans + self._numbers_a_word)
            if batch and size > _NUMBERS_AT_A_TIME:
                yield batch
                batch = []
            batch.append(row)
        yield batch

    def _largest(self, members: Members) -> int:
        """The most members that a sentence is compared with at once: those of a small bot, or of some intents."""
        slots = self._shown.open_slots
        sizes = np.bincount(members.classes, minlength=slots.shape[1])[: slots.shape[1]]
        if self._whole is not None:
            return int(sizes.sum())
        return int(np.sort(slots @ sizes)[-_MOST_INTENTS:].sum())

    def _views(self, seen: Sequence[Seen]) -> Views:
        states, means = np.concatenate([own for own, _ in seen]), np.stack([mean for _, mean in seen])
        rows = self.heads.maps.views(states.astype(np.float32, copy=False))
        lengths = [len(own) for own, _ in seen]
        return Views.of(rows, means.astype(np.float32, copy=False), lengths, self._shown.longest)

    def _decoded(self, asked: _Asked) -> tuple[Floats, Floats, list[Prediction]]:
        """What each intent scores, how near its examples are, [B, N] each, and what is said of each sentence."""
        views = self._views(asked.seen)
        count, steps = views.outside.shape
        but = asked.but
        intents = asked.intents
        if intents is None:
            intents = self.heads.intents.log_probabilities(views.sentences).astype(np.float64)
        cosines = self._intent_means.cosines(views.sentences, but)
        if not self._shown.labels.slots:  # nothing to find, and no evidence from it
            return intents, cosines, self._without_slots(intents, cosines, views.lengths)
        flat = views.types.reshape(count * steps, -1)
        owners = None if but is None else np.repeat(but, steps)
        outside = views.outside + self._like_outside(flat, owners).reshape(count, steps)

        rows, chosen = self._likeliest(intents)
        compared = list(self._compared(views, rows, chosen, asked))
        best = np.empty((len(rows), *views.borders.shape[1:]))
        for part in compared:
            best[part.pairs] = part.best(rows, chosen)
        paths, scores = best_segmentations(outside[rows], best, [views.lengths[row] for row in rows])
        gains = np.maximum(scores - _all_outside(outside, views.lengths)[rows], 0.0)
        intents[rows, chosen] += self._model.config.evidence * gains
        kept = np.flatnonzero(chosen == intents.argmax(1)[rows])  # one a sentence, in order

        paths = [paths[pair] for pair in kept] if asked.allowed is None else None
        once = self._shown if self._model.config.slot_repeats == "shown" else None
        paths, best, labels, whole = labelled_paths(
            compared, chosen[kept], outside, views.lengths, paths, asked.allowed, once, but
        )
        shares = span_probabilities(outside, whole, views.lengths, paths)
        probabilities = np.exp(intents - log_sum(intents)[:, None])
        predictions = [
            self._prediction(
                float(cosines[row, intents[row].argmax()]),
                probabilities[row],
                path,
                labels[row],
                best[row],
                whole[row],
                shares[row],
                views.lengths[row],
            )
            for row, path in enumerate(paths)
        ]
        return intents, cosines, predictions

    def _without_slots(self, intents: Floats, cosines: Floats, lengths: Sequence[int]) -> list[Prediction]:
        probabilities = np.exp(intents - log_sum(intents)[:, None])
        return [
            Prediction(ranked(self._shown.labels.intents, own), (OUTSIDE,) * length, (), (), float(near[row.argmax()]))
            for row, own, near, length in zip(intents, probabilities, cosines, lengths, strict=True)
        ]

    def _likeliest(self, intents: Floats) -> tuple[Numbers, Numbers]:
        """Sentences and their likeliest intents, the ones whose slots have a say; sentences in order."""
        most = min(_MOST_INTENTS, intents.shape[1]) if self._model.config.evidence else 1
        chosen = np.argsort(-intents, axis=1, kind="stable")[:, :most]
        return np.repeat(np.arange(len(intents)), most), chosen.ravel()

    def _compared(self, views: Views, rows: Numbers, chosen: Numbers, asked: _Asked) -> Iterator[Compared]:
        """A bot of few examples: all sentences with all of them at once. A large one: sentence by sentence, each with
        the examples of its own intents."""
        whole = self._whole
        if whole is not None:
            yield self._part(views, np.arange(len(views.lengths)), np.arange(len(rows)), whole, asked)
            return
        for row in range(len(views.lengths)):
            pairs = np.flatnonzero(rows == row)
            slots = IntentSlots(self._shown, self._members, self._measures, chosen[pairs])
            yield self._part(views, np.array([row]), pairs, slots, asked)

    def _part(self, views: Views, rows: Numbers, pairs: Numbers, slots: IntentSlots, asked: _Asked) -> Compared:
        but = None if asked.but is None else asked.but[rows]
        scores = slots.scores(views, rows, but)
        if asked.hints is not None:
            slots.hint(scores, [asked.hints[row] for row in rows], HINT_BONUS)
        closed = None
        if but is not None:
            own_intents = np.asarray(self._shown.labels.intent_numbers)[but]
            closed = slots.closed_to(own_intents, [asked.alone[row] for row in rows])
        return Compared(rows, pairs, slots, scores, closed)

    def _prediction(
        self,
        near: float,
        probabilities: Floats,
        path: Sequence[tuple[int, int]],
        labels: Numbers,
        best: Floats,
        whole: Floats,
        shares: Sequence[float],
        length: int,
    ) -> Prediction:
        ranking = ranked(self._shown.labels.intents, probabilities)
        slots, confidences = [], []
        for (start, end), share in zip(path, shares, strict=True):
            key = self._shown.labels.slots[labels[start, end - start - 1]]
            slots.append(self._shown.labels.named(Slot(key, start, end)))
            # Of all segmentations those with this span, and of those the ones where it has this label.
            place = start, end - start - 1
            confidences.append(min(share * float(np.exp(best[place] - whole[place])), 1.0))
        return Prediction(ranking, tags_of(slots, length), tuple(slots), tuple(confidences), near)


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Sentences of a batch, and what is to be known of them."""

    seen: Sequence[Seen]
    allowed: Set[str] | None  # tags
    hints: Hints | None
    but: Numbers | None = None  # [B]: of each the utterance that it is, when the bot is asked for its own examples,
    alone: Sequence[Sequence[int]] = ()  # and the slots that no other utterance of its intent has,
    intents: Floats | None = None  # [B, N]: and the log-probabilities of its intents, by heads not fitted on it


def _all_outside(outside: Floats, lengths: Sequence[int]) -> Floats:
    """What a segmentation without any span scores. [B, T] -> [B]."""
    present = np.arange(outside.shape[1]) < np.asarray(lengths)[:, None]
    return np.where(present, outside, 0.0).sum(1)


def _sampled(outside: Members) -> Members:
    """Enough of a large bot's words outside slots, evenly from all of its examples."""
    if len(outside.classes) <= _OUTSIDE_EXAMPLES:
        return outside
    kept = np.linspace(0, len(outside.classes) - 1, _OUTSIDE_EXAMPLES).astype(np.intp)  # the first is the name
    return Members(outside.vectors[kept], outside.classes[kept], outside.named[kept], outside.owners[kept])
