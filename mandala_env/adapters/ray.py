"""Matches as tasks of a Ray cluster: an executor that `evaluate` and `play_ladder` take."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

try:
    import ray
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error}: pip install 'mandala-env[ray]'", name=error.name) from None

RETRIES = 3  # work that costs so many workers their lives and one more is given up


def connect(num_workers: int | None = None) -> int:
    """Join the Ray cluster that RAY_ADDRESS names, or start one of this machine alone, which ends with this process.

    Returns for how many workers there is room; raises ValueError if these are fewer than num_workers.
    """
    if not ray.is_initialized():
        if os.environ.get("RAY_ADDRESS"):
            ray.init(logging_level="warning")
        else:  # "local": without it Ray joins whatever it finds, also another process's own
            room = max(num_workers or 0, os.cpu_count() or 1)
            ray.init(address="local", num_cpus=room, include_dashboard=False, logging_level="warning")
    room = int(ray.cluster_resources().get("CPU", 0))
    if room < (num_workers or 1):
        raise ValueError(f"ray:{num_workers or 1} wants as many CPUs; the cluster has {room}")
    return room


def result_of(reference: Any) -> Any:
    """Wait for work; its own errors are raised as they are, ChildProcessError if it has cost too many workers."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:  # its worker died, ran out of memory, or its machine is gone
        raise ChildProcessError(f"work was given up after {RETRIES + 1} tries: {error}") from None


class RayExecutor(ThreadPoolExecutor):
    """Carries out what is submitted as Ray tasks, each again if its worker dies.

    num_workers   tasks at a time; None: as many as the cluster has CPUs
    start_worker  called before each task, in its process
    """

    def __init__(self, num_workers: int | None = None, start_worker: Callable[[], None] | None = None) -> None:
        room = connect(num_workers)
        super().__init__(num_workers or room, thread_name_prefix="ray-task")
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(_carry_out)
        self._start_worker = start_worker

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """See `concurrent.futures.Executor`."""
        return super().submit(self._result_of, function, args, kwargs)

    def _result_of(self, *work: Any) -> Any:
        """A thread waits for each task, so no more than num_workers are under way."""
        return result_of(self._task.remote(self._start_worker, *work))


def _carry_out(start_worker: Callable[[], None] | None, function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    if start_worker:
        start_worker()
    return function(*args, **kwargs)
