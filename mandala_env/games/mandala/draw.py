"""A position of Mandala as text, as one seat or as everybody's eye sees it."""

from typing import Any

from mandala_env.core.game import Game
from mandala_env.core.piles import size
from mandala_env.games.mandala.position import river
from mandala_env.games.mandala.state import CLAIM, COLOURS, OVER, PHASES


def cards(pile: Any) -> str:
    """A pile in words, such as "2 red, 1 black"."""
    return ", ".join(f"{count} {colour}" for colour, count in zip(COLOURS, pile, strict=True) if count) or "-"


def draw(game: Game, state: Any, viewer: int | None = None) -> str:
    """The table with the viewer's side below; viewer None shows all hands from player 0's side."""
    me = 0 if viewer is None else viewer
    rival = 1 - me
    lines = [title(game, state), "", seat(state, rival, viewer)]
    for mandala in (0, 1):
        mark = "  <- being destroyed" if state.claiming == mandala else ""
        lines += [
            f"  mandala {mandala}{mark}",
            f"    field of player {rival}:  {cards(state.fields[mandala, rival])}",
            f"    mountain:           {cards(state.mountains[mandala])}",
            f"    field of player {me}:  {cards(state.fields[mandala, me])}",
        ]
    lines += [
        seat(state, me, viewer),
        f"  deck {size(state.deck)}, discard {size(state.discard)}: {cards(state.discard)}",
    ]
    return "\n".join(lines)


def title(game: Game, state: Any) -> str:
    """Whose turn it is, or how the game ended."""
    if state.phase == OVER:
        points = game.scores(state)
        return f"Mandala, over after {state.turn} turns: {points[0]} - {points[1]}"
    what = "claims" if state.phase == CLAIM else "plays"
    run_out = f", the deck ran out {state.exhaustions} times" if state.exhaustions else ""
    return f"Mandala, turn {state.turn + 1}, player {state.player} {what} ({PHASES[state.phase]}){run_out}"


def seat(state: Any, player: int, viewer: int | None) -> str:
    """One player's river, cup and hand; what the viewer cannot know is only counted."""
    spaces = river(state.river_spaces[player]) + ["."] * 6
    numbered = "  ".join(f"{space}:{colour}" for space, colour in enumerate(spaces[:6], start=1))
    is_open = viewer is None or viewer == player
    if is_open:
        cup, hand = cards(state.cups[player]), cards(state.hands[player])
    else:
        hidden = size(state.starting_cups[player])
        claimed = state.cups[player] - state.starting_cups[player]
        cup, hand = f"{cards(claimed)}, {hidden} face down", f"{size(state.hands[player])} cards"
    return f"  player {player}  river {numbered}\n    cup {cup}\n    hand {hand}"
