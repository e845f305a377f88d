"""TorchRL and Tianshou play whole games of the PettingZoo environments with masks, for every number of players."""

import warnings
from typing import Any

import numpy as np
import pytest


def replay(module: Any, seed: int, decisions: list[tuple[str, int]]) -> Any:
    """The same decisions in an environment of our own, which raises for an illegal action; who decides must agree."""
    env = module.raw_env()
    env.reset(seed=seed)
    for agent, action in decisions:
        assert env.agent_selection == agent
        env.step(action)
    assert all(env.terminations.values())
    return env


def test_torchrl_plays_whole_games_with_masks(module: Any) -> None:
    pytest.importorskip("torchrl", reason="needs the extra torchrl")
    import torch
    from torchrl.envs.libs.pettingzoo import PettingZooWrapper
    from torchrl.envs.utils import check_env_specs

    env = PettingZooWrapper(env=module.raw_env(), use_mask=True, return_state=True)
    agents = env.possible_agents
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        check_env_specs(env)
        rollout = env.rollout(10_000, auto_reset=False, tensordict=env.reset(seed=7))
    decisions = []
    for step in rollout:
        (acting,) = [agent for agent in agents if step[agent, "mask"].item()]
        action = int(step[acting, "action"])
        assert step[acting, "action_mask"][0, action]
        decisions.append((acting, action))
    last = rollout[-1]["next"]
    expected = replay(module, 7, decisions)
    for agent in agents:
        assert last[agent, "terminated"].all()
        assert last[agent, "reward"].item() == pytest.approx(expected.rewards[agent])
        np.testing.assert_array_equal(
            last[agent, "observation", "observation"][0], expected.observe(agent)["observation"]
        )
    np.testing.assert_array_equal(last["state"], expected.state())


def test_tianshou_plays_whole_games_with_masks(module: Any) -> None:
    pytest.importorskip("tianshou", reason="needs the extra tianshou")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tianshou.algorithm.multiagent.marl import MultiAgentPolicy
        from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
        from tianshou.data import Collector, VectorReplayBuffer
        from tianshou.env import DummyVectorEnv
        from tianshou.env.pettingzoo_env import PettingZooEnv

    envs = DummyVectorEnv([lambda: PettingZooEnv(module.raw_env()) for _ in range(2)])
    one = PettingZooEnv(module.raw_env())
    random = MARLRandomDiscreteMaskedOffPolicyAlgorithm.Policy
    policy = MultiAgentPolicy({agent: random(one.action_space) for agent in one.agents})
    buffer = VectorReplayBuffer(20_000, 2)
    collector = Collector(policy, envs, buffer)
    collector.reset(gym_reset_kwargs={"seed": 7})
    collector.collect(n_episode=2)
    for part in buffer.buffers:
        games = part[: len(part)]
        assert games.obs.mask[np.arange(len(games)), games.act].all()
        stop = int(np.flatnonzero(games.terminated)[0]) + 1
        expected = replay(
            module, 7, list(zip(games.obs.agent_id[:stop].tolist(), games.act[:stop].tolist(), strict=True))
        )
        np.testing.assert_allclose(games.rew[stop - 1], [expected.rewards[agent] for agent in one.agents])
