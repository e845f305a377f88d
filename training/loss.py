"""PPO's loss over the legal actions, with its gradient, and advantages through the stream of a game's decisions."""

from typing import Any

import numpy as np

from mandala_env.core.actions import is_allowed
from mandala_env.core.jit import jit, kernel

STATS = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")


@kernel
def ppo_gradient(
    logits: Any, values: Any, words: Any, actions: Any, old_log_probs: Any, advantages: Any, returns: Any,
    clip_range: float, entropy_coef: float, value_coef: float, scale: float, to_logits: Any, to_values: Any, stats: Any,
) -> None:  # fmt: skip
    """Write the gradient of scale * sum of the losses of n decisions, and add the sums of STATS to stats.

    logits (n, A), values (n,) float32; words (n, W) uint64, the legal actions as sets; actions (n,);
    old_log_probs, advantages, returns (n,) float32; to_logits (n, A) and to_values (n,) get the gradient.
    loss = -min(r * adv, clip(r) * adv) - entropy_coef * entropy + value_coef * (value - return)**2
    """
    num_actions = logits.shape[1]
    all_legal, log_probs, probs = np.empty(num_actions, np.int64), np.empty(num_actions), np.empty(num_actions)
    for i in range(len(logits)):
        legal = all_legal[: list_allowed(words[i], all_legal)]
        entropy, taken = write_log_softmax(logits[i], legal, actions[i], log_probs, probs)
        log_ratio = taken - old_log_probs[i]
        ratio = np.exp(log_ratio)
        advantage = advantages[i]
        clipped = min(max(ratio, 1 - clip_range), 1 + clip_range)
        is_clipped = clipped * advantage < ratio * advantage
        to_taken = 0.0 if is_clipped else -ratio * advantage
        to_logits[i, :] = 0
        for k in range(len(legal)):
            gradient = -to_taken * probs[k] + entropy_coef * probs[k] * (log_probs[k] + entropy)
            if legal[k] == actions[i]:
                gradient += to_taken
            to_logits[i, legal[k]] = gradient * scale
        error = values[i] - returns[i]
        to_values[i] = 2 * value_coef * error * scale
        stats[0] -= min(ratio * advantage, clipped * advantage)
        stats[1] += error * error
        stats[2] += entropy
        stats[3] += (ratio - 1) - log_ratio
        stats[4] += abs(ratio - 1) > clip_range


@jit
def list_allowed(words: Any, allowed: Any) -> int:
    """Write the actions of a set into `allowed`, which has room for all; returns how many there are."""
    count = 0
    for action in range(len(allowed)):
        allowed[count] = action  # without a branch, which would be guessed wrong once for each of them
        count += is_allowed(words, action)
    return count


@jit
def write_log_softmax(logits: Any, legal: Any, action: int, log_probs: Any, probs: Any) -> Any:
    """Write the log probability and the probability of each legal action; returns the entropy and the action's own."""
    top, total = -np.inf, 0.0
    for k in range(len(legal)):
        top = max(top, logits[legal[k]])
    for k in range(len(legal)):
        probs[k] = np.exp(logits[legal[k]] - top)
        total += probs[k]
    log_total, entropy, own = np.log(total), 0.0, 0.0
    for k in range(len(legal)):
        log_probs[k] = (logits[legal[k]] - top) - log_total
        probs[k] /= total
        entropy -= probs[k] * log_probs[k]
        if legal[k] == action:
            own = log_probs[k]
    return entropy, own


@kernel
def advantages_of_seats(
    values: Any, players: Any, payoffs: Any, ended: Any, last_values: Any, gamma: float, gae_lambda: float,
    advantages: Any,
) -> None:  # fmt: skip
    """Generalised advantage estimation for every seat through the interleaved decisions of a game.

    values (T, N) the value of each decision for the player who took it, players (T, N); payoffs (T, N, P) and ended
    (T, N): what the decision led to; last_values (N, P): every seat's value after the last decision;
    advantages (T, N) is written. Schulman et al. 2016, equation 16, along each seat's own decisions.

    With two players what is good for one is as bad for the other, so each decision also tells the other seat's value:
    this is the recursion with flipped signs, and it looks ahead one decision of either player at a time.
    """
    num_steps, num_games = values.shape
    num_players = payoffs.shape[2]
    # What follows a seat's decision, discounted: its next value, or the payoff, which is no value and not discounted.
    following, next_advantage = np.empty(num_players), np.empty(num_players)
    for game in range(num_games):
        for player in range(num_players):
            following[player], next_advantage[player] = gamma * last_values[game, player], 0.0
        for t in range(num_steps - 1, -1, -1):
            if ended[t, game]:
                for player in range(num_players):
                    following[player], next_advantage[player] = payoffs[t, game, player], 0.0
            me = players[t, game]
            advantage = following[me] - values[t, game] + gamma * gae_lambda * next_advantage[me]
            advantages[t, game] = advantage
            following[me], next_advantage[me] = gamma * values[t, game], advantage
            if num_players == 2:
                following[1 - me], next_advantage[1 - me] = -gamma * values[t, game], -advantage
