"""The games for one agent, as Gymnasium has it: `gymnasium.make("mandala_env/Mandala-v0")`."""

import operator
from typing import Any, ClassVar

import gymnasium
import numpy as np

from mandala_env.adapters.learner import LearnerGames
from mandala_env.adapters.spaces import action_space, observation_box, observation_dict
from mandala_env.pictures.raster import pixels
from mandala_env.pictures.window import Window
from mandala_env.registry import load_game

RENDER_MODES = ("ansi", "rgb_array", "human")
ILLEGAL = ("raise", "lose")
ILLEGAL_REWARD = -1.0


class SingleAgentEnv(gymnasium.Env):
    """One seat of a card game is the agent's; opponents answer at the others, inside `step` and `reset`.

    An observation is float32 (F,) in [0, 1]: what the agent's seat knows, see `game.layout`. What it may do is
    `action_masks()`, bool (A,), and info["action_mask"], int8 (A,), as `action_space.sample(mask)` takes it.
    The reward is 0 until the game ends, then the agent's own result, whoever ended it: winners share +1, losers -1.
    The info then says `score`, `outcome` ("win", "draw", "loss"; a shared win is a draw) and, if the turns ran out,
    `adjudicated`.

    game_id   one of `list_games()`; `gymnasium.make` fills it in
    opponent  an Opponent or its spec, see `load_opponent`; or a list of P - 1, in turn order from the agent's left
    seat      a seat, or "random": drawn anew at each reset; it is in the info
    illegal   what an action does that the mask does not allow. "raise": IllegalAction, and nothing changes; "lose": the
              game ends with -1, for learners that know no masks
    dict_observation  observations are {"observation": ..., "action_mask": int8 (A,)}, as PettingZoo's are
    render_mode       how what the agent's seat sees is shown: "ansi": `render` returns text; "rgb_array": pixels, uint8
                      (H, W, 3); "human": a window, which `reset` and `step` open and keep up to date
    options   the game's rule options, such as max_turns=100
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(RENDER_MODES), "render_fps": 1}

    def __init__(
        self,
        game_id: str,
        opponent: Any = "heuristic",
        seat: int | str = "random",
        *,
        illegal: str = "raise",
        dict_observation: bool = False,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode must be None or one of {RENDER_MODES}, not {render_mode!r}")
        if illegal not in ILLEGAL:
            raise ValueError(f"illegal must be one of {ILLEGAL}, not {illegal!r}")
        self.game = load_game(game_id, **options)
        self.render_mode, self.illegal, self.dict_observation = render_mode, illegal, dict_observation
        self.action_space = action_space(self.game)
        self.observation_space = (observation_dict if dict_observation else observation_box)(self.game)
        self._games = LearnerGames(self.game, 1, opponent, seat)
        self._window = Window(self.game.id)
        self._is_dealt = self._in_play = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Deal a new game, the same one for the same seed; without a seed the random numbers go on and never repeat.

        options  {"position": dict} goes on from a position, as `game.position` and the PettingZoo environments give it
        """
        if unknown := [str(key) for key in options or () if key != "position"]:
            raise ValueError(f"unknown reset option {', '.join(unknown)}; the only one is position")
        super().reset(seed=seed)
        position = (options or {}).get("position")
        if position is None:
            self._games.deal(seed)
        elif len(self._games.set_up(position, seed).rows):
            self._in_play = False
            raise ValueError(f"from this position the game ends before seat {self._games.seats[0]} is to decide")
        self._is_dealt = self._in_play = True
        self._show()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Carry out an action and the opponents' answers; the games end by themselves and are never truncated."""
        self._check_in_play()
        try:
            action = operator.index(action)
        except TypeError:
            raise self.game.illegal(self._games.state(0), action) from None
        if self.illegal == "lose" and not (0 <= action < self.action_space.n and self._games.action_masks[0, action]):
            return self._forfeit(action)
        ended = self._games.step(np.array([action]), deal_on=False)
        self._show()
        if not len(ended.rows):
            return self._observation(), 0.0, False, False, self._info()
        self._in_play = False
        return self._observation(), float(ended.rewards[0]), True, False, ended.infos()[0]

    def action_masks(self) -> np.ndarray:
        """What the agent may do, bool (A,), by the name that sb3-contrib asks for."""
        self._check_in_play()
        return self._games.action_masks[0].copy()

    def render(self) -> str | np.ndarray | None:
        """What the agent's seat sees, as the render mode says; None in a window or without a mode."""
        if self.render_mode is None:
            return None
        if not self._is_dealt:
            raise RuntimeError("there is no game to show: call reset() first")
        state, seat = self._games.state(0), int(self._games.seats[0])
        if self.render_mode == "ansi":
            return self.game.render(state, seat)
        drawing = self.game.svg(state, seat)
        if self.render_mode == "rgb_array":
            return pixels(drawing)
        self._window.show(drawing)
        return None

    def close(self) -> None:
        """Close the window, if one is open."""
        self._window.close()

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _observation(self) -> Any:
        observation = self.game.layout.unit(self._games.observations[0])
        if not self.dict_observation:
            return observation
        mask = self._games.action_masks[0] if self._in_play else np.zeros(self.action_space.n)
        return {"observation": observation, "action_mask": mask.astype(np.int8)}

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._games.action_masks[0].astype(np.int8), "seat": int(self._games.seats[0])}

    def _forfeit(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """End the game because of an illegal action."""
        self._in_play = False
        seat = int(self._games.seats[0])
        score = self.game.scores(self._games.state(0))[seat]
        info = {"seat": seat, "score": score, "outcome": "loss", "illegal_action": action}
        return self._observation(), ILLEGAL_REWARD, True, False, info

    def _check_in_play(self) -> None:
        if not self._in_play:
            raise RuntimeError("there is nothing to decide, no game is in play: call reset() first")
