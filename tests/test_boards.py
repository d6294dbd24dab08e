"""benchmarks/boards.py: metrics against slow loops, readers of the boards' files, what is kept of a run, tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from seqeval.metrics import f1_score

from handful.errors import ConfigError, DataError
from handful.training.results import read_records
from handful.types import Slot, Utterance

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    own = [name for name, module in sys.modules.items() if str(BENCHMARKS) in str(getattr(module, "__file__", ""))]
    for name in own:
        del sys.modules[name]


@pytest.fixture
def metrics() -> ModuleType:
    import board_metrics  # pyright: ignore[reportMissingImports]

    return board_metrics


@pytest.fixture
def sets() -> ModuleType:
    import board_sets  # pyright: ignore[reportMissingImports]

    return board_sets


@pytest.fixture
def boards() -> ModuleType:
    import boards  # pyright: ignore[reportMissingImports]

    return boards


# -- metrics ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_coverage_is_the_largest_share_that_a_threshold_leaves_with_few_errors(metrics: ModuleType, seed: int):
    rng = np.random.default_rng(seed)
    scores, right = rng.integers(0, 30, 200) / 30, rng.random(200) < 0.93
    slow = 0.0
    for threshold in scores:
        answered = [bool(good) for score, good in zip(scores, right, strict=True) if score >= threshold]
        if answered.count(False) <= 0.05 * len(answered):
            slow = max(slow, len(answered) / 200)
    assert metrics.coverage_at_error(scores, right) == slow


def test_coverage_of_nothing_right_is_nothing_and_of_all_right_is_all(metrics: ModuleType):
    scores = np.linspace(0, 1, 10)
    assert metrics.coverage_at_error(scores, np.zeros(10, dtype=bool)) == 0.0
    assert metrics.coverage_at_error(scores, np.ones(10, dtype=bool)) == 1.0
    # One error is 5 % of twenty sentences, and more of nineteen.
    right = np.array([False, *[True] * 19])
    assert metrics.coverage_at_error(np.arange(20)[::-1], right) == 1.0
    assert metrics.coverage_at_error(np.arange(19)[::-1], right[:19]) == 0.0


def outcomes(metrics: ModuleType, gold: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Any:
    """Rows are (intent, confidence, in scope, rejected); those behind the gold intents are out of scope."""
    predictions = [metrics.BoardPrediction(*row[:2], in_scope=row[2], rejected=row[3]) for row in rows]
    return metrics.TaskOutcomes.of([metrics.GoldSentence(intent, frozenset()) for intent in gold], predictions)


def test_scope_metrics_by_hand(metrics: ModuleType):
    rows = [
        ("a", 0.9, 0.9, False),
        ("a", 0.8, 0.2, True),  # right, but rejected
        ("b", 0.7, 0.8, False),  # wrong
        ("b", 0.6, 0.7, False),
        ("a", 0.5, 0.1, True),  # out of scope, rejected
        ("b", 0.5, 0.75, False),  # out of scope, answered
    ]
    task = outcomes(metrics, ["a", "a", "a", "b"], rows)
    assert task.fraction("intent_accuracy") == 3 / 4
    assert task.fraction("in_scope_accuracy") == 2 / 4
    assert task.fraction("oos_recall") == 1 / 2
    # 0.9 and 0.8 are above 0.75, 0.2 and 0.7 below it; all four are above 0.1.
    assert task.fraction("auroc") == 6 / 8
    # By in_scope × confidence: 0.81 right, 0.56 wrong, 0.42 right, 0.375 out of scope, …
    assert task.fraction("coverage_at_5") == 1 / 6


def test_an_answer_out_of_scope_is_wrong_whatever_it_is(metrics: ModuleType):
    rows = [("a", 0.9, 0.9, False)] * 19 + [("a", 1.0, 1.0, False)] * 2
    task = outcomes(metrics, ["a"] * 19, rows)
    assert task.fraction("coverage_at_5") == 0.0, "the two surest are wrong, and two of 21 are more than 5 %"
    assert task.fraction("intent_accuracy") == 1.0


def test_coverage_ranks_by_the_product_of_both_scores(metrics: ModuleType):
    rows = [("a", 0.9, 0.8, False), ("b", 0.5, 1.0, False), ("b", 1.0, 0.5, False)]
    assert outcomes(metrics, ["a"] * 3, rows).fraction("coverage_at_5") == 1 / 3


def test_a_system_without_a_threshold_has_no_figures_at_it(metrics: ModuleType):
    task = outcomes(metrics, ["a"], [("a", 0.9, 0.9, None), ("a", 0.4, 0.4, None)])
    assert task.fraction("auroc") == 1.0
    for metric in ("in_scope_accuracy", "oos_recall"):
        with pytest.raises(ValueError, match="it has no threshold"):
            task.fraction(metric)


@pytest.mark.parametrize("seed", range(4))
def test_slot_f1_is_seqevals_however_the_words_are_split(metrics: ModuleType, sets: ModuleType, seed: int):
    """Spans are compared by characters, after "d'or" has become three words; seqeval compares tags of tokens."""
    rng = np.random.default_rng(seed)
    tags, said = [], []
    for _ in range(60):
        length = int(rng.integers(1, 7))
        tags.append(random_tags(rng, length))
        said.append(tags[-1] if rng.random() < 0.4 else random_tags(rng, length))
    words = [[str(rng.choice(["play", "d'or", "5:30", "a"])) for _ in own] for own in tags]
    task = metrics.TaskOutcomes.of(
        [
            metrics.GoldSentence("say", frozenset(sets.gold_spans(sets.tagged_text(row, own, "say"))))
            for row, own in zip(words, tags, strict=True)
        ],
        [
            metrics.BoardPrediction("say", 0.9, sets.gold_spans(sets.tagged_text(row, own, "say")))
            for row, own in zip(words, said, strict=True)
        ],
    )
    assert task.fraction("slot_f1") == pytest.approx(f1_score(tags, said))
    same = [set(entities(a)) == set(entities(b)) for a, b in zip(tags, said, strict=True)]
    assert task.fraction("joint_accuracy") == pytest.approx(sum(same) / len(same))


def random_tags(rng: np.random.Generator, length: int) -> list[str]:
    """Legal ones."""
    tags: list[str] = []
    for _ in range(length):
        before = tags[-1][2:] if tags else ""
        tags.append(str(rng.choice(["O", "B-x", "B-y", f"I-{before}" if before else "O"])))
    return tags


def entities(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    from seqeval.metrics.sequence_labeling import get_entities

    return get_entities(list(tags))


def test_both_right_takes_the_intent_and_every_span(metrics: ModuleType):
    city, date = ("city", 0, 4), ("date", 5, 8)
    gold = [metrics.GoldSentence("fly", frozenset({city, date}))] * 3
    said = [
        metrics.BoardPrediction("fly", 1.0, (city, date), (0.9, 0.6)),
        metrics.BoardPrediction("say", 1.0, (city, date), (0.9, 0.6)),
        metrics.BoardPrediction("fly", 1.0, (city, ("date", 5, 9)), (0.9, 0.6)),
    ]
    task = metrics.TaskOutcomes.of(gold, said)
    assert task.fraction("joint_accuracy") == 1 / 3
    assert task.fraction("slot_f1") == 5 / 6
    # Three spans of 0.9 are all right, two of three of 0.6: |2.7 - 3| and |1.8 - 2|, over six.
    assert task.fraction("slot_ece") == pytest.approx((0.3 + 0.2) / 6)


def test_an_interval_over_draws_is_students(metrics: ModuleType):
    values = [0.5, 0.6, 0.7, 0.8, 0.9]
    deviation = (sum((value - 0.7) ** 2 for value in values) / 4) ** 0.5
    assert metrics.student_half_width(values) == pytest.approx(2.776 * deviation / 5**0.5, rel=1e-3)
    assert metrics.student_half_width([*values, *values]) == pytest.approx(
        2.262 * (10 * 0.02 / 9) ** 0.5 / 10**0.5, rel=1e-3
    )
    assert metrics.over_tasks([0.25]) == metrics.Interval(0.25, None)
    assert metrics.Interval(0.25, None).in_percent() == {"mean": 25.0, "ci95": None}


def test_an_interval_over_domains_takes_the_spread_within_each(metrics: ModuleType):
    """A thousand repetitions with fixed domains: the estimate's interval covers the true mean in 95 % of them."""
    rng = np.random.default_rng(0)
    means, spreads = [0.4, 0.9, 0.7], [0.05, 0.2, 0.1]
    covered = 0
    for _ in range(1000):
        found = metrics.over_domains([list(rng.normal(*pair, 40)) for pair in zip(means, spreads, strict=True)])
        covered += abs(found.mean - 2 / 3) <= found.ci95
    assert 0.93 <= covered / 1000 <= 0.97
    assert metrics.over_domains([[0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]) == metrics.Interval(0.5, 0.0)


def test_the_bootstrap_of_an_accuracy_is_the_binomials(metrics: ModuleType):
    rows = [("a" if number % 5 else "b", 0.8, 0.5, False) for number in range(400)]
    found = metrics.over_sentences("intent_accuracy", outcomes(metrics, ["a"] * 400, rows))
    assert found.mean == 0.8
    assert found.ci95 == pytest.approx(1.96 * (0.8 * 0.2 / 400) ** 0.5, rel=0.1)
    assert found == metrics.over_sentences("intent_accuracy", outcomes(metrics, ["a"] * 400, rows))


def test_the_bootstrap_draws_sentences_out_of_scope_apart(metrics: ModuleType):
    """One sentence out of scope among many: drawn with the others, it would be missing in a third of the samples."""
    rows = [("a", 0.8, 0.9 if number % 4 else 0.1, False) for number in range(40)] + [("a", 0.8, 0.5, True)]
    task = outcomes(metrics, ["a"] * 40, rows)
    found = metrics.over_sentences("auroc", task)
    assert found.mean == 0.75
    assert found.ci95 == pytest.approx(1.96 * (0.75 * 0.25 / 40) ** 0.5, rel=0.15)
    assert metrics.over_sentences("oos_recall", task) == metrics.Interval(1.0, 0.0)


# -- files --------------------------------------------------------------------------------------------------------


def write_texts(folder: Path, texts: Sequence[str], labels: Sequence[str]) -> Path:
    folder.mkdir(parents=True)
    (folder / "seq.in").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    (folder / "label").write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")
    return folder


def intents_folder(root: Path, name: str = "banking77") -> Path:
    folder = root / "boards" / "intents" / name
    write_texts(folder / "train_5", ["where's my card?", "top it up"], ["card_arrival", "top_up"])
    write_texts(folder / "test", ["no card yet", "top up please", "card?"], ["card_arrival", "top_up", "card_arrival"])
    return folder


def test_an_intent_board_is_read(sets: ModuleType, tmp_path: Path):
    intents_folder(tmp_path)
    board = sets.read_board("banking77", tmp_path, 5)
    ((task,),) = board.tasks.values()
    assert [example.text for example in task.support] == ["where's my card?", "top it up"]
    assert [query.intent for query in task.queries] == ["card_arrival", "top_up", "card_arrival"]
    assert (board.unit, task.out_of_scope, len(board.sums)) == ("sentences", (), 4)
    assert set(board.sums) == {
        f"boards/intents/banking77/{part}/{file}" for part in ("train_5", "test") for file in ("seq.in", "label")
    }
    with pytest.raises(ValueError, match="found 7 examples an intent, expected '5', '10'"):
        sets.read_board("banking77", tmp_path, 7)


def test_sentences_out_of_scope_come_without_their_label(sets: ModuleType, tmp_path: Path):
    folder = intents_folder(tmp_path, "clinc150")
    write_texts(folder / "oos_test", ["who won?", "2 + 2"], ["oos", "oos"])
    ((task,),) = sets.read_board("clinc150_oos", tmp_path, 5).tasks.values()
    assert task.out_of_scope == ("who won?", "2 + 2")


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["hello", "good bye"], ["greet"], r"label:2: seq.in has 2 lines and label has 1, expected as many"),
        (["hello", "", "bye"], ["greet", "greet", "part"], r"seq.in:2: found the text '', expected at least one word"),
        (["hello", "hi", "bye"], ["greet", "", "part"], r"label:2: found an empty line, expected an intent"),
    ],
)
def test_a_bad_row_is_named(sets: ModuleType, tmp_path: Path, texts: list[str], labels: list[str], message: str):
    with pytest.raises(DataError, match=message):
        sets.read_labelled_texts(write_texts(tmp_path / "test", texts, labels))


def test_a_missing_file_is_named(sets: ModuleType, tmp_path: Path):
    with pytest.raises(DataError, match=r"train_5/seq.in: there is no such file"):
        sets.read_board("hwu64", tmp_path, 5)


def test_an_intent_without_an_example_is_an_error(sets: ModuleType, tmp_path: Path):
    folder = intents_folder(tmp_path)
    (folder / "test" / "label").write_text("card_arrival\ntop_up\nrefund\n", encoding="utf-8")
    with pytest.raises(DataError, match="banking77: the support has no example of the queries' intents 'refund'"):
        sets.read_board("banking77", tmp_path, 5)


def episode(**changes: Any) -> dict[str, Any]:
    part = {
        "seq_ins": [["play", "d'or", "now"], ["stop"]],
        "seq_outs": [["O", "B-song", "I-song"], ["O"]],
        "labels": ["PlayMusic", ["PlayMusic"]],
    }
    return {"support": part, "query": {**part, **changes}}


def write_episodes(file: Path, *episodes: dict[str, Any], domain: str = "PlayMusic") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({domain: episodes}), encoding="utf-8")
    return file


def test_episodes_are_read_and_split_as_a_users_text_is(sets: ModuleType, tmp_path: Path):
    ((task,),) = sets.read_episodes(write_episodes(tmp_path / "e.json", episode())).values()
    first = task.support[0]
    assert [word.text for word in first.words] == ["play", "d", "'", "or", "now"]
    assert [first.slot_text(slot) for slot in first.slots] == ["d'or now"]
    assert sets.gold_spans(first) == (("song", 5, 13),)
    assert {query.intent for query in task.queries} == {"PlayMusic"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seq_outs": [["O", "B-song"], ["O"]]}, r"e.json:1: .*found 3 words and 2 tags, expected one tag a word"),
        ({"seq_outs": [["O", "X-song", "O"], ["O"]]}, "found the tag 'X-song', expected O, B-label or I-label"),
        ({"labels": ["PlayMusic"]}, "found 2, 2, 1 rows in seq_ins, seq_outs and labels, expected as many in each"),
        ({"labels": [["a", "b"], "a"]}, "found a list of 2, expected one intent"),
        ({"seq_ins": [["a b", "c", "d"], ["e"]]}, "found white space in 'a b', expected single words"),
        ({"seq_ins": "play"}, "found the text 'play', expected a list"),
    ],
)
def test_a_bad_episode_is_named(sets: ModuleType, tmp_path: Path, changes: dict[str, Any], message: str):
    with pytest.raises(DataError, match=message):
        sets.read_episodes(write_episodes(tmp_path / "e.json", episode(), episode(**changes)))


def test_a_fold_has_a_domain_of_its_own(sets: ModuleType, tmp_path: Path):
    for fold in range(1, 8):
        write_episodes(tmp_path / "boards" / "snips_slots" / f"shot1_test_{fold}.json", episode(), domain="PlayMusic")
    with pytest.raises(
        DataError, match=r"shot1_test_2.json: found the domains 'PlayMusic', expected one that no other"
    ):
        sets.read_board("snips_slots", tmp_path, 1)


def test_resplitting_keeps_text_intent_and_spans(sets: ModuleType):
    tokenised = Utterance.from_words(["wake", "me", "at", "5:30"], "alarm", [Slot("time", 3, 4)])
    again = sets.resplit(tokenised)
    assert (again.text, again.intent, sets.gold_spans(again)) == ("wake me at 5:30", "alarm", (("time", 11, 15),))
    assert len(again.words) == 6


# -- a run --------------------------------------------------------------------------------------------------------


class Parrot:
    """Answers every text with one intent, and keeps what it was given."""

    metrics = frozenset({"intent_accuracy"})

    def __init__(self, systems: ModuleType, metrics: ModuleType, intent: str) -> None:
        self._systems, self._metrics, self.intent = systems, metrics, intent
        self.config = {"intent": intent}
        self.texts: list[list[str]] = []

    def load(self) -> None:
        pass

    def answer(self, support: Sequence[Utterance], texts: Sequence[str], *, calibrated: bool) -> Any:
        self.texts.append(list(texts))
        said = [self._metrics.BoardPrediction(self.intent, 0.5)] * len(texts)
        return self._systems.Answers(said, 1.5, 0.25)


@pytest.fixture
def parrot(boards: ModuleType, metrics: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Parrot:
    import board_systems  # pyright: ignore[reportMissingImports]

    intents_folder(tmp_path)
    monkeypatch.setenv("HANDFUL_DATA", str(tmp_path))
    parrot = Parrot(board_systems, metrics, "card_arrival")
    monkeypatch.setattr(boards, "build", lambda name, checkpoint: parrot)
    return parrot


def test_a_record_says_what_was_measured_and_what_made_it(boards: ModuleType, parrot: Parrot, tmp_path: Path):
    file = tmp_path / "boards.json"
    boards.measure_cells([boards.Cell("banking77", 5, "handful")], file, again=False)
    (record,) = read_records(file)
    assert record["metrics"]["intent_accuracy"]["mean"] == pytest.approx(66.667)
    assert record["metrics"]["intent_accuracy"]["ci95"] > 0
    assert "intent_ece" not in record["metrics"], "the parrot gives none"
    named = {key: record[key] for key in ("board", "shots", "system", "protocol", "train_seed", "seconds")}
    assert named == {
        "board": "banking77",
        "shots": 5,
        "system": "handful",
        "protocol": "fixed",
        "train_seed": 0,
        "seconds": 1.5,
    }
    assert record["config"] == {"intent": "card_arrival"}
    assert record["command"] == (
        "python benchmarks/boards.py --json results/boards.json --board banking77 --shots 5 --system handful "
        "--train-seed 0"
    )
    assert parrot.texts[-1] == ["no card yet", "top up please", "card?"]


def test_what_is_there_is_not_measured_again(boards: ModuleType, parrot: Parrot, tmp_path: Path):
    file, cells = tmp_path / "boards.json", [boards.Cell("banking77", 5, "handful")]
    boards.measure_cells(cells, file, again=False)
    asked, written = len(parrot.texts), file.read_bytes()
    boards.measure_cells(cells, file, again=False)
    assert (len(parrot.texts), file.read_bytes()) == (asked, written)
    boards.measure_cells(cells, file, again=True)
    assert len(parrot.texts) == 2 * asked

    parrot.config = {"intent": "top_up"}
    parrot.intent = "top_up"
    boards.measure_cells(cells, file, again=False)
    (record,) = read_records(file)
    assert record["metrics"]["intent_accuracy"]["mean"] == pytest.approx(33.333), "other settings: measured anew"
    with (tmp_path / "boards" / "intents" / "banking77" / "test" / "seq.in").open("a") as lines:
        lines.write("one more\n")
    with (tmp_path / "boards" / "intents" / "banking77" / "test" / "label").open("a") as lines:
        lines.write("top_up\n")
    boards.measure_cells(cells, file, again=False)
    (record,) = read_records(file)
    assert record["metrics"]["intent_accuracy"]["mean"] == 50.0, "other data: measured anew"


def test_a_run_that_is_stopped_keeps_what_was_measured(
    boards: ModuleType, parrot: Parrot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "boards.json"
    cells = [boards.Cell("banking77", 5, name) for name in ("handful", "handful_unfitted")]
    measured = boards.measured
    monkeypatch.setattr(boards, "measured", raising_after_one(measured))
    with pytest.raises(KeyboardInterrupt):
        boards.measure_cells(cells, file, again=False)
    assert [record["system"] for record in read_records(file)] == ["handful"]
    monkeypatch.setattr(boards, "measured", measured)
    boards.measure_cells(cells, file, again=False)
    assert [record["system"] for record in read_records(file)] == ["handful", "handful_unfitted"]


def raising_after_one(measured: Any) -> Any:
    calls = []

    def stopped(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return measured(*arguments)

    return stopped


def test_a_system_that_says_nothing_of_a_board_has_no_record(boards: ModuleType, parrot: Parrot, tmp_path: Path):
    parrot.metrics = frozenset({"slot_f1"})
    boards.measure_cells([boards.Cell("banking77", 5, "crf")], tmp_path / "boards.json", again=False)
    assert read_records(tmp_path / "boards.json") == []
    assert parrot.texts == []


def cells(boards: ModuleType, *words: str) -> list[Any]:
    options = boards.arguments(["--json", "boards.json", *words])
    options.system = options.system or ["handful", "crf"]
    return list(boards.cells_of(options))


def test_cells_are_every_board_system_and_seed(boards: ModuleType, tmp_path: Path):
    found = cells(boards, "--board", "hwu64", "snips_slots", "--checkpoint", f"2={tmp_path}")
    named = [(cell.board, cell.shots, cell.system, cell.train_seed) for cell in found]
    assert named == [
        (board, shots, system, seed)
        for board, numbers in (("hwu64", (5, 10)), ("snips_slots", (1, 5)))
        for shots in numbers
        for system, seed in (("handful", 0), ("handful", 2), ("crf", 0))
    ]
    assert [cell.checkpoints for cell in found[:3]] == [(None,), (tmp_path,), (None,)]
    assert tmp_path.name in found[1].command
    assert str(tmp_path) not in found[1].command, "a record names no place of this machine"


def test_folds_are_for_snips_slots_and_need_all_seven(boards: ModuleType, tmp_path: Path):
    folders = [(tmp_path / str(fold)) for fold in range(1, 8)]
    for folder in folders:
        folder.mkdir()
    given = [word for fold, folder in enumerate(folders, 1) for word in ("--fold", f"{fold}={folder}")]
    found = cells(boards, "--shots", "5", *given)
    assert [(cell.board, cell.system, cell.protocol) for cell in found] == [("snips_slots", "handful", "per_fold")]
    assert found[0].checkpoints == tuple(folders)
    with pytest.raises(ConfigError, match=r"found the folds \[1, 2, 3\], expected a folder for each from 1 to 7"):
        cells(boards, *given[:6])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--checkpoint", "1"], "found '1', expected NUMBER=FOLDER"),
        (["--checkpoint", "1=/no/such/folder"], "expected NUMBER=FOLDER with a folder that exists"),
        (["--checkpoint", "1=/", "--checkpoint", "1=/"], "found 1 twice"),
        (["--train-seed", "3"], r"found \[3\] without a checkpoint, expected --checkpoint 3=FOLDER"),
    ],
)
def test_a_wrong_checkpoint_is_said_before_anything_is_measured(boards: ModuleType, words: list[str], message: str):
    with pytest.raises(ConfigError, match=message):
        cells(boards, *words)


# -- tables -------------------------------------------------------------------------------------------------------


def record(board: str, shots: int, system: str, seed: int = 0, protocol: str = "fixed", **means: float) -> Any:
    named = {"board": board, "shots": shots, "system": system, "protocol": protocol, "train_seed": seed}
    return {**named, "metrics": {metric: {"mean": mean, "ci95": 1.0} for metric, mean in means.items()}}


def test_the_table_has_means_over_seeds_and_says_what_is_published():
    from board_tables import boards_table  # pyright: ignore[reportMissingImports]

    records = [
        record("banking77", 5, "handful", 0, intent_accuracy=81.0, intent_ece=3.0),
        record("banking77", 5, "handful", 1, intent_accuracy=83.0, intent_ece=3.0),
        record("snips_slots", 5, "handful", slot_f1=81.26),
        record("snips_slots", 5, "handful", protocol="per_fold", slot_f1=87.0),
        record("facebook", 10, "crf", slot_f1=57.5),
    ]
    intents, slots = (part.splitlines() for part in boards_table(records).split("\n\n"))
    assert intents[2].startswith("| **handful** | 82.0 | – |")
    assert [line for line in intents if "ICDA" in line] == [
        "| ICDA, examples written by a large language model (published) "
        "| 84.0 | 89.8 | 92.6 | 94.8 | 82.5 | 87.4 | – | – |"
    ]
    assert slots[2] == "| **handful** | – | – | – | – | – | 81.3 | – | – |"
    assert slots[3] == "| CRF | – | 57.5 | – | – | – | – | – | – |"
    assert slots[4].startswith("| **handful**, trained for each fold without its domain | – ")
    for lines in (intents, slots):
        assert len({line.count("|") for line in lines}) == 1
        published = ["(published)" in line for line in lines[2:]]
        assert published == sorted(published), "what was measured comes first"
        assert sum(published) == (5 if lines is intents else 4)


def test_each_record_has_a_line_with_its_intervals():
    from board_tables import records_table  # pyright: ignore[reportMissingImports]

    slots = record("snips_slots", 1, "handful", 2, "per_fold", slot_f1=71.25) | {"seconds": 0.0123}
    scope = record("clinc150_oos", 10, "setfit", auroc=96.0) | {"seconds": 611.2}
    scope["metrics"]["auroc"]["ci95"] = None
    lines = records_table([scope, slots]).splitlines()
    assert lines[2] == (
        "| SNIPS slots | 1 | handful, trained for each fold without its domain | 2 "
        "| – | 71.2 ± 1.0 | – | – | – | – | – | – | – | 0.012 |"
    )
    assert lines[3] == (
        "| CLINC150, out of scope | 10 | SetFit 1.2, MiniLM | 0 | – | – | – | – | – | 96.0 | – | – | – | 611 |"
    )
    assert len({line.count("|") for line in lines}) == 1


def test_records_stand_in_the_tables_order_and_one_a_cell(boards: ModuleType, tmp_path: Path):
    file = tmp_path / "boards.json"
    boards.file_record(record("facebook", 5, "crf", slot_f1=1.0), file)
    boards.file_record(record("banking77", 10, "handful", intent_accuracy=1.0), file)
    boards.file_record(record("banking77", 5, "handful", 1, intent_accuracy=1.0), file)
    boards.file_record(record("facebook", 5, "crf", slot_f1=2.0), file)
    kept = read_records(file)
    assert [(r["board"], r["shots"], r["train_seed"]) for r in kept] == [
        ("banking77", 5, 1),
        ("banking77", 10, 0),
        ("facebook", 5, 0),
    ]
    assert kept[-1]["metrics"]["slot_f1"]["mean"] == 2.0
