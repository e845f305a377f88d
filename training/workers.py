"""Who collects: threads of this process, or processes of a Ray cluster; the decisions are the same.

A shard of the games is played from what the learner knows: its weights, the league's members, and where the games
stand. What comes of it is the decisions and where the games stand then. A worker holds nothing that is lost with it.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import torch

from mandala_env.arena.workers import read_workers
from mandala_env.core.game import Game
from mandala_env.policies.network import PolicyValueNetwork
from training.config import TrainConfig
from training.league import League
from training.precision import DTYPES
from training.rollout import Shard


class Workers(Protocol):
    """What collecting is to the learner."""

    def collect(
        self, network: PolicyValueNetwork, league: League, shards: list[Shard], columns: list[dict[str, Any]]
    ) -> None:
        """Play each shard's T steps into its columns (see `Decisions.cut`); the shards stand where they ended."""

    def close(self) -> None:
        """Let go of the workers."""


class Threads:
    """A thread for each shard, for one collection: none is left behind."""

    def __init__(self, precision: str = "float32") -> None:
        self.dtype = DTYPES[precision]

    def collect(
        self, network: PolicyValueNetwork, league: League, shards: list[Shard], columns: list[dict[str, Any]]
    ) -> None:
        """See `Workers`."""
        with torch.no_grad():
            matrices = network.matrices(dtype=self.dtype)
        with ThreadPoolExecutor(len(shards), thread_name_prefix="collect") as pool:
            jobs = [
                pool.submit(shard.collect, network, matrices, league, into)
                for shard, into in zip(shards, columns, strict=True)
            ]
        for job in jobs:
            job.result()

    def close(self) -> None:
        """There is nothing to let go of."""


def make_workers(game: Game, config: TrainConfig) -> Workers:
    """The workers that a config asks for."""
    if read_workers(config.workers)[0] == "local":
        return Threads(config.precision)
    try:
        from training.ray_workers import RayWorkers
    except ModuleNotFoundError as error:
        raise ValueError(f"workers {config.workers}: {error}") from None
    return RayWorkers(game, config)
