"""Decisions a second of complete self-play PPO, beside its floor and a stock learner: `python benchmarks/learner.py`.

The floor is what the same network costs in the same run without anything around it: one forward pass, and for each
epoch a forward and a backward pass and a step of Adam, in batches of the same sizes on the same number of threads. It
is measured with our compiled sweeps and in plain torch. The stock learner is sb3-contrib's MaskablePPO on our batch.
"""

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from statistics import median
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import configure

from mandala_env import load_game, make_batch
from mandala_env.policies.network import PolicyValueNetwork
from training.config import LeagueConfig, PPOConfig, TrainConfig
from training.selfplay import CHUNK, SelfPlayPPO
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


def floor_rate(config: TrainConfig, rounds: int, num_decisions: int = 8192) -> float:
    """Decisions a second if nothing but the network cost time."""
    game, threads = load_game(config.game), config.num_threads
    batch = make_batch(config.game, num_decisions, 0)
    for _ in range(30):
        batch.step_random()
    observations = torch.from_numpy(batch.observations)
    network = PolicyValueNetwork(game, config.network)
    parameters = network.share_storage()
    optimizer = torch.optim.Adam([parameters], lr=1e-4, fused=True)
    pool = ThreadPoolExecutor(threads)

    def forward(part: torch.Tensor) -> None:
        with torch.no_grad():
            matrices = network.matrices(parameters)
            for chunk in part.split(CHUNK):
                network(chunk, matrices)

    def gradient(part: torch.Tensor, whole: Any) -> torch.Tensor:
        leaves = {
            name: tuple(None if t is None else t.detach().requires_grad_() for t in pair)
            for name, pair in whole.items()
        }
        flat = [tensor for pair in leaves.values() for tensor in pair if tensor is not None]
        total = torch.zeros(len(network.places))
        for chunk in part.split(CHUNK):
            logits, values = network(chunk, leaves)
            ones = [torch.ones_like(logits), torch.ones_like(values)]
            total += torch.cat([g.flatten() for g in torch.autograd.grad([logits, values], flat, ones)])
        return total

    def collect() -> None:
        list(pool.map(forward, observations.chunk(threads)))

    def update() -> None:
        for minibatch in observations.split(config.ppo.minibatch_size):
            with torch.no_grad():
                whole = network.matrices(parameters)
            parts = pool.map(lambda part, whole=whole: gradient(part, whole), minibatch.chunk(threads))
            by_matrices = sum(parts)
            parameters.grad = torch.zeros_like(parameters).index_add_(0, network.places, by_matrices)
            optimizer.step()

    epochs = config.ppo.num_epochs
    return num_decisions / (seconds_of(collect, rounds) + epochs * seconds_of(update, rounds))


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
    base = TrainConfig(num_threads=given.threads, league=LeagueConfig(share=0), total_decisions=10**9)
    print(f"{given.threads} threads, load average {os.getloadavg()[0]:.2f}; decisions a second\n")
    for epochs in (1, 4):
        config = replace(base, ppo=PPOConfig(num_epochs=epochs))
        floor = floor_rate(config, given.rounds)
        with patch("mandala_env.policies.fused.is_fused", lambda *tensors: False):
            plain = floor_rate(config, given.rounds)
        ours = our_rate(config, given.rounds)
        print(f"self-play PPO, default network, {epochs} epochs      {ours:>10,.0f}")
        print(f"  floor with our sweeps, and our part of it   {floor:>10,.0f} {ours / floor:>7.0%}")
        print(f"  floor in plain torch, and our part of it    {plain:>10,.0f} {ours / plain:>7.0%}")
    torch.set_num_threads(given.threads)
    for epochs in (1, 4):
        print(f"stock MaskablePPO, MLP 256x256, {epochs} epochs      {stock_rate(epochs, given.rounds):>10,.0f}")


if __name__ == "__main__":
    main()
