from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import torch

from handful.encoders.choose import TransformerConfig
from handful.errors import CheckpointError, ConfigError, HandfulError
from handful.learners.choose import build_trained
from handful.learners.joint_spans import JointSpansConfig, JointSpansLearner
from handful.parser import tuned as storage
from handful.parser.bot import load_bot
from handful.parser.parser import Parser
from handful.parser.tune import Outcome, TuningReport, split_folds, tune
from handful.parser.tuning_record import Tuning, read_tuning, tuned_folder
from handful.training.scoring import SpanCounts
from handful.types import Slot, Utterance


@pytest.fixture
def learner(tiny_bert: Path) -> JointSpansLearner:
    encoder = TransformerConfig(name=str(tiny_bert), frozen_layers=1)
    built = build_trained(JointSpansConfig(width=8), encoder, seed=0, cache=None, remember=False)
    assert isinstance(built, JointSpansLearner)
    return built


def examples(shots: int = 4) -> list[Utterance]:
    cities = ["boston", "rome", "boston rome", "a b", "rome rome"]
    flights = [
        Utterance.from_words(["fly", "to", *city.split()], "fly", [Slot("city", 2, 2 + len(city.split()))])
        for city in cities[:shots]
    ]
    return flights + [Utterance.from_words(["now"] * (n + 1), "wait") for n in range(shots)]


def finished(steps: object) -> tuple[list[object], TuningReport]:
    events = []
    while True:
        try:
            events.append(next(steps))  # pyright: ignore
        except StopIteration as done:
            return events, done.value


def outcome(right: int, of: int = 10, spans: SpanCounts | None = None) -> Outcome:
    return Outcome(of, right, right, spans or SpanCounts())


def test_every_example_of_an_intent_with_two_is_asked_for_once():
    given = [*examples(5), Utterance.from_words(["!"], "alone")]
    folds = split_folds(given, 4, seed=0)
    held = [utterance for _, part in folds for utterance in part]
    assert Counter(held) == Counter(given[:-1]), "the only example of an intent is always kept"
    for kept, part in folds:
        assert sorted([*kept, *part], key=repr) == sorted(given, key=repr)
        assert {u.intent for u in part} <= {u.intent for u in kept}
    sizes = [len(part) for _, part in folds]
    assert max(sizes) - min(sizes) <= 1
    assert split_folds(given, 4, seed=0) == folds
    assert split_folds(given, 4, seed=1) != folds


def test_bots_that_nothing_can_be_asked_of():
    lonely = [Utterance.from_words(["now"], "a"), Utterance.from_words(["fly"], "b")]
    assert split_folds(lonely, 4, seed=0) == []
    one_intent = [Utterance.from_words([word], "a") for word in ("now", "fly", "to")]
    assert split_folds(one_intent, 4, seed=0) == []
    with pytest.raises(ConfigError, match="expected 2 or more"):
        split_folds(lonely, 1, seed=0)


def test_the_score_is_that_of_intents_and_slots_and_of_intents_alone_where_there_are_no_slots():
    assert outcome(8).score == pytest.approx(0.8)
    assert outcome(8, spans=SpanCounts(1, 2, 2)).score == pytest.approx((0.8 + 0.5) / 2)
    assert outcome(8, spans=SpanCounts(0, 3, 0)).score == pytest.approx(0.4), "slots where there are none"


def test_a_bot_is_tuned_in_every_fold_and_kept_only_if_that_is_better(learner: JointSpansLearner):
    before = {name: weight.clone() for name, weight in learner.network.state_dict().items()}
    events, report = finished(tune(learner, examples(), steps=2, folds=2))
    assert report.before.examples == report.after.examples == 8
    assert report.better == (report.after.score > report.before.score)
    assert len(events) == 2 * (3 if report.better else 2), "the whole bot is tuned only if it is worth it"
    shares = [event.done for event in events]  # pyright: ignore
    assert shares == sorted(shares)
    assert shares[-1] <= 1
    for name, weight in learner.network.state_dict().items():
        assert torch.equal(weight, before[name]), "the learner that came in is as it was"


def test_the_same_seed_gives_the_same_tuning(learner: JointSpansLearner, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("handful.parser.tune.Outcome.score", property(_rising()))
    reports = [finished(tune(learner, examples(), steps=2, folds=2, seed=seed))[1] for seed in (0, 0, 1)]
    first, second, other = (dict(report.learner.network.named_parameters()) for report in reports)  # pyright: ignore
    assert all(torch.equal(weight, second[name]) for name, weight in first.items())
    assert not all(torch.equal(weight, other[name]) for name, weight in first.items())


def _rising():
    """Later outcomes score higher: what is tuned is kept, whatever the tiny encoder makes of it."""
    scores: list[float] = []

    def score(_: Outcome) -> float:
        scores.append(len(scores) % 2 * -1.0)
        return scores[-1]

    return score


def test_a_budget_that_runs_out_keeps_nothing_and_says_so(learner: JointSpansLearner):
    with pytest.raises(HandfulError, match=r"seconds were used up in fold 1 of 2, and nothing was changed"):
        finished(tune(learner, examples(), steps=3, folds=2, seconds=0))


def test_a_bot_with_nothing_to_ask_is_told(learner: JointSpansLearner):
    with pytest.raises(ConfigError, match="there is nothing to tune by"):
        finished(tune(learner, [Utterance.from_words(["now"], "a")]))


# -- beside the bot's file ------------------------------------------------------------------------------------------


def save(folder: Path, learner: JointSpansLearner, given: list[Utterance], checkpoint: str = "sum") -> Tuning:
    report = TuningReport(outcome(5), outcome(7), 1.234, learner)
    settings = {"steps": 2, "seed": 0, "folds": 2}
    return storage.save_tuning(folder, report, given, checkpoint=checkpoint, settings=settings)


def test_what_is_saved_is_read_again(tmp_path: Path, learner: JointSpansLearner):
    folder = tuned_folder(tmp_path / "my.bot.yml")
    assert folder == tmp_path / "my.bot.yml.tuned"
    assert read_tuning(folder) is None
    with torch.no_grad():
        learner.network.no_slot.add_(1)
    saved = save(folder, learner, examples())
    assert read_tuning(folder) == saved
    assert sorted(file.suffix for file in folder.iterdir()) == [".json", ".safetensors"]
    save(folder, learner, examples(5))
    assert sorted(file.suffix for file in folder.iterdir()) == [".json", ".safetensors"], "the old weights are gone"


def test_examples_that_come_go_or_change_make_it_stale(tmp_path: Path, learner: JointSpansLearner):
    given = examples()
    tuning = save(tmp_path / "a.tuned", learner, given)
    assert not tuning.is_stale(given)
    assert not tuning.is_stale(given[::-1]), "their order is of no matter"
    assert tuning.is_stale(given[1:])
    more = [*given, Utterance.from_words(["a", "b"], "wait")]
    assert tuning.is_stale(more)
    assert (tuning.newer(given), tuning.newer(more)) == (0, 1)
    bare = [Utterance.from_words(given[0].sentence, "fly"), *given[1:]]
    assert tuning.is_stale(bare), "the same sentence without its slot"


def test_a_tuning_that_did_not_help_cannot_be_saved(tmp_path: Path):
    with pytest.raises(ValueError, match="did not help"):
        storage.save_tuning(
            tmp_path, TuningReport(outcome(5), outcome(5), 1.0, None), [], checkpoint="sum", settings={}
        )


def test_damaged_files_are_told(tmp_path: Path, learner: JointSpansLearner):
    folder = tmp_path / "a.tuned"
    save(folder, learner, examples())
    content = json.loads((folder / "tuning.json").read_text())
    (folder / "tuning.json").write_text(json.dumps(content | {"steps": "many"}))
    with pytest.raises(CheckpointError, match=r"tuning\.json: steps: .*damaged or not ours"):
        read_tuning(folder)
    (folder / "tuning.json").write_text(json.dumps(content | {"format": 99}))
    with pytest.raises(CheckpointError, match="newer than 1, the newest that this version reads"):
        read_tuning(folder)


BOT = (
    "nlu:\n"
    "- intent: fly\n  examples: |\n    - fly to [Rome](city)\n    - a flight to [New York](city) please\n"
    "    - i want to fly to [Oslo](city)\n    - get me to [San Jose](city)\n"
    "- intent: greet\n  examples: |\n    - hello\n    - good morning\n    - hi there\n"
)


@pytest.fixture(scope="module")
def shipped() -> JointSpansLearner:
    from handful.training.shipped import ready_learner

    learner = ready_learner("joint_spans")
    assert isinstance(learner, JointSpansLearner)
    return learner


def test_a_parser_uses_the_tuned_version_until_it_does_not_fit(tmp_path: Path, shipped: JointSpansLearner):
    from handful.learners.tuning import TuningConfig, tuned
    from handful.training.checkpoint import read_about
    from handful.training.shipped import shipped_folder

    file = tmp_path / "bot.yml"
    file.write_text(BOT, encoding="utf-8")
    given = load_bot(file).document.utterances
    plain = Parser.load(file, runtime="torch")
    assert plain.tuning is None
    assert not plain.tuning_is_stale
    better = tuned(shipped, given, TuningConfig(steps=2))
    folder = tuned_folder(file)
    save(folder, better, list(given), read_about(shipped_folder()).weights_sha256)

    parser = Parser.load(file, runtime="torch")
    assert parser.tuning is not None
    assert not parser.tuning_is_stale
    text = "fly me to New York"
    assert parser.parse(text).confidence != plain.parse(text).confidence
    expected = Parser(load_bot(file), better).parse(text)
    assert parser.parse(text).confidence == pytest.approx(expected.confidence, abs=1e-2)  # it is kept in half precision
    assert Parser.load(file, runtime="torch", tuned=False).parse(text) == plain.parse(text)

    # A new intent works at once, on the tuned weights; the tuning is stale.
    file.write_text(BOT + "- intent: sing\n  examples: |\n    - sing a song\n    - sing to me\n", encoding="utf-8")
    grown = Parser.load(file, runtime="torch")
    assert grown.tuning_is_stale
    assert grown.parse("sing me something").intent == "sing"

    save(folder, better, list(given), "another checkpoint")
    with pytest.warns(UserWarning, match=r"bot\.yml\.tuned: was made with another version of handful's checkpoint"):
        assert Parser.load(file).tuning is None


def test_bots_of_the_same_stem_and_bots_that_are_folders_have_tunings_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    names = {tuned_folder(tmp_path / name) for name in ("b.yml", "b.json", "b", "b.x")}
    assert len(names) == 4
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    assert tuned_folder(Path()) == tmp_path / "folder.tuned"
    assert tuned_folder(Path("..")) == tmp_path.with_name(f"{tmp_path.name}.tuned")


def test_only_what_is_ours_is_removed(tmp_path: Path, learner: JointSpansLearner):
    folder = tmp_path / "a.yml.tuned"
    assert not storage.remove_tuning(folder)
    save(folder, learner, examples())
    assert storage.remove_tuning(folder)
    assert not folder.exists()
    save(folder, learner, examples())
    (folder / "tuning.json").write_text("{")
    (folder / "notes.txt").write_text("mine")
    assert storage.remove_tuning(folder), "damaged, but ours"
    assert [file.name for file in folder.iterdir()] == ["notes.txt"]


def test_a_damaged_tuning_says_how_to_get_on(tmp_path: Path, shipped: JointSpansLearner):
    file = tmp_path / "bot.yml"
    file.write_text(BOT, encoding="utf-8")
    folder = tuned_folder(file)
    folder.mkdir()
    (folder / "tuning.json").write_text("{")
    with pytest.raises(
        CheckpointError, match=r"tuning\.json: cannot be read.*`--no-tuned`.*`handful tune` makes it anew"
    ):
        Parser.load(file)
    assert Parser.load(file, tuned=False).tuning is None


def test_where_nothing_can_be_written_is_told_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(storage, "load_learner", lambda folder: pytest.fail("the encoder was loaded"))
    file = tmp_path / "bot.yml"
    file.write_text(BOT, encoding="utf-8")
    tuned_folder(file).write_text("a file, not a folder")
    with pytest.raises(HandfulError, match=r"bot\.yml\.tuned: the tuned version could not be written there"):
        next(storage.tune_file(file))


def test_a_tuning_that_no_longer_helps_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from handful.learners.tuning import returned

    file = tmp_path / "bot.yml"
    file.write_text(BOT, encoding="utf-8")
    folder = tuned_folder(file)
    folder.mkdir()
    (folder / "tuning.json").write_text("an old one")
    monkeypatch.setattr("handful.parser.tune.Outcome.score", property(lambda outcome: 0.0))
    report = returned(storage.tune_file(file, steps=1, folds=2))
    assert not report.better
    assert not folder.exists()
