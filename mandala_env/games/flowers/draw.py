"""A position of Flowers as text, as one seat or as everybody's eye sees it."""

from typing import Any

from mandala_env.core.game import Game
from mandala_env.core.piles import size
from mandala_env.games.flowers.destruction import stack_size
from mandala_env.games.flowers.position import flowers, singles, tile
from mandala_env.games.flowers.state import COLOURS, KINDS, NOBODY, NUM_MANDALAS, OVER, PHASES, PICK


def cards(pile: Any) -> str:
    """A pile in words, such as "2 red, 1 green"."""
    return ", ".join(f"{count} {colour}" for colour, count in zip(COLOURS, pile, strict=True) if count) or "-"


def draw(game: Game, state: Any, viewer: int | None = None) -> str:
    """The table, then the players from the viewer on; viewer None shows all hands."""
    order = [((viewer or 0) + turn) % game.num_players for turn in range(game.num_players)]
    lines = [title(game, state), ""]
    for mandala in range(NUM_MANDALAS):
        lines += mandala_lines(state, mandala, order)
    for player in order:
        lines += seat_lines(state, player, viewer)
    lines += [
        f"  deck {size(state.deck)}, discard {size(state.discard)}: {cards(state.discard)}",
        f"  tiles in the stacks: {stack_size(state, 0)} dark, {stack_size(state, 1)} light",
    ]
    return "\n".join(lines)


def title(game: Game, state: Any) -> str:
    """Whose turn it is, or how the game ended."""
    if state.phase == OVER:
        points = " - ".join(map(str, game.scores(state)))
        return f"Flowers, over after {state.turn} turns: {points}"
    what = "picks a tile" if state.phase == PICK else "plays"
    final = ", final destructions" if state.final else ""
    return f"Flowers, turn {state.turn + 1}, player {state.player} {what} ({PHASES[state.phase]}){final}"


def mandala_lines(state: Any, mandala: int, order: list[int]) -> list[str]:
    """One mandala: its tiles and every player's cards there."""
    tiles = [tile(state.tiles[mandala], kind) for kind in KINDS]
    words = ", ".join(f"{found[0]} {found[1]}" for found in tiles if found) or "no tiles"
    mark = "  <- being destroyed" if state.picking == mandala else ""
    lines = [f"  mandala {mandala}: {words}{mark}"]
    for player in order:
        up, down = state.face_up[player, mandala], state.face_down[player, mandala]
        if size(up) + size(down) > 0:
            marker = " (claim marker)" if state.markers[mandala] == player != NOBODY else ""
            lines.append(f"    player {player}: face up {cards(up)}; face down {cards(down)}{marker}")
    return lines


def seat_lines(state: Any, player: int, viewer: int | None) -> list[str]:
    """One player's tiles and hand; what the viewer cannot know is only counted."""
    hand, known = state.hands[player], state.known[player]
    if viewer is None or viewer == player:
        words = cards(hand)
    else:
        hidden = size(hand) - size(known)
        words = ", ".join([*([cards(known)] if size(known) else []), f"{hidden} unseen"])
    single = ", ".join(f"{colour} {value}" for colour, value in singles(state.singles[player]).items()) or "-"
    whole = ", ".join(f"{colour} {low}+{high}" for colour, low, high in flowers(state, player)) or "-"
    return [f"  player {player}  flowers {whole}  singles {single}", f"    hand {words}"]
