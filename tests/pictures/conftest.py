"""Every game with every number of players."""

from importlib import import_module
from typing import Any

import pytest

from mandala_env import list_games, load_game
from mandala_env.registry import list_variants

ALL = [(game_id, options) for game_id in list_games() for options in list_variants(game_id)]


@pytest.fixture(params=ALL, ids=[f"{game_id}{options or ''}" for game_id, options in ALL])
def game(request: pytest.FixtureRequest) -> Any:
    """Each game with each number of players."""
    game_id, options = request.param
    return load_game(game_id, **options)


@pytest.fixture
def facts(game: Any) -> Any:
    """What the tests need to know of this game."""
    return import_module(f"tests.{game.id.partition('_')[0]}.contract")
