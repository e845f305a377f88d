"""A person in the terminal: whole games by scripted input, hints, and clear answers to what is no move."""

from collections.abc import Iterable
from typing import Any

import pytest

from mandala_env import load_game, load_opponent
from mandala_env.arena.terminal import Table, numbered, rivals_of
from mandala_env.opponents.base import Opponent
from mandala_env.transcript import parse_transcript
from tests.contract.playing import same
from tests.sampling import make_network


class Person:
    """Types lines and reads what is written."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines, self.shown = iter(lines), []

    def read(self, prompt: str) -> str:
        """The next line, and an end of the input after the last."""
        try:
            return next(self.lines)
        except StopIteration:
            raise EOFError from None

    def write(self, text: str) -> None:
        """Remember what is shown."""
        self.shown.append(text)

    @property
    def text(self) -> str:
        """All that was shown."""
        return "\n".join(self.shown)


def sit(game: Any, lines: Iterable[str], seat: int = 0, adviser: Opponent | None = None) -> tuple[Table, Person]:
    """A table with a person and heuristics."""
    person = Person(lines)
    opponents, names = rivals_of(game, ["heuristic"], seat)
    return Table(game, opponents, names, 3, adviser=adviser, read=person.read, write=person.write), person


def ones() -> Iterable[str]:
    """Always the first legal action."""
    while True:
        yield "1"


@pytest.mark.parametrize(
    ("game_id", "options", "seat"),
    [("mandala_v0", {}, 0), ("mandala_v0", {}, 1), ("flowers_v0", {"num_players": 3}, 2), ("flowers_v0", {}, 0)],
)
def test_a_whole_game_is_played_by_numbers_and_replays(game_id: str, options: dict, seat: int) -> None:
    game = load_game(game_id, **options)
    table, person = sit(game, ones(), seat)
    transcript = table.play()
    assert game.is_over(table.state)
    assert transcript.players[seat] == "you" and transcript.players.count("heuristic") == game.num_players - 1
    assert same(list(parse_transcript(transcript.text()).moments())[-1].state, table.state)
    result = {True: "You have lost.", False: "You have won."}[game.payoffs(table.state)[seat] < 0]
    assert result in person.shown[-1]
    assert " - ".join(map(str, game.scores(table.state))) in person.shown[-1]


def test_a_person_sees_the_own_seat_only() -> None:
    game = load_game("mandala_v0")
    table, person = sit(game, [], seat=1)
    table.play()
    assert game.render(table.state, 1) in person.text
    assert "player 0 (heuristic): " in person.text and game.render(table.state) not in person.text


def test_an_action_can_be_typed_as_text() -> None:
    game = load_game("mandala_v0")
    table, person = sit(game, ["  Build  0 RED"])
    transcript = table.play()
    assert game.actions.text(transcript.actions[0]) == "build 0 red"
    assert "* you: build 0 red" in person.text and "not finished" in person.text


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("build 0 blue", "'build 0 blue' is not an action"),
        ("claim red", "'claim red' is not legal now"),
        ("0", "expected a number from 1 to"),
        ("9999999999999", "expected a number from 1 to"),
        ("undo", "'undo' is not an action"),
        ("help", "nothing can be taken back"),
        ("", "hint   what your adviser would do"),
        ("hint", "there is nobody to ask"),
    ],
)
def test_what_is_no_move_is_explained_and_changes_nothing(line: str, answer: str) -> None:
    game = load_game("mandala_v0")
    table, person = sit(game, [line])
    before = game.copy(table.state)
    assert table.play().actions == ()
    assert answer in person.text
    assert same(before, table.state)


def test_a_hint_is_what_the_adviser_would_do() -> None:
    game = load_game("mandala_v0")
    heuristic = load_opponent("heuristic", game)
    table, person = sit(game, ["hint"], adviser=heuristic)
    table.play()
    action = heuristic.act(game.observe(table.state, 0)[None], game.action_mask(table.state)[None])[0]
    assert f"hint: {game.actions.text(int(action))} (100%)" in person.text


def test_a_network_says_how_likely_and_what_it_expects() -> None:
    from mandala_env.opponents.checkpoint import NetworkOpponent

    game = load_game("mandala_v0")
    table, person = sit(game, ["hint", "quit"], adviser=NetworkOpponent(game, 0, make_network(game)))
    table.play()
    hint = next(text for text in person.shown if text.startswith("hint: "))
    assert hint.count("%") == 5 and hint.endswith("for you")


def test_opponents_are_one_for_all_seats_or_one_for_each() -> None:
    game = load_game("flowers_v0", num_players=4)
    opponents, names = rivals_of(game, ["random", "heuristic", "random"], 1)
    assert names == ("random", "you", "heuristic", "random")
    assert opponents[0] is opponents[3]
    with pytest.raises(ValueError, match="expected one opponent for all seats or 3 of them, not 2"):
        rivals_of(game, ["random", "random"], 0)
    with pytest.raises(ValueError, match="player must be a seat from 0 to 3, not 4"):
        rivals_of(game, ["random"], 4)


def test_numbers_run_down_the_columns() -> None:
    lines = numbered([f"action {number}" for number in range(1, 10)]).splitlines()
    assert len(lines) == 3
    assert lines[0].split()[:3] == ["1", "action", "1"] and lines[0].split()[3:6] == ["4", "action", "4"]
