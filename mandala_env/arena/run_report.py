"""The page of a training run: its curves and, once it has a checkpoint, how that plays."""

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from mandala_env.arena.figures import Line, heat_map, history_map, line_chart, stacked_columns
from mandala_env.arena.ladder import play_ladder
from mandala_env.arena.mix import action_mix
from mandala_env.arena.report import game_words, html_table, ladder_parts, page, paragraph
from mandala_env.files import find_folder, read_file, write_file
from mandala_env.opponents.base import load_opponent
from mandala_env.registry import load_game
from mandala_env.words import shown

Row = dict[str, Any]
GAMES = 400  # of each match of the page's ladder, and of the count of actions
COLUMNS = 160  # of the history of the league
# What is believed of files that may come from anywhere.
LARGEST_FILE = 2**28  # bytes
LARGEST_NUMBER = 1e15
MOST_NAMES = 1000  # of metrics of an iteration, of members of a league, of matches
LONGEST_NAME = 500
CURVES = {
    "train/entropy": "Entropy of the policy (nats)",
    "train/value_loss": "Value loss",
    "train/explained_variance": "Explained variance of the values",
    "time/decisions_per_second": "Decisions per second",
    "train/approx_kl": "KL divergence of an update",
    "rollout/turns": "Turns of a game",
    "rating/learner": "Rating of the learner in its league",
}


def write_run_page(run: Path, to: Path | None = None, games: int = GAMES) -> Path:
    """Write RUN/report.html, or where it is told to; returns where.

    games  of each match of the ladder that the run's checkpoint plays for the page; 0 plays none
    Raises ValueError if the folder is not that of a run.
    """
    to = to or run / "report.html"
    write_file(to, run_page(run, games))
    return to


def run_page(run: Path, games: int) -> str:
    """The page as text, see `write_run_page`."""
    rows = read_progress(run)
    parts = [*curves(rows), *league(rows), *payoffs(run)]
    game = ""
    config_file = find_folder(run / "checkpoint") / "config.json"
    if config_file.is_file():
        config = read_json(config_file)
        if not isinstance(config, dict) or not isinstance(config.get("game"), str):
            raise ValueError(f"{config_file}: expected the config of a checkpoint, with the name of its game")
        if not isinstance(config.get("options"), dict):
            raise ValueError(f"{config_file}: expected the options of the game, not {shown(config.get('options'))}")
        game = f" ({game_words(config['game'], config['options'])})"
        matches = read_matches(config_file.with_name("metrics.json"))
        parts += [*scores(matches), *(play(run, config, matches, games) if games else [])]
    else:
        parts.append(paragraph("The run has no checkpoint yet: how it plays is not shown."))
    if (run / "config.yaml").is_file():
        config_text = read_file(run / "config.yaml", LARGEST_FILE).decode("utf-8")
        parts += ["<h2>Config</h2>", f"<pre>{config_text.replace('&', '&amp;').replace('<', '&lt;')}</pre>"]
    return page(f"Training run {run.resolve().name}{game}", [summary(rows), *parts])


# --- reading --------------------------------------------------------------------------------------------------


def read_progress(run: Path) -> list[Row]:
    """The metrics of a run's iterations, one dict each; what a resumed run did again replaces what it did first."""
    rows: list[Row] = []
    for path in progress_files(run):
        part = read_lines(path)
        first = part[0]["time/iteration"] if part else np.inf
        rows = [row for row in rows if row["time/iteration"] < first] + part
    if not rows:
        raise ValueError(f"{run}: expected the folder of a training run with a progress.json that has a line or more")
    return rows


def progress_files(run: Path) -> list[Path]:
    """progress-1.json, progress-2.json, ..., what a resumed run had written before, and progress.json."""
    numbered = {
        int(found[1]): path for path in run.glob("progress-*.json") if (found := re.match(r".*-(\d+)$", path.stem))
    }
    return [*(numbered[number] for number in sorted(numbered)), *run.glob("progress.json")]


def read_lines(path: Path) -> list[Row]:
    """The lines of one file; a last line that is cut off, as a killed run leaves it, is passed over."""
    rows, lines = [], read_file(path, LARGEST_FILE).decode("utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            if number == len(lines):
                break
            raise ValueError(f"{path}: line {number} is not a JSON object") from None
        if not isinstance(row, dict) or not is_count(row.get("time/iteration")):
            raise ValueError(f"{path}: line {number} is not the metrics of an iteration, with a time/iteration")
        if wrong := [key for key in row if not is_name(key) or not is_number(row[key])] or list(row)[MOST_NAMES:]:
            raise ValueError(f"{path}: line {number}: {shown(wrong[0])} is not the name and number of a metric")
        if not is_count(row.get("time/decisions", 1)):
            raise ValueError(f"{path}: line {number}: time/decisions is no number of decisions")
        rows.append(row)
    return rows


def read_json(path: Path) -> Any:
    """What a JSON file holds; raises ValueError that names the file."""
    try:
        return json.loads(read_file(path, LARGEST_FILE).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else error
        raise ValueError(f"{path}: expected JSON: {reason}") from None


def read_matches(path: Path) -> list[Row]:
    """The matches that a checkpoint was measured with, as `Match.to_dict` writes them."""
    metrics = read_json(path)
    matches = metrics.get("evaluation", []) if isinstance(metrics, dict) else None
    if not isinstance(matches, list) or len(matches) > MOST_NAMES:
        raise ValueError(f"{path}: expected the matches of an evaluation, not {shown(metrics)}")
    for match in matches:
        is_match = isinstance(match, dict) and is_name(match.get("against"))
        keys = ("games", "score", "points", "rival_points", "turns")
        if not is_match or not all(is_number(match.get(key)) for key in keys) or not is_pair(match.get("interval")):
            raise ValueError(f"{path}: expected a match with {', '.join(('against', 'interval', *keys))}")
    return matches


def is_number(value: Any) -> bool:
    """Is this a number, not too large to be drawn? nan is one: a metric that was not defined."""
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_one and (value != value or abs(value) <= LARGEST_NUMBER)


def is_count(value: Any) -> bool:
    """Is this a number of 1 or more?"""
    return is_number(value) and value >= 1


def is_pair(value: Any) -> bool:
    """Are these two numbers?"""
    return isinstance(value, list) and len(value) == 2 and all(map(is_number, value))


def is_name(value: Any) -> bool:
    """Is this text that can be a name?"""
    return isinstance(value, str) and len(value) <= LONGEST_NAME and value.isprintable()


# --- curves ---------------------------------------------------------------------------------------------------


def x_axis(rows: Sequence[Row]) -> tuple[list[float], str]:
    """Decisions if the run noted them, otherwise iterations."""
    if all("time/decisions" in row for row in rows):
        return [row["time/decisions"] for row in rows], "decisions"
    return [row["time/iteration"] for row in rows], "iteration"


def column(rows: Sequence[Row], key: str) -> list[float]:
    """A metric over the rows; nan where it was not recorded."""
    return [float(row.get(key, np.nan)) for row in rows]


def summary(rows: Sequence[Row]) -> str:
    """The run in one sentence."""
    last = rows[-1]
    words = f"{last['time/iteration']:,} iterations"
    if "time/decisions" in last:
        words = f"{last['time/decisions']:,} decisions in {words}"
    speed = np.array(column(rows, "time/decisions_per_second"))
    if np.isfinite(speed).any():
        words += f", {np.nanmedian(speed):,.0f} decisions a second (median)"
    return paragraph(words + ".")


def curves(rows: Sequence[Row]) -> list[str]:
    """Win rates and the metrics of learning."""
    x, x_name = x_axis(rows)
    x_range = (0, x[-1])
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key.startswith("evaluation/")]
    rivals = [key for key in keys if f"{key}_low" in keys]
    lines = []
    for key in rivals:
        names = key, f"{key}_low", f"{key}_high"
        there = [row for row in range(len(rows)) if np.isfinite([rows[row].get(name, np.nan) for name in names]).all()]
        y, low, high = ([rows[row][name] for row in there] for name in names)
        lines.append(Line(f"against {key.partition('/')[2]}", [x[row] for row in there], y, low, high))
    parts = ["<h2>Win rates</h2>"]
    if lines:
        parts.append(
            line_chart(
                "Score of the most likely action, with 95% intervals", lines, x_name, x_range, (0, 1), is_share=True
            )
        )
    else:
        parts.append(paragraph("The run has not measured itself yet."))
    charts = [
        line_chart(title, [Line(title, x, column(rows, key))], x_name, x_range, width=430, height=240)
        for key, title in CURVES.items()
        if any(key in row for row in rows)
    ]
    return [*parts, "<h2>Learning</h2>", '<div class="pair">', *(f"<div>{chart}</div>" for chart in charts), "</div>"]


def league(rows: Sequence[Row]) -> list[str]:
    """How often the learner beat the members of its league over time."""
    names: dict[str, list[float]] = defaultdict(list)
    for key in dict.fromkeys(key for row in rows for key in row if key.startswith("league/")):
        names[key.partition("/")[2]] = column(rows, key)
    if not names:
        return []
    x, x_name = x_axis(rows)
    cuts = np.unique(np.linspace(0, len(rows), min(COLUMNS, len(rows)) + 1).astype(int))
    values = np.array(list(names.values()))
    binned = np.array([[last_finite(row[a:b]) for a, b in pairwise(cuts)] for row in values])
    return [
        "<h2>League</h2>",
        paragraph("The learner's share of the win against each frozen member while it was one, smoothed over games."),
        history_map("Share of the win against the members", list(names), binned, [x[b - 1] for b in cuts[1:]], x_name),
    ]


def payoffs(run: Path) -> list[str]:
    """The payoff matrix of the league as it stood last."""
    try:
        table = read_payoffs(run / "league.json")
    except FileNotFoundError:  # a run without a league
        return []
    heads = list(dict.fromkeys(column for shares in table.values() for column in shares))
    if not heads:
        return []
    cells = [[shares.get(head) for head in heads] for shares in table.values()]
    return [
        paragraph("How often the one in the row beat the one in the column, while the one in the row was learning."),
        heat_map("Payoffs in the league", list(table), heads, cells, 0.5),
    ]


def read_payoffs(path: Path) -> dict[str, dict[str, float]]:
    """The payoff matrix that a run keeps: shares of the win by the names of both."""
    table = read_json(path)
    rows: list[Any] = list(table.values()) if isinstance(table, dict) and all(map(is_name, table)) else [None]
    for row in rows:
        if not isinstance(row, dict) or not all(is_name(key) and is_number(row[key]) for key in row):
            raise ValueError(f"{path}: expected shares of the win by name and name")
    if max([len(table), *(len(row) for row in rows)]) > MOST_NAMES:
        raise ValueError(f"{path}: expected at most {MOST_NAMES} members of a league")
    return dict(table)


def last_finite(values: np.ndarray) -> float:
    """The last number that is one."""
    finite = values[np.isfinite(values)]
    return float(finite[-1]) if len(finite) else np.nan


# --- how the checkpoint plays ---------------------------------------------------------------------------------


def scores(matches: list[Row]) -> list[str]:
    """The scores that the run ended with."""
    rows = [
        [
            m["against"],
            str(m["games"]),
            f"{m['score']:.1%}",
            f"{m['interval'][0]:.1%} to {m['interval'][1]:.1%}",
            f"{m['points']:.1f} : {m['rival_points']:.1f}",
            f"{m['turns']:.1f}",
        ]
        for m in matches
    ]
    heads = ["against", "games", "score", "95% interval", "points", "turns"]
    return ["<h2>Scores of the checkpoint</h2>", html_table(heads, rows)] if rows else []


def play(run: Path, config: dict, matches: list[Row], games: int) -> list[str]:
    """A small ladder of the checkpoint and those it was measured against, and what it does in which part of a game."""
    spec = f"checkpoint:{run / 'checkpoint'}"
    try:
        game = load_game(config["game"], **config["options"])
        player = load_opponent(spec, game)
    except ValueError as error:  # such as the checkpoint of another version: the curves can be shown all the same
        return [paragraph(f"The checkpoint cannot be played: {error}")]
    games = games // game.num_players * game.num_players
    rivals = list(dict.fromkeys(match["against"] for match in matches))
    name = re.sub(r"[:,/\\=]", "-", run.resolve().name)
    name += " (this run)" if name in rivals else ""
    parts = []
    if rivals:
        parts = ["<h2>Ladder</h2>", *ladder_parts(play_ladder(game, [f"{name}={spec}", *rivals], games))]
    mix = action_mix(player, games)
    heads = [f"{10 * part}-{10 * part + 10}%" for part in range(len(mix.shares))]
    return [
        *parts,
        "<h2>What it does when</h2>",
        stacked_columns(
            f"Kinds of decisions in {games} games against itself (%)",
            heads,
            mix.names,
            mix.shares,
            "part of the game's decisions",
        ),
    ]
