"""How the compiled loops of `core` reach the rules of a game: by the type of the state record.

A kernel that is closed over a game's functions is never cached by numba; one that calls the names below is. Each name
stands for the function of the same name in the game's `rules.py` or `observation.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba.extending import overload

from mandala_env.core.jit import OPTIONS


@dataclass(frozen=True)
class Rules:
    """The compiled functions that make a game.

    deal(state)            start a game: everything but the generator and the options is set anew
    legal(state, words)    write the legal actions of the player to decide as a set of bits; none when the game is over
    apply(state, action)   carry out a legal action
    is_over(state)         has the game ended?
    score(state, points)   write every player's points as they stand
    payoff(state, out)     write every player's result: the winners share +1, the losers share -1, 0 for a shared win
    encode(state, player, obs)  write all that a player knows
    imagine(obs, state)    deal a possible state with that observation; the viewer is player 0
    """

    deal: Callable[..., Any]
    legal: Callable[..., Any]
    apply: Callable[..., Any]
    is_over: Callable[..., Any]
    score: Callable[..., Any]
    payoff: Callable[..., Any]
    encode: Callable[..., Any]
    imagine: Callable[..., Any]


_by_dtype: dict[np.dtype, Rules] = {}
_by_record: dict[Any, Rules] = {}


def register_rules(dtype: np.dtype, rules: Rules) -> None:
    """Let the names of this module find the rules of a game by the type of its state."""
    _by_dtype[dtype] = rules
    _by_record[numba.from_dtype(dtype)] = rules


def deal(state: Any) -> Any:
    """See `Rules`."""
    return _by_dtype[state.dtype].deal(state)


def legal(state: Any, words: Any) -> Any:
    """See `Rules`."""
    return _by_dtype[state.dtype].legal(state, words)


def apply(state: Any, action: Any) -> Any:
    """See `Rules`."""
    return _by_dtype[state.dtype].apply(state, action)


def is_over(state: Any) -> Any:
    """See `Rules`."""
    return _by_dtype[state.dtype].is_over(state)


def score(state: Any, points: Any) -> Any:
    """See `Rules`."""
    return _by_dtype[state.dtype].score(state, points)


def payoff(state: Any, out: Any) -> Any:
    """See `Rules`."""
    return _by_dtype[state.dtype].payoff(state, out)


def encode(state: Any, player: Any, obs: Any) -> Any:
    """See `Rules`."""
    return _by_dtype[state.dtype].encode(state, player, obs)


def imagine(obs: Any, state: Any) -> Any:
    """See `Rules`."""
    return _by_dtype[state.dtype].imagine(obs, state)


def _rules(record: Any, name: str) -> Any:
    return getattr(_by_record[record], name).py_func


# strict=False: numba would otherwise compare the annotations too, not only the names, of the arguments.
overload(deal, strict=False, jit_options=OPTIONS)(lambda state: _rules(state, "deal"))
overload(legal, strict=False, jit_options=OPTIONS)(lambda state, words: _rules(state, "legal"))
overload(apply, strict=False, jit_options=OPTIONS)(lambda state, action: _rules(state, "apply"))
overload(is_over, strict=False, jit_options=OPTIONS)(lambda state: _rules(state, "is_over"))
overload(score, strict=False, jit_options=OPTIONS)(lambda state, points: _rules(state, "score"))
overload(payoff, strict=False, jit_options=OPTIONS)(lambda state, out: _rules(state, "payoff"))
overload(encode, strict=False, jit_options=OPTIONS)(lambda state, player, obs: _rules(state, "encode"))
overload(imagine, strict=False, jit_options=OPTIONS)(lambda obs, state: _rules(state, "imagine"))
