"""What a model has seen of a bot, kept in a folder beside its file (`bot.yml.ready/`) or inside an exported bot.

ready.json says what the numbers are of, an npz file has them. It is all made again from the bot where it does not fit:
another model, or a file that is damaged, which is told.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from handful.encoders.digests import sha256_of
from handful.errors import CheckpointError, HandfulError
from handful.learners.bot_heads import BotHeads
from handful.learners.span_model import Encodings
from handful.parser.bot import Bot
from handful.parser.bot_json import bot_from_json
from handful.parser.calibration import Calibration
from handful.parser.models import Model
from handful.parser.rejection import Rejection
from handful.parser.understanding import Confidence, Understanding
from handful.places import beside
from handful.runtime.folder import load_exported, read_arrays

if TYPE_CHECKING:
    pass

FORMAT = 3  # to be raised, too, when the same examples come to give other heads or confidences
ABOUT, EXPORTED = "ready.json", "bot.json"
_HEADS = "heads."  # before the names of their arrays


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    encodings: Encodings
    heads: BotHeads | None = None
    confidence: Confidence | None = None
    examples: str = ""  # a sum of all that heads and confidence were fitted to

    @classmethod
    def of(cls, bot: Bot, understanding: Understanding) -> Ready:
        sentences = [utterance.sentence for utterance in understanding.utterances]
        known = understanding.encodings.only(sentences)
        return cls(known, understanding.heads, understanding.confidence, content_sum(bot))

    def is_of(self, bot: Bot) -> bool:
        return self.confidence is not None and self.examples == content_sum(bot)


def content_sum(bot: Bot) -> str:
    """Of the examples in their order, and of what labels mean."""
    rows = [[u.intent, *u.sentence, *(f"{s.key} {s.start} {s.end}" for s in u.slots)] for u in bot.document.utterances]
    content = json.dumps([rows, sorted(bot.descriptions.items())])
    return hashlib.sha256(content.encode()).hexdigest()


def ready_folder(bot: Path) -> Path:
    return beside(bot, "ready")


def write_ready(folder: Path, ready: Ready, model: str) -> None:
    """Whole or not at all: ready.json names its arrays, and takes the place of the one before in one step."""
    known, confidence, heads = ready.encodings, ready.confidence, ready.heads
    assert confidence is not None
    assert heads is not None
    sentences, intents, slots = list(known.sentences), list(known.intents), list(known.slots)
    arrays = {
        "states": _rows([known.sentences[words][0] for words in sentences]),
        "sentences": _rows([known.sentences[words][1][None] for words in sentences]),
        "intents": _rows([known.intents[text][None] for text in intents]),
        "slots": _rows([known.slots[text][None] for text in slots]),
        **{f"{_HEADS}{name}": array for name, array in heads.arrays().items()},
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f".{os.getpid()}.partial.npz"
        np.savez(temporary, allow_pickle=False, **arrays)
        total = sha256_of(temporary)
        file = temporary.replace(folder / f"{total[:16]}.npz")
        about = {
            "format": FORMAT,
            "model": model,
            "arrays": file.name,
            "arrays_sha256": total,
            "examples": ready.examples,
            "calibration": confidence.calibration.to_dict(),
            "rejection": confidence.rejection.to_dict(),
            "sentences": sentences,
            "intents": intents,
            "slots": slots,
            "heads": heads.intent_names,
        }
        _write_json(folder / ABOUT, about)
    except OSError as error:
        raise HandfulError(f"{folder}: cannot be written: {error.strerror or error}") from error
    for old in folder.glob("*.npz"):
        if old.name != file.name and re.fullmatch(r"[0-9a-f]{16}", old.stem):  # no other process's half-written one
            with suppress(OSError):
                old.unlink()


def read_ready(folder: Path, model: str) -> Ready | None:
    """None where nothing is kept for this model."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["format"] != FORMAT or about["model"] != model:
            return None
        return _ready(folder, about)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, CheckpointError) as error:
        told = f"{type(error).__name__}: {error}" if isinstance(error, (KeyError, TypeError)) else str(error)
        warnings.warn(f"{folder}: is not used, and can be removed: {told}", stacklevel=3)
        return None


class ReadyCache:
    """What is ready of bots that have no file to keep it beside: folders that are named by model and content."""

    def __init__(self, folder: Path, *, most: int) -> None:
        """`most` folders are kept, those that were used last."""
        self._folder, self._most = folder, most

    def read(self, bot: Bot, model: str) -> Ready | None:
        folder = self._place(content_sum(bot), model)
        ready = read_ready(folder, model)
        if ready is None or not ready.is_of(bot):
            return None
        with suppress(OSError):
            os.utime(folder)
        return ready

    def write(self, ready: Ready, model: str) -> None:
        """A disk that is full or not ours to write to is no reason to parse nothing."""
        folder = self._place(ready.examples, model)
        if (folder / ABOUT).exists():
            return
        with suppress(HandfulError, OSError):
            write_ready(folder, ready, model)
            known = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)
            for old in known[: -self._most]:
                shutil.rmtree(old, ignore_errors=True)

    def _place(self, examples: str, model: str) -> Path:
        return self._folder / hashlib.sha256(f"{FORMAT} {model} {examples}".encode()).hexdigest()[:24]


def read_exported(folder: Path, threads: int | None) -> tuple[Bot, Model, Ready]:
    """An exported bot: its JSON, its model, and what is ready of it. All three must be there and belong together."""
    bot = bot_from_json(folder / EXPORTED)
    exported, about = load_exported(folder / "model", threads=threads)
    ready = read_ready(folder / "ready", about.identity)
    if ready is None or not ready.is_of(bot):
        raise CheckpointError(f"{folder}: its parts do not belong together: export the bot again")
    return bot, Model(exported, about.identity), ready


def _ready(folder: Path, about: Mapping[str, Any]) -> Ready:
    file = folder / Path(about["arrays"]).name  # never a path out of the folder
    if sha256_of(file) != about["arrays_sha256"]:
        raise CheckpointError(f"{file.name} is damaged or was replaced")
    arrays = read_arrays(file)
    sentences, intents, slots = ([tuple(words) for words in about[part]] for part in ("sentences", "intents", "slots"))
    ends = np.cumsum([len(words) for words in sentences])
    if not sentences or len(arrays["states"]) != ends[-1]:
        raise CheckpointError(f"{file.name} does not fit {ABOUT}")
    seen = {
        words: (arrays["states"][end - len(words) : end], vector)
        for words, end, vector in zip(sentences, ends.tolist(), arrays["sentences"], strict=True)
    }
    encodings = Encodings(
        seen,
        dict(zip(intents, arrays["intents"], strict=True)),
        dict(zip(slots, arrays["slots"], strict=True)),
    )
    of_heads = {name.removeprefix(_HEADS): array for name, array in arrays.items() if name.startswith(_HEADS)}
    heads = BotHeads.from_arrays(of_heads, about["heads"])
    confidence = Confidence(Calibration.from_dict(about["calibration"]), Rejection.from_dict(about["rejection"]))
    return Ready(encodings, heads, confidence, about["examples"])


def _rows(parts: Sequence[Any]) -> Any:
    return np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.float16)


def _write_json(file: Path, content: Mapping[str, Any]) -> None:
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    temporary.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    temporary.replace(file)
