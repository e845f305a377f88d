"""A checkpoint comes back as it was; what is not a checkpoint of this game is refused with one clear message."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from mandala_env import load_game, load_opponent
from mandala_env.policies import checkpoint
from mandala_env.policies.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from mandala_env.policies.network import NetworkConfig
from tests.sampling import SMALL, decisions, make_network, random_states

TRAINING = {"decisions": 12, "config": {"seed": 3}}
METRICS = {"evaluation": [{"score": 0.5}]}


def save(folder: Path, game: Any, seed: int = 0, config: NetworkConfig = SMALL) -> Any:
    """Save a small network and return it."""
    network = make_network(game, seed, config)
    save_checkpoint(folder, game, network, training=TRAINING, metrics=METRICS, card="# A player\n")
    return network


@pytest.fixture
def folder(tmp_path: Path, game: Any) -> Path:
    """A good checkpoint."""
    save(tmp_path / "player", game)
    return tmp_path / "player"


def refused(folder: Path, game: Any) -> str:
    """The one line with which a folder is refused."""
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(folder, game)
    assert isinstance(caught.value, ValueError)
    message = str(caught.value)
    assert str(folder) in message and "\n" not in message
    return message


def edit(folder: Path, **changes: Any) -> None:
    """Change keys of config.json; None removes one."""
    path = folder / "config.json"
    config = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not None}))


def edit_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """Change the tensors of model.safetensors."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


@pytest.mark.parametrize("config", [SMALL, NetworkConfig(mlp=[6, 5])], ids=["symmetric", "mlp"])
def test_a_checkpoint_comes_back_bit_by_bit(tmp_path: Path, game: Any, config: NetworkConfig) -> None:
    network = save(tmp_path / "a" / "b" / "player", game, 5, config)
    loaded = load_checkpoint(tmp_path / "a" / "b" / "player", game)
    assert loaded.config == network.config and not loaded.training
    ours, theirs = network.state_dict(), loaded.state_dict()
    assert list(ours) == list(theirs)
    assert all(ours[name].numpy().tobytes() == theirs[name].numpy().tobytes() for name in ours)
    observations = torch.from_numpy(decisions(game, 5, 4)[0])
    assert torch.equal(loaded(observations)[0], network(observations)[0])
    assert torch.equal(loaded(observations)[1], network(observations)[1])


def test_the_folder_says_what_it_is(folder: Path, game: Any) -> None:
    assert sorted(os.listdir(folder)) == ["README.md", "config.json", "metrics.json", "model.safetensors"]
    config = json.loads((folder / "config.json").read_text())
    assert config["game"] == game.id and config["fingerprint"] == game.fingerprint
    assert config["options"] == json.loads(json.dumps(dict(game.options))) and config["training"] == TRAINING
    assert json.loads((folder / "metrics.json").read_text()) == METRICS
    assert (folder / "README.md").read_text() == "# A player\n"


def test_loading_does_not_draw_from_the_global_generators(folder: Path, game: Any) -> None:
    before = random_states()
    load_checkpoint(folder, game)
    assert random_states() == before


def test_the_same_game_with_other_rule_options_can_be_played(folder: Path, game: Any) -> None:
    other = load_game(game.id, max_turns=50)
    assert load_checkpoint(folder, other).config == SMALL


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"game": "chess_v0"}, ("chess_v0", "GAME")),
        ({"game": None}, ("None", "GAME")),
        ({"format": 99}, ("99", "1")),
        ({"fingerprint": "feedfeedfeedfeed"}, ("feedfeedfeedfeed", "FINGERPRINT")),
        ({"network": {"shared": 8, "per_mandala": 4, "layers": 99}}, ("layers", "99", "64")),
        ({"network": {"shared": 8, "per_mandala": "4", "layers": 1}}, ("per_mandala", "'4'")),
        ({"network": {"shared": 8, "width": 4}}, ("width",)),
        ({"network": {"mlp": [8, 0]}}, ("mlp", "[8, 0]")),
        ({"network": {"mlp": [8]}}, ("layers.0.bias", "absent", "float32")),
        ({"network": None}, ("network",)),
        ({"network": [8, 4, 1]}, ("network",)),
        ({"network": {"shared": 9, "per_mandala": 4, "layers": 1}}, ("[8, ", "[9, ")),
        ({"network": {"shared": 8, "per_mandala": 4, "layers": 2}}, ("max_1", "absent", "float32")),
        ({"network": {"shared": 8, "per_mandala": 4, "layers": 0}}, ("max_0", "absent", "float32")),
    ],
    ids=str,
)
def test_a_config_that_does_not_fit_is_refused_with_both_sides(
    folder: Path, game: Any, change: dict, said: tuple[str, ...]
) -> None:
    edit(folder, **change)
    message = refused(folder, game)
    ours = {"GAME": game.id, "FINGERPRINT": game.fingerprint}
    assert all(ours.get(word, word) in message for word in said), message


ENORMOUS = {"shared": 4096, "per_mandala": 4096, "layers": 64}, {"mlp": [4096] * 64}  # 100 GB and 4 GB of weights


@pytest.mark.parametrize("size", ENORMOUS, ids=["symmetric", "mlp"])
def test_a_network_of_enormous_size_is_refused_before_memory_is_taken(
    folder: Path, game: Any, monkeypatch: pytest.MonkeyPatch, size: dict
) -> None:
    edit(folder, network=size)
    register = torch.nn.Module.register_parameter

    def register_small(module: torch.nn.Module, name: str, parameter: torch.nn.Parameter | None) -> None:
        is_small = parameter is None or parameter.device.type == "meta" or parameter.numel() < 10**5
        assert is_small, "this would take the memory"
        register(module, name, parameter)

    monkeypatch.setattr(torch.nn.Module, "register_parameter", register_small)
    assert "4096" in refused(folder, game)


def a_name(tensors: dict[str, torch.Tensor]) -> str:
    """The name of some tensor with more than one number."""
    return next(name for name, tensor in sorted(tensors.items()) if tensor.numel() > 1)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_refused(folder: Path, game: Any, number: float) -> None:
    edit_weights(folder, lambda tensors: tensors[a_name(tensors)].view(-1)[-1].fill_(number))
    assert "not finite" in refused(folder, game)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.pop(a_name(t)), ("absent", "float32")),
        (lambda t: t.update(extra=torch.zeros(3)), ("extra", "float32 [3]", "expected absent")),
        (lambda t: t.update({a_name(t): t[a_name(t)].double()}), ("float64", "expected float32")),
        (lambda t: t.update({a_name(t): t[a_name(t)].bfloat16()}), ("bfloat16", "expected float32")),
        (lambda t: t.update({a_name(t): t[a_name(t)].flatten()[:1]}), ("float32 [1]", "expected float32")),
        (lambda t: t.clear(), ("absent",)),
    ],
    ids=["missing", "extra", "float64", "bfloat16", "shape", "empty"],
)
def test_tensors_that_do_not_fit_are_refused_with_both_sides(
    folder: Path, game: Any, change: Callable, said: tuple[str, ...]
) -> None:
    edit_weights(folder, change)
    message = refused(folder, game)
    assert all(word in message for word in said), message


@pytest.mark.parametrize("size", [0, 4, 8, 100, -1])
def test_a_truncated_file_of_weights_is_refused(folder: Path, game: Any, size: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:size])
    assert "model.safetensors" in refused(folder, game)


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_nothing_is_ever_unpickled(folder: Path, game: Any, tmp_path: Path, name: str) -> None:
    bomb = pickle.dumps(Bomb(tmp_path / "exploded"))
    (folder / name).write_bytes(bomb)
    assert name in refused(folder, game)
    torch.save({"weights": Bomb(tmp_path / "exploded")}, folder / name)
    assert name in refused(folder, game)
    assert not (tmp_path / "exploded").exists()
    pickle.loads(bomb)
    assert (tmp_path / "exploded").exists()  # it would have gone off


@pytest.mark.parametrize(
    "text", ["", "{", "nonsense", "[" * 100_000, '{"a":' * 50_000, "[1]", "null", "3", '{"format": NaN}', "\ud800"]
)
def test_a_config_that_is_no_json_object_is_refused(folder: Path, game: Any, text: str) -> None:
    (folder / "config.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert len(refused(folder, game)) < 1000


def test_a_config_of_enormous_length_is_refused_unread(folder: Path, game: Any) -> None:
    (folder / "config.json").write_text(" " * (2**20 + 1) + (folder / "config.json").read_text())
    assert "larger than" in refused(folder, game)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(folder: Path, game: Any, name: str) -> None:
    (folder / name).unlink()
    assert name in refused(folder, game)


def test_a_missing_folder_is_named(tmp_path: Path, game: Any) -> None:
    assert "not a checkpoint" in refused(tmp_path / "nowhere", game)
    (tmp_path / "file").write_text("x")
    assert "not a checkpoint" in refused(tmp_path / "file", game)


def test_a_directory_in_the_place_of_a_file_is_refused(folder: Path, game: Any) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()
    refused(folder, game)


# --- saving --------------------------------------------------------------------------------------------------------


def test_saving_again_replaces_the_old_and_leaves_nothing_behind(folder: Path, game: Any) -> None:
    (folder / "stale.txt").write_text("of the old checkpoint")
    new = save(folder, game, seed=9)
    loaded = load_checkpoint(folder, game).state_dict()
    assert all(torch.equal(loaded[name], value) for name, value in new.state_dict().items())
    assert os.listdir(folder.parent) == ["player"]
    assert not (folder / "stale.txt").exists()


@pytest.mark.parametrize("where", ["weights", "first text", "last text", "rename away", "rename in", "sync"])
def test_a_save_that_fails_leaves_the_old_checkpoint_and_nothing_else(
    folder: Path, game: Any, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    old = {path.name: path.read_bytes() for path in folder.iterdir()}

    def failing(function: Callable, at: int) -> Callable:
        calls = [0]

        def call(*args: Any, **kwargs: Any) -> Any:
            calls[0] += 1
            if calls[0] == at:
                raise OSError(28, "No space left on device")
            return function(*args, **kwargs)

        return call

    target, name, at = {
        "weights": (checkpoint, "save", 1),
        "first text": (checkpoint, "write_file", 2),
        "last text": (checkpoint, "write_file", 4),
        "rename away": (os, "rename", 1),
        "rename in": (os, "rename", 2),
        "sync": (os, "fsync", 2),
    }[where]
    with monkeypatch.context() as patch:
        patch.setattr(target, name, failing(getattr(target, name), at))
        with pytest.raises(OSError, match="No space"):
            save(folder, game, seed=9)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == old
    load_checkpoint(folder, game)
    assert os.listdir(folder.parent) == ["player"]


def test_a_kill_between_the_renames_of_a_save_loses_nothing(folder: Path, game: Any) -> None:
    before = load_checkpoint(folder, game).state_dict()
    os.rename(folder, folder.parent / ".player.old")  # so it lies when the process ends there
    (folder.parent / ".player.unfinished").mkdir()
    after = load_checkpoint(folder, game).state_dict()
    assert all(torch.equal(before[name], value) for name, value in after.items())
    assert load_opponent(str(folder), game).game is game, "by its path alone, too"
    new = save(folder, game, seed=9)
    loaded = load_checkpoint(folder, game).state_dict()
    assert all(torch.equal(loaded[name], value) for name, value in new.state_dict().items())
    assert os.listdir(folder.parent) == ["player"]


def test_what_json_cannot_hold_fails_before_the_old_checkpoint_is_touched(folder: Path, game: Any) -> None:
    with pytest.raises(TypeError):
        save_checkpoint(folder, game, make_network(game, 1), training={"x": object()}, metrics={}, card="")
    load_checkpoint(folder, game)
    assert os.listdir(folder.parent) == ["player"]


def test_a_checkpoint_can_be_moved(folder: Path, game: Any, tmp_path: Path) -> None:
    shutil.move(folder, tmp_path / "elsewhere")
    load_checkpoint(tmp_path / "elsewhere", game)
