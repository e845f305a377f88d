"""What `mandala bench` prints: speeds of this machine now, each the median of several runs."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from time import perf_counter

import numpy as np

from mandala_env.core.batch import PICKER, Batch
from mandala_env.core.game import Game
from mandala_env.opponents.base import load_opponent
from mandala_env.opponents.search import SearchOpponent

IMPORT = "import mandala_env, sys; print(int('torch' in sys.modules or 'stable_baselines3' in sys.modules))"
FIRST_STEP = """
from mandala_env import make_batch
batch = make_batch({game!r}, 1, 0, **{options!r})
batch.step(batch.action_masks.argmax(axis=1))
"""


def bench(game: Game, seconds: int) -> Iterator[str]:
    """Measure, and yield one line for each figure."""
    warm_up(game)
    for num_games, num_threads in ((1, 1), (1024, 1), (65536, 1), (10**6, 1), (65536, 2)):
        rate = rate_of(random_play(game, num_games, num_threads), seconds) * num_games
        what = f"random play, {num_games:,} games, {num_threads} thread{'s' * (num_threads > 1)}"
        yield f"{what:<46}{rate / 1e6:8.3f} million decisions/s"
    with busy_process():
        rate = rate_of(random_play(game, 65536, 2), seconds) * 65536
    yield f"{'  the same beside a process that is busy':<46}{rate / 1e6:8.3f} million decisions/s"
    batch = Batch(game, 1024, 0)
    for _ in range(64):
        batch.step_random()
    for spec, what in (
        ("heuristic", "heuristic opponent, 1 thread"),
        ("champion", "champion opponent, 1 thread"),
        ("champion:threads=2", "champion opponent, 2 threads"),
    ):
        try:
            player = load_opponent(spec, game)
        except ValueError:  # without torch there are no trained players
            continue
        rate = rate_of(partial(player.act, batch.observations, batch.action_masks), seconds)
        yield f"{what:<46}{rate * 1024 / 1e6:8.3f} million decisions/s"
    yield from search_rates(game, batch, seconds)
    for kind in ("raw_env", "env"):
        play, count = aec_play(game, kind)
        rate = rate_of(play, seconds) * count
        yield f"{f'PettingZoo {kind}(), agent_iter':<46}{rate:8,.0f} steps/s"
    took, output = process_seconds(IMPORT)
    first_step = FIRST_STEP.format(game=game.id, options=dict(game.options))
    is_loaded = "yes" if output == "1" else "no"
    yield f"{'import mandala_env':<46}{took:8.3f} s (torch or stable-baselines3 loaded: {is_loaded})"
    yield f"{'whole process to the first step, warm':<46}{process_seconds(first_step)[0]:8.3f} s"
    yield f"{'  of which an empty Python':<46}{process_seconds('pass')[0]:8.3f} s"


def warm_up(game: Game) -> None:
    """Compile what the package compiles for a game."""
    batch = Batch(game, 2, 0)
    batch.step_random()
    batch.step(batch.action_masks.argmax(axis=1))
    batch.observe(0)
    batch.set_states(batch.states.copy())
    for name in ("random", "heuristic", "search:simulations=2"):
        load_opponent(name, game).act(batch.observations, batch.action_masks)
    state = game.deal(0)
    game.apply(state, game.legal_actions(state)[0])
    game.scores(state), game.payoffs(state)
    game.imagine(game.observe(state, 0), 0)
    game.from_position(game.position(state), 0)
    play, _ = aec_play(game, "env", steps=4)
    play()


def search_rates(game: Game, batch: Batch, seconds: int) -> Iterator[str]:
    """How fast `search` decides in positions of random play, and how fast it plays on from them."""
    observations, masks = batch.observations[:64], batch.action_masks[:64]
    pickers, actions = np.zeros(64, PICKER).view(np.recarray), np.empty(64, np.int64)
    for simulations in (50, 200, 1000):
        search = SearchOpponent(game, 0, simulations=simulations)
        rate = rate_of(partial(search.play_out, observations, masks, pickers, actions), seconds)
        yield f"{f'search, {simulations} simulations':<46}{rate * 64:8,.0f} decisions/s"
    simulate, play = partial(search.play_out, observations, masks, pickers, actions), random_play(game, 1024)
    num_tried, rates, shares = search.play_out(observations, masks, pickers, actions), [], []
    for _ in range(5):  # by turns: the machine's speed changes from minute to minute
        rates.append(rate_of(simulate, seconds / 5, parts=1) * num_tried)
        shares.append(rates[-1] / (rate_of(play, seconds / 5, parts=1) * 1024))
    share = f"{median(shares):.0%} of random play with 1,024 games beside it"
    yield f"{'  actions in its imagined games':<46}{median(rates) / 1e6:8.3f} million/s ({share})"


def random_play(game: Game, num_games: int, num_threads: int = 1) -> Callable[[], object]:
    """A step of random play in many games, observations and masks written."""
    batch = Batch(game, num_games, 0, num_threads=num_threads, copy=False)
    for _ in range(64 if num_games <= 65536 else 8):  # games of every age
        batch.step_random()
    return batch.step_random


@contextmanager
def busy_process() -> Iterator[None]:
    """A process that never rests, while the block runs."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def aec_play(game: Game, kind: str, steps: int = 500) -> tuple[Callable[[], None], int]:
    """The usual PettingZoo loop with sampling by the mask."""
    from importlib import import_module

    env = getattr(import_module(f"mandala_env.{game.id}"), kind)(**game.options)
    rng = np.random.default_rng(0)
    seeds = iter(range(10**9))

    def play() -> None:
        done = 0
        while done < steps:
            env.reset(seed=next(seeds))
            for _ in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.step(None)
                else:
                    legal = np.flatnonzero(observation["action_mask"])
                    env.step(int(legal[int(rng.random() * len(legal))]))
                done += 1
                if done >= steps:
                    break

    return play, steps


def rate_of(function: Callable[[], object], seconds: float, parts: int = 5) -> float:
    """Calls a second: the median over several stretches of time."""
    function()
    rates = []
    for _ in range(parts):
        started, calls = perf_counter(), 0
        while (elapsed := perf_counter() - started) < seconds / parts:
            function()
            calls += 1
        rates.append(calls / elapsed)
    return median(rates)


def process_seconds(code: str, runs: int = 5) -> tuple[float, str]:
    """How long a new Python takes for some code, and what it printed."""
    times, output = [], ""
    for _ in range(runs):
        started = perf_counter()
        output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
        times.append(perf_counter() - started)
    return median(times), output
