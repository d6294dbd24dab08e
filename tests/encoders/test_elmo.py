"""Against a second, slow reading of the official files, tests/oracles/elmo.py."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from handful.encoders.elmo import ElmoFeatures, ScalarMix
from oracles.elmo_files import write_elmo

h5py = pytest.importorskip("h5py", reason="h5py is not installed: pip install 'handful[elmo]'")

SENTENCES = [
    ("fly", "to", "Boston", "now"),
    ("hi",),
    ("book", "a", "café", "in", "北京", "🙂", "!"),
    ("a" * 60, "é" * 30),  # cut at 48 bytes, the second between characters
    ("to", "to"),
]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="official"),
        pytest.param({"use_skip_connections": False}, id="no skip"),
        pytest.param({"activation": "tanh"}, id="tanh"),
        pytest.param({"scale": 1.5, "cell_clip": 0.3, "proj_clip": 0.2}, id="clips"),
        pytest.param({"cell_clip": None, "proj_clip": None, "scale": 1.5}, id="no clips"),
        pytest.param({"n_highway": 0, "projection_dim": 9, "proj_clip": 0.01}, id="nothing to project"),
        pytest.param({"n_layers": 3, "max_characters_per_token": 10}, id="three layers, short words"),
    ],
)
def test_agrees_with_the_oracle(tmp_path: Path, changes: dict[str, Any]) -> None:
    from oracles.elmo import Elmo

    files = write_elmo(tmp_path, **changes)
    features, oracle = ElmoFeatures(*files), Elmo(*files)
    for words, found in zip(SENTENCES, features.compute(SENTENCES), strict=True):
        assert found.dtype == np.float32
        assert found.shape == (len(words), features.layers, features.width)
        np.testing.assert_allclose(found, oracle.layers(words), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("which", ["cell_clip", "proj_clip"])
def test_the_clips_of_these_tests_bite(tmp_path: Path, which: str) -> None:
    clips = {"cell_clip": 0.3, "proj_clip": 0.2}
    clipped = ElmoFeatures(*write_elmo(tmp_path, scale=1.5, **clips)).compute(SENTENCES)
    loose = ElmoFeatures(*write_elmo(tmp_path, scale=1.5, **{**clips, which: None})).compute(SENTENCES)
    assert all(np.abs(one - other)[:, 1:].max() > 0.05 for one, other in zip(clipped, loose, strict=True))


def test_a_sentence_has_the_same_numbers_in_any_company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features = ElmoFeatures(*write_elmo(tmp_path))
    alone = [features.compute([words])[0] for words in SENTENCES]
    together = features.compute(SENTENCES)
    turned = features.compute(SENTENCES[::-1])[::-1]
    monkeypatch.setattr("handful.encoders.elmo._PLACES_A_BATCH", 12)
    monkeypatch.setattr("handful.encoders.elmo._SPELLINGS_A_BATCH", 2)
    parted = features.compute([*SENTENCES, *SENTENCES])[len(SENTENCES) :]
    for company in (together, turned, parted):
        for found, expected in zip(company, alone, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-6)


def test_it_stays_on_the_cpu_wherever_the_rest_is_computed(tmp_path: Path) -> None:
    features = ElmoFeatures(*write_elmo(tmp_path))
    expected = features.compute(SENTENCES)
    with torch.device("meta"):  # a device whose tensors hold no numbers, in the place of a GPU
        found = features.compute(SENTENCES)
    assert all(np.array_equal(one, other) for one, other in zip(expected, found, strict=True))


def test_nothing_is_carried_from_call_to_call(tmp_path: Path) -> None:
    features = ElmoFeatures(*write_elmo(tmp_path))
    first = features.compute(SENTENCES)
    for found, expected in zip(features.compute(SENTENCES), first, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_first_layer_is_the_word_by_itself_and_the_others_know_their_neighbours(tmp_path: Path) -> None:
    (here, there) = ElmoFeatures(*write_elmo(tmp_path)).compute([("fly", "to", "Rome"), ("drive", "to", "Bonn")])
    np.testing.assert_allclose(here[1, 0], there[1, 0], atol=1e-6)
    np.testing.assert_array_equal(here[:, 0, :5], here[:, 0, 5:])
    for layer in (1, 2):
        # Forwards the word before is another one, backwards the word after.
        assert np.abs(here[1, layer, :5] - there[1, layer, :5]).max() > 1e-3
        assert np.abs(here[1, layer, 5:] - there[1, layer, 5:]).max() > 1e-3


def test_a_long_word_is_its_first_48_bytes_and_case_counts(tmp_path: Path) -> None:
    features = ElmoFeatures(*write_elmo(tmp_path, activation="tanh"))
    stem = "ab" * 24
    base, longer, changed, cased = features.compute(
        [(stem + "xy",), (stem + "zzzz",), (stem[:-1] + "Q",), (stem[:-1] + "B",)]
    )
    np.testing.assert_array_equal(base, longer)
    assert np.abs(base - changed).max() > 1e-3
    assert np.abs(base - cased).max() > 1e-3


def test_sentences_without_words_are_refused_and_no_sentences_give_nothing(tmp_path: Path) -> None:
    features = ElmoFeatures(*write_elmo(tmp_path))
    assert features.compute([]) == []
    with pytest.raises(ValueError, match="without words"):
        features.compute([("hi",), ()])


def test_the_name_tells_weights_and_options_apart(tmp_path: Path) -> None:
    def name(**changes: Any) -> str:
        return ElmoFeatures(*write_elmo(tmp_path, **changes)).name

    plain = name()
    assert plain.startswith("elmo-")
    assert name() == plain
    # n_characters is not read, so it is no part of the name.
    assert name(n_characters=261) == plain
    assert len({plain, name(scale=0.4), name(cell_clip=2), name(activation="tanh")}) == 4


def test_a_fresh_mix_is_the_mean_and_a_trained_one_is_the_formula() -> None:
    mix = ScalarMix(3)
    hidden = torch.randn(2, 7, 3, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(mix(hidden), hidden.mean(dim=-2))
    with torch.no_grad():
        mix.scores.copy_(torch.tensor([0.0, 1.0, -2.0]))
        mix.gamma.fill_(1.7)
    powers = np.exp([0.0, 1.0, -2.0])
    shares = powers / powers.sum()
    expected = 1.7 * sum(share * hidden[..., layer, :] for layer, share in enumerate(shares))
    torch.testing.assert_close(mix(hidden), expected)


def test_a_mix_learns_both_its_weights_and_its_scale() -> None:
    mix = ScalarMix(3)
    hidden = torch.randn(5, 3, 4, generator=torch.Generator().manual_seed(0))
    mix(hidden).square().sum().backward()
    gradients = {name: value.grad for name, value in mix.named_parameters()}
    assert set(gradients) == {"scores", "gamma"}
    assert all(gradient is not None and gradient.abs().sum() > 0 for gradient in gradients.values())


@pytest.mark.slow
def test_the_numbers_of_bilm_tf_itself() -> None:
    """Its own small model and what it made of sentences: allennlp/tests/fixtures/elmo in allennlp 0.9.0's wheel."""
    if not (given := os.environ.get("HANDFUL_ELMO_FIXTURES")):
        pytest.skip("HANDFUL_ELMO_FIXTURES names no folder with allennlp 0.9.0's tests/fixtures/elmo")
    folder = Path(given)
    features = ElmoFeatures(folder / "options.json", folder / "lm_weights.hdf5")
    for number, sentences in enumerate(json.loads((folder / "sentences.json").read_text(encoding="utf-8"))):
        with h5py.File(folder / f"lm_embeddings_{number}.hdf5", "r") as file:
            forward, backward = file["0"][...]
        # Only the first batch began from zero states, as we always do.
        (found,) = features.compute([tuple(sentences[0].split())])
        np.testing.assert_allclose(found[:, 2], np.concatenate([forward, backward], axis=-1), atol=2e-6)
