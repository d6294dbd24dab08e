"""The command that draws what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handful.cli.console import err, out, warn
from handful.errors import ConfigError, HandfulError

if TYPE_CHECKING:
    from handful.figures.chapters import Chapter

_PAGE = "index.html"
_FIGURES = "figures"


def report(
    results: Annotated[Path, typer.Option("--results", help="A folder with result records.")] = Path("results"),
    folder: Annotated[Path, typer.Option("--out", help="A folder for the page and the figures.")] = Path("report"),
) -> None:
    """Draw result records: one page to open in a browser, and every figure as SVG and PNG. Nothing is measured."""
    from handful.data.formats.files import write_text
    from handful.figures.chapters import chapters
    from handful.figures.lines import sort_into_lines
    from handful.figures.page import notes_of, page
    from handful.figures.records import read_results
    from handful.report.plots import require_altair

    require_altair()
    read = read_results(results)
    lines = sort_into_lines(read.records)
    _refuse_folder(folder)
    parts = chapters(lines.cells, read.projection)
    drawn = _drawn(parts, folder / _FIGURES)
    write_text(folder / _PAGE, page(read, lines, parts, drawn))
    for note in notes_of(read, lines):
        err.print(note, style="dim")
    warn([f"{missing.title}: missing. {missing.reason}" for chapter in parts for missing in chapter.missing])
    if drawn:
        out.print(f"{folder / _FIGURES}: {len(drawn)} figures, each as SVG and as PNG")
    out.print(f"{folder / _PAGE}: all of them on a page, with their numbers")


def _refuse_folder(folder: Path) -> None:
    """Before the work: what is in the way, and a page that somebody else has made."""
    from handful.figures.page import MADE_BY

    figures, page = folder / _FIGURES, folder / _PAGE
    for path in (folder, figures):
        if path.exists() and not path.is_dir():
            raise ConfigError(f"--out {folder}: found a file at {path}, expected a folder or nothing")
    if page.is_dir():
        raise ConfigError(f"--out {folder}: found a folder at {page}, expected a file or nothing")
    if page.exists() and f'content="{MADE_BY}"'.encode() not in page.read_bytes():
        raise ConfigError(
            f"--out {folder}: found a page here that `handful report` has not made: choose another folder"
        )
    try:
        figures.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HandfulError(f"{figures}: cannot be made: {error.strerror}") from error


def _drawn(parts: Sequence[Chapter], folder: Path) -> dict[str, str]:
    """SVG by the figure's name; every figure is a file as soon as it is drawn."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from handful.data.formats.files import write_text
    from handful.figures.chapters import draw

    found: dict[str, str] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        for drawing in progress.track(
            draw(parts), total=sum(len(chapter.drawable) for chapter in parts), description="drawing"
        ):
            name = drawing.figure.name
            write_text(folder / f"{name}.svg", drawing.svg)
            _write_bytes(folder / f"{name}.png", drawing.png)
            found[name] = drawing.svg
    return found


def _write_bytes(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise HandfulError(f"{path}: cannot be written: {error.strerror}") from error
