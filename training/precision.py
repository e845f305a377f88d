"""What the matrices of a network are rounded to while it trains."""

import platform
import warnings

import torch


def dtype_of(precision: str) -> torch.dtype:
    """The type that a config's precision means on this machine; a warning says so where it is not the one asked for."""
    if precision == "float32" or has_bfloat16():
        return torch.bfloat16 if precision == "bfloat16" else torch.float32
    warnings.warn(f"this processor ({platform.machine()}) has no products of bfloat16: float32 is used", stacklevel=2)
    return torch.float32


def has_bfloat16() -> bool:
    """Does this processor multiply bfloat16 itself? Elsewhere torch takes many times as long as for float32."""
    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}  # torch 2.8 has none
    return any(capabilities.get(name) for name in ("amx_bf16", "avx512_bf16", "sve_bf16"))
