"""A Batch as stable-baselines3's VecEnv: what the library's learners need to know of the games.

The observation is that of the player to decide; the reward is the result for the player who just decided. `SelfPlayPPO`
takes its spaces and its number of games from here and collects by itself.
"""

import numpy as np

from mandala_env.adapters.sb3 import BatchVecEnv
from mandala_env.core.batch import Batch
from mandala_env.core.game import Game


class SelfPlayVecEnv(BatchVecEnv):
    """N games played against oneself."""

    def __init__(self, game: Game, num_games: int, seed: int) -> None:
        super().__init__(game, num_games)
        self.batch = Batch(game, num_games, seed)

    def reset(self) -> np.ndarray:
        """The observations of the games as they stand."""
        return self.game.layout.unit(self.batch.observations)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict]]:
        """Carry out the actions; a finished game is dealt anew at once."""
        players = self.batch.players
        payoffs, ended = self.batch.step(np.asarray(self._actions))
        rewards = payoffs[np.arange(self.num_envs), players]
        return self.game.layout.unit(self.batch.observations), rewards, ended, [{} for _ in range(self.num_envs)]

    def action_masks(self) -> np.ndarray:
        """The legal actions, (N, A) bool."""
        return self.batch.action_masks
