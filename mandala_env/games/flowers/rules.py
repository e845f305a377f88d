"""The rules of Flowers, one function for each sentence of the rulebook: set-up, the four steps of a turn, the end.

Section names in the docstrings are those of the rulebook: Set-up, Play cards, Draw cards, Claim check, Complete a
mandala, Destroy a mandala (in `destruction.py`), End of the game, Scoring (in `tiles.py`).
"""

from typing import Any

import numpy as np

from mandala_env.core.actions import allow, run
from mandala_env.core.jit import jit
from mandala_env.core.piles import ONES, load, move_all, present, put, size, take_random
from mandala_env.core.rng import below
from mandala_env.games.flowers.actions import COLOUR, COUNT, MANDALA, PICK_ID, PLAY_ID, TILE
from mandala_env.games.flowers.destruction import cards_in, destroy, draw_tiles, pick, stacks_are_empty
from mandala_env.games.flowers.state import (
    CARDS_PER_COLOUR,
    HAND_LIMIT,
    NO_MANDALA,
    NOBODY,
    NUM_CARDS,
    NUM_COLOURS,
    NUM_MANDALAS,
    OVER,
    PICK,
    PLAY,
    TILES_PER_COLOUR,
)
from mandala_env.games.flowers.tiles import num_flowers, points_of

STARTING_HAND = 5  # of the first player; each next player has one card more
MOST_CARDS_DRAWN = 4
FLOWERS_TO_END = 3

# --- Set-up ---------------------------------------------------------------------------------------------------


@jit
def deal(state: Any) -> None:
    """Set-up: a dark and a light tile to each mandala; 5, 6, 7, 8 cards to the hands; player 0 begins."""
    state.turn = 0
    state.player = 0
    state.phase = PLAY
    state.picking = NO_MANDALA
    state.completer = NOBODY
    state.final = 0
    state.adjudicated = 0
    state.skipped[:] = 0
    state.discard[:] = 0
    state.deck[:] = CARDS_PER_COLOUR
    state.hands[:] = 0
    state.known[:] = 0
    state.face_up[:] = 0
    state.face_down[:] = 0
    state.singles[:] = 0
    state.flower_lows[:] = 0
    state.flower_highs[:] = 0
    state.tiles[:] = 0
    state.stacks[:] = 0
    for colour in range(NUM_COLOURS):
        for tile in range(TILES_PER_COLOUR):
            state.stacks[state.tile_values[colour, tile] - 1, colour] += 1
    for mandala in range(NUM_MANDALAS):
        draw_tiles(state, mandala)
    left = NUM_CARDS
    for player in range(len(state.hands)):
        for _ in range(STARTING_HAND + player):
            put(state.hands[player], take_random(state.deck, left, state), 1)
            left -= 1


# --- What may be done -----------------------------------------------------------------------------------------


@jit
def legal(state: Any, words: Any) -> None:
    """Write the actions that the player to decide may take; none when the game is over."""
    words[:] = 0
    if state.phase == PLAY:
        legal_plays(state, words)
    elif state.phase == PICK:
        allow(words, PICK_ID[0], run(2))


@jit
def legal_plays(state: Any, words: Any) -> None:
    """Play cards: one or more of one colour to any mandala, if the hand is not empty after the draw that follows."""
    hand = state.hands[state.player]
    in_hand = size(hand)
    half = NUM_COLOURS // 2  # the bits of three colours fit a word
    dark, light = np.uint64(0), np.uint64(0)
    for colour in range(half):
        dark |= run(most_playable(state, hand[colour], in_hand)) << np.uint64(colour * CARDS_PER_COLOUR)
        light |= run(most_playable(state, hand[half + colour], in_hand)) << np.uint64(colour * CARDS_PER_COLOUR)
    for mandala in range(NUM_MANDALAS):
        allow(words, PLAY_ID[mandala, 0], dark)
        allow(words, PLAY_ID[mandala, half], light)


@jit
def most_playable(state: Any, count: int, in_hand: int) -> int:
    """How many of `count` cards of one colour a player with `in_hand` cards may play."""
    if count < in_hand:
        return count
    if in_hand == 1:
        return 1 if may_draw(state) else 0
    return count - 1


@jit
def may_draw(state: Any) -> bool:
    """Draw cards: is there a card to draw?"""
    return size(state.deck) > 0 or size(state.discard) > 0


@jit
def has_legal_play(state: Any, player: int) -> bool:
    """Reading: a player whose only card cannot be replaced has no legal play and is skipped."""
    return size(state.hands[player]) > 1 or may_draw(state)


# --- A turn ---------------------------------------------------------------------------------------------------


@jit
def apply(state: Any, action: int) -> None:
    """Carry out a legal action and everything that follows from it until the next decision."""
    actor = state.player
    active, destroyed = actor, NO_MANDALA
    if state.phase == PICK:
        active, destroyed = state.completer, state.picking
        pick(state, int(TILE[action]))
    else:
        mandala, count = int(MANDALA[action]), int(COUNT[action])
        play(state, mandala, int(COLOUR[action]), count)
        draw(state, count)
        check_claim(state, mandala)
        if is_complete(state, mandala):
            destroyed = mandala
            destroy(state, mandala, actor)
    if state.phase != PICK and not state.final:
        if destroyed != NO_MANDALA:
            start_new_mandala(state, destroyed)
        finish_turn(state, active)
    if state.phase != PICK and state.final:
        destroy_what_is_left(state)
    if state.phase == OVER:
        state.player = actor


@jit
def play(state: Any, mandala: int, colour: int, count: int) -> None:
    """Play cards: face up if the colour is new in this mandala, otherwise shown and laid face down."""
    me = state.player
    is_new = is_new_colour(state, mandala, colour)
    put(state.hands[me], colour, -count)
    state.known[me, colour] = max(0, state.known[me, colour] - count)
    if is_new:
        put(state.face_up[me, mandala], colour, count)
    else:
        put(state.face_down[me, mandala], colour, count)


@jit
def is_new_colour(state: Any, mandala: int, colour: int) -> bool:
    """Play cards: a colour is new if it is neither on the flower tiles nor on any card that lies face up here."""
    num_there = int(state.tiles[mandala, colour])
    for player in range(len(state.hands)):
        num_there += state.face_up[player, mandala, colour]
    return num_there == 0


@jit
def draw(state: Any, num_played: int) -> None:
    """Draw cards: after exactly one card up to 4, to at most 8 in hand; an empty deck is rebuilt from the discard."""
    if num_played != 1:
        return
    hand = state.hands[state.player]
    in_deck = size(state.deck)
    for _ in range(min(MOST_CARDS_DRAWN, HAND_LIMIT - size(hand))):
        if in_deck == 0:
            move_all(state.discard, state.deck)
            in_deck = size(state.deck)
            if in_deck == 0:
                return
        put(hand, take_random(state.deck, in_deck, state), 1)
        in_deck -= 1


@jit
def check_claim(state: Any, mandala: int) -> None:
    """Claim check: with a card face up and strictly more cards than every other player who has one, take the marker."""
    me = state.player
    if size(state.face_up[me, mandala]) == 0:
        return
    mine = cards_in(state, mandala, me)
    for player in range(len(state.hands)):
        if player != me and size(state.face_up[player, mandala]) > 0 and cards_in(state, mandala, player) >= mine:
            return
    state.markers[mandala] = me


@jit
def is_complete(state: Any, mandala: int) -> bool:
    """Complete a mandala: all six colours are there, on the tiles and on the cards that lie face up."""
    cards = load(state.tiles[mandala])
    for player in range(len(state.hands)):
        cards |= load(state.face_up[player, mandala])
    return present(cards) == ONES


@jit
def start_new_mandala(state: Any, mandala: int) -> None:
    """Start a new mandala with two tiles from the stacks, unless the game ends with this turn."""
    if has_third_flower(state) or stacks_are_empty(state):
        state.final = 1
    elif state.turn + 1 < state.max_turns:
        draw_tiles(state, mandala)


@jit
def finish_turn(state: Any, active: int) -> None:
    """The turn is over: the next player who can play is next; those who cannot are skipped, which counts as a turn."""
    num_players = len(state.hands)
    player = active
    state.skipped[:] = 0
    for num_skipped in range(num_players + 1):
        state.turn += 1
        if num_skipped == num_players:  # Reading: everybody was skipped in a row
            state.final = 1
        if state.final:
            return
        if state.turn >= state.max_turns:
            state.phase = OVER
            state.adjudicated = 1
            return
        player = (player + 1) % num_players
        if has_legal_play(state, player):
            state.player = player
            return
        state.skipped[player] = 1


# --- End of the game and scoring ------------------------------------------------------------------------------


@jit
def has_third_flower(state: Any) -> bool:
    """End of the game: has somebody made a third flower?"""
    most = 0
    for player in range(len(state.hands)):
        most = max(most, num_flowers(state, player))
    return most >= FLOWERS_TO_END


@jit
def destroy_what_is_left(state: Any) -> None:
    """End of the game: the mandalas that are left are destroyed one after the other, in random order.

    Those without a card are passed over: their destruction would change nothing.
    """
    while True:
        mandala = random_mandala_with_cards(state)
        if mandala == NO_MANDALA:
            state.phase = OVER
            return
        destroy(state, mandala, NOBODY)
        if state.phase == PICK:
            return


@jit
def random_mandala_with_cards(state: Any) -> int:
    """One of the mandalas with cards, each as likely as the others, or NO_MANDALA."""
    found, num_found = NO_MANDALA, 0
    for mandala in range(NUM_MANDALAS):
        has_cards = False
        for player in range(len(state.hands)):
            has_cards = has_cards or cards_in(state, mandala, player) > 0
        if has_cards:
            num_found += 1
            if below(state, num_found) == 0:
                found = mandala
    return found


@jit
def is_over(state: Any) -> bool:
    """Has the game ended?"""
    return state.phase == OVER


@jit
def score(state: Any, points: Any) -> None:
    """Scoring: single tiles and flowers."""
    for player in range(len(state.hands)):
        points[player] = points_of(state, player)


@jit
def payoff(state: Any, out: Any) -> None:
    """Scoring: the most points win, on a tie the most cards in hand; who is still equal shares the win."""
    num_players = len(state.hands)
    best = -1
    for player in range(num_players):
        best = max(best, standing(state, player))
    num_winners = 0
    for player in range(num_players):
        num_winners += standing(state, player) == best
    for player in range(num_players):
        if num_winners == num_players:
            out[player] = 0
        elif standing(state, player) == best:
            out[player] = 1 / num_winners
        else:
            out[player] = -1 / (num_players - num_winners)


@jit
def standing(state: Any, player: int) -> int:
    """One number that orders the players: points first, then cards in hand."""
    return points_of(state, player) * (NUM_CARDS + 1) + size(state.hands[player])
