"""An opponent that searches: it imagines the hidden cards many times and tries its actions out.

It sees what every opponent sees, an observation and a mask. The states that it searches in are dealt from the
observation by the game's `imagine`, with generators that come from its own seed.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from mandala_env.core.actions import empty_sets
from mandala_env.core.game import Game
from mandala_env.core.jit import plain_records
from mandala_env.opponents.base import MOST_THREADS, Opponent, load_opponent, whole
from mandala_env.opponents.network_search import SEARCH, advance, begin
from mandala_env.opponents.playout_search import register_heuristic, search_by_playouts
from mandala_env.opponents.tree import LONGEST_PATH, NODE, NONE

MOST_SIMULATIONS = 1_000_000
PLAYOUTS = ("random", "heuristic")
LOCKSTEP = 256  # searches that share each network call
WHOLE = 16  # rows; matrix products give a row the same bits in batches of so many, of twice as many, and so on


class Evaluator(Protocol):
    """What a network player has besides `act`."""

    def evaluate(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logits (n, A) and the viewer's values (n,) of observations (n, F)."""


class SearchOpponent(Opponent):
    """Information set Monte Carlo tree search, see `tree.py`; `load_opponent("search:simulations=1000")`.

    policy       what judges a position: "random" or "heuristic", by a short playout; or the spec of a checkpoint, by
                 the network's value, with its policy as prior. It may stand first, as a path with commas has to:
                 "search:PATH,simulations=200"
    simulations  imagined continuations for each decision; a decision with one legal action needs none
    threads      how many share the rows of a call when playouts judge; the answers do not depend on it

    A simulation takes 1.5 to 3 microseconds of one core in Mandala and 2 to 4 in Flowers by random playouts, 110 to 160
    by the heuristic, and 20 or more with `checkpoints/mandala_v0/small` when many observations are asked at once;
    `mandala bench` measures the playouts.
    """

    def __init__(
        self,
        game: Game,
        seed: int | None,
        policy: str | Opponent = "random",
        simulations: int | str = 200,
        threads: int | str = 1,
    ) -> None:
        super().__init__(game, seed)
        self.simulations = whole(simulations, "simulations", MOST_SIMULATIONS)
        self.threads = whole(threads, "threads", MOST_THREADS)
        self.policy = policy
        self._evaluator = None if policy in PLAYOUTS else evaluator_of(policy, game, seed)
        register_heuristic(game)

    def choose(self, observations: np.ndarray, action_masks: np.ndarray, pickers: np.ndarray) -> np.ndarray:
        """See `Opponent`."""
        actions = np.empty(len(observations), np.int64)
        if self._evaluator is None:
            self.play_out(observations, action_masks, pickers, actions)
        else:
            for start in range(0, len(actions), LOCKSTEP):
                rows = slice(start, start + LOCKSTEP)
                self._search_together(
                    self._evaluator, observations[rows], action_masks[rows], pickers[rows], actions[rows]
                )
        return actions

    def play_out(self, observations: np.ndarray, masks: np.ndarray, pickers: np.ndarray, actions: np.ndarray) -> int:
        """Search by playouts and write the actions; returns how many actions were carried out in imagined states."""

        def work(rows: slice) -> int:
            count: int = search_by_playouts(
                observations[rows], masks[rows], plain(pickers[rows]), plain(self.game.blank_states(1)),
                records(self.simulations + 1, NODE), empty_sets(2, masks.shape[1]), self.simulations,
                self.game.num_players, self.policy == "heuristic", actions[rows],
            )  # fmt: skip
            return count

        cuts = np.linspace(0, len(actions), min(self.threads, len(actions)) + 1).astype(int).tolist()
        parts = [slice(start, stop) for start, stop in pairwise(cuts)]
        if len(parts) == 1:
            return work(parts[0])
        with ThreadPoolExecutor(len(parts)) as pool:
            return sum(pool.map(work, parts))

    def _search_together(
        self, network: Evaluator, observations: np.ndarray, masks: np.ndarray, pickers: np.ndarray, actions: np.ndarray
    ) -> None:
        """Write the actions of some rows; their searches go on in step, from one evaluation to the next."""
        n, num_actions = masks.shape
        states, searches = plain(self.game.blank_states(n)), records(n, SEARCH)
        nodes = records((n, self.simulations + 1), NODE)
        paths, movers = np.zeros((n, LONGEST_PATH), np.int32), np.zeros((n, LONGEST_PATH), np.int8)
        root_sets = empty_sets(n + 1, num_actions)
        root_logits = np.zeros((n, num_actions), np.float32)
        begin(observations, masks, plain(pickers), states, searches, nodes, root_sets, actions)
        rows = np.flatnonzero(actions == NONE)
        leaves = observations[rows]
        while len(rows):
            logits, values = evaluate_alike(network, leaves)
            advance(
                rows, logits, values, observations, states, searches, nodes, paths, movers, root_sets, root_logits,
                self.simulations, self.game.num_players, leaves, actions,
            )  # fmt: skip
            is_unfinished = actions[rows] == NONE
            if not is_unfinished.all():
                rows, leaves = rows[is_unfinished], leaves[is_unfinished]


def evaluate_alike(network: Evaluator, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logits and values; each row's are the same bits whatever other rows there are, so searches do not part ways.

    For that the batch is filled up to a whole number of `WHOLE` rows.
    """
    count = len(observations)
    missing = -count % WHOLE
    if missing:
        observations = np.concatenate([observations, np.repeat(observations[:1], missing, axis=0)])
    logits, values = network.evaluate(observations)
    return logits[:count], values[:count]


def plain(array: np.ndarray) -> np.ndarray:
    """An array of records in the form that kernels take."""
    return plain_records(array.view(np.recarray))


def records(shape: int | tuple[int, int], dtype: np.dtype) -> np.ndarray:
    """Records of zeros."""
    return plain(np.zeros(shape, dtype))


def evaluator_of(policy: Any, game: Game, seed: int | None) -> Evaluator:
    """The network of a player, or of the player that a spec names."""
    expected = f"policy must be {', '.join(PLAYOUTS)} or a checkpoint"
    player = policy
    if isinstance(policy, str):
        try:
            player = load_opponent(policy, game, seed)
        except ValueError as error:
            raise ValueError(f"{expected}: {error}") from None
    if not hasattr(player, "evaluate"):
        raise ValueError(f"{expected}; {policy!r} has no network")
    network: Evaluator = player
    return network
