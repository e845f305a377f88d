"""The file format of a trained player: a folder with weights in safetensors and everything else in JSON.

    model.safetensors   the network's parameters by name
    config.json         format, game, fingerprint of its observations and actions, network, how it was trained
    metrics.json        its scores
    README.md           the model card

Nothing in it is ever executed or unpickled. A folder is written under a temporary name and then renamed.
"""

import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from mandala_env.core.game import Game
from mandala_env.files import find_folder, hidden, read_file, write_file
from mandala_env.policies.network import NetworkConfig, PolicyValueNetwork, empty_network, network_with
from mandala_env.words import shown

FORMAT = 1
LARGEST_CONFIG = 2**20  # bytes
LARGEST_MODEL = 2**28  # so many bytes are 67 million parameters


class CheckpointError(ValueError):
    """A folder that is not a checkpoint of this game; the message says what was expected."""


def save_checkpoint(
    folder: Path, game: Game, network: PolicyValueNetwork, *, training: dict, metrics: dict, card: str
) -> None:
    """Write a checkpoint; an older one of that name is replaced only when the new one is complete."""
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished, old = hidden(folder, "unfinished"), hidden(folder, "old")
    shutil.rmtree(unfinished, ignore_errors=True)  # a save that was killed
    unfinished.mkdir()
    try:
        weights = {name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()}
        write_file(unfinished / "model.safetensors", save(weights))
        config = {
            "format": FORMAT,
            "game": game.id,
            "options": dict(game.options),
            "fingerprint": game.fingerprint,
            "network": asdict(network.config),
            "training": training,
        }
        write_file(unfinished / "config.json", json.dumps(config, indent=2) + "\n")
        write_file(unfinished / "metrics.json", json.dumps(metrics, indent=2) + "\n")
        write_file(unfinished / "README.md", card)
        replace_folder(unfinished, folder, old)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def replace_folder(new: Path, folder: Path, old: Path) -> None:
    """Give a complete folder its final name; what had the name before is deleted afterwards, or put back on failure.

    Between the two renames the folder has the name `old` only: a kill there leaves it to `find_folder`.
    """
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.rename(folder, old)
    try:
        os.rename(new, folder)
    except BaseException:
        if old.exists():
            os.rename(old, folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def load_checkpoint(folder: str | Path, game: Game) -> PolicyValueNetwork:
    """The network of a checkpoint, for a game; raises CheckpointError that says both sides when they do not fit."""
    folder = find_folder(folder)
    config = read_config(folder)
    expected = {"format": FORMAT, "game": game.id, "fingerprint": game.fingerprint}
    for key, value in expected.items():
        if config.get(key) != value:
            made_for = f"it was made for {shown(config.get('game'))} with the options {shown(config.get('options'))}"
            needed = f"{value!r} for {game.id} with {dict(game.options)}"
            raise CheckpointError(f"{folder}: {key} is {shown(config.get(key))}, expected {needed}; {made_for}")
    try:
        size = NetworkConfig(**config["network"])
    except (TypeError, ValueError, KeyError) as error:
        raise CheckpointError(f"{folder}/config.json: network: {str(error)[:300]}") from None
    weights = read_weights(folder / "model.safetensors")
    with torch.device("meta"):  # shapes without memory: whatever the config asks for, the file is compared first
        wanted = empty_network(game, size).state_dict()
    for name in sorted(wanted.keys() | weights.keys()):
        ours, theirs = wanted.get(name), weights.get(name)
        if ours is None or theirs is None or ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            raise CheckpointError(f"{folder}: {name} is {describe(theirs)}, expected {describe(ours)}")
        if not torch.isfinite(theirs).all():
            raise CheckpointError(f"{folder}: {name} has numbers that are not finite")
    return network_with(game, size, weights)


def describe(tensor: torch.Tensor | None) -> str:
    """A tensor's type and shape in words."""
    return "absent" if tensor is None else f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


def read_config(folder: Path) -> dict[str, Any]:
    """The config.json of a checkpoint's folder."""
    path = find_folder(folder) / "config.json"
    try:
        config = json.loads(read_file(path, LARGEST_CONFIG).decode())
    except OSError as error:
        raise CheckpointError(f"{folder} is not a checkpoint: {error.strerror}: {path.name}") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: expected the JSON of a checkpoint's config: {str(error)[:300]}") from None
    if not isinstance(config, dict):
        raise CheckpointError(f"{path}: expected an object, not {type(config).__name__}")
    return config


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file, as copies in memory."""
    try:
        return load(read_file(path, LARGEST_MODEL))
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None
    except (SafetensorError, KeyError, RuntimeError, ValueError) as error:
        raise CheckpointError(f"{path}: expected a safetensors file: {str(error)[:300]}") from None
