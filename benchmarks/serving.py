"""The service under load: how much of the bare encoder's throughput is left, what happens beyond it, and its memory.

python benchmarks/serving.py --json results/serving.json [--part throughput --part overload --part memory]

A real server in a process of its own, a bot of Facebook's train file (HANDFUL_DATA), sentences of its test file, a
client in a third process: all on one machine, so the client's share of its cores is part of what the service costs.
The bare encoder is the same int8 graph on the same sentences in batches of 64, timed right before and after.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from handful.data.bot_settings import BotSettings
from handful.data.formats import parallel
from handful.data.formats.markup import write_example
from handful.parser.models import model_for
from handful.places import data_dir
from handful.runtime.spans import ExportedSpans
from handful.types import Utterance
from handful.words import split_words

SHOTS, BATCH = 10, 64
PARTS = ("throughput", "overload", "memory")


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[str]
    port: int

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return round(int(found[1]) / 1024, 1)

    @property
    def client(self) -> httpx.Client:
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60)


@contextmanager
def served(folder: Path, processes: int = 1) -> Iterator[Server]:
    log = (folder / "log.jsonl").open("w")
    command = [sys.executable, "-m", "handful", "serve", "--store", str(folder / "bots.db"), "--port", "0"]
    command += ["--processes", str(processes)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    assert process.stderr is not None
    first = process.stderr.readline()
    address = re.search(r"http://127\.0\.0\.1:(\d+)", first)
    assert address is not None, first
    drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=log)
    server = Server(process, int(address[1]))
    try:
        with server.client as client:
            while not _is_ready(client):
                time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        process.wait(60)
        drain.wait(10)


def _is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:  # several processes take a while to listen
        return False


def bot_of(utterances: tuple[Utterance, ...]) -> list[dict[str, Any]]:
    kept: defaultdict[str, list[Utterance]] = defaultdict(list)
    for utterance in random.Random(0).sample(utterances, len(utterances)):
        if len(kept[utterance.intent]) < SHOTS:
            kept[utterance.intent].append(utterance)
    return [{"intent": own.intent, "marked": write_example(own)} for group in kept.values() for own in group]


def asked(server: Server, sentences: Path, connections: int, seconds: float, **more: Any) -> dict[str, Any]:
    load = {
        "port": server.port, "path": "/v1/bots/b/parse", "sentences": str(sentences), "connections": connections,
        "seconds": seconds, **more,
    }  # fmt: skip
    client = Path(__file__).with_name("load_client.py")
    done = subprocess.run([sys.executable, str(client), json.dumps(load)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def bare(texts: list[str], seconds: float) -> float:
    """Sentences a second through the graph alone, tokenised, in batches."""
    model = model_for(BotSettings()).learner
    assert isinstance(model, ExportedSpans)
    encoder = model._encoder
    spoken = [tuple(word.text for word in split_words(text)) for text in texts]
    rates, end, place = [], time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        batch = [spoken[(place + n) % len(spoken)] for n in range(BATCH)]
        place += BATCH
        begun = time.perf_counter()
        encoder.hidden(batch)
        rates.append(BATCH / (time.perf_counter() - begun))
    return statistics.median(rates)


def throughput(server: Server, sentences: Path, seconds: float, processes: int) -> list[dict[str, Any]]:
    texts = sentences.read_text(encoding="utf-8").splitlines()
    asked(server, sentences, 8, 3)  # warm-up
    rows = []
    for connections in (1, 8, 64):
        before = bare(texts, seconds / 2)
        found = asked(server, sentences, connections, seconds)
        after = bare(texts, seconds / 2)
        alone = (before + after) / 2
        rows.append({"processes": processes, "connections": connections, **found, "bare_per_second": round(alone, 1),
                     "ratio": round(found["answered_per_second"] / alone, 3)})  # fmt: skip
        tell(rows[-1])
    return rows


def overload(server: Server, sentences: Path, capacity: float, seconds: float) -> dict[str, Any]:
    """Twice what it can answer, and then what it was asked before."""
    usual = asked(server, sentences, 8, 5)
    memory = server.resident_mb()
    twice = asked(server, sentences, 600, seconds, rate=2 * capacity)
    during = server.resident_mb()
    after = [asked(server, sentences, 8, 5) for _ in range(2)]
    found = {
        "capacity_per_second": capacity, "before": usual, "twice": twice, "after": after,
        "resident_mb": {"before": memory, "after_overload": during, "in_the_end": server.resident_mb()},
    }  # fmt: skip
    tell(found)
    return found


def memory(server: Server, sentences: Path, parses: int, edits: int) -> dict[str, Any]:
    """Parses and edits in turn; the level after a tenth of both is what the end is compared with."""
    levels, rounds = [], 20
    with server.client as client:
        for number in range(rounds):
            asked(server, sentences, 32, 600, most=parses // rounds)
            for edit in range(edits // rounds):
                _edit(client, number * 1000 + edit)
            levels.append(server.resident_mb())
            tell({"round": number + 1, "of": rounds, "resident_mb": levels[-1]})
        version = client.get("/v1/bots/b").json()["version"]
    settled = levels[rounds // 10 - 1]
    return {"parses": parses, "edits": edits, "version": version, "resident_mb": levels,
            "growth": round(max(levels[rounds // 10 :]) / settled - 1, 3)}  # fmt: skip


def _edit(client: httpx.Client, number: int) -> None:
    """Adds, corrects, takes away and goes back, in turn, so that the bot stays as large as it is."""
    examples = client.get("/v1/bots/b/examples", params={"limit": 5000}).json()["examples"]
    match number % 4:
        case 0:
            body = {"examples": [{"intent": f"new {number % 7}", "text": f"sentence {number} to be known"}]}
            done = client.post("/v1/bots/b/examples", json=body)
        case 1:
            done = client.put(
                f"/v1/bots/b/examples/{examples[-1]['id']}", json={"intent": "new", "text": f"n {number}"}
            )
        case 2:
            done = client.delete(f"/v1/bots/b/examples/{examples[-1]['id']}")
        case _:
            version = client.get("/v1/bots/b").json()["version"]
            done = client.post("/v1/bots/b/restore", json={"version": version - 3})
    done.raise_for_status()
    client.post("/v1/bots/b/parse", json={"text": "is it known"}).raise_for_status()


def tell(found: dict[str, Any]) -> None:
    print(json.dumps(found), file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--parses", type=int, default=100_000)
    parser.add_argument("--edits", type=int, default=1_000)
    chosen = parser.parse_args()
    parts = chosen.part or PARTS
    found: dict[str, Any] = json.loads(chosen.json.read_text()) if chosen.json and chosen.json.exists() else {}
    home = data_dir() / "fb_multilingual_en"
    texts = list(dict.fromkeys(u.text for u in parallel.read(home / "test", repair=True).utterances))
    bot = bot_of(parallel.read(home / "train", repair=True).utterances)
    found["bot"] = {"examples": len(bot), "intents": len({e["intent"] for e in bot}), "sentences": len(texts)}
    with tempfile.TemporaryDirectory() as name:
        sentences = Path(name) / "sentences.txt"
        sentences.write_text("\n".join(texts) + "\n", encoding="utf-8")
        if "throughput" in parts:
            found["throughput"] = {"rows": []}
            for processes in (1, 2):
                folder = Path(name) / str(processes)
                folder.mkdir()
                with served(folder, processes) as server:
                    _fill(server, bot)
                    found["throughput"]["rows"] += throughput(server, sentences, chosen.seconds, processes)
        with served(Path(name)) as server:
            _fill(server, bot)
            if "overload" in parts:
                capacity = asked(server, sentences, 64, 5)["answered_per_second"]
                found["overload"] = overload(server, sentences, capacity, 30)
            if "memory" in parts:
                found["memory"] = memory(server, sentences, chosen.parses, chosen.edits)
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


def _fill(server: Server, bot: list[dict[str, Any]]) -> None:
    with server.client as client:
        client.post("/v1/bots", json={"name": "b"}).raise_for_status()
        client.post("/v1/bots/b/examples", json={"examples": bot}).raise_for_status()


if __name__ == "__main__":
    main()
