"""The rules of Mandala, one function for each sentence of the rulebook.

Section names in the docstrings are those of the rulebook: Set-up, The colour rule, Build, Grow, Discard, Completing,
Destroying, No cards in a field, End of the game, Scoring.
"""

from typing import Any

import numpy as np

from mandala_env.core.actions import allow, count_bits, run
from mandala_env.core.jit import jit
from mandala_env.core.piles import BYTE, ONES, colours_of, load, move_all, present, put, size, take_random, total
from mandala_env.games.mandala.actions import (
    BUILD,
    BUILD_ID,
    CLAIM_ID,
    COLOUR,
    COUNT,
    DISCARD_ID,
    DISCARD_PLACE,
    GROW,
    GROW_ID,
    GROW_PLACE,
    GROWS_OF,
    KIND,
    MANDALA,
)
from mandala_env.games.mandala.state import (
    CARDS_PER_COLOUR,
    CLAIM,
    HAND_LIMIT,
    NO_MANDALA,
    NUM_COLOURS,
    NUM_MANDALAS,
    NUM_PLAYERS,
    OVER,
    PLAY,
)

STARTING_HAND, STARTING_CUP, STARTING_MOUNTAIN = 6, 2, 2
CARDS_DRAWN_FOR_A_BUILD = 3

# --- Set-up ---------------------------------------------------------------------------------------------------


@jit
def deal(state: Any) -> None:
    """Set-up: 2 cards face up into each mountain, 6 to each hand, 2 face down into each cup; player 0 begins."""
    state.turn = 0
    state.exhaustions = 0
    state.player = 0
    state.phase = PLAY
    state.claiming = NO_MANDALA
    state.completer = 0
    state.adjudicated = 0
    state.deck[:] = CARDS_PER_COLOUR
    state.discard[:] = 0
    state.hands[:] = 0
    state.cups[:] = 0
    state.starting_cups[:] = 0
    state.river_spaces[:] = 0
    state.mountains[:] = 0
    state.fields[:] = 0
    left = NUM_COLOURS * CARDS_PER_COLOUR
    for mandala in range(NUM_MANDALAS):
        for _ in range(STARTING_MOUNTAIN):
            put(state.mountains[mandala], take_random(state.deck, left, state), 1)
            left -= 1
    for player in range(NUM_PLAYERS):
        for _ in range(STARTING_HAND):
            put(state.hands[player], take_random(state.deck, left, state), 1)
            left -= 1
        for _ in range(STARTING_CUP):
            colour = take_random(state.deck, left, state)
            put(state.cups[player], colour, 1)
            put(state.starting_cups[player], colour, 1)
            left -= 1


# --- What may be done -----------------------------------------------------------------------------------------


@jit
def legal(state: Any, words: Any) -> None:
    """Write the actions that the player to decide may take; none when the game is over."""
    words[:] = 0
    if state.phase == PLAY:
        legal_plays(state, words)
    elif state.phase == CLAIM:
        legal_claims(state, words)


@jit
def legal_plays(state: Any, words: Any) -> None:
    """A turn: exactly one of build, grow and discard, for the colours in hand; there is no pass."""
    hand = load(state.hands[state.player])
    held = present(hand)
    may_build = total(hand) > 1 or size(state.deck) > 0 or size(state.discard) > 0
    growable = hand if count_bits(held) > 1 else hand - held  # Grow: one card stays in hand
    discards, grows = np.uint64(0), np.uint64(0)
    for colour in range(NUM_COLOURS):
        lane = np.uint64(8 * colour)
        discards |= run((hand >> lane) & BYTE) << DISCARD_PLACE[colour]
        grows |= run((growable >> lane) & BYTE) << GROW_PLACE[colour]
    allow(words, DISCARD_ID[0], discards)
    for mandala in range(NUM_MANDALAS):
        # The colour rule: a colour lies in at most one of the three areas of a mandala.
        in_mountain = present(load(state.mountains[mandala]))
        in_mine = present(load(state.fields[mandala, state.player]))
        in_rivals = present(load(state.fields[mandala, 1 - state.player]))
        if may_build:
            allow(words, BUILD_ID[mandala, 0], colours_of(held & ~(in_mine | in_rivals)))
        allow(words, GROW_ID[mandala, 0], grows & GROWS_OF[colours_of(held & ~(in_mountain | in_rivals))])


@jit
def legal_claims(state: Any, words: Any) -> None:
    """Destroying: claim one of the colours of the mountain; there is no pass."""
    for colour in range(NUM_COLOURS):
        allow(words, CLAIM_ID[colour], run(state.mountains[state.claiming, colour] > 0))


# --- A turn ---------------------------------------------------------------------------------------------------


@jit
def apply(state: Any, action: int) -> None:
    """Carry out a legal action and everything that follows from it until the next decision."""
    actor = state.player
    if state.phase == CLAIM:
        claim(state, COLOUR[action])
        finish_destruction(state)
    elif KIND[action] == BUILD:
        build(state, MANDALA[action], COLOUR[action])
        destroy_if_complete(state, MANDALA[action])
    elif KIND[action] == GROW:
        grow(state, MANDALA[action], COLOUR[action], COUNT[action])
        destroy_if_complete(state, MANDALA[action])
    else:
        discard(state, COLOUR[action], COUNT[action])
        finish_turn(state)
    if state.phase == OVER:
        state.player = actor


@jit
def build(state: Any, mandala: int, colour: int) -> None:
    """Build: one card to a mountain, then draw 3, to at most 8 in hand."""
    hand = state.hands[state.player]
    put(hand, colour, -1)
    put(state.mountains[mandala], colour, 1)
    draw(state, hand, min(CARDS_DRAWN_FOR_A_BUILD, HAND_LIMIT - size(hand)))


@jit
def grow(state: Any, mandala: int, colour: int, count: int) -> None:
    """Grow: cards of one colour to your own field; no draw."""
    put(state.hands[state.player], colour, -count)
    put(state.fields[mandala, state.player], colour, count)


@jit
def discard(state: Any, colour: int, count: int) -> None:
    """Discard: cards of one colour to the discard, then draw as many; they may be among those shuffled and drawn."""
    hand = state.hands[state.player]
    put(hand, colour, -count)
    put(state.discard, colour, count)
    draw(state, hand, count)


@jit
def draw(state: Any, target: Any, count: int) -> None:
    """Draw cards from the deck one by one, rebuilding it whenever it has run out; stop when no card is left at all."""
    left = size(state.deck)
    for _ in range(count):
        if left == 0:  # it could not be rebuilt when it ran out: now there may be a discard
            left = rebuild_deck(state)
            if left == 0:
                return
        put(target, take_random(state.deck, left, state), 1)
        left -= 1
        if left == 0:
            state.exhaustions += 1
            left = rebuild_deck(state)


@jit
def rebuild_deck(state: Any) -> int:
    """End of the game, the deck: shuffle the discard into a new deck; returns its size.

    Reading: with `second_exhaustion_ends` a deck that ran out twice stays empty.
    """
    if state.second_exhaustion_ends and state.exhaustions >= 2:
        return 0
    move_all(state.discard, state.deck)
    return size(state.deck)


@jit
def finish_turn(state: Any) -> None:
    """The turn is over: the other player is next, unless the deck ran out for good or the turns are used up."""
    state.turn += 1
    state.player = 1 - state.player
    if state.second_exhaustion_ends and state.exhaustions >= 2:
        state.phase = OVER
    elif state.turn >= state.max_turns:
        state.phase = OVER
        state.adjudicated = 1


# --- Completing and destroying a mandala ----------------------------------------------------------------------


@jit
def is_complete(state: Any, mandala: int) -> bool:
    """Completing: all six colours lie in the mountain and the two fields together."""
    cards = load(state.mountains[mandala]) | load(state.fields[mandala, 0]) | load(state.fields[mandala, 1])
    return present(cards) == ONES


@jit
def destroy_if_complete(state: Any, mandala: int) -> None:
    """Completing: a mandala with all six colours is destroyed at the end of the turn."""
    if not is_complete(state, mandala):
        finish_turn(state)
        return
    state.phase = CLAIM
    state.claiming = mandala
    state.completer = state.player
    state.player = first_to_claim(state)
    if size(state.fields[mandala, 0]) == 0 and size(state.fields[mandala, 1]) == 0:
        move_all(state.mountains[mandala], state.discard)  # nobody would get any of it: no need to ask
    finish_destruction(state)


@jit
def first_to_claim(state: Any) -> int:
    """Destroying: the player with more cards in the field; on a tie the one who did not complete the mandala."""
    cards_0, cards_1 = size(state.fields[state.claiming, 0]), size(state.fields[state.claiming, 1])
    if cards_0 == cards_1:
        return 1 - state.completer
    return 0 if cards_0 > cards_1 else 1


@jit
def claim(state: Any, colour: int) -> None:
    """Destroying: take all cards of one colour of the mountain; then it is the other player's turn to claim."""
    me = state.player
    count = state.mountains[state.claiming, colour]
    state.mountains[state.claiming, colour] = 0
    if size(state.fields[state.claiming, me]) == 0:  # No cards in a field
        state.discard[colour] += count
    else:
        if state.river_spaces[me, colour] == 0:
            state.river_spaces[me, colour] = river_length(state, me) + 1
            count -= 1
        state.cups[me, colour] += count
    state.player = 1 - me


@jit
def river_length(state: Any, player: int) -> int:
    """How many colours lie in a player's river."""
    return count_bits(present(load(state.river_spaces[player])))


@jit
def finish_destruction(state: Any) -> None:
    """Destroying: the last colour needs no question; when the mountain is empty, the fields go to the discard and two
    cards start a new mountain, unless the game ends."""
    mandala = state.claiming
    colours_left = 0
    last_colour = 0
    for colour in range(NUM_COLOURS):
        if state.mountains[mandala, colour] > 0:
            colours_left += 1
            last_colour = colour
    if colours_left > 1:
        return
    if colours_left == 1:
        claim(state, last_colour)
    for player in range(NUM_PLAYERS):
        move_all(state.fields[mandala, player], state.discard)
    end_of_the_game = has_ended(state)
    state.player = state.completer
    state.completer = 0
    state.claiming = NO_MANDALA
    state.phase = PLAY
    if not end_of_the_game and state.turn + 1 < state.max_turns:
        draw(state, state.mountains[mandala], STARTING_MOUNTAIN)
    finish_turn(state)
    if end_of_the_game:
        state.phase = OVER
        state.adjudicated = 0


# --- End of the game and scoring ------------------------------------------------------------------------------


@jit
def has_ended(state: Any) -> bool:
    """End of the game, asked after a destruction: the deck has run out, or a river has its sixth colour."""
    return state.exhaustions > 0 or river_length(state, 0) == NUM_COLOURS or river_length(state, 1) == NUM_COLOURS


@jit
def is_over(state: Any) -> bool:
    """Has the game ended?"""
    return state.phase == OVER


@jit
def score(state: Any, points: Any) -> None:
    """Scoring: a cup card is worth the number of its colour's river space, 0 without one; river cards nothing."""
    for player in range(NUM_PLAYERS):
        points[player] = 0
        for colour in range(NUM_COLOURS):
            points[player] += int(state.cups[player, colour]) * state.river_spaces[player, colour]


@jit
def payoff(state: Any, out: Any) -> None:
    """Scoring: the higher total wins; on a tie the player with fewer cards in the cup; still equal, a draw."""
    lead = 0
    for colour in range(NUM_COLOURS):
        lead += int(state.cups[0, colour]) * state.river_spaces[0, colour]
        lead -= int(state.cups[1, colour]) * state.river_spaces[1, colour]
    if lead == 0:
        lead = size(state.cups[1]) - size(state.cups[0])
    out[0] = min(1, max(-1, lead))
    out[1] = int(lead < 0) - int(lead > 0)
