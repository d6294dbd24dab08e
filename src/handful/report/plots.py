"""The plots of a report, as Vega-Lite. Names and texts of a bot stand in the data and in scales' domains, never in an
expression: Vega would run those."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from handful.errors import ConfigError
from handful.parser.parse import FALLBACK
from handful.report.assessment import Assessment, Bin, Confused, confidence_bins
from handful.report.layout import Layout

if TYPE_CHECKING:
    import altair as alt

MOST_NAMES = 40  # in the heat map of a bot with many intents
_ALL_NAMES = 25  # so many are always shown
_MOST_COUNTED = 20  # names beyond which the cells are too small for a number
_MOST_COLOURED = 20  # intents beyond which colours repeat, and a legend would lie
_HISTOGRAM = 20
_RIGHT, _WRONG = "#3b7dd8", "#d9642c"  # told apart by those who see no red or no green, too
_CROSS = "M-1,-1L1,1M-1,1L1,-1"

Spec = dict[str, Any]


def require_altair() -> None:
    """Before the work whose result shall be drawn."""
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"the page's plots need a package that is not installed ({error.name}): pip install 'handful[report]'"
        ) from error


def confusion_plot(assessment: Assessment) -> Spec:
    """Rows are what was meant, columns what was said; a colour is the share of its row."""
    import altair as alt

    rows, columns = shown_names(assessment.confusion)
    meant = Counter({row.name: row.there for row in assessment.intents})
    cells = [
        {
            "meant": pair.gold,
            "said": pair.said,
            "count": pair.count,
            "share": round(pair.count / meant[pair.gold], 4),
            "verdict": "right" if pair.gold == pair.said else "wrong",
        }
        for pair in assessment.confusion
        if pair.gold in rows and pair.said in columns
    ]
    step = 28 if len(rows) <= _MOST_COUNTED else 16
    base = alt.Chart(alt.InlineData(values=cells)).encode(
        x=alt.X("said:N", title="said", scale=alt.Scale(domain=columns), axis=alt.Axis(labelAngle=-50, labelLimit=160)),
        y=alt.Y("meant:N", title="meant", scale=alt.Scale(domain=rows), axis=alt.Axis(labelLimit=220)),
        tooltip=[
            alt.Tooltip("meant:N"),
            alt.Tooltip("said:N"),
            alt.Tooltip("count:Q"),
            alt.Tooltip("share:Q", format=".0%", title="share of meant"),
        ],
    )
    colour = alt.Color("verdict:N", scale=_verdict_scale(), legend=None)
    # Even one slip in a hundred must be seen.
    opacity = alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.3, 1]), legend=None)
    layers = [base.mark_rect(cornerRadius=2).encode(color=colour, opacity=opacity)]
    if len(rows) <= _MOST_COUNTED:
        layers.append(base.mark_text(fontSize=11, style="count").encode(text=alt.Text("count:Q")))
    return _plain(alt.layer(*layers).properties(width={"step": step}, height={"step": step}))


def shown_names(confusion: Sequence[Confused]) -> tuple[list[str], list[str]]:
    """Rows and columns of the heat map, by name, what is rejected last. Of many intents only those that are mistaken
    for others, or others for them, or rejected: the most mistaken ones if even these are many."""
    meant = {pair.gold for pair in confusion}
    names = meant | {pair.said for pair in confusion}
    if len(names) > _ALL_NAMES:
        mistaken: Counter[str] = Counter()
        rejected: Counter[str] = Counter()
        for pair in confusion:
            if pair.said == FALLBACK != pair.gold:
                rejected[pair.gold] += pair.count
            elif pair.gold != pair.said:
                mistaken.update({pair.gold: pair.count, pair.said: pair.count})
        # To be rejected is the lesser evil, and all of it stands in one column anyway.
        worst = sorted({*mistaken, *rejected}, key=lambda name: (-mistaken[name], -rejected[name], name))
        names = {*worst[:MOST_NAMES], *(names & {FALLBACK})}
    columns = sorted(names, key=lambda name: (name == FALLBACK, name))
    # What was never meant has no row. What was never said has a column all the same: the diagonal is to be seen.
    return [name for name in columns if name in meant], columns


def confidence_plot(assessment: Assessment) -> Spec:
    import altair as alt

    bars = [
        {"low": own.low, "high": own.high, "verdict": verdict, "count": count}
        for own in confidence_bins(assessment.cases, _HISTOGRAM)
        for verdict, count in (("right", own.right), ("wrong", own.count - own.right))
    ]
    chart = (
        alt.Chart(alt.InlineData(values=bars))
        .mark_bar()
        .encode(
            x=alt.X("low:Q", bin="binned", **_shares("confidence")),
            x2="high:Q",
            y=alt.Y("count:Q", stack=True, title="utterances", axis=alt.Axis(tickMinStep=1)),
            color=alt.Color("verdict:N", scale=_verdict_scale(), title="best guess", legend=alt.Legend(orient="top")),
            tooltip=[
                alt.Tooltip("low:Q", format=".0%", title="confidence from"),
                alt.Tooltip("high:Q", format=".0%", title="to"),
                alt.Tooltip("verdict:N", title="best guess"),
                alt.Tooltip("count:Q", title="utterances"),
            ],
        )
    )
    return _plain(chart.properties(width="container", height=220))


def reliability_plot(bins: Sequence[Bin]) -> Spec:
    """How often a confidence was right: on the diagonal where it can be taken at its word."""
    import altair as alt

    points = [{"confidence": own.confidence, "accuracy": own.accuracy, "count": own.count} for own in bins if own.count]
    across, up = _shares("confidence (mean of a bin)"), _shares("best guess right")
    diagonal = alt.Chart(alt.InlineData(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
    line = diagonal.mark_line(strokeDash=[4, 4], style="diagonal").encode(
        x=alt.X("x:Q", **across), y=alt.Y("y:Q", **up)
    )
    base = alt.Chart(alt.InlineData(values=points)).encode(
        x=alt.X("confidence:Q", **across),
        y=alt.Y("accuracy:Q", **up),
    )
    dots = base.mark_circle(opacity=1, color=_RIGHT).encode(
        size=alt.Size("count:Q", scale=alt.Scale(range=[30, 400]), legend=None),
        tooltip=[
            alt.Tooltip("confidence:Q", format=".1%", title="mean confidence"),
            alt.Tooltip("accuracy:Q", format=".1%", title="right"),
            alt.Tooltip("count:Q", title="utterances"),
        ],
    )
    chart = alt.layer(line, base.mark_line(color=_RIGHT), dots)
    return _plain(chart.properties(width="container", height=220))


def map_plot(layout: Layout) -> Spec:
    import altair as alt

    names = sorted({spot.intent for spot in layout.spots})
    coloured = len(names) <= _MOST_COLOURED
    spots = [
        {
            "x": spot.x,
            "y": spot.y,
            "text": spot.text,
            "intent": spot.intent,
            "said": spot.said or "",
            "wrong": spot.fault or "no",
            "kind": "example" if spot.example else "asked",
        }
        for spot in layout.spots
    ]
    tooltip = [alt.Tooltip("text:N"), alt.Tooltip("intent:N")]
    base = alt.Chart(alt.InlineData(values=spots)).encode(
        x=alt.X("x:Q", axis=None, scale=_padded()), y=alt.Y("y:Q", axis=None, scale=_padded())
    )
    chosen = alt.selection_point(fields=["intent"], bind="legend")
    colour = alt.Color(
        "intent:N",
        scale=alt.Scale(domain=names, scheme="tableau20" if len(names) > 10 else "tableau10"),
        legend=alt.Legend(orient="right", labelLimit=180, symbolLimit=_MOST_COLOURED) if coloured else None,
    )
    dots = (
        base.transform_filter("datum.kind === 'example'")
        .mark_circle(size=55)
        .encode(color=colour, tooltip=tooltip, opacity=alt.when(chosen).then(alt.value(0.8)).otherwise(alt.value(0.1)))
    )
    errors = (
        base.transform_filter("datum.wrong !== 'no'")
        .mark_point(shape=_CROSS, size=40, strokeWidth=1.5, filled=False, style="error")
        .encode(
            tooltip=[*tooltip, alt.Tooltip("wrong:N"), alt.Tooltip("said:N", title="parsed as")],
            opacity=alt.when(chosen).then(alt.value(1)).otherwise(alt.value(0.05)),
        )
    )
    chart = alt.layer(dots.add_params(chosen), errors).properties(width="container", height=460)
    return _plain(chart.interactive())


def _plain(chart: alt.TopLevelMixin) -> Spec:
    """A spec that names no address: what is drawn is in the page."""
    spec: Spec = chart.to_dict()
    # The page has a config of its own, for light and for dark, and says itself what this is a spec of.
    return {**{key: spec[key] for key in spec if key not in {"config", "$schema"}}, "background": "transparent"}


def _verdict_scale() -> alt.Scale:
    import altair as alt

    return alt.Scale(domain=["right", "wrong"], range=[_RIGHT, _WRONG])


def _padded() -> alt.Scale:
    import altair as alt

    return alt.Scale(zero=False, padding=12)


def _shares(title: str) -> dict[str, Any]:
    """Of an axis from 0 to 1."""
    import altair as alt

    return {"title": title, "scale": _unit(), "axis": alt.Axis(format=".0%", values=[0, 0.2, 0.4, 0.6, 0.8, 1])}


def _unit() -> alt.Scale:
    import altair as alt

    return alt.Scale(domain=[0, 1])
