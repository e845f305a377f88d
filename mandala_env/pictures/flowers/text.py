"""A position of Flowers as text."""

from typing import Any

from mandala_env.pictures.picture import Seen, seats_around, size, words


def text(seen: Seen) -> str:
    """The table, then the players from the viewer on."""
    order = seats_around(len(seen["seats"]), seen["viewer"])
    lines = [title(seen), ""]
    for number in range(len(seen["mandalas"])):
        lines += mandala_lines(seen, number, order)
    for player in order:
        lines += seat_lines(seen["seats"][player], player)
    discard, stacks = seen["discard"], seen["stacks"]
    return "\n".join(
        [
            *lines,
            f"  deck {seen['deck']}, discard {size(discard)}: {words(discard)}",
            f"  tiles in the stacks: {stacks['dark']} dark, {stacks['light']} light",
        ]
    )


def title(seen: Seen) -> str:
    """Whose turn it is, or how the game ended."""
    if seen["phase"] == "over":
        points = " - ".join(str(seat["points"]) for seat in seen["seats"])
        return f"Flowers, over after {seen['turn']} turns: {points}"
    what = "picks a tile" if seen["phase"] == "pick" else "plays"
    final = ", final destructions" if seen["final"] else ""
    return f"Flowers, turn {seen['turn'] + 1}, player {seen['player']} {what} ({seen['phase']}){final}"


def mandala_lines(seen: Seen, number: int, order: list[int]) -> list[str]:
    """One mandala: its tiles and every player's cards there."""
    mandala, picking = seen["mandalas"][number], seen["picking"]
    tiles = ", ".join(f"{tile[0]} {tile[1]}" for tile in mandala["tiles"].values() if tile) or "no tiles"
    is_destroyed = picking is not None and picking["mandala"] == number
    lines = [f"  mandala {number}: {tiles}" + ("  <- being destroyed" if is_destroyed else "")]
    for player in order:
        up, down = mandala["face_up"][player], mandala["face_down"][player]
        if up or down:
            marker = " (claim marker)" if mandala["marker"] == player else ""
            lines.append(f"    player {player}: face up {words(up)}; face down {words(down)}{marker}")
    return lines


def seat_lines(seat: dict[str, Any], player: int) -> list[str]:
    """One player's tiles and hand; what the viewer does not know is only counted."""
    hand = words(seat["hand"])
    if seat["hand_hidden"]:
        hand = ", ".join([*([hand] if seat["hand"] else []), f"{seat['hand_hidden']} unseen"])
    single = ", ".join(f"{colour} {value}" for colour, value in seat["singles"].items()) or "-"
    whole = ", ".join(f"{colour} {low}+{high}" for colour, low, high in seat["flowers"]) or "-"
    return [f"  player {player}  flowers {whole}  singles {single}", f"    hand {hand}"]
