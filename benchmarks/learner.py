"""Decisions a second of complete self-play PPO, beside its floor and a stock learner: `python benchmarks/learner.py`.

The floor is what the same network costs in the same run without anything around it: one forward pass, and for each
epoch a forward and a backward pass and a step of Adam, in batches of the same sizes on the same number of threads. It
is measured with our passes and in plain torch; for comparison also of an MLP of 256 x 256 in plain torch, and whether
this processor multiplies bfloat16 faster. The stock learner is sb3-contrib's MaskablePPO on our batch.
"""

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from statistics import median
from time import perf_counter

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import configure

from mandala_env import load_game, make_batch
from mandala_env.core.game import Game
from mandala_env.policies.network import Matrices, PolicyValueNetwork
from mandala_env.policies.passes import CHUNK, Passes, evaluate
from training.config import LeagueConfig, PPOConfig, TrainConfig
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
    game, threads = load_game(config.game), config.num_threads
    observations = some_observations(config)
    network = PolicyValueNetwork(game, config.network)
    parameters = network.share_storage()
    optimizer = torch.optim.Adam([parameters], lr=1e-4, fused=True)
    passes = [Passes(network) for _ in range(threads)]
    pool = ThreadPoolExecutor(threads)

    def forward(part: np.ndarray, matrices: Matrices) -> None:
        evaluate(network, matrices, part)

    def gradient(own: Passes, part: np.ndarray, matrices: Matrices) -> torch.Tensor:
        total = torch.zeros(len(network.places))
        gradients = network.cut(total)
        for first in range(0, len(part), CHUNK):
            chunk = part[first : first + CHUNK]
            logits, values = np.empty((len(chunk), len(game.actions)), np.float32), np.empty(len(chunk), np.float32)
            own.forward(chunk, matrices, logits, values)
            own.backward(logits, values, matrices, gradients)
        return total

    @torch.no_grad()
    def collect() -> None:
        matrices = network.matrices(parameters)
        list(pool.map(forward, np.array_split(observations, threads), [matrices] * threads))

    @torch.no_grad()
    def update() -> None:
        for start in range(0, len(observations), config.ppo.minibatch_size):
            matrices = network.matrices(parameters)
            minibatch = observations[start : start + config.ppo.minibatch_size]
            by_matrices = sum(pool.map(gradient, passes, np.array_split(minibatch, threads), [matrices] * threads))
            parameters.grad = torch.zeros_like(parameters).index_add_(0, network.places, by_matrices)
            optimizer.step()

    seconds = seconds_of(collect, rounds) + config.ppo.num_epochs * seconds_of(update, rounds)
    return len(observations) / seconds


class MLP(torch.nn.Module):
    """Two hidden layers of 256, a policy and a value."""

    def __init__(self, game: Game) -> None:
        super().__init__()
        sizes = [game.layout.size, 256, 256, len(game.actions) + 1]
        layers = [layer for pair in pairwise(sizes) for layer in (torch.nn.Linear(*pair), torch.nn.ReLU())]
        self.layers = torch.nn.Sequential(*layers[:-1])

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values."""
        outputs = self.layers(observations.float())
        return outputs[:, :-1], outputs[:, -1]


def plain_floor_rate(network: torch.nn.Module, config: TrainConfig, rounds: int) -> float:
    """The same of any network in plain torch, with torch's own threads."""
    observations = torch.from_numpy(some_observations(config))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4, fused=True)

    @torch.no_grad()
    def collect() -> None:
        for part in observations.split(config.ppo.num_games):
            network(part)

    def update() -> None:
        for minibatch in observations.split(config.ppo.minibatch_size):
            logits, values = network(minibatch)
            optimizer.zero_grad()
            torch.autograd.backward([logits, values], [torch.ones_like(logits), torch.ones_like(values)])
            optimizer.step()

    torch.set_num_threads(config.num_threads)
    seconds = seconds_of(collect, rounds) + config.ppo.num_epochs * seconds_of(update, rounds)
    torch.set_num_threads(1)
    return len(observations) / seconds


def bfloat16_gain(threads: int, rounds: int) -> float:
    """How many times faster matrices of 4096 x 256 and 256 x 256 are multiplied in bfloat16 than in float32."""
    torch.set_num_threads(threads)
    seconds = []
    for dtype in (torch.float32, torch.bfloat16):
        left, right = torch.randn(4096, 256).to(dtype), torch.randn(256, 256).to(dtype)
        seconds.append(seconds_of(lambda left=left, right=right: left @ right, 10 * rounds))
    torch.set_num_threads(1)
    return seconds[0] / seconds[1]


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
        plain = plain_floor_rate(PolicyValueNetwork(load_game(config.game)), config, given.rounds)
        ours = our_rate(config, given.rounds)
        print(f"self-play PPO, default network, {epochs} epochs      {ours:>10,.0f}")
        print(f"  floor with our passes, and our part of it   {floor:>10,.0f} {ours / floor:>7.0%}")
        print(f"  floor in plain torch, and our part of it    {plain:>10,.0f} {ours / plain:>7.0%}")
    for epochs in (1, 4):
        config = replace(base, ppo=PPOConfig(num_epochs=epochs, minibatch_size=4096))
        floor = plain_floor_rate(MLP(load_game(config.game)), config, given.rounds)
        print(f"floor of an MLP 256x256 in plain torch, {epochs} epochs{floor:>10,.0f}")
    print(f"bfloat16 is as fast as float32 times          {bfloat16_gain(given.threads, given.rounds):>12.2f}")
    torch.set_num_threads(given.threads)
    for epochs in (1, 4):
        print(f"stock MaskablePPO, MLP 256x256, {epochs} epochs      {stock_rate(epochs, given.rounds):>10,.0f}")


if __name__ == "__main__":
    main()
