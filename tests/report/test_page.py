"""The page: whole, harmless whatever a bot is called, and drawn by Vega itself."""

from __future__ import annotations

import json
from collections import Counter
from html.parser import HTMLParser
from typing import Any

import pytest
import vl_convert

from handful.parser.explain import Neighbour
from handful.parser.parse import FALLBACK
from handful.report.assessment import Confused, assess
from handful.report.cases import Case, Span
from handful.report.layout import Layout, Spot
from handful.report.markup import data, element, marked
from handful.report.page import page
from handful.report.plots import (
    MOST_NAMES,
    confidence_plot,
    confusion_plot,
    map_plot,
    reliability_plot,
    shown_names,
)
from handful.report.report import Against, CrossValidation, Report
from report.parses import case, utterance

EVIL = '</script><script>alert(1)</script><b>bold</b> "quoted" & \' \u2028'
EVIL_NAME = "<b>x</b></script><img src=x onerror=alert(1)>"


class Seen(HTMLParser):
    """What a browser finds in a page: elements, attributes, and text by element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self._inside: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]
        self._inside.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._inside and self._inside[-1] == "script":
            self.scripts[-1] += data
        else:
            self.words.append(data)


def reported(cases: list[Case], **changes: Any) -> Report:
    given: dict[str, Any] = {
        "bot": "flights",
        "intents": 2,
        "slots": 1,
        "examples": 4,
        "learner": "joint_spans",
        "asked": CrossValidation(5, 0),
        "assessment": assess(cases),
    }
    return Report(**{**given, **changes})


def placed(*names: str) -> Layout:
    spots = [Spot(float(n), float(-n), f"text of {name}", name, None, None, True) for n, name in enumerate(names)]
    return Layout((*spots, Spot(0.5, 0.5, EVIL, names[0], EVIL_NAME, "intent", False)), 0.5, len(names))


@pytest.fixture
def evil() -> str:
    near = Neighbour(utterance(EVIL, EVIL_NAME), 0.5)
    wrong = case(f"[fly](</b>) {EVIL}", EVIL_NAME, f"fly {EVIL}", "greet", 0.9)
    cases = [Case(wrong.utterance, wrong.parse, (near,)), case("hello", "greet", "hello", EVIL_NAME, 0.4)]
    report = reported(cases, bot=EVIL_NAME, asked=Against(EVIL_NAME), notes=(EVIL,))
    return page(report, placed(EVIL_NAME, "greet"))


def test_text_and_names_of_a_bot_stay_text(evil: str):
    seen = Seen(evil)
    assert seen.elements["script"] == 3, "the data, the bundle and the page's own"
    assert seen.elements["img"] == 0
    # One figure in each tile is bold, and nothing else.
    assert seen.elements["b"] == seen.attributes.count(("div", "class", "tile"))
    assert not any(name.startswith("on") for _, name, _ in seen.attributes)
    assert EVIL_NAME in "".join(seen.words)
    plots = json.loads(seen.scripts[0])
    assert any(spot["text"] == EVIL for rows in plots["map"]["datasets"].values() for spot in rows)


def test_names_never_become_part_of_an_expression(evil: str):
    """Vega runs expressions. A filter, a calculation or a test that quoted a name would be a way in."""
    for spec in json.loads(Seen(evil).scripts[0]).values():
        for text in expressions(spec):
            assert "alert" not in text


def test_the_page_needs_nothing_but_itself(evil: str):
    seen = Seen(evil)
    fetching = {"src", "href", "srcset", "data", "action", "poster", "background"}
    assert not [found for found in seen.attributes if found[1] in fetching]
    assert seen.elements["link"] == seen.elements["iframe"] == 0
    policy = next(value for _, name, value in seen.attributes if name == "content" and value and "default-src" in value)
    assert policy.startswith("default-src 'none';")
    assert "http" not in policy
    style = evil[evil.index("<style>") : evil.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_one_bundle_serves_all_plots(evil: str):
    assert evil.count("window.vegaEmbed=") == 1
    assert set(json.loads(Seen(evil).scripts[0])) == {
        value for _, name, value in Seen(evil).attributes if name == "data-plot"
    }


def test_vega_draws_every_plot():
    found = assess(
        [
            case("fly to [Rome](city)", "fly", "fly to Rome", "fly", 0.9),
            case("hello", "greet", "hello", "fly", 0.3),
            case("hi", "greet", "hi", "greet", 0.2, rejected=True),
        ]
    )
    heat = vl_convert.vegalite_to_svg(confusion_plot(found))
    assert all(f">{name}<" in heat for name in ("fly", "greet", FALLBACK))
    assert ">utterances<" in vl_convert.vegalite_to_svg(fixed(confidence_plot(found)))
    assert ">best guess right<" in vl_convert.vegalite_to_svg(fixed(reliability_plot(found.bins)))
    drawn = vl_convert.vegalite_to_svg(fixed(map_plot(placed("fly", "greet"))))
    assert "intent: greet; text: text of greet" in drawn, "an example's text and intent, on hover"


def test_a_bot_of_a_hundred_and_fifty_intents_shows_the_confused_ones():
    right = [Confused(f"intent{n}", f"intent{n}", 5) for n in range(150)]
    wrong = [Confused("intent7", "intent9", 3), Confused("intent8", FALLBACK, 2), Confused("stranger", "intent7", 1)]
    rows, columns = shown_names(right + wrong)
    assert rows == ["intent7", "intent8", "intent9", "stranger"]
    assert columns == [*rows, FALLBACK]
    many = [Confused(f"intent{n}", f"intent{n + 1}", 1 + (n == 140)) for n in range(149)]
    rows, columns = shown_names(right + many)
    assert len(columns) == MOST_NAMES
    assert {"intent140", "intent141"} <= set(rows)
    shy = [Confused(f"intent{n}", FALLBACK, 5) for n in range(100)]
    rows, columns = shown_names(right + shy + [Confused("intent120", "intent121", 1)])
    assert {"intent120", "intent121"} <= set(rows), "a mistake is worth more than many rejections"
    assert (len(rows), columns[-1]) == (MOST_NAMES, FALLBACK)


def test_a_small_bot_shows_all_its_intents():
    rows, columns = shown_names([Confused("a", "a", 2), Confused("b", "c", 1)])
    assert (rows, columns) == (["a", "b"], ["a", "b", "c"])


def test_an_error_is_shown_with_what_was_meant_and_what_was_near():
    near = Neighbour(utterance("fly to [Oslo](city)", "fly"), 0.875)
    wrong = case("fly to [Rome](city)", "fly", "fly to Rome", "greet", 0.7)
    seen = Seen(page(reported([Case(wrong.utterance, wrong.parse, (near,))]), placed("fly", "greet")))
    text = " ".join(seen.words)
    for part in ("wrong intent", "70.0 % sure", "Rome", "nearest examples", "0.88", "Oslo"):
        assert part in text


def test_a_bot_that_makes_no_mistake_says_so():
    made = page(reported([case("hello", "greet", "hello", "greet", 0.9)]), placed("greet"))
    assert "None: every utterance was parsed as it should." in made
    assert "No intent was taken for another." in made


def test_html_escapes_what_is_not_html():
    assert element("p", "<b>", class_='"x"') == '<p class="&quot;x&quot;">&lt;b&gt;</p>'
    assert marked("a <b> c", [Span(2, 5, "<i>")]).startswith("a <mark style=")
    assert "&lt;b&gt;<span>&lt;i&gt;</span></mark> c" in marked("a <b> c", [Span(2, 5, "<i>")])
    assert "<" not in data({"a": "</script>\u2028"})
    assert json.loads(data({"a": "</script>\u2028"})) == {"a": "</script>\u2028"}


def fixed(spec: dict[str, Any]) -> dict[str, Any]:
    """A container's width is a browser's business."""
    return {**spec, "width": 400}


def expressions(spec: Any) -> list[str]:
    """Every string that Vega-Lite takes for an expression."""
    if isinstance(spec, list):
        return [text for part in spec for text in expressions(part)]
    if not isinstance(spec, dict):
        return []
    keys = {"filter", "calculate", "expr", "test", "signal", "labelExpr", "update"}
    own = [value for key, value in spec.items() if key in keys and isinstance(value, str)]
    return own + [text for part in spec.values() for text in expressions(part)]
