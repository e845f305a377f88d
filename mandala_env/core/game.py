"""What a game is to everyone else: a record of constants, compiled rules and codecs, and how to use it on one state."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from mandala_env.core import dispatch
from mandala_env.core.actions import ActionTable, empty_sets, is_allowed, write_mask
from mandala_env.core.dispatch import Rules, register_rules
from mandala_env.core.jit import kernel
from mandala_env.core.layout import Layout
from mandala_env.core.rng import spread_seeds
from mandala_env.registry import load_game, load_picture, resolve
from mandala_env.words import shown

State = Any  # one np.record of the game's dtype


class IllegalAction(ValueError):
    """An action that the rules do not allow now; nothing was changed."""


@dataclass(frozen=True, eq=False)
class Game:
    """One card game with its options fixed.

    id            the registry name, such as "mandala_v0"
    num_players   P
    dtype         the state record; nothing of a game lives outside it
    axes          for each array field of the record, what its axes count ("player", "mandala", "colour")
    layout        what each number of an observation is
    actions       what each action id is
    colours       the colour names in the order of every colour axis
    colour_classes  for each colour a number; colours of one class are alike: exchanging them makes no difference
    options       the rule options that this game was made with, as its maker takes them
    fields        the same options as fields of the state
    rules         the compiled functions
    to_position   state -> readable dict
    from_position_into  (game, dict, state): validate the dict and write it into a state
    heuristic     kernel (observations, action_masks, pickers, actions): a scripted player
    """

    id: str
    num_players: int
    dtype: np.dtype
    axes: Mapping[str, tuple[str, ...]]
    layout: Layout
    actions: ActionTable
    colours: tuple[str, ...]
    options: Mapping[str, Any]
    fields: Mapping[str, Any]
    rules: Rules
    to_position: Callable[["Game", State], dict]
    from_position_into: Callable[["Game", dict, State], None]
    heuristic: Callable[..., None]
    colour_classes: tuple[int, ...] = (0, 0, 0, 0, 0, 0)

    def __post_init__(self) -> None:
        register_rules(self.dtype, self.rules)

    def __reduce__(self) -> tuple:
        return partial(load_game, self.id, **self.options), ()

    # --- states -----------------------------------------------------------------------------------------------

    def blank_states(self, count: int) -> np.recarray:
        """States that hold the options and nothing else."""
        states = np.zeros(count, self.dtype).view(np.recarray)
        for name, value in self.fields.items():
            states[name] = value
        return cast(np.recarray, states)

    def deal(self, seed: int | None = None) -> State:
        """A new game; the same seed gives the same game, and game 0 of a batch with that seed."""
        state = self.blank_states(1)[0]
        state.generator = spread_seeds(seed, 1)[0]
        _deal(state)
        return state

    def copy(self, state: State) -> State:
        """A state of its own, with the same future draws."""
        states = np.zeros(1, self.dtype).view(np.recarray)  # zeros: the bytes between the fields are compared, too
        states[0] = state
        return states[0]

    # --- play -------------------------------------------------------------------------------------------------

    def player(self, state: State) -> int:
        """The seat that decides next; in a game that is over, the seat that acted last."""
        return int(state.player)

    def action_mask(self, state: State) -> np.ndarray:
        """Which actions the player to decide may take, bool of shape (A,); all False when the game is over."""
        mask = np.zeros(len(self.actions), bool)
        _write_mask(state, empty_sets(1, len(self.actions)), mask)
        return mask

    def legal_actions(self, state: State) -> list[int]:
        """The ids of the legal actions, in rising order; empty when the game is over."""
        return np.flatnonzero(self.action_mask(state)).tolist()

    def apply(self, state: State, action: int) -> None:
        """Carry out an action in place; raises IllegalAction, and changes nothing, if the rules do not allow it."""
        if not _apply_if_legal(state, empty_sets(1, len(self.actions)), self.check_id(action)):
            raise self.illegal(state, action)

    def check_id(self, action: Any) -> int:
        """The action as an id that the tables have, or -1."""
        if isinstance(action, (int, np.integer)) and 0 <= action < len(self.actions):
            return int(action)
        return -1

    def illegal(self, state: State, action: Any, where: str = "") -> IllegalAction:
        """The error for an action that is not legal in a state; it names the legal ones."""
        known = self.check_id(action) >= 0
        what = f"action {action} ({self.actions.text(int(action))!r})" if known else f"action {action!r}"
        if self.is_over(state):
            return IllegalAction(f"{self.id}{where}: {what} comes after the end of the game")
        legal = ", ".join(f"{i} {self.actions.text(i)!r}" for i in self.legal_actions(state))
        return IllegalAction(f"{self.id}{where}: {what} is not legal for player {state.player}; legal are: {legal}")

    def is_over(self, state: State) -> bool:
        """Has the game ended?"""
        return bool(_is_over(state))

    def scores(self, state: State) -> tuple[int, ...]:
        """Every player's points as the cards lie now."""
        points = np.zeros(self.num_players, np.int32)
        _score(state, points)
        return tuple(points.tolist())

    def payoffs(self, state: State) -> tuple[float, ...]:
        """Every player's result as the cards lie now; winners share +1, losers -1, all 0 when everybody shares."""
        out = np.zeros(self.num_players, np.float32)
        _payoff(state, out)
        return tuple(out.tolist())

    # --- what a player sees -----------------------------------------------------------------------------------

    def observe(self, state: State, player: int) -> np.ndarray:
        """All that a player knows, int8 of shape (F,), see `layout`."""
        self.check_seat(player)
        obs = np.zeros(self.layout.size, np.int8)
        _encode(state, player, obs)
        return obs

    def imagine(self, obs: np.ndarray, seed: int | None = None) -> State:
        """A possible state behind an observation; its viewer is player 0 and the hidden cards are dealt by the seed."""
        obs = np.asarray(obs)
        if obs.shape != (self.layout.size,) or obs.dtype != np.int8:
            raise ValueError(f"expected an int8 observation of shape {(self.layout.size,)}, not {obs.dtype}{obs.shape}")
        state = self.blank_states(1)[0]
        state.generator = spread_seeds(seed, 1)[0]
        _imagine(np.ascontiguousarray(obs), state)
        return state

    def check_seat(self, player: Any) -> None:
        """Raise ValueError unless this is a seat of the game."""
        if not isinstance(player, (int, np.integer)) or not 0 <= player < self.num_players:
            raise ValueError(f"player must be a seat from 0 to {self.num_players - 1}, not {shown(player)}")

    # --- for people -------------------------------------------------------------------------------------------

    def position(self, state: State) -> dict:
        """The state as a plain dict that JSON can hold; the generator is not part of it."""
        return self.to_position(self, state)

    def from_position(self, position: dict, seed: int | None = None) -> State:
        """The state that a dict describes; raises ValueError that names what is wrong with it."""
        state = self.blank_states(1)[0]
        self.from_position_into(self, position, state)
        state.generator = spread_seeds(seed, 1)[0]
        return state

    def seen(self, state: State, viewer: int | None = None) -> dict:
        """What a seat may be shown, as a plain dict; hidden cards are only counted in it. Viewer None sees all."""
        if viewer is not None:
            self.check_seat(viewer)
        seen: dict = load_picture(self.id).seen(self.position(state), self.scores(state), viewer)
        return seen

    def render(self, state: State, viewer: int | None = None) -> str:
        """A picture of the state in text, as one seat sees it, or all of it for viewer None."""
        text: str = load_picture(self.id).text(self.seen(state, viewer))
        return text

    def svg(self, state: State, viewer: int | None = None, **drawing: Any) -> str:
        """The same picture drawn as SVG; how is in `mandala_env.pictures.svg.svg`: names, last move, width."""
        drawn: str = resolve("mandala_env.pictures.svg:svg")(self.seen(state, viewer), **drawing)
        return drawn

    @cached_property
    def fingerprint(self) -> str:
        """Changes when the observation or the actions change, what a network was trained on; not with their wording."""
        blocks = [repr((b.name, b.axes, b.shape, b.highest, b.is_code)) for b in self.layout]
        text = "\n".join([*blocks, *self.actions.texts])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@kernel
def _deal(state: Any) -> None:
    dispatch.deal(state)


@kernel
def _write_mask(state: Any, sets: Any, mask: Any) -> None:
    dispatch.legal(state, sets[0].row)
    write_mask(sets[0].row, mask)


@kernel
def _apply_if_legal(state: Any, sets: Any, action: int) -> bool:
    words = sets[0].row
    dispatch.legal(state, words)
    if action < 0 or not is_allowed(words, action):
        return False
    dispatch.apply(state, action)
    return True


@kernel
def _is_over(state: Any) -> bool:
    return dispatch.is_over(state)


@kernel
def _score(state: Any, points: Any) -> None:
    dispatch.score(state, points)


@kernel
def _payoff(state: Any, out: Any) -> None:
    dispatch.payoff(state, out)


@kernel
def _encode(state: Any, player: int, obs: Any) -> None:
    dispatch.encode(state, player, obs)


@kernel
def _imagine(obs: Any, state: Any) -> None:
    dispatch.imagine(obs, state)
