"""The last state of a run in one file, complete enough to go on as if nothing had happened.

Everything is numbers: arrays in a safetensors file, and counters and generators as JSON in its header. The file is
written under a temporary name, flushed, and then renamed, so a kill leaves the old state or the new one.
"""

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from mandala_env.opponents.base import Opponent
from mandala_env.opponents.checkpoint import NetworkOpponent
from mandala_env.policies.checkpoint import write_bytes
from training.league import Member, restore_snapshot
from training.selfplay import SelfPlayPPO

FORMAT = 2


class StateError(ValueError):
    """A state file that cannot be gone on from; the message says what was expected."""


def save_state(path: Path, model: SelfPlayPPO, config: dict[str, Any]) -> None:
    """Write the run's state; `config` is kept to refuse going on with another one."""
    arrays: dict[str, np.ndarray] = {}
    for name, value in model.network.state_dict().items():
        arrays[f"network/{name}"] = value.detach().numpy()
    for index, moments in model.policy.optimizer.state_dict()["state"].items():
        for name, value in moments.items():
            arrays[f"optimizer/{index}/{name}"] = value.numpy().reshape(-1)
    for index, shard in enumerate(model.shards):
        arrays[f"shard/{index}/states"] = np.frombuffer(shard.batch.states.tobytes(), np.uint8)
        arrays[f"shard/{index}/pickers"] = shard.pickers["generator"].copy()
        for name in ("slots", "seats", "num_seats"):
            arrays[f"shard/{index}/{name}"] = getattr(shard, name)
    for slot, member in enumerate(model.league.members):
        if member.is_snapshot:
            assert isinstance(member.opponent, NetworkOpponent)
            for name, value in member.opponent.network.state_dict().items():
                arrays[f"league/{slot}/{name}"] = value.numpy()
    header = {
        "format": FORMAT,
        "config": config,
        "iteration": model.iteration,
        "num_timesteps": model.num_timesteps,
        "seconds": model.seconds(),
        "num_updates": model._n_updates,
        "shuffler": model.shuffler.bit_generator.state,
        "shards": [shard.rng.bit_generator.state for shard in model.shards],
        "league": [
            {field.name: getattr(member, field.name) for field in fields(member) if field.name != "opponent"}
            for member in model.league.members
        ],
        "payoffs": model.league.payoffs,
    }
    unfinished = path.with_name(f".{path.name}.unfinished")
    content = save({name: np.ascontiguousarray(a) for name, a in arrays.items()}, {"state": json.dumps(header)})
    write_bytes(unfinished, content)
    os.replace(unfinished, path)


def read_state(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a state file."""
    try:
        with safe_open(path, "numpy") as file:
            header = json.loads((file.metadata() or {})["state"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise StateError(f"{path} is not the state of a run: {error}") from None
    if header.get("format") != FORMAT:
        raise StateError(f"{path}: format is {header.get('format')!r}, expected {FORMAT}")
    return header, arrays


def restore_state(model: SelfPlayPPO, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Put a new model, made with the same config, where the saved one was."""
    model.network.load_state_dict(
        {name: torch.from_numpy(arrays[f"network/{name}"].copy()) for name in model.network.state_dict()}
    )
    _restore_optimizer(model.policy.optimizer, arrays)
    for index, shard in enumerate(model.shards):
        states = np.frombuffer(arrays[f"shard/{index}/states"].tobytes(), model.game.dtype)
        shard.batch.set_states(states)
        shard.pickers["generator"] = arrays[f"shard/{index}/pickers"]
        for name in ("slots", "seats", "num_seats"):
            getattr(shard, name)[:] = arrays[f"shard/{index}/{name}"]
        shard.rng.bit_generator.state = header["shards"][index]
    members = []
    for slot, entry in enumerate(header["league"]):
        if entry["is_snapshot"]:
            prefix = f"league/{slot}/"
            weights = {
                name.removeprefix(prefix): torch.from_numpy(value.copy())
                for name, value in arrays.items()
                if name.startswith(prefix)
            }
            opponent: Opponent = restore_snapshot(model.game, model.network, weights, model.config.seed)
        else:
            opponent = next(m.opponent for m in model.league.members if m.name == entry["name"])
        members.append(Member(opponent=opponent, **entry))
    model.league.members = members
    model.league.payoffs = header["payoffs"]
    model.shuffler.bit_generator.state = header["shuffler"]
    model.iteration, model.num_timesteps = header["iteration"], header["num_timesteps"]
    model._n_updates = header["num_updates"]
    model.seconds_before = header["seconds"]


def _restore_optimizer(optimizer: torch.optim.Optimizer, arrays: dict[str, np.ndarray]) -> None:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, torch.Tensor]] = {}
    for index, parameter in enumerate(parameters):
        prefix = f"optimizer/{index}/"
        moments = {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
        if moments:
            state[index] = {
                name: torch.from_numpy(value.copy()).reshape(() if name == "step" else parameter.shape)
                for name, value in moments.items()
            }
    saved = optimizer.state_dict()
    optimizer.load_state_dict({"state": state, "param_groups": saved["param_groups"]})
