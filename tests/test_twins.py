"""Twins: two games that look the same to a seat, and differ in what it cannot see, cannot be told apart by it.

Both are played on with the same actions, and all that the seat is shown anywhere is compared after each, as long as
what it sees stays the same: a card that it draws may differ. Then a new twin is made.
"""

import threading
from importlib import import_module
from typing import Any

import gymnasium
import numpy as np
import pytest

from mandala_env import list_games, load_game, load_opponent
from mandala_env.arena.replay import replay_data, text_frames
from mandala_env.core.batch import Batch
from mandala_env.gymnasium_ids import GAMES
from mandala_env.opponents.advice import advise
from mandala_env.opponents.base import Opponent
from mandala_env.opponents.checkpoint import NetworkOpponent
from mandala_env.registry import list_variants
from mandala_env.transcript import Start
from mandala_env.web.sessions import YOU, Session
from tests.adapters.playing import is_same
from tests.sampling import make_network
from tests.threads import one_thread  # noqa: F401

ENVIRONMENTS = {game_id: name for name, game_id in GAMES.items()}
VARIANTS = [(game_id, options) for game_id in list_games() for options in list_variants(game_id)]


@pytest.fixture(params=VARIANTS, ids=str)
def game(request: pytest.FixtureRequest) -> Any:
    """Each game with each number of players."""
    game_id, options = request.param
    return load_game(game_id, **options)


class Table:
    """One game in an environment and on a page, with all that one seat of it is shown."""

    def __init__(self, game: Any, state: Any, seat: int, adviser: Opponent) -> None:
        self.game, self.seat, self.adviser = game, seat, adviser
        self.env = import_module(f"mandala_env.{game.id}").env(**game.options)
        position = game.position(state)
        self.env.reset(options={"position": position})
        self.state.generator = state.generator
        self.env.unwrapped._start = Start(None, int(state.generator), position)
        seats = [YOU if other == seat else "random" for other in range(game.num_players)]
        players = {"random": load_opponent("random", game)}
        self.session = Session(game, seats, players, adviser, threading.Lock())
        self.session.id, self.session.state = "", game.copy(state)

    @property
    def state(self) -> Any:
        """The state of the environment's game."""
        return self.env.unwrapped._single.state

    def step(self, action: int) -> None:
        """Carry out an action, also on the page."""
        self.env.step(action)
        self.session.apply(action)

    def shown(self) -> dict[str, Any]:
        """All that the seat is shown while the game goes on."""
        game, state, seat, env = self.game, self.state, self.seat, self.env
        agent, is_mine = f"player_{seat}", game.player(state) == seat
        batch = Batch(game, 1, 0)
        batch.set_states(np.array([state]))
        return {
            "observed": game.observe(state, seat),
            "in a batch": [batch.observe(seat), batch.players, *([batch.observations, batch.action_masks] * is_mine)],
            "by the environment": [env.observe(agent), env.infos[agent], env.rewards[agent], env.agent_selection],
            "last": env.last() if is_mine else None,
            "ends": [env.agents, env.terminations, env.truncations],
            "text": game.render(state, seat),
            "drawing": game.svg(state, seat),
            "seen": game.seen(state, seat),
            "page": self.session.view(960),
            "advice": self.session.advice() if is_mine else None,
        }

    def transcript(self, length: int) -> tuple[Any, Any]:
        """The first moments of the game so far, as the seat is shown them."""
        transcript = self.env.unwrapped.transcript()
        frames = replay_data(transcript, self.seat, self.adviser)["frames"]
        return frames[:length], list(text_frames(transcript, self.seat, self.adviser))[:length]


def flat(value: Any) -> list[Any]:
    """All leaves of nested lists and dicts, and the keys."""
    if isinstance(value, dict):
        value = list(value.items())
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, (list, tuple)) else [value]


def tells(leaf: Any, secret: int) -> bool:
    """Is a number somewhere in what was shown, as it is or in an array's bytes or a text?"""
    if isinstance(leaf, np.ndarray):
        return (secret % 2**64).to_bytes(8, "little") in leaf.tobytes()
    return str(secret) in str(leaf) or f"{secret:x}" in str(leaf)


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Assert that two seats are shown the same, everywhere."""
    for name, value in one.items():
        for first, second in zip(flat(value), flat(other[name]), strict=True):
            assert is_same(first, second), name


def players_of(game: Any) -> list[Opponent]:
    """One opponent of each kind, the network last."""
    scripted = [load_opponent(spec, game) for spec in ("random", "heuristic", "search:simulations=8")]
    network = NetworkOpponent(game, 0, make_network(game, 1, gain=2.0))
    return [*scripted, load_opponent("search:heuristic,simulations=4", game), network]


def assert_same_answers(game: Any, players: list[Opponent], one: Any, other: Any) -> None:
    """Assert that no player can tell two states apart when it is to move."""
    for player in players:
        asked = [(game.observe(state, state.player), game.action_mask(state)) for state in (one, other)]
        answers = [int(player.act(observation[None], mask[None])[0]) for observation, mask in asked]
        assert answers[0] == answers[1], player
    assert advise(players[-1], one) == advise(players[-1], other)


def live(one: Table, other: Table, players: list[Opponent], rng: np.random.Generator) -> tuple[int, int]:
    """Play twins on as long as they are; returns how many moments that were, and how many of them the seat's."""
    game, seat = one.game, one.seat
    moments = own = 0
    while True:
        assert_same(one.shown(), other.shown())
        moments += 1
        is_mine = game.player(one.state) == seat
        own += is_mine
        if is_mine:
            assert_same_answers(game, players, one.state, other.state)
        legal = game.legal_actions(one.state)
        both = [action for action in legal if action in game.legal_actions(other.state)]
        action = int(rng.choice(both or legal))
        one.step(action)
        if not both:  # whatever the one does, the other cannot
            break
        other.step(action)
        is_over = game.is_over(one.state) or game.is_over(other.state)  # then the cups are opened
        if is_over or not np.array_equal(game.observe(one.state, seat), game.observe(other.state, seat)):
            break
    assert one.transcript(moments) == other.transcript(moments)
    return moments, own


@pytest.mark.parametrize("games", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_a_seat_cannot_tell_twins_apart(game: Any, games: int) -> None:
    facts = import_module(f"tests.{game.id.partition('_')[0]}.contract")
    rng, players = np.random.default_rng(games), players_of(game)
    lives = []
    for number in range(games):
        state, seat = game.deal(number), number % game.num_players
        while not game.is_over(state):
            twin = game.copy(state)
            change = facts.redeal if len(lives) % 2 else facts.exchange
            change(twin, seat, rng)
            tables = [Table(game, each, seat, players[-1]) for each in (state, twin)]
            lives.append(live(*tables, players, rng))
            state = game.copy(tables[0].state)
    moments, own = np.sum(lives, axis=0)
    assert own > 10 * games and moments > own
    print(
        f"\n{game.id}, {game.num_players} players: {games} games, {moments} moments, longest as twins {max(lives)[0]}"
    )


def test_where_the_random_numbers_stand_is_nowhere_in_what_a_player_is_shown(game: Any) -> None:
    table = Table(game, game.deal(5), 0, load_opponent("heuristic", game))
    learner = gymnasium.make(ENVIRONMENTS[game.id], **game.options)
    shown = learner.reset(seed=5)
    rng = np.random.default_rng(5)
    for _ in range(12):
        action = int(rng.choice(game.legal_actions(table.state)))
        secrets = [table.state.generator, table.env.unwrapped._start.generator, table.session.start.seed]
        secrets.append(learner.unwrapped._games.state(0).generator)
        told = flat([table.shown(), table.transcript(10**6), shown])
        assert not any(tells(leaf, int(secret)) for leaf in told for secret in secrets)
        table.step(action)
        shown = learner.step(rng.choice(np.flatnonzero(learner.unwrapped.action_masks())))
