"""The PettingZoo modules of all games."""

from typing import Any

import pytest

from mandala_env import mandala_v0

MODULES = {"mandala_v0": mandala_v0}


@pytest.fixture(params=list(MODULES))
def module(request: pytest.FixtureRequest) -> Any:
    """The PettingZoo module of each game."""
    return MODULES[request.param]
