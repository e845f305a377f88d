"""The table of Mandala, drawn."""

from typing import Any

from mandala_env.pictures.canvas import DESTROYED, INK, LAST_MOVE, LINE, PANEL, SOFT, TO_MOVE, Canvas
from mandala_env.pictures.glyphs import CARD_HEIGHT, CARD_WIDTH
from mandala_env.pictures.picture import Seen, Setting, seats_around, shorten, size

SPACES = 6  # of a river
MOUNTAIN_PAINT, FIELD_PAINT = "#e9dfc8", "#fbf8f1"


class Table:
    """Where everything is on the table, and how it is drawn there; the viewer sits below."""

    def __init__(self, seen: Seen, setting: Setting) -> None:
        self.seen, self.setting, self.canvas = seen, setting, Canvas()
        self.wide = wide = setting.is_wide
        self.pad = 16 if wide else 8
        self.room = setting.width - 2 * self.pad
        self.title_height = 58 if wide else 50
        self.card = 56 if wide else 40  # height of cards on the table
        self.hand_card = 64 if wide else 58
        self.seat_height = self.card + 46 + self.hand_card
        self.strip = self.card + 20  # height of a mountain or a field
        self.mandala_height = 3 * self.strip + 26
        self.pile_card = 40 if wide else 34

    def draw(self) -> tuple[str, int]:
        """Everything from above to below; returns the drawing and its height."""
        me = self.seen["viewer"] or 0
        below, above = seats_around(2, me)
        y = float(self.title_height)
        self.title()
        self.seat(above, y)
        y += self.seat_height + self.pad / 2
        gap = self.pad / 2
        width = (self.room - gap) / 2
        for number in (0, 1):
            self.mandala(number, self.pad + number * (width + gap), y, width)
        y += self.mandala_height + self.pad / 2
        self.piles(y)
        y += self.pile_card + 18 + self.pad / 2
        self.seat(below, y)
        return str(self.canvas), round(y + self.seat_height + self.pad / 2)

    # --- the title --------------------------------------------------------------------------------------------

    def title(self) -> None:
        """Whose turn it is, or the result; below it the last move."""
        large, small = (20, 14) if self.wide else (17, 13)
        self.canvas.text(self.pad, large + 6, self.headline(), large, bold=True, room=self.room)
        is_last_round = self.seen["exhaustions"] and self.seen["phase"] != "over"
        if self.setting.last is not None:
            player, text = self.setting.last
            line = f"last move: {self.setting.names[player]}: {text}"
            room = self.room - (0 if not is_last_round else 400 if self.wide else 90)
            self.canvas.text(self.pad, large + small + 12, line, small, fill=LAST_MOVE, room=room)
        if is_last_round:
            words = "the deck ran out: the next destruction is the last" if self.wide else "last round"
            self.canvas.text(self.setting.width - self.pad, large + small + 12, words, small, fill=DESTROYED,
                             anchor="end", room=390 if self.wide else 84)  # fmt: skip

    def headline(self) -> str:
        """One line of what goes on."""
        seen, names = self.seen, self.setting.names
        if seen["phase"] == "over":
            points = [seat["points"] for seat in seen["seats"]]
            return f"Over after {seen['turn']} turns: {points[0]} : {points[1]}"
        what = "to claim" if seen["phase"] == "claim" else "to play"
        return f"Turn {seen['turn'] + 1} · {what}: {names[seen['player']]}"

    # --- a player's side --------------------------------------------------------------------------------------

    def seat(self, player: int, y: float) -> None:
        """A panel with name, points, river, cup and hand."""
        canvas, seat, pad = self.canvas, self.seen["seats"][player], self.pad
        is_to_move = player == self.seen["player"] and self.seen["phase"] != "over"
        canvas.rect(pad, y, self.room, self.seat_height, PANEL, edge=TO_MOVE if is_to_move else LINE,
                    thick=3 if is_to_move else 1)  # fmt: skip
        x = pad + 10
        if is_to_move:
            canvas.use("arrow", x + 5, y + 15, 1)
        indent, points_room = 18 if is_to_move else 0, 240
        canvas.text(x + indent, y + 20, self.setting.names[player], 15, bold=True,
                    room=self.room - 30 - indent - points_room)  # fmt: skip
        points = f"{seat['points']} points" if seat["points"] is not None else self.points_at_least(seat)
        canvas.text(pad + self.room - 10, y + 20, points, 14, anchor="end", fill=SOFT, room=points_room)
        top = y + 32
        river_width = 6 * self.slot_width() - 5
        self.river(seat["river"], x, top)
        cup_x = x + river_width + (34 if self.wide else 12)
        self.cup(seat, cup_x, top, pad + self.room - 10 - cup_x)
        is_mine = player == self.seen["viewer"]
        # A lone hand is in the middle, where a thumb and an eye find it.
        wanted = min(self.room - 20, 8.6 * self.hand_card * CARD_WIDTH / CARD_HEIGHT)
        hand_y = top + self.card + 8
        canvas.fan(seat["hand"], x, hand_y, wanted, self.hand_card, part="hand" if is_mine else "",
                   hidden=seat["hand_hidden"])  # fmt: skip

    def points_at_least(self, seat: dict[str, Any]) -> str:
        """What a cup with hidden cards is worth at least."""
        river = seat["river"]
        known = sum(count * (river.index(colour) + 1) for colour, count in seat["cup"].items() if colour in river)
        return f"{known} points and {seat['cup_hidden']} hidden cards"

    def slot_width(self) -> float:
        """From one river space to the next."""
        return self.card * CARD_WIDTH / CARD_HEIGHT + 5

    def river(self, river: list[str], x: float, y: float) -> None:
        """Six spaces with what a cup card of their colour is worth."""
        canvas, width = self.canvas, self.card * CARD_WIDTH / CARD_HEIGHT
        for space in range(SPACES):
            left = x + space * self.slot_width()
            if space < len(river):
                with canvas.part(None, f"river space {space + 1}: {river[space]}"):
                    canvas.card(river[space], left, y, self.card)
                    canvas.badge(left + width - 8, y + 9, space + 1, 9 if self.wide else 8)
            else:
                canvas.rect(left, y, width, self.card, "none", dash="4 3", radius=6)
                canvas.text(left + width / 2, y + self.card / 2 + 6, space + 1, 17, anchor="middle", fill="#b3a994")

    def cup(self, seat: dict[str, Any], x: float, y: float, room: float) -> None:
        """The cards that will score, drawn in the outline of a cup."""
        height = self.card
        self.canvas.lines.append(
            f'<path d="M{x:g} {y:g}V{y + height - 12:g}q0 12 12 12H{x + room - 12:g}q12 0 12 -12V{y:g}" '
            f'fill="#f2ecdd" stroke="{LINE}" stroke-width="2"/>'
        )
        if seat["cup"] or seat["cup_hidden"]:
            self.canvas.fan(seat["cup"], x + 9, y + 2, room - 18, height - 8, hidden=seat["cup_hidden"])
        else:
            self.canvas.text(x + room / 2, y + height / 2 + 5, "cup", 13, anchor="middle", fill="#b3a994")

    # --- the middle -------------------------------------------------------------------------------------------

    def mandala(self, number: int, x: float, y: float, width: float) -> None:
        """A mandala: the far field, the mountain, the near field."""
        canvas, claiming = self.canvas, self.seen["claiming"]
        is_destroyed = claiming is not None and claiming["mandala"] == number
        canvas.rect(x, y, width, self.mandala_height, "#f3ecdc", edge=DESTROYED if is_destroyed else LINE,
                    thick=3 if is_destroyed else 1, radius=12)  # fmt: skip
        words = f"mandala {number}"
        if is_destroyed:
            completer = self.setting.names[claiming["completer"]]
            words = f"{words}, completed by {completer}" if self.wide else f"completed by {shorten(completer, 13)}"
        canvas.text(x + 10, y + 17, words, 13, fill=DESTROYED if is_destroyed else SOFT, bold=is_destroyed,
                    room=width - 20)  # fmt: skip
        below, above = seats_around(2, self.seen["viewer"])
        areas = [("field", above), ("mountain", None), ("field", below)]
        for row, (kind, player) in enumerate(areas):
            top = y + 24 + row * self.strip
            self.area(number, kind, player, x + 5, top, width - 10, is_destroyed)

    def area(
        self, number: int, kind: str, player: int | None, x: float, y: float, width: float, is_destroyed: bool
    ) -> None:
        """A mountain or a field."""
        canvas, mandala = self.canvas, self.seen["mandalas"][number]
        is_mine = player is None or player == self.seen["viewer"]
        name = f"{kind} {number}"
        has_part = is_mine and self.seen["viewer"] is not None
        whose = "" if player is None else f" of {self.setting.names[player]}"
        with canvas.part(name if has_part else None, f"{name}{whose}"):
            is_last = self.is_last_move(number, kind, player)
            paint = MOUNTAIN_PAINT if kind == "mountain" else FIELD_PAINT
            canvas.rect(x, y, width, self.strip - 4, paint, edge=LAST_MOVE if is_last else LINE,
                        thick=2.5 if is_last else 1)  # fmt: skip
            pile = mandala["mountain"] if player is None else mandala["fields"][player]
            if not pile:
                canvas.text(x + width / 2, y + self.strip / 2 + 2, kind, 13, anchor="middle", fill="#b3a994")
            part = "claim" if is_destroyed and kind == "mountain" and self.seen["viewer"] is not None else ""
            canvas.fan(pile, x + 8, y + (self.strip - 4 - self.card) / 2, width - 16, self.card, part=part)

    def is_last_move(self, number: int, kind: str, player: int | None) -> bool:
        """Was the last move made here?"""
        if self.setting.last is None:
            return False
        mover, text = self.setting.last
        move = text.split()
        if kind == "mountain":
            return move[:2] == ["build", str(number)]
        return move[:2] == ["grow", str(number)] and mover == player

    def piles(self, y: float) -> None:
        """Deck and discard."""
        canvas, height, pad = self.canvas, self.pile_card, self.pad
        with canvas.part(None, f"{self.seen['deck']} cards in the deck"):
            for layer in range(min(3, self.seen["deck"])):
                canvas.back(pad + 8 + 2.5 * layer, y + 7 - 1.5 * layer, height)
            canvas.text(pad + height + 6, y + height / 2 + 12, self.seen["deck"], 16, bold=True)
            canvas.text(pad + height + 6, y + height / 2 - 4, "deck", 12, fill=SOFT)
        x = pad + height + (60 if self.wide else 46)
        is_last = self.setting.last is not None and self.setting.last[1].startswith("discard")
        width = pad + self.room - x
        discard = self.seen["discard"]
        with canvas.part("discard" if self.seen["viewer"] is not None else None, "discard"):
            canvas.rect(x, y, width, height + 16, "#e4dccb", edge=LAST_MOVE if is_last else LINE,
                        thick=2.5 if is_last else 1)  # fmt: skip
            canvas.text(x + 10, y + height / 2, "discard", 12, fill=SOFT)
            canvas.text(x + 10, y + height / 2 + 17, size(discard), 16, bold=True, fill=INK)
            canvas.fan(discard, x + 66, y + 8, width - 76, height)


def draw(seen: Seen, setting: Setting) -> tuple[str, int]:
    """The inside of an SVG, and its height."""
    return Table(seen, setting).draw()
