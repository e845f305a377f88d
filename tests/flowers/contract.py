"""What the tests of every game's contract need to know of Flowers: see tests/contract/conftest.py."""

from typing import Any

import numpy as np

NUM_CARDS = 15  # of each colour
NUM_TILES = 6  # of each colour
PILES = (
    "deck", "discard", "hands", "known", "face_up", "face_down", "stacks", "tiles", "singles", "flower_lows",
    "flower_highs",
)  # fmt: skip
NOBODY = -1


def is_complete_set(states: np.ndarray) -> bool:
    """Is every card and every tile somewhere, exactly once?"""
    cards = states["deck"].astype(int) + states["discard"] + states["hands"].sum(axis=1)
    cards += (states["face_up"] + states["face_down"]).sum(axis=(1, 2))
    tiles = states["stacks"].sum(axis=1) + (states["tiles"] > 0).sum(axis=1) + (states["singles"] > 0).sum(axis=1)
    tiles += 2 * (states["flower_lows"] > 0).sum(axis=(1, 2))
    is_part = (states["known"] <= states["hands"]).all() and all((states[name] >= 0).all() for name in PILES)
    return bool(is_part) and bool((cards == NUM_CARDS).all()) and bool((tiles == NUM_TILES).all())


def mix_colours(rng: np.random.Generator) -> np.ndarray:
    """New numbers for the colours; dark tiles stay dark."""
    return np.concatenate([rng.permutation(3), 3 + rng.permutation(3)])


def relabel(state: Any, axis: str, new: np.ndarray) -> None:
    """Rename what single numbers of the state name: the seat or mandala that was i is now new[i]."""
    if axis == "player":
        state.player = new[state.player]
        if state.completer != NOBODY:
            state.completer = new[state.completer]
        state.markers = np.where(state.markers == NOBODY, NOBODY, new[state.markers])
    if axis == "mandala" and state.picking >= 0:
        state.picking = new[state.picking]


def leave_no_chance(state: Any, rng: np.random.Generator) -> None:
    """Make deck, discard and stacks of one kind each, and leave at most one mandala to the final destructions.

    Nobody has a flower before they begin, so that the next action does not begin them.
    """
    colour = rng.integers(6)
    state.deck[:] = 0
    state.discard[:] = 0
    state.deck[colour] = rng.integers(20, 60)
    state.discard[colour] = rng.integers(0, 20)
    state.stacks[:] = 0
    state.stacks[rng.integers(10), rng.integers(3)] = 3
    state.stacks[rng.integers(10), rng.integers(3, 6)] = 3
    if state.final:
        others = np.arange(3) != state.picking
        state.face_up[:, others] = 0
        state.face_down[:, others] = 0
        state.markers[others] = NOBODY
    else:
        state.flower_lows[:] = 0
        state.flower_highs[:] = 0


def redeal(state: Any, seat: int, rng: np.random.Generator) -> None:
    """Deal anew what a seat cannot see: the deck and the part of the others' hands that nobody has seen."""
    others = [other for other in range(len(state.hands)) if other != seat]
    sizes = (state.hands - state.known).sum(axis=1, dtype=int)
    hidden = np.repeat(np.arange(6), state.deck + (state.hands - state.known)[others].sum(axis=0))
    rng.shuffle(hidden)
    for other in others:
        mine, hidden = hidden[: sizes[other]], hidden[sizes[other] :]
        state.hands[other] = state.known[other] + np.bincount(mine, minlength=6)
    state.deck[:] = np.bincount(hidden, minlength=6)
    state.generator = rng.integers(2**63)


def exchange(state: Any, seat: int, rng: np.random.Generator) -> None:
    """Exchange a card that nobody has seen of one player with one of another, if there are two others."""
    hidden = state.hands - state.known
    others = [other for other in range(len(state.hands)) if other != seat and hidden[other].any()]
    if len(others) >= 2:
        giver, taker = rng.permutation(others)[:2]
        one, other = (int(rng.choice(np.flatnonzero(hidden[player]))) for player in (giver, taker))
        for player, sign in ((giver, -1), (taker, 1)):
            state.hands[player, one] += sign
            state.hands[player, other] -= sign


def public(state: Any, seat: int) -> dict[str, Any]:
    """All that a player with perfect memory knows, from the seat's side; written without the engine's encoder."""
    seats = [(seat + turn) % len(state.hands) for turn in range(len(state.hands))]
    markers = [None if marker == NOBODY else (marker - seat) % len(seats) for marker in state.markers.tolist()]
    return {
        "my hand": state.hands[seat].tolist(),
        "sizes of the hands": state.hands[seats].sum(axis=1).tolist(),
        "seen cards of the hands": state.known[seats].tolist(),
        "unseen": (state.deck + (state.hands - state.known)[seats[1:]].sum(axis=0)).tolist(),
        "the size of the deck": int(state.deck.sum()),
        "discard": state.discard.tolist(),
        "tiles that are left": state.stacks.tolist(),
        "all tiles": state.tile_values.tolist(),
        "tiles of the mandalas": state.tiles.tolist(),
        "face up": state.face_up[seats].tolist(),
        "face down": state.face_down[seats].tolist(),
        "markers": markers,
        "single tiles": state.singles[seats].tolist(),
        "flowers": [state.flower_lows[seats].tolist(), state.flower_highs[seats].tolist()],
        "whose move": (state.player - seat) % len(seats),
        "phase": int(state.phase),
        "picking": int(state.picking),
        "completer": None if state.completer == NOBODY else (state.completer - seat) % len(seats),
        "skipped": state.skipped[seats].tolist(),
        "final": int(state.final),
        "turns left": int(state.max_turns) - int(state.turn),
        "half of rival": int(state.half_of_rival),
    }
