"""What compiled functions are called must not depend on the process that compiled them."""

import subprocess
import sys

import numba

from mandala_env import list_games, load_game
from mandala_env.registry import list_variants

NAMES = """
import numba
from mandala_env import list_games, load_game
from mandala_env.registry import list_variants
for game_id in reversed(list_games()):
    for options in reversed(list_variants(game_id)):
        print(numba.from_dtype(load_game(game_id, **options).dtype).mangling_args[1][0])
"""


def test_every_state_has_a_name_of_its_own_and_the_same_in_every_process() -> None:
    games = [load_game(game_id, **options) for game_id in list_games() for options in list_variants(game_id)]
    names = [numba.from_dtype(game.dtype).mangling_args[1][0] for game in games]
    assert len(set(names)) == len(names) == 4
    done = subprocess.run([sys.executable, "-c", NAMES], capture_output=True, text=True, check=True)
    assert done.stdout.split() == names[::-1]
