"""The ladder plays all pairs on the same deals and says what came of it."""

import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mandala_env import load_game
from mandala_env.arena.ladder import Entrant, play_ladder, read_entrants, table
from mandala_env.arena.match import Match, play_match
from mandala_env.cli import main
from mandala_env.policies.checkpoint import save_checkpoint
from tests.sampling import make_network

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A checkpoint with random weights."""
    game = load_game("mandala_v0")
    folder = tmp_path_factory.mktemp("players") / "player"
    save_checkpoint(folder, game, make_network(game, 1), training={}, metrics={}, card="")
    return str(folder)


@pytest.fixture(scope="module")
def ladder(checkpoint: str) -> Any:
    """Three players of Mandala."""
    return play_ladder(load_game("mandala_v0"), ["random", "greedy=heuristic", f"net={checkpoint}"], 20, seed=4)


def test_every_pair_plays_the_match_that_it_would_play_alone(ladder: Any, checkpoint: str) -> None:
    game, specs = load_game("mandala_v0"), {"random": "random", "greedy": "heuristic", "net": checkpoint}
    assert [(m.player, m.against) for m in ladder.matches] == [
        ("random", "greedy"),
        ("random", "net"),
        ("greedy", "net"),
    ]
    for match in ladder.matches:
        alone = play_match(game, specs[match.player], specs[match.against], 20, 4)
        assert match == alone.between(match.player, match.against)
        assert np.array_equal(match.deal_scores, alone.deal_scores)


def test_players_stand_by_falling_rating_and_random_is_zero(ladder: Any) -> None:
    elos = [rating.elo for rating in ladder.ratings]
    assert elos == sorted(elos, reverse=True)
    names = [entrant.name for entrant in ladder.entrants]
    assert names[0] == "greedy" and sorted(names) == ["greedy", "net", "random"]
    assert elos[names.index("random")] == 0
    assert all(rating.interval[0] <= rating.elo <= rating.interval[1] for rating in ladder.ratings)


def test_the_matrix_has_the_scores_of_the_matches_from_both_sides(ladder: Any) -> None:
    names = [entrant.name for entrant in ladder.entrants]
    for match in ladder.matches:
        row, column = names.index(match.player), names.index(match.against)
        assert ladder.scores[row][column] == match.score
        assert ladder.scores[column][row] == pytest.approx(1 - match.score)
    assert [ladder.scores[row][row] for row in range(3)] == [None] * 3


def test_with_three_players_each_meets_copies_of_each_and_the_sums_are_those_of_the_games() -> None:
    game = load_game("flowers_v0", num_players=3)
    result = play_ladder(game, ["random", "heuristic"], 30)
    assert [(m.player, m.against) for m in result.matches] == [("random", "heuristic"), ("heuristic", "random")]
    assert [entrant.name for entrant in result.entrants] == ["heuristic", "random"]
    assert result.scores[0][1] == result.matches[1].score and result.scores[1][0] == result.matches[0].score
    assert result.scores[0][1] > 1 / 3 > result.scores[1][0]


def test_the_worst_column_is_where_a_player_scores_least(ladder: Any) -> None:
    for row in range(3):
        scores = [score for score in ladder.scores[row] if score is not None]
        assert ladder.scores[row][ladder.worst(row)] == min(scores)
        assert ladder.worst(row) != row


def test_the_number_of_processes_makes_no_difference() -> None:
    game, players = load_game("mandala_v0"), ["random", "heuristic", "again=random"]
    reports: list[Match] = []
    one = play_ladder(game, players, 20, seed=4)
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        two = play_ladder(game, players, 20, seed=4, executor=executor, report=reports.append)
    assert one == two and one.matches == tuple(reports)


def test_the_result_as_json_has_no_single_deals(ladder: Any) -> None:
    plain = json.loads(json.dumps(ladder.to_dict()))
    assert [player["name"] for player in plain["players"]] == [entrant.name for entrant in ladder.entrants]
    assert plain["players"][0].keys() == {"name", "spec", "rating", "interval", "worst"}
    assert plain["scores"] == [list(row) for row in ladder.scores]
    assert [match["score"] for match in plain["matches"]] == [match.score for match in ladder.matches]
    assert all("deal_scores" not in match for match in plain["matches"])


def test_the_table_names_everybody_in_both_parts(ladder: Any) -> None:
    ratings, matrix = table(ladder).split("\n\n")
    for row, (entrant, rating) in enumerate(zip(ladder.entrants, ladder.ratings, strict=True)):
        words = ratings.splitlines()[row + 1].split()
        worst = ladder.worst(row)
        assert words[:3] == [str(row + 1), entrant.name, f"{rating.elo:.0f}"]
        assert words[-2:] == [ladder.entrants[worst].name, f"({ladder.scores[row][worst]:.1%})"]
        cells = matrix.splitlines()[row + 1].split()
        assert cells[:2] == [str(row + 1), entrant.name]
        assert cells[2 + row] == "-" and cells[2 + worst] == f"{ladder.scores[row][worst]:.1%}"


@pytest.mark.parametrize(
    ("text", "name", "spec"),
    [
        ("heuristic", "heuristic", "heuristic"),
        ("greedy=heuristic", "greedy", "heuristic"),
        ("search:simulations=200", "search:simulations=200", "search:simulations=200"),
        ("deep=search:simulations=200,policy=x", "deep", "search:simulations=200,policy=x"),
        ("runs/a/checkpoint,temperature=1", "runs/a/checkpoint,temperature=1", "runs/a/checkpoint,temperature=1"),
        ("warm one=runs/a,temperature=1", "warm one", "runs/a,temperature=1"),
    ],
)
def test_a_name_stands_before_a_spec_or_the_spec_is_the_name(text: str, name: str, spec: str) -> None:
    assert read_entrants([text]) == [Entrant(name, spec)]


@pytest.mark.parametrize(
    ("players", "games", "said"),
    [
        (["random"], 20, "a ladder needs two or more players, not 1"),
        (["random", "random"], 20, "two players are called 'random'; write NAME=SPEC"),
        (["a=random", "a=heuristic"], 20, "two players are called 'a'"),
        (["random", "nobody"], 20, "unknown opponent 'nobody'"),
        (["random", "heuristic"], 3, "games must be a multiple of the 2 players"),
    ],
)
def test_what_cannot_be_played_is_refused_before_any_play(players: list[str], games: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        play_ladder(load_game("mandala_v0"), players, games, report=lambda match: pytest.fail("was played"))


def test_the_command_prints_the_tables_and_writes_the_files(tmp_path: Path, capsys: Capture) -> None:
    files = ["--json", str(tmp_path / "ladder.json"), "--html", str(tmp_path / "ladder.html")]
    main(["ladder", "random", "greedy=heuristic", "--games", "20", "--seed", "3", *files])
    captured = capsys.readouterr()
    expected = play_ladder(load_game("mandala_v0"), ["random", "greedy=heuristic"], 20, seed=3)
    assert captured.out == table(expected) + "\n"
    assert captured.err == f"random against greedy: {expected.matches[0].score:.1%}\n"
    assert json.loads((tmp_path / "ladder.json").read_text()) == json.loads(json.dumps(expected.to_dict()))
    assert "<h1>Ladder of mandala_v0</h1>" in (tmp_path / "ladder.html").read_text()


def test_the_command_plays_the_game_that_it_is_told(capsys: Capture) -> None:
    main(["ladder", "random", "heuristic", "--games", "12", "--game", "flowers_v0", "--option", "num_players=4"])
    assert len(capsys.readouterr().err.splitlines()) == 2  # each against copies of the other
