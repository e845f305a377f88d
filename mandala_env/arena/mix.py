"""What a player does when: the kinds of its actions by how far a game has come."""

from dataclasses import dataclass

import numpy as np

from mandala_env.core.actions import ActionTable
from mandala_env.core.batch import Batch
from mandala_env.opponents.base import Opponent

PARTS = 10


@dataclass(frozen=True)
class Mix:
    """Shares (PARTS, len(names)) of the kinds of actions in each tenth of a game's decisions."""

    names: tuple[str, ...]
    shares: np.ndarray


def action_mix(player: Opponent, games: int, seed: int = 1) -> Mix:
    """Let a player play itself and count what it does; every game counts in whole."""
    names, kinds = kinds_of(player.game.actions)
    batch = Batch(player.game, games, seed, copy=False)
    running, taken = np.ones(games, bool), []
    while running.any():
        actions = np.argmax(batch.action_masks, axis=1)  # in games that are over: anything legal
        rows = np.flatnonzero(running)
        actions[rows] = player.act(batch.observations[rows], batch.action_masks[rows])
        taken.append(np.where(running, kinds[actions], -1))
        batch.step(actions)
        running &= ~batch.ended
    history = np.array(taken)  # (T, games), -1 after the end
    lengths = (history >= 0).sum(axis=0)
    parts = PARTS * np.arange(len(history))[:, None] // lengths
    counts = np.zeros((PARTS, len(names)))
    is_decision = history >= 0
    np.add.at(counts, (parts[is_decision], history[is_decision]), 1)
    return Mix(names, counts / np.maximum(1, counts.sum(axis=1, keepdims=True)))


def kinds_of(actions: ActionTable) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of the kinds, plays of one card and of more apart, and which of them each action is."""
    count = actions.columns.get("count", np.full(len(actions), -1))
    words = [actions.kinds[kind].word for kind in actions.columns["kind"]]
    named = [word if n < 0 else f"{word} 1" if n == 1 else f"{word} 2+" for word, n in zip(words, count, strict=True)]
    names = tuple(dict.fromkeys(named))
    return names, np.array([names.index(name) for name in named])
