"""A Batch as stable-baselines3's VecEnv: what the library's learners need to know of the games.

The observation is that of the player to decide; the reward is the result for the player who just decided. `SelfPlayPPO`
takes its spaces and its number of games from here and collects by itself.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from mandala_env.core.batch import Batch
from mandala_env.core.game import Game


def game_spaces(game: Game) -> tuple[spaces.Box, spaces.Discrete]:
    """The spaces of one seat: observations scaled to [0, 1], and action ids."""
    return spaces.Box(0.0, 1.0, (game.layout.size,), np.float32), spaces.Discrete(len(game.actions))


class SelfPlayVecEnv(VecEnv):
    """N games played against oneself."""

    render_mode = None

    def __init__(self, game: Game, num_games: int, seed: int) -> None:
        super().__init__(num_games, *game_spaces(game))
        self.game, self.batch = game, Batch(game, num_games, seed)
        self._actions: np.ndarray | None = None

    def reset(self) -> np.ndarray:
        """The observations of the games as they stand."""
        return self.game.layout.unit(self.batch.observations)

    def step_async(self, actions: np.ndarray) -> None:
        """Remember the actions."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict]]:
        """Carry out the actions; a finished game is dealt anew at once."""
        players = self.batch.players
        payoffs, ended = self.batch.step(np.asarray(self._actions))
        rewards = payoffs[np.arange(self.num_envs), players]
        return self.game.layout.unit(self.batch.observations), rewards, ended, [{} for _ in range(self.num_envs)]

    def action_masks(self) -> np.ndarray:
        """The legal actions, (N, A) bool."""
        return self.batch.action_masks

    def close(self) -> None:
        """Nothing is held open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of this object, once for each of the games asked for."""
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Games have no attributes of their own."""
        raise AttributeError(f"cannot set {attr_name!r}: the games share one batch")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """`action_masks`, one row for each game; there is no other."""
        if method_name != "action_masks":
            raise AttributeError(f"no method {method_name!r}; there is action_masks")
        return list(self.batch.action_masks[self._get_indices(indices)])

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> Sequence[bool]:
        """Nothing is wrapped."""
        return [False for _ in self._get_indices(indices)]
