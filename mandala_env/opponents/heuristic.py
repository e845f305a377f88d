"""The scripted opponent that each game brings along."""

import numpy as np

from mandala_env.opponents.base import Opponent


class HeuristicOpponent(Opponent):
    """Plays by the game's own `heuristic`."""

    def choose(self, observations: np.ndarray, action_masks: np.ndarray, pickers: np.ndarray) -> np.ndarray:
        """See `Opponent`."""
        actions = np.empty(len(observations), np.int64)
        self.game.heuristic(observations, action_masks, pickers, actions)
        return actions
