"""Bots that are made of several files."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.data.document import Document
from handful.data.formats import rasa_yaml
from handful.data.reading import detect, read_document
from handful.errors import DataError, Place, Problem
from handful.types import Utterance


def intent(name: str, *examples: str) -> str:
    return f"- intent: {name}\n  examples: |\n" + "".join(f"    - {example}\n" for example in examples)


def problems(folder: Path, **files: str) -> list[Problem]:
    write(folder, **files)
    with pytest.raises(DataError) as caught:
        rasa_yaml.read(folder / "bot.yml")
    return list(caught.value.problems)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_what_is_included_comes_first_and_knows_its_own_file(tmp_path: Path):
    write(
        tmp_path,
        bot="include:\n- parts/fly.yml\n- places.yml\ndescriptions:\n  fly: x\nnlu:\n" + intent("greet", "hi"),
        parts__fly="include: [ask.yml]\nnlu:\n" + intent("fly", "to [Rome](city)"),
        parts__ask="nlu:\n" + intent("ask", "why"),
        places="nlu:\n- lookup: city\n  examples: |\n    - Oslo\n",
    )
    found = rasa_yaml.read(tmp_path / "bot.yml")
    assert [utterance.intent for utterance in found.utterances] == ["ask", "fly", "greet"]
    assert found.lookups == {"city": ("Oslo",)}
    assert found.places == (
        Place(tmp_path / "parts" / "ask.yml", 4),
        Place(tmp_path / "parts" / "fly.yml", 5),
        Place(tmp_path / "bot.yml", 9),
    )


def test_a_file_may_do_nothing_but_gather_or_describe(tmp_path: Path):
    write(
        tmp_path,
        bot="include:\n- a.yml\n- words.yml\n",
        a="nlu:\n" + intent("fly", "go"),
        words="descriptions:\n  fly: to travel\n",
    )
    assert detect(tmp_path / "bot.yml").name == "rasa-yaml"
    assert read_document(tmp_path / "bot.yml").descriptions == {"fly": "to travel"}


def test_settings_of_an_included_file_are_listed_and_not_used(tmp_path: Path):
    write(
        tmp_path,
        bot="include: [a.yml]\nsettings: {threshold: off}\n",
        a="settings:\n  threshold: 0.5\nnlu:\n" + intent("fly", "go"),
    )
    found = rasa_yaml.read(tmp_path / "bot.yml")
    assert found.settings.threshold == "off"
    (warning,) = found.warnings
    assert warning.place == Place(tmp_path / "a.yml", 1)
    assert "the settings of an included file are not used" in warning.message
    assert rasa_yaml.read(tmp_path / "a.yml").settings.threshold == 0.5, "alone, it has its own"


def test_every_problem_of_every_file_is_told_at_once(tmp_path: Path):
    found = problems(
        tmp_path,
        bot="include:\n- a.yml\n- none.yml\n- b.yml\n- .\nsettings: {runtime: x}\nnlu:\n" + intent("x", "a [b"),
        a="nlu:\n" + intent("y", "c]", "d[e](f)") + "oops: 1\n",
        b="nlu: [\n",
    )
    told = {(problem.place.path.name, problem.place.line) for problem in found}
    assert told == {
        ("bot.yml", 3), ("bot.yml", 5), ("bot.yml", 6), ("bot.yml", 10),
        ("a.yml", 4), ("a.yml", 5), ("a.yml", 6), ("b.yml", 2),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("include", "message"),
    [
        ("a.yml", "found the text 'a.yml', expected a list of files, such as '- cities.yml'"),
        ("[none.yml]", "there is no file 'none.yml' to include; paths are relative to the file that includes"),
        ("[.]", "found the folder '.', expected a file"),
        ("[{a: b}]", "expected the path of a file"),
        ("[bot.yml]", "files include each other in a circle: bot.yml → bot.yml"),
        ("[a.yml, ./a.yml]", "'./a.yml' is included twice, first at "),
        (f"[{'x' * 300}]", "cannot be included: File name too long"),
    ],
)
def test_an_include_that_cannot_be_is_told_at_its_line(tmp_path: Path, include: str, message: str):
    (problem,) = problems(
        tmp_path,
        bot=f"nlu:\n{intent('x', 'b')}include: {include}\n",
        a="nlu:\n" + intent("y", "c"),
    )
    assert problem.place == Place(tmp_path / "bot.yml", 5)
    assert message in problem.message


def test_circles_are_told_where_they_close(tmp_path: Path):
    (problem,) = problems(
        tmp_path,
        bot="include: [a.yml]\n",
        a="nlu:\n" + intent("y", "c") + "include:\n- b.yml\n",
        b="include: [a.yml]\n",
    )
    assert problem.place == Place(tmp_path / "b.yml", 1)
    assert problem.message == "files include each other in a circle: a.yml → b.yml → a.yml"


def test_a_circle_that_is_broken_off_leaves_the_other_files_alone(tmp_path: Path):
    """After a file that could not be read, another that includes the same one is no circle."""
    found = problems(
        tmp_path,
        bot="include: [a.yml, b.yml]\n",
        a="include: 3\nnlu: 4\n",
        b="include: [a.yml]\nnlu:\n" + intent("x", "y"),
    )
    assert [problem.message for problem in found if "in a circle" in problem.message] == []
    assert any("is included twice" in problem.message for problem in found)


def test_files_that_are_included_too_deep_are_refused(tmp_path: Path):
    chain = {f"f{number}": f"include: [f{number + 1}.yml]\n" for number in range(400)}
    (problem,) = problems(tmp_path, bot="include: [f0.yml]\n", **chain)
    assert "deep" in problem.message


def test_two_files_cannot_describe_one_label(tmp_path: Path):
    (problem,) = problems(
        tmp_path,
        bot="include: [a.yml]\ndescriptions:\n  y: other\n",
        a="descriptions:\n  y: one\nnlu:\n" + intent("y", "c"),
    )
    assert problem.place == Place(tmp_path / "bot.yml", 3)
    assert problem.message == f"'y' is described before, at {tmp_path / 'a.yml'}:2"


def test_a_bot_of_somebody_else_may_be_read_alone(tmp_path: Path):
    write(tmp_path, bot="include: [a.yml]\nnlu:\n" + intent("x", "y"), a="secret\n")
    with pytest.raises(DataError, match=r"bot\.yml:1: found 'a\.yml' to include, expected a bot in one file") as caught:
        rasa_yaml.read(tmp_path / "bot.yml", includes=False)
    assert "secret" not in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_bot_cut_into_files_is_the_same_bot(data: st.DataObject):
    """However its examples are spread over files that include each other, in order."""
    words = st.lists(st.sampled_from(["fly", "to", "Rome", "[", "#", "é"]), min_size=1, max_size=4)
    pairs = data.draw(st.lists(st.tuples(words, st.sampled_from(["a", "b", "no"])), min_size=1, max_size=8))
    whole = Document(tuple(Utterance.from_words(*pair) for pair in pairs))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(pairs)), max_size=3)) - {len(pairs)})
    parts = [whole.utterances[start:end] for start, end in zip([0, *cuts], [*cuts, len(pairs)], strict=True)]
    nested = data.draw(st.booleans())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, part in enumerate(parts):
            rasa_yaml.write(Document(part), folder / f"{number}.yml")
        if nested:  # each includes the one before it
            for number in range(1, len(parts)):
                file = folder / f"{number}.yml"
                file.write_text(f"include: [{number - 1}.yml]\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
            top = folder / f"{len(parts) - 1}.yml"
        else:
            top = folder / "bot.yml"
            top.write_text("include:\n" + "".join(f"- {number}.yml\n" for number in range(len(parts))))
        found = rasa_yaml.read(top)
        rasa_yaml.write(found, folder / "one.yml")
        assert found == whole == rasa_yaml.read(folder / "one.yml")
        assert [place.path.name for place in found.places] == [
            f"{number}.yml" for number, part in enumerate(parts) for _ in part
        ]
