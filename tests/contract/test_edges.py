"""What is asked of a game or a batch that cannot be answered is refused, and nothing changes."""

from typing import Any

import numpy as np
import pytest

from mandala_env import load_game
from mandala_env.core.batch import Batch
from tests.contract.playing import shown, walk


@pytest.mark.parametrize("seat", [-1, 9, "0", 1.0, None])
def test_only_seats_of_the_game_have_a_view(game: Any, seat: Any) -> None:
    state = game.deal(1)
    with pytest.raises(ValueError, match="player must be a seat from 0 to"):
        game.observe(state, seat)
    with pytest.raises(ValueError, match="player must be a seat from 0 to"):
        Batch(game, 2, 0).observe(seat)
    if seat is not None:  # for None all hands are shown
        with pytest.raises(ValueError, match="player must be a seat from 0 to"):
            game.render(state, seat)


def test_an_observation_of_another_form_is_not_imagined(game: Any) -> None:
    obs = game.observe(game.deal(1), 0)
    for wrong in (obs[:3], obs.astype(np.int64), obs[None], game.layout.unit(obs)):
        with pytest.raises(ValueError, match="expected an int8 observation of shape"):
            game.imagine(wrong, 0)


def test_a_batch_takes_no_states_in_which_nothing_is_to_decide(game: Any) -> None:
    *_, ended = (game.copy(state) for state in walk(game, 3))
    batch = Batch(game, 2, 0)
    before = shown(batch)
    states = batch.states.copy()
    states[1] = ended
    with pytest.raises(ValueError, match="state 1 is over"):
        batch.set_states(states)
    with pytest.raises(ValueError, match="expected 2 states"):
        batch.set_states(states[:1])
    assert all(np.array_equal(value, before[name]) for name, value in shown(batch).items())


@pytest.mark.parametrize("value", [True, 400.0, "400", None, 0, 10_000])
def test_an_option_is_checked_also_when_an_equal_one_was_right(value: Any) -> None:
    load_game("mandala_v0", max_turns=400)
    load_game("mandala_v0", max_turns=1)
    with pytest.raises(ValueError, match="max_turns must be a whole number from 1 to 9999"):
        load_game("mandala_v0", max_turns=value)
