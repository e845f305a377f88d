"""The one way in which Python functions of this package are compiled.

`jit` is for the small functions that the rules are made of, `kernel` for the few entry points that Python calls.
Only kernels are kept on disk: their machine code contains everything that they call. The folder they are kept in is
named by a digest of the sources of core and games, and each kernel's file is stamped with a digest of its own source,
so an edited function can never run stale code.
With `NUMBA_DISABLE_JIT=1` both leave the functions as they are: the same source is the plain Python reference.
"""

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import caching
from numba.core.compiler import Compiler

PACKAGE = Path(__file__).resolve().parent.parent
IS_COMPILED = not numba.config.DISABLE_JIT
# The same for all functions: numba compiles what they share (min, max, slices) once for each set of options.
OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "no_cpython_wrapper": True}


def _name_of_record(record: types.Record) -> tuple[str, tuple[str]]:
    """What a record type is called in the names of compiled functions: by its fields.

    numba counts the types of a process instead. Kernels that two processes compiled for different records and kept
    would then hold different functions under one name, and a third process that loads both would mix them up.
    """
    return "Record", (hashlib.sha256(record.name.encode()).hexdigest()[:16],)


types.Record.mangling_args = property(_name_of_record)


def jit(function: Callable[..., Any]) -> Any:
    """Compile a function that compiled functions call; Python calls kernels only.

    There is one version for all signed whole numbers: numba by itself compiles one for each constant and each width.
    """
    if not IS_COMPILED:
        return function
    dispatcher = numba.njit(**OPTIONS)(function)
    find_template = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return find_template([plain_number(kind) for kind in args], {name: plain_number(kws[name]) for name in kws})

    dispatcher.get_call_template = get_call_template
    # Nothing is compiled that Python could call; numba does not know that it cannot, and would jump to nowhere.
    dispatcher._insert = lambda *_, **__: None
    dispatcher._compile_for_args = partial(_refuse, function.__name__)
    return dispatcher


def _refuse(name: str, *_: Any, **__: Any) -> None:
    raise TypeError(f"{name} can be called by compiled functions only: Python calls kernels, see mandala_env.core.jit")


def plain_number(kind: Any) -> Any:
    """The type that stands for all signed whole numbers; other types as they are."""
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind.signed else kind


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, once for all processes: its machine code is kept in `cache_folder()`."""
    if not IS_COMPILED:
        return function
    dispatcher = numba.njit(pipeline_class=_KernelCompiler, **OPTIONS)(function)
    if cache_folder() is not None:
        dispatcher._cache = _KernelCache(function)
    return dispatcher


def entry_point(kernel_: Any, *arguments: Any) -> Callable[..., Any]:
    """A kernel compiled for arguments of these types; calls do not look at the types again, in a third of the time.

    What it is given later must have the same types and layouts: nothing checks that. Arrays that are only read may be
    read-only, which makes no difference to the code.
    """
    if not IS_COMPILED:
        return kernel_
    kinds = [numba.typeof(argument) for argument in arguments]
    kinds = [kind.copy(readonly=False) if isinstance(kind, types.Array) else kind for kind in kinds]
    compiled: Callable[..., Any] = kernel_.compile(tuple(kinds))
    return compiled


def plain_records(records: np.recarray) -> np.ndarray:
    """The same records in the form that kernels take fastest.

    numba takes a plain array in 1 microsecond and a recarray in 10; plain Python needs the names of a recarray.
    """
    return records.view(np.dtype((np.void, records.dtype)), np.ndarray) if IS_COMPILED else records


def row_type(dtype: Any, length: int) -> np.dtype:
    """Records with one field, `row`: of an array of them compiled code knows how long a row is, and unrolls loops."""
    return np.dtype([("row", dtype, (length,))])


def empty_rows(count: int, row_type_: np.dtype) -> np.ndarray:
    """An array of `count` rows in the form that kernels take; `view` shows the numbers."""
    return np.empty(count, row_type_) if IS_COMPILED else np.recarray(count, row_type_)


@jit
def copy_row(target: Any, source: Any) -> None:
    """Copy numbers into a row of the same length; for `target[:] = source` numba compiles its error message, too."""
    for place in range(len(target)):
        target[place] = source[place]


@cache
def source_digest() -> str:
    """A digest of every source file that compiled code can come from."""
    digest = hashlib.sha256(numba.__version__.encode())
    for folder in ("core", "games"):
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            digest.update(str(path.relative_to(PACKAGE)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path | None:
    """The first writable folder among: $MANDALA_ENV_CACHE_DIR, the package itself, the user's cache, the system's
    temporary folder; None (compile in every process) when there is none."""
    for root in _cache_roots():
        folder = root / f"numba-{source_digest()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


def _cache_roots() -> Iterator[Path]:
    if chosen := os.environ.get("MANDALA_ENV_CACHE_DIR"):
        yield Path(chosen)
    yield PACKAGE / "__pycache__"
    with contextlib.suppress(RuntimeError):  # there may be no home folder
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mandala_env"
    if (shared := _own_folder(Path(tempfile.gettempdir()))) is not None:
        yield shared


def _own_folder(parent: Path) -> Path | None:
    """A folder of this user in one that all users write to; None if somebody else could put code there that we load."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = parent / f"mandala_env-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    is_open = os.name == "posix" and found.st_mode & 0o022
    return folder if stat.S_ISDIR(found.st_mode) and found.st_uid == user and not is_open else None


class _KernelCompiler(Compiler):
    """Compiles what Python calls, too; only here, for the options are those of the functions that a kernel calls."""

    def define_pipelines(self) -> Any:
        self.state.flags.no_cpython_wrapper = False
        return super().define_pipelines()


class _KernelLocator(caching._CacheLocator):
    def __init__(self, source_file: str) -> None:
        self.folder_name = Path(source_file).parent.name  # two games may have kernels of the same name
        # Kernels outside core and games (training has some) call functions of their own file and of core only.
        self.stamp = source_digest() + hashlib.sha256(Path(source_file).read_bytes()).hexdigest()[:16]

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return self.stamp

    def get_disambiguator(self) -> str:
        return self.folder_name

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "_KernelLocator":
        return cls(py_file)


class _KernelCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_KernelLocator]


class _KernelCache(caching.FunctionCache):
    """numba keeps all signatures of a function behind one index, and two processes that add to it at once can leave a
    signature with the other one's machine code. Here every signature has files of its own."""

    _impl_class = _KernelCacheImpl

    def _use_files_of(self, sig: Any) -> None:
        name = f"{self._impl.filename_base}-{hashlib.sha256(str(sig).encode()).hexdigest()[:16]}"
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = caching.IndexDataCacheFile(self._cache_path, name, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        self._use_files_of(sig)
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a truncated or foreign file is a miss: compile again and replace it
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        self._use_files_of(sig)
        with contextlib.suppress(OSError):  # a full disk costs the next process a compilation, not this one its game
            super().save_overload(sig, data)
