"""A config says which network it is, and refuses what is none."""

from typing import Any

import numpy as np
import pytest
import torch

from mandala_env import load_game
from mandala_env.policies.mlp import MLPNetwork
from mandala_env.policies.network import NetworkConfig, make_network
from mandala_env.policies.symmetric import SymmetricNetwork


def test_the_network_is_symmetric_unless_widths_are_given(game: Any) -> None:
    with torch.random.fork_rng(devices=[]):
        assert isinstance(make_network(game), SymmetricNetwork)
        network = make_network(game, NetworkConfig(mlp=[12, 7]))
    assert isinstance(network, MLPNetwork)
    weights = [(layer.in_features, layer.out_features) for layer in network.modules() if hasattr(layer, "in_features")]
    assert weights == [(game.layout.size, 12), (12, 7), (7, len(game.actions)), (7, 1)]


def test_a_perceptron_reads_each_number_as_a_share_of_its_highest() -> None:
    game = load_game("mandala_v0")
    with torch.random.fork_rng(devices=[]):
        network = make_network(game, NetworkConfig(mlp=[5]))
    read: list[torch.Tensor] = []
    network.layers[0].register_forward_hook(lambda layer, inputs, outputs: read.append(inputs[0]))  # type: ignore[union-attr, operator, index]
    network(torch.from_numpy(game.layout.highest.astype(np.int8)[None]))
    torch.testing.assert_close(read[0], torch.ones(1, game.layout.size))


@pytest.mark.parametrize("wrong", [{"shared": 0}, {"per_mandala": 2.0}, {"layers": -1}, {"layers": True}], ids=str)
def test_a_size_that_makes_no_sense_is_refused(wrong: dict) -> None:
    with pytest.raises(ValueError, match=f"network.{next(iter(wrong))} must be a whole number"):
        NetworkConfig(**wrong)


@pytest.mark.parametrize("widths", [[0], [8, 4097], [8.0], [True], "64", 64, (8, 8), [8] * 65, [[8]], None], ids=str)
def test_widths_that_make_no_sense_are_refused(widths: Any) -> None:
    with pytest.raises(ValueError, match=r"network\.mlp must be a list of at most 64 whole numbers from 1 to 4096"):
        NetworkConfig(mlp=widths)
