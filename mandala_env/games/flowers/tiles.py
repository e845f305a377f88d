"""Half-flower tiles: their values, what a flower is worth, and the flowers in front of a player."""

from typing import Any

import numpy as np

from mandala_env.core.actions import count_bits
from mandala_env.core.jit import jit
from mandala_env.core.piles import load, present
from mandala_env.games.flowers.state import (
    COLOURS,
    COLOURS_PER_KIND,
    FLOWERS_PER_COLOUR,
    HIGHEST_VALUE,
    NUM_COLOURS,
    TILES_PER_COLOUR,
    X3,
)
from mandala_env.words import shown

DEFAULT_VALUES = (1, 2, 3, 4, 5, "x3")
X3_WORD = "x3"

Values = tuple[int | str, ...]  # of the six tiles of a colour


def value_code(value: Any) -> int:
    """The code of a tile's value as people write it: a whole number from 1 to 9, or "x3"."""
    if isinstance(value, str) and value == X3_WORD:
        return X3
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or not 1 <= value <= HIGHEST_VALUE:
        raise ValueError(
            f"a tile's value must be a whole number from 1 to {HIGHEST_VALUE} or {X3_WORD!r}, not {shown(value)}"
        )
    return int(value)


def value_word(code: int) -> int | str:
    """A tile's value as people write it."""
    return X3_WORD if code == X3 else int(code)


def read_tile_values(tile_values: Any) -> tuple[Values, ...]:
    """The values of the tiles of each colour, in rising order, from six values for all or one list for each colour."""
    if isinstance(tile_values, dict):
        if sorted(map(str, tile_values)) != sorted(COLOURS):
            raise ValueError(
                f"tile_values must have the colours {', '.join(COLOURS)}, not {', '.join(map(str, tile_values))}"
            )
        return tuple(read_six(tile_values[colour], colour) for colour in COLOURS)
    if isinstance(tile_values, (list, tuple)) and len(tile_values) == NUM_COLOURS:
        if all(isinstance(values, (list, tuple)) for values in tile_values):
            return tuple(read_six(values, colour) for values, colour in zip(tile_values, COLOURS, strict=True))
        return (read_six(tile_values, "every colour"),) * NUM_COLOURS
    raise ValueError(
        f"tile_values must be {TILES_PER_COLOUR} values (1..{HIGHEST_VALUE} or {X3_WORD!r}) for all colours, or such a "
        f"list for each of {', '.join(COLOURS)}, not {shown(tile_values)}"
    )


def read_six(values: Any, where: str) -> Values:
    """Six tile values in rising order, "x3" last."""
    if not isinstance(values, (list, tuple)) or len(values) != TILES_PER_COLOUR:
        raise ValueError(f"tile_values for {where} must be {TILES_PER_COLOUR} values, not {shown(values)}")
    try:
        return tuple(value_word(code) for code in sorted(value_code(value) for value in values))
    except ValueError as error:
        raise ValueError(f"tile_values for {where}: {error}") from None


# --- what the compiled rules know about tiles -----------------------------------------------------------------


@jit
def kind_of(colour: int) -> int:
    """The kind of tile that has a colour: 0 dark, 1 light."""
    return 0 if colour < COLOURS_PER_KIND else 1


@jit
def points_of_single(value: int) -> int:
    """Scoring: a single tile is worth its value, x3 nothing."""
    return 0 if value == X3 else value


@jit
def points_of_flower(low: int, high: int) -> int:
    """Scoring: with x3 three times the other half (two x3: nothing), otherwise twice the lower half and the higher."""
    if high == X3:
        return 0 if low == X3 else 3 * low
    return 2 * low + high


@jit
def points_of(state: Any, player: int) -> int:
    """Scoring: what a player's single tiles and flowers are worth."""
    points = 0
    for colour in range(NUM_COLOURS):
        points += points_of_single(int(state.singles[player, colour]))
        for place in range(FLOWERS_PER_COLOUR):
            low, high = int(state.flower_lows[player, place, colour]), int(state.flower_highs[player, place, colour])
            points += points_of_flower(low, high)
    return points


@jit
def num_flowers(state: Any, player: int) -> int:
    """How many flowers lie in front of a player."""
    count = 0
    for place in range(FLOWERS_PER_COLOUR):
        count += count_bits(present(load(state.flower_lows[player, place])))
    return count


@jit
def take_tile(state: Any, player: int, mandala: int, colour: int) -> None:
    """Claiming a flower tile; two single tiles of a colour become a flower at once."""
    value = int(state.tiles[mandala, colour])
    state.tiles[mandala, colour] = 0
    single = int(state.singles[player, colour])
    if single == 0:
        state.singles[player, colour] = value
    else:
        state.singles[player, colour] = 0
        add_flower(state, player, colour, single, value)


@jit
def add_flower(state: Any, player: int, colour: int, one: int, two: int) -> None:
    """Put a flower among those of its colour, which lie in falling order of their higher, then their lower halves."""
    low, high = min(one, two), max(one, two)
    for place in range(FLOWERS_PER_COLOUR):
        its_low, its_high = (
            int(state.flower_lows[player, place, colour]),
            int(state.flower_highs[player, place, colour]),
        )
        if high > its_high or (high == its_high and low > its_low):
            state.flower_lows[player, place, colour], state.flower_highs[player, place, colour] = low, high
            low, high = its_low, its_high
