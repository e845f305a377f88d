"""Flowers: A Mandala Game, for two, three and four players."""

from functools import lru_cache
from typing import Any

import numpy as np

from mandala_env.core.dispatch import Rules
from mandala_env.core.game import Game
from mandala_env.games.flowers import rules
from mandala_env.games.flowers.actions import ACTIONS
from mandala_env.games.flowers.heuristic import heuristic
from mandala_env.games.flowers.observation import LAYOUTS, encode, imagine
from mandala_env.games.flowers.position import from_position_into, to_position
from mandala_env.games.flowers.state import AXES, COLOURS, COLOURS_PER_KIND, PLAYER_COUNTS, STATES
from mandala_env.games.flowers.tiles import DEFAULT_VALUES, Values, read_tile_values, value_code
from mandala_env.words import shown

TWO_PLAYER_RULES = ("half_of_mandala", "half_of_rival")
MOST_TURNS = 9999
VARIANTS: list[dict[str, Any]] = [{"num_players": number} for number in PLAYER_COUNTS]  # see `registry.list_variants`


def make(
    num_players: int = 2,
    tile_values: Any = DEFAULT_VALUES,
    two_player_rule: str = "half_of_mandala",
    max_turns: int = 400,
) -> Game:
    """Flowers with its readings of the rules.

    num_players      2, 3 or 4
    tile_values      the six values that the tiles of a colour have, 1..9 or "x3": one list for all colours, or one for
                     each colour as a dict or in the order of the colours
    two_player_rule  what a player needs for a tile when the other one completes a mandala: "half_of_mandala" (the
                     rulebook's letter): at least half of all cards there; "half_of_rival": half as many as the other
    max_turns        1..9999: a game that is still running after so many turns is ended and scored as it stands
    """
    if not isinstance(num_players, int) or num_players not in PLAYER_COUNTS:
        raise ValueError(f"num_players must be one of {PLAYER_COUNTS}, not {shown(num_players)}")
    if two_player_rule not in TWO_PLAYER_RULES:
        raise ValueError(f"two_player_rule must be one of {TWO_PLAYER_RULES}, not {shown(two_player_rule)}")
    if not isinstance(max_turns, int) or isinstance(max_turns, bool) or not 1 <= max_turns <= MOST_TURNS:
        raise ValueError(f"max_turns must be a whole number from 1 to {MOST_TURNS}, not {shown(max_turns)}")
    return _make(num_players, read_tile_values(tile_values), two_player_rule, max_turns)


@lru_cache(maxsize=64)
def _make(num_players: int, tile_values: tuple[Values, ...], two_player_rule: str, max_turns: int) -> Game:
    return Game(
        id="flowers_v0",
        num_players=num_players,
        dtype=STATES[num_players],
        axes=AXES,
        layout=LAYOUTS[num_players],
        actions=ACTIONS,
        colours=COLOURS,
        options={
            "num_players": num_players,
            "tile_values": tile_values,
            "two_player_rule": two_player_rule,
            "max_turns": max_turns,
        },
        fields={
            "tile_values": np.array([[value_code(value) for value in values] for values in tile_values], np.int8),
            "half_of_rival": two_player_rule == "half_of_rival",
            "max_turns": max_turns,
        },
        rules=Rules(
            deal=rules.deal,
            legal=rules.legal,
            apply=rules.apply,
            is_over=rules.is_over,
            score=rules.score,
            payoff=rules.payoff,
            encode=encode,
            imagine=imagine,
        ),
        to_position=to_position,
        from_position_into=from_position_into,
        heuristic=heuristic,
        colour_classes=tuple(colour // COLOURS_PER_KIND for colour in range(len(COLOURS))),
    )
