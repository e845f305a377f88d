"""Threads that are kept: made when they are first needed, and anew in a forked process or a copy."""

import os
from concurrent.futures import ThreadPoolExecutor


class Threads:
    """A pool of `number` threads; they end when nobody holds this any more."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    @property
    def pool(self) -> ThreadPoolExecutor:
        """The pool of this process."""
        if self._pool is None or self._process != os.getpid():  # a fork has the pool, but not its threads
            self._pool = ThreadPoolExecutor(self.number, thread_name_prefix="mandala")
            self._process = os.getpid()
        return self._pool

    def __reduce__(self) -> tuple:
        return Threads, (self.number,)
