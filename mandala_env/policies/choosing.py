"""Choosing among the legal actions by a network's logits."""

from typing import Any

import numpy as np

from mandala_env.core.jit import jit, kernel
from mandala_env.core.rng import S32, next_bits

# Actions that a symmetry of the game makes equal have logits that differ by rounding, differently in each batch; the
# greedy choice must not hang on that. Weights this close to the highest count as equal to it.
ALMOST_ONE = np.float32(1 - 1e-4)


@jit
def list_legal(mask: Any, legal: Any) -> int:
    """Write the actions that a mask allows into `legal`, which has room for all; returns how many there are."""
    count = 0
    for action in range(len(mask)):
        legal[count] = action  # without a branch, which would be guessed wrong once for each legal action
        count += mask[action]
    return count


@jit
def highest_legal(logits: Any, legal: Any) -> Any:
    """The highest logit of a legal action; NaN counts as minus infinity."""
    top = -np.float32(np.inf)
    for action in legal:
        top = logits[action] if logits[action] > top else top
    return top


@jit
def weight_of(logit: Any, top: Any) -> Any:
    """The unnormalised probability of a legal action; logits that say nothing (none is finite) weigh the same."""
    if logit == top or top == -np.float32(np.inf):
        return np.float32(1.0)
    if not logit > -np.float32(np.inf) or top == np.float32(np.inf):
        return np.float32(0.0)
    return np.exp(logit - top)


@kernel
def choose_legal(logits: Any, masks: Any, pickers: Any, greedy: bool, actions: Any, log_probs: Any) -> None:
    """Pick a legal action for each row, sampled by the softmax over the legal logits or the first most likely one.

    Whatever the logits are (NaN, infinite, all equal), the action is legal. log_probs gets its log probability.
    """
    num, num_actions = masks.shape
    all_legal, weights = np.empty(num_actions, np.int64), np.empty(num_actions, np.float32)
    for b in range(num):
        legal = all_legal[: list_legal(masks[b], all_legal)]
        top = highest_legal(logits[b], legal)
        total = np.float32(0.0)
        for k in range(len(legal)):
            weights[k] = weight_of(logits[b, legal[k]], top)
            total += weights[k]
        threshold = np.float32(next_bits(pickers[b]) >> S32) * np.float32(2.0**-32) * total
        chosen = 0
        for k in range(len(legal)):
            if greedy:
                if weights[k] >= ALMOST_ONE:
                    chosen = k
                    break
            elif weights[k] > 0:
                chosen = k  # the last one, should rounding leave a rest
                threshold -= weights[k]
                if threshold < 0:
                    break
        actions[b] = legal[chosen]
        log_probs[b] = np.log(weights[chosen] / total)
