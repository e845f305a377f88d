"""A small run in processes that are forked from one with everything imported, and that die when they are told to.

`python -m tests.training.dying` reads jobs, one JSON object a line, and answers each with how its process ended.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import training.train
from mandala_env.policies.network import NetworkConfig
from training.config import EvaluationConfig, LeagueConfig, PPOConfig, TrainConfig
from training.selfplay import SelfPlayPPO

CONFIG = TrainConfig(
    name="small",
    options={"max_turns": 6},
    seed=3,
    total_decisions=5 * 32,
    num_threads=1,
    save_every=1,
    network=NetworkConfig(shared=2, per_mandala=2, layers=1),
    ppo=PPOConfig(num_games=8, num_steps=4, minibatch_size=16),
    league=LeagueConfig(share=0.5, max_snapshots=1, snapshot_every=2, scripted=["random"]),
    evaluation=EvaluationConfig(every=3, games=4, against=["random"]),
)
CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir"}


def live(runs: str, resume: str | None = None, **until: Any) -> None:
    """One life of the run, with what is to happen in it.

    event   die before the n-th change of a file or folder
    bytes   die in the middle of the first write that makes a file longer than this
    full    the same is an error: the disk is full
    twin    another process does the same at the same time
    user    become somebody who may not write where the run is
    """
    training.train.FINAL_GAMES = 4
    if "event" in until:
        die_before_change(until["event"], runs)
    for limit, action in (("bytes", signal.SIG_DFL), ("full", signal.SIG_IGN)):
        if limit in until:
            signal.signal(signal.SIGXFSZ, action)
            resource.setrlimit(resource.RLIMIT_FSIZE, (until[limit], until[limit]))
    if "user" in until and os.geteuid() == 0:
        os.seteuid(until["user"])
    twin = os.fork() if "twin" in until else 0
    training.train.train(CONFIG, Path(runs), None if resume is None else Path(resume), quiet=True)
    if twin:
        assert os.waitpid(twin, 0)[1] == 0


def die_before_change(number: int, folder: str) -> None:
    """Kill this process before its n-th change in the file system; every opening for writing is one."""
    left = [number]

    def watch(event: str, arguments: tuple) -> None:
        is_write = event == "open" and str(arguments[0]).startswith(folder) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if event in CHANGES or is_write:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """Fork a life, kill it after job["seconds"], and say how it ended."""
    seconds = job.pop("seconds", None)
    read_end, write_end = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            live(**job)
            os._exit(0)
        except BaseException as error:
            os.write(write_end, f"{type(error).__name__}: {error}".encode()[:4000])
            os._exit(1)
    os.close(write_end)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
    with os.fdopen(read_end) as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return {"status": status, "said": said}


@contextmanager
def lives() -> Iterator[Any]:
    """A function that carries out a job; the process behind it ends with the context."""
    command = [sys.executable, "-m", "tests.training.dying"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment) as process:
        assert process.stdin is not None and process.stdout is not None
        to, back = process.stdin, process.stdout

        def carry_out(**job: Any) -> dict[str, Any]:
            print(json.dumps(job), file=to, flush=True)
            return json.loads(back.readline())

        yield carry_out
        to.close()


def main() -> None:
    """Load what a run needs but its update (torch does not fork once it has computed a gradient); then do jobs."""
    update, SelfPlayPPO.train = SelfPlayPPO.train, lambda self: None  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as runs:
        live(runs)
    SelfPlayPPO.train = update  # type: ignore[method-assign]
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
