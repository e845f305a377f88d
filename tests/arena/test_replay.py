"""A replay shows every moment of a game, to a seat only what it saw, and a policy's opinion where it may be known."""

import json
import re
from typing import Any

import pytest

from mandala_env import load_opponent
from mandala_env.arena.replay import replay_data, replay_page, text_frames
from mandala_env.opponents.advice import advise
from mandala_env.opponents.checkpoint import NetworkOpponent
from mandala_env.transcript import Start, Transcript
from tests.contract.playing import walk
from tests.sampling import make_network


def played(game: Any, names: tuple[str, ...]) -> Transcript:
    """30 actions of a game, always the first legal one."""
    state, actions = Start(2).state(game), []
    while len(actions) < 30 and not game.is_over(state):
        actions.append(game.legal_actions(state)[0])
        game.apply(state, actions[-1])
    return Transcript(game, Start(2), names, tuple(actions))


@pytest.fixture
def transcript(game: Any) -> Transcript:
    """A game that somebody with a strange name played."""
    return played(game, ("</script><script>alert(1)//", *["b"] * (game.num_players - 1)))


def test_there_is_a_text_for_every_moment(transcript: Transcript) -> None:
    game = transcript.game
    for viewer in (None, 1):
        frames = list(text_frames(transcript, viewer))
        moments = list(transcript.moments())
        assert len(frames) == len(transcript.actions) + 1
        for frame, moment in zip(frames, moments, strict=True):
            assert game.render(moment.state, viewer) in frame
            assert "the deal" in frame if moment.last is None else moment.last[1] in frame


def test_the_data_have_a_drawing_and_the_policy_of_every_moment(transcript: Transcript) -> None:
    game = transcript.game
    network = NetworkOpponent(game, 0, make_network(game))
    data = replay_data(transcript, None, network)
    assert json.loads(json.dumps(data)) == data
    assert len(data["frames"]) == len(transcript.actions) + 1
    for frame, moment, action in zip(data["frames"], transcript.moments(), transcript.actions, strict=False):
        advice = advise(network, moment.state)
        assert "<defs>" not in frame["svg"] and frame["value"] == advice.value
        chances = {text: chance for text, chance, _ in frame["choices"]}
        assert frame["choices"][0][0] == game.actions.text(advice.choices[0][0])
        assert [text for text, _, is_played in frame["choices"] if is_played] == [game.actions.text(action)]
        assert chances[game.actions.text(action)] == dict(advice.choices)[action]


def test_a_seat_is_shown_the_policy_of_its_own_decisions_only(transcript: Transcript) -> None:
    game = transcript.game
    data = replay_data(transcript, 1, load_opponent("heuristic", game))
    for frame, moment in zip(data["frames"], transcript.moments(), strict=True):
        may_know = game.player(moment.state) == 1 and not game.is_over(moment.state)
        assert ("choices" in frame) == may_know
        seen = game.svg(moment.state, 1, names=transcript.players, last=moment.last, has_definitions=False)
        assert frame["svg"] == seen


def test_the_page_needs_nothing_else_and_names_cannot_break_out(transcript: Transcript) -> None:
    page = replay_page(transcript, None, load_opponent("heuristic", transcript.game))
    assert page.count("<script") == page.count("</script>") == 2
    assert not re.search(r'(src|href)="(?!#)', page)
    assert "http://www.w3.org/2000/svg" in page and len(re.findall("https?://", page)) == page.count("www.w3.org/2000")


def test_advice_is_over_the_legal_actions_and_sums_to_one(game: Any) -> None:
    network = NetworkOpponent(game, 0, make_network(game))
    for step, state in enumerate(walk(game, 5)):
        if step % 10 or game.is_over(state):
            continue
        advice = advise(network, state)
        chances = [chance for _, chance in advice.choices]
        assert sorted(action for action, _ in advice.choices) == game.legal_actions(state)
        assert sum(chances) == pytest.approx(1) and chances == sorted(chances, reverse=True)
        assert advice.value is not None and -1 <= advice.value <= 1
        observation, mask = game.observe(state, game.player(state))[None], game.action_mask(state)[None]
        assert advice.choices[0][0] == network.act(observation, mask)[0]
