"""The files of a Dialogflow ES export: which there are, which language is read, and what is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from handful.errors import DataError, Place, Problem, listed

_LANGUAGE = r"(?P<language>[A-Za-z]{2,3}(?:-[A-Za-z0-9]+)*)"
_PHRASES = re.compile(rf"(?P<name>.+)_usersays_{_LANGUAGE}\.json")
_ENTRIES = re.compile(rf"(?P<name>.+)_entries_{_LANGUAGE}\.json")
_AGENT = {"intents", "entities", "agent.json", "package.json"}


@dataclass(frozen=True, slots=True)
class ExportFile:
    """The phrases of an intent or the values of an entity, in one language."""

    path: Path
    name: str  # of the intent or entity, as its files are named
    language: str

    @property
    def about(self) -> Path:
        """The file of the intent or entity itself, which need not be there."""
        return self.path.with_name(f"{self.name}.json")


@dataclass(frozen=True, slots=True)
class Export:
    phrases: list[ExportFile]
    entries: list[ExportFile]
    warnings: list[Problem]


def find_export(path: Path) -> Export:
    """The files to read: of an export's folder, of a folder of intents, or one file alone."""
    if not path.is_dir():
        return Export([_single(path)], [], [])
    intents = path / "intents" if (path / "intents").is_dir() else path
    phrases = _files(intents, _PHRASES)
    language = _language(intents, phrases)
    warnings = _unread(intents, phrases, language)
    if intents != path:
        unknown = sorted(child for child in path.iterdir() if child.name not in _AGENT)
        warnings += [Problem(Place(child), "is not used") for child in unknown]
    entities = path / "entities"
    entries = _files(entities, _ENTRIES) if entities.is_dir() else []
    if entities.is_dir():
        warnings += _unread(entities, entries, language)
    return Export(
        [file for file in phrases if file.language == language],
        [file for file in entries if file.language == language],
        warnings,
    )


def _single(path: Path) -> ExportFile:
    found = _PHRASES.fullmatch(path.name)
    if found is None:
        what = "a file of another name" if path.exists() else "nothing there"
        raise DataError.at(
            Place(path), f"found {what}, expected the folder of an export or a file NAME_usersays_en.json"
        )
    return ExportFile(path, found["name"], found["language"])


def _files(folder: Path, pattern: re.Pattern[str]) -> list[ExportFile]:
    matches = ((path, pattern.fullmatch(path.name)) for path in sorted(folder.iterdir()))
    return [ExportFile(path, found["name"], found["language"]) for path, found in matches if found]


def _language(folder: Path, phrases: list[ExportFile]) -> str:
    languages = sorted({file.language for file in phrases})
    if not languages:
        raise DataError.at(Place(folder), "found no training phrases, expected files NAME_usersays_en.json")
    if "en" in languages:
        return "en"
    if len(languages) > 1:
        raise DataError.at(
            Place(folder),
            f"found the languages {listed(languages)}, expected 'en' among them or only one language",
        )
    return languages[0]


def _unread(folder: Path, files: list[ExportFile], language: str) -> list[Problem]:
    languages = {file.path: file.language for file in files}
    names = {file.name for file in files if file.language == language}
    warnings = []
    for path in sorted(folder.iterdir()):
        found = languages.get(path)
        if found is None and (path.suffix != ".json" or path.is_dir()):
            # In a folder of intents alone, `entities` beside them is read.
            if path.name != "entities":
                warnings.append(Problem(Place(path), "is not used"))
        elif found is None and path.stem not in names:
            warnings.append(Problem(Place(path), f"'{path.stem}' has no examples in '{language}': it is not read"))
        elif found is not None and found != language:
            warnings.append(Problem(Place(path), f"the language '{found}' is not read, '{language}' is"))
    if any(file.about.exists() for file in files):
        warnings.append(Problem(Place(folder), "the files NAME.json give only names: what else they say is not used"))
    return warnings
