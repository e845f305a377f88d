"""Random games, and states moved, for the tests of the contract."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from mandala_env.core.batch import Batch

MOST_ACTIONS = 20_000  # no game may go on for longer
NUM_GAMES = 30  # in the pool of states


def walk(game: Any, seed: int) -> Iterator[Any]:
    """The state of a random game at each decision and at the end; it is changed on the way: copy what you keep."""
    rng = np.random.default_rng(seed)
    state = game.deal(seed)
    yield state
    for _ in range(MOST_ACTIONS):
        if game.is_over(state):
            return
        game.apply(state, int(rng.choice(game.legal_actions(state))))
        yield state
    raise AssertionError(f"the game of seed {seed} does not end")


@cache
def pool(game: Any) -> list[Any]:
    """Every third state of random games, and all their ends."""
    states = []
    for number in range(NUM_GAMES):
        for step, state in enumerate(walk(game, number)):
            if (step + number) % 3 == 0 or game.is_over(state):
                states.append(game.copy(state))
    return states


def sample(game: Any, every: int = 1) -> list[Any]:
    """States from random games, every so many of the pool and all ends; they are the caller's to change."""
    chosen = (state for i, state in enumerate(pool(game)) if i % every == 0 or game.is_over(state))
    return [game.copy(state) for state in chosen]


def same(one: Any, other: Any, *but: str) -> bool:
    """Are two states equal in every field, save those that are named?"""
    return not different(one, other, *but)


def different(one: Any, other: Any, *but: str) -> list[str]:
    """The names of the fields in which two states differ."""
    return [name for name in one.dtype.names if name not in but and not np.array_equal(one[name], other[name])]


def shown(batch: Batch) -> dict[str, np.ndarray]:
    """All that a batch shows, and the states behind it, copied."""
    names = ("observations", "action_masks", "players", "payoffs", "ended", "scores", "turns", "states")
    return {name: getattr(batch, name).copy() for name in names}


def first_legal(batch: Batch) -> np.ndarray:
    """A legal action for each game."""
    return batch.action_masks.argmax(axis=1)


def random_legal(batch: Batch, rng: np.random.Generator) -> np.ndarray:
    """A random legal action for each game."""
    return (batch.action_masks * rng.random(batch.action_masks.shape)).argmax(axis=1)


def moved(game: Any, facts: Any, state: Any, axis: str, new: np.ndarray) -> Any:
    """The state in which what was number i of an axis ("player", "mandala", "colour") is number new[i]."""
    copy = game.copy(state)
    for name, axes in game.axes.items():
        if axis in axes:
            copy[name] = np.take(state[name], np.argsort(new), axis=axes.index(axis))
    facts.relabel(copy, axis, new)
    return copy


def moved_observation(game: Any, observation: np.ndarray, axis: str, new: np.ndarray) -> np.ndarray:
    """The observation in which what was number i of an axis is number new[i]."""
    copy = observation.copy()
    for block in game.layout:
        if axis in block.axes:
            old = game.layout.get(observation, block.name)
            game.layout.get(copy, block.name)[...] = np.take(old, np.argsort(new), axis=block.axes.index(axis))
    return copy


def moved_actions(game: Any, axis: str, new: np.ndarray) -> np.ndarray:
    """For each action id, the id of the action that means the same where number i of an axis is number new[i]."""
    columns = game.actions.columns
    ids = {
        row: action for action, row in enumerate(zip(*(column.tolist() for column in columns.values()), strict=True))
    }
    if axis not in columns:
        return np.arange(len(game.actions))
    changed = columns | {axis: np.where(columns[axis] < 0, -1, np.asarray(new)[columns[axis]])}
    return np.array([ids[row] for row in zip(*(column.tolist() for column in changed.values()), strict=True)])
