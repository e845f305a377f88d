"""The PettingZoo environments keep PettingZoo's contract, and ours where PettingZoo's own tests do not look."""

import copy
import subprocess
import sys
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.test import api_test, render_test, seed_test, state_test

from mandala_env import mandala_v0

from .playing import is_same, play, snapshot

# --- PettingZoo's own tests ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["env", "raw_env"])
def test_pettingzoos_api_test_passes_without_a_surprising_warning(module: Any, kind: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(getattr(module, kind)(), num_cycles=300)
    # It knows by name which of its own games observe a dict, and does not know ours.
    expected = ("Observation is not a NumPy array", "Observation space for each agent probably should be")
    assert [str(w.message) for w in caught if not str(w.message).startswith(expected)] == []


def test_pettingzoos_seed_test_passes(module: Any) -> None:
    seed_test(module.env, num_cycles=100)
    seed_test(module.raw_env, num_cycles=100)


def test_pettingzoos_state_test_passes(module: Any) -> None:
    class ParallelStandIn:  # there is no parallel environment; the test wants one to look at
        def __init__(self, env: Any) -> None:
            self.reset, self.state, self.state_space = env.reset, env.state, env.state_space

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state_test(module.env(), ParallelStandIn(module.env()), num_cycles=30)


def test_pettingzoos_render_test_passes(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame")
    pytest.importorskip("resvg_py")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    render_test(module.env)


# --- making one ---------------------------------------------------------------------------------------------------


def test_the_module_has_env_and_raw_env_and_no_parallel_env(whole_module: Any) -> None:
    module = whole_module
    assert set(module.__all__) == {"env", "raw_env"}
    assert not hasattr(module, "parallel_env")


def test_the_metadata_say_what_the_game_is(whole_module: Any) -> None:
    module = whole_module
    name = module.__name__.rpartition(".")[2]
    for env in (module.env(), module.raw_env(), module.raw_env):
        assert env.metadata == {
            "name": name,
            "render_modes": ["ansi", "rgb_array", "human"],
            "is_parallelizable": False,
            "render_fps": 1,
        }
    assert str(module.env()) == str(module.raw_env()) == name


def test_pettingzoo_makes_the_game_by_its_id_whichever_is_imported_first() -> None:
    pytest.importorskip("pettingzoo.env_registry")
    make = "env = pettingzoo.make('aec', 'mandala/mandala-v0', max_turns=7); assert env.game.options['max_turns'] == 7"
    for imports in ("import mandala_env, pettingzoo", "import pettingzoo, mandala_env"):
        subprocess.run([sys.executable, "-W", "error", "-c", f"{imports}; {make}"], check=True)


def test_rule_options_are_arguments_and_unknown_ones_are_refused(module: Any) -> None:
    assert mandala_v0.env(second_exhaustion="end", max_turns=9).game.options == {
        "second_exhaustion": "end",
        "max_turns": 9,
    }
    for make in (module.env, module.raw_env):
        with pytest.raises(ValueError, match="no option colour"):
            make(colour="blue")
        with pytest.raises(ValueError, match="render_mode must be None or one of"):
            make(render_mode="braille")


def test_spaces_are_there_before_reset_and_are_one_object_for_all_agents(module: Any) -> None:
    env = module.env()
    agents = env.possible_agents
    assert agents == [f"player_{seat}" for seat in range(env.game.num_players)]
    assert len({id(env.observation_space(agent)) for agent in agents for _ in range(2)}) == 1
    assert len({id(env.action_space(agent)) for agent in agents for _ in range(2)}) == 1
    space = env.observation_space(agents[0])
    assert list(space) == ["observation", "action_mask"]
    assert space["observation"] == spaces.Box(0.0, 1.0, (env.game.layout.size,), np.float32)
    assert space["action_mask"].dtype == np.int8
    assert env.action_space(agents[0]) == spaces.Discrete(len(env.game.actions))
    assert module.env().action_space(agents[0]) is not env.action_space(agents[0])


def test_nothing_works_before_reset(module: Any) -> None:
    env, raw = module.env(), module.raw_env()
    for name in ("agents", "rewards", "terminations", "truncations", "infos", "agent_selection", "num_agents"):
        with pytest.raises(AttributeError, match="before reset"):
            getattr(env, name)
    calls: list[Callable[[Any], Any]] = [
        lambda e: e.step(0),
        lambda e: e.observe("player_0"),
        lambda e: e.last(),
        lambda e: e.state(),
        lambda e: e.render(),
        lambda e: e.agent_iter(),
    ]
    for call in calls:
        with pytest.raises(AssertionError, match="reset"):
            call(env)
    for call in calls[:2] + calls[3:5]:
        with pytest.raises(RuntimeError, match="reset"):
            call(raw)


# --- observations and masks ---------------------------------------------------------------------------------------


def test_an_observation_is_the_scaled_counts_and_the_mask_of_the_seat_to_move(module: Any) -> None:
    env = module.env()
    env.reset(seed=3)
    game = env.game
    for _ in play(env, seed=3):
        state = game.from_position(env.unwrapped.position())
        for seat, agent in enumerate(env.possible_agents):
            shown = env.observe(agent)
            assert list(shown) == ["observation", "action_mask"]
            assert env.observation_space(agent).contains(shown)
            assert np.array_equal(shown["observation"], game.layout.unit(game.observe(state, seat)))
            assert np.array_equal(game.layout.counts(shown["observation"]), game.observe(state, seat))
            expected = game.action_mask(state) if seat == game.player(state) else np.zeros(len(game.actions))
            assert np.array_equal(shown["action_mask"], expected)


def test_only_the_agent_to_move_has_a_mask_in_its_info_and_nobody_has_anything_else(module: Any) -> None:
    env = module.env()
    env.reset(seed=4)
    for _ in play(env, seed=4):
        for agent, info in env.infos.items():
            if agent == env.agent_selection:
                assert list(info) == ["action_mask"]
                assert info["action_mask"].dtype == np.int8
                assert np.array_equal(info["action_mask"], env.observe(agent)["action_mask"])
            else:
                assert info == {}


def test_the_seat_to_move_is_asked_of_the_game_and_does_not_always_alternate(module: Any) -> None:
    env = module.env()
    env.reset(seed=5)
    movers = []
    for _ in play(env, seed=5):
        movers.append(env.agent_selection)
        assert env.agent_selection == f"player_{env.unwrapped.position()['player']}"
    assert any(one == other for one, other in pairwise(movers))


def test_sampling_without_a_legal_action_is_refused(module: Any) -> None:
    env = module.env()
    env.reset(seed=1)
    space = env.action_space("player_0")
    waiting = next(agent for agent in env.agents if agent != env.agent_selection)
    with pytest.raises(ValueError, match="allows nothing"):
        space.sample(env.observe(waiting)["action_mask"])
    mask = env.observe(env.agent_selection)["action_mask"]
    space.seed(0)
    drawn = {int(space.sample(mask)) for _ in range(600)}
    assert drawn == set(np.flatnonzero(mask).tolist())
    assert {int(space.sample()) for _ in range(50)} - drawn, "without a mask all ids are possible"
    with pytest.raises(AssertionError):
        space.sample(mask.astype(bool))


# --- what was handed out and what was scribbled on ----------------------------------------------------------------


def test_scribbling_on_what_was_handed_out_changes_nothing(module: Any) -> None:
    env, untouched = module.env(), module.env()
    for each in (env, untouched):
        each.reset(seed=7)
    for action in play(untouched, seed=7):
        assert is_same(snapshot(env), snapshot(untouched))
        for agent in env.agents:
            shown = env.observe(agent)
            shown["observation"][:] = 9
            shown["action_mask"][:] = 1
            shown.clear()
        env.last()[0]["action_mask"][:] = 1
        env.infos[env.agent_selection]["action_mask"][:] = 1
        env.state()[:] = 9
        env.unwrapped.position()["deck"].clear()
        env.step(action)
    assert is_same(snapshot(env), snapshot(untouched))


def test_scribbling_on_a_mask_makes_no_action_legal(module: Any) -> None:
    env = module.env()
    env.reset(seed=8)
    agent = env.agent_selection
    observation = env.last()[0]
    illegal = int(np.flatnonzero(observation["action_mask"] == 0)[0])
    observation["action_mask"][:] = 1
    env.step(illegal)
    assert env.rewards[agent] == -1.0


def test_what_was_handed_out_stays_as_it_was(module: Any) -> None:
    env = module.env()
    env.reset(seed=9)
    handed_out, copies = [], []
    for _ in play(env, seed=9):
        now = [
            *(env.observe(agent) for agent in env.agents), env.state(), env.infos, env.rewards, env.terminations,
            env.last(),
        ]  # fmt: skip
        handed_out.append(now)
        copies.append(copy.deepcopy(now))
    env.reset()
    for now, kept in zip(handed_out, copies, strict=True):
        for one, other in zip(now, kept, strict=True):
            assert all(map(is_same, one, other)) if isinstance(one, tuple) else is_same(one, other)
    assert env.agents is not env.possible_agents
    env.agents.clear()
    assert len(env.possible_agents) == env.game.num_players


# --- the picture and the state ------------------------------------------------------------------------------------


def test_render_gives_the_whole_table_as_text_or_nothing_without_a_mode(module: Any) -> None:
    env = module.env(render_mode="ansi")
    env.reset(seed=1)
    state = env.game.from_position(env.unwrapped.position())
    assert env.render() == env.game.render(state)
    assert env.render() != env.game.render(state, 0) != env.game.render(state, 1)
    silent = module.env()
    silent.reset(seed=1)
    assert silent.render() is None
    env.close()


def test_the_state_is_what_all_seats_know(module: Any) -> None:
    env = module.env()
    env.reset(seed=1)
    for _ in play(env, seed=1, steps=20):
        seen = np.concatenate([env.observe(agent)["observation"] for agent in env.possible_agents])
        assert np.array_equal(env.state(), seen)
        assert env.state_space.contains(env.state())


def test_an_unknown_agent_is_refused_by_name(module: Any) -> None:
    env = module.env()
    env.reset()
    with pytest.raises(ValueError, match="player_9"):
        env.observe("player_9")
