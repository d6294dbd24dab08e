"""Our own learner: intents by sentences, slots by whole spans, both decided together.

A span that begins at word i, ends at word j and has the label y scores

    s(i, j, y) = like(span i…j, spans of y) + Σ_t like(word t, words of y) + begin(i) + Σ_{t>i} go on(t) + end(j)

and a word outside all spans scores like(word, words outside) + outside(word). `like` compares with the support: with
the examples of a label and with its name, the nearer ones counting for more (model/spans.py). The four border scores
know of no label. A sentence's segmentations are a semi-Markov CRF (model/segments.py) over the labels that the support
shows with an intent, and an intent is worth its likeness to the sentence, plus a little of what its best segmentation
gains.

Training asks for the queries of an episode, and for each support utterance with its own examples left out. Tuning
(learners/tuning.py) does the latter on a bot's own examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import AbstractContextManager
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from handful.encoders.encoding import Array
from handful.encoders.store import ArrayStore
from handful.errors import TrainingError
from handful.learners.bot_heads import HeadFitting
from handful.learners.learner import EpisodeLoss
from handful.learners.span_decoding import AdaptedSpans
from handful.learners.span_model import Seen
from handful.learners.span_support import SpanSupport, SupportMembers, columns
from handful.learners.tuning import TuningConfig, tuned
from handful.model.segments import log_partition, log_sum
from handful.model.span_maps import SpanMaps
from handful.model.span_network import Part, SpanNetwork, slot_maps
from handful.model.spans import IMPOSSIBLE, Measure, Numbers, likeness, range_sums, unit_rows
from handful.model.threads import one_blas_thread
from handful.model.views import Names, Views
from handful.settings import Settings
from handful.types import Episode, Utterance, Words

_ENCODED_TOGETHER = 256  # sentences; predictions of a long list must not need memory for all of it at once
_OUT_OF_RANGE = "the network's output is not finite: its weights have gone out of range"


class JointSpansConfig(Settings):
    name: Literal["joint_spans"] = "joint_spans"
    width: int = Field(default=128, ge=1)  # k, of the vectors of words and spans
    dropout: float = Field(default=0.1, ge=0, lt=1)
    support_weight: float = Field(default=0.5, ge=0)  # of a support utterance in the loss; a query's is 1
    # How much the gain of an intent's best segmentation counts beside the sentence itself.
    evidence: float = Field(default=0.05, ge=0)
    slot_repeats: Literal["shown", "free"] = "shown"  # "shown": a slot is filled twice where an example shows it twice
    fitting: HeadFitting = HeadFitting()
    tuning: TuningConfig = TuningConfig()  # of the encoder, before heads are fitted; by itself it makes no steps
    precision: Literal["float32", "bfloat16"] = "float32"  # what the encoder's layers compute in while they are trained
    without: tuple[Part, ...] = ()  # parts left out, to measure what they are worth (docs/method.md)
    # What a label means, where its name read as words does not say it.
    descriptions: dict[str, Annotated[str, Field(pattern=r"\S")]] = Field(default_factory=dict)

    @property
    def of_prediction(self) -> frozenset[str]:
        """The settings that a trained learner may be given anew."""
        return frozenset({"evidence", "slot_repeats", "fitting", "tuning", "descriptions"})


class JointSpansLearner:
    def __init__(self, network: SpanNetwork, config: JointSpansConfig, *, remember: bool = False) -> None:
        """`remember` keeps what is seen of sentences while the weights stay the same: right for an evaluation."""
        self.network, self.config = network, config
        self._remember = remember
        self._seen: ArrayStore | None = None
        self._maps: SpanMaps | None = None

    # -- training --------------------------------------------------------------------------------------------------

    def prepare(self, utterances: Sequence[Utterance]) -> Iterator[int]:
        """Keeps the frozen features of utterances and of their labels; yields how many sentences are done."""
        labels = SpanSupport(utterances, self.config.descriptions) if utterances else None
        texts = [] if labels is None else [*labels.intent_texts, *labels.slot_texts]
        yield from self.network.prepare([*(u.sentence for u in utterances), *texts])

    @property
    def encoder_name(self) -> str:
        return self.network.frozen.name

    def loss(self, episode: Episode) -> EpisodeLoss:
        """The mean over queries and, weighed by `support_weight`, over support utterances without themselves."""
        return self._loss(
            episode.support, episode.query, self.config.support_weight, episode.slots_only, episode.has_slots
        )

    def support_loss(self, support: Sequence[Utterance]) -> EpisodeLoss:
        """How well each utterance is told by the others: what tuning lowers."""
        return self._loss(support, (), 1.0)

    def _loss(
        self,
        support: Sequence[Utterance],
        query: Sequence[Utterance],
        support_weight: float,
        slots_only: Set[str] = frozenset(),
        has_slots: bool = True,
    ) -> EpisodeLoss:
        """-log P(intent) - log P(slots | intent), of every utterance. An utterance is no example of itself."""
        self.network.train()
        self.forget()  # the weights are about to change
        asked = (*support, *query)
        shown = SpanSupport(support, self.config.descriptions)
        sentences = [utterance.sentence for utterance in asked]
        rows, means = self.network([*sentences, *shown.intent_texts])
        lengths = [len(words) for words in sentences]
        views = Views.of(rows[: sum(lengths)], means[: len(asked)], lengths, shown.longest)
        names = Names(unit_rows(means[len(asked) :]), *self.network.slot_name_vectors(shown.slot_texts))
        members = shown.members(views, names)
        measures = self.network.measures()
        itself = np.array([*range(len(support)), *[-2] * len(query)])  # -2: nobody's
        count, steps = len(asked), views.types.shape[1]
        weights = torch.tensor([support_weight] * len(support) + [1.0] * len(query))

        intents = likeness(views.sentences, members.intents, measures.intents, but=itself)
        numbers = torch.as_tensor([shown.intent_number[utterance.intent] for utterance in asked])
        no_intents = torch.as_tensor([intent in slots_only for intent in shown.labels.intents])
        intents = intents.masked_fill(no_intents, IMPOSSIBLE)
        of_intent = functional.cross_entropy(intents, numbers, reduction="none")
        parts = {"intent": _weighted_mean(of_intent, weights * ~no_intents[numbers])}
        parts["slots"] = torch.zeros_like(parts["intent"])  # the episodes of a step have the same parts, to be averaged

        if has_slots:
            types = likeness(views.types.flatten(0, 1), members.types, measures.types, but=np.repeat(itself, steps))
            types = types.view(count, steps, -1)
            outside = views.outside + types[..., -1]
            spans = _span_scores(views, types[..., :-1], members, measures.spans, itself)
            open_slots = torch.as_tensor(shown.open_slots)[numbers]  # [B, K]
            closed = torch.full_like(spans, IMPOSSIBLE)
            spans = torch.where(open_slots[:, None, None, :], spans, closed)
            gold = _gold_score(shown, asked, outside, spans)
            whole = log_sum(spans) if spans.shape[-1] else torch.full_like(views.borders, IMPOSSIBLE)
            of_slots = log_partition(outside[:, None], whole[:, None], views.lengths)[:, 0] - gold
            parts["slots"] = _weighted_mean(of_slots, weights)
        total = torch.stack(list(parts.values())).sum()
        return EpisodeLoss(total, {name: part.detach().item() for name, part in parts.items()})

    # -- the two verbs ---------------------------------------------------------------------------------------------

    def adapt(self, support: Sequence[Utterance]) -> AdaptedSpans:
        """Heads fitted to the support; with `tuning.steps`, of a copy whose encoder was tuned on it before."""
        learner = self if not self.config.tuning.steps else tuned(self, support, self.config.tuning)
        return AdaptedSpans(learner, support)

    def forget(self) -> None:
        """Drops what is remembered of the weights that are about to change."""
        self._seen, self._maps = None, None

    def twin(self) -> JointSpansLearner:
        """A copy to be tuned: it shares what is frozen, and nothing else."""
        return JointSpansLearner(self.network.twin(), self.config)

    @property
    def maps(self) -> SpanMaps:
        """Those of slots, as the network has them now."""
        if self._maps is None:
            if not all(bool(torch.isfinite(weight).all()) for weight in self.network.parameters()):
                raise TrainingError(_OUT_OF_RANGE)
            self._maps = slot_maps(self.network)
        return self._maps

    def slot_name_means(self, slots: Sequence[Words]) -> Array:
        return self.network.slot_name_means(slots)

    def undisturbed(self) -> AbstractContextManager[object]:
        return one_blas_thread()

    def see(self, sentences: Sequence[Words]) -> list[Seen]:
        """Of each sentence its words' hidden states, [T, d], and its own vector, [d]; dropout is off."""
        if not self._remember:
            packed = self._computed(sentences)
        else:
            if self._seen is None:
                self._seen = ArrayStore("seen")
            packed = self._seen.get(sentences, self._computed)
        return [(own[:-1], own[-1]) for own in packed]

    def _computed(self, sentences: Sequence[Words]) -> list[Array]:
        """Words' states and after them the sentence's vector. [T + 1, d]."""
        if self.network.training:  # half a millisecond, for every sentence that comes alone
            self.network.eval()
        found: list[Array] = []
        for start in range(0, len(sentences), _ENCODED_TOGETHER):
            batch = sentences[start : start + _ENCODED_TOGETHER]
            with torch.inference_mode():
                rows, means = (part.cpu().numpy() for part in self.network.states(batch))
            if not (np.isfinite(rows).all() and np.isfinite(means).all()):
                raise TrainingError(_OUT_OF_RANGE)
            split = np.split(rows, np.cumsum([len(words) for words in batch])[:-1])
            found += [np.concatenate([own, mean[None]]) for own, mean in zip(split, means, strict=True)]
        return found


def _weighted_mean(values: Tensor, weights: Tensor) -> Tensor:
    return (values * weights).sum() / weights.sum().clamp(min=1e-9)


def _span_scores(views: Views, types: Tensor, members: SupportMembers, measure: Measure, itself: Numbers) -> Tensor:
    """s(i, j, y) of all spans and labels. words' likenesses [B, T, K] -> [B, T, L, K]."""
    count, steps, longest, width = views.spans.shape
    if not types.shape[-1]:
        return types.new_zeros(count, steps, longest, 0)
    # Spans that leave their sentence are most of a padded batch: they are not compared.
    inside = (views.borders.detach() > IMPOSSIBLE / 2).flatten().nonzero()[:, 0]
    owners = np.repeat(itself, steps * longest)[inside.numpy()]
    compared = likeness(views.spans.reshape(-1, width).index_select(0, inside), members.spans, measure, but=owners)
    spans = types.new_zeros(count * steps * longest, types.shape[-1]).index_copy(0, inside, compared)
    return spans.view(count, steps, longest, -1) + range_sums(types, longest) + views.borders[..., None]


def _gold_score(shown: SpanSupport, asked: Sequence[Utterance], outside: Tensor, spans: Tensor) -> Tensor:
    """What the true segmentations score. [B, T], [B, T, L, K] -> [B].

    A span whose label the support does not show with the intent cannot be told: its words are outside, as they
    should be predicted.
    """
    words: list[tuple[int, int]] = []
    segments: list[tuple[int, int, int, int]] = []
    for row, utterance in enumerate(asked):
        free = set(range(len(utterance.words)))
        open_slots = shown.open_slots[shown.intent_number[utterance.intent]]
        for slot in utterance.slots:
            number, size = shown.slot_number.get(slot.key), slot.end - slot.start
            if number is not None and open_slots[number] and size <= spans.shape[2]:
                segments.append((row, slot.start, size - 1, number))
                free -= set(range(slot.start, slot.end))
        words += [(row, place) for place in sorted(free)]
    total = outside.new_zeros(len(asked))
    rows, places = columns(words, 2)
    total = total.index_add(0, torch.as_tensor(rows), outside[rows, places])
    rows, starts, sizes, slots = columns(segments, 4)
    return total.index_add(0, torch.as_tensor(rows), spans[rows, starts, sizes, slots])
