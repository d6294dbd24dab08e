"""What a run trains on and what chooses its checkpoint."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from handful.data.bio import utterance_tags
from handful.data.board_texts import board_texts, without_texts
from handful.data.corpora import Corpus
from handful.data.domain_sets import TrainingDomain, load_domain_set, training_domains
from handful.episodes.domain_bots import HELD_OUT, held_out_pools, held_out_texts
from handful.types import Utterance

_HELD_OUT = 0.1


@dataclass(frozen=True, slots=True)
class TrainingSets:
    """Of each corpus the utterances to train on, and of those that have any, the ones that score."""

    train: tuple[tuple[Utterance, ...], ...]
    dev: tuple[tuple[Utterance, ...], ...]
    domains: tuple[TrainingDomain, ...] = ()  # the corpora among them, where domain sets are trained on

    @property
    def utterances(self) -> tuple[Utterance, ...]:
        return tuple(utterance for part in (*self.train, *self.dev) for utterance in part)


def training_sets(
    corpora: Sequence[Corpus],
    splits: Sequence[str] = ("train",),
    *,
    scored: bool = True,
    leave_out: Literal["nothing", "test_texts", "boards"] = "nothing",
) -> TrainingSets:
    """The corpora's train intents, and their dev intents to score with. Where no corpus has any (SNIPS), a tenth of the
    train utterances is held out: that serves to stop early and chooses no settings, since its intents are not new."""
    left_out = set() if leave_out == "nothing" else {said(u) for c in corpora for u in c.splits.get("test", ())}
    train = tuple(
        tuple(u for split in splits for u in corpus.splits.get(split, ()) if said(u) not in left_out)
        for corpus in corpora
    )
    if not scored:
        return TrainingSets(train, ())
    if dev := tuple(corpus.split("dev") for corpus in corpora if "dev" in corpus.splits):
        return TrainingSets(train, dev)
    parts = [_held_out(utterances) for utterances in train]
    return TrainingSets(tuple(kept for kept, _ in parts), tuple(held for _, held in parts))


def domain_training_sets(
    corpora: Sequence[Corpus],
    splits: Sequence[str],
    domain_sets: Sequence[str],
    directory: Path,
    *,
    hold_out: bool,
) -> TrainingSets:
    """Corpora and domain sets, without any text of a board; with `hold_out` without the domains that settings are
    chosen on, and without their texts."""
    left_out = board_texts(directory)
    loaded = [load_domain_set(name, directory) for name in domain_sets]
    held_out: Mapping[str, Collection[str]] = {}
    if hold_out:
        held_out = HELD_OUT
        pools = held_out_pools([found for found in loaded if found.name in HELD_OUT], leave_out=left_out)
        left_out |= held_out_texts(pools)
    domains = [
        TrainingDomain(
            corpus.name,
            without_texts((u for split in splits for u in corpus.splits.get(split, ())), left_out),
            (),
            has_slots=True,
        )
        for corpus in corpora
    ]
    for found in loaded:
        domains += training_domains(found, without_domains=held_out.get(found.name, ()), leave_out=left_out)
    return TrainingSets((), (), tuple(domains))


def domains_version(domains: Sequence[TrainingDomain]) -> str:
    """A short name of all that is trained on."""
    content = hashlib.sha256()
    for domain in domains:
        for utterance in (*domain.utterances, *domain.slots_only):
            row = [domain.name, *utterance.sentence, utterance.intent, *utterance_tags(utterance)]
            content.update("\x1f".join(row).encode() + b"\n")
    return content.hexdigest()[:12]


def said(utterance: Utterance) -> str:
    """What two utterances share that are the same sentence, whatever the case."""
    return " ".join(utterance.sentence).lower()


def _held_out(utterances: Sequence[Utterance]) -> tuple[tuple[Utterance, ...], tuple[Utterance, ...]]:
    """Those kept and those held out. By the sum of an utterance's text: a sentence that stands twice, in two intents
    even, is on one side only, whatever the order."""
    of_intent: defaultdict[str, set[str]] = defaultdict(set)
    for utterance in utterances:
        of_intent[utterance.intent].add(utterance.text)
    held = {
        text
        for texts in of_intent.values()
        for text in sorted(texts, key=lambda text: hashlib.sha256(text.encode()).digest())[
            : int(len(texts) * _HELD_OUT)
        ]
    }
    return tuple(u for u in utterances if u.text not in held), tuple(u for u in utterances if u.text in held)
