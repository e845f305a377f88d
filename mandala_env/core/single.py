"""One game in play, with what every seat sees of it: a batch of one for people and agents that act one at a time."""

import operator
from typing import Any

import numpy as np

from mandala_env.core.actions import empty_sets, is_allowed, write_mask
from mandala_env.core.dispatch import apply, deal, encode, is_over, legal
from mandala_env.core.game import Game
from mandala_env.core.jit import entry_point, jit, kernel, plain_records
from mandala_env.core.rng import spread_seeds

NOBODY, ILLEGAL = -1, -2  # what the kernels return instead of the seat that decides next


class Single:
    """One game, kept up to date by one compiled call for each action.

    units   (P, F) float32: what each seat knows, scaled to [0, 1] as `Layout.unit` does
    mask    (A,) int8: what the player to decide may do; all zeros when the game is over
    player  who that is; -1 when the game is over

    The arrays are filled again by each step: copy what you hand out. With a seed, its first game is `game.deal(seed)`
    and game 0 of a batch with that seed; a copy or pickle is the same game with the same future.
    """

    def __init__(self, game: Game, seed: int | None = None) -> None:
        self.game = game
        states = game.blank_states(1)
        states["generator"] = spread_seeds(seed, 1)
        self._states = plain_records(states)
        self._sets = empty_sets(1, len(game.actions))
        self._obs = np.zeros(game.layout.size, np.int8)
        self._highest = game.layout.highest
        self.mask = np.zeros(len(game.actions), np.int8)
        self.units = np.zeros((game.num_players, game.layout.size), np.float32)
        self._bind()
        self._redeal()

    def _bind(self) -> None:
        shown = self._sets, self.mask, self._obs, self.units, self._highest
        self._step = entry_point(_step_one, self._states, 0, *shown)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_step"}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        self._bind()

    def _redeal(self) -> None:
        self.player = _deal_one(self._states, self._sets, self.mask, self._obs, self.units, self._highest)

    @property
    def state(self) -> Any:
        """The state itself, not a copy; look, but change it by `step`, `deal` and `set_up` only."""
        return self._states.view(np.recarray)[0]

    def deal(self, seed: int | None = None) -> None:
        """Deal a new game; without a seed the game's random numbers go on, as they do in a batch."""
        if seed is not None:
            self._states["generator"] = spread_seeds(seed, 1)
        self._redeal()

    def set_up(self, position: dict, seed: int | None = None) -> None:
        """Go on from a position; raises PositionError, and changes nothing, if there is none such.

        Without a seed the random numbers go on in a new direction, so that the same position has different futures.
        """
        state = self.game.from_position(position, seed)
        if seed is None:
            state.generator = spread_seeds(int(self._states["generator"][0]), 1)[0]
        self._states[0] = state
        self.player = _show_one(self._states, self._sets, self.mask, self._obs, self.units, self._highest)

    def is_legal(self, action: Any) -> bool:
        """May the player to decide take this action?"""
        action = self._id(action)
        return action >= 0 and bool(self.mask[action])

    def step(self, action: Any) -> None:
        """Carry out an action; raises IllegalAction, and changes nothing, if the rules do not allow it."""
        player = self._step(
            self._states, self._id(action), self._sets, self.mask, self._obs, self.units, self._highest
        )  # fmt: skip
        if player == ILLEGAL:
            raise self.game.illegal(self.state, action)
        self.player = player

    def _id(self, action: Any) -> int:
        """The action as an id that the tables have, or -1; arrays of shape () are whole numbers, too."""
        try:
            index = operator.index(action)
        except TypeError:
            return -1
        return index if 0 <= index < len(self.mask) else -1


@jit
def _show(states: Any, sets: Any, mask: Any, obs: Any, units: Any, highest: Any) -> int:
    state, words = states[0], sets[0].row
    legal(state, words)
    write_mask(words, mask)
    for seat in range(units.shape[0]):
        encode(state, seat, obs)
        for number in range(units.shape[1]):
            units[seat, number] = np.float32(obs[number]) / highest[number]
    return NOBODY if is_over(state) else int(state.player)


@kernel
def _deal_one(states: Any, sets: Any, mask: Any, obs: Any, units: Any, highest: Any) -> int:
    deal(states[0])
    return _show(states, sets, mask, obs, units, highest)


@kernel
def _show_one(states: Any, sets: Any, mask: Any, obs: Any, units: Any, highest: Any) -> int:
    return _show(states, sets, mask, obs, units, highest)


@kernel
def _step_one(states: Any, action: int, sets: Any, mask: Any, obs: Any, units: Any, highest: Any) -> int:
    if action < 0 or not is_allowed(sets[0].row, action):
        return ILLEGAL
    apply(states[0], action)
    return _show(states, sets, mask, obs, units, highest)
