"""The symmetric network follows the symmetries of its game."""

from typing import Any

import numpy as np
import pytest
import torch

from mandala_env.policies.network import NetworkConfig, PolicyValueNetwork
from mandala_env.policies.symmetric import Features
from tests.contract.playing import moved_actions, moved_observation
from tests.sampling import make_network


def double(game: Any, seed: int, config: NetworkConfig | None = None) -> PolicyValueNetwork:
    """A network in float64, so that what ought to be equal is equal to 1e-9."""
    return make_network(game, seed, config or NetworkConfig(12, 6, 2)).double()


def outputs(network: PolicyValueNetwork, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logits and values as numpy."""
    with torch.no_grad():
        logits, values = network(torch.from_numpy(observations))
    return logits.numpy(), values.numpy()


def test_the_observations_show_every_phase(game: Any, seen: np.ndarray) -> None:
    phases = game.layout.get(seen, "phase")
    assert set(phases.tolist()) == set(range(game.layout["phase"].highest + 1))


def mixed_colours(game: Any, rng: np.random.Generator) -> np.ndarray:
    """New numbers for the colours, other ones for most of them; those of one class change places among themselves."""
    classes = np.array(game.colour_classes)
    new = np.arange(len(classes))
    while (new == np.arange(len(classes))).all():
        for which in set(game.colour_classes):
            new[classes == which] = rng.permutation(np.flatnonzero(classes == which))
    return new


def test_colours_of_different_classes_are_told_apart(game: Any, seen: np.ndarray) -> None:
    if len(set(game.colour_classes)) == 1:
        return
    new = np.roll(np.arange(len(game.colours)), 3)
    network = double(game, 1)
    moved = np.stack([moved_observation(game, row, "colour", new) for row in seen])
    assert np.abs(outputs(network, moved)[1] - outputs(network, seen)[1]).max() > 1e-3


@pytest.mark.parametrize("axes", [("colour",), ("mandala",), ("colour", "mandala")], ids="+".join)
@pytest.mark.parametrize("seed", range(3))
def test_permuting_an_observation_permutes_the_logits_and_keeps_the_value(
    game: Any, seen: np.ndarray, axes: tuple[str, ...], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    network = double(game, seed)
    moved, to = seen, np.arange(len(game.actions))
    for axis in axes:
        length = game.layout.axis_lengths[axis]
        new = np.roll(np.arange(length), 1) if axis == "mandala" else mixed_colours(game, rng)
        assert (new != np.arange(length)).any()
        moved = np.stack([moved_observation(game, row, axis, new) for row in moved])
        to = moved_actions(game, axis, new)[to]
    assert (moved != seen).any(axis=1).mean() > 0.9
    assert sorted(to) == list(range(len(to)))
    logits, values = outputs(network, seen)
    moved_logits, moved_values = outputs(network, moved)
    np.testing.assert_allclose(moved_logits[:, to], logits, atol=1e-9)
    np.testing.assert_allclose(moved_values, values, atol=1e-9)
    assert np.abs(moved_logits - logits).max() > 0.1  # and the logits do depend on where things lie


@pytest.mark.parametrize("config", [NetworkConfig(1, 1, 0), NetworkConfig(3, 5, 1), NetworkConfig(8, 2, 4)], ids=str)
def test_the_symmetry_holds_for_every_size(game: Any, seen: np.ndarray, config: NetworkConfig) -> None:
    new = mixed_colours(game, np.random.default_rng(0))
    network = double(game, 5, config)
    moved = np.stack([moved_observation(game, row, "colour", new) for row in seen])
    logits, values = outputs(network, seen)
    moved_logits, moved_values = outputs(network, moved)
    np.testing.assert_allclose(moved_logits[:, moved_actions(game, "colour", new)], logits, atol=1e-9)
    np.testing.assert_allclose(moved_values, values, atol=1e-9)


def test_the_network_that_is_used_is_the_one_in_double_precision(game: Any, seen: np.ndarray) -> None:
    network = make_network(game, 1, NetworkConfig())
    logits, values = outputs(network, seen)
    expected_logits, expected_values = outputs(network.double(), seen)
    np.testing.assert_allclose(logits, expected_logits, atol=2e-4, rtol=1e-4)
    np.testing.assert_allclose(values, expected_values, atol=2e-4, rtol=1e-4)


def test_an_observation_gives_the_same_alone_and_among_others(game: Any, seen: np.ndarray) -> None:
    network = make_network(game, 2)
    together, _ = outputs(network, seen)
    alone = np.concatenate([outputs(network, row[None])[0] for row in seen[:40]])
    np.testing.assert_allclose(alone, together[:40], atol=1e-4)


def test_observations_that_differ_in_one_number_have_different_features(game: Any, seen: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    features = Features(game)
    for place in range(game.layout.size):
        one = seen[rng.integers(len(seen))].copy()
        other = one.copy()
        values = [v for v in range(int(game.layout.highest[place]) + 1) if v != one[place]]
        other[place] = rng.choice(values)
        rows, globals_ = features(torch.from_numpy(np.stack([one, other])))
        assert not torch.equal(rows[0], rows[1]) or not torch.equal(globals_[0], globals_[1]), place
