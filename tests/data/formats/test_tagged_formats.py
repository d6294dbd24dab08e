"""The formats of words and tags: three parallel files, CoNLL, JSON lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from handful.data.formats import conll, jsonl, parallel
from handful.errors import DataError, HandfulError
from handful.types import Slot, Utterance


def parallel_folder(folder: Path, words: str, tags: str, labels: str) -> Path:
    for name, text in zip(parallel.FILES, (words, tags, labels), strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


EXPECTED = (
    Utterance.from_words(["fly", "to", "new", "york"], "book", [Slot("city", 2, 4)]),
    Utterance.from_words(["hi"], "greet"),
)


def test_parallel_files(tmp_path: Path):
    folder = parallel_folder(tmp_path, "fly to new  york \nhi\n", "O O B-city I-city\nO\n", "book\ngreet\n")
    assert parallel.read(folder).utterances == EXPECTED


def test_a_no_break_space_is_no_border(tmp_path: Path):
    folder = parallel_folder(tmp_path, "10\u00a0000 euros\n", "B-sum I-sum\n", "pay\n")
    assert parallel.read(folder).utterances[0].sentence == ("10\u00a0000", "euros")


@pytest.mark.parametrize(
    ("words", "tags", "labels", "place", "message"),
    [
        ("a b\n", "O\n", "i\n", "seq.out:1", "found 2 words and 1 tags"),
        ("a\nb\n", "O\n", "i\ni\n", "seq.out:2", "seq.in has 2 lines, seq.out has 1 lines"),
        ("a\n\nc\n", "O\nO\nO\n", "i\ni\ni\n", "seq.in:2", "an empty line"),
        ("a\nb\n", "O\nO\n", "i\n \nx\n"[:4] + "\n", "label", "expected the same number"),
        ("a\nb\nc\n", "O\nO\nO\n", "i\n \nx\n", "label:2", "expected an intent"),
        ("a b\n", "O I-x\n", "i\n", "seq.out:1", "the tag 'I-x' of word 2 ('b') follows O"),
        ("a b\n", "B-y I-x\n", "i\n", "seq.out:1", "follows B-y, expected B-x or I-x before it"),
        ("a\n", "S-x\n", "i\n", "seq.out:1", "found the tag 'S-x'"),
        ("a\n", "", "i\n", "seq.out", "the file is empty"),
    ],
)
def test_broken_parallel_files(tmp_path: Path, words: str, tags: str, labels: str, place: str, message: str):
    with pytest.raises(DataError) as caught:
        parallel.read(parallel_folder(tmp_path, words, tags, labels))
    assert place in str(caught.value)
    assert message in str(caught.value)


def test_a_missing_file_of_the_three_is_named(tmp_path: Path):
    parallel_folder(tmp_path, "a\n", "O\n", "i\n")
    (tmp_path / "seq.out").unlink()
    with pytest.raises(DataError, match=r"found no seq\.out"):
        parallel.read(tmp_path)


def test_repair_mends_and_lists(tmp_path: Path):
    found = parallel.read(parallel_folder(tmp_path, "a b c\n", "I-x I-x I-y\n", "i\n"), repair=True)
    assert found.utterances[0].slots == (Slot("x", 0, 2), Slot("y", 2, 3))
    assert [problem.message for problem in found.warnings] == [
        "the tag 'I-x' of word 1 ('a') follows nothing: mended to 'B-x'",
        "the tag 'I-y' of word 3 ('c') follows I-x: mended to 'B-y'",
    ]


def test_conll(tmp_path: Path):
    text = "# intent: book\nfly\tO\nto\tO\nnew\tB-city\nyork\tI-city\n\n\n# intent: greet\nhi O\n"
    assert conll.read(written(tmp_path, "x.conll", text)).utterances == EXPECTED


def test_conll_keeps_a_hash_that_is_a_word(tmp_path: Path):
    found = conll.read(written(tmp_path, "x.conll", "# intent: rank\n#\tO\n1\tB-rank\n\n# intent: rank\n# O\n2 O\n"))
    assert [u.sentence for u in found.utterances] == [("#", "1"), ("#", "2")]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("hi O\n", "x.conll:1", "has no intent"),
        ("# intent: a\nhi O\n\nho O\n", "x.conll:4", "has no intent"),
        ("# intent: a\n", "x.conll:1", "has no words"),
        ("# intent: a\nhi O\nho\n", "x.conll:3", "expected a word and its tag"),
        ("# intent: a\n# intent: b\nhi O\n", "x.conll:2", "a second '# intent:'"),
        ("# intent: a\nhi I-x\n", "x.conll:2", "follows nothing"),
        ("# intent: a\nhi O\nho X\n", "x.conll:3", "found the tag 'X'"),
        ("# intent: a\n# id: 1\nhi O\n\n# intent: a\n# id: 1\nho O\n", "x.conll:5", "the id '1' was used in line 1"),
        ("# intent: a\n# text: hello\nhi\tO\n", "x.conll:1", "does not follow in the text"),
    ],
)
def test_broken_conll(tmp_path: Path, text: str, place: str, message: str):
    with pytest.raises(DataError) as caught:
        conll.read(written(tmp_path, "x.conll", text))
    assert f"{place}: " in str(caught.value)
    assert message in str(caught.value)


def test_columns_and_comments_that_are_not_used_are_listed(tmp_path: Path):
    found = conll.read(written(tmp_path, "x.conll", "# intent: a\n# speaker: me\nhi UH O\n"))
    assert len(found.warnings) == 2
    assert found.utterances[0].sentence == ("hi",)


def test_json_lines(tmp_path: Path):
    text = (
        '{"tokens": ["fly", "to", "new", "york"], "slots": ["O", "O", "B-city", "I-city"], "intent": "book"}\n'
        '{"tokens": ["hi"], "slots": ["O"], "intent": "greet"}\n'
    )
    assert jsonl.read(written(tmp_path, "x.jsonl", text)).utterances == EXPECTED


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"tokens": ["hi"], "slots": ["O"]}', "the key 'intent' is missing"),
        ('{"tokens": ["hi"], "slots": [], "intent": "a"}', "found 1 words and 0 tags"),
        ('{"tokens": "hi", "slots": ["O"], "intent": "a"}', "$.tokens: found the text 'hi', expected a list of words"),
        ('{"tokens": ["hi", 3], "slots": ["O", "O"], "intent": "a"}', "$.tokens[1]: found 3, expected a word"),
        ('{"tokens": [], "slots": [], "intent": "a"}', "at least one word"),
        ('{"tokens": ["hi"], "slots": ["I-x"], "intent": "a"}', "follows nothing"),
        ('{"tokens": ["hi"], "slots": ["O"], "intent": ""}', "empty text"),
        ('{"tokens": ["hi"], "slots": ["O"], "intent": "a", "intent": "b"}', "'intent' stands twice"),
        ('{"tokens": ["hi"], "slots": ["O"], "intent": "a"', "not JSON"),
        ('{"tokens": ["hi"], "slots": ["O"], "intent": NaN}', "not JSON"),
        ('["hi"]', "expected a mapping"),
        ("", "an empty line"),
        ('{"id": 1, "tokens": ["hi"], "slots": ["O"], "intent": "a"}', "was used in line 1"),
    ],
)
def test_broken_json_lines(tmp_path: Path, row: str, message: str):
    good = '{"id": 1, "tokens": ["ok"], "slots": ["O"], "intent": "a"}'
    last = '{"id": 2, "tokens": ["ok"], "slots": ["O"], "intent": "a"}'
    with pytest.raises(DataError) as caught:
        jsonl.read(written(tmp_path, "x.jsonl", f"{good}\n{row}\n{last}\n"))
    assert "x.jsonl:2: " in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(("write", "name"), [(parallel.write, "folder"), (conll.write, "x.conll")])
def test_what_white_space_would_break_is_not_written(tmp_path: Path, write, name: str):
    from handful.data.document import Document

    odd = Document((Utterance.from_words(["hi"], "a", [Slot("first name", 0, 1)]),))
    with pytest.raises(HandfulError, match="'first name' holds white space"):
        write(odd, tmp_path / name)
    assert not (tmp_path / name).exists()
