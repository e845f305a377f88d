"""An imagined state is one of those that are possible, each as likely as cards dealt by hand would make it."""

from collections import Counter
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest

from mandala_env.core.batch import imagine_all
from mandala_env.core.jit import plain_records
from mandala_env.core.rng import spread_seeds

UNLIKELY = np.log(1e6)  # a right sampler exceeds the bound with a probability of about exp(-UNLIKELY) at most


def few_hidden_cards(game: Any, seat: int, seed: int) -> Any:
    """A deal of which most cards were discarded: three are left in the deck, and one or two in the others' hands.

    Where hands can be known, one more card of each was seen by all.
    """
    state, rng = game.deal(seed), np.random.default_rng(seed)
    others = [other for other in range(game.num_players) if other != seat]
    num_hidden = 1 if len(others) > 1 else 2
    for pile, number in ((state.deck, 3), *((state.hands[other], num_hidden + 1) for other in others)):
        cards = rng.permutation(np.repeat(np.arange(len(game.colours)), pile))
        pile[:] = np.bincount(cards[:number], minlength=len(game.colours))
        state.discard += np.bincount(cards[number:], minlength=len(game.colours)).astype(np.int8)
    for other in others if "known" in state.dtype.names else ():
        state.known[other, np.flatnonzero(state.hands[other])[0]] = 1
    return state


def hidden_of(states: np.ndarray, seat: int) -> np.ndarray:
    """What the seat cannot see of states: in one row the hidden part of every pile, deck last, (N, piles * C)."""
    others = [(seat + turn) % states["hands"].shape[1] for turn in range(1, states["hands"].shape[1])]
    hands = states["hands"][:, others]
    if "known" in states.dtype.names:
        hands = hands - states["known"][:, others]
    cups = states["starting_cups"][:, others] if "starting_cups" in states.dtype.names else hands[:, :0]
    return np.concatenate([hands, cups, states["deck"][:, None]], axis=1).reshape(len(states), -1)


def probabilities(hidden: np.ndarray, num_colours: int) -> dict[tuple[int, ...], float]:
    """How likely each dealing of the hidden cards is: all orders of the cards are, and the piles are cut from them."""
    piles = hidden.reshape(-1, num_colours)
    cards = np.repeat(np.arange(num_colours), piles.sum(axis=0)).tolist()
    stops = np.cumsum([0, *piles.sum(axis=1)]).tolist()
    found: Counter[tuple[int, ...]] = Counter()
    for order in permutations(cards):
        parts = [order[start:stop] for start, stop in pairwise(stops)]
        found[tuple(part.count(colour) for part in parts for colour in range(num_colours))] += 1
    return {outcome: count / found.total() for outcome, count in found.items()}


def distance(counts: np.ndarray, expected: np.ndarray) -> float:
    """Pearson's chi-square less the bound for it (Laurent and Massart 2000, lemma 1); below 0 is no surprise."""
    degrees = len(counts) - 1
    chi_square = ((counts - counts.sum() * expected) ** 2 / (counts.sum() * expected)).sum()
    return float(chi_square - (degrees + 2 * np.sqrt(degrees * UNLIKELY) + 2 * UNLIKELY))


@pytest.mark.parametrize("num_samples", [30_000, pytest.param(2_000_000, marks=pytest.mark.slow)])
def test_every_possible_state_is_as_likely_as_the_cards_make_it(game: Any, num_samples: int) -> None:
    seat = 1
    state = few_hidden_cards(game, seat, seed=1)
    expected = probabilities(hidden_of(np.array([state]), seat)[0], len(game.colours))
    observations = np.repeat(game.observe(state, seat)[None], num_samples, axis=0)
    for generators in (spread_seeds(1, num_samples), np.arange(num_samples, dtype=np.uint64)):
        states = game.blank_states(num_samples)
        states["generator"] = generators
        imagine_all(observations, plain_records(states))
        outcomes, counts = different_rows(hidden_of(np.asarray(states), 0))
        assert {*outcomes} == expected.keys(), "all that is possible comes up, and nothing else"
        chances = np.array([expected[outcome] for outcome in outcomes])
        assert distance(counts, chances) < 0
        if len(set(np.round(chances, 9))) > 1:  # what counts are the cards, not how the piles look
            assert distance(counts, np.full(len(chances), 1 / len(chances))) > 0


def different_rows(rows: np.ndarray) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """The different rows, and how often each is there."""
    keys = rows @ np.random.default_rng(0).integers(2**62, size=rows.shape[1])
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return [tuple(row) for row in rows[first].tolist()], counts
