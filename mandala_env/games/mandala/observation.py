"""What a player with perfect memory knows: written as an observation, and dealt back from one.

An observation holds counts and labels only, from the viewer's seat. The cards that the viewer cannot place (deck,
rival's hand and the rival's two starting cup cards) are one pile, `unseen`; hidden cards never move a number.
"""

from typing import Any

from mandala_env.core.jit import jit
from mandala_env.core.layout import DIGIT, Layout
from mandala_env.core.piles import load, size, store, take_random, total
from mandala_env.games.mandala.rules import STARTING_CUP
from mandala_env.games.mandala.state import (
    CARDS_PER_COLOUR,
    HAND_LIMIT,
    NO_MANDALA,
    NUM_COLOURS,
    NUM_MANDALAS,
    NUM_PLAYERS,
)

ALL_CARDS = NUM_COLOURS * CARDS_PER_COLOUR

_COLOUR, _BOTH = ("colour",), ("mandala", "colour")
LAYOUT = Layout.build(
    {"colour": NUM_COLOURS, "mandala": NUM_MANDALAS},
    [
        ("hand", _COLOUR, HAND_LIMIT, "cards in my hand"),
        ("unseen", _COLOUR, CARDS_PER_COLOUR, "cards in the deck, the rival's hand or the rival's starting cup"),
        ("discard", _COLOUR, CARDS_PER_COLOUR, "cards in the discard"),
        ("mountain", _BOTH, CARDS_PER_COLOUR, "cards in the mountain"),
        ("my_field", _BOTH, CARDS_PER_COLOUR, "cards in my field"),
        ("rival_field", _BOTH, CARDS_PER_COLOUR, "cards in the rival's field"),
        ("my_cup", _COLOUR, CARDS_PER_COLOUR, "cards in my cup, the starting ones included"),
        ("my_starting_cup", _COLOUR, STARTING_CUP, "the cards of my cup that the rival has not seen"),
        ("rival_cup", _COLOUR, CARDS_PER_COLOUR, "cards that the rival has claimed into the cup"),
        ("my_river", _COLOUR, NUM_COLOURS, "space of the colour in my river, 0 if it is not there", True),
        ("rival_river", _COLOUR, NUM_COLOURS, "space of the colour in the rival's river", True),
        ("rival_hand_size", (), HAND_LIMIT, "cards in the rival's hand"),
        ("deck_size", (), ALL_CARDS, "cards in the deck"),
        ("my_move", (), 1, "1 if I decide next (after the end: if I acted last)"),
        ("phase", (), 2, "0 play, 1 claim, 2 over", True),
        ("claiming", ("mandala",), 1, "1 for the mandala that is being destroyed"),
        ("i_completed", (), 1, "1 if I completed the mandala that is being destroyed"),
        ("exhaustions_hundreds", (), DIGIT - 1, "how often the deck ran out, hundreds"),
        ("exhaustions", (), DIGIT - 1, "how often the deck ran out, units"),
        ("turns_left_hundreds", (), DIGIT - 1, "turns until the game is ended, hundreds"),
        ("turns_left", (), DIGIT - 1, "turns until the game is ended, units"),
        ("second_exhaustion_ends", (), 1, "1 if the game ends when the deck runs out a second time"),
    ],
)

HAND = LAYOUT["hand"].start
UNSEEN = LAYOUT["unseen"].start
DISCARD = LAYOUT["discard"].start
MOUNTAIN = LAYOUT["mountain"].start
MY_FIELD = LAYOUT["my_field"].start
RIVAL_FIELD = LAYOUT["rival_field"].start
MY_CUP = LAYOUT["my_cup"].start
MY_STARTING_CUP = LAYOUT["my_starting_cup"].start
RIVAL_CUP = LAYOUT["rival_cup"].start
MY_RIVER = LAYOUT["my_river"].start
RIVAL_RIVER = LAYOUT["rival_river"].start
RIVAL_HAND_SIZE = LAYOUT["rival_hand_size"].start
DECK_SIZE = LAYOUT["deck_size"].start
MY_MOVE = LAYOUT["my_move"].start
PHASE = LAYOUT["phase"].start
CLAIMING = LAYOUT["claiming"].start
I_COMPLETED = LAYOUT["i_completed"].start
EXHAUSTIONS_HUNDREDS = LAYOUT["exhaustions_hundreds"].start
EXHAUSTIONS = LAYOUT["exhaustions"].start
TURNS_LEFT_HUNDREDS = LAYOUT["turns_left_hundreds"].start
TURNS_LEFT = LAYOUT["turns_left"].start
SECOND_EXHAUSTION_ENDS = LAYOUT["second_exhaustion_ends"].start


@jit
def encode(state: Any, player: int, obs: Any) -> None:
    """Write all that a player knows into obs, int8 of shape (F,)."""
    rival = 1 - player
    rival_hand, rival_start = load(state.hands[rival]), load(state.starting_cups[rival])
    # In rising order of their places: a store also clears the two bytes behind it.
    store(obs, HAND, load(state.hands[player]))
    store(obs, UNSEEN, load(state.deck) + rival_hand + rival_start)
    store(obs, DISCARD, load(state.discard))
    for mandala in range(NUM_MANDALAS):
        store(obs, MOUNTAIN + mandala * NUM_COLOURS, load(state.mountains[mandala]))
    for mandala in range(NUM_MANDALAS):
        store(obs, MY_FIELD + mandala * NUM_COLOURS, load(state.fields[mandala, player]))
    for mandala in range(NUM_MANDALAS):
        store(obs, RIVAL_FIELD + mandala * NUM_COLOURS, load(state.fields[mandala, rival]))
    store(obs, MY_CUP, load(state.cups[player]))
    store(obs, MY_STARTING_CUP, load(state.starting_cups[player]))
    store(obs, RIVAL_CUP, load(state.cups[rival]) - rival_start)
    store(obs, MY_RIVER, load(state.river_spaces[player]))
    store(obs, RIVAL_RIVER, load(state.river_spaces[rival]))
    obs[RIVAL_HAND_SIZE] = total(rival_hand)
    obs[DECK_SIZE] = size(state.deck)
    obs[MY_MOVE] = state.player == player
    obs[PHASE] = state.phase
    for mandala in range(NUM_MANDALAS):
        obs[CLAIMING + mandala] = state.claiming == mandala
    obs[I_COMPLETED] = state.claiming != NO_MANDALA and state.completer == player
    turns_left = state.max_turns - state.turn
    obs[EXHAUSTIONS_HUNDREDS] = state.exhaustions // DIGIT
    obs[EXHAUSTIONS] = state.exhaustions % DIGIT
    obs[TURNS_LEFT_HUNDREDS] = turns_left // DIGIT
    obs[TURNS_LEFT] = turns_left % DIGIT
    obs[SECOND_EXHAUSTION_ENDS] = state.second_exhaustion_ends


@jit
def imagine(obs: Any, state: Any) -> None:
    """Deal a state that the viewer of obs takes to be possible; the viewer is player 0.

    The unseen cards go to the rival's hand, the rival's starting cup and the deck at random, by the state's generator.
    The turns are counted from here: turn is 0 and max_turns is what was left.
    """
    for colour in range(NUM_COLOURS):
        state.hands[0, colour] = obs[HAND + colour]
        state.hands[1, colour] = 0
        state.deck[colour] = obs[UNSEEN + colour]
        state.discard[colour] = obs[DISCARD + colour]
        state.cups[0, colour] = obs[MY_CUP + colour]
        state.cups[1, colour] = obs[RIVAL_CUP + colour]
        state.starting_cups[0, colour] = obs[MY_STARTING_CUP + colour]
        state.starting_cups[1, colour] = 0
        state.river_spaces[0, colour] = obs[MY_RIVER + colour]
        state.river_spaces[1, colour] = obs[RIVAL_RIVER + colour]
        for mandala in range(NUM_MANDALAS):
            cell = mandala * NUM_COLOURS + colour
            state.mountains[mandala, colour] = obs[MOUNTAIN + cell]
            state.fields[mandala, 0, colour] = obs[MY_FIELD + cell]
            state.fields[mandala, 1, colour] = obs[RIVAL_FIELD + cell]
    left = size(state.deck)
    for _ in range(obs[RIVAL_HAND_SIZE]):
        state.hands[1, take_random(state.deck, left, state)] += 1
        left -= 1
    for _ in range(left - obs[DECK_SIZE]):
        colour = take_random(state.deck, left, state)
        state.cups[1, colour] += 1
        state.starting_cups[1, colour] += 1
        left -= 1
    state.player = 1 - obs[MY_MOVE]
    state.phase = obs[PHASE]
    state.claiming = NO_MANDALA
    for mandala in range(NUM_MANDALAS):
        if obs[CLAIMING + mandala]:
            state.claiming = mandala
    state.completer = 0 if obs[I_COMPLETED] or state.claiming == NO_MANDALA else 1
    state.exhaustions = int(obs[EXHAUSTIONS_HUNDREDS]) * DIGIT + int(obs[EXHAUSTIONS])
    state.turn = 0
    state.max_turns = int(obs[TURNS_LEFT_HUNDREDS]) * DIGIT + int(obs[TURNS_LEFT])
    state.second_exhaustion_ends = obs[SECOND_EXHAUSTION_ENDS]
    state.adjudicated = 0


assert NUM_PLAYERS == 2
