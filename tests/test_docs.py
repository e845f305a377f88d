"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mandala_env import load_game, load_opponent

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = {
    f"{path.name}-{number}": block
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL))
}


@pytest.mark.parametrize("name", list(BLOCKS))
def test_every_python_block_runs(name: str, tmp_path: Path) -> None:
    for library in re.findall(r"^from (torchrl|tianshou)\b", BLOCKS[name], re.MULTILINE):
        pytest.importorskip(library, reason=f"`make libraries` installs {library}")
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


def test_the_picture_is_what_is_rendered() -> None:
    game = load_game("mandala_v0")
    player, state = load_opponent("heuristic"), game.deal(5)
    for _ in range(25):
        seat = game.player(state)
        game.apply(state, int(player.act(game.observe(state, seat)[None], game.action_mask(state)[None])[0]))
    assert f"```text\n{game.render(state, 0)}\n```" in README
    assert (ROOT / "docs" / "position.svg").read_text(encoding="utf-8") == game.svg(state, 0) + "\n"
    legal = [game.actions.text(action) for action in game.legal_actions(state)]
    for text in ("build 0 black", "grow 1 orange 2", "discard purple 1"):
        assert text in legal and f"`{text}`" in README


def test_the_rule_options_are_those_of_the_games() -> None:
    for game_id, names in {
        "mandala_v0": ("second_exhaustion", "max_turns"),
        "flowers_v0": ("num_players", "tile_values", "two_player_rule", "max_turns"),
    }.items():
        assert set(load_game(game_id).options) == set(names)
        assert all(f"| `{name}` |" in README for name in names)


def versions(path: Path) -> dict[str, str]:
    """What a file of constraints pins."""
    return dict(re.findall(r"^([\w-]+)==(\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_the_table_of_versions_is_what_make_installs() -> None:
    oldest, newest = versions(ROOT / ".ci" / "lowest.txt"), versions(ROOT / "constraints.txt")
    names = "numpy", "gymnasium", "pettingzoo", "stable-baselines3", "sb3-contrib", "open_spiel", "torchrl", "tianshou"
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
        for target in re.findall(r"\]\((?!http)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_commands_of_the_readme_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"^make (\w+)", README, re.MULTILINE)) <= targets
    for preset in re.findall(r"configs/\S+?\.yaml", README):
        assert (ROOT / preset).is_file()
