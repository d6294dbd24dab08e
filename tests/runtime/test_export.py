"""Making a model's folder: whole or not at all, without noise, and as good as torch on real sentences."""

from __future__ import annotations

import json
import logging
import multiprocessing
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from handful.data.bio import utterance_tags
from handful.data.bot_settings import BotSettings
from handful.data.corpora import load_corpus
from handful.encoders.choose import GloveConfig, TransformerConfig
from handful.errors import CheckpointError, ConfigError
from handful.learners.choose import build_trained
from handful.learners.joint_spans import JointSpansConfig, JointSpansLearner
from handful.learners.span_decoding import AdaptedSpans
from handful.parser.models import model_for, runtime_folder
from handful.runtime.export import export_model
from handful.runtime.folder import ABOUT, Precision, load_exported
from handful.training.scoring import span_f1
from handful.training.shipped import checkpoint_sums, ready_learner, shipped_folder
from handful.types import Prediction, Utterance

CORPORA = ("snips", "atis", "top")


def finish(learner: JointSpansLearner, folder: Path) -> list[str]:
    return list(export_model(learner, folder, weights="0" * 64, precision="float32"))


# -- the folder --------------------------------------------------------------------------------------------------------


def test_steps_are_told_and_nothing_else_is_left(tiny_learner: JointSpansLearner, tmp_path: Path):
    assert finish(tiny_learner, tmp_path / "deep" / "model") == ["writing the graph"]
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["model"]
    assert (tmp_path / "deep" / "model").stat().st_mode & 0o777 == 0o755, "others may read a shared cache"


def test_an_export_that_is_stopped_leaves_nothing(tiny_learner: JointSpansLearner, tmp_path: Path):
    steps = export_model(tiny_learner, tmp_path / "model", weights="0" * 64, precision="int8")
    assert next(steps) == "writing the graph"
    assert next(steps) == "storing its weights in 8 bits"
    assert [file.name[:7] for file in tmp_path.iterdir()] == [".model."], "beside its place, not in it"
    steps.close()
    assert list(tmp_path.iterdir()) == []


def test_the_parts_that_training_left_out_are_left_out(tiny_bert: Path, tmp_path: Path):
    config = JointSpansConfig(width=8, without=("borders", "neighbours"))
    encoder = TransformerConfig(name=str(tiny_bert), frozen_layers=1)
    learner = build_trained(config, encoder, seed=3, cache=None, remember=False)
    with torch.no_grad():  # border scores begin at nought: leaving them out must change something
        learner.network.views.weight.normal_(generator=torch.Generator().manual_seed(0))
    finish(learner, tmp_path / "model")
    exported, _ = load_exported(tmp_path / "model")
    asked = [("fly", "to", "boston", "now")]
    ((mine, _),), ((its, _),) = exported.see(asked), learner.see(asked)
    assert mine == pytest.approx(its, abs=1e-4)
    assert not mine[:, 4 * 8 :].any()
    assert mine[:, : 4 * 8].all()


def test_a_model_on_word_vectors_is_refused_with_what_to_do(tmp_path: Path):
    (tmp_path / "glove.txt").write_text("fly 0.1 0.2\nto 0.3 0.4\n")
    encoder = GloveConfig(file=tmp_path / "glove.txt")
    learner = build_trained(JointSpansConfig(width=8), encoder, seed=3, cache=None, remember=False)
    with pytest.raises(ConfigError, match=r"only models on a BERT-like encoder .*--runtime torch"):
        finish(learner, tmp_path / "model")
    assert [file.name for file in tmp_path.iterdir()] == ["glove.txt"]


def test_an_encoder_whose_layers_compute_something_else_is_refused(tiny_bert: Path, tmp_path: Path):
    """Built as BERT is, and not a BERT: its states show it."""
    other = Path(shutil.copytree(tiny_bert, tmp_path / "other"))
    config = json.loads((other / "config.json").read_text(encoding="utf-8"))
    (other / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}), encoding="utf-8")
    encoder = TransformerConfig(name=str(other), frozen_layers=1)
    learner = build_trained(JointSpansConfig(width=8), encoder, seed=3, cache=None, remember=False)
    with pytest.raises(CheckpointError, match=r"cannot be written as an ONNX graph: its states are .*--runtime torch"):
        finish(learner, tmp_path / "model")
    assert [file.name for file in tmp_path.iterdir()] == ["other"]


def _export_in_a_process(bert: Path, folder: Path, start: object) -> None:
    encoder = TransformerConfig(name=str(bert), frozen_layers=1)
    learner = build_trained(JointSpansConfig(width=8), encoder, seed=3, cache=None, remember=False)
    steps = export_model(learner, folder, weights="0" * 64, precision="float32")
    next(steps)
    start.wait(60)  # pyright: ignore[reportAttributeAccessIssue]
    list(steps)


def test_two_processes_that_export_at_once_both_succeed(tiny_bert: Path, tmp_path: Path):
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(2)
    both = [context.Process(target=_export_in_a_process, args=(tiny_bert, tmp_path / "model", start)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(120)
    assert [process.exitcode for process in both] == [0, 0]
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    load_exported(tmp_path / "model")


def test_a_folder_that_is_in_the_way_is_told_and_left(tiny_learner: JointSpansLearner, tmp_path: Path):
    """Not one that another process has just made: that one has a model.json."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine.txt").write_text("keep")
    with pytest.raises(OSError, match="not empty"):
        finish(tiny_learner, tmp_path / "model")
    assert (tmp_path / "model" / "mine.txt").read_text() == "keep"
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_an_export_prints_nothing_and_leaves_logging_as_it_was(
    tiny_learner: JointSpansLearner, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    root, own = logging.getLogger(), logging.NullHandler()
    root.addHandler(own)
    before = (list(root.handlers), root.level, logging.root.manager.disable, list(warnings.filters))
    try:
        list(export_model(tiny_learner, tmp_path / "model", weights="0" * 64, precision="int8"))
        assert (list(root.handlers), root.level, logging.root.manager.disable, list(warnings.filters)) == before
    finally:
        root.removeHandler(own)
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_a_process_that_exports_first_of_all_keeps_its_logging(tiny_bert: Path, tmp_path: Path):
    """Where the exporters are imported for the first time, and one of them would set up everybody's log."""
    program = (
        "import logging, sys\n"
        "from pathlib import Path\n"
        "root = logging.getLogger()\n"
        "before = list(root.handlers), root.level\n"
        "from handful.encoders.choose import TransformerConfig\n"
        "from handful.learners.choose import build_trained\n"
        "from handful.learners.joint_spans import JointSpansConfig\n"
        "encoder = TransformerConfig(name=sys.argv[1], frozen_layers=1)\n"
        "learner = build_trained(JointSpansConfig(width=8), encoder, seed=3, cache=None, remember=False)\n"
        "from handful.runtime.export import export_model\n"
        "list(export_model(learner, Path(sys.argv[2]), weights='0' * 64, precision='int8'))\n"
        "assert (list(root.handlers), root.level) == before, (root.handlers, root.level)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(tiny_bert), str(tmp_path / "model")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert (tmp_path / "model" / ABOUT).is_file()


def test_a_graph_says_nothing_of_the_machine_that_made_it(tiny_export: Callable[[Precision], Path]):
    import handful

    for precision in ("float32", "int8"):
        content = (tiny_export(precision) / "model.onnx").read_bytes()
        for place in (Path(handful.__file__).parents[1], Path(torch.__file__).parents[1]):
            assert str(place).encode() not in content


# -- the cache ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["a file", "below a file"])
def test_a_cache_that_cannot_be_written_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HANDFUL_CACHE", str(tmp_path / "file" if where == "a file" else tmp_path / "file" / "cache"))
    with pytest.raises(CheckpointError, match=r"cannot be written: .*HANDFUL_CACHE names another .*--runtime torch"):
        model_for(BotSettings())


def test_a_damaged_graph_in_the_cache_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HANDFUL_CACHE", str(tmp_path))
    sums = checkpoint_sums(shipped_folder())
    folder = runtime_folder(sums.weights, sums.encoder)
    folder.mkdir(parents=True)
    (folder / ABOUT).write_text("{")
    with pytest.raises(CheckpointError, match=f"model.json: cannot be read: .*remove {folder}"):
        model_for(BotSettings())


# -- real sentences ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """Of one corpus, torch and int8 side by side."""

    name: str
    torch: list[Prediction]
    int8: list[Prediction]
    gold: list[Utterance]

    @property
    def same_intents(self) -> int:
        return sum(a.intent == b.intent for a, b in self._pairs)

    @property
    def same_tags(self) -> int:
        return sum(x == y for a, b in self._pairs for x, y in zip(a.tags, b.tags, strict=True))

    @property
    def words(self) -> int:
        return sum(len(utterance.words) for utterance in self.gold)

    @property
    def f1(self) -> tuple[float, float]:
        gold = [utterance_tags(utterance) for utterance in self.gold]
        return span_f1(gold, [p.tags for p in self.torch]), span_f1(gold, [p.tags for p in self.int8])

    @property
    def _pairs(self) -> Sequence[tuple[Prediction, Prediction]]:
        return list(zip(self.torch, self.int8, strict=True))


def compare(name: str, directory: Path, most: int | None) -> Compared:
    """A bot of ten examples an intent, drawn by chance, asked for the other test utterances."""
    utterances = load_corpus(name, directory).split("test")
    rng = np.random.default_rng([7, CORPORA.index(name)])
    order = rng.permutation(len(utterances))
    support: list[Utterance] = []
    asked: list[Utterance] = []
    for number in order:
        utterance = utterances[number]
        shown = sum(other.intent == utterance.intent for other in support)
        (support if shown < 10 else asked).append(utterance)
    asked = asked[:most]
    reference, int8 = ready_learner("joint_spans"), model_for(BotSettings()).learner
    sentences = [utterance.sentence for utterance in asked]
    found = [AdaptedSpans(model, support).predict(sentences) for model in (reference, int8)]  # pyright: ignore
    return Compared(name, found[0], found[1], asked)


def assert_as_good(every: Sequence[Compared]) -> None:
    asked, words = sum(len(own.gold) for own in every), sum(own.words for own in every)
    assert sum(own.same_intents for own in every) >= 0.99 * asked
    assert sum(own.same_tags for own in every) >= 0.99 * words
    lost = [of_torch - of_int8 for of_torch, of_int8 in (own.f1 for own in every)]
    # Heads are fitted to either's own states: of a few hundred slots three or four turn out otherwise, for good or bad.
    assert max(map(abs, lost)) <= 0.01, lost
    assert abs(float(np.mean(lost))) <= 0.005, lost
    assert min(own.f1[0] for own in every) > 0.4, "a bot that finds nothing would agree with anything"


def test_int8_says_what_torch_says_on_real_sentences(data_dir: Path):
    assert_as_good([compare(name, data_dir, 300) for name in CORPORA])


@pytest.mark.slow
def test_int8_says_what_torch_says_on_all_test_utterances(data_dir: Path, capsys: pytest.CaptureFixture[str]):
    every = [compare(name, data_dir, None) for name in CORPORA]
    with capsys.disabled():
        for own in every:
            of_torch, of_int8 = own.f1
            print(  # noqa: T201
                f"\n{own.name}: {len(own.gold)} utterances, intents equal {own.same_intents / len(own.gold):.2%}, "
                f"tags equal {own.same_tags / own.words:.2%}, F1 {of_torch:.2%} (torch) {of_int8:.2%} (int8)"
            )
    assert_as_good(every)


def test_int8_predictions_do_not_depend_on_the_batch(data_dir: Path):
    utterances = load_corpus("snips", data_dir).split("test")[::40][:60]
    model = model_for(BotSettings()).learner
    adapted = AdaptedSpans(model, utterances[:20])  # pyright: ignore
    sentences = [utterance.sentence for utterance in utterances]
    together = adapted.predict(sentences)
    for words, prediction in zip(sentences, together, strict=True):
        (alone,) = adapted.predict([words])
        assert (alone.intent, alone.slots) == (prediction.intent, prediction.slots)
        assert alone.ranking.confidences == pytest.approx(prediction.ranking.confidences, abs=1e-3)
