"""Self-play PPO: sb3-contrib's MaskablePPO with its own collection and update.

`learn`, schedules, callbacks, logger and progress bar are the library's. Here are the hot parts: every decision of
every seat is collected from a `Batch`, and the update computes the masked loss and its gradient in one compiled sweep.
Both are shared out to threads of our own with one torch thread each: OpenMP's threads spin, and a busy neighbour then
slows them down tenfold. Who computes what is fixed, so a run depends on the number of threads but not on their timing.
"""

from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import explained_variance

from mandala_env.core.actions import num_words
from mandala_env.core.game import Game
from mandala_env.policies.checkpoint import load_checkpoint
from mandala_env.policies.network import PolicyValueNetwork
from training.config import TrainConfig
from training.gradient import Gradient, LossSettings, moments
from training.league import League
from training.loss import STATS
from training.policy import NetworkPolicy
from training.precision import DTYPES
from training.rollout import Decisions, estimate_advantages, make_shards
from training.vec_env import SelfPlayVecEnv
from training.workers import make_workers

COLLECTED = {"payoffs": "step game seat", "values": "step game", "log_probs": "step game", "last_values": "game seat"}


class TrainingDiverged(RuntimeError):
    """What is learnt from is not finite; the weights are those before the step that would have spoilt them."""


class SelfPlayPPO(MaskablePPO):
    """PPO that plays both seats of a game, and a share of the games against a league of frozen players."""

    def __init__(self, game: Game, config: TrainConfig, **kwargs: Any) -> None:
        self.game, self.config = game, config
        ppo = config.ppo
        super().__init__(
            NetworkPolicy,
            SelfPlayVecEnv(game, ppo.num_games, config.seed),
            learning_rate=lambda left: ppo.final_learning_rate + (ppo.learning_rate - ppo.final_learning_rate) * left,
            n_steps=ppo.num_steps,
            batch_size=ppo.minibatch_size,
            n_epochs=ppo.num_epochs,
            gamma=ppo.gamma,
            gae_lambda=ppo.gae_lambda,
            clip_range=ppo.clip_range,
            ent_coef=ppo.entropy_coef,
            vf_coef=ppo.value_coef,
            max_grad_norm=ppo.max_grad_norm,
            rollout_buffer_class=_NoBuffer,
            policy_kwargs={"game": game, "network": config.network},
            seed=config.seed,
            device="cpu",
            **kwargs,
        )

    def _setup_model(self) -> None:
        # The library seeds the global generators of torch, numpy and random; ours only draws the first weights.
        with torch.random.fork_rng(devices=[]):
            super()._setup_model()
        if self.config.start_from:
            self._start_from(self.config.start_from)
        # One vector instead of many small tensors: a step of the optimiser is then one sweep.
        self.parameters_in_one = self.network.share_storage()
        rate = self.lr_schedule(1)
        self.policy.optimizer = torch.optim.Adam([self.parameters_in_one], lr=rate, eps=1e-5, fused=True)
        config = self.config
        self.shards = make_shards(self.game, config.ppo.num_games, config.num_workers, config.seed, config.league)
        self.league = League(self.game, config.league, config.seed)
        self.decisions = Decisions(
            self.game, config.ppo.num_steps, config.ppo.num_games, num_words(len(self.game.actions))
        )
        self.shuffler = np.random.Generator(np.random.PCG64(config.seed))
        self.iteration = 0
        self.collect_seconds = self.update_seconds = self.seconds_before = 0.0
        self.started = perf_counter()
        self.workers = make_workers(self.game, config)
        self.gradient = Gradient(self.network, self.parameters_in_one, config.num_threads, DTYPES[config.precision])

    def _threads(self) -> ThreadPoolExecutor:
        """Our threads, for one update; none is left behind by a run that ends or fails."""
        return ThreadPoolExecutor(self.config.num_threads, thread_name_prefix="self-play")

    def _start_from(self, folder: str) -> None:
        """Take the first weights from a checkpoint."""
        first = load_checkpoint(folder, self.game)
        theirs, ours = first.state_dict(), self.network.state_dict()
        if {name: part.shape for name, part in theirs.items()} != {name: part.shape for name, part in ours.items()}:
            raise ValueError(f"start_from: {folder} has a network of {first.config}, not {self.network.config}")
        self.network.load_state_dict(theirs)

    def set_random_seed(self, seed: int | None = None) -> None:
        """Seed torch for the first weights; numpy's and Python's global generators are left alone."""
        if seed is not None:
            torch.manual_seed(seed)

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        """The last iteration may go past the end; the schedules stay at their final values then."""
        self._current_progress_remaining = max(0.0, 1 - num_timesteps / total_timesteps)

    def seconds(self) -> float:
        """How long the run has taken so far, in all the processes that it took."""
        return self.seconds_before + perf_counter() - self.started

    @property
    def network(self) -> PolicyValueNetwork:
        """The network that learns."""
        return self.policy.network

    # --- collecting ---------------------------------------------------------------------------------------------

    def collect_rollouts(
        self, env: Any, callback: BaseCallback, rollout_buffer: Any, n_rollout_steps: int, use_masking: bool = True
    ) -> bool:
        """Play num_steps decisions in every game; returns False if a callback wants to stop."""
        started = perf_counter()
        callback.on_rollout_start()
        self._grow_league()
        self.workers.collect(self.network, self.league, self.shards, self.decisions.cut(self.shards))
        self._check_collected()
        for shard in self.shards:
            for slot, share in shard.results:
                self.league.record(slot, share)
        for _ in range(n_rollout_steps):
            self.num_timesteps += self.n_envs
            callback.update_locals(locals())
            if not callback.on_step():
                return False
        self.iteration += 1
        self.collect_seconds = perf_counter() - started
        callback.on_rollout_end()
        return True

    def _check_collected(self) -> None:
        """Raise TrainingDiverged that names the first number that is not finite, before the league learns of it."""
        for name, words in COLLECTED.items():
            wrong = np.argwhere(~np.isfinite(getattr(self.decisions, name)))
            if len(wrong):
                where = ", ".join(f"{axis} {place}" for axis, place in zip(words.split(), wrong[0], strict=True))
                raise TrainingDiverged(
                    f"iteration {self.iteration + 1}, decision {self.num_timesteps}: {len(wrong)} of the {name} are "
                    f"not finite, the first at {where}"
                )

    def _grow_league(self) -> None:
        settings = self.config.league
        if settings.share > 0 and settings.max_snapshots > 0 and self.iteration % settings.snapshot_every == 0:
            slots_in_play = set(np.concatenate([shard.slots for shard in self.shards]).tolist())
            self.league.add_snapshot(self.network, f"self-{self.iteration}", slots_in_play)

    # --- updating -----------------------------------------------------------------------------------------------

    def train(self) -> None:
        """Take the optimiser steps for what was collected."""
        started = perf_counter()
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        ppo, d = self.config.ppo, self.decisions
        returns = estimate_advantages(d, ppo.gamma, ppo.gae_lambda)
        columns: dict[str, np.ndarray] = {
            "observations": d.observations,
            "words": d.words,
            "actions": d.actions,
            "log_probs": d.log_probs,
            "advantages": d.advantages,
            "returns": returns,
        }
        data = {name: value.reshape(-1, *value.shape[2:]) for name, value in columns.items()}
        rows = np.flatnonzero(d.is_learners.reshape(-1))
        stats, num_seen = np.zeros(len(STATS)), 0
        with self._threads() as pool:
            for _ in range(self.n_epochs):
                order = self.shuffler.permutation(rows)
                num_minibatches = max(1, round(len(order) / ppo.minibatch_size))
                for part in np.array_split(order, num_minibatches) if len(order) else ():  # all may be league members'
                    stats += self._step(pool, data, part)
                    num_seen += len(part)
                self._n_updates += 1
        self.update_seconds = perf_counter() - started
        self._log(stats / max(1, num_seen), returns)

    def _step(self, pool: ThreadPoolExecutor, data: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
        """One optimiser step for some rows of the data; returns the sums of STATS."""
        ppo, (centre, spread) = self.config.ppo, moments(data["advantages"], rows)
        settings = LossSettings(
            centre, spread + 1e-8, ppo.clip_range, self._entropy_coef(), ppo.value_coef, 1 / len(rows)
        )
        norm, stats = self.gradient.compute(pool, data, rows, settings)
        if not (np.isfinite(stats).all() and np.isfinite(norm)):
            raise TrainingDiverged(
                f"iteration {self.iteration}, decision {self.num_timesteps}: the gradient's norm is {norm:g} and the "
                f"sums of the losses are {dict(zip(STATS, stats.tolist(), strict=True))}"
            )
        self.parameters_in_one.grad = self.gradient.gradient.mul_(min(1.0, self.max_grad_norm / (norm + 1e-6)))
        self.policy.optimizer.step()
        return stats

    def _entropy_coef(self) -> float:
        ppo, left = self.config.ppo, self._current_progress_remaining
        return ppo.final_entropy_coef + (ppo.entropy_coef - ppo.final_entropy_coef) * left

    # --- what is logged -----------------------------------------------------------------------------------------

    def _log(self, stats: np.ndarray, returns: np.ndarray) -> None:
        """Record the means of the iteration under the library's names."""
        d = self.decisions
        lengths = [length for shard in self.shards for length in shard.lengths]
        for name, value in zip(STATS, stats, strict=True):
            self.logger.record(f"train/{name}", float(value))
        self.logger.record("train/entropy_coef", self._entropy_coef())
        self.logger.record("train/explained_variance", float(explained_variance(d.values.ravel(), returns.ravel())))
        decisions_per_second = d.actions.size / (self.collect_seconds + self.update_seconds)
        self.logger.record("time/decisions_per_second", decisions_per_second)
        self.logger.record("time/collect_share", self.collect_seconds / (self.collect_seconds + self.update_seconds))
        if lengths:
            self.logger.record("rollout/turns", float(np.mean(lengths)))
        for member in self.league.members:
            if member.games:
                self.logger.record(f"league/{member.name}", member.beaten)
        for name, elo in self.league.ratings().items():
            self.logger.record(f"rating/{name}", elo)

    def _dump_logs(self, iteration: int) -> None:
        """The library asks for this after collecting; everything is dumped after the update instead."""

    def dump_logs(self, iteration: int = 0) -> None:
        """See `_dump_logs`."""


class _NoBuffer:
    """Stands where the library keeps its rollout buffer; `Decisions` holds what was collected."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass
