"""Who may import whom, what importing the package loads, and that nothing touches the process's random numbers."""

import ast
import importlib.util
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import mandala_env
from mandala_env import list_games, load_game, load_opponent, make_batch
from mandala_env.pettingzoo_ids import MODULES

PACKAGE = Path(mandala_env.__file__).parent
ROOT = PACKAGE.parent

# Part of the package -> the parts that it may import besides itself. `registry` names games and opponents by string and
# imports nothing of ours, so everybody may ask it.
ALLOWED = {
    "words": set(),
    "threads": set(),
    "files": set(),
    "registry": {"words"},
    "core": {"registry", "threads", "words"},
    "games": {"core", "words"},
    "policies": {"core", "files", "registry", "words"},
    "opponents": {"core", "files", "policies", "registry", "threads", "words"},
    "pictures": {"core", "registry"},
    "transcript": {"core", "files", "registry"},
    "arena": {"core", "files", "opponents", "pictures", "registry", "transcript", "words"},
    "adapters": {"core", "opponents", "pictures", "policies", "registry", "transcript"},
    "web": {"core", "opponents", "arena", "pictures", "registry", "transcript"},
    "pettingzoo_ids": {"when_imported"},
    "gymnasium_ids": {"when_imported"},
    "when_imported": set(),
}
FRONT = {"__init__", "__main__", "cli"}  # the doors of the house lead everywhere in it
FOREIGN = {
    "core": {"numpy", "numba", "llvmlite"},  # llvmlite is part of numba
    "games": {"numpy", "numba"},
    "arena": {"numpy"},
    "transcript": {"numpy"},
    "pictures": {"numpy", "pygame", "resvg_py"},  # the last two inside functions only
    "words": set(),
    "threads": set(),
    "files": set(),
    "registry": set(),
    "__init__": set(),
    "pettingzoo_ids": set(),
    "gymnasium_ids": set(),
    "when_imported": set(),
}
HEAVY = ("torch", "stable_baselines3", "sb3_contrib", "pygame", "resvg_py", "numba", "numpy", "gymnasium", "pettingzoo")


def imports_of(path: Path, package: str) -> Iterator[tuple[str, bool]]:
    """The modules that a file imports anywhere, as absolute names, and whether a function does it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(outer)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            name = ".".join([*parts, *([node.module] if node.module else [])])
            yield name, id(node) in inside
            yield from ((f"{name}.{alias.name}", id(node) in inside) for alias in node.names)


def files_of(folder: Path) -> Iterator[tuple[Path, str]]:
    """Python files with the package they are in."""
    for path in sorted(folder.rglob("*.py")):
        yield path, ".".join(path.relative_to(ROOT).parent.parts)


def part_of(name: str) -> str:
    """mandala_env.core.batch -> core; mandala_env -> __init__."""
    return [*name.split("."), "__init__"][1]


def violations(path: Path, package: str) -> list[str]:
    """The imports of a file of mandala_env that the map does not allow."""
    parts = [*path.relative_to(PACKAGE).with_suffix("").parts]
    me = parts[0]
    allowed = {"adapters"} if f"mandala_env.{me}" in MODULES.values() else ALLOWED.get(me, set())
    found = []
    for name, _ in imports_of(path, package):
        top = name.split(".")[0]
        if top == "training":
            found.append(f"{path.relative_to(ROOT)} imports {name}: nothing imports training")
        if top != "mandala_env" or me in FRONT:
            continue
        part = part_of(name)
        known = part in ALLOWED or (PACKAGE / f"{part}.py").exists() or (PACKAGE / part).is_dir()
        another_game = me == part == "games" and name.split(".")[2:3] not in ([], parts[1:2])
        if another_game or (known and part not in {me, *allowed}):
            found.append(f"{path.relative_to(ROOT)} imports {name}: {me} may import {sorted(allowed)}")
    return found


def test_imports_go_downhill_only() -> None:
    found = [line for path, package in files_of(PACKAGE) for line in violations(path, package)]
    assert found == []


def test_every_part_of_the_package_is_on_the_map() -> None:
    parts = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path, _ in files_of(PACKAGE)}
    modules = {module.partition(".")[2] for module in MODULES.values()}
    assert parts - ALLOWED.keys() - FRONT - modules == set()


@pytest.mark.parametrize(
    ("file", "source", "wrong"),
    [
        ("core/x.py", "from mandala_env.games import mandala", True),
        ("core/x.py", "def f():\n    import mandala_env.opponents.base", True),
        ("core/x.py", "from ..games.mandala import rules", True),
        ("core/x.py", "from .rng import below", False),
        ("games/mandala/x.py", "from mandala_env.games.flowers import rules", True),
        ("games/mandala/x.py", "from mandala_env.games.mandala import rules", False),
        ("games/mandala/x.py", "from mandala_env import opponents", True),
        ("games/mandala/x.py", "from mandala_env.core.rng import below", False),
        ("opponents/x.py", "from mandala_env.policies.network import x", False),
        ("policies/x.py", "from mandala_env.opponents.base import x", True),
        ("arena/x.py", "from mandala_env.games.mandala import rules", True),
        ("web/x.py", "import mandala_env.arena.match", False),
        ("pictures/x.py", "from mandala_env.games.mandala import rules", True),
        ("adapters/x.py", "import mandala_env.arena.match", True),
        ("mandala_v0.py", "import mandala_env.core.game", True),
        ("cli.py", "import training.train", True),
    ],
)
def test_the_import_rules_see_what_is_wrong(
    file: str, source: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("games", "opponents", "policies", "arena", "core"):
        (tmp_path / "mandala_env" / part / "mandala").mkdir(parents=True)
    path = tmp_path / "mandala_env" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path / "mandala_env")
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    assert bool(violations(path, ".".join(path.relative_to(tmp_path).parent.parts))) == wrong


def test_the_rules_need_numpy_and_numba_only() -> None:
    found = []
    for path, package in files_of(PACKAGE):
        me = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if me in FOREIGN:
            tops = {name.split(".")[0] for name, _ in imports_of(path, package)}
            foreign = tops - set(sys.stdlib_module_names) - {"mandala_env"} - FOREIGN[me]
            found += [f"{path.relative_to(ROOT)} imports {name}" for name in sorted(foreign)]
    assert found == []


def loaded_after(source: str) -> set[str]:
    """The top names of the modules that are loaded in a new process after running some source."""
    code = f"import sys\n{source}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert (
        loaded_after("import mandala_env; mandala_env.list_games(); mandala_env.list_opponents()") & {*HEAVY} == set()
    )


def test_playing_with_scripted_opponents_loads_no_torch_and_no_window() -> None:
    source = """
import mandala_env
batch = mandala_env.make_batch("mandala_v0", 2, seed=0)
mandala_env.load_opponent("random").act(batch.observations, batch.action_masks)
mandala_env.mandala_v0.env().reset()
"""
    assert loaded_after(source) & {"torch", "stable_baselines3", "sb3_contrib", "pygame", "resvg_py"} == set()


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [
        ("sb3", "stable_baselines3", "train"),
        ("openspiel", "pyspiel", "openspiel"),
        ("ray", "ray", "ray"),
        ("rllib", "ray", "rllib"),
    ],
)
def test_an_adapter_without_its_library_says_which_extra_brings_it(module: str, missing: str, extra: str) -> None:
    source = f"import sys; sys.modules[{missing!r}] = None; import mandala_env.adapters.{module}"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert f"pip install 'mandala-env[{extra}]'" in done.stderr


def test_the_public_names_are_there_and_others_are_not() -> None:
    for name in mandala_env.__all__:
        assert getattr(mandala_env, name) is not None
        assert name in dir(mandala_env)
    with pytest.raises(AttributeError, match="no attribute 'mandala_v9'"):
        _ = mandala_env.mandala_v9


def play_everything() -> list[bytes]:
    """A little of all that draws random numbers, and what came of it."""
    results = []
    for game_id in list_games():
        batch = make_batch(game_id, 8, seed=5)
        make_batch(game_id, 2)
        for _ in range(20):
            batch.step_random()
        opponents = [
            load_opponent(spec, game=game_id, seed=1) for spec in ("random", "heuristic", "search:simulations=2")
        ]
        for opponent in opponents:
            batch.step(opponent.act(batch.observations, batch.action_masks))
        game = load_game(game_id)
        results += [batch.states.tobytes(), game.imagine(batch.observations[0], 3).tobytes()]
    env = mandala_env.mandala_v0.env()
    env.reset()
    env.reset(seed=5)
    space = env.action_space("player_0")
    space.seed(1)
    for agent in env.agent_iter(60):
        env.step(space.sample(env.observe(agent)["action_mask"]) if not env.terminations[agent] else None)
    return [*results, env.state().tobytes()]


def check_the_random_numbers_of_the_process() -> None:
    """Play twice, from different random numbers of the process: they stay as they are and make no difference."""
    import torch

    outcomes = []
    for seed in (0, 1):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
        before = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
        outcomes.append(play_everything())
        after = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
        assert before[0] == after[0]
        assert np.array_equal(before[1][1], after[1][1]) and before[1][2:] == after[1][2:]
        assert torch.equal(before[2], after[2])
    assert outcomes[0] == outcomes[1]


def test_the_random_numbers_of_the_process_are_neither_moved_nor_read() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    # In a new process, in which the imports have not been made yet: they may not move them, either.
    source = f"from {__name__} import check_the_random_numbers_of_the_process as check; check()"
    subprocess.run([sys.executable, "-c", source], check=True, cwd=Path(__file__).resolve().parents[1])
