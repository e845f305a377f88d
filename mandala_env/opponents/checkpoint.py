"""A trained network as an opponent."""

from abc import abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mandala_env.core.game import Game
from mandala_env.opponents.base import MOST_THREADS, Opponent, number, whole
from mandala_env.policies.checkpoint import load_checkpoint
from mandala_env.policies.choosing import choose_legal
from mandala_env.policies.network import PolicyValueNetwork
from mandala_env.policies.passes import evaluate
from mandala_env.threads import Threads

CHUNK = 512  # observations that one thread evaluates at a time: of a few thousand each thread gets some


class LogitsOpponent(Opponent):
    """Plays the most likely action, or samples one; a subclass writes `logits`.

    temperature  0: the most likely action; above 0: sampled from softmax(logits / temperature)
    """

    def __init__(self, game: Game, seed: int | None, temperature: float | str = 0.0) -> None:
        super().__init__(game, seed)
        self.temperature = number(temperature, "temperature", 0, 100)

    @abstractmethod
    def logits(self, observations: np.ndarray) -> np.ndarray:
        """Logits of observations (n, F), float32 (n, A) in an array of their own."""

    def choose(self, observations: np.ndarray, action_masks: np.ndarray, pickers: np.ndarray) -> np.ndarray:
        """See `Opponent`. Equal observations are evaluated once, so they get the same action whatever else is asked."""
        first, place = unique_rows(pickers["generator"])
        logits = self.logits(np.ascontiguousarray(observations[first]))
        if self.temperature > 0:
            logits /= self.temperature
        actions = np.empty(len(first), np.int64)
        masks, pickers = np.ascontiguousarray(action_masks[first]), pickers[first]
        choose_legal(logits, masks, pickers, self.temperature == 0, actions, np.empty(len(first), np.float32))
        return actions[place]


class NetworkOpponent(LogitsOpponent):
    """Plays a network.

    threads  how many share the observations of a call, 512 at a time; the answers do not depend on it
    """

    def __init__(
        self,
        game: Game,
        seed: int | None,
        network: PolicyValueNetwork,
        temperature: float | str = 0.0,
        threads: int | str = 1,
    ) -> None:
        super().__init__(game, seed, temperature)
        self.threads = whole(threads, "threads", MOST_THREADS)
        self._threads = Threads(self.threads)
        self.network = network
        with torch.no_grad():
            self._matrices = network.matrices()

    def evaluate(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logits (n, A) and values (n,) of observations (n, F)."""
        parts = split(observations)
        is_shared = min(self.threads, len(parts)) > 1
        outputs = list((self._threads.pool.map if is_shared else map)(self._evaluate_part, parts))
        if len(outputs) == 1:
            return outputs[0]
        logits, values = (np.concatenate(arrays) for arrays in zip(*outputs, strict=True))
        return logits, values

    def _evaluate_part(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return evaluate(self.network, self._matrices, observations)

    def logits(self, observations: np.ndarray) -> np.ndarray:
        """See `LogitsOpponent`."""
        return self.evaluate(observations)[0]


class CheckpointOpponent(NetworkOpponent):
    """Plays a checkpoint; `load_opponent("checkpoint:PATH,temperature=1,threads=2")`."""

    def __init__(
        self,
        game: Game,
        seed: int | None,
        path: str | Path | None = None,
        temperature: Any = 0.0,
        threads: int | str = 1,
    ) -> None:
        if path is None:
            raise ValueError("checkpoint: expected a folder, as in 'checkpoint:PATH'")
        super().__init__(game, seed, load_checkpoint(path, game), temperature, threads)


def split(observations: np.ndarray) -> list[np.ndarray]:
    """Observations in chunks."""
    return [observations[start : start + CHUNK] for start in range(0, max(1, len(observations)), CHUNK)]


def unique_rows(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of each different key, and for every row which of these it has."""
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    return first, place
