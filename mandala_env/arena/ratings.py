"""Bradley-Terry ratings from matches, with intervals over deals.

A player's strength is exp(theta), and it gets its part of the strengths at the table: X against P - 1 copies of Y wins
exp(x) / (exp(x) + (P - 1) exp(y)), so a share s is compared as odds s : (1 - s) / (P - 1). With two players that is
Bradley and Terry (1952). Ratings are thetas on the Elo scale, 400 / ln 10: 100 more are odds of 1.78, 400 more of 10.

The prior: every match counts one game more, of which the player got the share of an equal, 1 / P. It keeps a score of
100% finite and is little beside the games that were played.
"""

from dataclasses import dataclass

import numpy as np

ELO = 400 / np.log(10)
LONGEST_STEP = 0.5  # of Newton, in thetas: up to there every step on a sum of log-logistics is uphill
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Rating:
    """A player's rating with its 95% interval, in Elo."""

    elo: float
    interval: tuple[float, float]


def rate(
    pairs: np.ndarray, deal_scores: np.ndarray, num_players: int, anchor: int | None = None, samples: int = 1000
) -> list[Rating]:
    """Ratings of all players of a ladder from its matches.

    pairs        (M, 2) the player and its rival of each match; the matches connect all players
    deal_scores  (M, D) the player's mean share of the win in the games of each deal; deal d is the same in all matches
    num_players  P of the game; each deal was played P times
    anchor       the player whose rating is 0; None puts the mean at 0
    samples      how many times the intervals draw the deals again

    The intervals come from a Bayesian bootstrap (Rubin 1981): whole deals get random weights, the same in all matches,
    and the two sides of the prior's game, too; so a score of 100% leaves the distance open that it cannot tell.
    """
    games = num_players * deal_scores.shape[1]
    rng = np.random.default_rng(0)
    weights = rng.exponential(size=(samples, deal_scores.shape[1]))
    weights *= games / weights.sum(axis=1, keepdims=True)
    prior = rng.gamma([1 / num_players, 1 - 1 / num_players], size=(samples, len(pairs), 2))
    wins = np.concatenate([games * deal_scores.mean(axis=1)[None] + 1 / num_players, weights @ deal_scores.T])
    losses = np.concatenate(
        [games * (1 - deal_scores).mean(axis=1)[None] + 1 - 1 / num_players, weights @ (1 - deal_scores).T]
    )
    prior = np.maximum(prior, 1e-9)  # it may be nothing, and then there were no highest likelihood
    wins[1:] += prior[..., 0]
    losses[1:] += prior[..., 1]
    thetas = fit(pairs, wins, losses, num_players)
    elos = ELO * (thetas - (thetas.mean(axis=1) if anchor is None else thetas[:, anchor])[:, None])
    low, high = np.quantile(elos[1:], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    low, high = np.minimum(low, elos[0]), np.maximum(high, elos[0])
    return [
        Rating(float(elo), (float(lowest), float(highest)))
        for elo, lowest, highest in zip(elos[0], low, high, strict=True)
    ]


def fit(pairs: np.ndarray, wins: np.ndarray, losses: np.ndarray, num_players: int) -> np.ndarray:
    """The thetas (S, K) of highest likelihood for S tables of wins and losses (S, M) above 0; player 0 has theta 0."""
    count = int(pairs.max()) + 1
    design = np.zeros((len(pairs), count))  # a row has +1 for the player and -1 for its rival
    design[np.arange(len(pairs)), pairs[:, 0]] += 1
    design[np.arange(len(pairs)), pairs[:, 1]] -= 1
    design = design[:, 1:]
    if np.linalg.matrix_rank(design) < count - 1:
        raise ValueError("expected matches that connect all players: some have met nobody of the others")
    thetas = np.zeros((len(wins), count - 1))
    for _ in range(1000):
        odds = np.exp(thetas @ design.T)
        share, rest = odds / (odds + num_players - 1), (num_players - 1) / (odds + num_players - 1)
        slope = (wins * rest - losses * share) @ design
        curvature = np.einsum("sm,mi,mj->sij", (wins + losses) * share * rest, design, design)
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        length = np.abs(step).max(axis=1, initial=0, keepdims=True)
        thetas += step * (LONGEST_STEP / np.maximum(length, LONGEST_STEP))
        if length.max() < 1e-6:
            return np.concatenate([np.zeros((len(wins), 1)), thetas], axis=1)
    raise ArithmeticError("the ratings have not converged")
