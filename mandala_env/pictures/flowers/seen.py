"""What a viewer may be shown of a position of Flowers."""

from collections.abc import Sequence
from typing import Any

from mandala_env.pictures.picture import Seen, less, size


def seen(position: dict, points: Sequence[int], viewer: int | None) -> Seen:
    """What lies open for a viewer, or was seen by all: only hands and the order of piles are hidden.

    Each of `seats` has the cards of its `hand` that the viewer knows, and how many others there are.
    """
    public = ("game", "player", "phase", "turn", "discard", "mandalas", "final", "picking", "skipped")
    return {
        **{key: position[key] for key in public},
        "viewer": viewer,
        "deck": size(position["deck"]),
        "stacks": {kind: len(tiles) for kind, tiles in position["stacks"].items()},
        "seats": [seat(position, points, player, viewer) for player in range(len(position["hands"]))],
    }


def seat(position: dict, points: Sequence[int], player: int, viewer: int | None) -> dict[str, Any]:
    """What lies open of one player's things."""
    hand, known = position["hands"][player], position["known"][player]
    shown = hand if viewer is None or viewer == player else known
    return {
        "hand": shown,
        "hand_hidden": size(less(hand, shown)),
        "singles": position["singles"][player],
        "flowers": position["flowers"][player],
        "points": points[player],
    }


def parts(text: str) -> tuple[str, ...]:
    """The parts of the drawing that a person points at for an action."""
    match text.split():
        case ["play", mandala, colour, count]:
            return f"hand {colour}", f"mandala {mandala}", f"count {count}"
        case ["pick", kind]:
            return (f"tile {kind}",)
    raise ValueError(f"{text!r} is not an action of Flowers")
