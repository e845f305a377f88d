"""What all networks are to those who use them: a config, parameters in one vector, and the matrices that these make."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from mandala_env.core.game import Game
from mandala_env.words import shown

Matrix = tuple[Tensor, Tensor | None]  # a matrix and a bias, if it has one
Matrices = dict[str, Matrix]
MOST_LAYERS = 64


@dataclass(frozen=True)
class NetworkConfig:
    """The kind of the network and its size.

    shared      width of the part of each colour's row that belongs to no mandala
    per_mandala width of the part of each mandala
    layers      residual layers
    mlp         widths of the hidden layers of a plain perceptron that takes the place of the symmetric network
    """

    shared: int = 32
    per_mandala: int = 16
    layers: int = 2
    mlp: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, low, high in (("shared", 1, 4096), ("per_mandala", 1, 4096), ("layers", 0, MOST_LAYERS)):
            if not is_whole(getattr(self, name), low, high):
                found = shown(getattr(self, name))
                raise ValueError(f"network.{name} must be a whole number from {low} to {high}, not {found}")
        widths = self.mlp
        if not isinstance(widths, list) or len(widths) > MOST_LAYERS or not all(is_whole(w, 1, 4096) for w in widths):
            expected = f"a list of at most {MOST_LAYERS} whole numbers from 1 to 4096"
            raise ValueError(f"network.mlp must be {expected}, not {shown(widths)}")


def is_whole(value: object, low: float, high: float) -> bool:
    """Is it a whole number in this range?"""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


class PolicyValueNetwork(nn.Module, ABC):
    """observations (B, F) int8 -> logits (B, A) of all actions, legal or not, and values (B,) of the viewer's result.

    A subclass says in plain torch what they are (`forward`) and what its matrices are (`_places`); `make_network` makes
    the one that a config asks for.

    places  which parameter each number of all matrices and biases is, as `cut` cuts them
    """

    places: Tensor

    def __init__(self, game: Game, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.num_features, self.num_actions = game.layout.size, len(game.actions)

    @abstractmethod
    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and values; see the class."""

    @abstractmethod
    def reset_parameters(self) -> None:
        """Draw new weights from torch's global generator."""

    @abstractmethod
    def _places(self) -> Matrices:
        """Like the matrices, which have other names than the parameters: where their numbers stand among these."""

    def _register_places(self) -> None:
        """Note the places, when all parameters are there."""
        found = self._places()
        self.shapes = {
            name: (weight.shape, None if bias is None else bias.shape) for name, (weight, bias) in found.items()
        }
        places = [part.flatten() for pair in found.values() for part in pair if part is not None]
        self.register_buffer("places", torch.cat(places), persistent=False)

    def matrices(self, parameters: Tensor | None = None, dtype: torch.dtype = torch.float32) -> Matrices:
        """The matrices and biases that the parameters make; they can be used for many batches.

        parameters  all parameters in one vector, as `flat_parameters` gives them
        dtype       what they are rounded to; a float64 network keeps its own
        """
        if parameters is None:
            parameters = self.flat_parameters()
        whole = parameters.index_select(0, self.places)
        return self.cut(whole if dtype == torch.float32 else whole.to(dtype))

    def cut(self, numbers: Tensor) -> Matrices:
        """A vector as long as `places`, one number for each of all matrices and biases, as these."""
        whole, rest = {}, numbers
        for name, (weight_shape, bias_shape) in self.shapes.items():
            weight, rest = rest[: weight_shape.numel()].view(weight_shape), rest[weight_shape.numel() :]
            bias = None
            if bias_shape is not None:
                bias, rest = rest[: bias_shape.numel()], rest[bias_shape.numel() :]
            whole[name] = (weight, bias)
        return whole

    def flat_parameters(self) -> Tensor:
        """All parameters in one vector."""
        return torch.cat([parameter.flatten() for parameter in self.parameters()])

    def share_storage(self) -> nn.Parameter:
        """Lay all parameters out in one vector and return it: from then on they are views of it, and change with it."""
        flat = nn.Parameter(self.flat_parameters().detach())
        for parameter, part in zip(self.parameters(), flat.detach().split(self.sizes()), strict=True):
            parameter.data = part.view(parameter.shape)
        return flat

    def sizes(self) -> list[int]:
        """How many numbers each parameter has."""
        return [parameter.numel() for parameter in self.parameters()]
