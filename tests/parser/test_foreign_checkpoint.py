"""A bot whose settings name a checkpoint of a learner that is no parser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handful.cli import main
from handful.encoders.choose import TransformerConfig
from handful.errors import ConfigError
from handful.learners.choose import build_trained
from handful.learners.finetune import FinetuneConfig
from handful.learners.fomaml import FomamlConfig
from handful.learners.proto import ProtoConfig
from handful.learners.retriever import RetrieverConfig
from handful.parser.parser import Parser
from handful.training.checkpoint import save_checkpoint, trained_weights
from handful.training.config import LearnerConfig, RunConfig

pytestmark = pytest.mark.usefixtures("one_thread")

FOREIGN: dict[str, LearnerConfig] = {
    "proto": ProtoConfig(),
    "retriever": RetrieverConfig(width=4),
    "finetune": FinetuneConfig(),
    "fomaml": FomamlConfig(),
}
BOT = (
    "settings: {{checkpoint: {checkpoint}}}\n"
    "nlu:\n"
    "- intent: fly\n  examples: |\n    - fly to [rome](city)\n    - now fly to [boston](city)\n"
    "- intent: wait\n  examples: |\n    - now\n    - a b now\n"
)


@pytest.fixture
def bot(tmp_path: Path, tiny_bert: Path) -> Callable[[str], Path]:
    def made(name: str) -> Path:
        encoder = TransformerConfig(name=str(tiny_bert), frozen_layers=1)
        learner = build_trained(FOREIGN[name], encoder, seed=0, cache=None, remember=False)
        about: dict[str, Any] = {"encoder": learner.encoder_name, "step": 0, "dev": {}, "train_seconds": 0.0}
        config = RunConfig(data="atis", learner=FOREIGN[name], encoder=encoder)
        save_checkpoint(
            tmp_path / "foreign", trained_weights(learner.network), {**about, "config": config, "data_version": "none"}
        )
        file = tmp_path / "bot.yml"
        file.write_text(BOT.format(checkpoint=tmp_path / "foreign"), encoding="utf-8")
        return file

    return made


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("runtime", ["torch", "int8"])
def test_a_model_that_is_no_parser_is_told(name: str, runtime: Any, bot: Callable[[str], Path]):
    with pytest.raises(ConfigError, match=rf"foreign: found a model of {name}, expected one of joint_spans"):
        Parser.load(bot(name), runtime=runtime)


def test_the_command_line_tells_it_in_a_line(bot: Callable[[str], Path], capfd: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["parse", str(bot("proto")), "fly to rome"])
    told = capfd.readouterr().err
    assert ended.value.code == 2
    assert "found a model of proto, expected one of joint_spans" in told.replace("\n", "")
    assert "Traceback" not in told
