"""Games in which one seat is a learner's and opponents answer at all others: what the single-agent adapters share.

They differ from `Batch` in that a step goes on until every learner is to decide again, however many moves that takes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mandala_env.adapters.results import endings
from mandala_env.core.actions import empty_sets, num_eights, write_mask_eights
from mandala_env.core.dispatch import apply, deal, encode, is_over, legal, payoff, score
from mandala_env.core.game import Game
from mandala_env.core.jit import kernel, plain_records
from mandala_env.core.rng import MIX_1, MIX_2, S27, S30, S31, S32, spread_seeds
from mandala_env.opponents.base import Opponent, load_opponent

NOBODY = -1  # the player to decide in a game that is over
DEAL = -1  # instead of an action: deal the game anew
SHOW = -2  # instead of an action: nothing, the game was put there
MOST_WAVES = 10_000  # rounds of answers in one step; with max_turns=1 a seat may never decide
SEAT_STREAM = np.uint64(0x5EA7_5EA7_5EA7_5EA7)  # keeps the draw of a seat apart from the draws of cards


@dataclass(frozen=True)
class Ended:
    """The games that ended in a step, in rising order of their numbers; n may be 0.

    rows          (n,) the numbers of the games
    seats         (n,) the learner's seat in each
    payoffs       (n, P) float32, scores (n, P) int32, adjudicated (n,) bool
    observations  (n, F) int8: what the learner's seat knew at the end
    """

    rows: np.ndarray
    seats: np.ndarray
    payoffs: np.ndarray
    scores: np.ndarray
    adjudicated: np.ndarray
    observations: np.ndarray

    @property
    def rewards(self) -> np.ndarray:
        """The learner's own result in each game, (n,) float32."""
        rewards: np.ndarray = self.payoffs[np.arange(len(self.rows)), self.seats]
        return rewards

    def infos(self) -> list[dict[str, Any]]:
        """For each game the learner's `seat`, `score`, `outcome` and, if the turns ran out, `adjudicated`."""
        everybody = map(endings, self.payoffs, self.scores, self.adjudicated)
        return [{"seat": int(seat), **infos[seat]} for seat, infos in zip(self.seats, everybody, strict=True)]


class LearnerGames:
    """N games, each with a learner on one seat; `deal` comes first.

    seats         (N,) int8: the learner's seat in each game
    players       (N,) int8: who decides; the learner, or NOBODY in a game that is over
    observations  (N, F) int8: what the learner knows, action_masks (N, A) bool: what it may do; filled again by each
                  step: copy what you hand out

    opponent  an Opponent or its spec, or a list of P - 1, in turn order from the learner's left
    seat      a seat, or "random": drawn anew for each game
    Game i depends on its seed and its actions only; with a seed it is the deal that `game.deal(seed)` gives.
    """

    def __init__(self, game: Game, num_games: int, opponent: Any = "heuristic", seat: int | str = "random") -> None:
        if not isinstance(num_games, (int, np.integer)) or num_games < 1:
            raise ValueError(f"the number of games must be a whole number of 1 or more, not {num_games!r}")
        if isinstance(seat, str) and seat != "random":
            raise ValueError(f"seat must be 'random' or a seat from 0 to {game.num_players - 1}, not {seat!r}")
        if not isinstance(seat, str):
            game.check_seat(seat)
        self.game, self.num_games, self.seat = game, int(num_games), seat
        self.opponents = load_rivals(opponent, game)
        self._states = plain_records(game.blank_states(self.num_games))
        self._states["generator"] = spread_seeds(None, self.num_games)
        self.seats = np.full(self.num_games, 0 if isinstance(seat, str) else seat, np.int8)
        self.players = np.full(self.num_games, NOBODY, np.int8)
        self.observations = np.zeros((self.num_games, game.layout.size), np.int8)
        self._mask_eights = np.zeros((self.num_games, num_eights(len(game.actions))), np.uint64)
        self._sets = empty_sets(1, len(game.actions))
        self._payoffs = np.zeros((self.num_games, game.num_players), np.float32)
        self._scores = np.zeros((self.num_games, game.num_players), np.int32)

    def state(self, row: int) -> Any:
        """The state of one game, not a copy: to look at."""
        return self._states.view(np.recarray)[row]

    @property
    def action_masks(self) -> np.ndarray:
        """What the learner may do in each game, a view (N, A) bool; all False in a game that is over."""
        return self._mask_eights.view(np.bool_)[:, : len(self.game.actions)]

    def deal(self, seed: int | Sequence[int | None] | None = None) -> None:
        """Deal all games anew and play on until the learners are to decide.

        seed  None: the random numbers go on; a number: game i depends on (seed, i); N of them (or None): one a game
        """
        if isinstance(seed, (list, tuple, np.ndarray)):
            if len(seed) != self.num_games:
                raise ValueError(f"expected a seed for each of the {self.num_games} games, not {len(seed)}")
            for row, one in enumerate(seed):
                if one is not None:
                    self._states["generator"][row] = spread_seeds(one, 1)[0]
        elif seed is not None:
            self._states["generator"] = spread_seeds(seed, self.num_games)  # type: ignore[arg-type]
        self._run(np.arange(self.num_games), np.full(self.num_games, DEAL), deal_on=True)

    def set_up(self, position: dict, seed: int | None = None) -> Ended:
        """Go on from a position in every game, and play on until the learners are to decide.

        seed  None: the random numbers go on in new directions; a number: game i depends on (seed, i)
        Returns the games that ended before; raises ValueError, and changes nothing, if the position is over or none.
        """
        state = self.game.from_position(position)
        if self.game.is_over(state):
            raise ValueError("the position is over: there is nothing to decide in it")
        first = int(self._states["generator"][0]) if seed is None else seed
        self._states[:] = state
        self._states["generator"] = spread_seeds(first, self.num_games)
        if isinstance(self.seat, str):
            self.seats[:] = _draw_seats(self._states["generator"], self.game.num_players)
        return self._run(np.arange(self.num_games), np.full(self.num_games, SHOW), deal_on=False)

    def step(self, actions: np.ndarray, *, deal_on: bool) -> Ended:
        """Carry out the learners' actions and the opponents' answers.

        actions  (N,) whole numbers, each legal in its game; otherwise IllegalAction, and no game changes
        deal_on  deal games that end anew at once
        """
        actions = np.asarray(actions)
        if actions.shape != (self.num_games,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be {self.num_games} whole numbers, not {actions.dtype} of shape {actions.shape}"
            )
        rows = np.arange(self.num_games)
        is_known = (actions >= 0) & (actions < len(self.game.actions))
        is_legal = is_known & self.action_masks[rows, np.where(is_known, actions, 0)]
        if not is_legal.all():
            wrong = int(np.argmin(is_legal))
            where = f", game {wrong}" if self.num_games > 1 else ""
            raise self.game.illegal(self.state(wrong), int(actions[wrong]), where)
        return self._run(rows, actions.astype(np.int64), deal_on)

    def _run(self, rows: np.ndarray, actions: np.ndarray, deal_on: bool) -> Ended:
        """Carry out an action (or DEAL) in each of some games, and the opponents' until the learners are to decide."""
        is_new = np.ones(self.num_games, bool)  # should opponents end the next game before its learner decides: no end
        parts = []
        for _ in range(MOST_WAVES):
            self._play(rows, actions)
            over = self.players[rows] == NOBODY
            if over.any():
                counted = rows[over & is_new[rows]]
                is_new[counted] = False
                parts.append(self._ended(counted))
            waits = over if deal_on else np.zeros_like(over)
            asked = ~over & (self.players[rows] != self.seats[rows])
            answers = np.full(len(rows), DEAL)
            answers[asked] = self._answers(rows[asked])
            rows, actions = rows[waits | asked], answers[waits | asked]
            if not len(rows):
                return _in_order(parts) if parts else self._ended(rows)
        raise RuntimeError(f"seat {self.seat} never decides in {self.game.id} with the options {self.game.options}")

    def _play(self, rows: np.ndarray, actions: np.ndarray) -> None:
        if isinstance(self.seat, str):
            dealt = rows[actions == DEAL]
            if len(dealt):
                self.seats[dealt] = _draw_seats(self._states["generator"][dealt], self.game.num_players)
        _play(
            self._states, rows, actions, self.seats, self._sets, self._mask_eights, self.observations,
            self.players, self._payoffs, self._scores,
        )  # fmt: skip

    def _answers(self, rows: np.ndarray) -> np.ndarray:
        """What the opponents do in some games in which they are to decide."""
        if len(self.opponents) == 1:
            return self.opponents[0].act(self.observations[rows], self.action_masks[rows])
        answers = np.empty(len(rows), np.int64)
        places = (self.players[rows] - self.seats[rows] - 1) % self.game.num_players
        for place, opponent in enumerate(self.opponents):
            if len(chosen := np.flatnonzero(places == place)):
                asked = rows[chosen]
                answers[chosen] = opponent.act(self.observations[asked], self.action_masks[asked])
        return answers

    def _ended(self, rows: np.ndarray) -> Ended:
        has_limit = "adjudicated" in (self.game.dtype.names or ())
        return Ended(
            rows,
            self.seats[rows],
            self._payoffs[rows],
            self._scores[rows],
            self._states["adjudicated"][rows] != 0 if has_limit else np.zeros(len(rows), bool),
            self.observations[rows],
        )


def _in_order(parts: Sequence[Ended]) -> Ended:
    """Several parts as one, in rising order of the games."""
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([part.rows for part in parts]))
    fields = Ended.__dataclass_fields__
    return Ended(*(np.concatenate([getattr(part, name) for part in parts])[order] for name in fields))


def load_rivals(opponent: Any, game: Game) -> list[Opponent]:
    """The opponents on the other seats, in turn order from the learner; one alone stands for all of them."""
    is_list = isinstance(opponent, (list, tuple))
    given = list(opponent) if is_list else [opponent]
    if is_list and len(given) != game.num_players - 1:
        raise ValueError(f"expected one opponent, or a list of {game.num_players - 1}, not a list of {len(given)}")
    loaded = {spec: load_opponent(spec, game) for spec in given if isinstance(spec, str)}
    rivals: list[Opponent] = [loaded[one] if isinstance(one, str) else one for one in given]
    for rival in rivals:
        if not isinstance(rival, Opponent):
            raise ValueError(f"an opponent is an Opponent or its spec, such as 'heuristic', not {rival!r}")
        if rival.game.fingerprint != game.fingerprint:
            raise ValueError(f"an opponent made for {rival.game.id} with {rival.game.options} cannot play {game.id}")
    return rivals[:1] if all(rival is rivals[0] for rival in rivals) else rivals


def _draw_seats(generators: np.ndarray, num_players: int) -> np.ndarray:
    """A seat for each game about to be dealt: a hash of its generator, (n,) int8 from (n,) uint64."""
    bits = generators ^ SEAT_STREAM
    bits = (bits ^ (bits >> S30)) * MIX_1
    bits = (bits ^ (bits >> S27)) * MIX_2
    bits ^= bits >> S31
    return ((bits >> S32) * np.uint64(num_players) >> S32).astype(np.int8)


@kernel
def _play(
    states: Any, rows: Any, actions: Any, seats: Any, sets: Any, mask_eights: Any, observations: Any,
    players: Any, payoffs: Any, scores: Any,
) -> None:  # fmt: skip
    """Carry out one action, DEAL or SHOW in each of some games, and write what the player to decide knows and may do.

    In a game that is over it is what the learner's seat knows, and the results.
    """
    words = sets[0].row
    for k in range(len(rows)):
        i = rows[k]
        if actions[k] == DEAL:
            deal(states[i])
        elif actions[k] != SHOW:
            apply(states[i], actions[k])
        legal(states[i], words)
        write_mask_eights(words, mask_eights[i])
        if is_over(states[i]):
            players[i], viewer = NOBODY, int(seats[i])
            payoff(states[i], payoffs[i])
            score(states[i], scores[i])
        else:
            viewer = int(states[i].player)
            players[i] = viewer
        encode(states[i], viewer, observations[i])
