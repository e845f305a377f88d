"""Every game keeps its cards, ends, depends on its seed alone, and is the same in a batch and in plain Python."""

import copy
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mandala_env.core import batch as core_batch
from mandala_env.core import shares
from mandala_env.core.batch import Batch
from mandala_env.core.game import IllegalAction
from mandala_env.core.jit import IS_COMPILED
from mandala_env.core.rng import spread_seeds

from . import seeded_play
from .playing import different, same, sample, walk

# --- one game -----------------------------------------------------------------------------------------------------


def test_somebody_may_act_until_the_end_and_nobody_after_it(game: Any) -> None:
    for seed in range(60):
        for state in walk(game, seed):
            legal = game.legal_actions(state)
            mask = game.action_mask(state)
            assert mask.dtype == bool and mask.shape == (len(game.actions),)
            assert np.flatnonzero(mask).tolist() == legal
            assert bool(legal) != game.is_over(state)
            assert 0 <= game.player(state) < game.num_players
        with pytest.raises(IllegalAction, match="after the end"):
            game.apply(state, 0)


def test_the_winners_are_those_with_most_points_and_share_what_the_losers_lose(game: Any) -> None:
    seen = set()
    for seed in range(120):
        *_, state = walk(game, seed)
        scores, payoffs = np.array(game.scores(state)), np.array(game.payoffs(state))
        assert abs(payoffs.sum()) < 1e-6
        assert set(np.sign(payoffs)) in ({0.0}, {-1.0, 1.0})
        assert payoffs[payoffs > 0].sum() in (0, pytest.approx(1))
        assert (scores[payoffs < 0] <= scores.max()).all() and (scores[payoffs > 0] == scores.max()).all()
        if (scores == scores.max()).sum() == 1:
            assert payoffs.argmax() == scores.argmax() and payoffs.max() > 0
        seen.add(int(payoffs.argmax()))
    assert seen == set(range(game.num_players)), "every seat wins now and then"


def test_a_seed_gives_one_game_and_another_seed_another(game: Any) -> None:
    for one, other in zip(walk(game, 3), walk(game, 3), strict=True):
        assert same(one, other)
    deals = {deal_key(game, seed) for seed in range(500)}
    assert len(deals) == 500
    assert deal_key(game, None) != deal_key(game, None)
    for seed in (-1, 1.0, True, "0"):
        with pytest.raises(ValueError, match="seed must be"):
            game.deal(seed)


def deal_key(game: Any, seed: int | None) -> str:
    """A new game's position as text."""
    return json.dumps(game.position(game.deal(seed)))


def test_a_copy_is_a_game_of_its_own_with_the_same_future(game: Any) -> None:
    for state in sample(game, every=150):
        for twin in (game.copy(state), pickle.loads(pickle.dumps(state)), copy.deepcopy(state)):
            before = game.copy(state)
            for _ in range(12):
                if not game.is_over(twin):
                    game.apply(twin, game.legal_actions(twin)[0])
            assert same(before, state)
            once_more = game.copy(state)
            for _ in range(12):
                if not game.is_over(once_more):
                    game.apply(once_more, game.legal_actions(once_more)[0])
            assert same(twin, once_more)


def test_a_game_survives_copying_and_pickling_as_itself(game: Any) -> None:
    assert pickle.loads(pickle.dumps(game)) is game
    assert copy.deepcopy(game) is game


def test_an_illegal_action_is_refused_with_the_legal_ones_and_changes_nothing(game: Any) -> None:
    for state in sample(game, every=150):
        if game.is_over(state):
            continue
        before = game.copy(state)
        legal = game.legal_actions(state)
        illegal = sorted(set(range(len(game.actions))) - set(legal))
        for action in [*illegal, -1, len(game.actions), 2**70, None, 0.0, "0"]:
            with pytest.raises(IllegalAction) as error:
                game.apply(state, action)
            assert f"{legal[0]} {game.actions.text(legal[0])!r}" in str(error.value)
        assert same(before, state)


def test_asking_changes_nothing(game: Any) -> None:
    for state in sample(game, every=150):
        before = game.copy(state)
        game.scores(state), game.payoffs(state), game.position(state), game.render(state), game.action_mask(state)
        for seat in range(game.num_players):
            game.observe(state, seat), game.render(state, seat)
        assert same(before, state)


# --- a batch ------------------------------------------------------------------------------------------------------


def test_a_row_of_a_batch_is_the_game_alone_whatever_the_number_of_games_and_threads(
    game: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "GAMES_OF_A_THREAD", 1)
    largest = record(Batch(game, 300, seed=9), 100)
    for num_games, num_threads in ((1, 1), (4, 2), (300, 3), (3, 5)):
        rows = record(Batch(game, num_games, seed=9, num_threads=num_threads), 100)
        for name in rows:
            assert np.array_equal(rows[name], largest[name][:, :num_games]), name
    generators = spread_seeds(9, 11)
    alone = record(Batch(game, 1, seeds=generators[7:8]), 100)
    assert np.array_equal(alone["observations"][:, 0], largest["observations"][:, 7])


RESULTS = ("observations", "action_masks", "players", "payoffs", "ended", "scores", "turns")


def record(batch: Batch, steps: int) -> dict[str, np.ndarray]:
    """All that a batch shows over some random steps, (T, N, ...)."""
    shown: dict[str, list[np.ndarray]] = {name: [] for name in RESULTS}
    for _ in range(steps):
        for name in RESULTS:
            shown[name].append(getattr(batch, name).copy())
        batch.step_random()
    return {name: np.array(values) for name, values in shown.items()}


def test_game_0_of_a_batch_is_the_game_of_that_seed_until_its_end_and_then_a_new_one(game: Any) -> None:
    for seed in range(8):
        batch = Batch(game, 2, seed=seed)
        state = game.deal(seed)
        for _ in range(20_000):
            assert same(batch.states[0], state)
            assert np.array_equal(batch.observations[0], game.observe(state, game.player(state)))
            assert np.array_equal(batch.action_masks[0], game.action_mask(state))
            assert batch.players[0] == game.player(state)
            actions = batch.action_masks.argmax(axis=1) if seed % 2 else last_legal(batch)
            game.apply(state, int(actions[0]))
            payoffs, ended = batch.step(actions)
            if ended[0]:
                break
            assert not payoffs[0].any() and not batch.scores[0].any() and batch.turns[0] == 0
        assert ended[0] and game.is_over(state)
        assert tuple(payoffs[0]) == game.payoffs(state)
        assert tuple(batch.scores[0]) == game.scores(state)
        assert batch.turns[0] == state.turn
        assert batch.states[0].turn == 0 and different(batch.states[0], game.deal(seed)), "a new game is dealt"


def last_legal(batch: Batch) -> np.ndarray:
    """The legal action with the highest id for each game."""
    return batch.action_masks.shape[1] - 1 - batch.action_masks[:, ::-1].argmax(axis=1)


def test_random_steps_are_steps_of_legal_actions(game: Any) -> None:
    at_random, chosen = Batch(game, 6, seed=4), Batch(game, 6, seed=4)
    trial = Batch(game, 1, copy=False)
    num_found = []
    for _ in range(50):
        before = chosen.states.copy()
        at_random.step_random()
        actions = []
        for i, state in enumerate(before):
            actions.append([])
            for action in np.flatnonzero(chosen.action_masks[i]):
                trial.set_states(before[i : i + 1])
                trial.step(np.array([action]))
                if same(trial.states[0], at_random.states[i]):
                    actions[-1].append(int(action))
            assert actions[-1], f"no legal action leads from {game.position(state)} to what came at random"
        num_found += [len(found) for found in actions]
        chosen.step(np.array([found[0] for found in actions]))
        for name in RESULTS:
            assert np.array_equal(getattr(at_random, name), getattr(chosen, name)), name
    assert np.median(num_found) == 1, "but for some last actions, an action can be told by its outcome"


def test_random_actions_are_uniform_among_the_legal_ones(game: Any) -> None:
    batch = Batch(game, 40_000, seed=0, copy=False)
    state = game.deal(1)
    batch.set_states(np.repeat(np.array([state]), len(batch)))
    before = game.observe(state, game.player(state))
    legal = game.legal_actions(state)
    batch.step_random()
    assert (batch.states["generator"] != 0).all()
    outcomes = np.unique(batch.states, return_counts=True)[1]
    expected = len(batch) / len(legal)
    assert len(outcomes) == len(legal), before
    chi_square = ((outcomes - expected) ** 2 / expected).sum()
    assert chi_square < len(legal) + 6 * np.sqrt(2 * len(legal))


def test_what_a_batch_handed_out_stays_as_it_was_and_may_be_scribbled_on(game: Any) -> None:
    batch, reusing = Batch(game, 5, seed=6), Batch(game, 5, seed=6, copy=False)
    kept, copies = [], []
    for _ in range(120):
        kept.append([getattr(batch, name) for name in RESULTS])
        copies.append([array.copy() for array in kept[-1]])
        for name in RESULTS:
            assert np.array_equal(getattr(reusing, name), getattr(batch, name)), name
        actions = batch.action_masks.argmax(axis=1)
        first = reusing.observations
        reusing.step(actions)
        assert reusing.observations is first
        batch.step(actions)
        assert kept[-1][0] is not batch.observations
    assert all(
        np.array_equal(a, b) for now, then in zip(kept, copies, strict=True) for a, b in zip(now, then, strict=True)
    )
    twin = pickle.loads(pickle.dumps(batch))
    for name in RESULTS:
        getattr(batch, name)[:] = 1
    batch.step_random(), twin.step_random()
    assert all(np.array_equal(getattr(batch, name), getattr(twin, name)) for name in RESULTS)


def test_a_copied_batch_goes_on_as_the_batch_does(game: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "GAMES_OF_A_THREAD", 1)
    for is_copying, num_threads in ((True, 2), (False, 1)):
        batch = Batch(game, 4, seed=6, num_threads=num_threads, copy=is_copying)
        for _ in range(7):
            batch.step_random()
        for copied in (lambda batch: pickle.loads(pickle.dumps(batch)), copy.deepcopy):
            twin = copied(batch)
            expected, shown = (record(each, 90) for each in (batch, twin))
            for name in RESULTS:
                assert np.array_equal(expected[name], shown[name]), name


def test_a_pickled_batch_goes_on_in_plain_python(game: Any, tmp_path: Path) -> None:
    batch = Batch(game, 3, seed=6, num_threads=2)
    (tmp_path / "batch").write_bytes(pickle.dumps(batch))
    batch.step(batch.action_masks.argmax(axis=1))
    code = (
        "import pickle, sys; batch = pickle.load(open(sys.argv[1], 'rb')); "
        "batch.step(batch.action_masks.argmax(axis=1)); print(batch.observations.tolist())"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    told = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "batch"], env=environment, check=True, capture_output=True, text=True
    )
    assert json.loads(told.stdout) == batch.observations.tolist()


def test_a_batch_fills_its_own_arrays_whatever_is_put_in_their_place(game: Any) -> None:
    batch, twin = (Batch(game, 3, seed=6, copy=False) for _ in range(2))
    own = batch.observations
    wide = np.zeros((3, 2 * own.shape[1]), np.int8)
    batch.observations, batch.turns = wide[:, ::2], np.broadcast_to(np.int16(0), 3)
    for _ in range(20):
        batch.step_random(), twin.step_random()
    assert not wide.any() and np.array_equal(own, twin.observations)


@pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled")
def test_read_only_actions_are_taken_and_compile_nothing_anew(game: Any) -> None:
    kinds = [len(kernel.overloads) for kernel in (core_batch._step, core_batch._first_illegal)]
    batch = Batch(game, 3, seed=6)
    actions = batch.action_masks.argmax(axis=1)
    actions.flags.writeable = False
    batch.step(actions)
    batch.step(batch.action_masks.argmax(axis=1))
    now = [len(kernel.overloads) for kernel in (core_batch._step, core_batch._first_illegal)]
    assert all(number <= before + 1 for number, before in zip(now, kinds, strict=True))


@pytest.mark.skipif(not IS_COMPILED, reason="plain Python runs in one thread")
def test_a_batch_waits_for_its_threads_when_it_is_interrupted(game: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "GAMES_OF_A_THREAD", 1)
    batch, begun, ended = Batch(game, 300, seed=6, num_threads=2), threading.Event(), threading.Event()

    def run(shares: Any, thread: int, *arrays: Any) -> bool:
        if thread == 0:
            assert begun.wait(20)
            raise KeyboardInterrupt
        begun.set()
        time.sleep(0.2)
        ended.set()
        return True

    batch._entry_points[core_batch._step_random] = run
    with pytest.raises(KeyboardInterrupt):
        batch.step_random()
    assert ended.is_set()


def test_an_illegal_action_in_a_batch_is_named_and_changes_no_game(game: Any) -> None:
    batch = Batch(game, 5, seed=6)
    for _ in range(10):
        batch.step_random()
    before = batch.states.copy(), {name: getattr(batch, name).copy() for name in RESULTS}
    good = batch.action_masks.argmax(axis=1)
    illegal = int(np.flatnonzero(~batch.action_masks[3])[0])
    for wrong in (illegal, -1, len(game.actions), 2**40, -(2**63)):
        actions = good.astype(np.int64)
        actions[3] = wrong
        with pytest.raises(IllegalAction, match=f"game 3: action {wrong}"):
            batch.step(actions)
    for actions in (good[:4], good[None], good.astype(np.float32), good.astype(bool), good.astype(str), good[0], None):
        with pytest.raises(ValueError, match="actions must be 5 whole numbers"):
            batch.step(actions)
    assert np.array_equal(batch.states, before[0])
    assert all(np.array_equal(getattr(batch, name), before[1][name]) for name in RESULTS)
    for kind in (np.uint8, np.int16, np.int32, np.uint64):
        batch.step(batch.action_masks.argmax(axis=1).astype(kind))
    batch.step(batch.action_masks.argmax(axis=1).tolist())


def test_a_batch_of_no_games_or_no_threads_is_refused(game: Any) -> None:
    for num_games, num_threads, name in ((0, 1, "num_games"), (1.5, 1, "num_games"), (1, 0, "num_threads")):
        with pytest.raises(ValueError, match=name):
            Batch(game, num_games, num_threads=num_threads)


def test_the_games_of_a_batch_and_of_neighbouring_seeds_are_all_different(game: Any) -> None:
    deals = np.concatenate([Batch(game, 300, seed=seed).states for seed in (0, 1, 2)])
    without_generator = deals[[name for name in deals.dtype.names if name != "generator"]]
    assert len(np.unique(without_generator)) == len(deals)
    assert len({Batch(game, 1).states.tobytes() for _ in range(5)}) == 5


def test_before_anything_ended_a_batch_shows_no_results(game: Any) -> None:
    for is_copying in (True, False):
        batch = Batch(game, 400, seed=0, copy=is_copying)
        for _ in range(2):
            assert not any(getattr(batch, name).any() for name in ("payoffs", "ended", "scores", "turns"))
            for _ in range(60):
                batch.step_random()
            batch.set_states(Batch(game, 400, seed=1).states)


def test_states_put_into_a_batch_are_shown_and_played_on(game: Any) -> None:
    states = np.array([state for state in sample(game, every=60) if not game.is_over(state)])
    batch = Batch(game, len(states), seed=0)
    shown = batch.observations
    kept = shown.copy()
    batch.set_states(states)
    assert np.array_equal(shown, kept)
    for i, state in enumerate(states.view(np.recarray)):
        assert same(batch.states[i], state)
        assert np.array_equal(batch.observations[i], game.observe(state, game.player(state)))
        assert np.array_equal(batch.action_masks[i], game.action_mask(state))
        for seat in range(game.num_players):
            assert np.array_equal(batch.observe(seat)[i], game.observe(state, seat))
    actions = batch.action_masks.argmax(axis=1)
    _, ended = batch.step(actions)
    for i, state in enumerate(states.view(np.recarray)):
        game.apply(state, int(actions[i]))
        assert ended[i] == game.is_over(state)
        assert ended[i] or same(batch.states[i], state)


# --- plain Python -------------------------------------------------------------------------------------------------


def test_the_compiled_rules_are_the_rules_in_plain_python() -> None:
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", seeded_play.__name__]
    folder = str(seeded_play.FOLDER)
    plain = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, cwd=folder)
    compiled, plain_lines = seeded_play.lines(), plain.stdout.splitlines()
    assert len(compiled) > 150
    for one, other in zip(compiled, plain_lines, strict=True):
        assert one == other
