"""The frozen players that the learner meets: past selves and scripted opponents."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch

from mandala_env.core.game import Game
from mandala_env.opponents.base import Opponent, load_opponent
from mandala_env.opponents.checkpoint import NetworkOpponent
from mandala_env.policies.network import PolicyValueNetwork, network_with
from training.config import LeagueConfig

SMOOTHING = 0.98  # how much of a member's win rate is kept when a game against it ends


@dataclass
class Member:
    """A frozen player; `beaten` is how often the learner beats it, smoothed, draws counting one half.

    A retired member plays on in the games that it is in, and is met in no other.
    """

    name: str
    opponent: Opponent
    is_snapshot: bool
    beaten: float = 0.5
    games: int = 0
    is_retired: bool = False


class League:
    """Members by slot; a member keeps its slot while games against it are running.

    Prioritised fictitious self-play (Vinyals et al. 2019): members are drawn with weight (1 - beaten)**2.
    """

    def __init__(self, game: Game, config: LeagueConfig, seed: int) -> None:
        self.game, self.config, self.seed = game, config, seed
        self.members: list[Member] = [
            Member(spec, load_opponent(spec, game, seed), is_snapshot=False) for spec in config.scripted
        ]

    def __len__(self) -> int:
        return len(self.members)

    def add_snapshot(self, network: PolicyValueNetwork, name: str, slots_in_play: Collection[int] = ()) -> None:
        """Freeze a copy of the learner; when the league is full the snapshot that is beaten most often retires.

        slots_in_play  slots against which games are running: a retired member that is in none of them leaves its slot
        """
        snapshots = [member for member in self.members if member.is_snapshot and not member.is_retired]
        if len(snapshots) == self.config.max_snapshots:
            max(snapshots, key=lambda snapshot: snapshot.beaten).is_retired = True
        member = Member(name, frozen_copy(self.game, network, self.seed), is_snapshot=True)
        for slot, old in enumerate(self.members):
            if old.is_retired and slot not in slots_in_play:
                self.members[slot] = member
                return
        self.members.append(member)

    def weights(self) -> np.ndarray:
        """How likely each member is to be met next; they sum to 1."""
        weights = np.array([0 if m.is_retired else (1 - m.beaten) ** 2 + 1e-3 for m in self.members])
        return weights / weights.sum()

    def record(self, slot: int, share: float) -> None:
        """Note the learner's share of the win (1, 1/2 or 0) in a game against a member."""
        member = self.members[slot]
        member.games += 1
        member.beaten = SMOOTHING * member.beaten + (1 - SMOOTHING) * share


def frozen_copy(game: Game, network: PolicyValueNetwork, seed: int) -> NetworkOpponent:
    """An opponent with a copy of the network's weights that samples its actions."""
    return restore_snapshot(game, network, network.state_dict(), seed)


def restore_snapshot(
    game: Game, network: PolicyValueNetwork, weights: dict[str, torch.Tensor], seed: int
) -> NetworkOpponent:
    """A past self from its weights, which are copied; `network` is one of the same size."""
    copy = network_with(game, network.config, weights).requires_grad_(False)
    return NetworkOpponent(game, seed, copy, temperature=1.0)
