from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from handful.encoders.choose import ElmoConfig, GloveConfig, TransformerConfig
from handful.errors import ConfigError, DataError, HandfulError
from handful.learners.explicit_joint import ExplicitJointConfig
from handful.training.config import DevConfig, DomainEpisodes, OptimiserConfig, RunConfig, load_config, parse_change

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> Path:
        path = tmp_path / "run.yml"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def refused(path: Path, *changes: str) -> list[str]:
    """What is told, without the folder's name."""
    with pytest.raises(DataError) as caught:
        load_config(path, changes)
    return [str(problem).replace(f"{path.parent}/", "") for problem in caught.value.problems]


def test_a_file_that_names_its_data_has_all_other_settings(write: Write):
    config = load_config(write("data: snips\n"))
    assert config == RunConfig(data="snips")
    assert (config.epochs, config.u_max, config.encoder.kind, config.dev.choose_by) == (10, 20, "transformer", "mean")
    assert config.steps == 1000


def test_settings_nest(write: Write):
    text = """
        data: atis
        episodes_per_epoch: 40
        learner:
          slot_weight: 0.3
          descriptions: {city: the name of a city}
        optimiser: {learning_rate: 1e-3, episodes_per_step: 4}
        dev:
          choose_by: slot_f1_strict
    """
    config = load_config(write(text))
    assert config.learner == ExplicitJointConfig(slot_weight=0.3, descriptions={"city": "the name of a city"})
    # PyYAML takes 1e-3, without a point, for text.
    assert config.optimiser == OptimiserConfig(learning_rate=0.001, episodes_per_step=4)
    assert config.dev.score({"intent_accuracy": 10.0, "slot_f1_strict": 30.0}) == 30.0
    assert DevConfig().score({"intent_accuracy": 10.0, "slot_f1_strict": 30.0}) == 20.0
    assert (config.steps_per_epoch, config.steps) == (10, 100)


def test_changes_come_on_top_and_the_last_one_counts(write: Write):
    path = write("data: atis\nepochs: 3\nlearner:\n  window: 2\n")
    changes = ["epochs=5", "learner.slot_weight=1", "dev={episodes: 7}", "dev.patience=2", "epochs=6", "data=snips"]
    config = load_config(path, [*changes, "learner.descriptions.city=a = b"])
    assert (config.data, config.epochs, config.dev.episodes, config.dev.patience) == ("snips", 6, 7, 2)
    assert config.learner == ExplicitJointConfig(window=2, slot_weight=1.0, descriptions={"city": "a = b"})
    assert load_config(path).epochs == 3


@pytest.mark.parametrize("change", ["epochs", "=3", "", "learner..window=1", ".window=1", "learner.=1"])
def test_a_change_of_the_wrong_form_is_refused(change: str, write: Write):
    with pytest.raises(ConfigError, match=r"expected key=value, as learner\.window=1"):
        load_config(write("data: atis"), [change])


@pytest.mark.parametrize("value", ["{a", "[" * 3000, "2020-13-45", "!!python/name:os.system", "*a", "\0", "a: b: c"])
def test_a_value_that_is_not_yaml_is_refused(value: str):
    with pytest.raises(ConfigError, match="the value is not YAML"):
        parse_change(f"data={value}")


def test_a_setting_below_a_scalar_is_refused(write: Write):
    with pytest.raises(ConfigError, match=r"cannot set epochs\.a\.b: epochs is 3, not a group of settings"):
        load_config(write("data: atis\nepochs: 3"), ["epochs.a.b=1"])


def test_a_misspelt_key_is_told_with_its_line(write: Write):
    path = write("data: atis\nlearner:\n  window: 1\n  windw: 2\nepoch: 3\n")
    told = refused(path, "dev.episods=4", "optimizer={clip: 1}")
    assert sorted(told) == [
        "--set dev.episods=4: there is no setting 'dev.episods'",
        "--set optimizer={clip: 1}: there is no setting 'optimizer'",
        "run.yml:4: there is no setting 'learner.windw'",
        "run.yml:5: there is no setting 'epoch'",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("epochs: 3\n", "run.yml:1: the setting 'data' is missing"),
        ("data: 5\n", "run.yml:1: data: expected the name of a corpus, or a list of names, found 5"),
        ("data: []\n", "run.yml:1: data: expected the name of a corpus, or a list of names, found []"),
        ("data: [a, 3]\n", "run.yml:1: data: expected the name of a corpus, or a list of names, found ['a', 3]"),
        ("data: [a, a]\n", "run.yml:1: data names a corpus twice: a+a"),
        ("data: a\ntrain_splits: [dev]\n", "run.yml:1: train_splits is ['dev'], expected [train] or [train, dev]"),
        ("data: a\ntrain_splits: [train, dev]\n", "run.yml:1: dev intents that are trained on cannot choose a"),
        ("data: a\nlearner: {name: x}\n", "run.yml:2: learner.name: found 'x', expected one of 'explicit_joint', 'jo"),
        ("data: a\nlearner: {name: joint_spans, window: 1}\n", "run.yml:2: there is no setting 'learner.window'"),
        ("data: a\ntrain_episodes: {kind: balanced, most_shots: 0}\n", "run.yml:2: train_episodes.most_shots: input"),
        ("data: a\nepochs: many\n", "run.yml:2: epochs: input should be a valid integer, unable to parse string"),
        ("data: a\nepochs: 2.5\n", "run.yml:2: epochs: input should be a valid integer"),
        ("data: a\nepochs: true\n", "run.yml:2: epochs: expected a value that is not true or false, found True"),
        ("data: a\noptimiser: {clip: yes}\n", "run.yml:2: optimiser.clip: expected a value that is not true or false"),
        ("data: a\nepochs: 0\n", "run.yml:2: epochs: input should be greater than or equal to 1, found 0"),
        ("data: a\nu_max: 2\n", "run.yml:2: u_max: input should be greater than or equal to 3, found 2"),
        ("data: a\nlearner:\n  dropout: 1\n", "run.yml:3: learner.dropout: input should be less than 1, found 1"),
        ("data: a\nlearner:\n", "run.yml:2: learner: found None, expected a group of settings"),
        ("data: a\ndev: 3\n", "run.yml:2: dev: found 3, expected a group of settings"),
        ("data: a\nencoder: bert\n", "run.yml:2: encoder: found 'bert', expected a group of settings"),
        (
            "data: a\ndev:\n  choose_by: luck\n",
            "run.yml:3: dev.choose_by: input should be 'mean', 'intent_accuracy' or",
        ),
        (
            "data: a\noptimiser:\n  learning_rate: .inf\n",
            "run.yml:3: optimiser.learning_rate: input should be a finite",
        ),
        ("data: a\nlearner:\n  slot_weight: .nan\n", "run.yml:3: learner.slot_weight: input should be a finite"),
        ("data: a\nencoder:\n  name: ''\n", "run.yml:3: encoder.name: string should have at least 1 character"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_with_its_line(text: str, told: str, write: Write):
    assert [line[: len(told)] for line in refused(write(text))] == [told]


def test_a_value_of_a_changed_group_is_told_as_the_change_and_not_as_a_namesake_in_the_file(write: Write):
    path = write("data: atis\nu_max: 30\n")
    assert refused(path, "dev={u_max: 1}") == [
        "--set dev={u_max: 1}: dev.u_max: input should be greater than or equal to 3, found 1"
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("data: a\n---\ndata: b\n", "run.yml:3: found 2 YAML documents, expected one"),
        ("data: [a\n", "run.yml:2: not YAML: "),
        ("data: a\ndata: b\n", "run.yml:2: the key 'data' stands twice"),
        ("", "run.yml: the file is empty"),
        ("# nothing yet\n", "run.yml: the file holds only comments"),
        ("- data\n", "run.yml:1: found a list of 1, expected settings, as `data: snips`"),
        ("snips\n", "run.yml:1: found the text 'snips', expected settings"),
        ("data: &a snips\nencoder: *a\n", "run.yml:2: not YAML: found an alias (*name), expected the text itself"),
        ("data: !!python/name:os.system a\n", "run.yml:1: found the YAML tag"),
    ],
)
def test_a_file_that_is_not_one_plain_mapping_is_refused(text: str, told: str, write: Write):
    assert [line[: len(told)] for line in refused(write(text))] == [told]


def test_no_file_and_a_folder(tmp_path: Path):
    assert refused(tmp_path / "run.yml") == ["run.yml: there is no such file"]
    (tmp_path / "run.yml").mkdir()
    assert refused(tmp_path / "run.yml") == ["run.yml: found a folder, expected a file"]


def test_encoders(write: Write):
    def encoder(text: str, *changes: str) -> object:
        return load_config(write(f"data: atis\nencoder: {text}\n"), changes).encoder

    assert encoder("{frozen_layers: 4}") == TransformerConfig(frozen_layers=4)
    assert encoder("{}") == TransformerConfig()
    assert encoder("{kind: glove}") == GloveConfig()
    assert encoder("{kind: glove, file: g.txt}") == GloveConfig(file=Path("g.txt"))
    assert encoder("{kind: glove, file: g.txt}").file == Path.cwd() / "g.txt"  # pyright: ignore
    assert encoder("{kind: glove, file: ~/g.txt}").file == Path.home() / "g.txt"  # pyright: ignore
    assert encoder("{kind: elmo, options: o, weights: w}") == ElmoConfig(options=Path("o"), weights=Path("w"))
    assert encoder("{kind: elmo, options: o, weights: w, glove: }").glove is None  # pyright: ignore
    assert encoder("{}", "encoder.kind=glove") == GloveConfig()


def test_a_folder_of_an_encoder_is_found_from_anywhere(
    write: Write, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    path = write(f"data: atis\nencoder: {{name: {tiny_bert.name}}}\n")
    monkeypatch.chdir(tiny_bert.parent)
    assert load_config(path).encoder == TransformerConfig(name=str(tiny_bert))
    monkeypatch.chdir(tmp_path)
    assert load_config(path).encoder.name == tiny_bert.name, "no folder here, so a name"  # pyright: ignore


def test_what_is_wrong_with_an_encoder_is_told_by_the_names_of_the_file(write: Write):
    kinds = "expected one of 'transformer', 'glove', 'elmo'"
    assert refused(write("data: a\nencoder:\n  kind: bert\n")) == [f"run.yml:3: encoder.kind: found 'bert', {kinds}"]
    assert refused(write("data: a\n"), "encoder.kind=bert") == [
        f"--set encoder.kind=bert: encoder.kind: found 'bert', {kinds}"
    ]
    assert refused(write("data: a\nencoder: {kind: [1]}\n")) == [f"run.yml:2: encoder.kind: found '[1]', {kinds}"]
    assert refused(write("data: a\nencoder:\n  kind: elmo\n  options: o\n")) == [
        "run.yml:2: the setting 'encoder.weights' is missing"
    ]
    assert refused(write("data: a\nencoder:\n  kind: glove\n  frozen_layers: 3\n")) == [
        "run.yml:4: there is no setting 'encoder.frozen_layers'"
    ]
    elmo = write("data: a\nencoder:\n  kind: elmo\n  options: o\n  weights: w\n  glove:\n    fil: g\n")
    assert refused(elmo) == ["run.yml:7: there is no setting 'encoder.glove.fil'"]
    assert "--set encoder.glove.fle=g: there is no setting 'encoder.glove.fle'" in refused(elmo, "encoder.glove.fle=g")
    # A namesake elsewhere in the file is not the place of what is missing here.
    assert "run.yml:1: the setting 'encoder.options' is missing" in refused(
        write("data: a\noptions: o\n"), "encoder.kind=elmo"
    )


def test_an_epoch_is_a_whole_number_of_steps(write: Write):
    path = write("data: atis\nepisodes_per_epoch: 10\n")
    assert load_config(path, ["optimiser.episodes_per_step=5"]).steps_per_epoch == 2
    assert refused(path, "optimiser.episodes_per_step=4")[0].endswith(
        "episodes_per_epoch is 10, expected a multiple of optimiser.episodes_per_step, 4"
    )


@given(st.text(max_size=60), st.lists(st.text(max_size=20).map(lambda text: f"learner.{text}"), max_size=2))
def test_whatever_is_written_is_settings_or_is_told(tmp_path_factory: Any, text: str, changes: list[str]):
    path = tmp_path_factory.getbasetemp() / "any.yml"
    path.write_bytes(("data: a\n" + text).encode("utf-8", "surrogatepass"))
    config, told = None, ""
    try:
        config = load_config(path, changes)
    except HandfulError as error:
        told = str(error)
    if config is None:
        assert any(part in told for part in ("any.yml", "--set", "cannot set learner."))
    else:
        assert config.data_label.startswith("a")  # a line that is indented goes on with the name


DOMAINS = ("train_episodes.kind=domains", "leave_out=boards", "dev.episodes=0")


def test_domain_sets_go_with_their_episodes(write: Write):
    path = write("data: [atis, top]\n")
    config = load_config(path, ["domain_sets=[wnut17]", *DOMAINS])
    assert config.train_episodes == DomainEpisodes(kind="domains")
    assert load_config(path, ["domain_sets=[wnut17]", *DOMAINS, "held_out_domains=left_out"]).domain_sets == ("wnut17",)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (DOMAINS, "domain_sets and train_episodes of the kind 'domains' go together: set both or neither"),
        (("domain_sets=[wnut17]",), "domain_sets and train_episodes of the kind 'domains' go together: set both"),
        (("domain_sets=[wnut17]", *DOMAINS[:2]), "with domain_sets, leave_out must be 'boards' and dev.episodes 0"),
        (
            ("domain_sets=[wnut17]", DOMAINS[0], DOMAINS[2], "leave_out=test_texts"),
            "with domain_sets, leave_out must be 'boards' and dev.episodes 0",
        ),
        (("held_out_domains=left_out",), "held_out_domains is 'left_out', but there are no domain_sets to leave them"),
        (
            ("domain_sets=[wnut17]", *DOMAINS, "held_out_domains=some"),
            "--set held_out_domains=some: held_out_domains: input should be 'trained_on' or 'left_out', found 'some'",
        ),
        (
            ("domain_sets=[wnut17]", *DOMAINS, "train_episodes.single=1.2"),
            "train_episodes.single: input should be less than or equal to 1, found 1.2",
        ),
        (("leave_out=boards",), "leave_out is 'boards', which is for runs with domain_sets"),
        (
            ("domain_sets=[wnut17]", *DOMAINS, "train_episodes.single=0.8", "train_episodes.mixed=0.3"),
            "single and mixed are shares of all episodes: found 0.8 and 0.3",
        ),
        (
            ("kept_encoder=0.3",),
            "dev scores would choose weights before kept_encoder changes them: set dev.episodes to 0",
        ),
        (("settling_epochs=1",), "settling_epochs is what follows kept_encoder: set both or neither"),
        (("domain_sets=[wnut17,wnut17]", *DOMAINS), "domain_sets names a set twice: wnut17, wnut17"),
    ],
)
def test_settings_of_domains_that_do_not_go_together_are_refused(changes: tuple[str, ...], told: str, write: Write):
    (line,) = refused(write("data: [atis, top]\n"), *changes)
    assert told in line


# One other value for every setting that a transformer's run has.
OTHER: dict[str, Any] = {
    "data": "snips",
    "train_splits": "[train, dev]",
    "leave_out": "test_texts",
    "domain_sets": "[wnut17]",
    "held_out_domains": "left_out",
    "train_episodes.kind": "balanced",
    "kept_encoder": 0.3,
    "settling_epochs": 1,
    "checkpoint_precision": "float16",
    "optimiser.new_weights_rate": 2.0,
    "dev.keep": "last",
    "u_max": 21,
    "query_cap": 9,
    "train_seed": 1,
    "episode_seed": 1,
    "epochs": 11,
    "episodes_per_epoch": 101,
    "encoder.kind": "glove",
    "encoder.name": "another",
    "encoder.frozen_layers": 3,
    "learner.slot_weight": 0.123,
    "learner.intent_contrast_weight": 0.123,
    "learner.slot_contrast_weight": 0.123,
    "learner.temperature": 0.123,
    "learner.window": 7,
    "learner.direction": "intent-to-slot",
    "learner.slot_mean": "utterance",
    "learner.similarity": "inner",
    "learner.dropout": 0.123,
    "learner.decoding": "independent",
    "learner.descriptions": "{city: town}",
    "optimiser.learning_rate": 0.2,
    "optimiser.weight_decay": 0.2,
    "optimiser.warmup_steps": 99,
    "optimiser.clip": 2.0,
    "optimiser.episodes_per_step": 2,
    "dev.episodes": 51,
    "dev.u_max": 21,
    "dev.episode_seed": 1,
    "dev.choose_by": "slot_f1_strict",
    "dev.patience": 5,
}


def names_of(model: BaseModel, prefix: str = "") -> set[str]:
    found: set[str] = set()
    for name in type(model).model_fields:
        value = getattr(model, name)
        found |= names_of(value, f"{prefix}{name}.") if isinstance(value, BaseModel) else {f"{prefix}{name}"}
    return found


def test_every_setting_has_its_part_in_the_digest(write: Write):
    path = write("data: atis\n")
    assert names_of(load_config(path)) - {"learner.name"} == OTHER.keys(), "a new setting: give it another value here"
    # Some settings go together: dev intents that are trained on leave nothing to score with.
    beside = {
        "train_splits": ["dev.episodes=0"],
        "kept_encoder": ["dev.episodes=0"],
        "settling_epochs": ["dev.episodes=0", "kept_encoder=0.3"],
        "domain_sets": DOMAINS,
        "held_out_domains": ["domain_sets=[wnut17]", *DOMAINS],
    }
    digests = {
        name: load_config(path, [f"{name}={value}", *beside.get(name, [])]).digest() for name, value in OTHER.items()
    }
    assert len({*digests.values(), load_config(path).digest()}) == len(OTHER) + 1


def test_the_digest_is_of_the_settings_and_of_nothing_else(write: Write):
    config = load_config(write("data: atis\nlearner: {slot_weight: 1, descriptions: {a: x, b: y}}\nepochs: 10\n"))
    other = load_config(
        write("epochs: 10\nlearner: {descriptions: {b: y, a: x}}\ndata: atis\n"), ["learner.slot_weight=1.0"]
    )
    assert other.digest() == config.digest()
    assert RunConfig.model_validate_json(config.model_dump_json()).digest() == config.digest()
    code = "from handful.training.config import RunConfig; import sys; sys.stdout.write(RunConfig(data='ä').digest())"
    elsewhere = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": "7", "LC_ALL": "C"}, capture_output=True, check=True
    )
    assert elsewhere.stdout.decode() == RunConfig(data="ä").digest()


def test_settings_are_frozen():
    config = RunConfig(data="atis")
    for part, name in ((config, "epochs"), (config.learner, "window"), (config.encoder, "kind"), (config.dev, "u_max")):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(part, name, 3)
