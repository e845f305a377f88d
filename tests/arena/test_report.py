"""Pages load nothing and hold what they should, whatever the names; figures put points where they belong."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from mandala_env import load_game, load_opponent
from mandala_env.arena.figures import Line, heat_map, interval_bars, line_chart, number, shade, stacked_columns, ticks
from mandala_env.arena.ladder import play_ladder
from mandala_env.arena.mix import PARTS, action_mix, kinds_of
from mandala_env.arena.report import ladder_page
from mandala_env.arena.run_report import read_progress, write_run_page
from mandala_env.cli import main
from mandala_env.policies.checkpoint import save_checkpoint
from tests.sampling import make_network


def pictures(page: str) -> list[ElementTree.Element]:
    """The pictures of a page, which are well-formed."""
    return [ElementTree.fromstring(found) for found in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def words(element: ElementTree.Element) -> str:
    """All words in a picture."""
    return " ".join(element.itertext())


def loads_something(page: str) -> list[str]:
    """Whatever a browser would fetch or run."""
    return re.findall(r"<script|<link|<img|<iframe|src=|href=|url\(|@import|https?:", page)


def make_run(folder: Path, iterations: int = 6, start: int = 1, file: str = "progress.json", **more: float) -> Path:
    """A run's folder as training leaves it."""
    folder.mkdir(exist_ok=True)
    rows = []
    for iteration in range(start, start + iterations):
        row = {"train/entropy": 2.5 / iteration, "train/value_loss": 0.1, "time/decisions_per_second": 5000.0, **more}
        row |= {"time/iteration": iteration, "time/decisions": 100 * iteration, "league/self-0": 0.6}
        if iteration >= 4:
            row["league/<b>late</b>"] = 0.2
        if iteration % 2 == 0:
            row |= {"evaluation/random": 0.9, "evaluation/random_low": 0.85, "evaluation/random_high": 0.95}
        rows.append(json.dumps(row))
    (folder / file).write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def ladder_html() -> str:
    """The page of a small ladder, one player of which has a strange name."""
    return ladder_page(play_ladder(load_game("mandala_v0"), ["random", "<i>x & co=heuristic"], 20))


def test_the_page_of_a_ladder_loads_nothing_and_escapes_names(ladder_html: str) -> None:
    assert loads_something(ladder_html) == []
    assert "<i>" not in ladder_html
    bars, matrix = pictures(ladder_html)
    assert "<i>x & co" in words(bars) and "<i>x & co" in words(matrix)
    assert "%" in words(matrix) and "rating (Elo)" in words(bars)


def test_the_page_of_a_run_has_its_curves_and_loads_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (run / "config.yaml").write_text("name: <run>\n", encoding="utf-8")
    where = write_run_page(run)
    page = where.read_text(encoding="utf-8")
    assert where == run / "report.html" and loads_something(page) == []
    assert "600 decisions in 6 iterations, 5,000 decisions a second" in page
    titles = [picture.attrib["aria-label"] for picture in pictures(page)]
    for title in ("Score of the most likely", "Entropy", "Value loss", "Decisions per second", "Share of the win"):
        assert any(found.startswith(title) for found in titles)
    assert "no checkpoint yet" in page and "name: &lt;run>" in page and "<b>" not in page


def test_a_run_with_a_checkpoint_shows_how_it_plays(tmp_path: Path) -> None:
    run, game = make_run(tmp_path / "random"), load_game("mandala_v0")  # called like an opponent
    match = {"against": "random", "games": 20, "score": 0.5, "interval": [0.4, 0.6], "points": 20.0}
    metrics = {"evaluation": [match | {"rival_points": 19.0, "turns": 60.0}]}
    save_checkpoint(run / "checkpoint", game, make_network(game), training={}, metrics=metrics, card="")
    page = write_run_page(run, games=4).read_text(encoding="utf-8")
    titles = [picture.attrib["aria-label"] for picture in pictures(page)]
    assert {"Ratings", "Score of the row against the column"} < set(titles)
    assert any(title.startswith("Kinds of decisions") for title in titles) and "40.0% to 60.0%" in page
    assert "random (this run)" in page
    quiet = write_run_page(run, tmp_path / "quiet.html", games=0).read_text(encoding="utf-8")
    assert "40.0% to 60.0%" in quiet and "Ratings" not in quiet


def test_a_checkpoint_that_cannot_be_loaded_leaves_the_curves(tmp_path: Path) -> None:
    run, game = make_run(tmp_path / "run"), load_game("mandala_v0")
    save_checkpoint(run / "checkpoint", game, make_network(game), training={}, metrics={}, card="")
    config = json.loads((run / "checkpoint" / "config.json").read_text())
    (run / "checkpoint" / "config.json").write_text(json.dumps(config | {"fingerprint": "other"}))
    page = write_run_page(run, games=4).read_text(encoding="utf-8")
    assert "The checkpoint cannot be played" in page and "Entropy" in page


def test_what_a_resumed_run_did_again_replaces_what_it_did_first(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 10, file="progress-1.json", part=1)
    make_run(run, 4, start=9, file="progress-2.json", part=2)
    make_run(run, 3, start=11, part=3)
    (run / "progress-x.json").write_text("not of the run")
    rows = read_progress(run)
    assert [row["time/iteration"] for row in rows] == list(range(1, 14))
    assert [row["part"] for row in rows] == [1] * 8 + [2] * 2 + [3] * 3


def test_parts_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for number_ in range(1, 12):
        make_run(run, 1, start=number_, file=f"progress-{number_}.json")
    assert [row["time/iteration"] for row in read_progress(run)] == list(range(1, 12))


def test_a_line_that_a_killed_run_left_unfinished_is_passed_over(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 3)
    with (run / "progress.json").open("a") as file:
        file.write('{"train/entropy": 0.')
    assert len(read_progress(run)) == 3


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "expected the folder of a training run"),
        ("", "expected the folder of a training run"),
        ('{"time/iteration": 1}\nbroken\n{"time/iteration": 2}\n', "progress.json: line 2 is not a JSON object"),
        ("[1, 2]\n", "progress.json: line 1 is not the metrics of an iteration"),
        ('{"loss": 1}\n', "progress.json: line 1 is not the metrics of an iteration"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "progress.json").write_text(content)
    with pytest.raises(ValueError, match=said):
        write_run_page(tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_a_run_that_measured_nothing_has_a_page_too(tmp_path: Path) -> None:
    (tmp_path / "progress.json").write_text('{"time/iteration": 1, "train/entropy": NaN}\n')
    page = write_run_page(tmp_path).read_text(encoding="utf-8")
    assert "has not measured itself yet" in page and "nothing was recorded" in page


def test_the_command_says_where_the_page_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "run")
    main(["report", str(run), "--html", str(tmp_path / "page.html")])
    assert capsys.readouterr().out.strip() == str(tmp_path / "page.html")
    assert (tmp_path / "page.html").is_file() and not (run / "report.html").exists()
    with pytest.raises(SystemExit) as caught:
        main(["report", str(tmp_path / "nowhere")])
    assert caught.value.code == 2 and "expected the folder of a training run" in capsys.readouterr().err


def coordinates(picture: str) -> list[list[tuple[float, float]]]:
    """The places of each polyline."""
    return [
        [(float(x), float(y)) for x, y in (pair.split(",") for pair in points.split())]
        for points in re.findall(r'<polyline points="([^"]*)"', picture)
    ]


def test_curves_rise_where_their_numbers_do_and_break_where_there_are_none() -> None:
    lines = [Line("one", [0, 1, 2, 3, 4], [0.1, 0.2, np.nan, 0.4, 0.3]), Line("two", [0, 4], [0.0, 1.0])]
    first, second, whole = coordinates(line_chart("t", lines, "x", (0, 4), (0, 1)))
    assert len(first) == len(second) == 2
    assert first[0][1] > first[1][1] and second[0][1] < second[1][1]  # y grows downwards
    assert first[0][0] == whole[0][0] < first[1][0] < second[0][0] < second[1][0] == whole[1][0]
    (low, high) = whole
    assert first[0][1] == pytest.approx(low[1] + 0.1 * (high[1] - low[1]), abs=0.11)


def test_one_point_and_equal_points_can_be_drawn() -> None:
    assert "<circle" in line_chart("t", [Line("one", [5], [1.0])], "x", (5, 5))
    ((first, last),) = coordinates(line_chart("t", [Line("one", [0, 1], [0.0, 0.0])], "x", (0, 1)))
    assert first[1] == last[1]


def test_no_two_players_of_a_chart_look_alike() -> None:
    lines = [Line(f"opponent {index}", [0, 1], [0, index]) for index in range(7)]
    styles = re.findall(
        r'stroke="(#\w+)" stroke-width="1.8" stroke-dasharray="([^"]*)"', line_chart("t", lines, "x", (0, 1))
    )
    assert len({colour for colour, _ in styles}) == len({dash for _, dash in styles}) == 7


def test_bars_end_at_their_values() -> None:
    picture = interval_bars("t", ["a", "b", "c"], [100, 0, -50], [(90, 120), (0, 0), (-60, -20)], "u")
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)" height="16', picture)]
    assert widths[0] == pytest.approx(2 * widths[2], rel=0.01) and widths[1] == 0


def test_shares_have_the_colour_of_their_side() -> None:
    assert shade(0.5, 0.5) == shade(1 / 3, 1 / 3) == "#f7f7f7"
    assert shade(1, 0.25) == "#0072b2" and shade(0, 0.25) == "#d55e00"
    picture = ElementTree.fromstring(heat_map("t", ["a", "b"], ["1", "2"], [[None, 0.75], [0.25, None]], 0.5))
    assert "75.0%" in words(picture) and "25.0%" in words(picture)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 4), (0.001, 0.002), (1e6, 5e7), (-1, 0), (7, 7)])
def test_ticks_are_a_few_round_numbers_in_the_range(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 8 and all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
    assert all(len(number(tick)) <= 7 for tick in found) and "-0" not in [number(tick) for tick in found]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (2_500_000, "2.5M"), (40_000, "40k"), (5000, "5000"), (0.25, "0.25"), (0.00015, "1.5e-4"), (3e9, "3G")],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text
    assert number(0.75, is_share=True) == "75%"


@pytest.mark.parametrize("game_id", ["mandala_v0", "flowers_v0"])
def test_the_mix_counts_every_decision_in_its_part_of_the_game(game_id: str) -> None:
    game = load_game(game_id)
    mix = action_mix(load_opponent("heuristic", game), 6)
    names, kinds = kinds_of(game.actions)
    assert mix.names == names and mix.shares.shape == (PARTS, len(names))
    assert mix.shares.sum(axis=1) == pytest.approx(np.ones(PARTS))
    assert [names[kind] for kind in kinds[:1]] == ["build" if game_id == "mandala_v0" else "play 1"]
    picture = stacked_columns("t", [str(part) for part in range(PARTS)], names, mix.shares, "x")
    assert all(name in words(ElementTree.fromstring(picture)) for name in names)


def test_claims_come_last_in_a_games_mix() -> None:
    mix = action_mix(load_opponent("heuristic", load_game("mandala_v0")), 20)
    claims = mix.shares[:, mix.names.index("claim")]
    assert claims[0] < 0.1 < 0.2 < claims[-1]
