"""How tests call the small compiled functions, which only compiled functions can call."""

from collections.abc import Callable
from typing import Any

import numba

from mandala_env.core.jit import IS_COMPILED


def called(function: Any) -> Callable[..., Any]:
    """The function as Python can call it."""
    if not IS_COMPILED:
        return function  # type: ignore[no-any-return]

    @numba.njit
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return call  # type: ignore[no-any-return]
