"""What the compiled functions of this package promise to each other and to Python."""

from typing import Any

import numba
import numpy as np
import pytest

from mandala_env.core.jit import IS_COMPILED, copy_row, jit
from tests.compiled import called

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled")


@jit
def is_below(number: Any, other: Any) -> Any:
    """Is a number less than another?"""
    return number < other


@numba.njit
def compare(small: Any, large: Any, unsigned: Any) -> Any:
    """Numbers of all kinds beside each other."""
    return is_below(small[0], large[0]), is_below(large[0], small[0]), is_below(-7, 5), is_below(unsigned[0], 5)


def test_a_function_has_one_version_for_all_signed_whole_numbers() -> None:
    kinds = [np.array([number], kind) for number, kind in ((-3, np.int8), (2**40, np.int64), (2**64 - 1, np.uint64))]
    assert compare(*kinds) == (True, False, True, False)
    assert [str(kind) for kind in is_below.overloads] == ["(int64, int64)", "(uint64, int64)"]


def test_python_is_told_that_it_cannot_call_what_has_no_wrapper_for_it() -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match="is_below can be called by compiled functions only: Python calls kernels"):
            is_below(4, 5)
        assert called(is_below)(4, 5)


def test_a_row_is_copied_whole_into_another_type_of_row() -> None:
    target = np.full(7, -1, np.int16)
    called(copy_row)(target, np.arange(7, dtype=np.int8))
    assert target.tolist() == list(range(7))
