"""The searching opponent knows what it sees, takes what wins, and gets better the longer it searches."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mandala_env import evaluate, load_game, load_opponent
from mandala_env.core.batch import Batch
from mandala_env.core.jit import kernel
from mandala_env.opponents.base import Opponent
from mandala_env.opponents.checkpoint import NetworkOpponent
from mandala_env.opponents.network_search import SEARCH
from mandala_env.opponents.search import SearchOpponent, plain
from mandala_env.opponents.tree import NODE, note
from mandala_env.policies.checkpoint import save_checkpoint
from mandala_env.registry import list_games, list_variants
from tests.sampling import decisions, make_network

VARIANTS = [(game_id, options) for game_id in list_games() for options in list_variants(game_id)]
KINDS = ["random", "heuristic", "network"]


@kernel
def _note(nodes: Any, path: Any, movers: Any, length: int, results: Any) -> None:
    note(nodes, path, movers, length, results)


@pytest.fixture(params=VARIANTS, ids=str, scope="module")
def variant(request: pytest.FixtureRequest) -> Any:
    """Each game with each number of players."""
    game_id, options = request.param
    return load_game(game_id, **options)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """What judges a position."""
    return request.param


def make(kind: str, game: Any, simulations: int = 20, seed: int = 0, **options: Any) -> Opponent:
    """A searching opponent."""
    policy = frozen(game) if kind == "network" else kind
    return SearchOpponent(game, seed, policy, simulations, **options)


def frozen(game: Any) -> Opponent:
    """A network with random weights of strong opinions, as a player."""
    return NetworkOpponent(game, 0, make_network(game, 1, gain=2.0))


def state_in(game: Any, actions: int, seed: int = 3) -> Any:
    """A state after so many random actions."""
    batch = Batch(game, 1, seed)
    for _ in range(actions):
        batch.step_random()
    return game.copy(batch.states[0])


def ask(opponent: Opponent, game: Any, state: Any) -> int:
    """What an opponent does in a state, which it only sees."""
    observation, mask = game.observe(state, game.player(state)), game.action_mask(state)
    return int(opponent.act(observation[None], mask[None])[0])


# --- what it knows ---------------------------------------------------------------------------------------------------


def test_states_that_look_the_same_get_the_same_action(variant: Any, kind: str) -> None:
    opponent = make(kind, variant)
    for actions in (0, 7, 20, 41):
        state = state_in(variant, actions)
        seen = variant.observe(state, state.player)
        twins = [variant.imagine(seen, seed) for seed in range(4)]
        assert len({twin.hands.tobytes() for twin in twins}) > 1
        for twin in twins:
            np.testing.assert_array_equal(variant.observe(twin, 0), seen)
        assert len({ask(opponent, variant, twin) for twin in [state, *twins]}) == 1


def test_the_generator_of_the_game_makes_no_difference(variant: Any, kind: str) -> None:
    opponent = make(kind, variant)
    state = state_in(variant, 12)
    answers = set()
    for generator in (0, 1, 2**63 + 5):
        state.generator = generator
        answers.add(ask(opponent, variant, state))
        assert state.generator == generator
    assert len(answers) == 1


def test_the_answer_does_not_depend_on_the_batch_or_the_threads(variant: Any, kind: str) -> None:
    observations, masks = decisions(variant, 9, 4)
    together = make(kind, variant).act(observations, masks)
    opponent = make(kind, variant, threads=3)
    order = np.random.default_rng(0).permutation(len(masks))
    apart = np.empty_like(together)
    for rows in (*np.array_split(order[:12], 12), *np.array_split(order[12:], 3)):
        apart[rows] = opponent.act(observations[rows], masks[rows])
    np.testing.assert_array_equal(apart, together)
    np.testing.assert_array_equal(make(kind, variant).act(observations, masks), together)


def test_what_it_was_asked_is_left_alone(variant: Any, kind: str) -> None:
    observations, masks = decisions(variant, 6, 3)
    copies = observations.copy(), masks.copy()
    make(kind, variant).act(*copies)
    np.testing.assert_array_equal(copies[0], observations)
    np.testing.assert_array_equal(copies[1], masks)


# --- what it does ----------------------------------------------------------------------------------------------------


def test_whole_games_are_played_with_legal_actions(variant: Any, kind: str) -> None:
    (match,) = evaluate(make(kind, variant, 4), "random", game=variant, games=2 * variant.num_players)
    assert match.turns > 0  # an illegal action would have raised


def test_only_actions_of_the_mask_are_chosen(variant: Any, kind: str) -> None:
    observations, masks = decisions(variant, 20, 3)
    rng = np.random.default_rng(1)
    fewer = masks & (rng.random(masks.shape) < 0.3)
    fewer[~fewer.any(axis=1)] = masks[~fewer.any(axis=1)]
    actions = make(kind, variant).act(observations, fewer)
    assert fewer[np.arange(len(actions)), actions].all()


def test_more_simulations_than_a_game_has_positions_are_no_trouble(kind: str) -> None:
    game = load_game("mandala_v0", max_turns=2)
    opponent = make(kind, game, 300)
    batch = Batch(game, 4, 0)
    for _ in range(6):
        batch.step(opponent.act(batch.observations, batch.action_masks))


# Positions of random play with the seed of the deal and the turn: few actions win at once, in others all is open.
TWO, THREE, FOUR = ({"num_players": number} for number in (2, 3, 4))
WON_AT_ONCE = [
    *[("mandala_v0", {}, 10, turn) for turn in (62, 64, 66, 68, 72)],
    ("flowers_v0", TWO, 0, 80),
    *[("flowers_v0", TWO, 4, turn) for turn in (100, 102)],
    *[("flowers_v0", THREE, 31, turn) for turn in (62, 65)],
    ("flowers_v0", FOUR, 27, 103),
]


def won_at_once(game: Any, seed: int, turn: int) -> tuple[Any, list[int]]:
    """A position, and the actions that win at once whatever is hidden."""
    rng = np.random.default_rng(seed)
    state = game.deal(seed)
    while state.turn < turn:
        game.apply(state, int(rng.choice(game.legal_actions(state))))
    worlds = [game.imagine(game.observe(state, state.player), number) for number in range(20)]
    legal = game.legal_actions(state)
    winning = [action for action in legal if all(wins(game, world, action) for world in worlds)]
    assert 0 < len(winning) < len(legal) / 4
    return state, winning


def wins(game: Any, state: Any, action: int) -> bool:
    """Does an action end the game with a win of the first player?"""
    after = game.copy(state)
    game.apply(after, action)
    return game.is_over(after) and game.payoffs(after)[0] == 1


@pytest.mark.parametrize(("game_id", "options", "seed", "turn"), WON_AT_ONCE)
def test_an_action_that_wins_at_once_is_taken(game_id: str, options: dict, seed: int, turn: int) -> None:
    game = load_game(game_id, **options)
    state, winning = won_at_once(game, seed, turn)
    knows_nothing = NetworkOpponent(game, 0, make_network(game, gain=0.0))
    for policy in ("random", knows_nothing):
        assert ask(SearchOpponent(game, 0, policy, 400), game, state) in winning


@pytest.mark.parametrize("dtype", [NODE, SEARCH])
def test_no_field_hides_behind_an_attribute_that_every_record_has(dtype: np.dtype) -> None:
    assert set(dtype.names or ()) & set(dir(np.record)) == set()  # plain Python would read the attribute


def test_results_go_to_the_player_who_moved() -> None:
    nodes = plain(np.zeros(4, NODE))
    path, movers = np.array([1, 3], np.int32), np.array([2, 0], np.int8)
    for results in ([1.0, 0.5, -1.0], [0.0, 1.0, -0.5]):
        _note(nodes, path, movers, 2, np.array(results))
    assert nodes["visits"].tolist() == [2, 2, 0, 2]
    assert nodes["value"].tolist() == [0, -1.5, 0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize("game_id", list_games())
def test_more_simulations_play_better(game_id: str) -> None:
    scores = [
        evaluate(f"search:simulations={n}", "heuristic", game=game_id, games=200)[0].score for n in (50, 200, 1000)
    ]
    assert scores[0] + 0.1 < scores[1] < scores[2] - 0.1
    assert scores[2] >= 0.85


@pytest.mark.slow
def test_search_with_a_network_beats_the_network() -> None:
    path = Path(__file__).resolve().parents[2] / "checkpoints" / "mandala_v0" / "small"
    (match,) = evaluate(f"search:{path},simulations=50", str(path), games=200)
    assert match.interval[0] > 0.5


# --- how it is asked for ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("search:simulations=0", "simulations must be a number from 1 to 1e+06, not '0'"),
        ("search:simulations=many", "simulations must be a number from 1"),
        ("search:simulations=2.5", "simulations must be a whole number, not '2.5'"),
        ("search:threads=0", "threads must be a number from 1"),
        ("search:policy=nobody", "policy must be random, heuristic or a checkpoint: unknown opponent 'nobody'"),
        ("search:1000", "policy must be random, heuristic or a checkpoint: unknown opponent '1000'"),
        ("search:policy=no/such/folder", "no/such/folder"),
        ("search:policy=search", "policy must be random, heuristic or a checkpoint; 'search' has no network"),
        ("search:depth=3", "'depth'; the options of search are: policy, simulations, threads"),
        ("search:PATH,policy=random", "the options of search are: policy, simulations, threads"),
    ],
)
def test_a_spec_that_makes_no_search_is_refused(spec: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        load_opponent(spec)


@pytest.mark.parametrize("name", ["player", "a player, b=c/d"])
def test_the_policy_may_be_a_path(name: str, tmp_path: Path) -> None:
    game = load_game("mandala_v0")
    path = tmp_path / name
    save_checkpoint(path, game, make_network(game, 1, gain=2.0), training={}, metrics={}, card="")
    seen = decisions(game, 6, 2)
    expected = make("network", game, 12).act(*seen)
    specs = [f"search:{path},simulations=12", f"search:checkpoint:{path},simulations=12"]
    if "," not in name:
        specs += [f"search:simulations=12,policy={path}", f"search:policy=checkpoint:{path},simulations=12"]
    for spec in specs:
        np.testing.assert_array_equal(load_opponent(spec, game).act(*seen), expected)


def test_the_default_is_200_random_playouts() -> None:
    opponent = load_opponent("search")
    assert isinstance(opponent, SearchOpponent)
    assert (opponent.policy, opponent.simulations, opponent.threads) == ("random", 200, 1)
    seen = decisions(opponent.game, 4, 1)
    other = load_opponent("search:random,simulations=200")
    np.testing.assert_array_equal(opponent.act(*seen), other.act(*seen))
