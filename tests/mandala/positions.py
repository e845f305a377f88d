"""Set up whole positions of Mandala from the few cards that a case names.

Piles are written in the letters of the rule cases, R O Y G P K for red orange yellow green purple black, one letter a
card ("RRRO") or with counts ("R3 O").
"""

from __future__ import annotations

import re
from typing import Any

Pile = dict[str, int]
Position = dict[str, Any]

LETTERS = {"R": "red", "O": "orange", "Y": "yellow", "G": "green", "P": "purple", "K": "black"}
CARDS_PER_COLOUR = 18


def pile(letters: str) -> Pile:
    """Read a pile from letters: "RRRO", "R3 O" and "R3 O1" are three red cards and an orange one."""
    assert re.fullmatch(r"(?:[ROYGPK]\d*|\s)*", letters), f"{letters!r} is no pile of R O Y G P K."
    cards: Pile = {}
    for letter, number in re.findall(r"([ROYGPK])(\d*)", letters):
        cards[LETTERS[letter]] = cards.get(LETTERS[letter], 0) + int(number or 1)
    return {colour: count for colour, count in cards.items() if count}


def size(cards: Pile) -> int:
    """Say how many cards lie in the pile."""
    return sum(cards.values())


def together(*piles: Pile) -> Pile:
    """Put piles together into a new one."""
    return {colour: count for colour in LETTERS.values() if (count := sum(cards.get(colour, 0) for cards in piles))}


def without(cards: Pile, others: Pile) -> Pile:
    """Return the pile without the other cards, which must lie in it."""
    left = {colour: cards.get(colour, 0) - others.get(colour, 0) for colour in LETTERS.values()}
    assert min(left.values()) >= 0, f"{others} is not part of {cards}."
    return {colour: count for colour, count in left.items() if count}


class Box:
    """The cards that have not found their place yet."""

    def __init__(self) -> None:
        self.left = {colour: CARDS_PER_COLOUR for colour in LETTERS.values()}

    def named(self, letters: str) -> Pile:
        """Take out the named cards."""
        cards = pile(letters)
        for colour, count in cards.items():
            self.left[colour] -= count
            assert self.left[colour] >= 0, f"The case names more than {CARDS_PER_COLOUR} {colour} cards."
        return cards

    def any(self, count: int) -> Pile:
        """Take out so many cards, each of a colour of which the most are left."""
        cards: Pile = {}
        for _ in range(count):
            colour = max(self.left, key=lambda colour: self.left[colour])
            assert self.left[colour], "The named piles leave too few cards for the others."
            self.left[colour] -= 1
            cards[colour] = cards.get(colour, 0) + 1
        return cards

    def rest(self) -> Pile:
        """Take out all that is left."""
        return self.any(sum(self.left.values()))


def make(
    *,
    me: int = 0,
    mountain0: str | None = None,
    my_field0: str = "",
    rival_field0: str = "",
    mountain1: str | None = None,
    my_field1: str = "",
    rival_field1: str = "",
    hand: str | None = None,
    rival_hand: str | None = None,
    river: str = "",
    rival_river: str = "",
    cup: str | None = None,
    rival_cup: str | None = None,
    deck: str | None = None,
    deck_size: int | None = None,
    discard: str = "",
    discard_size: int | None = None,
    turn: int = 20,
    exhaustions: int = 0,
    phase: str = "play",
    claimed: int | None = None,
    completer: int | None = None,
) -> Position:
    """Build a valid position in which I, in seat `me`, am the player to move (or the one who moved last).

    What is not named is filled with cards that are left: mountains with two, hands with six, cups with two. The rest
    is the deck; when the deck is named or sized, the rest lies in the two cups, where it changes nothing but scores.
    `claimed` is the mandala that is being claimed, `completer` the seat that completed it.
    """
    box = Box()
    named = {
        "mountain0": mountain0,
        "mountain1": mountain1,
        "hand": hand,
        "rival_hand": rival_hand,
        "cup": cup,
        "rival_cup": rival_cup,
        "deck": deck,
        "discard": discard if discard_size is None else None,
    }
    piles = {name: box.named(letters) for name, letters in named.items() if letters is not None}
    fields = [[box.named(my_field0), box.named(rival_field0)], [box.named(my_field1), box.named(rival_field1)]]
    rivers = [[LETTERS[letter] for letter in letters] for letters in (river, rival_river)]
    box.named(river + rival_river)
    sizes = {"mountain0": 2, "mountain1": 2, "hand": 6, "rival_hand": 6, "cup": 2, "rival_cup": 2}
    sizes |= {"discard": discard_size or 0} | ({} if deck_size is None else {"deck": deck_size})
    for name, count in sizes.items():
        if name not in piles:
            piles[name] = box.any(count)
    cups = [piles["cup"], piles["rival_cup"]]
    starting_cups = [first_two(cards) for cards in cups]
    if "deck" in piles:
        cups = [together(cups[0], box.any(sum(box.left.values()) // 2)), together(cups[1], box.rest())]
    else:
        piles["deck"] = box.rest()
    return {
        "game": "mandala_v0",
        "player": me,
        "phase": phase,
        "turn": turn,
        "exhaustions": exhaustions,
        "deck": piles["deck"],
        "discard": piles["discard"],
        "hands": seated(me, [piles["hand"], piles["rival_hand"]]),
        "cups": seated(me, cups),
        "starting_cups": seated(me, starting_cups),
        "rivers": seated(me, rivers),
        "mandalas": [
            {"mountain": piles["mountain0"], "fields": seated(me, fields[0])},
            {"mountain": piles["mountain1"], "fields": seated(me, fields[1])},
        ],
        "claiming": None if claimed is None else {"mandala": claimed, "completer": completer},
    }


def first_two(cards: Pile) -> Pile:
    """Name two cards of the pile, to be the starting cards of a cup."""
    start: Pile = {}
    for colour, count in cards.items():
        if number := min(count, 2 - size(start)):
            start[colour] = number
    return start


def seated(me: int, mine_and_the_rivals: list[Any]) -> list[Any]:
    """Order what is mine and what is the rival's by seat."""
    return mine_and_the_rivals if me == 0 else mine_and_the_rivals[::-1]
