"""The 150 actions of Mandala: 12 build, 84 grow, 48 discard, 6 claim."""

import numpy as np

from mandala_env.core.actions import ActionTable, Kind
from mandala_env.games.mandala.state import COLOURS, HAND_LIMIT, NUM_MANDALAS

MANDALAS = tuple(str(mandala) for mandala in range(NUM_MANDALAS))
COUNTS = tuple(str(count) for count in range(1, HAND_LIMIT + 1))

ACTIONS = ActionTable(
    [
        Kind("build", {"mandala": MANDALAS, "colour": COLOURS}),
        Kind("grow", {"mandala": MANDALAS, "colour": COLOURS, "count": COUNTS[:-1]}),  # one card must stay in hand
        Kind("discard", {"colour": COLOURS, "count": COUNTS}),
        Kind("claim", {"colour": COLOURS}),
    ]
)
BUILD, GROW, DISCARD, CLAIM_COLOUR = range(4)  # kinds

KIND = ACTIONS.columns["kind"]
MANDALA = ACTIONS.columns["mandala"]
COLOUR = ACTIONS.columns["colour"]
COUNT = ACTIONS.columns["count"]

BUILD_ID = ACTIONS.first_ids("build", "mandala", "colour")
GROW_ID = ACTIONS.first_ids("grow", "mandala", "colour")  # of one card; the ids of more cards follow
DISCARD_ID = ACTIONS.first_ids("discard", "colour")  # of one card; the ids of more cards follow
# Where the discards of a colour, and its grows in a mandala, begin behind the first of them; and all grows of a set of
# colours (bit c of the index is colour c), as bits behind the first one.
DISCARD_PLACE = (DISCARD_ID - DISCARD_ID[0]).astype(np.uint64)
GROW_PLACE = (GROW_ID[0] - GROW_ID[0, 0]).astype(np.uint64)
GROWS_OF = np.array(
    [
        sum(127 << int(place) for colour, place in enumerate(GROW_PLACE) if colours >> colour & 1)
        for colours in range(2 ** len(COLOURS))
    ],
    np.uint64,
)
CLAIM_ID = ACTIONS.first_ids("claim", "colour")
