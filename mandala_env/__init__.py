"""Environments for the card game Mandala: PettingZoo, batches for training, opponents and honest evaluation.

Letters that mean the same everywhere: N games, P players, A actions, F features, C colours, T steps, B minibatch.
Importing this package is cheap: what a name needs is loaded when the name is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mandala_env import gymnasium_ids, pettingzoo_ids
from mandala_env.pettingzoo_ids import MODULES
from mandala_env.registry import list_games, list_opponents, load_game, register_opponent, resolve

if TYPE_CHECKING:
    from mandala_env.arena.match import evaluate
    from mandala_env.core.batch import Batch
    from mandala_env.opponents.base import load_opponent

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "evaluate",
    "list_games",
    "list_opponents",
    "load_game",
    "load_opponent",
    "make_batch",
    "register_opponent",
]

_LOCATIONS = {
    "load_opponent": "mandala_env.opponents.base:load_opponent",
    "evaluate": "mandala_env.arena.match:evaluate",
}


def make_batch(
    game_id: str, num_games: int, seed: int | None = None, *, num_threads: int = 1, copy: bool = True, **options: Any
) -> "Batch":
    """N games that are stepped together, see `mandala_env.core.batch.Batch`.

    game_id  one of `list_games()`
    options  the game's rule options, such as max_turns=100
    """
    from mandala_env.core.batch import Batch

    return Batch(load_game(game_id, **options), num_games, seed, num_threads=num_threads, copy=copy)


def __getattr__(name: str) -> Any:
    if name in _LOCATIONS:
        value = resolve(_LOCATIONS[name])
    elif f"{__name__}.{name}" in MODULES.values():
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LOCATIONS, *(module.rpartition(".")[2] for module in MODULES.values())})


gymnasium_ids.register_when_imported()
pettingzoo_ids.register_when_imported()
