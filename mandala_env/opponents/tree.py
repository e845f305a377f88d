"""A search tree for one player of a game with hidden cards, compiled: one tree over many imagined states.

Every simulation deals the hidden cards anew by the game's `imagine`, goes down the tree by actions that are legal then,
adds one action, judges what comes of it and notes the result at every action on its way. This is information set Monte
Carlo tree search for one observer (Cowling, Powley, Whitehouse 2012): a node stands for a sequence of actions whatever
the hidden cards and later draws are, and an action is weighed by how often it could have been chosen.

Here is what all searches share. What follows a new action is judged by a playout (`playout_search.py`) or by a network
(`network_search.py`). Nothing here or there knows a game: its rules are found by the type of the state.
"""

from typing import Any

import numpy as np

from mandala_env.core.actions import allow, count_allowed, is_allowed
from mandala_env.core.dispatch import imagine, legal
from mandala_env.core.jit import IS_COMPILED, jit
from mandala_env.core.rng import GOLDEN, next_bits

# One action after a sequence of actions; node 0 is the observation itself.
NODE = np.dtype(
    [
        ("value", np.float64),  # sum of the results, each for the player who chose the action
        ("visits", np.int32),  # simulations that chose it; at the root all finished ones
        ("available", np.int32),  # simulations that could have chosen it
        ("child", np.int32),  # the last action that was added behind it, or NONE
        ("sibling", np.int32),  # the action that was added before it behind the same node, or NONE
        ("action", np.int16),
    ],
    align=True,
)
ROOT, NONE = 0, -1
ONE = np.uint64(1)
LONGEST_PATH = 128  # actions; what comes later is judged as if it were new


@jit
def add_node(nodes: Any, parent: int, new: int, action: int) -> None:
    """Write a node that was not visited yet."""
    nodes[new].value = 0.0
    nodes[new].visits = 0
    nodes[new].available = 1
    nodes[new].child = NONE
    nodes[new].sibling = nodes[parent].child
    nodes[new].action = action
    nodes[parent].child = new


@jit
def forbid(words: Any, action: int) -> None:
    """Take an action out of a set."""
    words[action >> 6] &= ~(ONE << np.uint64(action & 63))


@jit
def note(nodes: Any, path: Any, movers: Any, length: int, results: Any) -> None:
    """Add a simulation's results to the nodes on its path, to each for the player who moved there."""
    nodes[ROOT].visits += 1
    for place in range(length):
        nodes[path[place]].visits += 1
        nodes[path[place]].value += results[movers[place]]


@jit
def most_visited(nodes: Any) -> int:
    """The action at the root that was chosen most often; among equals the one with the best results."""
    best, node = NONE, nodes[ROOT].child
    while node != NONE:
        ahead = best == NONE or nodes[node].visits > nodes[best].visits
        if ahead or (nodes[node].visits == nodes[best].visits and nodes[node].value > nodes[best].value):
            best = node
        node = nodes[node].sibling
    return nodes[best].action


@jit
def allowed_at_root(obs: Any, mask: Any, state: Any, words: Any) -> int:
    """Write the actions to choose among and count them: those of the mask that are legal in an imagined state.

    A mask that allows other actions only is obeyed, but there is nothing to search: its first one counts alone.
    """
    imagine(obs, state)
    words[:] = 0
    if state.player == 0:
        legal(state, words)
    first = NONE
    for action in range(len(mask)):
        if mask[action]:
            first = action if first == NONE else first
        elif is_allowed(words, action):
            forbid(words, action)
    if count_allowed(words) == 0:
        allow(words, first, ONE)
    return count_allowed(words)


@jit
def imagine_world(obs: Any, worlds: Any, number: int, state: Any) -> None:
    """Deal the hidden cards and fix all later draws; the same number gives the same world.

    Each action at the root meets the worlds in the same order: so luck speaks for none of them.
    """
    state.generator = worlds + np.uint64(number) * GOLDEN
    state.generator = next_bits(state)
    imagine(obs, state)


if not IS_COMPILED:  # unsigned numbers are meant to wrap around
    imagine_world = np.errstate(over="ignore")(imagine_world)
