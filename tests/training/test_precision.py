"""An MLP may be trained in bfloat16; where the processor has none of it, it is trained in float32."""

from pathlib import Path

import numpy as np
import pytest
import torch

import training.precision
from mandala_env import load_game, load_opponent, make_batch
from mandala_env.policies.network import NetworkConfig
from tests.training.tiny import PRESET, make_model, tiny
from training.precision import dtype_of
from training.train import read_arguments, train


@pytest.mark.parametrize("has_it", [False, True])
def test_the_type_is_the_one_asked_for_where_the_processor_has_it(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder, has_it: bool
) -> None:
    monkeypatch.setattr(training.precision, "has_bfloat16", lambda: has_it)
    assert dtype_of("float32") == torch.float32 and not recwarn
    assert dtype_of("bfloat16") == (torch.bfloat16 if has_it else torch.float32)
    assert [str(warning.message) for warning in recwarn] == [
        f"this processor ({training.precision.platform.machine()}) has no products of bfloat16: float32 is used"
    ] * (not has_it)


@pytest.mark.parametrize(("widths", "wrong"), [([], "bfloat16"), ([8], "float16"), ([8], 32)], ids=str)
def test_a_precision_that_a_network_does_not_have_is_refused(widths: list[int], wrong: str) -> None:
    with pytest.raises(ValueError, match=r"precision of (an MLP|the symmetric network) must be float32"):
        tiny(network=NetworkConfig(mlp=widths), precision=wrong)


def test_the_command_line_takes_widths_and_precision() -> None:
    config, _ = read_arguments([PRESET, "--network.mlp", "[64, 32]", "--precision", "bfloat16"])
    assert config.network.mlp == [64, 32] and config.precision == "bfloat16"


def test_what_is_collected_and_learnt_from_is_of_the_same_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training.precision, "has_bfloat16", lambda: True)
    model = make_model(load_game("mandala_v0"), tiny(network=NetworkConfig(mlp=[8]), precision="bfloat16"))
    assert {part.dtype for pair in model.gradient.matrices.values() for part in pair} == {torch.bfloat16}
    assert model.workers.dtype == torch.bfloat16
    assert model.parameters_in_one.dtype == model.gradient.gradient.dtype == torch.float32


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.filterwarnings("ignore:this processor")
def test_a_perceptron_that_was_trained_is_a_player(tmp_path: Path, precision: str) -> None:
    folder = train(tiny(network=NetworkConfig(mlp=[16, 8]), precision=precision), tmp_path, quiet=True)
    player, batch = load_opponent(str(folder / "checkpoint")), make_batch("mandala_v0", 50, 1)
    actions = player.act(batch.observations, batch.action_masks)
    assert batch.action_masks[np.arange(50), actions].all()
