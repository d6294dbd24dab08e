"""The gradient that is written by hand against torch's autograd, in double precision."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from handful.learners.joint_spans import _gold_score, _span_scores
from handful.learners.span_support import SpanSupport
from handful.model.segments import log_partition, log_sum
from handful.model.slot_batches import SlotBatch, SlotExamples
from handful.model.span_gradients import slot_loss
from handful.model.span_maps import SpanMaps
from handful.model.spans import IMPOSSIBLE, Measure, likeness, unit_rows
from handful.model.views import BORDERS, VIEWS, Names, Views
from handful.types import Slot, Utterance

STATE, NAME, HIDDEN, WIDTH = 7, 6, 5, 4


def utterance(intent: str, length: int, *slots: tuple[str, int, int]) -> Utterance:
    filled = [Slot(label, start, end) for label, start, end in slots]
    return Utterance.from_words(["word"] * length, intent, filled)


# A span of ten words, a slot that one utterance alone shows (for it the name is all there is), one that two intents
# share, an utterance without slots, and an intent without any.
SUPPORT = [
    utterance("a", 5, ("x", 1, 3)),
    utterance("a", 12, ("x", 1, 11)),
    utterance("a", 4, ("x", 0, 1), ("y", 2, 4)),
    utterance("a", 3),
    utterance("b", 6, ("x", 2, 3), ("z", 4, 6)),
    utterance("b", 4, ("x", 3, 4)),
    utterance("c", 2),
    utterance("c", 3),
]


def random_maps(rng: np.random.Generator) -> SpanMaps:
    rows = VIEWS * WIDTH + BORDERS
    shapes = [(rows, STATE), (rows,), (NAME,), (NAME,), (HIDDEN, NAME), (HIDDEN,), (2 * WIDTH, HIDDEN), (2 * WIDTH,)]
    arrays = [rng.normal(size=shape) for shape in [*shapes, (WIDTH,)]]
    measures = np.log(rng.uniform(0.5, 3.0, size=(2, 3)))
    return SpanMaps(**dict(zip((field.name for field in fields(SpanMaps)), [*arrays, measures], strict=True)))


def torch_loss(p: dict[str, Tensor], shown: SpanSupport, states: Tensor, names: Tensor) -> Tensor:
    """The loss as training has it (learners/joint_spans.py), of slots alone."""
    lengths = [len(one.words) for one in SUPPORT]
    rows = states @ p["views.weight"].T + p["views.bias"]
    views = Views.of(rows, states.new_ones(len(SUPPORT), 2), lengths, shown.longest)
    hidden = functional.layer_norm(names, (NAME,), p["slot_names.0.weight"], p["slot_names.0.bias"])
    hidden = functional.gelu(functional.linear(hidden, p["slot_names.1.weight"], p["slot_names.1.bias"]))
    types, spans = functional.linear(hidden, p["slot_names.3.weight"], p["slot_names.3.bias"]).split(WIDTH, -1)
    types = unit_rows(torch.cat([types, p["no_slot"][None]]))
    members = shown.members(views, Names(states.new_ones(len(shown.labels.intents), 2), types, unit_rows(spans)))
    of_types, of_spans = (Measure(*row) for row in p["log_measures"].exp())
    itself, steps = np.arange(len(SUPPORT)), max(lengths)
    found = likeness(views.types.flatten(0, 1), members.types, of_types, but=np.repeat(itself, steps))
    found = found.view(len(SUPPORT), steps, -1)
    outside = views.outside + found[..., -1]
    scores = _span_scores(views, found[..., :-1], members, of_spans, itself)
    is_open = torch.as_tensor(shown.open_slots)[list(shown.labels.intent_numbers)]
    scores = torch.where(is_open[:, None, None, :], scores, torch.full_like(scores, IMPOSSIBLE))
    gold = _gold_score(shown, SUPPORT, outside, scores)
    whole = log_sum(scores)
    return (log_partition(outside[:, None], whole[:, None], views.lengths)[:, 0] - gold).mean()


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_torchs(seed: int):
    rng = np.random.default_rng(seed)
    maps, shown = random_maps(rng), SpanSupport(SUPPORT, {})
    lengths = np.array([len(one.words) for one in SUPPORT])
    states, names = rng.normal(size=(lengths.sum(), STATE)), rng.normal(size=(len(shown.labels.slots), NAME))

    parameters = {name: torch.tensor(array, requires_grad=True) for name, array in maps.arrays().items()}
    expected = torch_loss(parameters, shown, torch.tensor(states), torch.tensor(names))
    expected.backward()

    owners, starts, sizes, slots = shown.slot_spans
    examples = SlotExamples(np.asarray(shown.labels.intent_numbers), lengths, owners, starts, sizes + 1, slots)
    batch = SlotBatch.of(examples, shown.open_slots)
    of_sentences = np.split(states, np.cumsum(lengths)[:-1])
    ordered = np.concatenate([of_sentences[row] for row in batch.rows])
    gradient = maps.of_vector(np.full_like(maps.vector(), np.nan))
    loss = slot_loss(maps, batch, ordered, names[batch.slots], gradient)

    assert loss == pytest.approx(expected.item(), rel=1e-9)
    for name, found in gradient.arrays().items():
        reference = parameters[name].grad
        assert reference is not None
        error = np.linalg.norm(found - reference.numpy()) / np.linalg.norm(reference.numpy())
        assert error < 1e-6, name
