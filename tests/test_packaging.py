"""What is installed, and what is shipped with it."""

import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from mandala_env import __version__, evaluate, list_games, load_game, load_opponent
from mandala_env.opponents.champion import champion_folder
from mandala_env.registry import list_variants

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
    package = ROOT / "mandala_env"
    is_checkpoint = {path: path.relative_to(package).parts[0] == "checkpoints" for path in shipped | there}
    assert {path for path in there if path.suffix != ".py" and not is_checkpoint[path]} == {
        path for path in shipped if not is_checkpoint[path]
    }


@pytest.mark.parametrize("folder", CHECKPOINTS, ids=lambda folder: "-".join(folder.parts[-2:]))
def test_a_shipped_checkpoint_plays_and_beats_random(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["game"] == folder.parent.name and config["game"] in list_games()
    game = load_game(config["game"], **config["options"])
    player = load_opponent(f"checkpoint:{folder}", game)
    (match,) = evaluate(player, "random", game=game, games=30 * game.num_players)
    assert match.interval[0] > 1 / game.num_players + 0.2
    assert sum(path.stat().st_size for path in folder.iterdir()) < 5_000_000


@pytest.mark.parametrize(
    ("game_id", "options"), [(game, form) for game in list_games() for form in list_variants(game)]
)
def test_every_form_of_every_game_has_a_champion_that_is_shipped(game_id: str, options: dict) -> None:
    folder = champion_folder(load_game(game_id, **options))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["mandala_env"]
    for file in folder.iterdir():
        name = file.relative_to(ROOT / "mandala_env").as_posix()
        assert any(Path(name).match(pattern) for pattern in patterns), name


@pytest.mark.slow
def test_a_wheel_holds_the_package_with_its_champions_and_no_tests(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "mandala_env/py.typed" in names and "training/train.py" in names
    assert "mandala_env/checkpoints/mandala_v0/champion/model.safetensors" in names
    assert not [name for name in names if name.startswith(("tests/", "configs/", "checkpoints/"))]


def test_there_is_a_shipped_checkpoint_of_mandala() -> None:
    assert ROOT / "checkpoints" / "mandala_v0" / "small" in CHECKPOINTS
