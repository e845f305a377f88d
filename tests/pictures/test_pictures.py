"""A picture shows what its viewer knows, all of it and nothing else, always in the same frame."""

import json
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest

from mandala_env.pictures.canvas import Canvas, places
from mandala_env.pictures.glyphs import CARD_HEIGHT, CARD_WIDTH, DEFINITIONS, PAINT, SIGNS
from mandala_env.pictures.svg import svg
from mandala_env.registry import load_picture
from tests.contract.playing import sample, walk

SVG = "{http://www.w3.org/2000/svg}"


def uses(drawing: str, kind: str) -> list[str]:
    """The shapes of a kind, such as cards, that a drawing uses."""
    return re.findall(rf'href="#({kind}[\w-]*)"', drawing)


def parts_of(drawing: str) -> set[str]:
    """The parts of a drawing that can be pointed at."""
    return set(re.findall(r'data-part="([^"]*)"', drawing))


def test_dealing_the_hidden_cards_anew_changes_nothing_that_a_viewer_is_shown(game: Any, facts: Any) -> None:
    rng = np.random.default_rng(4)
    for state in sample(game, every=25):
        if game.is_over(state):
            continue  # then the cups are opened
        for seat in range(game.num_players):
            other = game.copy(state)
            facts.redeal(other, seat, rng)
            assert game.seen(other, seat) == game.seen(state, seat)
            assert game.svg(other, seat) == game.svg(state, seat)


def test_what_is_seen_is_plain_data_and_has_no_hidden_pile(game: Any) -> None:
    for state in sample(game, every=40):
        for seat in (None, *range(game.num_players)):
            seen = game.seen(state, seat)
            assert json.loads(json.dumps(seen)) == seen
            assert isinstance(seen["deck"], int)
            assert {"hands", "starting_cups", "cups", "known"} & seen.keys() == set()
            hidden = [other["hand_hidden"] for other in seen["seats"]]
            assert (sum(hidden) == 0) if seat is None else (hidden[seat] == 0)


def test_who_sees_everything_sees_every_card_that_does_not_lie_in_the_deck(game: Any) -> None:
    for state in sample(game, every=25):
        drawing = game.svg(state, has_definitions=False)
        num_cards = len(uses(drawing, "card-")) + len(uses(drawing, "spot-")) + len(uses(drawing, "back"))
        everything = sum(int(np.sum(state[name])) for name in game.axes if name in CARD_FIELDS)
        everything += int((state.river_spaces > 0).sum()) if "river_spaces" in state.dtype.names else 0
        if game.id == "flowers_v0":  # a card face down is a back with a spot; the colours that are there are spots, too
            num_cards -= len(uses(drawing, "spot-"))
        assert num_cards - min(3, int(state.deck.sum())) == everything


CARD_FIELDS = ("discard", "hands", "cups", "mountains", "fields", "face_up", "face_down")


def test_every_legal_action_can_be_chosen_by_pointing_and_by_no_other_parts(game: Any) -> None:
    picture = load_picture(game.id)
    for state in sample(game, every=15):
        seat, chosen = game.player(state), set()
        for width in (960, 480):
            there = parts_of(game.svg(state, seat, width=width))
            for action in game.legal_actions(state):
                parts = picture.parts(game.actions.text(action))
                assert {part for part in parts if not part.startswith("count ")} <= there
                chosen.add(parts)
        assert len(chosen) == len(game.legal_actions(state))
    with pytest.raises(ValueError, match="is not an action of"):
        picture.parts("jump 3")


def test_nobody_points_at_a_picture_of_everything(game: Any) -> None:
    for state in sample(game, every=60):
        assert parts_of(game.svg(state)) == set()


def test_a_drawing_is_well_formed_and_has_one_size_for_a_whole_game(game: Any) -> None:
    for width in (960, 480):
        sizes = set()
        for step, state in enumerate(walk(game, 3)):
            if step % 9 == 0 or game.is_over(state):
                root = ElementTree.fromstring(game.svg(state, step % game.num_players, width=width))
                sizes.add((root.get("width"), root.get("height"), root.get("viewBox")))
                ids = [element.get("id") for element in root.iter() if element.get("id")]
                assert len(ids) == len(set(ids))
                for use in root.iter(f"{SVG}use"):
                    assert use.get("href", "").removeprefix("#") in ids
        assert len(sizes) == 1 and sizes.pop()[0] == str(width)


def test_names_and_the_last_move_are_shown_and_cannot_break_out(game: Any) -> None:
    state = next(walk(game, 1))
    action = game.legal_actions(state)[0]
    last = (game.player(state), game.actions.text(action))
    game.apply(state, action)
    names = ["<b>&\"'"] * (game.num_players - 1) + ["x" * 100]
    drawing = game.svg(state, 0, names=names, last=last)
    ElementTree.fromstring(drawing)
    assert "<b>" not in drawing and "&lt;b&gt;" in drawing and "x" * 30 not in drawing
    assert last[1] in drawing and last[1] not in game.svg(state, 0)


def test_what_cannot_be_drawn_is_refused(game: Any) -> None:
    seen = game.seen(game.deal(1))
    with pytest.raises(ValueError, match="width must be 960"):
        svg(seen, width=123)
    with pytest.raises(ValueError, match=f"names must be {game.num_players} strings"):
        svg(seen, names=["one"])
    with pytest.raises(ValueError, match="player must be a seat"):
        game.svg(game.deal(1), 9)


def test_the_colours_of_both_games_have_signs_of_their_own_drawn_as_paths(game: Any) -> None:
    assert set(game.colours) <= set(PAINT) == set(SIGNS)
    assert len(set(SIGNS.values())) == len(SIGNS)
    assert "<text" not in DEFINITIONS
    for colour in game.colours:
        shape = next(line for line in DEFINITIONS.splitlines() if f'id="card-{colour}"' in line)
        assert "<path" in shape


def luminance(paint: str) -> float:
    """How bright a colour is, 0 to 1 (WCAG)."""
    parts = [int(paint[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_sign_stands_out_from_its_card_even_in_grey() -> None:
    for paint, ink in PAINT.values():
        low, high = sorted((luminance(paint), luminance(ink)))
        assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.parametrize("counts", [[1], [8], [18], [1] * 7, [15, 3, 9, 1, 2, 15], [3, 2]])
@pytest.mark.parametrize("room", [60, 200, 900])
def test_a_fan_stays_in_its_room(counts: list[int], room: float) -> None:
    width = 40 * CARD_WIDTH / CARD_HEIGHT
    found = places(counts, room, 40)
    assert found[0][0] == 0
    start, step = found[-1]
    assert start + (counts[-1] - 1) * step + width <= room + 1e-9
    canvas = Canvas()
    canvas.fan({}, 0, 0, room, 40)
    assert str(canvas) == ""


def test_the_points_that_are_told_are_the_games(game: Any) -> None:
    for state in sample(game, every=30):
        points = [seat["points"] for seat in game.seen(state)["seats"]]
        assert tuple(points) == game.scores(state)
        if game.is_over(state):
            assert [seat["points"] for seat in game.seen(state, 0)["seats"]] == points
