"""Kernels outside core and games are kept on disk, too, and must not outlive an edit of what they call."""

import os
import subprocess
import sys
from pathlib import Path

import mandala_env

SOURCE = """
from mandala_env.core.jit import jit, kernel

@jit
def helper(x):
    return x + {number}

@kernel
def answer(x):
    return helper(x)
"""
RUN = "import edited; print(edited.answer(40), sum(edited.answer.stats.cache_hits.values()))"


def run(path: Path, number: int) -> str:
    """What a module with a kernel prints in a new process: its answer, and how many kernels came from the disk."""
    path.write_text(SOURCE.format(number=number))
    folders = [str(path.parent), str(Path(mandala_env.__file__).parent.parent)]
    environment = {"MANDALA_ENV_CACHE_DIR": str(path.parent / "cache"), "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(
        [sys.executable, "-c", RUN], env=os.environ | environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_a_kernel_is_compiled_anew_when_a_function_it_calls_was_edited(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    assert run(path, 2) == "42 0"
    assert run(path, 2) == "42 1"
    assert run(path, 3) == "43 0"
