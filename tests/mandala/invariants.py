"""What is true of every state of Mandala that can be reached by playing, told plainly and compiled for many games."""

from typing import Any

import numpy as np

from mandala_env.core.jit import jit
from mandala_env.core.piles import HIGHS, ONES, load, present, size, total
from mandala_env.games.mandala.state import CLAIM, NO_MANDALA, OVER, PLAY

RULES = (
    "there are 18 cards of each colour, and no pile has less than none",
    "a hand holds 1 to 8 cards",
    "the two starting cards of a cup stay in it",
    "the colours of a river lie in spaces 1, 2, 3, ...",
    "a colour lies in at most one of the mountain and the two fields",
    "a mandala stays complete only while it is claimed, which takes two colours in the mountain and a card in a field",
    "there are at least two cards in a mountain, save in the one that was destroyed last",
    "somebody claims in the claim phase only, and there are two seats",
    "in play no river is full, and an empty deck has run out and has taken in the discard",
    "a game is over for a reason, and adjudicated if the turns are the only one",
)

EIGHTEEN = np.uint64(18) * ONES


@jit
def broken(state: Any) -> int:
    """The number of the first of RULES that the state breaks, or -1."""
    if not has_all_cards(state):
        return 0
    for player in range(2):
        if not 1 <= size(state.hands[player]) <= 8:
            return 1
        if size(state.starting_cups[player]) != 2 or has_less(state.cups[player], state.starting_cups[player]):
            return 2
        length, spaces = 0, 0
        for colour in range(6):
            length += state.river_spaces[player, colour] > 0
            spaces |= 1 << int(state.river_spaces[player, colour])
        if spaces | 1 != (1 << (length + 1)) - 1:
            return 3
    for mandala in range(2):
        rule = broken_in_mandala(state, mandala)
        if rule >= 0:
            return rule
    return broken_by_phase(state)


@jit
def has_all_cards(state: Any) -> bool:
    """18 cards of each colour, river cards included."""
    piles = load(state.deck) | load(state.discard)
    cards = load(state.deck) + load(state.discard)
    for player in range(2):
        piles |= load(state.hands[player]) | load(state.cups[player]) | load(state.starting_cups[player])
        cards += load(state.hands[player]) + load(state.cups[player]) + present(load(state.river_spaces[player]))
        for mandala in range(2):
            piles |= load(state.fields[mandala, player])
            cards += load(state.fields[mandala, player])
    for mandala in range(2):
        piles |= load(state.mountains[mandala])
        cards += load(state.mountains[mandala])
    return piles & HIGHS == 0 and cards == EIGHTEEN


@jit
def has_less(pile: Any, part: Any) -> bool:
    """Has a pile fewer cards of some colour than what should be a part of it?"""
    less = False
    for colour in range(6):
        less |= pile[colour] < part[colour]
    return less


@jit
def broken_in_mandala(state: Any, mandala: int) -> int:
    """The rules about one mandala."""
    in_mountain = present(load(state.mountains[mandala]))
    in_fields = present(load(state.fields[mandala, 0])), present(load(state.fields[mandala, 1]))
    colours = in_mountain + in_fields[0] + in_fields[1]
    if colours & ~ONES != 0:
        return 4
    has_field = in_fields[0] | in_fields[1] != 0
    if state.claiming == mandala:
        return -1 if total(in_mountain) >= 2 and has_field else 5
    if colours == ONES:
        return 5
    was_destroyed = state.phase == OVER and colours == 0
    return -1 if size(state.mountains[mandala]) >= 2 or was_destroyed else 6


@jit
def broken_by_phase(state: Any) -> int:
    """The rules about the phases and the end."""
    if (state.phase == CLAIM) != (state.claiming != NO_MANDALA) or state.player < 0 or state.player > 1:
        return 7
    longest = max(total(present(load(state.river_spaces[0]))), total(present(load(state.river_spaces[1]))))
    in_deck, in_discard = size(state.deck), size(state.discard)
    stays_empty = state.second_exhaustion_ends == 1 and state.exhaustions >= 2
    if state.phase == PLAY and (longest == 6 or stays_empty or state.turn >= state.max_turns):
        return 8
    if in_deck == 0 and (state.exhaustions == 0 or (state.phase == PLAY and in_discard > 0)):
        return 8
    has_ended = longest == 6 or state.exhaustions > 0
    if state.phase == OVER and not has_ended and state.turn < state.max_turns:
        return 9
    if state.adjudicated and (state.phase != OVER or state.turn != state.max_turns or longest == 6):
        return 9
    return 9 if state.phase == OVER and not has_ended and not state.adjudicated else -1
