"""Advantages against recursions written per seat, and the loss's gradient against autograd."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mandala_env.core.actions import num_words
from training.loss import STATS, advantages_of_seats, ppo_gradient


def gae(
    values: Any, players: Any, payoffs: Any, ended: Any, last_values: Any, gamma: float = 1.0, lam: float = 1.0
) -> np.ndarray:
    """The kernel's advantages for lists or arrays."""
    values, payoffs = np.array(values, np.float32), np.array(payoffs, np.float32)
    advantages = np.full(values.shape, np.nan, np.float32)
    advantages_of_seats(
        values, np.array(players, np.int8), payoffs, np.array(ended, bool), np.array(last_values, np.float32), gamma,
        lam, advantages,
    )  # fmt: skip
    return advantages


def test_two_players_by_hand() -> None:
    # Seat 0 decides, then seat 1 twice running, who wins with that; then a new game of which seat 1 has decided once.
    advantages = gae(
        values=[[0.1], [0.2], [0.4], [-0.3]],
        players=[[0], [1], [1], [1]],
        payoffs=[[[0, 0]], [[0, 0]], [[-1, 1]], [[0, 0]]],
        ended=[[False], [False], [True], [False]],
        last_values=[[0.5, -0.5]],
        gamma=0.9,
        lam=0.5,
    )
    last = 0.9 * -0.5 - -0.3
    third = 1 - 0.4
    second = 0.9 * 0.4 - 0.2 + 0.45 * third
    first = 0.9 * -0.2 - 0.1 + 0.45 * -second
    np.testing.assert_allclose(advantages[:, 0], [first, second, third, last], rtol=1e-5)


def test_three_players_by_hand() -> None:
    # Seats 0, 1, 2 decide in turn; seat 2's decision ends the game, which seat 0 wins.
    advantages = gae(
        values=[[0.1], [0.2], [0.3]],
        players=[[0], [1], [2]],
        payoffs=[[[0] * 3], [[0] * 3], [[1, -0.5, -0.5]]],
        ended=[[False], [False], [True]],
        last_values=[[0.7, 0.7, 0.7]],
        gamma=0.5,
        lam=0.5,
    )
    np.testing.assert_allclose(advantages[:, 0], [1 - 0.1, -0.5 - 0.2, -0.5 - 0.3], rtol=1e-5)


def random_stream(seed: int, num_players: int, num_steps: int, num_games: int) -> dict[str, np.ndarray]:
    """Decisions of random seats in games that end at random."""
    rng = np.random.default_rng(seed)
    ended = rng.random((num_steps, num_games)) < 0.2
    payoffs = rng.normal(size=(num_steps, num_games, num_players))
    payoffs -= payoffs.mean(axis=2, keepdims=True)  # what one wins the others lose
    last = rng.normal(size=(num_games, num_players))
    return {
        "values": rng.normal(size=(num_steps, num_games)),
        "players": rng.integers(num_players, size=(num_steps, num_games)),
        "payoffs": payoffs * ended[:, :, None],
        "ended": ended,
        "last_values": last - last.mean(axis=1, keepdims=True),
    }


def flipped_reference(d: dict[str, np.ndarray], gamma: float, lam: float) -> np.ndarray:
    """Two players: the sum of discounted TD errors of all later decisions, each seen from the decider's side."""
    num_steps, num_games = d["values"].shape
    result = np.zeros((num_steps, num_games))
    for game in range(num_games):
        for start in range(num_steps):
            me = d["players"][start, game]
            for t in range(start, num_steps):
                mover = d["players"][t, game]
                if d["ended"][t, game]:
                    after = d["payoffs"][t, game, mover]
                elif t + 1 < num_steps:
                    same = d["players"][t + 1, game] == mover
                    after = gamma * d["values"][t + 1, game] * (1 if same else -1)
                else:
                    after = gamma * d["last_values"][game, mover]
                error = after - d["values"][t, game]
                result[start, game] += (gamma * lam) ** (t - start) * error * (1 if mover == me else -1)
                if d["ended"][t, game]:
                    break
    return result


def per_seat_reference(d: dict[str, np.ndarray], gamma: float, lam: float) -> np.ndarray:
    """Textbook generalised advantage estimation along each seat's own decisions of each game."""
    num_steps, num_games = d["values"].shape
    result = np.zeros((num_steps, num_games))
    for game in range(num_games):
        for seat in range(d["payoffs"].shape[2]):
            episodes: list[tuple[list[int], int | None]] = []
            current: list[int] = []
            for t in range(num_steps):
                if d["players"][t, game] == seat:
                    current.append(t)
                if d["ended"][t, game]:
                    episodes.append((current, t))
                    current = []
            episodes.append((current, None))
            for steps, end in episodes:
                values = [d["values"][t, game] for t in steps]
                rewards = [0.0] * len(steps)
                if end is not None and steps:
                    rewards[-1] = d["payoffs"][end, game, seat]
                values.append(0.0 if end is not None else d["last_values"][game, seat])
                advantage = 0.0
                for k in reversed(range(len(steps))):
                    error = rewards[k] + gamma * values[k + 1] - values[k]
                    advantage = error + gamma * lam * advantage
                    result[steps[k], game] = advantage
    return result


@pytest.mark.parametrize(("num_players", "reference"), [(2, flipped_reference), (3, per_seat_reference)])
@given(
    seed=st.integers(0, 10**6),
    num_steps=st.integers(1, 25),
    gamma=st.sampled_from([1.0, 0.9, 0.0]),
    lam=st.sampled_from([1.0, 0.95, 0.5, 0.0]),
)
@settings(max_examples=60, deadline=None)
def test_advantages_equal_a_slow_reference(
    num_players: int, reference: Any, seed: int, num_steps: int, gamma: float, lam: float
) -> None:
    stream = random_stream(seed, num_players, num_steps, 3)
    np.testing.assert_allclose(gae(**stream, gamma=gamma, lam=lam), reference(stream, gamma, lam), atol=2e-4)


def test_with_two_players_the_textbook_agrees_when_nothing_is_left_to_estimate() -> None:
    stream = random_stream(5, 2, 30, 4)
    stream["ended"][-1] = True
    np.testing.assert_allclose(gae(**stream), per_seat_reference(stream, 1, 1), atol=1e-4)


# --- the loss --------------------------------------------------------------------------------------------------------


def random_minibatch(seed: int, num: int, num_actions: int) -> dict[str, Any]:
    """Decisions with random legal sets, old probabilities near the new ones, and some of them far off."""
    rng = np.random.default_rng(seed)
    masks = rng.random((num, num_actions)) < 0.3
    masks[np.arange(num), rng.integers(num_actions, size=num)] = True
    logits = (rng.normal(size=(num, num_actions)) * 2).astype(np.float32)
    log_probs = torch.from_numpy(np.where(masks, logits, -np.inf)).log_softmax(1).numpy()
    actions = (masks * rng.random(masks.shape)).argmax(axis=1)
    old = log_probs[np.arange(num), actions] + rng.normal(size=num) * rng.choice([0.05, 0.6], size=num)
    words = np.zeros((num, num_words(num_actions)), np.uint64)
    for action in range(num_actions):
        words[:, action // 64] |= masks[:, action].astype(np.uint64) << np.uint64(action % 64)
    return {
        "logits": logits,
        "values": rng.normal(size=num).astype(np.float32),
        "masks": masks,
        "words": words,
        "actions": actions,
        "old": old.astype(np.float32),
        "advantages": rng.normal(size=num).astype(np.float32),
        "returns": rng.normal(size=num).astype(np.float32),
    }


def by_autograd(
    b: dict[str, Any], clip: float, entropy_coef: float, value_coef: float, scale: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Masked PPO as it is usually written, in float64."""
    logits = torch.from_numpy(b["logits"]).double().requires_grad_()
    values = torch.from_numpy(b["values"]).double().requires_grad_()
    old, advantages, returns = (torch.from_numpy(b[name]).double() for name in ("old", "advantages", "returns"))
    masks = torch.from_numpy(b["masks"])
    masked = torch.where(masks, logits, torch.tensor(-1e9, dtype=torch.float64))
    distribution = torch.distributions.Categorical(logits=masked)
    log_probs = distribution.log_prob(torch.from_numpy(b["actions"]))
    probs = torch.where(masks, distribution.probs, 0)
    entropy = -(probs * torch.where(masks, distribution.logits, 0)).sum(1)
    ratio = (log_probs - old).exp()
    policy_loss = -torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)
    value_loss = (values - returns) ** 2
    (scale * (policy_loss - entropy_coef * entropy + value_coef * value_loss).sum()).backward()
    stats = [policy_loss, value_loss, entropy, (ratio - 1) - (log_probs - old), ((ratio - 1).abs() > clip).double()]
    return logits.grad.numpy(), values.grad.numpy(), np.array([stat.sum().item() for stat in stats])


def by_kernel(
    b: dict[str, Any], clip: float, entropy_coef: float, value_coef: float, scale: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by the kernel."""
    to_logits, to_values = np.full_like(b["logits"], np.nan), np.full_like(b["values"], np.nan)
    stats = np.zeros(len(STATS))
    ppo_gradient(
        b["logits"], b["values"], b["words"], b["actions"], b["old"], b["advantages"], b["returns"], clip,
        entropy_coef, value_coef, scale, to_logits, to_values, stats,
    )  # fmt: skip
    return to_logits, to_values, stats


@given(
    seed=st.integers(0, 10**6),
    num=st.integers(1, 40),
    num_actions=st.sampled_from([1, 2, 63, 64, 65, 150]),
    clip=st.sampled_from([0.05, 0.2, 0.5]),
    entropy_coef=st.sampled_from([0.0, 0.01, 1.0]),
    value_coef=st.sampled_from([0.0, 0.5]),
)
@settings(max_examples=80, deadline=None)
def test_the_gradient_is_that_of_autograd(
    seed: int, num: int, num_actions: int, clip: float, entropy_coef: float, value_coef: float
) -> None:
    b = random_minibatch(seed, num, num_actions)
    for fast, slow in zip(
        by_kernel(b, clip, entropy_coef, value_coef, 1 / num),
        by_autograd(b, clip, entropy_coef, value_coef, 1 / num),
        strict=True,
    ):
        np.testing.assert_allclose(fast, slow, atol=1e-4, rtol=1e-3)


def test_illegal_actions_have_no_gradient_and_no_say() -> None:
    b = random_minibatch(1, 50, 150)
    settings_ = (0.2, 0.01, 0.5, 1.0)
    to_logits, _, stats = by_kernel(b, *settings_)
    assert (to_logits[~b["masks"]] == 0).all() and (to_logits[b["masks"]] != 0).mean() > 0.5
    for wild in (np.nan, np.inf, 1e30):
        other_logits, _, other_stats = by_kernel(
            b | {"logits": np.where(b["masks"], b["logits"], np.float32(wild))}, *settings_
        )
        np.testing.assert_array_equal(other_logits, to_logits)
        np.testing.assert_array_equal(other_stats, stats)


def test_sums_are_added_to_what_is_there() -> None:
    b = random_minibatch(2, 10, 20)
    stats = np.ones(len(STATS))
    outputs = np.empty_like(b["logits"]), np.empty_like(b["values"])
    arguments = [b[name] for name in ("logits", "values", "words", "actions", "old", "advantages", "returns")]
    ppo_gradient(*arguments, 0.2, 0.0, 0.5, 1.0, *outputs, stats)
    np.testing.assert_allclose(stats - 1, by_kernel(b, 0.2, 0.0, 0.5, 1.0)[2], rtol=1e-9)
