from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.model.spans import (
    IMPOSSIBLE,
    Measure,
    Members,
    class_subset,
    class_sums,
    likeness,
    members_of,
    range_sums,
    span_vectors,
    unit_rows,
)
from handful.model.views import Views
from oracles import joint_spans as oracle

Library = Callable[[Any], Any]
BOTH = pytest.mark.parametrize("library", [np.asarray, torch.as_tensor])
WIDTH = 5


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def compared(
    classes: list[int], count: int, seed: int, library: Library = np.asarray
) -> tuple[Any, Members, list[Any], list[list[Any]]]:
    """Three things, the members of some classes, and the same as the oracle reads them: names, examples by class."""
    things, names, examples = drawn(3, WIDTH, seed=seed), drawn(count, WIDTH, seed=seed + 1), drawn(9, WIDTH, seed=seed)
    examples = examples[: len(classes)]
    owners = np.arange(len(classes)) % 3
    members = members_of(unit_rows(library(names)), unit_rows(library(examples)), classes, owners)
    of_class = [[row for row, its in zip(examples, classes, strict=True) if its == c] for c in range(count)]
    return library(things), members, list(names), of_class


CLASSES = st.lists(st.integers(0, 3), max_size=9)
SETTINGS = [Measure(20.0, 1.1, 0.4), Measure(4.0, 1.0, 1.3), Measure(8.0, 0.5, 1e-6), Measure(0.0, 2.0, 3.0)]


@BOTH
@settings(deadline=None)
@given(CLASSES, st.integers(0, 1000), st.sampled_from(SETTINGS))
def test_likeness_is_that_of_the_formula(library: Library, classes: list[int], seed: int, measure: Measure):
    things, members, names, examples = compared(classes, 4, seed, library)
    found = np.asarray(likeness(unit_rows(things), members, measure))
    its = oracle.Measure(measure.scale, measure.temperature, measure.name_weight)
    expected = [
        [oracle.likeness(thing, name, own, its) for name, own in zip(names, examples, strict=True)]
        for thing in np.asarray(things)
    ]
    assert found == pytest.approx(np.array(expected), abs=1e-9)


@BOTH
@settings(deadline=None)
@given(CLASSES, st.integers(0, 1000), st.lists(st.sampled_from([-2, 0, 1, 2]), min_size=3, max_size=3))
def test_what_is_left_out_counts_for_nothing(library: Library, classes: list[int], seed: int, but: list[int]):
    """For each thing the examples of one utterance (or of nobody, -2) are as if they were not there; names stay."""
    things, members, names, _ = compared(classes, 4, seed, library)
    things, measure = unit_rows(things), SETTINGS[0]
    found = np.asarray(likeness(things, members, measure, but=np.array(but)))
    for row, utterance in enumerate(but):
        kept = [number for number in range(len(classes)) if number % 3 != utterance]
        fewer = members_of(
            unit_rows(library(np.array(names))),
            unit_rows(library(drawn(9, WIDTH, seed=seed)[kept])),
            [classes[number] for number in kept],
            np.array(kept, dtype=np.intp),
        )
        assert found[row] == pytest.approx(np.asarray(likeness(things, fewer, measure))[row], abs=1e-9)


@settings(deadline=None)
@given(CLASSES, st.integers(0, 1000))
def test_numpy_and_torch_agree_in_single_precision(classes: list[int], seed: int):
    found = []
    for library in (np.asarray, torch.as_tensor):
        things, members, _, _ = compared(classes, 4, seed, lambda rows, to=library: to(rows.astype(np.float32)))
        found.append(np.asarray(likeness(unit_rows(things), members, SETTINGS[0])))
    assert found[0].dtype == found[1].dtype == np.float32
    assert found[0] == pytest.approx(found[1], abs=1e-4)
    exact, members, _, _ = compared(classes, 4, seed)
    assert found[0] == pytest.approx(likeness(unit_rows(exact), members, SETTINGS[0]), abs=1e-4)


@given(CLASSES, st.integers(0, 1000))
def test_hot_is_the_mean_and_cold_the_nearest(classes: list[int], seed: int):
    """Weighed by the members' weights; and never above the nearest, at any temperature."""
    things, members, names, examples = compared(classes, 4, seed)
    things, weight = unit_rows(things), 1.7
    hot, cold, middling = (likeness(things, members, Measure(3.0, t, weight)) for t in (1e7, 0.1, 1.3))
    for row, thing in enumerate(things):
        for number, (name, own) in enumerate(zip(names, examples, strict=True)):
            cosines = [3.0 * oracle.cosine(thing, member) for member in (name, *own)]
            mean = (weight * cosines[0] + sum(cosines[1:])) / (weight + len(own))
            assert hot[row, number] == pytest.approx(mean, abs=1e-5)
            below = 0.1 * math.log((weight + len(own)) / min(weight, 1.0))
            assert max(cosines) - below - 1e-9 <= cold[row, number] <= max(cosines) + 1e-9
            assert mean - 1e-9 <= middling[row, number] <= max(cosines) + 1e-9


@BOTH
def test_a_class_far_beyond_reach_is_low_and_can_be_differentiated(library: Library):
    """Nothing of it is left beside the nearest member of all, and yet its likeness is finite."""
    names = library(np.eye(2))
    members = members_of(names, names[:0], [], np.array([], dtype=np.intp))
    thing = library(np.array([[1.0, 0.0]]))
    if isinstance(thing, torch.Tensor):
        thing.requires_grad_()
    found = likeness(thing, members, Measure(1000.0, 1.0, 1.0))
    assert found.tolist() == [pytest.approx([1000.0, 1000.0 + math.log(1e-30)])]
    if isinstance(found, torch.Tensor):
        found.sum().backward()
        assert thing.grad is not None
        assert torch.isfinite(thing.grad).all()


def test_members_stand_in_the_order_of_their_classes_with_the_name_first():
    names, examples = np.arange(3.0)[:, None], np.arange(10.0, 14.0)[:, None]
    members = members_of(names, examples, [2, 0, 2, 0], np.array([7, 7, 8, 9]))
    assert members.vectors[:, 0].tolist() == [0, 11, 13, 1, 2, 10, 12]
    assert members.classes.tolist() == [0, 0, 0, 1, 2, 2, 2]
    assert members.owners.tolist() == [-1, 7, 9, -1, -1, 7, 8]
    assert members.starts.tolist() == [0, 3, 4]
    assert class_sums(np.array([[1.0, 2, 4, 8, 16, 32, 64]]), members).tolist() == [[7, 8, 112]]


@BOTH
@settings(deadline=None)
@given(CLASSES, st.lists(st.integers(0, 3), unique=True, min_size=1), st.integers(0, 1000))
def test_some_classes_alone_are_as_like_as_among_all(
    library: Library, classes: list[int], chosen: list[int], seed: int
):
    things, members, _, _ = compared(classes, 4, seed, library)
    whole = likeness(unit_rows(things), members, SETTINGS[1])
    part = likeness(unit_rows(things), class_subset(members, chosen), SETTINGS[1])
    assert np.asarray(part) == pytest.approx(np.asarray(whole)[:, chosen], abs=1e-9)


def test_of_no_classes_nothing_is_left():
    _, members, _, _ = compared([0, 1], 2, 0)
    none = class_subset(members, [])
    assert (len(none.vectors), len(none.classes), len(none.starts)) == (0, 0, 0)


@BOTH
@settings(deadline=None)
@given(st.integers(1, 3), st.integers(1, 6), st.integers(1, 8), st.integers(0, 1000))
def test_spans_are_made_of_their_words_and_their_neighbours(
    library: Library, count: int, steps: int, longest: int, seed: int
):
    """Sentences of a batch have other lengths: what stands behind an end is nobody's neighbour."""
    views = [drawn(count, steps, 3, seed=seed + number) for number in range(5)]
    middle, lengths = views[2], [steps - number % steps for number in range(count)]
    found = np.asarray(span_vectors([library(view) for view in views], lengths, longest))
    sums = np.asarray(range_sums(library(middle), longest))
    assert found.shape == sums.shape == (count, steps, longest, 3)
    for row in range(count):
        words = np.concatenate([views[0][row], *(view[row] for view in views), np.zeros((steps, 4))], 1)
        told = oracle.Told(words[: lengths[row]].tolist(), [], "")
        for start in range(lengths[row]):
            for end in range(start + 1, min(lengths[row], start + longest) + 1):
                expected = oracle.span_vector(told, start, end)
                size = math.sqrt(sum(x * x for x in expected))
                place = row, start, end - start - 1
                assert found[place] == pytest.approx([x / size for x in expected], abs=1e-6)
                assert sums[place] == pytest.approx(middle[row, start:end].sum(0), abs=1e-9)


@BOTH
def test_unit_rows_have_the_length_one_and_nothing_stays_nothing(library: Library):
    rows = unit_rows(library(np.array([[3.0, 4.0], [0.0, 0.0], [-1e-3, 0.0]])))
    assert np.asarray(rows) == pytest.approx(np.array([[0.6, 0.8], [0.0, 0.0], [-1.0, 0.0]]), abs=1e-6)


@BOTH
@settings(deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(1, 8), st.integers(0, 1000))
def test_views_are_those_of_each_sentence_alone_whatever_it_stands_beside(
    library: Library, lengths: list[int], longest: int, seed: int
):
    width = 3
    rows, sentences = drawn(sum(lengths), 6 * width + 4, seed=seed), drawn(len(lengths), 4, seed=seed + 1)
    views = Views.of(library(rows), library(sentences), lengths, longest)
    assert views.lengths == tuple(lengths)
    for row, words in enumerate(np.split(rows, np.cumsum(lengths)[:-1])):
        told = oracle.Told(words.tolist(), sentences[row].tolist(), "")
        assert np.asarray(views.sentences[row]) == pytest.approx(sentences[row] / np.linalg.norm(sentences[row]))
        for start in range(len(words)):
            kind = words[start, :width]
            assert np.asarray(views.types[row, start]) == pytest.approx(kind / np.linalg.norm(kind))
            assert float(views.outside[row, start]) == pytest.approx(told.border(start, 0))
            for size in range(1, views.borders.shape[2] + 1):
                end, found = start + size, float(views.borders[row, start, size - 1])
                if end > len(words):
                    assert found == IMPOSSIBLE
                    continue
                going_on = sum(told.border(word, 2) for word in range(start + 1, end))
                assert found == pytest.approx(told.border(start, 1) + going_on + told.border(end - 1, 3), abs=1e-9)
                expected = np.array(oracle.span_vector(told, start, end))
                expected /= np.linalg.norm(expected)
                assert np.asarray(views.spans[row, start, size - 1]) == pytest.approx(expected, abs=1e-6)
    assert views.borders.shape[2] == min(longest, max(lengths)), "no size that no sentence has"
