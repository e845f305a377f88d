"""A policy and value network that follows the symmetries of its game.

No colour and no mandala is special, so the network may not tell them apart: permuting the colours of an observation
permutes the logits, and so does swapping the mandalas; the value stays. It is built from a game's layout and action
table alone.

The data flow, for a batch of B observations of a game with C colours and M mandalas:

    observations (B, F) --features--> rows (B, C, R) and globals (B, G)
    hidden (B, C, W) = relu(rows and globals), then residual layers that see the row and the pooled rows
    logits (B, A) from each colour's row;  value (B,) from the pooled rows

Every vector is split into one shared part and one part per mandala, and every linear map is tied so that exchanging
mandalas exchanges the parts (`TiedLinear`).
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from mandala_env.core.game import Game
from mandala_env.policies.fused import CONSTANT, PRESENCE, gather_features, row_layer
from mandala_env.words import shown

Matrices = dict[str, tuple[Tensor, Tensor | None]]
COUNT_SCALE = 4.0  # a pile seldom has more cards of a colour


@dataclass(frozen=True)
class NetworkConfig:
    """The size of the network.

    shared      width of the part of each colour's row that belongs to no mandala
    per_mandala width of the part of each mandala
    layers      residual layers
    """

    shared: int = 32
    per_mandala: int = 16
    layers: int = 2

    def __post_init__(self) -> None:
        for name, low, high in (("shared", 1, 4096), ("per_mandala", 1, 4096), ("layers", 0, 64)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise ValueError(f"network.{name} must be a whole number from {low} to {high}, not {shown(value)}")


class TiedLinear(nn.Module):
    """A linear map between vectors [shared | mandala 0 | mandala 1 | ...] that commutes with exchanging mandalas.

    sizes are (shared, per mandala) of the input and the output. One part per mandala maps to itself by one matrix and
    to every other mandala by another; all M mandalas use the same two.
    """

    def __init__(
        self,
        inputs: tuple[int, int],
        outputs: tuple[int, int],
        mandalas: int,
        gain: float = 2**0.5,
        has_bias: bool = True,
    ) -> None:
        super().__init__()
        self.mandalas = mandalas
        fan_in = inputs[0] + inputs[1] * mandalas
        self.shared_to_shared = _weight(outputs[0], inputs[0], fan_in, gain)
        self.own_to_shared = _weight(outputs[0], inputs[1], fan_in, gain)
        self.shared_to_own = _weight(outputs[1], inputs[0], fan_in, gain)
        self.own_to_own = _weight(outputs[1], inputs[1], fan_in, gain)
        self.other_to_own = _weight(outputs[1], inputs[1], fan_in, gain)
        self.shared_bias = nn.Parameter(torch.zeros(outputs[0])) if has_bias else None
        self.own_bias = nn.Parameter(torch.zeros(outputs[1])) if has_bias else None

    def places(self, first: int) -> tuple[Tensor, Tensor | None]:
        """Where each number of the whole matrix (outputs, inputs) and bias stands among the parameters.

        first is the place of this map's first parameter; the others follow in their order.
        """
        parts: dict[str, Tensor] = {}
        for name, parameter in self.named_parameters():
            parts[name] = torch.arange(first, first + parameter.numel()).view(parameter.shape)
            first += parameter.numel()
        own, other = parts["own_to_own"], parts["other_to_own"]
        rows = [torch.cat([parts["shared_to_shared"], *[parts["own_to_shared"]] * self.mandalas], 1)]
        for mandala in range(self.mandalas):
            between = [own if column == mandala else other for column in range(self.mandalas)]
            rows.append(torch.cat([parts["shared_to_own"], *between], 1))
        if self.shared_bias is None:
            return torch.cat(rows, 0), None
        return torch.cat(rows, 0), torch.cat([parts["shared_bias"], *[parts["own_bias"]] * self.mandalas])


def _weight(rows: int, columns: int, fan_in: int, gain: float) -> nn.Parameter:
    return nn.Parameter(torch.randn(rows, columns) * (gain / fan_in**0.5))


class Features(nn.Module):
    """Observations as network inputs: for each colour a row, and the numbers that belong to no colour.

    A count becomes two inputs, the amount and whether there is any; a label becomes one input per value but 0. Where
    not all colours are alike, each row says of which class its colour is. The columns of rows and globals are ordered
    [shared | mandala 0 | mandala 1 | ...].
    """

    row_source: Tensor
    row_scale: Tensor
    row_value: Tensor
    global_source: Tensor
    global_scale: Tensor
    global_value: Tensor

    def __init__(self, game: Game) -> None:
        super().__init__()
        layout = game.layout
        self.colours, self.mandalas = len(game.colours), layout.axis_lengths.get("mandala", 1)
        self.row_sizes = self._index("row", game, by_colour=True)
        self.global_sizes = self._index("global", game, by_colour=False)

    def _index(self, name: str, game: Game, by_colour: bool) -> tuple[int, int]:
        """Register where each column comes from and how it is scaled; returns (shared, per mandala) sizes."""
        parts: list[list[tuple[np.ndarray, float, int]]] = [[] for _ in range(1 + self.mandalas)]
        classes = sorted(set(game.colour_classes))
        if by_colour and len(classes) > 1:
            parts[0] += [(np.equal(game.colour_classes, which).astype(int), 0.0, CONSTANT) for which in classes]
        for block in game.layout:
            if ("colour" in block.axes) != by_colour:
                continue
            places = np.arange(block.start, block.stop).reshape(block.shape)
            if by_colour:
                places = np.moveaxis(places, block.axes.index("colour"), -1)
            axes = [axis for axis in block.axes if axis != "colour"]
            groups = [(0, places)]
            if "mandala" in axes:
                places = np.moveaxis(places, axes.index("mandala"), 0)
                groups = [(1 + mandala, places[mandala]) for mandala in range(self.mandalas)]
            scale = 1 / COUNT_SCALE if by_colour else 1 / block.highest
            for part, sources in groups:
                for source in sources.reshape(-1, self.colours if by_colour else 1):
                    if block.is_code:
                        parts[part] += [(source, 0.0, value) for value in range(1, block.highest + 1)]
                    else:
                        parts[part] += [(source, scale, 0)]
                        if block.highest > 1:
                            parts[part] += [(source, 0.0, PRESENCE)]
        columns = [column for part in parts for column in part]
        sources = np.stack([source for source, _, _ in columns], -1)  # (C, columns) or (1, columns)
        self.register_buffer(f"{name}_source", torch.from_numpy(sources.reshape(-1).copy()), persistent=False)
        # A column is x * scale for amounts, x == value for labels, x > 0 for PRESENCE; for CONSTANT the source itself.
        self.register_buffer(f"{name}_scale", torch.tensor([scale for _, scale, _ in columns]), persistent=False)
        value = torch.tensor([value for _, _, value in columns], dtype=torch.int8)
        self.register_buffer(f"{name}_value", value, persistent=False)
        return len(parts[0]), len(parts[1])

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """observations (B, F) int8 -> rows (B, C, R), globals (B, G + R): the rows' means go to the globals too."""
        if observations.device.type == "cpu" and self.row_scale.dtype == torch.float32:
            num = len(observations)
            rows = torch.empty(num, self.colours, len(self.row_scale))
            globals_ = torch.empty(num, len(self.global_scale) + len(self.row_scale))
            row_source = self.row_source.view(self.colours, -1)
            inputs = (
                row_source,
                self.row_scale,
                self.row_value,
                self.global_source,
                self.global_scale,
                self.global_value,
            )
            gather_features(observations.numpy(), *(t.numpy() for t in inputs), rows.numpy(), globals_.numpy())
            return rows, globals_
        rows = self._columns(observations, "row").reshape(len(observations), self.colours, -1)
        return rows, torch.cat([self._columns(observations, "global").flatten(1), rows.mean(1)], 1)

    def _columns(self, observations: Tensor, name: str) -> Tensor:
        source, scale = getattr(self, f"{name}_source"), getattr(self, f"{name}_scale")
        value = getattr(self, f"{name}_value")
        x = observations.index_select(1, source).reshape(len(observations), -1, len(scale))
        is_it = torch.where(value == PRESENCE, x > 0, x == value).to(scale.dtype)
        is_it = torch.where(value == CONSTANT, source.reshape(1, -1, len(scale)).to(scale.dtype), is_it)
        return torch.where(scale > 0, x * scale, is_it)


class PolicyValueNetwork(nn.Module):
    """observations (B, F) int8 -> logits (B, A) of all actions, legal or not, and values (B,) of the viewer's result.

    A layer is hidden + relu(row(hidden) + mean(hidden's mean) + max(hidden's maximum)): each row sees itself and what
    all rows have in common.
    """

    global_order: Tensor
    action_order: Tensor
    places: Tensor

    def __init__(self, game: Game, config: NetworkConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or NetworkConfig()
        self.features = Features(game)
        m, width = self.features.mandalas, (config.shared, config.per_mandala)
        global_sizes = add_sizes(self.features.global_sizes, self.features.row_sizes)
        row_outputs, pool_outputs, order = action_columns(game, m)
        # Biases are where they cost least: on pooled vectors, not on rows.
        self.maps = nn.ModuleDict(
            {
                "from_row": TiedLinear(self.features.row_sizes, width, m, has_bias=False),
                "from_globals": TiedLinear(global_sizes, width, m),
            }
        )
        for layer in range(config.layers):
            self.maps[f"row_{layer}"] = TiedLinear(width, width, m, gain=1.0, has_bias=False)
            self.maps[f"mean_{layer}"] = TiedLinear(width, width, m, gain=0.5)
            self.maps[f"max_{layer}"] = TiedLinear(width, width, m, gain=0.5, has_bias=False)
        self.maps["row_head"] = TiedLinear(width, row_outputs, m, gain=0.1, has_bias=False)
        if sum(pool_outputs):
            self.maps["pool_head"] = TiedLinear(width, pool_outputs, m, gain=0.1)
        self.maps["value_mean"] = TiedLinear(width, width, m)
        self.maps["value_max"] = TiedLinear(width, width, m, has_bias=False)
        self.maps["value_head"] = TiedLinear(width, (1, 0), m, gain=0.1)
        self.register_buffer("action_order", torch.from_numpy(order), persistent=False)
        self.register_buffer("global_order", self._global_order(), persistent=False)
        self._register_places()

    def _register_places(self) -> None:
        """Note which parameter each number of all whole matrices and biases is."""
        places: list[Tensor] = []
        self.shapes: dict[str, tuple[torch.Size, torch.Size | None]] = {}
        first = 0
        for name, tied in cast(dict[str, TiedLinear], self.maps).items():
            weight, bias = tied.places(first)
            self.shapes[name] = weight.shape, None if bias is None else bias.shape
            places += [part.flatten() for part in (weight, bias) if part is not None]
            first += sum(parameter.numel() for parameter in tied.parameters())
        self.register_buffer("places", torch.cat(places), persistent=False)

    def matrices(self, parameters: Tensor | None = None) -> Matrices:
        """The whole matrices and biases that the tied parts make; they can be used for many batches.

        parameters  all parameters in one vector, as `flat_parameters` gives them
        """
        if parameters is None:
            parameters = self.flat_parameters()
        rest, whole = parameters.index_select(0, self.places), {}
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

    def forward(self, observations: Tensor, matrices: Matrices | None = None) -> tuple[Tensor, Tensor]:
        """Logits and values; see the class."""
        at = matrices or self.matrices()
        linear = nn.functional.linear
        rows, globals_ = self.features(observations)
        context = linear(globals_.index_select(1, self.global_order), *at["from_globals"])
        hidden, mean, highest = row_layer(rows, at["from_row"][0], context, with_rows=False)
        for layer in range(self.config.layers):
            context = linear(mean, *at[f"mean_{layer}"]) + linear(highest, *at[f"max_{layer}"])
            hidden, mean, highest = row_layer(hidden, at[f"row_{layer}"][0], context, with_rows=True)
        outputs = linear(hidden, *at["row_head"]).flatten(1)
        if "pool_head" in at:
            outputs = torch.cat([outputs, linear(mean, *at["pool_head"])], 1)
        logits = outputs.index_select(1, self.action_order)
        value = linear(
            torch.relu(linear(mean, *at["value_mean"]) + linear(highest, *at["value_max"])), *at["value_head"]
        )
        return logits, value.squeeze(1)

    def _global_order(self) -> Tensor:
        """Bring [globals | row means] into the order [shared | mandala 0 | mandala 1 | ...]."""
        f = self.features
        (gs, gm), (rs, rm) = f.global_sizes, f.row_sizes
        rows_at = gs + gm * f.mandalas
        order = [*range(gs), *range(rows_at, rows_at + rs)]
        for mandala in range(f.mandalas):
            order += range(gs + gm * mandala, gs + gm * (mandala + 1))
            order += range(rows_at + rs + rm * mandala, rows_at + rs + rm * (mandala + 1))
        return torch.tensor(order)


def add_sizes(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Sizes (shared, per mandala) of two vectors joined part by part."""
    return one[0] + other[0], one[1] + other[1]


def network_with(game: Game, config: NetworkConfig, weights: dict[str, Tensor]) -> PolicyValueNetwork:
    """A network with a copy of these weights; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        network = PolicyValueNetwork(game, config)
    network.load_state_dict(weights)
    return network.eval()


def action_columns(game: Game, mandalas: int) -> tuple[tuple[int, int], tuple[int, int], np.ndarray]:
    """How many outputs a colour's row and the pooled rows have, and which output each action is.

    Returns (shared, per mandala) outputs of a row, the same of the pool, and the place of each action among the
    outputs [row of colour 0 | row of colour 1 | ... | pool], each [shared | mandala 0 | mandala 1 | ...].
    """
    columns, num_actions = game.actions.columns, len(game.actions)
    absent = np.full(num_actions, -1)
    colour, mandala = columns.get("colour", absent), columns.get("mandala", absent)
    rest = [column for name, column in columns.items() if name not in ("colour", "mandala")]
    places = np.zeros(num_actions, np.int64)
    sizes = []
    for in_row in (True, False):
        names: list[dict[tuple, int]] = [{}, {}]  # what is chosen besides colour and mandala -> output
        for action in np.flatnonzero((colour >= 0) == in_row):
            group = names[int(mandala[action] >= 0)]
            group.setdefault(tuple(int(column[action]) for column in rest), len(group))
        shared, own = len(names[0]), len(names[1])
        sizes.append((shared, own))
        for action in np.flatnonzero((colour >= 0) == in_row):
            output = names[int(mandala[action] >= 0)][tuple(int(column[action]) for column in rest)]
            if mandala[action] >= 0:
                output += shared + own * int(mandala[action])
            row_width = sizes[0][0] + sizes[0][1] * mandalas
            start = row_width * int(colour[action]) if in_row else row_width * len(game.colours)
            places[action] = start + output
    return sizes[0], sizes[1], places
