"""Decisions from random play, small networks, and the global random generators: what the tests of players need."""

import random
from typing import Any

import numpy as np
import torch

from mandala_env.core.batch import Batch
from mandala_env.policies import network as networks
from mandala_env.policies.network import NetworkConfig, PolicyValueNetwork

SMALL = NetworkConfig(shared=8, per_mandala=4, layers=1)


def decisions(game: Any, num_games: int, num_steps: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Observations and action masks of some random games, started at different ages: (num_games * num_steps, ...)."""
    batch = Batch(game, num_games, seed)
    observations, masks = [], []
    for _ in range(num_steps):
        for _ in range(3):
            batch.step_random()
        observations.append(batch.observations)
        masks.append(batch.action_masks)
    return np.concatenate(observations), np.concatenate(masks)


def make_network(game: Any, seed: int = 0, config: NetworkConfig = SMALL, gain: float = 1.0) -> PolicyValueNetwork:
    """A network with random weights and biases; `gain` makes its opinions stronger."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = networks.make_network(game, config)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.1).mul_(gain)
    return network.eval()


def random_states() -> tuple[Any, ...]:
    """The states of all global random generators, to be compared as text."""
    return tuple(map(repr, (random.getstate(), np.random.get_state(), torch.get_rng_state().tolist())))  # noqa: NPY002
