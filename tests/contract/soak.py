"""Random games by the million, compiled, with every state held against the rules of its game's invariants.py."""

import os
from importlib import import_module
from typing import Any

import numba
import numpy as np
from numba.extending import overload

from mandala_env.core.actions import count_allowed, nth_allowed, num_words
from mandala_env.core.batch import PICKER
from mandala_env.core.dispatch import apply, deal, encode, is_over, legal, payoff, score
from mandala_env.core.jit import IS_COMPILED, plain_records
from mandala_env.core.piles import size
from mandala_env.core.rng import below, spread_seeds

BLOCK = 10_000  # games of one seed
COUNTS = np.dtype([("decisions", np.int64), ("longest_game", np.int64), ("longest_hand", np.int64)])
TURNS, OBSERVATION, ACTIONS, RESULT = range(100, 104)
FAULTS = {
    TURNS: "the turns go on and not too far",
    OBSERVATION: "every number of an observation lies between 0 and the highest that the layout names",
    ACTIONS: "somebody may act until the end and nobody after it",
    RESULT: "the winners have most points and share what the losers lose",
}
# What the slow tests play: random games of each game and number of players, and games of each game beside its model.
GAMES = int(os.environ.get("SOAK_GAMES", 20_000_000))
MODEL_GAMES = GAMES // 100

_checks: dict[Any, Any] = {}


def broken(state: Any) -> int:
    """The number of the first rule that a state breaks, or -1: `broken` of the game's invariants.py."""
    number: int = _checks[state.dtype](state)
    return number


@overload(broken, strict=False)
def _broken(state: Any) -> Any:
    return _checks[state].py_func


def rules_of(game: Any) -> tuple[str, ...]:
    """The rules that states of a game are held against, which `broken` then knows."""
    invariants = import_module(f"tests.{game.id.partition('_')[0]}.invariants")
    _checks[numba.from_dtype(game.dtype) if IS_COMPILED else game.dtype] = invariants.broken
    rules: tuple[str, ...] = invariants.RULES
    return rules


@numba.njit(error_model="numpy")
def _first_broken(states: Any) -> tuple[int, int]:
    for row in range(len(states)):
        rule = broken(states[row])
        if rule >= 0:
            return row, rule
    return -1, -1


def check_states(game: Any, states: np.ndarray) -> None:
    """Assert that no state breaks a rule of its game."""
    rules = rules_of(game)
    row, rule = _first_broken(plain_records(states.view(np.recarray)))
    assert row < 0, f"{rules[rule]}: not so in {game.position(states.view(np.recarray)[row])}"


@numba.njit(error_model="numpy")
def _play_games(
    states: Any, pickers: Any, words: Any, obs: Any, highest: Any, points: Any, out: Any, counts: Any, num_games: int
) -> int:
    """Play random games to their ends in states[0]; returns the number of what was broken there, or -1."""
    state, picker, count = states[0], pickers[0], counts[0]
    for _ in range(num_games):
        deal(state)
        turn = 0
        while True:
            rule = broken(state)
            if rule >= 0:
                return rule
            if state.turn < turn or state.turn > state.max_turns:
                return TURNS
            turn = state.turn
            encode(state, state.player, obs)
            if is_outside(obs, highest):
                return OBSERVATION
            legal(state, words)
            num_legal = count_allowed(words)
            if is_over(state) != (num_legal == 0):
                return ACTIONS
            for player in range(len(state.hands)):
                count.longest_hand = max(count.longest_hand, size(state.hands[player]))
            if num_legal == 0:
                break
            apply(state, nth_allowed(words, below(picker, num_legal)))
            count.decisions += 1
        count.longest_game = max(count.longest_game, turn)
        score(state, points)
        payoff(state, out)
        if not is_result(points, out):
            return RESULT
    return -1


@numba.njit(error_model="numpy")
def is_outside(obs: Any, highest: Any) -> bool:
    """Is a number below 0 or above the highest?"""
    outside = False
    for number in range(len(obs)):
        outside |= (obs[number] < 0) | (obs[number] > highest[number])
    return outside


@numba.njit(error_model="numpy")
def is_result(points: Any, out: Any) -> bool:
    """The winners have most points; they share 1, the others lose 1, or everybody has 0."""
    won, lost, num_nothing = 0.0, 0.0, 0
    for player in range(len(points)):
        won += max(out[player], 0.0)
        lost -= min(out[player], 0.0)
        num_nothing += out[player] == 0
        if out[player] > 0 and points[player] < points.max():
            return False
    if num_nothing == len(points):
        return True
    return num_nothing == 0 and abs(won - 1) < 1e-9 and abs(lost - 1) < 1e-9


def play_games(game: Any, num_games: int, seed: int) -> dict[str, int]:
    """Play so many games and check every state; returns decisions, the longest game in turns and the longest hand."""
    names = FAULTS | dict(enumerate(rules_of(game)))
    states, pickers, counts = game.blank_states(1), np.zeros(1, PICKER), np.zeros(1, COUNTS)
    words, obs = np.zeros(num_words(len(game.actions)), np.uint64), np.zeros(game.layout.size, np.int8)
    points, out = np.zeros(game.num_players, np.int64), np.zeros(game.num_players)
    records = [plain_records(array.view(np.recarray)) for array in (states, pickers, counts)]
    seeds = spread_seeds(seed, 2 * -(-num_games // BLOCK)).reshape(-1, 2)
    for block, (deals, choices) in enumerate(seeds):
        states["generator"], pickers["generator"] = deals, choices
        count = min(BLOCK, num_games - block * BLOCK)
        highest = game.layout.highest.astype(np.int8)
        fault = _play_games(records[0], records[1], words, obs, highest, points, out, records[2], count)
        assert fault < 0, f"{names[fault]}: not so in block {block} of seed {seed}, {game.position(states[0])}"
    return {name: int(counts[name][0]) for name in COUNTS.names}
