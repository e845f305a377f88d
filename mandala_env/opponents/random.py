"""The opponent that takes any legal action."""

from typing import Any

import numpy as np

from mandala_env.core.jit import kernel
from mandala_env.core.rng import below
from mandala_env.opponents.base import Opponent


class RandomOpponent(Opponent):
    """Every legal action with the same probability."""

    def choose(self, observations: np.ndarray, action_masks: np.ndarray, pickers: np.ndarray) -> np.ndarray:
        """See `Opponent`."""
        actions = np.empty(len(observations), np.int64)
        _pick(action_masks, pickers, actions)
        return actions


@kernel
def _pick(masks: Any, pickers: Any, actions: Any) -> None:
    for i in range(len(masks)):
        skip = below(pickers[i], masks[i].sum())
        for action in range(masks.shape[1]):
            if masks[i, action]:
                if skip == 0:
                    actions[i] = action
                    break
                skip -= 1
