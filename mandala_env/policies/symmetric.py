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

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from mandala_env.core.game import Game
from mandala_env.policies.base import Matrices, Matrix, NetworkConfig, PolicyValueNetwork

COUNT_SCALE = 4.0  # a pile seldom has more cards of a colour


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
        self.spread = gain / (inputs[0] + inputs[1] * mandalas) ** 0.5
        self.shared_to_shared = nn.Parameter(torch.empty(outputs[0], inputs[0]))
        self.own_to_shared = nn.Parameter(torch.empty(outputs[0], inputs[1]))
        self.shared_to_own = nn.Parameter(torch.empty(outputs[1], inputs[0]))
        self.own_to_own = nn.Parameter(torch.empty(outputs[1], inputs[1]))
        self.other_to_own = nn.Parameter(torch.empty(outputs[1], inputs[1]))
        self.shared_bias = nn.Parameter(torch.empty(outputs[0])) if has_bias else None
        self.own_bias = nn.Parameter(torch.empty(outputs[1])) if has_bias else None

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw new weights, normal ones whose spread keeps that of the inputs, times the gain."""
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
            else:
                parameter.normal_().mul_(self.spread)

    def places(self, first: int) -> Matrix:
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


NUMBERS = 128  # those of an observation are 0..127
Function = bytes  # of one number: its values for 0..NUMBERS-1, float32


def amount(scale: float) -> Function:
    """The number itself, scaled."""
    return (np.arange(NUMBERS, dtype=np.float32) * np.float32(scale)).tobytes()


def presence() -> Function:
    """Is it above 0?"""
    return (np.arange(NUMBERS) > 0).astype(np.float32).tobytes()


def is_number(which: int) -> Function:
    """Is it this one?"""
    return (np.arange(NUMBERS) == which).astype(np.float32).tobytes()


def constant(number: float) -> Function:
    """This, whatever the number is."""
    return np.full(NUMBERS, number, np.float32).tobytes()


class Features(nn.Module):
    """Observations as network inputs: for each colour a row, and the numbers that belong to no colour.

    A count becomes two inputs, the amount and whether there is any; a label becomes one input per value but 0. Where
    not all colours are alike, each row says of which class its colour is. The columns of rows and globals are ordered
    [shared | mandala 0 | mandala 1 | ...].

    Each input is a function of one number of the observation, so it is looked up: table[lookup + number].
    """

    table: Tensor  # the values of each function for 0..NUMBERS-1, one function after the other
    row_source: Tensor  # (C, R) which number of the observation
    row_lookup: Tensor  # (C, R) where its function begins in the table
    global_source: Tensor
    global_lookup: Tensor
    order: Tensor  # brings [globals | means of the rows] into the order of the columns

    def __init__(self, game: Game) -> None:
        super().__init__()
        layout = game.layout
        self.colours, self.mandalas = len(game.colours), layout.axis_lengths.get("mandala", 1)
        functions: dict[bytes, int] = {}
        self.row_sizes = self._index("row", game, True, functions)
        sizes = self._index("global", game, False, functions)
        self.global_sizes = add_sizes(sizes, self.row_sizes)
        self.register_buffer("order", self._order_of(sizes), persistent=False)
        table = torch.frombuffer(bytearray(b"".join(functions)), dtype=torch.float32)
        self.register_buffer("table", table, persistent=False)

    def _index(self, name: str, game: Game, by_colour: bool, functions: dict[bytes, int]) -> tuple[int, int]:
        """Register what each column is; returns (shared, per mandala) sizes. New functions are added to `functions`."""
        parts: list[list[list[tuple[int, Function]]]] = [[] for _ in range(1 + self.mandalas)]
        classes = sorted(set(game.colour_classes))
        if by_colour and len(classes) > 1:
            parts[0] += [[(0, constant(own == which)) for own in game.colour_classes] for which in classes]
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
            if block.is_code:
                inputs = [is_number(number) for number in range(1, block.highest + 1)]
            else:
                inputs = [amount(1 / COUNT_SCALE if by_colour else 1 / block.highest)]
                inputs += [presence()] if block.highest > 1 else []
            for part, sources in groups:
                for source in sources.reshape(-1, self.colours if by_colour else 1).tolist():
                    parts[part] += [[(place, function) for place in source] for function in inputs]
        columns = np.array(
            [
                [(source, functions.setdefault(function, len(functions)) * NUMBERS) for source, function in column]
                for part in parts
                for column in part
            ],
            np.int32,
        )  # (columns, C or 1, 2)
        source, lookup = torch.from_numpy(columns.T.copy())
        self.register_buffer(f"{name}_source", source if by_colour else source[0], persistent=False)
        self.register_buffer(f"{name}_lookup", lookup if by_colour else lookup[0], persistent=False)
        return len(parts[0]), len(parts[1])

    def _order_of(self, global_sizes: tuple[int, int]) -> Tensor:
        """Bring [globals | row means] into the order [shared | mandala 0 | mandala 1 | ...]."""
        (gs, gm), (rs, rm) = global_sizes, self.row_sizes
        rows_at = gs + gm * self.mandalas
        order = [*range(gs), *range(rows_at, rows_at + rs)]
        for mandala in range(self.mandalas):
            order += range(gs + gm * mandala, gs + gm * (mandala + 1))
            order += range(rows_at + rs + rm * mandala, rows_at + rs + rm * (mandala + 1))
        return torch.tensor(order, dtype=torch.int32)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """observations (B, F) int8 -> rows (B, C, R), globals (B, G): the rows' means are among the globals."""
        numbers = observations.to(torch.int32) & (NUMBERS - 1)
        rows = self.table[numbers[:, self.row_source] + self.row_lookup]
        globals_ = self.table[numbers[:, self.global_source] + self.global_lookup]
        return rows, torch.cat([globals_, rows.mean(1)], 1)[:, self.order]


class SymmetricNetwork(PolicyValueNetwork):
    """observations (B, F) int8 -> logits (B, A) of all actions, legal or not, and values (B,) of the viewer's result.

    A layer is hidden + relu(row(hidden) + pools(mean and maximum of hidden)): each row sees itself and what all rows
    have in common. Here it is in plain torch; `symmetric_passes.py` has the same, faster, for where time counts.
    """

    action_order: Tensor  # the place of each action among the outputs

    def __init__(self, game: Game, config: NetworkConfig) -> None:
        super().__init__(game, config)
        self.features = Features(game)
        m, width = self.features.mandalas, (config.shared, config.per_mandala)
        row_outputs, pool_outputs, order = action_columns(game, m)
        # Biases are where they cost least: on pooled vectors, not on rows.
        self.maps = nn.ModuleDict(
            {
                "from_row": TiedLinear(self.features.row_sizes, width, m, has_bias=False),
                "from_globals": TiedLinear(self.features.global_sizes, width, m),
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
        self._register_places()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        for tied in cast(dict[str, TiedLinear], self.maps).values():
            tied.reset_parameters()

    def _places(self) -> Matrices:
        """See `PolicyValueNetwork`.

        What is applied to the mean of the rows and what to their maximum make one matrix, for [mean | maximum].
        """
        found: Matrices = {}
        first = 0
        for name, tied in cast(dict[str, TiedLinear], self.maps).items():
            found[name] = tied.places(first)
            first += sum(parameter.numel() for parameter in tied.parameters())
        for layer in range(self.config.layers):
            found[f"pools_{layer}"] = side_by_side(found.pop(f"mean_{layer}"), found.pop(f"max_{layer}"))
        found["value_pools"] = side_by_side(found.pop("value_mean"), found.pop("value_max"))
        return found

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and values; see the class."""
        at, linear = self.matrices(), nn.functional.linear
        rows, globals_ = self.features(observations)
        context = linear(globals_, *at["from_globals"])
        hidden = torch.relu(linear(rows, at["from_row"][0]) + context.unsqueeze(1))
        for layer in range(self.config.layers):
            context = linear(pools_of(hidden), *at[f"pools_{layer}"])
            hidden = hidden + torch.relu(linear(hidden, at[f"row_{layer}"][0]) + context.unsqueeze(1))
        pools = pools_of(hidden)
        outputs = linear(hidden, at["row_head"][0]).flatten(1)
        if "pool_head" in at:
            outputs = torch.cat([outputs, linear(pools[:, : hidden.shape[2]], *at["pool_head"])], 1)
        logits = outputs.index_select(1, self.action_order)
        value = linear(torch.relu(linear(pools, *at["value_pools"])), *at["value_head"])
        return logits, value.squeeze(1)


def pools_of(rows: Tensor) -> Tensor:
    """The mean and the maximum over the rows side by side, (B, C, W) -> (B, 2W)."""
    return torch.cat([rows.mean(1), rows.max(1).values], 1)


def side_by_side(one: Matrix, other: Matrix) -> Matrix:
    """Two matrices as one, for two vectors as one; the bias is the first one's."""
    return torch.cat([one[0], other[0]], 1), one[1]


def add_sizes(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Sizes (shared, per mandala) of two vectors joined part by part."""
    return one[0] + other[0], one[1] + other[1]


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
