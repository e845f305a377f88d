"""Forward and backward passes of the symmetric network on a CPU.

The matrices are torch's to multiply. In a network of this size that is half of the work; the rest is reading and
writing activations, which the compiled sweeps below do once for each layer and direction.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mandala_env.core.jit import kernel
from mandala_env.policies.base import Matrices, Matrix
from mandala_env.policies.memory import Memory, Rooms
from mandala_env.policies.symmetric import NUMBERS, SymmetricNetwork


class Layer:
    """The activations of a layer for n observations, as matrices and, for the sweeps, as arrays.

    rows (n * C, V) and common (n, G) are what it reads; context (n, W) is what common gives to all rows alike.
    """

    def __init__(self, memory: Memory, number: int, rows: Tensor, common: Tensor, colours: int, width: int) -> None:
        n = len(common)
        self.row_map = f"row_{number - 1}" if number else "from_row"
        self.common_map = f"pools_{number - 1}" if number else "from_globals"
        self.rows, self.common = rows, common
        self.active, self.context = memory.take(n * colours, width), memory.take(n, width)
        self.hidden = memory.take(n * colours, width) if number else self.active
        self.pools = memory.take(n, 2 * width)
        self.highest = memory.take(n, width).view(torch.int32).numpy()
        rows_, active, hidden = (matrix.view(n, colours, -1).numpy() for matrix in (rows, self.active, self.hidden))
        self.swept = rows_, self.context.numpy(), number > 0, active, hidden, self.pools.numpy(), self.highest
        self.swept_back = active, self.highest


class Room:
    """The activations of a network for n observations, and the gradients by them."""

    def __init__(self, memory: Memory, n: int, shape: "Shape") -> None:
        colours, width = shape.colours, shape.width
        rows, self.globals = memory.take(n * colours, shape.row_columns), memory.take(n, shape.global_columns)
        self.features = rows.view(n, colours, -1).numpy(), self.globals.numpy()
        self.layers: list[Layer] = []
        hidden, pools = rows, self.globals
        for number in range(shape.layers):
            self.layers.append(Layer(memory, number, hidden, pools, colours, width))
            hidden, pools = self.layers[-1].hidden, self.layers[-1].pools
        self.hidden, self.pools, self.mean = hidden, pools, pools[:, :width]
        self.of_rows, self.of_pools = memory.take(n * colours, shape.row_outputs), memory.take(n, shape.pool_outputs)
        self.outputs = self.of_rows.view(n, -1).numpy(), self.of_pools.numpy()
        self.valued = memory.take(n, width)
        # Going back
        self.to_hidden, self.to_active = memory.take(n * colours, width), memory.take(n * colours, width)
        self.to_pools, self.to_context, self.to_valued = (memory.take(n, size) for size in (2 * width, width, width))
        self.to_mean = self.to_pools[:, :width]
        self.swept_to = self.to_hidden.view(n, colours, -1).numpy(), self.to_pools.numpy()
        self.swept_from = self.to_active.view(n, colours, -1).numpy(), self.to_context.numpy()


@dataclass(frozen=True)
class Shape:
    """How many there are of what in a network."""

    colours: int
    row_columns: int
    global_columns: int
    width: int
    layers: int  # the first one, of the features, among them
    row_outputs: int
    pool_outputs: int


class SymmetricPasses:
    """The passes of a `SymmetricNetwork`, see `Passes`; the matrices are float32."""

    chunk = 1024

    def __init__(self, network: SymmetricNetwork, memory: Memory | None = None) -> None:
        f, shapes = network.features, network.shapes
        tables = f.table, f.row_source, f.row_lookup, f.global_source, f.global_lookup, f.order
        self.tables = [table.numpy() for table in tables]
        self.action_order = network.action_order.numpy()
        pool_outputs = shapes["pool_head"][0][0] if "pool_head" in shapes else 0
        width, row_columns = shapes["from_row"][0]
        self.shape = shape = Shape(
            f.colours, row_columns, len(f.order), width, network.config.layers + 1, shapes["row_head"][0][0],
            pool_outputs,
        )  # fmt: skip
        self.rooms = Rooms(memory or Memory(), lambda memory, n: Room(memory, n, shape))

    @torch.no_grad()
    def forward(self, observations: np.ndarray, matrices: Matrices, logits: np.ndarray, values: np.ndarray) -> None:
        """See `Passes`."""
        self.room = room = self.rooms.of(len(observations))
        read_features(observations, *self.tables, *room.features)
        for layer in room.layers:
            torch.mm(layer.rows, matrices[layer.row_map][0].t(), out=layer.active)
            linear(layer.common, matrices[layer.common_map], layer.context)
            sweep_forward(*layer.swept)
        torch.mm(room.hidden, matrices["row_head"][0].t(), out=room.of_rows)
        if self.shape.pool_outputs:
            linear(room.mean, matrices["pool_head"], room.of_pools)
        order_actions(*room.outputs, self.action_order, logits)
        linear(room.pools, matrices["value_pools"], room.valued).relu_()
        linear(room.valued, matrices["value_head"], torch.from_numpy(values).unsqueeze(1))

    @torch.no_grad()
    def backward(self, to_logits: np.ndarray, to_values: np.ndarray, matrices: Matrices, gradients: Matrices) -> None:
        """See `Passes`."""
        room, to_value = self.room, torch.from_numpy(to_values).unsqueeze(1)
        order_outputs(to_logits, self.action_order, *room.outputs)
        torch.mm(room.of_rows, matrices["row_head"][0], out=room.to_hidden)
        gradients["row_head"][0].addmm_(room.of_rows.t(), room.hidden)
        add_gradient(gradients["value_head"], to_value, room.valued)
        torch.mm(to_value, matrices["value_head"][0], out=room.to_valued).mul_(room.valued > 0)
        add_gradient(gradients["value_pools"], room.to_valued, room.pools)
        torch.mm(room.to_valued, matrices["value_pools"][0], out=room.to_pools)
        if self.shape.pool_outputs:
            add_gradient(gradients["pool_head"], room.of_pools, room.mean)
            room.to_mean.addmm_(room.of_pools, matrices["pool_head"][0])
        for layer in reversed(room.layers):
            sweep_backward(*layer.swept_back, *room.swept_to, *room.swept_from)
            gradients[layer.row_map][0].addmm_(room.to_active.t(), layer.rows)
            add_gradient(gradients[layer.common_map], room.to_context, layer.common)
            if layer is not room.layers[0]:
                room.to_hidden.addmm_(room.to_active, matrices[layer.row_map][0])
                torch.mm(room.to_context, matrices[layer.common_map][0], out=room.to_pools)


def linear(inputs: Tensor, matrix: Matrix, out: Tensor) -> Tensor:
    """Write a linear map of the inputs (n, V) into out (n, W)."""
    weight, bias = matrix
    assert bias is not None
    return torch.addmm(bias, inputs, weight.t(), out=out)


def add_gradient(gradient: Matrix, to_outputs: Tensor, inputs: Tensor) -> None:
    """Add to the gradients by a linear map's matrix and bias."""
    weight, bias = gradient
    assert bias is not None
    weight.addmm_(to_outputs.t(), inputs)
    bias.add_(to_outputs.sum(0))


# --- the sweeps -------------------------------------------------------------------------------------------------


@kernel
def read_features(
    observations: Any, table: Any, row_source: Any, row_lookup: Any, global_source: Any, global_lookup: Any, order: Any,
    rows: Any, globals_: Any,
) -> None:  # fmt: skip
    """Write the network's inputs, see `Features`: rows (n, C, R), globals_ (n, G)."""
    n, colours, columns = rows.shape
    num_globals = len(global_source)
    share = np.float32(1.0 / colours)
    means = np.empty(columns, np.float32)
    for b in range(n):
        for k in range(columns):
            means[k] = 0
        for c in range(colours):
            for k in range(columns):
                number = observations[b, row_source[c, k]] & (NUMBERS - 1)
                rows[b, c, k] = table[row_lookup[c, k] + number]
            for k in range(columns):
                means[k] += rows[b, c, k]
        for k in range(len(order)):
            place = order[k]
            if place < num_globals:
                globals_[b, k] = table[global_lookup[place] + (observations[b, global_source[place]] & (NUMBERS - 1))]
            else:
                globals_[b, k] = means[place - num_globals] * share


# Each inner loop touches few arrays: with more the compiler can not tell that none overlaps and does not vectorise it.


@kernel
def sweep_forward(
    rows: Any, context: Any, is_residual: bool, active: Any, hidden: Any, pools: Any, highest: Any
) -> None:
    """active (n, C, W) becomes relu(active + context); hidden is that, or rows + that; then its mean and maximum.

    context (n, W), pools (n, 2W): mean and maximum; highest (n, W): the first row that has the maximum
    """
    n, colours, width = active.shape
    share, zero = np.float32(1.0 / colours), np.float32(0.0)
    for b in range(n):
        for c in range(colours):
            for w in range(width):
                active[b, c, w] = max(active[b, c, w] + context[b, w], zero)
        if is_residual:
            for c in range(colours):
                for w in range(width):
                    hidden[b, c, w] = rows[b, c, w] + active[b, c, w]
        mean, top, which = pools[b, :width], pools[b, width:], highest[b]
        for w in range(width):
            mean[w] = top[w] = hidden[b, 0, w]
            which[w] = 0
        for c in range(1, colours):
            for w in range(width):
                mean[w] += hidden[b, c, w]
            for w in range(width):
                value = hidden[b, c, w]
                which[w] = np.int32(c) if value > top[w] else which[w]
                top[w] = value if value > top[w] else top[w]
        for w in range(width):
            mean[w] *= share


@kernel
def sweep_backward(active: Any, highest: Any, to_hidden: Any, to_pools: Any, to_active: Any, to_context: Any) -> None:
    """to_hidden gets the pools' part added; to_active is what relu lets through of it, to_context the sum of that."""
    n, colours, width = active.shape
    share, zero = np.float32(1.0 / colours), np.float32(0.0)
    for b in range(n):
        to_mean, to_highest, which, total = to_pools[b, :width], to_pools[b, width:], highest[b], to_context[b]
        for w in range(width):
            to_mean[w] *= share
            total[w] = zero
        for c in range(colours):
            for w in range(width):
                to_hidden[b, c, w] += to_mean[w]
            for w in range(width):
                to_hidden[b, c, w] += to_highest[w] if which[w] == c else zero
            for w in range(width):
                to_active[b, c, w] = to_hidden[b, c, w] if active[b, c, w] > zero else zero
            for w in range(width):
                total[w] += to_active[b, c, w]


@kernel
def order_actions(of_rows: Any, of_pools: Any, action_order: Any, logits: Any) -> None:
    """Write the outputs of all rows, and then of the pools, in the order of the actions."""
    columns = of_rows.shape[1]
    for b in range(len(logits)):
        for action in range(len(action_order)):
            place = action_order[action]
            logits[b, action] = of_rows[b, place] if place < columns else of_pools[b, place - columns]


@kernel
def order_outputs(to_logits: Any, action_order: Any, of_rows: Any, of_pools: Any) -> None:
    """The other way round, for gradients; an output that is no action gets 0."""
    columns = of_rows.shape[1]
    for b in range(len(to_logits)):
        of_rows[b, :] = 0
        of_pools[b, :] = 0
        for action in range(len(action_order)):
            place = action_order[action]
            if place < columns:
                of_rows[b, place] = to_logits[b, action]
            else:
                of_pools[b, place - columns] = to_logits[b, action]
