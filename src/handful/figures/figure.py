"""A figure: what is drawn, what it is of, and its numbers as tables; drawn as SVG and PNG."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from handful.errors import HandfulError
from handful.figures.lines import Cell, Line, corpus_order, line_order, shown_encoder
from handful.figures.records import Record

if TYPE_CHECKING:
    import altair as alt

Spec = dict[str, Any]
# The light colours of the report's page.css, which the page sets back to its variables: so figures can be dark as well.
_THEME = {"#1c2128": "var(--ink)", "#5c6670": "var(--quiet)", "#d9dde2": "var(--rule)"}
_INK, _QUIET, _RULE = _THEME
_PNG_SCALE = 2


@dataclass(frozen=True, slots=True)
class Numbers:
    """A table: the first columns are `names`, the others numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    names: int = 1


@dataclass(frozen=True, slots=True)
class Figure:
    name: str  # of its files
    title: str
    says: str
    caption: str
    spec: Spec
    numbers: tuple[Numbers, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """A figure that the records cannot give, and what would make it."""

    title: str
    reason: str


@dataclass(frozen=True, slots=True)
class Part:
    """Cells of an encoder and a way of training: as many lines as an eye can follow."""

    name: str  # as in file names
    title: str
    cells: tuple[Cell, ...]


def parts(cells: Sequence[Cell]) -> Iterator[Part]:
    keys = sorted(
        {
            (line_order(cell.line)[2:4], cell.line.training != "", cell.line.training, cell.line.encoder)
            for cell in cells
        }
    )
    for _, _, training, encoder in keys:
        own = tuple(c for c in cells if (c.line.encoder, c.line.training) == (encoder, training))
        yield Part(file_name(f"{encoder} {training}"), ", ".join(filter(None, [encoder, training])), own)


def file_name(text: str) -> str:
    """'gte-small trained jointly' -> gte-small-trained-jointly; file systems and shells do not like the rest."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "other"


def caption(records: Iterable[Record], scorer: str) -> str:
    """What the numbers are of: rows, encoders, data, U_max, scorer, seeds, episodes."""
    known = list(records)
    rows = sorted({record.row for record in known}, key=_row_order)
    encoders = sorted({shown_encoder(record.encoder) for record in known})
    corpora = sorted({record.corpus for record in known}, key=corpus_order)
    u_max = sorted({record.u_max for record in known})
    episodes = sorted({record.episodes for record in known})
    train_seeds = _seeds(record.train_seed for record in known)
    return (
        f"{_many('Row', rows)} with {', '.join(encoders)}. Data: {', '.join(corpora)}, split test. "
        f"U_max {_or(u_max)}. Scorer: {scorer}. {train_seeds[0].upper()}{train_seeds[1:]} of training, "
        f"{_seeds(record.episode_seed for record in known)} of the episodes. {_or(episodes)} episodes a record."
    )


def _row_order(row: str) -> tuple[object, ...]:
    return line_order(Line(row, row, "", "", "", "", ()))[:2]


def _many(noun: str, names: Sequence[str]) -> str:
    return f"{noun}{'' if len(names) == 1 else 's'} {', '.join(names)}"


def _seeds(given: Iterable[int | None]) -> str:
    seeds = sorted({seed for seed in given if seed is not None})
    return _many("seed", [str(seed) for seed in seeds]) if seeds else "no seed"


def _or(numbers: Sequence[int]) -> str:
    return " or ".join(map(str, numbers))


def shown(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def f1(right: int, predicted: int, gold: int) -> float | None:
    """In percent; of no spans at all there is none."""
    return 200 * right / (predicted + gold) if predicted + gold else None


def line_encodings(lines: Sequence[Line], *, dashes: bool = False) -> dict[str, Any]:
    """Colour, shape and stroke by label, with one legend for all of them."""
    import altair as alt

    labels = [line.label for line in lines]
    legend = alt.Legend(title=None, orient="bottom", columns=2, labelLimit=420, symbolSize=70, symbolStrokeWidth=2)

    def scale(values: list[Any]) -> alt.Scale:
        return alt.Scale(domain=labels, range=values)

    found: dict[str, Any] = {
        "color": alt.Color("line:N", scale=scale([line.colour for line in lines]), legend=legend),
        "shape": alt.Shape("line:N", scale=scale([line.shape for line in lines]), legend=legend),
    }
    if dashes:
        strokes = scale([list(line.dash) for line in lines])
        found["strokeDash"] = alt.StrokeDash("line:N", scale=strokes, legend=None)
    return found


def plain(chart: alt.TopLevelMixin) -> Spec:
    """With the colours and the type of the page."""
    spec: Spec = chart.to_dict(validate=False)
    return {
        **{key: value for key, value in spec.items() if key != "config"},
        "background": "#ffffff",
        "padding": 10,
        "config": {
            "aria": False,  # the page names the figure; a name for each mark would be most of the file
            "font": "Arial, Helvetica, Liberation Sans, sans-serif",
            "view": {"stroke": _RULE},
            "axis": {
                "labelColor": _INK,
                "titleColor": _QUIET,
                "gridColor": _RULE,
                "gridOpacity": 0.6,
                "domainColor": _RULE,
                "tickColor": _RULE,
                "titleFontWeight": "normal",
            },
            "legend": {
                "labelColor": _INK,
                "titleColor": _QUIET,
                "titleFontWeight": "normal",
                "symbolBaseFillColor": _QUIET,
                "symbolBaseStrokeColor": _QUIET,
            },
            "title": {"color": _INK, "fontSize": 12, "anchor": "start"},
            "style": {"value": {"fill": _INK}, "diagonal": {"color": _QUIET}},
        },
    }


def draw_svg(spec: Spec) -> str:
    import vl_convert

    try:
        return vl_convert.vegalite_to_svg(json.dumps(spec))
    except ValueError as error:
        raise HandfulError(f"a figure could not be drawn: {error}") from error


def draw_png(spec: Spec) -> bytes:
    import vl_convert

    try:
        return vl_convert.vegalite_to_png(json.dumps(spec), scale=_PNG_SCALE)
    except ValueError as error:
        raise HandfulError(f"a figure could not be drawn: {error}") from error


def inline(svg: str, name: str) -> str:
    """For a page: its colours are the page's, and names inside it do not meet those of other figures."""
    for light, variable in _THEME.items():
        svg = svg.replace(f'"{light}"', f'"{variable}"')
    svg = re.sub(r'(<svg[^>]*?)\swidth="[^"]*"\sheight="[^"]*"', r"\1", svg, count=1)
    svg = svg.replace('fill="#ffffff"', 'fill="none"', 1)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
