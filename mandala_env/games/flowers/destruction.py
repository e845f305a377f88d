"""Destroy a mandala: who gets its tiles, where its cards go, and the tiles of the next one."""

from typing import Any

from mandala_env.core.jit import jit
from mandala_env.core.piles import move_all, put_all, size
from mandala_env.core.rng import below
from mandala_env.games.flowers.state import (
    COLOURS_PER_KIND,
    NO_MANDALA,
    NOBODY,
    NUM_KINDS,
    NUM_VALUES,
    PICK,
    PLAY,
)
from mandala_env.games.flowers.tiles import take_tile


@jit
def cards_in(state: Any, mandala: int, player: int) -> int:
    """How many cards a player has in a mandala, face up and face down."""
    return size(state.face_up[player, mandala]) + size(state.face_down[player, mandala])


@jit
def destroy(state: Any, mandala: int, completer: int) -> None:
    """Destroy a mandala that a player, or in the final destructions nobody, completed; if one of the tiles must be
    picked, only ask its holder of the marker, and `pick` does the rest."""
    first, second = takers(state, mandala, completer)
    if first != second:
        state.phase = PICK
        state.picking = mandala
        state.completer = completer
        state.player = first
        return
    if first != NOBODY:
        for kind in range(NUM_KINDS):
            take_tile(state, first, mandala, tile_colour(state, mandala, kind))
    clear_cards(state, mandala, first, second)


@jit
def takers(state: Any, mandala: int, completer: int) -> tuple[int, int]:
    """Claiming flower tiles: who takes the first tile and who the other; twice NOBODY without a holder of the marker.

    With two players, when one of them completed it, the other gets a tile only with enough of its cards.
    """
    holder = int(state.markers[mandala])
    if len(state.hands) == 2 and completer != NOBODY:
        other = 1 - completer
        if not gets_a_tile_of_two(state, mandala, other):
            return completer, completer
        return holder, 1 - holder
    if holder == NOBODY:
        return NOBODY, NOBODY
    second = second_most(state, mandala, holder)
    return holder, holder if second == NOBODY else second


@jit
def gets_a_tile_of_two(state: Any, mandala: int, other: int) -> bool:
    """Claiming flower tiles, two players: has the one who did not complete the mandala a card face up and at least half
    of all cards there (reading "half_of_rival": half as many as the completer)?"""
    if size(state.face_up[other, mandala]) == 0:
        return False
    others = cards_in(state, mandala, other)
    completers = cards_in(state, mandala, 1 - other)
    if state.half_of_rival:
        return 2 * others >= completers
    return 2 * others >= others + completers


@jit
def second_most(state: Any, mandala: int, holder: int) -> int:
    """Claiming flower tiles: of the others with a card face up the one with most cards, on a tie most cards face up;
    NOBODY if there is no such player or still a tie."""
    second, best = NOBODY, -1
    for player in range(len(state.hands)):
        num_face_up = size(state.face_up[player, mandala])
        if player != holder and num_face_up > 0:
            rank = cards_in(state, mandala, player) * 100 + num_face_up
            if rank > best:
                second, best = player, rank
            elif rank == best:
                second = NOBODY
    return second


@jit
def pick(state: Any, kind: int) -> None:
    """Claiming flower tiles: the holder of the marker takes the tile of one kind, the second player the other."""
    mandala = int(state.picking)
    first, second = takers(state, mandala, int(state.completer))
    take_tile(state, first, mandala, tile_colour(state, mandala, kind))
    take_tile(state, second, mandala, tile_colour(state, mandala, 1 - kind))
    state.phase = PLAY
    state.picking = NO_MANDALA
    state.completer = NOBODY
    clear_cards(state, mandala, first, second)


@jit
def tile_colour(state: Any, mandala: int, kind: int) -> int:
    """The colour of the dark or the light tile of a mandala, which must be there."""
    colour = kind * COLOURS_PER_KIND
    while state.tiles[mandala, colour] == 0:
        colour += 1
    return colour


@jit
def clear_cards(state: Any, mandala: int, first: int, second: int) -> None:
    """Discard or take back cards: who took a tile discards all cards there, the others take theirs back into hand."""
    for player in range(len(state.hands)):
        if player in (first, second):
            move_all(state.face_up[player, mandala], state.discard)
            move_all(state.face_down[player, mandala], state.discard)
        else:
            take_back(state, player, state.face_up[player, mandala])
            take_back(state, player, state.face_down[player, mandala])
    state.markers[mandala] = NOBODY


@jit
def take_back(state: Any, player: int, cards: Any) -> None:
    """Take back cards, which everybody has seen; the hand may exceed 8."""
    put_all(cards, state.known[player])
    move_all(cards, state.hands[player])


@jit
def draw_tiles(state: Any, mandala: int) -> None:
    """Start a new mandala: a dark and a light tile from the stacks, the marker to neutral."""
    for kind in range(NUM_KINDS):
        draw_tile(state, mandala, kind)
    state.markers[mandala] = NOBODY


@jit
def draw_tile(state: Any, mandala: int, kind: int) -> None:
    """Take one tile off a shuffled stack."""
    first = kind * COLOURS_PER_KIND
    rank = below(state, stack_size(state, kind))
    for colour in range(first, first + COLOURS_PER_KIND):
        for place in range(NUM_VALUES):
            count = int(state.stacks[place, colour])
            if 0 <= rank < count:
                state.stacks[place, colour] -= 1
                state.tiles[mandala, colour] = place + 1
            rank -= count


@jit
def stack_size(state: Any, kind: int) -> int:
    """How many tiles are left in the dark or the light stack."""
    total = 0
    for colour in range(kind * COLOURS_PER_KIND, (kind + 1) * COLOURS_PER_KIND):
        for place in range(NUM_VALUES):
            total += state.stacks[place, colour]
    return total


@jit
def stacks_are_empty(state: Any) -> bool:
    """End of the game: are there too few tiles to start a new mandala?"""
    return stack_size(state, 0) == 0 or stack_size(state, 1) == 0
