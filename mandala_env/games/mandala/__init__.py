"""Mandala, the game for two players."""

from typing import Any

from mandala_env.core.dispatch import Rules
from mandala_env.core.game import Game
from mandala_env.games.mandala import rules
from mandala_env.games.mandala.actions import ACTIONS
from mandala_env.games.mandala.heuristic import heuristic
from mandala_env.games.mandala.observation import LAYOUT, encode, imagine
from mandala_env.games.mandala.position import from_position_into, to_position
from mandala_env.games.mandala.state import AXES, COLOURS, NUM_PLAYERS, STATE
from mandala_env.words import shown

SECOND_EXHAUSTION = ("reshuffle", "end")
MOST_TURNS = 9999
VARIANTS: list[dict[str, Any]] = [{}]  # see `registry.list_variants`


def make(second_exhaustion: str = "reshuffle", max_turns: int = 400) -> Game:
    """Mandala with its readings of the rules.

    second_exhaustion  "reshuffle" (the rulebook's letter): the deck is rebuilt whenever it runs out;
                       "end": when it runs out a second time, the turn is finished and the game ends
    max_turns          1..9999: a game that is still running after so many turns is ended and scored as it stands
    """
    if second_exhaustion not in SECOND_EXHAUSTION:
        raise ValueError(f"second_exhaustion must be one of {SECOND_EXHAUSTION}, not {shown(second_exhaustion)}")
    if not isinstance(max_turns, int) or isinstance(max_turns, bool) or not 1 <= max_turns <= MOST_TURNS:
        raise ValueError(f"max_turns must be a whole number from 1 to {MOST_TURNS}, not {shown(max_turns)}")
    return Game(
        id="mandala_v0",
        num_players=NUM_PLAYERS,
        dtype=STATE,
        axes=AXES,
        layout=LAYOUT,
        actions=ACTIONS,
        colours=COLOURS,
        options={"second_exhaustion": second_exhaustion, "max_turns": max_turns},
        fields={"second_exhaustion_ends": second_exhaustion == "end", "max_turns": max_turns},
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
    )
