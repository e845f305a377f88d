"""The passes are the network in plain torch, forward and backward, whatever was in their memory before."""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mandala_env.policies.memory import CACHE_LINE, MOST_ROOMS, Memory
from mandala_env.policies.network import Matrices, NetworkConfig, PolicyValueNetwork
from mandala_env.policies.passes import Passes, evaluate, make_passes
from mandala_env.policies.symmetric import Features
from mandala_env.policies.symmetric_passes import (
    SymmetricPasses,
    order_actions,
    order_outputs,
    read_features,
    sweep_backward,
    sweep_forward,
)
from tests.sampling import make_network

SYMMETRIC = [NetworkConfig(), NetworkConfig(1, 1, 0), NetworkConfig(3, 5, 1), NetworkConfig(8, 2, 4)]
PERCEPTRONS = [NetworkConfig(mlp=widths) for widths in ([256, 256], [1], [9, 33, 7])]
SIZES = SYMMETRIC + PERCEPTRONS
CLOSE = {"atol": 2e-4, "rtol": 1e-4}


def whole(network: PolicyValueNetwork) -> Matrices:
    """The network's matrices as the passes take them."""
    with torch.no_grad():
        return network.matrices()


def forward(passes: Passes, network: PolicyValueNetwork, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logits and values, written into arrays of NaN."""
    logits = np.full((len(seen), network.num_actions), np.nan, np.float32)
    values = np.full(len(seen), np.nan, np.float32)
    passes.forward(seen, whole(network), logits, values)
    return logits, values


def plain(network: PolicyValueNetwork, seen: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and values of plain torch in double precision."""
    logits, values = deepcopy(network).double()(torch.from_numpy(seen))
    return logits.detach(), values.detach()


def slopes(n: int, num_actions: int) -> tuple[np.ndarray, np.ndarray]:
    """Some gradients by logits and values."""
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, num_actions)).astype(np.float32), rng.normal(size=n).astype(np.float32)


def plain_gradient(network: PolicyValueNetwork, seen: np.ndarray) -> torch.Tensor:
    """By all parameters, by autograd in double precision."""
    twice = deepcopy(network).double()
    outputs = twice(torch.from_numpy(seen))
    by_outputs = [torch.from_numpy(slope).double() for slope in slopes(*outputs[0].shape)]
    gradients = torch.autograd.grad(outputs, list(twice.parameters()), by_outputs)
    return torch.cat([gradient.flatten() for gradient in gradients])


def add_gradient(passes: Passes, network: PolicyValueNetwork, seen: np.ndarray, by_matrices: torch.Tensor) -> None:
    """The same by all numbers of the matrices, added."""
    forward(passes, network, seen)
    passes.backward(*slopes(len(seen), network.num_actions), whole(network), network.cut(by_matrices))


def gradient(passes: Passes, network: PolicyValueNetwork, seen: np.ndarray) -> torch.Tensor:
    """By all parameters, by the passes."""
    by_matrices = torch.zeros(len(network.places))
    add_gradient(passes, network, seen, by_matrices)
    return torch.zeros(sum(network.sizes())).index_add_(0, network.places, by_matrices)


@pytest.mark.parametrize("config", SIZES, ids=str)
def test_the_outputs_are_those_of_plain_torch(game: Any, seen: np.ndarray, config: NetworkConfig) -> None:
    network = make_network(game, 1, config)
    for result, expected in zip(forward(make_passes(network), network, seen), plain(network, seen), strict=True):
        np.testing.assert_allclose(result, expected, **CLOSE)


@pytest.mark.parametrize("config", SIZES, ids=str)
def test_the_gradient_is_that_of_autograd(game: Any, seen: np.ndarray, config: NetworkConfig) -> None:
    network = make_network(game, 2, config)
    expected = plain_gradient(network, seen)
    scale = expected.abs().max()
    torch.testing.assert_close(
        gradient(make_passes(network), network, seen).double() / scale, expected / scale, **CLOSE
    )


def test_a_gradient_is_added_to_what_is_there(game: Any, seen: np.ndarray) -> None:
    network = make_network(game, 3)
    once, more = torch.zeros(len(network.places)), torch.full((len(network.places),), 5.0)
    add_gradient(make_passes(network), network, seen[:9], once)
    add_gradient(make_passes(network), network, seen[:9], more)
    torch.testing.assert_close(more, 5 + once, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("config", [NetworkConfig(8, 4, 1), NetworkConfig(mlp=[20, 8])], ids=str)
def test_what_the_memory_held_before_makes_no_difference(game: Any, seen: np.ndarray, config: NetworkConfig) -> None:
    network, other = make_network(game, 4, config), make_network(game, 5, NetworkConfig(9, 3, 3))
    memory = Memory()
    used, used_by_other = make_passes(network, memory), make_passes(other, memory)
    sizes = [3, 20, 1, 20, *range(5, 6 + MOST_ROOMS), 3, len(seen)]
    for n in sizes:
        fresh = make_passes(network)
        expected = *forward(fresh, network, seen[:n]), gradient(fresh, network, seen[:n])
        gradient(used_by_other, other, seen[:n])
        found = *forward(used, network, seen[:n]), gradient(used, network, seen[:n])
        for one, two in zip(found, expected, strict=True):
            assert np.array_equal(np.asarray(one), np.asarray(two)), n


def test_memory_that_grows_leaves_what_was_taken_before_alone() -> None:
    memory = Memory()
    for _ in range(3):
        memory.clear()
        taken = [memory.take(size, 3).fill_(size) for size in (1, 7, 100, 2, 3000)]
        assert [tensor.unique().tolist() for tensor in taken] == [[1], [7], [100], [2], [3000]]
        assert all(tensor.data_ptr() % CACHE_LINE == 0 and tensor.is_contiguous() for tensor in taken)


def test_memory_gives_room_for_numbers_of_any_type() -> None:
    memory = Memory()
    for dtype in (torch.bfloat16, torch.float32, torch.int8) * 2:
        assert memory.take(3, 5, dtype=dtype).fill_(1).dtype == dtype
    assert memory.take(0, 5).shape == (0, 5)


@pytest.mark.parametrize("config", [NetworkConfig(8, 4, 1), NetworkConfig(mlp=[20, 8])], ids=str)
def test_networks_that_share_a_memory_need_no_more_of_it(game: Any, seen: np.ndarray, config: NetworkConfig) -> None:
    memory, sizes = Memory(), []
    for seed in range(6):
        network = make_network(game, seed, config)
        for n in (len(seen), 3):
            forward(make_passes(network, memory), network, seen[:n])
        sizes.append(len(memory.bytes))
    assert 0 < sizes[2] == sizes[-1], "it has grown to the largest room by then"


@pytest.mark.parametrize(("chunks", "more"), [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)])
@pytest.mark.parametrize("config", [NetworkConfig(8, 4, 1), NetworkConfig(mlp=[20, 8])], ids=str)
def test_any_number_of_observations_is_evaluated(
    game: Any, seen: np.ndarray, config: NetworkConfig, chunks: int, more: int
) -> None:
    network = make_network(game, 6, config)
    n = chunks * make_passes(network).chunk + more
    rows = np.resize(seen, (n, seen.shape[1]))
    logits, values = evaluate(network, whole(network), rows)
    for result, expected in zip((logits, values), plain(network, rows), strict=True):
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, expected, **CLOSE)


@pytest.mark.parametrize("config", [NetworkConfig(8, 4, 1), NetworkConfig(mlp=[20, 8])], ids=str)
def test_observations_of_another_shape_are_refused(game: Any, seen: np.ndarray, config: NetworkConfig) -> None:
    network, size = make_network(game, 6, config), seen.shape[1]
    for wrong in (seen[:, :-1], np.zeros((2, size + 1), np.int8), seen[0], seen[None]):
        with pytest.raises(ValueError, match=rf"expected observations of shape \(n, {size}\), not \({wrong.shape[0]}"):
            evaluate(network, whole(network), wrong)


def test_matrices_in_bfloat16_give_about_the_same(game: Any, seen: np.ndarray) -> None:
    network = make_network(game, 8, NetworkConfig(mlp=[64, 64]))
    with torch.no_grad():
        rounded = network.matrices(dtype=torch.bfloat16)
    logits, values = (np.full(shape, np.nan, np.float32) for shape in ((len(seen), network.num_actions), len(seen)))
    passes, found = make_passes(network), torch.zeros(len(network.places))
    passes.forward(seen, rounded, logits, values)
    passes.backward(*slopes(*logits.shape), rounded, network.cut(found))
    for result, expected in zip((logits, values), plain(network, seen), strict=True):
        error = np.abs(result - expected.numpy())
        assert 0 < error.max() < 0.05 * expected.abs().max(), "8 bits of each number are left"
    expected = plain_gradient(network, seen)
    by_parameters = torch.zeros(len(expected)).index_add_(0, network.places, found).double()
    assert torch.cosine_similarity(by_parameters, expected, dim=0) > 0.999


def test_threads_do_not_disturb_each_other(game: Any, seen: np.ndarray) -> None:
    networks = [make_network(game, seed) for seed in range(3)] + [make_network(game, 3, NetworkConfig(mlp=[20]))]
    expected = [evaluate(network, whole(network), seen) for network in networks]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            jobs = [pool.submit(evaluate, network, whole(network), seen) for network in networks]
            for job, (logits, values) in zip(jobs, expected, strict=True):
                assert np.array_equal(job.result()[0], logits) and np.array_equal(job.result()[1], values)


def test_a_network_that_is_gone_is_not_kept_by_what_evaluated_it(game: Any, seen: np.ndarray) -> None:
    from weakref import ref

    network = make_network(game, 7)
    evaluate(network, whole(network), seen[:3])
    gone = ref(network)
    del network
    assert gone() is None


# --- the sweeps ---------------------------------------------------------------------------------------------------


def layer_by_hand(rows: torch.Tensor, products: torch.Tensor, context: torch.Tensor, is_residual: bool) -> tuple:
    """Hidden, mean and maximum by the definition, one row at a time."""
    hidden = torch.stack([torch.relu(products[:, c] + context) for c in range(rows.shape[1])], 1)
    if is_residual:
        hidden = hidden + rows
    return hidden, hidden.sum(1) / rows.shape[1], hidden.max(1).values


@pytest.mark.parametrize("is_residual", [False, True])
@given(
    num=st.integers(1, 5), colours=st.integers(1, 7), width=st.integers(1, 17), kinds=st.integers(2, 10**6),
    seed=st.integers(0, 10**6),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_the_sweeps_equal_torch_forward_and_backward(
    is_residual: bool, num: int, colours: int, width: int, kinds: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray:  # few kinds of numbers: there are ties
        return (rng.integers(-kinds, kinds, shape) / kinds).astype(np.float32)

    rows, products, context = draw(num, colours, width), draw(num, colours, width), draw(num, width)
    leaves = [torch.from_numpy(array.copy()).requires_grad_() for array in (rows, products, context)]
    expected = layer_by_hand(*leaves, is_residual)
    pools, highest = np.full((num, 2 * width), np.nan, np.float32), np.full((num, width), -9, np.int32)
    active = products.copy()
    hidden = np.full_like(active, np.nan) if is_residual else active
    sweep_forward(rows, context, is_residual, active, hidden, pools, highest)
    for found, right in zip((hidden, pools[:, :width], pools[:, width:]), expected, strict=True):
        np.testing.assert_allclose(found, right.detach().numpy(), atol=1e-6)
    assert (highest == hidden.argmax(axis=1)).all()

    to_hidden, to_pools = draw(num, colours, width), draw(num, 2 * width)
    first = torch.from_numpy(highest.astype(np.int64))  # torch gives a shared maximum's gradient to any one of them
    to_rows = torch.from_numpy(to_hidden.copy()) + torch.from_numpy(to_pools[:, None, :width]) / colours
    to_rows = to_rows.scatter_add(1, first[:, None], torch.from_numpy(to_pools[:, None, width:]))
    expected_gradients = torch.autograd.grad(expected[0], leaves[1:], to_rows)
    to_active, to_context = np.full_like(active, np.nan), np.full_like(context, np.nan)
    sweep_backward(active, highest, to_hidden, to_pools, to_active, to_context)
    np.testing.assert_allclose(to_hidden, to_rows.numpy(), atol=1e-5)
    np.testing.assert_allclose(to_active, expected_gradients[0].numpy(), atol=1e-5)
    np.testing.assert_allclose(to_context, expected_gradients[1].numpy(), atol=1e-5)


def test_the_features_are_those_of_plain_torch_whatever_the_numbers_are(game: Any, seen: np.ndarray) -> None:
    network = make_network(game)
    wild = np.random.default_rng(0).integers(-128, 128, seen.shape).astype(np.int8)  # no game shows these
    for numbers in (seen, wild):
        expected = Features(game)(torch.from_numpy(numbers))
        found = [np.full_like(part.numpy(), np.nan) for part in expected]
        read_features(numbers, *SymmetricPasses(network).tables, *found)
        for part, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(part, right.numpy(), atol=1e-6)


def test_outputs_come_in_the_order_of_the_actions_and_gradients_go_back() -> None:
    rng = np.random.default_rng(0)
    for columns, extra in pairwise([7, 4, 0, 5]):
        of_rows, of_pools = (rng.random((3, size), np.float32) for size in (columns, extra))
        order = rng.permutation(columns + extra)[: columns + extra - 2]  # two outputs are no actions
        logits = np.full((3, len(order)), np.nan, np.float32)
        order_actions(of_rows, of_pools, order, logits)
        assert np.array_equal(logits, np.concatenate([of_rows, of_pools], axis=1)[:, order])
        back = np.full_like(of_rows, np.nan), np.full_like(of_pools, np.nan)
        order_outputs(logits, order, *back)
        expected = np.zeros((3, columns + extra), np.float32)
        expected[:, order] = logits
        assert np.array_equal(np.concatenate(back, axis=1), expected)
