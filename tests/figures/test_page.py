"""The page of figures: whole, harmless whatever is called what, and honest about what it lacks."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from figures.made import details, projected, raw
from handful.figures.chapters import Chapter, chapters
from handful.figures.figure import draw_svg
from handful.figures.lines import sort_into_lines
from handful.figures.page import page
from handful.figures.records import Projection, Record, Results

EVIL = '</script><script>alert(1)</script><b>x</b></text></svg><img src=x onerror=alert(1)> "q" & \''


class Seen(HTMLParser):
    """What a browser finds in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def made(*records: dict[str, Any], projection: dict[str, Any] | None = None) -> tuple[str, tuple[Chapter, ...]]:
    read = Results(
        Path("results"),
        tuple(Record.model_validate(record) for record in records),
        left_out=3,
        files=1,
        projection=None if projection is None else Projection.model_validate(projection),
    )
    lines = sort_into_lines(read.records)
    parts = chapters(lines.cells, read.projection)
    drawn = {figure.name: draw_svg(figure.spec) for chapter in parts for figure in chapter.drawable}
    return page(read, lines, parts, drawn), parts


@pytest.fixture(scope="module")
def evil() -> str:
    """Names of everything that a record names."""
    named = {"row": EVIL, "encoder": EVIL, "corpus": EVIL, "decoding": EVIL}
    measured = {"details": details(slots={EVIL: [1, 2, 3]}), "curve": [[100, 50.0, 20.0, 30.0]]}
    shown = projected(intents=[EVIL, "b", "c", "d"], splits=[f"train{EVIL}", "test"], corpus=EVIL, method=EVIL)
    return made(
        raw(**named, **measured),
        raw(**{**named, "decoding": "other"}, **measured),
        raw(corpus=EVIL, **measured),
        raw(mode="joint", train_corpus=EVIL, **measured),
        projection=shown,
    )[0]


@pytest.fixture(scope="module")
def whole() -> tuple[str, tuple[Chapter, ...]]:
    measured = {"details": details(), "curve": [[100, 50.0, 20.0, 30.0]]}
    return made(raw(**measured), raw(row="proto", **measured), raw(encoder="glove", **measured), projection=projected())


def test_names_stay_text(evil: str):
    seen = Seen(evil)
    assert seen.elements["script"] == seen.elements["img"] == seen.elements["b"] == 0
    assert not any(name.startswith("on") for _, name, _ in seen.attributes)
    assert EVIL in "".join(seen.words)
    assert evil.count("<svg") == evil.count("</svg>") > 0


def test_the_page_loads_and_runs_nothing(evil: str):
    seen = Seen(evil)
    fetching = {"src", "href", "xlink:href", "srcset", "data", "action", "poster", "background"}
    links = [value for _, name, value in seen.attributes if name in fetching]
    assert links
    assert all(value and value.startswith("#") for value in links)
    for element in ("script", "link", "iframe", "object", "embed", "image", "base", "form", "foreignobject"):
        assert seen.elements[element] == 0
    policy = next(value for _, name, value in seen.attributes if name == "content" and value and "default-src" in value)
    assert policy.startswith("default-src 'none';")
    assert "script-src" not in policy
    style = evil[evil.index("<style>") : evil.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    # The names of SVG itself are no addresses to load.
    addresses = {value for _, _, value in seen.attributes if value and "http" in value}
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_the_contents_lead_to_every_chapter(whole: tuple[str, tuple[Chapter, ...]]):
    seen = Seen(whole[0])
    places = [value for tag, name, value in seen.attributes if (tag, name) == ("section", "id")]
    assert [value for tag, name, value in seen.attributes if (tag, name) == ("a", "href")] == [f"#{p}" for p in places]
    assert places == [chapter.name for chapter in whole[1]]


def test_every_figure_is_there_with_its_words_and_its_numbers(whole: tuple[str, tuple[Chapter, ...]]):
    text, parts = whole
    figures = [figure for chapter in parts for figure in chapter.drawable]
    assert not [missing for chapter in parts for missing in chapter.missing]
    seen = Seen(text)
    assert seen.elements["figure"] == seen.elements["svg"] == len(figures)
    words = "".join(seen.words)
    for figure in figures:
        assert figure.says in words
        assert figure.caption in words
    assert text.count("<summary>The numbers</summary>") == len(figures)
    assert "3 records of other splits than test are left out" in words


def test_no_two_things_have_one_id(whole: tuple[str, tuple[Chapter, ...]]):
    ids = [value for _, name, value in Seen(whole[0]).attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", whole[0])) <= set(ids)


def test_figures_are_dark_where_the_page_is(whole: tuple[str, tuple[Chapter, ...]]):
    drawn = whole[0][whole[0].index("<svg") :]
    assert "var(--ink)" in drawn
    assert '"#1c2128"' not in drawn
    assert 'fill="#ffffff"' not in drawn


def test_what_is_missing_is_told_where_it_would_be():
    seen = Seen(made(raw())[0])
    words = "".join(seen.words)
    assert "Missing. There is no figure2.json among the results: handful bench --figure makes it." in words
    assert words.count("Missing. ") == 5
    assert words.count("(missing)") == 5


def test_records_of_other_splits_alone_make_a_page_that_says_so():
    words = "".join(Seen(made()[0]).words)
    assert "No record is of the split test" in words
