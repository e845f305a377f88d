"""Games in the PettingZoo environments: their results, illegal actions, seeds, copies and positions."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test
from pettingzoo.utils import wrappers

import mandala_env
from mandala_env import mandala_v0
from mandala_env.core.game import IllegalAction
from mandala_env.core.position import PositionError

from .playing import is_same, legal_ids, play, play_on, snapshot

# --- rewards and the end ------------------------------------------------------------------------------------------


def test_all_seats_end_in_the_same_step_with_their_own_result(module: Any) -> None:
    env = module.env()
    for seed in range(30):
        env.reset(seed=seed)
        for _ in play(env, seed):
            assert set(env.rewards.values()) == set(env._cumulative_rewards.values()) == {0.0}
            assert not any(env.terminations.values())
        game, state = env.game, env.game.from_position(env.unwrapped.position())
        assert game.is_over(state)
        assert list(env.terminations.values()) == [True] * game.num_players
        assert list(env.truncations.values()) == [False] * game.num_players
        assert tuple(env.rewards.values()) == game.payoffs(state)
        for seat, agent in enumerate(env.agents):
            info, reward = env.infos[agent], env.rewards[agent]
            assert info.pop("adjudicated", False) == bool(state.adjudicated)
            assert info == {"score": game.scores(state)[seat], "outcome": info["outcome"]}
            num_winners = sum(payoff > 0 for payoff in env.rewards.values())
            expected = "loss" if reward < 0 else "win" if reward > 0 and num_winners == 1 else "draw"
            assert info["outcome"] == expected


def test_last_gives_every_seat_its_own_reward_once_also_the_one_that_did_not_end_the_game(module: Any) -> None:
    env = module.env()
    for seed in range(10):
        env.reset(seed=seed)
        totals = dict.fromkeys(env.possible_agents, 0.0)
        order, payoffs = [], {}
        rng = np.random.default_rng(seed)
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, info = env.last()
            assert (type(reward), type(terminated), type(truncated)) == (float, bool, bool)
            totals[agent] += reward
            if terminated:
                order.append(agent)
                assert not observation["action_mask"].any()
                assert "action_mask" not in info
                payoffs[agent] = reward
                env.step(None)
                assert all(type(reward) is float and reward == 0 for reward in env.rewards.values())
            else:
                env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
        state = env.game.from_position(env.unwrapped.position())
        assert tuple(totals.values()) == tuple(payoffs[agent] for agent in env.possible_agents)
        assert tuple(totals.values()) == env.game.payoffs(state)
        assert order == env.possible_agents
        assert env.agents == [] and env.rewards == {} and env.infos == {}


def test_a_game_that_runs_out_of_turns_is_adjudicated_and_not_truncated() -> None:
    env = mandala_v0.env(max_turns=4)
    env.reset(seed=2)
    play_on(env, seed=2)
    assert all(info["adjudicated"] is True for info in env.infos.values())
    assert not any(env.truncations.values()) and all(env.terminations.values())


def test_a_draw_is_zero_for_both() -> None:
    env = mandala_v0.env(max_turns=1)
    env.reset(seed=0)  # nobody has a river yet: 0 points, two cards in each cup
    play_on(env)
    assert env.rewards == {"player_0": 0.0, "player_1": 0.0}
    assert {info["outcome"] for info in env.infos.values()} == {"draw"}


def test_after_the_end_only_none_is_taken_and_then_nothing(module: Any) -> None:
    raw = module.raw_env()
    raw.reset(seed=1)
    play_on(raw)
    with pytest.raises(ValueError, match="None"):
        raw.step(0)
    env = module.env()
    env.reset(seed=1)
    play_on(env)
    with pytest.raises(AssertionError, match="action space"):
        env.step(0)
    for each in (raw, env):
        for _ in range(raw.game.num_players):
            each.step(None)
        assert each.agents == []
        assert not each.observe("player_0")["action_mask"].any()
    with pytest.raises(RuntimeError, match="reset"):
        raw.step(None)
    env.step(None)  # PettingZoo warns and goes on


# --- illegal actions ----------------------------------------------------------------------------------------------


def test_raw_env_refuses_every_illegal_action_and_changes_nothing(module: Any) -> None:
    raw = module.raw_env()
    raw.reset(seed=11)
    num_actions = len(raw.game.actions)
    for number, _ in enumerate(play(raw, seed=11)):
        if number % 10:
            continue
        before = snapshot(raw)
        mask = raw.observe(raw.agent_selection)["action_mask"]
        illegal = [*np.flatnonzero(mask == 0).tolist(), -1, num_actions, 2**80, -(2**80), 1.0, None, "0", [0]]
        for action in illegal:
            with pytest.raises(IllegalAction):
                raw.step(action)
        assert is_same(before, snapshot(raw))


def test_every_kind_of_whole_number_is_an_action(module: Any) -> None:
    env = module.env()
    for kind in (int, np.int8, np.uint8, np.int32, np.int64, np.array):
        env.reset(seed=0)
        env.step(kind(legal_ids(env)[0]))
        assert not any(env.terminations.values())


def test_an_illegal_action_ends_the_game_at_the_cost_of_its_agent_as_pettingzoo_has_it(module: Any) -> None:
    for seed in range(5):
        env, theirs = module.env(), wrappers.TerminateIllegalWrapper(module.raw_env(), illegal_reward=-1)
        for each in (env, theirs):
            each.reset(seed=seed)
            play_on(each, seed, steps=7 * seed)
        offender = env.agent_selection
        before = env.unwrapped.position()
        illegal = int(np.flatnonzero(env.observe(offender)["action_mask"] == 0)[-1])
        for each in (env, theirs):
            each.step(illegal)
        assert env.rewards == theirs.rewards == {agent: -float(agent == offender) for agent in env.possible_agents}
        assert env.terminations == theirs.terminations
        assert env.agent_selection == theirs.agent_selection
        assert env.unwrapped.position() == before
        assert not any(env.observe(agent)["action_mask"].any() for agent in env.possible_agents)
        assert {agent: info["outcome"] for agent, info in env.infos.items()} == {
            agent: "loss" if agent == offender else "win" for agent in env.possible_agents
        }
        assert all(info["illegal_action"] == illegal for info in env.infos.values())
        seen = []
        for agent in env.agent_iter():
            _, reward, terminated, _, _ = env.last()
            assert terminated
            assert type(reward) is float
            seen.append((agent, reward))
            env.step(None)
        assert dict(seen) == {agent: -float(agent == offender) for agent in env.possible_agents}
        env.reset(seed=seed)
        assert len(legal_ids(env)) and not any(env.terminations.values())


def test_an_action_outside_the_action_space_is_an_assertion_error_and_changes_nothing(module: Any) -> None:
    env = module.env()
    env.reset(seed=1)
    before = snapshot(env)
    for action in (-1, len(env.game.actions), 0.5, None, "build", np.zeros(2, int)):
        with pytest.raises(AssertionError, match="not in action space"):
            env.step(action)
    assert is_same(before, snapshot(env))


@pytest.mark.filterwarnings("ignore:Observation")
def test_pettingzoos_own_wrappers_fit_around_the_raw_environment(module: Any) -> None:
    stack = wrappers.TerminateIllegalWrapper(module.raw_env(), illegal_reward=-1)
    stack = wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(stack))
    api_test(stack, num_cycles=100)
    env = module.env()
    for each in (stack, env):
        each.reset(seed=12)
        play_on(each, seed=12)
    assert is_same(snapshot(stack), snapshot(env))
    stack.reset(seed=12)
    play_on(stack, steps=1)
    stack.step(int(np.flatnonzero(stack.observe(stack.agent_selection)["action_mask"] == 0)[0]))
    stack.reset(seed=12)  # in the middle of the last, empty steps
    play_on(stack, seed=12)
    assert is_same(snapshot(stack), snapshot(env))
    for each in (stack, env):
        for _ in each.possible_agents:
            each.step(None)
    assert stack.agent_selection == env.agent_selection


# --- seeds and games ----------------------------------------------------------------------------------------------


def test_a_game_by_its_seed_is_game_0_of_a_batch_and_so_are_the_games_after_it(module: Any) -> None:
    env = module.env()
    for seed in (0, 1, 12345):
        batch = mandala_env.make_batch(env.game.id, 3, seed=seed, **env.game.options)
        env.reset(seed=seed)
        for _ in range(2):
            for action in play(env, seed):
                counts = env.game.layout.counts(env.observe(env.agent_selection)["observation"])
                assert np.array_equal(counts, batch.observations[0])
                assert env.agent_selection == f"player_{batch.players[0]}"
                others = batch.action_masks.argmax(axis=1)
                payoffs, ended = batch.step(np.array([action, *others[1:]]))
            assert ended[0]
            assert tuple(payoffs[0]) == tuple(env.rewards.values())
            env.reset()


def test_resets_without_a_seed_never_repeat_a_game(module: Any) -> None:
    env, other = module.env(), module.env()
    env.reset(seed=0)
    deals = [env.state().tobytes()]
    for _ in range(50):
        env.reset()
        other.reset()
        deals += [env.state().tobytes(), other.state().tobytes()]
    assert len(set(deals)) == len(deals)


def test_resets_without_a_seed_follow_from_the_last_seed(module: Any) -> None:
    env, other = module.env(), module.env()
    for each in (env, other):
        each.reset(seed=77)
    for _ in range(3):
        env.reset()
        other.reset()
        assert np.array_equal(env.state(), other.state())


def test_a_reset_leaves_nothing_of_the_last_game(module: Any) -> None:
    used, new = module.env(), module.env()
    new.reset(seed=5)
    used.reset(seed=1)
    play_on(used, seed=1)
    used.step(None)
    used.reset(seed=5)
    assert is_same(snapshot(used), snapshot(new))
    used.step(int(np.flatnonzero(used.observe(used.agent_selection)["action_mask"] == 0)[0]))
    used.reset(seed=5)
    for _ in range(2):
        assert play_on(used, seed=5) == play_on(new, seed=5)
        assert is_same(snapshot(used), snapshot(new))
        used.reset()
        new.reset()


def test_a_bad_seed_is_refused_and_the_game_goes_on(module: Any) -> None:
    env = module.env()
    env.reset(seed=5)
    before = snapshot(env)
    for seed in (-1, 1.5, "seed"):
        with pytest.raises(ValueError, match="seed must be"):
            env.reset(seed=seed)
    assert is_same(before, snapshot(env))


# --- copies and positions -----------------------------------------------------------------------------------------


COPIERS: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}


@pytest.mark.parametrize("kind", ["env", "raw_env"])
@pytest.mark.parametrize("copier", list(COPIERS))
def test_a_copy_keeps_the_position_and_both_go_on_identically(module: Any, copier: str, kind: str) -> None:
    env = getattr(module, kind)(max_turns=60)
    blank = COPIERS[copier](env)
    blank.reset(seed=21)
    env.reset(seed=21)
    assert is_same(snapshot(env), snapshot(blank))
    play_on(env, seed=1, steps=9)
    env.action_space("player_0").seed(5)
    twin = COPIERS[copier](env)
    assert twin.game is env.game
    before = snapshot(env)
    assert is_same(before, snapshot(twin))
    sample = [env.action_space("player_0").sample() for _ in range(9)]
    assert sample == [twin.action_space("player_1").sample() for _ in range(9)]
    play_on(env, seed=2)
    assert is_same(before, snapshot(twin)), "the original moves its copy"
    play_on(twin, seed=2)
    assert is_same(snapshot(env), snapshot(twin))
    for each in (env, twin):
        each.reset()
    assert is_same(snapshot(env), snapshot(twin))
    assert twin.observation_space("player_0") is twin.observation_space("player_1")


def test_a_reset_goes_on_from_a_position_in_that_game_only(module: Any) -> None:
    env, other = module.env(), module.env()
    env.reset(seed=31)
    play_on(env, seed=31, steps=12)
    movers = set()
    for number, _ in enumerate(play(env, seed=32, steps=5)):
        position = env.unwrapped.position()
        other.reset(seed=number or None, options={"position": position})
        assert other.unwrapped.position() == position
        assert other.agent_selection == env.agent_selection
        assert is_same(other.infos, env.infos)
        assert all(is_same(other.observe(agent), env.observe(agent)) for agent in env.agents)
        movers.add(env.agent_selection)
    assert movers == set(env.possible_agents)
    other.reset(seed=31)
    assert other.unwrapped.position() != position
    other.reset(options={"position": position})
    other.reset()
    assert other.unwrapped.position() != position


def test_a_position_with_a_seed_has_one_future_and_without_one_many(module: Any) -> None:
    env = module.env()
    env.reset(seed=31)
    position = env.unwrapped.position()

    def future(seed: int | None) -> bytes:
        env.reset(seed=seed, options={"position": position})
        play_on(env, seed=0, steps=12)
        return env.state().tobytes()

    assert future(1) == future(1) != future(2)
    assert len({future(None) for _ in range(8)}) == 8
    env.reset(seed=1)
    env.reset(options={"position": position})
    once = future(None)
    env.reset(seed=1)
    assert future(None) != once, "resets that are not played on have different futures, too"


def test_a_position_that_is_over_ends_at_once_with_its_result(module: Any) -> None:
    env, other = module.env(), module.env()
    env.reset(seed=3)
    play_on(env, seed=3)
    other.reset(options={"position": env.unwrapped.position()})
    assert is_same(snapshot(env), snapshot(other))


def test_bad_options_and_positions_are_refused_and_the_game_goes_on(module: Any) -> None:
    env = module.env()
    env.reset(seed=3)
    before = snapshot(env)
    with pytest.raises(ValueError, match="unknown reset option postion"):
        env.reset(options={"postion": {}})
    with pytest.raises(PositionError, match="missing"):
        env.reset(options={"position": {}})
    assert is_same(before, snapshot(env))


def test_twins_with_swapped_seats_see_the_same_from_the_other_side() -> None:
    env, twin = mandala_v0.env(), mandala_v0.env()
    env.reset(seed=13)
    for number, _ in enumerate(play(env, seed=13)):
        if number % 4:
            continue
        position = env.unwrapped.position()
        swapped = position | {
            "player": 1 - position["player"],
            **{name: position[name][::-1] for name in ("hands", "cups", "starting_cups", "rivers")},
            "mandalas": [area | {"fields": area["fields"][::-1]} for area in position["mandalas"]],
        }
        if position["claiming"]:
            swapped["claiming"] = position["claiming"] | {"completer": 1 - position["claiming"]["completer"]}
        twin.reset(options={"position": swapped})
        for agent, other in (("player_0", "player_1"), ("player_1", "player_0")):
            assert is_same(env.observe(agent), twin.observe(other))
            assert is_same(env.infos[agent], twin.infos[other])
