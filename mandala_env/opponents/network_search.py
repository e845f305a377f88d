"""Search whose simulations are judged by a network's value, with its policy as prior, compiled; see `tree.py`.

A search runs from one evaluation to the next (`advance`), so that many searches share a call of the network.
"""

from typing import Any

import numpy as np

from mandala_env.core.actions import is_allowed, nth_allowed
from mandala_env.core.dispatch import apply, encode, is_over, legal, payoff
from mandala_env.core.jit import copy_row, jit, kernel
from mandala_env.core.rng import next_bits
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

# One search with a network between two evaluations.
SEARCH = np.dtype(
    [
        ("generator", np.uint64),
        ("worlds", np.uint64),  # where the imagined states' generators come from
        ("num_nodes", np.int32),
        ("node", np.int32),  # the node that waits for its evaluation
        ("depth", np.int32),  # its place on the path
        ("root_value", np.float32),  # the network's value of the observation
    ],
    align=True,
)
# Chosen by matches of 200 simulations against 200 in Mandala and Flowers.
NETWORK_EXPLORATION = 1.5
DOUBT = 0.2  # how much less an action that was not tried is expected to bring than the network says, when others were


@kernel
def begin(
    observations: Any, masks: Any, pickers: Any, states: Any, searches: Any, nodes: Any, root_sets: Any, actions: Any
) -> None:
    """Begin a search for each row; actions (n,) get the action where there is only one, elsewhere NONE."""
    for i in range(len(observations)):
        is_only = allowed_at_root(observations[i], masks[i], states[i], root_sets[i].row) == 1
        actions[i] = nth_allowed(root_sets[i].row, 0) if is_only else NONE
        nodes[i, ROOT].child, nodes[i, ROOT].visits = NONE, 0
        searches[i].worlds = next_bits(pickers[i])
        searches[i].num_nodes = 1
        searches[i].node = ROOT


@kernel
def advance(
    rows: Any, logits: Any, values: Any, observations: Any, states: Any, searches: Any, nodes: Any, paths: Any,
    movers: Any, root_sets: Any, root_logits: Any, simulations: int, num_players: int, leaves: Any, actions: Any,
) -> None:  # fmt: skip
    """Take each search that waits from one evaluation to the next.

    rows       (n,) the searches whose leaves the network has judged: logits (n, A), values (n,)
    leaves     (n, F) get what the network is to look at next, from the seat of the player who decides there
    actions    (N,) get the action of the searches that are finished
    root_sets  (N + 1,) what there is to choose among, and one set to work with
    """
    words, weights = root_sets[len(observations)].row, np.empty(logits.shape[1], np.float32)
    results = np.empty(num_players)
    for k in range(len(rows)):
        i = rows[k]
        state, search, tree, path, seats = states[i], searches[i], nodes[i], paths[i], movers[i]
        at, judged, value = search.node, logits[k], values[k]
        if at == ROOT:
            copy_row(root_logits[i], judged)
            search.root_value = value
        elif tree[at].visits == 0 or search.depth == LONGEST_PATH:
            share(value, state.player, results)
            note(tree, path, seats, search.depth, results)
            at = ROOT
        while tree[ROOT].visits < simulations:
            if at == ROOT:
                judged, value = root_logits[i], search.root_value
                copy_row(words, root_sets[i].row)
            else:
                legal(state, words)
            node = likely_node(tree, at, words, judged, value, weights, search.num_nodes)
            if at == ROOT:
                imagine_world(observations[i], search.worlds, tree[node].visits, state)
                search.depth = 0
            if move(state, search, tree, node, path, seats, results):
                encode(state, np.int64(state.player), leaves[k])
                break
            at = ROOT
        if tree[ROOT].visits == simulations:
            actions[i] = most_visited(tree)


@jit
def move(state: Any, search: Any, nodes: Any, node: int, path: Any, movers: Any, results: Any) -> bool:
    """Carry out a node's action; if that ends the game the simulation is finished too, and the answer is no."""
    path[search.depth], movers[search.depth] = node, state.player
    search.depth += 1
    search.node = node
    search.num_nodes += node == search.num_nodes
    apply(state, np.int64(nodes[node].action))
    if not is_over(state):
        return True
    payoff(state, results)
    note(nodes, path, movers, search.depth, results)
    return False


@jit
def share(value: float, player: int, results: Any) -> None:
    """The results when one player's is known: the others share the opposite, for all results together are 0."""
    results[:] = -value / (len(results) - 1)
    results[player] = value


@jit
def likely_node(nodes: Any, parent: int, words: Any, logits: Any, value: float, weights: Any, new: int) -> int:
    """The node of the action to try next, by its results and the policy's probability (PUCT, Silver et al. 2017).

    words is the set of legal actions; value is what the network expects here for the player who decides.
    """
    total = soften(words, logits, weights)
    tried, visits, node = 0.0, 0, nodes[parent].child
    while node != NONE:
        if is_allowed(words, nodes[node].action):
            tried += weights[nodes[node].action] / total
            visits += nodes[node].visits
        node = nodes[node].sibling
    reach = NETWORK_EXPLORATION * np.sqrt(visits + 1.0)
    best, best_bound, node = NONE, 0.0, nodes[parent].child
    while node != NONE:
        action = nodes[node].action
        if is_allowed(words, action):
            forbid(words, action)
            bound = nodes[node].value / nodes[node].visits + reach * weights[action] / total / (1 + nodes[node].visits)
            if best == NONE or bound > best_bound:
                best, best_bound = node, bound
        node = nodes[node].sibling
    untried = NONE
    for action in range(len(weights)):
        if is_allowed(words, action) and (untried == NONE or weights[action] > weights[untried]):
            untried = action
    if untried == NONE:
        return best
    bound = value - DOUBT * np.sqrt(tried) + reach * weights[untried] / total
    if best != NONE and best_bound >= bound:
        return best
    add_node(nodes, parent, new, untried)
    return new


@jit
def soften(words: Any, logits: Any, weights: Any) -> float:
    """Write the unnormalised probabilities of the legal actions; returns their sum."""
    top, total = -np.inf, 0.0
    for action in range(len(weights)):
        if is_allowed(words, action):
            top = max(top, logits[action])
    for action in range(len(weights)):
        if is_allowed(words, action):
            weights[action] = np.exp(logits[action] - top)
            total += weights[action]
    return total
