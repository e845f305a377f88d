"""The learner behind the library's interface chooses among the legal actions only, whatever its logits are."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mandala_env.core.batch import Batch
from tests.training.tiny import make_model
from training.policy import among_legal

NUM_ACTIONS = 9
odd = st.sampled_from([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e9, -1e9, 1e30, 0.0, 1.0, -7.0])


@given(st.lists(odd, min_size=NUM_ACTIONS, max_size=NUM_ACTIONS), st.sets(st.integers(0, NUM_ACTIONS - 1), min_size=1))
def test_logits_among_the_legal_are_finite_and_the_best_legal_one_is_0(logits: list[float], legal: set[int]) -> None:
    masks = torch.isin(torch.arange(NUM_ACTIONS), torch.tensor(sorted(legal)))[None]
    found = among_legal(torch.tensor([logits]), masks)
    assert torch.isfinite(found).all()
    assert found[masks].max() == 0 >= found.max() and (found[~masks] < -1e5).all()


def test_logits_among_the_legal_have_the_softmax_over_the_legal() -> None:
    logits, masks = torch.randn(50, NUM_ACTIONS, generator=torch.Generator().manual_seed(1)) * 3, torch.ones(50, 9) > 0
    masks[:, 2:5] = False
    expected = logits.masked_fill(~masks, -torch.inf).softmax(1)
    torch.testing.assert_close(among_legal(logits, masks).softmax(1), expected)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e9, -1e9, 0.0])
@pytest.mark.parametrize("deterministic", [False, True])
def test_the_learner_predicts_legal_actions_with_odd_logits(
    game: Any, monkeypatch: pytest.MonkeyPatch, value: float, deterministic: bool
) -> None:
    model, batch = make_model(game), Batch(game, 64, 1)
    units, masks = game.layout.unit(batch.observations), batch.action_masks
    favours_illegal = torch.where(torch.from_numpy(masks), torch.tensor(value), torch.tensor(1e9))
    for logits in (torch.full(masks.shape, value), favours_illegal):
        monkeypatch.setattr(model.policy, "evaluate", lambda obs, logits=logits: (logits, torch.zeros(len(obs))))
        with torch.random.fork_rng(devices=[]):
            actions, _ = model.predict(units, deterministic=deterministic, action_masks=masks)
        assert masks[np.arange(len(masks)), actions].all()
        distribution = model.policy.get_distribution(torch.from_numpy(units), masks)
        assert torch.isfinite(distribution.entropy()).all()
        assert torch.isfinite(distribution.log_prob(torch.from_numpy(actions))).all()


def test_the_learner_is_not_asked_where_nothing_is_legal(game: Any) -> None:
    model, batch = make_model(game), Batch(game, 2, 1)
    masks = batch.action_masks.copy()
    masks[1] = False
    with pytest.raises(ValueError, match="no legal action"):
        model.predict(game.layout.unit(batch.observations), action_masks=masks)
