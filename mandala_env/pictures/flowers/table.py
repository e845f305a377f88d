"""The table of Flowers, drawn."""

from typing import Any

from mandala_env.pictures.canvas import DESTROYED, LAST_MOVE, LINE, PANEL, SOFT, TO_MOVE, Canvas
from mandala_env.pictures.glyphs import PAINT
from mandala_env.pictures.picture import Seen, Setting, seats_around, shorten, size

COLOURS = ("grey", "purple", "red", "green", "orange", "yellow")
KINDS = ("dark", "light")


class Table:
    """Where everything is on the table, and how it is drawn there; the viewer sits below."""

    def __init__(self, seen: Seen, setting: Setting) -> None:
        self.seen, self.setting, self.canvas = seen, setting, Canvas()
        self.wide = wide = setting.is_wide
        self.pad = 16 if wide else 8
        self.room = setting.width - 2 * self.pad
        self.title_height = 58 if wide else 50
        self.num_players = len(seen["seats"])
        order = seats_around(self.num_players, seen["viewer"])
        self.order = [*order[1:], order[0]]
        self.tile = 46
        self.row = 46 if wide else 38  # height of a player's row at a mandala
        self.head = self.tile + 16
        self.mandala_height = self.head + self.num_players * self.row + 6
        self.pile_card = 40 if wide else 34

    def draw(self) -> tuple[str, int]:
        """Everything from above to below; returns the drawing and its height."""
        self.title()
        y, gap = float(self.title_height), self.pad / 2
        width = (self.room - 2 * gap) / 3 if self.wide else self.room
        for number in range(len(self.seen["mandalas"])):
            if self.wide:
                self.mandala(number, self.pad + number * (width + gap), y, width)
            else:
                self.mandala(number, self.pad, y + number * (self.mandala_height + gap), width)
        y += (1 if self.wide else 3) * (self.mandala_height + gap)
        self.piles(y)
        y += self.pile_card + 18 + gap
        for player in self.order:
            self.seat(player, y)
            y += self.seat_height(player) + gap
        return str(self.canvas), round(y)

    def hand_height(self, player: int) -> int:
        """How high the cards in a hand are; on a phone those of others are small."""
        return 56 if self.wide or player == self.order[-1] else 38

    def seat_height(self, player: int) -> int:
        """How high a player's panel is."""
        return self.hand_height(player) + (20 if self.wide else self.tile + 24)

    # --- the title --------------------------------------------------------------------------------------------

    def title(self) -> None:
        """Whose turn it is, or the result; below it the last move."""
        large, small = (20, 14) if self.wide else (17, 13)
        self.canvas.text(self.pad, large + 6, self.headline(), large, bold=True, room=self.room)
        if self.setting.last is not None:
            player, text = self.setting.last
            skipped = len(self.seen["skipped"])
            line = f"last move: {self.setting.names[player]}: {text}"
            line += f" ({skipped} skipped)" if skipped else ""
            self.canvas.text(self.pad, large + small + 12, line, small, fill=LAST_MOVE, room=self.room)

    def headline(self) -> str:
        """One line of what goes on."""
        seen, names = self.seen, self.setting.names
        if seen["phase"] == "over":
            points = " : ".join(str(seat["points"]) for seat in seen["seats"])
            return f"Over after {seen['turn']} turns: {points}"
        what = "to pick a tile" if seen["phase"] == "pick" else "to play"
        final = "final destructions" if seen["final"] else f"Turn {seen['turn'] + 1}"
        return f"{final} · {what}: {names[seen['player']]}"

    # --- mandalas ---------------------------------------------------------------------------------------------

    def mandala(self, number: int, x: float, y: float, width: float) -> None:
        """A mandala: its tiles, which colours are still missing, and a row of cards for each player."""
        canvas, seen = self.canvas, self.seen
        is_destroyed = seen["picking"] is not None and seen["picking"]["mandala"] == number
        is_last = self.setting.last is not None and self.setting.last[1].split()[:2] == ["play", str(number)]
        edge = DESTROYED if is_destroyed else LAST_MOVE if is_last else LINE
        with canvas.part(f"mandala {number}" if seen["viewer"] is not None else None, f"mandala {number}"):
            canvas.rect(x, y, width, self.mandala_height, "#f3ecdc", edge=edge,
                        thick=3 if is_destroyed else 2.5 if is_last else 1, radius=12)  # fmt: skip
            canvas.text(x + 10, y + 18, f"mandala {number}", 13, fill=SOFT)
            self.missing(number, x + 16, y + 42)
            self.tiles(number, x + width - 2 * self.tile - 20, y + 8, can_be_picked=is_destroyed)
            for row, player in enumerate(self.order):
                self.cards(number, player, x + 5, y + self.head + row * self.row, width - 10)

    def missing(self, number: int, x: float, y: float) -> None:
        """The six colours as signs; those that the mandala still lacks are pale."""
        mandala = self.seen["mandalas"][number]
        there = {tile[0] for tile in mandala["tiles"].values() if tile}
        there |= {colour for pile in mandala["face_up"] for colour in pile}
        for place, colour in enumerate(COLOURS):
            is_there = colour in there
            with self.canvas.part(None, f"{colour} is {'there' if is_there else 'missing'}"):
                self.canvas.use(f"spot-{colour}" if is_there else f"pale-{colour}", x + 21 * place, y, 0.8)

    def tiles(self, number: int, x: float, y: float, can_be_picked: bool) -> None:
        """The dark and the light half of a flower."""
        has_parts = can_be_picked and self.seen["viewer"] is not None
        for place, kind in enumerate(KINDS):
            tile = self.seen["mandalas"][number]["tiles"][kind]
            left = x + place * (self.tile + 6)
            if tile is None:
                self.canvas.rect(left, y, self.tile, self.tile, "none", dash="4 3")
                continue
            with self.canvas.part(f"tile {kind}" if has_parts else None, f"{kind} tile {tile[0]} {tile[1]}"):
                self.half(tile[0], tile[1], left, y, self.tile)

    def half(self, colour: str, value: object, x: float, y: float, size: float) -> None:
        """Half a flower: a tile of a colour with a value."""
        canvas = self.canvas
        canvas.rect(x, y, size, size, PAINT[colour][0], edge="#26221c", thick=1, radius=size / 5)
        canvas.use(f"sign-{colour}", x + size * 0.26, y + size * 0.26, size / 56)
        canvas.circle(x + size * 0.6, y + size * 0.6, size * 0.31, "#fff")
        canvas.text(x + size * 0.6, y + size * 0.74, value, size * 0.36,
                    anchor="middle", bold=True)  # fmt: skip

    def cards(self, number: int, player: int, x: float, y: float, width: float) -> None:
        """A player's cards at a mandala, face up and then face down, and the claim marker."""
        canvas, mandala = self.canvas, self.seen["mandalas"][number]
        up, down = mandala["face_up"][player], mandala["face_down"][player]
        canvas.rect(x, y, width, self.row - 4, PANEL, radius=6)
        has_marker = mandala["marker"] == player
        if has_marker:
            with canvas.part(None, "claim marker"):
                canvas.use("marker", x + 13, y + (self.row - 4) / 2, 1)
        name = shorten(self.setting.names[player], 11)
        canvas.text(x + 27, y + self.row / 2 + 2, name, 11, fill=SOFT, room=72)
        height = self.row - 8
        left, right = x + 102, x + width - 6
        share = (right - left - 8) * (len(up) + 0.5) / (len(up) + len(down) + 1)
        if up:
            canvas.fan(up, left, y + 2, share if down else right - left, height)
        if down:
            start = left + (share + 8 if up else 0)
            canvas.fan(down, start, y + 2, right - start, height, is_down=True)
        if up or down:
            return
        canvas.text(right, y + self.row / 2 + 2, "-", 12, anchor="end", fill="#b3a994")

    # --- piles and players ------------------------------------------------------------------------------------

    def piles(self, y: float) -> None:
        """Deck, stacks of tiles and discard."""
        canvas, height, pad, seen = self.canvas, self.pile_card, self.pad, self.seen
        with canvas.part(None, f"{seen['deck']} cards in the deck"):
            for layer in range(min(3, seen["deck"])):
                canvas.back(pad + 8 + 2.5 * layer, y + 7 - 1.5 * layer, height)
            canvas.text(pad + height + 6, y + height / 2 + 12, seen["deck"], 16, bold=True)
            canvas.text(pad + height + 6, y + height / 2 - 4, "deck", 12, fill=SOFT)
        x = pad + height + (60 if self.wide else 44)
        canvas.text(x, y + height / 2 - 4, "tiles dark, light" if self.wide else "tiles", 12, fill=SOFT)
        canvas.text(x, y + height / 2 + 12, f"{seen['stacks']['dark']}, {seen['stacks']['light']}", 16, bold=True)
        x += 140 if self.wide else 66
        width = pad + self.room - x
        canvas.rect(x, y, width, height + 16, "#e4dccb")
        canvas.text(x + 10, y + height / 2, "discard", 12, fill=SOFT)
        canvas.text(x + 10, y + height / 2 + 17, size(seen["discard"]), 16, bold=True)
        canvas.fan(seen["discard"], x + 66, y + 8, width - 76, height)

    def seat(self, player: int, y: float) -> None:
        """A panel with name, points, flowers, single tiles and hand."""
        canvas, seat, pad = self.canvas, self.seen["seats"][player], self.pad
        is_to_move = player == self.seen["player"] and self.seen["phase"] != "over"
        canvas.rect(pad, y, self.room, self.seat_height(player), PANEL, edge=TO_MOVE if is_to_move else LINE,
                    thick=3 if is_to_move else 1)  # fmt: skip
        x = pad + 10
        if is_to_move:
            canvas.use("arrow", x + 5, y + 19, 1)
        indent = 18 if is_to_move else 0
        tiles = x + (134 if self.wide else 124)
        name = shorten(self.setting.names[player], 13)
        canvas.text(x + indent, y + 24, name, 15, bold=True, room=tiles - x - indent - 8)
        canvas.text(x, y + 46, f"{seat['points']} points", 14, fill=SOFT)
        self.won_tiles(seat, tiles, y + 10, 350 if self.wide else self.room - 144)
        part = "hand" if player == self.seen["viewer"] else ""
        if self.wide:
            left, top = x + 500, y + 10
        else:
            left, top = x, y + self.tile + 16
        canvas.fan(seat["hand"], left, top, pad + self.room - 10 - left, self.hand_height(player), part=part,
                   hidden=seat["hand_hidden"])  # fmt: skip

    def won_tiles(self, seat: dict[str, Any], x: float, y: float, room: float) -> None:
        """Flowers, two halves close together, and single tiles."""
        flowers, singles = seat["flowers"], list(seat["singles"].items())
        if not flowers and not singles:
            self.canvas.text(x, y + 26, "no tiles yet", 13, fill="#b3a994")
            return
        wanted = (2 * self.tile + 8) * len(flowers) + (self.tile + 6) * len(singles)
        side = self.tile * min(1.0, room / wanted)
        for colour, low, high in flowers:
            with self.canvas.part(None, f"{colour} flower {low} and {high}"):
                self.half(colour, low, x, y, side)
                self.half(colour, high, x + side, y, side)
            x += side * (2 + 8 / self.tile)
        for colour, value in singles:
            with self.canvas.part(None, f"single {colour} tile {value}"):
                self.half(colour, value, x, y, side)
            x += side * (1 + 6 / self.tile)


def draw(seen: Seen, setting: Setting) -> tuple[str, int]:
    """The inside of an SVG, and its height."""
    return Table(seen, setting).draw()
