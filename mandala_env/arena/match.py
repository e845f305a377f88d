"""Matches on paired deals: every deal is played once from each seat, and intervals are taken over deals."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mandala_env.arena.workers import carry_out
from mandala_env.core.batch import Batch
from mandala_env.core.game import Game
from mandala_env.core.rng import spread_seeds
from mandala_env.opponents.base import Opponent, load_opponent
from mandala_env.registry import load_game
from mandala_env.transcript import Start, Transcript

CONFIDENCE = 1.959964  # standard deviations of a two-sided 95% interval


@dataclass(frozen=True)
class Tally:
    """How often a player won, drew (shared the win) and lost."""

    wins: int
    draws: int
    losses: int


@dataclass(frozen=True)
class Match:
    """The result of a player against copies of another on paired deals.

    score     wins + draws / 2, as a share of the games (with more than two players a shared win counts 1 / winners)
    interval  95% interval of the score, over deals
    by_seat   the tally from each seat; in_total their sum
    points, rival_points, turns   means over the games
    deal_scores  (deals,) the mean share of the win in the games of each deal
    """

    game: str
    player: str
    against: str
    games: int
    seed: int
    score: float
    interval: tuple[float, float]
    in_total: Tally
    by_seat: tuple[Tally, ...]
    points: float
    rival_points: float
    turns: float
    deal_scores: np.ndarray = field(repr=False, compare=False)

    def to_dict(self) -> dict:
        """The result as plain data for JSON, without the single deals."""
        return {name: value for name, value in asdict(self).items() if name != "deal_scores"}

    def between(self, player: str, against: str) -> "Match":
        """The same result with other names of the players."""
        return replace(self, player=player, against=against)


def evaluate(
    player: str | Opponent,
    against: str | Opponent | Sequence[str | Opponent] = ("random", "heuristic"),
    *,
    game: str | Game = "mandala_v0",
    games: int = 2000,
    seed: int = 1,
    transcripts: str | Path | None = None,
    num_transcripts: int = 10,
    executor: Executor | None = None,
) -> list[Match]:
    """Play a player against each of some opponents; one Match for each.

    player, against  opponents or their specs, see `load_opponent`
    games            how many games against each; every deal is played from every seat, so a multiple of the players
    seed             fixes the deals and everybody's random choices
    transcripts      a folder that gets the first num_transcripts games of each match, see `mandala_env.transcript`
    executor         carries out the matches, side by side; it changes nothing but the time it takes
    """
    game = load_game(game) if isinstance(game, str) else game
    check_games(games, game)
    rivals: list[Any] = list(against) if isinstance(against, (list, tuple)) else [against]
    num_kept = 0 if transcripts is None else min(num_transcripts, games)
    rows = [(game, player, rival, games, seed, num_kept) for rival in rivals]
    matches = []
    for number, (match, kept) in enumerate(carry_out(executor, play_and_keep, rows)):
        matches.append(match)
        if transcripts is not None and kept:
            save_transcripts(Path(transcripts), number, game, match, kept)
    return matches


def play_and_keep(
    game: Game, player: str | Opponent, rival: str | Opponent, games: int, seed: int, num_kept: int
) -> tuple[Match, list[list[int]]]:
    """Play one pairing, see `play_match`, and return the actions of its first games with it."""
    kept: list[list[int]] = [[] for _ in range(num_kept)]
    return play_match(game, player, rival, games, seed, kept), kept


def check_games(games: int, game: Game) -> None:
    """Raise ValueError unless so many games are whole deals, two or more."""
    p = game.num_players
    if not isinstance(games, (int, np.integer)) or games < 2 * p or games % p:
        raise ValueError(f"games must be a multiple of the {p} players, at least {2 * p}, not {games!r}")


def save_transcripts(folder: Path, number: int, game: Game, match: Match, games: list[list[int]]) -> None:
    """Write the games of a match to a folder, which is made if need be; other games there are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    seeds = spread_seeds(match.seed, len(games))
    for row, actions in enumerate(games):
        deal, seat = divmod(row, game.num_players)
        players = [match.player if other == seat else match.against for other in range(game.num_players)]
        start = Start(generator=int(seeds[deal]))
        path = folder / f"match-{number}-game-{row}.txt"
        Transcript(game, start, tuple(players), tuple(actions)).save(path)


def play_match(
    game: Game,
    player: str | Opponent,
    rival: str | Opponent,
    games: int,
    seed: int,
    kept: list[list[int]] | None = None,
) -> Match:
    """Play one pairing; see `evaluate`. The actions of game i are added to kept[i], if there is such a list."""
    for side in (player, rival):
        if not isinstance(side, (str, Opponent)):
            raise ValueError(f"a player is an Opponent or its spec, not {side!r}")
        if isinstance(side, Opponent) and side.game.fingerprint != game.fingerprint:
            raise ValueError(f"an opponent made for {side.game.id} with {side.game.options} cannot play {game.id}")
    hero = load_opponent(player, game, seed) if isinstance(player, str) else player
    rival_player = hero if rival == player else rival  # one object for both: it is asked once, and answers alike
    if isinstance(rival_player, str):
        rival_player = load_opponent(rival_player, game, seed)
    num_deals = games // game.num_players
    # Row d * P + s is deal d with the player on seat s.
    seats = np.tile(np.arange(game.num_players), num_deals)
    seeds = np.repeat(spread_seeds(seed, num_deals), game.num_players)
    payoffs, points, turns = play_to_the_end(game, hero, rival_player, seats, seeds, kept or ())
    rows = np.arange(games)
    shares = win_shares(payoffs)[rows, seats].reshape(num_deals, game.num_players)
    by_seat = tuple(tally(payoffs[seats == seat], seat) for seat in range(game.num_players))
    own = points[rows, seats]
    return Match(
        game=game.id,
        player=str(player) if isinstance(player, str) else type(player).__name__,
        against=str(rival) if isinstance(rival, str) else type(rival).__name__,
        games=games,
        seed=seed,
        score=float(shares.mean()),
        interval=interval(shares),
        in_total=Tally(*(sum(getattr(t, name) for t in by_seat) for name in ("wins", "draws", "losses"))),
        by_seat=by_seat,
        points=float(own.mean()),
        rival_points=float((points.sum(axis=1) - own).mean() / (game.num_players - 1)),
        turns=float(turns.mean()),
        deal_scores=shares.mean(axis=1),
    )


def play_to_the_end(
    game: Game,
    hero: Opponent,
    rival: Opponent,
    seats: np.ndarray,
    seeds: np.ndarray,
    kept: Sequence[list[int]] = (),
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Play each game once; the hero has seats[i] in game i, and the actions of game i are added to kept[i].

    Every game counts, however long it is. Returns payoffs (n, P), points (n, P) and turns (n,).
    """
    num_games = len(seats)
    batch = Batch(game, num_games, seeds=seeds, copy=False)
    payoffs = np.zeros((num_games, game.num_players), np.float32)
    points = np.zeros((num_games, game.num_players), np.int32)
    turns = np.zeros(num_games, np.int32)
    running = np.ones(num_games, bool)
    while running.any():
        actions = np.argmax(batch.action_masks, axis=1)  # in games that are over: anything legal
        is_hero = batch.players == seats
        sides = [(hero, running)] if hero is rival else [(hero, running & is_hero), (rival, running & ~is_hero)]
        for side, chosen in sides:
            rows = np.flatnonzero(chosen)
            if len(rows):
                actions[rows] = side.act(batch.observations[rows], batch.action_masks[rows])
        for row, history in enumerate(kept):
            if running[row]:
                history.append(int(actions[row]))
        batch.step(actions)
        just_ended = running & batch.ended
        payoffs[just_ended] = batch.payoffs[just_ended]
        points[just_ended] = batch.scores[just_ended]
        turns[just_ended] = batch.turns[just_ended]
        running &= ~batch.ended
    return payoffs, points, turns


def win_shares(payoffs: np.ndarray) -> np.ndarray:
    """1 / winners for those who won, 0 for the others; everybody's share of the win, (n, P) from payoffs (n, P)."""
    all_share = ~payoffs.any(axis=1, keepdims=True)
    return np.where(all_share, 1 / payoffs.shape[1], np.maximum(payoffs, 0)).astype(float)


def tally(payoffs: np.ndarray, seat: int) -> Tally:
    """Count a seat's results; whoever shares a win has drawn."""
    own = payoffs[:, seat]
    wins, losses = int((own == 1).sum()), int((own < 0).sum())
    return Tally(wins, len(own) - wins - losses, losses)


def interval(shares: np.ndarray) -> tuple[float, float]:
    """95% interval of the mean of shares (deals, seats).

    Wilson's interval with the number of independent games that would vary as much as the deals did: games of one deal
    are not independent. A score of 0 or 1 has an interval, too, and so have deals that happened to be shared alike.
    """
    mean, num_deals = float(shares.mean()), len(shares)
    variance_of_mean = float(shares.mean(axis=1).var(ddof=1)) / num_deals
    variance_of_one = mean * (1 - mean)
    n = min(variance_of_one / variance_of_mean, 4 * shares.size) if variance_of_mean > 0 else shares.size
    centre = (mean + CONFIDENCE**2 / (2 * n)) / (1 + CONFIDENCE**2 / n)
    reach = CONFIDENCE / (1 + CONFIDENCE**2 / n) * np.sqrt(variance_of_one / n + CONFIDENCE**2 / (4 * n * n))
    # The mean is inside whatever the rounding.
    return max(0.0, min(mean, float(centre - reach))), min(1.0, max(mean, float(centre + reach)))


def table(matches: Sequence[Match]) -> str:
    """The matches as a text table."""
    lines = [
        f"{'player':<28} {'against':<28} {'games':>6} {'wins':>6} {'draws':>6} {'losses':>6}  "
        f"{'score':>6}  95% interval     by seat"
    ]
    for match in matches:
        t = match.in_total
        low, high = match.interval
        by_seat = "  ".join(f"{seat.wins}-{seat.draws}-{seat.losses}" for seat in match.by_seat)
        lines.append(
            f"{shorten(match.player):<28} {shorten(match.against):<28} {match.games:>6} {t.wins:>6} {t.draws:>6} "
            f"{t.losses:>6}  {match.score:>6.1%}  {low:>6.1%}..{high:<6.1%}  {by_seat}"
        )
    return "\n".join(lines)


def shorten(name: str, width: int = 28) -> str:
    """The end of a long name."""
    return name if len(name) <= width else "..." + name[3 - width :]
