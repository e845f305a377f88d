"""Names of games, their pictures and opponents -> where they are made. Nothing is imported before it is asked for."""

import inspect
import re
from functools import lru_cache
from importlib import import_module
from typing import Any

from mandala_env.words import shown

GAMES = {"mandala_v0": "mandala_env.games.mandala:make", "flowers_v0": "mandala_env.games.flowers:make"}
PICTURES = {
    "mandala_v0": "mandala_env.pictures.mandala:PICTURE",
    "flowers_v0": "mandala_env.pictures.flowers:PICTURE",
}
OPPONENTS = {
    "random": "mandala_env.opponents.random:RandomOpponent",
    "heuristic": "mandala_env.opponents.heuristic:HeuristicOpponent",
    "search": "mandala_env.opponents.search:SearchOpponent",
    "checkpoint": "mandala_env.opponents.checkpoint:CheckpointOpponent",
    "champion": "mandala_env.opponents.champion:ChampionOpponent",
    "sb3": "mandala_env.opponents.sb3:Sb3Opponent",
}
MOST_GAMES = 200  # that are kept: in transcripts people can ask for ever new options


def list_games() -> list[str]:
    """The ids of all games."""
    return list(GAMES)


def list_opponents() -> list[str]:
    """The names that an opponent's spec can begin with."""
    return list(OPPONENTS)


def register_opponent(name: str, location: str) -> None:
    """Let an opponent's spec begin with a name of your own, wherever a spec is taken in this process.

    name      one word, not yet taken
    location  "module:NAME" of a class like `mandala_env.opponents.base.Opponent`, imported when it is first asked for
    Raises ValueError when the name is taken or either is not of this form.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(f"an opponent's name is one word in small letters, not {name!r}")
    if OPPONENTS.get(name, location) != location:
        raise ValueError(f"the opponent {name!r} exists already: {OPPONENTS[name]}")
    if not isinstance(location, str) or not re.fullmatch(r"[\w.]+:\w+", location):
        raise ValueError(f"expected where the class of opponent {name!r} is, as 'module:NAME', not {location!r}")
    OPPONENTS[name] = location


def load_game(game_id: str, **options: Any) -> Any:
    """The Game with this id and these rule options; the same arguments give the same object.

    Raises ValueError for an unknown id or option; the message lists the known ones.
    """
    if not isinstance(game_id, str) or game_id not in GAMES:
        raise ValueError(f"unknown game {shown(game_id)}; the games are {', '.join(GAMES)}")
    make = resolve(GAMES[game_id])
    known = inspect.signature(make).parameters
    if unknown := [name for name in options if name not in known]:
        names = ", ".join(unknown)[:200]
        raise ValueError(f"{game_id} has no option {names}; its options are {', '.join(known)}")
    defaults = {name: parameter.default for name, parameter in known.items()}
    try:
        place = _place(game_id, repr(defaults | options))  # as text: 400 equals 400.0 but is not always as good
    except RecursionError:
        raise ValueError(f"{game_id}: an option is nested too deep: {shown(options)}") from None
    return place.get("game") or place.setdefault("game", make(**options))


@lru_cache(MOST_GAMES)
def _place(game_id: str, options: str) -> dict[str, Any]:
    """Where the game with these options is kept for who asks again."""
    return {}


def list_variants(game_id: str) -> list[dict[str, Any]]:
    """Options that bring a game in each of its forms that is compiled by itself, such as 2, 3 and 4 players."""
    return list(resolve(f"{GAMES[game_id].partition(':')[0]}:VARIANTS"))


def load_picture(game_id: str) -> Any:
    """The Picture of a game: what a viewer is shown of a position, and how that is written and drawn."""
    return resolve(PICTURES[game_id])


def resolve(location: str) -> Any:
    """The object that "module:NAME" names."""
    module, name = location.split(":")
    return getattr(import_module(module), name)
