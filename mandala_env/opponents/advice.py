"""What a player would do in a position, and what it thinks of it: for hints, replays and the web page."""

from dataclasses import dataclass

import numpy as np

from mandala_env.core.game import State
from mandala_env.opponents.base import Opponent

MOST = 1e300  # instead of infinity


@dataclass(frozen=True)
class Advice:
    """What a player would do.

    choices  the action ids that it considers with their probabilities, the likeliest first; they sum to 1
    value    the result that it expects for the player to decide, -1 to 1; None if it has no opinion
    """

    choices: tuple[tuple[int, float], ...]
    value: float | None = None


def advise(opponent: Opponent, state: State) -> Advice:
    """What an opponent would do in the place of the player to decide; it gets that player's observation only.

    A network says how likely each legal action is and what it expects; other opponents only name their action.
    """
    game = opponent.game
    observation = game.observe(state, game.player(state))[None]
    mask = game.action_mask(state)
    evaluate = getattr(opponent, "evaluate", None)
    if evaluate is None:
        return Advice(((int(opponent.act(observation, mask[None])[0]), 1.0),))
    logits, values = evaluate(observation)
    legal = np.flatnonzero(mask)
    # NaN counts as minus infinity, as it does for the player itself, and equal logits as equally likely.
    chosen = np.nan_to_num(logits[0][legal].astype(float), nan=-MOST, posinf=MOST, neginf=-MOST)
    weights = np.exp(chosen - chosen.max())
    weights /= weights.sum()
    order = np.argsort(-weights, kind="stable")
    choices = tuple((int(legal[place]), float(weights[place])) for place in order)
    return Advice(choices, None if np.isnan(values[0]) else float(np.clip(values[0], -1, 1)))
