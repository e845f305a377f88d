"""The engine agrees with the slow model of the rules at every step of random games."""

from __future__ import annotations

import random
from collections import Counter
from copy import deepcopy
from typing import Any

import pytest

from mandala_env.registry import load_game
from tests.contract.soak import MODEL_GAMES

from . import model
from .model import Pile, Position, size
from .positions import make, pile, without

READINGS = ("reshuffle", "end")

# What the random games must have met, so that agreement says something about it.
BRANCHES = {
    "the deck ran out": READINGS,
    "the deck ran out twice in one action": READINGS,
    "the deck ran out for the second time": READINGS,
    "the deck ran out during a refill": READINGS,
    "the deck ran out in the build that completed a mandala": READINGS,
    "a build drew nothing": READINGS,
    "a build drew less than was due": READINGS,
    "a build with the last card was refused": ("reshuffle",),
    "a discard was reshuffled and drawn again": ("reshuffle",),
    "a discard drew less than was discarded": ("end",),
    "the whole hand was discarded": READINGS,
    "two fields were empty": READINGS,
    "a claim went to the discard": READINGS,
    "the last colour was claimed without asking": READINGS,
    "a single colour was claimed without asking": READINGS,
    "a sixth colour ended the game": READINGS,
    "a full river claimed again": READINGS,
    "both rivers were full": READINGS,
    "the deck ended the game": READINGS,
    "the second exhaustion ended the game without a destruction": ("end",),
    "the turns ended the game": READINGS,
    "the last turn completed a mandala": READINGS,
    "the smaller cup won": READINGS,
}


class Player:
    """A random player who leans towards some kinds of action, newly in each game, so that games differ."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.weights = {kind: chance.choice((0.2, 1.0, 5.0)) for kind in ("build", "grow", "discard", "claim")}

    def choose(self, actions: list[str]) -> str:
        """Pick one of the legal actions."""
        weights = [self.weights[action.split()[0]] for action in actions]
        return self.chance.choices(actions, weights)[0]


def cards_drawn(before: Position, action: str, after: Position) -> tuple[Pile, Pile]:
    """Read off two positions which cards were drawn to the hand and which to a new mountain."""
    me = before["player"]
    kind, *words = action.split()
    played: Pile = {}
    if kind == "build":
        played = {words[1]: 1}
    elif kind == "grow":
        played = {words[1]: int(words[2])}
    elif kind == "discard":
        played = {words[0]: int(words[1])}
    to_hand = without(after["hands"][me], without(before["hands"][me], played))
    if kind == "discard":
        return to_hand, {}
    mandala = before["claiming"]["mandala"] if kind == "claim" else int(words[0])
    was_destroyed = after["claiming"] is None and cards_in(after, mandala) < cards_in(before, mandala)
    return to_hand, dict(after["mandalas"][mandala]["mountain"]) if was_destroyed else {}


def cards_in(position: Position, mandala: int) -> int:
    """Count all cards of a mandala."""
    area = position["mandalas"][mandala]
    return sum(size(cards) for cards in (area["mountain"], *area["fields"]))


def pushed_towards_the_end(position: Position, chance: random.Random, max_turns: int) -> Position:
    """Change a position so that what is rare comes soon: the last turns, long rivers, full mandalas, a small deck."""
    position = deepcopy(position)
    position["turn"] = max_turns - chance.randrange(1, 25)
    if chance.random() < 0.4:
        lengthen_rivers(position, chance)
    if chance.random() < 0.7:
        fill_mandalas(position, chance)
    if chance.random() < 0.7:
        use_up_deck(position, chance)
    return position


def lengthen_rivers(position: Position, chance: random.Random) -> None:
    """Lay cards of the deck in both rivers, up to five colours."""
    for river in position["rivers"]:
        length = chance.choice((4, 5, 5))
        for colour in chance.sample(model.COLOURS, 6):
            if colour in position["deck"] and colour not in river and len(river) < length:
                model.take(position["deck"], colour, 1)
                river.append(colour)


def fill_mandalas(position: Position, chance: random.Random) -> None:
    """Lay cards of the deck in the mandalas, mostly in the mountains, until only one colour is missing there."""
    for area in position["mandalas"]:
        weights = chance.choice(((1, 0, 0), (8, 1, 1), (2, 1, 1), (0, 1, 1)))
        piles = (area["mountain"], *area["fields"])
        missing = [colour for colour in chance.sample(model.COLOURS, 6) if all(colour not in cards for cards in piles)]
        for colour in missing[1:]:
            if colour in position["deck"]:
                model.move(position["deck"], chance.choices(piles, weights)[0], {colour: 1})


def use_up_deck(position: Position, chance: random.Random) -> None:
    """Leave few cards in the deck; the others go to the discard or, when that shall be small too, to the cups."""
    num_left = chance.choice((0, 1, 1, 2, 3, 5))
    move_random_cards(position["deck"], position["discard"], size(position["deck"]) - num_left, chance)
    if num_left == 0 or chance.random() < 0.7:
        num_kept = chance.choice((0, 0, 1, 2, 4)) if num_left else 0
        for _ in range(size(position["discard"]) - num_kept):
            move_random_cards(position["discard"], position["cups"][chance.randrange(2)], 1, chance)
    position["exhaustions"] = 1 if num_left == 0 else chance.choice((0, 1))


def move_random_cards(source: Pile, target: Pile, count: int, chance: random.Random) -> None:
    """Move cards that are drawn at random from one pile to another."""
    for _ in range(max(0, count)):
        colour = chance.choices(list(source), list(source.values()))[0]
        model.move(source, target, {colour: 1})


def count_branches(met: Counter[str], before: Position, action: str, after: Position, reading: str) -> None:
    """Count what happened in this step, seen from the two positions alone."""
    me = before["player"]
    kind = action.split()[0]
    to_hand, to_mountain = cards_drawn(before, action, after)
    ran_out = after["exhaustions"] - before["exhaustions"]
    over = after["phase"] == "over"
    met["the deck ran out"] += ran_out > 0
    met["the deck ran out twice in one action"] += ran_out > 1
    met["the deck ran out for the second time"] += before["exhaustions"] < 2 <= after["exhaustions"]
    met["the deck ran out during a refill"] += ran_out > 0 and bool(to_mountain) and kind != "build"
    if kind == "build":
        due = min(3, 8 - (size(before["hands"][me]) - 1))
        completed = after["phase"] == "claim" or cards_in(after, int(action.split()[1])) < 6
        completed &= cards_in(before, int(action.split()[1])) >= 5
        met["the deck ran out in the build that completed a mandala"] += ran_out > 0 and completed
        met["a build drew nothing"] += not to_hand
        met["a build drew less than was due"] += 0 < size(to_hand) < due
    if kind == "discard":
        count = int(action.split()[2])
        met["the whole hand was discarded"] += count == size(before["hands"][me])
        met["a discard drew less than was discarded"] += size(to_hand) < count
        met["a discard was reshuffled and drawn again"] += model.nothing_to_draw(before)
    met["a build with the last card was refused"] += size(after["hands"][after["player"]]) == 1 and (
        after["phase"] == "play" and model.nothing_to_draw(after)
    )
    count_claims(met, before, action, after)
    if over:
        full = [len(river) == 6 for river in after["rivers"]]
        destroyed = any(cards_in(after, mandala) == 0 for mandala in (0, 1))
        met["a sixth colour ended the game"] += any(full)
        met["both rivers were full"] += all(full)
        met["the deck ended the game"] += destroyed and after["exhaustions"] >= 1 and not any(full)
        met["the second exhaustion ended the game without a destruction"] += (
            reading == "end" and after["exhaustions"] >= 2 and not destroyed
        )
        met["the turns ended the game"] += not any(full) and after["exhaustions"] == 0
        met["the last turn completed a mandala"] += not any(full) and after["exhaustions"] == 0 and destroyed
        points = model.score(after)
        met["the smaller cup won"] += points[0] == points[1] and model.payoff(after) != [0.0, 0.0]


def count_claims(met: Counter[str], before: Position, action: str, after: Position) -> None:
    """Count what happened in a destruction."""
    me = before["player"]
    kind, *words = action.split()
    if kind == "claim":
        area = before["mandalas"][before["claiming"]["mandala"]]
        met["a claim went to the discard"] += not area["fields"][me]
        met["the last colour was claimed without asking"] += len(area["mountain"]) == 2
        met["a full river claimed again"] += len(before["rivers"][1 - me]) == 6 or (
            len(before["rivers"][me]) == 6 and bool(area["fields"][me])
        )
    elif kind != "discard" and after["phase"] != "claim":
        mandala = int(words[0])
        if cards_in(after, mandala) < cards_in(before, mandala):
            fields = before["mandalas"][mandala]["fields"]
            no_fields = not any(fields) and kind == "build"
            met["two fields were empty"] += no_fields
            met["a single colour was claimed without asking"] += not no_fields


def agreed_actions(game: Any, state: Any, position: Position) -> list[str]:
    """The legal actions of a state, of which engine and model say the same, as they do of its end and score."""
    model.check(position)
    assert game.is_over(state) == model.is_over(position)
    assert list(game.scores(state)) == model.score(position)
    legal = model.legal(position)
    assert [game.actions.text(action) for action in game.legal_actions(state)] == legal
    if model.is_over(position):
        assert list(game.payoffs(state)) == model.payoff(position)
    return legal


def follow(game: Any, state: Any, before: Position, action: str) -> Position:
    """The position after an action that the engine carries out, and that the model finds the same."""
    game.apply(state, game.actions.parse(action))
    after: Position = game.position(state)
    drawn_to_hand, drawn_to_mountain = cards_drawn(before, action, after)
    expected = model.apply(before, action, drawn_to_hand, drawn_to_mountain, **game.options)
    assert after == expected, f"{action!r} in {before}"
    return after


def compare_one_game(game: Any, start: Position, met: Counter[str], seed: int) -> None:
    """Play one random game with the engine from a position and hold each step against the model."""
    state = game.from_position(start, seed=seed)
    player = Player(random.Random(seed))
    before = game.position(state)
    assert before == start
    while legal := agreed_actions(game, state, before):
        action = player.choose(legal)
        after = follow(game, state, before, action)
        count_branches(met, before, action, after, game.options["second_exhaustion"])
        before = after


def somewhere_in_a_game(game: Any, chance: random.Random) -> Position:
    """Play some random actions from a new deal and return the last position in which somebody is to play."""
    state = game.deal(chance.randrange(2**32))
    last = state.copy()
    player = Player(chance)
    for _ in range(chance.randrange(25)):
        if game.is_over(state):
            break
        if state.phase == 0:
            last = state.copy()
        game.apply(state, game.actions.parse(player.choose([game.actions.text(a) for a in game.legal_actions(state)])))
    position: Position = game.position(last)
    return position


def rare_starts() -> list[Position]:
    """Set up positions in which something that random games seldom meet is one or two actions away."""
    last_turns: dict[str, Any] = {"turn": 390}
    almost: dict[str, Any] = {"mountain0": "YP", "my_field0": "RO", "rival_field0": "G", "hand": "KKKR"} | last_turns
    rivers: dict[str, Any] = {"river": "ROYGP", "rival_river": "ROYGK", "phase": "claim", "claimed": 0, "completer": 0}
    return [
        make(**almost, deck="Y", discard="GG"),  # the deck runs out in the build or in the refill
        make(**almost, deck="YO", discard="G"),
        make(**almost | {"turn": 399}),  # the last turn
        make(**almost | {"mountain0": "YY", "my_field0": "ROP"}),  # a single colour in the mountain
        make(**last_turns, hand="R2 O2 P2", deck="G", discard="K"),  # the deck runs out twice
        make(**last_turns, hand="R2", rival_hand="O2", deck="", exhaustions=1),  # nothing to draw
        make(**last_turns, **rivers, mountain0="KP", my_field0="RO", rival_field0="G"),  # two full rivers
        make(**last_turns, **rivers, mountain0="KPYYG", my_field0="R", rival_field0="O"),
    ]


def any_start(game: Any, chance: random.Random) -> Position:
    """A position to begin with: a deal, one that is close to some end, or one in which something rare is near."""
    max_turns = game.options["max_turns"]
    kind = chance.randrange(3)
    if kind == 0:
        return game.position(game.deal(chance.randrange(2**32)))
    if kind == 1:
        return pushed_towards_the_end(somewhere_in_a_game(game, chance), chance, max_turns)
    start = chance.choice(rare_starts())
    return start | {"turn": max_turns - (400 - start["turn"])}


def compare_many_games(reading: str, num_games: int, seed: int) -> Counter[str]:
    """Compare games from new deals, with many turns and with few, and from positions that are close to some end."""
    met: Counter[str] = Counter()
    chance = random.Random(seed)
    game = load_game("mandala_v0", second_exhaustion=reading, max_turns=400)
    short_game = load_game("mandala_v0", second_exhaustion=reading, max_turns=30)
    rare = rare_starts()
    for number in range(num_games):
        played = game
        if number % 6 == 0:
            start = game.position(game.deal(chance.randrange(2**32)))
        elif number % 6 == 1:
            played = short_game
            start = short_game.position(short_game.deal(chance.randrange(2**32)))
        elif number % 6 <= 3:
            start = rare[number // 2 % len(rare)]
        else:
            start = pushed_towards_the_end(somewhere_in_a_game(game, chance), chance, 400)
        compare_one_game(played, start, met, seed + number)
    return met


def branches_of(reading: str) -> list[str]:
    """Name what games of this reading must have met."""
    return [branch for branch, readings in BRANCHES.items() if reading in readings]


@pytest.mark.parametrize("reading", READINGS)
def test_engine_and_model_agree_at_every_step(reading: str) -> None:
    met = compare_many_games(reading, num_games=96, seed=1)
    assert [branch for branch in branches_of(reading) if not met[branch]] == [], "these branches were never met"


@pytest.mark.slow
@pytest.mark.parametrize("reading", READINGS)
def test_engine_and_model_agree_at_every_step_of_very_many_games(reading: str) -> None:
    met = compare_many_games(reading, num_games=MODEL_GAMES // len(READINGS), seed=2)
    assert all(met[branch] for branch in branches_of(reading)), met


def test_the_action_table_is_in_the_order_of_the_rules() -> None:
    actions = load_game("mandala_v0").actions
    assert [actions.text(action) for action in range(150)] == list(model.ACTIONS)
    assert [actions.parse(text) for text in model.ACTIONS] == list(range(150))


# The model itself -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("to_hand", "fault"),
    [
        ("G", "all its green cards"),
        ("GGGK", "are due"),
        ("GKK", "all its green cards"),
        ("GGY", "does not hold"),
    ],
)
def test_the_model_refuses_impossible_draws(to_hand: str, fault: str) -> None:
    position = make(mountain0="YP", hand="R6", deck="GG", discard="K5")
    with pytest.raises(AssertionError, match=fault):
        model.apply(position, "build 0 red", pile(to_hand), {})


def test_the_model_refuses_a_refill_that_is_not_due_and_a_grow_that_draws() -> None:
    position = make(mountain0="YP", hand="R6")
    with pytest.raises(AssertionError, match="refilled only"):
        model.apply(position, "grow 0 red 1", {}, pile("GG"))
    with pytest.raises(AssertionError, match="More cards"):
        model.apply(position, "grow 0 red 1", pile("G"), {})


def test_the_model_leaves_its_position_as_it_was() -> None:
    position = make(mountain0="YP", my_field0="RO", rival_field0="G", hand="KRR", deck="YYY", discard="P2")
    untouched = deepcopy(position)
    after = model.apply(position, "build 0 black", pile("YYY"), {})
    assert position == untouched and after["phase"] == "claim"
