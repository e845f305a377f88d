"""A policy that stable-baselines3 saved as an opponent."""

from pathlib import Path
from typing import Any

import numpy as np

from mandala_env.core.game import Game
from mandala_env.opponents.checkpoint import LogitsOpponent
from mandala_env.policies.sb3_zip import load_sb3_zip


class Sb3Opponent(LogitsOpponent):
    """Plays a zip with an MlpPolicy; `load_opponent("sb3:FILE.zip,temperature=1")`.

    It must have been trained on the observations of this game as the environments give them, scaled to [0, 1] and
    nothing else: what a VecNormalize did is not in the zip.

    activation   overrules what the file says: "tanh", "relu", ...
    temperature  0: the most likely action; above 0: sampled from softmax(logits / temperature)
    """

    def __init__(
        self,
        game: Game,
        seed: int | None,
        path: str | Path | None = None,
        activation: str | None = None,
        temperature: Any = 0.0,
    ) -> None:
        if path is None:
            raise ValueError("sb3: expected a file, as in 'sb3:FILE.zip'")
        super().__init__(game, seed, temperature)
        self.actor = load_sb3_zip(path, game, activation)

    def logits(self, observations: np.ndarray) -> np.ndarray:
        """See `LogitsOpponent`."""
        return self.actor.logits(self.game.layout.unit(observations))
