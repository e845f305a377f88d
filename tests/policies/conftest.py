"""The game whose observations the networks read, and observations of it."""

from typing import Any

import numpy as np
import pytest

from mandala_env import list_games, load_game
from tests.contract.playing import walk
from tests.threads import one_thread  # noqa: F401


@pytest.fixture(params=list_games(), scope="session")
def game(request: pytest.FixtureRequest) -> Any:
    """Each game."""
    return load_game(request.param)


@pytest.fixture(scope="session")
def seen(game: Any) -> np.ndarray:
    """What every seat sees in random games, whoever decides, in every phase, the end included."""
    states = [
        game.copy(state)
        for seed in range(3)
        for step, state in enumerate(walk(game, seed))
        if (step + seed) % 4 == 0 or game.is_over(state)
    ]
    return np.stack([game.observe(state, player) for state in states for player in range(game.num_players)])
