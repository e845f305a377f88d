"""Reading and writing positions: states as plain dicts that people set up and JSON can hold.

A pile is {colour: count} without zeros. Whatever a dict has too much, too little or wrong is refused by name.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from mandala_env.words import shown


class PositionError(ValueError):
    """A position that cannot be; the message names the part and says what was expected."""


def plain(state: Any) -> SimpleNamespace:
    """A state's fields as whole numbers and nested lists: numbers are read from these faster than from a record."""
    return SimpleNamespace(**{name: state[name].tolist() for name in state.dtype.names})


def pile_dict(colours: Sequence[str], pile: Any) -> dict[str, int]:
    """A pile of counts per colour as {colour: count} without zeros."""
    return {colour: count for colour, count in zip(colours, pile, strict=True) if count}


class Reader:
    """One dict of a position that is being read; `path` is what messages call it."""

    def __init__(self, source: Any, keys: Sequence[str], path: str = "", optional: Sequence[str] = ()) -> None:
        self.path = path
        if not isinstance(source, dict):
            raise PositionError(
                f"{path or 'position'}: expected a dict with the keys {', '.join(keys)}, not {shown(source)}"
            )
        if missing := [key for key in keys if key not in source]:
            raise PositionError(f"{path or 'position'}: missing {', '.join(missing)}; the keys are {', '.join(keys)}")
        if unknown := [str(key) for key in source if key not in (*keys, *optional)]:
            names = ", ".join(unknown)[:200]
            raise PositionError(f"{path or 'position'}: unknown {names}; the keys are {', '.join(keys)}")
        self.source = source

    def name(self, key: str) -> str:
        """What messages call a part of this dict."""
        return f"{self.path}.{key}" if self.path else key

    def value(self, key: str) -> Any:
        """The value as it is."""
        return self.source[key]

    def whole(self, key: str, lowest: int, highest: int) -> int:
        """A whole number within bounds."""
        return whole(self.source[key], lowest, highest, self.name(key))

    def choice(self, key: str, choices: Sequence[Any]) -> int:
        """The index of a value among the allowed ones."""
        value = self.source[key]
        if not isinstance(value, (str, int, type(None))) or isinstance(value, bool) or value not in choices:
            raise PositionError(
                f"{self.name(key)}: expected one of {', '.join(map(repr, choices))}, not {shown(value)}"
            )
        return list(choices).index(value)

    def items(self, key: str, length: int) -> list[tuple[str, Any]]:
        """A list of fixed length, each item with its name."""
        return list_items(self.source[key], length, self.name(key))

    def pile(self, key: str, colours: Sequence[str], highest: int) -> np.ndarray:
        """A pile as counts per colour."""
        return read_pile(self.source[key], colours, highest, self.name(key))

    def piles(self, key: str, length: int, colours: Sequence[str], highest: int) -> np.ndarray:
        """A list of piles as counts, one row each."""
        return np.array([read_pile(item, colours, highest, name) for name, item in self.items(key, length)])


def list_items(value: Any, length: int, name: str) -> list[tuple[str, Any]]:
    """A list of fixed length, each item with its name."""
    if not isinstance(value, (list, tuple)) or len(value) != length:
        raise PositionError(f"{name}: expected a list of {length}, not {shown(value)}")
    return [(f"{name}[{index}]", item) for index, item in enumerate(value)]


def whole(value: Any, lowest: int, highest: int, name: str) -> int:
    """A whole number within bounds."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not lowest <= value <= highest:
        raise PositionError(f"{name}: expected a whole number from {lowest} to {highest}, not {shown(value)}")
    return int(value)


def read_pile(value: Any, colours: Sequence[str], highest: int, name: str) -> np.ndarray:
    """A pile {colour: count} as counts per colour, int8."""
    if not isinstance(value, dict):
        raise PositionError(f"{name}: expected a pile such as {{{colours[0]!r}: 2}}, not {shown(value)}")
    pile = np.zeros(len(colours), np.int8)
    for colour, count in value.items():
        if colour not in colours:
            raise PositionError(f"{name}: there is no colour {shown(colour)}; the colours are {', '.join(colours)}")
        pile[colours.index(colour)] = whole(count, 0, highest, f"{name}[{shown(colour)}]")
    return pile


def require(condition: Any, message: str) -> None:
    """Refuse the position with the message unless the condition holds."""
    if not condition:
        raise PositionError(message)
