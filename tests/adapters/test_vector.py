"""Many games for one agent each: the very games of the single-agent environment, and Gymnasium's conventions."""

import copy
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from mandala_env.core.game import IllegalAction
from tests.adapters.learning import FORMS, is_same, make, make_vec, pick

N = 5


@pytest.fixture(params=list(FORMS))
def form(request: pytest.FixtureRequest) -> str:
    """Each form of each game."""
    return request.param


@pytest.mark.parametrize("dict_observation", [False, True])
def test_the_games_are_those_of_single_environments_with_the_same_seeds(form: str, dict_observation: bool) -> None:
    others = FORMS[form][1].get("num_players", 2) - 1
    kwargs: dict[str, Any] = {
        "opponent": ["heuristic", "random", "random"][:others],
        "dict_observation": dict_observation,
    }
    together = make_vec(form, N, **kwargs)
    sync = {"autoreset_mode": AutoresetMode.SAME_STEP}
    apart = make_vec(form, N, vectorization_mode="sync", vector_kwargs=sync, **kwargs)
    rng, seeds, num_ended = np.random.default_rng(0), [7, 1, 2**40, 3, 0], 0
    first, second = together.reset(seed=seeds), apart.reset(seed=seeds)
    assert is_same(first, second)
    while num_ended < 8:
        actions = pick(together.action_masks(), rng)
        first, second = list(together.step(actions)), list(apart.step(actions))
        final = first[4].get("final_info", {})
        if "adjudicated" not in second[4].get("final_info", {}):  # said of no game, or of all that ended
            assert not final.pop("adjudicated", np.zeros(1)).any()
            final.pop("_adjudicated", None)
        assert is_same(first, second)
        assert is_same(together.action_masks(), first[4]["action_mask"].astype(bool))
        num_ended += int(first[2].sum())


def test_a_game_depends_on_the_seed_and_its_number_only(form: str) -> None:
    few, many, one = make_vec(form, 2), make_vec(form, N), make(form)
    observations = many.reset(seed=11)[0]
    np.testing.assert_array_equal(few.reset(seed=11)[0], observations[:2])
    np.testing.assert_array_equal(one.reset(seed=11)[0], observations[0])
    assert len(np.unique(observations, axis=0)) == N
    later = many.reset(seed=12)[0]
    assert not (observations[:, None] == later[None]).all(axis=2).any(), "seeds 11 and 12 share no game"
    assert not np.array_equal(many.reset()[0], many.reset()[0])


def test_an_illegal_action_names_its_game_and_no_game_changes(form: str) -> None:
    env, twin = make_vec(form, N), make_vec(form, N)
    env.reset(seed=1), twin.reset(seed=1)
    actions = pick(env.action_masks(), np.random.default_rng(0))
    wrong = actions.copy()
    wrong[3] = np.argmin(env.action_masks()[3])
    with pytest.raises(IllegalAction, match="game 3"):
        env.step(wrong)
    wrong[3] = len(env.action_masks()[3])
    with pytest.raises(IllegalAction, match="game 3"):
        env.step(wrong)
    for bad in (actions[:2], actions.astype(float)):
        with pytest.raises(ValueError, match=f"{N} whole numbers"):
            env.step(bad)
    assert is_same(env.step(actions), twin.step(actions))


def test_it_works_under_gymnasiums_wrappers(form: str) -> None:
    env = RecordEpisodeStatistics(make_vec(form, N))
    observations, infos = env.reset(seed=0)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    env.action_space.seed(0)
    rng, num_ended = np.random.default_rng(0), 0
    while num_ended < N:
        assert observations in env.observation_space
        actions = pick(infos["action_mask"], rng)
        assert actions in env.action_space
        observations, rewards, terminations, truncations, infos = env.step(actions)
        assert not truncations.any() and not rewards[~terminations].any()
        num_ended += int(terminations.sum())
        if terminations.any():
            np.testing.assert_array_equal(infos["episode"]["r"][terminations], rewards[terminations])


def test_what_was_handed_out_stays_as_it_was_and_a_copy_goes_on_alike(form: str) -> None:
    env = make_vec(form, N)
    seen = [env.reset(seed=1), env.action_masks()]
    before = copy.deepcopy(seen)
    rng = np.random.default_rng(0)
    env.step(pick(env.action_masks(), rng))
    twin = copy.deepcopy(env)
    actions = pick(env.action_masks(), rng)
    assert is_same(env.step(actions), twin.step(actions))
    assert is_same(seen, before)


def test_nothing_can_be_decided_before_a_reset_and_bad_arguments_are_refused() -> None:
    env = make_vec("mandala_v0", N)
    for ask in (env.action_masks, lambda: env.step(np.zeros(N, int))):
        with pytest.raises(RuntimeError, match="reset"):
            ask()
    with pytest.raises(ValueError, match="a seed for each of the 5 games"):
        env.reset(seed=[1, 2])
    with pytest.raises(ValueError, match="unknown reset option"):
        env.reset(options={"reset_mask": None})
    with pytest.raises(ValueError, match="illegal actions raise here"):
        make_vec("mandala_v0", N, illegal="lose")
    with pytest.raises(ValueError, match="number of games"):
        make_vec("mandala_v0", 0)
