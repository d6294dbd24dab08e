"""The paper's "joint" mode: several corpora whose episodes take turns, in training and on dev."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handful.data.corpora import Corpus
from handful.episodes.sampler import EpisodeSampler
from handful.errors import ConfigError
from handful.training.checkpoint import read_about
from handful.training.config import RunConfig
from handful.training.evaluate import evaluate_episode
from handful.training.events import DevScored, Prepared, StepDone
from handful.training.loop import Trainer, Turns
from handful.training.scoring import METRICS
from handful.training.start import load_learner
from handful.types import Episode, Slot, Utterance

pytestmark = pytest.mark.usefixtures("one_thread")

Config = Callable[..., RunConfig]
Start = Callable[..., Trainer]


def made_up(name: str, sizes: dict[str, int]) -> Corpus:
    """Splits of three intents each, their utterances told apart by length and opening."""
    splits = {}
    for place, (split, size) in enumerate(sizes.items()):
        splits[split] = tuple(
            Utterance.from_words(
                [opening, *["now"] * (number % 4), "to", ["boston", "rome"][number % 2]],
                f"{name} {split} {opening}",
                [Slot(f"{name}.city", number % 4 + 2, number % 4 + 3)],
            )
            for opening in ("fly", "a", "!")
            for number in range(size + place)
        )
    return Corpus(name, splits)


CORPORA = (made_up("one", {"train": 8, "dev": 6}), made_up("two", {"train": 12, "dev": 5}))


@pytest.fixture
def joint(tiny_config: Config) -> Config:
    def made(**changes: Any) -> RunConfig:
        values: dict[str, Any] = {
            "data": ["one", "two"],
            "epochs": 2,
            "learner": {"name": "proto"},
            "dev": {"episodes": 3},
        }
        return tiny_config(**{**values, **changes})

    return made


def sampler(corpus: Corpus, split: str, config: RunConfig) -> EpisodeSampler:
    seed = config.episode_seed if split == "train" else config.dev.episode_seed
    u_max = config.u_max if split == "train" else config.dev.u_max
    return EpisodeSampler(corpus.split(split), u_max=u_max, seed=seed, query_cap=config.query_cap)


class Numbered:
    """A sampler whose episodes say whose they are."""

    def __init__(self, name: str) -> None:
        self._utterance = Utterance.from_words(["a"], name)

    def episode(self, index: int) -> Episode:
        return Episode((self._utterance,), (self._utterance,), 0, index)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("a", ["a0", "a1", "a2", "a3", "a4", "a5"]),
        ("ab", ["a0", "b0", "a1", "b1", "a2", "b2"]),
        ("cab", ["c0", "a0", "b0", "c1", "a1", "b1"]),
    ],
)
def test_each_has_its_turn(names: str, expected: list[str]):
    turns = Turns([Numbered(name) for name in names])
    episodes = [turns.episode(number) for number in range(6)]
    assert [f"{episode.intents[0]}{episode.index}" for episode in episodes] == expected


def test_train_and_dev_episodes_are_those_of_each_corpus_in_turn(tmp_path: Path, joint: Config, start: Start):
    config = joint(u_max=30, query_cap=3, episode_seed=5, dev={"episodes": 3, "u_max": 10})
    trainer = start(config, tmp_path / "run", corpora=CORPORA)
    for split, turns in (("train", trainer._episodes), ("dev", trainer._dev)):
        own = [sampler(corpus, split, config) for corpus in CORPORA]
        for number in range(6):
            assert turns.episode(number) == own[number % 2].episode(number // 2)


def test_dev_scores_are_means_over_the_turns(tmp_path: Path, joint: Config, start: Start):
    """Three episodes: two of the first corpus and one of the second."""
    config = joint(epochs=1)
    events = list(start(config, tmp_path / "run", corpora=CORPORA).train())
    (scored,) = [event for event in events if isinstance(event, DevScored)]
    learner, about = load_learner(tmp_path / "run")
    list(learner.prepare([u for corpus in CORPORA for split in ("train", "dev") for u in corpus.split(split)]))
    one, two = (sampler(corpus, "dev", config) for corpus in CORPORA)
    scores = [evaluate_episode(learner, episode) for episode in (one.episode(0), two.episode(0), one.episode(1))]
    for metric in METRICS:
        expected = 100 * sum(getattr(score, metric) for score in scores) / 3
        assert scored.scores[metric] == pytest.approx(expected, abs=1e-3)
    assert about.dev == dict(scored.scores)
    assert about.data_version == "+".join(corpus.digest(split) for corpus in CORPORA for split in ("train", "dev"))


def ended(folder: Path) -> tuple[Any, ...]:
    """The last weights and moments and the kept weights, by their sums, and the log without its times."""
    state, about = json.loads((folder / "state.json").read_text()), read_about(folder / "checkpoint")
    log = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    for event in log:
        event.pop("seconds")
    return state["weights_sha256"], state["optimiser_sha256"], about.weights_sha256, about.step, log


@pytest.mark.parametrize("learner", ["proto", "retriever", "finetune", "fomaml"])
@pytest.mark.parametrize("stopped_after", [2, 5, 6])
def test_a_joint_run_that_is_stopped_and_resumed_ends_the_same(
    learner: str, stopped_after: int, tmp_path: Path, joint: Config, start: Start
):
    """Killed after an epoch's second step, after its scores, and in the next; the other corpus has its turn then."""
    config = joint(learner={"name": learner, "dropout": 0.2})
    list(start(config, tmp_path / "whole", corpora=CORPORA).train())
    events = start(config, tmp_path / "cut", corpora=CORPORA).train()
    seen = 0
    while seen < stopped_after:
        seen += not isinstance(next(events), Prepared)
    events.close()
    resumed = list(start(config, tmp_path / "cut", corpora=CORPORA, resume=True).train())
    steps = [event.step for event in resumed if isinstance(event, StepDone)]
    assert steps == list(range(steps[0], 9))
    assert ended(tmp_path / "cut") == ended(tmp_path / "whole")


def test_a_corpus_that_gives_no_episodes_is_told_before_the_folder_is_made(tmp_path: Path, joint: Config, start: Start):
    both = Corpus("one", {"train": (*CORPORA[0].split("train"), *CORPORA[0].split("dev"))})
    with pytest.raises(ConfigError, match="U_max is 3, but an episode can have 6 intents"):
        start(joint(u_max=3), tmp_path / "run", corpora=[both, CORPORA[1]])
    assert not (tmp_path / "run").exists()
