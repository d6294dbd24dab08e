"""The public boards: few-shot tasks whose splits were made by others. Strict readers of their files.

The files are not redistributed with handful; `HANDFUL_DATA` names the folder that holds `boards` and
`fb_multilingual_en`. A board is evaluated and never trained on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from out_of_domain import DRAWS, TEST_UTTERANCES, asked_sample, drawn_support

from handful.data.bio import slots_of
from handful.data.corpora import load_corpus
from handful.data.formats.annotation import CharacterSpan, annotate
from handful.data.formats.files import read_lines
from handful.data.formats.json_tree import read_json
from handful.data.formats.tree import Node
from handful.errors import DataError, Place, ProblemLog, listed
from handful.types import Utterance

# What a board's interval runs over: the sentences of one test file (bootstrap), the draws of a support set or the
# episodes (Student's t), or the episodes of fixed domains whose means are averaged.
Unit = Literal["sentences", "draws", "episodes", "domains"]

INTENT_METRICS = ("intent_accuracy", "intent_ece")
SCOPE_METRICS = ("auroc", "in_scope_accuracy", "oos_recall", "coverage_at_5")
JOINT_METRICS = ("intent_accuracy", "slot_f1", "joint_accuracy")


@dataclass(frozen=True, slots=True)
class FewShotTask:
    """A support set to adapt to, sentences with their annotation, and texts that no intent of the support fits."""

    support: tuple[Utterance, ...]
    queries: tuple[Utterance, ...]
    out_of_scope: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.support or not self.queries:
            raise ValueError("a task needs examples to adapt to and sentences to predict")
        unknown = {query.intent for query in self.queries} - {example.intent for example in self.support}
        if unknown:
            raise ValueError(f"the support has no example of the queries' intents {listed(sorted(unknown))}")


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """A benchmark at one number of examples. Tasks stand by domain; most boards have a single one."""

    name: str
    shots: int
    unit: Unit
    tasks: Mapping[str, tuple[FewShotTask, ...]]
    metrics: tuple[str, ...]
    sums: Mapping[str, str]  # of the files, or of a corpus' splits: the start of their SHA-256
    # Confidences are set by a bot's own examples. The tiny episodes of SNIPS are scored without them.
    calibrated: bool = True


@dataclass(frozen=True, slots=True)
class BoardEntry:
    shots: tuple[int, ...]
    read: Callable[[Path, int], Board]  # of the data directory and the number of examples


def read_board(name: str, directory: Path, shots: int) -> Board:
    if shots not in BOARDS[name].shots:
        raise ValueError(f"{name}: found {shots} examples an intent, expected {listed(BOARDS[name].shots)}")
    return BOARDS[name].read(directory, shots)


# -- intents: `seq.in` and `label` side by side -------------------------------------------------------------------


def read_labelled_texts(folder: Path) -> list[Utterance]:
    """One text a line in `seq.in`, its intent on the same line of `label`."""
    texts, labels = read_lines(folder / "seq.in"), read_lines(folder / "label")
    if len(texts) != len(labels):
        shorter, count = min((("seq.in", len(texts)), ("label", len(labels))), key=lambda pair: pair[1])
        raise DataError.at(
            Place(folder / shorter, count + 1),
            f"seq.in has {len(texts)} lines and label has {len(labels)}, expected as many in both",
        )
    log, utterances = ProblemLog(), []
    for number, (text, label) in enumerate(zip(texts, labels, strict=True), 1):
        if not label.strip():
            log.add(Place(folder / "label", number), "found an empty line, expected an intent")
            continue
        with log.at(Place(folder / "seq.in", number)):
            utterances.append(annotate(text.strip(), label.strip(), ()))
    log.raise_if_any()
    return utterances


def _intent_board(corpus: str, directory: Path, shots: int) -> Board:
    folder = directory / "boards" / "intents" / corpus
    task = _task(folder, read_labelled_texts(folder / f"train_{shots}"), read_labelled_texts(folder / "test"))
    sums = file_sums(directory, _labelled_files(folder, f"train_{shots}", "test"))
    return Board(corpus, shots, "sentences", {corpus: (task,)}, INTENT_METRICS, sums)


def _out_of_scope_board(directory: Path, shots: int) -> Board:
    folder = directory / "boards" / "intents" / "clinc150"
    strangers = [utterance.text for utterance in read_labelled_texts(folder / "oos_test")]
    support, queries = (read_labelled_texts(folder / part) for part in (f"train_{shots}", "test"))
    sums = file_sums(directory, _labelled_files(folder, f"train_{shots}", "test", "oos_test"))
    task = _task(folder, support, queries, strangers)
    return Board("clinc150_oos", shots, "sentences", {"clinc150": (task,)}, SCOPE_METRICS, sums)


def _labelled_files(folder: Path, *parts: str) -> list[Path]:
    return [folder / part / name for part in parts for name in ("seq.in", "label")]


# -- episodes: support and query in JSON --------------------------------------------------------------------------


def read_episodes(path: Path) -> dict[str, tuple[FewShotTask, ...]]:
    """By domain: {domain: [{"support": {"seq_ins", "seq_outs", "labels"}, "query": the same}]}."""
    log, domains = ProblemLog(), {}
    for domain, episodes in read_json(path).mapping("a mapping of domains").items():
        tasks = []
        for episode in episodes.items("a list of episodes"):
            with log.at(episode.place):
                support, queries = (_tagged_sentences(episode.need(part)) for part in ("support", "query"))
                tasks.append(FewShotTask(tuple(support), tuple(queries)))
        domains[domain] = tuple(tasks)
    log.raise_if_any()
    if not domains or not all(domains.values()):
        raise DataError.at(Place(path), "found a domain without episodes, or no domain, expected some of each")
    return domains


def _tagged_sentences(part: Node) -> list[Utterance]:
    columns = [part.need(key).items() for key in ("seq_ins", "seq_outs", "labels")]
    if len({len(column) for column in columns}) > 1:
        counts = ", ".join(str(len(column)) for column in columns)
        part.fail(f"found {counts} rows in seq_ins, seq_outs and labels, expected as many in each")
    log, sentences = ProblemLog(), []
    for words, tags, label in zip(*columns, strict=True):
        with log.at(words.place):
            tokens = [word.text("a word") for word in words.items("a list of words")]
            sentences.append(
                tagged_text(tokens, [tag.text("a tag") for tag in tags.items("a list of tags")], _intent(label))
            )
    log.raise_if_any()
    return sentences


def _intent(label: Node) -> str:
    """A name, or a list of a single one."""
    if not isinstance(label.value, list):
        return label.text("an intent")
    if len(label.value) != 1:
        label.expected("one intent")
    return label.items()[0].text("an intent")


def tagged_text(tokens: Sequence[str], tags: Sequence[str], intent: str) -> Utterance:
    """Tokens joined by spaces, and split as a user's text is; the tags become spans of characters."""
    if len(tokens) != len(tags):
        raise ValueError(f"found {len(tokens)} words and {len(tags)} tags, expected one tag a word")
    if cut := [token for token in tokens if token.split() != [token]]:
        raise ValueError(f"found white space in {listed(cut)}, expected single words")
    tagged = Utterance.from_words(tokens, intent, slots_of(tags))
    return resplit(tagged)


def resplit(utterance: Utterance) -> Utterance:
    """With the words that a parser splits its text into, however its corpus was tokenised."""
    spans = [CharacterSpan(*span) for span in gold_spans(utterance)]
    return annotate(utterance.text, utterance.intent, spans)


def gold_spans(utterance: Utterance) -> tuple[tuple[str, int, int], ...]:
    """Labels, and the characters that they cover: what is scored, whatever the words."""
    words = utterance.words
    return tuple((slot.key, words[slot.start].start, words[slot.end - 1].end) for slot in utterance.slots)


def _snips_slots_board(directory: Path, shots: int) -> Board:
    files = [directory / "boards" / "snips_slots" / f"shot{shots}_test_{fold}.json" for fold in range(1, 8)]
    tasks: dict[str, tuple[FewShotTask, ...]] = {}
    for file in files:  # fold n leaves out the domain of file n, so their order matters
        found = read_episodes(file)
        if len(found) != 1 or found.keys() & tasks.keys():
            raise DataError.at(Place(file), f"found the domains {listed(found)}, expected one that no other file has")
        tasks |= found
    return Board("snips_slots", shots, "domains", tasks, ("slot_f1",), file_sums(directory, files), calibrated=False)


def _snips_joint_board(directory: Path, shots: int) -> Board:
    file = directory / "boards" / "snips_joint" / f"shot{shots}_test.json"
    tasks, sums = read_episodes(file), file_sums(directory, [file])
    if len(tasks) != 1:
        raise DataError.at(Place(file), f"found the domains {listed(tasks)}, expected one")
    return Board("snips_joint", shots, "episodes", tasks, JOINT_METRICS, sums, calibrated=False)


# -- Facebook's alarm, reminder and weather: draws ----------------------------------------------------------------


def _facebook_board(directory: Path, shots: int) -> Board:
    """The draws and the test sentences of benchmarks/out_of_domain.py."""
    corpus = load_corpus("fb_multilingual_en", directory)
    queries = tuple(resplit(utterance) for utterance in asked_sample(corpus.split("test"), TEST_UTTERANCES))
    tasks = tuple(
        FewShotTask(tuple(resplit(u) for u in drawn_support(corpus.split("train"), shots, draw)), queries)
        for draw in range(DRAWS)
    )
    sums = {f"{corpus.name}/{split}": corpus.digest(split) for split in ("train", "test")}
    metrics = (*JOINT_METRICS, "intent_ece", "slot_ece")
    return Board("facebook", shots, "draws", {"facebook": tasks}, metrics, sums)


def _task(
    folder: Path, support: Sequence[Utterance], queries: Sequence[Utterance], out_of_scope: Sequence[str] = ()
) -> FewShotTask:
    try:
        return FewShotTask(tuple(support), tuple(queries), tuple(out_of_scope))
    except ValueError as error:
        raise DataError.at(Place(folder), str(error)) from error


def file_sums(directory: Path, files: Iterable[Path]) -> dict[str, str]:
    return {
        file.relative_to(directory).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()[:16] for file in files
    }


BOARDS: Mapping[str, BoardEntry] = {
    **{name: BoardEntry((5, 10), partial(_intent_board, name)) for name in ("banking77", "clinc150", "hwu64")},
    "clinc150_oos": BoardEntry((5, 10), _out_of_scope_board),
    "facebook": BoardEntry((5, 10), _facebook_board),
    "snips_slots": BoardEntry((1, 5), _snips_slots_board),
    "snips_joint": BoardEntry((1, 5), _snips_joint_board),
}
