"""Memory for activations that is used again: fresh memory costs more than what is written into it."""

from collections.abc import Callable, Hashable
from math import prod
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

CACHE_LINE = 64  # bytes
MOST_ROOMS = 8  # for so many sizes it is remembered what lies where

Room = TypeVar("Room")


class Memory:
    """Room for numbers that is used again and again; it grows when more is taken than there is."""

    def __init__(self) -> None:
        self.bytes = torch.empty(0, dtype=torch.uint8)
        self.taken = 0

    def clear(self) -> None:
        """Give all back: what was taken may be written over."""
        self.taken = 0

    def take(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Room for a tensor, with whatever numbers are there; it begins at a cache line."""
        size = prod(shape) * dtype.itemsize
        if self.taken + size > len(self.bytes):
            self.bytes, self.taken = torch.empty(2 * (self.taken + size), dtype=torch.uint8), 0
        room = self.bytes[self.taken : self.taken + size].view(dtype).view(shape)
        self.taken += -(-size // CACHE_LINE) * CACHE_LINE
        return room


class Rooms(Generic[Room]):
    """What lies where in the memory, for the last few sizes: to lay it out anew each time takes a tenth of the time.

    make  lays out what a size needs: make(memory, *size)
    """

    def __init__(self, memory: Memory, make: Callable[..., Room]) -> None:
        self.memory, self.make = memory, make
        self.made: dict[Hashable, Room] = {}

    def of(self, *size: Any) -> Room:
        """The room of this size; what is in any other one of the same memory may be written over."""
        if size not in self.made:
            if len(self.made) == MOST_ROOMS:
                self.made.clear()
            self.memory.clear()
            self.made[size] = self.make(self.memory, *size)
        return self.made[size]
