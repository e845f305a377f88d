"""A server in this process, and a browser if this machine has one."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mandala_env import load_game
from mandala_env.policies.checkpoint import save_checkpoint
from tests.sampling import make_network
from tests.threads import one_thread  # noqa: F401


@pytest.fixture(scope="session")
def players(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Folders of checkpoints: one of Mandala, one of Flowers for two."""
    folders = []
    for game_id, name in (("mandala_v0", "master"), ("flowers_v0", "gardener")):
        game = load_game(game_id)
        folder = tmp_path_factory.mktemp("players") / name
        save_checkpoint(folder, game, make_network(game), training={}, metrics={}, card="")
        folders.append(str(folder))
    return folders


@pytest.fixture(scope="session")
def app(players: list[str]) -> Any:
    """The server with these players."""
    pytest.importorskip("starlette")
    from mandala_env.web.server import make_app

    return make_app(players)


@pytest.fixture(scope="session")
def address(app: Any) -> Iterator[str]:
    """Where the server listens, for a browser."""
    uvicorn = pytest.importorskip("uvicorn")
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)
