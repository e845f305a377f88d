"""Set up whole positions of Flowers from the few cards and tiles that a case names.

Piles are written in the letters of the rule cases, K P R G O Y for grey purple red green orange yellow ("RRRO" or
"R3 O"); tiles with their value ("K3 Gx").
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

Pile = dict[str, int]
Position = dict[str, Any]

LETTERS = {"K": "grey", "P": "purple", "R": "red", "G": "green", "O": "orange", "Y": "yellow"}
COLOURS = tuple(LETTERS.values())
KINDS = {"dark": COLOURS[:3], "light": COLOURS[3:]}
CARDS_PER_COLOUR = 15
VALUES = (1, 2, 3, 4, 5, "x3")
ALL_VALUES = dict.fromkeys(COLOURS, VALUES)


def pile(letters: str) -> Pile:
    """Read a pile from letters: "RRRO", "R3 O" and "R3 O1" are three red cards and an orange one."""
    assert re.fullmatch(r"(?:[KPRGOY]\d*|\s)*", letters), f"{letters!r} is no pile of K P R G O Y."
    cards: Counter[str] = Counter()
    for letter, number in re.findall(r"([KPRGOY])(\d*)", letters):
        cards[LETTERS[letter]] += int(number or 1)
    return ordered(cards)


def ordered(cards: dict[str, int]) -> Pile:
    """Sort a pile by colour and leave out zeros."""
    return {colour: cards[colour] for colour in COLOURS if cards.get(colour, 0)}


def tile(word: str) -> list:
    """Read a tile: "R3" or "Rx"."""
    return [LETTERS[word[0]], "x3" if word[1:] == "x" else int(word[1:])]


def size(cards: Pile) -> int:
    """Say how many cards lie in the pile."""
    return sum(cards.values())


def together(*piles: Pile) -> Pile:
    """Put piles together into a new one."""
    total: Counter[str] = Counter()
    for cards in piles:
        total.update(cards)
    return ordered(total)


class Box:
    """The cards that have not found their place yet."""

    def __init__(self) -> None:
        self.left = dict.fromkeys(COLOURS, CARDS_PER_COLOUR)

    def named(self, letters: str) -> Pile:
        """Take out the named cards."""
        cards = pile(letters)
        for colour, count in cards.items():
            self.left[colour] -= count
            assert self.left[colour] >= 0, f"The case names more than {CARDS_PER_COLOUR} {colour} cards."
        return cards

    def any(self, count: int) -> Pile:
        """Take out so many cards, each of a colour of which the most are left."""
        cards: Counter[str] = Counter()
        for _ in range(count):
            colour = max(self.left, key=lambda colour: self.left[colour])
            assert self.left[colour], "The named piles leave too few cards for the others."
            self.left[colour] -= 1
            cards[colour] += 1
        return ordered(cards)

    def cards(self, wanted: str | int) -> Pile:
        """Take out the named cards, or so many of any colour."""
        return self.any(wanted) if isinstance(wanted, int) else self.named(wanted)


def area(tiles: str = "", up: Any = (), down: Any = (), marker: int | None = None) -> dict[str, Any]:
    """Name what lies in a mandala: "K3 G1", one pile for each player face up and face down, the marker's holder."""
    return {"tiles": tiles, "up": up, "down": down, "marker": marker}


def make(
    *,
    hands: list[str | int],
    areas: Any = (),
    me: int = 0,
    turn: int = 0,
    deck: str | int | None = None,
    discard: str | int = 0,
    singles: Any = (),
    flowers: Any = (),
    known: Any = (),
    picking: tuple[int, int | None] | None = None,
    final: bool = False,
    skipped: Any = (),
    values: Any = ALL_VALUES,
) -> Position:
    """Set up a position; piles are named or counted, and all others lie in the deck.

    When the deck is named or counted, the rest lies in the last hand. Mandalas without a name get tiles and no cards.
    """
    num_players = len(hands)
    named_areas = [*areas, *[area()] * (3 - len(areas))]
    cards = share_cards(hands, named_areas, deck, discard)
    tiles = share_tiles(num_players, named_areas, singles, flowers, values)
    return {
        "game": "flowers_v0",
        "player": me,
        "phase": "play" if picking is None else "pick",
        "turn": turn,
        **cards,
        "known": [pile(words) for words in pad(known, num_players, "")],
        **tiles,
        "mandalas": [
            {"tiles": found, "marker": part["marker"], **piles}
            for part, found, piles in zip(named_areas, tiles["mandalas"], cards.pop("mandalas"), strict=True)
        ],
        "final": final,
        "picking": None if picking is None else {"mandala": picking[0], "completer": picking[1]},
        "skipped": list(skipped),
    }


def share_cards(hands: list[str | int], areas: list, deck: str | int | None, discard: str | int) -> dict[str, Any]:
    """Put every card in its place: those with names first, then the counted ones, then the rest."""
    box, places = Box(), {"deck": deck, "discard": discard, **{f"hand {seat}": hand for seat, hand in enumerate(hands)}}
    mandalas = [
        {
            "face_up": [box.cards(words) for words in pad(part["up"], len(hands), "")],
            "face_down": [box.cards(words) for words in pad(part["down"], len(hands), "")],
        }
        for part in areas
    ]
    found = {name: box.cards(wanted) for name, wanted in places.items() if isinstance(wanted, str)}
    found |= {name: box.cards(wanted) for name, wanted in places.items() if isinstance(wanted, int)}
    rest = box.any(sum(box.left.values()))
    last = "deck" if deck is None else f"hand {len(hands) - 1}"
    found[last] = together(found.get(last, {}), rest)
    seats = [found[f"hand {seat}"] for seat in range(len(hands))]
    return {"deck": found["deck"], "discard": found["discard"], "hands": seats, "mandalas": mandalas}


def share_tiles(num_players: int, areas: list, singles: Any, flowers: Any, values: Any) -> dict[str, Any]:
    """Put every tile in its place; those without one lie in the stacks."""
    left = {colour: list(values[colour]) for colour in COLOURS}
    alone = [[tile(word) for word in words.split()] for words in pad(singles, num_players, "")]
    whole = [[flower(word) for word in words.split()] for words in pad(flowers, num_players, "")]
    given = [[tile(word) for word in part["tiles"].replace("-", "").split()] for part in areas]
    for colour, *halves in [one for part in (*alone, *whole, *given) for one in part]:
        for value in halves:
            left[colour].remove(value)
    mandalas = []
    for part, found in zip(areas, given, strict=True):
        tiles: dict[str, Any] = {"dark": None, "light": None}
        for kind, colours in KINDS.items():
            own = [one for one in found if one[0] in colours]
            if part["tiles"] != "-":
                tiles[kind] = own[0] if own else any_tile(left, colours)
        mandalas.append(tiles)
    return {
        "stacks": {kind: [[colour, value] for colour in KINDS[kind] for value in left[colour]] for kind in KINDS},
        "mandalas": mandalas,
        "singles": [{colour: dict(tiles)[colour] for colour in COLOURS if colour in dict(tiles)} for tiles in alone],
        "flowers": whole,
    }


def flower(word: str) -> list:
    """Read a flower: "R2+5" or "R5+x"."""
    return [LETTERS[word[0]], *(tile(word[0] + half)[1] for half in word[1:].split("+"))]


def any_tile(left: dict[str, list], colours: tuple[str, ...]) -> list:
    """Take out a tile of the colour of which the most are left."""
    colour = max(colours, key=lambda colour: len(left[colour]))
    return [colour, left[colour].pop(0)]


def pad(parts: Any, length: int, filler: Any) -> list:
    """Fill a list up to one part for each player."""
    return [*parts, *[filler] * (length - len(parts))]
