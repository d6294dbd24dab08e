"""Small ELMos with random weights, in the form of the official files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

Options = dict[str, Any]


def official_options(**changes: Any) -> Options:
    """Options of the official form; `changes` go to whichever part has the key."""
    options: Options = {
        "lstm": {
            "use_skip_connections": True,
            "n_layers": 2,
            "dim": 9,
            "projection_dim": 5,
            "cell_clip": 3,
            "proj_clip": 3,
        },
        "char_cnn": {
            "activation": "relu",
            "embedding": {"dim": 4},
            "filters": [[1, 2], [2, 3], [3, 4]],
            "n_highway": 2,
            "n_characters": 262,
            "max_characters_per_token": 50,
        },
        "n_tokens_vocab": 458,
    }
    for key, value in changes.items():
        part = next(part for part in (options["lstm"], options["char_cnn"]) if key in part)
        part[key] = value
    return options


def random_weights(options: Options, scale: float = 0.5) -> dict[str, np.ndarray]:
    """By dataset. `scale` is of the LSTMs: a large one drives them into their clips."""
    rng = np.random.default_rng(0)
    cnn, lstm = options["char_cnn"], options["lstm"]
    characters, size, out = cnn["embedding"]["dim"], lstm["dim"], lstm["projection_dim"]
    total = sum(number for _, number in cnn["filters"])
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (261, characters)}
    for index, (width, number) in enumerate(cnn["filters"]):
        shapes |= {f"CNN/W_cnn_{index}": (1, width, characters, number), f"CNN/b_cnn_{index}": (number,)}
    for index in range(cnn["n_highway"]):
        for gate in ("carry", "transform"):
            shapes |= {f"CNN_high_{index}/W_{gate}": (total, total), f"CNN_high_{index}/b_{gate}": (total,)}
    if total != out:
        shapes |= {"CNN_proj/W_proj": (total, out), "CNN_proj/b_proj": (out,)}
    for direction in range(2):
        for layer in range(lstm["n_layers"]):
            root = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes |= {f"{root}/W_0": (2 * out, 4 * size), f"{root}/B": (4 * size,)}
            if out < size:
                shapes |= {f"{root}/W_P_0": (size, out)}
    return {
        name: rng.normal(scale=scale if name.startswith("RNN") else 0.4, size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def write_elmo(folder: Path, *, scale: float = 0.5, **changes: Any) -> tuple[Path, Path]:
    """options.json and weights.hdf5."""
    import h5py

    options = official_options(**changes)
    files = folder / "options.json", folder / "weights.hdf5"
    files[0].write_text(json.dumps(options))
    with h5py.File(files[1], "w") as file:
        for name, values in random_weights(options, scale).items():
            file[name] = values
    return files
