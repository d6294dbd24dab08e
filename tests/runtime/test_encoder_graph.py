"""Graphs of BERT-like encoders, against torch: the kinds that can be written, and those that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, DistilBertConfig, DistilBertModel, RobertaConfig, RobertaModel

from handful.encoders.encoding import Array
from handful.errors import CheckpointError
from handful.runtime.bert import bert_weights
from handful.runtime.encoder_graph import EightBitProducts, FloatProducts, encoder_graph, watched_places
from handful.runtime.graph import OUTPUTS, new_session

SIZES: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "max_position_embeddings": 24,
}
IDS = np.array([[5, 6, 7, 8, 9, 10], [11, 12, 13, 1, 1, 1]])
MASK = (IDS != 1).astype(np.int64)


@pytest.fixture(params=["BERT", "RoBERTa"])
def encoder(request: pytest.FixtureRequest) -> Any:
    torch.manual_seed(0)
    if request.param == "BERT":
        return BertModel(BertConfig(**SIZES, pad_token_id=1)).eval()
    return RobertaModel(RobertaConfig(**SIZES, pad_token_id=1)).eval()


def states(model: Any, ids: Array = IDS, mask: Array = MASK) -> dict[str, Array]:
    session = new_session(model.SerializeToString(), threads=1)
    names = [output.name for output in session.get_outputs()]
    outputs = session.run(names, {"ids": ids, "mask": mask})
    return dict(zip(names, map(np.asarray, outputs), strict=True))


def expected(encoder: Any) -> Any:
    """States before the first layer and after each."""
    with torch.inference_mode():
        found = encoder(torch.as_tensor(IDS), attention_mask=torch.as_tensor(MASK), output_hidden_states=True)
    return [own.numpy() for own in found.hidden_states]


def cut(encoder: Any, frozen: int) -> Any:
    above = list(encoder.encoder.layer[frozen:])
    encoder.encoder.layer = encoder.encoder.layer[:frozen]
    return bert_weights(encoder, above)


@pytest.mark.parametrize("frozen", [0, 2, 3])
def test_in_float32_states_are_those_of_torch(encoder: Any, frozen: int):
    hidden = expected(encoder)
    found = states(encoder_graph(cut(encoder, frozen), FloatProducts()))
    assert sorted(found) == sorted(OUTPUTS)
    for name, layer in (("frozen", frozen), ("states", 3)):
        assert found[name][MASK > 0] == pytest.approx(hidden[layer][MASK > 0], abs=1e-4)


def test_in_eight_bits_they_are_near_and_a_sentence_is_the_same_in_every_batch(encoder: Any):
    hidden, weights = expected(encoder), cut(encoder, 2)
    watched = states(encoder_graph(weights, FloatProducts(), watched=True))
    assert set(watched) == {*OUTPUTS, *watched_places(weights)}
    seen = {place: watched[place][MASK > 0] for place in watched_places(weights)}
    model = encoder_graph(weights, EightBitProducts(seen))
    found = states(model)
    for name, layer in (("frozen", 2), ("states", 3)):
        off = np.linalg.norm((found[name] - hidden[layer])[MASK > 0]) / np.linalg.norm(hidden[layer][MASK > 0])
        assert 1e-4 < off < 0.03
    alone = states(model, IDS[1:, :3], MASK[1:, :3])
    assert alone["states"] == pytest.approx(found["states"][1:, :3], abs=1e-4)


def test_weights_are_stored_in_eight_bits(encoder: Any):
    weights = cut(encoder, 2)
    seen = {place: np.ones((4, width), dtype=np.float32) for place, width in watched_places(weights).items()}
    stored, plain = (
        len(encoder_graph(weights, products).SerializeToString())
        for products in (EightBitProducts(seen), FloatProducts())
    )
    assert stored < 0.4 * plain


def test_an_encoder_that_is_built_otherwise_is_refused_with_what_to_do():
    model = DistilBertModel(DistilBertConfig(vocab_size=50, dim=48, n_heads=4, n_layers=1, hidden_dim=96))
    with pytest.raises(CheckpointError, match=r"a DistilBertModel is not built as BERT is .*--runtime torch"):
        bert_weights(model, [])
