"""A bot as a folder that parses with onnxruntime, tokenizers and numpy alone.

OUT/bot.json, model/, ready/     the bot, the model's graph, and what it has seen of the examples
OUT/handful/                     just those modules of this package that parsing needs
OUT/parse.py                     python OUT/parse.py "a sentence"; or sentences from stdin, one a line
OUT/requirements.txt, README.md
"""

from __future__ import annotations

import ast
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from handful.errors import ConfigError, HandfulError
from handful.parser.bot import Bot
from handful.parser.bot_json import bot_as_json
from handful.parser.models import DEFAULT_RUNTIME, Progress, model_for, runtime_folder
from handful.parser.parser import Parser
from handful.parser.ready import EXPORTED, write_ready
from handful.runtime.folder import read_about_model
from handful.training.shipped import checkpoint_sums, shipped_folder

_ENTRY = "handful.parser.parser"
_NEEDED = ("numpy", "onnxruntime", "tokenizers")

_PARSE = '''"""Parses sentences with the bot in this folder: arguments, or lines of stdin. A line of JSON each."""

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # products this small want one thread; before numpy is imported
here = Path(__file__).parent
sys.path.insert(0, str(here))

from handful.parser.parser import Parser  # noqa: E402

for stream in (sys.stdin, sys.stdout):
    stream.reconfigure(encoding="utf-8")  # whatever the locale
parser = Parser.exported(here)
for text in sys.argv[1:] or (line.rstrip("\\r\\n") for line in sys.stdin):
    print(json.dumps(parser.parse(text).as_json(), ensure_ascii=False), flush=True)
'''

_README = """# {name}

An exported bot of handful {version}: {examples} examples, {intents} intents. It needs Python 3.11 and what
requirements.txt names, and neither torch nor transformers.

    pip install -r requirements.txt
    python parse.py "a sentence"

From Python, with this folder on the path:

    from handful.parser.parser import Parser
    parser = Parser.exported(pathlib.Path("this/folder"))
    parser.parse("a sentence").intent

Set OPENBLAS_NUM_THREADS=1 before numpy is imported: the products here are small.
"""


def export_bot(parser: Parser, out: Path, *, progress: Progress | None = None) -> None:
    """Writes the folder; it must not be there yet, or be empty. Whole or not at all."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out}: is already there and was left as it is: choose another name, or remove it")
    tell = progress or (lambda _: None)
    bot = parser.bot
    checkpoint = bot.settings.checkpoint or shipped_folder()
    sums = checkpoint_sums(checkpoint)
    model = runtime_folder(sums.weights, sums.encoder)
    if not model.exists() or parser.identity != read_about_model(model).identity:
        # Of torch, of prototypes, or of a graph that is gone: what is ready of it would fit no other model.
        raise ConfigError(f"only a parser on the runtime '{DEFAULT_RUNTIME}' can be exported: load it with that one")
    settings = replace(bot.settings, threshold=parser.threshold)
    bot = replace(bot, document=replace(bot.document, settings=settings))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            tell("copying the model")
            shutil.copytree(model, made / "model")
            tell("writing the bot and what is ready of it")
            (made / EXPORTED).write_text(bot_as_json(bot), encoding="utf-8")
            write_ready(made / "ready", parser.ready, parser.identity)
            for module, file in sorted(needed_modules(_ENTRY).items()):
                _copy_module(module, file, made)
            (made / "parse.py").write_text(_PARSE, encoding="utf-8")
            pins = "".join(f"{package}=={version(package)}\n" for package in _NEEDED)
            (made / "requirements.txt").write_text(pins, encoding="utf-8")
            facts = {
                "examples": len(bot.document.utterances),
                "intents": len(bot.intents),
                "version": version("handful"),
            }
            (made / "README.md").write_text(_README.format(name=bot.name, **facts), encoding="utf-8")
            made.chmod(0o755)
            if out.exists():
                out.rmdir()
            made.rename(out)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise HandfulError(f"{out}: cannot be written: {error.strerror or error}") from error


def parser_to_export(bot: Bot, progress: Progress | None = None) -> Parser:
    """The bot's parser on the runtime that is exported, whatever its settings say."""
    model = model_for(bot.settings, runtime="int8", progress=progress)
    return Parser.with_model(bot, model)


def needed_modules(entry: str) -> dict[str, Path]:
    """A module, and all of ours that it imports when it is imported itself. Imports inside functions wait until they
    are asked for, and those are for what an exported bot cannot do."""
    found: dict[str, Path] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            spec = find_spec(name)
        except ModuleNotFoundError:
            spec = None
        if spec is None or spec.origin is None:
            continue  # not a module but a name inside one
        found[name] = Path(spec.origin)
        if "." in name:
            waiting.append(name.rpartition(".")[0])
        waiting += _imported(ast.parse(found[name].read_text(encoding="utf-8")))
    return found


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("handful"):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name.islower())


def _copy_module(module: str, file: Path, made: Path) -> None:
    place = made / Path(*module.split("."))
    target = place / "__init__.py" if file.name == "__init__.py" else place.with_suffix(".py")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)
