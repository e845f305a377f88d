"""Games that threads share out among themselves: each is taken once, by whomever."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import pytest

from mandala_env.core import shares as module
from mandala_env.core.jit import IS_COMPILED
from mandala_env.core.shares import share_out
from tests.compiled import called

take, is_done = called(module.take), called(module.is_done)


@numba.njit(nogil=True)
def visit(shares: Any, thread: int, visits: Any) -> bool:
    """Count the visits of each game, as a kernel would step them."""
    first, last = module.take(shares, thread, 0)
    while first < last:
        for game in range(first, last):
            visits[game] += 1
        first, last = module.take(shares, thread, last - first)
    return module.is_done(shares, thread)


@pytest.mark.skipif(not IS_COMPILED, reason="plain Python takes with one thread only")
@pytest.mark.parametrize("num_games", [1, 63, 64, 65, 1000, 12345])
@pytest.mark.parametrize("num_threads", [1, 2, 3, 5])
def test_threads_take_every_game_once(num_games: int, num_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GAMES_OF_A_THREAD", 1)
    visits = np.zeros(num_games, np.int64)
    with ThreadPoolExecutor(num_threads) as pool:
        for run in range(1, 40):
            shares = share_out(num_games, num_threads)
            threads = range(len(shares) - 1)
            list(pool.map(lambda thread, shares=shares: visit(shares, thread, visits), threads))
            assert (visits == run).all() and is_done(shares, 0)


def test_one_thread_does_what_the_others_do_not_come_to_and_late_ones_find_nothing() -> None:
    shares, visits = share_out(3 * module.GAMES_OF_A_THREAD + 7, 3), np.zeros(3 * module.GAMES_OF_A_THREAD + 7)
    assert len(shares) == 4
    assert visit(shares, 0, visits) and visit(shares, 2, visits) and visit(shares, 1, visits)
    assert (visits == 1).all()


def test_the_first_thread_is_told_when_others_are_not_ready() -> None:
    shares, visits = share_out(2 * module.GAMES_OF_A_THREAD, 2), np.zeros(2 * module.GAMES_OF_A_THREAD)
    first, last = take(shares, 1, 0)
    assert not visit(shares, 0, visits) and visits.sum() == len(visits) - (last - first)
    assert take(shares, 1, last - first) == (0, 0) and is_done(shares, 0)


def test_threads_have_many_games_each_or_are_left_out() -> None:
    most = module.GAMES_OF_A_THREAD
    assert [len(share_out(num_games, 4)) - 1 for num_games in (1, 2 * most - 1, 2 * most, 9 * most)] == [1, 1, 2, 4]
