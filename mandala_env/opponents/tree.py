"""Search for one player of a game with hidden cards, compiled: one tree over many imagined states.

Every simulation deals the hidden cards anew by the game's `imagine`, goes down the tree by actions that are legal then,
adds one action, judges what comes of it and notes the result at every action on its way. This is information set Monte
Carlo tree search for one observer (Cowling, Powley, Whitehouse 2012): a node stands for a sequence of actions whatever
the hidden cards and later draws are, and an action is weighed by how often it could have been chosen.

What follows a new action is judged by a playout (`search_by_playouts`) or by a network (`advance`, from one evaluation
to the next, so that many searches share them). Nothing here knows a game: its rules are found by the type of the state.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.extending import overload

from mandala_env.core.actions import allow, count_allowed, is_allowed, nth_allowed, write_mask
from mandala_env.core.dispatch import apply, encode, imagine, is_over, legal, payoff, score
from mandala_env.core.game import Game
from mandala_env.core.jit import IS_COMPILED, copy_row, jit, kernel
from mandala_env.core.rng import GOLDEN, below, next_bits

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
ROOT, NONE = 0, -1
ONE = np.uint64(1)
LONGEST_PATH = 128  # actions; what comes later is judged as if it were new

# Chosen by matches of 200 simulations against 200 in Mandala and Flowers.
EXPLORATION = 0.5
PLAYOUT_ACTIONS = 30  # a playout is broken off here: what lies on the table by then says more than a far random end
POINTS_SHARE = 0.5  # of a finished game's result: who won says less, where a playout's end is mostly luck
FULL_LEAD = 15.0  # points
NETWORK_EXPLORATION = 1.5
DOUBT = 0.2  # how much less an action that was not tried is expected to bring than the network says, when others were

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


# --- the tree -----------------------------------------------------------------------------------------------------


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


# --- playouts -----------------------------------------------------------------------------------------------------


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


# --- a network ----------------------------------------------------------------------------------------------------


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
