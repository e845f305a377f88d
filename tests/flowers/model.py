"""The rules of Flowers told slowly, on the readable position: the tests hold the compiled engine against it.

Every function is one rule. Nothing here is random: whoever asks for the outcomes of an action says which cards and
tiles were drawn, the model says whether that was possible, and tells the outcome for every order of final destructions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations
from typing import Any

Pile = dict[str, int]
Position = dict[str, Any]

COLOURS = ("grey", "purple", "red", "green", "orange", "yellow")
ACTIONS = (
    *(f"play {mandala} {colour} {count}" for mandala in (0, 1, 2) for colour in COLOURS for count in range(1, 16)),
    "pick dark",
    "pick light",
)


def copied(position: Position) -> Position:
    """A position of its own; it is plain data."""
    return json.loads(json.dumps(position))


# Piles ----------------------------------------------------------------------------------------------------------------


def size(pile: Pile) -> int:
    """Say how many cards lie in the pile."""
    return sum(pile.values())


def plus(one: Pile, two: Pile) -> Pile:
    """Put two piles together."""
    return {colour: n for colour in COLOURS if (n := one.get(colour, 0) + two.get(colour, 0))}


def minus(pile: Pile, taken: Pile) -> Pile:
    """Take cards away that must lie in the pile."""
    left = {colour: pile.get(colour, 0) - taken.get(colour, 0) for colour in COLOURS}
    assert min(left.values()) >= 0, f"{taken} does not lie in {pile}."
    return {colour: n for colour, n in left.items() if n}


def common(one: Pile, two: Pile) -> Pile:
    """The cards that two piles have in common."""
    return {colour: n for colour in COLOURS if (n := min(one.get(colour, 0), two.get(colour, 0)))}


# What may be done -----------------------------------------------------------------------------------------------------


def legal(position: Position) -> list[str]:
    """List the legal actions as text, in the order of the action ids."""
    if position["phase"] == "over":
        return []
    if position["phase"] == "pick":
        return ["pick dark", "pick light"]
    cards = playable(position, position["player"])
    return [f"play {mandala} {colour} {count}" for mandala in (0, 1, 2) for colour, count in cards]


def playable(position: Position, player: int) -> list[tuple[str, int]]:
    """What a player may play, to any of the mandalas: so many cards of that colour."""
    hand = position["hands"][player]
    cards = [(colour, count) for colour in COLOURS for count in range(1, hand.get(colour, 0) + 1)]
    return [(colour, count) for colour, count in cards if is_hand_left(position, player, count)]


def is_hand_left(position: Position, player: int, count: int) -> bool:
    """A card or more must be left in hand at the end of the draw."""
    left = size(position["hands"][player]) - count
    return left + num_drawn(position, left, count) >= 1


def num_drawn(position: Position, hand_size: int, num_played: int) -> int:
    """How many cards are drawn after a play: up to 4, to at most 8, and only after a single card."""
    if num_played > 1 or hand_size >= 8:
        return 0
    return min(4, 8 - hand_size, size(position["deck"]) + size(position["discard"]))


def is_stuck(position: Position, player: int) -> bool:
    """Say whether a player has no legal play at all."""
    return not playable(position, player)


# A turn ---------------------------------------------------------------------------------------------------------------


def outcomes(
    position: Position, action: str, drawn: Pile, tiles: dict[str, Any], reading: str, max_turns: int
) -> Iterator[Position]:
    """Tell the positions after a legal action, one for every order in which the game could destroy what is left."""
    assert action in legal(position), f"{action!r} is not legal here."
    actor = position["player"]
    after = copied(position)
    if position["phase"] == "pick":
        mandala, active = position["picking"]["mandala"], position["picking"]["completer"]
        assert not drawn, "Nobody draws when a tile is picked."
        after["phase"], after["picking"] = "play", None
        destroy(after, mandala, active, reading, action.split()[1])
    else:
        mandala, active = int(action.split()[1]), actor
        play_cards(after, action, drawn)
        check_claim(after, mandala, actor)
        if not is_complete(after, mandala):
            mandala = None
        elif must_pick(after, mandala, active, reading):
            assert not tiles, "There is no new mandala before the old one is destroyed."
            yield ask(after, mandala, active)
            return
        else:
            destroy(after, mandala, active, reading, None)
    if not after["final"]:
        end_turn(after, mandala, active, tiles, max_turns)
    if after["final"]:
        yield from final_destructions(after, actor, reading)
    else:
        after["player"] = actor if after["phase"] == "over" else after["player"]
        yield after


def play_cards(position: Position, action: str, drawn: Pile) -> None:
    """Steps 1 and 2: lay cards face up if their colour is new, face down if not; then draw."""
    _, number, colour, count = action.split()
    me, part, cards = position["player"], position["mandalas"][int(number)], {colour: int(count)}
    side = "face_down" if colour in colours_of(part) else "face_up"
    part[side][me] = plus(part[side][me], cards)
    hand = minus(position["hands"][me], cards)
    known = position["known"][me]
    position["known"][me] = minus(known, common(known, cards))
    num_due = num_drawn(position, size(hand), int(count))
    assert size(drawn) == num_due, f"{num_due} cards are drawn here, not {size(drawn)}."
    position["hands"][me] = plus(hand, drawn)
    deck = position["deck"]
    if num_due > size(deck):
        position["deck"] = minus(position["discard"], minus(drawn, deck))
        position["discard"] = {}
    else:
        position["deck"] = minus(deck, drawn)


def colours_of(part: Position) -> set[str]:
    """The colours of a mandala: those of its tiles and of all cards face up."""
    tiles = {tile[0] for tile in part["tiles"].values() if tile}
    return tiles.union(*part["face_up"])


def cards_of(part: Position, player: int) -> int:
    """All cards of a player in a mandala."""
    return size(part["face_up"][player]) + size(part["face_down"][player])


def rivals_in(part: Position, player: int | None) -> list[int]:
    """The other players who have a card face up in a mandala."""
    return [seat for seat, cards in enumerate(part["face_up"]) if cards and seat != player]


def check_claim(position: Position, mandala: int, player: int) -> None:
    """Step 3: the active player takes the marker with strictly more cards than anybody who counts."""
    part = position["mandalas"][mandala]
    mine = cards_of(part, player)
    if part["face_up"][player] and all(cards_of(part, rival) < mine for rival in rivals_in(part, player)):
        part["marker"] = player


def is_complete(position: Position, mandala: int) -> bool:
    """Step 4: all six colours."""
    return colours_of(position["mandalas"][mandala]) == set(COLOURS)


# Destroying -----------------------------------------------------------------------------------------------------------


def takers(position: Position, mandala: int, completer: int | None, reading: str) -> tuple[int, int] | None:
    """Who picks first and who takes what is left, maybe the same player; None without a holder."""
    part = position["mandalas"][mandala]
    holder = part["marker"]
    if holder is None:
        return None
    if len(position["hands"]) == 2 and completer is not None:
        other = 1 - completer
        if reading == "half_of_mandala":  # what it comes to, says the page of rules
            both = holder == completer
        else:
            both = not part["face_up"][other] or cards_of(part, other) * 2 < cards_of(part, completer)
        return (completer, completer) if both else (holder, 1 - holder)
    ranks = {seat: (cards_of(part, seat), size(part["face_up"][seat])) for seat in rivals_in(part, holder)}
    seconds = [seat for seat in ranks if ranks[seat] == max(ranks.values())]
    return (holder, seconds[0]) if len(seconds) == 1 else (holder, holder)


def must_pick(position: Position, mandala: int, completer: int | None, reading: str) -> bool:
    """Somebody is asked only if two players take one tile each."""
    found = takers(position, mandala, completer, reading)
    return found is not None and found[0] != found[1]


def ask(position: Position, mandala: int, completer: int | None) -> Position:
    """The holder of the marker is to pick."""
    position["phase"] = "pick"
    position["picking"] = {"mandala": mandala, "completer": completer}
    position["player"] = position["mandalas"][mandala]["marker"]
    return position


def destroy(position: Position, mandala: int, completer: int | None, reading: str, kind: str | None) -> None:
    """Give the tiles away, then discard or take back the cards."""
    part = position["mandalas"][mandala]
    found = takers(position, mandala, completer, reading)
    if found is not None:
        first = kind or "dark"
        rest = "light" if first == "dark" else "dark"
        for player, which in zip(found, (first, rest), strict=True):
            take_tile(position, player, *part["tiles"][which])
            part["tiles"][which] = None
    for player in range(len(position["hands"])):
        cards = plus(part["face_up"][player], part["face_down"][player])
        part["face_up"][player] = part["face_down"][player] = {}
        if found and player in found:
            position["discard"] = plus(position["discard"], cards)
        else:
            position["hands"][player] = plus(position["hands"][player], cards)
            position["known"][player] = plus(position["known"][player], cards)
    part["marker"] = None


def take_tile(position: Position, player: int, colour: str, value: Any) -> None:
    """A tile lies single, or makes a flower with the single one of its colour."""
    singles = position["singles"][player]
    if colour not in singles:
        singles[colour] = value
        position["singles"][player] = {name: singles[name] for name in COLOURS if name in singles}
    else:
        halves = sorted([singles.pop(colour), value], key=order)
        position["flowers"][player].append([colour, *halves])
        position["flowers"][player].sort(key=lambda one: (COLOURS.index(one[0]), order(one[2]), order(one[1])))


def order(value: Any) -> int:
    """Sort x3 behind the numbers."""
    return 10 if value == "x3" else value


# The end --------------------------------------------------------------------------------------------------------------


def end_turn(position: Position, destroyed: int | None, active: int, tiles: dict[str, Any], max_turns: int) -> None:
    """Set a new mandala in place of a destroyed one; then find out who is next, or that the game ends."""
    if destroyed is not None:
        third = any(len(found) >= 3 for found in position["flowers"])
        if third or not position["stacks"]["dark"]:
            position["final"] = True
        elif position["turn"] + 1 < max_turns:
            for kind in ("dark", "light"):
                position["stacks"][kind].remove(tiles[kind])
                position["mandalas"][destroyed]["tiles"][kind] = tiles[kind]
            tiles = {}
    assert not tiles, "No tiles are drawn here."
    position["turn"] += 1
    position["skipped"] = []
    seats = [(active + step) % len(position["hands"]) for step in range(1, len(position["hands"]) + 1)]
    while not position["final"]:
        if position["turn"] == max_turns and seats:
            position["phase"] = "over"
            return
        if not seats:
            position["final"] = True
        elif not is_stuck(position, seats[0]):
            position["player"] = seats[0]
            return
        else:
            position["turn"] += 1
            position["skipped"] = sorted([*position["skipped"], seats.pop(0)])


def final_destructions(position: Position, actor: int, reading: str) -> Iterator[Position]:
    """Destroy the mandalas that are left, in any order, until somebody is asked or the game is over."""
    left = [
        number for number, part in enumerate(position["mandalas"]) if any(part["face_up"]) or any(part["face_down"])
    ]
    for numbers in permutations(left):
        after = copied(position)
        for number in numbers:
            if must_pick(after, number, None, reading):
                yield ask(after, number, None)
                break
            destroy(after, number, None, reading, None)
        else:
            after["phase"], after["player"] = "over", actor
            yield after


def score(position: Position) -> list[int]:
    """Add up single tiles and flowers."""
    points = []
    for singles, flowers in zip(position["singles"], position["flowers"], strict=True):
        total = sum(value for value in singles.values() if value != "x3")
        for _, one, two in flowers:
            numbers = [value for value in (one, two) if value != "x3"]
            if len(numbers) == 2:
                total += 2 * min(numbers) + max(numbers)
            else:
                total += 3 * sum(numbers)
        points.append(total)
    return points


def payoff(position: Position) -> list[float]:
    """The winners share +1, the losers -1; nobody gets anything if all share the win."""
    ranks = list(zip(score(position), map(size, position["hands"]), strict=True))
    winners = [rank == max(ranks) for rank in ranks]
    num_winners, num_losers = sum(winners), len(winners) - sum(winners)
    return [0.0 if not num_losers else 1 / num_winners if wins else -1 / num_losers for wins in winners]
