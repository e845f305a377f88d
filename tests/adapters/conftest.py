"""The PettingZoo modules of all games, and of Flowers one for each number of players."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from mandala_env import flowers_v0, mandala_v0

MODULES: dict[str, Any] = {"mandala_v0": mandala_v0, "flowers_v0": flowers_v0}
for number in (3, 4):
    MODULES[f"flowers_v0-{number}"] = SimpleNamespace(
        __name__=flowers_v0.__name__,
        env=partial(flowers_v0.env, num_players=number),
        raw_env=partial(flowers_v0.raw_env, num_players=number),
    )


@pytest.fixture(params=list(MODULES))
def module(request: pytest.FixtureRequest) -> Any:
    """The PettingZoo module of each game."""
    return MODULES[request.param]


@pytest.fixture(params=["mandala_v0", "flowers_v0"])
def whole_module(request: pytest.FixtureRequest) -> Any:
    """The modules themselves, not what stands for one with options."""
    return MODULES[request.param]
