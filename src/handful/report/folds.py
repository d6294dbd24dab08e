"""A bot's examples dealt into the folds of a cross-validation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from handful.errors import ConfigError
from handful.types import Utterance


def split_folds(examples: Sequence[Utterance], folds: int, seed: int) -> list[tuple[list[Utterance], list[Utterance]]]:
    """Pairs of examples to keep and to ask for. Each intent's examples are dealt out in turn; the only one of an intent
    is always kept, since nobody could tell an intent without any."""
    if folds < 2:
        raise ConfigError(f"found {folds} folds, expected 2 or more")
    rng = np.random.default_rng(seed)
    by_intent: defaultdict[str, list[int]] = defaultdict(list)
    for number, utterance in enumerate(examples):
        by_intent[utterance.intent].append(number)
    if len(by_intent) < 2 and not any(utterance.slots for utterance in examples):
        return []
    fold_of: dict[int, int] = {}
    dealt = 0
    for _, own in sorted(by_intent.items()):
        if len(own) < 2:
            continue
        for number in rng.permutation(own).tolist():
            fold_of[number] = dealt % folds
            dealt += 1
    found = []
    for fold in range(folds):
        held = [examples[number] for number in range(len(examples)) if fold_of.get(number) == fold]
        kept = [examples[number] for number in range(len(examples)) if fold_of.get(number) != fold]
        # With more folds than examples of an intent some intent may lose its last one: it is not asked for then.
        held = [utterance for utterance in held if any(utterance.intent == other.intent for other in kept)]
        if held:
            found.append((kept, held))
    return found
