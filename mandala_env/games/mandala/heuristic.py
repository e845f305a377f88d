"""A scripted player: it looks one action ahead and judges what lies on the table, from its observation alone.

How a claim is valued is section "What good play looks like" of the rules page: a colour that is in the river is worth
its space for each card; a new one is worth the next space for each card that then lies in the cup, and a little more.
"""

from typing import Any

import numpy as np

from mandala_env.core.jit import copy_row, jit, kernel
from mandala_env.core.piles import size
from mandala_env.core.rng import below
from mandala_env.games.mandala.actions import BUILD, CLAIM_COLOUR, COLOUR, COUNT, GROW, KIND, MANDALA
from mandala_env.games.mandala.observation import (
    CLAIMING,
    EXHAUSTIONS,
    EXHAUSTIONS_HUNDREDS,
    HAND,
    LAYOUT,
    MOUNTAIN,
    MY_CUP,
    MY_FIELD,
    MY_RIVER,
    RIVAL_CUP,
    RIVAL_FIELD,
    RIVAL_RIVER,
)
from mandala_env.games.mandala.rules import CARDS_DRAWN_FOR_A_BUILD
from mandala_env.games.mandala.state import HAND_LIMIT, NUM_COLOURS, NUM_MANDALAS

F = LAYOUT.size
RIVALS_LOSS = 0.7  # what it is worth to keep a claim from the rival
NEW_COLOUR = 0.5  # the "little more" of a colour that is new to the river
# How much of a mandala's expected shares counts, by how many of its colours are there: the rest may still change.
CERTAINTY = np.array([0.1, 0.15, 0.25, 0.35, 0.5, 0.7, 1.0])
CARD_IN_HAND = 0.55  # what a card more in hand is worth, and one that can still be played somewhere
COLOUR_IN_HAND = 0.35
FIELD_CARD = 0.12  # a lead in a field is worth keeping
END_OF_GAME = 25.0  # winning the game, in points


@kernel
def heuristic(observations: Any, action_masks: Any, pickers: Any, actions: Any) -> None:
    """Write an action for each observation (N, F) with its mask (N, A); ties are broken by the pickers (N,)."""
    after, scratch = np.empty(F, np.int8), np.empty(F, np.int8)
    for i in range(len(observations)):
        actions[i] = choose(observations[i], action_masks[i], pickers[i], after, scratch)


@jit
def choose(obs: Any, mask: Any, picker: Any, after: Any, scratch: Any) -> int:
    """The action with the highest value."""
    best, best_value, num_best = -1, -np.inf, 0
    for action in range(len(mask)):
        if not mask[action]:
            continue
        copy_row(after, obs)
        value = (
            value_of_claim(obs, COLOUR[action]) if KIND[action] == CLAIM_COLOUR else value_of(after, action, scratch)
        )
        if value > best_value:
            best, best_value, num_best = action, value, 1
        elif value == best_value:
            num_best += 1
            if below(picker, num_best) == 0:
                best = action
    return best


@jit
def value_of_claim(obs: Any, colour: int) -> float:
    """What it is worth to claim a colour: my gain and what the rival cannot have."""
    mandala = 0 if obs[CLAIMING] else 1
    count = obs[MOUNTAIN + mandala * NUM_COLOURS + colour]
    mine = claim_value(obs, MY_CUP, MY_RIVER, colour, count)
    if field_size(obs, MY_FIELD, mandala) == 0:
        mine = 0.0
    rivals = claim_value(obs, RIVAL_CUP, RIVAL_RIVER, colour, count)
    if field_size(obs, RIVAL_FIELD, mandala) == 0:
        rivals = 0.0
    return mine + RIVALS_LOSS * rivals


@jit
def claim_value(obs: Any, cup: int, river: int, colour: int, count: int) -> float:
    """Points that `count` cards of a colour bring a player."""
    space = obs[river + colour]
    if space > 0:
        return float(space * count)
    return (river_length(obs, river) + 1) * (count - 1.0 + obs[cup + colour]) + NEW_COLOUR


@jit
def river_length(obs: Any, river: int) -> int:
    """How many colours a river has."""
    length = 0
    for colour in range(NUM_COLOURS):
        length += obs[river + colour] > 0
    return length


@jit
def field_size(obs: Any, field: int, mandala: int) -> int:
    """How many cards lie in a field of a mandala."""
    start = field + mandala * NUM_COLOURS
    return size(obs[start : start + NUM_COLOURS])


@jit
def value_of(after: Any, action: int, scratch: Any) -> float:
    """The value of a play; `after` is a copy of the observation that is changed on the way."""
    kind, colour, count = KIND[action], COLOUR[action], COUNT[action]
    if kind == BUILD:
        count = 1
        after[MOUNTAIN + MANDALA[action] * NUM_COLOURS + colour] += 1
    elif kind == GROW:
        after[MY_FIELD + MANDALA[action] * NUM_COLOURS + colour] += count
    after[HAND + colour] -= count
    in_hand = size(after[HAND : HAND + NUM_COLOURS])
    value = value_of_hand(after)
    if kind == BUILD:
        in_hand = min(HAND_LIMIT, in_hand + CARDS_DRAWN_FOR_A_BUILD)
    elif kind != GROW:
        in_hand += count
    value += CARD_IN_HAND * in_hand
    for mandala in range(NUM_MANDALAS):
        colours = colours_in(after, mandala)
        shares = shares_of(after, mandala, scratch, colours == NUM_COLOURS)
        if colours == NUM_COLOURS and is_end_of_game(scratch):
            lead = points(scratch, MY_CUP, MY_RIVER) - points(scratch, RIVAL_CUP, RIVAL_RIVER)
            value += END_OF_GAME * (int(lead > 0) - int(lead < 0)) + lead
        else:
            value += CERTAINTY[colours] * shares
            if colours < NUM_COLOURS:
                lead = field_size(after, MY_FIELD, mandala) - field_size(after, RIVAL_FIELD, mandala)
                value += FIELD_CARD * min(2, max(-2, lead))
    return value


@jit
def value_of_hand(obs: Any) -> float:
    """Different colours in hand that can be played somewhere keep more choices open."""
    value = 0.0
    for colour in range(NUM_COLOURS):
        if obs[HAND + colour] > 0:
            for mandala in range(NUM_MANDALAS):
                value += COLOUR_IN_HAND * (obs[RIVAL_FIELD + mandala * NUM_COLOURS + colour] == 0)
    return value


@jit
def colours_in(obs: Any, mandala: int) -> int:
    """How many colours lie in a mandala."""
    colours = 0
    for colour in range(NUM_COLOURS):
        cell = mandala * NUM_COLOURS + colour
        colours += obs[MOUNTAIN + cell] > 0 or obs[MY_FIELD + cell] > 0 or obs[RIVAL_FIELD + cell] > 0
    return colours


@jit
def shares_of(obs: Any, mandala: int, scratch: Any, i_complete: bool) -> float:
    """My points less the rival's if a mandala were destroyed now, both claiming greedily; scratch holds the result.

    On a tie of the fields the rival claims first: that is the rule when I complete it, and cautious when I do not.
    """
    copy_row(scratch, obs)
    mine, rivals = field_size(obs, MY_FIELD, mandala), field_size(obs, RIVAL_FIELD, mandala)
    my_claim = mine > rivals
    shares = 0.0
    for _ in range(NUM_COLOURS):
        colour = best_claim(scratch, mandala, my_claim, mine > 0, rivals > 0)
        if colour < 0:
            break
        cell = MOUNTAIN + mandala * NUM_COLOURS + colour
        count = scratch[cell]
        scratch[cell] = 0
        if my_claim and mine > 0:
            shares += take(scratch, MY_CUP, MY_RIVER, colour, count)
        elif not my_claim and rivals > 0:
            shares -= take(scratch, RIVAL_CUP, RIVAL_RIVER, colour, count)
        my_claim = not my_claim
    return shares


@jit
def best_claim(obs: Any, mandala: int, my_claim: bool, i_have_cards: bool, rival_has_cards: bool) -> int:
    """The colour that a greedy claimer takes, -1 when the mountain is empty."""
    best, best_value = -1, -1.0
    for colour in range(NUM_COLOURS):
        count = obs[MOUNTAIN + mandala * NUM_COLOURS + colour]
        if count > 0:
            mine = claim_value(obs, MY_CUP, MY_RIVER, colour, count) if i_have_cards else 0.0
            rivals = claim_value(obs, RIVAL_CUP, RIVAL_RIVER, colour, count) if rival_has_cards else 0.0
            value = mine + RIVALS_LOSS * rivals if my_claim else rivals + RIVALS_LOSS * mine
            if value > best_value:
                best, best_value = colour, value
    return best


@jit
def take(obs: Any, cup: int, river: int, colour: int, count: int) -> float:
    """Carry out a claim in an observation; returns what it is worth."""
    value = claim_value(obs, cup, river, colour, count)
    if obs[river + colour] == 0:
        obs[river + colour] = river_length(obs, river) + 1
        count -= 1
    obs[cup + colour] += count
    return value


@jit
def is_end_of_game(obs: Any) -> bool:
    """After a destruction: has the deck run out, or does a river have six colours?"""
    return (
        obs[EXHAUSTIONS] > 0
        or obs[EXHAUSTIONS_HUNDREDS] > 0
        or river_length(obs, MY_RIVER) == NUM_COLOURS
        or river_length(obs, RIVAL_RIVER) == NUM_COLOURS
    )


@jit
def points(obs: Any, cup: int, river: int) -> float:
    """The points that a player is known to have."""
    total = 0.0
    for colour in range(NUM_COLOURS):
        total += float(obs[cup + colour]) * obs[river + colour]
    return total
