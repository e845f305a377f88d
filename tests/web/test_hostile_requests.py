"""Hostile requests beside honest games: they are refused, change nothing, and leave no memory behind."""

import asyncio
import contextlib
import gc
import json
import os
import random
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

import httpx

from mandala_env.transcript import parse_transcript
from mandala_env.web import server
from mandala_env.web.server import LARGEST_BODY, make_app
from mandala_env.web.sessions import Sessions
from tests.damage import break_tree

SETTINGS = [
    ("mandala_v0", ["you", "heuristic"]),
    ("mandala_v0", ["master", "you"]),
    ("flowers_v0", ["random", "you"]),
    ("flowers_v0", ["heuristic", "you", "random"]),
]
REQUESTS = int(os.environ.get("SOAK_REQUESTS", 10_000))  # that are hostile, in the long form
JSON = {"content-type": "application/json"}
TRANSCRIPT = 'mandala transcript 1\ngame: mandala_v0\nseed: 3\nplayers: ["a", "b"]\n1 player_0: build 0 red\n'
REFUSALS = {400, 403, 404, 405, 408, 409, 413, 415, 503}
Sent = list[tuple[str, dict[str, Any]]]


async def play(client: Any, number: int, sent: Sent) -> dict[str, Any]:
    """An honest game to its end; what was sent is kept for those who send it once more."""
    choose, (game_id, seats) = random.Random(number), SETTINGS[number % len(SETTINGS)]
    answer = await client.post("/api/games", json={"game": game_id, "seats": seats})
    assert answer.status_code == 201, answer.text
    view, moves = answer.json(), 0
    while not view["is_over"]:
        assert view["number"] == moves, "somebody else has moved"
        what, body = "advance", {"number": moves}
        if view["is_yours"]:
            what, body = "moves", body | {"action": choose.choice(view["legal"])["text"]}
        answer = await client.post(f"/api/games/{view['id']}/{what}", json=body)
        assert answer.status_code == 200, answer.text
        sent.append((f"/api/games/{view['id']}/{what}", body))
        view, moves = answer.json(), moves + 1
    transcript = parse_transcript((await client.get(f"/api/games/{view['id']}/transcript")).text)
    assert transcript.game.id == game_id and len(transcript.actions) == moves
    *_, last = transcript.moments()
    assert tuple(view["result"]["scores"]) == transcript.game.scores(last.state)
    return view


async def attack(client: Any, rng: np.random.Generator, sent: Sent) -> None:
    """One hostile request, which is refused with a word, or does no harm."""
    path, arguments = hostile(rng, sent)
    start = time.perf_counter()
    answer = await client.request(arguments.pop("method", "POST"), path, **arguments)
    assert answer.status_code in (200, 201) or answer.status_code in REFUSALS, (path, arguments, answer.text)
    if answer.status_code in REFUSALS:
        assert list(answer.json()) == ["error"] and len(answer.text) < 3000
    assert time.perf_counter() - start < 60


def hostile(rng: np.random.Generator, sent: Sent) -> tuple[str, dict[str, Any]]:
    """A path, and what else is asked."""
    path, body = sent[int(rng.integers(len(sent)))] if sent else ("/api/games/x/moves", {"number": 0, "action": "x"})
    kind = int(rng.integers(10))
    if kind == 0:  # once more
        return path, {"json": body}
    if kind == 1:  # out of turn
        return path, {"json": body | {"number": int(rng.choice([-1, 10**6, 2**62]))}}
    if kind == 2:  # another's session, by guessing
        return f"/api/games/{'%2e%2e/' if rng.random() < 0.2 else rng.bytes(8).hex()}/moves", {"json": body}
    if kind == 3:
        return path, {"content": b" " * (LARGEST_BODY + 1), "headers": JSON}
    if kind == 4:
        return path, {"content": rng.bytes(50), "headers": JSON if rng.random() < 0.8 else {}}
    if kind == 5:
        return path, {"content": b"[" * int(rng.choice([100, 990, 10**5])), "headers": JSON}
    if kind == 6:
        return path, {"json": body, "headers": {"host": "evil.example", "origin": "http://evil.example"}}
    if kind == 7:
        method = str(rng.choice(["PUT", "DELETE", "PATCH", "OPTIONS", "GET", "HEAD"]))
        return "/api/games", {"method": method} if method != "HEAD" else {"method": "TRACE"}
    good: Any = [body, {"game": "mandala_v0", "seats": ["you", "random"]}, {"transcript": TRANSCRIPT, "viewer": 0}]
    number = int(rng.integers(3))
    broken = json.dumps(break_tree(good[number], rng))
    return ["/api/games/x/moves" if not sent else path, "/api/games", "/api/replays"][number], {
        "content": broken, "headers": JSON,
    }  # fmt: skip


async def besiege(app: Any, games: int, requests: int, attackers: int = 8) -> None:
    """Honest games and hostile requests side by side."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=300) as client:
        sent: Sent = []

        async def attack_often(seed: int) -> None:
            rng = np.random.default_rng(seed)
            for _ in range(requests // attackers):
                await attack(client, rng, sent)

        honest = [play(client, number, sent) for number in range(games)]
        await asyncio.gather(*honest, *(attack_often(seed) for seed in range(attackers)))


def resident() -> int:
    """The memory of this process in bytes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_hostile_requests_are_refused_while_honest_games_end_correctly(players: list[str]) -> None:
    sessions = Sessions(most=60)
    asyncio.run(besiege(make_app(players, sessions=sessions), games=4, requests=400))
    assert len(sessions) <= 60


def test_a_body_that_comes_too_slowly_is_refused(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LONGEST_SECONDS", 0.05)

    async def drip() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" "
            await asyncio.sleep(0.02)

    async def ask() -> Any:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            return await client.post("/api/games", content=drip(), headers=JSON)

    answer = asyncio.run(ask())
    assert answer.status_code == 408 and "did not come within" in answer.json()["error"]


@pytest.mark.parametrize(("name", "status"), [("\ud800", 400), ("\x00", 400), ("\u202e", 400), ("</script>", 200)])
def test_a_replay_shows_any_name_that_can_be_shown(app: Any, name: str, status: int) -> None:
    text = TRANSCRIPT.replace('"a"', json.dumps(name))

    async def ask() -> Any:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            return await client.post("/api/replays", json={"transcript": text})

    answer = asyncio.run(ask())
    assert answer.status_code == status
    assert "players: expected" in answer.json()["error"] if status == 400 else len(answer.json()["frames"]) == 2


def test_a_long_replay_keeps_nobody_waiting(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    end = threading.Event()
    monkeypatch.setattr(server, "replay_data", lambda *_: {} if end.wait(60) else {"error": "waited in vain"})

    async def ask() -> list[int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            replays = [
                asyncio.create_task(client.post("/api/replays", json={"transcript": TRANSCRIPT})) for _ in range(12)
            ]
            await play(client, 1, [])
            end.set()
            return sorted([(await replay).status_code for replay in replays])

    assert asyncio.run(ask()) == [200] * 8 + [503] * 4


# --- the long form ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_10_000_hostile_requests_and_50_honest_games(players: list[str]) -> None:
    sessions = Sessions(most=100)
    app = make_app(players, sessions=sessions)
    asyncio.run(besiege(app, games=4, requests=200))
    before = resident()
    asyncio.run(besiege(app, games=max(1, REQUESTS // 200), requests=REQUESTS))
    assert len(sessions) <= 100
    print(f"{(resident() - before) / 2**20:.0f} MB more for {REQUESTS} requests")
    assert resident() - before < 50 * 2**20


@pytest.mark.slow
def test_memory_is_flat_over_an_hours_worth_of_games(players: list[str]) -> None:
    """600 games: 50 people who need five minutes for each."""
    now = [0.0]
    app = make_app(players, sessions=Sessions(clock=lambda: now[0]))
    sizes = []
    for _ in range(12):
        asyncio.run(besiege(app, games=50, requests=200))
        now[0] += 2.5 * 60 * 60  # nobody comes back to these
        sizes.append(resident() / 2**20)
    print([round(size) for size in sizes])
    assert max(sizes[6:]) < max(sizes[:6]) + 15, sizes


@pytest.fixture
def address(players: list[str]) -> Iterator[tuple[str, int]]:
    """A server of its own that listens."""
    uvicorn = pytest.importorskip("uvicorn")
    running = uvicorn.Server(uvicorn.Config(make_app(players), host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.02)
    yield running.servers[0].sockets[0].getsockname()
    running.should_exit = True
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.slow
def test_slow_and_broken_connections_keep_nobody_from_playing(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "LONGEST_SECONDS", 3.0)
    head = b"POST /api/games HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n" % address[1]
    starts = [
        b"GET / HT", b"\x16\x03\x01 no HTTP", head, head + b"Content-Length: 100\r\n\r\n{", b"G" * 10**5,
        head + b"Content-Length: -1\r\n\r\n", head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{",
        head + b"Content-Length: 10\r\nContent-Length: 20\r\n\r\n{}", head + b"X: " + b"y" * 10**6 + b"\r\n\r\n",
    ]  # fmt: skip
    slow = []
    for number in range(180):
        slow.append(socket.create_connection(address, timeout=10))
        with contextlib.suppress(OSError):  # a peer may hang up on nonsense
            slow[-1].sendall(starts[number % len(starts)])

    async def games() -> None:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{address[1]}", timeout=60) as client:
            sent: Sent = []
            await asyncio.gather(*(play(client, number, sent) for number in range(20)))

    asyncio.run(games())
    time.sleep(3.5)
    answered = 0
    for connection in slow[3 :: len(starts)]:  # a body that never came
        answered += b"408" in connection.recv(200)
    assert answered == len(slow[3 :: len(starts)])
    for connection in slow:
        connection.close()


def test_the_attacks_would_be_noticed(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that lets anybody move at any time fails these tests."""
    from mandala_env.web.sessions import Session

    monkeypatch.setattr(Session, "check_number", lambda self, number: None)
    with pytest.raises(AssertionError):
        asyncio.run(besiege(app, games=4, requests=400))
