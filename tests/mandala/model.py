"""The rules of Mandala told slowly, on the readable position: the tests hold the compiled engine against it.

Every function is one rule and names its paragraph of the rulebook. Nothing here is random: whoever calls `apply` says
which cards were drawn, and the model says whether that was possible.
"""

from __future__ import annotations

import json
from typing import Any

Pile = dict[str, int]
Position = dict[str, Any]

COLOURS = ("red", "orange", "yellow", "green", "purple", "black")
CARDS_PER_COLOUR = 18
HAND_LIMIT = 8
CARDS_OF_A_NEW_MOUNTAIN = 2
RIVER_SPACES = 6

ACTIONS: tuple[str, ...] = (
    *(f"build {mandala} {colour}" for mandala in (0, 1) for colour in COLOURS),
    *(f"grow {mandala} {colour} {count}" for mandala in (0, 1) for colour in COLOURS for count in range(1, 8)),
    *(f"discard {colour} {count}" for colour in COLOURS for count in range(1, 9)),
    *(f"claim {colour}" for colour in COLOURS),
)

WORDS = {action: action.split() for action in ACTIONS}


# Piles ----------------------------------------------------------------------------------------------------------------


def size(pile: Pile) -> int:
    """Say how many cards lie in the pile."""
    return sum(pile.values())


def put(pile: Pile, colour: str, count: int) -> None:
    """Lay cards of one colour on the pile."""
    if count:
        pile[colour] = pile.get(colour, 0) + count


def take(pile: Pile, colour: str, count: int) -> None:
    """Take cards of one colour from the pile, in which they must lie."""
    left = pile.get(colour, 0) - count
    assert left >= 0, f"{count} {colour} cards are asked of a pile that holds {pile.get(colour, 0)}."
    if left:
        pile[colour] = left
    else:
        pile.pop(colour, None)


def move(source: Pile, target: Pile, cards: Pile) -> None:
    """Move the named cards from one pile to another."""
    for colour, count in list(cards.items()):
        take(source, colour, count)
        put(target, colour, count)


def empty_out(source: Pile, target: Pile) -> None:
    """Move a whole pile onto another."""
    move(source, target, dict(source))


# What may be done -----------------------------------------------------------------------------------------------------


def legal(position: Position) -> list[str]:
    """List the legal actions as text, in the order of the action ids."""
    return [action for action in ACTIONS if is_legal(position, action)]


def is_legal(position: Position, action: str) -> bool:
    """Say whether the player to move may do this now."""
    kind, *words = WORDS[action]
    if position["phase"] == "claim":
        return kind == "claim" and may_claim(position, words[0])
    if position["phase"] == "play":
        if kind == "build":
            return may_build(position, int(words[0]), words[1])
        if kind == "grow":
            return may_grow(position, int(words[0]), words[1], int(words[2]))
        if kind == "discard":
            return may_discard(position, words[0], int(words[1]))
    return False


def may_build(position: Position, mandala: int, colour: str) -> bool:
    """Build: any one card of the hand whose colour is in neither field of that mandala (action A; The colour rule)."""
    me = position["player"]
    hand = position["hands"][me]
    fields = position["mandalas"][mandala]["fields"]
    if colour not in hand:
        return False
    if colour in fields[0] or colour in fields[1]:
        return False
    return not (size(hand) == 1 and nothing_to_draw(position))  # Reading: nobody ends a turn without a card.


def may_grow(position: Position, mandala: int, colour: str, count: int) -> bool:
    """Grow: cards of a colour that is neither in the mountain nor in the rival's field; one card stays (action B)."""
    me = position["player"]
    hand = position["hands"][me]
    area = position["mandalas"][mandala]
    if hand.get(colour, 0) < count:
        return False
    if colour in area["mountain"] or colour in area["fields"][rival_of(me)]:
        return False
    return size(hand) - count >= 1


def may_discard(position: Position, colour: str, count: int) -> bool:
    """Discard: one or more cards of one colour of the hand, the whole hand too (action C)."""
    return position["hands"][position["player"]].get(colour, 0) >= count


def may_claim(position: Position, colour: str) -> bool:
    """Claim: any colour that lies in the mountain that is being destroyed (Destroying a mandala)."""
    return colour in position["mandalas"][position["claiming"]["mandala"]]["mountain"]


def nothing_to_draw(position: Position) -> bool:
    """Say whether the deck is empty and no discard is there to make a new one."""
    return not position["deck"] and not position["discard"]


def rival_of(player: int) -> int:
    """Name the other seat."""
    return 1 - player


# What it does ---------------------------------------------------------------------------------------------------------


def apply(
    position: Position,
    action: str,
    drawn_to_hand: Pile,
    drawn_to_mountain: Pile,
    second_exhaustion: str = "reshuffle",
    max_turns: int = 400,
) -> Position:
    """Return the position after the action, in which exactly the given cards were drawn; refuse impossible draws."""
    assert is_legal(position, action), f"{action!r} is not legal here."
    after = json.loads(json.dumps(position))  # plain data: a copy
    actor = position["player"]
    kind, *words = action.split()
    due_to_hand = 0
    mandala = None
    if kind == "build":
        mandala = int(words[0])
        due_to_hand = build(after, mandala, words[1])
    elif kind == "grow":
        mandala = int(words[0])
        grow(after, mandala, words[1], int(words[2]))
    elif kind == "discard":
        due_to_hand = discard(after, words[0], int(words[1]))
    else:
        claim(after, words[0])
    draw(after, after["hands"][actor], due_to_hand, drawn_to_hand, second_exhaustion)
    if mandala is not None and is_complete(after, mandala):
        begin_destruction(after, mandala)

    if after["phase"] == "claim":
        claim_what_needs_no_choice(after)
        if is_claimed(after):
            finish_destruction(after, drawn_to_mountain, second_exhaustion, max_turns)
        else:
            assert not drawn_to_mountain, "A mountain is refilled only when all of it has been claimed."
    else:
        assert not drawn_to_mountain, "A mountain is refilled only after its mandala was destroyed."
        end_turn(after, rival_of(actor), second_exhaustion, max_turns)
    if after["phase"] == "over":
        after["player"] = actor
    return after


def build(position: Position, mandala: int, colour: str) -> int:
    """Lay one card on the mountain; due are up to three cards, up to eight in hand (action A, steps 1 and 2)."""
    hand = position["hands"][position["player"]]
    move(hand, position["mandalas"][mandala]["mountain"], {colour: 1})
    return min(3, HAND_LIMIT - size(hand))


def grow(position: Position, mandala: int, colour: str, count: int) -> None:
    """Lay cards of one colour in the own field; nothing is drawn (action B)."""
    me = position["player"]
    move(position["hands"][me], position["mandalas"][mandala]["fields"][me], {colour: count})


def discard(position: Position, colour: str, count: int) -> int:
    """Lay cards of one colour on the discard; as many are due (action C)."""
    move(position["hands"][position["player"]], position["discard"], {colour: count})
    return count


def draw(position: Position, target: Pile, num_due: int, drawn: Pile, second_exhaustion: str) -> None:
    """Draw the due cards, rebuilding the deck at the moment it runs out (End of the game: Exhausting the deck).

    The order of the drawn cards is unknown, but when the deck runs out on the way all of it must be among them.
    """
    still_to_come = dict(drawn)
    if num_due and not position["deck"]:
        rebuild_deck(position, second_exhaustion)
    while num_due and position["deck"]:
        num_now = min(num_due, size(position["deck"]))
        deck_runs_out = num_now == size(position["deck"])
        cards = dict(position["deck"]) if deck_runs_out else dict(still_to_come)
        assert size(cards) == num_now, f"{num_now} cards are due from the deck here, not {size(cards)}."
        for colour, count in cards.items():
            assert still_to_come.get(colour, 0) >= count, f"The deck ran out, so all its {colour} cards were drawn."
            assert position["deck"].get(colour, 0) >= count, f"The deck does not hold {count} {colour} cards."
        move(position["deck"], target, cards)
        for colour, count in cards.items():
            take(still_to_come, colour, count)
        num_due -= num_now
        if deck_runs_out:
            position["exhaustions"] += 1
            rebuild_deck(position, second_exhaustion)
    assert not still_to_come, f"More cards were drawn than there were to draw: {still_to_come}."


def rebuild_deck(position: Position, second_exhaustion: str) -> None:
    """Make the discard the new deck; with "end", only the first time (End of the game: Exhausting the deck)."""
    if second_exhaustion == "end" and position["exhaustions"] >= 2:
        return
    empty_out(position["discard"], position["deck"])


# Destroying a mandala -------------------------------------------------------------------------------------------------


def is_complete(position: Position, mandala: int) -> bool:
    """A mandala is complete when all six colours lie in it, mountain and fields (Completing a mandala)."""
    area = position["mandalas"][mandala]
    return all(any(colour in pile for pile in (area["mountain"], *area["fields"])) for colour in COLOURS)


def begin_destruction(position: Position, mandala: int) -> None:
    """The completed mandala is destroyed at the end of this turn (Destroying a mandala)."""
    completer = position["player"]
    position["phase"] = "claim"
    position["claiming"] = {"mandala": mandala, "completer": completer}
    position["player"] = first_to_claim(position, mandala, completer)


def first_to_claim(position: Position, mandala: int, completer: int) -> int:
    """More cards in the own field come first; equal: who did not play the last card (Destroying a mandala)."""
    fields = position["mandalas"][mandala]["fields"]
    if size(fields[0]) > size(fields[1]):
        return 0
    if size(fields[1]) > size(fields[0]):
        return 1
    return rival_of(completer)


def claim(position: Position, colour: str) -> None:
    """Take all cards of one colour of the mountain, then it is the other's turn to claim (Destroying a mandala)."""
    me = position["player"]
    area = position["mandalas"][position["claiming"]["mandala"]]
    count = area["mountain"][colour]
    take(area["mountain"], colour, count)
    if not area["fields"][me]:
        put(position["discard"], colour, count)  # No cards in a field: neither river nor cup change.
    elif colour not in position["rivers"][me]:
        position["rivers"][me].append(colour)
        put(position["cups"][me], colour, count - 1)
    else:
        put(position["cups"][me], colour, count)
    position["player"] = rival_of(me)


def claim_what_needs_no_choice(position: Position) -> None:
    """Two empty fields send the mountain to the discard; a single colour that is left has only one claim."""
    area = position["mandalas"][position["claiming"]["mandala"]]
    if not area["fields"][0] and not area["fields"][1]:
        empty_out(area["mountain"], position["discard"])
    if len(area["mountain"]) == 1:
        (colour,) = area["mountain"]
        claim(position, colour)


def is_claimed(position: Position) -> bool:
    """Say whether nothing is left in the mountain that is being destroyed."""
    return not position["mandalas"][position["claiming"]["mandala"]]["mountain"]


def finish_destruction(position: Position, drawn: Pile, second_exhaustion: str, max_turns: int) -> None:
    """Both fields go to the discard; unless the game ends, two cards make a new mountain (Destroying a mandala)."""
    completer = position["claiming"]["completer"]
    area = position["mandalas"][position["claiming"]["mandala"]]
    position["claiming"] = None
    for field in area["fields"]:
        empty_out(field, position["discard"])
    if ends_with_a_destruction(position, max_turns):
        assert not drawn, "A mountain is not refilled when the game is over."
        position["turn"] += 1
        position["phase"] = "over"
        return
    draw(position, area["mountain"], CARDS_OF_A_NEW_MOUNTAIN, drawn, second_exhaustion)
    end_turn(position, rival_of(completer), second_exhaustion, max_turns)


# The end --------------------------------------------------------------------------------------------------------------


def ends_with_a_destruction(position: Position, max_turns: int) -> bool:
    """A destruction ends the game after a sixth colour in a river, or when the deck has run out (End of the game).

    Reading: it also does when this was the last turn that is allowed.
    """
    sixth_colour = any(len(river) == RIVER_SPACES for river in position["rivers"])
    deck_ran_out = position["exhaustions"] >= 1
    last_turn = position["turn"] + 1 >= max_turns
    return sixth_colour or deck_ran_out or last_turn


def end_turn(position: Position, next_player: int, second_exhaustion: str, max_turns: int) -> None:
    """The turn is finished: the next player plays, unless one of the two readings of the end stops the game."""
    position["turn"] += 1
    position["player"] = next_player
    out_of_turns = position["turn"] >= max_turns
    ran_out_twice = second_exhaustion == "end" and position["exhaustions"] >= 2
    position["phase"] = "over" if out_of_turns or ran_out_twice else "play"


def is_over(position: Position) -> bool:
    """Say whether the game has ended."""
    return position["phase"] == "over"


def score(position: Position) -> list[int]:
    """A cup card scores the number of its colour's river space, nothing without one (Scoring)."""
    points = [0, 0]
    for player in (0, 1):
        for number, colour in enumerate(position["rivers"][player], start=1):
            points[player] += number * position["cups"][player].get(colour, 0)
    return points


def payoff(position: Position) -> list[float]:
    """The higher score wins; equal: the smaller cup; still equal: nobody (Scoring)."""
    points = score(position)
    cups = [size(cup) for cup in position["cups"]]
    if points[0] == points[1] and cups[0] == cups[1]:
        return [0.0, 0.0]
    first_wins = points[0] > points[1] if points[0] != points[1] else cups[0] < cups[1]
    return [1.0, -1.0] if first_wins else [-1.0, 1.0]


# What always holds ----------------------------------------------------------------------------------------------------


def check(position: Position) -> None:
    """Assert what is true of every position that can be reached by playing."""
    check_cards(position)
    check_players(position)
    for mandala in (0, 1):
        check_mandala(position, mandala)
    check_phase(position)


def check_cards(position: Position) -> None:
    """There are 18 cards of each colour, river cards included, and no pile mentions a colour that it lacks."""
    areas = [pile for area in position["mandalas"] for pile in (area["mountain"], *area["fields"])]
    piles = [position["deck"], position["discard"], *position["hands"], *position["cups"], *areas]
    for pile in (*piles, *position["starting_cups"]):
        assert all(colour in COLOURS and count > 0 for colour, count in pile.items()), f"This is no pile: {pile}."
    for colour in COLOURS:
        total = sum(pile.get(colour, 0) for pile in piles) + sum(river.count(colour) for river in position["rivers"])
        assert total == CARDS_PER_COLOUR, f"There are {total} {colour} cards."


def check_players(position: Position) -> None:
    """Hands hold 1 to 8 cards, rivers at most six different colours, cups their two starting cards."""
    for player in (0, 1):
        assert 1 <= size(position["hands"][player]) <= HAND_LIMIT, f"Player {player} holds a hand of the wrong size."
        river = position["rivers"][player]
        assert len(river) == len(set(river)) <= RIVER_SPACES, f"The river of player {player} repeats a colour: {river}."
        start = position["starting_cups"][player]
        assert size(start) == 2, f"Player {player} started with {size(start)} cards in the cup."
        for colour, count in start.items():
            assert position["cups"][player].get(colour, 0) >= count, f"A starting {colour} card has left the cup."


def check_mandala(position: Position, mandala: int) -> None:
    """A colour lies in one of the three areas; a mandala stays complete only while it is being claimed."""
    area = position["mandalas"][mandala]
    piles = (area["mountain"], *area["fields"])
    for colour in COLOURS:
        assert sum(colour in pile for pile in piles) <= 1, f"{colour} lies in two areas of mandala {mandala}."
    if position["claiming"] and position["claiming"]["mandala"] == mandala:
        assert len(area["mountain"]) >= 2, "A claim is asked for only when there are at least two colours."
        assert area["fields"][0] or area["fields"][1], "With two empty fields nobody claims."
        return
    assert not is_complete(position, mandala), f"Mandala {mandala} is complete and still there."
    was_destroyed_last = position["phase"] == "over" and not any(piles)
    assert size(area["mountain"]) >= CARDS_OF_A_NEW_MOUNTAIN or was_destroyed_last, f"Mountain {mandala} is too small."


def check_phase(position: Position) -> None:
    """Somebody claims in the claim phase only, and a game that should have ended has ended."""
    assert position["game"] == "mandala_v0", "This is not a position of Mandala."
    assert position["player"] in (0, 1), "There are two seats."
    assert position["phase"] in ("play", "claim", "over"), f"There is no phase {position['phase']!r}."
    assert (position["phase"] == "claim") == (position["claiming"] is not None), "Claims belong to the claim phase."
    if position["phase"] == "play":
        assert all(len(river) < RIVER_SPACES for river in position["rivers"]), "A full river ends the game."
        assert position["deck"] or nothing_to_draw(position), "An empty deck takes in the discard at once."
    assert position["deck"] or position["exhaustions"], "An empty deck has run out at least once."
