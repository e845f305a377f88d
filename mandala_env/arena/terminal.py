"""A person plays in a terminal."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mandala_env.core.game import Game, State
from mandala_env.opponents.advice import advise
from mandala_env.opponents.base import Opponent, load_opponent
from mandala_env.transcript import Start, Transcript, skipped_in

HELP = """\
a number or an action ("grow 1 green 2")  plays it
list   the legal actions with their numbers
table  the table again
hint   what your adviser would do
quit   leave; nothing can be taken back"""
COLUMNS, COLUMN_WIDTH = 4, 24
MOST_HINTS = 5


def rivals_of(game: Game, specs: Sequence[str], seat: int) -> tuple[dict[int, Opponent], tuple[str, ...]]:
    """Opponents for all seats but one, and what everybody is called.

    specs  one for all of them, or one for each in the order of their seats
    """
    game.check_seat(seat)
    others = [other for other in range(game.num_players) if other != seat]
    if len(specs) not in (1, len(others)):
        raise ValueError(f"expected one opponent for all seats or {len(others)} of them, not {len(specs)}")
    chosen = dict(zip(others, specs if len(specs) > 1 else [*specs] * len(others), strict=True))
    loaded = {spec: load_opponent(spec, game) for spec in dict.fromkeys(chosen.values())}
    names = tuple(chosen.get(player, "you") for player in range(game.num_players))
    return {player: loaded[spec] for player, spec in chosen.items()}, names


class Quit(Exception):
    """The person has left."""


class Table:
    """A game between a person and opponents.

    opponents  for every seat but the person's
    adviser    who answers to "hint"
    read       asks for a line; raises EOFError when there is none
    write      shows a line
    """

    def __init__(
        self,
        game: Game,
        opponents: Mapping[int, Opponent],
        names: tuple[str, ...],
        seed: int | None = None,
        *,
        adviser: Opponent | None = None,
        read: Callable[[str], str],
        write: Callable[[str], None],
    ) -> None:
        self.game, self.opponents, self.names, self.adviser = game, opponents, names, adviser
        self.read, self.write = read, write
        people = [seat for seat in range(game.num_players) if seat not in opponents]
        if len(people) != 1:
            raise ValueError(f"expected an opponent for every seat but one, not for {sorted(opponents)}")
        self.seat = people[0]
        self.start = Start(int(np.random.SeedSequence().entropy) if seed is None else seed)  # type: ignore[arg-type]
        self.state: State = self.start.state(game)
        self.actions: list[int] = []

    def play(self) -> Transcript:
        """Play to the end, or until the person leaves; returns the game so far."""
        self.write(f"You are player {self.seat}. 'help' says what can be typed.\n")
        try:
            while not self.game.is_over(self.state):
                player = self.game.player(self.state)
                self.apply(self.ask() if player == self.seat else self.ask_opponent(player))
            self.show_end()
        except Quit:
            self.write("The game is not finished.")
        return Transcript(self.game, self.start, self.names, tuple(self.actions))

    def ask_opponent(self, player: int) -> int:
        """The action of an opponent."""
        observation, mask = self.game.observe(self.state, player), self.game.action_mask(self.state)
        return int(self.opponents[player].act(observation[None], mask[None])[0])

    def apply(self, action: int) -> None:
        """Carry out an action and say so."""
        player = self.game.player(self.state)
        self.game.apply(self.state, action)
        self.actions.append(action)
        who = "you" if player == self.seat else f"player {player} ({self.names[player]})"
        self.write(f"* {who}: {self.game.actions.text(action)}")
        for seat in skipped_in(self.state):
            self.write(f"* player {seat} cannot play and is skipped")

    def ask(self) -> int:
        """The action that the person chooses."""
        legal = self.game.legal_actions(self.state)
        self.write("\n" + self.game.render(self.state, self.seat))
        self.write(numbered([self.game.actions.text(action) for action in legal]))
        while True:
            try:
                line = self.read("your move: ").strip().lower()
            except EOFError:
                raise Quit from None
            action = self.answer(line, legal)
            if action is not None:
                return action

    def answer(self, line: str, legal: list[int]) -> int | None:
        """The action that a line means; None if it was something else, which is done or explained."""
        if line in ("quit", "exit"):
            raise Quit
        shown = {
            "": lambda: HELP,
            "help": lambda: HELP,
            "?": lambda: HELP,
            "hint": self.hint,
            "list": lambda: numbered([self.game.actions.text(action) for action in legal]),
            "table": lambda: self.game.render(self.state, self.seat),
        }
        if line in shown:
            self.write(shown[line]())
            return None
        if line.isascii() and line.isdigit():
            if 1 <= int(line[:9]) <= len(legal) and len(line) < 9:
                return legal[int(line) - 1]
            self.write(f"expected a number from 1 to {len(legal)}, not {line[:20]}")
            return None
        try:
            action = self.game.actions.parse(line)
        except ValueError as error:
            self.write(f"{error}")
            return None
        if action in legal:
            return action
        self.write(f"{self.game.actions.text(action)!r} is not legal now; 'list' shows what is")
        return None

    def hint(self) -> str:
        """What the adviser would do."""
        if self.adviser is None:
            return "there is nobody to ask; start with --hints OPPONENT"
        advice = advise(self.adviser, self.state)
        shares = ", ".join(
            f"{self.game.actions.text(action)} ({chance:.0%})" for action, chance in advice.choices[:MOST_HINTS]
        )
        return f"hint: {shares}" + ("" if advice.value is None else f"; expects {advice.value:+.2f} for you")

    def show_end(self) -> None:
        """The table and who has won."""
        self.write("\n" + self.game.render(self.state))
        payoff = self.game.payoffs(self.state)[self.seat]
        shared = sum(other > 0 for other in self.game.payoffs(self.state)) > 1
        result = "You have lost." if payoff < 0 else "You have won." if payoff > 0 and not shared else "A draw."
        scores = " - ".join(map(str, self.game.scores(self.state)))
        self.write(f"\n{result} {scores}")


def numbered(texts: list[str]) -> str:
    """Actions with their numbers from 1, in columns that are read downwards."""
    rows = -(-len(texts) // COLUMNS)
    cells = [f"{number:>3} {text}" for number, text in enumerate(texts, start=1)]
    return "\n".join("".join(f"{cell:<{COLUMN_WIDTH}}" for cell in cells[row::rows]).rstrip() for row in range(rows))
