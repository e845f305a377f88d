"""Play seeded games and write down all that they show; run as a program to do so in plain Python."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from mandala_env import load_game, load_opponent
from mandala_env.core.batch import Batch
from mandala_env.core.single import Single

from .conftest import ALL

FOLDER = Path(__file__).resolve().parents[2]
NUM_GAMES, NUM_STEPS = 3, 60


def digest(*arrays: Any) -> str:
    """A few letters that stand for arrays."""
    text = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return hashlib.sha256(text).hexdigest()[:12]


def lines() -> list[str]:
    """One line for each step of seeded games of every variant."""
    written = []
    for game_id, options in ALL:
        game = load_game(game_id, **options)
        batch, single = Batch(game, NUM_GAMES, seed=8), Single(game, seed=8)
        heuristic = load_opponent("heuristic", game=game, seed=3)
        for step in range(NUM_STEPS):
            shown = digest(batch.states, batch.observations, batch.action_masks, batch.players)
            results = digest(batch.payoffs, batch.ended, batch.scores, batch.turns)
            row = [game_id, str(step), shown, results, digest(single.units, single.mask), str(single.player)]
            if step % 10 == 0:
                imagined = game.imagine(batch.observations[0], step)
                again = game.from_position(game.position(batch.states[0]), step)
                row += [digest(imagined), digest(again), str(game.scores(imagined)), str(game.payoffs(imagined))]
            actions = heuristic.act(batch.observations, batch.action_masks)
            row.append(str(actions.tolist()))
            if single.player < 0:
                single.deal()
            single.step(np.flatnonzero(single.mask)[step % np.count_nonzero(single.mask)])
            if step % 3 == 0:
                batch.step(actions)
            else:
                batch.step_random()
            written.append(" ".join(row))
    return written


if __name__ == "__main__":
    print("\n".join(lines()))
