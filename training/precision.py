"""What the matrices of a network are rounded to while it trains."""

import platform
import warnings
from dataclasses import replace

import torch

from training.config import TrainConfig

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def as_this_machine_can(config: TrainConfig) -> TrainConfig:
    """The config of the run that is possible here: float32 in place of bfloat16, with a warning, where that is slow.

    This is settled once, by the learner: what collects for it, the state and the checkpoint have the same precision.
    """
    if config.precision == "float32" or has_bfloat16():
        return config
    warnings.warn(
        f"torch {torch.__version__} knows of no products of bfloat16 on this processor ({platform.machine()}): "
        "float32 is used",
        stacklevel=3,
    )
    return replace(config, precision="float32")


def has_bfloat16() -> bool:
    """Does this processor multiply bfloat16 itself? Elsewhere torch takes many times as long as for float32."""
    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}  # torch 2.8 has none
    return any(capabilities.get(name) for name in ("amx_bf16", "avx512_bf16", "sve_bf16"))
