"""A scripted player: it looks one action ahead and judges what lies on the table, from its observation alone.

Of a play only the mandala that it goes to and the hand change, so these are what is judged: who would get which tile if
the mandala were destroyed now, counted the more the closer it is to completion, and what is left to play with.
"""

from typing import Any

import numpy as np

from mandala_env.core.jit import jit, kernel
from mandala_env.core.piles import size
from mandala_env.core.rng import below
from mandala_env.games.flowers.actions import COLOUR, COUNT, KIND, MANDALA, PICK_TILE, TILE
from mandala_env.games.flowers.observation import (
    CELLS,
    DECK_SIZE,
    DISCARD,
    FACE_DOWN,
    FACE_UP,
    FLOWER_CELLS,
    FLOWER_HIGH,
    FLOWER_LOW,
    HALF_OF_RIVAL,
    HAND,
    MARKER,
    NUMBERS_PER_OTHER,
    OTHER_FACE_DOWN,
    OTHER_FACE_UP,
    OTHER_FLOWER_HIGH,
    OTHER_FLOWER_LOW,
    OTHER_MARKER,
    OTHER_SINGLE,
    OTHERS,
    PICKING,
    SINGLE,
    TILE_VALUE,
    of_seat,
)
from mandala_env.games.flowers.rules import FLOWERS_TO_END, MOST_CARDS_DRAWN
from mandala_env.games.flowers.state import (
    COLOURS_PER_KIND,
    HAND_LIMIT,
    NOBODY,
    NUM_COLOURS,
    NUM_MANDALAS,
    X3,
)
from mandala_env.games.flowers.tiles import points_of_flower, points_of_single

# How much of a mandala's expected shares counts, by how many of its colours are there: the rest may still change.
CERTAINTY = np.array([0.0, 0.0, 0.15, 0.25, 0.4, 0.65, 1.0])
OTHERS_GAIN = 0.9  # what the others' shares count, all of them together
FLOWER = 1.5  # a finished flower is a step to the end, which the one who makes it chooses
SINGLE_X3 = 4.0  # what an x3 without a partner is hoped to bring
HOPE = 1.6  # what any other single tile is hoped to bring beyond its value
CARD_IN_HAND = 0.45
CARD_BEYOND_LIMIT = 0.15  # cards that keep the hand from being filled up
COLOUR_IN_HAND = 0.25
CARD_SPENT = 0.3  # a card that will be discarded with a tile
LEAD = 0.25  # a lead in a mandala is worth keeping
END_OF_GAME = 25.0  # winning the game, in points


@kernel
def heuristic(observations: Any, action_masks: Any, pickers: Any, actions: Any) -> None:
    """Write an action for each observation (N, F) with its mask (N, A); ties are broken by the pickers (N,)."""
    num_players = (observations.shape[1] - OTHERS) // NUMBERS_PER_OTHER + 1
    sizes, shares = np.zeros(num_players, np.int64), np.zeros(num_players)
    for i in range(len(observations)):
        actions[i] = choose(observations[i], action_masks[i], pickers[i], sizes, shares)


@jit
def choose(obs: Any, mask: Any, picker: Any, sizes: Any, shares: Any) -> int:
    """The action with the highest value."""
    best, best_value, num_best = -1, -np.inf, 0
    for action in range(len(mask)):
        if not mask[action]:
            continue
        if KIND[action] == PICK_TILE:
            value = value_of_pick(obs, int(TILE[action]), sizes, shares)
        else:
            value = value_of_play(obs, action, sizes, shares)
        if value > best_value:
            best, best_value, num_best = action, value, 1
        elif value == best_value:
            num_best += 1
            if below(picker, num_best) == 0:
                best = action
    return best


# --- what is judged -------------------------------------------------------------------------------------------


@jit
def value_of_pick(obs: Any, kind: int, sizes: Any, shares: Any) -> float:
    """What it is worth to take the tile of one kind and to leave the other."""
    mandala = 0
    while obs[PICKING + mandala] == 0:
        mandala += 1
    measure(obs, mandala, sizes)
    second = second_most(obs, mandala, sizes, 0, 0)
    if second == NOBODY:  # with two players the other one may have no card face up
        second = 1
    shares[:] = 0
    mine, others = tile_colour(obs, mandala, kind), tile_colour(obs, mandala, 1 - kind)
    shares[0] = worth(obs, mandala, 0, mine, len(sizes))
    shares[second] = worth(obs, mandala, second, others, len(sizes))
    value = balance(shares)
    flowers_0 = num_flowers(obs, 0, len(sizes)) + (obs[SINGLE + mine] > 0)
    flowers_2 = num_flowers(obs, second, len(sizes)) + (single_of(obs, second, others, len(sizes)) > 0)
    if max(flowers_0, flowers_2) >= FLOWERS_TO_END:
        value += value_of_the_end(obs, shares)
    return value


@jit
def value_of_play(obs: Any, action: int, sizes: Any, shares: Any) -> float:
    """What a play changes in its mandala and in my hand."""
    mandala, colour, count = int(MANDALA[action]), int(COLOUR[action]), int(COUNT[action])
    measure(obs, mandala, sizes)
    is_new = is_new_colour(obs, mandala, colour, len(sizes))
    value = value_of_hand(obs, colour, count) - value_of_mandala(obs, mandala, sizes, shares, 0)
    sizes[0] += count
    return value + value_of_mandala(obs, mandala, sizes, shares, count if is_new else 0)


@jit
def value_of_mandala(obs: Any, mandala: int, sizes: Any, shares: Any, num_new: int) -> float:
    """My prospects in a mandala with these sizes, in which num_new of my cards just brought a new colour."""
    num_players = len(sizes)
    num_colours = colours_in(obs, mandala, num_players) + (num_new > 0)
    i_am_in = num_new > 0 or face_up_of(obs, 0, mandala, num_players) > 0
    holder, best_other = NOBODY, 0
    for seat in range(num_players):
        if obs[of_seat(seat, num_players, MARKER, OTHER_MARKER, NUM_MANDALAS) + mandala]:
            holder = seat
        if seat > 0 and face_up_of(obs, seat, mandala, num_players) > 0:
            best_other = max(best_other, sizes[seat])
    if i_am_in and sizes[0] > best_other:
        holder = 0
    if holder == NOBODY:
        return 0.0
    flowers = share_tiles(obs, mandala, holder, sizes, shares, num_new)
    value = balance(shares)
    if num_colours == NUM_COLOURS:
        if flowers >= FLOWERS_TO_END:
            value += value_of_the_end(obs, shares)
    elif i_am_in:
        value += LEAD * min(2, max(-2, sizes[0] - best_other))
    if shares[0] > 0:
        value -= CARD_SPENT * sizes[0]
    return CERTAINTY[num_colours] * value


@jit
def share_tiles(obs: Any, mandala: int, holder: int, sizes: Any, shares: Any, num_new: int) -> int:
    """Write what each player's tiles are worth if the mandala were destroyed now, the holder picking the better one for
    itself; returns the most flowers that somebody would have then."""
    num_players = len(sizes)
    shares[:] = 0
    second = second_most(obs, mandala, sizes, holder, num_new)
    dark, light = tile_colour(obs, mandala, 0), tile_colour(obs, mandala, 1)
    if second == NOBODY:
        for colour in (dark, light):
            shares[holder] += worth(obs, mandala, holder, colour, num_players)
        return most_flowers(obs, holder, dark, light, num_players)
    if worth(obs, mandala, holder, light, num_players) > worth(obs, mandala, holder, dark, num_players):
        dark, light = light, dark
    shares[holder] = worth(obs, mandala, holder, dark, num_players)
    shares[second] = worth(obs, mandala, second, light, num_players)
    most = most_flowers(obs, holder, dark, dark, num_players)
    return max(most, most_flowers(obs, second, light, light, num_players))


@jit
def balance(shares: Any) -> float:
    """My share less what the others' shares count."""
    others = 0.0
    for seat in range(1, len(shares)):
        others += shares[seat]
    return shares[0] - OTHERS_GAIN * others / (len(shares) - 1)


@jit
def value_of_the_end(obs: Any, shares: Any) -> float:
    """The game would end: my lead when everybody has these shares too."""
    lead = 1000.0
    mine = points(obs, 0, len(shares)) + shares[0]
    for seat in range(1, len(shares)):
        lead = min(lead, mine - points(obs, seat, len(shares)) - shares[seat])
    return END_OF_GAME * np.sign(lead) + lead


@jit
def value_of_hand(obs: Any, colour: int, count: int) -> float:
    """My hand after playing cards of a colour and drawing: cards, and colours to choose from."""
    in_hand, num_colours = -count, 0
    for other in range(NUM_COLOURS):
        cards = int(obs[HAND + other])
        in_hand += cards
        num_colours += cards - count > 0 if other == colour else cards > 0
    value = COLOUR_IN_HAND * num_colours
    if count == 1 and in_hand < HAND_LIMIT:
        to_draw = obs[DECK_SIZE] + size(obs[DISCARD : DISCARD + NUM_COLOURS])
        drawn = min(MOST_CARDS_DRAWN, HAND_LIMIT - in_hand, to_draw)
        in_hand += drawn
        value += COLOUR_IN_HAND * 0.5 * drawn
    return value + CARD_IN_HAND * min(in_hand, HAND_LIMIT) + CARD_BEYOND_LIMIT * max(0, in_hand - HAND_LIMIT)


# --- reading an observation -----------------------------------------------------------------------------------


@jit
def measure(obs: Any, mandala: int, sizes: Any) -> None:
    """Write how many cards each player has in a mandala."""
    for seat in range(len(sizes)):
        start = of_seat(seat, len(sizes), FACE_DOWN, OTHER_FACE_DOWN, CELLS) + mandala * NUM_COLOURS
        sizes[seat] = face_up_of(obs, seat, mandala, len(sizes)) + size(obs[start : start + NUM_COLOURS])


@jit
def face_up_of(obs: Any, seat: int, mandala: int, num_players: int) -> int:
    """How many cards a player has face up in a mandala."""
    start = of_seat(seat, num_players, FACE_UP, OTHER_FACE_UP, CELLS) + mandala * NUM_COLOURS
    return size(obs[start : start + NUM_COLOURS])


@jit
def is_new_colour(obs: Any, mandala: int, colour: int, num_players: int) -> bool:
    """Is a colour neither on the tiles of a mandala nor on a card face up there?"""
    cell = mandala * NUM_COLOURS + colour
    num_there = int(obs[TILE_VALUE + cell])
    for seat in range(num_players):
        num_there += obs[of_seat(seat, num_players, FACE_UP, OTHER_FACE_UP, CELLS) + cell]
    return num_there == 0


@jit
def colours_in(obs: Any, mandala: int, num_players: int) -> int:
    """How many colours a mandala has, on its tiles and face up."""
    count = 0
    for colour in range(NUM_COLOURS):
        count += not is_new_colour(obs, mandala, colour, num_players)
    return count


@jit
def second_most(obs: Any, mandala: int, sizes: Any, holder: int, num_new: int) -> int:
    """Who would take the second tile; num_new cards are face up for me beside those of the observation.

    With two players it takes half of the cards, whoever completes the mandala: that is cautious.
    """
    second, best = NOBODY, -1
    for seat in range(len(sizes)):
        num_face_up = face_up_of(obs, seat, mandala, len(sizes)) + (num_new if seat == 0 else 0)
        if seat != holder and num_face_up > 0:
            rank = sizes[seat] * 100 + num_face_up
            if rank > best:
                second, best = seat, rank
            elif rank == best:
                second = NOBODY
    if len(sizes) == 2 and holder == 0 and second == 1:
        needed = sizes[0] if obs[HALF_OF_RIVAL] else sizes[0] + sizes[1]
        if 2 * sizes[1] < needed:
            second = NOBODY
    return second


@jit
def tile_colour(obs: Any, mandala: int, kind: int) -> int:
    """The colour of the dark or the light tile of a mandala."""
    first = kind * COLOURS_PER_KIND
    for colour in range(first, first + COLOURS_PER_KIND):
        if obs[TILE_VALUE + mandala * NUM_COLOURS + colour]:
            return colour
    return first


@jit
def single_of(obs: Any, seat: int, colour: int, num_players: int) -> int:
    """The value code of a player's single tile of a colour."""
    return int(obs[of_seat(seat, num_players, SINGLE, OTHER_SINGLE, NUM_COLOURS) + colour])


@jit
def worth(obs: Any, mandala: int, seat: int, colour: int, num_players: int) -> float:
    """What the tile of a colour of a mandala is worth to a player."""
    value = int(obs[TILE_VALUE + mandala * NUM_COLOURS + colour])
    single = single_of(obs, seat, colour, num_players)
    if single > 0:
        flower = points_of_flower(min(single, value), max(single, value))
        return FLOWER + flower - (SINGLE_X3 if single == X3 else single + HOPE)
    return SINGLE_X3 if value == X3 else value + HOPE


@jit
def num_flowers(obs: Any, seat: int, num_players: int) -> int:
    """How many flowers a player has."""
    start = of_seat(seat, num_players, FLOWER_LOW, OTHER_FLOWER_LOW, FLOWER_CELLS)
    count = 0
    for cell in range(FLOWER_CELLS):
        count += obs[start + cell] > 0
    return count


@jit
def most_flowers(obs: Any, seat: int, one: int, two: int, num_players: int) -> int:
    """How many flowers a player would have with the tiles of these colours (twice the same is one tile)."""
    count = num_flowers(obs, seat, num_players) + (single_of(obs, seat, one, num_players) > 0)
    return count + (two != one and single_of(obs, seat, two, num_players) > 0)


@jit
def points(obs: Any, seat: int, num_players: int) -> int:
    """The points that a player has."""
    low = of_seat(seat, num_players, FLOWER_LOW, OTHER_FLOWER_LOW, FLOWER_CELLS)
    high = of_seat(seat, num_players, FLOWER_HIGH, OTHER_FLOWER_HIGH, FLOWER_CELLS)
    total = 0
    for colour in range(NUM_COLOURS):
        total += points_of_single(single_of(obs, seat, colour, num_players))
    for cell in range(FLOWER_CELLS):
        if obs[low + cell] > 0:
            total += points_of_flower(int(obs[low + cell]), int(obs[high + cell]))
    return total
