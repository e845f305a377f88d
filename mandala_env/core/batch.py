"""N games at once: arrays in, arrays out. These are the only loops over games."""

from concurrent.futures import wait
from contextlib import suppress
from typing import Any

import numpy as np

from mandala_env.core.actions import count_allowed, empty_sets, is_allowed, nth_allowed, num_eights, write_mask_eights
from mandala_env.core.dispatch import apply, deal, encode, imagine, is_over, legal, payoff, score
from mandala_env.core.game import Game
from mandala_env.core.jit import IS_COMPILED, empty_rows, entry_point, jit, kernel, plain_records, row_type
from mandala_env.core.rng import below, spread_seeds
from mandala_env.core.shares import FEW, is_done, share_out, take
from mandala_env.threads import Threads

# A stream of random choices that is not a game's own. The second field keeps numba from taking a state for a picker.
PICKER = np.dtype([("generator", np.uint64), ("picker", np.uint64)])


class Batch:
    """N games of one kind that are stepped together; a finished game is dealt anew in the same step.

    observations  (N, F) int8: what the player to decide knows in each game
    action_masks  (N, A) bool: what that player may do
    players       (N,) int8: who that is
    scores        (N, P) int32: the final points of the games that the last step ended, 0 elsewhere
    turns         (N,) int16: the turns that the games took which the last step ended, 0 elsewhere

    Game i depends on (seed, i) and its actions only, not on N or the number of threads; there are no more threads than
    have 4,096 games each. With copy=True every step writes to new arrays, so what was handed out stays as it was; with
    copy=False the same arrays are filled again, the batch's own: others put in their place are not.
    """

    def __init__(
        self,
        game: Game,
        num_games: int,
        seed: int | None = None,
        *,
        num_threads: int = 1,
        copy: bool = True,
        seeds: np.ndarray | None = None,
    ) -> None:
        for name, value in (("num_games", num_games), ("num_threads", num_threads)):
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise ValueError(f"{name} must be a whole number of 1 or more, not {value!r}")
        self.game, self.num_games, self.num_threads, self.copy = game, int(num_games), int(num_threads), copy
        self.states = game.blank_states(self.num_games)
        self.states["generator"] = spread_seeds(seed, self.num_games) if seeds is None else seeds
        self._pickers = plain_records(np.zeros(self.num_games, PICKER).view(np.recarray))
        self._pickers["generator"] = ~self.states["generator"]
        self._legal_sets = empty_sets(self.num_games, len(game.actions))
        # Eight bools are written at once, so a row of a mask in memory is a whole number of eights.
        self._mask_type = row_type(np.uint64, num_eights(len(game.actions)))
        self._share_out()
        self._entry_points: dict[Any, Any] = {}
        self._records = plain_records(self.states)
        self._allocate()
        self._forget_results()
        self._run(_start, self._records, self._legal_sets, *self._shown)

    def _share_out(self) -> None:
        self._shares = share_out(self.num_games, self.num_threads)
        # Plain Python runs in one thread at a time.
        self._others = range(1, len(self._shares) - 1 if IS_COMPILED else 1)
        self._threads = Threads(max(1, len(self._others)))

    def _allocate(self) -> None:
        n, game = self.num_games, self.game
        self.observations = np.empty((n, game.layout.size), np.int8)
        self._masks = empty_rows(n, self._mask_type)
        self.action_masks = self._bools()
        self.players = np.empty(n, np.int8)
        self.payoffs = np.empty((n, game.num_players), np.float32)
        self.ended = np.empty(n, np.bool_)
        self.scores = np.empty((n, game.num_players), np.int32)
        self.turns = np.empty(n, np.int16)
        # What kernels fill: nobody else can put an array of another kind there.
        self._shown = self.observations, self._masks, self.players
        self._results = self.payoffs, self.ended, self.scores, self.turns

    def _bools(self) -> np.ndarray:
        return self._masks.view(np.bool_, np.ndarray).reshape(self.num_games, -1)[:, : len(self.game.actions)]

    def _forget_results(self) -> None:
        for results in self._results:
            results[:] = 0

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Carry out one action in every game.

        actions  (N,) whole numbers, each legal for its game's player; otherwise IllegalAction, and no game changes
        returns  payoffs (N, P) float32, 0 where the game goes on, and ended (N,) bool
        """
        actions = np.asarray(actions)
        if actions.shape != (self.num_games,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be {self.num_games} whole numbers, not {actions.dtype} of shape {actions.shape}"
            )
        actions = np.ascontiguousarray(actions, np.int64)
        asked = self._legal_sets, actions, len(self.game.actions)
        wrong = self._entry_point(_first_illegal, *asked)(*asked)
        if wrong >= 0:
            raise self.game.illegal(self.states[wrong], int(actions[wrong]), f", game {wrong}")
        self._advance(_step, actions)
        return self.payoffs, self.ended

    def step_random(self) -> tuple[np.ndarray, np.ndarray]:
        """Carry out a uniformly random legal action in every game; returns what `step` returns.

        The choices come from a stream of their own, so the games are those that `step` would make of them.
        """
        self._advance(_step_random, self._pickers)
        return self.payoffs, self.ended

    def _advance(self, kernel_: Any, choices: np.ndarray) -> None:
        if self.copy:
            self._allocate()
        self._run(kernel_, self._records, choices, self._legal_sets, *self._shown, *self._results)

    @property
    def legal_sets(self) -> np.ndarray:
        """The legal actions as sets of bits, (N, W) uint64, to look at: action a is bit a % 64 of word a // 64."""
        words = self._legal_sets.view(np.uint64, np.ndarray).reshape(self.num_games, -1)
        words.flags.writeable = False
        return words

    def observe(self, player: int) -> np.ndarray:
        """What one seat knows in every game, whoever decides next, (N, F) int8."""
        self.game.check_seat(player)
        observations = np.empty_like(self.observations)
        _observe_all(self._records, player, observations)
        return observations

    def set_states(self, states: np.ndarray) -> None:
        """Put the games into N states of one's own, none of which may be over."""
        states = np.array(states)
        if states.shape != (self.num_games,) or states.dtype != self.game.dtype:
            raise ValueError(f"expected {self.num_games} states of {self.game.id}, not {states.dtype}{states.shape}")
        if (over := _first_over(plain_records(states.view(np.recarray)))) >= 0:
            raise ValueError(f"state {over} is over: there is nothing to decide in it")
        self.states[:] = states
        if self.copy:
            self._allocate()
        self._forget_results()
        self._run(_show_all, self._records, self._legal_sets, *self._shown)

    def _run(self, kernel_: Any, *arrays: np.ndarray) -> None:
        shares, helpers, was_done = self._shares.copy(), [], False
        run = self._entry_point(kernel_, shares, 0, *arrays)
        try:
            with suppress(RuntimeError):  # no thread can be started: this one does everything
                for thread in self._others:
                    helpers.append(self._threads.pool.submit(run, shares, thread, *arrays))
            was_done = run(shares, 0, *arrays)
        finally:  # whatever comes between, no helper works on when this returns
            running = [helper for helper in helpers if not helper.cancel()]
            if not was_done:
                for helper in wait(running).done:
                    helper.result()

    def _entry_point(self, kernel_: Any, *arguments: Any) -> Any:
        run = self._entry_points.get(kernel_)
        if run is None:
            run = self._entry_points[kernel_] = entry_point(kernel_, *arguments)
        return run

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_entry_points": {}}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        # As this process has them, compiled or in plain Python, and views, not the copies that pickling made of them.
        self._share_out()
        for name in ("_legal_sets", "_masks", "_pickers"):
            setattr(self, name, plain_records(getattr(self, name).view(np.recarray)))
        self._shown = self.observations, self._masks, self.players
        self.action_masks = self._bools()
        self._records = plain_records(self.states)

    def __len__(self) -> int:
        """N."""
        return self.num_games


# Each loop below does one thing to a few games. A processor works on several games at once as long as it guesses the
# branches right; what a wrong guess throws away is then the same short work on the next games, not all that follows.


@jit
def _show(states: Any, legal_sets: Any, observations: Any, masks: Any, players: Any, start: int, stop: int) -> None:
    """Write what the players to decide may do and what they know."""
    for i in range(start, stop):
        legal(states[i], legal_sets[i].row)
        players[i] = states[i].player
    for i in range(start, stop):
        write_mask_eights(legal_sets[i].row, masks[i].row)
    for i in range(start, stop):
        encode(states[i], np.int64(players[i]), observations[i])


@jit
def _settle(states: Any, payoffs: Any, ended: Any, scores: Any, turns: Any, start: int, stop: int) -> None:
    """After an action: write the results of the games that are over, zeros for the others, and deal the former anew."""
    payoffs[start:stop] = 0
    scores[start:stop] = 0
    turns[start:stop] = 0
    for i in range(start, stop):
        ended[i] = is_over(states[i])
        if ended[i]:
            payoff(states[i], payoffs[i])
            score(states[i], scores[i])
            turns[i] = states[i].turn
            deal(states[i])


# What threads call: `shares` says which games there are, `thread` who calls; the first is told whether all are done.


@kernel
def _start(shares: Any, thread: int, states: Any, legal_sets: Any, observations: Any, masks: Any, players: Any) -> bool:
    first, last = take(shares, thread, 0)
    while first < last:
        for i in range(first, last):
            deal(states[i])
        _show(states, legal_sets, observations, masks, players, first, last)
        first, last = take(shares, thread, last - first)
    return is_done(shares, thread)


@kernel
def _show_all(
    shares: Any, thread: int, states: Any, legal_sets: Any, observations: Any, masks: Any, players: Any
) -> bool:
    first, last = take(shares, thread, 0)
    while first < last:
        _show(states, legal_sets, observations, masks, players, first, last)
        first, last = take(shares, thread, last - first)
    return is_done(shares, thread)


@kernel
def _observe_all(states: Any, player: int, observations: Any) -> None:
    for i in range(len(states)):
        encode(states[i], player, observations[i])


@kernel
def _first_over(states: Any) -> int:
    for i in range(len(states)):
        if is_over(states[i]):
            return i
    return -1


@kernel
def _first_illegal(legal_sets: Any, actions: Any, num_actions: int) -> int:
    for i in range(len(actions)):
        if actions[i] < 0 or actions[i] >= num_actions or not is_allowed(legal_sets[i].row, actions[i]):
            return i
    return -1


@kernel
def _step(
    shares: Any, thread: int, states: Any, actions: Any, legal_sets: Any, observations: Any, masks: Any, players: Any,
    payoffs: Any, ended: Any, scores: Any, turns: Any,
) -> bool:  # fmt: skip
    first, last = take(shares, thread, 0)
    while first < last:
        for i in range(first, last):
            apply(states[i], actions[i])
        _settle(states, payoffs, ended, scores, turns, first, last)
        _show(states, legal_sets, observations, masks, players, first, last)
        first, last = take(shares, thread, last - first)
    return is_done(shares, thread)


@kernel
def _step_random(
    shares: Any, thread: int, states: Any, pickers: Any, legal_sets: Any, observations: Any, masks: Any, players: Any,
    payoffs: Any, ended: Any, scores: Any, turns: Any,
) -> bool:  # fmt: skip
    actions = np.empty(FEW, np.int64)
    first, last = take(shares, thread, 0)
    while first < last:
        for i in range(first, last):
            words = legal_sets[i].row
            actions[i - first] = nth_allowed(words, below(pickers[i], count_allowed(words)))
        for i in range(first, last):
            apply(states[i], actions[i - first])
        _settle(states, payoffs, ended, scores, turns, first, last)
        _show(states, legal_sets, observations, masks, players, first, last)
        first, last = take(shares, thread, last - first)
    return is_done(shares, thread)


@kernel
def imagine_all(observations: Any, states: Any) -> None:
    """Deal one possible state per observation into states whose generators and options are set."""
    for i in range(len(observations)):
        imagine(observations[i], states[i])
