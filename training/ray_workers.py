"""Collecting in the processes of a Ray cluster.

An order holds all that a share of the games depends on, so it has the same outcome wherever and however often it is
carried out. When a worker dies, Ray starts another one and gives it the order again; the learner takes one outcome.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import ray
import torch

from mandala_env.adapters.ray import RETRIES, connect, result_of
from mandala_env.core.actions import num_words
from mandala_env.core.game import Game
from mandala_env.opponents.base import Opponent
from mandala_env.opponents.checkpoint import NetworkOpponent
from mandala_env.policies.network import PolicyValueNetwork, network_with
from training.config import TrainConfig
from training.league import League, restore_snapshot
from training.precision import DTYPES
from training.rollout import Decisions, Shard

Weights = dict[str, np.ndarray]


@dataclass(frozen=True)
class Outcome:
    """What came of an order: see `Decisions.columns` and `Shard`."""

    columns: dict[str, np.ndarray]
    saved: dict[str, Any]
    results: list[tuple[int, float]]
    lengths: list[int]


class Collector:
    """A worker: it holds a shard, a network and a league to put into them what an order says."""

    def __init__(self, game: Game, config: TrainConfig) -> None:
        torch.set_num_threads(1)
        self.game, self.config = game, config
        self.league = League(game, config.league, config.seed)
        self.network: PolicyValueNetwork | None = None
        self.shard: Shard | None = None

    def collect(
        self, weights: Weights, members: list[dict], snapshots: dict[str, ray.ObjectRef], saved: dict[str, Any]
    ) -> Outcome:
        """Play T steps in each of the saved games.

        weights    the learner's
        members    see `League.entries`
        snapshots  where the weights of past selves are, by name; they are fetched once
        saved      see `Shard.saved`
        """
        network = self.network = network_with(self.game, self.config.network, tensors(weights))

        def snapshot(slot: int) -> Opponent:
            past = tensors(ray.get(snapshots[members[slot]["name"]]))
            return restore_snapshot(self.game, network, past, self.config.seed)

        self.league.restore(members, snapshot)
        num_games = len(saved["slots"])
        if self.shard is None or len(self.shard.batch) != num_games:
            self.shard = Shard(self.game, np.zeros(num_games, np.uint64), self.config.league)
        shard = self.shard
        shard.restore(saved)
        decisions = Decisions(self.game, self.config.ppo.num_steps, num_games, num_words(len(self.game.actions)))
        columns = decisions.columns(0, num_games)
        del columns["advantages"]  # the learner's to fill
        with torch.no_grad():
            matrices = network.matrices(dtype=DTYPES[self.config.precision])
        shard.collect(network, matrices, self.league, columns)
        return Outcome(columns, shard.saved(), shard.results, shard.lengths)


class RayWorkers:
    """An actor for each shard; see `training.workers.Workers`."""

    def __init__(self, game: Game, config: TrainConfig) -> None:
        connect(config.num_workers)
        actor = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=RETRIES)(Collector)
        self.actors: list[Any] = [actor.remote(game, config) for _ in range(config.num_workers)]
        self.snapshots: dict[str, ray.ObjectRef] = {}

    def collect(
        self, network: PolicyValueNetwork, league: League, shards: list[Shard], columns: list[dict[str, Any]]
    ) -> None:
        """See `Workers`."""
        self._share_snapshots(league)
        weights, members = ray.put(arrays(network)), league.entries()
        jobs = [
            actor.collect.remote(weights, members, self.snapshots, shard.saved())
            for actor, shard in zip(self.actors, shards, strict=True)
        ]
        for shard, into, job in zip(shards, columns, jobs, strict=True):
            outcome: Outcome = result_of(job)
            for name, column in outcome.columns.items():
                into[name][:] = column
            shard.restore(outcome.saved)
            shard.results, shard.lengths = outcome.results, outcome.lengths

    def _share_snapshots(self, league: League) -> None:
        """Put the weights of each past self where all workers find them, once."""
        self.snapshots = {
            member.name: self.snapshots.get(member.name) or ray.put(arrays(member.opponent.network))
            for member in league.members
            if member.is_snapshot and isinstance(member.opponent, NetworkOpponent)
        }

    def close(self) -> None:
        """End the workers."""
        for actor in self.actors:
            ray.kill(actor)
        self.actors = []


def arrays(network: PolicyValueNetwork) -> Weights:
    """A network's weights by name."""
    return {name: value.detach().numpy() for name, value in network.state_dict().items()}


def tensors(weights: Weights) -> dict[str, torch.Tensor]:
    """Weights by name, copied: what Ray hands out is shared memory, to be read only."""
    return {name: torch.from_numpy(value.copy()) for name, value in weights.items()}
