"""Play a PettingZoo environment and compare all that it says."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np


def legal_ids(env: Any) -> np.ndarray:
    """What the agent to move may do."""
    return np.flatnonzero(env.observe(env.agent_selection)["action_mask"])


def play(env: Any, seed: int = 0, steps: int = 10**9) -> Iterator[int]:
    """Play random legal actions until the game has ended, giving each action just before it is carried out."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        if any(env.terminations.values()):
            return
        action = int(rng.choice(legal_ids(env)))
        yield action
        env.step(action)


def play_on(env: Any, seed: int = 0, steps: int = 10**9) -> list[int]:
    """Play random legal actions and return them."""
    return list(play(env, seed, steps))


def snapshot(env: Any) -> dict[str, Any]:
    """All that an environment says at one moment, in copies."""
    agents = env.unwrapped.possible_agents
    return copy.deepcopy(
        {
            "observations": {agent: env.observe(agent) for agent in agents},
            "infos": env.infos,
            "rewards": env.rewards,
            "cumulative": env._cumulative_rewards,
            "terminations": env.terminations,
            "truncations": env.truncations,
            "agents": env.agents,
            "selection": env.agent_selection,
            "position": env.unwrapped.position(),
            "state": env.state(),
        }
    )


def is_same(one: Any, other: Any) -> bool:
    """Deep equality that can compare arrays."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return type(one) is type(other) and one == other
