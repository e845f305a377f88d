"""The games for OpenSpiel: importing this module registers `mandala_v0` and `flowers_v0` with `pyspiel.load_game`.

Chance is sampled: an action that draws cards leads to a chance node with one outcome, and what is drawn is decided
there, from random numbers of the game object. So clones of a state have different futures, and a search cannot look
into the deck; by `resample_from_infostate` it cannot look into a rival's hand.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    import pyspiel
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error}: pip install 'mandala-env[openspiel]'", name=error.name) from None

from mandala_env.core.game import Game
from mandala_env.opponents.base import Opponent
from mandala_env.registry import list_games, load_game

DEAL = -1  # the pending "action" of a game that has not been dealt
DECISIONS_PER_TURN = 8  # at most: a play, and a claim or pick for each colour or tile of what it completed
PLAIN = (bool, int, float, str)  # what a parameter of OpenSpiel can be


class _Table:
    """What all states of a game share: the rules, and where chance comes from; a deep copy is the same one."""

    def __init__(self, game: Game, seed: int | None) -> None:
        self.game = game
        self.rng = np.random.default_rng(seed)

    def seed(self) -> int:
        return int(self.rng.integers(2**63))

    def __deepcopy__(self, memo: Any) -> "_Table":
        return self


class CardGameState(pyspiel.State):
    """One game in play.

    Player p of OpenSpiel has seat (p - shift) % P of the record: a resampled state has its viewer on seat 0.
    """

    def __init__(self, game: "CardGame") -> None:
        super().__init__(game)
        self._table = game.table
        self._states = np.asarray(game.table.game.blank_states(1))
        self._pending: int | None = DEAL
        self._shift = 0

    @property
    def state(self) -> Any:
        """The record of the game, not a copy: to look at."""
        return self._states.view(np.recarray)[0]

    def observation_counts(self, player: int) -> np.ndarray:
        """What a player knows, int8 (F,) as a Batch gives it; zeros before the deal."""
        game = self._table.game
        if self._pending == DEAL:
            return np.zeros(game.layout.size, np.int8)
        return game.observe(self.state, (player - self._shift) % game.num_players)

    def action_mask(self) -> np.ndarray:
        """What the player to decide may do, bool (A,)."""
        return self._table.game.action_mask(self.state)

    def resample_from_infostate(self, player: int, sampler: Any) -> "CardGameState":
        """A possible state as a player knows it: what is hidden from the player is dealt anew, with `sampler()`."""
        other = self.clone()
        if self._pending != DEAL:
            imagined = self._table.game.imagine(self.observation_counts(player), int(sampler() * 2**53))
            other._states[0] = imagined
            other._shift = player
        return other

    # --- what OpenSpiel asks for --------------------------------------------------------------------------------

    def current_player(self) -> int:
        """Who decides; chance if an action that draws is to be carried out."""
        if self._pending is not None:
            return pyspiel.PlayerId.CHANCE
        game = self._table.game
        if game.is_over(self.state):
            return pyspiel.PlayerId.TERMINAL
        return (game.player(self.state) + self._shift) % game.num_players

    def is_terminal(self) -> bool:
        """Has the game ended?"""
        return self._pending is None and self._table.game.is_over(self.state)

    def _legal_actions(self, player: int) -> list[int]:
        return self._table.game.legal_actions(self.state)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """One outcome, which is sampled when it is applied."""
        return [(0, 1.0)]

    def _apply_action(self, action: int) -> None:
        game, pending = self._table.game, self._pending
        if pending is None:
            after = game.copy(self.state)
            game.apply(after, action)
            if after.generator == self.state.generator:  # nothing was drawn
                self._states[0] = after
            else:
                self._pending = action
            return
        if pending == DEAL:
            self._states[0] = game.deal(self._table.seed())
        else:
            self._states["generator"] = self._table.seed()
            game.apply(self.state, pending)
        self._pending = None

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return "deal" if self._pending == DEAL else "draw"
        return self._table.game.actions.text(action)

    def returns(self) -> list[float]:
        """Every player's result; all 0 while the game goes on. The winners share 1 and the losers -1."""
        game = self._table.game
        if not self.is_terminal():
            return [0.0] * game.num_players
        # Again as float64, because OpenSpiel wants them to add up to 0.
        signs = np.roll(np.sign(game.payoffs(self.state)), self._shift)
        shares = np.array([(signs < 0).sum(), 1, (signs > 0).sum()])[signs.astype(int) + 1]
        return (signs / shares).tolist()

    def __str__(self) -> str:
        if self._pending == DEAL:
            return "not dealt"
        picture = self._table.game.render(self.state)
        return picture if self._pending is None else f"{picture}\nnext: {self._table.game.actions.text(self._pending)}"


class CardGameObserver:
    """What a player knows, scaled to [0, 1], with a named view for each block of `game.layout`.

    Nothing that a player with perfect memory could know is missing, so it serves as the information state, too.
    """

    def __init__(self, game: Game, kind: Any, params: Any) -> None:
        if params:
            raise ValueError(f"observers take no parameters, not {params}")
        if not kind.public_info or kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise ValueError("there is one observation: the public information with the player's own private one")
        self.game = game
        self.tensor = np.zeros(game.layout.size, np.float32)
        self.dict = {block.name: game.layout.get(self.tensor, block.name).reshape(-1) for block in game.layout}
        for block in game.layout:
            if block.shape:
                self.dict[block.name] = self.dict[block.name].reshape(block.shape)

    def set_from(self, state: CardGameState, player: int) -> None:
        """Write what a player knows."""
        self.tensor[:] = self.game.layout.unit(state.observation_counts(player))

    def string_from(self, state: CardGameState, player: int) -> str:
        """The same as text, one whole number for each number of the observation."""
        return f"player {player}: {' '.join(map(str, state.observation_counts(player)))}"


class CardGame(pyspiel.Game):
    """A card game with its options; a subclass names it."""

    game_type: Any

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        params = params or {}
        options = {name: value for name, value in params.items() if name != "rng_seed"}
        seed = params.get("rng_seed", -1)
        game = load_game(self.game_type.short_name, **options)
        self.table = _Table(game, None if seed < 0 else seed)
        self.longest = DECISIONS_PER_TURN * (game.options["max_turns"] + 2)
        info = pyspiel.GameInfo(
            num_distinct_actions=len(game.actions),
            max_chance_outcomes=1,
            num_players=game.num_players,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=self.longest,
        )
        super().__init__(self.game_type, info, params)

    def new_initial_state(self) -> CardGameState:
        """A game to be dealt."""
        return CardGameState(self)

    def max_chance_nodes_in_history(self) -> int:
        """At most one for the deal and for each decision."""
        return self.longest + 1

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> CardGameObserver:
        """See `CardGameObserver`."""
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        return CardGameObserver(self.table.game, kind, params)


class OpponentBot(pyspiel.Bot):
    """One of our opponents as a bot of OpenSpiel; it is asked with what the player to decide sees."""

    def __init__(self, opponent: Opponent) -> None:
        super().__init__()
        self.opponent = opponent

    def restart(self) -> None:
        """It keeps no memory."""

    def restart_at(self, state: CardGameState) -> None:
        """It keeps no memory."""

    def step(self, state: CardGameState) -> int:
        """Its action for the player to decide."""
        observation, mask = state.observation_counts(state.current_player()), state.action_mask()
        return int(self.opponent.act(observation[None], mask[None])[0])


def alpha_rank(scores: Sequence[Sequence[float | None]], num_players: int = 2, **options: Any) -> np.ndarray:
    """How much of the time a population of players spends with each in the long run, (K,), by OpenSpiel's alpha-rank.

    Omidshafiei et al. 2019. A player is strong if what beats it is beaten in turn, however large the cycles are.

    scores       (K, K) nested, `Ladder.scores`: the row's share of the win against copies of the column; the diagonal
                 may be None, where a player meets itself
    num_players  of the game: a player that meets itself has 1 / num_players of the win
    options      of `open_spiel.python.egt.alpharank.compute`, such as m, the population's size, and alpha
    """
    from open_spiel.python.egt import alpharank

    table = np.array([[np.nan if score is None else score for score in row] for row in scores], float)
    if table.ndim != 2 or len(table) != table.shape[1] or len(table) < 2:
        raise ValueError(f"expected the scores of K players against K, K 2 or more, not shape {table.shape}")
    np.fill_diagonal(table, 1 / num_players)
    if not ((table >= 0) & (table <= 1)).all():
        raise ValueError("expected a score from 0 to 1 of every player against every other")
    with np.errstate(over="ignore"):  # of a player that never takes over: 1 / infinity
        masses: np.ndarray = alpharank.compute([table], **options)[2]
    return masses


def _register(game_id: str) -> None:
    game = load_game(game_id)
    options = {name: value for name, value in game.options.items() if isinstance(value, PLAIN)}
    game_type = pyspiel.GameType(
        short_name=game_id,
        long_name=game_id.partition("_")[0].title(),
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        min_num_players=2,
        max_num_players=4 if "num_players" in options else 2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={**options, "rng_seed": -1},
    )
    pyspiel.register_game(game_type, type(game.id, (CardGame,), {"game_type": game_type}))


for _game_id in list_games():
    if _game_id not in pyspiel.registered_names():
        _register(_game_id)
