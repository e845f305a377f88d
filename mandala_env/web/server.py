"""The server of the page: it checks every request, answers in JSON, and gives a browser its seat's view only."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from mandala_env.arena.replay import replay_data
from mandala_env.opponents.advice import advise
from mandala_env.opponents.base import Opponent, load_opponent
from mandala_env.pictures.picture import TALL, WIDE
from mandala_env.registry import list_games, list_opponents, list_variants, load_game
from mandala_env.transcript import parse_transcript
from mandala_env.web.sessions import YOU, Refused, Session, Sessions

LARGEST_BODY = 2**18  # bytes: a long transcript
LONGEST_ERROR = 1000  # characters
LONGEST_SECONDS = 20.0  # in which a body must come
LONGEST_ACTION = 100
MOST_MOVES_SHOWN = 1500  # of a transcript
MOST_REPLAYS = 8  # that are asked for at once
LOCAL = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")
STATIC = {
    "/": ("mandala_env.web", "page/index.html", "text/html"),
    "/page.css": ("mandala_env.web", "page/page.css", "text/css"),
    "/page.js": ("mandala_env.web", "page/page.js", "text/javascript"),
    "/replay.css": ("mandala_env.pictures", "replay.css", "text/css"),
    "/replay.js": ("mandala_env.pictures", "replay.js", "text/javascript"),
}
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
Handler = Callable[[Request], Awaitable[Response]]


class Lobby:
    """Which games can be played, by whom, and the games that are being played.

    specs  opponents besides the known ones, such as folders of checkpoints; the first that fits a game advises
    """

    def __init__(self, specs: Sequence[str] = (), sessions: Sessions | None = None) -> None:
        self.sessions = Sessions() if sessions is None else sessions
        self.thinking = threading.Lock()
        self.players: dict[tuple[str, int], dict[str, Opponent]] = {}
        self.advisers: dict[tuple[str, int], str] = {}
        fits: dict[str, list[str]] = {spec: [] for spec in specs}
        for game_id in list_games():
            for options in list_variants(game_id):
                game = load_game(game_id, **options)
                key = game_id, game.num_players
                self.players[key] = known_opponents(game)
                self.advisers[key] = "heuristic"
                for spec, errors in fits.items():
                    try:
                        opponent = load_opponent(spec, game)
                    except ValueError as error:
                        errors.append(str(error))
                        continue
                    name = name_of(spec, self.players[key])
                    self.players[key][name] = opponent
                    if self.advisers[key] == "heuristic":
                        self.advisers[key] = name
        for errors in fits.values():
            if len(errors) == len(self.players):  # say what was wrong with it, rather than that it is of another game
                raise ValueError(next((error for error in errors if ": game is" not in error), errors[0]))

    def get_ready(self) -> None:
        """Compile what is not compiled yet, so that no person waits for it."""
        for players in self.players.values():
            for opponent in players.values():
                advise(opponent, opponent.game.deal(0))

    def choices(self) -> dict[str, Any]:
        """What can be chosen, for the page."""
        return {
            "games": [
                {"game": game_id, "num_players": number, "players": list(players),
                 "adviser": self.advisers[game_id, number]}
                for (game_id, number), players in self.players.items()
            ]
        }  # fmt: skip

    def open(self, game_id: Any, seats: Any) -> Session:
        """Begin a game."""
        is_list = isinstance(seats, list) and all(isinstance(name, str) for name in seats)
        if not is_list or (str(game_id), len(seats)) not in self.players:
            known = ", ".join(f"{game} with {number} seats" for game, number in self.players)
            raise Refused(400, f"there is no such game; expected one of: {known}")
        key = str(game_id), len(seats)
        if seats.count(YOU) > 1:
            raise Refused(400, f"{YOU!r} may sit on one seat only")
        if unknown := [name for name in seats if name not in (YOU, *self.players[key])]:
            names = ", ".join([YOU, *self.players[key]])
            raise Refused(400, f"there is no player {unknown[0][:40]!r}; expected one of: {names}")
        adviser = self.players[key][self.advisers[key]]
        session = Session(adviser.game, seats, self.players[key], adviser, self.thinking)
        self.sessions.add(session)
        return session


def known_opponents(game: Any) -> dict[str, Opponent]:
    """The opponents that need nothing but their name."""
    found = {}
    for name in list_opponents():
        try:
            found[name] = load_opponent(name, game)
        except ValueError:  # it needs more, such as a folder, or something that is not installed
            continue
    return found


def name_of(spec: str, taken: Any) -> str:
    """What the page calls an opponent: a folder's own name, for paths are nobody's business."""
    path = Path(spec.removeprefix("checkpoint:").partition(",")[0])
    base = path.resolve().name[:40] if path.is_dir() else spec[:40]
    names = [base, *(f"{base} ({number})" for number in range(2, 100))]
    return next(name for name in names if name not in taken and name != YOU)


# --- requests -------------------------------------------------------------------------------------------------


async def read_json(request: Request) -> dict[str, Any]:
    """The body of a request, an object in JSON of bounded size."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Refused(415, "expected a body of type application/json")
    body = bytearray()
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LARGEST_BODY:
                    raise Refused(413, f"the body is larger than {LARGEST_BODY} bytes")
    except TimeoutError:
        raise Refused(408, f"the body did not come within {LONGEST_SECONDS:g} seconds") from None
    except ClientDisconnect:
        raise Refused(400, "the body did not come") from None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is not JSON") from None
    if not isinstance(value, dict):
        raise Refused(400, "expected a JSON object")
    return value


def whole(body: dict[str, Any], key: str) -> int:
    """A whole number of a body."""
    value = body.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Refused(400, f"{key}: expected a whole number of 0 or more")
    return value


def width_of(request: Request) -> int:
    """For a desk or for a phone."""
    wanted = request.query_params.get("width", str(WIDE))
    if wanted not in (str(WIDE), str(TALL)):
        raise Refused(400, f"width: expected {WIDE} or {TALL}")
    return int(wanted)


class Handlers:
    """What is done for each kind of request."""

    def __init__(self, lobby: Lobby) -> None:
        self.lobby = lobby
        self.replayer, self.num_replays = ThreadPoolExecutor(1, "replay"), 0

    def routes(self) -> list[tuple[str, Handler, str]]:
        """Path, handler and method of all requests that are answered."""
        game = "/api/games/{id}"
        return [
            ("/api/choices", self.choices, "GET"),
            ("/api/games", self.open_game, "POST"),
            (game, self.show_game, "GET"),
            (f"{game}/moves", self.move, "POST"),
            (f"{game}/advance", self.advance, "POST"),
            (f"{game}/advice", self.advice, "GET"),
            (f"{game}/transcript", self.transcript, "GET"),
            ("/api/replays", self.replay, "POST"),
            *((path, static(*where), "GET") for path, where in STATIC.items()),
        ]

    def session(self, request: Request) -> Session:
        """The game that a request is about."""
        return self.lobby.sessions.get(request.path_params["id"])

    async def choices(self, request: Request) -> Response:
        """What can be played, and by whom."""
        return JSONResponse(self.lobby.choices())

    async def open_game(self, request: Request) -> Response:
        """Begin {"game", "seats"}."""
        width, body = width_of(request), await read_json(request)
        session = await run_in_threadpool(self.lobby.open, body.get("game"), body.get("seats"))
        return JSONResponse(await run_in_threadpool(session.view, width), 201)

    async def show_game(self, request: Request) -> Response:
        """The game as it stands."""
        return JSONResponse(await run_in_threadpool(self.session(request).view, width_of(request)))

    async def move(self, request: Request) -> Response:
        """The person's move {"number", "action"}."""
        session, width, body = self.session(request), width_of(request), await read_json(request)
        text, number = body.get("action"), whole(body, "number")
        if not isinstance(text, str) or len(text) > LONGEST_ACTION:
            raise Refused(400, "action: expected a text such as 'build 0 red'")
        await run_in_threadpool(session.move, number, text)
        return JSONResponse(await run_in_threadpool(session.view, width))

    async def advance(self, request: Request) -> Response:
        """An opponent's move {"number"}."""
        session, width, body = self.session(request), width_of(request), await read_json(request)
        await run_in_threadpool(session.advance, whole(body, "number"))
        return JSONResponse(await run_in_threadpool(session.view, width))

    async def advice(self, request: Request) -> Response:
        """What the adviser would do."""
        return JSONResponse(await run_in_threadpool(self.session(request).advice))

    async def transcript(self, request: Request) -> Response:
        """The game as a text to keep."""
        return PlainTextResponse(await run_in_threadpool(self.session(request).transcript))

    async def replay(self, request: Request) -> Response:
        """All moments of {"transcript", "viewer"}; one replay at a time, for a long one is seconds of work."""
        width, body = width_of(request), await read_json(request)
        if self.num_replays >= MOST_REPLAYS:
            raise Refused(503, "others wait for their replays; come back later")
        self.num_replays += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self.replayer, show_transcript, self.lobby, body, width)
        finally:
            self.num_replays -= 1


def make_app(specs: Sequence[str] = (), hosts: Sequence[str] = LOCAL, sessions: Sessions | None = None) -> Starlette:
    """The whole server as an ASGI application; `app.state.lobby` is its Lobby.

    specs     opponents besides the known ones, see `Lobby`; one that fits no game is a ValueError
    hosts     the names under which the server may be asked for; it always may as this machine
    sessions  where games are kept
    """
    allowed = None if set(hosts) & set(EVERYWHERE) else {*LOCAL, *hosts}
    handlers = Handlers(Lobby(specs, sessions))
    app = Starlette(
        routes=[Route(path, guard(handler, allowed), methods=[method]) for path, handler, method in handlers.routes()],
        exception_handlers={HTTPException: wrong, 500: wrong},
    )
    app.state.lobby = handlers.lobby
    return app


def guard(handler: Handler, allowed: set[str] | None) -> Handler:
    """A handler that answers to its own page only, and whose refusals are one clear error in JSON."""

    async def answer(request: Request) -> Response:
        try:
            check_origin(request, allowed)
            response = await handler(request)
        except Refused as error:
            response = JSONResponse({"error": str(error)[:LONGEST_ERROR]}, error.status)
        response.headers.update(HEADERS)
        return response

    return answer


async def wrong(request: Request, error: Exception) -> Response:
    """The answer to what no handler is there for, or what one did not survive."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: "there is no such page", 405: "this cannot be done here"}.get(status, "something went wrong")
    return JSONResponse({"error": words}, status, {**HEADERS, **(getattr(error, "headers", None) or {})})


def check_origin(request: Request, allowed: set[str] | None) -> None:
    """Refuse requests that other sites make in a person's browser, or that were sent to another name."""
    given, origin = request.headers.get("host", ""), request.headers.get("origin")
    try:
        host = urlsplit(f"//{given}").hostname or ""
        is_foreign = origin is not None and urlsplit(origin).netloc != given
    except ValueError:  # no address at all
        host, is_foreign = "", True
    if allowed is not None and host not in allowed:
        raise Refused(403, "this server does not answer to that name")
    if is_foreign:
        raise Refused(403, "this request comes from another site")


def show_transcript(lobby: Lobby, body: dict[str, Any], width: int) -> Response:
    """A transcript with a drawing of every moment, and what its game's adviser would do."""
    text, viewer = body.get("transcript"), body.get("viewer")
    if not isinstance(text, str):
        raise Refused(400, "transcript: expected a text")
    if text.count("\n") > MOST_MOVES_SHOWN:
        raise Refused(400, f"transcript: more than {MOST_MOVES_SHOWN} lines")
    try:
        game = parse_transcript(text)
        if viewer is not None:
            game.game.check_seat(viewer)
    except ValueError as error:
        raise Refused(400, str(error)) from None
    key = game.game.id, game.game.num_players
    adviser = lobby.players[key][lobby.advisers[key]]
    return JSONResponse(replay_data(game, viewer, adviser, width))


def static(package: str, path: str, kind: str) -> Handler:
    """A handler for a file of the package."""
    content = files(package).joinpath(path).read_text(encoding="utf-8")

    async def send(request: Request) -> Response:
        return Response(content, media_type=kind)

    return send
