"""Random play in this package and in others, measured in one run: `python benchmarks/peers.py [--python PEERS_PYTHON]`.

Every subject runs in a process of its own, pinned to one core, in turns: a slow spell of the machine meets all of them.
A figure is the median over the rounds of decisions a second (all seats together); what a decision includes is said on
the page README.md beside this file. A subject that is not installed is left out and named.

The peers need not be installed beside mandala_env: --python names the interpreter of an environment that has them.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

NUM_GAMES = 1024  # where games are stepped together
CORE = 0


def rate_of(play: Callable[[], int], seconds: float) -> float:
    """Decisions a second; play() makes some and returns how many."""
    play()
    started, decisions = perf_counter(), 0
    while (elapsed := perf_counter() - started) < seconds:
        decisions += play()
    return decisions / elapsed


# --- ours -------------------------------------------------------------------------------------------------------


def batch(game: str, num_games: int = NUM_GAMES, **options: int) -> Callable[[], int]:
    """Random play in a Batch."""
    from mandala_env import make_batch

    games = make_batch(game, num_games, 0, copy=False, **options)
    for _ in range(64):
        games.step_random()

    def play() -> int:
        for _ in range(16):
            games.step_random()
        return 16 * num_games

    return play


def aec(make: Callable[[], object]) -> Callable[[], int]:
    """The usual loop of a PettingZoo environment, actions drawn by the mask."""
    import numpy as np

    env, rng = make(), np.random.default_rng(0)

    def play() -> int:
        env.reset(seed=int(rng.integers(2**31)))
        decisions = 0
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            legal = np.flatnonzero(observation["action_mask"])
            env.step(int(legal[int(rng.random() * len(legal))]))
            decisions += 1
        return decisions

    return play


def mandala_aec() -> Callable[[], int]:
    """Mandala as a PettingZoo environment."""
    from mandala_env import mandala_v0

    return aec(mandala_v0.env)


def flowers_aec() -> Callable[[], int]:
    """Flowers for two as a PettingZoo environment."""
    from mandala_env import flowers_v0

    return aec(flowers_v0.env)


# --- the others -------------------------------------------------------------------------------------------------


def pettingzoo_game(name: str) -> Callable[[], int]:
    """A card or board game that PettingZoo ships."""
    from importlib import import_module

    return aec(import_module(f"pettingzoo.classic.{name}").env)


def openspiel_game(name: str) -> Callable[[], int]:
    """A game of OpenSpiel through its Python interface, with the observation of whoever decides."""
    import random

    import pyspiel

    game, rng = pyspiel.load_game(name), random.Random(0)

    def play() -> int:
        state, decisions = game.new_initial_state(), 0
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, chances = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(outcomes, chances)[0])
                continue
            state.observation_tensor(state.current_player())
            state.apply_action(rng.choice(state.legal_actions()))
            decisions += 1
        return decisions

    return play


def rlcard_game(name: str) -> Callable[[], int]:
    """A game of RLCard; its state holds observation and legal actions."""
    import random

    import rlcard

    env, rng = rlcard.make(name, config={"seed": 0}), random.Random(0)

    def play() -> int:
        state, _ = env.reset()
        decisions = 0
        while not env.is_over():
            state, _ = env.step(rng.choice(list(state["legal_actions"])))
            decisions += 1
        return decisions

    return play


def pgx_game(name: str) -> Callable[[], int]:
    """Many games of pgx, stepped together in one compiled loop on the CPU, dealt anew when they end."""
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)
    step, steps = jax.vmap(auto_reset(env.step, env.init)), 16

    def one(carry: tuple, _: None) -> tuple:
        state, key = carry
        key, draw, chance = jax.random.split(key, 3)
        logits = jnp.where(state.legal_action_mask, 0.0, -jnp.inf)
        actions = jax.random.categorical(draw, logits)
        return (step(state, actions, jax.random.split(chance, NUM_GAMES)), key), None

    many = jax.jit(lambda state, key: jax.lax.scan(one, (state, key), None, length=steps)[0])
    carry = [jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), NUM_GAMES)), jax.random.PRNGKey(1)]

    def play() -> int:
        carry[:] = many(*carry)
        jax.block_until_ready(carry)
        return steps * NUM_GAMES

    return play


def envpool_task(name: str) -> Callable[[], int]:
    """Many environments of EnvPool on one thread; it has no card game, so this is its simplest task."""
    import envpool
    import numpy as np

    envs = envpool.make(name, env_type="gymnasium", num_envs=NUM_GAMES, num_threads=1)
    envs.reset()
    rng = np.random.default_rng(0)

    def play() -> int:
        for _ in range(16):
            envs.step(rng.integers(envs.action_space.n, size=NUM_GAMES))
        return 16 * NUM_GAMES

    return play


OURS: dict[str, Callable[[], Callable[[], int]]] = {
    "mandala_env Mandala, batch of 1024": lambda: batch("mandala_v0"),
    "mandala_env Mandala, batch of 1": lambda: batch("mandala_v0", 1),
    "mandala_env Flowers 2p, batch of 1024": lambda: batch("flowers_v0"),
    "mandala_env Flowers 4p, batch of 1024": lambda: batch("flowers_v0", num_players=4),
    "mandala_env Mandala, PettingZoo env()": mandala_aec,
    "mandala_env Flowers 2p, PettingZoo env()": flowers_aec,
}
PEERS: dict[str, Callable[[], Callable[[], int]]] = {
    "OpenSpiel gin_rummy": lambda: openspiel_game("gin_rummy"),
    "OpenSpiel hanabi": lambda: openspiel_game("hanabi"),
    "OpenSpiel leduc_poker": lambda: openspiel_game("leduc_poker"),
    "pgx leduc_holdem, batch of 1024": lambda: pgx_game("leduc_holdem"),
    "pgx backgammon, batch of 1024": lambda: pgx_game("backgammon"),
    "PettingZoo texas_holdem_v4": lambda: pettingzoo_game("texas_holdem_v4"),
    "PettingZoo connect_four_v3": lambda: pettingzoo_game("connect_four_v3"),
    "RLCard uno": lambda: rlcard_game("uno"),
    "RLCard gin-rummy": lambda: rlcard_game("gin-rummy"),
    "EnvPool CartPole-v1, batch of 1024": lambda: envpool_task("CartPole-v1"),
}


def measure_one(name: str, seconds: float) -> None:
    """Measure a subject in this process and print its rate as JSON; what is not installed is said there, too."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {CORE})
    try:
        play = {**OURS, **PEERS}[name]()
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
        return
    print(json.dumps({"rate": rate_of(play, seconds)}))


def ask(python: str, name: str, seconds: float) -> dict:
    """The result of a subject, measured in a process of its own."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    command = [python, __file__, "--one", name, "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"missing": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    result: dict = json.loads(lines[-1])
    return result


def main() -> None:
    """Measure everything in turns and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the peers")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long a subject is measured in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        measure_one(given.one, given.seconds)
        return
    rates: dict[str, list[float]] = {}
    missing: dict[str, str] = {}
    for _ in range(given.rounds):
        for name in [*OURS, *PEERS]:
            if name in missing:
                continue
            result = ask(sys.executable if name in OURS else given.python, name, given.seconds)
            if "rate" in result:
                rates.setdefault(name, []).append(result["rate"])
            else:
                missing[name] = result["missing"]
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"{platform.machine()}, {os.cpu_count()} cores, each subject on core {CORE}, load average after it: {load}")
    print(f"{given.rounds} rounds of {given.seconds:g} s; decisions a second\n")
    reference = median(rates[next(iter(OURS))])
    print(f"{'subject':<44} {'median':>12} {'lowest':>12} {'highest':>12} {'ours / it':>10}")
    for name, found in rates.items():
        middle = median(found)
        print(f"{name:<44} {middle:>12,.0f} {min(found):>12,.0f} {max(found):>12,.0f} {reference / middle:>10.1f}")
    for name, reason in missing.items():
        print(f"{name:<44} not measured: {reason}")
    if given.json:
        given.json.write_text(json.dumps({"rates": rates, "missing": missing}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
