"""Who plays matches: this process, other processes of this machine, or a cluster; nobody's choice changes a result."""

import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from itertools import starmap
from typing import Any


def read_workers(text: str) -> tuple[str, int | None]:
    """What `--workers` says, "local:2", "ray:8", "ray" or "2" (local), as (kind, number or None); or ValueError."""
    match = re.fullmatch(r"(local|ray)|(?:(local|ray):)?([1-9][0-9]{0,4})", text if isinstance(text, str) else "")
    if match is None:
        raise ValueError(f"workers must be local, local:N, ray or ray:N, not {text!r}")
    return match[1] or match[2] or "local", int(match[3]) if match[3] else None


def carry_out(executor: Executor | None, function: Callable[..., Any], rows: Iterable[tuple]) -> Iterator[Any]:
    """The function's results for rows of arguments, in their order; without an executor each when it is asked for."""
    if executor is None:
        yield from starmap(function, rows)
        return
    jobs = [executor.submit(function, *row) for row in rows]
    try:
        for job in jobs:
            yield job.result()
    finally:  # after an error nobody waits for the others
        for job in jobs:
            job.cancel()
