from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from handful.encoders.encoding import Array
from handful.learners.teacher import Teacher, TeacherConfig, relation_loss
from handful.types import Words


def unit(seed: int, count: int, width: int) -> Tensor:
    rows = np.random.default_rng(seed).normal(size=(count, width))
    return torch.as_tensor(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def by_definition(vectors: list[list[float]], teacher: list[list[float]], temperature: float) -> float:
    """Σ_i KL(teacher's shares ‖ learner's), each a softmax over all sentences but i itself, by the sentences."""
    total, count = 0.0, len(vectors)
    for i in range(count):
        shares = []
        for rows in (teacher, vectors):
            weights = {
                j: math.exp(sum(a * b for a, b in zip(rows[i], rows[j], strict=True)) / temperature)
                for j in range(count)
                if j != i
            }
            shares.append({j: weight / sum(weights.values()) for j, weight in weights.items()})
        total += sum(share * math.log(share / shares[1][j]) for j, share in shares[0].items())
    return total / count


@pytest.mark.parametrize("temperature", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("count", [2, 3, 7])
def test_the_loss_is_that_of_plain_loops(count: int, temperature: float):
    vectors, teacher = unit(0, count, 4), unit(1, count, 9)
    found = relation_loss(vectors, teacher, temperature)
    assert found.item() == pytest.approx(by_definition(vectors.tolist(), teacher.tolist(), temperature), abs=1e-9)
    assert (found.item() > 0.01) == (count > 2), "of two sentences each has one other alone"


def test_it_is_nought_where_both_agree_on_what_is_alike():
    vectors = unit(0, 6, 4)
    turned = vectors @ torch.linalg.qr(torch.as_tensor(np.random.default_rng(2).normal(size=(4, 4)))).Q
    wider = torch.cat([turned, torch.zeros(6, 3, dtype=torch.float64)], dim=1)
    assert relation_loss(vectors, wider, 0.05).item() == pytest.approx(0, abs=1e-9)


def test_a_step_downhill_takes_the_learner_nearer_and_never_moves_the_teacher():
    vectors, teacher = unit(0, 6, 4).requires_grad_(), unit(1, 6, 9)
    loss = relation_loss(vectors, teacher, 0.3)
    loss.backward()
    assert vectors.grad is not None
    assert torch.isfinite(vectors.grad).all()
    assert vectors.grad.abs().sum(1).min() > 0, "every sentence has a say"
    assert not teacher.requires_grad
    with torch.no_grad():
        moved = vectors - 0.01 * vectors.grad
        assert relation_loss(moved, teacher, 0.3) < loss


class Counted(Teacher):
    """With vectors that are given, and what was asked for."""

    def __init__(self, settings: TeacherConfig) -> None:
        super().__init__(settings)
        self.computed: list[Words] = []

    def _vectors(self, sentences: Sequence[Words]) -> list[Array]:
        self.computed += sentences
        return [unit(len(words), 1, 5)[0].float().numpy() for words in sentences]


def test_a_teachers_vectors_are_no_parameters():
    teacher = Counted(TeacherConfig(name="minilm"))
    vectors = unit(0, 3, 4).float().requires_grad_()
    loss = teacher.loss(vectors, [("a",), ("b", "c"), ("d", "e", "f")])
    loss.backward()
    assert vectors.grad is not None
    assert teacher.computed == [("a",), ("b", "c"), ("d", "e", "f")]


@pytest.mark.parametrize("settings", [{"name": ""}, {"name": "minilm", "weight": 0}, {"name": "x", "temperature": 0}])
def test_impossible_settings_are_refused(settings: dict[str, object]):
    with pytest.raises(ValueError, match="validation error"):
        TeacherConfig.model_validate(settings)


def test_its_own_vectors_are_of_length_one_and_computed_once(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    teacher = Teacher(TeacherConfig(name=str(tiny_bert)), tmp_path)
    sentences = [("fly", "to", "rome"), ("now",), ("fly", "to", "rome")]
    assert list(teacher.prepare(sentences)) == [2]
    first = teacher._vectors(sentences)
    assert np.linalg.norm(first, axis=1) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(first[0], first[2])
    again = Teacher(TeacherConfig(name=str(tiny_bert)), tmp_path)
    monkeypatch.setattr(Teacher, "_compute", lambda *_: pytest.fail("computed again"))
    assert np.array_equal(again._vectors(sentences), first)
