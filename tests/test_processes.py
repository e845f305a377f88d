"""Workers of every kind play the same games, and nothing that ends leaves a process or a thread behind."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from mandala_env import evaluate, load_game, make_batch
from mandala_env.arena.ladder import play_ladder
from mandala_env.core.shares import GAMES_OF_A_THREAD
from tests.threads import one_thread  # noqa: F401
from tests.worker import games


def children() -> set[str]:
    """The processes that this one has started and that are still there, without the helpers of Python's own library."""
    found = {pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}
    return {pid for pid in found if b"multiprocessing" not in Path("/proc", pid, "cmdline").read_bytes()}


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """Whatever the test starts must have ended with it."""
    before, threads = children(), set(threading.enumerate())
    yield
    gc.collect()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and (set(threading.enumerate()) - threads or children() - before):
        time.sleep(0.02)
    assert set(threading.enumerate()) <= threads
    assert children() <= before


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("method", ["spawn", pytest.param("forkserver", marks=pytest.mark.slow)])
def test_workers_play_the_games_of_this_process(method: str) -> None:
    context = get_context(method)
    with context.Pool(2) as pool:
        found = pool.map(games, range(2), chunksize=1)
        pool.close()
        pool.join()
    assert found == [games(seed) for seed in range(2)]


@pytest.mark.usefixtures("nothing_left")
def test_matches_leave_no_thread_behind() -> None:
    evaluate("search:simulations=5,threads=2", "heuristic", games=8)
    batch = make_batch("mandala_v0", 2 * GAMES_OF_A_THREAD, num_threads=2)
    batch.step_random()


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left")
def test_a_ladder_with_workers_leaves_no_process_behind() -> None:
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        play_ladder(load_game("mandala_v0"), ["random", "heuristic", "search:simulations=5"], 20, executor=executor)


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("fails", [False, True])
def test_a_training_leaves_no_thread_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    from tests.training.dying import CONFIG
    from training.selfplay import SelfPlayPPO, TrainingDiverged
    from training.train import train

    def diverge(self: SelfPlayPPO) -> None:
        raise TrainingDiverged

    monkeypatch.setattr("training.train.FINAL_GAMES", 4)
    if not fails:
        train(replace(CONFIG, num_threads=2), tmp_path, quiet=True)
        return
    monkeypatch.setattr(SelfPlayPPO, "train", diverge)
    with pytest.raises(TrainingDiverged):
        train(replace(CONFIG, num_threads=2), tmp_path, quiet=True)


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_told_to_stop_stops(number: int) -> None:
    pytest.importorskip("uvicorn")
    command = [sys.executable, "-m", "mandala_env", "serve", "--port", "8743"]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "http://127.0.0.1:8743"
        for _ in range(100):
            try:
                assert urllib.request.urlopen("http://127.0.0.1:8743/api/choices", timeout=5).status == 200
                break
            except OSError:
                time.sleep(0.1)
        process.send_signal(number)
        process.wait(20)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # nobody of its group is left


@pytest.mark.slow
def test_eight_cold_starts_of_the_engine_on_one_new_cache(tmp_path: Path) -> None:
    code = "from tests.worker import games; print(games(0))"
    environment = os.environ | {"MANDALA_ENV_CACHE_DIR": str(tmp_path)}
    started = [subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=-1, text=True) for _ in range(8)]
    assert {process.communicate()[0].strip() for process in started} == {games(0)}
    assert [process.returncode for process in started] == [0] * 8
