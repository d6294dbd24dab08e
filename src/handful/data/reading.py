"""All formats in one place: which there are, which one a file is in, and how to read and write it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from handful.data.document import Document, Reading
from handful.data.formats import (
    conll,
    dialogflow,
    jsonl,
    luis,
    parallel,
    rasa_json,
    rasa_yaml,
    released,
    snips_json,
    snips_yaml,
    top,
    wit,
)
from handful.data.formats.files import read_text
from handful.data.formats.json_tree import read_json
from handful.data.formats.tree import describe
from handful.data.near_names import suggestion
from handful.errors import ConfigError, DataError, Place, listed


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    looks: str  # how a person knows it
    read: Callable[[Path], Document]
    repair: Callable[[Path], Document] | None = None  # formats of tags: mends illegal ones and lists them
    write: Callable[[Document, Path], list[str]] | None = None
    attempt: Callable[[Path], Reading] | None = None  # keeps what is whole in a broken file


FORMATS = (
    Format(rasa_yaml.NAME, "YAML with 'nlu:' or 'include:'", rasa_yaml.read, None, rasa_yaml.write, rasa_yaml.attempt),
    Format(rasa_json.NAME, "JSON with 'rasa_nlu_data'", rasa_json.read),
    Format(snips_json.NAME, "JSON with 'intents' and their 'utterances'", snips_json.read),
    Format(snips_yaml.NAME, "YAML with 'type: intent'", snips_yaml.read),
    Format(dialogflow.NAME, "a folder (or one file) of *_usersays_*.json", dialogflow.read),
    Format(luis.NAME, "JSON with 'luis_schema_version'", luis.read),
    Format(wit.NAME, "JSON with 'utterances'", wit.read),
    Format(
        parallel.NAME,
        "a folder with seq.in, seq.out and label",
        parallel.read,
        lambda path: parallel.read(path, repair=True),
        parallel.write,
    ),
    Format(
        conll.NAME,
        "a word and a tag a line, '# intent: x'",
        conll.read,
        lambda path: conll.read(path, repair=True),
        conll.write,
    ),
    Format(
        jsonl.NAME,
        "JSON lines with 'tokens', 'slots' and 'intent'",
        jsonl.read,
        lambda path: jsonl.read(path, repair=True),
        jsonl.write,
    ),
    Format(top.NAME, "three tab-separated columns with a '[IN:' tree", top.read),
    Format(released.NAME, "JSON lines with 'text_u'", released.read),
)


def format_named(name: str) -> Format:
    for known in FORMATS:
        if known.name == name:
            return known
    raise ConfigError(f"there is no format '{name}'{suggestion(name, [known.name for known in FORMATS])}")


def read_document(path: Path, format_name: str | None = None, *, repair: bool = False) -> Document:
    chosen = format_named(format_name) if format_name else detect(path)
    if not repair:
        return chosen.read(path)
    if chosen.repair is None:
        raise ConfigError(f"--repair mends tags, and the format '{chosen.name}' of {path} has none")
    return chosen.repair(path)


def attempt_document(path: Path, format_name: str | None = None) -> Reading:
    """As much of a file as can be read, and its problems. A file of no known format is an error here, too."""
    chosen = format_named(format_name) if format_name else detect(path)
    if chosen.attempt is not None:
        return chosen.attempt(path)
    try:
        return Reading(chosen.read(path))
    except DataError as error:
        return Reading(None, error.problems)


def detect(path: Path) -> Format:
    """The one format that the content shows; none or several is an error that lists what there is."""
    found = _folder_formats(path) if path.is_dir() else _file_formats(path)
    if len(found) == 1:
        return format_named(found[0])
    if found:
        names = " and ".join(found)
        raise DataError.at(Place(path), f"this could be {names}: say which with --format")
    known = "; ".join(f"{known.name} ({known.looks})" for known in FORMATS)
    raise DataError.at(
        Place(path, None if path.is_dir() else 1),
        f"found {_first_sight(path)}, which is no format that handful knows. Those are: {known}. "
        "--format NAME reads the file as one of them and tells what does not fit",
    )


def _first_sight(path: Path) -> str:
    """What an unknown file or folder starts with, so that a person sees the typing mistake."""
    if path.is_dir():
        return f"a folder with {listed(sorted(child.name for child in path.iterdir()), 4) or 'nothing in it'}"
    text = read_text(path).strip()
    try:
        return describe(json.loads(text))
    except (ValueError, RecursionError):
        return f"the text {text.splitlines()[0][:60]!r}"


def _folder_formats(path: Path) -> list[str]:
    names = {child.name for child in path.iterdir()}
    within = {child.name for child in (path / "intents").iterdir()} if (path / "intents").is_dir() else set()
    found = []
    if names & set(parallel.FILES):
        found.append(parallel.NAME)
    if any("_usersays_" in name for name in names | within):
        found.append(dialogflow.NAME)
    return found


def _file_formats(path: Path) -> list[str]:
    text = read_text(path)
    if path.name in parallel.FILES and all((path.parent / name).is_file() for name in parallel.FILES):
        raise DataError.at(Place(path), f"this is one of three parallel files: give their folder, {path.parent}")
    start = text.lstrip()
    if start[0] in "{[":
        found = _json_formats(path, text)
        if found:
            return found
    found = []
    if re.search(r"(^|\{)[ \t]*['\"]?nlu['\"]?[ \t]*:|^(include|handful)[ \t]*:", text, re.MULTILINE):
        found.append(rasa_yaml.NAME)
    if re.search(r"^type\s*:\s*['\"]?(intent|entity)\b", text, re.MULTILINE):
        found.append(snips_yaml.NAME)
    if found:
        return found
    rows = [line for line in text.split("\n") if line.strip()]
    if rows[0].count("\t") >= 1 and "[IN:" in rows[0]:
        found.append(top.NAME)
    tokens = [row.split() for row in rows if not row.startswith("#")]
    tagged = bool(tokens) and len(tokens[0]) >= 2 and re.fullmatch(r"O|[BI]-\S+", tokens[0][-1])
    if tagged or any(re.match(r"#\s*intent\s*[:=]", row) for row in rows):
        found.append(conll.NAME)
    return found


def _json_formats(path: Path, text: str) -> list[str]:
    first_row = text.strip().split("\n", 1)[0]
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        by_row = _row_formats(first_row)
        is_yaml = path.suffix in {".yml", ".yaml"}
        if not by_row and not is_yaml and (text.lstrip()[0] == "{" or path.suffix == ".json"):
            read_json(path)  # tells where the JSON breaks
        return by_row
    if isinstance(whole, list):
        is_usersays = any(isinstance(item, dict) and "data" in item for item in whole)
        return [dialogflow.NAME] if is_usersays or "_usersays_" in path.name else []
    keys = set(whole)
    found = [rasa_json.NAME] if "rasa_nlu_data" in keys else []
    if isinstance(whole.get("intents"), dict):
        found.append(snips_json.NAME)
    if "luis_schema_version" in keys:
        found.append(luis.NAME)
    elif "utterances" in keys:
        found.append(wit.NAME)
    return found + _row_formats(first_row if "\n" not in text.strip() else text.strip())


def _row_formats(row: str) -> list[str]:
    try:
        found = json.loads(row)
    except (ValueError, RecursionError):
        return []
    if not isinstance(found, dict):
        return []
    return [name for key, name in (("tokens", jsonl.NAME), ("text_u", released.NAME)) if key in found]
