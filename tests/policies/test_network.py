"""The network follows the symmetries of its game, and its compiled sweeps are the torch operations they stand for."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mandala_env.policies import fused
from mandala_env.policies.fused import row_layer
from mandala_env.policies.network import Features, NetworkConfig, PolicyValueNetwork
from tests.contract.playing import moved_actions, moved_observation, walk
from tests.sampling import decisions, make_network


@pytest.fixture(scope="module")
def seen(game: Any) -> np.ndarray:
    """What every seat sees in random games, whoever decides, in every phase, the end included."""
    states = [
        game.copy(state)
        for seed in range(3)
        for step, state in enumerate(walk(game, seed))
        if (step + seed) % 4 == 0 or game.is_over(state)
    ]
    return np.stack([game.observe(state, player) for state in states for player in range(game.num_players)])


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


def test_matrices_that_were_made_before_give_the_same(game: Any, seen: np.ndarray) -> None:
    network = make_network(game, 3)
    with torch.no_grad():
        fresh, kept = (network(torch.from_numpy(seen), m) for m in (None, network.matrices()))
    assert torch.equal(fresh[0], kept[0]) and torch.equal(fresh[1], kept[1])


# --- the compiled sweeps -------------------------------------------------------------------------------------------


def layer_by_hand(
    rows: torch.Tensor, weight: torch.Tensor, context: torch.Tensor, with_rows: bool
) -> tuple[torch.Tensor, ...]:
    """What `row_layer` is defined to be, one row at a time."""
    hidden = torch.stack([torch.relu(rows[:, c] @ weight.t() + context) for c in range(rows.shape[1])], 1)
    if with_rows:
        hidden = hidden + rows
    return hidden, hidden.sum(1) / rows.shape[1], torch.amax(hidden, 1)


@pytest.mark.parametrize("with_rows", [False, True])
@given(num=st.integers(1, 9), colours=st.integers(1, 7), width=st.integers(1, 17), seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_the_sweep_over_rows_equals_torch_forward_and_backward(
    with_rows: bool, num: int, colours: int, width: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    columns = width if with_rows else width + 2
    inputs = [draw(num, colours, columns), draw(width, columns), draw(num, width)]
    projections = [draw(num, colours, width), draw(num, width), draw(num, width)]
    assert fused.is_fused(*inputs)
    results = []
    for layer, dtype in ((row_layer, torch.float32), (layer_by_hand, torch.float64)):
        leaves = [tensor.to(dtype).requires_grad_() for tensor in inputs]
        layer_outputs = layer(*leaves, with_rows)
        loss = sum((o * p.to(dtype)).sum() for o, p in zip(layer_outputs, projections, strict=True))
        results.append([*layer_outputs, *torch.autograd.grad(loss, leaves)])
    for fast, slow in zip(*results, strict=True):
        torch.testing.assert_close(fast.double(), slow, atol=2e-4, rtol=1e-4)


@pytest.mark.parametrize("used", range(3))
def test_the_sweep_has_a_gradient_when_one_output_is_used(used: int) -> None:
    generator = torch.Generator().manual_seed(used)
    inputs = [torch.randn(*shape, generator=generator) for shape in ((4, 6, 5), (5, 5), (4, 5))]
    gradients = []
    for layer in (row_layer, layer_by_hand):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        gradients.append(torch.autograd.grad(layer(*leaves, True)[used].sum(), leaves))
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-4, rtol=1e-4)


def test_the_sweep_leaves_its_inputs_alone() -> None:
    inputs = [torch.randn(3, 6, 4), torch.randn(4, 4), torch.randn(3, 4)]
    before = [tensor.clone() for tensor in inputs]
    row_layer(*inputs, True)
    row_layer(*inputs, False)
    assert all(map(torch.equal, inputs, before))


def test_a_whole_network_has_the_gradients_of_plain_torch(game: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    observations = torch.from_numpy(decisions(game, 16, 4, seed=3)[0])
    network = make_network(game, 4, NetworkConfig(8, 4, 2))
    gradients = []
    for is_fused in (True, False):
        if not is_fused:
            monkeypatch.setattr(fused, "is_fused", lambda *tensors: False)
        logits, values = network(observations)
        loss = (logits * torch.linspace(-1, 1, logits.shape[1])).mean() + values.square().mean()
        gradients.append(torch.autograd.grad(loss, list(network.parameters())))
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-5, rtol=1e-3)


def test_the_features_kernel_equals_plain_torch(game: Any, seen: np.ndarray) -> None:
    features, plain = Features(game), Features(game).double()
    rows, globals_ = features(torch.from_numpy(seen))
    assert plain.row_scale.dtype == torch.float64  # so that `plain` takes the other path
    plain_rows, plain_globals = plain(torch.from_numpy(seen))
    torch.testing.assert_close(rows.double(), plain_rows, atol=1e-6, rtol=0)
    torch.testing.assert_close(globals_.double(), plain_globals, atol=1e-6, rtol=0)


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


@pytest.mark.parametrize("wrong", [{"shared": 0}, {"per_mandala": 2.0}, {"layers": -1}, {"layers": True}], ids=str)
def test_a_size_that_makes_no_sense_is_refused(wrong: dict) -> None:
    with pytest.raises(ValueError, match=f"network.{next(iter(wrong))} must be a whole number"):
        NetworkConfig(**wrong)
