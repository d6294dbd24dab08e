"""`handful export`: a folder that parses the same, with three packages and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from functools import cache
from pathlib import Path

import pytest

from handful.errors import CheckpointError, ConfigError, HandfulError
from handful.parser.bot import starter_bot, starter_text
from handful.parser.export import export_bot, needed_modules, parser_to_export
from handful.parser.parser import Parser

TEXTS = [
    *(utterance.text for utterance in starter_bot().document.utterances[::4]),
    "send 35 dollars to Johanna",
    "Play some REGGAE in the bathroom",
    "will it be warm in Barcelona next weekend",
    "book a table for two at Casa Verde at noon",
    "  send\t35   dollars ,to  JOHANNA!! 😀",
    "¿dónde está mi paquete?",
    "京都の天気は",
    "the mitochondria is the powerhouse of the cell",
    "well , you know , " * 90 + "send 35 dollars to Johanna",
    "",
    " \t",
    "?!",
]
# Runs a script as `python script` would, in an interpreter that has the standard library, three packages and nothing
# else, whatever is installed.
ALONE = """
import sys

known = {*sys.stdlib_module_names, "numpy", "onnxruntime", "tokenizers", "handful"}

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in known:
            raise ModuleNotFoundError(f"No module named {name!r}: an exported bot does without", name=name)

sys.meta_path.insert(0, Missing())
sys.path[:] = [place for place in sys.path if not place.rstrip("/").endswith("src")]
script, sys.argv = sys.argv[1], sys.argv[1:]
import runpy
runpy.run_path(script, run_name="__main__")
ours = [module for name, module in sys.modules.items() if name.partition(".")[0] == "handful"]
print(*(module.__file__ for module in ours), sep="\\n", file=sys.stderr)
"""


@cache
def starter() -> Parser:
    return Parser.of(starter_bot())


@pytest.fixture
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The starter bot, exported once. Not to be changed: copy it."""
    folder = tmp_path_factory.getbasetemp() / "starter_export"
    if not folder.exists():
        export_bot(starter(), folder)
    return folder


@pytest.fixture
def copy(out: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(out, tmp_path / "copy"))


def run(out: Path, *texts: str, stdin: str = "", cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HANDFUL", "PYTHON"))}
    return subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(out / "parse.py"), *texts],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        env={**env, "HANDFUL_CACHE": str(cwd / "cache")},
        timeout=120,
        check=False,
    )


# -- the same parses ---------------------------------------------------------------------------------------------------


def test_the_folder_parses_as_the_parser_does(out: Path):
    exported = Parser.exported(out)
    for text in TEXTS:
        assert exported.parse(text) == starter().parse(text)
    assert Parser.load(out).parse(TEXTS[0]) == starter().parse(TEXTS[0]), "load takes the folder, too"
    assert exported.identity == starter().identity


def test_the_folder_has_what_it_says(out: Path):
    assert sorted(file.name for file in out.iterdir()) == sorted(
        ["README.md", "bot.json", "handful", "model", "parse.py", "ready", "requirements.txt"]
    )
    pins = (out / "requirements.txt").read_text(encoding="utf-8").split()
    assert [pin.partition("==")[0] for pin in pins] == ["numpy", "onnxruntime", "tokenizers"]
    assert "70 examples, 7 intents" in (out / "README.md").read_text(encoding="utf-8")


def test_roles_lookups_regexes_synonyms_and_descriptions_come_along(tmp_path: Path):
    file = tmp_path / "bot.yml"
    file.write_text(
        "nlu:\n"
        "- intent: fly\n  examples: |\n"
        '    - from [Rome]{"entity": "city", "role": "from"} to '
        '[NYC]{"entity": "city", "role": "to", "value": "New York"}\n'
        '    - a flight from [Oslo]{"entity": "city", "role": "from"}\n    - fly on flight [LH 400](flight)\n'
        "- intent: greet\n  examples: |\n    - hello\n    - good morning\n"
        "- lookup: city\n  examples: |\n    - Ouagadougou\n"
        '- regex: flight\n  examples: |\n    - "[A-Z]{2} [0-9]{3}"\n'
        "- synonym: Rome\n  examples: |\n    - eternal city\n"
        "descriptions:\n  flight: the number of a flight\n",
        encoding="utf-8",
    )
    parser = Parser.load(file)
    parser.threshold = 0.123
    export_bot(parser, tmp_path / "out")
    exported = Parser.exported(tmp_path / "out")
    assert exported.threshold == 0.123
    for text in ("to Ouagadougou from the eternal city", "from nyc", "to NYC", "flight BA 117", "hello", "xyzzy"):
        assert exported.parse(text) == parser.parse(text)
    for part in ("utterances", "lookups", "regexes", "synonyms", "slot_entities", "descriptions"):
        assert getattr(exported.bot.document, part) == getattr(parser.bot.document, part)


def test_an_exported_bot_can_grow(out: Path):
    exported = Parser.exported(out)
    exported.add("how much is a ticket to [Riga](city)", "what does a ticket to [Bonn](city) cost", intent="price")
    assert exported.parse("how much is a ticket to Lisbon").intent == "price"
    assert {slot.value for slot in exported.parse("what does a ticket to Lisbon cost").slots} == {"Lisbon"}


# -- alone -------------------------------------------------------------------------------------------------------------


def test_it_parses_without_any_other_package_and_without_this_one(out: Path, tmp_path: Path):
    texts = [text for text in TEXTS if text]
    ran = run(out, *texts, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert found == [json.loads(json.dumps(starter().parse(text).as_json())) for text in texts]
    assert all(place.startswith(str(out)) for place in ran.stderr.split()), "all of its modules are its own"


def test_it_reads_sentences_from_stdin_one_a_line(out: Path, tmp_path: Path):
    ran = run(out, stdin="play jazz\r\n\nto Málaga 😀 京都", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [row["text"] for row in found] == ["play jazz", "", "to Málaga 😀 京都"]
    assert [row["intent"]["name"] for row in found][:2] == ["play_music", None]


@pytest.mark.parametrize(
    "name", ["torch", "transformers", "pydantic", "yaml", "typer", "rich", "safetensors", "threadpoolctl", "onnx"]
)
def test_the_interpreter_of_these_tests_really_lacks_what_it_should(name: str, tmp_path: Path):
    """Or the tests above would prove nothing."""
    (tmp_path / "parse.py").write_text(f"import {name}\n")
    ran = run(tmp_path, cwd=tmp_path)
    assert ran.returncode == 1
    assert f"No module named '{name}': an exported bot does without" in ran.stderr


def test_only_modules_that_parsing_needs_are_copied(out: Path):
    copied = {".".join(file.relative_to(out).with_suffix("").parts) for file in (out / "handful").rglob("*.py")}
    needed = needed_modules("handful.parser.parser")
    assert {name.removesuffix(".__init__") for name in copied} == set(needed)
    assert not [name for name in needed if name.startswith(("handful.cli", "handful.training.loop", "handful.report"))]


@pytest.mark.slow
def test_a_fresh_environment_with_its_requirements_alone_parses(out: Path, tmp_path: Path):
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", out / "requirements.txt"]
    installed = subprocess.run(pip, capture_output=True, text=True, check=False)
    if installed.returncode:
        pytest.skip(f"pip cannot install here: {installed.stderr[-200:]}")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [python, out / "parse.py", "send 35 dollars to Johanna"]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path, env=env, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == json.loads(json.dumps(starter().parse("send 35 dollars to Johanna").as_json()))


# -- what is imported --------------------------------------------------------------------------------------------------


def imported(program: str, *names: str) -> set[str]:
    told = f"{program}\nimport sys; print('IMPORTED', *set({names!r}) & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    return set(ran.stdout.split("IMPORTED")[1].split())


def test_importing_the_package_imports_next_to_nothing():
    heavy = ("torch", "transformers", "onnxruntime", "pydantic", "numpy", "yaml", "tokenizers")
    assert imported("import handful", *heavy) == set()


def test_once_the_graph_is_in_the_cache_parsing_needs_no_torch():
    starter()  # makes the graph, if no test has yet
    program = (
        "from handful import Parser\nfrom handful.parser.bot import starter_bot\n"
        "assert Parser.of(starter_bot()).parse('play jazz').intent == 'play_music'"
    )
    assert imported(program, "torch", "transformers", "onnx", "onnxscript", "onnxruntime") == {"onnxruntime"}


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_a_folder_that_is_there_is_refused_and_left(tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep")
    (tmp_path / "file").write_text("keep")
    for taken in ("out", "file"):
        with pytest.raises(ConfigError, match=f"{taken}: is already there and was left as it is"):
            export_bot(starter(), tmp_path / taken)
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["file", "mine.txt", "out"]
    assert (tmp_path / "out" / "mine.txt").read_text() == "keep"


def test_an_empty_folder_is_filled(tmp_path: Path):
    (tmp_path / "out").mkdir()
    export_bot(starter(), tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
    assert Parser.exported(tmp_path / "out").parse("play jazz").intent == "play_music"


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HandfulError, match="cannot be written: "):
        export_bot(starter(), tmp_path / "file" / "out")


@pytest.mark.parametrize("how", ["torch", "prototypes"])
def test_a_parser_on_another_runtime_is_refused_with_what_to_do(how: str, tmp_path: Path):
    bot = starter_bot()
    other = Parser.of(bot, runtime="torch") if how == "torch" else Parser.of(bot, learner="prototypes")
    with pytest.raises(ConfigError, match="only a parser on the runtime 'int8' can be exported"):
        export_bot(other, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_bot_that_wants_torch_is_exported_all_the_same(tmp_path: Path):
    file = tmp_path / "bot.yml"
    file.write_text(starter_text() + "\nsettings:\n  runtime: torch\n", encoding="utf-8")
    parser = parser_to_export(Parser.load(file, runtime="int8").bot)
    assert parser.bot.settings.runtime == "torch"
    export_bot(parser, tmp_path / "out")
    assert Parser.exported(tmp_path / "out").parse("play jazz").intent == "play_music"


# -- damage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["bot.json", "model/model.json", "model/model.onnx", "ready/ready.json"])
@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_a_damaged_part_is_told(copy: Path, part: str, damage: str):
    file = copy / part
    content = file.read_bytes()
    file.unlink()
    if damage == "cut":
        file.write_bytes(content[: len(content) // 2])
    if part == "ready/ready.json" and damage == "cut":
        with (
            pytest.warns(UserWarning, match="is not used"),
            pytest.raises(CheckpointError, match="export the bot again"),
        ):
            Parser.exported(copy)
        return
    with pytest.raises(CheckpointError, match=f"{file.name}|do not belong together"):
        Parser.exported(copy)


def test_examples_that_were_changed_do_not_belong_to_what_is_ready(copy: Path):
    text = (copy / "bot.json").read_text(encoding="utf-8")
    (copy / "bot.json").write_text(text.replace("send_money", "sent_money"), encoding="utf-8")
    with pytest.raises(CheckpointError, match="its parts do not belong together: export the bot again"):
        Parser.exported(copy)


def test_a_newer_bot_asks_for_an_upgrade(copy: Path):
    content = json.loads((copy / "bot.json").read_text(encoding="utf-8"))
    (copy / "bot.json").write_text(json.dumps({**content, "format": 2}), encoding="utf-8")
    with pytest.raises(CheckpointError, match="format 2 is newer than 1: upgrade handful"):
        Parser.exported(copy)
