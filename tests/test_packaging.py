"""What is installed, and what is shipped with it."""

import json
import tomllib
from pathlib import Path

import pytest

from mandala_env import __version__, evaluate, list_games, load_game, load_opponent

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS = sorted(path.parent for path in ROOT.glob("checkpoints/*/*/config.json"))


def test_the_version_is_the_projects() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"] == __version__


def test_the_types_are_announced() -> None:
    assert (ROOT / "mandala_env" / "py.typed").is_file()


def test_every_file_of_the_package_is_shipped() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    data = patterns["tool"]["setuptools"]["package-data"]["mandala_env"]
    shipped = {path for pattern in data for path in (ROOT / "mandala_env").glob(pattern)}
    there = {path for path in (ROOT / "mandala_env").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path for path in there if path.suffix != ".py"} == shipped


@pytest.mark.parametrize("folder", CHECKPOINTS, ids=lambda folder: "-".join(folder.parts[-2:]))
def test_a_shipped_checkpoint_plays_and_beats_random(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["game"] == folder.parent.name and config["game"] in list_games()
    game = load_game(config["game"], **config["options"])
    player = load_opponent(f"checkpoint:{folder}", game)
    (match,) = evaluate(player, "random", game=game, games=30 * game.num_players)
    assert match.interval[0] > 1 / game.num_players + 0.2
    assert sum(path.stat().st_size for path in folder.iterdir()) < 5_000_000


def test_data_files_of_the_package_are_announced() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["mandala_env"]
    package = ROOT / "mandala_env"
    announced = {path for pattern in patterns for path in package.glob(pattern)}
    found = {path for path in package.rglob("*.*") if path.suffix != ".py" and "__pycache__" not in path.parts}
    assert found == announced


def test_there_is_a_shipped_checkpoint_of_mandala() -> None:
    assert ROOT / "checkpoints" / "mandala_v0" / "small" in CHECKPOINTS
