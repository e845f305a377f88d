"""The networks there are: the symmetric one, which is the default, and a plain perceptron."""

import torch
from torch import Tensor

from mandala_env.core.game import Game
from mandala_env.policies.base import Matrices, NetworkConfig, PolicyValueNetwork
from mandala_env.policies.mlp import MLPNetwork
from mandala_env.policies.symmetric import SymmetricNetwork

__all__ = ["Matrices", "NetworkConfig", "PolicyValueNetwork", "empty_network", "make_network", "network_with"]


def make_network(game: Game, config: NetworkConfig | None = None) -> PolicyValueNetwork:
    """A new network with random weights, from torch's global generator."""
    network = empty_network(game, config or NetworkConfig())
    network.reset_parameters()
    return network


def network_with(game: Game, config: NetworkConfig, weights: dict[str, Tensor]) -> PolicyValueNetwork:
    """A network with a copy of these weights; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        network = empty_network(game, config)
    network.load_state_dict(weights)
    return network.eval()


def empty_network(game: Game, config: NetworkConfig) -> PolicyValueNetwork:
    """One whose weights are still to be drawn or loaded."""
    return MLPNetwork(game, config) if config.mlp else SymmetricNetwork(game, config)
