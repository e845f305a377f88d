"""Ratings are Bradley and Terry's, on the Elo scale, and their intervals mean what they say."""

from itertools import combinations

import numpy as np
import pytest

from mandala_env.arena.ratings import ELO, fit, rate


def played(rng: np.random.Generator, elos: list[float], deals: int, num_players: int = 2) -> tuple[np.ndarray, ...]:
    """Pairs and the scores of their deals, drawn from players of known strengths."""
    pairs = np.array(list(combinations(range(len(elos)), 2)))
    gaps = np.array([elos[one] - elos[two] for one, two in pairs]) / ELO
    shares = 1 / (1 + (num_players - 1) * np.exp(-gaps))
    wins = rng.random((len(pairs), deals, num_players)) < shares[:, None, None]
    return pairs, wins.mean(axis=2)


def test_400_points_are_odds_of_ten() -> None:
    scores = np.full((1, 11000), 10 / 11)
    upper, lower = rate(np.array([[0, 1]]), scores, 2, anchor=1)
    assert lower.elo == 0 and lower.interval == (0, 0)
    assert upper.elo == pytest.approx(400, abs=0.5)


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_an_equal_of_copies_has_their_rating(num_players: int) -> None:
    pairs = np.array([[0, 1], [1, 0]])
    one, two = rate(pairs, np.full((2, 50), 1 / num_players), num_players)
    assert one.elo == pytest.approx(0, abs=1e-6) and two.elo == pytest.approx(0, abs=1e-6)


def test_a_share_against_several_copies_is_compared_as_odds() -> None:
    share = 0.6  # odds of 0.6 : 0.2 against each of two copies
    one, two = rate(np.array([[0, 1]]), np.full((1, 30000), share), 3)
    assert one.elo - two.elo == pytest.approx(400 * np.log10(3), abs=0.2)


def test_no_other_ratings_make_the_results_more_likely() -> None:
    rng = np.random.default_rng(1)
    pairs = np.array(list(combinations(range(5), 2)))
    wins, losses = rng.uniform(0.1, 50, (2, 3, len(pairs)))

    def likelihood(thetas: np.ndarray) -> np.ndarray:
        chance = 1 / (1 + 2 * np.exp(thetas[:, pairs[:, 1]] - thetas[:, pairs[:, 0]]))
        return (wins * np.log(chance) + losses * np.log(1 - chance)).sum(axis=1)

    thetas = fit(pairs, wins, losses, num_players=3)
    best = likelihood(thetas)
    assert (thetas[:, 0] == 0).all()
    for player in range(5):
        for change in (-0.01, 0.01):
            other = thetas.copy()
            other[:, player] += change
            assert (likelihood(other) < best).all()


@pytest.mark.parametrize("deals", [2, 100, 100_000])
def test_a_clean_sweep_has_a_finite_rating_that_grows_with_the_games(deals: int) -> None:
    best, middle, _ = rate(np.array([[0, 1], [0, 2], [1, 2]]), np.ones((3, deals)), 2, anchor=2, samples=200)
    assert 0 < middle.elo < best.elo < 5000
    assert best.interval[0] < best.elo < best.interval[1]
    assert best.interval[1] - best.interval[0] > 100  # how much better it is cannot be known
    odds = 2 * deals + 0.5, 0.5
    (alone, _) = rate(np.array([[0, 1]]), np.ones((1, deals)), 2, anchor=1, samples=10)
    assert alone.elo == pytest.approx(400 * np.log10(odds[0] / odds[1]))


def test_the_anchor_is_zero_and_without_one_the_mean() -> None:
    pairs, scores = played(np.random.default_rng(0), [0, 100, 300], 300)
    free, held = rate(pairs, scores, 2), rate(pairs, scores, 2, anchor=1)
    assert sum(rating.elo for rating in free) == pytest.approx(0, abs=1e-6)
    assert held[1].elo == 0 and held[1].interval == (0, 0)
    for one, other in zip(free, held, strict=True):
        assert one.elo - free[1].elo == pytest.approx(other.elo)


@pytest.mark.parametrize("num_players", [2, 3])
def test_intervals_hold_the_true_ratings_about_19_times_in_20(num_players: int) -> None:
    rng, elos = np.random.default_rng(num_players), [0.0, 120.0, 150.0, 500.0]
    inside = []
    for _ in range(150):
        ratings = rate(*played(rng, elos, 200, num_players), num_players, anchor=0, samples=200)
        inside += [r.interval[0] <= elo <= r.interval[1] for r, elo in zip(ratings[1:], elos[1:], strict=True)]
    assert 0.90 < np.mean(inside) < 0.98


def test_games_of_one_deal_are_not_counted_as_independent() -> None:
    rng = np.random.default_rng(0)
    alike = np.repeat(rng.random((1, 400)) < 0.6, 2, axis=0).astype(float).reshape(1, 2, 400).mean(axis=1)
    apart = (rng.random((1, 2, 400)) < 0.6).mean(axis=1)
    widths = [np.subtract(*rate(np.array([[0, 1]]), scores, 2, anchor=1)[0].interval) for scores in (alike, apart)]
    assert widths[0] / widths[1] == pytest.approx(np.sqrt(2), rel=0.15)


def test_the_order_of_players_and_sides_makes_no_difference() -> None:
    pairs, scores = played(np.random.default_rng(3), [0, 80, 200], 100)
    straight = rate(pairs, scores, 2)
    turned = rate(pairs[:, ::-1], 1 - scores, 2)
    renamed = rate(2 - pairs, scores, 2)
    for one, two, three in zip(straight, turned, renamed[::-1], strict=True):
        assert one.elo == pytest.approx(two.elo) == pytest.approx(three.elo)


def test_players_who_never_met_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="connect all players"):
        rate(np.array([[0, 1], [2, 3]]), np.full((2, 10), 0.5), 2)
