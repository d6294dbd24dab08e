"""What is expected of a bot, derived from bots of held-out domains, beside what the parser uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from confidence_bots import FEWEST_STRANGERS, KINDS, AskedBot
from confidence_metrics import Floats, auroc
from numpy.typing import NDArray

from handful.parser.calibration import (
    EXPECTED,
    Expected,
    Line,
    SlotLines,
    calibrated,
    fit_calibration,
    fitted_line,
    fitted_sharpness,
    log_odds,
)
from handful.parser.rejection import (
    AUTO,
    COSINE_WEIGHT,
    INTENT_EXAMPLES,
    SCOPE_LINE,
    STEADYING_EXAMPLES,
    USUAL_LIKENESS,
    IntentScope,
    likeness_of_intents,
    scope_score,
)
from handful.types import Prediction

REJECTED_AT_MOST = 0.08  # of what is named rightly, by bots of several domains with ten examples an intent
_FREE = 100.0  # a spread that holds nothing
_SLOTS_OF_A_BOT = 30  # found, for it to be counted

Record = dict[str, Any]


def constants(bots: Sequence[AskedBot]) -> list[Record]:
    whole = [bot for bot in bots if KINDS[2] not in bot.strangers]
    return [*of_intents(whole), *of_slots(whole), *of_scope(bots)]


def of_intents(bots: Sequence[AskedBot]) -> list[Record]:
    sharpest = [(bot.shots, best_sharpness(bot)) for bot in bots]
    by_shots = {
        str(shots): _rounded(np.median([value for own, value in sharpest if own == shots]))
        for shots in dict.fromkeys(own for own, _ in sharpest)
    }
    tried = [
        *({"bot_spread": spread} for spread in (0.1, 0.2, 0.3, 0.5, 1.0)),
        *({"intent_spread": spread} for spread in (0.01, 0.1, 0.2, 0.4)),
        *({"fewest_examples": fewest} for fewest in (2, 3, 4, 6)),
    ]
    median = _rounded(np.median([value for _, value in sharpest]))
    return [
        {"constant": "sharpness", "used": EXPECTED.sharpness, "derived": median, "by examples": by_shots},
        *_tried(tried, lambda expected: np.mean([intents_loss(bot, expected) for bot in bots])),
    ]


def best_sharpness(bot: AskedBot) -> float:
    """Under which its queries are likeliest."""
    place = {intent: column for column, intent in enumerate(bot.intents)}
    scores = np.empty((len(bot.query), len(place)))
    for row, said in enumerate(bot.predictions):
        scores[row, [place[name] for name in said.ranking.names]] = np.log(np.maximum(said.ranking.confidences, 1e-300))
    right = np.array([place[utterance.intent] for utterance in bot.query])
    return fitted_sharpness(scores, right, EXPECTED.sharpness, _FREE)


def intents_loss(bot: AskedBot, expected: Expected) -> float:
    """-log P(right intent), a mean over the queries."""
    calibration = fit_calibration(bot.support, bot.held, bot.intents, expected=expected)
    total = 0.0
    for utterance, said in zip(bot.query, bot.predictions, strict=True):
        ranking = calibrated(said, calibration).ranking
        total -= np.log(max(ranking.confidences[ranking.names.index(utterance.intent)], 1e-30))
    return total / len(bot.query)


def of_slots(bots: Sequence[AskedBot]) -> list[Record]:
    there = [bot for bot in bots if sum(len(said.slots) for said in bot.predictions) >= _SLOTS_OF_A_BOT]
    found = {half: slot_lines(there, half) for half in (5.0, 10.0, 20.0, 40.0)}
    lines, _ = found[EXPECTED.slots.half]
    tried = [
        *({"bot_slot_spread": Line(*spread)} for spread in ((0.01, 0.01), (0.2, 0.3), (0.2, 0.6), (0.4, 0.6))),
        *({"slot_spread": Line(*spread)} for spread in ((0.01, 0.01), (0.1, 0.25), (0.1, 0.5), (0.2, 1.0))),
    ]
    return [
        {
            "constant": "slots.half",
            "used": EXPECTED.slots.half,
            "tried": {str(h): loss for h, (_, loss) in found.items()},
        },
        *(
            {"constant": f"slots.{part}", "used": _line(getattr(EXPECTED.slots, part)), "derived": _line(line)}
            for part, line in (("few", lines.few), ("many", lines.many))
        ),
        *_tried(tried, lambda expected: np.mean([slots_loss(bot, expected) for bot in there])),
    ]


def found_slots(bot: AskedBot) -> tuple[list[str], Floats, NDArray[np.bool_]]:
    """Of all slots found in the queries the key, the log-odds, and whether it is right."""
    keys, odds, right = [], [], []
    for utterance, said in zip(bot.query, bot.predictions, strict=True):
        true = {(slot.key, slot.start, slot.end) for slot in utterance.slots}
        for slot, sure in zip(said.slots, said.slot_confidences, strict=True):
            keys.append(slot.key)
            odds.append(log_odds(sure))
            right.append((slot.key, slot.start, slot.end) in true)
    return keys, np.array(odds), np.array(right, dtype=bool)


def slot_lines(bots: Sequence[AskedBot], half: float) -> tuple[SlotLines, float]:
    """The lines under which the slots that were found are likeliest, given n / (n + half), and the mean loss."""
    rows, outcomes, weights = [], [], []
    for bot in bots:
        keys, odds, right = found_slots(bot)
        shown = Counter(slot.key for utterance in bot.support for slot in utterance.slots)
        share = np.array([shown[key] / (shown[key] + half) for key in keys])
        rows.append(np.stack([odds * (1 - share), odds * share, 1 - share, share], axis=1))
        outcomes.append(right)
        weights.append(np.full(len(right), 1 / np.sqrt(len(right))))  # a bot with many counts for more, but not as many
    inputs, right, sizes = np.concatenate(rows), np.concatenate(outcomes), np.concatenate(weights)
    found = np.array([0.5, 0.5, 0.0, 0.0])
    for _ in range(50):
        shares = 1 / (1 + np.exp(-inputs @ found))
        curve = (inputs * (sizes * shares * (1 - shares))[:, None]).T @ inputs
        found -= np.linalg.solve(curve + 1e-9 * np.eye(4), inputs.T @ (sizes * (shares - right)))
    loss = np.logaddexp(0, np.where(right, -1, 1) * (inputs @ found))
    lines = SlotLines(Line(found[0], found[2]), Line(found[1], found[3]), half)
    return lines, _rounded((sizes * loss).sum() / sizes.sum(), 4)


def slots_loss(bot: AskedBot, expected: Expected) -> float:
    calibration = fit_calibration(bot.support, bot.held, bot.intents, expected=expected)
    _, _, right = found_slots(bot)
    sure = np.array([p for said in bot.predictions for p in calibrated(said, calibration).slot_confidences])
    return float(-np.log(np.where(right, sure, 1 - sure)).mean())


def of_scope(bots: Sequence[AskedBot]) -> list[Record]:
    likeness = [_own_likeness(bot) for bot in bots]
    usual = _rounded(np.mean([near.mean() for near, _ in likeness if len(near)]), 3)
    tried = [
        *({"cosine_weight": weight} for weight in (0.0, 5.0, 10.0, 20.0, 1000.0)),
        *({"steadying": examples} for examples in (0.0, 1.0, 3.0, 10.0)),
        *({"intent_examples": examples} for examples in (3.0, 10.0, 20.0, 40.0, 1e9)),
    ]
    used = {"cosine_weight": COSINE_WEIGHT, "steadying": STEADYING_EXAMPLES, "intent_examples": INTENT_EXAMPLES}
    groups: dict[str, Record] = {}
    for change in tried:
        ((name, value),) = change.items()
        record = groups.setdefault(name, {"constant": name, "used": used[name], "tried": {}})
        record["tried"][f"{value:g}"] = pooled_auroc(bots, **{**used, **change})
    return [
        {"constant": "likeness", "used": USUAL_LIKENESS, "derived": usual},
        *groups.values(),
        {"constant": "scope line", "used": _line(SCOPE_LINE), "derived": _line(scope_line(bots, used))},
        {"constant": "threshold", "used": AUTO, "derived": threshold(bots, used)},
    ]


def _own_likeness(bot: AskedBot) -> tuple[Floats, NDArray[np.intp]]:
    """Of each example with others of its intent the mean cosine with them, and the intent."""
    columns = {intent: column for column, intent in enumerate(bot.intents)}
    counts = Counter(utterance.intent for utterance in bot.support)
    rows = [row for row, number in enumerate(bot.held.numbers) if counts[bot.support[number].intent] > 1]
    own = np.array([columns[bot.support[bot.held.numbers[row]].intent] for row in rows], dtype=np.intp)
    return bot.held.cosines[rows, own], own


def scores(
    bot: AskedBot, said: Sequence[Prediction], *, cosine_weight: float, steadying: float, intent_examples: float
):
    """As parser/rejection.py has them, with other constants."""
    likeness = likeness_of_intents(*_own_likeness(bot), len(bot.intents), intent_examples=intent_examples)
    counts = Counter(utterance.intent for utterance in bot.support)
    scopes = {name: IntentScope(float(like), counts[name]) for name, like in zip(bot.intents, likeness, strict=True)}
    return np.array(
        [
            scope_score(
                scopes[prediction.intent].nearer_than_usual(prediction.likeness or 0.0),
                float(np.log(max(prediction.confidence, 1e-30))),
                scopes[prediction.intent].examples,
                cosine_weight=cosine_weight,
                steadying=steadying,
            )
            for prediction in said
        ]
    )


def pooled_auroc(bots: Sequence[AskedBot], **settings: float) -> float:
    """Of all bots' sentences together, so that a score has to mean the same for every bot; a mean over kinds."""
    inside: dict[str, list[Floats]] = {kind: [] for kind in KINDS}
    outside: dict[str, list[Floats]] = {kind: [] for kind in KINDS}
    for bot in bots:
        queries = scores(bot, bot.predictions, **settings)
        for kind, said in bot.strangers.items():
            inside[kind].append(queries)
            outside[kind].append(scores(bot, said, **settings))
    found = [auroc(np.concatenate(inside[kind]), np.concatenate(outside[kind])) for kind in KINDS if inside[kind]]
    return _rounded(100 * np.mean(found))


def scope_line(bots: Sequence[AskedBot], settings: Mapping[str, float]) -> Line:
    """Between queries and strangers, each kind of which counts a third, and all of them as much as the queries."""
    queries = np.concatenate([scores(bot, bot.predictions, **settings) for bot in bots])
    parts = [queries]
    for kind in KINDS:
        parts += [
            np.concatenate([scores(bot, bot.strangers[kind], **settings) for bot in bots if kind in bot.strangers])
        ]
    weights = np.concatenate(
        [np.full(len(part), 1000 / len(part) / (len(KINDS) if row else 1)) for row, part in enumerate(parts)]
    )
    right = np.repeat([True, False], [len(queries), sum(map(len, parts[1:]))])
    return fitted_line(np.concatenate(parts), right, SCOPE_LINE, Line(_FREE, _FREE), weights)


def threshold(bots: Sequence[AskedBot], settings: Mapping[str, float]) -> Record:
    """Where so much of what is named rightly is turned away, and what is then turned away of what users said that was
    none of the intents."""
    large = [bot for bot in bots if bot.merged and bot.shots == 10 and KINDS[2] not in bot.strangers]
    found = [
        scores(bot, [p for p, u in zip(bot.predictions, bot.query, strict=True) if p.intent == u.intent], **settings)
        for bot in large
    ]
    strangers = [
        scores(bot, bot.strangers[KINDS[0]], **settings)
        for bot in large
        if len(bot.strangers.get(KINDS[0], ())) >= FEWEST_STRANGERS
    ]
    if not found or not strangers:
        return {}
    limit = float(np.quantile(np.concatenate(found), REJECTED_AT_MOST))
    recall = float((np.concatenate(strangers) < limit).mean())
    return {"limit": _rounded(SCOPE_LINE.probability(limit)), "recall": _rounded(100 * recall)}


def _tried(changes: Sequence[Mapping[str, Any]], loss: Any) -> list[Record]:
    """The loss with each change alone, by constant."""
    records: dict[str, Record] = {}
    for change in changes:
        ((name, value),) = change.items()
        used = getattr(EXPECTED, name)
        shown = _line(used) if isinstance(used, Line) else used
        record = records.setdefault(name, {"constant": name, "used": shown, "tried": {}})
        key = "{slope}, {shift}".format(**_line(value)) if isinstance(value, Line) else f"{value:g}"
        record["tried"][key] = _rounded(loss(replace(EXPECTED, **change)), 4)
    return list(records.values())


def _line(line: Line) -> dict[str, float]:
    return {"slope": _rounded(line.slope), "shift": _rounded(line.shift)}


def _rounded(value: Any, digits: int = 2) -> float:
    return round(float(value), digits)


def constants_table(records: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| constant | used | derived | tried: loss, or AUROC |", "|---|---|---|---|"]
    for record in records:
        if record["measure"] == "constants":
            tried = "; ".join(f"{value}: {loss}" for value, loss in record.get("tried", {}).items())
            cells = [record["constant"], _shown(record["used"]), _shown(record.get("derived", "–")), tried or "–"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number}" for name, number in value.items())
    return str(value)
