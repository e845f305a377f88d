"""A position as SVG: a whole file, or what goes inside one of a page that defines the shapes once."""

from collections.abc import Sequence

from mandala_env.pictures.canvas import PAPER
from mandala_env.pictures.glyphs import DEFINITIONS
from mandala_env.pictures.picture import WIDE, Seen, make_setting
from mandala_env.registry import load_picture

FONT = "'DejaVu Sans', Verdana, 'Segoe UI', Roboto, 'FreeSans', Arial, sans-serif"


def svg(
    seen: Seen,
    *,
    names: Sequence[str] | None = None,
    last: tuple[int, str] | None = None,
    width: int = WIDE,
    has_definitions: bool = True,
) -> str:
    """Draw what was seen (`Game.seen`); the drawing is always as large for a game, a number of players and a width.

    names            what the players are called
    last             the last move as (player, action text), to mark it
    width            960 for a desk, 480 for a phone
    has_definitions  False leaves out the shapes that all drawings share, `glyphs.DEFINITIONS`, for pages with many
    """
    setting = make_setting(len(seen["seats"]), width, names, last)
    inside, height = load_picture(seen["game"]).draw(seen, setting)
    definitions = f"<defs>\n{DEFINITIONS}\n</defs>\n" if has_definitions else ""
    paper = f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="{FONT}">\n{definitions}{paper}\n{inside}\n</svg>'
    )
