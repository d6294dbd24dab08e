"""The page's own tokeniser: what a person can select there must be what the server calls words."""

from __future__ import annotations

import json
import shutil
import subprocess
import unicodedata
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handful.data.formats.markup import parse_example
from handful.words import split_words

PAGE = Path(str(resources.files("handful.serve") / "page"))

TEXTS = [
    "",
    " ",
    "fly to Boston!",
    "don't stop, it's o'clock",
    "it’s the ’90s",
    "rock'n'roll ''quoted''",
    "at 9:30pm, 1,000.50€ or 3/4",
    "snake_case and kebab-case e-mail@example.com",
    "two\u00a0words, \u202fnarrow, \u3000wide",
    "tab\tand\nline\r\nbreaks\u2028and\u2029more\x0b\x0c\x85.",
    "nul\x00 and bell\x07",
    "café cafe\u0301 cafe\u0301\u0323s",
    "\u0301 alone, and \u0301after space",
    "हिन्दी में बोलो",
    "สวัสดีครับ",
    "מזג האוויר בְּרֵאשִׁית",
    "مرحبا بالعالم ١٢٣",
    "我要去北京123號",
    "カラオケ 2回 ｶﾗｵｹ が か\u3099",
    "서울 날씨 각",
    "\U00020000\U0002a6d6 𠮷野家",
    "👍🏽 ok 👨‍👩‍👧 ❤️x 🇳🇴🇸🇪 1️⃣",
    "🏽 alone 🏽🏽",
    "a👍b 👍👍",
    "a\u200bb \u200bc\u200d d\u200d\u200de \u200e hello \ufeffbom",
    "soft\u00adhyphen x\u2060y",
    "½ cup, x² + H₂O, Ⅻ, ①②",
    "𝒻ancy 𝟙𝟚𝟛 ＦＵＬＬ",
    "…—–•«»„“ ¿qué? ¡sí!",
    "\ue000private \uffff",
    "ß ẞ ŉ ǆ İ ı ﬁ",
    "ᚠᚢᚦ 𐍈 𓀀",
]


def answers_of_node(script: str, given: Any, folder: Path) -> Any:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: nothing runs the page's modules here")
    # Read from a copy: node takes a .js file for a module only where a package.json says so.
    for name in ("words.js", "marked.js", "slots.js"):
        shutil.copy(PAGE / name, folder / name)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "ask.js").write_text(
        script + '\nimport { readFileSync } from "node:fs";\n'
        "const given = JSON.parse(readFileSync(0, 'utf8'));\n"
        "process.stdout.write(JSON.stringify(given.map(answer)));\n"
    )
    done = subprocess.run(
        [node, str(folder / "ask.js")], input=json.dumps(given), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def words_of_node(texts: list[str], folder: Path) -> list[list[tuple[str, int, int]]]:
    script = """
        import { splitWords } from "./words.js";
        const answer = (text) => splitWords(text).map((word) => [word.text, word.start, word.end]);
    """
    return [[(word, start, end) for word, start, end in found] for found in answers_of_node(script, texts, folder)]


def words_here(text: str) -> list[tuple[str, int, int]]:
    return [(word.text, word.start, word.end) for word in split_words(text)]


def test_words_of_tricky_texts(tmp_path: Path):
    found = words_of_node(TEXTS, tmp_path)
    for text, words in zip(TEXTS, found, strict=True):
        assert words == words_here(text), ascii(text)


def test_words_of_any_characters_in_any_order(tmp_path: Path):
    # Characters that this Python's Unicode knows: a browser's may be newer, and calls letters what is nothing here.
    known = [point for point in range(0x110000) if unicodedata.category(chr(point)) not in {"Cn", "Cs"}]
    odd = [ord(c) for c in "aZ9 \u00a0'_-\u200d\u0301\u3099👍🏽️\u200b日カ한é"]
    rng = np.random.default_rng(7)
    texts = []
    for _ in range(800):
        picked = rng.choice(known, size=6).tolist() + rng.choice(odd, size=8).tolist()
        texts.append("".join(chr(point) for point in rng.permutation(picked)))
    found = words_of_node(texts, tmp_path)
    assert [text for text, words in zip(texts, found, strict=True) if words != words_here(text)] == []


MARKED = [
    "fly to [Oslo](city)",
    "fly to [Oslo](city:OSL) and [ back ](way)",
    '[NYC]{"entity": "city", "role": "from", "value": "New York"} to [Rome]{"entity": "city", "role": "to"}',
    r"a \[plain\] bracket, a C:\temp",
    "👍🏽 [北京](city) [café](place)",
    "[New York](city), [tomorrow](date)!",
    "[Os]lo(city)",
    "[Os](city)lo",
    "fog in [Riga]",
    "[a [b](c)](d)",
    "a ] b",
    "a [ b",
    "[ ](city)",
    "[a]()",
    "[a](b:)",
    "[a](b",
    '[a]{"entity": "x", "other": "y"}',
    '[a]{"entity": ""}',
    '[a]{"role": "y"}',
    "[a]{entity}",
    "[a][b](c)",
    "   ",
]


def read_here(marked: str) -> Any:
    try:
        utterance = parse_example(marked, "intent")
    except ValueError:
        return None
    return {
        "text": utterance.text,
        "slots": [
            {
                "slot": slot.label,
                "start": utterance.words[slot.start].start,
                "end": utterance.words[slot.end - 1].end,
                "value": slot.value,
                "role": slot.role,
                "group": slot.group,
            }
            for slot in utterance.slots
        ],
    }


def test_marked_text_is_read_as_files_are(tmp_path: Path):
    script = """
        import { readMarked } from "./marked.js";
        import { toSend } from "./slots.js";
        function answer(marked) {
          try {
            const { text, slots } = readMarked(marked);
            return { text, slots: toSend(slots) };
          } catch { return null; }
        }
    """
    assert answers_of_node(script, MARKED, tmp_path) == [read_here(marked) for marked in MARKED]


def test_slots_stay_on_their_words_while_a_text_is_edited(tmp_path: Path):
    script = """
        import { carried } from "./slots.js";
        const answer = ([before, after, start, end]) =>
          carried(before, after, [{ slot: "city", start, end }]).map((slot) => [slot.start, slot.end]);
    """
    edits = [
        ["to Oslo now", "fly to Oslo now", 3, 7],
        ["to Oslo now", "to Oslo now please", 3, 7],
        ["to Oslo now", "to Oslos now", 3, 7],  # a slot grows with its word
        ["to New York", "to New old York", 3, 11],
        ["to Oslo now", "to now", 3, 7],
        ["to Oslo now", "", 3, 7],
        ["👍 to Oslo", "👍👍🏽 to Oslo", 5, 9],
    ]
    assert answers_of_node(script, edits, tmp_path) == [
        [[7, 11]],
        [[3, 7]],
        [[3, 8]],
        [[3, 15]],
        [],
        [],
        [[7, 11]],
    ]
