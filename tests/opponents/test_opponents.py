"""Every opponent plays legal actions, and is a function of its seed and of what it sees."""

import re
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from mandala_env import evaluate, list_opponents, load_opponent, register_opponent, registry
from mandala_env.core.batch import Batch
from mandala_env.opponents import base
from mandala_env.opponents.base import Opponent, split_options
from mandala_env.opponents.checkpoint import NetworkOpponent
from mandala_env.policies.checkpoint import CheckpointError, save_checkpoint
from tests.sampling import decisions, make_network, random_states
from tests.sb3_models import save_model
from training.league import frozen_copy

KINDS = [
    "random", "heuristic", "search:simulations=3", "champion:threads=2", "champion:temperature=2", "checkpoint",
    "checkpoint,temperature=1", "sb3", "sb3,temperature=1",
]  # fmt: skip
CHANCE = ["random", "champion:temperature=2", "checkpoint,temperature=1", "sb3,temperature=1"]


@pytest.fixture(scope="module")
def seen(game: Any) -> tuple[np.ndarray, np.ndarray]:
    """Decisions of random play."""
    return decisions(game, 60, 30)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory, game: Any) -> Path:
    """The folder of a checkpoint with random weights of strong opinions; its name has what specs are split at.

    Beside it is a zip of stable-baselines3 with the same name.
    """
    folder = tmp_path_factory.mktemp("players") / "a, b=c: player"
    save_checkpoint(folder, game, make_network(game, 1, gain=2.0), training={}, metrics={}, card="")
    save_model(folder.with_name(f"{folder.name}.zip"), game)
    return folder


def make(kind: str, game: Any, checkpoint: Path, seed: int = 0) -> Opponent:
    """An opponent by its spec; the checkpoint's folder is put in, or the zip beside it."""
    name, comma, options = kind.partition(",")
    paths = {"checkpoint": f":{checkpoint}", "sb3": f":{checkpoint}.zip"}
    return load_opponent(f"{name}{paths.get(name, '')}{comma}{options}", game, seed)


@pytest.fixture(params=KINDS)
def opponent(request: pytest.FixtureRequest, game: Any, checkpoint: Path) -> Opponent:
    """Each opponent."""
    return make(request.param, game, checkpoint)


class LastLegal(Opponent):
    """The last legal action."""

    def choose(self, observations: np.ndarray, action_masks: np.ndarray, pickers: np.ndarray) -> np.ndarray:
        return action_masks.shape[1] - 1 - action_masks[:, ::-1].argmax(axis=1)


def test_a_registered_opponent_is_loaded_by_its_name_and_no_name_is_taken_twice(
    game: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "OPPONENTS", opponents := dict(registry.OPPONENTS))
    monkeypatch.setattr(base, "OPPONENTS", opponents)
    register_opponent("last", f"{__name__}:LastLegal")
    register_opponent("last", f"{__name__}:LastLegal")  # the same again, as when a module is read twice
    assert isinstance(load_opponent("last", game), LastLegal) and "last" in list_opponents()
    assert evaluate("last", "last", game=game, games=2 * game.num_players)[0].score == 1 / game.num_players
    for name, location, words in (
        ("random", f"{__name__}:LastLegal", "'random' exists already"),
        ("my player", f"{__name__}:LastLegal", "one word in small letters"),
        ("aB", f"{__name__}:LastLegal", "one word in small letters"),
        ("mine", "LastLegal", "as 'module:NAME'"),
    ):
        with pytest.raises(ValueError, match=words):
            register_opponent(name, location)
    for name, location in (("lost", "no_such_module:Player"), ("gone", f"{__name__}:NoSuchPlayer")):
        register_opponent(name, location)
        with pytest.raises(ValueError, match=f"'{name}' is not at {location}"):
            load_opponent(name, game)


def test_every_opponent_is_tested() -> None:
    assert {re.split("[:,]", kind)[0] for kind in KINDS} == set(list_opponents())


def test_the_action_is_legal_on_every_mask(opponent: Opponent, seen: tuple[np.ndarray, np.ndarray]) -> None:
    observations, masks = seen
    actions = opponent.act(observations, masks)
    assert actions.dtype == np.int64 and actions.shape == (len(masks),)
    assert masks[np.arange(len(masks)), actions].all()
    assert len(np.unique(actions)) > 20


def test_a_mask_of_one_action_is_obeyed(opponent: Opponent, seen: tuple[np.ndarray, np.ndarray]) -> None:
    observations, masks = seen
    only = np.zeros_like(masks[:150])
    only[np.arange(150), np.arange(150) % masks.shape[1]] = True
    np.testing.assert_array_equal(opponent.act(observations[:150], only), np.arange(150) % masks.shape[1])


def test_the_answer_does_not_depend_on_the_batch(opponent: Opponent, seen: tuple[np.ndarray, np.ndarray]) -> None:
    observations, masks = seen
    together = opponent.act(observations, masks)
    order = np.random.default_rng(0).permutation(len(masks))
    apart = np.empty_like(together)
    for rows in (*np.array_split(order[:400], 400), *np.array_split(order[400:], 13)):
        apart[rows] = opponent.act(observations[rows], masks[rows])
    np.testing.assert_array_equal(apart, together)
    doubled = opponent.act(np.repeat(observations, 2, axis=0), np.repeat(masks, 2, axis=0))
    np.testing.assert_array_equal(doubled, np.repeat(together, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_player(
    kind: str, game: Any, checkpoint: Path, seen: tuple[np.ndarray, np.ndarray]
) -> None:
    one, other = (make(kind, game, checkpoint, seed=4) for _ in range(2))
    one.act(seen[0][:7], seen[1][:7])  # it keeps no memory
    np.testing.assert_array_equal(one.act(*seen), other.act(*seen))


@pytest.mark.parametrize("kind", CHANCE)
def test_another_seed_gives_another_player(
    kind: str, game: Any, checkpoint: Path, seen: tuple[np.ndarray, np.ndarray]
) -> None:
    actions = [make(kind, game, checkpoint, seed).act(*seen) for seed in (0, 1, 2**40)]
    has_choice = seen[1].sum(axis=1) > 5
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert (actions[one] != actions[other])[has_choice].mean() > 0.2
    fresh = [load_opponent("random", game, None).act(*seen) for _ in range(2)]
    assert (fresh[0] != fresh[1]).any()


def test_random_is_uniform_over_the_legal_actions(game: Any, seen: tuple[np.ndarray, np.ndarray]) -> None:
    observations, masks = seen
    row = int(masks.sum(axis=1).argmax())
    legal = np.flatnonzero(masks[row])
    picks = [
        load_opponent("random", game, seed).act(observations[row : row + 1], masks[row : row + 1])[0]
        for seed in range(2000)
    ]
    counts = np.bincount(picks, minlength=masks.shape[1])[legal]
    expected = 2000 / len(legal)
    assert ((counts - expected) ** 2 / expected).sum() < len(legal) + 5 * np.sqrt(2 * len(legal))


def test_the_global_generators_are_not_touched(
    game: Any, checkpoint: Path, seen: tuple[np.ndarray, np.ndarray]
) -> None:
    before = random_states()
    for kind in KINDS:
        make(kind, game, checkpoint, seed=3).act(*seen)
    assert random_states() == before


def test_what_it_was_asked_is_left_alone(opponent: Opponent, seen: tuple[np.ndarray, np.ndarray]) -> None:
    copies = [array.copy() for array in seen]
    expected = opponent.act(*copies)
    np.testing.assert_array_equal(copies[0], seen[0])
    np.testing.assert_array_equal(copies[1], seen[1])
    for array in copies:
        array.flags.writeable = False
    started = perf_counter()
    np.testing.assert_array_equal(opponent.act(*copies), expected)
    assert perf_counter() - started < 2  # and nothing is compiled anew for read-only arrays


def test_a_row_without_a_legal_action_is_refused(opponent: Opponent, seen: tuple[np.ndarray, np.ndarray]) -> None:
    masks = seen[1][:5].copy()
    masks[3] = False
    with pytest.raises(ValueError, match="no legal action"):
        opponent.act(seen[0][:5], masks)


def test_wrong_shapes_and_kinds_are_refused(opponent: Opponent, seen: tuple[np.ndarray, np.ndarray]) -> None:
    observations, masks = seen[0][:6], seen[1][:6]
    size, actions = observations.shape[1], masks.shape[1]
    for wrong in [
        (observations[:, :-1], masks),
        (observations, masks[:, 1:]),
        (observations[:5], masks),
        (observations[0], masks[0]),
        (observations[None], masks[None]),
    ]:
        with pytest.raises(ValueError, match=rf"expected .*{size}.*{actions}"):
            opponent.act(*wrong)
    with pytest.raises(ValueError, match=r"whole numbers.*float32"):
        opponent.act(opponent.game.layout.unit(observations), masks)


def test_no_rows_give_no_actions(opponent: Opponent, seen: tuple[np.ndarray, np.ndarray]) -> None:
    assert opponent.act(seen[0][:0], seen[1][:0]).shape == (0,)


def test_a_pettingzoo_observation_gets_the_same_answer(opponent: Opponent, game: Any) -> None:
    env = import_module(f"mandala_env.{game.id}").env(**game.options)
    env.reset(seed=11)
    batch = Batch(game, 1, 11)
    for agent in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            break
        action = opponent(observation)
        assert isinstance(action, int) and observation["action_mask"][action] == 1
        np.testing.assert_array_equal(batch.observations[0], game.layout.counts(observation["observation"]))
        assert action == opponent.act(batch.observations, batch.action_masks)[0], agent
        env.step(action)
        batch.step(np.array([action]))
    assert batch.ended[0]
    ending = {"observation": observation["observation"], "action_mask": np.zeros(len(game.actions), np.int8)}
    with pytest.raises(ValueError, match="no legal action"):
        opponent(ending)


# --- specs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("nobody", "random, heuristic, search, checkpoint"),
        ("", "random, heuristic, search, checkpoint"),
        ("Random", "random, heuristic, search, checkpoint"),
        ("no/such/folder", "random, heuristic, search, checkpoint"),
        ("random:speed=3", "'speed'; the options of random are: none"),
        ("heuristic:deep", "the options of heuristic are: none"),
        ("checkpoint", "checkpoint:PATH"),
        ("checkpoint:", "checkpoint:PATH"),
        ("checkpoint:no/such/folder", "no/such/folder"),
        ("checkpoint:PATH,temperature=hot", "temperature must be a number from 0 to 100, not 'hot'"),
        ("checkpoint:PATH,temperature=-1", "temperature must be a number from 0 to 100"),
        ("checkpoint:PATH,temperature=nan", "temperature must be a number from 0 to 100"),
        ("checkpoint:PATH,colour=red", "'colour'; the options of checkpoint are: path, temperature, threads"),
        ("PATH,colour=red", "'colour'; the options of checkpoint are: path, temperature, threads"),
    ],
)
def test_a_spec_that_makes_no_player_is_refused_with_what_is_known(
    spec: str, said: str, game: Any, tmp_path: Path
) -> None:
    path = tmp_path / "player"
    save_checkpoint(path, game, make_network(game), training={}, metrics={}, card="")
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        load_opponent(spec.replace("PATH", str(path)), game)
    assert "__init__" not in str(caught.value)


def test_an_unknown_game_and_a_wrong_seed_are_refused() -> None:
    with pytest.raises(ValueError, match="mandala_v0"):
        load_opponent("random", "chess")
    for seed in (-1, 1.5, "x", True):
        with pytest.raises(ValueError, match="seed must be"):
            load_opponent("random", "mandala_v0", seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["player", "a player, b=c/d"])
def test_a_folder_is_a_spec_of_its_own(
    game: Any, tmp_path: Path, seen: tuple[np.ndarray, np.ndarray], name: str
) -> None:
    path = tmp_path / name
    save_checkpoint(path, game, make_network(game, 1), training={}, metrics={}, card="")
    for options in ("", ",temperature=2"):
        one, other = (load_opponent(f"{prefix}{path}{options}", game) for prefix in ("", "checkpoint:"))
        np.testing.assert_array_equal(one.act(*seen), other.act(*seen))


def test_a_checkpoint_of_another_game_is_refused(game: Any, checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text((checkpoint / "config.json").read_text().replace(game.id, "chess_v0"))
    with pytest.raises(CheckpointError, match="chess_v0"):
        load_opponent(f"checkpoint:{tmp_path}", game)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ([], {})),
        ("a/b", (["a/b"], {})),
        ("a/b,x=1", (["a/b"], {"x": "1"})),
        ("x=1,y=2", ([], {"x": "1", "y": "2"})),
        ("runs/a,b=c/d,x=1", (["runs/a"], {"b": "c/d", "x": "1"})),
    ],
)
def test_options_stand_behind_commas(text: str, parts: tuple) -> None:
    assert split_options(text) == parts


# --- networks --------------------------------------------------------------------------------------------------------


def test_threads_give_the_same_answers(
    game: Any, checkpoint: Path, seen: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mandala_env.opponents.checkpoint.CHUNK", 7)
    one, three = (make(f"checkpoint,threads={threads}", game, checkpoint) for threads in (1, 3))
    for numbers, same in zip(one.evaluate(seen[0]), three.evaluate(seen[0]), strict=True):  # type: ignore[attr-defined]
        np.testing.assert_array_equal(numbers, same)


def test_temperature_goes_from_the_most_likely_action_to_any(
    game: Any, checkpoint: Path, seen: tuple[np.ndarray, np.ndarray]
) -> None:
    greedy = make("checkpoint", game, checkpoint).act(*seen)
    network = make("checkpoint", game, checkpoint).network  # type: ignore[attr-defined]
    logits = NetworkOpponent(game, 0, network).evaluate(seen[0])[0]
    best = np.where(seen[1], logits, -np.inf).max(axis=1)
    np.testing.assert_allclose(logits[np.arange(len(greedy)), greedy], best, atol=2e-4)
    same = [
        (make(f"checkpoint,temperature={t}", game, checkpoint).act(*seen) == greedy).mean()
        for t in ("0", "0.0001", "0.1", "1", "100")
    ]
    assert same[0] == 1 and same[1] > 0.97
    assert same[1] > same[2] > same[3] > same[4]


def test_a_frozen_copy_does_not_learn_with_the_learner(game: Any, seen: tuple[np.ndarray, np.ndarray]) -> None:
    network = make_network(game, 6, gain=2.0)
    frozen = frozen_copy(game, network, seed=0)
    before = frozen.act(*seen)
    logits = frozen.evaluate(seen[0])[0]
    for parameter in network.parameters():
        parameter.data.mul_(-3).add_(1)
    np.testing.assert_array_equal(frozen.act(*seen), before)
    np.testing.assert_array_equal(frozen.evaluate(seen[0])[0], logits)
    assert (frozen_copy(game, network, seed=0).act(*seen) != before).mean() > 0.2
    assert not any(parameter.requires_grad for parameter in frozen.network.parameters())


def test_the_heuristic_beats_random(game: Any) -> None:
    (match,) = evaluate("heuristic", "random", game=game, games=1000, seed=5)
    assert match.score >= 0.98
    assert match.interval[0] >= 0.97
