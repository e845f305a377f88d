"""Many games for one agent each, as Gymnasium has it: `gymnasium.make_vec("mandala_env/Mandala-v0", num_envs=1024)`."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from mandala_env.adapters.learner import Ended, LearnerGames
from mandala_env.adapters.spaces import action_space, observation_box, observation_dict
from mandala_env.registry import load_game

INFO_KINDS = {"seat": np.int64, "score": np.int64, "outcome": object, "adjudicated": bool}


class LearnerVectorEnv(VectorEnv):
    """N games at once; each is what `SingleAgentEnv` plays, and with a list of seeds the very same games.

    A game that ends is dealt anew in the same step: observation and mask are the new game's, what was known at the end
    is infos["final_obs"][i], and infos["final_info"] says `seat`, `score`, `outcome`, `adjudicated`.
    infos["action_mask"], int8 (N, A), is what may be done now, `action_masks()` the same as bool. An illegal action is
    an IllegalAction that names the game, and none of the games changes.

    opponent, seat, dict_observation and the rule options are those of `SingleAgentEnv`.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}

    def __init__(
        self,
        num_envs: int,
        game_id: str,
        opponent: Any = "heuristic",
        seat: int | str = "random",
        *,
        dict_observation: bool = False,
        render_mode: None = None,
        **options: Any,
    ) -> None:
        if render_mode is not None:
            raise ValueError(f"many games at once have no render mode, not {render_mode!r}")
        if "illegal" in options:
            raise ValueError("illegal actions raise here; illegal='lose' needs vectorization_mode='sync' or 'async'")
        self.game = load_game(game_id, **options)
        self.num_envs, self.dict_observation = num_envs, dict_observation
        self._games = LearnerGames(self.game, num_envs, opponent, seat)
        self.single_action_space = action_space(self.game)
        self.single_observation_space = (observation_dict if dict_observation else observation_box)(self.game)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._is_dealt = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Deal all games anew.

        seed  None: the random numbers go on; a number: game i depends on (seed, i), game 0 is that of `SingleAgentEnv`;
              N of them: game i is that of `SingleAgentEnv` with this seed
        """
        if options:
            raise ValueError(f"unknown reset option {', '.join(map(str, options))}; there are none")
        super().reset(seed=seed if isinstance(seed, (int, np.integer)) else None)
        self._games.deal(seed)
        self._is_dealt = True
        return self._observations(), self._infos()

    def step(self, actions: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Carry out one action in every game, and the opponents' answers; rewards are float64 (N,)."""
        self._check_dealt()
        ended = self._games.step(actions, deal_on=True)
        rewards, terminations = np.zeros(self.num_envs), np.zeros(self.num_envs, bool)
        rewards[ended.rows], terminations[ended.rows] = ended.rewards, True
        infos = self._infos() | (self._final(ended) if len(ended.rows) else {})
        return self._observations(), rewards, terminations, np.zeros(self.num_envs, bool), infos

    def action_masks(self) -> np.ndarray:
        """What may be done in each game, bool (N, A)."""
        self._check_dealt()
        return self._games.action_masks.copy()

    def _check_dealt(self) -> None:
        if not self._is_dealt:
            raise RuntimeError("there is nothing to decide, no game is in play: call reset() first")

    def _observations(self) -> Any:
        observations = self.game.layout.unit(self._games.observations)
        if not self.dict_observation:
            return observations
        return {"observation": observations, "action_mask": self._games.action_masks.astype(np.int8)}

    def _infos(self) -> dict[str, Any]:
        """Each value has a companion that says which games it is meant for, as Gymnasium's vector environments do."""
        everywhere = np.ones(self.num_envs, bool)
        return {
            "action_mask": self._games.action_masks.astype(np.int8),
            "_action_mask": everywhere,
            "seat": self._games.seats.astype(np.int64),
            "_seat": everywhere.copy(),
        }

    def _final(self, ended: Ended) -> dict[str, Any]:
        """What is to be said of the games that ended."""
        final_obs = np.full(self.num_envs, None, object)
        for row, observation in zip(ended.rows, self.game.layout.unit(ended.observations), strict=True):
            final_obs[row] = observation
            if self.dict_observation:
                nothing = np.zeros(len(self.game.actions), np.int8)
                final_obs[row] = {"observation": observation, "action_mask": nothing}
        said = np.zeros(self.num_envs, bool)
        said[ended.rows] = True
        infos, final_info = ended.infos(), {}
        for name, kind in INFO_KINDS.items():
            final_info[name] = np.full(self.num_envs, None if kind is object else 0, kind)
            final_info[name][ended.rows] = [info.get(name, False) for info in infos]
            final_info[f"_{name}"] = said.copy()
        return {
            "final_obs": final_obs,
            "_final_obs": said,
            "final_info": final_info,
            "_final_info": said.copy(),
        }
