"""Search whose simulations are judged by a short playout, compiled; see `tree.py`.

Where to go on in the tree is chosen by upper confidence bounds (UCT, Kocsis and Szepesvari 2006).
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.extending import overload

from mandala_env.core.actions import count_allowed, is_allowed, nth_allowed, write_mask
from mandala_env.core.dispatch import apply, encode, is_over, legal, payoff, score
from mandala_env.core.game import Game
from mandala_env.core.jit import IS_COMPILED, copy_row, jit, kernel
from mandala_env.core.rng import below, next_bits
from mandala_env.opponents.tree import (
    LONGEST_PATH,
    NONE,
    ROOT,
    add_node,
    allowed_at_root,
    forbid,
    imagine_world,
    most_visited,
    note,
)

# Chosen by matches of 200 simulations against 200 in Mandala and Flowers.
EXPLORATION = 0.5
PLAYOUT_ACTIONS = 30  # a playout is broken off here: what lies on the table by then says more than a far random end
POINTS_SHARE = 0.5  # of a finished game's result: who won says less, where a playout's end is mostly luck
FULL_LEAD = 15.0  # points

_heuristics: dict[Any, Callable[..., None]] = {}


def register_heuristic(game: Game) -> None:
    """Let compiled playouts find the scripted player of a game by the type of its state."""
    _heuristics[numba.from_dtype(game.dtype) if IS_COMPILED else game.dtype] = game.heuristic


def heuristic(state: Any, observations: Any, masks: Any, pickers: Any, actions: Any) -> None:
    """The scripted player of the game that the state is of."""
    _heuristics[state.dtype](observations, masks, pickers, actions)


@overload(heuristic, strict=False)
def _compiled_heuristic(state: Any, observations: Any, masks: Any, pickers: Any, actions: Any) -> Callable[..., None]:
    function = _heuristics[state]

    def call(state: Any, observations: Any, masks: Any, pickers: Any, actions: Any) -> None:
        function(observations, masks, pickers, actions)

    return call


@kernel
def search_by_playouts(
    observations: Any, masks: Any, pickers: Any, states: Any, nodes: Any, sets: Any, simulations: int, num_players: int,
    by_heuristic: bool, actions: Any,
) -> int:  # fmt: skip
    """Write an action for each observation (n, F) with its mask (n, A); states (1,), nodes (simulations + 1,), sets
    of actions (2,).

    Returns how many actions were carried out in imagined states.
    """
    root_words, words = sets[0].row, sets[1].row
    path, movers = np.empty(LONGEST_PATH, np.int32), np.empty(LONGEST_PATH, np.int8)
    results, points = np.empty(num_players), np.empty(num_players, np.int32)
    obs, mask = np.empty((1, observations.shape[1]), np.int8), np.empty((1, masks.shape[1]), np.bool_)
    chosen = np.empty(1, np.int64)
    logarithms = np.zeros(simulations + 1)
    for number in range(1, simulations + 1):
        logarithms[number] = np.log(number)
    state, num_tried = states[0], 0
    for i in range(len(observations)):
        if allowed_at_root(observations[i], masks[i], state, root_words) == 1:
            actions[i] = nth_allowed(root_words, 0)
            continue
        nodes[ROOT].child = NONE
        size = 1
        worlds = next_bits(pickers[i])
        for _ in range(simulations):
            copy_row(words, root_words)
            node = next_node(nodes, ROOT, words, pickers[i], size, logarithms)
            imagine_world(observations[i], worlds, nodes[node].visits, state)
            length = walk(state, nodes, node, size, words, path, movers, logarithms)
            size += path[length - 1] == size
            num_tried += length + play_out(state, words, by_heuristic, obs, mask, pickers[i : i + 1], chosen)
            judge(state, points, results)
            note(nodes, path, movers, length, results)
        actions[i] = most_visited(nodes)
    return num_tried


@jit
def walk(state: Any, nodes: Any, node: int, new: int, words: Any, path: Any, movers: Any, logarithms: Any) -> int:
    """Carry out a node's action and go on down the tree until one is new; returns the length of the path."""
    length = 0
    while True:
        path[length], movers[length] = node, state.player
        length += 1
        apply(state, np.int64(nodes[node].action))
        if node == new or length == LONGEST_PATH or is_over(state):
            return length
        legal(state, words)
        node = next_node(nodes, node, words, state, new, logarithms)


@jit
def next_node(nodes: Any, parent: int, words: Any, picker: Any, new: int, logarithms: Any) -> int:
    """The node of the action to try next: one that was not tried yet at random, else by upper confidence bounds.

    words is the set of legal actions; what was tried before is taken out of it. logarithms[n] is the logarithm of n.
    """
    best, best_bound = NONE, -np.inf
    node = nodes[parent].child
    while node != NONE:
        if is_allowed(words, nodes[node].action):
            forbid(words, nodes[node].action)
            nodes[node].available += 1
            visits = nodes[node].visits
            bound = nodes[node].value / visits + EXPLORATION * np.sqrt(logarithms[nodes[node].available] / visits)
            if bound > best_bound:
                best, best_bound = node, bound
        node = nodes[node].sibling
    num_untried = count_allowed(words)
    if num_untried == 0:
        return best
    add_node(nodes, parent, new, nth_allowed(words, below(picker, num_untried)))
    return new


@jit
def play_out(state: Any, words: Any, by_heuristic: bool, obs: Any, mask: Any, pickers: Any, chosen: Any) -> int:
    """Play on by the heuristic, from what each player sees, or anything legal; returns how many actions that took."""
    for length in range(PLAYOUT_ACTIONS):
        if is_over(state):
            return length
        legal(state, words)
        if by_heuristic:
            write_mask(words, mask[0])
            encode(state, np.int64(state.player), obs[0])
            heuristic(state, obs, mask, pickers, chosen)
            action = chosen[0]
        else:
            action = nth_allowed(words, below(state, count_allowed(words)))
        apply(state, action)
    return PLAYOUT_ACTIONS


@jit
def judge(state: Any, points: Any, results: Any) -> None:
    """Everybody's result from -1 to 1: the lead in points, and when the game is over the payoff for a part of it."""
    over = is_over(state)
    score(state, points)
    payoff(state, results)
    for player in range(len(points)):
        lead = FULL_LEAD
        for other in range(len(points)):
            if other != player:
                lead = min(lead, points[player] - points[other])
        lead = max(lead / FULL_LEAD, -1.0)
        results[player] = POINTS_SHARE * lead + (1 - POINTS_SHARE) * results[player] if over else lead
