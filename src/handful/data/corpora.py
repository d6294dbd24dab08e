"""The corpora by name, from their raw files in the data directory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from handful.data.bio import utterance_tags
from handful.data.document import Document
from handful.data.formats import parallel, released, top
from handful.data.formats.annotation import annotate
from handful.data.formats.json_tree import read_json
from handful.data.labels import first_of_several, with_intent_prefix
from handful.data.near_names import suggestion
from handful.data.splits import PAPER_SPLITS, split_by_intent
from handful.errors import ConfigError, Problem, ProblemLog
from handful.types import Utterance


@dataclass(frozen=True, slots=True)
class Corpus:
    name: str
    splits: Mapping[str, tuple[Utterance, ...]]
    mended: tuple[Problem, ...] = ()  # illegal tags of the files, mended on the way

    def split(self, name: str) -> tuple[Utterance, ...]:
        if name not in self.splits:
            raise ConfigError(f"'{self.name}' has no split '{name}'; it has {', '.join(self.splits)}")
        return self.splits[name]

    def digest(self, split: str) -> str:
        """A short name of the split's exact content, to stand beside every figure that is measured on it."""
        content = hashlib.sha256()
        for utterance in self.split(split):
            row = [utterance.text, utterance.intent, *utterance_tags(utterance)]
            content.update("\x1f".join(row).encode() + b"\n")
        return content.hexdigest()[:12]


def load_corpus(name: str, directory: Path) -> Corpus:
    loader = _LOADERS.get(name)
    if loader is None:
        raise ConfigError(f"there is no data set '{name}'{suggestion(name, list(_LOADERS))}")
    folder = directory / name.replace("released-", "released/")
    if not folder.is_dir():
        hint = "" if name.startswith("released-") else f"; `handful data get {name}` fetches it,"
        raise ConfigError(f"'{name}' is not in {directory}{hint} or HANDFUL_DATA says where it lies")
    return loader(folder)


def corpus_names() -> tuple[str, ...]:
    return tuple(_LOADERS)


def _snips(folder: Path) -> Corpus:
    documents = [parallel.read(folder / part) for part in ("train", "dev", "test")]
    return _paper_corpus("snips", _merged(documents))


def _atis(folder: Path) -> Corpus:
    documents = [parallel.read(folder / part) for part in ("train", "dev", "test")]
    renamed = (replace(u, intent=_atis_intent(u.intent)) for u in _merged(documents))
    return _paper_corpus("atis", renamed)


def _atis_intent(raw: str) -> str:
    return first_of_several(raw).removeprefix("atis_")


def _top(folder: Path) -> Corpus:
    documents = [top.read(folder / f"{part}.tsv") for part in ("train", "eval", "test")]
    return _paper_corpus("top", _merged(documents))


def _paper_corpus(name: str, utterances: Iterable[Utterance]) -> Corpus:
    return Corpus(name, split_by_intent([with_intent_prefix(u) for u in utterances], PAPER_SPLITS[name]))


def _merged(documents: Iterable[Document]) -> list[Utterance]:
    return [utterance for document in documents for utterance in document.utterances]


def _released(folder: Path) -> Corpus:
    splits, mended = {}, []
    for split, part in (("train", "train"), ("dev", "val"), ("test", "test")):
        file = folder / "data" / f"{part}.json"
        if part == "val" and not file.exists():
            continue
        document = released.read(file)
        splits[split] = document.utterances
        mended += document.warnings
    return Corpus(f"released-{folder.name}", splits, tuple(mended))


def _facebook(folder: Path) -> Corpus:
    documents = {part: parallel.read(folder / part, repair=True) for part in ("train", "dev", "test")}
    splits = {part: document.utterances for part, document in documents.items()}
    return Corpus(folder.name, splits, tuple(w for document in documents.values() for w in document.warnings))


def _clinc(folder: Path) -> Corpus:
    root = read_json(folder / "data_full.json")
    splits, log = {}, ProblemLog()
    for part, rows in root.mapping().items():
        found = []
        for row in rows.items("a list of [text, intent] pairs"):
            with log.at(row.place):
                text, intent = (child.text() for child in row.items("a pair [text, intent]"))
                found.append(annotate(text, intent, ()))
        splits["dev" if part == "val" else part] = tuple(found)
    log.raise_if_any()
    return Corpus(folder.name, splits)


_LOADERS: Mapping[str, Callable[[Path], Corpus]] = {
    "snips": _snips,
    "atis": _atis,
    "top": _top,
    "fb_multilingual_en": _facebook,
    "clinc150": _clinc,
    "released-snips": _released,
    "released-atis": _released,
    "released-top": _released,
}
