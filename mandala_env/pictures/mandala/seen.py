"""What a viewer may be shown of a position of Mandala."""

from collections.abc import Sequence
from typing import Any

from mandala_env.pictures.picture import Seen, less, size


def seen(position: dict, points: Sequence[int], viewer: int | None) -> Seen:
    """What lies open for a viewer; None sees everything, and the cups are opened when the game is over.

    Each of `seats` has the `hand` and `cup` cards that the viewer knows, and how many are hidden there. `points` are
    None for a seat whose cup the viewer does not know.
    """
    public = ("game", "player", "phase", "turn", "exhaustions", "discard", "mandalas", "claiming")
    return {
        **{key: position[key] for key in public},
        "viewer": viewer,
        "deck": size(position["deck"]),
        "seats": [seat(position, points, player, viewer) for player in range(len(position["hands"]))],
    }


def seat(position: dict, points: Sequence[int], player: int, viewer: int | None) -> dict[str, Any]:
    """What lies open of one player's things."""
    hand, cup, starting = (position[key][player] for key in ("hands", "cups", "starting_cups"))
    is_own = viewer is None or viewer == player
    is_cup_open = is_own or position["phase"] == "over"
    return {
        "river": position["rivers"][player],
        "hand": hand if is_own else {},
        "hand_hidden": 0 if is_own else size(hand),
        "cup": cup if is_cup_open else less(cup, starting),
        "cup_hidden": 0 if is_cup_open else size(starting),
        "points": points[player] if is_cup_open else None,
    }


def parts(text: str) -> tuple[str, ...]:
    """The parts of the drawing that a person points at for an action."""
    match text.split():
        case ["build", mandala, colour]:
            return f"hand {colour}", f"mountain {mandala}"
        case ["grow", mandala, colour, count]:
            return f"hand {colour}", f"field {mandala}", f"count {count}"
        case ["discard", colour, count]:
            return f"hand {colour}", "discard", f"count {count}"
        case ["claim", colour]:
            return (f"claim {colour}",)
    raise ValueError(f"{text!r} is not an action of Mandala")
