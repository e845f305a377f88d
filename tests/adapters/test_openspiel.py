"""The games in OpenSpiel: its own random simulations, observers, returns, and its searches against our opponents."""

from typing import Any

import numpy as np
import pytest

from mandala_env import load_game, load_opponent
from mandala_env.arena.ladder import play_ladder

pyspiel = pytest.importorskip("pyspiel", reason="needs the extra openspiel")

from mandala_env.adapters.openspiel import CardGameState, OpponentBot, alpha_rank  # noqa: E402

FORMS = ["mandala_v0", "flowers_v0", "flowers_v0(num_players=3)", "flowers_v0(num_players=4)"]
SHORT = ["mandala_v0(max_turns=12,rng_seed=1)", "flowers_v0(num_players=3,max_turns=9,rng_seed=1)"]


@pytest.fixture(params=FORMS)
def game(request: pytest.FixtureRequest) -> Any:
    """Each form of each game, with the same random numbers at each run."""
    name, _, rest = request.param.partition("(")
    return pyspiel.load_game(f"{name}({rest.removesuffix(')') + ',' if rest else ''}rng_seed=3)")


def random_states(game: Any, seed: int = 0) -> list[CardGameState]:
    """All states of a random game, the last one over."""
    rng, state = np.random.default_rng(seed), game.new_initial_state()
    states = [state.clone()]
    while not state.is_terminal():
        state.apply_action(int(rng.choice(state.legal_actions())))
        states.append(state.clone())
    return states


def test_openspiels_random_simulations_find_nothing(game: Any) -> None:
    # serialize=False: OpenSpiel cannot store the random numbers of a game that is written in Python.
    pyspiel.random_sim_test(game, num_sims=2, serialize=False, verbose=False)


def test_the_parameters_are_the_rule_options() -> None:
    game = pyspiel.load_game("mandala_v0(max_turns=12,second_exhaustion=end)")
    assert dict(game.table.game.options) == {"max_turns": 12, "second_exhaustion": "end"}
    assert pyspiel.load_game("flowers_v0(num_players=4)").num_players() == 4
    with pytest.raises(ValueError, match="num_players"):
        pyspiel.load_game("flowers_v0(num_players=5)")


def test_the_tensors_are_what_a_seat_knows(game: Any) -> None:
    rules = game.table.game
    observer = game.make_py_observer()
    for state in random_states(game)[1::7]:
        for player in range(game.num_players()):
            expected = rules.layout.unit(rules.observe(state.state, player))
            for tensor in (state.observation_tensor(player), state.information_state_tensor(player)):
                np.testing.assert_array_equal(np.asarray(tensor, np.float32), expected)
            observer.set_from(state, player)
            np.testing.assert_array_equal(observer.tensor, expected)
            for block in rules.layout:
                np.testing.assert_array_equal(observer.dict[block.name].ravel(), expected[block.start : block.stop])
            numbers = " ".join(map(str, rules.observe(state.state, player)))
            assert state.information_state_string(player) == f"player {player}: {numbers}"
    assert game.observation_tensor_shape() == [rules.layout.size] == game.information_state_tensor_shape()
    with pytest.raises(ValueError, match="one observation"):
        game.make_py_observer(
            pyspiel.IIGObservationType(perfect_recall=False, private_info=pyspiel.PrivateInfoType.NONE)
        )


def test_actions_and_returns_are_the_games(game: Any) -> None:
    rules, results = game.table.game, set()
    for seed in range(10):
        *states, last = random_states(game, seed)
        for state in states:
            if state.is_chance_node():
                assert state.chance_outcomes() == [(0, 1.0)]
            else:
                assert state.legal_actions() == rules.legal_actions(state.state)
                assert state.current_player() == rules.player(state.state)
                texts = [state.action_to_string(action) for action in state.legal_actions()]
                assert texts == [rules.actions.text(action) for action in state.legal_actions()]
            assert state.returns() == [0.0] * rules.num_players and not state.is_terminal()
        np.testing.assert_allclose(last.returns(), rules.payoffs(last.state), atol=1e-6)
        assert last.is_terminal() and sum(last.returns()) == pytest.approx(0, abs=1e-12)
        results.add(tuple(last.returns()))
    assert len(results) > 1


def test_what_is_drawn_is_decided_at_a_chance_node(game: Any) -> None:
    num_chance = num_sure = 0
    for state in random_states(game)[1:-1]:
        if state.is_chance_node():
            outcomes = set()
            for _ in range(6):
                clone = state.clone()
                clone.apply_action(0)
                outcomes.add(str(clone))
            num_chance += len(outcomes) > 1
        else:
            action = state.legal_actions()[0]
            assert str(state.child(action)) == str(state.child(action))
            num_sure += not state.child(action).is_chance_node()
    assert num_chance > 5 and num_sure > 0


def test_a_seed_gives_the_same_games_and_none_gives_others() -> None:
    for seed, is_same in ((5, True), (-1, False)):
        games = [pyspiel.load_game(f"mandala_v0(rng_seed={seed})") for _ in range(2)]
        runs = [[str(random_states(game, 0)[-1]) for _ in range(2)] for game in games]
        assert (runs[0] == runs[1]) == is_same
        assert runs[0][0] != runs[0][1]


def test_a_state_can_be_stored(game: Any) -> None:
    for state in random_states(game)[::9]:
        other = game.deserialize_state(state.serialize())
        assert str(other) == str(state) and other.history() == state.history()


def test_resampling_deals_anew_what_a_player_does_not_know(game: Any) -> None:
    num_changed = 0
    rng = np.random.default_rng(0)
    for state in random_states(game)[1:-1:5]:
        if state.is_chance_node():
            continue
        for player in range(game.num_players()):
            other = state.resample_from_infostate(player, rng.random)
            assert other.information_state_string(player) == state.information_state_string(player)
            assert other.current_player() == state.current_player() and other.history() == state.history()
            if player == state.current_player():
                assert other.legal_actions() == state.legal_actions()
            rival = (player + 1) % game.num_players()
            num_changed += other.information_state_string(rival) != state.information_state_string(rival)
            while not other.is_terminal():
                other.apply_action(int(rng.choice(other.legal_actions())))
            assert sum(other.returns()) == pytest.approx(0, abs=1e-12)
    assert num_changed > 0


def test_a_resampled_game_gives_each_player_its_own_result() -> None:
    game = pyspiel.load_game("flowers_v0(num_players=3,rng_seed=2)")
    heuristic, random = (OpponentBot(load_opponent(spec, game.table.game)) for spec in ("heuristic", "random"))
    totals = np.zeros(3)
    for number in range(12):
        state = game.new_initial_state()
        state.apply_action(0)
        state = state.resample_from_infostate(1, np.random.default_rng(number).random)
        totals += pyspiel.evaluate_bots(state, [random, random, heuristic], number)
    assert totals[2] > 4 > totals[:2].max()


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("search", ["ismcts", "mcts"])
def test_openspiels_searches_play_whole_games_against_our_opponents(name: str, search: str) -> None:
    from open_spiel.python.algorithms.ismcts import ISMCTSBot
    from open_spiel.python.algorithms.mcts import RandomRolloutEvaluator

    game = pyspiel.load_game(name)
    if search == "ismcts":
        bot = ISMCTSBot(
            game=game,
            uct_c=1.5,
            max_simulations=3,
            random_state=np.random.RandomState(1),
            evaluator=RandomRolloutEvaluator(1, np.random.RandomState(1)),
        )
    else:
        bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, 1), 1.5, 3, 10, False, 1, False)
    others = [OpponentBot(load_opponent(spec, game.table.game)) for spec in ("heuristic", "random")]
    bots = [bot, *others][: game.num_players()]
    returns = pyspiel.evaluate_bots(game.new_initial_state(), bots, 1)
    assert len(returns) == game.num_players() and sum(returns) == pytest.approx(0, abs=1e-12)


CYCLE = [[None, 0.6, 0.4], [0.4, None, 0.6], [0.6, 0.4, None]]


def test_alpha_rank_gives_all_to_who_beats_everybody_and_shares_a_cycle_alike() -> None:
    np.testing.assert_allclose(alpha_rank(CYCLE), [1 / 3] * 3, atol=1e-6)
    beaten = [[*row, 0.9] for row in CYCLE] + [[0.1, 0.1, 0.1, None]]
    np.testing.assert_allclose(alpha_rank(beaten), [1 / 3] * 3 + [0], atol=1e-6)
    best = [[*row, 0.3] for row in CYCLE] + [[0.7, 0.7, 0.7, None]]
    np.testing.assert_allclose(alpha_rank(best), [0, 0, 0, 1], atol=1e-6)
    # With three players a score of 0.4 is more than a share: who has it takes over, unlike with two.
    np.testing.assert_allclose(alpha_rank([[None, 0.4], [0.3, None]], num_players=3), [1, 0], atol=1e-6)


def test_alpha_rank_takes_a_ladder_in_the_order_of_its_players() -> None:
    ladder = play_ladder(load_game("mandala_v0"), ["random", "heuristic", "again=random"], 40)
    masses = alpha_rank(ladder.scores)
    assert ladder.entrants[0].name == "heuristic" and masses[0] == pytest.approx(1)
    assert alpha_rank(ladder.scores, alpha=0.01).min() > 0.1  # selection so weak that anybody may take over


@pytest.mark.parametrize("scores", [[[None, 0.5]], [[None]], [[None, None], [0.5, None]], [[None, 1.5], [0.5, None]]])
def test_alpha_rank_refuses_what_is_no_matrix_of_scores(scores: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        alpha_rank(scores)
