"""Every number that makes a training run; the presets in configs/ set them, unknown keys are errors."""

from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import yaml

from mandala_env.arena.workers import read_workers
from mandala_env.files import read_file
from mandala_env.policies.base import NetworkConfig, is_whole
from mandala_env.words import shown


def _check(where: str, section: Any, **bounds: tuple[float, float]) -> None:
    """Raise ValueError unless these fields are in their bounds, and whole numbers where they are declared to be."""
    kinds = {one.name: one.type for one in fields(section)}
    for name, (lowest, highest) in bounds.items():
        value = getattr(section, name)
        is_fraction = kinds[name] is float and isinstance(value, float) and lowest <= value <= highest
        if not is_fraction and not is_whole(value, lowest, highest):
            kind = "a number" if kinds[name] is float else "a whole number"
            raise ValueError(f"{where}.{name} must be {kind} from {lowest:g} to {highest:g}, not {shown(value)}")


@dataclass(frozen=True)
class PPOConfig:
    """Proximal policy optimisation (Schulman et al. 2017) with the field's names.

    num_games        games played side by side
    num_steps        decisions in each game between two updates
    minibatch_size   decisions an optimiser step is taken on
    num_epochs       passes over the decisions
    learning_rate, final_learning_rate  at the start and at the end; it falls linearly
    gamma, gae_lambda  discount and the lambda of generalised advantage estimation
    clip_range       of the probability ratio
    entropy_coef, final_entropy_coef  weight of the entropy at the start and at the end; it falls linearly
    value_coef       weight of the value loss
    max_grad_norm    the gradient is scaled down to this norm
    """

    num_games: int = 1024
    num_steps: int = 64
    minibatch_size: int = 1024
    num_epochs: int = 1
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-4
    gamma: float = 1.0
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    entropy_coef: float = 0.01
    final_entropy_coef: float = 0.01
    value_coef: float = 0.5
    max_grad_norm: float = 0.5

    def __post_init__(self) -> None:
        _check(
            "ppo",
            self,
            num_games=(1, 10**6),
            num_steps=(1, 10**5),
            minibatch_size=(2, 10**7),
            num_epochs=(1, 1000),
            learning_rate=(0, 1),
            final_learning_rate=(0, 1),
            gamma=(0, 1),
            gae_lambda=(0, 1),
            clip_range=(1e-6, 10),
            entropy_coef=(0, 10),
            final_entropy_coef=(0, 10),
            value_coef=(0, 100),
            max_grad_norm=(1e-6, 1e6),
        )


@dataclass(frozen=True)
class LeagueConfig:
    """Who else is played besides oneself.

    share            part of the games in which a frozen member of the league has some of the seats
    max_snapshots    how many past selves are kept; the one that is beaten most often makes room; 0: none are made
    snapshot_every   iterations between two snapshots
    scripted         opponents that are members from the start
    alone            with more than two players: the part of these games in which the learner sits alone against the
                     member; in the others the member has any number of seats
    """

    share: float = 0.2
    max_snapshots: int = 6
    snapshot_every: int = 20
    scripted: list[str] = field(default_factory=list)
    alone: float = 0.0

    def __post_init__(self) -> None:
        _check(
            "league",
            self,
            share=(0, 1),
            max_snapshots=(0, 1000),
            snapshot_every=(1, 10**6),
            alone=(0, 1),
        )


@dataclass(frozen=True)
class EvaluationConfig:
    """How often and against whom the learner is measured while it trains.

    every    iterations between two measurements
    games    games against each opponent
    against  opponents
    """

    every: int = 25
    games: int = 400
    against: list[str] = field(default_factory=lambda: ["random", "heuristic"])

    def __post_init__(self) -> None:
        _check("evaluation", self, every=(1, 10**9), games=(4, 10**6))


@dataclass(frozen=True)
class TrainConfig:
    """A training run.

    name             what the run's folder and checkpoint are called
    game             the game's id
    options          its rule options
    seed             fixes everything that is random
    total_decisions  when to stop: decisions of all seats together
    num_threads      threads that update; each takes a fixed share, so results depend on their number
    workers          who collects: "local:4", threads of this process, or "ray:4", processes of a Ray cluster, with the
                     same results; each plays a fixed share of the games, so results depend on their number; without a
                     number there are num_threads
    save_every       iterations between two saves of the run's state
    start_from       a checkpoint of the same game and a network of the same kind and size, whose weights are the first;
                     empty: new weights
    precision        "bfloat16": an MLP's matrices and activations are rounded to that; where the processor is no faster
                     at it the run is one of float32, as those of the symmetric network always are
    """

    name: str = "run"
    game: str = "mandala_v0"
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    total_decisions: int = 15_000_000
    num_threads: int = 2
    workers: str = "local"
    save_every: int = 25
    start_from: str = ""
    precision: str = "float32"
    network: NetworkConfig = field(default_factory=NetworkConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    league: LeagueConfig = field(default_factory=LeagueConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        _check(
            "config",
            self,
            seed=(0, 2**63),
            total_decisions=(1, 10**13),
            num_threads=(1, 1024),
            save_every=(1, 10**9),
        )
        if not isinstance(self.name, str) or Path(self.name).name != self.name:
            raise ValueError(f"config.name must be the name of a folder, not {shown(self.name)}")
        if self.precision not in (possible := ("float32", "bfloat16") if self.network.mlp else ("float32",)):
            kind = "an MLP" if self.network.mlp else "the symmetric network"
            raise ValueError(f"precision of {kind} must be {' or '.join(possible)}, not {shown(self.precision)}")
        if self.ppo.num_games < max(self.num_threads, self.num_workers):
            raise ValueError(
                f"ppo.num_games must be at least num_threads ({self.num_threads}) and the number of workers"
            )

    @property
    def num_workers(self) -> int:
        """How many collect."""
        return num_workers(self.workers, self.num_threads)


def num_workers(workers: str, num_threads: int) -> int:
    """How many collect, by the fields of a config."""
    return read_workers(workers)[1] or num_threads


LARGEST_PRESET = 2**14  # bytes
MOST_BRACKETS = 500  # for more, open ones, YAML's reader takes ever longer


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases: a few lines of them can stand for more than any memory holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(f"{self.peek_event().start_mark}: expected no alias in a preset")
        return super().compose_node(parent, index)


def read_preset(path: Path) -> dict[str, Any]:
    """The fields of a config that a YAML file sets; raises ValueError that says what was expected."""
    try:
        content = read_file(path, LARGEST_PRESET)
        if content.count(b"[") + content.count(b"{") > MOST_BRACKETS:
            raise ValueError(f"more than {MOST_BRACKETS} brackets: this is no preset")
        values = yaml.load(content, _PlainLoader)
    except RecursionError:
        raise ValueError(f"{path}: nested too deep for a preset") from None
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None
    check_fields(path, "a config", values, TrainConfig)
    options = values.get("options", {})
    if not isinstance(options, dict) or not all(isinstance(name, str) for name in options):
        raise ValueError(f"{path}: expected the rule options by name, not {shown(options)}")
    for name, section in vars(TrainConfig()).items():
        if is_dataclass(section) and name in values:
            check_fields(path, name, values[name], type(section))
    return values


def check_fields(path: Path, name: str, values: Any, kind: Any) -> None:
    """Raise ValueError unless these are fields of a dataclass; what reads the command line would load other classes."""
    known = [one.name for one in fields(kind)]
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected the fields of {name}, not {shown(values)}")
    if unknown := [key for key in values if key not in known]:
        raise ValueError(f"{path}: {name} has no {shown(unknown[0])}; its fields are {', '.join(known)}")
