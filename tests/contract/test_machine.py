"""Games that hypothesis plays: it chooses where to begin and each step, on which engine and slow model must agree."""

import json
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mandala_env import list_games, load_game

from .conftest import VARIANTS


class GameMachine(RuleBasedStateMachine):
    """A game beside the model of its rules; tests/<game>/test_model.py says where to begin and what it is to agree.

    The starts are near-empty decks, second run-outs, rivers with five colours, hands of half the deck, last turns, ...
    """

    game_id: str

    @initialize(data=st.data(), chance=st.randoms(use_true_random=False), seed=st.integers(0, 2**32))
    def begin(self, data: Any, chance: Any, seed: int) -> None:
        """Begin in any position."""
        self.tests = import_module(f"tests.{self.game_id.partition('_')[0]}.test_model")
        self.game = load_game(self.game_id, **data.draw(st.sampled_from(VARIANTS[self.game_id])))
        self.position = self.tests.any_start(self.game, chance)
        self.state = self.game.from_position(self.position, seed)

    @precondition(lambda self: not self.game.is_over(self.state))
    @rule(number=st.integers(0, 2**16))
    def act(self, number: int) -> None:
        """Carry out any legal action."""
        legal = self.game.legal_actions(self.state)
        action = self.game.actions.text(legal[number % len(legal)])
        self.position = self.tests.follow(self.game, self.state, self.position, action)

    @rule(seed=st.integers(0, 2**32))
    def save_and_load(self, seed: int) -> None:
        """Go on with what was written down, under another seed."""
        again = self.game.from_position(json.loads(json.dumps(self.position)), seed)
        for seat in range(self.game.num_players):
            assert np.array_equal(self.game.observe(again, seat), self.game.observe(self.state, seat))
        self.state = again

    @rule(seed=st.integers(0, 2**32))
    def imagine(self, seed: int) -> None:
        """What any seat takes to be possible looks the same to it, and has the same legal actions if it is to move."""
        for seat in range(self.game.num_players):
            seen = self.game.observe(self.state, seat)
            imagined = self.game.imagine(seen, seed)
            assert np.array_equal(self.game.observe(imagined, 0), seen)
            if self.game.player(self.state) == seat:
                assert self.game.legal_actions(imagined) == self.game.legal_actions(self.state)

    @invariant()
    def engine_and_model_agree(self) -> None:
        assert self.game.position(self.state) == self.position
        self.tests.agreed_actions(self.game, self.state, self.position)


@pytest.mark.parametrize("examples", [10, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("game_id", list_games())
def test_engine_and_model_agree_whatever_hypothesis_plays(game_id: str, examples: int) -> None:
    machine = type("Machine", (GameMachine,), {"game_id": game_id})
    run_state_machine_as_test(machine, settings=settings(max_examples=examples, stateful_step_count=40))
