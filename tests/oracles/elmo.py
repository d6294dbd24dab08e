"""ELMo by the book: float64, one word, one character, one gate at a time, straight from the official files.

Written from bilm-tf's format: https://github.com/allenai/bilm-tf. Slow on purpose.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value))


def clip(value: float, limit: float | None) -> float:
    return value if limit is None else max(-limit, min(limit, value))


def character_ids(word: str | int, room: int) -> list[int]:
    """Ids with bilm-tf's shift: 0 is a mask, a byte is itself plus one. An int is a sentence's beginning or end."""
    raw = [word] if isinstance(word, int) else list(word.encode("utf-8"))
    ids = [258]
    for byte in raw:
        if len(ids) == room - 1:
            break
        ids.append(byte)
    ids.append(259)
    while len(ids) < room:
        ids.append(260)
    return [number + 1 for number in ids]


class Elmo:
    def __init__(self, options: Path, weights: Path) -> None:
        self.options = json.loads(options.read_text())
        self.weights: dict[str, Vector] = {}

        def keep(name: str, item: object) -> None:
            if isinstance(item, h5py.Dataset):
                self.weights[name] = np.array(item, dtype=np.float64)

        with h5py.File(weights, "r") as file:
            file.visititems(keep)

    def layers(self, words: Sequence[str]) -> Vector:
        """[T] -> [T, layers, 2p]."""
        tokens = [self.token(word) for word in [256, *words, 257]]
        forward = self.direction(0, tokens)
        backward = [list(reversed(layer)) for layer in self.direction(1, list(reversed(tokens)))]
        rows = []
        for place in range(1, len(tokens) - 1):
            row = [np.concatenate([tokens[place], tokens[place]])]
            for ahead, behind in zip(forward, backward, strict=True):
                row.append(np.concatenate([ahead[place], behind[place]]))
            rows.append(row)
        return np.array(rows)

    def token(self, word: str | int) -> Vector:
        cnn = self.options["char_cnn"]
        table = np.vstack([np.zeros((1, cnn["embedding"]["dim"])), self.weights["char_embed"]])
        characters = [table[number] for number in character_ids(word, cnn["max_characters_per_token"])]
        features: list[float] = []
        for index, (width, number) in enumerate(cnn["filters"]):
            kernel, bias = self.weights[f"CNN/W_cnn_{index}"], self.weights[f"CNN/b_cnn_{index}"]
            for feature in range(number):
                values = []
                for start in range(len(characters) - width + 1):
                    total = bias[feature]
                    for offset in range(width):
                        total += characters[start + offset] @ kernel[0, offset, :, feature]
                    values.append(total)
                best = max(values)
                features.append(max(best, 0.0) if cnn["activation"] == "relu" else math.tanh(best))
        vector = np.array(features)
        for index in range(cnn["n_highway"]):
            vector = self.highway(index, vector)
        if "CNN_proj/W_proj" in self.weights:
            vector = vector @ self.weights["CNN_proj/W_proj"] + self.weights["CNN_proj/b_proj"]
        return vector

    def highway(self, index: int, vector: Vector) -> Vector:
        root = f"CNN_high_{index}"
        carry = vector @ self.weights[f"{root}/W_carry"] + self.weights[f"{root}/b_carry"]
        transform = vector @ self.weights[f"{root}/W_transform"] + self.weights[f"{root}/b_transform"]
        found = []
        for place in range(len(vector)):
            gate = sigmoid(carry[place])
            found.append(gate * max(transform[place], 0.0) + (1.0 - gate) * vector[place])
        return np.array(found)

    def direction(self, direction: int, inputs: list[Vector]) -> list[list[Vector]]:
        found = []
        for layer in range(self.options["lstm"]["n_layers"]):
            outputs = self.lstm(f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell", inputs)
            if layer > 0 and self.options["lstm"]["use_skip_connections"]:
                outputs = [new + old for new, old in zip(outputs, inputs, strict=True)]
            found.append(outputs)
            inputs = outputs
        return found

    def lstm(self, root: str, inputs: list[Vector]) -> list[Vector]:
        options = self.options["lstm"]
        size = options["dim"]
        kernel, bias = self.weights[f"{root}/W_0"], self.weights[f"{root}/B"]
        projection = self.weights.get(f"{root}/W_P_0")
        state, memory = np.zeros(options["projection_dim"]), np.zeros(size)
        outputs = []
        for vector in inputs:
            both = np.concatenate([vector, state])
            hidden = np.zeros(size)
            for unit in range(size):
                i = float(both @ kernel[:, 0 * size + unit] + bias[0 * size + unit])
                j = float(both @ kernel[:, 1 * size + unit] + bias[1 * size + unit])
                f = float(both @ kernel[:, 2 * size + unit] + bias[2 * size + unit])
                o = float(both @ kernel[:, 3 * size + unit] + bias[3 * size + unit])
                cell = sigmoid(f + 1.0) * memory[unit] + sigmoid(i) * math.tanh(j)
                memory[unit] = clip(cell, options.get("cell_clip"))
                hidden[unit] = sigmoid(o) * math.tanh(memory[unit])
            if projection is None:
                state = hidden
            else:
                state = np.array([clip(value, options.get("proj_clip")) for value in hidden @ projection])
            outputs.append(state)
        return outputs
