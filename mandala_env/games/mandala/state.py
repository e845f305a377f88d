"""The state of a game of Mandala: one small record of counts.

Piles are counts per colour, also the deck: drawing from counts with the state's own generator gives the same games as
drawing from a shuffled pile.
"""

import numpy as np

COLOURS = ("red", "orange", "yellow", "green", "purple", "black")
NUM_COLOURS = len(COLOURS)
NUM_PLAYERS = 2
NUM_MANDALAS = 2
CARDS_PER_COLOUR = 18
HAND_LIMIT = 8

PLAY, CLAIM, OVER = 0, 1, 2  # phases
PHASES = ("play", "claim", "over")
NO_MANDALA = -1

C, P, M = NUM_COLOURS, NUM_PLAYERS, NUM_MANDALAS
STATE = np.dtype(
    [
        ("generator", np.uint64),  # where the game's random numbers stand
        ("turn", np.int16),  # finished turns
        ("exhaustions", np.int16),  # draws that left the deck empty
        ("max_turns", np.int16),  # option: a game that is still running after so many turns ends
        ("second_exhaustion_ends", np.int8),  # option: 1 if the game ends when the deck runs out a second time
        ("player", np.int8),  # who decides; after the end, who acted last
        ("phase", np.int8),  # PLAY, CLAIM or OVER
        ("claiming", np.int8),  # the mandala that is being destroyed, or NO_MANDALA
        ("completer", np.int8),  # who completed it
        ("adjudicated", np.int8),  # 1 if max_turns ended the game
        ("deck", np.int8, (C,)),
        ("discard", np.int8, (C,)),
        ("hands", np.int8, (P, C)),
        ("cups", np.int8, (P, C)),  # claimed and starting cards together
        ("starting_cups", np.int8, (P, C)),  # the two cards dealt face down into each cup
        ("river_spaces", np.int8, (P, C)),  # 1..6: the space of the colour in the river; 0: not there
        ("mountains", np.int8, (M, C)),
        ("fields", np.int8, (M, P, C)),
    ],
    align=True,
)
AXES = {
    "deck": ("colour",),
    "discard": ("colour",),
    "hands": ("player", "colour"),
    "cups": ("player", "colour"),
    "starting_cups": ("player", "colour"),
    "river_spaces": ("player", "colour"),
    "mountains": ("mandala", "colour"),
    "fields": ("mandala", "player", "colour"),
}
