from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from handful.encoders.choose import TransformerConfig
from handful.learners.choose import build_trained
from handful.learners.joint_spans import JointSpansConfig, JointSpansLearner
from handful.runtime.export import export_model
from handful.runtime.folder import Precision

WEIGHTS = "0" * 64


@pytest.fixture(scope="session")
def tiny_learner(tiny_bert: Path) -> JointSpansLearner:
    """Of a real BertModel of two layers, one of them trained, with 14 pieces to a window."""
    encoder = TransformerConfig(name=str(tiny_bert), frozen_layers=1)
    config = JointSpansConfig(width=8, evidence=0.2, slot_repeats="free")
    learner = build_trained(config, encoder, seed=3, cache=None, remember=False, keep_features=False)
    with torch.no_grad():  # border scores begin at nought; here they have something to say
        learner.network.views.weight[-4:].normal_(generator=torch.Generator().manual_seed(0))
    return learner


@pytest.fixture(scope="session")
def tiny_export(
    tiny_learner: JointSpansLearner, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Precision], Path]:
    """The tiny learner's folder, made once for each precision. Not to be changed: copy it."""

    def made(precision: Precision) -> Path:
        folder = tmp_path_factory.getbasetemp() / "tiny_exports" / precision
        if not folder.exists():
            for _ in export_model(tiny_learner, folder, weights=WEIGHTS, precision=precision):
                pass
        return folder

    return made
