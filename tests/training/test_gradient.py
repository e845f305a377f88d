"""The gradient of a minibatch is that of the textbook's loss, however it is shared out and cut into chunks."""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch

from mandala_env.core.batch import Batch
from mandala_env.core.game import Game
from mandala_env.policies.network import NetworkConfig, PolicyValueNetwork
from tests.sampling import make_network
from training.gradient import Gradient, LossSettings, moments
from training.loss import STATS

NETWORKS = [NetworkConfig(8, 4, 1), NetworkConfig(mlp=[16, 16])]
CLIP, ENTROPY, VALUE = 0.2, 0.01, 0.5


def collected(game: Game, network: PolicyValueNetwork, n: int) -> dict[str, np.ndarray]:
    """Decisions of a policy that was a little different then, with advantages whose mean is not 0."""
    batch, rng = Batch(game, n, 0), np.random.default_rng(n)
    for _ in range(20):
        batch.step_random()
    masks = batch.action_masks
    actions = (masks * rng.random(masks.shape)).argmax(axis=1)
    with torch.no_grad():
        logits = network(torch.from_numpy(batch.observations))[0].masked_fill(~torch.from_numpy(masks), -torch.inf)
    own = logits.log_softmax(1).numpy()[np.arange(n), actions]
    return {
        "observations": batch.observations,
        "words": batch.legal_sets.copy(),
        "actions": actions,
        "log_probs": (own + 0.3 * rng.normal(size=n)).astype(np.float32),
        "advantages": (0.5 + rng.normal(size=n)).astype(np.float32),
        "returns": rng.normal(size=n).astype(np.float32),
        "masks": masks,
    }


def textbook(network: PolicyValueNetwork, data: dict[str, np.ndarray]) -> tuple[torch.Tensor, list[float]]:
    """The gradient and the means of STATS, by autograd in double precision, from Schulman et al. 2017."""
    d = {
        name: torch.from_numpy(value).double() if value.dtype == np.float32 else torch.from_numpy(value)
        for name, value in data.items()
        if name != "words"
    }
    twice = deepcopy(network).double()
    logits, values = twice(d["observations"])
    log_probs = logits.masked_fill(~d["masks"], -torch.inf).log_softmax(1)
    probs = log_probs.exp()
    entropy = -(probs * log_probs.masked_fill(~d["masks"], 0)).sum(1)
    log_ratio = log_probs.gather(1, d["actions"][:, None])[:, 0] - d["log_probs"]
    ratio, adv = log_ratio.exp(), d["advantages"]
    adv = (adv - adv.mean()) / (adv.std(correction=0) + 1e-8)
    policy_loss = -torch.min(ratio * adv, ratio.clamp(1 - CLIP, 1 + CLIP) * adv)
    value_loss = (values - d["returns"]) ** 2
    loss = (policy_loss - ENTROPY * entropy + VALUE * value_loss).mean()
    gradients = torch.autograd.grad(loss, list(twice.parameters()))
    clipped = ((ratio - 1).abs() > CLIP).double()
    stats = [part.mean().item() for part in (policy_loss, value_loss, entropy, ratio - 1 - log_ratio, clipped)]
    return torch.cat([gradient.flatten() for gradient in gradients]), stats


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("config", NETWORKS, ids=str)
def test_the_gradient_is_the_textbooks_whoever_finds_which_part(
    game: Game, config: NetworkConfig, num_threads: int
) -> None:
    network = make_network(game, 1, config)
    shared_out = Gradient(network, network.share_storage(), num_threads, torch.float32)
    chunk = shared_out.shares[0].passes.chunk
    data = collected(game, network, num_threads * 2 * chunk + 500)  # three chunks for each share
    everything = np.random.default_rng(0).permutation(len(data["actions"]))
    for rows in (everything[: len(everything) - 200], everything[:2]):  # the second are fewer than threads
        expected, means = textbook(network, {name: column[rows] for name, column in data.items()})
        centre, spread = moments(data["advantages"], rows)
        settings = LossSettings(centre, spread + 1e-8, CLIP, ENTROPY, VALUE, 1 / len(rows))
        with ThreadPoolExecutor(num_threads) as pool:
            norm, stats = shared_out.compute(pool, {k: v for k, v in data.items() if k != "masks"}, rows, settings)
        scale = expected.abs().max()
        torch.testing.assert_close(shared_out.gradient.double() / scale, expected / scale, atol=1e-4, rtol=1e-4)
        assert norm == pytest.approx(expected.norm().item(), rel=1e-4)
        assert dict(zip(STATS, stats / len(rows), strict=True)) == pytest.approx(
            dict(zip(STATS, means, strict=True)), rel=1e-3, abs=1e-6
        )


def test_moments_are_the_mean_and_the_standard_deviation_of_some_numbers() -> None:
    rng = np.random.default_rng(0)
    numbers: Any = (3 + rng.normal(size=1000)).astype(np.float32)
    rows = rng.permutation(1000)[:300]
    assert moments(numbers, rows) == pytest.approx((numbers[rows].mean(), numbers[rows].std()), rel=1e-5)
