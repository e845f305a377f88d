"""Kernels are kept on disk: none outlives an edit of what it calls, and whatever is there, the answers are right."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import mandala_env

PACKAGE = Path(mandala_env.__file__).parent

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
# A user without a home, who may write nowhere but in the temporary folder; Python itself may be closed to such a user.
RUN_AS_NOBODY = f"""
import os, numba, numba.core.caching
numba.njit(lambda x: x + 1)(1)
if os.getuid() == 0:
    os.setuid(54321)
{RUN}
from mandala_env.core.jit import cache_folder
print(cache_folder())
"""


def begin(path: Path) -> subprocess.Popen:
    """A new process that imports a module with a kernel."""
    folders = [str(path.parent), str(PACKAGE.parent)]
    environment = {"MANDALA_ENV_CACHE_DIR": str(path.parent / "cache"), "PYTHONPATH": os.pathsep.join(folders)}
    return subprocess.Popen([sys.executable, "-c", RUN], env=os.environ | environment, stdout=-1, text=True)


def end(process: subprocess.Popen) -> str:
    """What it prints: the kernel's answer, and how many kernels came from the disk."""
    output = process.communicate()[0]
    assert process.returncode == 0
    return output.strip()


def run(path: Path, number: int) -> str:
    """Both."""
    path.write_text(SOURCE.format(number=number))
    return end(begin(path))


def damage_all(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    """Change all files of a cache."""
    kept = [file for file in folder.rglob("*") if file.is_file()]
    assert {file.suffix for file in kept} == {".nbi", ".nbc"}
    for file in kept:
        file.write_bytes(damage(file.read_bytes()))


def test_a_kernel_is_compiled_anew_when_a_function_it_calls_was_edited_or_its_file_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    assert run(path, 2) == "42 0"
    damage_all(tmp_path / "cache", lambda content: content[: len(content) // 2])
    assert run(path, 2) == "42 0"
    assert run(path, 2) == "42 1"
    assert run(path, 3) == "43 0"


@pytest.mark.slow
def test_any_damage_to_the_cache_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    run(path, 2)
    for damage in (lambda it: b"", lambda it: it[:-1], lambda it: b"\x80nonsense" + it[9:], lambda it: it[:9]):
        damage_all(tmp_path / "cache", damage)
        assert run(path, 2) == "42 0"
        assert run(path, 2) == "42 1"


@pytest.mark.slow
def test_eight_processes_that_start_at_once_on_an_empty_cache_all_get_it_right(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    path.write_text(SOURCE.format(number=2))
    assert {end(process)[:3] for process in [begin(path) for _ in range(8)]} == {"42 "}
    assert end(begin(path)) == "42 1"


def test_a_read_only_install_keeps_its_kernels_where_nobody_else_can_write() -> None:
    with tempfile.TemporaryDirectory() as root:  # pytest's own folders are closed to other users
        shutil.copytree(PACKAGE, Path(root, "mandala_env"), ignore=shutil.ignore_patterns("__pycache__", "checkpoints"))
        Path(root, "edited.py").write_text(SOURCE.format(number=2))
        temporary = Path(root, "tmp")
        temporary.mkdir()
        temporary.chmod(0o1777)
        for folder in (Path(root), *(path for path in Path(root, "mandala_env").rglob("*") if path.is_dir())):
            folder.chmod(0o555)
        environment = {"PATH": os.environ["PATH"], "TMPDIR": str(temporary), "PYTHONPATH": root}
        if os.getuid() != 0:  # this user has a home, whatever the environment says
            environment["XDG_CACHE_HOME"] = "/nonexistent"
        command = [sys.executable, "-c", RUN_AS_NOBODY]

        def answers() -> list[str]:
            return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()

        *found, folder = answers()
        assert found == ["42", "0"] and Path(folder).parent.parent == temporary
        assert answers()[:2] == ["42", "1"]
        Path(folder).parent.chmod(0o777)  # now others could have put their code there, which nobody may run
        assert answers() == ["42", "0", "None"]
        for path in (Path(root), *Path(root).rglob("*")):
            path.chmod(0o755)
