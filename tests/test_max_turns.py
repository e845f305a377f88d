"""A game that runs out of turns ends with the last one in full, as the rules say, and everything lives through it."""

from collections import Counter
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from mandala_env import evaluate, list_games, load_game
from mandala_env.core.batch import Batch
from mandala_env.registry import list_variants
from tests.adapters.playing import play_on
from tests.contract.playing import walk
from tests.threads import one_thread  # noqa: F401
from tests.training.tiny import make_model, tiny
from training.rollout import estimate_advantages
from training.train import train

VARIANTS = [(game_id, options) for game_id in list_games() for options in list_variants(game_id)]
TURNS = [1, 3, 30]


@pytest.fixture(params=VARIANTS, ids=str)
def form(request: pytest.FixtureRequest) -> Any:
    """Each game with each number of players."""
    return request.param


@pytest.fixture(params=TURNS)
def game(request: pytest.FixtureRequest, form: Any) -> Any:
    """The same with few turns."""
    game_id, options = form
    return load_game(game_id, **options, max_turns=request.param)


def test_the_last_turn_is_played_in_full_and_what_ends_by_itself_is_not_adjudicated(game: Any) -> None:
    tests = import_module(f"tests.{game.id.partition('_')[0]}.test_model")
    met: Counter[str] = Counter()
    for seed in range(3):
        tests.compare_one_game(game, game.position(game.deal(seed)), met, seed)  # beside the slow model of the rules
    most, num_adjudicated = game.options["max_turns"], 0
    for seed in range(10):
        for state in walk(game, seed):
            assert state.turn <= most and not (state.adjudicated and not game.is_over(state))
        assert bool(state.adjudicated) == (state.turn == most and not ends_by_itself(game, state))
        num_adjudicated += int(state.adjudicated)
    assert num_adjudicated == 10 if most <= 3 else num_adjudicated > 0


def ends_by_itself(game: Any, state: Any) -> bool:
    """Is the game over for another reason than its turns?"""
    position = game.position(state)
    if game.id == "flowers_v0":
        return bool(position["final"])
    return position["exhaustions"] > 0 or any(len(river) == 6 for river in position["rivers"])


def test_environments_say_that_it_was_adjudicated_and_never_that_it_was_cut_off(game: Any) -> None:
    env = import_module(f"mandala_env.{game.id}").env(**game.options)
    for seed in range(3):
        env.reset(seed=seed)
        play_on(env, seed)
        state = env.unwrapped._single.state
        assert all(env.terminations.values()) and not any(env.truncations.values())
        assert [info.get("adjudicated", False) for info in env.infos.values()] == [state.adjudicated] * game.num_players
        assert tuple(env.rewards.values()) == game.payoffs(state)


def test_evaluation_counts_every_such_game(game: Any) -> None:
    (match,) = evaluate("heuristic", "random", game=game, games=4 * game.num_players)
    assert 0 <= match.score <= 1 and 0 < match.turns <= game.options["max_turns"]
    assert sum(vars(match.in_total).values()) == match.games


def test_training_learns_from_games_that_end_at_their_first_turns(form: Any) -> None:
    game_id, options = form[0], form[1] | {"max_turns": 2}
    model = make_model(load_game(game_id, **options), tiny(2, game=game_id, options=options))
    model.learn(2 * model.decisions.actions.size)
    d = model.decisions
    assert np.isfinite(model.parameters_in_one.detach().numpy()).all()
    returns = estimate_advantages(d, 1.0, 1.0)
    assert d.ended.mean() > 0.1 and np.isfinite(returns).all()
    ends = np.argwhere(d.ended)
    own = [d.payoffs[step, number, d.players[step, number]] for step, number in ends]
    np.testing.assert_allclose(returns[tuple(ends.T)], own, atol=1e-5)


def test_a_run_of_games_of_one_turn_leaves_a_player(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.train.FINAL_GAMES", 20)
    assert (train(tiny(3, options={"max_turns": 1}), tmp_path, quiet=True) / "checkpoint").is_dir()


def test_a_batch_tells_how_many_turns_the_games_took(game: Any) -> None:
    batch = Batch(game, 200, seed=1)
    for _ in range(4 * game.options["max_turns"]):
        batch.step_random()
        assert (batch.turns[batch.ended] <= game.options["max_turns"]).all() and not batch.turns[~batch.ended].any()


def test_a_stalemate_of_mandala_goes_on_until_the_turns_run_out() -> None:
    """One card in each hand and none to draw: all that can be done is to discard it and draw it again.

    One in some millions of random games comes to this: it was found as one of 400 turns, the deck used up 265 times.
    """
    from tests.mandala.positions import make

    game = load_game("mandala_v0")
    start = make(hand="R", rival_hand="O", deck="", exhaustions=1, turn=0)
    state = game.from_position(start, seed=1)
    while not game.is_over(state):
        assert [game.actions.text(action) for action in game.legal_actions(state)] in (
            ["discard red 1"], ["discard orange 1"],
        )  # fmt: skip
        game.apply(state, game.legal_actions(state)[0])
    assert state.turn == 400 and game.position(state)["hands"] == start["hands"]
