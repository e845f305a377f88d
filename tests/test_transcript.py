"""A transcript replays its game exactly, whatever it was played with, and what is no transcript is refused by line."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mandala_env import flowers_v0, list_games, load_game, mandala_v0
from mandala_env.arena.match import evaluate
from mandala_env.registry import list_variants
from mandala_env.transcript import (
    LARGEST_FILE,
    LONGEST_LINE,
    Start,
    Transcript,
    TranscriptError,
    parse_transcript,
    read_transcript,
)
from tests.contract.playing import same

VARIANTS = [(game_id, options) for game_id in list_games() for options in list_variants(game_id)]
VARIANTS += [
    ("mandala_v0", {"second_exhaustion": "end", "max_turns": 40}),
    ("flowers_v0", {"num_players": 3, "tile_values": (1, 1, 2, 9, "x3", "x3")}),
]


@pytest.fixture(params=VARIANTS, ids=str)
def game(request: pytest.FixtureRequest) -> Any:
    """Each game in several forms."""
    game_id, options = request.param
    return load_game(game_id, **options)


def random_game(game: Any, seed: int) -> tuple[Transcript, list[Any]]:
    """A random game as a transcript, and its states."""
    rng = np.random.default_rng(seed)
    start = Start(seed)
    state, states, actions = start.state(game), [], []
    while not game.is_over(state):
        states.append(game.copy(state))
        actions.append(int(rng.choice(game.legal_actions(state))))
        game.apply(state, actions[-1])
    names = tuple(f"name {seat}" for seat in range(game.num_players))
    return Transcript(game, start, names, tuple(actions)), [*states, state]


def test_a_transcript_replays_every_state_and_reads_as_it_was_written(game: Any, tmp_path: Path) -> None:
    for seed in range(3):
        transcript, states = random_game(game, seed)
        transcript.save(tmp_path / "game.txt")
        again = read_transcript(tmp_path / "game.txt")
        assert again == transcript and again.text() == transcript.text()
        moments = list(again.moments())
        assert len(moments) == len(states) == len(transcript.actions) + 1
        assert all(same(moment.state, state) for moment, state in zip(moments, states, strict=True))
        assert all(
            moment.last == (game.player(before), game.actions.text(action))
            for moment, before, action in zip(moments[1:], states, transcript.actions, strict=False)
        )
        assert transcript.text().splitlines()[-1] == f"score: {' '.join(map(str, game.scores(states[-1])))}"


def test_a_game_that_is_not_finished_can_be_saved_too(game: Any) -> None:
    transcript, states = random_game(game, 1)
    for length in (0, 1, len(transcript.actions) // 2):
        part = Transcript(game, transcript.start, transcript.players, transcript.actions[:length])
        assert "score" not in part.text()
        assert same(list(parse_transcript(part.text()).moments())[-1].state, states[length])


def test_skipped_turns_are_comments() -> None:
    game = load_game("flowers_v0", num_players=3)
    for seed in range(200):
        transcript, states = random_game(game, seed)
        skips = sum(int(state.skipped.sum()) for state in states if state.phase == 0)
        if skips:
            lines = transcript.text().splitlines()
            assert sum(line.endswith("is skipped") and line.startswith("# player_") for line in lines) >= skips
            assert parse_transcript(transcript.text()) == transcript
            return
    raise AssertionError("nobody was skipped in 200 random games")


# --- where transcripts come from ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [mandala_v0.env, flowers_v0.env, lambda: flowers_v0.raw_env(num_players=4)])
def test_an_environment_gives_the_transcript_of_its_game_however_it_was_reset(make: Any) -> None:
    env = make()
    rng = np.random.default_rng(1)

    def play(steps: int) -> None:
        for _ in range(steps):
            if not any(env.terminations.values()):
                env.step(rng.choice(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])))

    def check() -> None:
        again = parse_transcript(env.unwrapped.transcript().text())
        assert same(list(again.moments())[-1].state, env.unwrapped._single.state)

    env.reset()
    check()
    play(10)
    check()
    position = env.unwrapped.position()
    env.reset(seed=3)
    play(500)
    check()
    assert "seed: 3\n" in env.unwrapped.transcript().text()
    for arguments in ({}, {"options": {"position": position}}, {"seed": 4, "options": {"position": position}}):
        env.reset(**arguments)
        play(12)
        check()
    fresh = make()
    fresh.reset(options={"position": position})
    with pytest.raises(RuntimeError, match="call reset"):
        make().unwrapped.transcript()


def test_the_transcript_of_a_game_that_an_illegal_action_ended_says_so() -> None:
    env = mandala_v0.env()
    env.reset(seed=1)
    env.step(int(np.flatnonzero(env.last()[0]["action_mask"] == 0)[0]))
    transcript = env.unwrapped.transcript()
    assert transcript.text().endswith("# player_0 chose 'build 0 red', which is not legal: the game ended\n")
    assert parse_transcript(transcript.text()) == transcript
    env.reset(seed=1)
    assert "not legal" not in env.unwrapped.transcript().text()


def test_a_match_saves_its_first_games_and_they_are_those_that_were_played(tmp_path: Path) -> None:
    for game_id, options in VARIANTS[:3]:
        game = load_game(game_id, **options)
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        n = 4 * game.num_players
        saved = evaluate(
            "heuristic", ["random", "heuristic"], game=game, games=n, transcripts=folder, num_transcripts=n
        )
        assert saved == evaluate("heuristic", ["random", "heuristic"], game=game, games=n)
        for number, match in enumerate(saved):
            games = [read_transcript(folder / f"match-{number}-game-{row}.txt") for row in range(n)]
            ends = [list(transcript.moments())[-1].state for transcript in games]
            assert all(game.is_over(end) for end in ends)
            seats = [row % game.num_players for row in range(n)]
            points = [game.scores(end)[seat] for end, seat in zip(ends, seats, strict=True)]
            assert np.mean(points) == pytest.approx(match.points)
            for transcript, seat in zip(games, seats, strict=True):
                assert transcript.players[seat] == match.player
        few = tmp_path / "few"
        evaluate("random", "random", game=game, games=n, transcripts=few / game_id, num_transcripts=3)
        assert len(list((few / game_id).iterdir())) == 3


# --- what is refused ----------------------------------------------------------------------------------------------

GOOD = """\
mandala transcript 1
game: mandala_v0
options: {"max_turns": 50}
seed: 3
players: ["a", "b"]
1 player_0: build 0 red
2 player_1: build 1 green
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mandala transcript 1", "mandala transcript 2", "line 1: expected 'mandala transcript 1'"),
        ("mandala transcript 1\n", "", "line 1: expected 'mandala transcript 1'"),
        ("game: mandala_v0\n", "", "does not say which game"),
        ("mandala_v0", "chess", "line 2: unknown game 'chess'"),
        ('{"max_turns": 50}', '{"max_tunrs": 50}', "line 3: options: mandala_v0 has no option max_tunrs"),
        ('{"max_turns": 50}', '{"max_turns": [50]}', "line 3: options: max_turns must be a whole number"),
        ('{"max_turns": 50}', "[" * 9000, "line 3: options: expected JSON"),
        ('{"max_turns": 50}', "[1]", "line 3: options: expected an object"),
        ("seed: 3\n", "", "expected either a seed or a generator"),
        ("seed: 3\n", "seed: 3\ngenerator: 4\n", "expected either a seed or a generator"),
        ("seed: 3", "seed: -3", "line 4: seed: expected a whole number"),
        ("seed: 3", "seed: three", "line 4: seed: expected JSON"),
        ("seed: 3", "seed: true", "line 4: seed: expected a whole number"),
        ("seed: 3", "generator: 18446744073709551616", "line 4: generator: expected a whole number"),
        ("seed: 3", "seed: 3\nseed: 3", "line 5: seed is there twice"),
        ("seed: 3", 'seed: 3\nposition: {"a": 1}', "line 5: position: missing game"),
        ("seed: 3", "seed: 3\nposition: 7", "line 5: position: expected an object"),
        ('["a", "b"]', '["a"]', "line 5: players: expected a list of 2 names"),
        ('["a", "b"]', '["a", "' + "b" * 201 + '"]', "line 5: players: expected a list of 2 names"),
        ("players:", "plyers:", "line 5: expected one of game, options"),
        ("1 player_0: build 0 red", "1 player_1: build 0 red", "line 6: expected turn 1 and player_0 here"),
        ("1 player_0: build 0 red", "2 player_0: build 0 red", "line 6: expected turn 1 and player_0 here"),
        ("build 0 red", "claim red", "line 6: 'claim red' is not legal here"),
        ("build 0 red", "build 0 blue", "line 6: 'build 0 blue' is not an action"),
        ("1 player_0: build 0 red", "import os", "line 6: expected one of game"),
        ("2 player_1: build 1 green", "seed: 4", "line 7: expected a move"),
        ("2 player_1: build 1 green", "score: 1 2", "line 7: there is a score, but the game is not over"),
        ("build 1 green", "x" * (LONGEST_LINE + 1), "line 7: longer than"),
    ],
)  # fmt: skip
def test_what_is_no_transcript_is_refused_with_the_line(old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(TranscriptError) as caught:
        parse_transcript(GOOD.replace(old, new, 1), "a file")
    assert str(caught.value).startswith("a file, line ") and said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_good_one_is_good_also_with_comments_and_other_line_ends() -> None:
    plain = parse_transcript(GOOD)
    assert plain == parse_transcript(GOOD.replace("\n", "\r\n"))
    assert plain == parse_transcript(GOOD.replace("seed", "\n# a comment\n\nseed").encode())


def test_a_wrong_score_and_moves_behind_the_end_are_refused() -> None:
    transcript, _ = random_game(load_game("mandala_v0"), 1)
    lines = transcript.text().splitlines()
    with pytest.raises(TranscriptError, match=f"line {len(lines)}: the score of this game is"):
        parse_transcript("\n".join([*lines[:-1], "score: 1 2"]))
    with pytest.raises(TranscriptError, match="expected nothing after the score"):
        parse_transcript("\n".join([*lines, lines[-2]]))
    with pytest.raises(TranscriptError, match="the game is over before this move"):
        parse_transcript("\n".join([*lines[:-1], "99 player_0: build 0 red"]))


def test_files_that_are_no_text_or_too_large_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"mandala transcript 1\n\xff\xfe")
    with pytest.raises(TranscriptError, match="line 2: this is no text"):
        read_transcript(path)
    path.write_bytes(b"#" * (LARGEST_FILE + 1))
    with pytest.raises(TranscriptError, match="larger than"):
        read_transcript(path)
    path.write_bytes(b"\x80\x04\x95pickle")
    with pytest.raises(TranscriptError, match="line 1"):
        read_transcript(path)
    with pytest.raises(FileNotFoundError):
        read_transcript(tmp_path / "nothing")


def test_random_damage_is_refused_or_harmless() -> None:
    transcript, _ = random_game(load_game("flowers_v0"), 2)
    text, rng = transcript.text(), np.random.default_rng(0)
    for _ in range(150):
        place, letter = int(rng.integers(len(text))), chr(int(rng.integers(32, 127)))
        with contextlib.suppress(TranscriptError):  # anything else is an error
            parse_transcript(text[:place] + letter + text[place + 1 :])
