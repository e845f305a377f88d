"""A position of Mandala as text."""

from typing import Any

from mandala_env.pictures.picture import Seen, size, words


def text(seen: Seen) -> str:
    """The table with the viewer's side below; who sees everything has player 0's side below."""
    me = seen["viewer"] or 0
    rival = 1 - me
    lines = [title(seen), "", *seat_lines(seen["seats"][rival], rival)]
    for number, mandala in enumerate(seen["mandalas"]):
        is_destroyed = seen["claiming"] is not None and seen["claiming"]["mandala"] == number
        lines += [
            f"  mandala {number}" + ("  <- being destroyed" if is_destroyed else ""),
            f"    field of player {rival}:  {words(mandala['fields'][rival])}",
            f"    mountain:           {words(mandala['mountain'])}",
            f"    field of player {me}:  {words(mandala['fields'][me])}",
        ]
    discard = seen["discard"]
    return "\n".join(
        [
            *lines,
            *seat_lines(seen["seats"][me], me),
            f"  deck {seen['deck']}, discard {size(discard)}: {words(discard)}",
        ]
    )


def title(seen: Seen) -> str:
    """Whose turn it is, or how the game ended."""
    if seen["phase"] == "over":
        points = " - ".join(str(seat["points"]) for seat in seen["seats"])
        return f"Mandala, over after {seen['turn']} turns: {points}"
    what = "claims" if seen["phase"] == "claim" else "plays"
    run_out = f", the deck ran out {seen['exhaustions']} times" if seen["exhaustions"] else ""
    return f"Mandala, turn {seen['turn'] + 1}, player {seen['player']} {what} ({seen['phase']}){run_out}"


def seat_lines(seat: dict[str, Any], player: int) -> list[str]:
    """One player's river, cup and hand; what the viewer does not know is only counted."""
    spaces = (seat["river"] + ["."] * 6)[:6]
    numbered = "  ".join(f"{space}:{colour}" for space, colour in enumerate(spaces, start=1))
    cup, hand = words(seat["cup"]), words(seat["hand"])
    if seat["cup_hidden"]:
        cup = f"{cup}, {seat['cup_hidden']} face down"
    if seat["hand_hidden"]:
        hand = f"{seat['hand_hidden']} cards"
    return [f"  player {player}  river {numbered}", f"    cup {cup}", f"    hand {hand}"]
