"""Files that are there whole or not at all, and that are read only if they are files of bounded size."""

import contextlib
import os
from pathlib import Path


def write_file(path: Path, content: bytes | str) -> None:
    """Write a file, text as UTF-8; a kill or a full disk at any moment leaves the old content or the new one.

    Raises OSError that names the file.
    """
    content = content.encode("utf-8") if isinstance(content, str) else content
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from None


def read_file(path: Path, largest: int) -> bytes:
    """The content of a file of at most `largest` bytes; raises ValueError for anything else, OSError if it is absent.

    A pipe or a device in its place could keep a reader waiting or supply bytes for ever.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{path}: expected a file, not a folder, pipe or device")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > largest:
            raise ValueError(f"{path}: larger than {largest} bytes")
        return file.read(size)


def hidden(folder: Path, state: str) -> Path:
    """The name of a folder while it is being written, or while another one takes its place."""
    return folder.parent / f".{folder.name}.{state}"


def find_folder(folder: str | Path) -> Path:
    """Where a checkpoint is: its folder, or its hidden name if a kill came between the renames of a save."""
    folder = Path(folder)
    old = hidden(folder, "old")
    return old if old.is_dir() and not folder.exists() else folder
