"""Decisions a second of complete self-play PPO, beside its floor and a stock learner: `python benchmarks/learner.py`.

The floor is what the same network costs in the same run without anything around it: one forward pass, and for each
epoch a forward and a backward pass and a step of Adam, in batches of the same sizes on the same number of threads. It
is measured with our passes and in plain torch, of the default network and of an MLP of 256 x 256; that one also in
bfloat16, if this processor has it. The stock learner is sb3-contrib's MaskablePPO on our batch with that MLP.
"""

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from statistics import median
from time import perf_counter

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import configure

from mandala_env import load_game, make_batch
from mandala_env.policies.network import Matrices, NetworkConfig, make_network
from mandala_env.policies.passes import Passes, evaluate, make_passes
from training.config import LeagueConfig, PPOConfig, TrainConfig
from training.precision import DTYPES, has_bfloat16
from training.selfplay import SelfPlayPPO
from training.vec_env import SelfPlayVecEnv


def seconds_of(function: Callable[[], object], rounds: int) -> float:
    """The median time of a call, the first one left out."""
    function()
    times = []
    for _ in range(rounds):
        started = perf_counter()
        function()
        times.append(perf_counter() - started)
    return median(times)


def our_rate(config: TrainConfig, rounds: int) -> float:
    """Decisions a second of the whole loop, collecting and updating."""
    model = SelfPlayPPO(load_game(config.game), config)
    model.set_logger(configure(None, []))
    per_iteration = config.ppo.num_games * config.ppo.num_steps
    return per_iteration / seconds_of(lambda: model.learn(per_iteration, reset_num_timesteps=False), rounds)


def some_observations(config: TrainConfig, num_decisions: int = 8192) -> np.ndarray:
    """Observations in the midst of games."""
    batch = make_batch(config.game, num_decisions, 0)
    for _ in range(30):
        batch.step_random()
    return batch.observations


def floor_rate(config: TrainConfig, rounds: int) -> float:
    """Decisions a second if nothing but the network's passes cost time."""
    game, threads, dtype = load_game(config.game), config.num_threads, DTYPES[config.precision]
    observations = some_observations(config)
    network = make_network(game, config.network)
    parameters = network.share_storage()
    optimizer = torch.optim.Adam([parameters], lr=1e-4, fused=True)
    passes = [make_passes(network) for _ in range(threads)]
    pool = ThreadPoolExecutor(threads)

    def forward(part: np.ndarray, matrices: Matrices) -> None:
        evaluate(network, matrices, part)

    def gradient(own: Passes, part: np.ndarray, matrices: Matrices) -> torch.Tensor:
        total = torch.zeros(len(network.places))
        gradients = network.cut(total)
        for first in range(0, len(part), own.chunk):
            chunk = part[first : first + own.chunk]
            logits, values = np.empty((len(chunk), len(game.actions)), np.float32), np.empty(len(chunk), np.float32)
            own.forward(chunk, matrices, logits, values)
            own.backward(logits, values, matrices, gradients)
        return total

    @torch.no_grad()
    def collect() -> None:
        matrices = network.matrices(parameters, dtype)
        list(pool.map(forward, np.array_split(observations, threads), [matrices] * threads))

    @torch.no_grad()
    def update() -> None:
        for start in range(0, len(observations), config.ppo.minibatch_size):
            matrices = network.matrices(parameters, dtype)
            minibatch = observations[start : start + config.ppo.minibatch_size]
            by_matrices = sum(pool.map(gradient, passes, np.array_split(minibatch, threads), [matrices] * threads))
            parameters.grad = torch.zeros_like(parameters).index_add_(0, network.places, by_matrices)
            optimizer.step()

    seconds = seconds_of(collect, rounds) + config.ppo.num_epochs * seconds_of(update, rounds)
    return len(observations) / seconds


def plain_floor_rate(config: TrainConfig, rounds: int) -> float:
    """The same in plain torch, with torch's own threads and, for bfloat16, its autocast."""
    network = make_network(load_game(config.game), config.network)
    observations = torch.from_numpy(some_observations(config))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4, fused=True)
    casts = torch.autocast("cpu", torch.bfloat16, enabled=config.precision == "bfloat16")

    @torch.no_grad()
    def collect() -> None:
        for part in observations.split(config.ppo.num_games):
            with casts:
                network(part)

    def update() -> None:
        for minibatch in observations.split(config.ppo.minibatch_size):
            with casts:
                logits, values = network(minibatch)
            optimizer.zero_grad()
            torch.autograd.backward([logits, values], [torch.ones_like(logits), torch.ones_like(values)])
            optimizer.step()

    torch.set_num_threads(config.num_threads)
    seconds = seconds_of(collect, rounds) + config.ppo.num_epochs * seconds_of(update, rounds)
    torch.set_num_threads(1)
    return len(observations) / seconds


def stock_rate(epochs: int, rounds: int, num_games: int = 1024, num_steps: int = 16) -> float:
    """Decisions a second of stock MaskablePPO with an MLP of 256 x 256 on the batch."""
    model = MaskablePPO(
        "MlpPolicy",
        SelfPlayVecEnv(load_game("mandala_v0"), num_games, 0),
        n_steps=num_steps,
        batch_size=4096,
        n_epochs=epochs,
        policy_kwargs={"net_arch": [256, 256]},
        device="cpu",
        seed=0,
    )
    model.set_logger(configure(None, []))
    per_iteration = num_games * num_steps
    return per_iteration / seconds_of(lambda: model.learn(per_iteration, reset_num_timesteps=False), rounds)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    np.seterr(all="ignore")
    mlp = NetworkConfig(mlp=[256, 256])
    kinds = [("default network", "float32", NetworkConfig(), 1024, 1024), ("MLP 256x256", "float32", mlp, 4096, 4096)]
    if has_bfloat16():
        kinds.append(("MLP 256x256", "bfloat16", mlp, 4096, 4096))
    print(
        f"{given.threads} threads, load average {os.getloadavg()[0]:.2f}; decisions a second, and our part of floors\n"
    )
    print(f"{'':44}{'self-play PPO':>14}{'our passes':>18}{'plain torch':>18}")
    for (name, precision, network, num_games, minibatch_size), epochs in product(kinds, (1, 4)):
        config = TrainConfig(
            num_threads=given.threads,
            total_decisions=10**9,
            precision=precision,
            network=network,
            ppo=PPOConfig(
                num_games=num_games, num_steps=65536 // num_games, num_epochs=epochs, minibatch_size=minibatch_size
            ),
            league=LeagueConfig(share=0),
        )
        ours = our_rate(config, given.rounds)
        floors = [floor(config, given.rounds) for floor in (floor_rate, plain_floor_rate)]
        cells = "".join(f"{floor:>11,.0f} {ours / floor:>6.0%}" for floor in floors)
        print(
            f"{name}, {precision}, {epochs} epoch{'s' * (epochs > 1):<10}".ljust(44) + f"{ours:>14,.0f}{cells}",
            flush=True,
        )
    torch.set_num_threads(given.threads)
    for epochs in (1, 4):
        print(
            f"stock MaskablePPO, {kinds[1][0]}, {epochs} epoch{'s' * (epochs > 1)}".ljust(44)
            + f"{stock_rate(epochs, given.rounds):>14,.0f}"
        )


if __name__ == "__main__":
    main()
