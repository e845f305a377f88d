"""The page in a real browser: whole games by mouse and keyboard, reloads, two at once, at a desk and on a phone."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mandala_env import load_game
from tests.contract.playing import walk

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")

DESK, PHONE = {"width": 1360, "height": 900}, {"width": 390, "height": 844}
DONE = "#play[data-state=yours], #play[data-state=over]"
TIMEOUT = 60_000  # milliseconds: machines are busy
# Texts that overlap each other: pairs of texts in the drawing whose boxes share more than a corner.
OVERLAPS = """() => {
  const texts = [...document.querySelectorAll("svg text")]
    .map((element) => ({ words: element.textContent, box: element.getBoundingClientRect() }))
    .filter(({ words, box }) => words && box.width > 0);
  const found = [];
  texts.forEach((one, i) => texts.slice(i + 1).forEach((other) => {
    const wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
    const high = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
    if (wide > 2 && high > 4) found.push(`${one.words} | ${other.words}`);
  }));
  return found;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's chromium."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Any]:
    """Opens pages, each like a person of its own; at the end none may have had an error."""
    complaints: list[str] = []
    contexts = []

    def make(viewport: dict[str, int] = DESK, path: str = "/") -> Any:
        context = browser.new_context(viewport=viewport, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT)
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address + path)
        page.wait_for_selector("main:not([hidden])")
        # The opponents' moves need not be watched in a test.
        page.clock.install()
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []


def start(page: Any, game: str, seats: list[str]) -> None:
    """Choose a game and who plays, and begin."""
    page.select_option("#game", game)
    if game != "mandala_v0":
        page.select_option("#count", str(len(seats)))
    for seat, name in enumerate(seats):
        page.locator("#seats select").nth(seat).select_option(name)
    page.click("#form button")
    page.wait_for_selector("#board svg")


def wait(page: Any) -> str:
    """Until it is the person's turn or the end; returns which."""
    for _ in range(2000):
        state = page.locator("#play").get_attribute("data-state")
        if state != "theirs":
            return str(state)
        page.clock.run_for(800)
        page.wait_for_timeout(5)
    raise AssertionError("the opponents do not move")


def number(page: Any) -> int:
    """How many moves were made."""
    return int(page.locator("#play").get_attribute("data-number"))


def after(page: Any, before: int) -> None:
    """Until a move was made."""
    page.wait_for_selector(f"#play:not([data-number='{before}'])")


def move_by_button(page: Any) -> None:
    """The first move of the list."""
    before = number(page)
    page.locator("#moves button").first.click()
    after(page, before)


def move_by_pointing(page: Any) -> None:
    """Point at parts of the drawing until a move is made; a count is a button."""
    before = number(page)
    for _ in range(40):
        can, buttons = page.locator("#board .can"), page.locator("#moves button")
        with contextlib.suppress(sync_api.TimeoutError):  # the table may change in between
            (can.last if can.count() else buttons.first).click(timeout=2000)
        page.wait_for_timeout(100)  # for the answer
        if number(page) != before:
            return
    raise AssertionError("pointing makes no move")


@pytest.mark.parametrize(
    ("viewport", "game", "seats"),
    [
        (DESK, "mandala_v0", ["you", "heuristic"]),
        (PHONE, "mandala_v0", ["heuristic", "you"]),
        (DESK, "flowers_v0", ["you", "heuristic", "random"]),
        (PHONE, "flowers_v0", ["random", "you"]),
    ],
    ids=["desk-mandala", "phone-mandala", "desk-flowers", "phone-flowers"],
)
def test_a_whole_game_is_played_by_pointing(
    open_page: Any, viewport: dict[str, int], game: str, seats: list[str]
) -> None:
    page = open_page(viewport)
    start(page, game, seats)
    moves = 0
    while wait(page) == "yours":
        if moves % 8 == 0:
            assert page.evaluate(OVERLAPS) == []
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        (move_by_pointing if moves % 4 else move_by_button)(page)
        moves += 1
    assert moves > 3
    assert "Points: " in page.inner_text("#status")
    assert page.locator("#log li").count() > 0
    assert page.evaluate(OVERLAPS) == []
    page.click("#watch")
    page.wait_for_selector("#replay .picture svg")
    assert page.locator("#replay input[type=range]").get_attribute("max") == str(number(page))


OUTSIDE = """() => [...document.querySelectorAll("svg text")].filter((element) => {
  const box = element.getBoundingClientRect();
  const frame = element.closest("svg").getBoundingClientRect();
  return box.left < frame.left || box.right > frame.right || box.bottom > frame.bottom;
}).map((element) => element.textContent)"""


@pytest.mark.parametrize(("game_id", "num_players"), [("mandala_v0", 2), ("flowers_v0", 2), ("flowers_v0", 4)])
@pytest.mark.parametrize("width", [960, 480])
def test_no_text_overlaps_or_leaves_a_drawing_whatever_the_names(
    browser: Any, game_id: str, num_players: int, width: int
) -> None:
    game = load_game(game_id, **({} if num_players == 2 else {"num_players": num_players}))
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    last = None
    for step, state in enumerate(walk(game, 6)):
        if step % 5 == 0 or game.is_over(state) or game.position(state)["phase"] != "play":
            names = ["W" * 60] * num_players if step % 2 else [f"heuristic {seat}" for seat in range(num_players)]
            page.set_content(game.svg(state, step % num_players, names=names, last=last, width=width))
            assert page.evaluate(OVERLAPS) == []
            assert page.evaluate(OUTSIDE) == []
        last = (game.player(state), game.actions.texts[-1] if game_id != "mandala_v0" else "discard orange 8")
    page.close()


def test_a_game_is_played_with_the_keyboard_alone(open_page: Any) -> None:
    page = open_page()
    start(page, "mandala_v0", ["you", "random"])
    for _ in range(4):
        if wait(page) != "yours":
            break
        before = number(page)
        page.locator("#board [data-part^='hand'][tabindex], #board [data-part^='claim'][tabindex]").first.focus()
        page.keyboard.press("Enter")
        assert page.locator("#board .chosen").count() == 1 or number(page) != before
        page.keyboard.press("Escape")
        if number(page) == before:
            assert page.locator("#board .chosen").count() == 0
            page.locator("#moves button").first.focus()
            page.keyboard.press("Enter")
        after(page, before)


def test_a_reload_in_the_middle_changes_nothing(open_page: Any) -> None:
    page = open_page()
    start(page, "mandala_v0", ["you", "heuristic"])
    for _ in range(3):
        wait(page)
        move_by_button(page)
    wait(page)
    before = number(page), page.inner_text("#log"), page.locator("#board svg").inner_html()
    page.reload()
    page.wait_for_selector("#board svg")
    assert (number(page), page.inner_text("#log"), page.locator("#board svg").inner_html()) == before


def test_two_people_play_at_once_and_do_not_meet(open_page: Any) -> None:
    one, other = open_page(), open_page(PHONE)
    start(one, "mandala_v0", ["you", "heuristic"])
    start(other, "flowers_v0", ["you", "random"])
    for _ in range(3):
        for page in (one, other):
            wait(page)
            move_by_button(page)
    assert wait(one) == wait(other) == "yours"
    assert "build" in one.inner_text("#log") + one.inner_text("#moves") and "play" in other.inner_text("#log")
    assert one.url != other.url


def test_the_champion_says_what_it_would_do(open_page: Any) -> None:
    page = open_page()
    start(page, "mandala_v0", ["you", "heuristic"])
    assert page.inner_text("#ask") == "What would master do?"
    page.click("#ask")
    page.wait_for_selector("#advice table")
    assert page.locator("#advice tr").count() == 6 and "expects" in page.inner_text("#advice")
    move_by_button(page)
    assert page.locator("#advice table").count() == 0


def test_two_opponents_are_watched_paused_and_stepped(open_page: Any) -> None:
    page = open_page()
    start(page, "flowers_v0", ["heuristic", "random", "heuristic", "random"])
    page.clock.run_for(800)
    after(page, 0)
    page.click("#pause")
    before = number(page)
    page.clock.run_for(5000)
    page.wait_for_timeout(200)
    assert number(page) <= before + 1
    before = number(page)
    page.click("#step")
    after(page, before)
    assert page.locator("#board .can").count() == 0
    assert "heuristic 0" in page.inner_text("#board")


def test_a_transcript_is_opened_and_walked_through_with_the_keys(open_page: Any, tmp_path: Path) -> None:
    from mandala_env.arena.match import evaluate

    evaluate("heuristic", "random", games=4, transcripts=tmp_path, num_transcripts=1)
    page = open_page(PHONE)
    page.set_input_files("#file", str(next(tmp_path.iterdir())))
    page.wait_for_selector("#replay .picture svg")
    assert page.inner_text("#replay .caption").startswith("0 of ")
    first = page.locator("#replay .picture").inner_html()
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#replay .caption").startswith("1 of ")
    assert page.locator("#replay .picture").inner_html() != first
    assert page.locator("#replay .policy tr").count() > 0
    page.keyboard.press("End")
    assert page.evaluate(OVERLAPS) == []
    page.click("#new")
    page.wait_for_selector("#setup:not([hidden])")
    assert page.locator("#replay").inner_html() == ""
    page.select_option("#viewer", "1")
    page.set_input_files("#file", str(next(tmp_path.iterdir())))
    page.wait_for_selector("#replay .picture svg")
    assert page.locator("#replay .picture").inner_html() != first, "a seat does not see all cards"


def test_a_page_made_by_replay_works_from_a_file(open_page: Any, browser: Any, tmp_path: Path) -> None:
    from mandala_env import load_opponent
    from mandala_env.arena.match import evaluate
    from mandala_env.arena.replay import replay_page
    from mandala_env.transcript import read_transcript

    evaluate("heuristic", "random", games=4, transcripts=tmp_path, num_transcripts=1)
    transcript = read_transcript(next(tmp_path.iterdir()))
    path = tmp_path / "game.html"
    path.write_text(replay_page(transcript, None, load_opponent("heuristic")), encoding="utf-8")
    page = open_page()
    page.goto(path.as_uri())
    page.wait_for_selector("#replay .picture svg")
    page.locator("#replay input[type=range]").fill("5")
    assert page.inner_text("#replay .caption").startswith("5 of ")
    assert page.locator("#replay .policy tr").count() >= 1
    page.click("[aria-label='to the end']")
    assert page.inner_text("#replay .caption").startswith(f"{len(transcript.actions)} of ")


def test_what_is_refused_is_told_and_the_page_goes_on(browser: Any, address: str, tmp_path: Path) -> None:
    page = browser.new_page()  # the browser itself complains of the 404 and the 400
    page.goto(f"{address}/#nothing")
    page.wait_for_selector("#setup:not([hidden])")
    assert "there is no such game" in page.inner_text("#error")
    (tmp_path / "bad.txt").write_text("hello")
    page.set_input_files("#file", str(tmp_path / "bad.txt"))
    page.wait_for_selector("#error:has-text('line 1: expected')")
    page.click("#form button")
    page.wait_for_selector("#board svg")
    assert page.locator("#error").is_hidden()
    page.close()
