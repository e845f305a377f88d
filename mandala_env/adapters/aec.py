"""The games as PettingZoo environments, in which the agents act one at a time."""

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from mandala_env.adapters.results import endings
from mandala_env.adapters.spaces import action_space, observation_dict
from mandala_env.core.single import Single
from mandala_env.pictures.raster import pixels
from mandala_env.pictures.window import Window
from mandala_env.registry import load_game
from mandala_env.transcript import Start, Transcript

RENDER_MODES = ("ansi", "rgb_array", "human")
ILLEGAL_REWARD = -1.0
# PettingZoo's own api_test resets with {"options": 1}; this one key is let pass, every other unknown one is refused.
IGNORED_OPTION = "options"


class CardGameEnv(AECEnv):
    """A card game as PettingZoo has it; a subclass names its game: `class raw_env(CardGameEnv, game_id="mandala_v0")`.

    Agents are "player_0", "player_1", ... by seat. Moves do not always alternate: `agent_selection` says who decides.
    An agent gets {"observation": float32 (F,) in [0, 1], "action_mask": int8 (A,)}: what its seat knows, see
    `game.layout`, and what it may do, all zeros when another seat is to move. The mask of the agent to move is also in
    its info. The reward is 0 until all agents end in the same step: winners share +1, losers -1; the infos then say
    `score`, `outcome` ("win", "draw", "loss"; a shared win is a draw) and, if the turns ran out, `adjudicated`.
    `step` raises IllegalAction, and changes nothing, for an action that the mask does not allow.

    render_mode  how spectators are shown the whole table, all hands open: "ansi": `render` returns text; "rgb_array":
                 pixels, uint8 (H, W, 3); "human": a window, which `reset` and `step` open and keep up to date
    options      the game's rule options, such as max_turns=100
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 1,
    }
    game_id: ClassVar[str]

    def __init_subclass__(cls, game_id: str, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.game_id = game_id
        cls.metadata = {"name": game_id, **cls.metadata}

    def __init__(self, render_mode: str | None = None, **options: Any) -> None:
        super().__init__()
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode must be None or one of {RENDER_MODES}, not {render_mode!r}")
        self.render_mode = render_mode
        self.game = load_game(self.game_id, **options)
        num_players, size = self.game.num_players, self.game.layout.size
        self.possible_agents = [f"player_{seat}" for seat in range(num_players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._action_space = action_space(self.game)
        self._observation_space = observation_dict(self.game)
        self.state_space = spaces.Box(0.0, 1.0, (num_players * size,), np.float32)
        self._single: Single | None = None
        self._window = Window(str(self.metadata["name"]))
        self._start = Start()
        self._moves: list[tuple[int, Any]] = []  # seat and action
        self._note = ""
        self.agents: list[str] = []
        self.agent_selection = self.possible_agents[0]
        self._set_all(0.0, is_over=False)
        self.infos: dict[str, dict[str, Any]] = {}

    # --- what PettingZoo asks for -----------------------------------------------------------------------------

    def observation_space(self, agent: str) -> spaces.Dict:
        """The space of observations, one object for all agents."""
        return self._observation_space

    def action_space(self, agent: str) -> spaces.Discrete:
        """The space of actions, one object for all agents."""
        return self._action_space

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new game, the same one for the same seed; without a seed the random numbers go on and never repeat.

        options  {"position": dict} goes on from a position as `position` gives it, in this game only
        """
        position = self._position_in(options)
        if self._single is None:
            if seed is None:
                seed = int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
            self._single = Single(self.game, seed)
            self._start = Start(seed)
        elif position is None:
            self._start = Start(seed, int(self._single.state.generator))
            self._single.deal(seed)
        if position is not None:
            self._single.set_up(position, seed)
            state = self._single.state
            self._start = Start(seed, int(state.generator), self.game.position(state))
        self._moves, self._note = [], ""
        self.agents = self.possible_agents[:]
        self._skip_agent_selection = None
        self._set_all(0.0, is_over=False)
        self._show()
        if self.render_mode == "human":
            self.render()

    def step(self, action: Any) -> None:
        """Carry out an action of the agent to move; an agent whose game is over must pass None."""
        agent = self.agent_selection
        if self.terminations.get(agent, True) or self.truncations.get(agent, True):
            if not self.agents:
                raise RuntimeError("there is no game in play: call reset() first")
            self._was_dead_step(action)
            return
        single = self._in_play()
        seat = single.player
        single.step(action)
        self._moves.append((seat, action))
        self._show()
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What an agent knows and may do, in arrays of its own; for any agent at any time."""
        single = self._in_play()
        try:
            seat = self._seats[agent]
        except KeyError:
            raise ValueError(f"there is no agent {agent!r}; they are {', '.join(self.possible_agents)}") from None
        is_to_move = seat == single.player and self._may_act(agent)
        return {
            "observation": single.units[seat].copy(),
            "action_mask": single.mask.copy() if is_to_move else np.zeros(len(single.mask), np.int8),
        }

    def state(self) -> np.ndarray:
        """Everything, for a central critic: the observations of all seats one after the other, float32 (P * F,)."""
        return self._in_play().units.flatten()

    def render(self) -> str | np.ndarray | None:
        """The whole table, all hands open, as the render mode says; None in a window or without a mode."""
        state = self._in_play().state
        if self.render_mode is None:
            return None
        if self.render_mode == "ansi":
            return self.game.render(state)
        last = [(seat, self.game.actions.text(int(action))) for seat, action in self._moves[-1:]]
        drawing = self.game.svg(state, names=self.possible_agents, last=last[0] if last else None)
        if self.render_mode == "rgb_array":
            return pixels(drawing)
        self._window.show(drawing)
        return None

    def close(self) -> None:
        """Close the window, if one is open."""
        self._window.close()

    # --- what this package adds -------------------------------------------------------------------------------

    def position(self) -> dict:
        """The whole game as a plain dict, all hands open; `reset` takes it in its options."""
        return self.game.position(self._in_play().state)

    def transcript(self) -> Transcript:
        """The game so far, as a text that can be saved and replays exactly: `env.transcript().save(path)`."""
        self._in_play()
        actions = tuple(int(action) for _, action in self._moves)
        return Transcript(self.game, self._start, tuple(self.possible_agents), actions, self._note)

    def is_legal(self, action: Any) -> bool:
        """May the agent to move take this action?"""
        return self._in_play().is_legal(action)

    def forfeit(self, action: Any) -> None:
        """End the game because the agent to move chose an illegal action: it gets -1 and all others 0."""
        offender = self.agent_selection
        scores = self.game.scores(self._in_play().state)
        self._note = f"{offender} chose {self.game.actions.text(int(action))!r}, which is not legal: the game ended"
        self._set_all(0.0, is_over=True)
        self.rewards[offender] = self._cumulative_rewards[offender] = ILLEGAL_REWARD
        self.infos = {
            agent: {"score": score, "outcome": "loss" if agent == offender else "win", "illegal_action": int(action)}
            for agent, score in zip(self.possible_agents, scores, strict=True)
        }
        self.agent_selection = self.agents[0]

    # --- inside -----------------------------------------------------------------------------------------------

    def _position_in(self, options: dict[str, Any] | None) -> dict | None:
        if unknown := [str(key) for key in options or () if key not in ("position", IGNORED_OPTION)]:
            raise ValueError(f"unknown reset option {', '.join(unknown)}; the only one is position")
        return None if options is None else options.get("position")

    def _in_play(self) -> Single:
        if self._single is None:
            raise RuntimeError("there is no game in play: call reset() first")
        return self._single

    def _may_act(self, agent: str) -> bool:
        return not (self.terminations.get(agent, True) or self.truncations.get(agent, True))

    def _set_all(self, reward: float, is_over: bool) -> None:
        """New dicts for all agents: those that were handed out stay as they were."""
        self.rewards = dict.fromkeys(self.agents, reward)
        self._cumulative_rewards = dict.fromkeys(self.agents, reward)
        self.terminations = dict.fromkeys(self.agents, is_over)
        self.truncations = dict.fromkeys(self.agents, False)

    def _show(self) -> None:
        """Say who is to move and with what mask, or how the game ended."""
        single = self._in_play()
        if single.player < 0:
            self._show_end(single.state)
            return
        # All rewards stay 0 while the game goes on, so there is nothing to add up.
        self.agent_selection = agent = self.possible_agents[single.player]
        self.infos = {agent: {} for agent in self.possible_agents}
        self.infos[agent] = {"action_mask": single.mask.copy()}

    def _show_end(self, state: Any) -> None:
        payoffs = self.game.payoffs(state)
        self._set_all(0.0, is_over=True)
        self.rewards = dict(zip(self.possible_agents, payoffs, strict=True))
        self._cumulative_rewards = dict(self.rewards)
        infos = endings(payoffs, self.game.scores(state), bool(getattr(state, "adjudicated", 0)))
        self.infos = dict(zip(self.possible_agents, infos, strict=True))
        self.agent_selection = self.agents[0]

    def _clear_rewards(self) -> None:
        self.rewards = dict.fromkeys(self.rewards, 0.0)


def _after_reset(name: str) -> property:
    def get(self: "CheckedEnv") -> Any:
        if not self._has_reset:
            raise AttributeError(f"{name} cannot be accessed before reset")
        return getattr(self.env, name)

    return property(get)


class CheckedEnv(OrderEnforcingWrapper):
    """The conventions of PettingZoo's classic games around a `CardGameEnv`, in one layer.

    Does what TerminateIllegalWrapper, AssertOutOfBoundsWrapper and OrderEnforcingWrapper do: an illegal action ends the
    game with -1 for the offender and 0 for the others, one outside the action space is an AssertionError, and nothing
    works before `reset`. Unlike them it asks the rules, not the mask that was handed out last,
    and it costs a third of the time.
    """

    agents = _after_reset("agents")
    agent_selection = _after_reset("agent_selection")
    rewards = _after_reset("rewards")
    terminations = _after_reset("terminations")
    truncations = _after_reset("truncations")
    infos = _after_reset("infos")
    num_agents = _after_reset("num_agents")
    _cumulative_rewards = _after_reset("_cumulative_rewards")

    def __init__(self, env: CardGameEnv) -> None:
        super().__init__(env)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """See `CardGameEnv.reset`."""
        self.env.reset(seed=seed, options=options)
        self._has_reset = self._has_updated = True

    def step(self, action: Any) -> None:
        """Carry out an action of the agent to move; an illegal one ends the game and costs its agent 1."""
        if not self._has_reset:
            EnvLogger.error_step_before_reset()
        self._has_updated = True
        env = self.env
        if not env.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        agent = env.agent_selection
        if not (env.terminations[agent] or env.truncations[agent]):
            if env.is_legal(action):
                env.step(action)
                return
            assert env.action_space(agent).contains(action), "action is not in action space"
            EnvLogger.warn_on_illegal_move()
            env.forfeit(action)
            return
        assert action is None, "action is not in action space"
        env.step(None)

    def last(self, observe: bool = True) -> tuple[dict[str, np.ndarray] | None, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its own last turn, terminated, truncated and info of the agent to move."""
        if not self._has_reset:
            EnvLogger.error_observe_before_reset()
        return self.env.last(observe)

    def __str__(self) -> str:
        return str(self.env)
