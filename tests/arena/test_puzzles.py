"""The small positions: they can be set up, their answers are legal, and play-outs agree that they are right."""

from pathlib import Path

import numpy as np
import pytest

from mandala_env import list_games, load_game, load_opponent
from mandala_env.arena.puzzles import Puzzle, load_puzzles, solve, table
from mandala_env.cli import main
from mandala_env.opponents.base import Opponent
from mandala_env.policies.checkpoint import save_checkpoint
from tests.arena.playouts import values_of_moves
from tests.sampling import make_network

PUZZLES = [(game_id, puzzle) for game_id in list_games() for puzzle in load_puzzles(game_id)]
NAMES = [f"{game_id}-{puzzle.name.replace(' ', '-')}" for game_id, puzzle in PUZZLES]
each_puzzle = pytest.mark.parametrize("puzzle", [puzzle for _, puzzle in PUZZLES], ids=NAMES)


class Knower(Opponent):
    """Plays the right move of a puzzle."""

    def __init__(self, puzzle: Puzzle, place: int = 0) -> None:
        super().__init__(puzzle.game)
        self.action = puzzle.game.actions.parse(puzzle.answers[place])

    def choose(self, observations: np.ndarray, action_masks: np.ndarray, pickers: np.ndarray) -> np.ndarray:
        return np.full(len(observations), self.action)


@pytest.mark.parametrize("game_id", list_games())
def test_every_game_has_twelve_with_names_of_their_own(game_id: str) -> None:
    puzzles = load_puzzles(game_id)
    assert len(puzzles) == len({puzzle.name for puzzle in puzzles}) == 12
    assert {puzzle.game.player(puzzle.game.from_position(puzzle.position)) for puzzle in puzzles} >= {0, 1}


@each_puzzle
def test_a_position_can_be_set_up_and_its_answers_are_some_of_several_legal_moves(puzzle: Puzzle) -> None:
    game = puzzle.game
    state = game.from_position(puzzle.position, seed=0)
    legal = {game.actions.text(action) for action in game.legal_actions(state)}
    assert puzzle.answers and set(puzzle.answers) < legal
    assert {**puzzle.position, "skipped": []} == {**game.position(state), "skipped": []}
    assert puzzle.why.endswith(".")


@each_puzzle
def test_who_makes_the_right_move_passes(puzzle: Puzzle) -> None:
    for place, answer in enumerate(puzzle.answers):
        assert puzzle.ask(Knower(puzzle, place)) == answer


def check_that_answers_are_best(puzzle: Puzzle, player: Opponent, playouts: int) -> None:
    """Every answer wins more than every other move, by far more than chance, when the player goes on from there."""
    num_moves = len(puzzle.game.legal_actions(puzzle.game.from_position(puzzle.position)))
    values = values_of_moves(puzzle.game, puzzle.position, player, playouts // num_moves, seed=1)
    others = [scores for move, scores in values.items() if move not in puzzle.answers]
    for answer in puzzle.answers:
        for other in others:
            gain = values[answer] - other  # in the same worlds
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            assert gain.mean() > 0.15 and gain.mean() > 5 * error


@pytest.mark.slow
@each_puzzle
def test_the_answers_score_higher_than_all_other_moves(puzzle: Puzzle) -> None:
    check_that_answers_are_best(puzzle, load_opponent("heuristic", puzzle.game), playouts=15_000)


@pytest.mark.slow
@pytest.mark.parametrize("puzzle", load_puzzles("mandala_v0"), ids=lambda puzzle: puzzle.name)
def test_a_trained_player_agrees_that_the_answers_of_mandala_score_higher(puzzle: Puzzle) -> None:
    folder = Path(__file__).resolve().parents[2] / "checkpoints" / "mandala_v0" / "small"
    judge = load_opponent(f"checkpoint:{folder},temperature=0.5", puzzle.game)
    check_that_answers_are_best(puzzle, judge, playouts=15_000)


def test_a_player_is_asked_with_what_its_seat_knows_only() -> None:
    puzzle, seen = load_puzzles("mandala_v0")[1], []

    class Looker(Knower):
        def choose(self, observations: np.ndarray, action_masks: np.ndarray, pickers: np.ndarray) -> np.ndarray:
            seen.append(observations[0].copy())
            return super().choose(observations, action_masks, pickers)

    puzzle.ask(Looker(puzzle))
    state = puzzle.game.from_position(puzzle.position)
    assert puzzle.game.player(state) == 1
    assert np.array_equal(seen[0], puzzle.game.observe(state, 1))


def test_moves_come_in_the_order_of_the_positions_and_are_counted() -> None:
    puzzles = load_puzzles("mandala_v0")
    moves = solve(puzzles, "heuristic")
    assert moves == [puzzle.ask(load_opponent("heuristic", puzzle.game, 1)) for puzzle in puzzles]
    passed = sum(move in puzzle.answers for move, puzzle in zip(moves, puzzles, strict=True))
    right = [puzzle.answers[0] for puzzle in puzzles]
    lines = table(puzzles, {"heuristic": moves, "knower": right, "absent": [None] * 12}).splitlines()
    assert len(lines) == 14
    assert lines[0].split() == ["heuristic", "knower", "absent", "right"]
    assert f"{passed} of 12" in lines[-1] and "12 of 12" in lines[-1]
    for line, puzzle, move in zip(lines[1:], puzzles, moves, strict=False):
        assert puzzle.name in line and line.endswith(" or ".join(puzzle.answers))
        assert ("pass" if move in puzzle.answers else str(move)) in line


def test_a_player_for_one_number_of_players_is_asked_where_it_can_play(tmp_path: Path) -> None:
    game = load_game("flowers_v0", num_players=3)
    save_checkpoint(tmp_path / "player", game, make_network(game), training={}, metrics={}, card="")
    puzzles = load_puzzles("flowers_v0")
    moves = solve(puzzles, f"checkpoint:{tmp_path / 'player'}")
    assert [move is not None for move in moves] == [puzzle.game.num_players == 3 for puzzle in puzzles]
    assert any(moves)
    with pytest.raises(ValueError, match="expected 'mandala_v0'"):
        solve(load_puzzles("mandala_v0"), f"checkpoint:{tmp_path / 'player'}")


def test_the_command_prints_who_passes_what(capsys: pytest.CaptureFixture[str]) -> None:
    main(["puzzles", "greedy=heuristic", "random", "--game", "flowers_v0", "--seed", "2"])
    puzzles = load_puzzles("flowers_v0")
    moves = {"greedy": solve(puzzles, "heuristic", 2), "random": solve(puzzles, "random", 2)}
    assert capsys.readouterr().out == table(puzzles, moves) + "\n"


def test_an_unknown_game_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown game 'chess'; the games are mandala_v0"):
        load_puzzles("chess")
