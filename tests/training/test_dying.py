"""A run that is killed at any moment, or cannot write, keeps its last good state and ends as if nothing had been."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from mandala_env.arena.run_report import progress_files, read_lines, read_progress
from mandala_env.policies.checkpoint import load_checkpoint
from mandala_env.registry import load_game
from tests.training.dying import CONFIG, lives
from tests.training.test_resume import assert_same_state
from training.state import read_state

GAME = load_game(CONFIG.game, **CONFIG.options)
NOBODY = 65534
Live = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    """Carries out lives of the run."""
    with lives() as carry_out:
        yield carry_out


@pytest.fixture(scope="module")
def whole(live: Live, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run that nobody interrupts."""
    runs = tmp_path_factory.mktemp("whole")
    assert live(runs=str(runs)) == {"status": 0, "said": ""}
    return runs / CONFIG.name


def go_on(live: Live, folder: Path, **until: Any) -> dict[str, Any]:
    """The next life; a run that was killed before it had a folder begins."""
    return live(runs=str(folder.parent), resume=str(folder) if folder.exists() else None, **until)


def check_readable(folder: Path) -> tuple[int, int]:
    """Every file of a run can be read; returns the iterations of its state and of its curve."""
    if not folder.exists():
        return 0, 0
    header, _ = read_state(folder / "state.safetensors")
    if (folder / "config.yaml").exists():
        assert yaml.safe_load((folder / "config.yaml").read_text())["name"] == CONFIG.name
    if (folder / "league.json").exists():
        json.loads((folder / "league.json").read_text())
    if (folder / "report.html").exists():
        assert (folder / "report.html").read_text().endswith("</html>\n")
    if (folder / "checkpoint").exists() or (folder / ".checkpoint.old").exists():
        load_checkpoint(folder / "checkpoint", GAME)
    rows = [read_lines(path) for path in progress_files(folder)]
    curve = [row["time/iteration"] for row in read_progress(folder)] if any(rows) else []
    assert curve == list(range(1, len(curve) + 1)) and header["iteration"] <= len(curve)
    return header["iteration"], len(curve)


def assert_ended_alike(folder: Path, whole: Path) -> None:
    """A run is at the end of the uninterrupted one: state, curve, weights and scores."""
    assert_same_state(folder / "state.safetensors", whole / "state.safetensors")
    for name in ("league.json", "checkpoint/model.safetensors", "checkpoint/metrics.json"):
        assert (folder / name).read_bytes() == (whole / name).read_bytes(), name
    curves = [
        [{k: v for k, v in row.items() if k[:5] != "time/"} for row in read_progress(run)] for run in (folder, whole)
    ]
    assert curves[0] == curves[1] and len(curves[0]) == 5
    names = {path.name for path in folder.iterdir() if not path.name.startswith(("progress-", "events.", "."))}
    assert names == {"checkpoint", "config.yaml", "league.json", "progress.json", "report.html", "state.safetensors"}


def lead_to_the_end(live: Live, folder: Path, whole: Path, fates: Iterator[dict[str, Any]]) -> int:
    """Live until a life ends by itself; returns how many lives it took."""
    reached = 0, 0
    for number, fate in enumerate(fates, start=1):
        result = go_on(live, folder, **fate)
        assert result["status"] in (0, -9, -25), result
        before, reached = reached, check_readable(folder)
        assert reached >= before
        if result["status"] == 0:
            assert_ended_alike(folder, whole)
            return number
    raise AssertionError("the run never came to its end")


def test_a_run_that_is_killed_again_and_again_ends_as_if_nothing_had_happened(
    live: Live, whole: Path, tmp_path: Path
) -> None:
    events = [{"event": 6 * number + 1} for number in range(100)]
    assert lead_to_the_end(live, tmp_path / CONFIG.name, whole, iter([{"bytes": 17_000}, *events])) > 5


def test_tensorboard_shows_a_resumed_run_as_one_curve(live: Live, whole: Path, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = tmp_path / CONFIG.name
    go_on(live, folder, event=23)
    shutil.copy(folder / "state.safetensors", tmp_path / "state")
    go_on(live, folder, event=12)
    os.replace(tmp_path / "state", folder / "state.safetensors")  # what comes now was written before
    go_on(live, folder)
    reader = EventAccumulator(str(folder))
    reader.Reload()
    assert [one.value for one in reader.Scalars("time/iteration")] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("size", [10, 17_000])
def test_a_full_disk_is_one_clear_error_and_leaves_the_last_good_state(
    live: Live, whole: Path, tmp_path: Path, size: int
) -> None:
    folder = tmp_path / CONFIG.name
    result = go_on(live, folder, full=size)
    assert result["status"] == 1 and result["said"].startswith("OSError: [Errno 27] File too large: '"), result
    check_readable(folder)
    assert not list(tmp_path.rglob("*unfinished*"))  # half a file would keep the disk full
    assert go_on(live, folder)["status"] == 0
    assert_ended_alike(folder, whole)


def test_a_run_folder_that_may_not_be_written_is_one_clear_error_and_stays_as_it_is(live: Live, whole: Path) -> None:
    with tempfile.TemporaryDirectory() as root:  # pytest's own folders are closed to other users
        folder = Path(root) / CONFIG.name
        shutil.copytree(whole, folder)
        for path in (root, folder):
            os.chmod(path, 0o555)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for resume in (str(folder), None):
            result = live(runs=root, resume=resume, user=NOBODY)
            assert result["status"] == 1 and result["said"].startswith("PermissionError: [Errno 13] Permission denied")
            assert str(root) in result["said"]
        assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for path in (root, folder):
            os.chmod(path, 0o755)


def test_two_trainings_side_by_side_have_a_folder_each(live: Live, whole: Path, tmp_path: Path) -> None:
    assert live(runs=str(tmp_path), twin=True) == {"status": 0, "said": ""}
    assert {path.name for path in tmp_path.iterdir()} == {"small", "small-2"}
    for folder in tmp_path.iterdir():
        assert_ended_alike(folder, whole)


# --- the long form ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_200_kills_at_random_moments(live: Live, whole: Path, tmp_path: Path) -> None:
    rng, kills, number = np.random.default_rng(0), 0, 0
    while kills < 200:
        folder = tmp_path / str(number) / CONFIG.name
        folder.parent.mkdir()
        fates = ({"seconds": float(rng.uniform(0.02, 0.3 + 0.1 * life))} for life in range(100))
        kills += lead_to_the_end(live, folder, whole, fates) - 1
        number += 1


@pytest.mark.slow
def test_a_kill_before_each_change_of_a_file_and_in_the_middle_of_each_write(
    live: Live, whole: Path, tmp_path: Path
) -> None:
    def num_lives(fate: dict[str, Any]) -> int:
        folder = tmp_path / "-".join(map(str, *fate.items())) / CONFIG.name
        folder.parent.mkdir()
        return lead_to_the_end(live, folder, whole, iter([fate, {}]))

    number = 1
    while num_lives({"event": number}) == 2:  # until there is no such change any more
        number += 1
    assert number > 30
    for size in sorted(set(np.geomspace(1, 30_000, 40).astype(int).tolist())):
        assert num_lives({"bytes": size}) == 2
    for name in ("event", "bytes"):  # and of a run that is there already: its checkpoint is replaced
        for value in range(1, 25):
            folder = tmp_path / f"{name} {value}" / CONFIG.name
            shutil.copytree(whole, folder)
            result = go_on(live, folder, **{name: value if name == "event" else 1000 * value})
            assert check_readable(folder)[0] == 5
            if result["status"] != 0:
                assert go_on(live, folder)["status"] == 0
            assert_ended_alike(folder, whole)


@pytest.mark.slow
def test_a_disk_that_is_really_full(live: Live, whole: Path, tmp_path: Path) -> None:
    for size in range(24, 140, 12):
        disk = tmp_path / f"{size}"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", disk], check=False).returncode:
            pytest.skip("only root can make a small disk")
        try:
            result = go_on(live, disk / CONFIG.name)
            assert result["status"] == 0 or "No space left on device" in result["said"], result
            check_readable(disk / CONFIG.name)
            subprocess.run(["mount", "-o", "remount,size=10m", disk], check=True)
            assert go_on(live, disk / CONFIG.name)["status"] == 0
            assert_ended_alike(disk / CONFIG.name, whole)
        finally:
            subprocess.run(["umount", disk], check=True)
