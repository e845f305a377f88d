"""Matches are fair and complete: paired deals, both seats, every game, and an interval that means what it says."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mandala_env import evaluate, load_game, load_opponent
from mandala_env.arena.match import Tally, interval, play_to_the_end, shorten, table, tally, win_shares
from mandala_env.core.batch import Batch
from mandala_env.core.rng import spread_seeds
from mandala_env.opponents.base import Opponent
from mandala_env.opponents.heuristic import HeuristicOpponent
from mandala_env.policies.checkpoint import save_checkpoint
from tests.sampling import make_network

SPECS = ["random", "heuristic", "checkpoint:PATH", "checkpoint:PATH,temperature=1"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory, game: Any) -> Path:
    """A checkpoint with random weights."""
    folder = tmp_path_factory.mktemp("players") / "player"
    save_checkpoint(folder, game, make_network(game, 1), training={}, metrics={}, card="")
    return folder


def slow_match(game: Any, hero: Opponent, rival: Opponent, deals: int, seed: int) -> dict[str, Any]:
    """The same match, one game after the other, by the game's own functions."""
    results: list[tuple[int, float, int, int]] = []
    for generator in spread_seeds(seed, deals):
        for seat in range(game.num_players):
            state = game.copy(Batch(game, 1, seeds=np.array([generator])).states[0])
            while not game.is_over(state):
                player = game.player(state)
                side = hero if player == seat else rival
                obs, mask = game.observe(state, player), game.action_mask(state)
                game.apply(state, int(side.act(obs[None], mask[None])[0]))
            points = game.scores(state)
            results.append((seat, game.payoffs(state)[seat], points[seat], int(state.turn)))
    seats, payoffs, points_, turns = map(np.array, zip(*results, strict=True))
    by_seat = [
        Tally(*(int((np.sign(payoffs[seats == seat]) == sign).sum()) for sign in (1, 0, -1)))
        for seat in range(game.num_players)
    ]
    return {
        "by_seat": tuple(by_seat),
        "points": points_.mean(),
        "turns": turns.mean(),
        "score": (payoffs + 1).mean() / 2,
    }


@pytest.mark.parametrize(("player", "rival"), [("random", "heuristic"), ("heuristic", "random"), ("random", "random")])
def test_a_match_is_all_its_games_one_by_one(game: Any, player: str, rival: str) -> None:
    hero, villain = load_opponent(player, game, 7), load_opponent(rival, game, 8)
    (match,) = evaluate(hero, villain, game=game, games=16, seed=7)
    expected = slow_match(game, hero, villain, 8, 7)
    assert match.by_seat == expected["by_seat"]
    for name in ("points", "turns", "score"):
        assert getattr(match, name) == pytest.approx(expected[name]), name


class Staller(HeuristicOpponent):
    """Discards as long as it can when it has a red card in its starting cup, so that some games go on for very long."""

    def choose(self, observations: np.ndarray, action_masks: np.ndarray, pickers: np.ndarray) -> np.ndarray:
        """See `Opponent`."""
        stalls = self.game.layout.get(observations, "my_starting_cup")[:, 0] > 0
        is_discard = np.array([text.startswith("discard") for text in self.game.actions.texts])
        may = action_masks & is_discard
        actions = super().choose(observations, action_masks, pickers)
        return np.where(stalls & may.any(axis=1), may.argmax(axis=1), actions)


def test_every_game_counts_once_however_long_the_others_take() -> None:
    game = load_game("mandala_v0", max_turns=300)
    hero, rival = Staller(game, 1), Staller(game, 2)
    seats, seeds = np.tile([0, 1], 20), np.repeat(spread_seeds(4, 20), 2)
    payoffs, points, turns = play_to_the_end(game, hero, rival, seats, seeds)
    assert (turns == 300).any() and (turns < 60).sum() > 10
    for i in range(40):
        alone = play_to_the_end(game, hero, rival, seats[i : i + 1], seeds[i : i + 1])
        for part, whole in zip(alone, (payoffs, points, turns), strict=True):
            np.testing.assert_array_equal(part[0], whole[i])


@pytest.mark.parametrize("spec", SPECS)
def test_a_player_against_itself_scores_exactly_one_half(game: Any, checkpoint: Path, spec: str) -> None:
    spec = spec.replace("PATH", str(checkpoint))
    (match,) = evaluate(spec, spec, game=game, games=120, seed=3)
    assert match.score == 1 / 2
    assert match.interval[0] <= 1 / 2 <= match.interval[1]
    assert match.in_total.wins == match.in_total.losses
    assert match.points == pytest.approx(match.rival_points)


@pytest.mark.parametrize("spec", ["random", "heuristic"])
def test_two_players_that_are_alike_score_exactly_one_half(game: Any, spec: str) -> None:
    one, other = load_opponent(spec, game, 5), load_opponent(spec, game, 5)
    assert one is not other
    assert evaluate(one, other, game=game, games=100, seed=2)[0].score == 1 / 2


def test_two_players_of_chance_with_different_seeds_do_not_mirror_each_other(game: Any) -> None:
    one, other = load_opponent("random", game, 5), load_opponent("random", game, 6)
    match = evaluate(one, other, game=game, games=400, seed=2)[0]
    assert match.interval[0] < match.interval[1]
    assert 0.35 < match.score < 0.65


@pytest.mark.parametrize("pair", [("random", "heuristic"), ("heuristic", SPECS[2]), ("random", SPECS[3])], ids=str)
def test_the_rivals_match_is_the_mirror_image(game: Any, checkpoint: Path, pair: tuple[str, str]) -> None:
    one, other = (spec.replace("PATH", str(checkpoint)) for spec in pair)
    match = evaluate(one, other, game=game, games=60, seed=4)[0]
    mirror = evaluate(other, one, game=game, games=60, seed=4)[0]
    assert mirror.by_seat == tuple(Tally(t.losses, t.draws, t.wins) for t in reversed(match.by_seat))
    assert mirror.score == pytest.approx(1 - match.score)
    assert (mirror.points, mirror.rival_points) == pytest.approx((match.rival_points, match.points))
    assert mirror.turns == match.turns


def test_both_seats_are_played_equally_often_and_add_up(game: Any) -> None:
    match = evaluate("heuristic", "random", game=game, games=50, seed=1)[0]
    in_seat = [t.wins + t.draws + t.losses for t in match.by_seat]
    assert in_seat == [50 // game.num_players] * game.num_players
    for name in ("wins", "draws", "losses"):
        assert getattr(match.in_total, name) == sum(getattr(t, name) for t in match.by_seat)
    assert match.score == pytest.approx((match.in_total.wins + match.in_total.draws / 2) / 50)
    assert match.games == 50 and match.seed == 1 and match.game == game.id


def test_a_game_does_not_depend_on_the_games_beside_it(game: Any) -> None:
    hero, rival = load_opponent("random", game, 1), load_opponent("heuristic", game, 2)
    seats, seeds = np.tile([0, 1], 20), np.repeat(spread_seeds(9, 20), 2)
    together = play_to_the_end(game, hero, rival, seats, seeds)
    order = np.random.default_rng(0).permutation(40)
    for rows in np.array_split(order, 7):
        for part, whole in zip(play_to_the_end(game, hero, rival, seats[rows], seeds[rows]), together, strict=True):
            np.testing.assert_array_equal(part, whole[rows])
    assert len(set(together[2].tolist())) > 5  # short games and long ones


def test_the_same_seed_gives_the_same_match_and_another_seed_other_deals(game: Any) -> None:
    results = [evaluate("random", "heuristic", game=game, games=40, seed=seed)[0] for seed in (1, 1, 2)]
    assert results[0] == results[1]
    assert results[0].turns != results[2].turns


def test_there_is_one_match_for_each_rival(game: Any) -> None:
    matches = evaluate("heuristic", ["random", "heuristic"], game=game, games=20)
    assert [(m.player, m.against) for m in matches] == [("heuristic", "random"), ("heuristic", "heuristic")]
    assert len(evaluate("random", "heuristic", game=game, games=4)) == 1
    rival = load_opponent("random", game, 3)
    assert evaluate("random", [rival], game=game, games=4)[0].against == "RandomOpponent"


@pytest.mark.parametrize("games", [0, 2, 3, 7, -4, 10.0, "10"])
def test_a_number_of_games_that_cannot_be_paired_is_refused(game: Any, games: Any) -> None:
    with pytest.raises(ValueError, match=r"games must be a multiple of the \d players"):
        evaluate("random", "random", game=game, games=games)


def test_wrong_players_games_and_seeds_are_refused(game: Any) -> None:
    with pytest.raises(ValueError, match="unknown opponent 'nobody'"):
        evaluate("nobody", game=game, games=4)
    with pytest.raises(ValueError, match="unknown opponent 'nobody'"):
        evaluate("random", ["random", "nobody"], game=game, games=4)
    with pytest.raises(ValueError, match="unknown game 'chess'"):
        evaluate("random", game="chess", games=4)
    with pytest.raises(ValueError, match="seed must be"):
        evaluate("random", game=game, games=4, seed=-1)


def test_a_match_is_plain_data_and_a_row_of_a_table(game: Any) -> None:
    (match,) = evaluate("heuristic", "random", game=game, games=20)
    data = json.loads(json.dumps(match.to_dict()))
    assert data["score"] == match.score and data["in_total"]["wins"] == match.in_total.wins
    assert data["interval"] == list(match.interval) and len(data["by_seat"]) == game.num_players
    text = table([match, replace(match, player="x" * 50)]).splitlines()
    assert len(text) == 3
    assert text[0].split()[:3] == ["player", "against", "games"]
    assert f"{match.score:.1%}" in text[1] and "heuristic" in text[1]
    first = match.by_seat[0]
    assert f"{first.wins}-{first.draws}-{first.losses}" in text[1]
    assert len({line.index("random") for line in text[1:]}) == 1  # a long name does not move the columns


def test_a_long_name_keeps_its_end() -> None:
    assert shorten("short") == "short"
    assert (
        shorten("a/very/long/path/to/a/checkpoint")
        == ".../long/path/to/a/checkpoint"[:3] + ("a/very/long/path/to/a/checkpoint"[-25:])
    )
    assert len(shorten("x" * 99)) == 28


def test_shares_of_the_win() -> None:
    payoffs = np.array([[1, -1], [-1, 1], [0, 0]], np.float32)
    np.testing.assert_array_equal(win_shares(payoffs), [[1, 0], [0, 1], [0.5, 0.5]])
    assert tally(payoffs, 0) == Tally(1, 1, 1)
    three = np.array([[1, -0.5, -0.5], [0.5, 0.5, -1], [0, 0, 0]], np.float32)
    np.testing.assert_allclose(win_shares(three), [[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3])
    assert tally(three, 0) == Tally(1, 2, 0)
    assert tally(three, 2) == Tally(0, 1, 2)


# --- the interval ----------------------------------------------------------------------------------------------------


def simulated_shares(rng: np.random.Generator, num_deals: int, score: float, kind: str) -> np.ndarray:
    """Results with this expected score: games of a deal independent, or half the deals decided by the cards."""
    independent = (rng.random((num_deals, 2)) < score).astype(float)
    luck = rng.random((num_deals, 1))
    same, opposite = np.repeat(luck, 2, axis=1), np.concatenate([luck, 1 - luck], axis=1)
    tied = {"independent": independent, "alike": same < score, "opposite": opposite < score}[kind]
    return np.where(rng.random((num_deals, 1)) < 0.5, independent, tied)


@pytest.mark.parametrize("kind", ["independent", "alike", "opposite"])
@pytest.mark.parametrize(
    ("num_deals", "lowest"), [(10, 0.88), (50, 0.88), (200, 0.93), (1000, 0.93)], ids=["10", "50", "200", "1000"]
)
def test_the_interval_covers_the_truth_in_about_95_percent(kind: str, num_deals: int, lowest: float) -> None:
    rng = np.random.default_rng(num_deals)
    for score in (0.5, 0.8, 0.97, 0.995):
        covered = []
        for _ in range(800):
            low, high = interval(simulated_shares(rng, num_deals, score, kind))
            covered.append(low <= score <= high)
        assert np.mean(covered) >= lowest, score
        if 0.4 < score < 0.9 and num_deals >= 50:  # and it is no wider than that takes
            assert np.mean(covered) <= 0.975, score


@given(
    shares=st.lists(st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 2), min_size=2, max_size=60),
)
@settings(max_examples=300, deadline=None)
def test_the_interval_holds_the_mean_and_stays_within_0_and_1(shares: list[tuple[float, float]]) -> None:
    array = np.array(shares)
    low, high = interval(array)
    assert 0 <= low <= array.mean() + 1e-12 and array.mean() - 1e-12 <= high <= 1
    low_of_rival, high_of_rival = interval(1 - array)
    assert (low_of_rival, high_of_rival) == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_a_clean_sweep_has_an_interval_that_shrinks_with_the_games(score: float) -> None:
    widths = []
    for num_deals in (2, 20, 1000):
        low, high = interval(np.full((num_deals, 2), score))
        assert low <= score <= high
        widths.append(high - low)
    assert widths[0] > 0.3 and widths[0] > widths[1] > widths[2] > 0.001


def test_a_few_deals_that_are_shared_alike_do_not_make_a_score_certain() -> None:
    low, high = interval(np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert low < 0.2 and high > 0.8


def test_more_deals_make_a_narrower_interval() -> None:
    rng = np.random.default_rng(0)
    widths = [np.subtract(*interval(simulated_shares(rng, n, 0.7, "independent"))[::-1]) for n in (20, 200, 2000)]
    assert widths[0] > 2 * widths[1] > 4 * widths[2]
