"""Collecting, evaluating and rating on Ray come to what they come to here, also when workers die in the middle."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ray = pytest.importorskip("ray", reason="needs the extra ray")

from mandala_env.adapters.ray import RayExecutor, connect  # noqa: E402
from mandala_env.arena.ladder import play_ladder  # noqa: E402
from mandala_env.arena.match import evaluate  # noqa: E402
from mandala_env.cli import main  # noqa: E402
from tests.training.test_resume import assert_same_state, train_and_keep  # noqa: E402
from tests.training.tiny import PER_ITERATION, make_model, tiny  # noqa: E402
from training.ray_workers import Collector  # noqa: E402
from training.state import read_state, save_state  # noqa: E402
from training.train import train  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """A cluster of this machine alone, for two workers."""
    ray.init(address="local", num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
    yield
    ray.shutdown()


def learned(game: Any, path: Path, workers: str, iterations: int = 4) -> Path:
    """The state of a model that learned with some workers."""
    model = make_model(game, tiny(workers=workers))
    model.learn(iterations * PER_ITERATION)
    save_state(path, model, {})
    model.workers.close()
    return path


def test_processes_of_ray_learn_what_threads_learn(game: Any, tmp_path: Path) -> None:
    local, far = (learned(game, tmp_path / kind, f"{kind}:2") for kind in ("local", "ray"))
    assert_same_state(local, far)
    header, _ = read_state(far)
    assert sum(m["is_snapshot"] for m in header["league"]) == 2 and sum(m["games"] for m in header["league"]) > 0


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    game: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect, fuse = Collector.collect, tmp_path / "fuse"
    fuse.write_text("")

    def collect_or_die(self: Collector, weights: Any, members: Any, *rest: Any) -> Any:
        outcome = collect(self, weights, members, *rest)
        if len(members) > 2 and fuse.exists():  # the work is done, two past selves have been fetched, nobody has it
            fuse.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return outcome

    local = learned(game, tmp_path / "local", "local:2")
    monkeypatch.setattr(Collector, "collect", collect_or_die)
    far = learned(game, tmp_path / "ray", "ray:2")
    assert not fuse.exists(), "a worker was killed"
    assert_same_state(local, far)


def test_a_run_that_was_stopped_goes_on_with_its_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny(4, workers="ray:2", save_every=2)
    whole, kept = train_and_keep(config, tmp_path, 2, monkeypatch)
    assert_same_state(whole / "state.safetensors", train(config, tmp_path, kept, quiet=True) / "state.safetensors")


def test_an_error_in_a_worker_is_the_learners_and_is_not_tried_again(
    game: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Collector, weights: Any, members: Any, snapshots: Any, saved: Any) -> None:
        raise ArithmeticError("once is enough")

    monkeypatch.setattr(Collector, "collect", fail)
    model = make_model(game, tiny(workers="ray:2"))
    with pytest.raises(ArithmeticError, match="once is enough"):
        model.learn(PER_ITERATION)
    model.workers.close()


def test_matches_as_tasks_are_the_matches_that_are_played_here(game: Any, tmp_path: Path) -> None:
    rivals = ["random", "heuristic"]
    with RayExecutor(2) as executor:
        far = evaluate("heuristic", rivals, games=20, seed=3, transcripts=tmp_path / "far", executor=executor)
        ladder = play_ladder(game, ["random", "heuristic", "again=random"], 20, seed=4, executor=executor)
        with pytest.raises(ValueError, match=r"^unknown opponent 'nobody'"):
            evaluate("heuristic", ["random", "nobody"], games=20, executor=executor)
    here = evaluate("heuristic", rivals, games=20, seed=3, transcripts=tmp_path / "here")
    assert far == here and all(np.array_equal(a.deal_scores, b.deal_scores) for a, b in zip(far, here, strict=True))
    for path in (tmp_path / "here").iterdir():
        assert path.read_text() == (tmp_path / "far" / path.name).read_text()
    assert ladder == play_ladder(game, ["random", "heuristic", "again=random"], 20, seed=4)


def die_once(fuse: Path) -> str:
    """What a task does whose worker is killed the first time."""
    if fuse.exists():
        fuse.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def test_a_task_whose_worker_is_killed_is_carried_out_by_another(tmp_path: Path) -> None:
    (tmp_path / "fuse").write_text("")
    with RayExecutor() as executor:
        assert executor.submit(die_once, tmp_path / "fuse").result() == "done"


def test_the_commands_take_ray_for_workers(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["evaluate", "heuristic", "--against", "random"], ["ladder", "random", "heuristic"]):
        shown = []
        for workers in ([], ["--workers", "ray"], ["--workers", "ray:2"]):
            main([*command, "--games", "8", *workers])
            shown.append(capsys.readouterr())
        assert shown[0] == shown[1] == shown[2]


def test_more_workers_than_the_cluster_has_room_for_are_refused() -> None:
    assert connect() == 2
    with pytest.raises(ValueError, match="ray:3 wants as many CPUs; the cluster has 2"):
        connect(3)
