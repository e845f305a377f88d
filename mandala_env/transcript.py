"""A game as a small readable text that replays exactly: how it began and every action.

    mandala transcript 1
    game: flowers_v0
    options: {"num_players": 3}
    seed: 7
    players: ["heuristic", "random", "you"]
    1 player_0: play 0 red 1
    # player_1 is skipped
    3 player_2: play 0 green 2
    score: 12 9 14

A game that did not begin with a seed has `generator:` instead, where its random numbers stood, and one that was set up
has its `position:` besides. The number before a move is its turn. `score:` ends a game that was played to the end.
Reading a transcript replays it: a line that does not fit the rules is refused with its number. Nothing is executed.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mandala_env.core.batch import Batch
from mandala_env.core.game import Game, IllegalAction, State
from mandala_env.files import read_file
from mandala_env.registry import list_games, load_game

FIRST_LINE = "mandala transcript 1"
LARGEST_FILE = 2**21  # bytes: some 60,000 moves
LONGEST_LINE = 2**14
LONGEST_NAME = 200
MOVE = re.compile(r"(\d{1,6}) player_(\d{1,2}): ([a-z0-9 ]{1,60})")
HEADER = re.compile(r"(\w{1,20}): ?(.*)")
KEYS = ("game", "options", "seed", "generator", "position", "players")


class TranscriptError(ValueError):
    """A text that is not a transcript of a game; the message names the line and what was expected."""


@dataclass(frozen=True)
class Start:
    """How a game began.

    seed       the seed that it was dealt by, or its position set up with; None if there was none
    generator  without a seed: where its random numbers stood, before the deal or in the position
    position   the position that it was set up with; None if it was dealt
    """

    seed: int | None = None
    generator: int = 0
    position: dict | None = None

    def state(self, game: Game) -> State:
        """The game as it began; raises ValueError if it cannot have begun so."""
        if self.position is not None:
            state = game.from_position(self.position, self.seed)
            if self.seed is None:
                state.generator = np.uint64(self.generator)
            return state
        if self.seed is not None:
            return game.deal(self.seed)
        return game.copy(Batch(game, 1, seeds=np.array([self.generator], np.uint64)).states[0])


@dataclass(frozen=True)
class Moment:
    """A game between two actions.

    state    the state; one of its own
    last     what led here as (player, action text); None at the start
    skipped  the players whose turns the engine skipped since then
    """

    state: State
    last: tuple[int, str] | None = None
    skipped: tuple[int, ...] = ()


@dataclass(frozen=True)
class Transcript:
    """A game that was played, to its end or not.

    players  what the players are called, by seat
    actions  the ids of all actions
    note     how a game ended that the rules did not end, in words; not read back
    """

    game: Game
    start: Start
    players: tuple[str, ...]
    actions: tuple[int, ...] = field(repr=False)
    note: str = field(default="", compare=False)

    def moments(self) -> Iterator[Moment]:
        """The game from its start to where it stands, one moment more than it has actions."""
        state = self.start.state(self.game)
        yield Moment(self.game.copy(state), skipped=skipped_in(state))
        for action in self.actions:
            player = self.game.player(state)
            self.game.apply(state, action)
            yield Moment(self.game.copy(state), (player, self.game.actions.text(action)), skipped_in(state))

    def text(self) -> str:
        """The transcript as it is kept in a file."""
        start: dict[str, Any] = (
            {"seed": self.start.seed} if self.start.seed is not None else {"generator": self.start.generator}
        )
        if self.start.position is not None:
            start["position"] = compact(self.start.position)
        lines = [FIRST_LINE, f"game: {self.game.id}", f"options: {compact(dict(self.game.options))}"]
        lines += [f"{key}: {value}" for key, value in start.items()]
        lines.append(f"players: {compact([as_name(name) for name in self.players])}")
        turn, state = 0, None
        for moment in self.moments():
            state = moment.state
            if moment.last is not None:
                lines.append(f"{turn + 1} player_{moment.last[0]}: {moment.last[1]}")
            if moment.last is None or state.turn != turn:  # no note twice: a pick belongs to the same turn
                lines += [f"# player_{seat} is skipped" for seat in moment.skipped]
            turn = int(state.turn)
        if self.game.is_over(state):
            lines.append(f"score: {' '.join(map(str, self.game.scores(state)))}")
        lines += [f"# {line}" for line in self.note.splitlines()]
        return "\n".join(lines) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the text to a file."""
        Path(path).write_text(self.text(), encoding="utf-8")


def compact(value: Any) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=True)


def as_name(text: str) -> str:
    """A player's name as transcripts have it: not too long, and of characters that can be shown and sent."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:LONGEST_NAME])


def skipped_in(state: State) -> tuple[int, ...]:
    """The players whose turns were skipped just before this one, in turn order; a game may have no such thing."""
    if "skipped" not in (state.dtype.names or ()):
        return ()
    seats = len(state.skipped)
    order = [(int(state.player) + turn) % seats for turn in range(seats)]
    return tuple(seat for seat in order if state.skipped[seat])


def read_transcript(path: str | Path) -> Transcript:
    """The transcript in a file; raises TranscriptError, a ValueError, if it is none, and OSError if it is not there."""
    try:
        content = read_file(Path(path), LARGEST_FILE)
    except ValueError as error:
        raise TranscriptError(f"{error}: this is no transcript") from None
    return parse_transcript(content, str(path))


def parse_transcript(content: str | bytes, name: str = "transcript") -> Transcript:
    """The transcript that a text holds, replayed to see that it is one; `name` is what error messages call it."""
    if len(content) > LARGEST_FILE:
        raise TranscriptError(f"{name}: larger than {LARGEST_FILE} bytes: this is no transcript")
    if isinstance(content, bytes):
        try:
            content = content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise TranscriptError(f"{name}, line {line}: this is no text in UTF-8") from None
    return _Reading(name).read(content)


class _Reading:
    """A transcript that is being read, line by line."""

    def __init__(self, name: str) -> None:
        self.name, self.number = name, 0
        self.header: dict[str, tuple[int, str]] = {}
        self.transcript: Transcript | None = None
        self.state: State = None
        self.actions: list[int] = []
        self.has_score = False

    def wrong(self, message: str, number: int | None = None) -> TranscriptError:
        return TranscriptError(f"{self.name}, line {self.number if number is None else number}: {message}")

    def read(self, text: str) -> Transcript:
        lines = text.split("\n")
        self.number = 1
        if lines[0].strip() != FIRST_LINE:
            raise self.wrong(f"expected {FIRST_LINE!r}, not {lines[0][:60]!r}")
        for self.number, line in enumerate(lines[1:], start=2):
            if len(line) > LONGEST_LINE:
                raise self.wrong(f"longer than {LONGEST_LINE} characters")
            line = line.strip()
            if line and not line.startswith("#"):
                self.read_line(line)
        begun = self.begin()
        return Transcript(begun.game, begun.start, begun.players, tuple(self.actions))

    def read_line(self, line: str) -> None:
        if self.has_score:
            raise self.wrong(f"expected nothing after the score, not {line[:60]!r}")
        if move := MOVE.fullmatch(line):
            self.read_move(int(move[1]), int(move[2]), move[3])
        elif line.startswith("score:"):
            self.read_score(line.removeprefix("score:"))
        elif self.transcript is None and (entry := HEADER.fullmatch(line)) and entry[1] in KEYS:
            if entry[1] in self.header:
                raise self.wrong(f"{entry[1]} is there twice")
            self.header[entry[1]] = self.number, entry[2]
        elif self.transcript is None:
            raise self.wrong(f"expected one of {', '.join(KEYS)}, or a move, not {line[:60]!r}")
        else:
            raise self.wrong(f"expected a move such as '3 player_0: ...' or the score, not {line[:60]!r}")

    # --- the header -------------------------------------------------------------------------------------------

    def begin(self) -> Transcript:
        """What the header says, once it is complete; sets up the game."""
        if self.transcript is None:
            game = self.read_game()
            self.transcript = Transcript(game, self.read_start(), self.read_players(game), ())
            number = self.header.get("position", self.header.get("seed", (self.number, "")))[0]
            try:
                self.state = self.transcript.start.state(game)
            except ValueError as error:
                raise self.wrong(str(error), number) from None
        return self.transcript

    def entry(self, key: str) -> Any:
        """A JSON value of the header; None if it is not there."""
        if key not in self.header:
            return None
        number, text = self.header[key]
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise self.wrong(f"{key}: expected JSON, not {text[:60]!r}", number) from None

    def read_game(self) -> Game:
        if "game" not in self.header:
            raise self.wrong("the header does not say which game: expected a line such as 'game: mandala_v0'")
        number, game_id = self.header["game"]
        if game_id not in list_games():
            raise self.wrong(f"unknown game {game_id[:60]!r}; the games are {', '.join(list_games())}", number)
        options = self.entry("options") if "options" in self.header else {}
        number = self.header.get("options", (number, ""))[0]
        if not isinstance(options, dict):
            raise self.wrong(f"options: expected an object, not {str(options)[:60]}", number)
        try:
            game: Game = load_game(game_id, **options)
        except (ValueError, TypeError) as error:  # TypeError: such as a list where a game wants a word
            raise self.wrong(f"options: {error}", number) from None
        return game

    def read_start(self) -> Start:
        if ("seed" in self.header) == ("generator" in self.header):
            raise self.wrong("expected either a seed or a generator in the header")
        key, highest = ("seed", 2**128) if "seed" in self.header else ("generator", 2**64 - 1)
        value = self.entry(key)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= highest:
            raise self.wrong(f"{key}: expected a whole number from 0 to {highest}", self.header[key][0])
        position = self.entry("position")
        if "position" in self.header and not isinstance(position, dict):
            raise self.wrong("position: expected an object", self.header["position"][0])
        return Start(value, 0, position) if key == "seed" else Start(None, value, position)

    def read_players(self, game: Game) -> tuple[str, ...]:
        names = self.entry("players") if "players" in self.header else [f"player {i}" for i in range(game.num_players)]
        is_list = isinstance(names, list) and len(names) == game.num_players
        if not is_list or not all(isinstance(name, str) and name == as_name(name) for name in names):
            raise self.wrong(f"players: expected a list of {game.num_players} names", self.header["players"][0])
        return tuple(names)

    # --- the moves --------------------------------------------------------------------------------------------

    def read_move(self, turn: int, player: int, text: str) -> None:
        game = self.begin().game
        if game.is_over(self.state):
            raise self.wrong("the game is over before this move")
        if (turn, player) != (self.state.turn + 1, self.state.player):
            raise self.wrong(f"expected turn {self.state.turn + 1} and player_{self.state.player} here")
        try:
            action = game.actions.parse(text)
            game.apply(self.state, action)
        except IllegalAction:
            raise self.wrong(f"{text!r} is not legal here") from None
        except ValueError as error:
            raise self.wrong(str(error)) from None
        self.actions.append(action)

    def read_score(self, text: str) -> None:
        game = self.begin().game
        if not game.is_over(self.state):
            raise self.wrong("there is a score, but the game is not over")
        expected = " ".join(map(str, game.scores(self.state)))
        if text.split() != expected.split():
            raise self.wrong(f"the score of this game is {expected}, not {text.strip()[:60]}")
        self.has_score = True
