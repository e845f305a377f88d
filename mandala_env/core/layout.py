"""Named slices of a flat vector of small whole numbers, with the highest value of each number.

A `Layout` says what every number of an observation is. It is the only place that knows: the compiled rules take the
offsets from it, networks take their inputs from it, and the tables in the documentation are printed from it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

DIGIT = 100  # numbers that do not fit a byte are written as two digits of base 100


@dataclass(frozen=True)
class Block:
    """One named array inside the vector.

    name     what it is, in the rulebook's words
    axes     what its numbers are counted by, outermost first, for example ("mandala", "colour"); () for one number
    shape    the lengths of these axes
    highest  the largest value that a number of this block can have; the smallest is 0
    meaning  one sentence for the reader
    is_code  True when the values are labels (a river space, a phase) and not amounts
    """

    name: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    highest: int
    meaning: str
    is_code: bool = False
    start: int = 0

    @property
    def size(self) -> int:
        """How many numbers the block holds."""
        return prod(self.shape)

    @property
    def stop(self) -> int:
        """The place in the vector after the block's last number."""
        return self.start + self.size


@dataclass(frozen=True)
class Layout:
    """The blocks of a vector in order; iterate it, or look a block up by its name."""

    blocks: tuple[Block, ...]
    axis_lengths: dict[str, int] = field(hash=False)

    @classmethod
    def build(cls, axis_lengths: dict[str, int], blocks: Iterable[tuple]) -> "Layout":
        """Lay blocks out one after the other; each is (name, axes, highest, meaning) with an optional is_code."""
        placed, start = [], 0
        for name, axes, highest, meaning, *is_code in blocks:
            if not 0 < highest <= 127:
                raise ValueError(f"block {name!r}: highest must be 1..127 to fit int8, not {highest}")
            shape = tuple(axis_lengths[axis] for axis in axes)
            placed.append(Block(name, axes, shape, highest, meaning, bool(is_code and is_code[0]), start))
            start = placed[-1].stop
        return cls(tuple(placed), axis_lengths)

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    def __getitem__(self, name: str) -> Block:
        for block in self.blocks:
            if block.name == name:
                return block
        raise KeyError(f"no block {name!r}; the blocks are {', '.join(block.name for block in self.blocks)}")

    @cached_property
    def size(self) -> int:
        """F: how many numbers the vector has."""
        return self.blocks[-1].stop

    @cached_property
    def highest(self) -> np.ndarray:
        """The largest value of each number, float32 of shape (F,)."""
        return np.concatenate([np.full(block.size, block.highest, np.float32) for block in self.blocks])

    def get(self, observations: np.ndarray, name: str) -> np.ndarray:
        """A view of one block, shape (..., *block.shape), of observations of shape (..., F)."""
        block = self[name]
        return observations[..., block.start : block.stop].reshape((*observations.shape[:-1], *block.shape))

    def unit(self, observations: np.ndarray) -> np.ndarray:
        """Observations scaled to [0, 1], float32; the form that PettingZoo, Gymnasium and RLlib get."""
        return observations.astype(np.float32) / self.highest

    def counts(self, unit_observations: np.ndarray) -> np.ndarray:
        """The whole numbers again, int8, from observations scaled by `unit`."""
        return np.rint(np.asarray(unit_observations) * self.highest).astype(np.int8)

    def table(self) -> str:
        """The layout as a Markdown table."""
        rows = ["| numbers | block | counted by | highest | meaning |", "|---|---|---|---|---|"]
        for block in self.blocks:
            by = " x ".join(f"{axis} ({length})" for axis, length in zip(block.axes, block.shape, strict=True)) or "-"
            numbers = f"{block.start}..{block.stop - 1}" if block.size > 1 else f"{block.start}"
            rows.append(f"| {numbers} | `{block.name}` | {by} | {block.highest} | {block.meaning} |")
        return "\n".join(rows)
