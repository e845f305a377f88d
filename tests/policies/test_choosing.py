"""Choosing among the legal actions: legal whatever the logits are, with the right frequencies and probabilities."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mandala_env.core.batch import PICKER
from mandala_env.core.rng import spread_seeds
from mandala_env.policies.choosing import choose_legal

NUM_ACTIONS = 11
odd_logits = st.sampled_from([np.nan, np.inf, -np.inf, 1e9, -1e9, 3e38, -3e38, 0.0, -0.0, 1e-45, 1.0, 1.0, 2.5, -7.0])


def pickers(num: int, seed: int = 0) -> np.recarray:
    """Random streams for some rows."""
    result = np.zeros(num, PICKER).view(np.recarray)
    result["generator"] = spread_seeds(seed, num)
    return result


def choose(logits: np.ndarray, masks: np.ndarray, greedy: bool = False, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Actions and log probabilities for rows of logits and masks."""
    actions, log_probs = np.full(len(logits), -7), np.full(len(logits), np.nan, np.float32)
    choose_legal(logits.astype(np.float32), masks, pickers(len(logits), seed), greedy, actions, log_probs)
    return actions, log_probs


def random_masks(rng: np.random.Generator, num: int, num_actions: int = NUM_ACTIONS) -> np.ndarray:
    """Masks with at least one legal action."""
    masks = rng.random((num, num_actions)) < 0.4
    masks[np.arange(num), rng.integers(num_actions, size=num)] = True
    return masks


@given(
    logits=st.lists(odd_logits, min_size=NUM_ACTIONS, max_size=NUM_ACTIONS),
    legal=st.sets(st.integers(0, NUM_ACTIONS - 1), min_size=1),
    greedy=st.booleans(),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=300, deadline=None)
def test_the_action_is_legal_whatever_the_logits_are(
    logits: list[float], legal: set[int], greedy: bool, seed: int
) -> None:
    mask = np.isin(np.arange(NUM_ACTIONS), list(legal))[None]
    actions, log_probs = choose(np.array([logits]), mask, greedy, seed)
    assert actions[0] in legal
    assert np.isfinite(log_probs[0]) and log_probs[0] <= 1e-6


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e9, 0.0])
def test_equal_logits_mean_that_every_legal_action_is_as_likely(value: float) -> None:
    num, mask = 6000, np.arange(NUM_ACTIONS) % 2 == 0
    actions, log_probs = choose(np.full((num, NUM_ACTIONS), value), np.tile(mask, (num, 1)))
    counts = np.bincount(actions, minlength=NUM_ACTIONS)
    assert counts[~mask].sum() == 0
    assert np.abs(counts[mask] - num / mask.sum()).max() < 5 * np.sqrt(num / mask.sum())
    np.testing.assert_allclose(log_probs, -np.log(mask.sum()), rtol=1e-5)


def test_an_illegal_action_has_no_say_however_high_its_logit() -> None:
    rng = np.random.default_rng(1)
    logits, masks = rng.normal(size=(200, NUM_ACTIONS)), random_masks(rng, 200)
    for wild in (np.inf, np.nan, 1e30):
        for greedy in (False, True):
            tame, other = (choose(np.where(masks, logits, value), masks, greedy) for value in (-1.0, wild))
            np.testing.assert_array_equal(tame[0], other[0])
            np.testing.assert_array_equal(tame[1], other[1])


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_samples_have_the_frequencies_of_the_softmax_over_the_legal_actions(scale: float) -> None:
    rng = np.random.default_rng(7)
    num = 40_000
    logits, mask = rng.normal(size=NUM_ACTIONS) * scale, random_masks(rng, 1)[0] | (np.arange(NUM_ACTIONS) < 4)
    probs = np.where(mask, np.exp(logits), 0) / np.exp(logits[mask]).sum()
    actions, _ = choose(np.tile(logits, (num, 1)), np.tile(mask, (num, 1)), seed=3)
    counts = np.bincount(actions, minlength=NUM_ACTIONS)
    chi_square = ((counts[mask] - num * probs[mask]) ** 2 / (num * probs[mask])).sum()
    degrees = mask.sum() - 1
    assert chi_square < degrees + 4 * np.sqrt(2 * degrees)
    assert chi_square > 0  # a sample, not a schedule


def test_greedy_takes_the_highest_legal_logit() -> None:
    rng = np.random.default_rng(2)
    logits, masks = rng.normal(size=(500, NUM_ACTIONS)) * 5, random_masks(rng, 500)
    actions, _ = choose(logits, masks, greedy=True)
    np.testing.assert_array_equal(actions, np.where(masks, logits, -np.inf).argmax(axis=1))


@pytest.mark.parametrize("greedy", [False, True])
def test_the_log_probability_is_that_of_the_action_taken(greedy: bool) -> None:
    rng = np.random.default_rng(3)
    logits, masks = rng.normal(size=(400, NUM_ACTIONS)) * 3, random_masks(rng, 400)
    actions, log_probs = choose(logits, masks, greedy)
    expected = torch.from_numpy(np.where(masks, logits, -np.inf)).log_softmax(1).numpy()
    np.testing.assert_allclose(log_probs, expected[np.arange(400), actions], atol=1e-5)


def test_a_row_depends_on_its_own_stream_only() -> None:
    rng = np.random.default_rng(4)
    logits, masks = rng.normal(size=(300, NUM_ACTIONS)).astype(np.float32), random_masks(rng, 300)
    order = rng.permutation(300)
    plain, mixed = np.empty(300, np.int64), np.empty(300, np.int64)
    choose_legal(logits, masks, pickers(300), False, plain, np.empty(300, np.float32))
    shuffled = pickers(300)[order].copy()
    choose_legal(logits[order], masks[order], shuffled, False, mixed, np.empty(300, np.float32))
    np.testing.assert_array_equal(mixed, plain[order])


def test_greedy_calls_what_differs_by_rounding_a_tie_and_takes_the_first() -> None:
    logits = np.array([[0.5, 1.0, 1.0 + 2e-6, 1.0 - 2e-6, 0.9]])
    masks = np.ones((1, 5), bool)
    for noise in ([0, 0, 0, 0, 0], [0, -3e-6, 0, 3e-6, 0], [0, 2e-6, -4e-6, 0, 0]):
        assert choose(logits + np.array(noise), masks, greedy=True)[0][0] == 1
