"""Piles of cards as counts per colour: shuffled and drawn from without knowing an order.

A pile is six int8 counts in a row. The functions here look at all six at once as one 64-bit word with a lane of 8 bits
for each colour (the lowest lane is colour 0); a count is at most 127. `load` reads two bytes behind the pile,
`put` writes them as they were, and `store` as zeros; so piles may not be the last thing in a record, and blocks are
stored in rising order.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mandala_env.core.actions import count_bits
from mandala_env.core.jit import IS_COMPILED, jit
from mandala_env.core.rng import below

LANES = 6
ALL_LANES = np.uint64(2**48 - 1)
ONES = np.uint64(0x0101_0101_0101)  # 1 in every lane
HIGHS = np.uint64(0x8080_8080_8080)  # the highest bit of every lane
LOWS = HIGHS - ONES  # all the other bits
# A factor that brings bit 0 of every lane together in the top byte.
GATHER = np.uint64(sum(2 ** (56 - 7 * lane) for lane in range(8)))
S7, S40, S56, BYTE = np.uint64(7), np.uint64(40), np.uint64(56), np.uint64(255)


if IS_COMPILED:

    @intrinsic
    def _load_word(typing_context: Any, pile: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.load(builder.bitcast(array.data, ir.IntType(64).as_pointer()), align=1)

        return types.uint64(pile), generate

    @intrinsic
    def _store_word(typing_context: Any, target: Any, start: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.gep(array.data, [context.cast(builder, arguments[1], signature.args[1], types.intp)])
            builder.store(arguments[2], builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(target, start, types.uint64), generate

else:

    def _load_word(pile: Any) -> Any:
        return np.uint64(int.from_bytes(pile.tobytes(), "little"))

    def _store_word(target: Any, start: int, word: Any) -> None:
        part = target[start : start + 8]
        part[:] = np.frombuffer(int(word).to_bytes(8, "little"), np.int8)[: len(part)]


@jit
def load(pile: Any) -> Any:
    """A pile as a word with one lane for each colour."""
    return _load_word(pile) & ALL_LANES


@jit
def store(target: Any, start: int, word: Any) -> None:
    """Write the lanes of a word as six counts at a place of an int8 array, and zeros to the two bytes behind them."""
    _store_word(target, start, word)


@jit
def total(word: Any) -> Any:
    """The sum of all lanes, at most 255."""
    return np.int64(((word * ONES) >> S40) & BYTE)


@jit
def present(word: Any) -> Any:
    """1 in every lane that is not 0."""
    return ((word + LOWS) & HIGHS) >> S7


@jit
def colours_of(ones: Any) -> Any:
    """The lanes with a 1, of a word of zeros and ones, as a set of colours: bit c is colour c."""
    return (ones * GATHER) >> S56


@jit
def size(pile: Any) -> int:
    """How many cards a pile has."""
    return total(load(pile))


@jit
def put(pile: Any, colour: int, count: int) -> None:
    """Put cards of a colour onto a pile; a negative count takes them off.

    It writes the whole word: a processor that then loads the word need not wait for a byte of it.
    """
    _store_word(pile, 0, _load_word(pile) + (np.uint64(count) << np.uint64(8 * colour)))


@jit
def take_random(pile: Any, num_cards: int, state: Any) -> int:
    """Take one card off a shuffled pile of num_cards, at most 127; returns its colour."""
    rank = np.uint64(below(state, num_cards))
    cards_up_to = (load(pile) * ONES) & ALL_LANES  # in lane c: how many cards have a colour of c or lower
    colours_passed = ((rank * ONES | HIGHS) - cards_up_to) & HIGHS
    colour = count_bits(colours_passed)
    put(pile, colour, -1)
    return colour


@jit
def put_all(cards: Any, pile: Any) -> None:
    """Put as many cards of each colour onto a pile as another pile has, which keeps its own."""
    _store_word(pile, 0, _load_word(pile) + load(cards))


@jit
def move_all(source: Any, target: Any) -> None:
    """Put every card of one pile onto another."""
    put_all(source, target)
    _store_word(source, 0, _load_word(source) & ~ALL_LANES)


if not IS_COMPILED:  # unsigned numbers are meant to wrap around, and a pile is not more than its six counts

    def put(pile: Any, colour: int, count: int) -> None:
        pile[colour] += count

    total, colours_of, take_random = (np.errstate(over="ignore")(f) for f in (total, colours_of, take_random))
    size = np.errstate(over="ignore")(size)
