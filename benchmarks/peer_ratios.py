"""What handful adds to its own encoder: a parse against a bare forward, a first parse against a bare start.

Both sides of a ratio are timed in turn in one run, so that both see the same machine. benchmarks/peers.py asks for it.
"""

from __future__ import annotations

import json
import statistics
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
    """The two records of a bot."""
    with tempfile.TemporaryDirectory() as folder:
        job, found = Path(folder) / "job.json", Path(folder) / "found.json"
        job.write_text(json.dumps({"bot": bot, "texts": texts}), encoding="utf-8")
        command = [sys.executable, __file__, str(job), str(found), str(threads)]
        subprocess.run(command, check=True, env=dict(environment), stdout=sys.stderr)
        yield ratio_record("parse", **json.loads(found.read_text(encoding="utf-8")))
        yield ratio_record("first_parse", **first_parses(bot, texts[0], Path(folder), environment))


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


def parses(job: Mapping[str, Any], threads: int) -> dict[str, Any]:
    from bare_encoder import BareEncoder

    adapted = Handful("int8").adapt([as_utterance(row) for row in job["bot"]])
    bare = BareEncoder(exported_folder(), threads)
    for text in job["texts"][:20]:  # the first sentences wait for what later ones find ready
        adapted.answers([text.upper()])
        bare.forward(text.upper())
    own, against = in_turn(lambda text: adapted.answers([text]), bare.forward, job["texts"])
    return {"own": own, "bare": against}


def first_parses(
    bot: Sequence[Mapping[str, Any]], text: str, folder: Path, environment: Mapping[str, str]
) -> dict[str, Any]:
    """Whole lives of processes: a bot's file is loaded and one sentence parsed, against the bare encoder's start."""
    from handful.data.document import Document
    from handful.data.reading import format_named

    file = folder / "bot.yml"
    written = format_named("rasa_yaml").write
    assert written is not None
    written(Document(tuple(as_utterance(row) for row in bot)), file)
    said: list[str] = []

    def run(command: Sequence[str]) -> str:
        found = subprocess.run(command, check=True, env=dict(environment), capture_output=True, text=True)
        return found.stdout.strip()

    def parse(_: object) -> None:
        said.append(run([sys.executable, "-c", FIRST_PARSE, str(file), text]))

    def start(_: object) -> None:
        run([sys.executable, str(HERE / "bare_encoder.py"), str(exported_folder()), text])

    own, bare = in_turn(parse, start, range(STARTS + 1))
    # The very first of both finds files that no process has read before; what a first run keeps, the others find.
    return {
        "own": own[1:],
        "bare": bare[1:],
        "torch_imported": any(line.endswith("True") for line in said),
        "very_first_milliseconds": round(1000 * own[0], 1),
    }


def main() -> None:
    job, found, threads = sys.argv[1:]
    hold_to(int(threads))
    content = parses(json.loads(Path(job).read_text(encoding="utf-8")), int(threads))
    print(f"a parse: {1000 * statistics.median(content['own']):.2f} ms", file=sys.stderr)
    Path(found).write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    main()
