"""The server: whole games, nothing but the own seat's view, and requests that are refused and change nothing."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from mandala_env import load_game, load_opponent
from mandala_env.transcript import parse_transcript
from mandala_env.web.server import LARGEST_BODY, make_app
from mandala_env.web.sessions import Refused, Session, Sessions

SETTINGS = [
    ("mandala_v0", ["you", "heuristic"]),
    ("mandala_v0", ["master", "you"]),
    ("flowers_v0", ["you", "gardener"]),
    ("flowers_v0", ["heuristic", "you", "random"]),
    ("flowers_v0", ["random", "heuristic", "random", "you"]),
]
JSON = {"content-type": "application/json"}


@pytest.fixture
def client(app: Any) -> TestClient:
    """A browser without a screen."""
    return TestClient(app, base_url="http://127.0.0.1")


def begin(client: TestClient, game: str = "mandala_v0", seats: list[str] | None = None) -> dict[str, Any]:
    """A new game."""
    answer = client.post("/api/games", json={"game": game, "seats": seats or ["you", "heuristic"]})
    assert answer.status_code == 201
    return answer.json()


def go_on(client: TestClient, view: dict[str, Any], choose: Callable[[list[str]], str] = lambda texts: texts[0]) -> Any:
    """The next move, whosever it is."""
    where = f"/api/games/{view['id']}"
    if view["is_yours"]:
        action = choose([one["text"] for one in view["legal"]])
        return client.post(f"{where}/moves", json={"number": view["number"], "action": action})
    return client.post(f"{where}/advance", json={"number": view["number"]})


def play(client: TestClient, view: dict[str, Any], moves: int = 10**6) -> list[dict[str, Any]]:
    """Play on; returns all views."""
    views = [view]
    while not views[-1]["is_over"] and len(views) <= moves:
        answer = go_on(client, views[-1])
        assert answer.status_code == 200, answer.text
        views.append(answer.json())
    return views


def session_of(app: Any, view: dict[str, Any]) -> Session:
    """The game behind a view, as the server has it."""
    return app.state.lobby.sessions.get(view["id"])


# --- games --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game_id", "seats"), SETTINGS)
def test_a_whole_game_is_played_and_its_transcript_replays(client: TestClient, game_id: str, seats: list[str]) -> None:
    views = play(client, begin(client, game_id, seats))
    end = views[-1]
    assert [view["number"] for view in views] == list(range(len(views)))
    transcript = parse_transcript(client.get(f"/api/games/{end['id']}/transcript").text)
    *_, last = transcript.moments()
    game = transcript.game
    assert game.is_over(last.state) and game.num_players == len(seats)
    assert tuple(end["result"]["scores"]) == game.scores(last.state)
    best = max(game.payoffs(last.state))
    assert end["result"]["winners"] == [seat for seat, payoff in enumerate(game.payoffs(last.state)) if payoff == best]
    assert all(name.startswith(seat) for name, seat in zip(transcript.players, seats, strict=True))
    assert go_on(client, end).status_code == 409


def test_two_opponents_can_be_watched_with_everything_open(client: TestClient, app: Any) -> None:
    views = play(client, begin(client, "mandala_v0", ["heuristic", "random"]), 10)
    assert all(view["seat"] is None and not view["is_yours"] and view["legal"] == [] for view in views)
    session = session_of(app, views[-1])
    assert views[-1]["svg"] == session.game.svg(session.state, names=session.names, last=session.last)
    advice = client.get(f"/api/games/{views[0]['id']}/advice").json()
    assert advice["choices"] and "number" not in advice
    assert client.get(f"/api/games/{views[0]['id']}/transcript").status_code == 200


@pytest.mark.parametrize(("game_id", "seats"), SETTINGS)
def test_the_browser_gets_its_seats_view_and_nothing_else(
    client: TestClient, app: Any, game_id: str, seats: list[str]
) -> None:
    for view in play(client, begin(client, game_id, seats), 25):
        session = session_of(app, view)
        game, seat = session.game, seats.index("you")
        if len(session.actions) == view["number"] and not view["is_over"]:
            assert view["svg"] == game.svg(session.state, seat, names=session.names, last=session.last)
        assert set(view) == {
            "id", "game", "names", "seats", "seat", "number", "turn", "player", "is_yours", "is_over", "legal", "svg",
            "log", "result",
        }  # fmt: skip
        assert bool(view["legal"]) == view["is_yours"] and view["result"] is None
        assert str(session.start.seed) not in json.dumps(view)
    assert client.get(f"/api/games/{view['id']}/transcript").status_code == 409


def test_legal_actions_are_the_games_with_parts_that_are_in_the_drawing(client: TestClient, app: Any) -> None:
    for game_id, seats in SETTINGS[:3]:
        for view in play(client, begin(client, game_id, seats), 30):
            if view["number"] == len(session_of(app, view).actions) and view["is_yours"]:
                session = session_of(app, view)
                legal = [session.game.actions.text(action) for action in session.game.legal_actions(session.state)]
                assert [one["text"] for one in view["legal"]] == legal
            for one in view["legal"]:
                shown = [part for part in one["parts"] if not part.startswith("count ")]
                assert all(f'data-part="{part}"' in view["svg"] for part in shown)


def test_a_game_is_the_same_after_a_reload_and_fits_the_width(client: TestClient) -> None:
    view = play(client, begin(client), 8)[-1]
    where = f"/api/games/{view['id']}"
    assert client.get(where).json() == client.get(f"{where}?width=960").json() == view
    narrow = client.get(f"{where}?width=480").json()
    assert 'width="480"' in narrow["svg"] and {**narrow, "svg": ""} == {**view, "svg": ""}


def test_games_are_separate_and_differ(client: TestClient) -> None:
    one, other = begin(client), begin(client)
    assert one["id"] != other["id"] and one["svg"] != other["svg"]
    assert go_on(client, one).status_code == 200
    assert client.get(f"/api/games/{other['id']}").json() == other


def test_advice_is_what_the_champion_would_do(client: TestClient, app: Any, players: list[str]) -> None:
    view = begin(client)
    advice = client.get(f"/api/games/{view['id']}/advice").json()
    session = session_of(app, view)
    champion = load_opponent(players[0], session.game)
    observation, mask = session.game.observe(session.state, 0), session.game.action_mask(session.state)
    best = session.game.actions.text(int(champion.act(observation[None], mask[None])[0]))
    assert advice["choices"][0][0] == best and -1 <= advice["value"] <= 1 and advice["player"] == "you"
    theirs = go_on(client, view).json()
    while theirs["is_yours"]:
        theirs = go_on(client, theirs).json()
    assert client.get(f"/api/games/{view['id']}/advice").status_code == 409


def test_what_can_be_chosen_has_no_path(client: TestClient, players: list[str]) -> None:
    text = client.get("/api/choices").text
    games = {(one["game"], one["num_players"]): one for one in json.loads(text)["games"]}
    assert set(games) == {("mandala_v0", 2), *(("flowers_v0", number) for number in (2, 3, 4))}
    assert games["mandala_v0", 2]["adviser"] == "master" and games["flowers_v0", 2]["adviser"] == "gardener"
    assert games["flowers_v0", 3]["adviser"] == "heuristic" and "gardener" not in games["flowers_v0", 3]["players"]
    assert "/" not in "".join(name for one in games.values() for name in one["players"])


def test_a_transcript_is_shown_with_the_champions_opinion(client: TestClient) -> None:
    end = play(client, begin(client, "flowers_v0", ["you", "heuristic", "random"]))[-1]
    text = client.get(f"/api/games/{end['id']}/transcript").text
    data = client.post("/api/replays", json={"transcript": text}).json()
    assert len(data["frames"]) == end["number"] + 1
    assert all("choices" in frame for frame in data["frames"][:-1])
    mine = client.post("/api/replays?width=480", json={"transcript": text, "viewer": 0}).json()
    assert 'width="480"' in mine["frames"][0]["svg"]
    assert sum("choices" in frame for frame in mine["frames"]) < len(mine["frames"]) - 1


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/api/games", {}, 400, "there is no such game; expected one of: mandala_v0 with 2 seats"),
        ("/api/games", {"game": "chess", "seats": ["you", "random"]}, 400, "there is no such game"),
        ("/api/games", {"game": "mandala_v0", "seats": ["you"]}, 400, "there is no such game"),
        ("/api/games", {"game": "mandala_v0", "seats": ["you", 3]}, 400, "there is no such game"),
        ("/api/games", {"game": ["x"], "seats": ["you", "random"]}, 400, "there is no such game"),
        ("/api/games", {"game": "mandala_v0", "seats": ["you", "you"]}, 400, "'you' may sit on one seat only"),
        ("/api/games", {"game": "mandala_v0", "seats": ["you", "checkpoint:/etc"]}, 400, "there is no player"),
        ("/api/games?width=1", {"game": "mandala_v0", "seats": ["you", "random"]}, 400, "width: expected 960 or 480"),
        ("/api/games", [], 400, "expected a JSON object"),
        ("/api/games/nothing/moves", {"number": 0, "action": "build 0 red"}, 404, "there is no such game"),
        ("/api/games/nothing/advance", {"number": 0}, 404, "there is no such game"),
        ("/api/replays", {}, 400, "transcript: expected a text"),
        ("/api/replays", {"transcript": "hello"}, 400, "line 1: expected 'mandala transcript 1'"),
        ("/api/replays", {"transcript": "\n" * 2000}, 400, "more than 1500 lines"),
        ("/api/replays", {"transcript": "mandala transcript 1\ngame: mandala_v0\nseed: 1", "viewer": 2}, 400, "seat"),
        ("/api/choices", {}, 405, "cannot be done"),
        ("/nothing", {}, 404, "there is no such page"),
    ],
)
def test_a_wrong_request_gets_a_4xx_and_one_clear_error(
    client: TestClient, path: str, body: Any, status: int, said: str
) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"] and said in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"number": 0, "action": "claim red"}, 400, "'claim red' is not legal now"),
        ({"number": 0, "action": "build 0 blue"}, 400, "'build 0 blue' is not an action"),
        ({"number": 0, "action": "x" * 101}, 400, "action: expected a text"),
        ({"number": 0, "action": 7}, 400, "action: expected a text"),
        ({"number": 0}, 400, "action: expected a text"),
        ({"number": 1, "action": "LEGAL"}, 409, "0 moves were made, not 1"),
        ({"number": "0", "action": "LEGAL"}, 400, "number: expected a whole number"),
        ({"number": True, "action": "LEGAL"}, 400, "number: expected a whole number"),
        ({"action": "LEGAL"}, 400, "number: expected a whole number"),
    ],
)
def test_a_move_that_is_refused_changes_nothing(client: TestClient, body: Any, status: int, said: str) -> None:
    view = begin(client)
    body = {**body, "action": view["legal"][0]["text"]} if body.get("action") == "LEGAL" else body
    answer = client.post(f"/api/games/{view['id']}/moves", json=body)
    assert answer.status_code == status and said in answer.json()["error"]
    assert client.get(f"/api/games/{view['id']}").json() == view


def test_nobody_moves_for_others(client: TestClient) -> None:
    view = begin(client)
    where = f"/api/games/{view['id']}"
    assert "it is your turn" in client.post(f"{where}/advance", json={"number": 0}).json()["error"]
    assert client.get(where).json() == view
    theirs = begin(client, seats=["heuristic", "you"])
    where = f"/api/games/{theirs['id']}"
    answer = client.post(f"{where}/moves", json={"number": 0, "action": "build 0 red"})
    assert answer.status_code == 409 and answer.json()["error"] == "it is not your turn"
    assert client.get(where).json() == theirs


def test_a_move_is_made_once_however_often_it_is_sent(client: TestClient) -> None:
    view = begin(client)
    answers = []

    def send() -> None:
        answers.append(go_on(client, view).status_code)

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200] + [409] * 7
    assert client.get(f"/api/games/{view['id']}").json()["number"] == 1


@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [
        ({"content-type": "text/plain"}, b"{}", 415),
        ({}, b"{}", 415),
        (JSON, b"{", 400),
        (JSON, b"\xff", 400),
        (JSON, b"[" * 100_000, 400),
        (JSON, b" " * (LARGEST_BODY + 1), 413),
        ({**JSON, "origin": "http://evil.example"}, b"{}", 403),
        ({**JSON, "origin": "null"}, b"{}", 403),
        ({**JSON, "host": "evil.example"}, b"{}", 403),
        ({**JSON, "host": "["}, b"{}", 403),
    ],
)
def test_foreign_and_oversized_requests_are_refused(
    client: TestClient, headers: dict[str, str], content: bytes, status: int
) -> None:
    for path in ("/api/games", "/api/replays"):
        answer = client.post(path, content=content, headers=headers)
        assert answer.status_code == status and list(answer.json()) == ["error"]


def test_the_own_page_may_ask(client: TestClient) -> None:
    body = {"game": "mandala_v0", "seats": ["you", "random"]}
    assert client.post("/api/games", json=body, headers={"origin": "http://127.0.0.1"}).status_code == 201


def test_a_server_for_others_answers_to_its_name_only(players: list[str]) -> None:
    named = TestClient(make_app(hosts=["games.example"]), base_url="http://games.example")
    assert named.get("/api/choices").status_code == 200
    assert named.get("/api/choices", headers={"host": "evil.example"}).status_code == 403
    open_to_all = TestClient(make_app(hosts=["0.0.0.0"]), base_url="http://anything.example")
    assert open_to_all.get("/api/choices").status_code == 200


@pytest.mark.parametrize("path", ["/", "/page.js", "/page.css", "/replay.js", "/replay.css"])
def test_the_page_comes_from_here_alone(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200 and "http://" not in answer.text and "https://" not in answer.text
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_getting_ready_asks_everybody_once_and_opens_no_game(app: Any) -> None:
    before = len(app.state.lobby.sessions)
    app.state.lobby.get_ready()
    assert len(app.state.lobby.sessions) == before


def test_a_player_that_fits_no_game_is_refused_at_the_start(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="unknown opponent 'nobody'"):
        make_app(["nobody"])


# --- sessions -----------------------------------------------------------------------------------------------------


def make_session() -> Session:
    """A game with two opponents."""
    game = load_game("mandala_v0")
    player = load_opponent("random", game)
    return Session(game, ["random", "random"], {"random": player}, player, threading.Lock())


def test_sessions_are_bounded_and_forgotten_when_nobody_comes_back() -> None:
    now = [0.0]
    sessions = Sessions(most=2, idle_seconds=10, clock=lambda: now[0])
    first, second = make_session(), make_session()
    sessions.add(first)
    now[0] = 6
    sessions.add(second)
    with pytest.raises(Refused) as caught:
        sessions.add(make_session())
    assert caught.value.status == 503
    now[0] = 9
    assert sessions.get(first.id) is first  # a visit counts
    now[0] = 17
    with pytest.raises(Refused) as caught:
        sessions.get(second.id)
    assert caught.value.status == 404
    sessions.add(make_session())
    assert len(sessions) == 2 and sessions.get(first.id) is first
    now[0] = 100
    with pytest.raises(Refused):
        sessions.get(first.id)
    assert len(sessions) == 0


def test_a_full_server_says_so(app: Any) -> None:
    client = TestClient(make_app(sessions=Sessions(most=1)), base_url="http://127.0.0.1")
    begin(client)
    answer = client.post("/api/games", json={"game": "mandala_v0", "seats": ["you", "random"]})
    assert answer.status_code == 503 and "1 games are open" in answer.json()["error"]
