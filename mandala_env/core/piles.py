"""Piles of cards as counts per colour: shuffled and drawn from without knowing an order."""

from typing import Any

from mandala_env.core.jit import jit
from mandala_env.core.rng import below


@jit
def size(pile: Any) -> int:
    """How many cards a pile has."""
    total = 0
    for colour in range(len(pile)):
        total += pile[colour]
    return total


@jit
def take_random(pile: Any, num_cards: int, state: Any) -> int:
    """Take one card off a shuffled pile of num_cards; returns its colour."""
    rank = below(state, num_cards)
    for colour in range(len(pile)):
        rank -= pile[colour]
        if rank < 0:
            break
    pile[colour] -= 1
    return colour


@jit
def move_all(source: Any, target: Any) -> None:
    """Put every card of one pile onto another."""
    for colour in range(len(source)):
        target[colour] += source[colour]
        source[colour] = 0
