"""Random numbers from a counter that lives in the state.

SplitMix64 (Steele, Lea, Flood 2014): the field `generator` moves on by a constant at each draw, and the number drawn
is a hash of it. Copying a state copies its future; nothing else in the process is read or changed.
"""

from typing import Any

import numpy as np

from mandala_env.core.jit import IS_COMPILED, jit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@jit
def next_bits(state: Any) -> Any:
    """The next 64 random bits of a record with a field `generator`."""
    state.generator += GOLDEN
    bits = state.generator
    bits = (bits ^ (bits >> S30)) * MIX_1
    bits = (bits ^ (bits >> S27)) * MIX_2
    return bits ^ (bits >> S31)


if not IS_COMPILED:  # unsigned numbers are meant to wrap around
    next_bits = np.errstate(over="ignore")(next_bits)


@jit
def below(state: Any, limit: int) -> int:
    """A random whole number from 0 to limit - 1, limit < 2**32; uniform to within limit / 2**32."""
    number: Any = np.int64(((next_bits(state) >> S32) * np.uint64(limit)) >> S32)
    return number


def spread_seeds(seed: int | None, count: int) -> np.ndarray:
    """`count` generator states that have nothing to do with each other; the first n do not depend on `count`.

    A seed of None takes fresh entropy from the operating system.
    """
    if seed is not None and (not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0):
        raise ValueError(f"seed must be None or a whole number of 0 or more, not {seed!r}")
    return np.random.SeedSequence(None if seed is None else int(seed)).generate_state(count, np.uint64)
