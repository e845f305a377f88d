"""Single-agent environments of every form of every game, and how to play them."""

from typing import Any

import gymnasium
import numpy as np

import mandala_env

NAMES = {module: name for name, module in mandala_env.gymnasium_ids.GAMES.items()}
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "mandala_v0": (NAMES["mandala_v0"], {}),
    "flowers_v0": (NAMES["flowers_v0"], {}),
    "flowers_v0-3": (NAMES["flowers_v0"], {"num_players": 3}),
    "flowers_v0-4": (NAMES["flowers_v0"], {"num_players": 4}),
}


def make(form: str, **kwargs: Any) -> Any:
    """The environment of one of `FORMS`, without wrappers; the opponent is random unless it is said."""
    name, options = FORMS[form]
    return gymnasium.make(name, **{"opponent": "random", **options, **kwargs}).unwrapped


def make_vec(form: str, num_envs: int, **kwargs: Any) -> Any:
    """Many of `FORMS`."""
    name, options = FORMS[form]
    return gymnasium.make_vec(name, num_envs=num_envs, **{"opponent": "random", **options, **kwargs})


def pick(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random legal action for each row."""
    return np.argmax(masks * rng.random(masks.shape), axis=-1)


def play(env: Any, rng: np.random.Generator, steps: int = 10**9) -> list[tuple]:
    """Play random legal actions to the end of the game; what each step returned."""
    seen = []
    for _ in range(steps):
        seen.append(env.step(pick(env.action_masks(), rng)))
        if seen[-1][2]:
            break
    return seen


def is_same(one: Any, other: Any) -> bool:
    """Deep equality that can compare arrays."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, np.ndarray):
        if one.dtype == object:
            return is_same(one.tolist(), other.tolist())
        return one.dtype == other.dtype and np.array_equal(one, other)
    return type(one) is type(other) and one == other
