"""The games for stable-baselines3: many at once as one `VecEnv` that answers for its action masks itself.

from sb3_contrib import MaskablePPO
model = MaskablePPO("MlpPolicy", LearnerVecEnv("mandala_v0", 64, opponent="heuristic"))
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error}: pip install 'mandala-env[train]'", name=error.name) from None

from mandala_env.adapters.learner import LearnerGames
from mandala_env.adapters.spaces import action_space, observation_box
from mandala_env.core.game import Game
from mandala_env.registry import load_game


class BatchVecEnv(VecEnv):
    """What is the same for all environments whose games share one batch; a subclass writes `action_masks`."""

    render_mode = None

    def __init__(self, game: Game, num_envs: int) -> None:
        super().__init__(num_envs, observation_box(game), action_space(game))
        self.game = game
        self._actions: np.ndarray | None = None

    def action_masks(self) -> np.ndarray:
        """The legal actions, (N, A) bool."""
        raise NotImplementedError

    def step_async(self, actions: np.ndarray) -> None:
        """Remember the actions."""
        self._actions = actions

    def close(self) -> None:
        """Nothing is held open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of this object, once for each of the games asked for."""
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Games have no attributes of their own."""
        raise AttributeError(f"cannot set {attr_name!r}: the games share one batch")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """`action_masks`, one row for each game; there is no other."""
        if method_name != "action_masks":
            raise AttributeError(f"no method {method_name!r}; there is action_masks")
        return list(self.action_masks()[self._get_indices(indices)])

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> Sequence[bool]:
        """Nothing is wrapped."""
        return [False for _ in self._get_indices(indices)]


class LearnerVecEnv(BatchVecEnv):
    """N games in each of which one seat is the learner's; each is what `SingleAgentEnv` plays.

    A game that ends is dealt anew in the same step; its info then says `terminal_observation`, `seat`, `score`,
    `outcome` and, if the turns ran out, `adjudicated`. An illegal action is an IllegalAction, and no game changes.

    game      a game's id or a Game
    opponent  an Opponent or its spec, or a list of P - 1, in turn order from the learner's left
    seat      a seat, or "random": drawn anew for each game
    options   the game's rule options, such as max_turns=100
    """

    def __init__(
        self,
        game: str | Game,
        num_envs: int,
        opponent: Any = "heuristic",
        seat: int | str = "random",
        **options: Any,
    ) -> None:
        game = load_game(game, **options) if isinstance(game, str) else game
        self._games = LearnerGames(game, num_envs, opponent, seat)
        self._seed: int | None = None
        super().__init__(game, num_envs)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """The seed of the next `reset`: game i then depends on (seed, i); None lets the random numbers go on."""
        self._seed = seed
        return [seed for _ in range(self.num_envs)]

    def reset(self) -> np.ndarray:
        """Deal all games anew."""
        self._games.deal(self._seed)
        self._seed = None
        self.reset_infos = [{"seat": int(seat)} for seat in self._games.seats]
        return self.game.layout.unit(self._games.observations)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict]]:
        """Carry out the actions and the opponents' answers."""
        ended = self._games.step(np.asarray(self._actions), deal_on=True)
        rewards, dones = np.zeros(self.num_envs, np.float32), np.zeros(self.num_envs, bool)
        rewards[ended.rows], dones[ended.rows] = ended.rewards, True
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        final = self.game.layout.unit(ended.observations)
        for row, observation, info in zip(ended.rows, final, ended.infos(), strict=True):
            infos[row] = {"terminal_observation": observation, "TimeLimit.truncated": False, **info}
        return self.game.layout.unit(self._games.observations), rewards, dones, infos

    def action_masks(self) -> np.ndarray:
        """What the learner may do, (N, A) bool."""
        return self._games.action_masks.copy()
