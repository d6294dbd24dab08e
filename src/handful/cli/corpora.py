"""Commands on data: list, get, stats, check, convert."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handful.cli.console import err, out, warn
from handful.cli.research import DataDir
from handful.errors import ConfigError, DataError, HandfulError, Place

if TYPE_CHECKING:
    from handful.data.corpora import Corpus
    from handful.types import Utterance

app = typer.Typer(help="Data sets and files: list, get, stats, check, convert.", no_args_is_help=True)

_FORMAT_OF_SUFFIX = {
    ".yml": "rasa-yaml",
    ".yaml": "rasa-yaml",
    ".jsonl": "jsonl",
    ".conll": "conll",
    "": "seq",
}
NameOrPath = Annotated[str, typer.Argument(metavar="NAME|PATH", help="A data set's name, or a file or folder.")]
FormatName = Annotated[str | None, typer.Option("--format", help="The format, where the content leaves it open.")]


@app.command("list")
def list_sets(data_dir: DataDir = None) -> None:
    """The data sets that handful knows, and which of them are here."""
    from rich.table import Table

    from handful.data.domain_sources import KNOWN_SETS
    from handful.places import data_dir as chosen_dir

    directory = chosen_dir(data_dir)
    table = Table(title=f"data sets in {directory}", title_justify="left")
    for column in ("name", "here", "what", "licence"):
        table.add_column(column, no_wrap=column == "name")
    for data_set in KNOWN_SETS:
        there = sum((directory / file.path).is_file() for file in data_set.files)
        here = "yes" if there == len(data_set.files) else "in part" if there else "no"
        table.add_row(data_set.name, here, data_set.title, data_set.licence)
    for name in ("snips", "atis", "top"):
        here = "yes" if (directory / "released" / name).is_dir() else "no"
        about = "the paper authors' processed files (no licence stated; not fetched)"
        table.add_row(f"released-{name}", here, about, "none stated")
    out.print(table)


@app.command("get")
def get(
    name: Annotated[str, typer.Argument(help="The data set to fetch.")],
    data_dir: DataDir = None,
) -> None:
    """Fetch a data set from its public home, check every file's sum; can be interrupted and goes on where it was."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from handful.data import download
    from handful.data.domain_sources import DOMAIN_SETS, FOLDER
    from handful.data.sources import named
    from handful.places import data_dir as chosen_dir

    directory = chosen_dir(data_dir)
    in_domains = name in DOMAIN_SETS
    data_set = DOMAIN_SETS[name].data if in_domains else named(name)
    mirror = os.environ.get("HANDFUL_MIRROR") or None
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(name, total=None)
        for event in download.fetch(data_set, directory, mirror=mirror):
            match event:
                case download.FileStarted(path=path):
                    progress.reset(task, description=path, total=None)
                case download.Progress(received=received, total=total):
                    progress.update(task, completed=received, total=total)
                case download.Retrying(path=path, reason=reason):
                    err.print(f"{path}: {reason}; trying again", style="yellow")
                case download.AlreadyThere(path=path):
                    err.print(f"{path}: already there", style="dim")
                case download.FileDone(path=path):
                    err.print(f"{path}: done", style="dim")
    home = directory / FOLDER / name if in_domains else directory / name
    out.print(f"{name} is in {home} (licence: {data_set.licence})")
    if data_set.not_fetched is not None:
        out.print(f"Nothing was fetched: {data_set.not_fetched}")


@app.command("stats")
def stats(what: NameOrPath, data_dir: DataDir = None, format_name: FormatName = None) -> None:
    """Count utterances, intents and slots."""
    from rich.table import Table

    for title, utterances in _parts(what, data_dir, format_name):
        intents = Counter(utterance.intent for utterance in utterances)
        slots = Counter(slot.key for utterance in utterances for slot in utterance.slots)
        words = sum(len(utterance.words) for utterance in utterances)
        out.print(title, style="bold")
        out.print(
            f"{len(utterances):,} utterances, {words:,} words, {len(intents)} intents, {len(slots)} slots "
            f"({slots.total():,} times)"
        )
        table = Table(show_header=True)
        table.add_column("intent")
        table.add_column("utterances", justify="right")
        table.add_column("slots", justify="right")
        for intent, count in intents.most_common():
            of_intent = {slot.key for u in utterances if u.intent == intent for slot in u.slots}
            table.add_row(intent, f"{count:,}", str(len(of_intent)))
        out.print(table)


@app.command("check")
def check(what: NameOrPath, data_dir: DataDir = None, format_name: FormatName = None) -> None:
    """Read everything, strictly; for a known data set compare the sums of its files first."""
    from handful.data.domain_sources import KNOWN_SETS
    from handful.data.reading import read_document
    from handful.data.sources import verify
    from handful.places import data_dir as chosen_dir

    if what not in _names():
        document = read_document(_existing(what), format_name)
        warn(document.warnings)
        out.print(f"{what}: {len(document.utterances)} utterances, {len(document.warnings)} warnings")
        return
    directory = chosen_dir(data_dir)
    corpus = _load(what, directory)
    for data_set in KNOWN_SETS:
        if data_set.name == what and (faults := verify(data_set, directory)):
            raise HandfulError("\n".join(f"{directory}/{fault}" for fault in faults))
    warn(corpus.mended)
    sizes = ", ".join(f"{split} {len(part):,}" for split, part in corpus.splits.items())
    out.print(f"{what}: {sizes}; {len(corpus.mended)} defects mended")


@app.command("convert")
def convert(
    source: Annotated[Path, typer.Argument(help="The file or folder to read.")],
    target: Annotated[Path, typer.Argument(help="The file or folder to write.")],
    to: Annotated[
        str | None, typer.Option("--to", help="rasa-yaml, seq, conll or jsonl; else by the target's ending.")
    ] = None,
    format_name: FormatName = None,
    repair: Annotated[bool, typer.Option("--repair", help="Mend tags that are not legal BIO, and list them.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over what is there.")] = False,
) -> None:
    """Read one format, write another; what the new format cannot hold is listed."""
    from handful.data.arranging import grouped_by_intent
    from handful.data.reading import FORMATS, format_named, read_document

    chosen = to or _FORMAT_OF_SUFFIX.get(target.suffix)
    written = [known.name for known in FORMATS if known.write is not None]
    if chosen is None:
        raise ConfigError(f"{target}: the ending names no format; say --to {', '.join(written)}")
    write = format_named(chosen).write
    if write is None:
        raise ConfigError(f"'{chosen}' is read but not written; written are {', '.join(written)}")
    if (target.exists() or target.is_symlink()) and not force:
        raise HandfulError(f"{target} is already there and was left as it is: choose another name, or say --force")
    document = read_document(_existing(str(source)), format_name, repair=repair)
    warn(document.warnings)
    if chosen == "rasa-yaml":
        document = grouped_by_intent(document)
    lost = write(document, target)
    warn(f"{target}: '{chosen}' cannot hold {loss}" for loss in lost)
    out.print(f"{target}: {len(document.utterances)} utterances as {chosen}")


def _parts(what: str, data_dir: Path | None, format_name: str | None) -> Sequence[tuple[str, Sequence[Utterance]]]:
    from handful.data.reading import read_document
    from handful.places import data_dir as chosen_dir

    if what in _names():
        corpus = _load(what, chosen_dir(data_dir))
        return [(f"{what} {split}", part) for split, part in corpus.splits.items()]
    document = read_document(_existing(what), format_name)
    warn(document.warnings)
    return [(what, document.utterances)]


def _names() -> tuple[str, ...]:
    from handful.data.corpora import corpus_names
    from handful.data.domain_sources import DOMAIN_SETS

    return (*corpus_names(), *DOMAIN_SETS)


def _load(name: str, directory: Path) -> Corpus:
    from handful.data.corpora import load_corpus
    from handful.data.domain_sets import as_corpus, load_domain_set
    from handful.data.domain_sources import DOMAIN_SETS

    return as_corpus(load_domain_set(name, directory)) if name in DOMAIN_SETS else load_corpus(name, directory)


def _existing(what: str) -> Path:
    """A path that is there; a mistyped data set's name ends here too."""
    from handful.data.near_names import suggestion

    path = Path(what)
    if not path.exists():
        raise DataError.at(Place(path), f"there is no such file, folder or data set{suggestion(what, _names())}")
    return path
