"""The 272 actions of Flowers: 270 play, 2 pick."""

from mandala_env.core.actions import ActionTable, Kind
from mandala_env.games.flowers.state import CARDS_PER_COLOUR, COLOURS, KINDS, NUM_MANDALAS

MANDALAS = tuple(str(mandala) for mandala in range(NUM_MANDALAS))
COUNTS = tuple(str(count) for count in range(1, CARDS_PER_COLOUR + 1))

ACTIONS = ActionTable(
    [
        Kind("play", {"mandala": MANDALAS, "colour": COLOURS, "count": COUNTS}),
        Kind("pick", {"tile": KINDS}),
    ]
)
PLAY_CARDS, PICK_TILE = range(2)  # kinds

KIND = ACTIONS.columns["kind"]
MANDALA = ACTIONS.columns["mandala"]
COLOUR = ACTIONS.columns["colour"]
COUNT = ACTIONS.columns["count"]
TILE = ACTIONS.columns["tile"]  # 0 dark, 1 light

PLAY_ID = ACTIONS.first_ids("play", "mandala", "colour")  # of one card; the ids of more cards follow
PICK_ID = ACTIONS.first_ids("pick", "tile")
