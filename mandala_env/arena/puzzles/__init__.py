"""Small positions with the moves that good play finds: a quick look at what a player understands.

They are in the JSON files beside this one, a list for each game:

    name      what it is about
    why       one sentence: why the answers are right
    options   the game's rule options
    position  see `Game.from_position`
    answers   the right moves, as action text; every other legal move is clearly worse
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from mandala_env.arena.match import shorten
from mandala_env.core.game import Game
from mandala_env.opponents.base import Opponent, load_opponent
from mandala_env.registry import list_games, load_game


@dataclass(frozen=True)
class Puzzle:
    """A position and its right moves; see the module."""

    name: str
    why: str
    game: Game
    position: dict
    answers: tuple[str, ...]

    def ask(self, player: Opponent) -> str:
        """The move that a player makes, as action text; it sees what the player to move knows."""
        state: Any = self.game.from_position(self.position, seed=0)
        obs, mask = self.game.observe(state, self.game.player(state)), self.game.action_mask(state)
        return self.game.actions.text(int(player.act(obs[None], mask[None])[0]))


def load_puzzles(game_id: str) -> list[Puzzle]:
    """The positions of a game."""
    if game_id not in list_games():
        raise ValueError(f"unknown game {game_id!r}; the games are {', '.join(list_games())}")
    items = json.loads((files(__name__) / f"{game_id}.json").read_text(encoding="utf-8"))
    return [
        Puzzle(
            item["name"],
            item["why"],
            load_game(game_id, **item["options"]),
            item["position"],
            tuple(item["answers"]),
        )
        for item in items
    ]


def solve(puzzles: Sequence[Puzzle], spec: str, seed: int = 1) -> list[str | None]:
    """The move that a player makes in each position; None where it cannot play that form of the game.

    A checkpoint of Flowers plays with one number of players. Raises ValueError if a player can play none of them.
    """
    players: dict[Game, Opponent | ValueError] = {}
    for game in {puzzle.game: None for puzzle in puzzles}:
        try:
            players[game] = load_opponent(spec, game, seed)
        except ValueError as error:
            players[game] = error
    found = [player for player in players.values() if isinstance(player, Opponent)]
    if not found:
        raise next(error for error in players.values() if isinstance(error, ValueError))
    moves: list[str | None] = []
    for puzzle in puzzles:
        player = players[puzzle.game]
        moves.append(puzzle.ask(player) if isinstance(player, Opponent) else None)
    return moves


def table(puzzles: Sequence[Puzzle], moves: Mapping[str, Sequence[str | None]]) -> str:
    """Who passes what, a row for each position and a column for each player; a failure shows the move that was made."""
    names = [shorten(name, 24) for name in moves]
    cells = [
        ["-" if move is None else "pass" if move in puzzle.answers else move for move in row]
        for puzzle, row in zip(puzzles, zip(*moves.values(), strict=True), strict=True)
    ]
    widths = [max(len(name), *(len(row[column]) for row in cells)) for column, name in enumerate(names)]
    first = max(len(puzzle.name) for puzzle in puzzles) + 3
    answers = [" or ".join(puzzle.answers) for puzzle in puzzles]
    lines = ["  ".join([" " * first, *(f"{name:<{w}}" for name, w in zip(names, widths, strict=True)), "right"])]
    for number, (puzzle, row, answer) in enumerate(zip(puzzles, cells, answers, strict=True), start=1):
        words = (f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True))
        lines.append("  ".join([f"{f'{number:>2} {puzzle.name}':<{first}}", *words, answer]))
    sums = [f"{sum(row[column] == 'pass' for row in cells)} of {len(cells)}" for column in range(len(names))]
    total = (f"{text:<{w}}" for text, w in zip(sums, widths, strict=True))
    return "\n".join([*lines, "  ".join([" " * first, *total]).rstrip()])
