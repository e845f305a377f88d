"""The passes of any network on a CPU, forward and backward, faster than plain torch: where time counts.

A network in plain torch says what the result is; tests hold the two against each other.
"""

import threading
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np

from mandala_env.policies.base import Matrices, PolicyValueNetwork
from mandala_env.policies.memory import Memory
from mandala_env.policies.mlp import MLPNetwork, MLPPasses
from mandala_env.policies.symmetric import SymmetricNetwork
from mandala_env.policies.symmetric_passes import SymmetricPasses


class Passes(Protocol):
    """The passes of a network over some observations at a time, from one to a few thousand, in one thread.

    chunk  so many observations at a time are fastest where there are more: with fewer, threads that work side by side
           wait for each other between the operations; with more, activations leave the processor's cache
    """

    chunk: int

    def forward(self, observations: np.ndarray, matrices: Matrices, logits: np.ndarray, values: np.ndarray) -> None:
        """Write logits (n, A) and values (n,), both float32, of observations (n, F) int8.

        matrices  the network's, see `PolicyValueNetwork.matrices`, without a gradient
        """

    def backward(self, to_logits: np.ndarray, to_values: np.ndarray, matrices: Matrices, gradients: Matrices) -> None:
        """Add to the gradients those of a function whose gradients by the last forward pass's outputs are given.

        to_logits (n, A), to_values (n,) float32; gradients: float32, cut like the matrices (`PolicyValueNetwork.cut`)
        """


def make_passes(network: PolicyValueNetwork, memory: Memory | None = None) -> Passes:
    """The passes of networks like this one.

    memory  where activations may lie from a forward pass until the backward pass; their own if none is given
    """
    if isinstance(network, MLPNetwork):
        return MLPPasses(network, memory)
    if isinstance(network, SymmetricNetwork):
        return SymmetricPasses(network, memory)
    raise TypeError(f"there are no passes for a {type(network).__name__}")


class _OfThisThread(threading.local):
    def __init__(self) -> None:
        self.memory = Memory()
        self.passes: WeakKeyDictionary[PolicyValueNetwork, Passes] = WeakKeyDictionary()


_of_this_thread = _OfThisThread()


def evaluate(
    network: PolicyValueNetwork, matrices: Matrices, observations: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Logits (n, A) and values (n,), float32, of any number of observations (n, F) int8.

    Raises ValueError for another shape: compiled code would read what is not theirs.
    """
    if observations.ndim != 2 or observations.shape[1] != network.num_features:
        raise ValueError(f"expected observations of shape (n, {network.num_features}), not {observations.shape}")
    mine = _of_this_thread
    passes = mine.passes.get(network) or mine.passes.setdefault(network, make_passes(network, mine.memory))
    logits = np.empty((len(observations), network.num_actions), np.float32)
    values = np.empty(len(observations), np.float32)
    for start in range(0, len(observations), passes.chunk):
        part = slice(start, start + passes.chunk)
        passes.forward(observations[part], matrices, logits[part], values[part])
    return logits, values
