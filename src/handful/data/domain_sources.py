"""The domain sets: utterances of other domains to train on, converted from public corpora; no board is among them.

They lie under `domains/` of the data directory. Each is one JSON object a line with `tokens`, `slots`, `domain` and
`intent` or `intents`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from handful.data.sources import DATA_SETS, DataFile, DataSet

FOLDER = "domains"


@dataclass(frozen=True, slots=True)
class DomainSource:
    """A domain set's files, and how its lines are to be read."""

    data: DataSet
    has_slots: bool = True  # False: the source has no slots, so that its O tags say nothing
    one_bot: bool = False  # its domains are topics of one bot, whose intents name their topic
    unnamed_domain: str | None = None  # of lines that name none
    intent_prefix: str = ""  # a regular expression: what stands before an intent's own name
    intent_names: Mapping[str, str] = field(default_factory=dict)  # of intents that are written without spaces

    def bare_intent(self, intent: str) -> str:
        """What an intent is called, without the domain's or product's name before it."""
        bare = re.sub(rf"\A(?:{self.intent_prefix})(?=.)", "", intent)
        return self.intent_names.get(bare, bare)


def _source(
    name: str,
    title: str,
    licence: str,
    home: str,
    sums: Mapping[str, str],
    *,
    has_slots: bool = True,
    one_bot: bool = False,
    unnamed_domain: str | None = None,
    intent_prefix: str = "",
    intent_names: Mapping[str, str] | None = None,
) -> DomainSource:
    files = tuple(DataFile(f"{FOLDER}/{name}/{path}", None, sha256) for path, sha256 in sums.items())
    converted = f"it was converted from {home}, and the conversion has no public address"
    data = DataSet(name, title, licence, home, files, not_fetched=converted)
    return DomainSource(data, has_slots, one_bot, unnamed_domain, intent_prefix, intent_names or {})


# Its intents are written without spaces, some with "intent" at the end: orderpizzaintent.
_MULTIDOGO_WORDS = (
    "book flight",
    "cancel service",
    "change order",
    "change seat assignment",
    "check balance",
    "check claim status",
    "check offer eligibility",
    "check server status",
    "close account",
    "closing greeting",
    "dispute charge",
    "expense report",
    "get boarding pass",
    "get information",
    "get promotions",
    "get proof of insurance",
    "get routing number",
    "get seat info",
    "open account",
    "opening greeting",
    "order breakfast",
    "order burger",
    "order checks",
    "order dessert",
    "order drink",
    "order pizza",
    "order salad",
    "order side",
    "provide receipt",
    "replace card",
    "report broken phone",
    "report broken software",
    "report lost card",
    "request credit limit increase",
    "software update",
    "start order",
    "start service",
    "stop order",
    "thank you",
    "transfer money",
    "transfer service",
    "update account info",
    "update address",
    "upgrade service",
    "view bills",
    "view data usage",
)
_MULTIDOGO_INTENTS = {name.replace(" ", "") + ending: name for name in _MULTIDOGO_WORDS for ending in ("", "intent")}

_SGD_REWORDINGS = {
    f"schemas/sgd_x/data/{part}/schema.json": sha256
    for part, sha256 in (
        ("v1/dev", "be8926b8fa31f4987b7584a5f1a604fb8755473a09585731a5071ba639844611"),
        ("v1/test", "05e6021b348db0ebb81d628db5b114f73a0a34005694bc558318fd0b33c9b02c"),
        ("v1/train", "aa8dc37ca970c498215b58339d83c3e94e92cea5262161e3a8aa612763135cd8"),
        ("v2/dev", "1ba4a785e4a21cad45a190c786493a0ad431af38f654ae36ebdeac2c93cec021"),
        ("v2/test", "8ee9956eb92e74d7b3ef0a47574d794bff3ff74fbda7b684b2ae02ea3609db51"),
        ("v2/train", "93731b407eb7e01679381148818ef16c9a0640664cb7fd792e1a53acf39f3938"),
        ("v3/dev", "7b73696f1623913ce78ac18896ba2dc79734d2b05f46e88b74b86ae532ece566"),
        ("v3/test", "52b6283417da548c9217299e597231db7916b3cd26209f2ee0c0ddabc88efdf2"),
        ("v3/train", "4a7a6d0ba8eff92543494ca682c43333d57a223bfbcad17e35f0b4d0e211e321"),
        ("v4/dev", "1a07a62adccf5e2f30bec7c1232acb3376cb05aad51a72bb4a90777114a5c77d"),
        ("v4/test", "c2d0d277605995f37044474a2f511ff8f583bfcb52cac26ee383da28057a76bf"),
        ("v4/train", "2a4fc1d937a514536fdea0033069eb4ff6e9bcd4a34bfebb20cb5c49d3ef7cba"),
        ("v5/dev", "aabc078710de511a021766eb062a2158a748a44d557f831382840ec0ae5487e2"),
        ("v5/test", "922c950c94001996229cf93cbdcc6d6dbc2822df6ba1d20b9d4287c87b901773"),
        ("v5/train", "0a9fae5501e2950321a8d0d5622078d0c278f7e28690698f24bb1b33f32832ca"),
    )
}

_SOURCES = (
    _source(
        "sgd_intent_turns_cat",
        "user turns of 45 services in which an intent is said: 34,714 lines",
        "CC BY-SA 4.0",
        "google-research-datasets/dstc8-schema-guided-dialogue @ e852981a",
        {
            "dev.jsonl": "6b691598a0ecfe3017e954d5637660ab030bfdacb5a4ea4a04ea781d506eeef1",
            "test.jsonl": "4fd626054b8f8d86260486b780f2fc8a64971aa9126a1d445880495a01c18128",
            "train.jsonl": "321f6307fba188c7ebd29ee8079bb8df3bbd66f25cb157f78e2550a4c086a69e",
            "schemas/dev/schema.json": "8fee8b1211500a4a1fb071765150e3267d20148bcad72a22c04bb1fdcd649366",
            "schemas/test/schema.json": "0b4af32e01695aec4788681fe6b22fb7ee908907269f5ac7167d01f4c4132bcb",
            "schemas/train/schema.json": "97b6c21673aa7e5c2d1ceef52aa35170c565223cdcbf33bb24c69739bda04a82",
            **_SGD_REWORDINGS,
        },
        intent_prefix=r"[A-Za-z]+\.",
    ),
    _source(
        "topv2_messaging_music_timer",
        "the messaging, music and timer domains of TOPv2: 16,890 lines",
        "CC BY-SA 4.0",
        "quocdat32461997/prompt-semantic-parsing @ 63d6463e",
        {
            "dev.jsonl": "10e5770c8617cdb2e8d086aed9c86e5eb4d532d3e9f2d4341b07cdb5a943c317",
            "test.jsonl": "a037d9c417cf219b5b229d5d06aa916b0f6979d90f62f6c190267f91bc09c7c8",
            "train.jsonl": "26e618423e4dccf916273c45cde4065e2b64dbc186c34b5e23a5e57c5ad6e694",
        },
    ),
    _source(
        "multidogo",
        "customer-service chats of six domains: 41,574 lines",
        "CDLA-Permissive 1.0",
        "awslabs/multi-domain-goal-oriented-dialogues-dataset @ baa30639",
        {
            "dev.jsonl": "82dc6dd23929ec75f792e139b6c0f00fa018a8a7251559d5ae3befe685ed077a",
            "test.jsonl": "539066d3cc03829fc808406d589553495b6f64a0b587f32521ba6ca1f8b4ee82",
            "train.jsonl": "00b61ffcbaedfb24f5d3fec42f4a89d9b002186b7bd3f4d94b323fa59ad24ddf",
        },
        intent_names=_MULTIDOGO_INTENTS,
    ),
    _source(
        "ms_skills_lu",
        "training data of seventeen skills of an assistant: 10,513 lines",
        "MIT",
        "microsoft/botframework-skills @ 1d51db8a",
        {
            "train.jsonl": "cdbcaed908ec166329dbf07ea441d0d0301636a6caf4a445908dc626c5640887",
        },
    ),
    _source(
        "luis_samples",
        "sample bots for LUIS: 1,172 lines",
        "MIT",
        "Azure-Samples/cognitive-services-language-understanding @ ca61c2c3, microsoft/LUIS-Samples @ a7435ad4",
        {
            "train.jsonl": "42b2a1f8416034e039a93ac0eb8d18395b36aa4fcc23f100ccfdd81e03b58aef",
        },
        intent_prefix=r"[A-Za-z]+\.",
        unnamed_domain="unnamed",
    ),
    _source(
        "multiwoz21",
        "user turns of MultiWOZ 2.1 (development and test dialogues): 14,124 lines",
        "MIT",
        "thu-coai/ConvLab-2 @ b014b81f",
        {
            "test.jsonl": "191df24087283555dbfa7beb08749faafd2ebd379e0875c6056eb88f4bb7a51c",
            "train.jsonl": "839516da7ef59cabd8e8f17a0cb3316f50465f82d60caff9a0689314745b6f83",
        },
        one_bot=True,
    ),
    _source(
        "camrest676",
        "user turns about restaurants: 1,866 lines",
        "CC BY 4.0",
        "ConvLab/ConvLab-3 @ 2a168fc9",
        {
            "dev.jsonl": "7dba1927fcc82d945dad5496ba3691c712c58567db8adf32bee267904c8ac7ad",
            "test.jsonl": "7e79e7f0bc9dc1c8057ef5ba7cab1747af097a23aa27fff2990e0b1bafa5ccac",
            "train.jsonl": "f1f4e5860545789b43d074346f2afb4d73073ac098ff7e001de26aee8128d290",
        },
    ),
    _source(
        "homeassistant_en",
        "smart-home commands: 1,074 lines",
        "CC BY 4.0",
        "home-assistant/intents @ aa550032",
        {
            "train.jsonl": "88c23dfbd3fc1a3f3d1023c0671349a285ccb0a91a5851bfdeba48815de41f76",
        },
        intent_prefix="Hass",
    ),
    _source(
        "braun2017",
        "questions to three support bots: 452 lines",
        "CC BY-SA 3.0",
        "sebischair/NLU-Evaluation-Corpora @ 9bac08b9",
        {
            "test.jsonl": "9d8251b56ebe98d9f9e0916e9060b6b6a5364f49341165d1f9fb7405a896ec21",
            "train.jsonl": "dfe2cc66f687dd6a5cc45bb2e8639e04e8b27347d60b59e649c62e6222a78b07",
        },
    ),
    _source(
        "dstc11_track2",
        "requests to insurers and banks, intents only: 2,407 lines",
        "CDLA-Permissive 2.0",
        "amazon-science/dstc11-track2-intent-induction @ 969b95a0",
        {
            "train.jsonl": "8dab85e51d94712b04eccc1bf4d712a515f58bd7eeba53de861f1ae5f57d3b68",
        },
        has_slots=False,
    ),
    _source(
        "crossner",
        "names in encyclopaedic text of five domains: 5,239 lines",
        "MIT",
        "zliucr/CrossNER @ 2e7ba2a7",
        {
            "dev.jsonl": "aa3f3cf38e3944eaef54df6054ebc5287ddb40351519f067817ccef20ba1fdab",
            "test.jsonl": "97b8012b8592af242a8ad363cb5da738f827b25c7e46bca725e67f3d7537eb8d",
            "train.jsonl": "a9a1218194b2c84f248bf255015a70efbe65419a95b09aa0348a9a6eb6d4071d",
        },
    ),
    _source(
        "wnut17",
        "names in messages of social media: 5,576 lines",
        "CC BY 4.0",
        "leondz/emerging_entities_17 @ e52a2d2a",
        {
            "dev.jsonl": "1be4e2921d95323177837c59516cf26b17448115190e0b9562d9fa46f573dd5c",
            "test.jsonl": "2b4f2c80e97b7417da8d3a9f28e60b20d4ee23ed64c2189776f9ab5f9a549fc1",
            "train.jsonl": "62ef365c2c4473c956f7d5b0050e0e23a9d9914617a9232f3d0ccfdf7899b9ac",
        },
        unnamed_domain="social media",
    ),
)

DOMAIN_SETS: Mapping[str, DomainSource] = {source.data.name: source for source in _SOURCES}
KNOWN_SETS = (*DATA_SETS, *(source.data for source in _SOURCES))
