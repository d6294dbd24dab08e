"""What is written is read back equal, in every format that is written."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.data.document import Document
from handful.data.formats import conll, jsonl, parallel, rasa_yaml
from handful.data.formats.annotation import annotate
from handful.data.reading import detect, read_document
from handful.types import Slot, Utterance
from handful.words import split_words

NAMES = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters=""), min_size=1, max_size=8)
INTENTS = st.one_of(st.sampled_from(["a", "b/c", "d+e", "no", "null", "12", "- x", "#1", "é: ü"]), NAMES)
OPTIONAL = st.none() | st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6).filter(str.strip)


@st.composite
def free_utterances(draw: st.DrawFn) -> Utterance:
    """Any text that has words, with any slots on them: brackets, back-slashes, emoji and blanks included."""
    alphabet = st.one_of(
        st.sampled_from(list("ab [](){}\\:\"'#-|>\t\n")),
        st.characters(exclude_categories=("Cs",), exclude_characters="\r\0"),
    )
    text = draw(st.text(alphabet, min_size=1, max_size=30).filter(lambda text: bool(split_words(text))))
    words = split_words(text)
    slots, reached = [], 0
    for _ in range(draw(st.integers(0, 2))):
        if reached >= len(words):
            break
        start = draw(st.integers(reached, len(words) - 1))
        end = draw(st.integers(start + 1, len(words)))
        covered = text[words[start].start : words[end - 1].end]
        value = draw(OPTIONAL.filter(lambda value, covered=covered: value != covered))
        slots.append(Slot(draw(NAMES), start, end, value, draw(OPTIONAL), draw(OPTIONAL)))
        reached = end
    return Utterance(text, words, draw(INTENTS), tuple(slots))


@st.composite
def tokenised_utterances(draw: st.DrawFn) -> Utterance:
    token = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=6)
    words = draw(st.lists(token, min_size=1, max_size=6))
    slots, reached = [], 0
    while reached < len(words) and draw(st.booleans()):
        start = draw(st.integers(reached, len(words) - 1))
        end = draw(st.integers(start + 1, len(words)))
        slots.append(Slot(draw(NAMES), start, end))
        reached = end
    return Utterance.from_words(words, draw(NAMES), slots)


TEXTS = st.lists(st.text(min_size=1, max_size=8).filter(lambda t: t == t.strip() and t.isprintable()), min_size=1)
METADATA = st.dictionaries(NAMES, st.one_of(st.integers(), st.booleans(), st.text(max_size=5), st.lists(st.none())))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(free_utterances(), min_size=1, max_size=4),
    st.dictionaries(NAMES, TEXTS.map(tuple), max_size=2),
    METADATA,
    st.booleans(),
)
def test_rasa_yaml(utterances: list[Utterance], synonyms: dict[str, tuple[str, ...]], metadata: dict, noted: bool):
    document = Document(
        tuple(utterances),
        synonyms,
        lookups=synonyms,
        intent_metadata={utterances[0].intent: metadata} if noted else {},
        example_metadata={0: metadata} if noted else {},
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bot.yml"
        assert rasa_yaml.write(document, file) == []
        assert rasa_yaml.read(file) == document


@pytest.mark.parametrize(
    ("read", "write", "name"),
    [
        (parallel.read, parallel.write, "folder"),
        (conll.read, conll.write, "x.conll"),
        (jsonl.read, jsonl.write, "x.jsonl"),
    ],
)
@settings(max_examples=100, deadline=None)
@given(utterances=st.lists(tokenised_utterances(), min_size=1, max_size=4))
def test_formats_of_words_and_tags(read, write, name: str, utterances: list[Utterance]):
    with tempfile.TemporaryDirectory() as folder:
        assert write(Document(tuple(utterances)), Path(folder) / name) == []
        assert read(Path(folder) / name).utterances == tuple(utterances)


@pytest.mark.parametrize(("module", "name"), [(conll, "x.conll"), (jsonl, "x.jsonl")])
def test_the_original_spacing_survives_where_the_format_has_room(tmp_path: Path, module, name: str):
    document = Document((annotate("Fly to Boston, please!", "book", ()),))
    assert module.write(document, tmp_path / name) == []
    assert module.read(tmp_path / name) == document


def test_what_a_format_cannot_hold_is_listed(tmp_path: Path):
    utterance = Utterance("a, b", split_words("a, b"), "i", (Slot("x", 0, 1, "value", "role", "group"),))
    document = Document((utterance,), {"v": ("s",)}, {"l": ("e",)}, {"r": ("e",)}, {("i", "x"): "t"}, {"i": 1})
    assert parallel.write(document, tmp_path / "folder") == [
        "synonyms",
        "lookup tables",
        "regular expressions",
        "the entity types of slots",
        "metadata",
        "values of slots",
        "roles of slots",
        "groups of slots",
        "the original spacing of texts",
    ]


@pytest.mark.parametrize(
    ("module", "name"), [(parallel, "folder"), (conll, "x.conll"), (jsonl, "x.jsonl"), (rasa_yaml, "x.yml")]
)
def test_what_is_written_is_detected(tmp_path: Path, module, name: str):
    document = Document((Utterance.from_words(["hi", "Tom"], "greet", [Slot("name", 1, 2)]),))
    module.write(document, tmp_path / name)
    assert detect(tmp_path / name).name == module.NAME
    assert read_document(tmp_path / name) == document
