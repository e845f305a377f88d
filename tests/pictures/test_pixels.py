"""Pixels need no display and no fonts of the machine; a window is opened when something is shown, not before."""

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from mandala_env import flowers_v0, mandala_v0

pygame = pytest.importorskip("pygame")
pytest.importorskip("resvg_py")

from mandala_env.pictures.raster import MissingExtra, pixels  # noqa: E402

MAKE: dict[str, Any] = {"mandala_v0": mandala_v0.env, "flowers_v0": flowers_v0.env}


@pytest.fixture(params=list(MAKE))
def make(request: pytest.FixtureRequest) -> Any:
    """Makes the environment of each game."""
    return MAKE[request.param]


def play(env: Any, steps: int) -> None:
    """Some legal actions."""
    for _ in range(steps):
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))


def test_an_array_is_the_drawing_of_the_whole_table_and_keeps_its_shape(make: Any) -> None:
    env = make(render_mode="rgb_array")
    env.reset(seed=1)
    first = env.render()
    assert first.dtype == np.uint8 and first.ndim == 3 and first.shape[1:] == (960, 3)
    play(env, 5)
    second = env.render()
    assert second.shape == first.shape and not np.array_equal(first, second)
    assert len(np.unique(second.reshape(-1, 3), axis=0)) > 50
    game, position = env.game, env.unwrapped.position()
    moved = env.unwrapped.transcript().text().splitlines()[-1]
    seat, text = int(moved.split()[1][7]), moved.partition(": ")[2]
    drawing = game.svg(game.from_position(position), names=env.possible_agents, last=(seat, text))
    assert np.array_equal(second, pixels(drawing))
    second[:] = 0
    assert env.render().any()


def test_pixels_need_neither_a_display_nor_fonts() -> None:
    code = """
from mandala_env import mandala_v0
env = mandala_v0.env(render_mode="rgb_array")
env.reset(seed=1)
print(int(env.render().astype(int).sum()))
"""
    bare = {"PATH": "/nonexistent", "HOME": "/nonexistent", "FONTCONFIG_FILE": "/nonexistent"}
    outputs = {
        subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
        for env in (None, {**bare, "PYTHONPATH": ":".join(sys.path)})
    }
    assert len(outputs) == 1


def test_a_window_is_opened_by_the_first_picture_only(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = make(render_mode="human")
    assert not pygame.display.get_init()
    env.close()  # nothing is open, nothing happens
    env.reset(seed=1)
    window = env.unwrapped._window
    assert window.is_open and pygame.display.get_surface().get_width() == 960
    before = pygame.surfarray.array3d(pygame.display.get_surface())
    play(env, 3)
    assert not np.array_equal(before, pygame.surfarray.array3d(pygame.display.get_surface()))
    assert env.render() is None
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert not other.unwrapped._window.is_open
        assert other.unwrapped.position() == env.unwrapped.position()
    env.close()
    assert not window.is_open and not pygame.display.get_init()


def test_other_modes_open_nothing(make: Any) -> None:
    for mode in (None, "ansi", "rgb_array"):
        env = make(render_mode=mode)
        env.reset(seed=1)
        env.render()
        assert not pygame.display.get_init()


@pytest.mark.parametrize("missing", ["pygame", "resvg_py"])
def test_a_missing_package_is_named_with_the_extra(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    from mandala_env.pictures import raster

    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else find_spec(name))
    monkeypatch.setitem(sys.modules, missing, None)
    raster.font_file.cache_clear()
    with pytest.raises(MissingExtra, match=r"mandala-env\[render\]"):
        pixels("<svg/>")
    monkeypatch.undo()
    raster.font_file.cache_clear()
