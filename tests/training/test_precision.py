"""An MLP may be trained in bfloat16; where the processor has none of it, it is trained in float32."""

from pathlib import Path

import numpy as np
import pytest
import torch

import training.precision
from mandala_env import load_game, load_opponent, make_batch
from mandala_env.policies.checkpoint import read_config
from mandala_env.policies.network import NetworkConfig
from tests.training.tiny import PRESET, make_model, tiny
from training.state import StateError, read_state
from training.train import read_arguments, train

MLP = NetworkConfig(mlp=[8])


@pytest.mark.parametrize("has_it", [False, True])
def test_a_run_is_of_float32_where_the_processor_has_no_bfloat16_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder, has_it: bool
) -> None:
    monkeypatch.setattr(training.precision, "has_bfloat16", lambda: has_it)
    folder = train(tiny(1, network=MLP, precision="bfloat16"), tmp_path, quiet=True)
    said = [warning for warning in recwarn if "bfloat16" in str(warning.message)]
    assert [warning.filename for warning in said] == [__file__] * (not has_it)
    trained_in = "bfloat16" if has_it else "float32"
    assert read_config(folder / "checkpoint")["training"]["config"]["precision"] == trained_in
    assert read_state(folder / "state.safetensors")[0]["config"]["precision"] == trained_in


def test_a_run_does_not_go_on_in_another_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny(1, network=MLP, precision="bfloat16")
    monkeypatch.setattr(training.precision, "has_bfloat16", lambda: True)
    folder = train(config, tmp_path, quiet=True)
    monkeypatch.setattr(training.precision, "has_bfloat16", lambda: False)
    with pytest.warns(UserWarning, match="float32 is used"), pytest.raises(StateError, match="precision = 'bfloat16'"):
        train(config, tmp_path, resume=folder, quiet=True)


@pytest.mark.parametrize(("widths", "wrong"), [([], "bfloat16"), ([8], "float16"), ([8], 32)], ids=str)
def test_a_precision_that_a_network_does_not_have_is_refused(widths: list[int], wrong: str) -> None:
    with pytest.raises(ValueError, match=r"precision of (an MLP|the symmetric network) must be float32"):
        tiny(network=NetworkConfig(mlp=widths), precision=wrong)


def test_the_command_line_takes_widths_and_precision() -> None:
    config, _ = read_arguments([PRESET, "--network.mlp", "[64, 32]", "--precision", "bfloat16"])
    assert config.network.mlp == [64, 32] and config.precision == "bfloat16"


def test_what_is_collected_and_learnt_from_is_of_the_same_precision() -> None:
    model = make_model(load_game("mandala_v0"), tiny(network=MLP, precision="bfloat16"))
    assert {part.dtype for pair in model.gradient.matrices.values() for part in pair} == {torch.bfloat16}
    assert model.workers.dtype == torch.bfloat16
    assert model.parameters_in_one.dtype == model.gradient.gradient.dtype == torch.float32


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.filterwarnings("ignore:.*bfloat16")
def test_a_perceptron_that_was_trained_is_a_player(tmp_path: Path, precision: str) -> None:
    folder = train(tiny(network=NetworkConfig(mlp=[16, 8]), precision=precision), tmp_path, quiet=True)
    player, batch = load_opponent(str(folder / "checkpoint")), make_batch("mandala_v0", 50, 1)
    actions = player.act(batch.observations, batch.action_masks)
    assert batch.action_masks[np.arange(50), actions].all()
