"""The frozen players that the learner meets: past selves and scripted opponents."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch

from mandala_env.arena.ratings import ELO, fit
from mandala_env.core.game import Game
from mandala_env.opponents.base import Opponent, load_opponent
from mandala_env.opponents.checkpoint import NetworkOpponent
from mandala_env.policies.network import PolicyValueNetwork, network_with
from training.config import LeagueConfig

LEARNER = "learner"
GAMES = 50  # what a smoothed win rate rests on, about
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


ENTRY = tuple(field.name for field in fields(Member) if field.name != "opponent")


class League:
    """Members by slot; a member keeps its slot while games against it are running.

    Prioritised fictitious self-play (Vinyals et al. 2019): members are drawn with weight (1 - beaten)**2.

    payoffs  for each past self how often it beat the others when it was the learner; only of those that are members
    """

    def __init__(self, game: Game, config: LeagueConfig, seed: int) -> None:
        self.game, self.config, self.seed = game, config, seed
        self.members: list[Member] = [
            Member(spec, load_opponent(spec, game, seed), is_snapshot=False) for spec in config.scripted
        ]
        self.payoffs: dict[str, dict[str, float]] = {}

    def __len__(self) -> int:
        return len(self.members)

    def add_snapshot(self, network: PolicyValueNetwork, name: str, slots_in_play: Collection[int] = ()) -> None:
        """Freeze a copy of the learner; when the league is full the snapshot that is beaten most often retires.

        slots_in_play  slots against which games are running: a retired member that is in none of them leaves its slot
        """
        snapshots = [member for member in self.members if member.is_snapshot and not member.is_retired]
        if len(snapshots) == self.config.max_snapshots:
            max(snapshots, key=lambda snapshot: snapshot.beaten).is_retired = True
        self.payoffs[name] = self.learners_row()
        member = Member(name, frozen_copy(self.game, network, self.seed), is_snapshot=True)
        self._put(member, slots_in_play)
        names = {member.name for member in self.members}
        self.payoffs = {
            row: {column: share for column, share in shares.items() if column in names}
            for row, shares in self.payoffs.items()
            if row in names
        }

    def _put(self, member: Member, slots_in_play: Collection[int]) -> None:
        """Give a member the slot of one that has left, or a new one."""
        for slot, old in enumerate(self.members):
            if old.is_retired and slot not in slots_in_play:
                self.members[slot] = member
                return
        self.members.append(member)

    def entries(self) -> list[dict[str, Any]]:
        """The members by slot as plain data, without their players."""
        return [{name: getattr(member, name) for name in ENTRY} for member in self.members]

    def restore(self, entries: list[dict[str, Any]], snapshot: Callable[[int], Opponent]) -> None:
        """Take the members of `entries`; `snapshot` makes the past self of a slot that has not been a member here."""
        known = {member.name: member.opponent for member in self.members}
        self.members = [
            Member(opponent=known.get(entry["name"]) or snapshot(slot), **entry) for slot, entry in enumerate(entries)
        ]

    def weights(self) -> np.ndarray:
        """How likely each member is to be met next; they sum to 1."""
        weights = np.array([0 if m.is_retired else (1 - m.beaten) ** 2 + 1e-3 for m in self.members])
        return weights / weights.sum()

    def learners_row(self) -> dict[str, float]:
        """How often the learner beats each member that it has met."""
        return {member.name: member.beaten for member in self.members if member.games}

    def payoff_table(self) -> dict[str, dict[str, float]]:
        """The payoff matrix: how often the one in the row beat the one in the column, the learner last."""
        return {**self.payoffs, LEARNER: self.learners_row()}

    def ratings(self) -> dict[str, float]:
        """Bradley-Terry ratings of the learner and the members it has met, in Elo; the first member's is 0.

        Every known payoff counts alike. Of an average seat of the one and one of the other, so as with two players.
        """
        table = self.payoff_table()
        names = [*table[LEARNER], LEARNER]
        cells = [
            (names.index(row), names.index(column), share)
            for row, shares in table.items()
            if row in names
            for column, share in shares.items()
            if column in names
        ]
        if not cells:
            return {}
        wins = np.array([[GAMES * share + 0.5 for _, _, share in cells]])
        pairs = np.array([(row, column) for row, column, _ in cells])
        thetas = fit(pairs, wins, GAMES + 1 - wins, num_players=2)[0]
        return dict(zip(names, (ELO * thetas).tolist(), strict=True))

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
