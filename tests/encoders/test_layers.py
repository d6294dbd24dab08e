from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import ByteLevelBPETokenizer

from handful.encoders.features import FixedWords, row_means
from handful.encoders.layers import FrozenLayers, TrainedLayers, cut_transformer
from handful.encoders.transformer import TransformerEncoder, load_transformer
from handful.errors import CheckpointError, ConfigError
from handful.types import Words

SENTENCES: list[Words] = [
    ("fly", "to", "boston"),
    ("rome",),
    ("a", "b", "boston", "now", "!"),
    ("fly",) * 40,  # more than the tiny encoder's 16 positions: read in windows
    ("boston", "boston", "rome"),
]

TINY: dict[str, Any] = {
    "vocab_size": 14,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


def words_of(frozen: FrozenLayers, trained: TrainedLayers, sentences: list[Words]) -> list[np.ndarray]:
    with torch.no_grad():
        found = trained.eval()(sentences, frozen.compute(sentences))
    return [rows.numpy() for rows in found.split([len(words) for words in sentences])]


@pytest.mark.parametrize("frozen_layers", [0, 1, 2])
def test_wherever_it_is_cut_the_encoder_is_the_same(tiny_bert: Path, frozen_layers: int):
    parts = cut_transformer(tiny_bert, frozen_layers, dropout=0.1)
    whole = TransformerEncoder(tiny_bert).encode(SENTENCES)
    for rows, encoding in zip(words_of(*parts, SENTENCES), whole, strict=True):
        assert rows == pytest.approx(encoding.words, abs=2e-6)


@pytest.mark.parametrize("frozen_layers", [0, 1, 2])
def test_a_sentence_is_the_mean_of_its_pieces_each_counted_once(tiny_bert: Path, frozen_layers: int):
    """As the whole encoder has it, for sentences in windows, too; the words are those without sentences."""
    frozen, trained = cut_transformer(tiny_bert, frozen_layers, dropout=0.1)
    features = frozen.compute(SENTENCES)
    with torch.no_grad():
        words, sentences = trained.eval().with_sentences(SENTENCES, features)
        assert torch.equal(words, trained(SENTENCES, features))
    whole = TransformerEncoder(tiny_bert).encode(SENTENCES)
    for row, encoding in zip(sentences.numpy(), whole, strict=True):
        assert row == pytest.approx(encoding.sentence, abs=2e-6)


def test_of_an_encoder_without_pieces_a_sentence_is_the_mean_of_its_words():
    features = [np.arange(6, dtype=np.float32).reshape(3, 2), np.full((1, 2), 7, dtype=np.float32)]
    words, sentences = FixedWords(2).with_sentences([("a", "b", "a"), ("b",)], features)
    assert words.tolist() == [[0, 1], [2, 3], [4, 5], [7, 7]]
    assert sentences.tolist() == [[2, 3], [7, 7]]


def test_means_of_runs_of_rows_can_be_differentiated():
    rows = torch.arange(8, dtype=torch.float64).reshape(4, 2).requires_grad_()
    means = row_means(rows, [1, 3])
    assert means.tolist() == [[0, 1], [4, 5]]
    means.sum().backward()
    assert rows.grad is not None
    assert rows.grad[:, 0].tolist() == pytest.approx([1, 1 / 3, 1 / 3, 1 / 3])


def test_the_real_encoders_are_cut_in_half(weights_folder: Callable[[str], Path]):
    for name, layers in (("all-MiniLM-L6-v2", 6), ("gte-small-fp16", 12)):
        folder = weights_folder(name)
        frozen, trained = cut_transformer(folder, None, dropout=0.1)
        assert len(trained.layers) == layers // 2
        sentences: list[Words] = [("play", "Bohemian", "Rhapsody"), ("a",), ("flights", "from", "Boston", "to", "Rome")]
        whole = TransformerEncoder(folder).encode(sentences)
        for rows, encoding in zip(words_of(frozen, trained, sentences), whole, strict=True):
            assert rows == pytest.approx(encoding.words, abs=1e-5)


@pytest.fixture
def weights_folder(data_dir: Path) -> Callable[[str], Path]:
    """Weights that lie beside the data, or in the package."""
    from handful.encoders.minilm import NAME, minilm_folder

    return lambda name: minilm_folder() if name == NAME else data_dir.parent / "weights" / name


def test_only_the_layers_above_are_trained_and_drop_out(tiny_bert: Path):
    frozen, trained = cut_transformer(tiny_bert, 1, dropout=0.4)
    assert all(weight.requires_grad for weight in trained.parameters())
    assert not any(weight.requires_grad for weight in frozen._loaded.model.parameters())
    rates = {part.p for part in trained.modules() if isinstance(part, torch.nn.Dropout)}
    assert rates == {0.4}
    trained.train()
    first, second = frozen.compute(SENTENCES), frozen.compute(SENTENCES)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True)), "the frozen part is in eval mode"


def test_other_weights_and_other_cuts_have_other_names(tiny_bert: Path, tmp_path: Path):
    other = tmp_path / "other"
    shutil.copytree(tiny_bert, other)
    torch.manual_seed(1)
    transformers.BertModel(transformers.BertConfig.from_pretrained(tiny_bert)).save_pretrained(other)
    names = [cut_transformer(*cut, 0.1)[0].name for cut in ((tiny_bert, 1), (tiny_bert, 2), (other, 1))]
    for file, change in (("config.json", {"hidden_act": "relu"}), ("tokenizer_config.json", {"model_max_length": 8})):
        changed = tmp_path / file
        shutil.copytree(tiny_bert, changed)
        (changed / file).write_text(json.dumps(json.loads((changed / file).read_text()) | change))
        names.append(cut_transformer(changed, 1, 0.1)[0].name)
    assert len(set(names)) == 5
    assert cut_transformer(tiny_bert, 1, 0.3)[0].name == names[0], "dropout changes nothing that is frozen"


@pytest.fixture
def byte_level_roberta(tmp_path: Path) -> Path:
    """A RoBERTa with a tokenizer of its own kind, whose pieces hold the space before a word."""
    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator(["fly to rome", "to rome now fly"] * 20, vocab_size=300, special_tokens=special)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "tokenizer.json"),
        cls_token="<s>",
        pad_token="<pad>",
        sep_token="</s>",
        unk_token="<unk>",
        model_max_length=16,
    ).save_pretrained(tmp_path)
    sizes: dict[str, Any] = {**TINY, "vocab_size": 300}
    config = transformers.RobertaConfig(**sizes, max_position_embeddings=18, pad_token_id=1)
    torch.manual_seed(0)
    transformers.RobertaModel(config).save_pretrained(tmp_path)
    return tmp_path


def test_a_roberta_is_bert_like(byte_level_roberta: Path):
    """Its positions start at two, and its special pieces are others: both are the model's own business."""
    whole = TransformerEncoder(byte_level_roberta).encode(SENTENCES)
    for rows, encoding in zip(words_of(*cut_transformer(byte_level_roberta, 1, 0.1), SENTENCES), whole, strict=True):
        assert rows == pytest.approx(encoding.words, abs=2e-6)


def test_words_are_read_as_in_running_text(byte_level_roberta: Path):
    loaded = load_transformer(byte_level_roberta)
    tokenizer = transformers.AutoTokenizer.from_pretrained(byte_level_roberta)
    (window,) = loaded.reader.windows([("fly", "to", "rome")])
    pieces = [tokenizer.convert_ids_to_tokens(list(word)) for word in window.pieces]
    assert [piece for word in pieces for piece in word] == tokenizer.tokenize(" fly to rome")
    assert pieces[1][0].startswith("Ġ")


def test_a_tokenizer_that_cannot_read_words_one_by_one_is_refused(byte_level_roberta: Path):
    file = byte_level_roberta / "tokenizer.json"
    content = json.loads(file.read_text())
    # Byte level inside a sequence, as GPT-like tokenizers have it.
    content["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [content["pre_tokenizer"]]}
    file.write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match="reads words that come one by one otherwise than in a text"):
        load_transformer(byte_level_roberta)


def test_cuts_that_cannot_be(tiny_bert: Path, tmp_path: Path):
    with pytest.raises(ConfigError, match=r"frozen_layers is 3, but .* has 2 layers"):
        cut_transformer(tiny_bert, 3, 0.1)
    config = transformers.DistilBertConfig(vocab_size=14, dim=16, n_layers=2, n_heads=2, hidden_dim=32)
    transformers.DistilBertModel(config).save_pretrained(tmp_path)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_bert / file, tmp_path / file)
    with pytest.raises(CheckpointError, match=r"found a DistilBertModel, expected a model with encoder\.layer"):
        cut_transformer(tmp_path, 1, 0.1)


def test_layers_that_need_more_than_hidden_states_are_refused(tiny_bert: Path, tmp_path: Path):
    """DeBERTa's layers share relative positions: cut, it would not be the same model."""
    config = transformers.DebertaV2Config(
        **TINY,
        relative_attention=True,
        max_position_embeddings=16,
        pos_att_type=["p2c", "c2p"],
    )
    transformers.DebertaV2Model(config).save_pretrained(tmp_path)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_bert / file, tmp_path / file)
    with pytest.raises(CheckpointError, match="a DebertaV2Model cannot be cut into layers"):
        cut_transformer(tmp_path, 1, 0.1)
