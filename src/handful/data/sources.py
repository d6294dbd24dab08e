"""The public data sets: where each file is had, under which licence, and the sum it must have."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from handful.errors import ConfigError, listed

_HEX = re.compile(r"[0-9a-f]{64}")
_RAW = "https://raw.githubusercontent.com"
# Commits, not branches: the bytes behind these addresses never change.
_JOINTBERT = f"{_RAW}/monologg/JointBERT/00324f60dda4a491b2913bc3065ae93966caea3f"
_FACEBOOK = f"{_RAW}/Elkaito/JointBERT/decb8d68f6be9cd453fea8d30695fe5b04fe7eb2"
_CLINC = f"{_RAW}/clinc/oos-eval/828f8093932c8fe6ca7936c3d2e52903b1c523de"
_TOP_REPO = "R-Sharma-coder/TOP-Dataset-Post-Processing-Evaluation"
_TOP = f"{_RAW}/{_TOP_REPO}/afe25cefaa1b501c2889286c7c193c37920c79ea"


@dataclass(frozen=True, slots=True)
class DataFile:
    path: str  # below the data directory, with forward slashes
    url: str | None  # None: a member of its data set's archive, or of a data set that is not fetched
    sha256: str

    def __post_init__(self) -> None:
        parts = PurePosixPath(self.path)
        if parts.is_absolute() or ".." in parts.parts or not parts.name:
            raise ValueError(f"'{self.path}' does not stay below the data directory")
        if not _HEX.fullmatch(self.sha256):
            raise ValueError(f"{self.path}: '{self.sha256}' is not a sha256 sum")

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip that holds files of a data set; it has no sum of its own, its members have."""

    path: str  # where it lies while it is fetched, below the data directory
    url: str
    largest_member: int = 64 * 2**20  # bytes; a few times what any honest member needs


@dataclass(frozen=True, slots=True)
class DataSet:
    name: str
    title: str
    licence: str
    home: str
    files: tuple[DataFile, ...]
    archive: Archive | None = None
    not_fetched: str | None = None  # why there is nothing to fetch

    def __post_init__(self) -> None:
        if self.not_fetched is not None:
            return
        packed = [file.name for file in self.files if file.url is None]
        if packed and self.archive is None:
            raise ValueError(f"{self.name}: no address and no archive for {listed(packed)}")
        if len(set(packed)) < len(packed):
            # Members are picked by base name alone.
            raise ValueError(f"{self.name}: two members of the archive share a name")


def _below(name: str, base: str, sums: Mapping[str, str]) -> tuple[DataFile, ...]:
    return tuple(DataFile(f"{name}/{path}", f"{base}/{path}", sha256) for path, sha256 in sums.items())


_SNIPS_SUMS = {
    "train/seq.in": "04ad1e3f2121d83c6478f9a4b17d2dbdc21d06d6127f73cb7af835ed733f9855",
    "train/seq.out": "fd5f2121d8055827e5d6b3d3bac30f3d7e94e82a5d437751960cbdd9e1b4f6d3",
    "train/label": "bfd7df6cf9dd76c5da5d8b61bc85f90386197bdd3d7510c1d324c051537b962f",
    "dev/seq.in": "64e0f6d8ad8aab3a3828164d7d53731a0993d3ca1aed437ceaca6d3d568d410e",
    "dev/seq.out": "712e6d34feb8d52d208b820a5f8bae6e6ff990f08374507dfde22de389088319",
    "dev/label": "9c1dd041216f647bcfca838aaf1a48eb5781e4404256d31ff07cd38a5436c52f",
    "test/seq.in": "c1e341173fcea2951a8ca371956a6f81c76de87b9583c62eb87edd6158fa3a7c",
    "test/seq.out": "58c07c9097d5e1f78889765c2a535a160f6455b90b3142055c8051847afcca47",
    "test/label": "37a26da3ad079bb41c42c85a3a8f827eb47efec4c5917ce5d08f4b2736e4f830",
}
_ATIS_SUMS = {
    "train/seq.in": "3a670980841b21ab39088b2595efc17d487cdc45769c075a3e5f9458bba28c7f",
    "train/seq.out": "14c7131bd66562f797dbd7189bc7358f0cf354c6afb0785a9ab973c35b58f34c",
    "train/label": "d0a771547665eecbdf9f96ea015ef07d1f6ee9f063e861020dafabb3c2a04377",
    "dev/seq.in": "c7435b96e7948393608c34819628e863c5338f11ca68e8f896d2cc041d8e17f8",
    "dev/seq.out": "83ccff3e36f83a993f8e5b5b82adf3256076f234abda4d784051381d7ac76922",
    "dev/label": "06957cfe6fdffac84f8280bc3a1f8ca85c85631b363817aa4543aac611f8addf",
    "test/seq.in": "4b2119fc59c37f9398c6605db435d4f467505009e6ee3e5af04fed09f39dc397",
    "test/seq.out": "a4690d6bceadc06876d1ff99bc401744aa981cb321e598ae12a3859d7be53254",
    "test/label": "ce4bfe6590d9498e1078f30b4137d3e8b3e94277b444b26360c0bf2e9e282761",
}
_FACEBOOK_SUMS = {
    "train/seq.in": "b333819351c8afe2bb89c8b209f7e4b750404832c7c0f268eb3a60f32d30fed1",
    "train/seq.out": "033928b218f35f6e4db9c20433d994a61622e524222072ed618b38a61e419554",
    "train/label": "047937c7ed5599c9f679711b582b6b565cf2d605fc805e1071c2d4a12862e8bc",
    "dev/seq.in": "2bb3e4d97731523344c8daf74f1f943e1ba18b184a3c38c3415d007e039fc454",
    "dev/seq.out": "241e2cd943045a9cdabd71f631c8ac7503cb4dae646110dc5ae99e1dfd7c9eb5",
    "dev/label": "da3de627c98ac4d5b857caa61080eb4064595a3cb98d21570a698e78bd7b4bcc",
    "test/seq.in": "d817a198150249672daaf2468f42b5cfa3836a0711ef75f7dd95bc43aad324b0",
    "test/seq.out": "367a4f78572de4e6bf6b7b8d9991eede990e2c5459ebbc88d7058a86492a780b",
    "test/label": "46b395023aae047afd212dce1a80976f7e1144f72d822292920c9bdcf88241b9",
}

SNIPS = DataSet(
    name="snips",
    title="SNIPS: 14,484 utterances, 7 intents of a voice assistant",
    licence="CC0",
    home="https://github.com/monologg/JointBERT",
    files=_below("snips", f"{_JOINTBERT}/data/snips", _SNIPS_SUMS),
)
ATIS = DataSet(
    name="atis",
    title="ATIS: 5,871 questions about flights",
    licence="LDC origin, widely redistributed: check that you may use it",
    home="https://github.com/monologg/JointBERT",
    files=_below("atis", f"{_JOINTBERT}/data/atis", _ATIS_SUMS),
)
TOP = DataSet(
    name="top",
    title="TOP: 44,783 utterances about events and navigation, as nested trees",
    licence="CC-BY-SA",
    home=f"https://github.com/{_TOP_REPO}",
    files=(
        DataFile("top/train.tsv", None, "b1a5ca637ed8c75cdbddd6d6329b8248ccd3e34ca08e505eb05ec79242d41802"),
        DataFile("top/eval.tsv", None, "c02f0c5e2c598bc7927e8ba5e291793d6776e2e9c02d18eb45e6c372504d2a5b"),
        DataFile("top/test.tsv", None, "3b4504355b36de9ae603084ee1712f9d0a71a1eec8749984c4743e4e41ba45d0"),
    ),
    archive=Archive("top/semanticparsingdialog.zip", f"{_TOP}/semanticparsingdialog.zip"),
)
FB_MULTILINGUAL_EN = DataSet(
    name="fb_multilingual_en",
    title="Facebook multilingual, English part: 43,323 utterances about alarms, reminders and weather",
    licence="CC-BY-SA",
    home="https://github.com/Elkaito/JointBERT",
    files=_below("fb_multilingual_en", f"{_FACEBOOK}/data/facebook", _FACEBOOK_SUMS),
)
CLINC150 = DataSet(
    name="clinc150",
    title="CLINC150: 150 intents and out-of-scope queries, no slots",
    licence="CC BY 3.0",
    home="https://github.com/clinc/oos-eval",
    files=_below(
        "clinc150",
        f"{_CLINC}/data",
        {"data_full.json": "36923c3705a59e08fe9c3883d8bc2dd966ef93e22cb78ac41171782a698d56e0"},
    ),
)

DATA_SETS = (SNIPS, ATIS, TOP, FB_MULTILINGUAL_EN, CLINC150)


def named(name: str) -> DataSet:
    for data_set in DATA_SETS:
        if data_set.name == name:
            return data_set
    known = listed(data_set.name for data_set in DATA_SETS)
    raise ConfigError(f"there is no data set named '{name}'; known are {known}")


def sum_of(path: Path) -> str:
    """The sha256 of a file, as 64 hex digits."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def verify(data_set: DataSet, directory: Path) -> list[str]:
    """What is wrong with the files of a data set in `directory`, one line each; empty if all is well."""
    faults: list[str] = []
    for file in data_set.files:
        target = directory / file.path
        if not target.is_file():
            faults.append(f"{file.path}: missing")
        elif (found := sum_of(target)) != file.sha256:
            faults.append(f"{file.path}: sha256 is {found}, expected {file.sha256}")
    return faults
