from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.encoders.memory import RememberingEncoder
from handful.encoders.pieces import split_windows
from handful.encoders.transformer import TransformerEncoder
from handful.errors import CheckpointError, HandfulError

LEXICON = ["fly", "to", "Boston", "rome", "now", "a", "ab", "!", "xyz", "\u200d"]


@pytest.fixture(scope="module")
def encoder(tiny_bert: Path) -> TransformerEncoder:
    return TransformerEncoder(tiny_bert)


def test_a_word_is_its_first_piece_and_a_sentence_the_mean_of_all(tiny_bert: Path, encoder: TransformerEncoder):
    from transformers import AutoModel

    (found,) = encoder.encode([("Fly", "to", "BOSTON")])
    ids = torch.tensor([[2, 5, 6, 7, 8, 3]])  # [CLS] fly to bos ##ton [SEP]
    with torch.inference_mode():
        hidden = AutoModel.from_pretrained(tiny_bert).eval()(input_ids=ids).last_hidden_state[0].numpy()
    assert found.words == pytest.approx(hidden[[1, 2, 3]], abs=1e-6)
    assert found.sentence == pytest.approx(hidden.mean(axis=0), abs=1e-6)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.sampled_from(LEXICON), min_size=1, max_size=30).map(tuple), min_size=1, max_size=6))
def test_padding_and_company_change_nothing(encoder: TransformerEncoder, sentences: list[tuple[str, ...]]):
    together = encoder.encode(sentences)
    for words, found in zip(sentences, together, strict=True):
        (alone,) = encoder.encode([words])
        assert found.words.shape == (len(words), 16)
        assert found.words == pytest.approx(alone.words, abs=1e-5)
        assert found.sentence == pytest.approx(alone.sentence, abs=1e-5)


def test_a_word_without_pieces_has_a_vector_of_its_own(encoder: TransformerEncoder):
    (odd,) = encoder.encode([("fly", "\u200d", "now")])
    (unknown,) = encoder.encode([("fly", "xyz", "now")])
    assert odd.words == pytest.approx(unknown.words, abs=1e-6)


def test_a_long_sentence_is_read_to_its_end(encoder: TransformerEncoder):
    long = ("fly",) * 40
    (plain,) = encoder.encode([(*long, "rome")])
    (other,) = encoder.encode([(*long, "now")])
    assert plain.words.shape == (41, 16)
    assert np.isfinite(plain.words).all()
    assert not np.allclose(plain.words[-1], other.words[-1], atol=1e-3)
    assert not np.allclose(plain.sentence, other.sentence, atol=1e-5)


def test_each_word_of_a_long_sentence_comes_from_the_window_with_most_context_around_it(encoder: TransformerEncoder):
    words = ("fly", "to", "rome", "now", "a", "!") * 5
    (found,) = encoder.encode([words])
    windows = list(split_windows(0, [(0,)] * len(words), 14))
    assert [(w.first_word, len(w.pieces)) for w in windows] == [(0, 14), (7, 14), (14, 14), (21, 9)]
    (first,) = encoder.encode([words[:14]])
    (second,) = encoder.encode([words[7:21]])
    assert found.words[0] == pytest.approx(first.words[0], abs=1e-5)
    assert found.words[13] == pytest.approx(second.words[6], abs=1e-5)


def test_windows_hold_whole_words_and_reach_every_word():
    words = [(1,) * n for n in (3, 5, 2, 6, 1, 1, 4, 6)]
    windows = list(split_windows(0, words, 8))
    assert all(window.length <= 8 + 2 for window in windows)
    reached = {window.first_word + i for window in windows for i in range(len(window.pieces))}
    assert reached == set(range(len(words)))


def test_a_word_longer_than_the_encoder_is_refused():
    with pytest.raises(HandfulError, match="word 2 has 9 pieces, more than the encoder's 8"):
        list(split_windows(0, [(1,), (1,) * 9], 8))


def test_every_piece_of_a_long_sentence_counts_once(tiny_bert: Path, encoder: TransformerEncoder):
    """Words of one piece each: the mean of the words' own vectors, of the first [CLS] and of the last [SEP]."""
    from transformers import AutoModel

    ids = [5, 6, 9, 10, 11, 13] * 5  # fly to rome now a !
    (found,) = encoder.encode([("fly", "to", "rome", "now", "a", "!") * 5])
    model = AutoModel.from_pretrained(tiny_bert).eval()
    with torch.inference_mode():
        first, last = (
            model(input_ids=torch.tensor([[2, *window, 3]])).last_hidden_state[0].numpy()
            for window in (ids[:14], ids[21:])
        )
    total = found.words.sum(axis=0) + first[0] + last[-1]
    assert found.sentence == pytest.approx(total / (len(ids) + 2), abs=1e-5)


def test_a_sentence_without_words_is_refused(encoder: TransformerEncoder):
    with pytest.raises(ValueError, match="without words"):
        encoder.encode([("fly",), ()])


def test_nothing_to_encode_is_nothing_encoded(encoder: TransformerEncoder):
    assert encoder.encode([]) == []


def test_folders_that_are_no_encoder_are_refused(tmp_path: Path, tiny_bert: Path):
    with pytest.raises(CheckpointError, match=r"found no 'config\.json', 'model\.safetensors', 'tokenizer\.json', exp"):
        TransformerEncoder(tmp_path)
    broken = tmp_path / "broken"
    shutil.copytree(tiny_bert, broken)
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(CheckpointError, match="cannot be loaded"):
        TransformerEncoder(broken)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors"])
def test_a_folder_that_lacks_a_file_is_refused(name: str, tmp_path: Path, tiny_bert: Path):
    """Without its tokenizer's file transformers would make up a tokenizer, to which all words are one."""
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "part"))
    (folder / name).rename(folder / f"other-{name}")
    with pytest.raises(CheckpointError, match=f"found no '{name}'"):
        TransformerEncoder(folder)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "cannot be loaded: "),
        ('{"model_type": "bert", "hidden_size": "x"}', "cannot be loaded: "),
        ('{"model_type": "bert", "hidden_act": "nope"}', "cannot be loaded: KeyError: 'nope'"),
        ('{"model_type": "no-such-model"}', "cannot be loaded: "),
    ],
)
def test_settings_of_no_bert_are_told(content: str, told: str, tmp_path: Path, tiny_bert: Path):
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "odd"))
    (folder / "config.json").write_text(content)
    with pytest.raises(CheckpointError, match=told):
        TransformerEncoder(folder)


def test_a_model_without_numbered_positions_is_told(tmp_path: Path, tiny_bert: Path):
    import transformers

    config = transformers.T5Config(vocab_size=14, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2)
    transformers.T5EncoderModel(config).save_pretrained(tmp_path)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_bert / file, tmp_path / file)
    with pytest.raises(CheckpointError, match=r"expected a BERT-like model|lacks weights of its own model"):
        TransformerEncoder(tmp_path)


def test_weights_that_are_missing_are_not_made_up(tmp_path: Path, tiny_bert: Path):
    from safetensors.torch import load_file, save_file

    partial = tmp_path / "partial"
    shutil.copytree(tiny_bert, partial)
    weights = load_file(partial / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if "encoder.layer.1" not in name}
    save_file(kept, partial / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match=r"lacks weights of its own model: 'encoder\.layer\.1"):
        TransformerEncoder(partial)


def test_case_does_not_matter_to_minilm(minilm: RememberingEncoder):
    upper, lower = minilm.encode([("Play", "JAZZ"), ("play", "jazz")])
    assert upper.words == pytest.approx(lower.words, abs=1e-5)


def test_minilm_reads_a_long_sentence_to_its_end(minilm: RememberingEncoder):
    one, other = minilm.encode([("please",) * 900 + ("jazz",), ("please",) * 900 + ("rain",)])
    assert one.words.shape == (901, 384)
    assert not np.allclose(one.words[-1], other.words[-1], atol=0.1)
    assert not np.allclose(one.sentence, other.sentence, atol=1e-4)


def test_minilm_knows_what_is_alike(minilm: RememberingEncoder):
    rain, storm, music = (
        e.sentence / np.linalg.norm(e.sentence)
        for e in minilm.encode([("will", "it", "rain"), ("is", "a", "storm", "coming"), ("play", "some", "jazz")])
    )
    assert rain @ storm > rain @ music + 0.2


def test_loading_says_nothing_of_weights_that_are_not_used(
    tmp_path: Path, tiny_bert: Path, capfd: pytest.CaptureFixture
):
    from safetensors.torch import load_file, save_file

    folder = Path(shutil.copytree(tiny_bert, tmp_path / "no_pooler"))
    weights = load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if not name.startswith("pooler.")}
    assert len(kept) < len(weights)
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    capfd.readouterr()
    TransformerEncoder(folder)
    assert "".join(capfd.readouterr()) == ""
