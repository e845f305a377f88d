"""A plain multilayer perceptron, as other packages train: it has to learn that colours and mandalas are alike.

The data flow, for a batch of B observations:

    observations (B, F) --each divided by its highest value--> relu layers --> logits (B, A) and value (B,)
"""

from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from mandala_env.core.game import Game
from mandala_env.core.jit import kernel
from mandala_env.policies.base import Matrices, NetworkConfig, PolicyValueNetwork
from mandala_env.policies.memory import Memory, Rooms


class MLPNetwork(PolicyValueNetwork):
    """Hidden layers with relu; policy and value read the last one. See `PolicyValueNetwork`."""

    scale: Tensor

    def __init__(self, game: Game, config: NetworkConfig) -> None:
        super().__init__(game, config)
        self.register_buffer("scale", torch.from_numpy(1 / game.layout.highest.astype(np.float32)), persistent=False)
        widths = [game.layout.size, *config.mlp]
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        self.policy, self.value = nn.Linear(widths[-1], self.num_actions), nn.Linear(widths[-1], 1)
        self._register_places()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw new weights, orthogonal ones; takes seconds for layers of thousands."""
        gains = [2**0.5] * len(self.layers) + [0.01, 1.0]
        for linear, gain in zip(self._linears(), gains, strict=True):
            nn.init.orthogonal_(linear.weight, gain)
            nn.init.zeros_(linear.bias)

    def _linears(self) -> list[nn.Linear]:
        return cast(list[nn.Linear], [*self.layers, self.policy, self.value])

    def _places(self) -> Matrices:
        """See `PolicyValueNetwork`. Policy and value make one matrix, the value last."""
        found, first = [], 0
        for linear in self._linears():
            parts = []
            for parameter in (linear.weight, linear.bias):
                parts.append(torch.arange(first, first + parameter.numel()).view(parameter.shape))
                first += parameter.numel()
            found.append((parts[0], parts[1]))
        *layers, policy, value = found
        head = torch.cat([policy[0], value[0]]), torch.cat([policy[1], value[1]])
        return {**{f"layer_{number}": places for number, places in enumerate(layers)}, "head": head}

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and values; see the class."""
        hidden = observations * self.scale
        for layer in self.layers:
            hidden = torch.relu(layer(hidden))
        return self.policy(hidden), self.value(hidden).squeeze(1)


class _Room:
    """The activations of n observations, and the gradients by them."""

    def __init__(self, memory: Memory, n: int, dtype: torch.dtype, widths: list[int], num_outputs: int) -> None:
        self.numbers = memory.take(n, widths[0])
        first = self.numbers if dtype == torch.float32 else memory.take(n, widths[0], dtype=dtype)
        hidden = [(n, width) for width in widths[1:]]
        self.active = [first, *(memory.take(*shape, dtype=dtype) for shape in hidden)]
        self.to_active = [memory.take(*shape, dtype=dtype) for shape in hidden]
        self.outputs = memory.take(n, num_outputs, dtype=dtype)


class MLPPasses:
    """The passes of an `MLPNetwork`, see `Passes`, in the precision of the matrices that are given."""

    chunk = 2048

    def __init__(self, network: MLPNetwork, memory: Memory | None = None) -> None:
        self.scale = network.scale.numpy()
        self.names = list(network.shapes)
        widths, num_outputs = [network.shapes[name][0][1] for name in self.names], network.num_actions + 1
        self.rooms = Rooms(memory or Memory(), lambda memory, n, dtype: _Room(memory, n, dtype, widths, num_outputs))

    @torch.no_grad()
    def forward(self, observations: np.ndarray, matrices: Matrices, logits: np.ndarray, values: np.ndarray) -> None:
        """See `Passes`."""
        self.room = room = self.rooms.of(len(observations), matrices["head"][0].dtype)
        scale_numbers(observations, self.scale, room.numbers.numpy())
        if room.active[0] is not room.numbers:
            room.active[0].copy_(room.numbers)
        for name, inputs, outputs in zip(self.names, room.active, [*room.active[1:], room.outputs], strict=True):
            weight, bias = matrices[name]
            torch.addmm(cast(Tensor, bias), inputs, weight.t(), out=outputs)
            if outputs is not room.outputs:
                outputs.relu_()
        torch.from_numpy(logits).copy_(room.outputs[:, :-1])
        torch.from_numpy(values).copy_(room.outputs[:, -1])

    @torch.no_grad()
    def backward(self, to_logits: np.ndarray, to_values: np.ndarray, matrices: Matrices, gradients: Matrices) -> None:
        """See `Passes`."""
        room, to_outputs = self.room, self.room.outputs
        to_outputs[:, :-1] = torch.from_numpy(to_logits)
        to_outputs[:, -1] = torch.from_numpy(to_values)
        for number in reversed(range(len(self.names))):
            name, inputs = self.names[number], room.active[number]
            weight, bias = gradients[name]
            weight.add_(to_outputs.t() @ inputs)
            cast(Tensor, bias).add_(to_outputs.sum(0, dtype=weight.dtype))
            if number:
                to_inputs = torch.mm(to_outputs, matrices[name][0], out=room.to_active[number - 1])
                to_outputs = torch.ops.aten.threshold_backward.grad_input(to_inputs, inputs, 0, grad_input=to_inputs)


@kernel
def scale_numbers(observations: Any, scale: Any, scaled: Any) -> None:
    """Write the numbers of observations (n, F), each times its scale (F,)."""
    for b in range(len(observations)):
        for k in range(len(scale)):
            scaled[b, k] = observations[b, k] * scale[k]
