"""A network whose numbers say nothing, or too much, still plays by the rules, and what it advises can be shown."""

import json
from typing import Any

import numpy as np
import pytest

from mandala_env.core.batch import Batch
from mandala_env.opponents.advice import advise
from mandala_env.opponents.base import Opponent
from mandala_env.opponents.checkpoint import NetworkOpponent
from mandala_env.opponents.search import SearchOpponent
from tests.sampling import decisions, make_network

ODD = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e9, -1e9, 0.0]


class OddOpponent(NetworkOpponent):
    """Says one number for everything, or for each something else."""

    def __init__(self, game: Any, value: float | None, temperature: float = 0.0) -> None:
        super().__init__(game, 0, make_network(game), temperature)
        self.value, self.rng = value, np.random.default_rng(0)

    def evaluate(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Odd logits and values."""
        shape = len(observations), len(self.game.actions)
        logits = self.rng.choice(ODD, shape) if self.value is None else np.full(shape, self.value)
        return logits.astype(np.float32), logits[:, 0].astype(np.float32)


@pytest.fixture(params=[*ODD, None], ids=str)
def odd(request: pytest.FixtureRequest) -> float | None:
    """What the network says; None for something else each time."""
    return request.param


@pytest.mark.parametrize("kind", ["greedy", "sampling", "search"])
def test_the_action_is_legal_whatever_the_network_says(game: Any, odd: float | None, kind: str) -> None:
    player: Opponent = OddOpponent(game, odd, temperature=0.01 if kind == "sampling" else 0.0)
    if kind == "search":
        player = SearchOpponent(game, 0, player, simulations=6)
    observations, masks = decisions(game, 10, 4)
    with np.errstate(all="ignore"):
        actions = player.act(observations, masks)
    assert masks[np.arange(len(masks)), actions].all()


def test_advice_is_a_probability_for_each_legal_action_whatever_the_network_says(game: Any, odd: float | None) -> None:
    batch = Batch(game, 8, 3)
    for state in batch.states:
        advice = advise(OddOpponent(game, odd), state)
        json.dumps([advice.choices, advice.value], allow_nan=False)
        assert sorted(action for action, _ in advice.choices) == game.legal_actions(state)
        assert sum(chance for _, chance in advice.choices) == pytest.approx(1)
        if odd is not None:
            assert len({chance for _, chance in advice.choices}) == 1, "equal logits are equally likely"
