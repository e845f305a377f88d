"""stable-baselines3 learns on the games with the masks that it finds by itself, as one batch and in processes."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecMonitor

from mandala_env import evaluate
from mandala_env.adapters.sb3 import LearnerVecEnv
from mandala_env.core.game import IllegalAction
from tests.adapters.learning import FORMS, is_same, make_vec, pick
from tests.threads import one_thread  # noqa: F401

N = 4


@pytest.fixture(params=list(FORMS))
def form(request: pytest.FixtureRequest) -> str:
    """Each form of each game."""
    return request.param


def make(form: str, num_envs: int = N, **kwargs: Any) -> LearnerVecEnv:
    """The VecEnv of a form."""
    return LearnerVecEnv(form.partition("-")[0], num_envs, **{"opponent": "random", **FORMS[form][1], **kwargs})


def test_the_games_are_those_of_gymnasiums_vector_environment(form: str) -> None:
    env, other = make(form), make_vec(form, N)
    env.seed(5)
    assert is_same(env.reset(), other.reset(seed=5)[0])
    rng, num_ended = np.random.default_rng(0), 0
    while num_ended < 6:
        masks = env.action_masks()
        assert is_same(masks, other.action_masks())
        actions = pick(masks, rng)
        observations, rewards, dones, infos = env.step(actions)
        other_observations, other_rewards, terminations, _, other_infos = other.step(actions)
        assert is_same(observations, other_observations) and is_same(dones, terminations)
        np.testing.assert_array_equal(rewards, other_rewards)
        for row, info in enumerate(infos):
            assert (info != {}) == dones[row]
            if info:
                assert is_same(info["terminal_observation"], other_infos["final_obs"][row])
                assert info["outcome"] == other_infos["final_info"]["outcome"][row]
        num_ended += int(dones.sum())
    assert not is_same(env.reset(), other.reset(seed=5)[0]), "the seed is used once"


def test_the_library_finds_the_masks_also_through_wrappers(form: str) -> None:
    for env in (make(form), VecMonitor(make(form))):
        env.reset()
        assert is_masking_supported(env)
        masks = get_action_masks(env)
        assert masks.dtype == bool and masks.shape == (N, env.action_space.n) and masks.any(axis=1).all()
        np.testing.assert_array_equal(env.env_method("action_masks", indices=[2, 0]), masks[[2, 0]])
        with pytest.raises(AttributeError, match="there is action_masks"):
            env.env_method("reset")


def test_an_illegal_action_is_an_error_and_changes_nothing() -> None:
    env = make("mandala_v0")
    before = env.reset(), env.action_masks()
    with pytest.raises(IllegalAction, match="game 0"):
        env.step(np.argmin(env.action_masks(), axis=1))
    actions = pick(env.action_masks(), np.random.default_rng(0))
    assert is_same(before[1], env.action_masks())
    env.step(actions)


def test_maskable_ppo_learns_to_beat_random(tmp_path: Path) -> None:
    env = VecMonitor(make("mandala_v0", 32, opponent="random"))
    model = MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=256, n_epochs=4, learning_rate=2e-3, gamma=1, seed=0)
    model.learn(24_576)
    model.save(tmp_path / "model.zip")
    (match,) = evaluate(f"sb3:{tmp_path / 'model.zip'}", "random", games=400)
    assert match.interval[0] > 0.55, match
    mean, _ = evaluate_policy(model, make("mandala_v0", 8), n_eval_episodes=40, warn=False)
    assert mean > 0


@pytest.mark.parametrize("kind", [DummyVecEnv, SubprocVecEnv])
def test_maskable_ppo_learns_on_the_librarys_own_vector_environments(kind: Any) -> None:
    name = f"mandala_env:{FORMS['mandala_v0'][0]}"
    env = make_vec_env(
        name,
        n_envs=2,
        seed=3,
        env_kwargs={"opponent": "random"},
        vec_env_cls=kind,
        vec_env_kwargs={"start_method": "spawn"} if kind is SubprocVecEnv else {},
    )
    try:
        model = MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=1, seed=0)
        model.learn(256)
        assert model.num_timesteps == 256
        assert len(model.ep_info_buffer) > 0
        assert {episode["r"] for episode in model.ep_info_buffer} <= {-1.0, 0.0, 1.0}
    finally:
        env.close()


def test_the_single_environment_passes_the_librarys_checker() -> None:
    from stable_baselines3.common.env_checker import check_env

    check_env(gymnasium.make(FORMS["mandala_v0"][0], opponent="random", illegal="lose").unwrapped)
