"""The compiled engine against the slow model of the rules, at every step of random games."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from mandala_env.registry import load_game
from tests.contract.soak import MODEL_GAMES

from . import model
from .contract import is_complete_set
from .model import Pile, Position, common, minus, plus, size
from .positions import area, make

# What games must have met, and with how many players it can be met.
BRANCHES = {
    "the deck was rebuilt": (2, 3, 4),
    "a tile was picked by a player who was not active": (2, 3, 4),
    "the holder took both tiles": (2, 3, 4),
    "cards went back to a hand": (2, 3, 4),
    "a third flower ended the game": (2, 3, 4),
    "a tile was picked in the final destructions": (2, 3, 4),
    "a player was skipped": (2, 3, 4),
    "everybody was skipped": (2, 3),
    "the stacks ended the game": (4,),
    "the turns ended the game": (2, 3, 4),
    "the last turn completed a mandala": (2, 3, 4),
    "more than eight cards in hand": (2, 3, 4),
}


def split(action: str) -> tuple[int, Pile]:
    """The mandala and the cards of a play."""
    _, mandala, colour, count = action.split()
    return int(mandala), {colour: int(count)}


def cards_drawn(before: Position, action: str, after: Position) -> Pile:
    """Read off two positions what was drawn: what is new in the hand and did not come back from a mandala."""
    if before["phase"] == "pick":
        return {}
    me, (_, played) = before["player"], split(action)
    known = minus(before["known"][me], common(before["known"][me], played))
    came_back = minus(after["known"][me], known)
    return minus(minus(after["hands"][me], came_back), minus(before["hands"][me], played))


def tiles_drawn(before: Position, after: Position) -> dict[str, Any]:
    """Read off two positions which tiles left the stacks."""
    found: dict[str, Any] = {}
    for kind, tiles in before["stacks"].items():
        left = list(after["stacks"][kind])
        for tile in tiles:
            if tile in left:
                left.remove(tile)
            else:
                found[kind] = tile
    return found


class Player:
    """A random player who leans towards one kind of play, newly in each game, so that games differ."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.lean = chance.choice((0.3, 1.0, 3.0, 20.0))

    def choose(self, actions: list[str]) -> str:
        """Pick one of the legal actions."""
        weights = [self.lean if action.endswith(" 1") else 1.0 for action in actions]
        return self.chance.choices(actions, weights)[0]


def pushed_towards_the_end(position: Position, chance: random.Random, max_turns: int) -> Position:
    """Change a position so that what is rare comes soon: few turns, flowers, small stacks, hardly a card to draw."""
    position["turn"] = max_turns - chance.randrange(1, 30)
    if chance.random() < 0.6:
        hand_out_tiles(position, chance, leave=chance.choice((0, 0, 1, 8)))
    if chance.random() < 0.6:
        hide_cards(position, chance)
    return position


def hand_out_tiles(position: Position, chance: random.Random, leave: int) -> None:
    """Give tiles of the stacks to players, as long as nobody has a third flower; both stacks stay equal."""
    while len(position["stacks"]["dark"]) > leave:
        before = (position["singles"], position["flowers"])
        for kind in ("dark", "light"):
            tile = chance.choice(position["stacks"][kind])
            seats = [
                seat
                for seat in range(len(position["hands"]))
                if tile[0] not in position["singles"][seat] or len(position["flowers"][seat]) < 2
            ]
            if not seats:
                assert kind == "dark" or before, "Each kind of tile can be given to somebody."
                return
            position["stacks"][kind].remove(tile)
            model.take_tile(position, chance.choice(seats), *tile)


def hide_cards(position: Position, chance: random.Random) -> None:
    """Lay the deck and the discard, and most of the hands, face down where their colour lies already."""
    hands = [hand for hand in position["hands"] if chance.random() < 0.7]
    for pile in (position["deck"], position["discard"], *hands):
        for colour in list(pile):
            parts = [part for part in position["mandalas"] if colour in model.colours_of(part)]
            owners = [(part, part["marker"]) for part in parts if part["marker"] is not None]
            keep = 1 if pile in position["hands"] and size(pile) <= pile[colour] else 0
            if owners and pile[colour] > keep:
                part, owner = chance.choice(owners)
                cards = {colour: pile[colour] - keep}
                part["face_down"][owner] = plus(part["face_down"][owner], cards)
                pile.update({colour: keep})
        for colour in [colour for colour, count in pile.items() if not count]:
            del pile[colour]
    position["known"] = [common(known, hand) for known, hand in zip(position["known"], position["hands"], strict=True)]


def count_branches(met: Counter[str], before: Position, action: str, after: Position, max_turns: int) -> None:
    """Count what happened in this step, seen from the two positions alone."""
    is_pick, over = before["phase"] == "pick", after["phase"] == "over"
    num_players, actor = len(before["hands"]), before["player"]
    tiles = [
        sum(map(len, position["singles"])) + 2 * sum(map(len, position["flowers"])) for position in (before, after)
    ]
    met["the deck was rebuilt"] += size(before["deck"]) < size(cards_drawn(before, action, after))
    met["more than eight cards in hand"] += any(size(hand) > 8 for hand in after["hands"])
    if is_pick:
        met["a tile was picked in the final destructions"] += before["final"]
        met["a tile was picked by a player who was not active"] += before["picking"]["completer"] not in (None, actor)
    elif not after["final"] and tiles[0] < tiles[1]:
        met["the holder took both tiles"] += 1
        met["cards went back to a hand"] += before["known"] != after["known"]
    third = any(len(found) >= 3 for found in after["flowers"])
    if after["final"] and not before["final"]:
        skips = after["turn"] - before["turn"] - 1
        met["everybody was skipped"] += skips == num_players
        met["a third flower ended the game"] += third and skips == 0
        met["the stacks ended the game"] += not after["stacks"]["dark"] and not third
    elif after["phase"] == "play":
        met["a player was skipped"] += after["turn"] - before["turn"] > 1
    if over and not after["final"]:
        met["the turns ended the game"] += 1
        met["the last turn completed a mandala"] += tiles[0] < tiles[1]
        assert after["turn"] == max_turns


def agreed_actions(game: Any, state: Any, position: Position) -> list[str]:
    """The legal actions of a state, of which engine and model say the same, as they do of its end and score."""
    assert is_complete_set(np.array([state]))
    assert list(game.scores(state)) == model.score(position)
    legal = model.legal(position)
    assert [game.actions.text(action) for action in game.legal_actions(state)] == legal
    assert game.is_over(state) == (not legal), "Nobody is asked who has nothing to choose."
    if not legal:
        assert list(game.payoffs(state)) == pytest.approx(model.payoff(position))
        assert bool(state.adjudicated) == (not position["final"])
    return legal


def follow(game: Any, state: Any, before: Position, action: str) -> Position:
    """The position after an action that the engine carries out, and that the model finds the same."""
    reading, max_turns = game.options["two_player_rule"], game.options["max_turns"]
    game.apply(state, game.actions.parse(action))
    after: Position = game.position(state)
    drawn, tiles = cards_drawn(before, action, after), tiles_drawn(before, after)
    expected = list(model.outcomes(before, action, drawn, tiles, reading, max_turns))
    assert after in expected, f"{action!r} in {before} gives {after}, not one of {expected}"
    return after


def compare_one_game(game: Any, start: Position, met: Counter[str], seed: int) -> None:
    """Play one random game with the engine from a position and hold each step against the model."""
    state = game.from_position(start, seed=seed)
    player = Player(random.Random(seed))
    before = game.position(state)
    while legal := agreed_actions(game, state, before):
        action = player.choose(legal)
        after = follow(game, state, before, action)
        count_branches(met, before, action, after, game.options["max_turns"])
        before = after


def somewhere_in_a_game(game: Any, chance: random.Random) -> Position:
    """Play some random actions from a new deal and return the last position in which somebody is to play."""
    state = game.deal(chance.randrange(2**32))
    player = Player(chance)
    last = state.copy()
    for _ in range(chance.randrange(60)):
        game.apply(state, game.actions.parse(player.choose([game.actions.text(a) for a in game.legal_actions(state)])))
        if game.is_over(state):
            break
        if state.phase == 0:
            last = state.copy()
    position: Position = game.position(last)
    return position


def nothing_to_draw(num_players: int) -> Position:
    """Set up a position with all cards on the table, in which only player 0 has more than one card in hand."""
    one = area("K1 G1", up=["P15", "R12"], down=["K15", "G15"], marker=0)
    two = area("P1 O1", up=[f"Y{16 - num_players}", ""], down=["", "O13"], marker=0)
    return make(hands=["R3 O2", *["Y1"] * (num_players - 1)], areas=[one, two], turn=380)


def last_turn(num_players: int) -> Position:
    """Set up the last turn of a game, in which every play completes a mandala."""
    areas = [area(f"K{value} G{value}", up=["P2 R1", "O1"], marker=0) for value in (1, 2, 3)]
    return make(hands=["Y9", *[4] * (num_players - 1)], areas=areas, turn=399)


def filled_hand(position: Position, chance: random.Random) -> Position:
    """Put much of the deck into one hand, as cards that came back to it would."""
    seat = chance.randrange(len(position["hands"]))
    for colour in list(position["deck"]):
        if chance.random() < 0.8:
            position["hands"][seat] = plus(position["hands"][seat], {colour: position["deck"].pop(colour)})
    return position


def any_start(game: Any, chance: random.Random) -> Position:
    """A position to begin with: a deal, one that is close to some end, or one in which something rare is near."""
    max_turns, num_players = game.options["max_turns"], game.num_players
    deal: Position = game.position(game.deal(chance.randrange(2**32)))
    kind = chance.randrange(5)
    if kind == 0:
        return deal
    if kind == 1:
        start = filled_hand(somewhere_in_a_game(game, chance), chance)
    elif kind <= 3 or game.options["tile_values"] != load_game("flowers_v0").options["tile_values"]:
        start = pushed_towards_the_end(somewhere_in_a_game(game, chance), chance, max_turns)
    else:
        start = chance.choice((last_turn, nothing_to_draw))(num_players)
        start["turn"] += max_turns - 400
    return deal if model.is_stuck(start, start["player"]) else start


def compare_many_games(num_players: int, reading: str, num_games: int, seed: int) -> Counter[str]:
    """Compare games from new deals, with many turns and with few, and from positions that are close to some end."""
    met: Counter[str] = Counter()
    chance = random.Random(seed)
    game = load_game("flowers_v0", num_players=num_players, two_player_rule=reading)
    short_game = load_game("flowers_v0", num_players=num_players, two_player_rule=reading, max_turns=45)
    for number in range(num_games):
        if number % 5 < 2:
            played = short_game if number % 5 else game
            compare_one_game(played, played.position(played.deal(chance.randrange(2**32))), met, seed + number)
            continue
        start = last_turn(num_players) if number % 10 == 9 else nothing_to_draw(num_players)
        if number % 5 < 4:
            start = pushed_towards_the_end(somewhere_in_a_game(game, chance), chance, 400)
        if not model.is_stuck(start, start["player"]):
            compare_one_game(game, start, met, seed + number)
    return met


FORMS = [(2, "half_of_mandala"), (2, "half_of_rival"), (3, "half_of_mandala"), (4, "half_of_mandala")]


@pytest.mark.parametrize(("num_players", "reading"), FORMS)
def test_engine_and_model_agree_at_every_step(num_players: int, reading: str) -> None:
    met = compare_many_games(num_players, reading, num_games=50, seed=1)
    expected = [branch for branch, players in BRANCHES.items() if num_players in players]
    assert [branch for branch in expected if not met[branch]] == [], f"these branches were never met in {met}"


@pytest.mark.slow
@pytest.mark.parametrize(("num_players", "reading"), FORMS)
def test_engine_and_model_agree_at_every_step_of_very_many_games(num_players: int, reading: str) -> None:
    met = compare_many_games(num_players, reading, num_games=MODEL_GAMES // len(FORMS), seed=2)
    assert all(met[branch] for branch, players in BRANCHES.items() if num_players in players), met


def test_the_action_table_is_in_the_order_of_the_rules() -> None:
    actions = load_game("flowers_v0").actions
    assert [actions.text(action) for action in range(272)] == list(model.ACTIONS)
    assert [actions.parse(text) for text in model.ACTIONS] == list(range(272))


def test_the_model_refuses_impossible_draws() -> None:
    game = load_game("flowers_v0")
    position = game.position(game.deal(1))
    action = model.legal(position)[0]
    with pytest.raises(AssertionError, match="are drawn here"):
        list(model.outcomes(position, action, {"red": 9}, {}, "half_of_mandala", 400))
    assert position == game.position(game.deal(1))
