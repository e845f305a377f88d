"""Games that are played in browsers: each by itself, bounded in number, forgotten when nobody comes back."""

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mandala_env.core.game import Game, IllegalAction, State
from mandala_env.opponents.advice import advise
from mandala_env.opponents.base import Opponent
from mandala_env.pictures.svg import svg
from mandala_env.registry import load_picture
from mandala_env.transcript import Start, Transcript, skipped_in

YOU = "you"
MOST_SESSIONS = 200
IDLE_SECONDS = 2 * 60 * 60
LOG_LINES = 60  # of a game, that the page shows
MOST_CHOICES = 6  # of a policy, that the page shows


class Refused(Exception):
    """A request that cannot be met; nothing was changed. `status` is an HTTP status of 400 or more."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Session:
    """One game with a person on one seat, or with opponents only, to watch.

    seats     what sits on each seat: "you", or an opponent's name among `players`
    players   opponents by name; they are shared by all sessions, for they remember nothing
    adviser   who is asked what it would do
    thinking  held while an opponent of a session thinks: one at a time in the whole server
    """

    def __init__(
        self,
        game: Game,
        seats: Sequence[str],
        players: Mapping[str, Opponent],
        adviser: Opponent,
        thinking: threading.Lock,
    ) -> None:
        self.id = secrets.token_urlsafe(16)
        self.game, self.adviser, self.thinking = game, adviser, thinking
        self.seats, self.names = tuple(seats), told_apart(seats)
        self.seat = seats.index(YOU) if YOU in seats else None
        self.opponents = {seat: players[name] for seat, name in enumerate(seats) if name != YOU}
        self.start = Start(int(np.random.SeedSequence().entropy))  # type: ignore[arg-type]
        self.state: State = self.start.state(game)
        self.actions: list[int] = []
        self.log: list[dict[str, Any]] = []
        self.last: tuple[int, str] | None = None
        self.lock = threading.Lock()

    # --- what may be done -------------------------------------------------------------------------------------

    def move(self, number: int, text: str) -> None:
        """The person's move; `number` is how many moves were made before it, so none is made twice."""
        with self.lock:
            self.check_number(number)
            if self.game.is_over(self.state) or self.game.player(self.state) != self.seat:
                raise Refused(409, "it is not your turn")
            try:
                self.apply(self.game.actions.parse(text))
            except IllegalAction:
                raise Refused(400, f"{text!r} is not legal now") from None
            except ValueError as error:
                raise Refused(400, str(error)) from None

    def advance(self, number: int) -> None:
        """The next move of an opponent; `number` as for a move."""
        with self.lock:
            self.check_number(number)
            if self.game.is_over(self.state):
                raise Refused(409, "the game is over")
            player = self.game.player(self.state)
            if player == self.seat:
                raise Refused(409, "it is your turn")
            observation, mask = self.game.observe(self.state, player), self.game.action_mask(self.state)
            with self.thinking:
                action = int(self.opponents[player].act(observation[None], mask[None])[0])
            self.apply(action)

    def check_number(self, number: int) -> None:
        """Refuse what was meant for another moment of the game."""
        if number != len(self.actions):
            raise Refused(409, f"{len(self.actions)} moves were made, not {number}: load the game again")

    def apply(self, action: int) -> None:
        """Carry out an action and write it down; raises IllegalAction."""
        player, turn = self.game.player(self.state), int(self.state.turn)
        self.game.apply(self.state, action)
        self.actions.append(action)
        self.last = player, self.game.actions.text(action)
        self.log.append({"turn": turn + 1, "player": player, "text": self.last[1]})
        if self.state.turn != turn:
            self.log += [{"turn": turn + 1, "player": seat, "text": "skipped"} for seat in skipped_in(self.state)]

    # --- what is shown ----------------------------------------------------------------------------------------

    def view(self, width: int) -> dict[str, Any]:
        """All that the person may see, as plain data; who only watches sees everything."""
        with self.lock:
            game, is_over = self.game, self.game.is_over(self.state)
            player = game.player(self.state)
            is_yours = player == self.seat and not is_over
            parts = load_picture(game.id).parts
            texts = [game.actions.text(action) for action in game.legal_actions(self.state)] if is_yours else []
            return {
                "id": self.id,
                "game": game.id,
                "seats": self.seats,
                "names": self.names,
                "seat": self.seat,
                "number": len(self.actions),
                "turn": int(self.state.turn) + 1,
                "player": player,
                "is_yours": is_yours,
                "is_over": is_over,
                "legal": [{"text": text, "parts": parts(text)} for text in texts],
                "svg": svg(game.seen(self.state, self.seat), names=self.names, last=self.last, width=width),
                "log": self.log[-LOG_LINES:],
                "result": self.result() if is_over else None,
            }

    def result(self) -> dict[str, Any]:
        """The points of all seats and who has won; several if they share it."""
        payoffs = self.game.payoffs(self.state)
        best = max(payoffs)
        winners = [seat for seat, payoff in enumerate(payoffs) if payoff == best]
        return {"scores": self.game.scores(self.state), "winners": winners}

    def advice(self) -> dict[str, Any]:
        """What the adviser would do in the place of the player to decide: the person, or in a watched game anybody."""
        with self.lock:
            if self.game.is_over(self.state):
                raise Refused(409, "the game is over")
            if self.seat is not None and self.game.player(self.state) != self.seat:
                raise Refused(409, "it is not your turn")
            with self.thinking:
                advice = advise(self.adviser, self.state)
            texts = self.game.actions.text
            choices = [[texts(action), chance, False] for action, chance in advice.choices[:MOST_CHOICES]]
            return {"player": self.names[self.game.player(self.state)], "value": advice.value, "choices": choices}

    def transcript(self) -> str:
        """The game as text; with its seed it tells all cards, so a person gets it when the game is over."""
        with self.lock:
            if self.seat is not None and not self.game.is_over(self.state):
                raise Refused(409, "the transcript tells the hidden cards: it is given when the game is over")
            return Transcript(self.game, self.start, self.names, tuple(self.actions)).text()


def told_apart(names: Sequence[str]) -> tuple[str, ...]:
    """The names, with the seat behind those that are there more than once."""
    return tuple(f"{name} {seat}" if names.count(name) > 1 else name for seat, name in enumerate(names))


class Sessions:
    """All games of a server."""

    def __init__(
        self,
        most: int = MOST_SESSIONS,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most, self.idle_seconds, self.clock = most, idle_seconds, clock
        self._lock = threading.Lock()
        self._games: dict[str, tuple[Session, float]] = {}  # with the time of the last visit

    def __len__(self) -> int:
        """How many games there are, those to be forgotten included."""
        return len(self._games)

    def add(self, session: Session) -> None:
        """Keep a new game; refused when there are too many that somebody may come back to."""
        with self._lock:
            self._forget()
            if len(self._games) >= self.most:
                raise Refused(503, f"{self.most} games are open; come back later")
            self._games[session.id] = session, self.clock()

    def get(self, session_id: str) -> Session:
        """A game by its id."""
        with self._lock:
            self._forget()
            if session_id not in self._games:
                raise Refused(404, "there is no such game; it may have been forgotten")
            session, _ = self._games[session_id]
            self._games[session_id] = session, self.clock()
            return session

    def _forget(self) -> None:
        """Drop the games that nobody has visited for long."""
        oldest = self.clock() - self.idle_seconds
        self._games = {key: value for key, value in self._games.items() if value[1] >= oldest}
