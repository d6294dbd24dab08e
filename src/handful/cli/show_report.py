"""A report on the terminal: the figures, and the worst of everything."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from handful.cli.console import out
from handful.cli.show import marked
from handful.report.assessment import Assessment, Row
from handful.report.cases import Case, Fault, Span, found_spans, gold_spans
from handful.report.report import Report

_MOST_ROWS = 15
_MOST_PAIRS = 10


def print_report(report: Report, errors: int) -> None:
    found = report.assessment
    out.print(_figures(report))
    for title, rows in (("Intents", found.intents), ("Slots", found.slots)):
        if rows:
            out.print(_scores(title, rows))
            _print_rest(len(rows) - _MOST_ROWS)
    if found.confused:
        out.print(_confused(found))
        _print_rest(len(found.confused) - _MOST_PAIRS)
    if errors and found.errors:
        out.print(f"The worst of {len(found.errors)} errors, the surest first", style="italic")
        for case in found.errors[:errors]:
            out.print(_error(case))
        _print_rest(len(found.errors) - errors)


def _figures(report: Report) -> Table:
    found = report.assessment
    table = Table(title=Text(f"{report.bot}, asked for {report.asked}"), title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("utterances", str(len(found.cases)))
    table.add_row("intent accuracy", _percent(found.intent_accuracy))
    table.add_row("slot F1", _percent(found.slot_f1))
    table.add_row("all right", _percent(found.joint_accuracy))
    table.add_row("calibration error", _percent(found.calibration_error))
    table.add_row("rejected", str(found.rejected))
    if found.rejected:
        table.add_row("  though guessed right", str(found.rejected_though_guessed))
    return table


def _scores(title: str, rows: Sequence[Row]) -> Table:
    table = Table(title=f"{title}, the worst first", title_justify="left")
    table.add_column("", overflow="fold")  # a name is never cut: it is looked for in the bot
    for column in ("F1", "precision", "recall", "there", "said"):
        table.add_column(column, justify="right")
    for row in rows[:_MOST_ROWS]:
        shares = (_percent(row.f1), _percent(row.precision), _percent(row.recall))
        table.add_row(Text(row.name), *shares, str(row.there), str(row.said))
    return table


def _confused(found: Assessment) -> Table:
    table = Table(title="What is taken for what", title_justify="left")
    table.add_column("meant", overflow="fold")
    table.add_column("said", overflow="fold")
    table.add_column("times", justify="right")
    for pair in found.confused[:_MOST_PAIRS]:
        table.add_row(Text(pair.gold), Text(pair.said), str(pair.count))
    return table


def _error(case: Case) -> Text:
    """What was meant, what was said, and the examples that are most alike."""
    said = f"{case.said} {case.parse.confidence:.0%}"
    if case.fault is Fault.REJECTED and case.parse.ranking:
        said += f" ({case.guess.name})"
    shown = _line("meant", case.utterance.intent, case.utterance.text, gold_spans(case.utterance))
    shown.append("\n").append_text(_line("said", said, case.parse.text, found_spans(case.parse)))
    for near in case.nearest:
        utterance = near.utterance
        line = _line(f"{near.similarity:.2f}", utterance.intent, utterance.text, gold_spans(utterance))
        shown.append("\n").append_text(line)
    return shown


def _line(name: str, intent: str, text: str, spans: Sequence[Span]) -> Text:
    sentence = marked(text, [(span.start, span.end, span.key) for span in spans])
    return Text(f"  {name:>5} ", style="dim").append(f"{intent}: ", style="bold").append_text(sentence)


def _print_rest(hidden: int) -> None:
    if hidden > 0:
        out.print(f"… and {hidden} more, --json has all", style="dim")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"
