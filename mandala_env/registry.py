"""Names of games and opponents -> where they are made. Nothing is imported before it is asked for."""

import inspect
from functools import lru_cache
from importlib import import_module
from typing import Any

GAMES = {"mandala_v0": "mandala_env.games.mandala:make", "flowers_v0": "mandala_env.games.flowers:make"}
OPPONENTS = {
    "random": "mandala_env.opponents.random:RandomOpponent",
    "heuristic": "mandala_env.opponents.heuristic:HeuristicOpponent",
    "checkpoint": "mandala_env.opponents.checkpoint:CheckpointOpponent",
}


def list_games() -> list[str]:
    """The ids of all games."""
    return list(GAMES)


def list_opponents() -> list[str]:
    """The names that an opponent's spec can begin with."""
    return list(OPPONENTS)


def load_game(game_id: str, **options: Any) -> Any:
    """The Game with this id and these rule options; the same arguments give the same object.

    Raises ValueError for an unknown id or option; the message lists the known ones.
    """
    if game_id not in GAMES:
        raise ValueError(f"unknown game {game_id!r}; the games are {', '.join(GAMES)}")
    make = resolve(GAMES[game_id])
    known = inspect.signature(make).parameters
    if unknown := [name for name in options if name not in known]:
        raise ValueError(f"{game_id} has no option {', '.join(unknown)}; its options are {', '.join(known)}")
    defaults = {name: parameter.default for name, parameter in known.items()}
    try:
        return _make(make, tuple((defaults | options).items()))
    except TypeError:  # an option that cannot be hashed cannot be right either; let the maker say what it expects
        return make(**options)


@lru_cache(maxsize=64)
def _make(make: Any, options: tuple) -> Any:
    return make(**dict(options))


def resolve(location: str) -> Any:
    """The object that "module:NAME" names."""
    module, name = location.split(":")
    return getattr(import_module(module), name)
