"""One HTML file with everything in it: no address is asked for anything, and a policy in its head sees to that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handful.parser.parse import FALLBACK
from handful.report.asking import counted
from handful.report.assessment import Assessment, Row
from handful.report.cases import Case, Fault, found_spans, gold_spans
from handful.report.layout import Layout
from handful.report.markup import Html, data, document, element, joined, marked, packaged, table
from handful.report.plots import Spec, confidence_plot, confusion_plot, map_plot, reliability_plot, shown_names
from handful.report.report import Report

MOST_ERRORS = 50
_MOST_PAIRS = 20
_OPEN_ROWS = 15  # a longer table is folded

# Vega compiles its expressions, so scripts may; they may not fetch, send or load anything.
_POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
_FAULTS = {
    Fault.INTENT: "wrong intent",
    Fault.REJECTED: "rejected",
    Fault.SLOTS: "wrong slots",
}


def page(report: Report, layout: Layout) -> str:
    found = report.assessment
    plots = {
        "confusion": confusion_plot(found),
        "confidence": confidence_plot(found),
        "reliability": reliability_plot(found.bins),
        "map": map_plot(layout),
    }
    title = f"{report.bot}: how well it parses"
    body = joined(
        [
            _opening(report),
            _tiles(report),
            _confusion(found),
            _confidences(found),
            _map(layout),
            *_tables(found),
            _errors(found),
            element(
                "footer", "Made by handful test. This page holds all that it shows and asks no other for anything."
            ),
        ]
    )
    inner = [element("main", body), Html("\n"), _scripts(plots)]
    return document(title, _POLICY, packaged("handful.report", "page.css"), *inner, made_by="handful test")


def _scripts(plots: dict[str, Spec]) -> Html:
    """One bundle of Vega for all plots."""
    import vl_convert

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    if "</script" in bundle.lower():
        raise AssertionError("the bundle would end its own element")
    return joined(
        [
            element("script", data(plots), type="application/json", id="plots"),
            Html("\n"),
            element("script", Html(bundle)),
            Html("\n"),
            element("script", Html(packaged("handful.report", "page.js"))),
        ]
    )


def _opening(report: Report) -> Html:
    notes = [element("li", note) for note in report.notes]
    has = ", ".join(
        [counted(report.intents, "intent"), counted(report.slots, "slot"), counted(report.examples, "example")]
    )
    return element(
        "header",
        element("h1", report.bot),
        element("p", f"{has}. Asked for {report.asked}: {counted(len(report.assessment.cases), 'utterance')}."),
        element("p", f"Method: {report.learner}.", class_="quiet"),
        element("ul", *notes, class_="notes") if notes else "",
    )


def _tiles(report: Report) -> Html:
    found = report.assessment
    tiles = [
        ("intent accuracy", percent(found.intent_accuracy), "the intent is right"),
        ("slot F1", percent(found.slot_f1), "label and both borders are right"),
        ("all right", percent(found.joint_accuracy), "the intent and every slot"),
        ("calibration error", percent(found.calibration_error), "a confidence is off by this, on average"),
        ("rejected", str(found.rejected), _of_rejected(found)),
    ]
    return element(
        "section",
        *(
            element("div", element("b", value), element("h2", name), element("p", says), class_="tile")
            for name, value, says in tiles
        ),
        class_="tiles",
    )


def _of_rejected(found: Assessment) -> str:
    if not found.rejected:
        return "every utterance was given an intent"
    return f"{found.rejected_though_guessed} of them with the right best guess"


def _confusion(found: Assessment) -> Html:
    rows, _ = shown_names(found.confusion)
    hidden = len(found.intents) - len(rows)
    says = "A row is what was meant, a column what was said."
    if any(pair.said == FALLBACK for pair in found.confusion):
        says += f" {FALLBACK} is what was rejected."
    if hidden > 0:
        says += f" Left out: {counted(hidden, 'intent')}, confused less or not at all."
    return element(
        "section",
        element("h2", "What is taken for what"),
        element("p", says),
        _plot("confusion", "wide"),
        _pairs(found),
    )


def _pairs(found: Assessment) -> Html:
    if not found.confused:
        return element("p", "No intent was taken for another.")
    pairs = table(
        ["meant", "said", "times"], [(p.gold, p.said, p.count) for p in found.confused[:_MOST_PAIRS]], names=2
    )
    more = len(found.confused) - _MOST_PAIRS
    rest = element("p", f"… and {counted(more, 'more pair')}; the JSON has all.", class_="quiet") if more > 0 else ""
    return joined([pairs, rest])


def _confidences(found: Assessment) -> Html:
    return element(
        "section",
        element("h2", "What a confidence is worth"),
        element(
            "div",
            element(
                "figure",
                element("figcaption", "How sure it was of its best guess, and whether that was right."),
                _plot("confidence"),
            ),
            element(
                "figure",
                element(
                    "figcaption",
                    "Above the dashed line it is right more often than it says, below it less often. On average it is "
                    f"off by {percent(found.calibration_error)}.",
                ),
                _plot("reliability"),
            ),
            class_="pair",
        ),
    )


def _map(layout: Layout) -> Html:
    shown = sum(spot.example for spot in layout.spots)
    says = "Each dot is an example, a cross an error. "
    says += f"The two axes hold {layout.share:.0%} of the differences, so what is near here may be far apart in truth. "
    says += "Point at one for its text, scroll to zoom, click on a name for its intent alone."
    if shown < layout.examples:
        says += f" {shown} of {layout.examples} examples are shown."
    return element("section", element("h2", "A map of the examples"), element("p", says), _plot("map"))


def _tables(found: Assessment) -> Iterator[Html]:
    for title, rows in (("Intents", found.intents), ("Slots", found.slots)):
        if rows:
            summary = element("summary", element("h2", f"{title}, the worst first"))
            folded = element("details", summary, _scores(rows), **({"open": "open"} if len(rows) <= _OPEN_ROWS else {}))
            yield element("section", folded)


def _scores(rows: Sequence[Row]) -> Html:
    return table(
        ["", "F1", "precision", "recall", "times there", "times said"],
        [(r.name, percent(r.f1), percent(r.precision), percent(r.recall), r.there, r.said) for r in rows],
    )


def _errors(found: Assessment) -> Html:
    if not found.errors:
        return element(
            "section", element("h2", "Errors"), element("p", "None: every utterance was parsed as it should.")
        )
    shown = found.errors[:MOST_ERRORS]
    says = f"{len(found.errors)} of {len(found.cases)} utterances were not parsed as they should"
    says += f"; these are the worst {len(shown)}, the surest first." if len(shown) < len(found.errors) else "."
    return element("section", element("h2", "The worst errors"), element("p", says), *map(_error, shown))


def _error(case: Case) -> Html:
    fault = case.fault
    assert fault is not None
    lines = [
        _line("meant", case.utterance.intent, marked(case.utterance.text, gold_spans(case.utterance))),
        _line("said", case.said, marked(case.parse.text, found_spans(case.parse))),
    ]
    nearest = [
        _line(f"{near.similarity:.2f}", near.utterance.intent, marked(near.utterance.text, gold_spans(near.utterance)))
        for near in case.nearest
    ]
    sure = f"{percent(case.sureness)} sure" if case.sureness else "missed"
    guess = f"; best guess {case.guess.name}" if fault is Fault.REJECTED and case.parse.ranking else ""
    return element(
        "article",
        element("h3", _FAULTS[fault], element("small", f" {sure}{guess}")),
        element("dl", *lines),
        *([element("h4", "nearest examples"), element("dl", *nearest, class_="quiet")] if nearest else []),
    )


def _line(name: str, intent: str, sentence: Html) -> Html:
    return joined([element("dt", name), element("dd", element("code", intent), " ", sentence)])


def _plot(name: str, more: str = "") -> Html:
    return element("div", class_=f"plot {more}".strip(), data_plot=name)


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"
