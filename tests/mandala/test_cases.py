"""The cases of the rules of Mandala, one test for each, played from both seats.

R O Y G P K stand for red orange yellow green purple black. "I" am the player to move, in seat `me`.
"""

from __future__ import annotations

from typing import Any

import pytest

from mandala_env.core.game import IllegalAction
from mandala_env.registry import load_game

from .positions import LETTERS, Position, make, pile, size, together, without

ALL_COLOURS = list(LETTERS.values())


@pytest.fixture(scope="module")
def game() -> Any:
    """The game in its default reading."""
    return load_game("mandala_v0")


@pytest.fixture(scope="module")
def ending_game() -> Any:
    """The game in the reading that ends when the deck runs out for the second time."""
    return load_game("mandala_v0", second_exhaustion="end", max_turns=400)


@pytest.fixture(params=[0, 1], ids=["as_player_0", "as_player_1"])
def me(request: pytest.FixtureRequest) -> int:
    """The seat of the player to move."""
    return request.param


def legal(game: Any, position: Position) -> list[str]:
    """List the legal actions as text."""
    return [game.actions.text(action) for action in game.legal_actions(game.from_position(position, seed=0))]


def play(game: Any, position: Position, *actions: str) -> Position:
    """Play the actions one after the other and return the position after them."""
    state = game.from_position(position, seed=0)
    for action in actions:
        game.apply(state, game.actions.parse(action))
    return game.position(state)


def refuses(game: Any, position: Position, action: str) -> bool:
    """Say whether the game lists the action as illegal, refuses it, and is left as it was."""
    state = game.from_position(position, seed=0)
    action_id = game.actions.parse(action)
    if action_id in game.legal_actions(state):
        return False
    with pytest.raises(IllegalAction):
        game.apply(state, action_id)
    return game.position(state) == position


def of_kind(actions: list[str], start: str) -> list[str]:
    """Keep the rest of the actions that start with these words."""
    return [action.removeprefix(start).strip() for action in actions if action.startswith(f"{start} ")]


def hand_sizes(position: Position) -> list[int]:
    """Count both hands."""
    return [size(hand) for hand in position["hands"]]


# Set-up ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2, 12345])
def test_M01_a_new_game_deals_two_cards_to_each_mountain_six_to_each_hand_and_two_to_each_cup(
    game: Any, seed: int
) -> None:
    position = game.position(game.deal(seed))
    assert [size(area["mountain"]) for area in position["mandalas"]] == [2, 2]
    assert [area["fields"] for area in position["mandalas"]] == [[{}, {}], [{}, {}]]
    assert hand_sizes(position) == [6, 6]
    assert [size(cup) for cup in position["cups"]] == [2, 2]
    assert position["starting_cups"] == position["cups"]
    assert size(position["deck"]) == 88
    assert position["discard"] == {} and position["rivers"] == [[], []]
    assert (position["player"], position["phase"], position["turn"]) == (0, "play", 0)
    assert position["exhaustions"] == 0 and position["claiming"] is None


# The colour rule ------------------------------------------------------------------------------------------------------


def test_M02_a_colour_may_lie_in_one_of_the_three_areas_only(game: Any, me: int) -> None:
    position = make(me=me, mountain0="YP", my_field0="OR", rival_field0="G", mountain1="YP", hand="ROYGPK")
    actions = legal(game, position)
    assert of_kind(actions, "build 0") == ["yellow", "purple", "black"]
    assert of_kind(actions, "grow 0") == ["red 1", "orange 1", "black 1"]
    assert all(refuses(game, position, action) for action in ("build 0 red", "grow 0 yellow 1", "grow 0 green 1"))
    assert refuses(game, position, "build 0 green")


def test_M03_a_colour_that_is_shut_out_of_one_mandala_is_still_free_in_the_other(game: Any, me: int) -> None:
    actions = legal(game, make(me=me, mountain0="YP", rival_field0="G", mountain1="RO", hand="GGYP"))
    assert [rest for kind in ("build 0", "grow 0") for rest in of_kind(actions, kind) if "green" in rest] == []
    assert of_kind(actions, "build 1") == ["yellow", "green", "purple"]
    assert of_kind(actions, "grow 1") == ["yellow 1", "green 1", "green 2", "purple 1"]


def test_M04_a_colour_that_lies_in_the_mountain_may_be_added_to_the_mountain(game: Any, me: int) -> None:
    after = play(game, make(me=me, mountain0="YP", hand="YRRR"), "build 0 yellow")
    assert after["mandalas"][0]["mountain"] == pile("Y2 P")


def test_M05_a_colour_that_lies_in_my_field_may_be_added_to_my_field(game: Any, me: int) -> None:
    after = play(game, make(me=me, mountain0="YP", my_field0="R", hand="RRRG"), "grow 0 red 2")
    assert after["mandalas"][0]["fields"][me] == pile("R3")
    assert after["mandalas"][0]["fields"][1 - me] == {}


# A turn ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hand", "draws", "ends"), [("R6", 3, 8), ("R7", 2, 8), ("R8", 1, 8), ("R4", 3, 6), ("R1", 3, 3)]
)
def test_M07_a_build_draws_up_to_three_cards_and_up_to_a_hand_of_eight(
    game: Any, me: int, hand: str, draws: int, ends: int
) -> None:
    before = make(me=me, mountain0="YP", hand=hand)
    after = play(game, before, "build 0 red")
    assert size(after["hands"][me]) == ends
    assert size(before["deck"]) - size(after["deck"]) == draws
    assert together(after["hands"][me], after["deck"], pile("R")) == together(before["hands"][me], before["deck"])
    assert (after["player"], after["turn"]) == (1 - me, before["turn"] + 1)


@pytest.mark.parametrize(
    ("hand", "counts"), [("R3", ["red 1", "red 2"]), ("R", []), ("R3 G", ["red 1", "red 2", "red 3", "green 1"])]
)
def test_M09_a_grow_keeps_at_least_one_card_in_hand(game: Any, me: int, hand: str, counts: list[str]) -> None:
    position = make(me=me, mountain0="YP", hand=hand)
    assert of_kind(legal(game, position), "grow 0") == counts
    assert refuses(game, position, f"grow 0 red {size(pile(hand))}")


def test_M09_a_grow_draws_nothing(game: Any, me: int) -> None:
    before = make(me=me, mountain0="YP", hand="R3 G")
    after = play(game, before, "grow 0 red 3")
    assert after["hands"][me] == pile("G") and after["deck"] == before["deck"]


def test_M12_a_discard_may_take_the_whole_hand_and_draws_as_many(game: Any, me: int) -> None:
    before = make(me=me, hand="R6")
    assert of_kind(legal(game, before), "discard") == [f"red {count}" for count in range(1, 7)]
    after = play(game, before, "discard red 6")
    assert size(after["hands"][me]) == 6 and after["discard"] == pile("R6")
    assert together(after["hands"][me], after["deck"]) == before["deck"]


def test_M13_a_discard_never_starts_a_destruction(game: Any, me: int) -> None:
    before = make(me=me, mountain0="YP", my_field0="RO", rival_field0="G", hand="K3 R")
    after = play(game, before, "discard black 3")
    assert after["phase"] == "play" and after["mandalas"] == before["mandalas"]
    assert (after["player"], after["turn"]) == (1 - me, before["turn"] + 1)


# Who claims first -----------------------------------------------------------------------------------------------------


def test_M14_the_builder_draws_and_then_claims_first_with_more_field_cards(game: Any, me: int) -> None:
    before = make(me=me, mountain0="YYP", my_field0="RRRO", rival_field0="GGG", hand="KRRRRR")
    after = play(game, before, "build 0 black")
    assert size(after["hands"][me]) == 8
    assert (after["phase"], after["player"]) == ("claim", me)
    assert after["claiming"] == {"mandala": 0, "completer": me}
    assert legal(game, after) == ["claim yellow", "claim purple", "claim black"]
    assert after["turn"] == before["turn"], "the turn lasts until all is claimed"


def test_M15_with_equal_fields_the_player_who_did_not_complete_the_mandala_claims_first(game: Any, me: int) -> None:
    after = play(game, make(me=me, mountain0="YPP", my_field0="RO", rival_field0="GG", hand="KRR"), "build 0 black")
    assert (after["phase"], after["player"]) == ("claim", 1 - me)
    assert after["claiming"] == {"mandala": 0, "completer": me}


def test_M17_the_cards_that_complete_a_mandala_count_in_the_field(game: Any, me: int) -> None:
    after = play(game, make(me=me, mountain0="YP", my_field0="RO", rival_field0="GG", hand="KKR"), "grow 0 black 2")
    assert size(after["mandalas"][0]["fields"][me]) == 4
    assert (after["phase"], after["player"]) == ("claim", me)
    assert legal(game, after) == ["claim yellow", "claim purple"]


def test_M18_the_rival_with_more_field_cards_claims_first(game: Any, me: int) -> None:
    after = play(game, make(me=me, mountain0="YP", my_field0="R", rival_field0="GGGO", hand="KRR"), "build 0 black")
    assert (after["phase"], after["player"]) == ("claim", 1 - me)


def test_M19_cards_in_the_field_count_and_not_their_colours(game: Any, me: int) -> None:
    after = play(game, make(me=me, mountain0="YP", my_field0="R5", rival_field0="GGO", hand="KRR"), "build 0 black")
    assert (after["phase"], after["player"]) == ("claim", me)


# Claiming -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("river", "claim", "river_after", "to_the_cup"),
    [
        pytest.param("", "yellow", "Y", "Y2", id="M20_a_new_colour_lays_one_card_in_the_river"),
        pytest.param("Y", "yellow", "Y", "Y3", id="M21_a_colour_of_the_river_goes_to_the_cup"),
        pytest.param("Y", "purple", "YP", "", id="M22_a_single_new_card_goes_to_the_river"),
    ],
)
def test_M20_M21_M22_a_claim_fills_river_and_cup(
    game: Any, me: int, river: str, claim: str, river_after: str, to_the_cup: str
) -> None:
    before = make(
        me=me, mountain0="YYYPKK", my_field0="RO", rival_field0="G", river=river, phase="claim", claimed=0, completer=me
    )
    after = play(game, before, f"claim {claim}")
    assert after["rivers"][me] == [LETTERS[letter] for letter in river_after]
    assert after["cups"][me] == together(before["cups"][me], pile(to_the_cup))
    assert after["rivers"][1 - me] == [] and after["cups"][1 - me] == before["cups"][1 - me]
    assert claim not in after["mandalas"][0]["mountain"] and after["player"] == 1 - me


def test_M23_claims_of_a_player_with_an_empty_field_go_to_the_discard(game: Any, me: int) -> None:
    before = make(me=me, mountain0="YYPPG", my_field0="RK", hand="OR")
    completed = play(game, before, "grow 0 orange 1")
    assert (completed["phase"], completed["player"]) == ("claim", me)
    first = play(game, completed, "claim yellow")
    assert (first["phase"], first["player"]) == ("claim", 1 - me)
    assert first["rivers"][me] == ["yellow"] and first["cups"][me] == together(before["cups"][me], pile("Y"))
    assert first["discard"] == {}
    last = play(game, first, "claim purple")
    assert last["rivers"][me] == ["yellow", "green"], "the last colour is mine without asking"
    assert last["cups"][me] == first["cups"][me], "my single green card lies in the river"
    assert last["rivers"][1 - me] == [] and last["cups"][1 - me] == before["cups"][1 - me]
    assert last["discard"] == pile("PP ROK")
    assert (last["phase"], last["player"], last["turn"]) == ("play", 1 - me, before["turn"] + 1)


def test_M25_with_two_empty_fields_the_mountain_is_discarded_without_asking(game: Any, me: int) -> None:
    before = make(me=me, mountain0="RROYGP", hand="KRR")
    after = play(game, before, "build 0 black")
    assert after["discard"] == pile("RROYGPK")
    assert size(after["mandalas"][0]["mountain"]) == 2
    assert after["rivers"] == [[], []] and after["cups"] == before["cups"]
    assert (after["phase"], after["player"]) == ("play", 1 - me)


def test_M26_after_a_destruction_the_fields_are_discarded_and_a_new_mountain_of_two_cards_is_drawn(
    game: Any, me: int
) -> None:
    before = make(
        me=me, mountain0="YYP", my_field0="RRRO", rival_field0="GGG", mountain1="YP", my_field1="R", hand="KRR"
    )
    after = play(game, before, "build 0 black", "claim yellow", "claim purple")
    area = after["mandalas"][0]
    assert after["discard"] == pile("RRRO GGG")
    assert size(area["mountain"]) == 2 and area["fields"] == [{}, {}]
    drawn = together(without(after["hands"][me], pile("RR")), area["mountain"])
    assert together(drawn, after["deck"]) == before["deck"]
    assert after["mandalas"][1] == before["mandalas"][1]
    assert after["claiming"] is None
    assert (after["phase"], after["player"], after["turn"]) == ("play", 1 - me, before["turn"] + 1)


def test_M26_the_opponent_of_the_completer_moves_next_whoever_claimed_last(game: Any, me: int) -> None:
    i_claim_last = make(me=me, mountain0="YYP", my_field0="RRRO", rival_field0="GGG", hand="KRR")
    assert play(game, i_claim_last, "build 0 black", "claim yellow", "claim purple")["player"] == 1 - me
    rival_claims_last = make(me=me, mountain0="YY", my_field0="RRROP", rival_field0="GGG", hand="KRR")
    assert play(game, rival_claims_last, "build 0 black", "claim yellow")["player"] == 1 - me


# The end: a sixth colour ----------------------------------------------------------------------------------------------


def test_M28_a_sixth_colour_in_a_river_ends_the_game_after_all_claims(game: Any, me: int) -> None:
    before = make(
        me=me,
        mountain0="KKPPY",
        my_field0="RO",
        rival_field0="G",
        river="ROYGP",
        phase="claim",
        claimed=0,
        completer=me,
    )
    first = play(game, before, "claim black")
    assert len(first["rivers"][me]) == 6
    assert (first["phase"], first["player"]) == ("claim", 1 - me)
    last = play(game, first, "claim purple")
    assert last["phase"] == "over" and game.is_over(game.from_position(last, seed=0))
    assert last["rivers"][1 - me] == ["purple"] and "yellow" in last["cups"][me]
    assert last["mandalas"][0] == {"mountain": {}, "fields": [{}, {}]}, "no refill"
    assert last["deck"] == before["deck"]
    assert last["discard"] == pile("ROG")
    assert last["turn"] == before["turn"] + 1
    assert legal(game, last) == []


def test_M29_both_rivers_may_reach_six_colours_in_one_destruction(game: Any, me: int) -> None:
    before = make(
        me=me,
        mountain0="KKPPY",
        my_field0="RO",
        rival_field0="G",
        river="ROYGP",
        rival_river="ROYGK",
        phase="claim",
        claimed=0,
        completer=1 - me,
    )
    after = play(game, before, "claim black", "claim purple")
    assert [len(river) for river in after["rivers"]] == [6, 6]
    assert after["phase"] == "over"


def test_M30_a_later_claim_with_a_full_river_goes_to_the_cup(game: Any, me: int) -> None:
    before = make(
        me=me,
        mountain0="KPPYY",
        my_field0="RO",
        rival_field0="G",
        river="ROYGP",
        phase="claim",
        claimed=0,
        completer=me,
    )
    after = play(game, before, "claim black", "claim purple")
    assert after["rivers"][me] == [LETTERS[letter] for letter in "ROYGPK"]
    assert after["cups"][me] == together(before["cups"][me], pile("YY"))


# The end: the deck ----------------------------------------------------------------------------------------------------


def test_M31_a_deck_that_runs_out_during_a_draw_is_rebuilt_from_the_discard_and_the_draw_goes_on(
    game: Any, me: int
) -> None:
    before = make(me=me, mountain0="YP", hand="R6", deck="GG", discard="K5")
    after = play(game, before, "build 0 red")
    assert after["hands"][me] == pile("R5 G2 K1")
    assert after["deck"] == pile("K4") and after["discard"] == {}
    assert (after["exhaustions"], after["phase"]) == (1, "play")


def test_M32_a_deck_that_runs_out_with_the_last_card_that_is_due_is_rebuilt_at_once(game: Any, me: int) -> None:
    after = play(game, make(me=me, mountain0="YP", hand="R6", deck="GGG", discard="K5"), "build 0 red")
    assert after["hands"][me] == pile("R5 G3")
    assert after["deck"] == pile("K5") and after["discard"] == {}
    assert (after["exhaustions"], after["phase"]) == (1, "play")


def test_M33_a_deck_emptied_by_the_build_that_completes_a_mandala_ends_the_game_after_that_mandala(
    game: Any, me: int
) -> None:
    before = make(me=me, mountain0="YP", my_field0="RO", rival_field0="G", hand="K R5", deck="G", discard="K5")
    completed = play(game, before, "build 0 black")
    assert (completed["phase"], completed["player"], completed["exhaustions"]) == ("claim", me, 1)
    assert size(completed["hands"][me]) == 8
    after = play(game, completed, "claim yellow", "claim purple")
    assert after["phase"] == "over"
    assert after["mandalas"][0] == {"mountain": {}, "fields": [{}, {}]}
    assert after["deck"] == pile("K3") and after["discard"] == pile("ROG")


def test_M34_a_deck_emptied_by_the_refill_ends_the_game_with_the_next_completion(game: Any, me: int) -> None:
    before = make(
        me=me,
        mountain0="YP",
        my_field0="RO",
        rival_field0="G",
        mountain1="YP",
        my_field1="ROG",
        hand="KKR",
        rival_hand="KRO",
        deck="YP",
        discard="K5",
    )
    after = play(game, before, "grow 0 black 1", "claim yellow")
    assert (after["phase"], after["player"], after["exhaustions"]) == ("play", 1 - me, 1)
    assert after["mandalas"][0]["mountain"] == pile("YP")
    assert after["deck"] == pile("K6 R O G") and after["discard"] == {}, "the two fields are part of the new deck"
    completed = play(game, after, "build 1 black")
    assert completed["phase"] == "claim"
    over = play(game, completed, "claim yellow", "claim purple")
    assert over["phase"] == "over"
    assert over["mandalas"][1] == {"mountain": {}, "fields": [{}, {}]}


def test_M35_a_deck_that_runs_out_during_the_refill_is_rebuilt_for_its_second_card(game: Any, me: int) -> None:
    before = make(me=me, mountain0="YP", my_field0="RO", rival_field0="G", hand="KKR", deck="Y", discard="K5")
    after = play(game, before, "grow 0 black 1", "claim yellow")
    mountain = after["mandalas"][0]["mountain"]
    assert size(mountain) == 2 and "yellow" in mountain
    assert together(mountain, after["deck"]) == pile("Y K6 R O G") and after["discard"] == {}
    assert (after["phase"], after["exhaustions"]) == ("play", 1)


def test_M36_once_the_deck_has_run_out_the_next_completion_ends_the_game(game: Any, me: int) -> None:
    before = make(
        me=me, mountain0="YP", my_field0="RO", rival_field0="G", hand="KKR", deck_size=9, discard_size=3, exhaustions=1
    )
    after = play(game, before, "grow 0 black 1", "claim yellow")
    assert after["phase"] == "over"
    assert after["rivers"][me] == ["yellow"] and after["rivers"][1 - me] == ["purple"]
    assert after["mandalas"][0] == {"mountain": {}, "fields": [{}, {}]} and after["deck"] == before["deck"]


# Score ----------------------------------------------------------------------------------------------------------------


def finished(me: int, **cards: Any) -> Position:
    """Set up a game that ended with the mandala that was completed after the deck had run out."""
    return make(me=me, mountain0="", exhaustions=1, phase="over", **cards)


def test_M37_a_cup_card_scores_the_number_of_the_space_of_its_colour(game: Any, me: int) -> None:
    state = game.from_position(finished(me, river="ROYGPK", cup="R5 O2 Y4 G4 P2 K1"), seed=0)
    assert game.scores(state)[me] == 53


def test_M38_a_cup_card_scores_nothing_without_its_colour_in_the_river(game: Any, me: int) -> None:
    state = game.from_position(finished(me, river="RO", cup="R2 O1 G4"), seed=0)
    assert game.scores(state)[me] == 4
    assert game.payoffs(state)[me] == 1.0 and game.payoffs(state)[1 - me] == -1.0


def test_M39_with_equal_scores_the_smaller_cup_wins(game: Any, me: int) -> None:
    twelve, ten = {"river": "ROY", "cup": "Y9 O R P"}, {"rival_river": "KPG", "rival_cup": "G10"}
    state = game.from_position(finished(me, **twelve, **ten), seed=0)
    assert game.scores(state) == (30, 30)
    assert game.payoffs(state)[me] == -1.0 and game.payoffs(state)[1 - me] == 1.0


def test_M40_with_equal_scores_and_equal_cups_nobody_wins(game: Any, me: int) -> None:
    state = game.from_position(finished(me, river="ROY", cup="Y10", rival_river="KPG", rival_cup="G10"), seed=0)
    assert game.scores(state) == (30, 30)
    assert game.payoffs(state) == (0.0, 0.0)


# The deck runs out again, or nothing is left --------------------------------------------------------------------------


def test_M42_a_deck_that_runs_out_again_is_rebuilt_again(game: Any, me: int) -> None:
    before = make(me=me, mountain0="YP", hand="R6", deck="GG", discard="K4", exhaustions=1)
    after = play(game, before, "build 0 red")
    assert after["hands"][me] == pile("R5 G2 K1")
    assert after["deck"] == pile("K3") and after["discard"] == {}
    assert (after["exhaustions"], after["phase"], after["player"]) == (2, "play", 1 - me)


def test_M42_in_the_other_reading_the_second_time_ends_the_game_with_the_turn(ending_game: Any, me: int) -> None:
    before = make(me=me, mountain0="YP", hand="R6", deck="GG", discard="K4", exhaustions=1)
    after = play(ending_game, before, "build 0 red")
    assert after["hands"][me] == pile("R5 G2"), "a hand of seven"
    assert after["deck"] == {} and after["discard"] == pile("K4")
    assert (after["exhaustions"], after["phase"], after["player"]) == (2, "over", me)
    assert after["turn"] == before["turn"] + 1


@pytest.mark.parametrize("reading", ["reshuffle", "end"])
def test_M43_a_mandala_completed_by_the_turn_in_which_the_deck_runs_out_again_is_claimed_first(
    game: Any, ending_game: Any, me: int, reading: str
) -> None:
    played = game if reading == "reshuffle" else ending_game
    before = make(
        me=me, mountain0="YP", my_field0="RO", rival_field0="G", hand="K R5", deck="GG", discard="P4", exhaustions=1
    )
    completed = play(played, before, "build 0 black")
    assert (completed["phase"], completed["player"], completed["exhaustions"]) == ("claim", me, 2)
    assert size(completed["hands"][me]) == (8 if reading == "reshuffle" else 7)
    after = play(played, completed, "claim yellow", "claim purple")
    assert after["phase"] == "over" and after["turn"] == before["turn"] + 1
    assert after["rivers"][me] == ["yellow", "black"] and after["rivers"][1 - me] == ["purple"]
    assert after["mandalas"][0] == {"mountain": {}, "fields": [{}, {}]}


def test_M44_with_an_empty_discard_a_draw_takes_what_there_is_and_the_next_discard_is_shuffled_in(
    game: Any, me: int
) -> None:
    before = make(me=me, mountain0="YP", hand="R6", rival_hand="R2 O2", deck="G")
    built = play(game, before, "build 0 red")
    assert built["hands"][me] == pile("R5 G")
    assert built["deck"] == {} and built["discard"] == {}
    assert (built["exhaustions"], built["phase"], built["player"]) == (1, "play", 1 - me)
    discarded = play(game, built, "discard red 2")
    assert discarded["hands"][1 - me] == pile("R2 O2"), "the discarded cards are drawn again"
    assert discarded["deck"] == {} and discarded["discard"] == {}
    assert (discarded["exhaustions"], discarded["phase"], discarded["player"]) == (2, "play", me)


def test_M44_a_draw_from_nothing_is_no_further_exhaustion(game: Any, me: int) -> None:
    before = make(me=me, mountain0="YP", hand="R6", deck="", exhaustions=1)
    after = play(game, before, "build 0 red")
    assert after["hands"][me] == pile("R5")
    assert (after["exhaustions"], after["phase"], after["player"]) == (1, "play", 1 - me)


def test_M45_with_one_card_and_nothing_to_draw_only_a_discard_is_legal(game: Any, me: int) -> None:
    before = make(me=me, mountain0="YP", mountain1="YP", hand="R", deck="", exhaustions=1)
    assert legal(game, before) == ["discard red 1"]
    assert refuses(game, before, "build 0 red") and refuses(game, before, "grow 0 red 1")
    after = play(game, before, "discard red 1")
    assert after["hands"][me] == pile("R"), "the card itself is reshuffled and drawn"
    assert after["player"] == 1 - me


def test_M46_the_cards_just_discarded_are_part_of_the_discard_when_the_deck_is_rebuilt(game: Any, me: int) -> None:
    before = make(me=me, mountain0="YP", hand="R3", deck="G", discard="K2")
    after = play(game, before, "discard red 3")
    hand = after["hands"][me]
    assert size(hand) == 3 and hand["green"] == 1
    assert together(hand, after["deck"]) == pile("G R3 K2")
    assert size(after["deck"]) == 3 and after["discard"] == {}
    assert after["exhaustions"] == 1
    assert {colour for colour in ALL_COLOURS if colour in after["deck"]} <= {"red", "black"}


# Positions that cannot be ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"phase": "over"}, "a game that is over needs"),
        ({"deck": {}, "discard": "all"}, "the deck is empty"),
    ],
)
def test_a_position_that_no_game_reaches_is_refused(changes: dict, message: str) -> None:
    position = make(me=0, mountain0="YP", hand="R3 G")
    if changes.get("discard") == "all":
        changes = changes | {"discard": together(position["discard"], position["deck"])}
    with pytest.raises(ValueError, match=message):
        load_game("mandala_v0").from_position(position | changes)
