"""Encoders by their settings: what is frozen, and the words that are made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, assert_never

from pydantic import AfterValidator, Discriminator, Field, Tag

from handful.encoders import minilm
from handful.encoders.features import FixedWords, FrozenFeatures, WordMaker
from handful.settings import Settings


def _anywhere(path: Path) -> Path:
    """As it is found from any folder: a run is evaluated elsewhere than it was trained."""
    try:
        return path.expanduser().absolute()
    except RuntimeError:  # the home of nobody: told when the file is looked for
        return path.absolute()


def _folder_or_name(name: str) -> str:
    if name == minilm.NAME:
        return name
    found = _anywhere(Path(name))
    try:
        return str(found) if (found / "config.json").is_file() else name
    except (OSError, ValueError):  # too long or too odd for a path, so at best a name
        return name


FilePath = Annotated[Path, AfterValidator(_anywhere)]


class TransformerConfig(Settings):
    """A BERT-like model by folder or hub name; its embeddings and first layers are frozen."""

    kind: Literal["transformer"] = "transformer"
    name: Annotated[str, AfterValidator(_folder_or_name)] = Field(default=minilm.NAME, min_length=1)
    frozen_layers: int | None = Field(default=None, ge=0)  # none given: half of them, as in the paper (6 of 12)


class GloveConfig(Settings):
    """GloVe vectors from their package, or from a text file."""

    kind: Literal["glove"] = "glove"
    file: FilePath | None = None


class ElmoConfig(Settings):
    """The official ELMo files, concatenated with GloVe, as in the paper."""

    kind: Literal["elmo"] = "elmo"
    options: FilePath
    weights: FilePath
    glove: GloveConfig | None = GloveConfig()


def _kind(value: Any) -> str | None:
    """Settings that name no kind are a transformer's: `frozen_layers: 4` alone is enough."""
    return str(value.get("kind", "transformer")) if isinstance(value, dict) else getattr(value, "kind", None)


EncoderConfig = Annotated[
    Annotated[TransformerConfig, Tag("transformer")]
    | Annotated[GloveConfig, Tag("glove")]
    | Annotated[ElmoConfig, Tag("elmo")],
    Discriminator(_kind),
]


def build_encoder(config: EncoderConfig, dropout: float) -> tuple[FrozenFeatures, WordMaker]:
    """Torch and weights are loaded here, not before."""
    match config:
        case TransformerConfig():
            from handful.encoders.layers import cut_transformer
            from handful.encoders.weights import find_weights

            return cut_transformer(find_weights(config.name), config.frozen_layers, dropout)
        case GloveConfig():
            glove = _glove(config)
            return glove, FixedWords(glove.width)
        case ElmoConfig():
            from handful.encoders.elmo import ElmoFeatures
            from handful.encoders.elmo_words import ElmoWithGlove, MixedWords

            elmo = ElmoFeatures(config.options, config.weights)
            both = ElmoWithGlove(elmo, None if config.glove is None else _glove(config.glove))
            return both, MixedWords(elmo.layers, elmo.width, both.glove_width)
        case _:
            assert_never(config)


def _glove(config: GloveConfig):
    from handful.encoders.glove import GloveFeatures

    return GloveFeatures.from_package() if config.file is None else GloveFeatures.from_text(config.file)
