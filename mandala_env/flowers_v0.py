"""Flowers as a PettingZoo environment: `env(num_players=2)`, and `raw_env` without the checks around it."""

from typing import Any

from mandala_env.adapters.aec import CardGameEnv, CheckedEnv

__all__ = ["env", "raw_env"]


class raw_env(CardGameEnv, game_id="flowers_v0"):
    __doc__ = CardGameEnv.__doc__


def env(**kwargs: Any) -> CheckedEnv:
    """Flowers with PettingZoo's conventions; the arguments are those of `raw_env`."""
    return CheckedEnv(raw_env(**kwargs))
