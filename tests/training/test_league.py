"""The league: frozen copies, bounded in number, met more often the harder they are."""

from typing import Any

import numpy as np
import pytest
import torch

from mandala_env.opponents.checkpoint import NetworkOpponent
from tests.sampling import decisions, make_network, random_states
from training.config import LeagueConfig
from training.league import League, restore_snapshot


def make_league(game: Any, max_snapshots: int = 3, scripted: tuple[str, ...] = ("random", "heuristic")) -> League:
    """A league with its scripted members."""
    return League(game, LeagueConfig(max_snapshots=max_snapshots, scripted=list(scripted)), seed=1)


def names(league: League) -> list[str]:
    """The members by slot."""
    return [member.name for member in league.members]


def test_snapshots_are_copies_and_do_not_draw_from_the_global_generators(game: Any) -> None:
    network, league = make_network(game, 1, gain=2.0), make_league(game)
    observations, masks = decisions(game, 20, 5)
    before = random_states()
    league.add_snapshot(network, "self-0")
    assert random_states() == before
    opponent = league.members[-1].opponent
    actions = opponent.act(observations, masks)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(-2)
    np.testing.assert_array_equal(opponent.act(observations, masks), actions)
    league.add_snapshot(network, "self-1")
    assert (league.members[-1].opponent.act(observations, masks) != actions).mean() > 0.2
    assert isinstance(opponent, NetworkOpponent) and opponent.temperature == 1  # past selves play as they trained


def test_a_snapshot_can_be_restored_from_its_weights(game: Any) -> None:
    network = make_network(game, 1, gain=2.0)
    weights = {name: value.clone() for name, value in network.state_dict().items()}
    observations, masks = decisions(game, 20, 5)
    expected = restore_snapshot(game, network, weights, 1).act(observations, masks)
    for value in weights.values():
        value.zero_()
    np.testing.assert_array_equal(
        restore_snapshot(game, network, network.state_dict(), 1).act(observations, masks), expected
    )


def test_a_full_league_replaces_the_snapshot_that_is_beaten_most_often(game: Any) -> None:
    league, network = make_league(game), make_network(game)
    for number in range(3):
        league.add_snapshot(network, f"self-{number}")
    assert names(league) == ["random", "heuristic", "self-0", "self-1", "self-2"]
    for slot, share in ((0, 1.0), (2, 0.3), (3, 0.8), (4, 0.6)):
        for _ in range(50):
            league.record(slot, share)
    league.add_snapshot(network, "self-3")
    assert names(league) == ["random", "heuristic", "self-0", "self-3", "self-2"]  # scripted members stay
    assert league.members[3].beaten == 0.5 and league.members[3].games == 0
    for number in range(4, 30):
        league.add_snapshot(network, f"self-{number}")
    assert len(league) == 5


def test_a_retired_member_keeps_its_slot_while_games_against_it_are_running(game: Any) -> None:
    league, network = make_league(game), make_network(game)
    for number in range(3):
        league.add_snapshot(network, f"self-{number}")
    for _ in range(50):
        league.record(3, 1.0)
    retiring = league.members[3].opponent
    league.add_snapshot(network, "self-3", slots_in_play={0, 3})
    assert league.members[3].opponent is retiring and league.members[3].is_retired
    assert league.weights()[3] == 0 and league.weights().sum() == pytest.approx(1)
    assert names(league) == ["random", "heuristic", "self-0", "self-1", "self-2", "self-3"]
    league.add_snapshot(network, "self-4", slots_in_play={2, 5})  # the games in slot 3 have ended
    assert names(league) == ["random", "heuristic", "self-0", "self-4", "self-2", "self-3"]


def test_harder_members_are_met_more_often_and_every_member_is_met(game: Any) -> None:
    league = make_league(game, scripted=("random", "heuristic", "random"))
    np.testing.assert_allclose(league.weights(), 1 / 3)
    for member, beaten in zip(league.members, (1.0, 0.2, 0.6), strict=True):
        member.beaten = beaten
    weights = league.weights()
    assert weights.sum() == pytest.approx(1)
    assert weights[1] > weights[2] > weights[0] > 0
    assert weights[1] / weights[2] == pytest.approx((0.8 / 0.4) ** 2, rel=0.02)


def test_how_often_a_member_is_beaten_follows_the_results(game: Any) -> None:
    league = make_league(game)
    for _ in range(400):
        league.record(0, 1.0)
        league.record(1, 0.5)
    assert league.members[0].beaten == pytest.approx(1, abs=0.01)
    assert league.members[1].beaten == 0.5
    assert [member.games for member in league.members] == [400, 400]
    league.record(0, 0.0)
    assert 0.9 < league.members[0].beaten < 0.99


def test_an_unknown_scripted_member_is_refused(game: Any) -> None:
    with pytest.raises(ValueError, match="unknown opponent 'nobody'"):
        make_league(game, scripted=("nobody",))


def test_a_past_self_keeps_the_row_of_the_payoff_matrix_that_it_had_as_the_learner(game: Any) -> None:
    league, network = make_league(game, max_snapshots=2), make_network(game)
    for _ in range(30):
        league.record(0, 1.0)
    seen = league.members[0].beaten
    league.add_snapshot(network, "self-0")
    for _ in range(30):
        league.record(2, 1.0)
        league.record(1, 0.0)
    table = league.payoff_table()
    assert table["self-0"] == {"random": seen}
    assert set(table["learner"]) == {"random", "heuristic", "self-0"}
    for number in range(1, 9):
        league.add_snapshot(network, f"self-{number}")
    names = {member.name for member in league.members}
    assert set(league.payoffs) <= names and all(set(row) <= names for row in league.payoffs.values())


def test_ratings_follow_the_payoffs(game: Any) -> None:
    league = make_league(game)
    assert league.ratings() == {}
    for _ in range(60):
        league.record(0, 1.0)
        league.record(1, 0.0)
    ratings = league.ratings()
    assert ratings["random"] == 0 and ratings["heuristic"] > ratings["learner"] + 100 > 200
