"""Training runs of a second."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from mandala_env.policies.network import NetworkConfig
from training.config import EvaluationConfig, LeagueConfig, PPOConfig, TrainConfig
from training.selfplay import SelfPlayPPO

PRESET = str(Path(__file__).resolve().parents[2] / "configs" / "mandala_v0" / "smoke.yaml")
NUM_GAMES, NUM_STEPS = 24, 16
PER_ITERATION = NUM_GAMES * NUM_STEPS


def tiny(iterations: int = 2, **changes: Any) -> TrainConfig:
    """A config that goes through everything: league, snapshots that make room, evaluation, two minibatches."""
    config = TrainConfig(
        name="tiny",
        seed=3,
        total_decisions=iterations * PER_ITERATION,
        num_threads=1,
        save_every=4,
        network=NetworkConfig(shared=4, per_mandala=2, layers=1),
        ppo=PPOConfig(num_games=NUM_GAMES, num_steps=NUM_STEPS, minibatch_size=200, num_epochs=2),
        league=LeagueConfig(share=0.5, max_snapshots=2, snapshot_every=2, scripted=["heuristic"]),
        evaluation=EvaluationConfig(every=3, games=8),
    )
    return replace(config, **changes)


def make_model(game: Any, config: TrainConfig | None = None) -> SelfPlayPPO:
    """A learner that logs to nowhere."""
    from stable_baselines3.common.logger import configure

    model = SelfPlayPPO(game, config or tiny())
    model.set_logger(configure(None, []))
    return model
