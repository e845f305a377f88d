"""What an opponent is, and how one is loaded by name.

An opponent is a function of (seed, observation, action mask): it keeps no memory, and its random choices are drawn from
a hash of the seed and the observation. So a match does not depend on how its games are batched, and an opponent that
meets itself on swapped seats scores exactly one half.
"""

import inspect
import re
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from mandala_env.core.batch import PICKER
from mandala_env.core.game import Game
from mandala_env.core.jit import IS_COMPILED, kernel
from mandala_env.core.rng import GOLDEN, S32, spread_seeds
from mandala_env.files import find_folder
from mandala_env.registry import OPPONENTS, load_game, resolve
from mandala_env.words import shown

MOST_THREADS = 256


class Opponent(ABC):
    """A player of one game; subclasses write `choose`."""

    def __init__(self, game: Game, seed: int | None = 0) -> None:
        self.game = game
        self.key = spread_seeds(seed, 1)[0]

    @abstractmethod
    def choose(self, observations: np.ndarray, action_masks: np.ndarray, pickers: np.ndarray) -> np.ndarray:
        """A legal action for each row; `pickers` (n,) hold a generator for each row's random choices."""

    def act(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """A legal action for each observation.

        observations  (n, F) int8, as a Batch gives them
        action_masks  (n, A) bool; a row without a legal action is a ValueError
        returns       (n,) int64
        """
        observations, action_masks = np.asarray(observations), np.asarray(action_masks)
        if observations.dtype.kind not in "iu":
            raise ValueError(f"observations must be whole numbers, as a Batch gives them, not {observations.dtype}")
        if observations.dtype != np.int8 and ((observations < 0) | (observations > 127)).any():
            raise ValueError("observations must be counts from 0 to 127, as a Batch gives them")
        # Writeable, too: for read-only arrays everything would be compiled once more.
        observations = np.require(observations, np.int8, ["C", "A", "W"])
        action_masks = np.require(action_masks, np.bool_, ["C", "A", "W"])
        expected = (len(observations), self.game.layout.size), (len(observations), len(self.game.actions))
        if (observations.shape, action_masks.shape) != expected:
            raise ValueError(
                f"expected observations and masks of shapes {expected[0]} and {expected[1]}, "
                f"not {observations.shape} and {action_masks.shape}"
            )
        if not action_masks.any(axis=1).all():
            raise ValueError("a row of action_masks has no legal action: there is nothing to decide")
        if len(observations) == 0:
            return np.empty(0, np.int64)
        pickers = np.zeros(len(observations), PICKER).view(np.recarray)
        _hash_rows(observations, self.key, pickers)
        return self.choose(observations, action_masks, pickers)

    def __call__(self, observation: dict[str, np.ndarray]) -> int:
        """A legal action for one PettingZoo observation, {"observation": float32 (F,), "action_mask": int8 (A,)}."""
        counts = self.game.layout.counts(observation["observation"])
        mask = np.asarray(observation["action_mask"]).astype(np.bool_)
        return int(self.act(counts[None], mask[None])[0])


@kernel
def _hash_rows(observations: Any, key: Any, pickers: Any) -> None:
    """Start each row's generator at a hash of the key and the row."""
    for i in range(len(observations)):
        bits = key
        for number in observations[i]:
            bits = (bits ^ np.uint64(number)) * GOLDEN
            bits ^= bits >> S32
        pickers[i].generator = bits


if not IS_COMPILED:  # unsigned numbers are meant to wrap around
    _hash_rows = np.errstate(over="ignore")(_hash_rows)


def load_opponent(spec: str, game: str | Game = "mandala_v0", seed: int | None = 0) -> Opponent:
    """An opponent by its spec string.

    spec  "random", "heuristic", "champion", "search", "checkpoint:PATH" (or the path of a checkpoint's folder),
          "sb3:FILE.zip" (a model that stable-baselines3 saved), each with options behind commas:
          "search:simulations=1000", "checkpoint:PATH,temperature=1"
    game  a game's id or a Game
    seed  the opponent's own seed; None takes fresh entropy
    Raises ValueError that names what was expected when the spec does not fit.
    """
    if not isinstance(spec, str):
        raise ValueError(f"an opponent's spec is a string such as 'heuristic' or 'checkpoint:PATH', not {spec!r}")
    game = load_game(game) if isinstance(game, str) else game
    name, _, rest = spec.partition(":")
    path, _ = split_options(spec)
    if name not in OPPONENTS and path and find_folder(path[0]).is_dir():
        name, rest = "checkpoint", spec
    if name not in OPPONENTS:
        raise ValueError(f"unknown opponent {spec!r}; expected {', '.join(OPPONENTS)}:PATH or a checkpoint's folder")
    arguments, options = split_options(rest)
    try:
        make = resolve(OPPONENTS[name])
    except (ModuleNotFoundError, AttributeError) as error:
        why = f"is not at {OPPONENTS[name]}: {error}"
        if OPPONENTS[name].startswith("mandala_env."):  # one of ours: what it imports is not installed
            why = f"needs {error.name}: pip install 'mandala-env[train]'"
        raise ValueError(f"opponent {spec!r} {why}") from None
    try:
        inspect.signature(make).bind(game, seed, *arguments, **options)
    except TypeError as error:
        known = ", ".join(list(inspect.signature(make).parameters)[2:]) or "none"
        raise ValueError(f"opponent {spec!r}: {error}; the options of {name} are: {known}") from None
    opponent: Opponent = make(game, seed, *arguments, **options)
    return opponent


def split_options(text: str) -> tuple[list[str], dict[str, str]]:
    """Split "PATH,name=value,name=value" into its positional part and its options."""
    options: dict[str, str] = {}
    while match := re.fullmatch(r"(?:(.*),)?(\w+)=([^,=]*)", text, re.DOTALL):
        text, options[match[2]] = match[1] or "", match[3]
    return ([text] if text else []), options


def number(value: Any, name: str, lowest: float, highest: float) -> float:
    """An option's value as a number within bounds."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        result = float("nan")
    if not lowest <= result <= highest:
        raise ValueError(f"{name} must be a number from {lowest:g} to {highest:g}, not {shown(value)}")
    return result


def whole(value: Any, name: str, highest: int) -> int:
    """An option's value as a whole number of 1 or more."""
    result = number(value, name, 1, highest)
    if result != int(result):
        raise ValueError(f"{name} must be a whole number, not {value!r}")
    return int(result)
