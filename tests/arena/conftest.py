"""The game whose observations the networks read."""

from typing import Any

import pytest

from mandala_env import list_games, load_game
from tests.threads import one_thread  # noqa: F401


@pytest.fixture(params=list_games(), scope="session")
def game(request: pytest.FixtureRequest) -> Any:
    """Each game."""
    return load_game(request.param)
