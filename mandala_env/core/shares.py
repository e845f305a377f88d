"""Games shared out among threads.

Each thread has a part of its own, so that a game stays near the same processor from one step to the next, and takes it
in blocks; when it is done it helps with the others' parts. So the thread that calls never waits for one that the
system has not woken yet, and a busy neighbour costs no more than its thread.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mandala_env.core.jit import IS_COMPILED, jit

GAMES_OF_A_THREAD = 4096  # at least: to wake one costs as much time as some hundreds of games
FEW = 64  # games in a block: their states, observations and masks stay in the processor's nearest cache
CACHE_LINE = 8  # numbers; threads that write to the same one would wait for each other
NEXT, END = 0, 1
MOST_SPINS = 2000  # some 50 microseconds, about what it costs to sleep and be woken


def share_out(num_games: int, num_threads: int) -> np.ndarray:
    """A row for each thread: the next game of its part, and the end of the part; a last row counts what is done.

    Where there are few games there are fewer threads than may be. Each run needs a copy of its own: a thread that wakes
    too late finds everything taken there.
    """
    num_threads = max(1, min(num_threads, num_games // GAMES_OF_A_THREAD))
    shares = np.zeros((num_threads + 1, CACHE_LINE), np.int64)
    cuts = np.linspace(0, num_games, num_threads + 1).astype(int)
    shares[:-1, NEXT], shares[:-1, END] = cuts[:-1], cuts[1:]
    return shares


if IS_COMPILED:

    @intrinsic
    def _add(typing_context: Any, shares: Any, row: Any, count: Any) -> Any:
        """Add to the first number of a row, as one step that no other thread can come between; returns what it was."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            row, count = (context.cast(builder, arguments[i], signature.args[i], types.int64) for i in (1, 2))
            place = builder.gep(array.data, [builder.mul(row, ir.Constant(ir.IntType(64), CACHE_LINE))])
            return builder.atomic_rmw("add", place, count, "seq_cst")

        return types.int64(shares, row, count), generate

else:

    def _add(shares: Any, row: int, count: int) -> int:
        before = int(shares[row, NEXT])
        shares[row, NEXT] += count
        return before


@jit
def take(shares: Any, thread: int, num_done: int) -> tuple[int, int]:
    """Say how many games of the last block are done; returns the first and the end of the next block, or 0, 0."""
    num_threads = len(shares) - 1
    if num_done:
        _add(shares, num_threads, num_done)
    for turn in range(num_threads):
        part = (thread + turn) % num_threads
        if shares[part, NEXT] < shares[part, END]:
            first = _add(shares, part, FEW)
            if first < shares[part, END]:
                return first, min(first + FEW, shares[part, END])
    return 0, 0


@jit
def is_done(shares: Any, thread: int) -> bool:
    """Is everything done? The first thread waits a little for what the others have taken."""
    num_threads, spins = len(shares) - 1, 0
    while thread == 0 and _add(shares, num_threads, 0) < shares[num_threads - 1, END]:
        spins += 1
        if spins == MOST_SPINS:
            return False
    return True
