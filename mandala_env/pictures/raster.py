"""Drawings as pixels. No display is needed, and no font of the machine: pictures are the same everywhere."""

import importlib.util
import io
from functools import cache
from pathlib import Path

import numpy as np


class MissingExtra(ImportError):
    """An optional package is not installed; the message says how to get it."""


@cache
def font_file() -> Path:
    """The font that pygame brings along."""
    spec = importlib.util.find_spec("pygame")  # asked for, not imported
    if spec is None or spec.origin is None:
        raise MissingExtra("pictures in pixels need pygame-ce: pip install 'mandala-env[render]'")
    return Path(spec.origin).parent / "freesansbold.ttf"


def png(drawing: str, width: int | None = None) -> bytes:
    """A PNG file of an SVG, so many pixels wide."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise MissingExtra("pictures in pixels need resvg-py: pip install 'mandala-env[render]'") from None
    path = str(font_file())
    family = "FreeSans"
    return bytes(
        svg_to_bytes(
            svg_string=drawing, width=width, skip_system_fonts=True, font_files=[path], font_family=family,
            sans_serif_family=family,
        )
    )  # fmt: skip


def pixels(drawing: str, width: int | None = None) -> np.ndarray:
    """The pixels of an SVG, uint8 (height, width, 3)."""
    picture = png(drawing, width)
    import pygame

    surface = pygame.image.load(io.BytesIO(picture), "picture.png")
    return np.ascontiguousarray(pygame.surfarray.array3d(surface).swapaxes(0, 1))
