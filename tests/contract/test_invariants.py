"""What must hold of every state holds in very many random games, of each game and number of players."""

import time
from typing import Any

import numpy as np
import pytest

from mandala_env import list_games, load_game
from mandala_env.core.batch import Batch
from mandala_env.registry import list_variants

from .playing import sample
from .soak import GAMES, check_states, play_games

VARIANTS = [(game_id, options) for game_id in list_games() for options in list_variants(game_id)]


@pytest.fixture(params=VARIANTS, ids=str)
def variant(request: pytest.FixtureRequest) -> Any:
    """Each game with each number of players."""
    game_id, options = request.param
    return load_game(game_id, **options)


def test_no_state_of_thousands_of_random_games_breaks_a_rule(variant: Any) -> None:
    batch = Batch(variant, 1000, seed=2, copy=False)
    num_ended = 0
    for _ in range(300):
        check_states(variant, batch.states)
        num_ended += int(batch.step_random()[1].sum())
    assert num_ended > 1000
    check_states(variant, np.array(sample(variant)))  # with the ends, in the place of which a batch has new games


@pytest.mark.slow
def test_no_state_of_millions_of_random_games_breaks_a_rule(variant: Any) -> None:
    started = time.perf_counter()
    counts = play_games(variant, GAMES, seed=1)
    assert counts["longest_game"] <= variant.options["max_turns"]
    print(f"\n{variant.id}, {variant.num_players} players: {GAMES:,} games, {counts}, "
          f"{time.perf_counter() - started:.0f} s")  # fmt: skip
