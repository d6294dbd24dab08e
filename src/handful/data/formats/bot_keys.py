"""The keys of a bot file that Rasa does not have: `handful`, `include`, `descriptions` and `settings`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from handful.data.bot_settings import RUNTIMES, BotSettings, Threshold
from handful.data.document import Document
from handful.data.formats.rasa_draft import Draft
from handful.data.formats.tree import Node
from handful.data.near_names import suggestion
from handful.errors import Problem

SCHEMA = 1
KEYS = ("handful", "include", "descriptions", "settings")
_SETTINGS = ("threshold", "encoder", "checkpoint", "runtime")
_DEEPEST = 50  # files that include files
_FOLDER_STARTS = (".", "/", "~")  # of an encoder; anything else is a name, which may hold a slash, too


def check_schema(node: Node) -> None:
    found = node.integer(f"the number of the schema, {SCHEMA}")
    if found > SCHEMA:
        node.fail(f"found schema {found}, but this handful reads {SCHEMA}: upgrade handful")
    if found < 1:
        node.fail(f"found schema {found}, expected {SCHEMA}")


def included_file(item: Node, draft: Draft) -> Path:
    """The file that an item of `include` names; refused where it is not there, or was read before."""
    written = item.text("the path of a file")
    if not draft.may_include:
        item.fail(f"found '{written}' to include, expected a bot in one file: other files are not read here")
    target = item.source.path.parent / written
    try:
        is_file, is_folder, itself = target.is_file(), target.is_dir(), target.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        item.fail(f"'{written}' cannot be included: {getattr(error, 'strerror', None) or error}")
    if is_folder:
        item.fail(f"found the folder '{written}', expected a file: include each of its files")
    if not is_file:
        item.fail(f"there is no file '{written}' to include; paths are relative to the file that includes")
    if itself in draft.open_files:
        circle = [*draft.open_files[draft.open_files.index(itself) :], itself]
        item.fail(f"files include each other in a circle: {' → '.join(file.name for file in circle)}")
    if itself in draft.files:
        item.fail(f"'{written}' is included twice, first at {draft.files[itself]}: one of them can go")
    if len(draft.open_files) > _DEEPEST:
        item.fail(f"found files included {_DEEPEST} deep, expected fewer")
    draft.files[itself] = item.place
    return target


def read_descriptions(node: Node, draft: Draft) -> None:
    for label, child in node.mapping("a mapping of labels and what they mean").items():
        with draft.key_log.at(child.place):
            text = child.text(f"what '{label}' means")
            if label in draft.descriptions:
                child.fail(f"'{label}' is described before, at {draft.named_places['description', label]}")
            draft.descriptions[label] = text.strip() if child.block else text
            draft.named_places["description", label] = child.place


def tell_unknown_descriptions(draft: Draft) -> None:
    """A description of a label that is nowhere would never be read: it is a slip of the pen."""
    labels = draft.labels
    for label in [label for label in draft.descriptions if label not in labels]:
        place = draft.named_places["description", label]
        told = f"the bot has no intent or slot '{label}' to describe{suggestion(label, sorted(labels))}"
        draft.key_log.add(place, told)


def read_settings(node: Node, draft: Draft, *, included: bool) -> None:
    for child in node.unknown_keys(set(_SETTINGS)):
        key = str(child.pointer[-1])
        draft.key_log.add(child.place, f"found the setting '{key}', which is unknown{suggestion(key, _SETTINGS)}")
    found: dict[str, Any] = {}
    for key in _SETTINGS:
        child = node.get(key)
        if child is None:
            continue
        with draft.key_log.at(child.place):
            found[key] = _setting(key, child)
        if not included:
            draft.named_places["settings", key] = child.place
    if included:
        # So that a bot can be a part of another one, and keep its own settings for when it stands alone.
        told = "the settings of an included file are not used; the bot's own file has them"
        draft.warnings.append(Problem(node.place, told))
    else:
        draft.settings = BotSettings(**found)


def _setting(key: str, node: Node) -> Any:
    match key:
        case "threshold":
            return _threshold(node)
        case "encoder":
            written = node.text("the name or the folder of an encoder")
            return _folder(node, written) if written.startswith(_FOLDER_STARTS) else written
        case "checkpoint":
            return _folder(node, node.text("the folder of a checkpoint or of a run"))
        case _:
            written = node.text(" or ".join(RUNTIMES))
            if written not in RUNTIMES:
                node.fail(f"found the runtime {written!r}, expected {' or '.join(RUNTIMES)}")
            return written


def _folder(node: Node, written: str) -> Path:
    try:
        return node.source.path.parent / Path(written).expanduser()
    except RuntimeError as error:  # the home of nobody
        node.fail(f"found the folder {written!r}: {error}")


def _threshold(node: Node) -> Threshold:
    expected = "auto, off, or a number from 0 to 1"
    written = node.text(expected)
    # As written: to YAML, `off` is false and 1e-3 is text.
    if written == "auto" or written == "off":
        return written
    try:
        number = float(written)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        node.fail(f"found the threshold {written!r}, expected {expected}")
    return number


def written_keys(document: Document, folder: Path) -> list[str]:
    """The lines of these keys, for a file in `folder`."""
    settings, default = document.settings, BotSettings()
    plain: dict[str, Any] = {}
    if settings.threshold != default.threshold:
        plain["threshold"] = settings.threshold
    if settings.encoder is not None:
        encoder = settings.encoder
        plain["encoder"] = encoder if isinstance(encoder, str) else _written_path(encoder, folder)
    if settings.checkpoint is not None:
        plain["checkpoint"] = _written_path(settings.checkpoint, folder)
    if settings.runtime is not None:
        plain["runtime"] = settings.runtime
    sections = {"settings": plain, "descriptions": dict(document.descriptions)}
    used = {key: section for key, section in sections.items() if section}
    if not used:
        return []
    dumped = yaml.safe_dump({"handful": SCHEMA, **used}, sort_keys=False, default_flow_style=False, width=float("inf"))
    return [*dumped.rstrip("\n").split("\n"), ""]


def _written_path(path: Path, folder: Path) -> str:
    """Relative to the file where that says the same, with a dot before it, so that it is no encoder's name."""
    if path.is_relative_to(folder):
        return f"./{path.relative_to(folder)}"
    return str(path) if path.is_absolute() else os.path.relpath(path, folder)
