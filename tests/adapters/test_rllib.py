"""RLlib's new API stack plays whole games with masks, learns, and its past selves have the weights that they had."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray.rllib", reason="`make rllib` has an environment with RLlib", exc_type=ImportError)

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.utils.pre_checks.env import check_multiagent_environments

from mandala_env import load_game
from mandala_env.adapters.rllib import Seats, export, freeze, make_env, module_spec, weights_of
from mandala_env.cli import main
from mandala_env.core.batch import Batch
from mandala_env.policies.checkpoint import load_checkpoint
from mandala_env.policies.network import NetworkConfig
from tests.adapters.test_multi_agent_libraries import replay
from tests.threads import one_thread  # noqa: F401

SMALL = NetworkConfig(8, 4, 1)


@pytest.fixture(scope="module")
def algorithm() -> Iterator[Any]:
    """PPO with two processes that play."""
    ray.init(address="local", num_cpus=3, include_dashboard=False, logging_level="error", log_to_driver=False)
    config = (
        PPOConfig()
        .environment("mandala_v0", env_config={"max_turns": 30})
        .env_runners(num_env_runners=2, num_envs_per_env_runner=4, batch_mode="complete_episodes")
        .multi_agent(policies={"main"}, policy_mapping_fn=Seats(), policies_to_train=["main"])
        .rl_module(rl_module_spec=module_spec(load_game("mandala_v0", max_turns=30), SMALL))
        .training(train_batch_size=400, minibatch_size=128, num_epochs=1, lr=0.01, use_kl_loss=False)
    )
    algorithm = config.build_algo()
    yield algorithm
    algorithm.stop()
    ray.shutdown()


def is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Are two modules' weights the same numbers?"""
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_the_environment_passes_rllibs_check_and_is_the_game(module: Any) -> None:
    env = module.raw_env()
    far = make_env(env.game.id, dict(env.game.options))
    check_multiagent_environments(far)
    rng, decisions = np.random.default_rng(0), []
    observations, _ = far.reset(seed=7)
    is_over, rewards = False, {}
    while not is_over:
        ((agent, observation),) = observations.items()
        action = int(rng.choice(np.flatnonzero(observation["action_mask"])))
        decisions.append((agent, action))
        observations, rewards, terminated, _, _ = far.step({agent: action})
        is_over = terminated["__all__"]
    expected = replay(module, 7, decisions)
    assert rewards == expected.rewards
    for agent, observation in observations.items():
        np.testing.assert_array_equal(observation["observation"], expected.observe(agent)["observation"])


def test_the_module_is_our_network_and_gives_illegal_actions_no_chance() -> None:
    game = load_game("flowers_v0", num_players=3)
    spaces = make_env(game.id, dict(game.options))
    spec = module_spec(game, SMALL)
    spec.observation_space = spaces.observation_spaces["player_0"]
    spec.action_space = spaces.action_spaces["player_0"]
    module = spec.build()
    batch = Batch(game, 64, seed=1)
    for _ in range(20):
        batch.step_random()
    mask = torch.from_numpy(batch.action_masks)
    units = torch.from_numpy(game.layout.unit(batch.observations))
    inputs = {"obs": {"observation": units, "action_mask": mask.to(torch.int8)}}
    outputs = module.forward_train(inputs)
    logits, values = module.network(torch.from_numpy(batch.observations))
    assert torch.equal(outputs["action_dist_inputs"][mask], logits[mask])
    assert torch.equal(module.compute_values(inputs), values)
    assert torch.equal(module.compute_values(inputs, outputs["embeddings"]), values)
    chances = torch.softmax(outputs["action_dist_inputs"], 1)
    assert (chances[~mask] == 0).all() and torch.isfinite(outputs["action_dist_inputs"]).all()


def seating(seats: Seats, episode_id: str) -> list[str]:
    """Who plays the three seats of an episode."""
    agents = [f"player_{seat}" for seat in range(3)]
    episode = SimpleNamespace(id_=episode_id, observation_space=dict.fromkeys(agents))
    return [seats(agent, episode) for agent in agents]


def test_a_past_self_has_all_seats_but_one_in_the_share_of_episodes_that_was_asked_for() -> None:
    all_seatings = [seating(Seats(("past_0", "past_1"), share=0.3), f"{i:032x}") for i in range(3000)]
    mixed = [who for who in all_seatings if who != ["main"] * 3]
    assert abs(len(mixed) / 3000 - 0.3) < 0.04
    kinds = {tuple(who) for who in mixed}
    assert len(kinds) == 6  # each past self, the learner on each seat
    assert all(who.count("main") == 1 and len(set(who)) == 2 for who in kinds)
    assert min(mixed.count(list(who)) for who in kinds) > 90
    assert {tuple(seating(Seats(), f"{i:032x}")) for i in range(100)} == {("main",) * 3}


def test_a_past_self_keeps_the_weights_that_it_was_made_with_wherever_it_plays(algorithm: Any) -> None:
    frozen: dict[str, dict[str, Any]] = {}

    def check() -> None:
        names = ["main", *frozen]
        everywhere = algorithm.env_runner_group.foreach_env_runner(
            lambda runner: {name: runner.module[name].get_state() for name in names}
        )
        assert len(everywhere) >= 2
        for modules in (*everywhere, algorithm.learner_group.get_weights()):
            for name, weights in {**frozen, "main": weights_of(algorithm)}.items():
                assert is_same(modules[name], weights)

    algorithm.train()
    for _ in range(2):
        weights = weights_of(algorithm)
        frozen[freeze(algorithm, share=1.0)] = weights
        check()  # before anything is played
        algorithm.train()
        check()
    assert list(frozen) == ["past_0", "past_1"]
    assert not is_same(frozen["past_0"], frozen["past_1"])
    assert not is_same(weights_of(algorithm), frozen["past_1"])


def test_what_is_exported_is_what_was_learned_and_plays(
    algorithm: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export(algorithm, tmp_path / "player")
    network = load_checkpoint(tmp_path / "player", load_game("mandala_v0", max_turns=30))
    weights = {f"network.{name}": value.numpy() for name, value in network.state_dict().items()}
    assert is_same(weights, weights_of(algorithm))
    assert json.loads((tmp_path / "player" / "config.json").read_text())["training"]["library"] == "RLlib"
    main(["evaluate", str(tmp_path / "player"), "--against", "random", "--games", "8", "--option", "max_turns=30"])
    assert "random" in capsys.readouterr().out


def test_a_mapping_of_ones_own_is_not_overwritten() -> None:
    stand_in = SimpleNamespace(
        config=SimpleNamespace(policy_mapping_fn=print),
        learner_group=SimpleNamespace(get_weights=lambda ids: {"main": {}}),
    )
    with pytest.raises(ValueError, match=r"expected policy_mapping_fn=Seats\(\)"):
        freeze(stand_in)
