"""The last state of a run in one file, complete enough to go on as if nothing had happened.

Everything is numbers: arrays in a safetensors file, and counters and generators as JSON in its header. A kill during a
save leaves the old state or the new one. What is read is believed only as far as it can be checked: the games of a file
go to compiled code, which would follow an impossible one out of its arrays.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mandala_env.core.game import Game
from mandala_env.core.position import Reader, require
from mandala_env.files import read_file, write_file
from mandala_env.opponents.base import Opponent, number
from mandala_env.opponents.checkpoint import NetworkOpponent
from mandala_env.policies.checkpoint import LARGEST_CONFIG, LARGEST_MODEL
from training.league import ENTRY, Member, restore_snapshot
from training.rollout import NOBODY
from training.selfplay import SelfPlayPPO

FORMAT = 2
LARGEST_RUN = 2**30  # bytes
LARGEST_STATE = 2 * LARGEST_RUN  # past selves that retired while games against them run come on top
LARGEST_NUMBER = float(np.finfo(np.float32).max)
COUNTERS = ("iteration", "num_timesteps", "num_updates")
HEADER = ("format", "config", *COUNTERS, "seconds", "shuffler", "shards", "league", "payoffs")


class StateError(ValueError):
    """A state file that cannot be gone on from; the message says what was expected."""


def check_size(model: SelfPlayPPO) -> None:
    """Raise ValueError for a run whose state or player would be too large to be read again."""
    weights = sum(value.numel() * value.element_size() for value in model.network.state_dict().values())
    league = model.config.league
    num_snapshots = league.max_snapshots if league.share > 0 else 0
    needed = {
        "player": (weights, LARGEST_MODEL),
        "state": ((3 + num_snapshots) * weights + sum(s.batch.states.nbytes for s in model.shards), LARGEST_RUN),
    }
    for name, (size, largest) in needed.items():
        if size > largest - LARGEST_CONFIG:
            raise ValueError(
                f"a network of {weights >> 20:,} MiB, {num_snapshots} past selves and {model.n_envs:,} games make "
                f"a {name} of {size >> 20:,} MiB; one of at most {largest >> 20:,} MiB can be read again"
            )


def save_state(path: Path, model: SelfPlayPPO, config: dict[str, Any]) -> None:
    """Write the run's state; `config` is kept to refuse going on with another one."""
    arrays: dict[str, np.ndarray] = {}
    for name, value in model.network.state_dict().items():
        arrays[f"network/{name}"] = value.detach().numpy()
    for index, moments in model.policy.optimizer.state_dict()["state"].items():
        for name, value in moments.items():
            arrays[f"optimizer/{index}/{name}"] = value.numpy().reshape(-1)
    generators = []
    for index, shard in enumerate(model.shards):
        saved = shard.saved()
        generators.append(saved.pop("rng"))
        arrays |= {f"shard/{index}/{name}": array for name, array in saved.items()}
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
        "shards": generators,
        "league": model.league.entries(),
        "payoffs": model.league.payoffs,
    }
    write_file(path, save({name: np.ascontiguousarray(a) for name, a in arrays.items()}, {"state": json.dumps(header)}))


def read_state(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a state file."""
    try:
        content = read_file(path, LARGEST_STATE)
        arrays = load(content)
        size = int.from_bytes(content[:8], "little")
        header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["state"])
    except (OSError, SafetensorError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise StateError(f"{path} is not the state of a run: {type(error).__name__}: {str(error)[:300]}") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else header
        raise StateError(f"{path}: format is {str(found)[:60]}, expected {FORMAT}")
    if not isinstance(header.get("config"), dict):
        raise StateError(f"{path}: expected the config of the run")
    return header, arrays


def restore_state(model: SelfPlayPPO, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Put a new model, made with the same config, where the saved one was; raises StateError if it cannot be there."""
    try:
        _restore(model, Reader(header, HEADER, "header"), arrays)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        what = f"{type(error).__name__}: {str(error)[:300]}"
        raise StateError(f"not the state of a run with this config: {what}") from None


def _restore(model: SelfPlayPPO, header: Reader, arrays: dict[str, np.ndarray]) -> None:
    model.network.load_state_dict(_weights(arrays, "network/", model))
    _restore_optimizer(model.policy.optimizer, arrays)
    generators = header.items("shards", len(model.shards))
    for index, shard in enumerate(model.shards):
        prefix, n = f"shard/{index}/", len(shard.batch)
        raw = _take(arrays, f"{prefix}states", np.uint8, (n * model.game.dtype.itemsize,))
        shard.batch.set_states(_checked(model.game, raw.view(model.game.dtype)))
        shard.pickers["generator"] = _take(arrays, f"{prefix}pickers", np.uint64, (n,))
        bounds = {
            "slots": (NOBODY, len(header.value("league")) - 1),
            "seats": (0, model.game.num_players - 1),
            "num_seats": (1, model.game.num_players - 1),
        }
        for name, (lowest, highest) in bounds.items():
            array = getattr(shard, name)
            array[:] = _take(arrays, f"{prefix}{name}", array.dtype, array.shape, lowest, highest)
        shard.rng.bit_generator.state = generators[index][1]
    entries = header.value("league")
    members = [_member(model, slot, entry, arrays) for slot, entry in enumerate(entries)]
    require(sum(not m.is_snapshot for m in members) == len(model.league.config.scripted), "league: a member is missing")
    model.league.members = members
    model.league.payoffs = {
        row: {column: number(share, "payoffs", 0, 1) for column, share in shares.items()}
        for row, shares in dict(header.value("payoffs")).items()
    }
    model.shuffler.bit_generator.state = header.value("shuffler")
    model.iteration, model.num_timesteps, model._n_updates = (header.whole(name, 0, 2**62) for name in COUNTERS)
    model.seconds_before = number(header.value("seconds"), "seconds", 0, 1e12)


def _member(model: SelfPlayPPO, slot: int, entry: Any, arrays: dict[str, np.ndarray]) -> Member:
    """One member of the league."""
    name = f"league[{slot}]"
    read = Reader(entry, ENTRY, name)
    require(isinstance(read.value("name"), str), f"{name}.name: expected a text")
    for key in ("is_snapshot", "is_retired"):
        require(isinstance(read.value(key), bool), f"{name}.{key}: expected true or false")
    read.whole("games", 0, 2**62)
    entry = entry | {"beaten": number(read.value("beaten"), f"{name}.beaten", 0, 1)}
    if entry["is_snapshot"]:
        weights = _weights(arrays, f"league/{slot}/", model)
        opponent: Opponent = restore_snapshot(model.game, model.network, weights, model.config.seed)
    else:
        scripted = {m.name: m.opponent for m in model.league.members if not m.is_snapshot}
        opponent = scripted[entry["name"]]
    return Member(opponent=opponent, **entry)


def _take(
    arrays: dict[str, np.ndarray],
    name: str,
    dtype: Any,
    shape: tuple[int, ...],
    lowest: float = -LARGEST_NUMBER,
    highest: float = LARGEST_NUMBER,
) -> np.ndarray:
    """A copy of an array that is what it should be; not a number is in no bounds."""
    array = arrays.get(name)
    found = "absent" if array is None else f"{array.dtype} {array.shape}"
    require(found == f"{np.dtype(dtype)} {shape}", f"{name} is {found}, expected {np.dtype(dtype)} {shape}")
    array = arrays[name].copy()
    require(((lowest <= array) & (array <= highest)).all(), f"{name}: expected numbers from {lowest:g} to {highest:g}")
    return array


def _weights(arrays: dict[str, np.ndarray], prefix: str, model: SelfPlayPPO) -> dict[str, torch.Tensor]:
    """The weights of a network like the model's."""
    return {
        name: torch.from_numpy(_take(arrays, f"{prefix}{name}", np.float32, tuple(value.shape)))
        for name, value in model.network.state_dict().items()
    }


def _checked(game: Game, states: np.ndarray) -> np.ndarray:
    """The states, if each can be: it comes back from the position that it describes."""
    for index, state in enumerate(states.view(np.recarray)):
        again = game.from_position(game.position(state), 0)
        again.generator = state.generator
        require(again.tobytes() == state.tobytes(), f"game {index} is in no position that can be")
    return states


def _restore_optimizer(optimizer: torch.optim.Optimizer, arrays: dict[str, np.ndarray]) -> None:
    """Put back the moments of Adam, which are there from the first step on."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, torch.Tensor]] = {}
    for index, parameter in enumerate(parameters):
        prefix, numel = f"optimizer/{index}/", parameter.numel()
        if f"{prefix}step" in arrays:
            state[index] = {
                "step": torch.from_numpy(_take(arrays, f"{prefix}step", np.float32, (1,), 0)).reshape(()),
                "exp_avg": torch.from_numpy(_take(arrays, f"{prefix}exp_avg", np.float32, (numel,))),
                "exp_avg_sq": torch.from_numpy(_take(arrays, f"{prefix}exp_avg_sq", np.float32, (numel,), 0)),
            }
    saved = optimizer.state_dict()
    optimizer.load_state_dict({"state": state, "param_groups": saved["param_groups"]})
