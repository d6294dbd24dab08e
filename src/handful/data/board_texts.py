"""The texts of every board and of every test intent, so that no training sees one of them.

Only texts are read here, with the least that each file's format asks for; the boards' own readers are elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from handful.data.corpora import load_corpus
from handful.data.domain_sets import text_key
from handful.data.formats.files import read_lines
from handful.data.formats.json_tree import read_json
from handful.errors import DataError, Place
from handful.types import Utterance

_SPLITS = ("train", "dev", "test")
_PARALLEL = (
    *(f"{corpus}/{split}/seq.in" for corpus in ("snips", "fb_multilingual_en") for split in _SPLITS),
    *(
        f"boards/intents/{board}/{part}/seq.in"
        for board in ("banking77", "clinc150", "hwu64")
        for part in ("train_5", "train_10", "test")
    ),
    "boards/intents/clinc150/oos_test/seq.in",
)
_EPISODES = (
    *(f"boards/snips_slots/shot{shots}_test_{domain}.json" for shots in (1, 5) for domain in range(1, 8)),
    *(f"boards/snips_joint/shot{shots}_{split}.json" for shots in (1, 5) for split in ("valid", "test")),
)
_XSID_TEXT = "# text = "


def board_texts(directory: Path) -> frozenset[str]:
    """The keys (`text_key`) of all texts that training must not see. A board that is missing is an error."""
    keys = {text_key(text) for text in _texts(directory)}
    return frozenset(keys - {""})


def without_texts(utterances: Iterable[Utterance], keys: frozenset[str]) -> tuple[Utterance, ...]:
    """Those whose text is none of `keys`."""
    return tuple(utterance for utterance in utterances if text_key(utterance.sentence) not in keys)


def _texts(directory: Path) -> Iterator[Sequence[str]]:
    """Of each text its words, or the text as a whole: a key is the same for both."""
    for path in _PARALLEL:
        yield from ([line] for line in read_lines(directory / path))
    for path in _EPISODES:
        yield from _episode_texts(directory / path)
    yield from _nlupp_texts(directory / "boards/nlupp/train.jsonl")
    for split in ("valid", "test"):
        path = directory / f"boards/xsid/en.{split}.conll"
        yield from ([line.removeprefix(_XSID_TEXT)] for line in read_lines(path) if line.startswith(_XSID_TEXT))
    for rows in read_json(directory / "clinc150/data_full.json").mapping().values():
        yield from ([row.items()[0].text()] for row in rows.items())
    for corpus in ("atis", "top"):
        for utterance in load_corpus(corpus, directory).split("test"):
            yield utterance.sentence


def _episode_texts(path: Path) -> Iterator[Sequence[str]]:
    """Few-shot episodes by domain: {"domain": [{"support": {"seq_ins": [[word, …], …]}, "query": {…}}, …]}."""
    try:
        for episodes in json.loads("\n".join(read_lines(path))).values():
            for episode in episodes:
                yield from (*episode["support"]["seq_ins"], *episode["query"]["seq_ins"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError.at(
            Place(path), f"expected few-shot episodes with 'support' and 'query', found {error}"
        ) from error


def _nlupp_texts(path: Path) -> Iterator[Sequence[str]]:
    for number, line in enumerate(read_lines(path), 1):
        try:
            yield json.loads(line)["tokens"]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError.at(Place(path, number), f"expected a JSON object with 'tokens', found {error}") from error
