from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from handful.data.splits import PAPER_SPLITS


@pytest.fixture(scope="session")
def bench_data(tmp_path_factory: pytest.TempPathFactory, tiny_data: Path) -> Path:
    """The tiny sets, and TOP beside them."""
    folder = Path(shutil.copytree(tiny_data, tmp_path_factory.mktemp("bench") / "data"))
    (folder / "top").mkdir()
    rows = [_tree(number, intent) for split in PAPER_SPLITS["top"].values() for intent in split for number in range(24)]
    for part, share in (("train", rows[0::2]), ("eval", rows[1::4]), ("test", rows[3::4])):
        (folder / "top" / f"{part}.tsv").write_text("\n".join(share) + "\n")
    return folder


def _tree(number: int, intent: str) -> str:
    words = ["fly", "to", *["now"] * (number % 4 + sum(map(ord, intent)) % 3)]
    city = ["boston", "rome", "boston rome"][number % 3]
    text = " ".join([*words, city])
    return f"{text}\t{text}\t[IN:{intent} {' '.join(words)} [SL:CITY {city} ] ]"


@pytest.fixture
def surroundings(
    bench_data: Path,
    tiny_bert: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A folder to work in; the encoder bert-base is a tiny one, and the others of its kind are not there."""
    shutil.copytree(tiny_bert, tmp_path / "weights" / "bert-base-uncased")
    monkeypatch.setenv("HANDFUL_WEIGHTS", str(tmp_path / "weights"))
    monkeypatch.setenv("HANDFUL_DATA", str(bench_data))
    # Features that other tests computed, in other batches, differ in their last digits.
    monkeypatch.setenv("HANDFUL_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    return tmp_path
