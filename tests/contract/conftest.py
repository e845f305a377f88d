"""Every game with every variant of its rules. A new game adds its variants here and tests/<game>/contract.py:

is_complete_set(states)        is every card somewhere, exactly once?
relabel(state, axis, new)      rename what single numbers of the state name ("player", "mandala", "colour")
mix_colours(rng)               new numbers for the colours that make no difference
leave_no_chance(state, rng)    change the state so that the next action has one outcome only
redeal(state, seat, rng)       deal anew all that a seat cannot see
exchange(state, seat, rng)     exchange two cards that the seat cannot see, none of them of the deck, if there are such
public(state, seat)            all that the seat may know, as a dict, written without the engine's encoder
"""

from importlib import import_module
from typing import Any

import pytest

from mandala_env import list_games, load_game

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "mandala_v0": [{}, {"second_exhaustion": "end"}, {"max_turns": 30}],
    "flowers_v0": [
        {},
        {"num_players": 3},
        {"num_players": 4, "tile_values": (1, 1, 2, 9, "x3", "x3")},
        {"two_player_rule": "half_of_rival", "max_turns": 30},
    ],
}
ALL = [(game_id, options) for game_id in list_games() for options in VARIANTS[game_id]]


def name_of(variant: tuple[str, dict[str, Any]]) -> str:
    """A variant as pytest shows it: mandala_v0-max_turns=30."""
    game_id, options = variant
    return "-".join([game_id, *(f"{name}={value}" for name, value in options.items())])


@pytest.fixture(params=ALL, ids=map(name_of, ALL))
def game(request: pytest.FixtureRequest) -> Any:
    """Each game with each variant of its rules."""
    game_id, options = request.param
    return load_game(game_id, **options)


@pytest.fixture
def facts(game: Any) -> Any:
    """What the tests need to know of this game."""
    return import_module(f"..{game.id.partition('_')[0]}.contract", __package__)
