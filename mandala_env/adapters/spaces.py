"""The spaces of one seat, as Gymnasium describes them."""

from typing import Any

import numpy as np
from gymnasium import spaces

from mandala_env.core.game import Game


class ActionSpace(spaces.Discrete):
    """Action ids 0..A-1, sampled by mask eight times as fast as `Discrete` does, and never without a legal action."""

    def sample(self, mask: np.ndarray | None = None, **kwargs: Any) -> np.int64:
        """A random action that the mask, int8 (A,), allows; a mask of zeros is a ValueError: nothing is to decide."""
        if mask is None or kwargs or getattr(mask, "shape", None) != (self.n,) or mask.dtype != np.int8:
            return super().sample(mask, **kwargs)
        legal = mask.nonzero()[0]
        if not len(legal):
            raise ValueError("the action mask allows nothing: it is not this agent's move")
        return legal[self.np_random.integers(len(legal))]


def action_space(game: Game) -> ActionSpace:
    """Action ids."""
    return ActionSpace(len(game.actions))


def observation_box(game: Game) -> spaces.Box:
    """What a seat knows, scaled to [0, 1]."""
    return spaces.Box(0.0, 1.0, (game.layout.size,), np.float32)


def observation_dict(game: Game) -> spaces.Dict:
    """What a seat knows, and what it may do."""
    mask = spaces.Box(0, 1, (len(game.actions),), np.int8)
    return spaces.Dict([("observation", observation_box(game)), ("action_mask", mask)])  # a dict would be sorted
