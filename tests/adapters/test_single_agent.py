"""The games for one agent: Gymnasium's own checks, and the same games as through PettingZoo."""

import copy
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import FlattenObservation, RecordEpisodeStatistics, TimeLimit

from mandala_env import flowers_v0, load_opponent, mandala_v0
from mandala_env.core.batch import Batch
from mandala_env.core.game import IllegalAction
from mandala_env.pictures.raster import pixels
from tests.adapters.learning import FORMS, is_same, make, pick, play


@pytest.fixture(params=list(FORMS))
def form(request: pytest.FixtureRequest) -> str:
    """Each form of each game."""
    return request.param


@pytest.mark.parametrize(
    "source",
    [
        "import mandala_env, gymnasium; gymnasium.make('mandala_env/Mandala-v0')",
        "import gymnasium, mandala_env; gymnasium.make('mandala_env/Flowers-v0', num_players=3)",
        "import gymnasium; gymnasium.make('mandala_env:mandala_env/Mandala-v0')",
        "import gymnasium; gymnasium.make_vec('mandala_env:mandala_env/Flowers-v0', num_envs=2)",
        "import mandala_env, pettingzoo, gymnasium; gymnasium.make('mandala_env/Mandala-v0')",
    ],
)
def test_the_names_are_registered_by_importing_the_package_in_any_order(source: str) -> None:
    subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", source], check=True)


@pytest.mark.parametrize("dict_observation", [False, True])
def test_gymnasiums_checker_finds_nothing(form: str, dict_observation: bool) -> None:
    # It takes actions without looking at the mask.
    env = make(form, illegal="lose", dict_observation=dict_observation)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)


def by_pettingzoo(form: str, seed: int, seat: int, rivals: list[str], rng: np.random.Generator) -> Iterator[tuple]:
    """The same game through PettingZoo: what the seat knows and may do at each of its turns, and how it ended."""
    options = FORMS[form][1]
    env = (mandala_v0 if form.startswith("mandala") else flowers_v0).raw_env(**options)
    players = [load_opponent(spec, env.game) for spec in rivals]
    env.reset(seed=seed)
    me = f"player_{seat}"
    while not env.terminations[me]:
        agent = env.agent_selection
        seen = env.observe(agent)
        if agent == me:
            yield seen["observation"], seen["action_mask"]
            env.step(pick(seen["action_mask"], rng))
        else:
            place = (env.possible_agents.index(agent) - seat - 1) % len(env.possible_agents)
            env.step(players[place](seen))
    yield env.observe(me)["observation"], env.rewards[me], env.infos[me]


def test_a_game_is_the_one_that_pettingzoo_plays(form: str) -> None:
    env = make(form)
    num_players = env.game.num_players
    rivals = ["heuristic", "random", "random"][: num_players - 1]
    ended_by_rival = 0
    for seed in range(3 * num_players):
        seat = seed % num_players
        env = make(form, opponent=rivals, seat=seat)
        expected = by_pettingzoo(form, seed, seat, rivals, np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        observation, info = env.reset(seed=seed)
        is_over, reward = False, 0.0
        while not is_over:
            other_observation, other_mask = next(expected)
            assert is_same(observation, other_observation) and is_same(info["action_mask"], other_mask)
            assert is_same(env.action_masks(), other_mask.astype(bool)) and reward == 0
            observation, reward, is_over, is_truncated, info = env.step(pick(other_mask, rng))
            assert is_truncated is False
        other_observation, other_reward, other_info = next(expected)
        assert is_same(observation, other_observation)
        assert is_same(reward, other_reward) and is_same(info, {"seat": seat, **other_info})
        ended_by_rival += env._games.state(0).player != seat
    assert 0 < ended_by_rival < 3 * num_players


@pytest.mark.parametrize(("player", "opponent", "usual"), [("random", "heuristic", -1), ("heuristic", "random", 1)])
def test_the_reward_is_the_agents_own_result(form: str, player: str, opponent: str, usual: int) -> None:
    env = make(form, opponent=opponent)
    agent, signs = load_opponent(player, env.game), []
    for seed in range(9):
        observation, info = env.reset(seed=seed)
        is_over = False
        while not is_over:
            action = agent({"observation": observation, "action_mask": info["action_mask"]})
            observation, reward, is_over, _, info = env.step(action)
        assert {"loss": reward < 0, "win": reward == 1, "draw": 0 <= reward < 1}[info["outcome"]]
        signs.append(np.sign(reward))
    assert signs.count(usual) >= 5


def test_the_seat_is_drawn_anew_at_each_reset(form: str) -> None:
    env = make(form)
    seats = [env.reset(seed=None if number else 0)[1]["seat"] for number in range(200)]
    num_players = env.game.num_players
    counts = np.bincount(seats, minlength=num_players)
    assert len(counts) == num_players and (abs(counts - 200 / num_players) < 50).all()
    assert seats == [env.reset(seed=None if number else 0)[1]["seat"] for number in range(200)]
    assert len({env.reset(seed=seed)[1]["seat"] for seed in range(30)}) == num_players


def test_a_chosen_seat_is_kept(form: str) -> None:
    env = make(form, seat=1)
    assert {env.reset()[1]["seat"] for _ in range(10)} == {1}


def test_a_seed_gives_the_same_game_and_no_seed_goes_on(form: str) -> None:
    env, twin = make(form), make(form)
    for seed in (5, None, None):
        first, second = env.reset(seed=seed), twin.reset(seed=seed)
        assert is_same(first, second)
        assert is_same(play(env, np.random.default_rng(1)), play(twin, np.random.default_rng(1)))
    assert not is_same(env.reset(seed=5)[0], env.reset()[0])
    assert not is_same(make(form).reset()[0], make(form).reset()[0])


def test_an_illegal_action_raises_and_changes_nothing(form: str) -> None:
    env, twin = make(form), make(form)
    _, info = env.reset(seed=3)
    twin.reset(seed=3)
    for wrong in (int(np.argmin(info["action_mask"])), -1, len(info["action_mask"]), 0.5, "play", None):
        with pytest.raises(IllegalAction, match="not legal"):
            env.step(wrong)
    assert is_same(play(env, np.random.default_rng(1)), play(twin, np.random.default_rng(1)))


def test_an_illegal_action_loses_if_asked_for(form: str) -> None:
    env = make(form, illegal="lose", dict_observation=True)
    observation, info = env.reset(seed=3)
    wrong = int(np.argmin(info["action_mask"]))
    after, reward, terminated, truncated, end = env.step(wrong)
    assert (reward, terminated, truncated, end["outcome"], end["illegal_action"]) == (-1, True, False, "loss", wrong)
    assert is_same(after["observation"], observation["observation"]) and not after["action_mask"].any()
    with pytest.raises(RuntimeError, match="reset"):
        env.step(wrong)


def test_nothing_can_be_decided_before_a_reset_or_after_the_end(form: str) -> None:
    env = make(form, render_mode="ansi")
    for ask in (env.action_masks, env.render, lambda: env.step(0)):
        with pytest.raises(RuntimeError, match="reset"):
            ask()
    env.reset(seed=1)
    *_, (_, _, terminated, _, info) = play(env, np.random.default_rng(0))
    assert terminated and "action_mask" not in info
    for ask in (env.action_masks, lambda: env.step(0)):
        with pytest.raises(RuntimeError, match="reset"):
            ask()


def test_it_works_under_gymnasiums_wrappers(form: str) -> None:
    inside = make(form, dict_observation=True)
    env = FlattenObservation(RecordEpisodeStatistics(TimeLimit(inside, 5)))
    for seed in range(6):
        observation, _ = env.reset(seed=seed)
        assert observation in env.observation_space
        total, length, is_over = 0.0, 0, False
        while not is_over:
            mask = env.get_wrapper_attr("action_masks")()
            observation, reward, terminated, truncated, info = env.step(env.action_space.sample(mask.astype(np.int8)))
            total, length, is_over = total + reward, length + 1, terminated or truncated
        assert observation in env.observation_space
        assert (info["episode"]["r"], info["episode"]["l"]) == (total, length)
        assert truncated == (length == 5 and not terminated)


def test_what_was_handed_out_stays_as_it_was(form: str) -> None:
    env = make(form, dict_observation=True)
    seen = [env.reset(seed=1), env.action_masks()]
    before = copy.deepcopy(seen)
    later = play(env, np.random.default_rng(0), steps=3)
    copies = copy.deepcopy(later)
    env.reset()
    assert is_same(seen, before) and is_same(later, copies)
    env.reset(seed=1)[0]["observation"][:] = 9
    env.action_masks()[:] = True
    assert is_same(env.action_masks(), before[1])


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_is_the_same_game_with_the_same_future(form: str, clone: Any) -> None:
    env = make(form, opponent=["heuristic", "random", "random"][: FORMS[form][1].get("num_players", 2) - 1])
    env.reset(seed=2)
    play(env, np.random.default_rng(1), steps=3)
    other = clone(env)
    ends = [play(one, np.random.default_rng(2)) for one in (env, other)]
    assert is_same(*ends)
    assert is_same(env.reset(), other.reset())


def test_the_picture_shows_what_the_seat_sees() -> None:
    env = make("mandala_v0", seat=1, render_mode="ansi")
    env.reset(seed=1)
    assert env.render() == env.game.render(env._games.state(0), 1)
    assert make("mandala_v0").render() is None
    drawn = make("mandala_v0", seat=1, render_mode="rgb_array")
    drawn.reset(seed=1)
    assert np.array_equal(drawn.render(), pixels(env.game.svg(env._games.state(0), 1)))


def test_a_window_follows_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = make("mandala_v0", seat=1, render_mode="human")
    assert not pygame.display.get_init()
    env.reset(seed=1)
    before = pygame.surfarray.array3d(pygame.display.get_surface())
    env.step(int(np.flatnonzero(env.get_wrapper_attr("action_masks")())[0]))
    assert not np.array_equal(before, pygame.surfarray.array3d(pygame.display.get_surface()))
    env.close()
    assert not pygame.display.get_init()


def test_a_game_that_ends_before_the_agent_decides_is_dealt_anew() -> None:
    env = make("mandala_v0", max_turns=1)
    seats = {env.reset(seed=seed)[1]["seat"] for seed in range(20)}
    assert seats == {0} and env.action_masks().any()
    with pytest.raises(RuntimeError, match="seat 1 never decides"):
        make("mandala_v0", max_turns=1, seat=1).reset()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"seat": 2}, "seat from 0 to 1"),
        ({"seat": "first"}, "'random' or a seat"),
        ({"opponent": 3}, "an Opponent or its spec"),
        ({"opponent": "nobody"}, "unknown opponent"),
        ({"opponent": ["random", "random"]}, "a list of 1, not a list of 2"),
        ({"opponent": load_opponent("random", "flowers_v0")}, "made for flowers_v0"),
        ({"illegal": "ignore"}, "illegal must be one of"),
        ({"num_players": 3}, "has no option num_players"),
    ],
)
def test_bad_arguments_are_refused_by_name(kwargs: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make("mandala_v0", **kwargs)


def test_a_reset_to_a_position_goes_on_from_it(form: str) -> None:
    env = make(form)
    game = env.unwrapped.game
    batch = Batch(game, 1, seed=1)
    for seed in range(20):
        batch.step_random()
        position = game.position(batch.states[0])
        observation, info = env.reset(seed=seed, options={"position": position})
        again, _ = make(form).reset(seed=seed, options={"position": position})
        assert is_same(observation, again)
        if info["seat"] == position["player"]:
            seen = game.observe(game.from_position(position), info["seat"])
            assert is_same(observation, game.layout.unit(seen))
        play(env, np.random.default_rng(seed))
    env.reset(options={"position": position})
    assert env.unwrapped._games.state(0).turn >= position["turn"]


def test_a_seed_is_a_whole_number_and_what_cannot_be_a_start_is_refused() -> None:
    env = make("mandala_v0")
    game = env.unwrapped.game
    limit = game.options["max_turns"]
    ended = game.position(game.deal(1)) | {"phase": "over", "turn": limit}
    env.reset(seed=1)
    with pytest.raises(ValueError, match="the position is over"):
        env.reset(options={"position": ended})
    env.step(int(np.flatnonzero(env.get_wrapper_attr("action_masks")())[0]))  # the game goes on
    env.reset(options={"position": None})
    with pytest.raises(ValueError, match="unknown reset option deck"):
        env.reset(options={"deck": {}})
    with pytest.raises(gymnasium.error.Error):
        env.reset(seed=-1)
