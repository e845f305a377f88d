"""What is true of every state of Flowers that can be reached by playing, told plainly and compiled for many games."""

from typing import Any

import numpy as np

from mandala_env.core.jit import jit
from mandala_env.core.piles import HIGHS, ONES, load, present, size, total
from mandala_env.games.flowers.state import NO_MANDALA, NOBODY, OVER, PICK, PLAY

RULES = (
    "there are 15 cards of each colour, and no pile has less than none",
    "there are the tiles of this game, each of them once",
    "a hand holds a card or more, and what is known of it is part of it",
    "a mandala has both of its tiles or neither, and without them no card",
    "a colour lies face up once and not on a tile, and face down only where it is already",
    "the marker is held by one with a card face up and the most cards of all who have one; by nobody if nobody has",
    "a mandala stays complete only while its tile is picked",
    "the flowers of a colour lie in falling order, and a third flower ends the game",
    "somebody picks in the pick phase only, and is a player",
    "who plays can play, and who was skipped just before could not",
    "a game is over for a reason: nothing is left after the final destructions, or the turns are used up",
)

FIFTEEN, SIX = np.uint64(15) * ONES, np.uint64(6) * ONES


@jit
def broken(state: Any) -> int:
    """The number of the first of RULES that the state breaks, or -1."""
    if not has_all_cards(state):
        return 0
    if not has_all_tiles(state):
        return 1
    for player in range(len(state.hands)):
        is_part = True
        for colour in range(6):
            is_part &= 0 <= state.known[player, colour] <= state.hands[player, colour]
        if not is_part or size(state.hands[player]) < 1:
            return 2
    for mandala in range(3):
        rule = broken_in_mandala(state, mandala)
        if rule >= 0:
            return rule
    if not are_flowers_in_order(state):
        return 7
    return broken_by_phase(state)


@jit
def has_all_cards(state: Any) -> bool:
    """15 cards of each colour."""
    piles = load(state.deck) | load(state.discard)
    cards = load(state.deck) + load(state.discard)
    for player in range(len(state.hands)):
        piles |= load(state.hands[player])
        cards += load(state.hands[player])
        for mandala in range(3):
            piles |= load(state.face_up[player, mandala]) | load(state.face_down[player, mandala])
            cards += load(state.face_up[player, mandala]) + load(state.face_down[player, mandala])
    return piles & HIGHS == 0 and cards == FIFTEEN


@jit
def has_all_tiles(state: Any) -> bool:
    """Six tiles of each colour in stacks, mandalas, singles and flowers; when the game is over, they are looked at.

    A tile that is lost or exchanged on the way is so until the end.
    """
    if state.phase == OVER and not has_the_tiles_of_the_game(state):
        return False
    tiles = np.uint64(0)
    for place in range(10):
        tiles += load(state.stacks[place])
    for mandala in range(3):
        tiles += present(load(state.tiles[mandala]))
    for player in range(len(state.hands)):
        tiles += present(load(state.singles[player]))
        for place in range(3):
            tiles += present(load(state.flower_lows[player, place])) + present(load(state.flower_highs[player, place]))
    return tiles == SIX


@jit
def has_the_tiles_of_the_game(state: Any) -> bool:
    """As many tiles of each colour and value as the game has."""
    for colour in range(6):
        missing = 0  # four bits for each value: how many tiles have not been found
        for tile in range(6):
            missing += 1 << 4 * int(state.tile_values[colour, tile])
        for place in range(10):
            missing -= int(state.stacks[place, colour]) << 4 * (place + 1)
        for mandala in range(3):
            missing -= bit_of(state.tiles[mandala, colour])
        for player in range(len(state.hands)):
            missing -= bit_of(state.singles[player, colour])
            for place in range(3):
                missing -= bit_of(state.flower_lows[player, place, colour])
                missing -= bit_of(state.flower_highs[player, place, colour])
        if missing != 0:
            return False
    return True


@jit
def bit_of(value: int) -> int:
    """One tile of a value, if there is one."""
    return 1 << 4 * int(value) if value > 0 else 0


@jit
def broken_in_mandala(state: Any, mandala: int) -> int:
    """The rules about one mandala."""
    on_tiles = present(load(state.tiles[mandala]))
    colours, down = on_tiles, np.uint64(0)
    for player in range(len(state.hands)):
        colours += present(load(state.face_up[player, mandala]))
        down |= present(load(state.face_down[player, mandala]))
    if colours & ~ONES != 0 or down & ~colours != 0:
        return 4
    num_tiles = total(on_tiles)
    if (num_tiles != 0 and num_tiles != 2) or (num_tiles == 0 and colours != 0):
        return 3
    if not is_marker_right(state, mandala):
        return 5
    return 6 if colours == ONES and state.picking != mandala else -1


@jit
def is_marker_right(state: Any, mandala: int) -> bool:
    """Nobody who has a card face up has more cards than the holder, who has one too."""
    most, held = 0, 0
    for player in range(len(state.hands)):
        if load(state.face_up[player, mandala]) != 0:
            count = size(state.face_up[player, mandala]) + size(state.face_down[player, mandala])
            most = max(most, count)
            held = count if state.markers[mandala] == player else held
    return held == most and (state.markers[mandala] == NOBODY) == (most == 0)


@jit
def are_flowers_in_order(state: Any) -> bool:
    """Lower half first, higher flowers first, and no third flower while the game goes on."""
    for player in range(len(state.hands)):
        count = 0
        if load(state.flower_highs[player, 0]) == 0 and load(state.flower_highs[player, 1]) == 0:
            continue
        for colour in range(6):
            before = 1000
            for place in range(3):
                low = int(state.flower_lows[player, place, colour])
                high = int(state.flower_highs[player, place, colour])
                rank = 20 * high + low
                if low > high or (low == 0) != (high == 0) or rank > before:
                    return False
                before = rank
                count += high > 0
        if count >= 3 and not state.final:
            return state.phase == OVER and state.adjudicated == 1
    return True


@jit
def broken_by_phase(state: Any) -> int:
    """The rules about the phases and the end."""
    num_players = len(state.hands)
    if (state.phase == PICK) != (state.picking != NO_MANDALA) or state.player < 0 or state.player >= num_players:
        return 8
    if state.phase == PICK and state.markers[state.picking] != state.player:
        return 8
    in_piles = size(state.deck) + size(state.discard)
    if state.phase == PLAY:
        if state.final or state.turn >= state.max_turns:
            return 10
        for player in range(num_players):
            is_stuck = size(state.hands[player]) == 1 and in_piles == 0
            if (is_stuck and player == state.player) or (state.skipped[player] and not is_stuck):
                return 9
    if state.phase == OVER:
        for mandala in range(3):
            if state.final and state.markers[mandala] != NOBODY:
                return 10
        if not state.final and (state.turn != state.max_turns or not state.adjudicated):
            return 10
    return 10 if state.adjudicated and (state.phase != OVER or state.final) else -1
