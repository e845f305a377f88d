"""Piles as words of lanes against plain counts."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mandala_env.core import piles
from mandala_env.core.batch import PICKER
from tests.compiled import called

size, load, present, colours_of = map(called, (piles.size, piles.load, piles.present, piles.colours_of))
move_all, store, take_random = map(called, (piles.move_all, piles.store, piles.take_random))
COUNTS = st.lists(st.integers(0, 21), min_size=piles.LANES, max_size=piles.LANES)  # together at most 127


def pile_of(counts: list[int]) -> np.ndarray:
    """A pile with other numbers behind it, which must not matter."""
    return np.array([*counts, 77, 99], np.int8)[: piles.LANES]


@given(COUNTS)
def test_a_word_of_lanes_says_what_the_counts_say(counts: list[int]) -> None:
    pile = pile_of(counts)
    assert size(pile) == sum(counts)
    held = present(load(pile))
    assert int(held) == sum(1 << (8 * colour) for colour, count in enumerate(counts) if count)
    assert int(colours_of(held)) == sum(1 << colour for colour, count in enumerate(counts) if count)


@given(COUNTS, COUNTS)
def test_all_cards_of_a_pile_can_be_moved(counts: list[int], others: list[int]) -> None:
    source, target = pile_of(counts), pile_of(others)
    move_all(source, target)
    assert source.tolist() == [0] * piles.LANES
    assert target.tolist() == [a + b for a, b in zip(counts, others, strict=True)]


@given(COUNTS, st.integers(0, 58))
def test_a_word_is_stored_where_it_was_told_to_be(counts: list[int], start: int) -> None:
    target = np.full(66, 55, np.int8)
    store(target, start, np.uint64(load(pile_of(counts))))
    assert target[start : start + piles.LANES].tolist() == counts
    assert (target[:start] == 55).all() and (target[start + 8 :] == 55).all()


def test_every_card_of_a_pile_is_drawn_with_the_same_probability() -> None:
    counts = [3, 0, 1, 40, 0, 6]
    picker: Any = np.zeros(1, PICKER).view(np.recarray)[0]
    drawn = np.zeros(piles.LANES)
    num_draws = 50_000
    for _ in range(num_draws):
        pile = pile_of(counts)
        drawn[take_random(pile, 50, picker)] += 1
        assert size(pile) == 49
    expected = np.array(counts) / 50 * num_draws
    assert (drawn[expected == 0] == 0).all()
    chi_square = ((drawn - expected)[expected > 0] ** 2 / expected[expected > 0]).sum()
    assert chi_square < 16.3  # 3 degrees of freedom: exceeded once in a thousand seeds, and the seed is fixed
