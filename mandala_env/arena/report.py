"""Pages that hold all they show: the frame of a page, and the page of a ladder."""

from collections.abc import Sequence
from html import escape

from mandala_env.arena.figures import heat_map, interval_bars
from mandala_env.arena.ladder import Ladder
from mandala_env.arena.match import shorten

STYLE = """
body { font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #222; background: #fff;
       max-width: 900px; margin: 24px auto; padding: 0 16px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 32px 0 8px; }
svg { width: 100%; height: auto; display: block; margin: 10px 0 22px; font-size: 13px; }
table { border-collapse: collapse; margin: 8px 0 20px; } td, th { padding: 4px 12px 4px 0; text-align: left; }
th { border-bottom: 2px solid #888; font-weight: 600; } td { border-bottom: 1px solid #ddd; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } .pair { display: flex; flex-wrap: wrap; gap: 12px; } .pair > * { flex: 1 1 400px; }
pre { background: #f5f5f5; padding: 10px 14px; overflow-x: auto; } p { margin: 6px 0; max-width: 75ch; }
"""


def page(title: str, parts: Sequence[str]) -> str:
    """One HTML page that needs nothing else: no script, no font, no picture from elsewhere."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            *parts,
            "</body></html>\n",
        ]
    )


def paragraph(words: str) -> str:
    """A paragraph."""
    return f"<p>{escape(words)}</p>"


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]], num_words: int = 1) -> str:
    """A table; its first columns are words, the others numbers."""

    def cells(tag: str, row: Sequence[str]) -> str:
        kinds = ("" if column < num_words else ' class="number"' for column in range(len(row)))
        return "".join(f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, row, strict=True))

    lines = [f"<tr>{cells('th', heads)}</tr>", *(f"<tr>{cells('td', row)}</tr>" for row in rows)]
    return '<div class="wide"><table>' + "\n".join(lines) + "</table></div>"


def game_words(game: str, options: dict) -> str:
    """A game with its number of players, if that is an option."""
    return f"{game} with {options['num_players']} players" if "num_players" in options else game


def ladder_page(ladder: Ladder) -> str:
    """The page of a ladder."""
    return page(f"Ladder of {game_words(ladder.game, ladder.options)}", ladder_parts(ladder))


def ladder_parts(ladder: Ladder) -> list[str]:
    """Ratings and payoffs of a ladder as parts of a page."""
    names = [shorten(entrant.name) for entrant in ladder.entrants]
    numbered = [f"{row + 1} {name}" for row, name in enumerate(names)]
    is_anchored = any(entrant.spec == "random" for entrant in ladder.entrants)
    num_seats = len(ladder.matches[0].by_seat)
    how = "against copies of every other" if num_seats > 2 else "against every other"
    rows = []
    for row, (entrant, rating) in enumerate(zip(ladder.entrants, ladder.ratings, strict=True)):
        worst = ladder.worst(row)
        low, high = rating.interval
        rows.append(
            [
                numbered[row],
                entrant.spec,
                names[worst],
                f"{ladder.scores[row][worst]:.1%}",
                f"{rating.elo:.0f}",
                f"{low:.0f} to {high:.0f}",
            ]
        )
    return [
        paragraph(
            f"Every player {how}, {ladder.games} games a match, on the same deals (seed {ladder.seed}) and from every "
            f"seat. Bradley-Terry ratings on the Elo scale; {'random' if is_anchored else 'the mean'} is 0; 95% "
            "intervals by a bootstrap over deals. Every match counts one even game more, so that a score of 100% has a "
            "rating, too."
        ),
        interval_bars(
            "Ratings", numbered, [r.elo for r in ladder.ratings], [r.interval for r in ladder.ratings], "rating (Elo)"
        ),
        html_table(["player", "spec", "worst against", "score there", "rating", "95% interval"], rows, 3),
        '<div class="wide">'
        + heat_map(
            "Score of the row against the column",
            numbered,
            [str(row + 1) for row in range(len(names))],
            ladder.scores,
            1 / num_seats,
        )
        + "</div>",
        paragraph(f"White is {1 / num_seats:.1%}, the share of an equal; blue is more, orange is less."),
    ]
