"""What handful adds to its own encoder: a parse against a bare forward, a first parse against a bare start.

Both sides of a ratio are timed in turn in one run, so that both see the same machine. benchmarks/peers.py asks for it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from peer_systems import Handful, exported_folder
from peer_tables import percentile
from peer_worker import as_utterance, hold_to

from handful.data.document import Document
from handful.data.formats import rasa_yaml
from handful.parser.parser import Parser
from handful.types import Utterance

HERE = Path(__file__).parent
RATIO_BOTS = (("fb_multilingual_en", 10), ("clinc150", 10))
TARGETS = {"parse": 1.25, "first_parse": 2.0}
STARTS = 9  # new processes of either kind
# What a user's program would do; and it says whether torch came with it.
FIRST_PARSE = """
import sys
from handful import Parser
parse = Parser.load(sys.argv[1]).parse(sys.argv[2])
print(parse.intent, "torch" in sys.modules)
"""


def measured_ratio(
    bot: Sequence[Mapping[str, Any]], texts: Sequence[str], threads: int, environment: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The two records of a bot, from a process that is held to its cores, and whose own processes are, too."""
    with tempfile.TemporaryDirectory() as folder:
        job, found = Path(folder) / "job.json", Path(folder) / "found.json"
        job.write_text(json.dumps({"bot": bot, "texts": texts}), encoding="utf-8")
        command = [sys.executable, __file__, str(job), str(found), str(threads)]
        subprocess.run(command, check=True, env=dict(environment), stdout=sys.stderr)
        for ratio_of, seconds in json.loads(found.read_text(encoding="utf-8")).items():
            yield ratio_record(ratio_of, **seconds)


def ratio_record(ratio_of: str, own: Sequence[float], bare: Sequence[float], **more: Any) -> dict[str, Any]:
    """From seconds of both, in the same order: the ratio of their medians."""
    medians = percentile(own, 50), percentile(bare, 50)
    return {
        "ratio_of": ratio_of,
        "ratio": round(medians[0] / medians[1], 3),
        "target": TARGETS[ratio_of],
        "milliseconds": round(1000 * medians[0], 3),
        "against_milliseconds": round(1000 * medians[1], 3),
        "rounds": len(own),
        **more,
    }


def in_turn(first: Callable[[Any], Any], second: Callable[[Any], Any], given: Sequence[Any]) -> list[list[float]]:
    """Seconds of both on each thing given; now one begins, now the other."""
    took: list[list[float]] = [[], []]
    for number, thing in enumerate(given):
        for which in (0, 1) if number % 2 else (1, 0):
            started = time.perf_counter()
            (first, second)[which](thing)
            took[which].append(time.perf_counter() - started)
    return took


def parses(bot: Sequence[Utterance], texts: Sequence[str]) -> dict[str, Any]:
    from bare_encoder import BareEncoder

    system = Handful("int8")
    adapted = system.adapt(bot)
    # The same session for both: threads of two would wait for work on the same cores.
    bare = BareEncoder(exported_folder(), system.session())
    for text in texts[:20]:  # the first sentences wait for what later ones find ready
        adapted.answers([text.upper()])
        bare.forward(text.upper())
    own, against = in_turn(lambda text: adapted.answers([text]), bare.forward, texts)
    return {"own": own, "bare": against}


def first_parses(bot: Sequence[Utterance], text: str, folder: Path) -> dict[str, Any]:
    """Whole lives of processes: a saved bot is loaded and one sentence parsed, against the bare encoder's start."""
    file = folder / "bot.yml"
    rasa_yaml.write(Document(tuple(bot)), file)
    said: list[str] = []

    def run(*command: object) -> str:
        found = subprocess.run([sys.executable, *map(str, command)], check=True, stdout=subprocess.PIPE, text=True)
        return found.stdout.strip()

    def parse(_: object) -> None:
        said.append(run("-c", FIRST_PARSE, file, text))

    def start(_: object) -> None:
        run(HERE / "bare_encoder.py", exported_folder(), text)

    started = time.perf_counter()
    parse(None)  # of a file that was only written: its examples are encoded first
    unsaved = time.perf_counter() - started
    Parser.load(file).save(file)
    own, bare = in_turn(parse, start, range(STARTS + 1))
    return {
        "own": own[1:],  # the first finds files that no process has read before
        "bare": bare[1:],
        "unsaved_milliseconds": round(1000 * unsaved, 1),
        "torch_imported": any(line.endswith("True") for line in said),
    }


def main() -> None:
    job, found, threads = sys.argv[1:]
    hold_to(int(threads))
    content = json.loads(Path(job).read_text(encoding="utf-8"))
    bot, texts = [as_utterance(row) for row in content["bot"]], content["texts"]
    seconds = {"parse": parses(bot, texts), "first_parse": first_parses(bot, texts[0], Path(job).parent)}
    Path(found).write_text(json.dumps(seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
