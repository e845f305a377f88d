"""Collecting decisions: a shard of the games is played by one worker, all its steps on end."""

from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from mandala_env.arena.match import win_shares
from mandala_env.core.batch import PICKER, Batch
from mandala_env.core.game import Game
from mandala_env.core.rng import spread_seeds
from mandala_env.policies.choosing import choose_legal
from mandala_env.policies.network import Matrices, PolicyValueNetwork
from mandala_env.policies.passes import evaluate
from training.config import LeagueConfig
from training.league import League
from training.loss import advantages_of_seats

NOBODY = -1  # the slot of a game that is played against oneself
SEATING = "slots", "seats", "num_seats"


class Decisions:
    """T steps of N games: every decision of every seat, in the order in which it was taken. All arrays are (T, N, ...).

    is_learners says which decisions the learner took; the others are a league member's and are no training data.
    """

    def __init__(self, game: Game, num_steps: int, num_games: int, num_words: int) -> None:
        shape = (num_steps, num_games)
        self.observations = np.zeros((*shape, game.layout.size), np.int8)
        self.words = np.zeros((*shape, num_words), np.uint64)
        self.actions = np.zeros(shape, np.int64)
        self.players = np.zeros(shape, np.int8)
        self.log_probs = np.zeros(shape, np.float32)
        self.values = np.zeros(shape, np.float32)
        self.payoffs = np.zeros((*shape, game.num_players), np.float32)
        self.ended = np.zeros(shape, np.bool_)
        self.is_learners = np.zeros(shape, np.bool_)
        self.last_values = np.zeros((num_games, game.num_players), np.float32)
        self.advantages = np.zeros(shape, np.float32)

    def columns(self, start: int, stop: int) -> dict[str, np.ndarray]:
        """Views of the games start..stop-1."""
        return {
            name: value[start:stop] if name == "last_values" else value[:, start:stop]
            for name, value in vars(self).items()
        }

    def cut(self, shards: list["Shard"]) -> list[dict[str, np.ndarray]]:
        """Views of each shard's games."""
        cuts = accumulate((len(shard.batch) for shard in shards), initial=0)
        return [self.columns(start, stop) for start, stop in pairwise(cuts)]


class Shard:
    """Some of the games, the league's seats in them, and their random streams.

    slots  the league's slot that plays in each game, or NOBODY; it changes only when a game ends
    seats  the first seat on which it plays
    num_seats  on how many seats it plays, in turn order from the first on; the learner plays the others
    """

    def __init__(self, game: Game, seeds: np.ndarray, league: LeagueConfig) -> None:
        self.game, self.alone = game, league.alone
        self.batch = Batch(game, len(seeds), seeds=seeds, copy=False)
        self.pickers = np.zeros(len(seeds), PICKER).view(np.recarray)
        self.pickers["generator"] = seeds[::-1] ^ np.uint64(0x5851F42D4C957F2D)
        self.rng = np.random.Generator(np.random.PCG64(int(seeds[0])))
        self.slots = np.full(len(seeds), NOBODY, np.int32)
        self.seats = np.zeros(len(seeds), np.int8)
        self.num_seats = np.ones(len(seeds), np.int8)
        self.is_league_game = np.arange(len(seeds)) < round(league.share * len(seeds))
        self.results: list[tuple[int, float]] = []
        self.lengths: list[int] = []

    def saved(self) -> dict[str, Any]:
        """All that its games will depend on: arrays of its own, and the state of `rng`."""
        return {
            "states": np.frombuffer(self.batch.states.tobytes(), np.uint8),
            "pickers": self.pickers["generator"].copy(),
            **{name: getattr(self, name).copy() for name in SEATING},
            "rng": self.rng.bit_generator.state,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Put a shard of as many games where another one was when it was `saved`."""
        self.batch.set_states(np.frombuffer(saved["states"].tobytes(), self.game.dtype))
        self.pickers["generator"] = saved["pickers"]
        for name in SEATING:
            getattr(self, name)[:] = saved[name]
        self.rng.bit_generator.state = saved["rng"]

    def collect(self, network: PolicyValueNetwork, matrices: Matrices, league: League, into: dict[str, Any]) -> None:
        """Play T steps in every game and fill the arrays `into` (see `Decisions.columns`)."""
        self.results, self.lengths = [], []
        for step in range(len(into["actions"])):
            self._seat_members(league, np.flatnonzero(self.is_league_game & (self.slots == NOBODY)))
            batch = self.batch
            into["observations"][step] = batch.observations
            into["words"][step] = batch.legal_sets
            into["players"][step] = batch.players
            logits, into["values"][step] = evaluate(network, matrices, batch.observations)
            actions, log_probs = np.empty(len(batch), np.int64), np.empty(len(batch), np.float32)
            choose_legal(logits, batch.action_masks, self.pickers, False, actions, log_probs)
            into["log_probs"][step] = log_probs
            is_members = (self.slots != NOBODY) & self._is_members_seat(batch.players, slice(None))
            into["is_learners"][step] = ~is_members
            self._let_members_act(league, np.flatnonzero(is_members), actions)
            into["actions"][step] = actions
            payoffs, ended = batch.step(actions)
            into["payoffs"][step], into["ended"][step] = payoffs, ended
            self._note_results(np.flatnonzero(ended), payoffs, batch.turns)
        into["last_values"][:] = self._values_of_all_seats(network, matrices)

    def _seat_members(self, league: League, games: np.ndarray) -> None:
        """Draw a member and a seat for games that just began."""
        if len(games) and len(league):
            self.slots[games] = self.rng.choice(len(league), len(games), p=league.weights())
            self.seats[games] = self.rng.integers(self.game.num_players, size=len(games))
            self.num_seats[games] = self.rng.integers(1, self.game.num_players, size=len(games))
            if self.alone > 0:
                self.num_seats[games[self.rng.random(len(games)) < self.alone]] = self.game.num_players - 1

    def _is_members_seat(self, seats: np.ndarray, games: Any) -> np.ndarray:
        """Do these seats, one or a row for each of the games, belong to the member that plays there?"""
        first, count = self.seats[games], self.num_seats[games]
        if seats.ndim == 2:
            first, count = first[:, None], count[:, None]
        return (seats - first) % self.game.num_players < count

    def _let_members_act(self, league: League, games: np.ndarray, actions: np.ndarray) -> None:
        for slot in np.unique(self.slots[games]):
            rows = games[self.slots[games] == slot]
            opponent = league.members[slot].opponent
            actions[rows] = opponent.act(self.batch.observations[rows], self.batch.action_masks[rows])

    def _note_results(self, games: np.ndarray, payoffs: np.ndarray, turns: np.ndarray) -> None:
        self.lengths += turns[games].tolist()
        games = games[self.slots[games] != NOBODY]
        if len(games):
            shares = win_shares(payoffs[games])
            is_members = self._is_members_seat(np.arange(self.game.num_players)[None], games)
            members = (shares * is_members).sum(1) / is_members.sum(1)  # the win of an average seat of each side
            learners = (shares * ~is_members).sum(1) / (~is_members).sum(1)
            beaten = learners / (learners + members)
            self.results += zip(self.slots[games].tolist(), beaten.tolist(), strict=True)
            self.slots[games] = NOBODY

    def _values_of_all_seats(self, network: PolicyValueNetwork, matrices: Matrices) -> np.ndarray:
        """What each seat's position is worth now, (n, P)."""
        num_players = self.game.num_players
        if num_players == 2:  # what one wins the other loses
            own = evaluate(network, matrices, self.batch.observations)[1]
            return np.where(np.arange(2) == self.batch.players[:, None], own[:, None], -own[:, None])
        views = [self.batch.observe(player) for player in range(num_players)]
        return np.stack([evaluate(network, matrices, view)[1] for view in views], axis=1)


def make_shards(game: Game, num_games: int, num_workers: int, seed: int, league: LeagueConfig) -> list[Shard]:
    """Cut the games into one shard for each worker."""
    seeds = np.array_split(spread_seeds(seed, num_games), num_workers)
    return [Shard(game, part, league) for part in seeds]


def estimate_advantages(decisions: Decisions, gamma: float, gae_lambda: float) -> np.ndarray:
    """Fill `advantages`; returns the learner's value targets, (T, N)."""
    d = decisions
    advantages_of_seats(d.values, d.players, d.payoffs, d.ended, d.last_values, gamma, gae_lambda, d.advantages)
    return d.advantages + d.values
