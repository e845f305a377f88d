"""What moves between a learner and its Ray workers, and how many workers it can use: `python benchmarks/scale.py`.

Work is measured in seconds of processor time, which a busy machine stretches little. From it follows how long an
iteration takes with N workers of a core each: they collect at the same time, then the learner takes in what they
return and updates. A run with so many workers here is timed beside it.
"""

import argparse
import os
from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time
from typing import Any

import torch
from stable_baselines3.common.logger import configure

from mandala_env import load_game
from training.config import LeagueConfig, TrainConfig
from training.ray_workers import arrays
from training.selfplay import SelfPlayPPO


class Timed(SelfPlayPPO):
    """Notes processor time and time of collecting and of updating."""

    def _setup_model(self) -> None:
        super()._setup_model()
        self.spent: dict[str, list[tuple[float, float]]] = {"collect": [], "update": []}

    def _note(self, name: str, work: Callable[[], Any]) -> Any:
        before = process_time(), perf_counter()
        result = work()
        self.spent[name].append((process_time() - before[0], perf_counter() - before[1]))
        return result

    def collect_rollouts(self, *args: Any, **kwargs: Any) -> bool:
        """See `SelfPlayPPO`."""
        collect = super().collect_rollouts
        is_going_on: bool = self._note("collect", lambda: collect(*args, **kwargs))
        return is_going_on

    def train(self) -> None:
        """See `SelfPlayPPO`."""
        self._note("update", super().train)


def measure(config: TrainConfig, rounds: int) -> tuple[Timed, dict[str, list[float]]]:
    """Medians of processor time and of time by kind of work; the first iteration is left out."""
    model = Timed(load_game(config.game), config)
    model.set_logger(configure(None, []))
    model.learn((rounds + 1) * config.ppo.num_games * config.ppo.num_steps)
    model.workers.close()
    return model, {
        name: [median(column) for column in zip(*rows[1:], strict=True)] for name, rows in model.spent.items()
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--workers", type=int, default=2, help="of the run that is timed")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    league = LeagueConfig(share=0.2, snapshot_every=2)
    _, work = measure(TrainConfig(num_threads=1, workers="local:1", league=league), given.rounds)
    far, spent = measure(TrainConfig(num_threads=1, workers=f"ray:{given.workers}", league=league), given.rounds)
    decisions = far.decisions.actions.size
    columns = far.decisions.columns(0, far.n_envs)
    up = sum(column.nbytes for name, column in columns.items() if name != "advantages")
    games = sum(getattr(array, "nbytes", 0) for shard in far.shards for array in shard.saved().values())
    weights = sum(array.nbytes for array in arrays(far.network).values())
    collect, take_in, update = work["collect"][0], spent["collect"][0], work["update"][0]
    print(f"an iteration: {decisions:,} decisions of {far.n_envs:,} games; load average {os.getloadavg()[0]:.1f}")
    print(f"up: {up / decisions:.0f} bytes a decision; up and down: {games / far.n_envs:.0f} a game, where it stands")
    print(f"down: the weights, {weights:,} bytes to each machine; the same once for each past self")
    print(f"processor time: collecting {collect:.2f} s, taking in {take_in:.3f} s, updating {update:.2f} s")
    print(f"\n{'workers':>8} {'decisions/s':>12} {'MB/s up':>8} {'updating':>9}")
    for workers in (1, 2, 4, 8, 16, 32, 64):
        seconds = collect / workers + take_in + update
        print(f"{workers:>8} {decisions / seconds:>12,.0f} {up / seconds / 1e6:>8.1f} {update / seconds:>9.0%}")
    seconds = spent["collect"][1] + spent["update"][1]
    print(f"\ntimed here with {given.workers}: {decisions / seconds:,.0f} decisions/s")


if __name__ == "__main__":
    main()
