"""The state of a game of Flowers: one small record of counts, of one dtype for each number of players.

Piles are counts per colour, also the deck: drawing from counts with the state's own generator gives the same games as
drawing from a shuffled pile. Tiles are value codes: 1..9 is the printed number, X3 is "x3", 0 is no tile.
"""

import numpy as np

COLOURS = ("grey", "purple", "red", "green", "orange", "yellow")  # of the cards, and of the dark and the light tiles
KINDS = ("dark", "light")  # of tiles
NUM_COLOURS = len(COLOURS)
NUM_KINDS = len(KINDS)
COLOURS_PER_KIND = NUM_COLOURS // NUM_KINDS  # the first three colours are dark, the others light
PLAYER_COUNTS = (2, 3, 4)
NUM_MANDALAS = 3
CARDS_PER_COLOUR = 15
NUM_CARDS = NUM_COLOURS * CARDS_PER_COLOUR
TILES_PER_COLOUR = 6
FLOWERS_PER_COLOUR = TILES_PER_COLOUR // 2
HIGHEST_VALUE = 9
X3 = HIGHEST_VALUE + 1  # the code of "x3"
NUM_VALUES = X3
HAND_LIMIT = 8

PLAY, PICK, OVER = 0, 1, 2  # phases
PHASES = ("play", "pick", "over")
NO_MANDALA = -1
NOBODY = -1

C, M, V = NUM_COLOURS, NUM_MANDALAS, NUM_VALUES


def state_dtype(num_players: int) -> np.dtype:
    """The record of a game of so many players."""
    p = num_players
    return np.dtype(
        [
            ("generator", np.uint64),  # where the game's random numbers stand
            ("turn", np.int16),  # finished turns, skipped ones included
            ("max_turns", np.int16),  # option: a game that is still running after so many turns ends
            ("half_of_rival", np.int8),  # option: 1 if half of the completer's cards are enough for a tile (2 players)
            ("player", np.int8),  # who decides; after the end, who acted last
            ("phase", np.int8),  # PLAY, PICK or OVER
            ("picking", np.int8),  # the mandala of which a tile is being picked, or NO_MANDALA
            ("completer", np.int8),  # who completed it; NOBODY outside PICK and in the final destructions
            ("final", np.int8),  # 1 from the moment on when the game ends and what is left is destroyed
            ("adjudicated", np.int8),  # 1 if max_turns ended the game
            ("skipped", np.int8, (p,)),  # 1 for the players whose turn was skipped just before this turn
            ("stacks", np.int8, (V, C)),  # tiles that are not drawn yet; row v - 1 counts those of value code v
            ("deck", np.int8, (C,)),
            ("discard", np.int8, (C,)),
            ("hands", np.int8, (p, C)),
            ("known", np.int8, (p, C)),  # the part of each hand that everybody has seen
            ("tiles", np.int8, (M, C)),  # the value code of the tile of that colour in a mandala
            ("markers", np.int8, (M,)),  # who holds the claim marker, or NOBODY
            ("face_up", np.int8, (p, M, C)),
            ("face_down", np.int8, (p, M, C)),
            ("singles", np.int8, (p, C)),  # the value code of a player's single tile of that colour
            # The value codes of the halves of each flower; a colour's flowers in falling order, 0 where there is none.
            ("flower_lows", np.int8, (p, FLOWERS_PER_COLOUR, C)),
            ("flower_highs", np.int8, (p, FLOWERS_PER_COLOUR, C)),
            ("tile_values", np.int8, (C, TILES_PER_COLOUR)),  # option: the value codes of all tiles, in rising order
        ],
        align=True,
    )


STATES = {num_players: state_dtype(num_players) for num_players in PLAYER_COUNTS}
AXES = {
    "skipped": ("player",),
    "stacks": ("value", "colour"),
    "deck": ("colour",),
    "discard": ("colour",),
    "hands": ("player", "colour"),
    "known": ("player", "colour"),
    "tiles": ("mandala", "colour"),
    "markers": ("mandala",),
    "face_up": ("player", "mandala", "colour"),
    "face_down": ("player", "mandala", "colour"),
    "singles": ("player", "colour"),
    "flower_lows": ("player", "flower", "colour"),
    "flower_highs": ("player", "flower", "colour"),
    "tile_values": ("colour", "tile"),
}
