"""An optimiser step for a minibatch: each thread finds the gradient of its share, then all parameters move at once.

What is not shared out is compiled: as single operations of torch it takes several times as long.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from mandala_env.core.jit import kernel
from mandala_env.policies.network import Matrices, PolicyValueNetwork
from mandala_env.policies.passes import make_passes
from training.loss import STATS, ppo_gradient


@dataclass(frozen=True)
class LossSettings:
    """What the loss of a minibatch's decisions depends on besides them; see `ppo_gradient`.

    Advantages are taken as (advantage - centre) / spread.
    """

    centre: float
    spread: float
    clip_range: float
    entropy_coef: float
    value_coef: float
    scale: float


class Share:
    """One thread's share of each minibatch: the memory that it needs, and the gradient that it has found.

    gradient  (P,) by all numbers of the network's matrices, in the order of `PolicyValueNetwork.places`
    stats     the sums of STATS
    """

    def __init__(self, network: PolicyValueNetwork, gradient: torch.Tensor) -> None:
        self.passes = make_passes(network)
        self.gradient = gradient
        self.stats = np.zeros(len(STATS))
        self._gradients = network.cut(gradient)
        self._num_actions = network.num_actions

    def compute(
        self, data: dict[str, np.ndarray], rows: np.ndarray, matrices: Matrices, settings: LossSettings
    ) -> None:
        """Find the gradient and the stats of some rows of the data, a chunk at a time."""
        self.gradient.zero_()
        self.stats[:] = 0
        s, chunk = settings, self.passes.chunk
        for start in range(0, len(rows), chunk):
            part = {name: column.take(rows[start : start + chunk], axis=0) for name, column in data.items()}
            n = len(part["actions"])
            logits, to_logits = np.empty((2, n, self._num_actions), np.float32)
            values, to_values = np.empty((2, n), np.float32)
            self.passes.forward(part["observations"], matrices, logits, values)
            ppo_gradient(
                logits, values, part["words"], part["actions"], part["log_probs"],
                (part["advantages"] - s.centre) / s.spread, part["returns"], s.clip_range, s.entropy_coef,
                s.value_coef, s.scale, to_logits, to_values, self.stats,
            )  # fmt: skip
            self.passes.backward(to_logits, to_values, matrices, self._gradients)


class Gradient:
    """The gradient of a network's parameters, shared out to threads; which computes what is fixed.

    parameters  all of the network's in one vector, see `PolicyValueNetwork.share_storage`
    dtype       what its matrices are rounded to
    """

    def __init__(
        self, network: PolicyValueNetwork, parameters: torch.nn.Parameter, num_threads: int, dtype: torch.dtype
    ) -> None:
        self.parameters = parameters.detach().numpy()
        self.gradient = torch.zeros_like(parameters)
        self.places = network.places.numpy()
        self.whole = torch.zeros(len(self.places))
        self.rounded = self.whole if dtype == torch.float32 else self.whole.to(dtype)
        self.matrices = network.cut(self.rounded)
        self.by_matrices = torch.zeros(num_threads, len(self.places))
        self.shares = [Share(network, row) for row in self.by_matrices]

    def compute(
        self, pool: ThreadPoolExecutor, data: dict[str, np.ndarray], rows: np.ndarray, settings: LossSettings
    ) -> tuple[float, np.ndarray]:
        """Write `gradient`, for some rows of the data; returns its norm and the sums of STATS.

        The pool takes all shares but the first, which is this thread's.
        """
        spread_parameters(self.parameters, self.places, self.whole.numpy())
        if self.rounded is not self.whole:
            self.rounded.copy_(self.whole)
        first, *others = np.array_split(rows, len(self.shares))
        jobs = [
            pool.submit(share.compute, data, part, self.matrices, settings)
            for share, part in zip(self.shares[1:], others, strict=True)
        ]
        self.shares[0].compute(data, first, self.matrices, settings)
        for job in jobs:
            job.result()
        norm: float = collect_gradients(self.by_matrices.numpy(), self.places, self.gradient.numpy())
        return norm, np.sum([share.stats for share in self.shares], axis=0)


@kernel
def spread_parameters(parameters: Any, places: Any, whole: Any) -> None:
    """Write each number of the matrices, (P,), which is the parameter of its place."""
    for k in range(len(places)):
        whole[k] = parameters[places[k]]


@kernel
def collect_gradients(by_matrices: Any, places: Any, gradient: Any) -> float:
    """Add up the gradients (shares, P) by the matrices' numbers into those by the parameters; returns their norm."""
    gradient[:] = 0
    for k in range(len(places)):
        total = by_matrices[0, k]
        for share in range(1, len(by_matrices)):
            total += by_matrices[share, k]
        gradient[places[k]] += total
    squares = 0.0
    for number in gradient:
        squares += number * number
    return np.sqrt(squares)


@kernel
def moments(numbers: Any, rows: Any) -> tuple[float, float]:
    """The mean and the standard deviation of some of the numbers."""
    total, squares = 0.0, 0.0
    for row in rows:
        total += numbers[row]
    mean = total / len(rows)
    for row in rows:
        squares += (numbers[row] - mean) ** 2
    return mean, np.sqrt(squares / len(rows))
