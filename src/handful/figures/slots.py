"""F1 slot by slot, of the paper's method beside the best baseline with the same encoder and training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from handful.figures.figure import Figure, Missing, Numbers, caption, f1, plain, shown
from handful.figures.lines import Cell, corpora_of, lines_of, mean

TITLE = "F1 by slot"
METHOD = "(w,w)"
BASELINES = frozenset({"proto", "retriever", "finetune", "fomaml", "prototypes"})
U_MAX = 20
MOST_SLOTS = 15


@dataclass(frozen=True, slots=True)
class SlotCounts:
    right: int
    predicted: int
    gold: int

    @property
    def f1(self) -> float | None:
        return f1(self.right, self.predicted, self.gold)


def slots_figure(cells: Sequence[Cell]) -> Figure | Missing:
    import altair as alt

    known = [cell for cell in cells if cell.u_max == U_MAX and _records(cell)]
    pairs = {corpus: _pair([cell for cell in known if cell.corpus == corpus]) for corpus in corpora_of(known)}
    pairs = {corpus: pair for corpus, pair in pairs.items() if pair}
    if not pairs:
        reason = f"No record of {METHOD} at U_max {U_MAX} has counts by slot: `handful bench` makes records that do."
        return Missing(TITLE, reason)
    used = [cell for pair in pairs.values() for cell in pair]
    labels, colours = zip(*((line.label, line.colour) for line in lines_of(used)), strict=True)
    scale = alt.Scale(domain=list(labels), range=list(colours))
    panels = [_panel(corpus, pair, scale) for corpus, pair in pairs.items()]
    alone = [corpus for corpus, pair in pairs.items() if len(pair) == 1]
    lacking = f" No such baseline has counts by slot on {', '.join(alone)}." if alone else ""
    told = "; ".join(f"{corpus} with {_setup(pair[0])}" for corpus, pair in pairs.items())
    return Figure(
        "slots",
        f"{TITLE}: {METHOD} and the best baseline, U_max {U_MAX}",
        f"The {MOST_SLOTS} slots of each data set with the most gold spans, the most frequent first. Of several "
        f"{METHOD} the one with the highest mean strict F1 on that data is shown, and so is the best of the baselines "
        f"that have its encoder and were trained on the same data as it.{lacking}",
        f"{caption([r for c in used for r in _records(c)], 'strict')} Encoder and training of both: {told}. Counts of "
        "several seeds are added up.",
        # Each panel has a pair of its own; together they would leave gaps for the others' pairs.
        plain(alt.vconcat(*panels).resolve_scale(yOffset="independent")),
        tuple(_numbers(corpus, pair) for corpus, pair in pairs.items()),
    )


def _pair(cells: Sequence[Cell]) -> list[Cell]:
    """The method and the best baseline; the method alone where there is no baseline, nothing without the method."""
    methods = [cell for cell in cells if cell.line.row == METHOD]
    if not methods:
        return []
    method = max(methods, key=_mean_f1)
    # With another encoder or other training data a difference would not be the method's.
    baselines = [cell for cell in cells if cell.line.row in BASELINES and _setup(cell) == _setup(method)]
    return [method, *([max(baselines, key=_mean_f1)] if baselines else [])]


def _setup(cell: Cell) -> str:
    return ", ".join(filter(None, [cell.line.encoder, cell.line.training]))


def _mean_f1(cell: Cell) -> float:
    return mean(record.slot_f1_strict.mean for record in cell.records)


def slot_counts(cell: Cell) -> dict[str, SlotCounts]:
    found: dict[str, Counter[str]] = {}
    for record in _records(cell):
        for slot, (right, predicted, gold) in record.details.slots.items():
            found.setdefault(slot, Counter()).update({"right": right, "predicted": predicted, "gold": gold})
    return {slot: SlotCounts(own["right"], own["predicted"], own["gold"]) for slot, own in found.items()}


def _frequent(counts: dict[str, SlotCounts]) -> list[str]:
    return sorted(counts, key=lambda slot: (-counts[slot].gold, slot))[:MOST_SLOTS]


def _panel(corpus: str, pair: Sequence[Cell], scale: Any) -> Any:
    import altair as alt

    found = {cell: slot_counts(cell) for cell in pair}
    slots = _frequent(found[pair[0]])
    values = [
        {"slot": slot, "line": cell.line.label, "f1": round(score, 3), "text": f"{score:.0f}"}
        for cell, counts in found.items()
        for slot in slots
        if slot in counts and (score := counts[slot].f1) is not None
    ]
    order = [cell.line.label for cell in pair]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("f1:Q", scale=alt.Scale(domain=[0, 100]), title="slot F1 (strict), %"),
        y=alt.Y("slot:N", scale=alt.Scale(domain=slots), title=None, axis=alt.Axis(labelLimit=360)),
        yOffset=alt.YOffset("line:N", scale=alt.Scale(domain=order)),
    )
    legend = alt.Legend(title=None, orient="bottom", columns=2, labelLimit=420)
    bars = base.mark_bar().encode(color=alt.Color("line:N", scale=scale, legend=legend))
    texts = base.mark_text(align="left", baseline="middle", dx=3, fontSize=9, style="value").encode(text="text:N")
    return alt.layer(bars, texts).properties(width=460, height={"step": 12}, title=f"{corpus}: {_setup(pair[0])}")


def _numbers(corpus: str, pair: Sequence[Cell]) -> Numbers:
    found = [(cell, slot_counts(cell)) for cell in pair]
    nothing = SlotCounts(0, 0, 0)
    rows = tuple(
        (corpus, slot, found[0][1][slot].gold, *(shown(counts.get(slot, nothing).f1) for _, counts in found))
        for slot in _frequent(found[0][1])
    )
    return Numbers(("data", "slot", "gold spans", *(f"F1 {cell.line.label} %" for cell, _ in found)), rows, names=2)


def _records(cell: Cell) -> list[Any]:
    return [record for record in cell.records if record.details is not None and record.details.slots]
