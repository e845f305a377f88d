"""What the README shows is what happens."""

import re
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from mandala_env import load_game, load_opponent
from mandala_env.core.game import Game, State
from mandala_env.policies.network import NetworkConfig
from training.config import EvaluationConfig, LeagueConfig, PPOConfig, TrainConfig

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = {
    f"{path.name}-{number}": block
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL))
}


@pytest.mark.parametrize("name", list(BLOCKS))
def test_every_python_block_runs(name: str, tmp_path: Path) -> None:
    libraries = r"^(?:from|import) (?:mandala_env\.adapters\.)?(torchrl|tianshou|ray\.rllib|ray)\b"
    for library in re.findall(libraries, BLOCKS[name], re.MULTILINE):
        make = "rllib" if library == "ray.rllib" else "libraries"
        pytest.importorskip(library, reason=f"`make {make}` installs {library}", exc_type=ImportError)
    code = BLOCKS[name].replace('"checkpoints/', f'"{ROOT}/checkpoints/')
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "a block shows something"


def shown_position(game: Game) -> State:
    """The position of the pictures: after 25 moves of heuristics."""
    player, state = load_opponent("heuristic", game), game.deal(5)
    for _ in range(25):
        seat = game.player(state)
        game.apply(state, int(player.act(game.observe(state, seat)[None], game.action_mask(state)[None])[0]))
    return state


def test_the_pictures_are_what_is_rendered() -> None:
    game = load_game("mandala_v0")
    state = shown_position(game)
    assert f"```text\n{game.render(state, 0)}\n```" in README
    legal = [game.actions.text(action) for action in game.legal_actions(state)]
    for text in ("build 0 black", "grow 1 orange 2", "discard purple 1"):
        assert text in legal and f"`{text}`" in README
    for name, shown in (("position", game), ("flowers", load_game("flowers_v0", num_players=3))):
        assert (ROOT / "docs" / f"{name}.svg").read_text(encoding="utf-8") == shown.svg(shown_position(shown), 0) + "\n"


@pytest.mark.parametrize("game_id", ["mandala_v0", "flowers_v0"])
def test_the_page_of_a_game_has_its_tables_spaces_and_options(game_id: str) -> None:
    game = load_game(game_id)
    page = (ROOT / "docs" / f"{game_id.partition('_')[0]}.md").read_text(encoding="utf-8")
    assert game.layout.table() in page and game.actions.table() in page, "`mandala docs` prints them"
    assert f"`Discrete({len(game.actions)})`" in page and f"Box(0, 1, ({game.layout.size},), float32)" in page
    assert re.findall(r"^\| `(\w+)` \| (?:\d+|`.*?`) \| ", page.partition("## Actions")[0], re.MULTILINE) == [
        *game.options
    ]


def test_the_page_of_training_has_every_number_of_a_config() -> None:
    rows = []
    for prefix, config in (
        ("", TrainConfig()),
        ("network.", NetworkConfig()),
        ("ppo.", PPOConfig()),
        ("league.", LeagueConfig()),
        ("evaluation.", EvaluationConfig()),
    ):
        text = re.sub(r"\n {6,}", " ", config.__doc__ or "")  # a meaning may take several lines
        meanings = dict(re.findall(r"^    (\w+(?:, \w+)*) +(\S.*)$", text, re.MULTILINE))
        assert {name for names in meanings for name in names.split(", ")} >= {
            field.name for field in fields(config) if not is_dataclass(getattr(config, field.name))
        }
        for names, meaning in meanings.items():
            values = [getattr(config, name) for name in names.split(", ")]
            shown = (", ".join(f"`{prefix}{name}`" for name in names.split(", ")), ", ".join(map(str, values)))
            rows.append(f"| {shown[0]} | {shown[1]} | {meaning} |")
    table = "\n".join(["| field | default | meaning |", "|---|---|---|", *rows])
    assert table in (ROOT / "docs" / "training.md").read_text(encoding="utf-8"), table


def versions(path: Path) -> dict[str, str]:
    """What a file of constraints pins."""
    return dict(re.findall(r"^([\w-]+)==(\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_the_table_of_versions_is_what_make_installs() -> None:
    oldest, newest = versions(ROOT / ".ci" / "lowest.txt"), versions(ROOT / "constraints.txt")
    names = (
        "numpy",
        "gymnasium",
        "pettingzoo",
        "stable-baselines3",
        "sb3-contrib",
        "open_spiel",
        "torchrl",
        "tianshou",
        "ray",
    )
    rows = [f"| {name} | {oldest.get(name, '')} | {newest[name]} |" for name in names]
    table = "\n".join(["| library | oldest | newest |", "|---|---|---|", *rows])
    assert table in (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8"), table


def test_the_oldest_versions_are_those_that_are_allowed() -> None:
    allowed = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in ("numpy", "gymnasium", "pettingzoo", "stable-baselines3", "sb3-contrib"):
        lowest = re.search(rf'"{name}>=([\d.]+)', allowed)
        assert lowest and versions(ROOT / ".ci" / "lowest.txt")[name].startswith(f"{lowest[1]}.")


def test_links_lead_to_files() -> None:
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        prose = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\((?!http)([^)#]+)", prose):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_commands_of_the_readme_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"^make (\w+)", README, re.MULTILINE)) <= targets
    for preset in re.findall(r"configs/\S+?\.yaml", README):
        assert (ROOT / preset).is_file()
