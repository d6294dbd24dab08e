"""All figures of a report, in the order of its page, and how they are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from handful.figures import calibration, cost, curves, projection, quality, shots, slots
from handful.figures.figure import Figure, Missing, draw_png, draw_svg
from handful.figures.lines import Cell
from handful.figures.records import Projection


@dataclass(frozen=True, slots=True)
class Chapter:
    """Figures of a kind, the most telling one first: one for each encoder and U_max, where they need their own."""

    name: str  # of its place on the page
    title: str
    figures: tuple[Figure | Missing, ...]

    @property
    def drawable(self) -> tuple[Figure, ...]:
        return tuple(figure for figure in self.figures if isinstance(figure, Figure))

    @property
    def missing(self) -> tuple[Missing, ...]:
        return tuple(figure for figure in self.figures if isinstance(figure, Missing))


@dataclass(frozen=True, slots=True)
class Drawing:
    """An event: a figure has been drawn."""

    figure: Figure
    svg: str
    png: bytes


def chapters(cells: Sequence[Cell], projected: Projection | None) -> tuple[Chapter, ...]:
    found = (
        ("quality", quality.TITLE, quality.quality_figures(cells)),
        ("figure2", projection.TITLE, [projection.projection_figure(projected)]),
        ("shots", shots.TITLE, shots.shots_figures(cells)),
        ("curves", curves.TITLE, curves.curve_figures(cells)),
        ("slots", slots.TITLE, [slots.slots_figure(cells)]),
        ("calibration", calibration.TITLE, calibration.calibration_figures(cells)),
        ("cost", cost.TITLE, cost.cost_figures(cells)),
    )
    names: set[str] = set()
    return tuple(Chapter(name, title, tuple(_named_apart(own, names))) for name, title, own in found)


def draw(parts: Sequence[Chapter]) -> Iterator[Drawing]:
    for chapter in parts:
        for figure in chapter.drawable:
            yield Drawing(figure, draw_svg(figure.spec), draw_png(figure.spec))


def _named_apart(figures: Sequence[Figure | Missing], taken: set[str]) -> Iterator[Figure | Missing]:
    """Two encoders may differ in nothing that a file's name can show; neither may overwrite the other."""
    for figure in figures:
        if isinstance(figure, Figure):
            name, number = figure.name, 1
            while name in taken:
                number += 1
                name = f"{figure.name}-{number}"
            taken.add(name)
            yield replace(figure, name=name)
        else:
            yield figure
