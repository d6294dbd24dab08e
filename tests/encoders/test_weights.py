from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from handful.encoders import minilm
from handful.encoders.weights import find_weights
from handful.errors import CheckpointError


@pytest.fixture(autouse=True)
def _no_shelf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HANDFUL_WEIGHTS", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is found without the hub must be found without asking it."""

    def asked(*_: object, **__: object) -> None:
        pytest.fail("the hub was asked")

    monkeypatch.setattr(huggingface_hub, "model_info", asked)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", asked)


@pytest.mark.usefixtures("no_hub")
def test_the_default_is_the_package():
    assert find_weights(minilm.NAME) == minilm.minilm_folder()


@pytest.mark.usefixtures("no_hub")
def test_a_folder_by_its_path(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert find_weights(str(tiny_bert)) == tiny_bert
    shutil.copytree(tiny_bert, tmp_path / "here" / "mine")
    assert find_weights("mine") == find_weights("./mine") == Path("mine")
    monkeypatch.setenv("HOME", str(tmp_path / "here"))
    assert find_weights("~/mine") == tmp_path / "here" / "mine"


@pytest.mark.usefixtures("no_hub")
def test_a_name_in_the_folder_of_weights(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shelf = tmp_path / "shelf"
    shutil.copytree(tiny_bert, shelf / "someone" / "bert")
    monkeypatch.setenv("HANDFUL_WEIGHTS", str(shelf))
    assert find_weights("someone/bert") == shelf / "someone" / "bert"
    shutil.copytree(tiny_bert, tmp_path / "here" / "someone" / "bert")
    assert find_weights("someone/bert") == Path("someone/bert"), "a path goes before a name"


@pytest.mark.usefixtures("no_hub")
def test_a_folder_without_a_model_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "here" / "empty").mkdir()
    with pytest.raises(CheckpointError, match=r"^empty: found no config\.json in the folder, expected a BERT-like"):
        find_weights("empty")
    (tmp_path / "shelf" / "bare").mkdir(parents=True)
    monkeypatch.setenv("HANDFUL_WEIGHTS", str(tmp_path / "shelf"))
    with pytest.raises(CheckpointError, match=r"shelf/bare: found no config\.json in the folder"):
        find_weights("bare")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a/b/c", "there is no encoder 'a/b/c': no folder at a/b/c, and no hub name either"),
        ("/nowhere/bert", "there is no encoder '/nowhere/bert': no folder at /nowhere/bert, and no hub name either"),
        ("what ever!", "there is no encoder 'what ever!'"),
        ("..\0..", "there is no encoder '..\0..'"),
        ("x" * 5000, "the encoder 'xxx"),
        ("~nobody-at-all/bert", "the encoder '~nobody-at-all/bert' cannot be looked for: "),
    ],
)
def test_an_impossible_name_is_told(name: str, told: str):
    with pytest.raises(CheckpointError) as caught:
        find_weights(name)
    assert str(caught.value).startswith(told)


def test_the_folder_of_weights_is_named_where_nothing_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HANDFUL_WEIGHTS", "/shelf")
    with pytest.raises(CheckpointError, match="no folder at a/b/c, /shelf/a/b/c, and no hub name either"):
        find_weights("a/b/c")


# In a process of its own: the hub's client reads its settings once.
_FIND = """
import sys
from handful.encoders import weights
from handful.errors import CheckpointError
weights._HUB_SECONDS = 1.0
try:
    print(weights.find_weights("someone/bert"))
except CheckpointError as error:
    print("CheckpointError", error)
"""


def find_at(endpoint: str, cache: Path) -> tuple[str, float]:
    variables = {"HF_ENDPOINT": endpoint, "HF_HOME": str(cache), "OMP_NUM_THREADS": "1", "NO_PROXY": "*"}
    started = time.perf_counter()
    run = subprocess.run([sys.executable, "-c", _FIND], env=variables, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip(), time.perf_counter() - started


@pytest.mark.parametrize("behaviour", ["no such host", "refuses", "silent"])
def test_without_the_hub_the_reason_is_told_within_seconds(behaviour: str, tmp_path: Path):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if behaviour == "silent":
            listener.listen()  # accepted by the kernel, and never answered
        port = listener.getsockname()[1]
        endpoint = "http://hub.invalid" if behaviour == "no such host" else f"http://127.0.0.1:{port}"
        told, seconds = find_at(endpoint, tmp_path)
    assert told.startswith(
        "CheckpointError the encoder 'someone/bert' is not at someone/bert, and the hub did not give"
    )
    assert told.endswith("name a folder with config.json, model.safetensors and tokenizer.json, or set HANDFUL_WEIGHTS")
    assert "\n" not in told
    assert seconds < 30


def test_without_the_hub_what_it_gave_before_is_used(tmp_path: Path, tiny_bert: Path):
    kept, commit = tmp_path / "hub" / "models--someone--bert", "0" * 40
    shutil.copytree(tiny_bert, kept / "snapshots" / commit)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(commit)
    found, _ = find_at("http://hub.invalid", tmp_path)
    assert found == str(kept / "snapshots" / commit)


def test_the_hub_is_asked_for_no_more_than_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[dict[str, Any]] = []

    def given(name: str, **options: Any) -> str:
        asked.append({"name": name, **options})
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "model_info", lambda name, timeout: None)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", given)
    assert find_weights("someone/bert") == tmp_path
    assert [one["name"] for one in asked] == ["someone/bert"]
    from fnmatch import fnmatch

    wanted = asked[0]["allow_patterns"]
    for file in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        assert any(fnmatch(file, pattern) for pattern in wanted), file
    for file in ("pytorch_model.bin", "modeling_custom.py", "tf_model.h5", "training_args.bin", "onnx/model.onnx"):
        assert not any(fnmatch(file, pattern) for pattern in wanted), file
