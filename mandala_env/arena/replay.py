"""A transcript shown to people: as text in a terminal, or as one page that needs nothing else."""

import json
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import Any

from mandala_env.opponents.advice import Advice, advise
from mandala_env.opponents.base import Opponent
from mandala_env.pictures.glyphs import DEFINITIONS
from mandala_env.pictures.picture import WIDE
from mandala_env.pictures.svg import svg
from mandala_env.transcript import Moment, Transcript

MOST_CHOICES = 6  # that are shown of a policy


def text_frames(transcript: Transcript, viewer: int | None, adviser: Opponent | None = None) -> Iterator[str]:
    """Each moment of a game as text."""
    for number, (moment, advice) in enumerate(advised(transcript, viewer, adviser)):
        lines = [f"--- {number}: {caption(transcript, moment)}", transcript.game.render(moment.state, viewer)]
        if advice is not None:
            lines += ["", f"  {advice_in_words(transcript, moment, advice)}"]
        yield "\n".join([*lines, ""])


def replay_data(
    transcript: Transcript, viewer: int | None, adviser: Opponent | None = None, width: int = WIDE
) -> dict[str, Any]:
    """All that `pictures/replay.js` shows, as plain data: the shapes, and each moment with drawing and policy."""
    texts, actions = transcript.game.actions.text, [*transcript.actions, None]
    frames = []
    for (moment, advice), played in zip(advised(transcript, viewer, adviser), actions, strict=True):
        frame: dict[str, Any] = {"caption": caption(transcript, moment)}
        seen = transcript.game.seen(moment.state, viewer)
        frame["svg"] = svg(seen, names=transcript.players, last=moment.last, width=width, has_definitions=False)
        if advice is not None:
            frame["player"] = transcript.players[transcript.game.player(moment.state)]
            frame["value"] = advice.value
            frame["choices"] = [
                [texts(action), chance, action == played]
                for place, (action, chance) in enumerate(advice.choices)
                if place < MOST_CHOICES or action == played
            ]
        frames.append(frame)
    return {"title": title(transcript), "definitions": DEFINITIONS, "frames": frames}


def replay_page(transcript: Transcript, viewer: int | None, adviser: Opponent | None = None) -> str:
    """A page of HTML with a slider, which needs no other file and no network."""
    folder = files("mandala_env.pictures")
    data = json.dumps(replay_data(transcript, viewer, adviser)).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title(transcript))}</title>\n"
        f"<style>\n{folder.joinpath('replay.css').read_text(encoding='utf-8')}</style>\n"
        '<body>\n<main id="replay"></main>\n'
        f'<script id="data" type="application/json">{data}</script>\n'
        f"<script>\n{folder.joinpath('replay.js').read_text(encoding='utf-8')}\n"
        'showReplay(document.getElementById("replay"), JSON.parse(document.getElementById("data").textContent));\n'
        "</script>\n</body>\n</html>\n"
    )


def advised(
    transcript: Transcript, viewer: int | None, adviser: Opponent | None
) -> Iterator[tuple[Moment, Advice | None]]:
    """The moments with an adviser's opinion where a decision is due; a viewer gets it for the own decisions only."""
    for moment in transcript.moments():
        player, is_over = transcript.game.player(moment.state), transcript.game.is_over(moment.state)
        may_know = viewer is None or viewer == player
        yield moment, None if adviser is None or is_over or not may_know else advise(adviser, moment.state)


def title(transcript: Transcript) -> str:
    """Which game of whom."""
    name = transcript.game.id.partition("_")[0].capitalize()
    return f"{name}: {' - '.join(transcript.players)}"


def caption(transcript: Transcript, moment: Moment) -> str:
    """What was done, and whose turns were skipped then."""
    names = [f"player_{seat} ({name})" for seat, name in enumerate(transcript.players)]
    words = "the deal" if moment.last is None else f"{names[moment.last[0]]}: {moment.last[1]}"
    if moment.last is None and transcript.start.position is not None:
        words = "the position"
    return ", ".join([words, *(f"{names[seat]} is skipped" for seat in moment.skipped)])


def advice_in_words(transcript: Transcript, moment: Moment, advice: Advice) -> str:
    """What a policy would do, on one line."""
    player = transcript.game.player(moment.state)
    shares = ", ".join(
        f"{chance:.0%} {transcript.game.actions.text(action)}" for action, chance in advice.choices[:MOST_CHOICES]
    )
    value = "" if advice.value is None else f"; expects {advice.value:+.2f}"
    return f"policy for player_{player}: {shares}{value}"
