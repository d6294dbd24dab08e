from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.model.losses import ABSENT, Losses, contrastive_loss, intent_loss, slot_loss
from handful.model.prototypes import class_means, membership, squared_distances
from oracles import explicit_joint as oracle


def tensor(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.as_tensor(np.random.default_rng(seed).normal(size=shape))


def distances(query: torch.Tensor, support: torch.Tensor, classes: list[int], count: int) -> torch.Tensor:
    members = torch.as_tensor(membership(classes, count)).double()
    return squared_distances(query, class_means(support, members))


def test_the_intent_loss_is_equation_7():
    query, support, classes = tensor(4, 3), tensor(5, 3, seed=1), [0, 1, 2, 1, 0]
    truth = [2, 0, 0, 1]
    prototypes = oracle.prototypes(support.tolist(), classes)
    terms = [oracle.prototype_loss(q, c, prototypes) for q, c in zip(query.tolist(), truth, strict=True)]
    found = intent_loss(distances(query, support, classes, 3), torch.tensor(truth))
    assert float(found) == pytest.approx(sum(terms) / len(terms), abs=1e-9)


@pytest.mark.parametrize("mean", ["token", "utterance"])
def test_the_slot_loss_is_equation_8_without_the_words_whose_tag_the_support_lacks(mean: str):
    query, support, classes = tensor(6, 3), tensor(5, 3, seed=1), [0, 1, 1, 1, 0]
    truth, utterances = [1, ABSENT, 0, 1, ABSENT, 1], 2
    prototypes = oracle.prototypes(support.tolist(), classes)
    terms = [oracle.prototype_loss(q, c, prototypes) for q, c in zip(query.tolist(), truth, strict=True) if c != ABSENT]
    found = slot_loss(distances(query, support, classes, 2), torch.tensor(truth), utterances, mean)  # pyright: ignore
    assert float(found) == pytest.approx(sum(terms) / (4 if mean == "token" else utterances), abs=1e-9)


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=5),
    st.lists(st.integers(0, 2), min_size=1, max_size=6),
    st.sampled_from(["cosine", "inner"]),
    st.sampled_from([0.1, 1.0]),
)
def test_the_contrastive_loss_is_that_of_equations_9_and_10(
    query_classes: list[int], support_classes: list[int], similarity: str, temperature: float
):
    query, support = tensor(len(query_classes), 4), tensor(len(support_classes), 4, seed=1)
    expected = oracle.contrastive_loss(
        query.tolist(), query_classes, support.tolist(), support_classes, temperature, similarity == "cosine"
    )
    found = contrastive_loss(
        query,
        torch.tensor(query_classes),
        support,
        torch.tensor(support_classes),
        temperature=temperature,
        similarity=similarity,  # pyright: ignore[reportArgumentType]
    )
    assert float(found) == pytest.approx(expected, abs=1e-9)


def test_where_no_query_has_a_positive_the_loss_is_nought_and_can_be_differentiated():
    query = tensor(2, 3).requires_grad_()
    nothing = contrastive_loss(
        query, torch.tensor([5, 6]), tensor(2, 3), torch.tensor([0, 1]), temperature=0.1, similarity="cosine"
    )
    no_words = contrastive_loss(
        query[:0], torch.tensor([]), tensor(2, 3)[:0], torch.tensor([]), temperature=0.1, similarity="cosine"
    )
    unseen = slot_loss(query @ tensor(3, 2), torch.tensor([ABSENT, ABSENT]), 1, "token")
    (nothing + no_words + unseen).backward()
    assert (nothing.item(), no_words.item(), unseen.item()) == (0.0, 0.0, 0.0)
    assert query.grad is not None
    assert not query.grad.any()


def test_equation_11_weighs_the_terms():
    terms = Losses(*(torch.tensor(value) for value in (1.0, 10.0, 100.0, 1000.0)))
    assert float(terms.total(0.5, 0.25, 0.125)) == 1 + 5 + 25 + 125
    assert terms.numbers() == {"intent": 1.0, "slot": 10.0, "intent_contrast": 100.0, "slot_contrast": 1000.0}
