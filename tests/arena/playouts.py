"""What each move of a position is worth: play-outs from worlds that fit what the mover knows."""

from typing import Any

import numpy as np

from mandala_env.core.batch import Batch
from mandala_env.core.rng import spread_seeds
from mandala_env.opponents.base import Opponent


def values_of_moves(game: Any, position: dict, player: Opponent, worlds: int, seed: int = 0) -> dict[str, np.ndarray]:
    """For each legal move the mover's payoffs (worlds,); world w is the same for all moves.

    The hidden cards are dealt anew for each world; after the move the player has all seats to the end.
    """
    state = game.from_position(position, seed=seed)
    obs, moves = game.observe(state, game.player(state)), game.legal_actions(state)
    seeds = spread_seeds(seed, worlds)
    imagined = [game.imagine(obs, int(s)) for s in seeds]  # the mover is player 0 there
    states = game.blank_states(worlds * len(moves))
    for world, one in enumerate(imagined):
        for column in range(len(moves)):
            states[world * len(moves) + column] = one
    batch = Batch(game, len(states), 0, copy=False)
    batch.set_states(states)
    results, running = np.zeros(len(states)), np.ones(len(states), bool)
    actions = np.tile(moves, worlds)
    while running.any():
        batch.step(actions)
        ended = running & batch.ended
        results[ended] = batch.payoffs[ended, 0]
        running &= ~batch.ended
        actions = np.argmax(batch.action_masks, axis=1)
        rows = np.flatnonzero(running)
        if len(rows):
            actions[rows] = player.act(batch.observations[rows], batch.action_masks[rows])
    table = results.reshape(worlds, len(moves))
    return {game.actions.text(move): table[:, column] for column, move in enumerate(moves)}
