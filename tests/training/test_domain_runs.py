"""Training on corpora and domain sets: what is trained on, and that a stopped run ends as a whole one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handful.data.board_texts import board_texts
from handful.data.corpora import load_corpus
from handful.data.domain_sets import text_key
from handful.data.domain_sources import DOMAIN_SETS
from handful.episodes.domain_bots import HELD_OUT
from handful.training.config import RunConfig, load_config
from handful.training.events import Prepared, StepDone
from handful.training.loop import Trainer
from handful.training.run import RunFolder
from handful.training.sets import TrainingSets, domain_training_sets, domains_version
from handful.training.start import prepare_run

ROOT = Path(__file__).parents[2]
SETS = ("dstc11_track2", "multidogo", "wnut17")  # of intents alone, of both, and of slots alone
BOARD = "fly to rome now"


def line(text: str, domain: str, intent: str | None) -> dict[str, Any]:
    words = text.split()
    slots = ["B-city" if word == "rome" else "O" for word in words]
    return {"tokens": words, "slots": slots, "domain": domain, "intent": intent, "intents": [intent] if intent else []}


@pytest.fixture(scope="session")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three domain sets; each has a board's text, multidogo its held-out domains, and one text of theirs elsewhere."""
    folder = tmp_path_factory.mktemp("small_data")
    openings = ["fly", "to", "boston", "now", "a", "b !", "now now", "a b"]
    rows = {
        "dstc11_track2": [line(f"{o} {'a ' * n}", "banking", f"i{n}") for n in range(4) for o in openings],
        "multidogo": [
            line(f"{domain} {o} rome {'b ' * n}", domain, f"{domain[0]}{n}")
            for domain in ("airline", "insurance", "fastfood", "software")
            for n in range(3)
            for o in openings
        ],
        "wnut17": [line(f"{o} rome {'now ' * n}", "social media", None) for n in range(3) for o in openings],
    }
    rows["multidogo"].append(line("held out elsewhere", "fastfood", "f0"))
    rows["multidogo"].append(line("Held out , elsewhere !", "airline", "a0"))
    for name, own in rows.items():
        domain = own[0]["domain"]
        own.append(line(BOARD, domain, own[0]["intent"]))
        for file in DOMAIN_SETS[name].data.files:
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".jsonl":
                path.write_text("".join(json.dumps(row) + "\n" for row in own))
                own = own[:1]  # the other splits need a line
    return folder


@pytest.fixture(autouse=True)
def one_board(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "data_dir" not in request.fixturenames:
        keys = frozenset({text_key(BOARD.split())})
        monkeypatch.setattr("handful.training.sets.board_texts", lambda directory: keys)


def made(small_data: Path, tiny_data: Path, *, hold_out: bool) -> TrainingSets:
    corpora = [load_corpus("atis", tiny_data)]
    return domain_training_sets(corpora, ["train", "dev"], SETS, small_data, hold_out=hold_out)


def keys(sets: TrainingSets) -> Counter[str]:
    return Counter(text_key(u.sentence) for domain in sets.domains for u in (*domain.utterances, *domain.slots_only))


# -- what is trained on ------------------------------------------------------------------------------------------------


def test_a_boards_text_is_trained_on_nowhere(small_data: Path, tiny_data: Path):
    found = made(small_data, tiny_data, hold_out=False)
    assert text_key(BOARD.split()) not in keys(found)
    assert {domain.name for domain in found.domains} == {
        "atis",
        "dstc11_track2/banking",
        *(f"multidogo/{name}" for name in ("airline", "insurance", "fastfood", "software")),
        "wnut17/social media",
    }
    by_name = {domain.name: domain for domain in found.domains}
    atis = load_corpus("atis", tiny_data)
    intents = {u.intent for split in ("train", "dev") for u in atis.split(split)}
    assert {u.intent for u in by_name["atis"].utterances} == intents, "no test intent"
    assert not by_name["dstc11_track2/banking"].has_slots
    assert by_name["wnut17/social media"].utterances == ()
    assert len(by_name["wnut17/social media"].slots_only) >= 24


def test_held_out_domains_are_left_out_with_their_texts(small_data: Path, tiny_data: Path):
    whole, part = (made(small_data, tiny_data, hold_out=hold_out) for hold_out in (False, True))
    names = {domain.name for domain in whole.domains} - {domain.name for domain in part.domains}
    assert names == {f"multidogo/{domain}" for domain in HELD_OUT["multidogo"]}
    assert "heldoutelsewhere" in keys(whole)
    assert not set(keys(part)) & {
        text_key(u.sentence) for domain in whole.domains if domain.name in names for u in domain.utterances
    }
    assert domains_version(whole.domains) != domains_version(part.domains)
    assert domains_version(whole.domains) == domains_version(made(small_data, tiny_data, hold_out=False).domains)


@pytest.mark.parametrize("hold_out", [False, True])
def test_the_shipped_settings_train_on_no_text_of_a_board_or_a_held_out_domain(data_dir: Path, hold_out: bool):
    config = load_config(ROOT / "configs" / "shipped.yml")
    corpora = [load_corpus(name, data_dir) for name in config.corpora]
    chosen = (
        [*HELD_OUT, "wnut17"] if hold_out else ["braun2017", "camrest676", "homeassistant_en", "luis_samples", "wnut17"]
    )
    assert set(chosen) <= set(config.domain_sets)
    found = domain_training_sets(corpora, config.train_splits, chosen, data_dir, hold_out=hold_out)
    trained = keys(found)
    assert sum(trained.values()) > 20_000
    assert not board_texts(data_dir) & set(trained)
    names = {domain.name for domain in found.domains}
    held_out = {f"{name}/{domain}" for name, domains in HELD_OUT.items() for domain in domains if name in chosen}
    assert bool(names & held_out) != hold_out
    assert not {u.intent for c in corpora for u in c.split("test")} & {
        u.intent for domain in found.domains for u in domain.utterances
    }


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def begin(tiny_config: Callable[..., RunConfig], tiny_data: Path, small_data: Path) -> Callable[..., Trainer]:
    def begun(folder: Path, *, resume: bool = False, **changes: Any) -> Trainer:
        values: dict[str, Any] = {
            "domain_sets": SETS,
            "train_episodes": {"kind": "domains", "most_classes": 4, "most_shots": 3},
            "leave_out": "boards",
            "learner": {"name": "joint_spans", "width": 8, "dropout": 0.2},
            "optimiser": {"episodes_per_step": 2, "learning_rate": 0.01, "warmup_steps": 2},
            "dev": {"episodes": 0},
        }
        config = tiny_config(**{**values, **changes})
        corpora = [load_corpus("atis", tiny_data)]
        return prepare_run(config, RunFolder(folder), data_dir=small_data, corpora=corpora, resume=resume)

    return begun


def ended(folder: Path) -> tuple[Any, ...]:
    state = json.loads((folder / "state.json").read_text())
    log = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    return state["weights_sha256"], state["optimiser_sha256"], [{**event, "seconds": 0} for event in log]


@pytest.mark.parametrize("stopped_after", [1, 2, 5])
def test_a_run_that_is_stopped_and_resumed_ends_the_same(
    stopped_after: int, tmp_path: Path, begin: Callable[..., Trainer]
):
    events = list(begin(tmp_path / "whole").train())
    assert all(set(event.parts) == {"intent", "slots"} for event in events if isinstance(event, StepDone))
    cut = begin(tmp_path / "cut").train()
    seen = 0
    while seen < stopped_after:
        seen += not isinstance(next(cut), Prepared)
    cut.close()
    list(begin(tmp_path / "cut", resume=True).train())
    assert ended(tmp_path / "cut") == ended(tmp_path / "whole")


def test_episodes_are_of_all_kinds(tmp_path: Path, begin: Callable[..., Trainer]):
    sampler = begin(tmp_path / "run")._episodes
    episodes = [sampler.episode(number) for number in range(100)]
    assert {episode.has_slots for episode in episodes} == {True, False}
    assert any(episode.slots_only for episode in episodes)
    assert any("multidogo/fastfood" in intent for episode in episodes for intent in episode.intents)
    held = begin(tmp_path / "other", held_out_domains="left_out")._episodes
    intents = {intent for number in range(100) for intent in held.episode(number).intents}
    assert not [intent for intent in intents if "fastfood" in intent or "software" in intent]
