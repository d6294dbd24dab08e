from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from handful.data.splits import PAPER_SPLITS
from handful.encoders.memory import RememberingEncoder


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The real data sets. Where they are not, the tests that need them are skipped, and say so."""
    given = os.environ.get("HANDFUL_DATA")
    if not given:
        pytest.skip("HANDFUL_DATA is not set: the real data sets are not here")
    if not Path(given).is_dir():
        pytest.fail(f"HANDFUL_DATA is {given}, which is not a folder")
    return Path(given)


@pytest.fixture(scope="session")
def minilm() -> RememberingEncoder:
    from handful.encoders.minilm import minilm_folder
    from handful.encoders.transformer import TransformerEncoder

    return RememberingEncoder(TransformerEncoder(minilm_folder()))


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or leaves anything in the user's cache; what is made in one test is there for the next."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDFUL_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Tiny matrices gain nothing by a second thread, and beside another busy process lose a hundredfold by it."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real BertModel, small enough to make here: random weights, a vocabulary of pieces, 16 positions."""
    import torch
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny_bert")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fly", "to", "bos", "##ton", "rome", "now", "a", "##b", "!"]
    (folder / "vocab.txt").write_text("\n".join(pieces))
    BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=True).save(str(folder / "tokenizer.json"))
    PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
    )
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with small sets in the files of SNIPS (no dev intents) and ATIS, made of the tiny vocabulary."""
    folder = tmp_path_factory.mktemp("data")
    for name, splits in PAPER_SPLITS.items():
        if name == "top":
            continue
        prefix = "atis_" if name == "atis" else ""
        intents = [f"{prefix}{intent}" for split in splits.values() for intent in split]
        rows = [_tiny_row(number, intent) for intent in intents for number in range(24)]
        for part, share in (("train", rows[0::2]), ("dev", rows[1::4]), ("test", rows[3::4])):
            (folder / name / part).mkdir(parents=True)
            for file, column in (("seq.in", 0), ("seq.out", 1), ("label", 2)):
                (folder / name / part / file).write_text("\n".join(row[column] for row in share) + "\n")
    return folder


def _tiny_row(number: int, intent: str) -> tuple[str, str, str]:
    """A sentence whose words depend on intent and number; the city at its end is a slot."""
    opening = ["fly to", "now fly", "a b to", "to !", "rome to", "a now", "! fly", "now now", "b to"]
    kind = sum(map(ord, intent)) % len(opening)
    city = ["boston", "rome", "boston rome"][number % 3]
    words = [*opening[kind].split(), *["now"] * (number % 4), *city.split()]
    tags = ["O"] * (len(words) - len(city.split())) + ["B-city", "I-city"][: len(city.split())]
    return " ".join(words), " ".join(tags), intent
