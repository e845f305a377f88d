"""What the pictures of a game are: what a viewer is shown, and how that is written and drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Seen = dict[str, Any]
Pile = dict[str, int]  # {colour: count} without zeros

WIDE, TALL = 960, 480  # widths of a drawing, for a desk and for a phone
LONGEST_NAME = {WIDE: 24, TALL: 16}


@dataclass(frozen=True)
class Setting:
    """How a drawing is made, whatever the game.

    width  WIDE or TALL: lays the table out for a desk or for a phone; the drawing can be shown at any size
    names  what the players are called
    last   the last move as (player, action text), to mark where it was made; None for none
    """

    width: int
    names: tuple[str, ...]
    last: tuple[int, str] | None = None

    @property
    def is_wide(self) -> bool:
        """Is the table laid out for a desk?"""
        return self.width >= WIDE


@dataclass(frozen=True)
class Picture:
    """The pictures of one game.

    seen   (position, points, viewer or None for all) -> what the viewer is shown; hidden cards are counted only
    text   what was seen, as text
    draw   (what was seen, setting) -> the inside of an SVG and its height
    parts  an action's text -> the parts of the drawing (`data-part`) that a person points at to choose it, in order
    """

    seen: Callable[[dict, Sequence[int], int | None], Seen]
    text: Callable[[Seen], str]
    draw: Callable[[Seen, Setting], tuple[str, int]]
    parts: Callable[[str], tuple[str, ...]]


def make_setting(
    num_players: int, width: int, names: Sequence[str] | None = None, last: tuple[int, str] | None = None
) -> Setting:
    """A setting with checked values; players without a name are "player 0" and so on."""
    if width not in (WIDE, TALL):
        raise ValueError(f"width must be {WIDE} (for a desk) or {TALL} (for a phone), not {width!r}")
    if names is None:
        names = [f"player {seat}" for seat in range(num_players)]
    if len(names) != num_players or not all(isinstance(name, str) for name in names):
        raise ValueError(f"names must be {num_players} strings, not {names!r}")
    return Setting(width, tuple(shorten(name, LONGEST_NAME[width]) for name in names), last)


def shorten(name: str, longest: int) -> str:
    """A name that fits; a long one, such as a folder, keeps its end."""
    return name if len(name) <= longest else "…" + name[1 - longest :]


def words(pile: Pile) -> str:
    """A pile in words, such as "2 red, 1 black"."""
    return ", ".join(f"{count} {colour}" for colour, count in pile.items()) or "-"


def size(pile: Pile) -> int:
    """How many cards a pile has."""
    return sum(pile.values())


def less(pile: Pile, part: Pile) -> Pile:
    """A pile without a part of it."""
    return {colour: count - part.get(colour, 0) for colour, count in pile.items() if count > part.get(colour, 0)}


def seats_around(num_players: int, viewer: int | None) -> list[int]:
    """All seats in turn order, the viewer's first; from player 0 if everything is shown."""
    return [((viewer or 0) + turn) % num_players for turn in range(num_players)]
