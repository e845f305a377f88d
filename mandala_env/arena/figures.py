"""Figures as SVG text, for pages that load nothing: lines with bands, bars with intervals, heat maps, shares.

The colours are those of Okabe and Ito, which colour-blind people can tell apart; lines differ in their dashes, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

import numpy as np

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "12 4", "1 2")
LOW, MIDDLE, HIGH = (213, 94, 0), (247, 247, 247), (0, 114, 178)  # of heat maps
WIDTH = 860
LETTER = 7.2  # about how wide a letter is
ROW = 30


@dataclass(frozen=True)
class Line:
    """A curve; its band goes from low to high."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """A picture; its title is read out to who cannot see it."""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px" role="img" '
        f'aria-label="{escape(title)}">\n' + "\n".join(parts) + "\n</svg>"
    )


def text(x: float, y: float, words: str, anchor: str = "start", fill: str = "#222") -> str:
    """Words at a place; y is their middle."""
    return f'<text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="{anchor}" fill="{fill}">{escape(words)}</text>'


def stroke(x: float, y: float, to_x: float, to_y: float, colour: str = "#ddd", width: float = 1) -> str:
    """A straight line."""
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def box(x: float, y: float, width: float, height: float, colour: str, title: str = "") -> str:
    """A filled rectangle; its title shows under the mouse."""
    tip = f"<title>{escape(title)}</title>" if title else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.2f}" height="{height:.1f}" fill="{colour}">{tip}</rect>'


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high, at most so many."""
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10 ** np.floor(np.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * (1 - 1e-9))
    first = np.ceil(low / step - 1e-9)
    return [float(step * number) + 0.0 for number in np.arange(first, np.floor(high / step + 1e-9) + 1)]  # no -0


def number(value: float, is_share: bool = False) -> str:
    """A number as an axis shows it: 2.5M, 40k, 0.03, 75%."""
    if is_share:
        return f"{100 * value:.4g}%"
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (limit if limit > 1e4 else 1e3):.4g}{letter}"
    if 0 < abs(value) < 1e-3:
        digits, power = f"{value:.2e}".split("e")
        return f"{float(digits):g}e{int(power)}"
    return f"{value:.4g}"


def line_chart(
    title: str,
    lines: Sequence[Line],
    x_name: str,
    x_range: tuple[float, float],
    y_range: tuple[float, float] | None = None,
    is_share: bool = False,
    width: int = WIDTH,
    height: int = 300,
) -> str:
    """Curves over a common axis; points that are not finite leave a gap."""
    left, right, top, bottom = 58, 16, 12 + 22 * (1 + legend_rows(lines, width)), 44
    finite = [v for line in lines for part in (line.y, line.low, line.high) if part is not None for v in part]
    finite = [value for value in finite if np.isfinite(value)]
    if not finite:
        return svg(width, 60, title, [text(10, 20, title), text(10, 44, "nothing was recorded", fill="#666")])
    low, high = y_range or widened(min(finite), max(finite))
    first, last = widened(*x_range, 0)

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            left + (x - first) / (last - first) * (width - left - right),
            height - bottom - (y - low) / (high - low) * (height - top - bottom),
        )

    parts = [f'<g font-weight="600">{text(left, 14, title)}</g>', *legend(lines, left, 36, width)]
    for tick in ticks(low, high):
        _, y = place(first, tick)
        parts += [stroke(left, y, width - right, y), text(left - 8, y, number(tick, is_share), "end")]
    for tick in ticks(first, last):
        x, y = place(tick, low)
        parts += [stroke(x, y, x, y + 5, "#888"), text(x, y + 16, number(tick), "middle")]
    parts.append(text((left + width - right) / 2, height - 10, x_name, "middle", "#555"))
    for index, line in enumerate(lines):
        parts += curve(line, COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)], place)
    return svg(width, height, title, parts)


def widened(low: float, high: float, margin: float = 0.06) -> tuple[float, float]:
    """A range with a margin, never empty."""
    reach = margin * (high - low) or (1 if high == low else 0) * (abs(high) / 2 or 1)
    return low - reach, high + reach


def curve(line: Line, colour: str, dash: str, place: Callable[[float, float], tuple[float, float]]) -> list[str]:
    """A line's band, its stretches without gaps, and a dot where a stretch is one point."""
    parts = []
    rows = range(len(line.x))
    for is_there, stretch in groupby(rows, key=lambda row: bool(np.isfinite(line.y[row]))):
        if not is_there:
            continue
        found = list(stretch)
        at = [place(line.x[row], line.y[row]) for row in found]
        if line.low is not None and line.high is not None:
            edge = [place(line.x[row], line.high[row]) for row in found]
            edge += [place(line.x[row], line.low[row]) for row in found[::-1]]
            parts.append(f'<polygon points="{points(edge)}" fill="{colour}" fill-opacity="0.18"/>')
        style = f'fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"'
        parts.append(f'<polyline points="{points(at)}" {style}/>')
        if len(found) == 1 or line.low is not None:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"/>' for x, y in at]
    return parts


def points(places: Sequence[tuple[float, float]]) -> str:
    """Places as SVG writes them."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def legend_places(names: Sequence[str], width: int) -> list[tuple[float, int]]:
    """Where in a legend each name begins: (x, row)."""
    x, row, places = 0.0, 0, []
    for name in names:
        wide = 44 + LETTER * len(name)
        if x and x + wide > width - 80:
            x, row = 0.0, row + 1
        places.append((x, row))
        x += wide
    return places


def legend_rows(lines: Sequence[Line], width: int) -> int:
    """How many rows the legend takes; one curve needs none."""
    return legend_places([line.name for line in lines], width)[-1][1] + 1 if len(lines) > 1 else 0


def legend(lines: Sequence[Line], left: float, top: float, width: int) -> list[str]:
    """The names of the curves beside a piece of each."""
    if len(lines) < 2:
        return []
    parts = []
    for index, (x, row) in enumerate(legend_places([line.name for line in lines], width)):
        y, colour, dash = top + 22 * row, COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        parts.append(
            f'<line x1="{left + x:.1f}" y1="{y:.1f}" x2="{left + x + 24:.1f}" y2="{y:.1f}" stroke="{colour}" '
            f'stroke-width="3" stroke-dasharray="{dash}"/>'
        )
        parts.append(text(left + x + 30, y, lines[index].name))
    return parts


def interval_bars(
    title: str, names: Sequence[str], values: Sequence[float], intervals: Sequence[tuple[float, float]], unit: str
) -> str:
    """One bar a row from 0 to its value, with a whisker over its interval."""
    left, right, top = 16 + LETTER * max(map(len, names)), 70, 34
    height = top + ROW * len(names) + 44
    low = min(0.0, *(low for low, _ in intervals))
    low, high = widened(low, max(0.0, *(high for _, high in intervals)), 0.03)
    low = 0.0 if low > -0.05 * high else low

    def place(value: float) -> float:
        return left + (value - low) / (high - low) * (WIDTH - left - right)

    parts = [f'<g font-weight="600">{text(8, 14, title)}</g>']
    for tick in ticks(low, high, 8):
        parts += [
            stroke(place(tick), top, place(tick), height - 44),
            text(place(tick), height - 30, number(tick), "middle"),
        ]
    parts.append(text((left + WIDTH - right) / 2, height - 10, unit, "middle", "#555"))
    for row, (name, value, (lowest, highest)) in enumerate(zip(names, values, intervals, strict=True)):
        y = top + ROW * (row + 0.5)
        start, end = sorted((place(0), place(value)))
        parts += [
            text(left - 8, y, name, "end"),
            box(start, y - 8, end - start, 16, COLOURS[5], f"{name}: {value:.1f} ({lowest:.1f} to {highest:.1f})"),
            stroke(place(lowest), y, place(highest), y, "#222", 2),
            *(stroke(place(x), y - 5, place(x), y + 5, "#222", 2) for x in (lowest, highest)),
            text(WIDTH - 8, y, f"{value:.0f}", "end"),
        ]
    parts.append(stroke(place(0), top, place(0), height - 44, "#222"))
    return svg(WIDTH, height, title, parts)


def shade(value: float, middle: float) -> str:
    """The colour of a share: orange below the middle, white there, blue above."""
    part = (value - middle) / (1 - middle) if value >= middle else (middle - value) / middle
    towards = HIGH if value >= middle else LOW
    return "#" + "".join(f"{round(m + part * (t - m)):02x}" for m, t in zip(MIDDLE, towards, strict=True))


def heat_map(
    title: str, names: Sequence[str], heads: Sequence[str], shares: Sequence[Sequence[float | None]], middle: float
) -> str:
    """A share in each cell, written and coloured; None leaves it empty."""
    left, top, wide = 16 + LETTER * max(map(len, names)), 58, 72
    parts = [f'<g font-weight="600">{text(8, 14, title)}</g>']
    for column, head in enumerate(heads):
        parts.append(text(left + wide * (column + 0.5), top - 14, head, "middle"))
    for row, (name, cells) in enumerate(zip(names, shares, strict=True)):
        y = top + ROW * row
        parts.append(text(left - 8, y + ROW / 2, name, "end"))
        for column, share in enumerate(cells):
            x = left + wide * column
            if share is None:
                parts.append(box(x, y, wide - 1, ROW - 1, "#eee"))
                continue
            is_dark = share - middle > 0.8 * (1 - middle)
            parts.append(box(x, y, wide - 1, ROW - 1, shade(share, middle), f"{name} against {heads[column]}"))
            parts.append(text(x + wide / 2, y + ROW / 2, f"{share:.1%}", "middle", "#fff" if is_dark else "#222"))
    return svg(max(320, left + wide * len(heads) + 8), top + ROW * len(names) + 8, title, parts)


def history_map(title: str, names: Sequence[str], shares: np.ndarray, x: Sequence[float], x_name: str) -> str:
    """Shares over time, one row for each name: colours only, with a scale; shares (K, T) may have gaps."""
    left, right, top, row_height = 16 + LETTER * max(map(len, names)), 24, 56, 20
    height = top + row_height * len(names) + 44
    wide = (WIDTH - left - right) / len(x)
    parts = [f'<g font-weight="600">{text(8, 14, title)}</g>']
    for index in range(50):
        parts.append(box(left + 4 * index, 28, 4.2, 12, shade(index / 49, 0.5)))
    parts += [text(left - 6, 34, "0%", "end"), text(left + 208, 34, "100%   (white: 50%, grey: not met)")]
    for row, name in enumerate(names):
        y = top + row_height * row
        parts += [
            text(left - 8, y + row_height / 2, name, "end"),
            box(left, y, WIDTH - left - right, row_height - 2, "#ddd"),
        ]
        for column in np.flatnonzero(np.isfinite(shares[row])).tolist():
            share = float(shares[row, column])
            words = f"{name}: {share:.1%} at {number(x[column])}"
            parts.append(box(left + wide * column, y, wide + 0.3, row_height - 2, shade(share, 0.5), words))
    first, last = widened(min(x), max(x), 0)
    for tick in ticks(first, last, 8):
        at = left + (tick - first) / (last - first) * (WIDTH - left - right - wide) + wide / 2
        parts += [stroke(at, height - 44, at, height - 39, "#888"), text(at, height - 28, number(tick), "middle")]
    parts.append(text((left + WIDTH - right) / 2, height - 8, x_name, "middle", "#555"))
    return svg(WIDTH, height, title, parts)


def stacked_columns(title: str, heads: Sequence[str], names: Sequence[str], shares: np.ndarray, x_name: str) -> str:
    """Columns whose parts sum to 1, shares (len(heads), len(names)); large parts carry their number."""
    left, top, tall, right = 58, 34, 240, 24 + 20 + LETTER * max(map(len, names))
    wide = (WIDTH - left - right) / len(heads)
    parts = [f'<g font-weight="600">{text(left, 14, title)}</g>']
    for tick in ticks(0, 1, 5):
        parts += [text(left - 8, top + tall * (1 - tick), number(tick, True), "end")]
    for column, head in enumerate(heads):
        base = top + float(tall)
        for index, name in enumerate(names):
            share = float(shares[column, index])
            base -= tall * share
            x, colour = left + wide * column, COLOURS[index % len(COLOURS)]
            parts.append(box(x + 1, base, wide - 2, tall * share, colour, f"{name}, {head}: {share:.1%}"))
            if share > 0.08:
                fill = "#fff" if colour in (COLOURS[0], COLOURS[1], COLOURS[2], COLOURS[6]) else "#222"
                parts.append(text(x + wide / 2, base + tall * share / 2, f"{100 * share:.0f}", "middle", fill))
        parts.append(text(left + wide * (column + 0.5), top + tall + 14, head, "middle"))
    for index, name in enumerate(names):
        y = top + tall - 10 - 24 * index
        parts += [
            box(WIDTH - right + 12, y - 8, 16, 16, COLOURS[index % len(COLOURS)]),
            text(WIDTH - right + 34, y, name),
        ]
    parts.append(text((left + WIDTH - right) / 2, top + tall + 38, x_name, "middle", "#555"))
    return svg(WIDTH, top + tall + 52, title, parts)
