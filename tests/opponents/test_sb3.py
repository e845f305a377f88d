"""Policies saved by stable-baselines3 play as the library has them play, and nothing in the file is ever run."""

import base64
import io
import json
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mandala_env import load_game, load_opponent
from mandala_env.policies.sb3_zip import Sb3ZipError
from tests.sampling import decisions
from tests.sb3_models import make_model, save_model

MANDALA = load_game("mandala_v0")


@pytest.mark.parametrize(
    "policy_kwargs",
    [
        {},
        {"net_arch": []},
        {"net_arch": {"pi": [32, 16, 8], "vf": [4]}},
        {"activation_fn": torch.nn.ReLU},
        {"activation_fn": torch.nn.SiLU, "net_arch": [16]},
        {"activation_fn": torch.nn.LeakyReLU, "share_features_extractor": False, "net_arch": [16]},
    ],
)
def test_it_plays_what_the_library_would_play(game: Any, tmp_path: Path, policy_kwargs: dict) -> None:
    model = make_model(game, policy_kwargs=policy_kwargs)
    model.save(tmp_path / "model.zip")
    observations, masks = decisions(game, 20, 20)
    player = load_opponent(f"sb3:{tmp_path / 'model.zip'}", game)
    units = game.layout.unit(observations)
    expected = model.predict(units, action_masks=masks, deterministic=True)[0]
    np.testing.assert_array_equal(player.act(observations, masks), expected)
    assert len(np.unique(expected)) > 5
    with torch.no_grad():
        logits = model.policy.get_distribution(torch.from_numpy(units)).distribution.logits.numpy()
    own = player.logits(observations)  # type: ignore[attr-defined]
    own = own - own.max(axis=1, keepdims=True)
    np.testing.assert_allclose(own, logits - logits.max(axis=1, keepdims=True), atol=1e-3)


@pytest.mark.parametrize("name", ["PPO", "A2C"])
def test_policies_without_masks_play_legally(name: str, tmp_path: Path) -> None:
    import stable_baselines3

    path = save_model(tmp_path / "model.zip", MANDALA, algorithm=getattr(stable_baselines3, name))
    observations, masks = decisions(MANDALA, 20, 20)
    actions = load_opponent(f"sb3:{path}").act(observations, masks)
    assert masks[np.arange(len(masks)), actions].all()


def test_the_activation_can_be_chosen(tmp_path: Path) -> None:
    path = save_model(tmp_path / "model.zip", MANDALA)
    seen = decisions(MANDALA, 20, 20)
    usual, tanh, relu = (load_opponent(f"sb3:{path}{more}").act(*seen) for more in ("", *OPTIONS))
    np.testing.assert_array_equal(usual, tanh)
    assert (usual != relu).any()
    with pytest.raises(Sb3ZipError, match="'sine' is not one of tanh, relu"):
        load_opponent(f"sb3:{path},activation=sine")


OPTIONS = (",activation=tanh", ",activation=relu")


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return Path.touch, (self.path,)


def rewrite(source: Path, target: Path, **changes: Callable[[Any], Any]) -> Path:
    """A zip with its `data` or its `policy` changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        data = json.loads(old.read("data"))
        policy = torch.load(io.BytesIO(old.read("policy.pth")), weights_only=True)
        if (data := changes.get("data", lambda it: it)(data)) is not None:
            new.writestr("data", json.dumps(data))
        if (policy := changes.get("policy", lambda it: it)(policy)) is not None:
            buffer = io.BytesIO()
            torch.save(policy, buffer)
            new.writestr("policy.pth", buffer.getvalue())
    return target


def test_nothing_in_the_file_is_run(tmp_path: Path) -> None:
    path, sprung = save_model(tmp_path / "model.zip", MANDALA), tmp_path / "sprung"
    trap = base64.b64encode(pickle.dumps(Trap(sprung))).decode()

    def with_traps(data: dict) -> dict:
        return {key: {":type:": "x", ":serialized:": trap} for key in data}

    bad = rewrite(path, tmp_path / "data.zip", data=with_traps)
    seen = decisions(MANDALA, 5, 5)
    np.testing.assert_array_equal(load_opponent(f"sb3:{bad}").act(*seen), load_opponent(f"sb3:{path}").act(*seen))
    bad = rewrite(path, tmp_path / "policy.zip", policy=lambda policy: policy | {"x": Trap(sprung)})
    with pytest.raises(Sb3ZipError, match="cannot be read without running"):
        load_opponent(f"sb3:{bad}")
    assert not sprung.exists()
    pickle.loads(base64.b64decode(trap))
    assert sprung.exists(), "the trap works"


def with_weight(name: str, value: Any) -> Callable[[dict], dict]:
    return lambda policy: policy | {name: value}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"data": lambda _: None}, "not a policy that stable-baselines3 saved"),
        ({"policy": lambda _: None}, "not a policy that stable-baselines3 saved"),
        ({"data": lambda _: 3}, "not a policy that stable-baselines3 saved"),
        ({"policy": lambda _: [1]}, "not a policy that stable-baselines3 saved"),
        ({"policy": lambda _: {"q_net.q_net.0.weight": torch.ones(2, 2)}}, "not the MlpPolicy of a PPO, A2C or"),
        ({"policy": with_weight("lstm_actor.weight_ih_l0", torch.ones(2, 2))}, "this one has lstm_actor.weight_ih_l0"),
        ({"policy": with_weight("features_extractor.cnn.0.weight", torch.ones(2))}, "has features_extractor.cnn.0"),
        ({"policy": with_weight("action_net.weight", torch.ones(3, 64))}, "do not fit together|has 3 actions"),
        ({"policy": with_weight("action_net.bias", torch.ones(3))}, "do not fit together"),
        ({"policy": with_weight("action_net.bias", 3)}, "not linear ones"),
        ({"policy": with_weight("mlp_extractor.policy_net.0.bias", torch.full((64,), torch.nan))}, "finite"),
        ({"data": lambda d: d | {"policy_kwargs": {"activation_fn": "<class 'mine.Sine'>"}}}, r"mine\.sine"),
        ({"data": lambda d: d | {"policy_kwargs": {"features_extractor_class": "<class 'mine.X'>"}}}, "mine.X"),
        ({"data": lambda d: d | {"policy_kwargs": 3}}, None),
    ],
)
def test_what_cannot_be_read_safely_is_refused_with_the_reason(
    changes: dict, reason: str | None, tmp_path: Path
) -> None:
    path = rewrite(save_model(tmp_path / "model.zip", MANDALA), tmp_path / "changed.zip", **changes)
    if reason is None:
        load_opponent(f"sb3:{path}")
        return
    with pytest.raises(Sb3ZipError, match=reason):
        load_opponent(f"sb3:{path}")


def test_models_of_other_kinds_and_games_are_refused(tmp_path: Path) -> None:
    from sb3_contrib import QRDQN, RecurrentPPO
    from stable_baselines3 import DQN

    env = make_model(MANDALA).get_env()
    for name, model in {
        "dqn": DQN("MlpPolicy", env, buffer_size=10),
        "qrdqn": QRDQN("MlpPolicy", env, buffer_size=10),
        "recurrent": RecurrentPPO("MlpLstmPolicy", env, n_steps=4),
    }.items():
        model.save(tmp_path / name)
        with pytest.raises(Sb3ZipError, match=r"can be read|MlpPolicy"):
            load_opponent(f"sb3:{tmp_path / name}.zip")
    flowers = load_game("flowers_v0")
    path = save_model(tmp_path / "flowers.zip", flowers)
    expected = rf"observations have {flowers.layout.size} numbers, those of mandala_v0 {MANDALA.layout.size}"
    with pytest.raises(Sb3ZipError, match=expected):
        load_opponent(f"sb3:{path}")
    with pytest.raises(Sb3ZipError, match=re.escape("there is no such file")):
        load_opponent(f"sb3:{tmp_path / 'nobody.zip'}")
    with pytest.raises(ValueError, match=r"sb3:FILE\.zip"):
        load_opponent("sb3")
    (tmp_path / "text.zip").write_text("hello")
    with pytest.raises(Sb3ZipError, match="cannot be read"):
        load_opponent(f"sb3:{tmp_path / 'text.zip'}")
