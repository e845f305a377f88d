"""The ladder: everybody meets everybody on the same deals; ratings, the matrix of scores, and whom each fears most."""

import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from itertools import combinations, permutations

import numpy as np

from mandala_env.arena.match import Match, check_games, play_match, shorten
from mandala_env.arena.ratings import Rating, rate
from mandala_env.arena.workers import carry_out
from mandala_env.core.game import Game
from mandala_env.opponents.base import load_opponent

Report = Callable[[Match], None]


@dataclass(frozen=True)
class Entrant:
    """A player of the ladder: how it is called and the spec it is loaded by."""

    name: str
    spec: str


@dataclass(frozen=True)
class Ladder:
    """The result.

    games     of each match; with two players a match is both players', with more each has one against copies of each
    entrants  by falling rating; all that follows is in this order
    scores    (K, K) nested: the row's share of the win against the column (copies of it); None on the diagonal
    matches   that were played, under the entrants' names
    """

    game: str
    options: dict
    games: int
    seed: int
    entrants: tuple[Entrant, ...]
    ratings: tuple[Rating, ...]
    scores: tuple[tuple[float | None, ...], ...]
    matches: tuple[Match, ...]

    def worst(self, row: int) -> int:
        """Against whom a player has its lowest score; the stronger of equals."""
        return min((score, column) for column, score in enumerate(self.scores[row]) if score is not None)[1]

    def to_dict(self) -> dict:
        """The result as plain data for JSON."""
        names = [entrant.name for entrant in self.entrants]
        players = [
            {**asdict(entrant), "rating": rating.elo, "interval": rating.interval, "worst": names[self.worst(row)]}
            for row, (entrant, rating) in enumerate(zip(self.entrants, self.ratings, strict=True))
        ]
        return {
            "game": self.game,
            "options": self.options,
            "games": self.games,
            "seed": self.seed,
            "players": players,
            "scores": self.scores,
            "matches": [match.to_dict() for match in self.matches],
        }


def read_entrants(texts: Iterable[str]) -> list[Entrant]:
    """Players written as SPEC or NAME=SPEC; raises ValueError if two have one name.

    What stands before the first "=" is a name unless it has one of : , / \\ in it, as in "search:simulations=200".
    """
    entrants = []
    for text in texts:
        named = re.fullmatch(r"([^:,/\\=]+)=(.+)", text, re.DOTALL)
        entrants.append(Entrant(named[1], named[2]) if named else Entrant(text, text))
    names = [entrant.name for entrant in entrants]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"two players are called {twice[0]!r}; write NAME=SPEC to tell them apart")
    return entrants


def play_ladder(
    game: Game,
    players: Sequence[str],
    games: int,
    seed: int = 1,
    executor: Executor | None = None,
    report: Report | None = None,
) -> Ladder:
    """Play all pairs and rate everybody.

    players   two or more, each SPEC or NAME=SPEC; one whose spec is "random" has rating 0, else the mean is 0
    games     of each match, a multiple of the game's players; all matches are played on the same deals
    executor  carries out the matches, side by side; it changes nothing but the time it takes
    report    called after each match
    """
    entrants = read_entrants(players)
    if len(entrants) < 2:
        raise ValueError(f"a ladder needs two or more players, not {len(entrants)}")
    check_games(games, game)
    loaded = [load_opponent(entrant.spec, game, seed) for entrant in entrants]  # what is wrong is said before any play
    pairs = list((combinations if game.num_players == 2 else permutations)(range(len(entrants)), 2))
    players_of = loaded if executor is None else [entrant.spec for entrant in entrants]  # loaded where they play
    rows = [(game, players_of[one], players_of[two], games, seed) for one, two in pairs]
    matches: list[Match] = []
    for (one, two), match in zip(pairs, carry_out(executor, play_match, rows), strict=True):
        matches.append(match.between(entrants[one].name, entrants[two].name))
        if report:
            report(matches[-1])
    return conclude(game, entrants, np.array(pairs), matches)


def conclude(game: Game, entrants: list[Entrant], pairs: np.ndarray, matches: list[Match]) -> Ladder:
    """Rate the players and put them in order."""
    anchor = next((row for row, entrant in enumerate(entrants) if entrant.spec == "random"), None)
    ratings = rate(pairs, np.array([match.deal_scores for match in matches]), game.num_players, anchor)
    scores: dict[tuple[int, int], float] = {}
    for (one, two), match in zip(pairs.tolist(), matches, strict=True):
        scores[one, two] = match.score
        if game.num_players == 2:
            scores[two, one] = 1 - match.score
    order = sorted(range(len(entrants)), key=lambda row: (-ratings[row].elo, row))
    return Ladder(
        game=game.id,
        options=dict(game.options),
        games=matches[0].games,
        seed=matches[0].seed,
        entrants=tuple(entrants[row] for row in order),
        ratings=tuple(ratings[row] for row in order),
        scores=tuple(tuple(scores.get((row, column)) for column in order) for row in order),
        matches=tuple(matches),
    )


def table(ladder: Ladder) -> str:
    """The ratings and the matrix of scores as text."""
    names = [shorten(entrant.name) for entrant in ladder.entrants]
    width = max(len("player"), *map(len, names))
    lines = [f"   {'player':<{width}}  rating  95% interval     worst against"]
    for row, (name, rating) in enumerate(zip(names, ladder.ratings, strict=True)):
        low, high = rating.interval
        worst = ladder.worst(row)
        lines.append(
            f"{row + 1:>2} {name:<{width}}  {rating.elo:>6.0f}  {low:>6.0f}..{high:<6.0f}   "
            f"{names[worst]} ({ladder.scores[row][worst]:.1%})"
        )
    lines += ["", f"   {'score against':<{width}}" + "".join(f"{row + 1:>8}" for row in range(len(names)))]
    for row, name in enumerate(names):
        cells = ("-" if score is None else f"{score:.1%}" for score in ladder.scores[row])
        lines.append(f"{row + 1:>2} {name:<{width}}" + "".join(f"{cell:>8}" for cell in cells))
    return "\n".join(lines)
