"""Retrieval of labelled examples, after Yu, He, Zhang, Du, Pasupat and Li (2021): the paper's "Retriever" rows.

Two towers over one encoder look at sentences and at spans, the first for what is asked and the second for what is
labelled; e(i, j) = W [h_i; h_j] of a span's first and last word, e(x) = V f(x) of a sentence, all of length one.

    training     batch softmax: of an asked item a with label y, over the labelled items b of the support,
                 L = -log Σ_{b: y_b = y} exp(a·b / τ) / (exp(ν) + Σ_b exp(a·b / τ))
                 ν is the score of "no slot"; a span that is no slot has it as its right answer (sentences have no ν)
    prediction   intent(x) = that of the nearest sentence
                 s(i, j) = max_b e(i, j)·b / τ - ν, label(i, j) = that of the nearest span b
                 slots = the set of spans that do not overlap with the highest sum of s, found by dynamic programming

The sum takes no span with s ≤ 0. Yu et al. choose spans by a beam search; the sum splits over spans, so the exact
answer costs no more. Their temperature, span length and treatment of unlabelled spans could not be found in print;
ν and the sizes below were chosen here (docs/baselines.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from handful.data.bio import tags_of
from handful.encoders.network import SentenceNetwork
from handful.learners.encoded import Encoded
from handful.learners.learner import EpisodeLoss
from handful.learners.support import SupportLabels, ranked
from handful.model.prototypes import Floats
from handful.model.segments import best_segmentations
from handful.settings import Settings
from handful.types import Episode, Prediction, Slot, Utterance, Words

_NEVER = -1e9


class RetrieverConfig(Settings):
    name: Literal["retriever"] = "retriever"
    width: int = Field(default=256, ge=1)  # of the towers
    temperature: float = Field(default=0.1, gt=0)  # τ
    longest: int = Field(default=8, ge=1)  # words of a span of a query; longer ones are neither asked about nor found
    slot_weight: float = Field(default=1.0, ge=0)  # λ: of the spans' loss beside the sentences'
    dropout: float = Field(default=0.1, ge=0, lt=1)
    # "joint": only spans of examples of the predicted intent are looked at; "independent": those of all.
    decoding: Literal["joint", "independent"] = "joint"

    @property
    def of_prediction(self) -> frozenset[str]:
        """The settings that a trained learner may be given anew."""
        return frozenset({"decoding"})


class RetrieverNetwork(nn.Module):
    """The encoder, and two towers that begin alike and are trained apart."""

    def __init__(self, body: SentenceNetwork, config: RetrieverConfig) -> None:
        super().__init__()
        self.words = body.words  # by this name the training loop knows what an encoder brought
        self.body = body
        self.asked_sentence = nn.Linear(body.width, config.width, bias=False)
        self.shown_sentence = nn.Linear(body.width, config.width, bias=False)
        self.asked_span = nn.Linear(2 * body.width, config.width, bias=False)
        self.shown_span = nn.Linear(2 * body.width, config.width, bias=False)
        self.shown_sentence.load_state_dict(self.asked_sentence.state_dict())
        self.shown_span.load_state_dict(self.asked_span.state_dict())
        self.no_slot = nn.Parameter(torch.tensor(0.5 / config.temperature))  # ν


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Spans of many sentences, by the rows of their first and last words."""

    first: Tensor  # [S]
    last: Tensor  # [S]
    keys: tuple[str, ...]  # a slot's, or "" for a span that is none

    @classmethod
    def labelled(cls, utterances: Sequence[Utterance]) -> Spans:
        found = [
            (begin + slot.start, begin + slot.end - 1, slot.key)
            for begin, utterance in zip(_begins(utterances), utterances, strict=True)
            for slot in utterance.slots
        ]
        return cls.of(found)

    @classmethod
    def all(cls, utterances: Sequence[Utterance], longest: int) -> Spans:
        """Every span up to `longest` words."""
        found = []
        for begin, utterance in zip(_begins(utterances), utterances, strict=True):
            keys = {(slot.start, slot.end - 1): slot.key for slot in utterance.slots}
            for first, last in places(len(utterance.words), longest):
                found.append((begin + first, begin + last, keys.get((first, last), "")))
        return cls.of(found)

    @classmethod
    def of(cls, found: Sequence[tuple[int, int, str]]) -> Spans:
        first, last = (torch.tensor([row[side] for row in found], dtype=torch.long) for side in (0, 1))
        return cls(first, last, tuple(row[2] for row in found))


def places(words: int, longest: int) -> list[tuple[int, int]]:
    """First and last words of all spans of a sentence."""
    return [(first, last) for first in range(words) for last in range(first, min(words, first + longest))]


class RetrieverLearner:
    def __init__(self, body: SentenceNetwork, config: RetrieverConfig, *, remember: bool = False) -> None:
        self.network, self.config = RetrieverNetwork(body, config), config
        self.encoded = Encoded(body, remember=remember)

    @property
    def encoder_name(self) -> str:
        return self.network.body.frozen.name

    def prepare(self, utterances: Sequence[Utterance]) -> Iterator[int]:
        yield from self.encoded.prepare(utterances)

    def loss(self, episode: Episode) -> EpisodeLoss:
        words, sentences = self.encoded.training([u.sentence for u in (*episode.support, *episode.query)])
        shots, shown_words = len(episode.support), sum(len(u.words) for u in episode.support)
        network, heat = self.network, self.config.temperature
        shown = unit(network.shown_sentence(sentences[:shots]))
        of_sentences = unit(network.asked_sentence(sentences[shots:])) @ shown.T / heat
        intent = batch_softmax(
            of_sentences, [u.intent for u in episode.query], [u.intent for u in episode.support], None
        )
        asked = Spans.all(episode.query, self.config.longest)
        shown_spans = Spans.labelled(episode.support)
        of_spans = self.asked(words[shown_words:], asked) @ self.shown(words[:shown_words], shown_spans).T / heat
        slot = batch_softmax(of_spans, asked.keys, shown_spans.keys, network.no_slot)
        parts = {"intent": intent.detach().item(), "slot": slot.detach().item()}
        return EpisodeLoss(intent + self.config.slot_weight * slot, parts)

    def adapt(self, support: Sequence[Utterance]) -> AdaptedRetriever:
        return AdaptedRetriever(self, support)

    def asked(self, words: Tensor, spans: Spans) -> Tensor:
        return unit(self.network.asked_span(_ends(words, spans)))

    def shown(self, words: Tensor, spans: Spans) -> Tensor:
        return unit(self.network.shown_span(_ends(words, spans)))


def batch_softmax(scores: Tensor, asked: Sequence[str], shown: Sequence[str], nothing: Tensor | None) -> Tensor:
    """L of the docstring above, and the mean of it. [A, B] and the labels of both sides -> scalar.

    With a score for "no slot" the items that have a label and those that have none are averaged apart and count alike:
    a sentence has thirty spans that are no slot for one that is. A label that the support does not show has no right
    answer, and is left out.
    """
    right = torch.tensor([[a == b and a != "" for b in shown] for a in asked], dtype=torch.bool).view(scores.shape)
    unlabelled = torch.tensor([label == "" for label in asked], dtype=torch.bool)
    if nothing is not None:
        scores = torch.cat([scores, nothing.expand(len(asked), 1)], dim=1)
        right = torch.cat([right, unlabelled[:, None]], dim=1)
    known = right.any(1)
    parts = [part for part in (known & ~unlabelled, known & unlabelled) if bool(part.any())]
    if not parts:
        return scores.sum() * 0.0
    logs = scores.log_softmax(1).masked_fill(~right, -torch.inf)
    return torch.stack([-logs[part].logsumexp(1).mean() for part in parts]).mean()


class AdaptedRetriever:
    def __init__(self, learner: RetrieverLearner, support: Sequence[Utterance]) -> None:
        self._learner, self._labels = learner, SupportLabels(support)
        words, sentences = learner.encoded.vectors([utterance.sentence for utterance in support])
        spans = Spans.labelled(support)
        with torch.inference_mode():
            self._sentences = unit(learner.network.shown_sentence(sentences))
            self._spans = learner.shown(words, spans)
            self._nothing = float(learner.network.no_slot)
        self._slots = sorted(set(spans.keys))
        self._slot_numbers = np.array([self._slots.index(key) for key in spans.keys], dtype=np.intp)
        self._of_intent = {
            intent: np.array([key in keys for key in self._slots], dtype=bool)
            for intent, keys in _keys_of_intents(support).items()
        }

    def predict(self, sentences: Sequence[Words], *, tag_candidates: Set[str] | None = None) -> list[Prediction]:
        if not sentences:
            return []
        learner, config = self._learner, self._learner.config
        words, means = learner.encoded.vectors(sentences)
        with torch.inference_mode():
            near = (unit(learner.network.asked_sentence(means)) @ self._sentences.T).numpy() / config.temperature
        of_intents = _nearest(near, np.asarray(self._labels.intent_numbers), len(self._labels.intents))
        shares = np.exp(of_intents - of_intents.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        found, begin = [], 0
        for row, own in enumerate(sentences):
            ranking = ranked(self._labels.intents, shares[row])
            open_slots = self._of_intent[ranking.names[0]] if config.decoding == "joint" else np.True_
            slots, confidences = self._decode(words[begin : begin + len(own)], open_slots, tag_candidates)
            named = tuple(self._labels.named(slot) for slot in slots)
            found.append(Prediction(ranking, tags_of(slots, len(own)), named, confidences))
            begin += len(own)
        return found

    def _decode(
        self, words: Tensor, open_slots: np.ndarray | np.bool_, candidates: Set[str] | None
    ) -> tuple[tuple[Slot, ...], tuple[float, ...]]:
        """Spans of one sentence, [T, d], labelled by the nearest and chosen together."""
        if not self._slots:
            return (), ()
        asked = places(len(words), self._learner.config.longest)
        with torch.inference_mode():
            vectors = self._learner.asked(words, Spans.of([(first, last, "") for first, last in asked]))
            near = (vectors @ self._spans.T).numpy().astype(np.float64) / self._learner.config.temperature
        scores = _nearest(near, self._slot_numbers, len(self._slots))  # [S, slots]
        scores = np.where(open_slots, scores, _NEVER)
        if candidates is not None:
            scores[~allowed_spans(asked, self._slots, candidates)] = _NEVER
        chosen = choose_spans(asked, scores.max(1) - self._nothing, len(words))
        slots, confidences = [], []
        for number in chosen:
            (first, last), best = asked[number], int(scores[number].argmax())
            slots.append(Slot(self._slots[best], first, last + 1))
            logs = np.append(scores[number], self._nothing)
            confidences.append(float(1 / np.exp(logs - logs[best]).sum()))
        return tuple(slots), tuple(confidences)


def choose_spans(spans: Sequence[tuple[int, int]], scores: Floats, words: int) -> list[int]:
    """The numbers of the spans that do not overlap and have the highest sum; none with a score of nought or less."""
    longest = max((last - first + 1 for first, last in spans), default=1)
    grid = np.full((1, words, longest), _NEVER)
    numbers = {}
    for number, (first, last) in enumerate(spans):
        grid[0, first, last - first] = scores[number]
        numbers[first, last + 1] = number
    (found,), _ = best_segmentations(np.zeros((1, words)), grid, [words])
    return [numbers[span] for span in found]


def allowed_spans(spans: Sequence[tuple[int, int]], slots: Sequence[str], candidates: Set[str]) -> np.ndarray:
    """Which spans can be written in the candidate tags: B-x, and I-x where there is a second word. [S, slots]."""
    begins = np.array([f"B-{slot}" in candidates for slot in slots], dtype=bool)
    goes_on = np.array([f"I-{slot}" in candidates for slot in slots], dtype=bool)
    single = np.array([first == last for first, last in spans], dtype=bool)
    return begins[None, :] & (single[:, None] | goes_on[None, :])


def _nearest(scores: Floats, numbers: np.ndarray, count: int) -> Floats:
    """The score of the nearest item of each class. [A, B] and B class numbers -> [A, count]."""
    found = np.full((len(scores), count), _NEVER)
    np.maximum.at(found.T, numbers, scores.T)
    return found


def unit(vectors: Tensor) -> Tensor:
    return functional.normalize(vectors, dim=-1)


def _ends(words: Tensor, spans: Spans) -> Tensor:
    """[h_i; h_j] of each span. [W, d] -> [S, 2d]."""
    return torch.cat([words.index_select(0, spans.first), words.index_select(0, spans.last)], dim=-1)


def _begins(utterances: Sequence[Utterance]) -> list[int]:
    lengths = [len(utterance.words) for utterance in utterances]
    return [int(total) for total in np.cumsum([0, *lengths])[:-1]]


def _keys_of_intents(support: Sequence[Utterance]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for utterance in support:
        found.setdefault(utterance.intent, set()).update(slot.key for slot in utterance.slots)
    return found
