"""Action ids, what they mean, and how a person writes them: id <-> columns <-> text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from mandala_env.core.jit import IS_COMPILED, empty_rows, jit, row_type


@dataclass(frozen=True)
class Kind:
    """One kind of action: its word and its fields in the order in which they are written and numbered.

    `fields` maps a field's name to the words of its values, for example {"mandala": ("0", "1"), "colour": ("red", ..)}.
    """

    word: str
    fields: Mapping[str, Sequence[str]]


class ActionTable:
    """All actions of a game. Ids are 0..A-1: kinds in order, then their fields, the last one fastest.

    `columns[name]` is an int8 array of shape (A,): the index of the action's kind under "kind", the index of the value
    of each field under its name, and -1 where an action has no such field. "count" holds the count itself.
    """

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = tuple(kinds)
        names = list(dict.fromkeys(name for kind in kinds for name in kind.fields))
        rows: list[dict[str, int]] = []
        self.texts: list[str] = []
        for index, kind in enumerate(kinds):
            for values in product(*(range(len(words)) for words in kind.fields.values())):
                row = dict.fromkeys(names, -1) | {"kind": index}
                words = [kind.word]
                for (name, choices), value in zip(kind.fields.items(), values, strict=True):
                    row[name] = int(choices[value]) if name == "count" else value
                    words.append(choices[value])
                rows.append(row)
                self.texts.append(" ".join(words))
        self.columns = {name: np.array([row[name] for row in rows], np.int8) for name in ("kind", *names)}
        for column in self.columns.values():
            column.flags.writeable = False

    def __len__(self) -> int:
        """A: the number of actions, legal or not."""
        return len(self.texts)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {text: action for action, text in enumerate(self.texts)}

    def text(self, action: int) -> str:
        """The action as one line of words, such as "grow 1 green 2"."""
        if not 0 <= action < len(self):
            raise ValueError(f"there is no action {action}; the ids are 0..{len(self) - 1}")
        return self.texts[action]

    def parse(self, text: str) -> int:
        """The id of an action written as by `text` (white space and capitals are forgiven)."""
        try:
            return self._ids[" ".join(text.lower().split())]
        except KeyError:
            forms = "; ".join(
                " ".join([kind.word, *(f"<{name}: {'|'.join(words)}>" for name, words in kind.fields.items())])
                for kind in self.kinds
            )
            raise ValueError(f"{text!r} is not an action; the actions are: {forms}") from None

    def first_ids(self, word: str, *fields: str) -> np.ndarray:
        """The smallest id of a kind for every value of some of its fields, int16 with one axis per field."""
        index = next(i for i, kind in enumerate(self.kinds) if kind.word == word)
        lengths = [len(self.kinds[index].fields[name]) for name in fields]
        ids = np.full(lengths, -1, np.int16)
        for action in reversed(np.flatnonzero(self.columns["kind"] == index)):
            ids[tuple(int(self.columns[name][action]) for name in fields)] = action
        return ids

    def table(self) -> str:
        """The table of kinds in Markdown, with the range of ids of each."""
        rows = ["| ids | action | fields |", "|---|---|---|"]
        for index, kind in enumerate(self.kinds):
            ids = np.flatnonzero(self.columns["kind"] == index)
            fields = ", ".join(f"{name}: {words[0]}..{words[-1]}" for name, words in kind.fields.items())
            rows.append(f"| {ids[0]}..{ids[-1]} | `{kind.word}` | {fields} |")
        return "\n".join(rows)


# Inside the rules the set of legal actions is a row of 64-bit words: action a is bit a % 64 of word a // 64.
ONE, SIXTY_THREE, LOW_BYTE = np.uint64(1), np.uint64(63), np.uint64(255)
TWO, FOUR, EIGHT = np.uint64(2), np.uint64(4), np.uint64(8)
PAIRS, QUADS = np.uint64(0x5555_5555_5555_5555), np.uint64(0x3333_3333_3333_3333)
NIBBLES, BYTES = np.uint64(0x0F0F_0F0F_0F0F_0F0F), np.uint64(0x0101_0101_0101_0101)
TOPS = np.uint64(0x8080_8080_8080_8080)
# The place of the n-th bit that is set in a byte; 0 where there are fewer.
NTH_BIT_OF_BYTE = np.array(
    [[*(bit for bit in range(8) if byte >> bit & 1), *[0] * (8 - byte.bit_count())] for byte in range(256)], np.int64
)
EIGHT_BOOLS = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(bool).view(np.uint64).ravel()  # a byte's bits


def num_words(num_actions: int) -> int:
    """How many 64-bit words hold a set of actions."""
    return (num_actions + 63) // 64


def empty_sets(count: int, num_actions: int) -> np.ndarray:
    """Room for `count` sets of actions in the form that kernels take, see `empty_rows`."""
    return empty_rows(count, row_type(np.uint64, num_words(num_actions)))


@jit
def run(count: int) -> Any:
    """The first `count` bits set; count is 0..63."""
    return (ONE << np.uint64(count)) - ONE


@jit
def allow(words: Any, first: int, bits: Any) -> None:
    """Add to a set the actions first + i for each bit i that is set."""
    word, shift = first >> 6, np.uint64(first & 63)
    words[word] |= bits << shift
    if word + 1 < len(words):  # no branch on the bits: a wrong guess costs more than the work
        words[word + 1] |= (bits >> ONE) >> (SIXTY_THREE - shift)


@jit
def is_allowed(words: Any, action: int) -> bool:
    """Is the action in the set?"""
    return (words[action >> 6] >> np.uint64(action & 63)) & ONE != 0


@jit
def count_bits(word: Any) -> int:
    """How many bits of a 64-bit word are set."""
    count = 0
    while word != 0:
        word &= word - ONE
        count += 1
    return count


@jit
def count_allowed(words: Any) -> int:
    """How many actions the set has."""
    count = 0
    for word in words:
        count += count_bits(word)
    return count


@jit
def nth_allowed(words: Any, n: int) -> int:
    """The n-th action of the set, from 0, in the order of the ids; the set has more than n."""
    index, passed, total = 0, 0, 0
    for word in range(len(words) - 1):
        total += count_bits(words[word])
        is_later = n >= total
        index += is_later
        passed = total if is_later else passed
    return (index << 6) + nth_bit(words[index], np.uint64(n - passed))


@jit
def nth_bit(word: Any, n: Any) -> int:
    """The place of the n-th bit that is set, from 0; broadword selection (Vigna 2008), without a branch."""
    counts = word - ((word >> ONE) & PAIRS)
    counts = (counts & QUADS) + ((counts >> TWO) & QUADS)
    counts = ((counts + (counts >> FOUR)) & NIBBLES) * BYTES  # in each byte: how many bits are set up to its end
    passed = ((n * BYTES | TOPS) - counts) & TOPS  # the bytes that end at or before the n-th bit
    shift = np.uint64(count_bits(passed) << 3)
    before = ((counts << EIGHT) >> shift) & LOW_BYTE
    return np.int64(shift) + NTH_BIT_OF_BYTE[(word >> shift) & LOW_BYTE, n - before]


if not IS_COMPILED:  # unsigned numbers are meant to wrap around
    nth_bit = np.errstate(over="ignore")(nth_bit)


def num_eights(num_actions: int) -> int:
    """How many 64-bit words hold one bool (a byte) for each action."""
    return (num_actions + 7) // 8


@jit
def write_mask_eights(words: Any, eights: Any) -> None:
    """Write the set as one bool per action, eight bools in a 64-bit word; what is behind the last action is False."""
    for place in range(len(eights)):
        byte = (words[place >> 3] >> np.uint64((place & 7) << 3)) & LOW_BYTE
        eights[place] = EIGHT_BOOLS[byte]


@jit
def write_mask(words: Any, mask: Any) -> None:
    """Write the set as one bool per action."""
    for index in range(len(words)):
        word, first = words[index], index << 6
        for bit in range(min(64, len(mask) - first)):
            mask[first + bit] = (word >> np.uint64(bit)) & ONE
