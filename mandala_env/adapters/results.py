"""What the environments say about a game that has ended."""

from collections.abc import Sequence
from typing import Any


def outcome(payoff: float, is_shared: bool) -> str:
    """A player's result in a word; a win that several share is a draw for them."""
    if payoff < 0:
        return "loss"
    return "win" if payoff > 0 and not is_shared else "draw"


def endings(payoffs: Sequence[float], scores: Sequence[int], is_adjudicated: bool) -> list[dict[str, Any]]:
    """Every seat's `score`, `outcome` ("win", "draw", "loss") and, if the turns ran out, `adjudicated`."""
    is_shared = sum(payoff > 0 for payoff in payoffs) > 1
    extra = {"adjudicated": True} if is_adjudicated else {}
    return [
        {"score": int(score), "outcome": outcome(payoff, is_shared), **extra}
        for payoff, score in zip(payoffs, scores, strict=True)
    ]
