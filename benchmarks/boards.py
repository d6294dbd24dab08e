"""handful and its peers on the public boards: tasks and test files that others made, beside what others publish.

    python benchmarks/boards.py --json results/boards.json                                 # all that is missing
    python benchmarks/boards.py --json results/boards.json --board banking77 facebook --system handful
    python benchmarks/boards.py --json results/boards.json --train-seed 1 --checkpoint 1=runs/seed-1
    python benchmarks/boards.py --json results/boards.json --board snips_slots --system handful \\
        --fold 1=runs/fold-1 --fold 2=runs/fold-2 …                                        # the protocol per_fold
    python benchmarks/boards.py --json results/boards.json --table                         # measures nothing

Needs HANDFUL_DATA. A record is one board, number of examples, system, protocol and train seed; it is written as soon as
it is measured. A record that has the same settings, weights and data is not measured again, unless `--again` is given.
`seconds` are those of adapting to one support set: encoding it and fitting to it, without loading weights; setting
confidences (`calibration_seconds`) and predicting all test sentences (`predict_seconds`) stand apart.

Train seed 0 is the checkpoint that comes with handful, or `--checkpoint 0=FOLDER`. The protocol `fixed` is one model
for all tasks; `per_fold` is the one of published SNIPS figures, where domain n has a model of its own that was trained
without it.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from board_metrics import GoldSentence, Interval, TaskOutcomes, over_domains, over_sentences, over_tasks
from board_sets import BOARDS, Board, FewShotTask, gold_spans, read_board
from board_systems import NEEDED, SYSTEM_NAMES, Answers, BoardSystem, SystemName, build, is_installed
from board_tables import boards_table, order_of, with_interval
from peer_worker import of_two_intents

from handful.data.formats.files import write_text
from handful.errors import ConfigError, HandfulError
from handful.places import data_dir
from handful.training.results import alone_in, read_records

ROOT = Path(__file__).parent.parent
SCORER = "strict: label and both borders by characters; F1 micro over a task's sentences"
FOLDS = 7
OURS: tuple[SystemName, ...] = ("handful", "handful_unfitted")


@dataclass(frozen=True, slots=True)
class Cell:
    """One record: a system on a board. `checkpoints` are one for all domains, or one a domain; None is the shipped."""

    board: str
    shots: int
    system: SystemName
    train_seed: int = 0
    protocol: str = "fixed"
    checkpoints: tuple[Path | None, ...] = (None,)

    @property
    def identity(self) -> dict[str, Any]:
        named = {"board": self.board, "shots": self.shots, "system": self.system}
        return {**named, "protocol": self.protocol, "train_seed": self.train_seed}

    @property
    def command(self) -> str:
        """What measures this record alone."""
        words = ["--json", "results/boards.json", "--board", self.board, "--shots", str(self.shots)]
        words += ["--system", self.system]
        if self.protocol == "per_fold":
            for fold, folder in enumerate(self.checkpoints, 1):
                words += ["--fold", f"{fold}={shown_folder(folder)}"]
        else:
            words += ["--train-seed", str(self.train_seed)]
            if self.checkpoints != (None,):
                words += ["--checkpoint", f"{self.train_seed}={shown_folder(self.checkpoints[0])}"]
        return shlex.join(["python", "benchmarks/boards.py", *words])

    def __str__(self) -> str:
        examples = "1 example" if self.shots == 1 else f"{self.shots} examples"
        return f"{self.board}, {examples}, {self.system}, {self.protocol}, seed {self.train_seed}"


def shown_folder(folder: Path | None) -> str:
    """As it is named inside the repository; a folder elsewhere by its last name."""
    if folder is None:
        return "shipped"
    whole = folder.resolve()
    return whole.relative_to(ROOT).as_posix() if whole.is_relative_to(ROOT) else whole.name


# -- measuring ----------------------------------------------------------------------------------------------------


def task_answers(system: BoardSystem, task: FewShotTask, *, calibrated: bool) -> Answers:
    return system.answer(
        task.support, [*(query.text for query in task.queries), *task.out_of_scope], calibrated=calibrated
    )


def task_outcomes(task: FewShotTask, answers: Answers) -> TaskOutcomes:
    gold = [GoldSentence(query.intent, frozenset(gold_spans(query))) for query in task.queries]
    return TaskOutcomes.of(gold, answers.predictions)


def measured(board: Board, systems: Sequence[BoardSystem]) -> dict[str, Any]:
    """Metrics and seconds; `systems` are one for all domains, or one a domain."""
    of_domains = systems if len(systems) > 1 else list(systems) * len(board.tasks)
    metrics = [metric for metric in board.metrics if metric in systems[0].metrics]
    outcomes: dict[str, list[TaskOutcomes]] = {}
    seconds: list[Answers] = []
    for (domain, tasks), system in zip(board.tasks.items(), of_domains, strict=True):
        system.load()
        # What a process does once at its first sentences is no part of the seconds.
        system.answer(of_two_intents(tasks[0].support), [tasks[0].queries[0].text], calibrated=False)
        outcomes[domain] = []
        for number, task in enumerate(tasks, 1):
            answers = task_answers(system, task, calibrated=board.calibrated)
            outcomes[domain].append(task_outcomes(task, answers))
            seconds.append(answers)
            if number % 50 == 0:
                say(f"  {domain}: {number} of {len(tasks)} tasks")
    return {
        "seconds": round(statistics.fmean(each.fit_seconds for each in seconds), 4),
        "calibration_seconds": round(statistics.fmean(each.calibration_seconds for each in seconds), 4),
        "predict_seconds": round(statistics.fmean(each.predict_seconds for each in seconds), 4),
        "metrics": {metric: interval(board, metric, outcomes).in_percent() for metric in metrics},
        **details(board, metrics, outcomes),
    }


def interval(board: Board, metric: str, outcomes: Mapping[str, Sequence[TaskOutcomes]]) -> Interval:
    fractions = [[task.fraction(metric) for task in tasks] for tasks in outcomes.values()]
    match board.unit:
        case "sentences":
            ((task,),) = outcomes.values()
            return over_sentences(metric, task)
        case "draws" | "episodes":
            (own,) = fractions
            return over_tasks(own)
        case "domains":
            return over_domains(fractions)


def details(
    board: Board, metrics: Sequence[str], outcomes: Mapping[str, Sequence[TaskOutcomes]]
) -> dict[str, Mapping[str, Any]]:
    """Of several tasks what each gave, so that systems can be compared task by task; of domains their means."""
    if board.unit == "sentences":
        return {}
    if board.unit == "domains":
        means = {
            domain: {metric: over_tasks([task.fraction(metric) for task in tasks]).in_percent() for metric in metrics}
            for domain, tasks in outcomes.items()
        }
        return {"per_domain": means}
    ((_, tasks),) = outcomes.items()
    return {"per_task": {metric: [round(100 * task.fraction(metric), 3) for task in tasks] for metric in metrics}}


# -- records ------------------------------------------------------------------------------------------------------


def provenance(cell: Cell, board: Board, systems: Sequence[BoardSystem]) -> dict[str, Any]:
    """All that the figures depend on."""
    config = [dict(system.config) for system in systems]
    return {
        "interval": board.unit,
        "tasks": sum(len(tasks) for tasks in board.tasks.values()),
        "scorer": SCORER,
        "config": config[0] if len(config) == 1 else config,
        "data": dict(board.sums),
        "command": cell.command,
    }


def is_measured(wanted: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> bool:
    return any({**record, **wanted} == record for record in records)


def file_record(record: Mapping[str, Any], path: Path) -> None:
    """One record a line, in the order of the tables; it takes the place of an older one of its cell."""
    with alone_in(path.resolve().parent):
        kept = [old for old in read_records(path) if order_of(old) != order_of(record)]
        lines = [json.dumps(line, ensure_ascii=False) for line in sorted([*kept, dict(record)], key=order_of)]
        write_text(path, "[\n" + ",\n".join(lines) + "\n]\n")


def measure_cells(cells: Sequence[Cell], path: Path, *, again: bool) -> None:
    built: dict[tuple[SystemName, Path | None], BoardSystem] = {}
    boards: dict[tuple[str, int], Board] = {}
    for cell in cells:
        if (cell.board, cell.shots) not in boards:
            boards = {(cell.board, cell.shots): read_board(cell.board, data_dir(), cell.shots)}
        board = boards[cell.board, cell.shots]
        for checkpoint in cell.checkpoints:
            if (cell.system, checkpoint) not in built:
                built[cell.system, checkpoint] = build(cell.system, checkpoint)
        systems = [built[cell.system, checkpoint] for checkpoint in cell.checkpoints]
        if not systems[0].metrics.intersection(board.metrics):
            continue
        about = {**cell.identity, **provenance(cell, board, systems)}
        if not again and is_measured(about, read_records(path)):
            say(f"{cell}: is there")
            continue
        found = measured(board, systems)
        file_record({**about, **found}, path)
        say(f"{cell}: {shown(found)}")


def shown(found: Mapping[str, Any]) -> str:
    metrics = [f"{name} {with_interval(value)}" for name, value in found["metrics"].items()]
    return f"{', '.join(metrics)} ({found['seconds']:.3g} s to adapt)"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# -- command ------------------------------------------------------------------------------------------------------


def cells_of(options: argparse.Namespace) -> Iterator[Cell]:
    """Boards in turn, so that each is read once."""
    checkpoints = numbered_folders(options.checkpoint, "--checkpoint")
    folds = numbered_folders(options.fold, "--fold")
    if folds and sorted(folds) != list(range(1, FOLDS + 1)):
        raise ConfigError(f"--fold: found the folds {sorted(folds)}, expected a folder for each from 1 to {FOLDS}")
    seeds = options.train_seed if options.train_seed is not None else sorted({0, *checkpoints})
    if missing := [seed for seed in seeds if seed and seed not in checkpoints]:
        raise ConfigError(
            f"--train-seed: found {missing} without a checkpoint, expected --checkpoint {missing[0]}=FOLDER"
        )
    for board in options.board:
        for shots in BOARDS[board].shots:
            if options.shots and shots not in options.shots:
                continue
            for system in options.system:
                if folds:
                    if board == "snips_slots" and system in OURS:
                        folders = tuple(folds[number] for number in sorted(folds))
                        yield Cell(board, shots, system, protocol="per_fold", checkpoints=folders)
                    continue
                for seed in seeds if system in OURS else seeds[:1]:
                    checkpoint = checkpoints.get(seed) if system in OURS else None
                    yield Cell(board, shots, system, seed if system in OURS else 0, checkpoints=(checkpoint,))


def numbered_folders(given: Sequence[str], option: str) -> dict[int, Path]:
    """{0: folder} of ["0=folder"]."""
    found: dict[int, Path] = {}
    for text in given:
        number, equals, folder = text.partition("=")
        if not equals or not number.isdecimal() or not Path(folder).is_dir():
            raise ConfigError(f"{option}: found {text!r}, expected NUMBER=FOLDER with a folder that exists")
        if int(number) in found:
            raise ConfigError(f"{option}: found {number} twice, expected one folder for it")
        found[int(number)] = Path(folder)
    return found


def usable_systems(options: argparse.Namespace) -> list[SystemName]:
    """Those that were asked for must be installed; of all, those that are."""
    wanted: Sequence[SystemName] = options.system or SYSTEM_NAMES
    missing: list[SystemName] = [name for name in wanted if not is_installed(name)]
    if missing:
        needed = ", ".join(f"{name} needs {NEEDED[name]}" for name in missing)
        text = f"{needed}, which is not installed here; `make results-boards` makes an environment that has all"
        if options.system:
            raise ConfigError(text)
        say(f"without {', '.join(missing)}: {text}")
    return [name for name in wanted if name not in missing]


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, required=True, help="the records: read, and written as they are made")
    parser.add_argument("--board", nargs="+", choices=list(BOARDS), default=list(BOARDS))
    parser.add_argument("--shots", nargs="+", type=int, help="examples an intent, or a slot of SNIPS; all by default")
    parser.add_argument("--system", nargs="+", choices=SYSTEM_NAMES, help="all that are installed by default")
    parser.add_argument("--train-seed", nargs="+", type=int, help="0 and those of --checkpoint by default")
    parser.add_argument("--checkpoint", action="append", default=[], metavar="SEED=FOLDER")
    parser.add_argument("--fold", action="append", default=[], metavar="FOLD=FOLDER", help="measures per_fold alone")
    parser.add_argument("--threads", type=int, default=2, help="threads of torch")
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    parser.add_argument("--table", action="store_true", help="measure nothing, print what is there")
    return parser.parse_args(words)


def main() -> None:
    options = arguments()
    try:
        if not options.table:
            import torch

            torch.set_num_threads(options.threads)
            options.system = usable_systems(options)
            measure_cells(list(cells_of(options)), options.json, again=options.again)
        print(boards_table(read_records(options.json)), end="")
    except HandfulError as error:
        raise SystemExit(f"error: {error}") from None
    except KeyboardInterrupt:
        say("stopped: what is measured is kept, and the same command goes on from there")
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
