"""What holds in every game of Flowers, whatever is played."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mandala_env.core.batch import PICKER, Batch
from mandala_env.core.dispatch import Rules
from mandala_env.games.flowers.state import NOBODY, OVER
from mandala_env.registry import load_game

from .contract import is_complete_set

PLAYER_COUNTS = (2, 3, 4)
DIFFERENT_TILES = {
    "grey": (1, 2, 3, 4, 5, "x3"),
    "purple": (9, 9, 9, 9, 9, 9),
    "red": ("x3",) * 6,
    "green": (1, 1, 2, 2, "x3", "x3"),
    "orange": (1, 3, 5, 7, 9, "x3"),
    "yellow": (2, 2, 4, 4, 6, 6),
}


@pytest.fixture(params=PLAYER_COUNTS, ids=["2p", "3p", "4p"])
def game(request: pytest.FixtureRequest) -> Any:
    """The game in its default readings."""
    return load_game("flowers_v0", num_players=request.param)


def states_of_games(game: Any, num_games: int, every: int, seed: int = 0) -> list[Any]:
    """Some states of random games, from the deal to the end, the ends and the picks all."""
    chance = np.random.default_rng(seed)
    found = []
    for number in range(num_games):
        state, num_steps = game.deal(seed + number), 0
        while True:
            if num_steps % every == 0 or state.phase != 0:
                found.append(game.copy(state))
            if game.is_over(state):
                break
            game.apply(state, int(chance.choice(game.legal_actions(state))))
            num_steps += 1
    return found


# What a player sees ---------------------------------------------------------------------------------------------------


def public_part(position: dict, viewer: int) -> dict:
    """A position as a viewer with perfect memory knows it, the viewer in seat 0."""
    num_players = len(position["hands"])
    seats = [(viewer + turn) % num_players for turn in range(num_players)]
    unseen = dict(position["deck"])
    for seat in seats[1:]:
        for colour, count in position["hands"][seat].items():
            unseen[colour] = unseen.get(colour, 0) + count - position["known"][seat].get(colour, 0)
    turned = {None: None} | {seat: turn for turn, seat in enumerate(seats)}
    picking = position["picking"]
    return {
        **{key: position[key] for key in ("phase", "final", "discard", "stacks")},
        "player": turned[position["player"]],
        "picking": picking and {**picking, "completer": turned[picking["completer"]]},
        "unseen": {colour: count for colour, count in unseen.items() if count},
        "hand": position["hands"][viewer],
        "sizes": [sum(position["hands"][seat].values()) for seat in seats] + [sum(position["deck"].values())],
        **{key: [position[key][seat] for seat in seats] for key in ("known", "singles", "flowers")},
        "skipped": sorted(turned[seat] for seat in position["skipped"]),
        "mandalas": [
            {
                "tiles": part["tiles"],
                "marker": turned[part["marker"]],
                **{key: [part[key][seat] for seat in seats] for key in ("face_up", "face_down")},
            }
            for part in position["mandalas"]
        ],
    }


@pytest.mark.parametrize("options", [{}, {"tile_values": DIFFERENT_TILES, "two_player_rule": "half_of_rival"}])
def test_a_state_dealt_from_an_observation_has_the_same_observation_and_the_same_public_part(
    game: Any, options: dict
) -> None:
    game = load_game("flowers_v0", num_players=game.num_players, **options)
    for seed, state in enumerate(states_of_games(game, num_games=4, every=9)):
        for viewer in range(game.num_players):
            obs = game.observe(state, viewer)
            imagined = game.imagine(obs, seed)
            assert (game.observe(imagined, 0) == obs).all()
            assert public_part(game.position(imagined), 0) == public_part(game.position(state), viewer)
            assert (imagined.tile_values == state.tile_values).all()
            assert imagined.half_of_rival == state.half_of_rival
            assert imagined.max_turns == state.max_turns - state.turn
            assert is_complete_set(np.array([imagined]))


def test_known_cards_stay_where_they_are_and_unseen_ones_are_dealt_anew(game: Any) -> None:
    changed = 0
    for state in states_of_games(game, num_games=3, every=7):
        for viewer in range(game.num_players):
            obs = game.observe(state, viewer)
            one, two = game.imagine(obs, 1), game.imagine(obs, 2)
            others = [(viewer + turn) % game.num_players for turn in range(1, game.num_players)]
            for imagined in (one, two):
                assert (imagined.hands[0] == state.hands[viewer]).all()
                assert (imagined.hands[1:] >= state.known[others]).all()
                assert (imagined.hands[1:].sum(axis=1) == state.hands[others].sum(axis=1)).all()
            changed += (one.hands != two.hands).any()
    assert changed > 50


def test_dealing_the_unseen_cards_anew_changes_nothing_that_a_seat_is_shown(game: Any) -> None:
    chance = np.random.default_rng(0)
    for state in states_of_games(game, num_games=3, every=7):
        for viewer in range(game.num_players):
            other = game.copy(state)
            redeal(other, viewer, chance)
            assert (game.observe(other, viewer) == game.observe(state, viewer)).all()
            if state.player == viewer:
                assert (game.action_mask(other) == game.action_mask(state)).all()
            assert game.render(other, viewer) == game.render(state, viewer)


def redeal(state: Any, viewer: int, chance: np.random.Generator) -> None:
    """Shuffle all cards that a viewer cannot place, and set the generator anew."""
    others = [seat for seat in range(len(state.hands)) if seat != viewer]
    hidden = state.deck.astype(int) + (state.hands - state.known)[others].sum(axis=0)
    cards = chance.permutation(np.repeat(np.arange(6), hidden))
    for seat in others:
        num_unknown = int((state.hands[seat] - state.known[seat]).sum())
        mine, cards = cards[:num_unknown], cards[num_unknown:]
        state.hands[seat] = state.known[seat] + np.bincount(mine, minlength=6)
    state.deck = np.bincount(cards, minlength=6)
    state.generator = chance.integers(2**63)


# Symmetry -------------------------------------------------------------------------------------------------------------


def turned_seats(game: Any, state: Any, by: int) -> Any:
    """The same game in which everybody has moved on by some seats."""
    other = game.copy(state)
    for name in ("hands", "known", "face_up", "face_down", "singles", "flower_lows", "flower_highs", "skipped"):
        other[name] = np.roll(state[name], by, axis=0)
    other.player = (state.player + by) % game.num_players
    if state.completer != NOBODY:
        other.completer = (state.completer + by) % game.num_players
    other.markers = np.where(state.markers == NOBODY, NOBODY, (state.markers + by) % game.num_players)
    return other


def test_seats_are_alike(game: Any) -> None:
    chance = np.random.default_rng(1)
    for state in states_of_games(game, num_games=4, every=5):
        by = int(chance.integers(1, game.num_players))
        other = turned_seats(game, state, by)
        for seat in range(game.num_players):
            assert (game.observe(other, (seat + by) % game.num_players) == game.observe(state, seat)).all()
        assert (game.action_mask(other) == game.action_mask(state)).all()
        assert game.payoffs(other) == tuple(np.roll(game.payoffs(state), by).tolist())
        if state.phase != OVER:
            action = int(chance.choice(game.legal_actions(state)))
            after = game.copy(state)
            game.apply(after, action)
            game.apply(other, action)
            assert other == turned_seats(game, after, by)


def swapped(game: Any, state: Any, mandalas: np.ndarray, colours: np.ndarray) -> Any:
    """The same state with other numbers for the mandalas and the colours."""
    other = game.copy(state)
    for name, axes in game.axes.items():
        for axis, counted in enumerate(axes):
            if counted in ("mandala", "colour"):
                other[name] = np.take(other[name], mandalas if counted == "mandala" else colours, axis=axis)
    if state.picking >= 0:
        other.picking = np.flatnonzero(mandalas == state.picking)[0]
    return other


def test_mandalas_and_colours_of_a_kind_are_alike(game: Any) -> None:
    chance, num_compared = np.random.default_rng(2), 0
    for state in states_of_games(game, num_games=4, every=3):
        mandalas = chance.permutation(3)
        colours = np.concatenate([chance.permutation(3), 3 + chance.permutation(3)])
        other = swapped(game, state, mandalas, colours)
        mask = game.action_mask(state)
        assert (
            game.action_mask(other)[:270].reshape(3, 6, 15) == mask[:270].reshape(3, 6, 15)[mandalas][:, colours]
        ).all()
        assert (game.action_mask(other)[270:] == mask[270:]).all()
        assert game.scores(other) == game.scores(state)
        plays = [a for a in game.legal_actions(state) if game.actions.columns["count"][a] > 1]
        if plays:
            compare_swapped_play(game, state, other, mandalas, colours, int(chance.choice(plays)))
            num_compared += 1
    assert num_compared > 50


def compare_swapped_play(
    game: Any, state: Any, other: Any, mandalas: np.ndarray, colours: np.ndarray, action: int
) -> None:
    """Assert that a play of several cards does the same with other numbers, unless it leads to chance."""
    columns = game.actions.columns
    mandala = np.flatnonzero(mandalas == columns["mandala"][action])[0]
    colour = np.flatnonzero(colours == columns["colour"][action])[0]
    same = game.actions.parse(f"play {mandala} {game.colours[colour]} {columns['count'][action]}")
    after = game.copy(state)
    game.apply(after, action)
    game.apply(other, same)
    if after.generator == state.generator:
        assert other == swapped(game, after, mandalas, colours)


# Compiled and plain ---------------------------------------------------------------------------------------------------


def digest_of_games() -> str:
    """A digest of everything that random games and the scripted player show, for all numbers of players."""
    digest = hashlib.sha256()
    for num_players in PLAYER_COUNTS:
        game = load_game("flowers_v0", num_players=num_players, tile_values=DIFFERENT_TILES, max_turns=60)
        batch = Batch(game, 2, seed=num_players)
        pickers = np.zeros(2, PICKER).view(np.recarray)
        actions = np.zeros(2, np.int64)
        for step in range(90):
            game.heuristic(batch.observations, batch.action_masks, pickers, actions)
            payoffs, _ = batch.step(actions) if step % 2 else batch.step_random()
            imagined = game.imagine(batch.observations[0], step)
            shown = (batch.states, batch.observations, batch.action_masks, batch.players, batch.scores, actions)
            for array in (*shown, np.round(payoffs, 4), imagined):
                digest.update(array.tobytes())
    return digest.hexdigest()


def test_compiled_and_plain_python_play_the_same_games() -> None:
    root = Path(__file__).resolve().parents[2]
    found = subprocess.run(
        [
            sys.executable,
            "-W",
            "error::RuntimeWarning",
            "-c",
            "from tests.flowers.test_properties import digest_of_games as d; print(d())",
        ],
        cwd=root,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == digest_of_games()


# The scripted player --------------------------------------------------------------------------------------------------


def test_the_scripted_player_beats_random_players(game: Any) -> None:
    num_games = 200
    batch = Batch(game, num_games, seed=7)
    pickers = np.zeros(num_games, PICKER).view(np.recarray)
    pickers["generator"] = np.arange(num_games)
    chance, seats = np.random.default_rng(0), np.arange(num_games) % game.num_players
    results, actions = np.full(num_games, np.nan), np.zeros(num_games, np.int64)
    while np.isnan(results).any():
        game.heuristic(batch.observations, batch.action_masks, pickers, actions)
        at_random = (chance.random(batch.action_masks.shape) * batch.action_masks).argmax(axis=1)
        payoffs, over = batch.step(np.where(batch.players == seats, actions, at_random))
        new = over & np.isnan(results)
        results[new] = payoffs[new, seats[new]]
    assert (results > 0).mean() > 0.9


# Options --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_players": 5}, "num_players must be one of"),
        ({"num_players": True}, "num_players must be one of"),
        ({"two_player_rule": "half"}, "half_of_mandala"),
        ({"max_turns": 0}, "max_turns must be a whole number"),
        ({"tile_values": [1, 2, 3]}, "six|6 values"),
        ({"tile_values": [1, 2, 3, 4, 5, "x2"]}, "a whole number from 1 to 9 or 'x3'"),
        ({"tile_values": [1, 2, 3, 4, 5, 10]}, "a whole number from 1 to 9 or 'x3'"),
        ({"tile_values": {"red": [1, 2, 3, 4, 5, 6]}}, "must have the colours"),
        ({"colours": 7}, "has no option colours"),
    ],
)
def test_options_that_do_not_exist_are_refused_with_what_is_allowed(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_game("flowers_v0", **options)


def test_equal_options_give_the_same_game_however_they_are_written() -> None:
    game = load_game("flowers_v0")
    assert load_game("flowers_v0", tile_values=["x3", 5, 4, 3, 2, 1]) is game
    assert load_game("flowers_v0", tile_values={colour: (1, 2, 3, 4, 5, "x3") for colour in game.colours}) is game
    assert load_game("flowers_v0", **game.options) is game
    assert load_game("flowers_v0", num_players=3) is not game
    assert isinstance(game.rules, Rules)
