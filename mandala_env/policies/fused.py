"""The passes of the network that are not matrix products, each compiled into one sweep over memory.

On a CPU the matrix products of a network of this size take a small part of the time; the rest goes into reading and
writing activations. Each function below does in one sweep what would be many torch operations, forward and backward.
Elsewhere (a GPU, another precision) the same functions are plain torch; tests hold the two against each other.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from mandala_env.core.jit import IS_COMPILED, jit, kernel
from mandala_env.core.rng import S32, next_bits


def is_fused(*tensors: Tensor) -> bool:
    """Can the compiled sweeps be used for these tensors?"""
    return IS_COMPILED and all(t.device.type == "cpu" and t.dtype == torch.float32 for t in tensors)


# --- rows of colours --------------------------------------------------------------------------------------------


def row_layer(rows: Tensor, weight: Tensor, context: Tensor, with_rows: bool) -> tuple[Tensor, Tensor, Tensor]:
    """relu(rows @ weight.T + context), plus the rows themselves if asked; with its mean and maximum over the rows.

    rows (B, C, V), weight (W, V), context (B, W) -> hidden (B, C, W), mean (B, W), maximum (B, W)
    """
    if is_fused(rows, weight, context):
        return _RowLayer.apply(rows, weight, context, with_rows)
    hidden = torch.relu(torch.nn.functional.linear(rows, weight) + context.unsqueeze(1))
    if with_rows:
        hidden = hidden + rows
    return hidden, hidden.mean(1), hidden.max(1).values


class _RowLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, context: Tensor, with_rows: bool) -> tuple[Tensor, ...]:
        num, colours, _ = rows.shape
        active = torch.mm(rows.reshape(num * colours, -1), weight.t()).view(num, colours, -1)
        hidden = torch.empty_like(active) if with_rows else active
        mean, highest = torch.empty_like(context), torch.empty_like(context)
        where = torch.empty(context.shape, dtype=torch.uint8)
        source = rows if with_rows else active
        _sweep_forward(
            source.numpy(), active.numpy(), context.numpy(), with_rows, hidden.numpy(), mean.numpy(), highest.numpy(),
            where.numpy(),
        )  # fmt: skip
        ctx.save_for_backward(rows, weight, active, where)
        ctx.with_rows = with_rows
        return hidden, mean, highest

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight, active, where = ctx.saved_tensors
        num, colours, _ = rows.shape
        grad, grad_mean, grad_highest = (g.contiguous() for g in grads)
        to_rows, to_active = torch.empty_like(active), torch.empty_like(active)
        to_context = torch.empty_like(grad_mean)
        _sweep_backward(
            grad.numpy(), grad_mean.numpy(), grad_highest.numpy(), active.numpy(), where.numpy(), to_rows.numpy(),
            to_active.numpy(), to_context.numpy(),
        )  # fmt: skip
        flat = to_active.view(num * colours, -1)
        grad_weight = torch.mm(flat.t(), rows.reshape(num * colours, -1)) if ctx.needs_input_grad[1] else None
        grad_rows = None
        if ctx.needs_input_grad[0]:
            if ctx.with_rows:
                grad_rows = to_rows.view(num * colours, -1).addmm_(flat, weight).view_as(rows)
            else:
                grad_rows = torch.mm(flat, weight).view_as(rows)
        return grad_rows, grad_weight, to_context, None


@kernel
def _sweep_forward(
    rows: Any, active: Any, context: Any, with_rows: bool, hidden: Any, mean: Any, highest: Any, where: Any
) -> None:
    """active becomes relu(active + context); hidden is active or active + rows; then its mean and maximum."""
    num, colours, width = active.shape
    share = np.float32(1.0 / colours)
    zero = np.float32(0.0)
    for b in range(num):
        for c in range(colours):
            for w in range(width):
                value = max(active[b, c, w] + context[b, w], zero)
                active[b, c, w] = value
                if with_rows:
                    value += rows[b, c, w]
                    hidden[b, c, w] = value
        for w in range(width):
            total = hidden[b, 0, w]
            top, place = total, np.uint8(0)
            for c in range(1, colours):
                value = hidden[b, c, w]
                total += value
                if value > top:
                    top, place = value, np.uint8(c)
            mean[b, w] = total * share
            highest[b, w] = top
            where[b, w] = place


@kernel
def _sweep_backward(
    grad: Any, grad_mean: Any, grad_highest: Any, active: Any, where: Any, to_rows: Any, to_active: Any, to_context: Any
) -> None:
    """to_rows: the gradient of hidden with its pools; to_active: where relu is active; to_context: the sum of that."""
    num, colours, width = active.shape
    share = np.float32(1.0 / colours)
    zero = np.float32(0.0)
    for b in range(num):
        for w in range(width):
            to_context[b, w] = zero
        for c in range(colours):
            for w in range(width):
                total = grad[b, c, w] + grad_mean[b, w] * share
                total += grad_highest[b, w] if where[b, w] == c else zero
                to_rows[b, c, w] = total
                through = total if active[b, c, w] > zero else zero
                to_active[b, c, w] = through
                to_context[b, w] += through


PRESENCE, CONSTANT = -1, -2  # instead of the value that a label is compared with

# --- features ---------------------------------------------------------------------------------------------------


@kernel
def gather_features(
    observations: Any, row_source: Any, row_scale: Any, row_value: Any, global_source: Any, global_scale: Any,
    global_value: Any, rows: Any, globals_: Any,
) -> None:  # fmt: skip
    """Write the network's inputs; see `Features` for what scale and value mean."""
    num, colours, columns = rows.shape
    num_globals = len(global_source)
    share = np.float32(1.0 / colours)
    for b in range(num):
        for k in range(num_globals):
            globals_[b, k] = _feature(observations[b], global_source[k], global_scale[k], global_value[k])
        for k in range(columns):
            total = np.float32(0.0)
            for c in range(colours):
                value = _feature(observations[b], row_source[c, k], row_scale[k], row_value[k])
                rows[b, c, k] = value
                total += value
            globals_[b, num_globals + k] = total * share


@jit
def _feature(obs: Any, source: int, scale: float, value: int) -> Any:
    if value == CONSTANT:
        return np.float32(source)
    number = obs[source]
    if scale > 0:
        return np.float32(number) * np.float32(scale)
    if value == PRESENCE:
        return np.float32(number > 0)
    return np.float32(number == value)


# --- choosing among the legal actions -----------------------------------------------------------------------------

# Actions that a symmetry of the game makes equal have logits that differ by rounding, differently in each batch; the
# greedy choice must not hang on that. Weights this close to the highest count as equal to it.
ALMOST_ONE = np.float32(1 - 1e-4)


@jit
def highest_legal(logits: Any, mask: Any) -> Any:
    """The highest logit of a legal action; NaN counts as minus infinity."""
    top = -np.float32(np.inf)
    for action in range(len(mask)):
        if mask[action] and logits[action] > top:
            top = logits[action]
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
    for b in range(num):
        top = highest_legal(logits[b], masks[b])
        total = np.float32(0.0)
        for action in range(num_actions):
            if masks[b, action]:
                total += weight_of(logits[b, action], top)
        threshold = np.float32(next_bits(pickers[b]) >> S32) * np.float32(2.0**-32) * total
        chosen, chosen_weight = -1, np.float32(0.0)
        for action in range(num_actions):
            if masks[b, action]:
                weight = weight_of(logits[b, action], top)
                if greedy:
                    if weight >= ALMOST_ONE:
                        chosen, chosen_weight = action, weight
                        break
                elif weight > 0:
                    chosen, chosen_weight = action, weight  # the last one, should rounding leave a rest
                    threshold -= weight
                    if threshold < 0:
                        break
        actions[b] = chosen
        log_probs[b] = np.log(chosen_weight / total)
