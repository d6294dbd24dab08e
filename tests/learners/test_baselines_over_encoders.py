"""Every baseline over every kind of encoder, with weights that are made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from handful.data.bio import illegal_positions
from handful.encoders.choose import ElmoConfig, EncoderConfig, GloveConfig, TransformerConfig
from handful.encoders.network import SentenceNetwork
from handful.learners.choose import build_trained
from handful.learners.finetune import FinetuneConfig, FinetuneLearner
from handful.learners.fomaml import FomamlConfig, FomamlLearner, InnerConfig
from handful.learners.heads import FittingConfig, joint_loss, new_heads, scores
from handful.learners.learner import Learner, TrainedLearner
from handful.learners.proto import ProtoConfig
from handful.learners.retriever import RetrieverConfig
from handful.learners.support import SupportLabels
from handful.model.losses import ABSENT
from handful.training.checkpoint import save_checkpoint, trained_weights
from handful.training.config import LearnerConfig, RunConfig
from handful.training.start import load_learner
from handful.types import Episode, Prediction, Slot, Utterance
from oracles.elmo_files import write_elmo

pytestmark = pytest.mark.usefixtures("one_thread")

LEARNERS: dict[str, LearnerConfig] = {
    "proto": ProtoConfig(dropout=0.0),
    "retriever": RetrieverConfig(dropout=0.0, width=8),
    "finetune": FinetuneConfig(dropout=0.0, fitting=FittingConfig(steps=3, heads_rate=0.1)),
    "fomaml": FomamlConfig(dropout=0.0, fitting=InnerConfig(steps=3)),
}
ENCODERS = ("glove", "elmo", "bert")


def utterance(text: str, intent: str, *slots: Slot) -> Utterance:
    return Utterance.from_words(text.split(), intent, slots)


EPISODE = Episode(
    support=(
        utterance("fly to boston", "fly", Slot("city", 2, 3)),
        utterance("fly to rome now", "fly", Slot("city", 2, 3), Slot("time", 3, 4)),
        utterance("now a b", "ask"),
        utterance("a ! boston rome", "ask", Slot("pair", 2, 4)),
        utterance("! !", "stop"),
    ),
    query=(
        utterance("fly to rome", "fly", Slot("city", 2, 3)),
        utterance("a b rome boston", "ask", Slot("pair", 2, 4)),
        utterance("fly boston now", "fly", Slot("city", 1, 2), Slot("time", 2, 3)),
        utterance("! ! !", "stop"),
    ),
    seed=0,
    index=0,
)
EVERYTHING = (*EPISODE.support, *EPISODE.query)


@pytest.fixture(scope="module")
def glove_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng, file = np.random.default_rng(0), tmp_path_factory.mktemp("glove") / "vectors.txt"
    words = ("fly", "to", "boston", "rome", "now", "a", "b", "!")
    file.write_text("".join(f"{word} {' '.join(map(str, rng.normal(size=5).round(3)))}\n" for word in words))
    return file


@pytest.fixture(params=ENCODERS)
def encoder(
    request: pytest.FixtureRequest, tiny_bert: Path, glove_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> EncoderConfig:
    match request.param:
        case "bert":
            return TransformerConfig(name=str(tiny_bert), frozen_layers=1)
        case "glove":
            return GloveConfig(file=glove_file)
        case _:
            pytest.importorskip("h5py", reason="h5py is not installed: pip install 'handful[elmo]'")
            options, weights = write_elmo(tmp_path_factory.mktemp("elmo"))
            return ElmoConfig(options=options, weights=weights, glove=GloveConfig(file=glove_file))


def built(config: LearnerConfig, encoder: EncoderConfig, seed: int = 0) -> TrainedLearner:
    own = build_trained(config, encoder, seed=seed, cache=None, remember=False)
    list(own.prepare(EVERYTHING))
    return own


def body_of(learner: TrainedLearner) -> SentenceNetwork:
    network = learner.network if isinstance(learner.network, SentenceNetwork) else learner.network.body
    assert isinstance(network, SentenceNetwork)
    return network


def trained(learner: TrainedLearner, steps: int) -> list[float]:
    optimiser = torch.optim.AdamW(learner.network.parameters(), lr=0.03)
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = learner.loss(EPISODE).total
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def predicted(learner: Learner) -> list[Prediction]:
    return learner.adapt(EPISODE.support).predict([u.sentence for u in EPISODE.query])


@pytest.mark.parametrize("name", LEARNERS)
def test_the_loss_falls_and_every_trained_part_learns(name: str, encoder: EncoderConfig):
    own = built(LEARNERS[name], encoder)
    own.loss(EPISODE).total.backward()
    still = {part for part, weight in own.network.named_parameters() if weight.grad is None or not weight.grad.any()}
    own.network.zero_grad()
    # A bias that all keys share adds the same to every score of a softmax, and one of all words to no distance.
    assert {part for part in still if not part.endswith("bias")} == set()
    losses = trained(own, 15)
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("name", LEARNERS)
def test_predictions_are_legal_and_come_back_from_a_checkpoint(name: str, encoder: EncoderConfig, tmp_path: Path):
    own = built(LEARNERS[name], encoder)
    fresh = predicted(own)
    trained(own, 8)
    found = predicted(own)
    assert found != fresh, "training changes what is said"
    for u, prediction in zip(EPISODE.query, found, strict=True):
        assert set(prediction.ranking.names) == {"fly", "ask", "stop"}
        assert sum(prediction.ranking.confidences) == pytest.approx(1.0)
        assert len(prediction.tags) == len(u.words)
        assert illegal_positions(prediction.tags) == []
        assert {slot.label for slot in prediction.slots} <= {"city", "time", "pair"}

    config = RunConfig(data="made up", learner=LEARNERS[name], encoder=encoder)
    about = {"config": config, "encoder": own.encoder_name, "step": 8, "dev": {}, "train_seconds": 0.0}
    save_checkpoint(tmp_path / "checkpoint", trained_weights(own.network), {**about, "data_version": "none"})
    loaded, read = load_learner(tmp_path / "checkpoint")
    list(loaded.prepare(EVERYTHING))  # in the same batches: float sums differ with a batch's shape
    assert read.config.learner == loaded.config == LEARNERS[name]
    assert type(loaded) is type(own)
    assert predicted(loaded) == found


@pytest.mark.parametrize("name", LEARNERS)
def test_only_vectors_that_learn_no_context_are_read_by_a_bilstm(name: str, encoder: EncoderConfig):
    own = built(LEARNERS[name], encoder)
    body = body_of(own)
    parts = {part for part, _ in own.network.named_parameters()}
    if encoder.kind == "transformer":
        assert body.bilstm is None
        assert body.width == body.words.width
    else:
        assert body.bilstm is not None
        assert body.width == 2 * body.words.width
    assert any("bilstm" in part for part in parts) == (encoder.kind != "transformer")
    assert any(part.startswith("words.") for part in parts) == (encoder.kind != "glove")
    assert not any("body.words" in part for part in parts), "what an encoder brought has one name"


def test_bert_without_trained_layers_is_read_by_a_bilstm_too(tiny_bert: Path):
    body = body_of(built(LEARNERS["proto"], TransformerConfig(name=str(tiny_bert), frozen_layers=2)))
    assert body.bilstm is not None


@pytest.mark.parametrize("name", ["finetune", "fomaml"])
def test_adapting_tunes_the_whole_body_and_leaves_the_learner_as_it_is(name: str, encoder: EncoderConfig):
    """Heads alone, with a body that stands still, say something else."""
    fitting = {"steps": 4, "rate": 0.05, "heads_rate": 0.2}
    still = built(LEARNERS[name].model_copy(update={"fitting": InnerConfig(**{**fitting, "rate": 1e-12})}), encoder)
    own = built(LEARNERS[name].model_copy(update={"fitting": InnerConfig(**fitting)}), encoder)
    before = {part: weight.detach().clone() for part, weight in own.network.named_parameters()}
    found = predicted(own)
    assert all(torch.equal(weight, before[part]) for part, weight in own.network.named_parameters())
    assert predicted(own) == found, "the same support, the same parser"
    assert found != predicted(still)


def test_inner_steps_of_fomaml_are_those_of_plain_descent_on_a_copy(encoder: EncoderConfig):
    """Weights that are put into the network for a call, against a copy that is changed for good."""
    fitting = InnerConfig(steps=3, rate=0.05, heads_rate=0.2)
    own = built(FomamlConfig(dropout=0.0, fitting=fitting), encoder)
    assert isinstance(own, FomamlLearner)
    labels, copy = SupportLabels(EPISODE.support), own.network.twin()
    own.network.eval()
    body, heads = own.fit(EPISODE.support, labels)
    by_hand = {name: head.requires_grad_() for name, head in new_heads(copy.width, labels).items()}
    weights = [weight for weight in copy.parameters() if weight.requires_grad]
    descent = torch.optim.SGD([{"params": weights, "lr": 0.05}, {"params": list(by_hand.values()), "lr": 0.2}])
    intents, tags = (torch.tensor(numbers) for numbers in labels.numbers_of(EPISODE.support, ABSENT))
    copy.eval()
    for _ in range(3):
        descent.zero_grad()
        words, sentences = copy([u.sentence for u in EPISODE.support])
        joint_loss(*scores(words, sentences, by_hand), intents, tags, 1.0).backward()
        descent.step()
    moved = 0.0
    for name, weight in copy.named_parameters():
        torch.testing.assert_close(body[name], weight.detach(), atol=1e-5, rtol=1e-4)
        moved = max(moved, float((own.network.get_parameter(name) - weight).detach().abs().max()))
    assert moved > 1e-4
    for name, head in by_hand.items():
        torch.testing.assert_close(heads[name], head.detach(), atol=1e-5, rtol=1e-4)


def test_a_copy_shares_what_is_frozen_and_nothing_that_is_trained(encoder: EncoderConfig):
    own = built(LEARNERS["finetune"], encoder)
    assert isinstance(own, FinetuneLearner)
    body = own.network.body
    copy = body.twin()
    assert copy.frozen is body.frozen
    mine, its = dict(body.named_parameters()), dict(copy.named_parameters())
    assert mine.keys() == its.keys()
    for name, weight in mine.items():
        assert torch.equal(weight, its[name])
        assert weight.data_ptr() != its[name].data_ptr(), name
    body.eval()
    copy.eval()
    sentences = [u.sentence for u in EPISODE.query]
    with torch.no_grad():
        before = body(sentences)[0]
        for weight in copy.parameters():
            weight.mul_(0.5)
        assert torch.equal(body(sentences)[0], before)
        assert not torch.equal(copy(sentences)[0], before)


def test_a_sentence_is_the_mean_of_what_was_read_and_teaches_all_that_is_trained(encoder: EncoderConfig):
    """Of words where a BiLSTM reads them; a transformer's sentence is the mean of its pieces, so not of its words."""
    body = body_of(built(LEARNERS["proto"], encoder)).eval()
    words, means = body([u.sentence for u in EPISODE.query])
    of_words = torch.stack([own.mean(0) for own in words.split([len(u.words) for u in EPISODE.query])])
    assert torch.allclose(means, of_words, atol=1e-5) == (body.bilstm is not None)
    (means * torch.randn(means.shape, generator=torch.Generator().manual_seed(0))).sum().backward()
    for name, weight in body.named_parameters():
        assert weight.grad is not None, name
        assert bool(weight.grad.any()) or name.endswith("bias"), name
