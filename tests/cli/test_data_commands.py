"""The commands on the real data sets."""

from __future__ import annotations

import json
import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test looks at what our own command prints."""


@pytest.fixture(autouse=True)
def _with_data(data_dir: Path) -> None:
    assert data_dir == Path(os.environ["HANDFUL_DATA"])


def test_evaluate_writes_one_object_with_both_scorers(run, tmp_path: Path):
    words = [
        "evaluate",
        "--learner",
        "prototypes",
        "--data",
        "atis",
        "--split",
        "test",
        "--u-max",
        "20",
        "--episodes",
        "3",
        "--seed",
        "0",
    ]
    ran = run(*words, "--json", str(tmp_path / "out.json"))
    assert ran.code == 0
    assert "slot F1, strict scorer" in ran.out
    record = json.loads((tmp_path / "out.json").read_text())
    assert {key: record[key] for key in ("corpus", "split", "u_max", "episodes", "episode_seed", "row")} == {
        "corpus": "atis", "split": "test", "u_max": 20, "episodes": 3, "episode_seed": 0, "row": "prototypes",
    }  # fmt: skip
    for metric in ("intent_accuracy", "slot_f1_strict", "slot_f1_released", "joint_accuracy"):
        found = record[metric]
        assert len(found["per_episode"]) == 3
        assert found["mean"] == pytest.approx(sum(found["per_episode"]) / 3, abs=0.02)
        assert 0 <= found["mean"] <= 100
        assert found["ci95"] >= 0
    again = run(*words, "--json", "-")
    repeated = json.loads(again.out)
    measured = {"eval_seconds", "peak_mb"}  # of the process, not of the learner
    assert repeated.keys() == record.keys()
    assert all(repeated[key] == value for key, value in record.items() if key not in measured)


def test_a_single_episode_has_no_interval(run):
    ran = run("evaluate", "--data", "atis", "--episodes", "1", "--json", "-")
    assert json.loads(ran.out)["intent_accuracy"]["ci95"] is None


def test_episodes_are_shown_as_a_person_reads_them(run):
    ran = run("episodes", "--data", "atis", "--split", "test", "--u-max", "20", "--seed", "0", "--n", "2")
    assert ran.code == 0
    assert "episode 0, seed 0" in ran.out
    assert "episode 1, seed 0" in ran.out
    assert "  support  " in ran.out
    assert "](abbreviation.fare_basis_code)" in ran.out
    assert "tags of the query that the support lacks: " in ran.out
    assert run("episodes", "--data", "atis", "--seed", "0", "--n", "2").out == ran.out


def test_the_statistics_of_the_episodes(run):
    ran = run("episodes", "--data", "snips", "--n", "20", "--stats")
    assert "intents (N)" in ran.out
    assert "3.00" in ran.out


def test_an_impossible_u_max_is_refused(run):
    ran = run("episodes", "--data", "atis", "--u-max", "5")
    assert ran.code == 2
    assert "U_max is 5, but an episode can have 7 intents" in ran.err


def test_classes_that_are_never_drawn_are_told(run):
    assert "never in an episode: cheapest" in run("episodes", "--data", "atis", "--split", "dev").err


def test_data_list_stats_and_check(run):
    assert "LDC origin" in run("data", "list").out
    stats = run("data", "stats", "atis").out
    assert "4,373 utterances" in stats
    assert "ground_service" in stats
    checked = run("data", "check", "fb_multilingual_en")
    assert checked.code == 0
    assert "3 defects mended" in checked.out
    assert "train/seq.out:1307" in checked.err


def test_the_domain_sets_are_listed_counted_and_checked(run, data_dir: Path):
    listed = run("data", "list").out
    assert "topv2_messaging_music_timer" in listed
    assert "CDLA-Permissive" in listed
    stats = run("data", "stats", "camrest676").out
    assert "camrest676 train\n1,043 utterances" in stats
    assert "restaurant › no single intent" in stats
    checked = run("data", "check", "camrest676")
    assert checked.out == "camrest676: train 1,043, dev 388, test 435; 0 defects mended\n"


def test_a_domain_set_is_not_fetched(run, data_dir: Path, tmp_path: Path):
    there = run("data", "get", "wnut17")
    assert there.code == 0
    assert "Nothing was fetched: it was converted from leondz/emerging_entities_17" in there.out.replace("\n", " ")
    lacking = run("data", "get", "wnut17", "--data-dir", str(tmp_path))
    assert lacking.code == 1
    assert "there is nothing to fetch: it was converted from leondz" in lacking.err.replace("\n", " ")


def test_data_check_tells_a_changed_domain_set(run, data_dir: Path, tmp_path: Path):
    home = tmp_path / "domains" / "camrest676"
    shutil.copytree(data_dir / "domains" / "camrest676", home)
    home.chmod(0o755)
    dev = home / "dev.jsonl"
    dev.chmod(0o644)
    dev.write_text(dev.read_text().replace("B-food", "B-drink", 1))
    changed = run("data", "check", "camrest676", "--data-dir", str(tmp_path))
    assert changed.code == 1
    assert "domains/camrest676/dev.jsonl: sha256 is" in changed.err
    dev.write_text(dev.read_text() + '{"tokens": ["a"]}\n')
    broken = run("data", "check", "camrest676", "--data-dir", str(tmp_path))
    assert broken.code == 1
    assert "dev.jsonl:389: the key 'slots' is missing" in broken.err


def test_data_check_tells_a_changed_file(run, data_dir: Path, tmp_path: Path):
    shutil.copytree(data_dir / "atis", tmp_path / "atis")
    label = tmp_path / "atis" / "dev" / "label"
    label.chmod(0o644)
    label.write_text(label.read_text().replace("atis_airfare", "atis_city", 1))
    ran = run("data", "check", "atis", "--data-dir", str(tmp_path))
    assert ran.code == 1
    assert "atis/dev/label: sha256 is" in ran.err


def test_data_get_brings_the_real_files(run, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from handful.data.sources import ATIS

    homes = tmp_path / "mirror"
    for file in ATIS.files:
        assert file.url is not None
        served = homes / urlsplit(file.url).path.lstrip("/")
        served.parent.mkdir(parents=True, exist_ok=True)
        served.symlink_to((data_dir / file.path).resolve())
    handler = partial(QuietHandler, directory=str(homes))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HANDFUL_MIRROR", f"http://127.0.0.1:{server.server_port}")
        ran = run("data", "get", "atis", "--data-dir", str(tmp_path / "got"))
        again = run("data", "get", "atis", "--data-dir", str(tmp_path / "got"))
        server.shutdown()
    assert ran.code == 0, ran.err
    assert "licence: LDC origin" in ran.out
    assert again.err.count("already there") == len(ATIS.files)
    assert run("data", "check", "atis", "--data-dir", str(tmp_path / "got")).code == 0
