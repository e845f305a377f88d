"""What tables are drawn of: cards, piles, tiles, labels. Everything becomes lines of SVG on a `Canvas`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape

from mandala_env.pictures.glyphs import CARD_HEIGHT, CARD_WIDTH
from mandala_env.pictures.picture import Pile

INK, SOFT, PAPER, PANEL, LINE = "#2b2a28", "#6b6760", "#efe9dd", "#fbf8f1", "#cfc6b4"
TO_MOVE, LAST_MOVE, DESTROYED = "#d28a00", "#1769aa", "#b3261e"
BADGE = 0.19  # radius of a count, of a card's height
FAN = 0.3  # how far cards of a colour lie apart, of a card's width
GAP = 0.22  # between the cards of two colours


class Canvas:
    """Collects shapes; coordinates are the units of the drawing, `x` and `y` the upper left corner unless said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __str__(self) -> str:
        return "\n".join(self.lines)

    @contextmanager
    def part(self, name: str | None, title: str = "") -> Iterator[None]:
        """A group of shapes; a name makes it a part of the drawing that can be pointed at (`data-part`)."""
        data = f' data-part="{escape(name)}"' if name else ""
        self.lines.append(f"<g{data}>" + (f"<title>{escape(title)}</title>" if title else ""))
        yield
        self.lines.append("</g>")

    def rect(
        self, x: float, y: float, width: float, height: float, fill: str = PANEL, *, edge: str = LINE,
        thick: float = 1, dash: str = "", radius: float = 8,
    ) -> None:  # fmt: skip
        """A rectangle with round corners."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.lines.append(
            f'<rect x="{short(x)}" y="{short(y)}" width="{short(width)}" height="{short(height)}" rx="{short(radius)}" '
            f'fill="{fill}" stroke="{edge}" stroke-width="{short(thick)}"{dashes}/>'
        )

    def circle(self, x: float, y: float, radius: float, fill: str, edge: str = "none", thick: float = 1) -> None:
        """A circle around (x, y)."""
        self.lines.append(
            f'<circle cx="{short(x)}" cy="{short(y)}" r="{short(radius)}" fill="{fill}" '
            f'stroke="{edge}" stroke-width="{short(thick)}"/>'
        )

    def text(
        self, x: float, y: float, words: object, size: float = 14, *, fill: str = INK, anchor: str = "start",
        bold: bool = False, room: float | None = None,
    ) -> None:  # fmt: skip
        """A line of text; (x, y) is where its base line begins, or its middle or end, as the anchor says.

        room  a text that may be wider, whatever the font, is squeezed into it
        """
        weight = ' font-weight="700"' if bold else ""
        if room is not None and widest(str(words)) * size > room:
            weight += f' textLength="{short(room)}" lengthAdjust="spacingAndGlyphs"'
        self.lines.append(
            f'<text x="{short(x)}" y="{short(y)}" font-size="{short(size)}" fill="{fill}" '
            f'text-anchor="{anchor}"{weight}>{escape(str(words))}</text>'
        )

    def use(self, name: str, x: float, y: float, scale: float) -> None:
        """A shape of `glyphs.DEFINITIONS`."""
        self.lines.append(f'<use href="#{name}" transform="translate({short(x)} {short(y)}) scale({short(scale)})"/>')

    # --- cards ------------------------------------------------------------------------------------------------

    def card(self, colour: str, x: float, y: float, height: float) -> None:
        """A card that lies open."""
        self.use(f"card-{colour}", x, y, height / CARD_HEIGHT)

    def back(self, x: float, y: float, height: float, colour: str | None = None) -> None:
        """A card that lies face down; everybody may remember its colour."""
        scale = height / CARD_HEIGHT
        self.use("back", x, y, scale)
        if colour is not None:
            self.use(f"spot-{colour}", x + CARD_WIDTH * scale / 2, y + height / 2, scale)

    def badge(self, x: float, y: float, number: object, radius: float) -> None:
        """A number in a circle around (x, y)."""
        self.circle(x, y, radius, "#fff", INK, radius / 8)
        self.text(x, y + radius * 0.5, number, radius * 1.4, anchor="middle", bold=True)

    def fan(
        self, pile: Pile, x: float, y: float, room: float, height: float, *, part: str = "", is_down: bool = False,
        hidden: int = 0,
    ) -> None:  # fmt: skip
        """The cards of a pile side by side, those of a colour fanned out and counted, squeezed into the room.

        part    the word before the colour in the names of parts, "" if its cards are nothing to point at
        hidden  so many more cards whose colour nobody knows lie behind them
        """
        groups: list[tuple[str | None, int]] = [*pile.items(), *([(None, hidden)] if hidden else [])]
        for (colour, count), (start, step) in zip(groups, places([n for _, n in groups], room, height), strict=True):
            title = f"{count} {colour or 'hidden'}" + (", face down" if is_down else "")
            with self.part(f"{part} {colour}" if part and colour else None, title):
                for card in range(count):
                    if colour is None or is_down:
                        self.back(x + start + card * step, y, height, colour)
                    else:
                        self.card(colour, x + start + card * step, y, height)
                if count > 1:
                    radius = height * BADGE
                    right = x + start + (count - 1) * step + height * CARD_WIDTH / CARD_HEIGHT
                    self.badge(right - radius * 0.8, y + height - radius * 0.8, count, radius)


def widest(words: str) -> float:
    """How wide a text may be in the fonts that are likely, in units of its font size."""
    return sum(1.12 if letter in "WMmw@%…" or ord(letter) > 0x2E7F else 0.7 for letter in words)


def places(counts: Sequence[int], room: float, height: float) -> list[tuple[float, float]]:
    """Where the cards of each colour begin and how far its cards lie apart, so that all fit into the room."""
    if not counts:
        return []
    width = height * CARD_WIDTH / CARD_HEIGHT
    inner = [FAN * width * min(1, 4 / count) for count in counts]
    wanted = sum((1 + GAP) * width + (count - 1) * step for count, step in zip(counts, inner, strict=True))
    wanted -= GAP * width
    squeeze = min(1.0, (room - width) / max(1e-9, wanted - width))
    found, start = [], 0.0
    for count, step in zip(counts, inner, strict=True):
        found.append((start, step * squeeze))
        start += ((1 + GAP) * width + (count - 1) * step) * squeeze
    return found


def short(number: float) -> str:
    """A number of a drawing, with two decimals at most."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
