"""Where an encoder's weights lie: the default's package, a folder, HANDFUL_WEIGHTS, or a hub's name."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from handful.encoders import minilm
from handful.errors import CheckpointError
from handful.places import weights_dir

# All that a BERT-like encoder needs; never a pickled file.
_NEEDED = ("config.json", "model.safetensors", "tokenizer*.json", "vocab*", "merges.txt", "special_tokens_map.json")
_HUB_SECONDS = 10.0


def find_weights(name: str) -> Path:
    """The folder of a BERT-like model: by its path, by its name in HANDFUL_WEIGHTS, or from a hub by its name."""
    if name == minilm.NAME:
        return minilm.minilm_folder()
    try:
        tried = [Path(name).expanduser()]
        if (shelf := weights_dir()) is not None:
            tried.append(shelf / name)
        for folder in tried:
            if (folder / "config.json").is_file():
                return folder
        bare = next((folder for folder in tried if folder.is_dir()), None)
    except (OSError, RuntimeError) as error:  # a name that is too long, the home of nobody
        raise CheckpointError(f"the encoder '{name}' cannot be looked for: {error}") from error
    if bare is not None:
        raise CheckpointError(f"{bare}: found no config.json in the folder, expected a BERT-like model")
    return _from_hub(name, tried)


def _from_hub(name: str, tried: list[Path]) -> Path:
    from huggingface_hub.errors import HFValidationError

    looked = ", ".join(str(folder) for folder in tried)
    try:
        return Path(_snapshot(name))
    except HFValidationError as error:
        raise CheckpointError(f"there is no encoder '{name}': no folder at {looked}, and no hub name either") from error
    except Exception as error:
        # The hub's client raises errors of several libraries; all of them mean that the weights are not to be had.
        reason = str(error).strip().split("\n")[0]
        raise CheckpointError(
            f"the encoder '{name}' is not at {looked}, and the hub did not give it: {reason}; "
            "name a folder with config.json, model.safetensors and tokenizer.json, or set HANDFUL_WEIGHTS"
        ) from error


def _snapshot(name: str) -> str:
    """What the hub has now; where it does not answer, what it gave before."""
    import huggingface_hub

    try:
        # snapshot_download by itself waits for a silent hub without an end.
        huggingface_hub.model_info(name, timeout=_HUB_SECONDS)
    except Exception:
        with suppress(Exception):
            return huggingface_hub.snapshot_download(name, allow_patterns=list(_NEEDED), local_files_only=True)
        raise
    return huggingface_hub.snapshot_download(name, allow_patterns=list(_NEEDED))
