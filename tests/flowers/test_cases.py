"""The cases of the rules of Flowers, one test for each.

K P R are the dark colours grey purple red, G O Y the light ones green orange yellow; A B C D are players 0 to 3. "up"
and "down" are a player's cards in a mandala, face up and face down.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mandala_env.core.game import IllegalAction
from mandala_env.registry import load_game

from .positions import ALL_VALUES, COLOURS, Position, area, make, pile, size, together

A, B, C, D = range(4)


def game_of(position: Position, **options: Any) -> Any:
    """The game that a position belongs to."""
    return load_game("flowers_v0", num_players=len(position["hands"]), **options)


def legal(position: Position) -> list[str]:
    """List the legal actions as text."""
    game = game_of(position)
    return [game.actions.text(action) for action in game.legal_actions(game.from_position(position, seed=0))]


def play(position: Position, *actions: str, seed: int = 0, **options: Any) -> Position:
    """Play the actions one after the other and return the position after them."""
    game = game_of(position, **options)
    state = game.from_position(position, seed=seed)
    for action in actions:
        game.apply(state, game.actions.parse(action))
    return game.position(state)


def refuses(position: Position, action: str) -> bool:
    """Say whether the game lists the action as illegal, refuses it, and is left as it was."""
    game = game_of(position)
    state = game.from_position(position, seed=0)
    action_id = game.actions.parse(action)
    if action_id in game.legal_actions(state):
        return False
    with pytest.raises(IllegalAction):
        game.apply(state, action_id)
    return game.position(state) == position


def tiles_of(position: Position, player: int) -> tuple[dict, list]:
    """The single tiles and the flowers in front of a player."""
    return position["singles"][player], position["flowers"][player]


def in_mandala(position: Position, mandala: int, player: int) -> tuple[dict, dict]:
    """A player's cards in a mandala, face up and face down."""
    part = position["mandalas"][mandala]
    return part["face_up"][player], part["face_down"][player]


# Set-up ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("num_players", "in_deck"), [(2, 79), (3, 72), (4, 64)])
def test_F01_a_new_game_deals_five_six_seven_eight_cards_and_two_tiles_to_each_mandala(
    num_players: int, in_deck: int
) -> None:
    game = load_game("flowers_v0", num_players=num_players)
    position = game.position(game.deal(1))
    assert [size(hand) for hand in position["hands"]] == [5, 6, 7, 8][:num_players]
    assert size(position["deck"]) == in_deck
    assert [len(position["stacks"][kind]) for kind in ("dark", "light")] == [15, 15]
    for part in position["mandalas"]:
        assert part["tiles"]["dark"][0] in COLOURS[:3] and part["tiles"]["light"][0] in COLOURS[3:]
        assert part["marker"] is None and part["face_up"] == part["face_down"] == [{}] * num_players
    assert (position["player"], position["phase"], position["turn"]) == (0, "play", 0)
    assert position["known"] == [{}] * num_players and position["final"] is False and position["picking"] is None


# Play and draw --------------------------------------------------------------------------------------------------------


def test_F02_a_new_colour_is_laid_face_up_and_two_cards_draw_nothing() -> None:
    after = play(make(hands=["R2 G1", 5], areas=[area("K3 G2")]), "play 0 red 2")
    assert in_mandala(after, 0, A) == (pile("R2"), {})
    assert after["hands"][A] == pile("G1")


def test_F03_a_colour_on_a_tile_is_laid_face_down_and_one_card_draws_up_to_four() -> None:
    after = play(make(hands=["R2 G1", 5], areas=[area("K3 G2")]), "play 0 green 1")
    assert in_mandala(after, 0, A) == ({}, pile("G1"))
    assert size(after["hands"][A]) == 2 + 4


def test_F05_a_colour_that_lies_face_up_already_is_laid_face_down_even_by_its_owner() -> None:
    start = make(hands=["R2 G1", 5], areas=[area("K3 G2", up=["R1"], marker=A)])
    assert in_mandala(play(start, "play 0 red 2"), 0, A) == (pile("R1"), pile("R2"))


@pytest.mark.parametrize(
    ("in_hand_after_playing", "drawn"),
    [
        pytest.param(6, 2, id="F07"),
        pytest.param(3, 4, id="F08"),
        pytest.param(7, 1, id="F09"),
        pytest.param(8, 0, id="F10"),
        pytest.param(12, 0, id="F11"),
    ],
)
def test_F07_to_F11_after_one_card_the_hand_is_filled_up_to_eight_with_at_most_four(
    in_hand_after_playing: int, drawn: int
) -> None:
    after = play(make(hands=[f"R1 O{in_hand_after_playing}", 5]), "play 0 red 1")
    assert size(after["hands"][A]) == in_hand_after_playing + drawn


def test_F13_a_play_that_empties_the_hand_is_legal_only_if_a_card_is_drawn_for_it() -> None:
    start = make(hands=["R2", 5])
    assert refuses(start, "play 0 red 2")
    assert "play 0 red 1" in legal(start)
    assert "play 0 red 1" in legal(make(hands=["R1", 5]))


def test_F14_an_empty_deck_is_rebuilt_from_the_discard_in_the_middle_of_a_draw() -> None:
    after = play(make(hands=["R1 O2", 5], deck="Y1", discard="G10"), "play 0 red 1")
    assert after["hands"][A] == pile("O2 Y1 G3")
    assert after["deck"] == pile("G7") and after["discard"] == {}


def test_F14_a_deck_that_was_emptied_by_the_draw_is_rebuilt_only_when_a_card_is_due() -> None:
    after = play(make(hands=["R1 O2", 5], deck="Y4", discard="G10"), "play 0 red 1")
    assert after["hands"][A] == pile("O2 Y4")
    assert after["deck"] == {} and after["discard"] == pile("G10")


def test_F15_with_deck_and_discard_empty_the_draw_stops() -> None:
    after = play(make(hands=["R1 O2", 5], deck="", discard="G2"), "play 0 red 1")
    assert after["hands"][A] == pile("O2 G2")
    assert after["deck"] == after["discard"] == {}


def test_F16_a_player_whose_only_card_cannot_be_replaced_is_skipped_and_the_skipped_turn_counts() -> None:
    after = play(make(hands=["R2 O2", "Y1", 5], deck="", discard="", turn=3), "play 0 red 2")
    assert (after["player"], after["turn"], after["skipped"]) == (C, 5, [B])
    assert play(after, "play 0 grey 1")["skipped"] == []


def test_F16_whose_turn_was_skipped_is_seen_by_everybody_until_the_next_turn_is_over() -> None:
    position = make(hands=[5, "Y1", "R15 O2"], me=C, deck="", discard="", skipped=[B])
    game = load_game("flowers_v0", num_players=3)
    state = game.from_position(position)
    seen = [game.observe(state, seat) for seat in (A, B, C)]
    assert [int(game.layout.get(obs, "my_skipped")) for obs in seen] == [0, 1, 0]
    assert [game.layout.get(obs, "other_skipped").ravel().tolist() for obs in seen] == [[1, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize(
    ("skipped", "reason"),
    [
        ([A], "players just before player 2"),
        ([A] * 200, "players just before player 2"),
        ([A, B], "player 0 had a legal play"),
        ([3], "skipped"),
        (1, "a list"),
    ],
)
def test_F16_a_position_cannot_have_skipped_those_who_could_play(skipped: Any, reason: str) -> None:
    position = make(hands=[5, "Y1", "R15 O2"], me=C, deck="", discard="", skipped=skipped if skipped != 1 else [])
    if skipped == 1:
        position["skipped"] = 1
    with pytest.raises(ValueError, match=reason):
        load_game("flowers_v0", num_players=3).from_position(position)


def test_F16_a_position_that_does_not_say_who_was_skipped_means_nobody() -> None:
    position = make(hands=[5, 5])
    del position["skipped"]
    game = load_game("flowers_v0")
    assert game.position(game.from_position(position))["skipped"] == []


def test_F16_when_everybody_is_skipped_in_a_row_all_mandalas_are_destroyed_and_the_game_ends() -> None:
    one = area("K1 G1", up=["P15", "R14"], down=["K15", "G15"], marker=A)
    two = area("P1 O1", up=["Y14", ""], down=["", "O14"], marker=A)
    asked = play(make(hands=["R1 O1", "Y1"], areas=[one, two]), "play 1 red 1")
    assert (asked["phase"], asked["player"], asked["final"], asked["turn"]) == ("pick", A, True, 3)
    assert asked["picking"] == {"mandala": 0, "completer": None}
    after = play(asked, "pick dark")
    assert (after["phase"], after["final"], after["turn"], after["player"]) == ("over", True, 3, A)
    assert tiles_of(after, A)[0] == {"grey": 1, "purple": 1, "orange": 1} and tiles_of(after, B)[0] == {"green": 1}
    assert after["hands"] == [pile("O1"), pile("Y1 O14")]
    assert after["mandalas"][2] == asked["mandalas"][2]


# Claim check ----------------------------------------------------------------------------------------------------------


def test_F17_the_first_card_face_up_takes_the_marker() -> None:
    assert play(make(hands=["R1 O2", 5], areas=[area("K1 G1")]), "play 0 red 1")["mandalas"][0]["marker"] == A


def test_F18_players_without_a_card_face_up_are_ignored() -> None:
    start = make(me=B, hands=[5, "R1 O2", 5], areas=[area("K1 G1", down=["K3"])])
    assert play(start, "play 0 red 1")["mandalas"][0]["marker"] == B


def test_F19_a_first_card_face_up_counts_with_all_those_that_lie_face_down() -> None:
    start = make(hands=["O1 Y2", 5], areas=[area("K1 G1", up=["", "R1"], down=["K3", ""], marker=B)])
    assert play(start, "play 0 orange 1")["mandalas"][0]["marker"] == A


@pytest.mark.parametrize(("count", "holder"), [(2, A), (3, B)])
def test_F20_equal_does_not_move_the_marker_but_more_does(count: int, holder: int) -> None:
    start = make(me=B, hands=[5, "R5 O2"], areas=[area("K1 G1", up=["P3", "O1"], marker=A)])
    assert play(start, f"play 0 red {count}")["mandalas"][0]["marker"] == holder


def test_F22_the_check_concerns_the_active_player_only() -> None:
    mandala = area("K1 G1", up=["R2", "P1", ""], down=["", "K3", ""], marker=A)
    after = play(make(me=C, hands=[5, 5, "O1 Y2"], areas=[mandala]), "play 0 orange 1")
    assert after["mandalas"][0]["marker"] == A


# Complete -------------------------------------------------------------------------------------------------------------


def test_F23_the_sixth_colour_face_up_completes_a_mandala_and_a_card_face_down_never_does() -> None:
    mandala = area("K1 G1", up=["P1 R1", "O1"], marker=A)
    start = make(hands=["Y3 K1", 5], areas=[mandala])
    assert play(start, "play 0 grey 1")["mandalas"][0]["tiles"] == start["mandalas"][0]["tiles"]
    after = play(start, "play 0 yellow 3")
    assert after["mandalas"][0]["face_up"] == [{}, {}] and after["phase"] == "play"
    assert after["mandalas"][0]["tiles"] != start["mandalas"][0]["tiles"]


def test_F24_the_holder_picks_though_another_player_completed_and_the_player_after_the_completer_is_next() -> None:
    mandala = area("K1 G1", up=["P3", "R1", "O1", ""], marker=A)
    start = make(me=C, hands=[5, 5, "Y1 K3", 5], areas=[mandala])
    asked = play(start, "play 0 yellow 1")
    assert (asked["phase"], asked["player"], asked["picking"]) == ("pick", A, {"mandala": 0, "completer": C})
    assert asked["turn"] == start["turn"]
    game = game_of(start)
    state = game.from_position(asked)
    assert [game.actions.text(action) for action in game.legal_actions(state)] == ["pick dark", "pick light"]
    after = play(start, "play 0 yellow 1", "pick dark")
    assert (after["phase"], after["player"], after["turn"]) == ("play", D, start["turn"] + 1)
    assert [tiles_of(after, player)[0] for player in range(4)] == [{"grey": 1}, {}, {"green": 1}, {}]


# Destroy --------------------------------------------------------------------------------------------------------------


def test_F25_the_holder_picks_the_second_takes_the_other_tile_and_the_third_takes_the_cards_back() -> None:
    mandala = area("K3 G4", up=["P2 O1", "Y1", ""], down=["K1 G1", "K3", "K1"], marker=A)
    start = make(me=C, hands=[5, 5, "R1 Y3"], areas=[mandala], known=["", "", ""])
    after = play(start, "play 0 red 1", "pick light")
    assert [tiles_of(after, player)[0] for player in range(3)] == [{"green": 4}, {"grey": 3}, {}]
    assert after["discard"] == pile("P2 O1 Y1 K4 G1")
    drawn = size(after["hands"][C]) - size(pile("Y3 R1 K1"))
    assert drawn == 4 and after["known"] == [{}, {}, pile("R1 K1")]
    assert after["mandalas"][0]["marker"] is None


def test_F26_cards_that_lie_all_face_down_do_not_count_for_the_second_tile() -> None:
    mandala = area("K3 G4", up=["P3 O2", "", "Y1"], down=["", "K4", "K1"], marker=A)
    start = make(hands=["R1 Y3", 5, 5], areas=[mandala])
    after = play(start, "play 0 red 1", "pick dark")
    assert [tiles_of(after, player)[0] for player in range(3)] == [{"grey": 3}, {}, {"green": 4}]
    assert after["hands"][B] == together(start["hands"][B], pile("K4")) and after["known"][B] == pile("K4")


def test_F27_equal_seconds_are_told_apart_by_their_cards_face_up() -> None:
    mandala = area("K3 G4", up=["P3", "Y1", "O2"], down=["", "K2", "K1"], marker=A)
    after = play(make(hands=["R1 Y3", 5, 5], areas=[mandala]), "play 0 red 1", "pick dark")
    assert [tiles_of(after, player)[0] for player in range(3)] == [{"grey": 3}, {}, {"green": 4}]


def test_F28_seconds_that_are_equal_in_both_leave_both_tiles_to_the_holder() -> None:
    mandala = area("K3 G4", up=["P3", "Y1", "O1"], down=["", "K2", "K2"], marker=A)
    start = make(hands=["R1 Y3", 5, 5], areas=[mandala])
    after = play(start, "play 0 red 1")
    assert after["phase"] == "play" and after["player"] == B
    assert tiles_of(after, A)[0] == {"grey": 3, "green": 4}
    assert after["known"] == [{}, pile("Y1 K2"), pile("O1 K2")]


def test_F31_two_players_the_completer_takes_both_if_the_other_has_less_than_half_of_the_cards() -> None:
    mandala = area("K3 G4", up=["P3", "Y1 O1"], marker=A)
    after = play(make(hands=["R1 Y3", 5], areas=[mandala]), "play 0 red 1")
    assert tiles_of(after, A)[0] == {"grey": 3, "green": 4}
    assert after["known"][B] == pile("Y1 O1")


def test_F31_in_the_other_reading_half_as_many_cards_as_the_completer_are_enough() -> None:
    mandala = area("K3 G4", up=["P3", "Y1 O1"], marker=A)
    start = make(hands=["R1 Y3", 5], areas=[mandala])
    after = play(start, "play 0 red 1", "pick light", two_player_rule="half_of_rival")
    assert [tiles_of(after, player)[0] for player in (A, B)] == [{"green": 4}, {"grey": 3}]
    mandala = area("K3 G4", up=["P4", "Y1 O1"], marker=A)
    start = make(hands=["R1 Y3", 5], areas=[mandala])
    assert tiles_of(play(start, "play 0 red 1", two_player_rule="half_of_rival"), A)[0] == {"grey": 3, "green": 4}


def test_F32_two_players_with_half_of_the_cards_each_get_one_tile_and_the_holder_picks() -> None:
    mandala = area("K3 G4", up=["P2", "Y1 O1"], down=["", "K1"], marker=B)
    start = make(hands=["R1 Y3", 5], areas=[mandala])
    asked = play(start, "play 0 red 1")
    assert (asked["player"], asked["phase"]) == (B, "pick")
    after = play(start, "play 0 red 1", "pick light")
    assert [tiles_of(after, player)[0] for player in (A, B)] == [{"grey": 3}, {"green": 4}]


def test_F32_half_of_the_cards_without_one_face_up_gets_nothing() -> None:
    mandala = area("K3 G4", up=["P1 Y1 O1", ""], down=["", "K9"], marker=A)
    after = play(make(hands=["R1 Y3", 5], areas=[mandala]), "play 0 red 1")
    assert tiles_of(after, A)[0] == {"grey": 3, "green": 4} and after["known"][B] == pile("K9")


def test_F33_the_other_player_holds_the_marker_with_more_than_half_and_picks() -> None:
    mandala = area("K3 G4", up=["P2", "Y1 O1"], down=["", "K3"], marker=B)
    start = make(hands=["R1 Y3", 5], areas=[mandala])
    after = play(start, "play 0 red 1", "pick dark")
    assert [tiles_of(after, player)[0] for player in (A, B)] == [{"green": 4}, {"grey": 3}]
    assert after["player"] == B and after["turn"] == 1


# Flowers --------------------------------------------------------------------------------------------------------------


def about_to_take_both(tiles: str, **parts: Any) -> Position:
    """A completes mandala 0 with a red or another card and takes both of its tiles."""
    colours = [letter for letter in "KPRGOY" if letter not in tiles]
    mandala = area(tiles, up=["".join(colours[1:]), ""], marker=A)
    return make(hands=[f"{colours[0]}1 Y3", 5], areas=[mandala], **parts) | {"last": colours[0]}


def complete(position: Position, **options: Any) -> Position:
    """Let A complete mandala 0."""
    word = {"K": "grey", "P": "purple", "R": "red", "G": "green", "O": "orange", "Y": "yellow"}[position.pop("last")]
    return play(position, f"play 0 {word} 1", **options)


def test_F34_two_single_tiles_of_a_colour_become_a_flower_at_once() -> None:
    assert tiles_of(complete(about_to_take_both("Rx G4", singles=["R3"])), A) == ({"green": 4}, [["red", 3, "x3"]])


def test_F35_a_second_flower_of_the_same_colour() -> None:
    start = about_to_take_both("R5 G4", singles=["R2"], flowers=["R1+3"])
    assert tiles_of(complete(start), A) == ({"green": 4}, [["red", 1, 3], ["red", 2, 5]])
    start = about_to_take_both("R5 G4", flowers=["R1+3"])
    assert tiles_of(complete(start), A) == ({"red": 5, "green": 4}, [["red", 1, 3]])


def test_F36_both_tiles_of_a_mandala_can_make_a_flower_each() -> None:
    start = about_to_take_both("R5 G4", singles=["R2 G1"])
    assert tiles_of(complete(start), A) == ({}, [["red", 2, 5], ["green", 1, 4]])


def test_F38_a_third_flower_on_the_turn_of_another_player_ends_the_game_after_the_turn() -> None:
    mandala = area("R5 G4", up=["P3", "Y1", "O1"], down=["R1", "R2", ""], marker=A)
    lying = area("P1 O1", up=["", "", "K1"], down=["P2", "", ""], marker=C)
    start = make(me=C, turn=8, hands=[5, 5, "K1 Y3"], areas=[mandala, lying], singles=["R2"], flowers=["K1+2 Y1+x"])
    after = play(start, "play 0 grey 1", "pick dark")
    assert (after["phase"], after["final"], after["turn"], after["player"]) == ("over", True, 9, A)
    assert tiles_of(after, A)[1] == [["grey", 1, 2], ["red", 2, 5], ["yellow", 1, "x3"]]
    assert after["mandalas"][0]["tiles"] == {"dark": None, "light": None}
    assert len(after["stacks"]["dark"]) == len(start["stacks"]["dark"])
    assert tiles_of(after, C)[0] == {"purple": 1, "orange": 1}
    assert after["known"][A] == pile("P2")
    assert tiles_of(after, B)[0] == {"green": 4}


# Final destructions ---------------------------------------------------------------------------------------------------


def ending(*lying: dict, **parts: Any) -> Position:
    """A completes mandala 0 and makes the third flower with it; the other mandalas are given."""
    mandala = area("R5 G4", up=["PYO", ""], marker=A)
    ends = {"singles": ["R2"], "flowers": ["K1+2 Y1+x"]} | parts
    return make(hands=["K1 Y3", "P2 O2"], areas=[mandala, *lying], **ends) | {"last": "K"}


def test_F40_a_final_destruction_goes_to_the_holder_and_cards_face_down_go_back() -> None:
    after = complete(ending(area("P1 O1", up=["K1", ""], down=["", "P2"], marker=A)))
    assert after["phase"] == "over"
    assert tiles_of(after, A)[0] == {"green": 4, "purple": 1, "orange": 1}
    assert after["hands"][B] == pile("P4 O2") and after["known"][B] == pile("P2")


def test_F40_two_players_the_rule_of_half_is_not_for_the_final_destructions() -> None:
    asked = complete(ending(area("P1 O1", up=["K1 R9", "G1"], marker=A)))
    assert (asked["phase"], asked["player"], asked["final"]) == ("pick", A, True)
    assert asked["picking"] == {"mandala": 1, "completer": None} and asked["turn"] == 1
    after = play(asked, "pick light")
    assert after["phase"] == "over" and after["turn"] == 1
    assert tiles_of(after, B)[0] == {"purple": 1} and tiles_of(after, A)[0] == {"green": 4, "orange": 1}


def test_F41_without_a_holder_nobody_gets_a_tile_and_the_tiles_stay() -> None:
    after = complete(ending(area("P1 O1", down=["O1", "P2"])))
    assert after["phase"] == "over" and tiles_of(after, B) == ({}, [])
    assert after["mandalas"][1]["tiles"] == {"dark": ["purple", 1], "light": ["orange", 1]}
    assert after["hands"][B] == pile("P4 O2")


def test_F42_flowers_that_are_made_in_the_final_destructions_count() -> None:
    after = complete(ending(area("Px O1", up=["K1", ""], marker=A), singles=["R2 P5"]))
    assert ["purple", 5, "x3"] in tiles_of(after, A)[1]
    game = game_of(after)
    assert game.scores(game.from_position(after))[A] == (2 * 1 + 2) + 3 * 1 + (2 * 2 + 5) + 3 * 5 + 4 + 1


@pytest.mark.parametrize("picks_first", [1, 2])
def test_the_final_destructions_come_in_random_order(picks_first: int) -> None:
    two = [area("P1 O1", up=["K1", "G1"], marker=A), area("P2 O2", up=["", "K1"], down=["P1", ""], marker=B)]
    two[1]["up"] = ["G1", "K2"]
    start = ending(*two)
    found = [play(start | {}, "play 0 grey 1", seed=seed) for seed in range(20) if start.pop("last", True)]
    first = [after["picking"]["mandala"] for after in found]
    assert picks_first in first and set(first) == {1, 2}
    for after in found:
        assert after["player"] == {1: A, 2: B}[after["picking"]["mandala"]]
        over = play(after, "pick dark", "pick dark")
        assert over["phase"] == "over"


# Score ----------------------------------------------------------------------------------------------------------------


def finished(**parts: Any) -> Position:
    """A position after the end of the game."""
    return make(**parts) | {"phase": "over", "final": True}


def test_F44_single_tiles_and_flowers_score() -> None:
    values = ALL_VALUES | {"orange": (1, 2, 3, 4, 4, "x3")}
    position = finished(hands=[5, 5], singles=["K4 Yx"], flowers=["R2+5 O4+4 G5+x"], values=values)
    game = game_of(position, tile_values=values)
    assert game.scores(game.from_position(position))[A] == 4 + 0 + 9 + 12 + 15 == 40


def test_F44_a_flower_of_two_x3_is_worth_nothing() -> None:
    values = ALL_VALUES | {"orange": (1, 2, 3, 4, "x3", "x3")}
    position = finished(hands=[5, 5], flowers=["Ox+x"], values=values)
    game = game_of(position, tile_values=values)
    assert game.scores(game.from_position(position)) == (0, 0)


@pytest.mark.parametrize(
    ("hands", "payoffs"),
    [([4, 6], (-1.0, 1.0)), ([6, 4], (1.0, -1.0)), ([5, 5], (0.0, 0.0))],
)
def test_F46_on_a_tie_the_larger_hand_wins_and_still_equal_they_share(hands: list, payoffs: tuple) -> None:
    position = finished(hands=hands, flowers=["Kx+5 P5+x", "Gx+5 Ox+5"], singles=["R1", "Y1"])
    game = game_of(position)
    state = game.from_position(position)
    assert game.scores(state) == (31, 31) and game.payoffs(state) == payoffs


def test_F46_winners_share_and_losers_share() -> None:
    position = finished(hands=[5, 5, 5, 5], singles=["R5", "Y5", "G1", ""])
    game = game_of(position)
    assert game.payoffs(game.from_position(position)) == (0.5, 0.5, -0.5, -0.5)
    position = finished(hands=[5, 5, 5], singles=["R5", "Y5", "G1"])
    assert game_of(position).payoffs(game_of(position).from_position(position)) == (0.5, 0.5, -1.0)


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_F48_all_cards_and_tiles_are_somewhere_at_all_times_and_no_hand_is_empty(num_players: int) -> None:
    game = load_game("flowers_v0", num_players=num_players)
    chance = np.random.default_rng(num_players)
    for seed in range(5):
        state = game.deal(seed)
        while not game.is_over(state):
            game.apply(state, int(chance.choice(game.legal_actions(state))))
            counts = state.deck.astype(int) + state.discard + state.hands.sum(axis=0)
            counts += (state.face_up + state.face_down).sum(axis=(0, 1))
            assert counts.tolist() == [15] * 6 and (state.hands.sum(axis=1) >= 1).all()
            num_tiles = state.stacks.sum() + (state.tiles > 0).sum() + (state.singles > 0).sum()
            assert num_tiles + 2 * (state.flower_lows > 0).sum() == 36


# Readings -------------------------------------------------------------------------------------------------------------


def test_the_last_turn_is_finished_in_full_and_scored_as_it_stands() -> None:
    mandala = area("K3 G4", up=["P3", "Y1 O1"], marker=A)
    lying = area("P1 O1", up=["K1", ""], marker=A)
    start = make(turn=9, hands=["R1 Y3", 5], areas=[mandala, lying])
    game = game_of(start, max_turns=10)
    state = game.from_position(start)
    game.apply(state, game.actions.parse("play 0 red 1"))
    after = game.position(state)
    assert (after["phase"], after["final"], after["turn"], after["player"]) == ("over", False, 10, A)
    assert tiles_of(after, A)[0] == {"grey": 3, "green": 4}
    assert after["mandalas"][0]["tiles"] == {"dark": None, "light": None}
    assert after["mandalas"][1] == start["mandalas"][1]
    assert state.adjudicated == 1 and game.scores(state) == (7, 0)


def test_a_third_flower_in_the_last_turn_ends_the_game_as_always() -> None:
    start = ending(area("P1 O1", up=["K1", ""], marker=A))
    after = complete(start, max_turns=1)
    assert (after["phase"], after["final"]) == ("over", True)
    assert tiles_of(after, A)[0] == {"green": 4, "purple": 1, "orange": 1}


def test_the_game_ends_when_a_new_mandala_cannot_be_set() -> None:
    one = area("K1 G1", up=["", "", "", "P1 R1 O1"], marker=D)
    two = area("P1 O1", up=["", "", "", "K1"], marker=D)
    start = make(
        me=D,
        hands=[5, 5, 5, "Y1 K3"],
        areas=[one, two, area("R1 Y1")],
        singles=["K4 P4 R4 G4 O4 Y4", "K5 P5 R5 G5 O5 Y5", "Kx Px Rx Gx Ox Yx"],
        flowers=["K2+3 P2+3", "R2+3 G2+3", "O2+3", "Y2+3"],
    )
    assert start["stacks"] == {"dark": [], "light": []}
    after = play(start, "play 0 yellow 1")
    assert (after["phase"], after["final"]) == ("over", True)
    assert tiles_of(after, D)[0] == {"grey": 1, "purple": 1, "green": 1, "orange": 1}
    assert [part["tiles"]["dark"] for part in after["mandalas"]] == [None, None, ["red", 1]]


def test_a_card_that_came_back_is_known_until_it_is_played() -> None:
    mandala = area("K3 G4", up=["P3", "Y1 O1"], down=["", "G1"], marker=A)
    start = make(hands=["R1 Y3", "G1 P2"], areas=[mandala])
    after = play(start, "play 0 red 1")
    assert after["known"][B] == pile("Y1 O1 G1") and after["hands"][B] == pile("Y1 O1 G2 P2")
    assert play(after, "play 1 green 1")["known"][B] == pile("Y1 O1")
    assert play(after, "play 1 purple 1")["known"][B] == pile("Y1 O1 G1")
