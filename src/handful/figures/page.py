"""One HTML file that shows all figures: drawn, without a script, and asking no address for anything."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from handful.figures.chapters import Chapter
from handful.figures.figure import Figure, Missing, Numbers, inline
from handful.figures.lines import Lines, lines_of
from handful.figures.quality import headline
from handful.figures.records import Results
from handful.figures.scores import SPREAD
from handful.report.asking import counted
from handful.report.markup import Html, document, element, joined, packaged, table

MADE_BY = "handful report"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_LEAST_WIDTH = 620  # pixels: on a narrower screen a figure is scrolled, for its words would be too small


def page(results: Results, lines: Lines, chapters: Sequence[Chapter], drawn: Mapping[str, str]) -> str:
    """`drawn` has the SVG of every figure by its name."""
    body = joined(
        [
            _opening(results, lines),
            _contents(chapters),
            _headline(lines),
            *(_chapter(chapter, drawn) for chapter in chapters),
            element("footer", f"Made by {MADE_BY}. This page holds all that it shows, and asks no other for anything."),
        ]
    )
    style = packaged("handful.report", "page.css") + packaged("handful.figures", "page.css")
    return document("Results: figures and tables", _POLICY, style, element("main", body), made_by=MADE_BY)


def _opening(results: Results, lines: Lines) -> Html:
    notes = [element("li", note) for note in notes_of(results, lines)]
    used = len(results.records) - lines.replaced
    return element(
        "header",
        element("h1", "Results"),
        element(
            "p",
            f"{counted(used, 'record')} of {counted(len(lines_of(lines.cells)), 'line')}: a line is a row with an "
            "encoder, and with whatever else tells it from others.",
        ),
        element("ul", *notes, class_="notes") if notes else "",
    )


def notes_of(results: Results, lines: Lines) -> list[str]:
    """What to know before reading: which records are not here."""
    found = []
    if results.left_out:
        found.append(f"{counted(results.left_out, 'record')} of other splits than test are left out")
    if lines.replaced:
        found.append(f"{counted(lines.replaced, 'record')} were measured anew: the later measurement counts")
    return found


def _contents(chapters: Sequence[Chapter]) -> Html:
    entries = [
        element("li", element("a", chapter.title, href=f"#{chapter.name}"), "" if chapter.drawable else " (missing)")
        for chapter in chapters
    ]
    return element("nav", element("ol", *entries), aria_label="Contents")


def _headline(lines: Lines) -> Html:
    best = headline(lines.cells)
    if not best.rows:
        return Html("")
    return element(
        "section",
        element("h2", "The best"),
        element("p", "Of each data set and U_max, by the mean. Neighbours may be as good: see the intervals below."),
        _table(best),
        element("p", SPREAD, class_="quiet"),
    )


def _chapter(chapter: Chapter, drawn: Mapping[str, str]) -> Html:
    """The first figure is open; what is the same of other encoders and U_max is folded below it."""
    first, rest = chapter.drawable[:1], chapter.drawable[1:]
    return element(
        "section",
        element("h2", chapter.title),
        *map(_missing, chapter.missing),
        *(_figure(figure, drawn[figure.name], heading=figure.title != chapter.title) for figure in first),
        *(
            element("details", element("summary", figure.title), _figure(figure, drawn[figure.name]), class_="more")
            for figure in rest
        ),
        id=chapter.name,
    )


def _missing(missing: Missing) -> Html:
    """A command stands between backticks."""
    parts = missing.reason.split("`")
    told = [element("code", part) if number % 2 else part for number, part in enumerate(parts)]
    return element("p", element("strong", "Missing. "), *told, class_="missing")


def _figure(figure: Figure, svg: str, *, heading: bool = False) -> Html:
    width = _width(svg)
    style = f"max-width:{width}px;min-width:{min(width, _LEAST_WIDTH)}px"
    drawing = element("div", Html(inline(svg, figure.name)), style=style, role="img", aria_label=figure.title)
    return element(
        "figure",
        element("h3", figure.title) if heading else "",
        element("p", figure.says),
        element("div", drawing, class_="drawing", tabindex=0),
        element("figcaption", figure.caption),
        element("details", element("summary", "The numbers"), *map(_table, figure.numbers)),
    )


def _width(svg: str) -> int:
    """In pixels, as it was drawn: enlarged, a small figure would only be coarse."""
    found = re.search(r'<svg[^>]*?\swidth="(\d+)', svg)
    return int(found.group(1)) if found else _LEAST_WIDTH


def _table(numbers: Numbers) -> Html:
    return table(numbers.columns, numbers.rows, names=numbers.names)
