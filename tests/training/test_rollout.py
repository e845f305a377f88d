"""What is collected is what happened in the games, and every seat gets its own result."""

from typing import Any

import numpy as np
import pytest
import torch

from mandala_env.core.actions import num_words
from mandala_env.core.batch import Batch
from mandala_env.opponents.base import load_opponent
from mandala_env.policies.network import PolicyValueNetwork
from tests.sampling import make_network
from training.config import LeagueConfig
from training.league import League
from training.rollout import NOBODY, Decisions, Shard, estimate_advantages, make_shards

SEED = 5


@pytest.fixture(scope="module")
def network(game: Any) -> PolicyValueNetwork:
    """A learner with opinions."""
    return make_network(game, 2, gain=1.5)


def collect(game: Any, network: PolicyValueNetwork, league: League, shards: list[Shard], num_steps: int) -> Decisions:
    """Let shards play, one after the other."""
    num_games = sum(len(shard.batch) for shard in shards)
    decisions = Decisions(game, num_steps, num_games, num_words(len(game.actions)))
    start = 0
    with torch.no_grad():
        matrices = network.matrices()
    for shard in shards:
        shard.collect(network, matrices, league, decisions.columns(start, start + len(shard.batch)))
        start += len(shard.batch)
    return decisions


def scripted_league(game: Any, *specs: str, share: float = 0.0) -> League:
    """A league of opponents by their specs."""
    return League(game, LeagueConfig(share=share, max_snapshots=1, scripted=list(specs)), SEED)


@pytest.fixture(scope="module")
def against_heuristic(game: Any, network: PolicyValueNetwork) -> Decisions:
    """Every game has one seat of the heuristic."""
    torch.set_num_threads(1)
    shards = make_shards(game, 20, 1, SEED, LeagueConfig(share=1.0))
    return collect(game, network, scripted_league(game, "heuristic", share=1.0), shards, 150)


@pytest.fixture(scope="module")
def self_play(game: Any, network: PolicyValueNetwork) -> Decisions:
    """Games against oneself."""
    torch.set_num_threads(1)
    return collect(game, network, scripted_league(game), make_shards(game, 12, 1, SEED, LeagueConfig(share=0.0)), 200)


def games_of(d: Decisions) -> list[tuple[int, int, int]]:
    """The complete games: (column, first step, last step)."""
    found = []
    for game in range(d.ended.shape[1]):
        start = 0
        for end in np.flatnonzero(d.ended[:, game]):
            found.append((game, start, int(end)))
            start = end + 1
    return found


def legal(d: Decisions, game: Any) -> np.ndarray:
    """The legal actions of every decision, (T, N, A)."""
    bits = (d.words[..., None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    return bits.reshape(*d.words.shape[:2], -1)[:, :, : len(game.actions)].astype(bool)


@pytest.mark.parametrize("name", ["self_play", "against_heuristic"])
def test_the_decisions_replay_to_the_same_games(game: Any, name: str, request: pytest.FixtureRequest) -> None:
    d = request.getfixturevalue(name)
    batch = Batch(game, d.actions.shape[1], SEED)
    for t in range(len(d.actions)):
        np.testing.assert_array_equal(d.observations[t], batch.observations)
        np.testing.assert_array_equal(d.players[t], batch.players)
        np.testing.assert_array_equal(d.words[t], batch.legal_sets)
        payoffs, ended = batch.step(d.actions[t])
        np.testing.assert_array_equal(d.payoffs[t], payoffs)
        np.testing.assert_array_equal(d.ended[t], ended)
    assert d.ended.sum() > 15


def test_what_is_recorded_of_the_policy_is_what_the_network_says(
    game: Any, network: PolicyValueNetwork, self_play: Decisions
) -> None:
    d = self_play
    with torch.no_grad():
        logits, values = network(torch.from_numpy(d.observations.reshape(-1, d.observations.shape[-1])))
    masks = legal(d, game).reshape(logits.shape)
    log_probs = logits.masked_fill(~torch.from_numpy(masks), -torch.inf).log_softmax(1).numpy()
    taken = log_probs[np.arange(len(logits)), d.actions.ravel()]
    np.testing.assert_allclose(d.values.ravel(), values.numpy(), atol=1e-4)
    np.testing.assert_allclose(d.log_probs.ravel(), taken, atol=1e-4)
    assert d.is_learners.all()
    # And the actions are drawn with those probabilities: on average they are as surprising as the entropy says.
    entropy = -np.where(masks, np.exp(log_probs) * np.where(masks, log_probs, 0), 0).sum(1)
    assert abs((-taken - entropy).mean()) < 4 * (taken + entropy).std() / np.sqrt(len(taken))


def test_with_nothing_discounted_every_decision_returns_the_payoff_of_its_own_seat(
    game: Any, self_play: Decisions, against_heuristic: Decisions
) -> None:
    for d in (self_play, against_heuristic):
        returns = estimate_advantages(d, gamma=1.0, gae_lambda=1.0)
        winners = set()
        for column, start, end in games_of(d):
            for t in range(start, end + 1):
                assert returns[t, column] == pytest.approx(d.payoffs[end, column, d.players[t, column]], abs=1e-4)
            seats = d.players[start : end + 1, column]
            assert set(seats.tolist()) == set(range(game.num_players))
            for seat in range(game.num_players):  # also the seat that did not end the game
                last = start + int(np.flatnonzero(seats == seat)[-1])
                assert returns[last, column] == pytest.approx(d.payoffs[end, column, seat], abs=1e-4)
            winners.add((int(d.payoffs[end, column].argmax()), int(d.players[end, column])))
        assert len(winners) == 4  # either seat wins, by its own decision and by the rival's


def test_games_that_go_on_are_valued_by_the_network(game: Any, network: PolicyValueNetwork) -> None:
    shards = make_shards(game, 10, 1, SEED, LeagueConfig(share=0.0))
    d = collect(game, network, scripted_league(game), shards, 3)
    assert not d.ended.any()
    batch = shards[0].batch
    with torch.no_grad():
        own = network(torch.from_numpy(batch.observations.copy()))[1].numpy()
    for i, player in enumerate(batch.players):
        assert d.last_values[i, player] == pytest.approx(own[i], abs=1e-5)
        assert d.last_values[i, 1 - player] == pytest.approx(-own[i], abs=1e-5)


# --- league games ------------------------------------------------------------------------------------------------


def test_a_league_game_has_one_member_on_one_seat_who_plays_as_it_would(
    game: Any, against_heuristic: Decisions
) -> None:
    d = against_heuristic
    heuristic = load_opponent("heuristic", game, SEED)
    asked = ~d.is_learners
    np.testing.assert_array_equal(heuristic.act(d.observations[asked], legal(d, game)[asked]), d.actions[asked])
    member_seats = set()
    for column, start, end in games_of(d):
        part = slice(start, end + 1)
        seats = set(d.players[part, column][~d.is_learners[part, column]].tolist())
        learners = set(d.players[part, column][d.is_learners[part, column]].tolist())
        assert len(seats) == 1 and len(learners) == 1 and seats != learners
        member_seats |= seats
    assert member_seats == {0, 1}


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_the_share_of_league_games_is_what_was_asked_for(game: Any, network: PolicyValueNetwork, share: float) -> None:
    d = collect(
        game,
        network,
        scripted_league(game, "random", share=share),
        make_shards(game, 16, 2, SEED, LeagueConfig(share=share)),
        40,
    )
    has_member = (~d.is_learners).any(axis=0)
    assert has_member.sum() == round(share * 16)


def test_a_slot_changes_only_when_its_game_ends_and_results_go_to_its_member(
    game: Any, network: PolicyValueNetwork
) -> None:
    league = scripted_league(game, "random", "heuristic", "random")
    (shard,) = make_shards(game, 30, 1, SEED, LeagueConfig(share=1.0))
    collect(game, network, league, [shard], 1)
    met: list[set[tuple[int, int]]] = [set() for _ in range(30)]
    results = 0
    for _ in range(250):
        slots, seats = shard.slots.copy(), shard.seats.copy()
        d = collect(game, network, league, [shard], 1)
        ended = np.flatnonzero(d.ended[0])
        assert shard.results == [(slots[i], (1 - d.payoffs[0, i, seats[i]]) / 2) for i in ended if slots[i] != NOBODY]
        results += len(shard.results)
        assert (shard.slots[ended] == NOBODY).all() and (np.delete(shard.slots, ended) != NOBODY).all()
        for i in set(np.flatnonzero(slots != NOBODY)) - set(ended):
            assert (shard.slots[i], shard.seats[i]) == (slots[i], seats[i])
        for i in range(30):
            met[i].add((int(shard.slots[i]), int(shard.seats[i])))
    assert results > 60
    assert sum(map(len, met)) > 3 * 30  # games do get other members and seats in time


def test_a_member_that_makes_room_finishes_its_games_and_begins_no_other(
    game: Any, network: PolicyValueNetwork
) -> None:
    league = League(game, LeagueConfig(share=1.0, max_snapshots=1), SEED)
    league.add_snapshot(network, "old")
    (shard,) = make_shards(game, 12, 1, SEED, LeagueConfig(share=1.0))
    collect(game, network, league, [shard], 4)
    league.add_snapshot(make_network(game, 9, gain=3.0), "new", set(shard.slots.tolist()))
    old, new = (member.opponent for member in league.members)
    d = collect(game, network, league, [shard], 150)
    is_first_game = np.cumsum(d.ended, axis=0) - d.ended == 0
    for opponent, games in ((old, is_first_game), (new, ~is_first_game)):
        asked = games & ~d.is_learners
        assert asked.sum() > 50
        np.testing.assert_array_equal(opponent.act(d.observations[asked], legal(d, game)[asked]), d.actions[asked])
    assert [member.is_retired for member in league.members] == [True, False]


def test_games_do_not_depend_on_how_they_are_cut_into_shards(game: Any, network: PolicyValueNetwork) -> None:
    whole = collect(game, network, scripted_league(game), make_shards(game, 7, 1, SEED, LeagueConfig(share=0.0)), 1)
    cut = collect(game, network, scripted_league(game), make_shards(game, 7, 3, SEED, LeagueConfig(share=0.0)), 1)
    np.testing.assert_array_equal(whole.observations, cut.observations)
