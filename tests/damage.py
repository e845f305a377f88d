"""Damage to files: what a broken disk does to bytes, and what a hostile person writes into text, JSON and YAML."""

import io
import json
import os
import pickle
import re
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save

from mandala_env.words import shown
from training.state import read_state

HUGE = 10**30
JUNK: list[Any] = [
    None, True, False, 0, 1, -1, 7, 127, 255, 2**31, 2**63, 2**64, -(2**63), HUGE, 10**4000, 0.5, -0.0, 1e308,
    float("nan"), float("inf"), "", "x", "0", "nan", "F64", "BOOL", "U64", "\ud800", "\x00", "../../etc/passwd",
    "/etc/passwd", "https://localhost/x", "{}", "[" * 5000, "x" * 10**5, "__class__", "os.system", [], {}, [None], [[]],
    {"": 0}, {"__reduce__": 1}, {"class_path": "os.system", "init_args": {"command": "exit 1"}}, [0] * 10**5,
    {str(key): key for key in range(10**4)},
]  # fmt: skip
WORDS = [*b'0 -1 1e999 NaN 99999999999999999999 null F16 I64 " { ] '.split(), b"9" * 5000, b"\n"]


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.path),)


def nested(depth: int) -> Any:
    """Lists in lists."""
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def break_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Bits that flip, parts that are missing or there twice, numbers that are other ones."""
    data, size = bytearray(content), len(content)
    # Half of the damage is near the start, where headers and sizes are.
    place = int(rng.integers(min(size, 64) if rng.random() < 0.5 else size))
    length = int(rng.integers(1, 64))
    kind = int(rng.integers(8))
    if kind == 0:
        for _ in range(int(rng.integers(1, 9))):
            data[int(rng.integers(place, size))] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del data[place:]
    elif kind == 2:
        del data[place : place + length]
    elif kind == 3:
        data[place:place] = data[place : place + length]
    elif kind == 4:
        data[place : place + length] = rng.bytes(length)
    elif kind == 5:
        order = "little" if rng.random() < 0.5 else "big"
        number = int(rng.choice([2**63 - 1, 2**40, 2**31, 0xFFFFFFFF, 100_000_000, 0]))
        data[place : place + 8] = number.to_bytes(8, order)
    elif kind == 6:
        data += rng.bytes(length)
    elif numbers := list(re.finditer(rb"\d+|[a-z_]+", data[: 2**16])):
        found = numbers[int(rng.integers(len(numbers)))]
        data[found.start() : found.end()] = WORDS[int(rng.integers(len(WORDS)))]
    return bytes(data)


def break_tree(tree: Any, rng: np.random.Generator) -> Any:
    """Plain data in which one value is junk, missing, there twice, or deep."""
    tree = json.loads(json.dumps(tree))
    parent, key, here = None, None, tree
    while isinstance(here, (dict, list)) and here and (parent is None or rng.random() < 0.75):
        keys = list(here) if isinstance(here, dict) else range(len(here))
        parent, key = here, keys[int(rng.integers(len(keys)))]
        here = parent[key]
    junk = nested(int(rng.integers(300, 800))) if rng.random() < 0.1 else JUNK[int(rng.integers(len(JUNK)))]
    kind = int(rng.integers(6))
    if parent is None:
        return junk
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, dict):
        parent[shown(junk)] = here
    elif kind == 1:
        parent.insert(key, here)
    elif kind == 2 and isinstance(here, int):
        parent[key] = here + int(rng.choice([-1, 1, 100, -100]))
    else:
        parent[key] = junk
    return tree


def replace_file(path: Path, number: int, sprung: Path) -> str:
    """Put something else in the place of a file; returns what."""
    path.unlink()
    what = ["pickle", "folder", "pipe", "endless", "link to itself", "link outside", "huge", "empty", "absent"][number]
    if what == "pickle":
        path.write_bytes(pickle.dumps(Trap(sprung)))
    elif what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "huge":
        with open(path, "wb") as file:
            file.truncate(2**42)
    elif what == "empty":
        path.touch()
    elif what != "absent":
        path.symlink_to({"endless": "/dev/zero", "link to itself": path, "link outside": "/etc/passwd"}[what])
    return what


# --- what a hostile person would think of ---------------------------------------------------------------------------


def zipped(path: Path, compress: bool = False, **parts: bytes) -> None:
    """A zip of these parts; `policy` is the weights."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED) as file:
        for name, content in parts.items():
            file.writestr({"policy": "policy.pth"}.get(name, name), content)


def weights_with(tensor: torch.Tensor, good: Path) -> bytes:
    """The weights of a model with another first layer."""
    with zipfile.ZipFile(good) as file:
        weights = torch.load(io.BytesIO(file.read("policy.pth")), weights_only=True)
    result = io.BytesIO()
    torch.save(weights | {"mlp_extractor.policy_net.0.weight": tensor}, result)
    return result.getvalue()


def inner_bomb() -> bytes:
    """A zip of 1 MB that unpacks to 300 MB."""
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("archive/data.pkl", b"\0" * (3 * 10**8))
    return result.getvalue()


def aliases(first: str, more: str) -> bytes:
    """YAML in which each line stands for thrice the one before."""
    names = "abcdefghijklmnopqrst"
    lines = [f"a: &a {first.format()}", *(f"{b}: &{b} {more.format(a)}" for a, b in pairwise(names))]
    return "\n".join(lines).encode()


def tricky(kind: str, good: Path, sprung: Path) -> Iterator[tuple[str, bytes]]:
    """What a person would put into a file of a kind to do harm, each with its name."""
    if kind == "preset.yaml":
        yield "aliases", aliases("[x, x]", "[*{0}, *{0}, *{0}]")
        yield "merged aliases", aliases("{{k: 1}}", "{{<<: [*{0}, *{0}, *{0}]}}")
        yield "itself", b"options: &a {x: *a}"
        yield "an object", f"options: !!python/object/apply:os.mkdir [{sprung}]".encode()
        yield "a class", b"network: {class_path: this.main, init_args: {}}"
        yield "a class of ours", b"network: {class_path: tests.damage.Trap, init_args: {path: x}}"
        yield "a class among the options", b"options: {x: {class_path: this.main}}"
        yield "a class in a text", b"options: {x: 'class_path: antigravity.main'}"
        yield "a date", b"seed: 2001-99-99"
        yield "deep", b"[" * 16_000
        yield "deep in lines", b"- " * 8_000
        yield "deep in keys", b"? " * 8_000
        yield "deep and closed", b"options: " + b"[" * 900 + b"]" * 900
        yield "a long number", b"seed: " + b"9" * 5000
        yield "long", b"#" * 2**17
    elif kind == "model.zip":
        with zipfile.ZipFile(good) as file:
            data, policy = file.read("data"), file.read("policy.pth")
        path = good.parent / "made.zip"
        small = torch.ones(1, 1)
        for what, tensor in {
            "repeated": small.expand(10**9, 600),
            "complex": small.to(torch.complex64),
            "whole": small.long(),
            "boolean": small.bool(),
            "sparse": torch.sparse_coo_tensor(torch.zeros(2, 1), torch.ones(1), (10**6, 10**6)),
            "empty": torch.ones(0, 0),
            "nothing": torch.ones(3, 3, device="meta"),
            "turned": torch.ones(10**5, 1).T,
        }.items():
            zipped(path, data=data, policy=weights_with(tensor, good))
            yield what, path.read_bytes()
        zipped(path, compress=True, data=b" " * 2**25, policy=policy)
        yield "a bomb", path.read_bytes()
        zipped(path, compress=True, data=b"[" + b"[]," * (2**22) + b"[]]", policy=policy)
        yield "a list", path.read_bytes()
        zipped(path, data=data, policy=inner_bomb())
        yield "a bomb inside", path.read_bytes()
        zipped(path, data=b"[" * 10**6, policy=policy)
        yield "deep", path.read_bytes()
    elif kind.endswith(".txt"):
        text = good.read_text()
        yield "deep", re.sub("options: .*", 'options: {"max_turns": ' + "[" * 900 + "]" * 900 + "}", text).encode()
        yield "names", text.replace('"a"', '"\\ud800"').encode()
        yield "lines", (text + "\n" * 2**21).encode()
    elif kind == "state.safetensors":
        header, arrays = read_state(good)
        for name, value in (("states", 127), ("slots", 99), ("slots", -2), ("seats", 9), ("num_seats", 0)):
            changed = {**arrays, f"shard/0/{name}": np.full_like(arrays[f"shard/0/{name}"], value)}
            yield f"{name} {value}", save(changed, {"state": json.dumps(header)})
        for name in ("network/", "optimizer/0/exp_avg", "optimizer/0/step", "league/1/"):
            found = next(key for key in arrays if key.startswith(name) and arrays[key].size)
            yield f"{found} nan", save({**arrays, found: arrays[found] * np.nan}, {"state": json.dumps(header)})
    elif kind == "flowers_v0.json":
        position = json.loads(good.read_text())
        for count in (128, 256):  # of these tiles, in numbers of 8 bits the second is none
            position["stacks"]["dark"] += position["stacks"]["dark"][:1] * 128
            yield f"{count} tiles", json.dumps(position).encode()
    else:
        yield "deep", b'{"a":' * 10**5
        yield "deep and closed", b'{"game": ' + b"[" * 900 + b"]" * 900 + b"}"
