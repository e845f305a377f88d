"""The command `mandala`: what it prints, what it writes, and how it refuses."""

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from mandala_env import list_games, load_game
from mandala_env.arena.match import evaluate
from mandala_env.cli import main
from mandala_env.policies.checkpoint import save_checkpoint
from mandala_env.transcript import read_transcript
from tests.sampling import make_network
from tests.threads import one_thread  # noqa: F401

Capture = pytest.CaptureFixture[str]


def refusal(arguments: list[str], capsys: Capture) -> str:
    """What the command says on stderr when it refuses; nothing may go to stdout."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A small checkpoint."""
    game = load_game("mandala_v0")
    save_checkpoint(tmp_path / "player", game, make_network(game), training={}, metrics={}, card="")
    return tmp_path / "player"


def test_evaluate_prints_a_row_for_each_rival_and_writes_the_results(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "results.json"
    main(
        [
            "evaluate",
            "heuristic",
            "--against",
            "random",
            "heuristic",
            "--games",
            "40",
            "--seed",
            "3",
            "--json",
            str(path),
        ]
    )
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].split()[:3] == ["heuristic", "random", "40"] and lines[2].split()[:3] == ["heuristic"] * 2 + ["40"]
    expected = evaluate("heuristic", ["random", "heuristic"], games=40, seed=3)
    assert json.loads(path.read_text()) == json.loads(json.dumps([match.to_dict() for match in expected]))


def test_evaluate_meets_random_and_heuristic_unless_told_otherwise(checkpoint: Path, capsys: Capture) -> None:
    main(["evaluate", str(checkpoint), "--games", "4"])
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split()[1] for row in rows] == ["random", "heuristic"]


def test_play_asks_for_moves_and_saves_the_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    lines = iter(["hint", "nonsense", "1", "build 0 red", "2"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines, "quit"))
    path = tmp_path / "game.txt"
    main(["play", "--against", "random", "--seat", "1", "--seed", "5", "--save", str(path)])
    shown = capsys.readouterr().out
    assert "You are player 1" in shown and "hint: " in shown and "'nonsense' is not an action" in shown
    transcript = read_transcript(path)
    assert transcript.players == ("random", "you") and len(transcript.actions) >= 3


def test_replay_prints_the_game_or_writes_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    main(["evaluate", "heuristic", "--against", "random", "--games", "4", "--transcripts", str(tmp_path / "games"),
          "--num-transcripts", "2"])  # fmt: skip
    assert len(list((tmp_path / "games").iterdir())) == 2
    path = tmp_path / "games" / "match-0-game-1.txt"
    transcript = read_transcript(path)
    capsys.readouterr()
    main(["replay", str(path), "--viewer", "0"])
    assert capsys.readouterr().out.count("\n--- ") + 1 == len(transcript.actions) + 1
    page = tmp_path / "game.html"
    main(["replay", str(path), "--html", str(page), "--checkpoint", "heuristic"])
    assert capsys.readouterr().out == "" and page.read_text(encoding="utf-8").startswith("<!doctype html>")
    lines = iter(["", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines))
    main(["replay", str(path), "--step"])
    assert capsys.readouterr().out.count("--- ") == 2


def test_serve_answers_at_the_address_that_it_prints() -> None:
    pytest.importorskip("uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mandala_env", "serve", "--port", str(port)]
    with subprocess.Popen(command, cwd=Path(__file__).parent.parent, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            assert address == f"http://127.0.0.1:{port}"
            for _ in range(200):
                try:
                    with urlopen(f"{address}/api/choices") as answer:
                        assert "mandala_v0" in answer.read().decode()
                    break
                except URLError:
                    time.sleep(0.1)
            else:
                raise AssertionError("the server does not answer")
        finally:
            server.terminate()


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'mandala-env[play]'" in refusal(["serve"], capsys)


def test_docs_prints_every_block_and_every_kind_of_action(capsys: Capture) -> None:
    for game_id in list_games():
        main(["docs", "--game", game_id])
        text, game = capsys.readouterr().out, load_game(game_id)
        assert all(f"| `{block.name}` |" in text and block.meaning in text for block in game.layout)
        assert all(f"| `{kind.word}` |" in text for kind in game.actions.kinds)
        assert f"{len(game.actions) - 1} |" in text


def test_warmup_says_where_the_compiled_code_is(capsys: Capture) -> None:
    main(["warmup"])
    captured = capsys.readouterr()
    folder = Path(captured.out.strip())
    assert list(folder.glob("*.nbi"))
    assert [line.split()[1] for line in captured.err.splitlines()] == ["mandala_v0", *["flowers_v0"] * 3]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate", "nobody"], "unknown opponent 'nobody'; expected random, heuristic, search, checkpoint"),
        (["evaluate", "random", "--against", "nobody"], "unknown opponent 'nobody'"),
        (["evaluate", "random", "--game", "chess"], "unknown game 'chess'; the games are mandala_v0"),
        (["evaluate", "random", "--games", "3"], "games must be a multiple of the 2 players, at least 4, not 3"),
        (["evaluate", "random", "--seed", "-1"], "seed must be None or a whole number of 0 or more, not -1"),
        (["evaluate", "random:x=1"], "the options of random are: none"),
        (["evaluate", "checkpoint:no/such/folder"], "no/such/folder is not a checkpoint"),
        (["ladder", "random"], "a ladder needs two or more players, not 1"),
        (["ladder", "random", "random"], "two players are called 'random'; write NAME=SPEC"),
        (["ladder", "random", "nobody", "--games", "4"], "unknown opponent 'nobody'"),
        (["puzzles", "nobody"], "unknown opponent 'nobody'"),
        (["puzzles", "random", "--game", "chess"], "unknown game 'chess'"),
        (["report", "no/such/run"], "no/such/run: expected the folder of a training run"),
        (["docs", "--game", "chess"], "unknown game 'chess'"),
        (["bench", "--game", "chess"], "unknown game 'chess'"),
        (["play", "--seat", "2"], "player must be a seat from 0 to 1, not 2"),
        (["play", "--against", "random", "random"], "expected one opponent for all seats or 1 of them, not 2"),
        (["play", "--hints", "nobody"], "unknown opponent 'nobody'"),
        (["serve", "--port", "99999"], "expected a number from 1 to 65535, not 99999"),
        (["serve", "--players", "nobody"], "unknown opponent 'nobody'"),
        (["replay", "no/such/file"], "no/such/file"),
        (["replay", __file__], "line 1: expected 'mandala transcript 1'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_input_ends_with_one_line_on_stderr_and_status_2(
    arguments: list[str], said: str, capsys: Capture
) -> None:
    error = refusal(arguments, capsys)
    assert said in error
    assert error.startswith(f"mandala {arguments[0]}: ")
    assert error.count("\n") == 1 and error.endswith("\n")


def test_a_broken_checkpoint_ends_with_one_line(checkpoint: Path, capsys: Capture) -> None:
    (checkpoint / "model.safetensors").write_bytes(b"\x80\x04broken\n.")
    error = refusal(["evaluate", str(checkpoint), "--games", "4"], capsys)
    assert "model.safetensors" in error and error.count("\n") == 1


def test_what_was_played_is_shown_even_if_the_file_cannot_be_written(tmp_path: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["evaluate", "random", "--games", "4", "--json", str(tmp_path / "no" / "folder.json")])
    captured = capsys.readouterr()
    assert caught.value.code == 2
    assert len(captured.out.splitlines()) == 3
    assert "folder.json" in captured.err and captured.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [[], ["conquer"], ["evaluate"], ["evaluate", "random", "--games", "0"], ["evaluate", "random", "--games", "many"],
     ["evaluate", "random", "--gmaes", "4"], ["bench", "--seconds", "-1"]],
    ids=" ".join,
)  # fmt: skip
def test_arguments_that_make_no_sense_end_with_the_usage_and_status_2(arguments: list[str], capsys: Capture) -> None:
    error = refusal(arguments, capsys)
    assert error.startswith("usage: mandala") and "error: " in error.splitlines()[-1]


def test_the_package_is_a_command_too() -> None:
    command = [sys.executable, "-m", "mandala_env"]
    folder = Path(__file__).parent.parent
    done = subprocess.run([*command, "docs"], cwd=folder, capture_output=True, text=True, check=True)
    assert "Actions" in done.stdout and done.stderr == ""
    done = subprocess.run([*command, "docs", "--game", "chess"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_bench_prints_a_positive_figure_on_every_line(capsys: Capture) -> None:
    main(["bench", "--seconds", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 8
    for line in lines:
        figures = [
            float(word.replace(",", "")) for word in line.split() if word.replace(",", "").replace(".", "").isdigit()
        ]
        assert figures and figures[-1] > 0, line
    assert any("million decisions/s" in line for line in lines) and any("loaded: no" in line for line in lines)
