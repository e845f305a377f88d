"""The games for RLlib's new API stack: importing this module registers `mandala_v0` and `flowers_v0` as environments.

`SymmetricModule` is the network of this package as an RLModule, `freeze` makes a past self of the module that learns,
`export` writes it in our checkpoint format.
"""

import json
from pathlib import Path
from typing import Any
from zlib import crc32

import torch

try:
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
    from ray.tune.registry import register_env
except ImportError as error:  # plain Ray is not enough
    raise ModuleNotFoundError(f"{error}: pip install 'mandala-env[rllib]'", name=error.name) from None

from mandala_env.adapters.aec import CardGameEnv, CheckedEnv
from mandala_env.core.game import Game
from mandala_env.policies.checkpoint import save_checkpoint
from mandala_env.policies.network import NetworkConfig, make_network, network_with
from mandala_env.registry import list_games, load_game

LEARNER = "main"  # the module that learns
ILLEGAL = torch.finfo(torch.float32).min  # a logit that makes an action's probability 0


def make_env(game_id: str, options: dict[str, Any]) -> PettingZooEnv:
    """A game as RLlib's own wrapper of PettingZoo's environments has it.

    An illegal action loses the game, as PettingZoo's conventions have it: RLlib's check of environments tries some.
    """

    class Env(CardGameEnv, game_id=game_id):
        pass

    return PettingZooEnv(CheckedEnv(Env(**options)))


class SymmetricModule(TorchRLModule, ValueFunctionAPI):
    """This package's network, see `make_network`, with the mask of the observation.

    model_config  {"game": id, "options": its rule options, "network": fields of NetworkConfig}, see `module_spec`
    """

    def setup(self) -> None:
        """Make the network."""
        self.game = load_game(self.model_config["game"], **self.model_config["options"])
        self.network = make_network(self.game, NetworkConfig(**self.model_config["network"]))
        self.register_buffer("highest", torch.from_numpy(self.game.layout.highest), persistent=False)

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        logits, values = self._evaluate(batch)
        legal = batch[Columns.OBS]["action_mask"] > 0
        return {Columns.ACTION_DIST_INPUTS: logits.masked_fill(~legal, ILLEGAL), Columns.EMBEDDINGS: values}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """The values, (B,); those that a forward pass has left in `embeddings` are not computed again."""
        return self._evaluate(batch)[1] if embeddings is None else embeddings

    def _evaluate(self, batch: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        units = batch[Columns.OBS]["observation"]
        return self.network(torch.round(units * self.highest).to(torch.int8))


def module_spec(game: Game, network: NetworkConfig | None = None) -> RLModuleSpec:
    """What RLlib makes a `SymmetricModule` from."""
    size = vars(network or NetworkConfig())
    config = {"game": game.id, "options": dict(game.options), "network": dict(size)}
    return RLModuleSpec(module_class=SymmetricModule, model_config=config)


class Seats:
    """Which module plays which agent: RLlib's `policy_mapping_fn`.

    In `share` of the episodes a past self has all seats but one, in the others the learner has all. An episode's id
    decides, so that all agents of an episode agree.
    """

    def __init__(self, past_selves: tuple[str, ...] = (), share: float = 0.2) -> None:
        self.past_selves, self.share = past_selves, share

    def __call__(self, agent: str, episode: Any, **kwargs: Any) -> str:
        """The id of the module that plays an agent."""
        number = crc32(episode.id_.encode())
        number, lot = divmod(number, 1000)
        if not self.past_selves or lot >= 1000 * self.share:
            return LEARNER
        number, who = divmod(number, len(self.past_selves))
        learners_seat = number % len(episode.observation_space)
        return LEARNER if agent == f"player_{learners_seat}" else self.past_selves[who]


def weights_of(algorithm: Any) -> dict[str, Any]:
    """The weights that are being learned, as arrays by name; a module in an environment runner may lag behind them."""
    weights: dict[str, Any] = algorithm.learner_group.get_weights([LEARNER])[LEARNER]
    return weights


def freeze(algorithm: Any, share: float | None = None) -> str:
    """Make the module that learns, as it is now, a past self; returns its name.

    share  the part of the episodes in which past selves play from now on; None: as before
    Episodes under way end as they began. `add_module` makes a new module with new weights in each environment runner,
    which RLlib brings up to date only after the next iteration has been played; so the weights are put there here.
    """
    weights, seats = weights_of(algorithm), algorithm.config.policy_mapping_fn
    if not isinstance(seats, Seats):
        raise ValueError(f"expected policy_mapping_fn=Seats(), not {seats!r}")
    name = f"past_{len(seats.past_selves)}"
    algorithm.add_module(
        name,
        RLModuleSpec.from_module(algorithm.get_module(LEARNER)),
        new_agent_to_module_mapping_fn=Seats((*seats.past_selves, name), seats.share if share is None else share),
    )
    algorithm.set_state({"learner_group": {"learner": {"rl_module": {name: weights}}}})

    def put(runner: Any) -> None:
        runner.module[name].set_state(weights)

    algorithm.env_runner_group.foreach_env_runner(put)
    return name


def export(algorithm: Any, folder: str | Path) -> None:
    """Write the module that learns as a checkpoint of this package."""
    module: SymmetricModule = algorithm.get_module(LEARNER)
    prefix = "network."
    weights = {
        name.removeprefix(prefix): torch.from_numpy(value.copy()) for name, value in weights_of(algorithm).items()
    }
    network = network_with(module.game, module.network.config, weights)
    training = {"library": "RLlib", "iterations": algorithm.iteration}
    card = f"# A player of {module.game.id}\n\nTrained by RLlib: {json.dumps(training)}\n"
    save_checkpoint(Path(folder), module.game, network, training=training, metrics={}, card=card)


for _game_id in list_games():
    register_env(_game_id, lambda options, _game_id=_game_id: make_env(_game_id, dict(options)))
