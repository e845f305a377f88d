"""A run that was stopped goes on as if nothing had happened."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

import training.state
import training.train
from mandala_env import load_game
from mandala_env.policies.network import NetworkConfig
from tests.training.tiny import PER_ITERATION, make_model, tiny
from training.config import TrainConfig
from training.state import StateError, read_state, restore_state, save_state
from training.train import train


def train_and_keep(
    config: TrainConfig, runs: Path, iteration: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path]:
    """Train to the end; returns the run's folder and a copy of it as it was after an iteration."""
    kept = runs / "kept"

    def save_and_copy(path: Path, model: Any, config: dict) -> None:
        save_state(path, model, config)
        if model.iteration == iteration:
            shutil.copytree(path.parent, kept)

    with monkeypatch.context() as patch:
        patch.setattr(training.train, "save_state", save_and_copy)
        return train(config, runs, quiet=True), kept


def assert_same_state(one: Path, other: Path) -> None:
    """Two runs are in the same state, byte for byte."""
    (header, arrays), (other_header, other_arrays) = read_state(one), read_state(other)
    assert header | {"seconds": 0} == other_header | {"seconds": 0}
    assert arrays.keys() == other_arrays.keys()
    for name, array in arrays.items():
        assert array.tobytes() == other_arrays[name].tobytes(), name


MLP = {"network": NetworkConfig(mlp=[16]), "precision": "bfloat16"}


@pytest.mark.parametrize("changes", [{}, {"num_threads": 2}, MLP], ids=["one thread", "two threads", "mlp"])
def test_eight_iterations_are_four_and_a_resume_and_four(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    monkeypatch.setattr("training.precision.has_bfloat16", lambda: True)  # so small a network is fast enough without
    config = tiny(8, **changes)
    whole, kept = train_and_keep(config, tmp_path, 4, monkeypatch)
    assert read_state(kept / "state.safetensors")[0]["iteration"] == 4
    resumed = train(config, tmp_path, resume=kept, quiet=True)
    assert resumed == kept
    assert_same_state(whole / "state.safetensors", resumed / "state.safetensors")
    for name in ("model.safetensors", "metrics.json"):
        assert (whole / "checkpoint" / name).read_bytes() == (resumed / "checkpoint" / name).read_bytes()

    header, arrays = read_state(whole / "state.safetensors")
    assert header["iteration"] == 8 and header["num_timesteps"] == 8 * PER_ITERATION
    assert header["league"][0]["name"] == "heuristic"
    assert sum(m["is_snapshot"] and not m["is_retired"] for m in header["league"]) == 2
    assert {"self-4", "self-6"} & {m["name"] for m in header["league"]}  # taken after the resume
    assert sum(m["games"] for m in header["league"]) > 5
    assert any(name.startswith("optimizer/") for name in arrays)

    def losses(folder: Path, name: str = "progress.json") -> list[dict]:
        rows = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        return [
            {key: value for key, value in row.items() if not key.startswith("time/") or key == "time/iteration"}
            for row in rows
        ]

    assert losses(resumed, "progress-1.json") + losses(resumed) == losses(whole)


def test_another_number_of_threads_is_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, kept = train_and_keep(tiny(4), tmp_path, 4, monkeypatch)
    with pytest.raises(StateError, match="num_threads = 1, not 2"):
        train(tiny(8, num_threads=2), tmp_path, resume=kept, quiet=True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 4}, "seed = 3, not 4"),
        ({"options": {"max_turns": 50}}, "options = {}, not {'max_turns': 50}"),
        ({"save_every": 1}, "save_every = 4, not 1"),
        ({"workers": "local:2"}, "workers = 1, not 2"),
        ({"ppo": replace(tiny().ppo, gamma=0.5)}, "'gamma': 1.0.* not .*'gamma': 0.5"),
        ({"league": replace(tiny().league, share=0.1)}, "'share': 0.5.* not .*'share': 0.1"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value[:12],
)
def test_going_on_with_another_config_is_refused_with_both_sides(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    folder = train(tiny(1), tmp_path, quiet=True)
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    said = said.replace("{", r"\{").replace("}", r"\}")
    with pytest.raises(StateError, match=said):
        train(tiny(2, **changes), tmp_path, resume=folder, quiet=True)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_run_goes_on_with_as_many_workers_by_another_name(tmp_path: Path) -> None:
    folder = train(tiny(1), tmp_path, quiet=True)
    assert train(tiny(2, workers="local:1"), tmp_path, resume=folder, quiet=True) == folder


def test_a_run_from_before_there_was_a_choice_goes_on_as_what_was_there_then(tmp_path: Path) -> None:
    folder = train(tiny(1), tmp_path, quiet=True)
    path = folder / "state.safetensors"
    header, arrays = read_state(path)
    for section, name in ((header["config"], "precision"), (header["config"]["network"], "mlp")):
        del section[name]
    path.write_bytes(save(arrays, {"state": json.dumps(header)}))
    with pytest.raises(StateError, match=r"'mlp': \[\].* not .*'mlp': \[8\]"):
        train(tiny(2, network=replace(tiny().network, mlp=[8])), tmp_path, resume=folder, quiet=True)
    assert train(tiny(2), tmp_path, resume=folder, quiet=True) == folder


def test_a_run_that_could_not_be_read_again_is_refused_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = training.state
    weights = sum(make_model(load_game("mandala_v0")).network.sizes()) * 4
    monkeypatch.setattr(limits, "LARGEST_RUN", limits.LARGEST_CONFIG + 4 * weights)
    with pytest.raises(ValueError, match="2 past selves and 24 games make a state of"):
        train(tiny(1), tmp_path, quiet=True)
    train(tiny(1, league=replace(tiny().league, max_snapshots=0)), tmp_path, quiet=True)
    monkeypatch.setattr(limits, "LARGEST_MODEL", limits.LARGEST_CONFIG + weights // 2)
    with pytest.raises(ValueError, match="make a player of 0 MiB; one of at most 1 MiB can be read again"):
        train(tiny(1, name="other"), tmp_path, quiet=True)
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"], "nothing is left of those that were refused"


def test_a_finished_run_can_be_made_longer(tmp_path: Path) -> None:
    folder = train(tiny(1), tmp_path, quiet=True)
    assert train(tiny(3), tmp_path, resume=folder, quiet=True) == folder
    header, _ = read_state(folder / "state.safetensors")
    assert header["iteration"] == 3
    rows = [json.loads(line) for line in (folder / "progress.json").read_text().splitlines()]
    assert [row["time/iteration"] for row in rows] == [2, 3]


def test_going_on_with_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    folder = train(tiny(2), tmp_path, quiet=True)
    state = (folder / "state.safetensors").read_bytes()
    model = (folder / "checkpoint" / "model.safetensors").read_bytes()
    train(tiny(2), tmp_path, resume=folder, quiet=True)
    assert (folder / "state.safetensors").read_bytes() == state
    assert (folder / "checkpoint" / "model.safetensors").read_bytes() == model


def test_a_state_comes_back_as_it_was_saved(tmp_path: Path, game: Any) -> None:
    model = make_model(game)
    model.learn(3 * PER_ITERATION)
    save_state(tmp_path / "one", model, {})
    other = make_model(game)
    restore_state(other, *read_state(tmp_path / "one"))
    save_state(tmp_path / "other", other, {})
    assert_same_state(tmp_path / "one", tmp_path / "other")
    for shard, restored in zip(model.shards, other.shards, strict=True):
        np.testing.assert_array_equal(shard.batch.observations, restored.batch.observations)
        np.testing.assert_array_equal(shard.batch.legal_sets, restored.batch.legal_sets)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other"]


def test_a_save_that_fails_leaves_the_old_state(tmp_path: Path, game: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model(game)
    save_state(tmp_path / "state", model, {})
    before = (tmp_path / "state").read_bytes()
    model.learn(PER_ITERATION)

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(OSError, match="No space"):
            save_state(tmp_path / "state", model, {})
    assert (tmp_path / "state").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"nonsense" * 10, None, "truncated", "format", "no header"])
def test_a_file_that_is_no_state_is_refused(tmp_path: Path, game: Any, content: Any) -> None:
    from safetensors.numpy import save_file

    path = tmp_path / "state.safetensors"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "truncated":
        save_state(path, make_model(game), {})
        path.write_bytes(path.read_bytes()[:-100])
    elif content is not None:
        save_file({"x": np.zeros(1)}, path, {"state": '{"format": 99}'} if content == "format" else None)
    with pytest.raises(StateError, match=r"state\.safetensors"):
        read_state(path)
