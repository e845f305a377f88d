"""The command `mandala`: play, watch and evaluate, measure the engine, print the tables of the documentation."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mandala_env.arena.workers import read_workers
from mandala_env.registry import list_games, list_opponents, list_variants, load_game

if TYPE_CHECKING:
    from mandala_env.core.game import Game


def main(arguments: list[str] | None = None) -> None:
    """Run one command; wrong input ends with one line on stderr and exit status 2."""
    parser = argparse.ArgumentParser(prog="mandala", description=(__doc__ or "").strip())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    players = (add_evaluate, add_ladder, add_puzzles, add_report, add_play, add_replay, add_serve)
    for add in (*players, add_bench, add_docs, add_warmup):
        add(commands)
    given = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], None] = given.run
    try:
        run(given)
    except (ValueError, OSError) as error:
        parser.exit(2, f"mandala {given.command}: {error}\n")


def add_game(parser: argparse.ArgumentParser) -> None:
    """The options that say which game, and by which rules."""
    parser.add_argument("--game", default="mandala_v0", help=f"one of {', '.join(list_games())}")
    parser.add_argument(
        "--option",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="rule options, such as num_players=3 max_turns=100",
    )


def game_of(given: argparse.Namespace) -> "Game":
    """The game that the options ask for."""
    options = {}
    for text in given.option:
        name, is_given, value = text.partition("=")
        if not is_given:
            raise ValueError(f"--option: expected NAME=VALUE, not {text!r}")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value  # a word
    return load_game(given.game, **options)


def add_workers(parser: argparse.ArgumentParser) -> None:
    """The option that says who plays the matches."""
    parser.add_argument(
        "--workers",
        default="1",
        metavar="N",
        help="who plays the matches, side by side: N processes, or ray or ray:N, a Ray cluster; results are the same",
    )


def executor_of(workers: str, specs: list[str]) -> AbstractContextManager[Executor | None]:
    """What carries out matches of these players; None: this process."""
    kind, number = read_workers(workers)
    start_worker = partial(use_one_torch_thread, specs)
    if kind == "ray":
        try:
            from mandala_env.adapters.ray import RayExecutor
        except ModuleNotFoundError as error:
            raise ValueError(f"--workers {workers}: {error}") from None
        return RayExecutor(number, start_worker)
    if number in (None, 1):
        return nullcontext()
    return ProcessPoolExecutor(number, get_context("spawn"), start_worker)


def positive(text: str) -> int:
    """A whole number of 1 or more."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of 1 or more, not {text!r}")
    return number


def add_evaluate(commands: argparse._SubParsersAction) -> None:
    """`mandala evaluate PLAYER --against ...`."""
    parser = commands.add_parser("evaluate", help="play a player against others on paired deals")
    specs = ", ".join(list_opponents())
    parser.add_argument("player", help=f"a checkpoint's folder or an opponent: {specs}")
    parser.add_argument("--against", nargs="+", default=["random", "heuristic"], metavar="OPPONENT")
    parser.add_argument("--games", type=positive, help="games against each opponent (default about 2000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument("--transcripts", type=Path, metavar="FOLDER", help="save the first games of each match there")
    parser.add_argument("--num-transcripts", type=positive, default=10, metavar="N", help="how many (default 10)")
    add_workers(parser)
    add_game(parser)
    parser.set_defaults(run=run_evaluate)


def run_evaluate(given: argparse.Namespace) -> None:
    """Play, print the table, write the JSON."""
    from mandala_env.arena.match import evaluate, table

    specs = [given.player, *given.against]
    use_one_torch_thread(specs)
    game = game_of(given)
    games = given.games or whole_deals(2000, game)
    with executor_of(given.workers, specs) as executor:
        matches = evaluate(
            given.player,
            given.against,
            game=game,
            games=games,
            seed=given.seed,
            transcripts=given.transcripts,
            num_transcripts=given.num_transcripts,
            executor=executor,
        )
    print(table(matches))
    if given.json:
        given.json.write_text(json.dumps([match.to_dict() for match in matches], indent=2) + "\n", encoding="utf-8")


def add_ladder(commands: argparse._SubParsersAction) -> None:
    """`mandala ladder PLAYER PLAYER ...`."""
    parser = commands.add_parser("ladder", help="rate players: everybody meets everybody on the same deals")
    parser.add_argument("players", nargs="+", metavar="PLAYER", help="an opponent's spec, or NAME=SPEC to name it")
    parser.add_argument("--games", type=positive, help="games of each match (default about 1000)")
    parser.add_argument("--seed", type=int, default=1)
    add_workers(parser)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with pictures there too")
    add_game(parser)
    parser.set_defaults(run=run_ladder)


def run_ladder(given: argparse.Namespace) -> None:
    """Play, print the tables, write the files."""
    from mandala_env.arena.ladder import play_ladder, read_entrants, table
    from mandala_env.arena.match import Match
    from mandala_env.arena.report import ladder_page

    def report(match: Match) -> None:
        print(f"{match.player} against {match.against}: {match.score:.1%}", file=sys.stderr, flush=True)

    specs = [entrant.spec for entrant in read_entrants(given.players)]
    use_one_torch_thread(specs)
    game = game_of(given)
    games = given.games or whole_deals(1000, game)
    with executor_of(given.workers, specs) as executor:
        ladder = play_ladder(game, given.players, games, given.seed, executor, report)
    print(table(ladder))
    if given.json:
        given.json.write_text(json.dumps(ladder.to_dict(), indent=2) + "\n", encoding="utf-8")
    if given.html:
        given.html.write_text(ladder_page(ladder), encoding="utf-8")


def whole_deals(games: int, game: "Game") -> int:
    """About so many games, such that every deal is played from every seat."""
    return games // game.num_players * game.num_players


def add_puzzles(commands: argparse._SubParsersAction) -> None:
    """`mandala puzzles PLAYER ...`."""
    parser = commands.add_parser("puzzles", help="which player finds the right move of which small position")
    parser.add_argument("players", nargs="+", metavar="PLAYER", help="an opponent's spec, or NAME=SPEC to name it")
    parser.add_argument("--game", default="mandala_v0", help=f"one of {', '.join(list_games())}")
    parser.add_argument("--seed", type=int, default=1)
    parser.set_defaults(run=run_puzzles)


def run_puzzles(given: argparse.Namespace) -> None:
    """Ask every player and print who passes what."""
    from mandala_env.arena.ladder import read_entrants
    from mandala_env.arena.puzzles import load_puzzles, solve, table

    entrants, puzzles = read_entrants(given.players), load_puzzles(given.game)
    use_one_torch_thread([entrant.spec for entrant in entrants])
    moves = {entrant.name: solve(puzzles, entrant.spec, given.seed) for entrant in entrants}
    print(table(puzzles, moves))


def add_report(commands: argparse._SubParsersAction) -> None:
    """`mandala report RUN`."""
    parser = commands.add_parser("report", help="write a training run's curves as one HTML page")
    parser.add_argument("run_folder", type=Path, metavar="RUN", help="the folder that training.train made")
    parser.add_argument("--html", type=Path, metavar="FILE", help="where to (default RUN/report.html)")
    parser.add_argument("--games", type=int, default=400, help="of each match that its checkpoint plays; 0 plays none")
    parser.set_defaults(run=run_report)


def run_report(given: argparse.Namespace) -> None:
    """Write the page and say where it is."""
    from mandala_env.arena.run_report import write_run_page

    use_one_torch_thread(["checkpoint"])
    print(write_run_page(given.run_folder, given.html, given.games))


def use_one_torch_thread(specs: list[str]) -> None:
    """A small network on many OpenMP threads is slower than on one, and much slower beside another process.

    Scripted players need no torch: it is not loaded for them.
    """
    if not set(specs) - {"random", "heuristic"}:
        return
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)


def add_play(commands: argparse._SubParsersAction) -> None:
    """`mandala play`."""
    parser = commands.add_parser("play", help="play against opponents in the terminal")
    parser.add_argument(
        "--against", nargs="+", default=["heuristic"], metavar="OPPONENT", help="one for all seats, or one for each"
    )
    parser.add_argument("--seat", type=int, default=0, help="your seat; player 0 begins (default 0)")
    parser.add_argument("--seed", type=int, help="fixes the deal")
    parser.add_argument("--hints", default="heuristic", metavar="OPPONENT", help="who answers when you ask for a hint")
    parser.add_argument("--save", type=Path, metavar="FILE", help="save the transcript there at the end")
    add_game(parser)
    parser.set_defaults(run=run_play)


def run_play(given: argparse.Namespace) -> None:
    """Play, then save the transcript."""
    from mandala_env.arena.terminal import Table, rivals_of
    from mandala_env.opponents.base import load_opponent

    use_one_torch_thread([given.hints, *given.against])
    game = game_of(given)
    opponents, names = rivals_of(game, given.against, given.seat)
    adviser = load_opponent(given.hints, game)
    transcript = Table(game, opponents, names, given.seed, adviser=adviser, read=input, write=print).play()
    if given.save:
        transcript.save(given.save)


def add_replay(commands: argparse._SubParsersAction) -> None:
    """`mandala replay FILE`."""
    parser = commands.add_parser("replay", help="show a saved game in the terminal, or make a page of it")
    parser.add_argument("file", type=Path, help="a transcript")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write one page that needs nothing else")
    parser.add_argument("--viewer", type=int, metavar="SEAT", help="what this seat sees (default everything)")
    parser.add_argument("--checkpoint", metavar="PATH", help="show what this player would do, and what it expects")
    parser.add_argument("--step", action="store_true", help="wait for Enter after each move")
    parser.set_defaults(run=run_replay)


def run_replay(given: argparse.Namespace) -> None:
    """Print the game, or write the page."""
    from mandala_env.arena.replay import replay_page, text_frames
    from mandala_env.opponents.base import load_opponent
    from mandala_env.transcript import read_transcript

    transcript = read_transcript(given.file)
    if given.viewer is not None:
        transcript.game.check_seat(given.viewer)
    adviser = None
    if given.checkpoint:
        use_one_torch_thread([given.checkpoint])
        adviser = load_opponent(given.checkpoint, transcript.game)
    if given.html:
        given.html.write_text(replay_page(transcript, given.viewer, adviser), encoding="utf-8")
        return
    for text in text_frames(transcript, given.viewer, adviser):
        print(text, flush=True)
        if given.step and input("Enter goes on, q leaves: ").strip().lower() == "q":
            return


def add_serve(commands: argparse._SubParsersAction) -> None:
    """`mandala serve`."""
    parser = commands.add_parser("serve", help="serve a page to play against opponents in the browser")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1: this machine)")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument(
        "--players", nargs="+", default=[], metavar="OPPONENT", help="checkpoints' folders; the first gives the hints"
    )
    parser.set_defaults(run=run_serve)


def run_serve(given: argparse.Namespace) -> None:
    """Serve until interrupted."""
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise ValueError(f"the page needs {error.name}: pip install 'mandala-env[play]'") from None
    from mandala_env.web.server import make_app

    if not 1 <= given.port <= 65535:
        raise ValueError(f"--port: expected a number from 1 to 65535, not {given.port}")
    if given.players:
        use_one_torch_thread(["checkpoint"])
    app = make_app(given.players, hosts=[given.host])
    print("getting ready; the first time this takes about a minute", file=sys.stderr, flush=True)
    app.state.lobby.get_ready()
    print(f"http://{given.host}:{given.port}", flush=True)
    uvicorn.run(app, host=given.host, port=given.port, log_level="warning")


def add_bench(commands: argparse._SubParsersAction) -> None:
    """`mandala bench`."""
    parser = commands.add_parser("bench", help="measure the speed of the engine and of the PettingZoo environment")
    parser.add_argument(
        "--seconds", type=positive, default=3, help="about how long each figure is measured (default 3)"
    )
    add_game(parser)
    parser.set_defaults(run=run_bench)


def run_bench(given: argparse.Namespace) -> None:
    """Measure and print."""
    from mandala_env.arena.bench import bench

    use_one_torch_thread(["champion"])
    for line in bench(game_of(given), given.seconds):
        print(line, flush=True)


def add_docs(commands: argparse._SubParsersAction) -> None:
    """`mandala docs`."""
    parser = commands.add_parser("docs", help="print a game's observation and action tables in Markdown")
    add_game(parser)
    parser.set_defaults(run=run_docs)


def run_docs(given: argparse.Namespace) -> None:
    """Print the tables."""
    game = game_of(given)
    print(f"## Observation of {game.id}\n\n{game.layout.table()}\n\n## Actions\n\n{game.actions.table()}")


def add_warmup(commands: argparse._SubParsersAction) -> None:
    """`mandala warmup`."""
    parser = commands.add_parser("warmup", help="compile the games and opponents now, so that their first use is fast")
    parser.set_defaults(run=run_warmup)


def run_warmup(given: argparse.Namespace) -> None:
    """Compile the kernels of every form of every game, on all processors, and say where they are kept."""
    from mandala_env.core.jit import cache_folder

    forms = [(game_id, options) for game_id in list_games() for options in list_variants(game_id)]
    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(forms))) as executor:
        for form, was_possible in zip(forms, executor.map(compile_in_a_process, forms), strict=True):
            if not was_possible:
                compile_form(*form)
            print(f"compiled {form[0]} {form[1] or ''}", file=sys.stderr)
    print(cache_folder())


def compile_in_a_process(form: tuple[str, dict[str, Any]]) -> bool:
    """Compile the kernels of one form of a game in a new process; was that possible?"""
    code = f"from mandala_env.cli import compile_form; compile_form(*{form!r})"
    return subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def compile_form(game_id: str, options: dict[str, Any]) -> None:
    """Compile the kernels of one form of a game."""
    from mandala_env.adapters.learner import LearnerGames
    from mandala_env.arena.bench import warm_up

    game = load_game(game_id, **options)
    warm_up(game)
    LearnerGames(game, 2).deal(0)
