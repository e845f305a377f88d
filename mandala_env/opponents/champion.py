"""The strongest player that is shipped for a game."""

from pathlib import Path
from typing import Any

from mandala_env.core.game import Game
from mandala_env.opponents.checkpoint import CheckpointOpponent


class ChampionOpponent(CheckpointOpponent):
    """Plays the game's champion; `load_opponent("champion", game)` or `"champion:temperature=1"`."""

    def __init__(self, game: Game, seed: int | None, temperature: Any = 0.0, threads: int | str = 1) -> None:
        super().__init__(game, seed, champion_folder(game), temperature, threads)


def champion_folder(game: Game) -> Path:
    """The checkpoint of a game's champion: `champion`, or `champion-3p` where each number of players has its own."""
    # In an installed package the checkpoints lie inside it; in a checkout beside it.
    package = Path(__file__).resolve().parent.parent
    for parent in (package, package.parent):
        for name in (f"champion-{game.num_players}p", "champion"):
            folder = parent / "checkpoints" / game.id / name
            if folder.is_dir():
                return folder
    raise ValueError(f"there is no champion of {game.id} for {game.num_players} players")
