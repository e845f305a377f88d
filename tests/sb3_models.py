"""Models of stable-baselines3 as its users make and save them."""

from pathlib import Path
from typing import Any

import torch

from mandala_env.adapters.sb3 import LearnerVecEnv


def make_model(game: Any, algorithm: Any = None, gain: float = 2.0, **kwargs: Any) -> Any:
    """A MaskablePPO, or another on-policy model, with random weights of strong opinions."""
    from sb3_contrib import MaskablePPO

    env = LearnerVecEnv(game, 2, opponent="random")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = (algorithm or MaskablePPO)("MlpPolicy", env, n_steps=4, device="cpu", **kwargs)
        with torch.no_grad():
            for parameter in model.policy.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.1).mul_(gain)
    return model


def save_model(path: Path, game: Any, **kwargs: Any) -> Path:
    """The zip of `make_model`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    make_model(game, **kwargs).save(path)
    return path
