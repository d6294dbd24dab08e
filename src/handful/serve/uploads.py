"""Files that somebody sent: read in a folder of their own. They may name no other file and no model
of this machine, and bring no expression that runs away."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from handful.data.document import Document
from handful.data.formats import rasa_yaml
from handful.data.reading import detect, format_named
from handful.errors import SHOWN_PROBLEMS, DataError, HandfulError
from handful.parser.matching import runs_away
from handful.serve.convert import refuse_intent, refuse_text
from handful.serve.refusals import Refusal
from handful.serve.settings import ServeSettings

_MOST_MEMBERS = 500  # of a zip
_MOST_PATTERNS = 200  # expressions of a bot: each is tried before it is let in
_LONGEST_PATTERN = 500
# All that zipfile raises on damaged, encrypted or exotic archives.
_DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class _Told:
    """A problem with its place, as the sender knows the file."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.file}{'' if self.line is None else f':{self.line}'}: {self.message}"


def read_upload(body: bytes, format: str | None, file: str | None, settings: ServeSettings) -> Document:
    if not body:
        raise Refusal(422, "Unprocessable", "the body is empty: expected a file")
    chosen = format_named(format) if format else None
    with tempfile.TemporaryDirectory() as folder:
        path = _laid_out(body, Path(folder), _safe_name(file), settings)
        try:
            found = chosen or detect(path)
            document = rasa_yaml.read(path, includes=False) if found.name == rasa_yaml.NAME else found.read(path)
        except DataError as error:
            problems = [
                _Told(_named(problem.place.path, folder), problem.place.line, without_folder(folder, problem.message))
                for problem in error.problems
            ]
            raise _unfit(problems) from error
        except HandfulError as error:
            raise Refusal(422, "Unprocessable", without_folder(folder, str(error))) from error
        except (RecursionError, OSError, ValueError) as error:
            raise Refusal(
                422, "Unprocessable", f"the file cannot be read: {without_folder(folder, str(error))}"
            ) from error
    _refuse_settings(document)
    _refuse_patterns(document)
    for intent in dict.fromkeys(utterance.intent for utterance in document.utterances):
        refuse_intent(intent, "the file")
    for number, utterance in enumerate(document.utterances, 1):
        refuse_text(utterance.text, settings, f"example {number}")
    _refuse_halves(document)
    return replace(document, places=(), named_places={})


def _laid_out(body: bytes, folder: Path, name: str, settings: ServeSettings) -> Path:
    if not body.startswith(b"PK\x03\x04"):
        path = folder / name
        path.write_bytes(body)
        return path
    root = folder / "zip"
    root.mkdir()
    left = settings.most_import
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            members = [member for member in archive.infolist() if not _is_nothing(member)]
            if len(members) > _MOST_MEMBERS:
                raise Refusal(
                    422, "Unprocessable", f"the zip has {len(members)} files, expected at most {_MOST_MEMBERS}"
                )
            for member in members:
                if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                    raise ValueError("found a kind of compression that is not read here")
                with archive.open(member) as opened:
                    content = opened.read(left + 1)  # the size that the zip tells may lie
                left -= len(content)
                if left < 0:
                    raise Refusal(413, "TooLarge", f"what is in the zip is larger than {settings.most_import:,} bytes")
                target = root / _inside(member.filename)
                if target.exists():
                    raise ValueError(f"found two files {target.relative_to(root)} in it")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
    except _DAMAGED as error:
        raise Refusal(
            422, "Unprocessable", f"the zip cannot be read: {without_folder(str(folder), str(error))}"
        ) from error
    return _only_child(root)


def _is_nothing(member: zipfile.ZipInfo) -> bool:
    """Folders, and what a Mac puts beside each file."""
    path = PurePosixPath(member.filename)
    return member.is_dir() or "__MACOSX" in path.parts or path.name.startswith("._")


def _inside(name: str) -> Path:
    """A member's path with nothing in it that leads out of the folder."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in {"/", "..", "."}]
    safe = [_safe_name(part) for part in parts]
    if not safe or len(safe) > 10:
        raise ValueError(f"found the path {name[:80]!r} in it")
    return Path(*safe)


def _only_child(folder: Path) -> Path:
    """Of a zip of one folder, that folder; of one file, that file."""
    children = list(folder.iterdir())
    if not children:
        raise Refusal(422, "Unprocessable", "the zip is empty")
    return _only_child(children[0]) if len(children) == 1 and children[0].is_dir() else (
        children[0] if len(children) == 1 else folder
    )  # fmt: skip


def _safe_name(name: str | None) -> str:
    plain_name = "".join(
        c for c in PurePosixPath((name or "").replace("\\", "/")).name if c.isprintable() and c not in '<>:"|?*'
    )
    shortened = plain_name.encode("utf-8", "ignore")[-100:].decode("utf-8", "ignore").lstrip(".")
    return shortened or "upload"


def _named(path: Path, folder: str) -> str:
    inner = path.relative_to(folder) if path.is_relative_to(folder) else Path(path.name)
    return str(inner.relative_to("zip") if inner.parts[:1] == ("zip",) and len(inner.parts) > 1 else inner)


def without_folder(folder: str, message: str) -> str:
    """No path of this machine is told."""
    return message.replace(f"{folder}/zip/", "").replace(f"{folder}/", "").replace(folder, "the file")


def _unfit(problems: Sequence[_Told]) -> Refusal:
    shown = problems[:SHOWN_PROBLEMS]
    more = f"\n… and {len(problems) - len(shown)} more" if len(problems) > len(shown) else ""
    return Refusal(
        422,
        "Unprocessable",
        "\n".join(map(str, shown)) + more,
        details={"problems": [{"file": p.file, "line": p.line, "message": p.message} for p in shown]},
    )


def _refuse_settings(document: Document) -> None:
    settings = document.settings
    named = [name for name in ("encoder", "checkpoint", "runtime") if getattr(settings, name) is not None]
    if named:
        raise Refusal(
            422,
            "Unprocessable",
            f"settings: found {' and '.join(named)}, which the server decides: leave out all but threshold",
        )


def _refuse_patterns(document: Document) -> None:
    patterns = [(name, pattern) for name, own in document.regexes.items() for pattern in own]
    if len(patterns) > _MOST_PATTERNS:
        raise Refusal(
            422, "Unprocessable", f"found {len(patterns)} regular expressions, expected at most {_MOST_PATTERNS}"
        )
    for name, pattern in patterns:
        if len(pattern) > _LONGEST_PATTERN or runs_away(pattern):
            told = "takes ever so long for some sentences" if len(pattern) <= _LONGEST_PATTERN else "is too long"
            raise Refusal(422, "Unprocessable", f"the regular expression '{name}' {told}: {pattern[:80]}")


def _refuse_halves(document: Document) -> None:
    """Half a character in a table, or in metadata what is no JSON: a date, or no number. No database keeps that."""
    said = [document.synonyms, document.lookups, document.regexes, document.descriptions, document.intent_metadata]
    try:
        written = json.dumps([*said, *document.example_metadata.values()], ensure_ascii=False, allow_nan=False)
        written.encode()
    except (UnicodeEncodeError, TypeError, ValueError) as error:
        raise Refusal(422, "Unprocessable", f"found what cannot be kept: {error}") from error
