"""One thread, and games as small as they can be."""

from typing import Any

import pytest

from mandala_env import load_game
from tests.threads import one_thread  # noqa: F401


@pytest.fixture(scope="session")
def game() -> Any:
    """The game that is trained."""
    return load_game("mandala_v0")


@pytest.fixture(autouse=True)
def few_final_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure the trained player in seconds."""
    monkeypatch.setattr("training.train.FINAL_GAMES", 20)
