"""What the tests of every game's contract need to know of Mandala: see tests/contract/conftest.py."""

from typing import Any

import numpy as np

NUM_CARDS = 18  # of each colour


def cards(states: np.ndarray) -> np.ndarray:
    """All cards of each colour, in every place where a card can lie, (N, C)."""
    places = [states["deck"], states["discard"], *np.moveaxis(states["mountains"], 1, 0)]
    places += [*np.moveaxis(states["hands"], 1, 0), *np.moveaxis(states["cups"], 1, 0)]
    places += [*np.moveaxis(states["river_spaces"] > 0, 1, 0)]
    places += [states["fields"][:, mandala, player] for mandala in (0, 1) for player in (0, 1)]
    return np.sum(places, axis=0, dtype=int)


def is_complete_set(states: np.ndarray) -> bool:
    """Is every card somewhere, exactly once?"""
    is_part = (states["starting_cups"] >= 0).all() and (states["starting_cups"] <= states["cups"]).all()
    piles = ("deck", "discard", "hands", "cups", "mountains", "fields")
    return bool(is_part) and (cards(states) == NUM_CARDS).all() and all((states[name] >= 0).all() for name in piles)


def mix_colours(rng: np.random.Generator) -> np.ndarray:
    """New numbers for the colours; they are all alike."""
    return rng.permutation(6)


def relabel(state: Any, axis: str, new: np.ndarray) -> None:
    """Rename what single numbers of the state name: the seat or mandala that was i is now new[i]."""
    if axis == "player":
        state.player = new[state.player]
        if state.claiming >= 0:
            state.completer = new[state.completer]
    if axis == "mandala" and state.claiming >= 0:
        state.claiming = new[state.claiming]


def leave_no_chance(state: Any, rng: np.random.Generator) -> None:
    """Make deck and discard of one colour, and the deck so large that one action does not use it up."""
    colour = rng.integers(6)
    state.deck[:] = 0
    state.discard[:] = 0
    state.deck[colour] = rng.integers(20, 60)
    state.discard[colour] = rng.integers(0, 20)


def redeal(state: Any, seat: int, rng: np.random.Generator) -> None:
    """Deal anew what a seat cannot see: the deck, the rival's hand and the rival's starting cup."""
    rival = 1 - seat
    state.cups[rival] -= state.starting_cups[rival]
    piles = [state.deck, state.hands[rival], state.starting_cups[rival]]
    hidden = np.repeat(np.arange(6), np.sum(piles, axis=0))
    rng.shuffle(hidden)
    stops = np.cumsum([pile.sum() for pile in piles])
    for pile, part in zip(piles, np.split(hidden, stops[:-1]), strict=True):
        pile[:] = np.bincount(part, minlength=6)
    state.cups[rival] += state.starting_cups[rival]
    state.generator = rng.integers(2**63)


def exchange(state: Any, seat: int, rng: np.random.Generator) -> None:
    """Exchange a card of the rival's hand with one of the rival's starting cup."""
    rival = 1 - seat
    one, other = (int(rng.choice(np.flatnonzero(pile[rival]))) for pile in (state.hands, state.starting_cups))
    for pile, sign in ((state.hands[rival], -1), (state.cups[rival], 1), (state.starting_cups[rival], 1)):
        pile[one] += sign
        pile[other] -= sign


def public(state: Any, seat: int) -> dict[str, Any]:
    """All that a player with perfect memory knows, from the seat's side; written without the engine's encoder."""
    me, rival = seat, 1 - seat
    return {
        "my hand": state.hands[me].tolist(),
        "the size of the rival's hand": int(state.hands[rival].sum()),
        "unseen": (state.deck + state.hands[rival] + state.starting_cups[rival]).tolist(),
        "the size of the deck": int(state.deck.sum()),
        "discard": state.discard.tolist(),
        "my cup": state.cups[me].tolist(),
        "my starting cup": state.starting_cups[me].tolist(),
        "what the rival claimed": (state.cups[rival] - state.starting_cups[rival]).tolist(),
        "rivers": state.river_spaces[[me, rival]].tolist(),
        "mountains": state.mountains.tolist(),
        "fields": state.fields[:, [me, rival]].tolist(),
        "whose move": (state.player - seat) % 2,
        "phase": int(state.phase),
        "claiming": int(state.claiming),
        "completer": (state.completer - seat) % 2 if state.claiming >= 0 else None,
        "exhaustions": int(state.exhaustions),
        "turns left": int(state.max_turns) - int(state.turn),
        "second exhaustion ends": int(state.second_exhaustion_ends),
    }
