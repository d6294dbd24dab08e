from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load, load_file, save_file

from handful.data.corpora import load_corpus
from handful.episodes.sampler import EpisodeSampler
from handful.errors import CheckpointError, HandfulError
from handful.learners.explicit_joint import ExplicitJointLearner
from handful.learners.learner import Learner, TrainedLearner
from handful.training import checkpoint
from handful.training.checkpoint import save_checkpoint, trained_weights
from handful.training.config import RunConfig
from handful.training.loop import Trainer
from handful.training.start import features_dir, load_learner
from handful.types import Prediction

Tensors = dict[str, torch.Tensor]


def about_of(run: Path) -> dict[str, Any]:
    return json.loads((run / "checkpoint" / "checkpoint.json").read_text())


def rewrite(run: Path, **changes: Any) -> None:
    (run / "checkpoint" / "checkpoint.json").write_text(json.dumps(about_of(run) | changes))


def weights_of(run: Path) -> Path:
    return run / "checkpoint" / about_of(run)["weights"]


def accept(run: Path) -> None:
    """Makes checkpoint.json's sum that of whatever the weights' file is now."""
    rewrite(run, weights_sha256=hashlib.sha256(weights_of(run).read_bytes()).hexdigest())


def told(run: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_learner(run)
    message = str(caught.value)
    assert message.startswith(str(run)), "a message names its file"
    assert "\n" not in message
    return message.removeprefix(str(run / "checkpoint"))


def predictions(learner: Learner, data: Path) -> list[Prediction]:
    episode = EpisodeSampler(load_corpus("atis", data).split("test"), u_max=20, seed=0).episode(0)
    return learner.adapt(episode.support).predict([utterance.sentence for utterance in episode.query])


def test_what_was_trained_and_what_is_loaded_predict_the_same(
    tmp_path: Path, tiny_data: Path, tiny_config: Callable[..., RunConfig], start: Callable[..., Trainer]
):
    config = tiny_config(epochs=1)
    trainer = start(config, tmp_path / "run")
    network = trainer._learner.network  # pyright: ignore
    # To the last bit, with batches of the same shapes, since float sums depend on those: nothing is remembered.
    in_training = ExplicitJointLearner(network, config.learner)  # pyright: ignore
    untrained = predictions(in_training, tiny_data)
    list(trainer.train())
    expected = predictions(in_training, tiny_data)
    assert expected != untrained
    learner, about = load_learner(tmp_path / "run", cache=features_dir())
    assert predictions(learner, tiny_data) == expected
    kept = about.model_dump(exclude={"format", "weights", "weights_sha256", "versions"})
    save_checkpoint(tmp_path / "again", trained_weights(learner.network), kept)
    shutil.rmtree(tmp_path / "run")
    learner, again = load_learner(tmp_path / "again", cache=features_dir())
    assert predictions(learner, tiny_data) == expected
    assert again == about


def test_a_checkpoint_holds_what_was_trained_and_nothing_else(trained: Path, tiny_bert: Path):
    weights, given = load_file(weights_of(trained)), load_file(tiny_bert / "model.safetensors")
    upper = {name.removeprefix("encoder.layer.1.") for name in given if name.startswith("encoder.layer.1.")}
    names = {name for name in weights if not name.startswith("bilstm.")}
    assert len(names) == len(upper) == 16
    assert all(name.startswith("words.layers.0.") for name in names)
    # Not under another name either: no frozen matrix is among them.
    frozen = [given[name] for name in given if name.startswith(("embeddings.word", "encoder.layer.0."))]
    frozen = [weight for weight in frozen if weight.ndim == 2]
    assert len(frozen) == 7
    assert not any(torch.equal(one, other) for one in frozen for other in weights.values())
    assert {file.suffix for file in (trained / "checkpoint").iterdir()} == {".json", ".safetensors"}


def test_frozen_weights_of_a_network_are_not_kept():
    network = torch.nn.Linear(2, 2)
    network.bias.requires_grad_(False)
    assert trained_weights(network).keys() == {"weight"}


def test_damaged_weights_are_told(trained: Path):
    file, whole = weights_of(trained), weights_of(trained).read_bytes()
    damage = "the sha256 is not the one that was noted for it: the file is damaged or was replaced"
    for content in (whole[:-1], whole[:20], b"", whole[:-1] + bytes([whole[-1] ^ 1]), whole + b"\0"):
        file.write_bytes(content)
        assert told(trained) == f"/{file.name}: {damage}"
    save_file({name: weight + 1 for name, weight in load(whole).items()}, file)
    assert damage in told(trained)
    file.unlink()
    assert "cannot be read: No such file" in told(trained)
    file.mkdir()
    assert "cannot be read: Is a directory" in told(trained)


@pytest.mark.parametrize("length", [0, 7, 8, 100, -1])
def test_cut_weights_are_told_even_where_their_sum_agrees(length: int, trained: Path):
    weights_of(trained).write_bytes(weights_of(trained).read_bytes()[:length])
    accept(trained)
    assert f"/{weights_of(trained).name}: cannot be read: " in told(trained)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda name, w: w | {name: torch.zeros(3)}, r"has the shape \[3\] of torch.float32, expected \[\d"),
        (lambda name, w: w | {name: w[name].T.contiguous()}, r"has the shape \[\d+, \d+\] of torch.float32, expected"),
        (lambda name, w: w | {name: w[name].to(torch.int64)}, r"of torch.int64, expected \[.*\] of torch.float32$"),
        (lambda name, w: {k: v for k, v in w.items() if k != name}, r"not those of this model: the file lacks 'words"),
        (lambda _, w: w | {"more": torch.zeros(1)}, r"not those of this model: the file has also 'more'$"),
        (lambda _, w: {}, r"the file lacks '.*', '.*', '.*' and \d+ more$"),
        (lambda _, w: {f"x.{k}": v for k, v in w.items()}, r"the file lacks .* more; has also 'x\..* more$"),
    ],
)
def test_weights_of_another_model_are_told(change: Callable[[str, Tensors], Tensors], message: str, trained: Path):
    weights = load_file(weights_of(trained))
    name = next(name for name in sorted(weights) if name.endswith("intermediate.dense.weight"))
    save_file(change(name, weights), weights_of(trained))
    accept(trained)
    with pytest.raises(CheckpointError, match=message):
        load_learner(trained)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read: Expecting value"),
        (b'{"format": 1, "config"', "cannot be read: Expecting ':'"),
        (b"\xff\xfe{}", "cannot be read: 'utf-8' codec can't decode"),
        (b"[" * 100_000, "cannot be read: maximum recursion depth exceeded"),
        (b"[]", "the file: input should be a valid dictionary"),
        (b"null", "the file: input should be a valid dictionary"),
        (b'"text"', "the file: input should be a valid dictionary"),
        (b"{}", "format: field required; the file is damaged or not ours"),
        (b'{"format": 2, "weights": {"new": "form"}}', "format 2 is newer than 1, the newest that this version reads"),
        (b'{"format": 0}', "format: input should be greater than or equal to 1"),
        (b'{"format": "one"}', "format: input should be a valid integer"),
    ],
)
def test_damaged_json_is_told(content: bytes, message: str, trained: Path):
    (trained / "checkpoint" / "checkpoint.json").write_bytes(content)
    assert told(trained).startswith(f"/checkpoint.json: {message}")


def test_every_key_is_needed_and_no_other_is_known(trained: Path):
    whole = about_of(trained)
    for key in whole:
        content = {other: value for other, value in whole.items() if other != key}
        (trained / "checkpoint" / "checkpoint.json").write_text(json.dumps(content))
        assert told(trained) == f"/checkpoint.json: {key}: field required; the file is damaged or not ours"
    for change, place in (
        ({"more": 1}, "more: extra inputs are not permitted"),
        ({"config": whole["config"] | {"epoch": 3}}, "config.epoch: extra inputs are not permitted"),
        ({"dev": {"intent_accuracy": "high"}}, "dev.intent_accuracy: input should be a valid number"),
        ({"step": None}, "step: input should be a valid integer"),
    ):
        (trained / "checkpoint" / "checkpoint.json").write_text(json.dumps(whole | change))
        assert told(trained).startswith(f"/checkpoint.json: {place}")


@pytest.mark.parametrize("name", ["../../outside", "{folder}/outside", "", ".", "..", "a\0b", "x" * 5000])
def test_weights_are_never_read_from_outside_the_folder(name: str, trained: Path, tmp_path: Path):
    shutil.copy(weights_of(trained), tmp_path / "outside")
    rewrite(trained, weights=name.format(folder=tmp_path))
    assert "cannot be read: " in told(trained)


def test_no_checkpoint(tmp_path: Path, trained: Path):
    with pytest.raises(CheckpointError, match=r"found no checkpoint.json, expected the folder of a checkpoint or of a"):
        load_learner(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match=r"config.json: found no checkpoint.json, expected the folder of"):
        load_learner(trained / "config.json")
    shutil.rmtree(trained / "checkpoint")
    with pytest.raises(CheckpointError, match="the run has no checkpoint yet"):
        load_learner(trained)


def test_a_checkpoint_that_is_replaced_while_it_is_read_is_read_anew(trained: Path, monkeypatch: pytest.MonkeyPatch):
    """A run in training finds a better epoch between the moment its checkpoint.json is read and that of its weights."""
    real, found = checkpoint.read_about, []

    def read(folder: Path) -> checkpoint.About:
        found.append(real(folder))
        return found[-1] if len(found) > 1 else found[-1].model_copy(update={"weights": "gone.safetensors"})

    monkeypatch.setattr(checkpoint, "read_about", read)
    _, about = load_learner(trained)
    assert about.weights == weights_of(trained).name
    assert len(found) == 2


@pytest.mark.parametrize("part", ["model.safetensors", "tokenizer.json"])
def test_an_encoder_that_is_not_the_one_trained_on_is_told(part: str, trained: Path, tiny_bert: Path, tmp_path: Path):
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "bert"))
    config = about_of(trained)["config"]
    rewrite(trained, config=config | {"encoder": config["encoder"] | {"name": str(folder)}})
    load_learner(trained)
    if part == "tokenizer.json":
        (folder / part).write_text((folder / part).read_text() + "\n")
    else:
        weights = load_file(folder / part)
        weights["embeddings.LayerNorm.bias"][0] += 1
        save_file(weights, folder / part, metadata={"format": "pt"})
    assert "it was trained on other encoder weights than those found here: expected 'transformer " in told(trained)


class Creates:
    """Unpickled, it makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_a_pickle_is_refused_and_never_run(trained: Path, tmp_path: Path):
    made = tmp_path / "made"
    pickled = pickle.dumps({"weights": Creates(made)})
    pickle.loads(pickled)
    made.rmdir()  # the pickle is a live one
    torch.save({"weights": Creates(made)}, tmp_path / "torch.pt")
    for content in (pickled, (tmp_path / "torch.pt").read_bytes()):
        weights_of(trained).write_bytes(content)
        assert "the file is damaged or was replaced" in told(trained)
        accept(trained)
        assert "cannot be read: Error while deserializing header" in told(trained)
    (trained / "checkpoint" / "checkpoint.json").write_bytes(pickled)
    assert "/checkpoint.json: cannot be read: 'utf-8' codec can't decode" in told(trained)
    assert not made.exists()


def changed(run: Path) -> tuple[TrainedLearner, dict[str, Any]]:
    learner, about = load_learner(run)
    with torch.no_grad():
        for weight in learner.network.parameters():
            weight += 1
    return learner, about.model_dump(exclude={"format", "weights", "weights_sha256", "versions"})


def test_a_crash_before_the_json_leaves_the_checkpoint_before(trained: Path, monkeypatch: pytest.MonkeyPatch):
    before, file = load_file(weights_of(trained)), weights_of(trained)
    learner, about = changed(trained)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "write_text", crash)
        with pytest.raises(KeyboardInterrupt):
            save_checkpoint(trained / "checkpoint", trained_weights(learner.network), about)
    loaded = dict(load_learner(trained)[0].network.named_parameters())
    assert all(torch.equal(loaded[name], weight) for name, weight in before.items())
    assert len(list((trained / "checkpoint").glob("*.safetensors"))) == 2
    save_checkpoint(trained / "checkpoint", trained_weights(learner.network), about)
    loaded = dict(load_learner(trained)[0].network.named_parameters())
    assert all(torch.equal(loaded[name], weight + 1) for name, weight in before.items())
    assert not file.exists()
    assert len(list((trained / "checkpoint").iterdir())) == 2


def test_what_killed_processes_left_is_removed_by_the_next_save(trained: Path):
    folder = trained / "checkpoint"
    for name in (".17.partial", ".4242.partial", ".checkpoint.json.k1ll3d", "0123456789abcdef.safetensors"):
        (folder / name).write_bytes(b"half")
    (folder / "notes.txt").write_text("mine")
    learner, about = changed(trained)
    save_checkpoint(folder, trained_weights(learner.network), about)
    assert {file.name for file in folder.iterdir()} == {"checkpoint.json", "notes.txt", weights_of(trained).name}


def test_a_full_disk_is_told_and_leaves_the_checkpoint_before(trained: Path, monkeypatch: pytest.MonkeyPatch):
    learner, about = changed(trained)
    files = {file: file.read_bytes() for file in (trained / "checkpoint").iterdir()}

    def full(_: Tensors, file: Path) -> None:
        file.write_bytes(b"half")
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(CheckpointError, match="weights cannot be written: I/O error: No space left"):
        save_checkpoint(trained / "checkpoint", trained_weights(learner.network), about)
    assert {file: file.read_bytes() for file in (trained / "checkpoint").iterdir()} == files
    with pytest.raises(HandfulError, match=r"weights cannot be written: .*File exists"):
        save_checkpoint(trained / "config.json", trained_weights(learner.network), about)
