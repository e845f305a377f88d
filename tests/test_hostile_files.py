"""Whatever is in a file: it loads and works, or one clear error comes soon and in bounded memory; nothing is run."""

import contextlib
import faulthandler
import io
import json
import os
import re
import resource
import shutil
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from stable_baselines3.common.logger import Logger

from mandala_env import load_game, load_opponent
from mandala_env.arena.run_report import run_page
from mandala_env.files import write_file
from mandala_env.policies.checkpoint import save_checkpoint
from mandala_env.transcript import Start, Transcript, read_transcript
from tests.damage import break_bytes, break_tree, replace_file, tricky
from tests.sampling import decisions, make_network
from tests.sb3_models import save_model
from tests.threads import one_thread  # noqa: F401
from tests.training.dying import CONFIG
from training.selfplay import SelfPlayPPO
from training.state import read_state, restore_state, save_state
from training.train import read_arguments

MANDALA, FLOWERS = load_game("mandala_v0"), load_game("flowers_v0", num_players=3)
SHORT, LONG = 30, 2000  # damaged files of each kind
SECONDS, MEMORY = 1.0, 2**30  # what one may take: of the processor, and bytes besides those of the process
FORBIDDEN = (
    "pickle.find_class", "exec", "compile", "import", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn",
    "os.fork", "socket.connect", "ctypes.dlopen", "os.mkdir", "os.remove", "os.rename", "os.rmdir",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """One kind of file.

    make   write a good one
    load   read it and do with it what one does with it; raises ValueError
    parse, dump  its content as plain data, and back
    """

    name: str
    make: Callable[[Path], object]
    load: Callable[[Path], object]
    parse: Callable[[bytes], Any] = json.loads
    dump: Callable[[Any, bytes], bytes] = lambda tree, old: json.dumps(tree).encode()


# --- the kinds ----------------------------------------------------------------------------------------------------


def make_checkpoint(path: Path) -> None:
    save_checkpoint(path.parent, MANDALA, make_network(MANDALA), training={"decisions": 3}, metrics={}, card="")


def use_checkpoint(path: Path) -> None:
    observations, masks = decisions(MANDALA, 2, 2)
    actions = load_opponent(f"checkpoint:{path.parent}", MANDALA).act(observations, masks)
    assert masks[np.arange(len(masks)), actions].all()


def make_state(path: Path) -> None:
    model = training_model()
    model.learn(2 * 32)
    save_state(path, model, json.loads(json.dumps(asdict(CONFIG))))


def use_state(path: Path) -> None:
    model = training_model()
    restore_state(model, *read_state(path))
    with contextlib.suppress(RuntimeError):  # finite weights can be so large that training diverges, and says so
        model.learn(32)


def training_model() -> SelfPlayPPO:
    model = SelfPlayPPO(load_game(CONFIG.game, **CONFIG.options), CONFIG)
    model.set_logger(Logger(None, []))
    return model


def played(game: Any, moves: int) -> Any:
    """A game after some random moves."""
    state, rng = game.deal(4), np.random.default_rng(4)
    for _ in range(moves):
        game.apply(state, int(rng.choice(game.legal_actions(state))))
    return state


def make_transcript(game: Any) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        start = Start(3, 0, game.position(played(game, 5)))
        names = ("a", "b", "c")[: game.num_players]
        Transcript(game, start, names, played_on(game, start.state(game))).save(path)

    return make


def make_position(game: Any) -> Callable[[Path], None]:
    return lambda path: write_file(path, json.dumps(game.position(played(game, 30))))


def played_on(game: Any, state: Any) -> tuple[int, ...]:
    """Always the first legal action, 20 times at most."""
    actions = []
    while len(actions) < 20 and not game.is_over(state):
        actions.append(game.legal_actions(state)[0])
        game.apply(state, actions[-1])
    return tuple(actions)


def use_transcript(path: Path) -> None:
    transcript = read_transcript(path)
    assert len(list(transcript.moments())) == len(transcript.actions) + 1
    transcript.text()


def parse_transcript_lines(content: bytes) -> list[Any]:
    """A line each: a header's as [key, value], others as they are."""
    lines = content.decode().splitlines()
    return [[line.split(": ")[0], json.loads(line.split(": ", 1)[1])] if '"' in line else line for line in lines]


def is_entry(line: Any) -> bool:
    return isinstance(line, list) and len(line) == 2


def dump_transcript_lines(tree: Any, old: bytes) -> bytes:
    lines = tree if isinstance(tree, list) else [tree]
    texts = [f"{line[0]}: {json.dumps(line[1])}" if is_entry(line) else str(line)[:9000] for line in lines]
    return "\n".join(texts).encode("utf-8", "surrogatepass")


def use_position(game: Any) -> Callable[[Path], None]:
    def use(path: Path) -> None:
        try:
            position = json.loads(path.read_text(encoding="utf-8"))
        except RecursionError:
            raise ValueError("no position") from None
        state = game.from_position(position, 0)
        assert game.from_position(game.position(state), 0).tobytes() == state.tobytes()
        moves = 0
        while not game.is_over(state):
            game.apply(state, game.legal_actions(state)[-1])
            moves += 1
            assert moves < 10_000
        game.scores(state)

    return use


def use_preset(path: Path) -> None:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            config, _ = read_arguments([str(path)])
        load_game(config.game, **config.options)
    except SystemExit:
        assert "error" in said.getvalue()
        raise ValueError(said.getvalue()[-300:]) from None


def parse_safetensors(content: bytes) -> Any:
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    if "__metadata__" in header:
        header["__metadata__"]["state"] = json.loads(header["__metadata__"]["state"])
    return header


def dump_safetensors(header: Any, old: bytes) -> bytes:
    with contextlib.suppress(LookupError, TypeError):
        header["__metadata__"]["state"] = json.dumps(header["__metadata__"]["state"])
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + old[8 + int.from_bytes(old[:8], "little") :]


def parse_zip(content: bytes) -> Any:
    return json.loads(zipfile.ZipFile(io.BytesIO(content)).read("data"))


def dump_zip(tree: Any, old: bytes) -> bytes:
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(old)) as source, zipfile.ZipFile(result, "w") as target:
        target.writestr("policy.pth", source.read("policy.pth"))
        target.writestr("data", json.dumps(tree))
    return result.getvalue()


def use_zip(path: Path) -> None:
    observations, masks = decisions(MANDALA, 2, 2)
    actions = load_opponent(f"sb3:{path}", MANDALA).act(observations, masks)
    assert masks[np.arange(len(masks)), actions].all()


def make_run(path: Path) -> None:
    """What a run leaves, as far as its page reads it."""
    make_checkpoint(path.parent / "checkpoint" / "model.safetensors")
    match = {"against": "random", "games": 10, "score": 0.5, "interval": [0.4, 0.6], "turns": 20.0}
    metrics = {"evaluation": [{**match, "points": 3.0, "rival_points": 2.5}]}
    write_file(path.parent / "checkpoint" / "metrics.json", json.dumps(metrics))
    write_file(path.parent / "league.json", json.dumps({"self-1": {"heuristic": 0.4}, "learner": {"self-1": 0.6}}))
    rows = [
        {
            "time/iteration": number, "time/decisions": 64 * number, "train/entropy": 2.0 / number,
            "league/self-1": 0.5, "evaluation/random": 0.6, "evaluation/random_low": 0.5, "evaluation/random_high": 0.7,
        }
        for number in range(1, 6)
    ]  # fmt: skip
    write_file(path.parent / "progress.json", dump_lines(rows, b""))
    write_file(path.parent / "config.yaml", "name: a run\n")


def parse_lines(content: bytes) -> Any:
    return [json.loads(line) for line in content.splitlines()]


def dump_lines(tree: Any, old: bytes) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in (tree if isinstance(tree, list) else [tree])).encode()


def use_run(path: Path) -> None:
    text = run_page(path.parent, games=0)
    assert text.endswith("</html>\n") and "<script" not in text
    assert not re.search(r'="[^"]*\b(nan|inf)\b', text), "a place in a picture is no number"


def dump_yaml(tree: Any, old: bytes) -> bytes:
    return json.dumps(tree).encode()  # JSON is YAML, and written much faster


def kinds() -> Iterator[Kind]:
    yield Kind("model.safetensors", make_checkpoint, use_checkpoint, parse_safetensors, dump_safetensors)
    yield Kind("config.json", make_checkpoint, use_checkpoint)
    yield Kind("state.safetensors", make_state, use_state, parse_safetensors, dump_safetensors)
    for game in (MANDALA, FLOWERS):
        make = make_transcript(game)
        yield Kind(f"{game.id}.txt", make, use_transcript, parse_transcript_lines, dump_transcript_lines)
        yield Kind(f"{game.id}.json", make_position(game), use_position(game))
    preset = yaml.safe_dump(json.loads(json.dumps(asdict(CONFIG))))
    yield Kind("preset.yaml", lambda path: path.write_text(preset), use_preset, yaml.safe_load, dump_yaml)
    yield Kind("progress.json", make_run, use_run, parse_lines, dump_lines)
    yield Kind("league.json", make_run, use_run)
    yield Kind("model.zip", lambda path: save_model(path, MANDALA), use_zip, parse_zip, dump_zip)


KINDS = list(kinds())
# Those that a reader opens, and that have to be there.
FILES = [kind for kind in KINDS if kind.name not in ("mandala_v0.json", "flowers_v0.json", "league.json")]

# --- the proof ----------------------------------------------------------------------------------------------------

watching: list[list[str]] = []


def watch(event: str, arguments: tuple) -> None:
    """An audit hook: notes what no file may bring about."""
    if watching and (event in FORBIDDEN or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR))):
        watching[-1].append(f"{event}{arguments}"[:300])


@pytest.fixture(scope="module", autouse=True)
def watched() -> Iterator[None]:
    """Notice a process that hangs in compiled code, and what a file brings about."""
    sys.addaudithook(watch)
    yield
    faulthandler.cancel_dump_traceback_later()


def judge(kind: Kind, path: Path, what: str) -> bool:
    """Load a file; is it good? Anything but success and a clear error in time is a failure."""
    faulthandler.dump_traceback_later(60, exit=True)
    seen: list[str] = []
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
    before = resource.getrlimit(resource.RLIMIT_AS)
    if pages:
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    start = time.process_time()
    watching.append(seen)
    try:
        kind.load(path)
        is_good = True
    except (ValueError, OSError) as error:
        is_good, message = False, str(error)
        assert 5 < len(message) < 3000, (what, message[:3000])
    finally:
        watching.pop()
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert time.process_time() - start < SECONDS, what
    assert seen == [], what
    return is_good


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind], Path]:
    """A good file of a kind in a folder of its own, loaded once so that everything is compiled and imported."""

    @cache
    def make(kind: Kind) -> Path:
        path = tmp_path_factory.mktemp("good") / "folder" / kind.name
        path.parent.mkdir()
        kind.make(path)
        kind.load(path)
        return path

    return make


@pytest.mark.parametrize("number", [SHORT, pytest.param(LONG, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_damaged_file_loads_and_works_or_is_refused(
    kind: Kind, number: int, original: Callable[[Kind], Path], tmp_path: Path
) -> None:
    rng, refused = np.random.default_rng(number), 0
    folder = tmp_path / "folder"
    shutil.copytree(original(kind).parent, folder)
    path, content = folder / kind.name, original(kind).read_bytes()
    tree = kind.parse(content)
    for index in range(number):
        broken = break_bytes(content, rng) if rng.random() < 0.5 else kind.dump(break_tree(tree, rng), content)
        path.write_bytes(broken)
        refused += not judge(kind, path, f"{kind.name} {index}: {broken[:2000]!r}")
    assert refused > number // 5


@pytest.mark.parametrize("kind", FILES, ids=lambda kind: kind.name)
def test_what_is_no_file_of_that_kind_is_refused(kind: Kind, original: Callable[[Kind], Path], tmp_path: Path) -> None:
    for number in range(9):
        folder = tmp_path / str(number)
        shutil.copytree(original(kind).parent, folder)
        what = replace_file(folder / kind.name, number, tmp_path / "sprung")
        assert not judge(kind, folder / kind.name, what), what
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_what_would_do_harm_is_refused(kind: Kind, original: Callable[[Kind], Path], tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(original(kind).parent, folder)
    for what, content in tricky(kind.name, original(kind), tmp_path / "sprung"):
        (folder / kind.name).write_bytes(content)
        is_good = judge(kind, folder / kind.name, what)
        assert not is_good or what in ("names", "repeated"), what
    assert not (tmp_path / "sprung").exists()
