"""What a player with perfect memory knows: written as an observation, and dealt back from one.

An observation holds counts and labels only, from the viewer's seat. The cards that the viewer cannot place (deck and
the part of the others' hands that nobody has seen) are one pile, `unseen`; hidden cards never move a number. Which
tiles are left in the stacks is known, because all that left them lie open or were seen; only their order is not.
"""

from typing import Any

from mandala_env.core.jit import jit
from mandala_env.core.layout import DIGIT, Layout
from mandala_env.core.piles import load, size, store, take_random
from mandala_env.games.flowers.state import (
    CARDS_PER_COLOUR,
    FLOWERS_PER_COLOUR,
    NO_MANDALA,
    NOBODY,
    NUM_CARDS,
    NUM_COLOURS,
    NUM_MANDALAS,
    NUM_VALUES,
    PLAYER_COUNTS,
    TILES_PER_COLOUR,
    X3,
)

_COLOUR, _BOTH, _FLOWER = ("colour",), ("mandala", "colour"), ("flower", "colour")
_TABLE: list[tuple[Any, ...]] = [
    ("hand", _COLOUR, CARDS_PER_COLOUR, "cards in my hand"),
    ("unseen", _COLOUR, CARDS_PER_COLOUR, "cards in the deck or in the part of the others' hands that nobody has seen"),
    ("discard", _COLOUR, CARDS_PER_COLOUR, "cards in the discard"),
    ("stack", ("value", "colour"), TILES_PER_COLOUR, "tiles left in the stacks, by value 1..9 and x3"),
    ("tile", _BOTH, X3, "value of the tile of that colour in the mandala, 10 for x3, 0 without one", True),
    ("deck_size", (), NUM_CARDS, "cards in the deck"),
    ("phase", (), 2, "0 play, 1 pick, 2 over", True),
    ("picking", ("mandala",), 1, "1 for the mandala of which a tile is being picked"),
    ("final", (), 1, "1 from the moment on when the game ends and what is left is destroyed"),
    ("turns_left_hundreds", (), DIGIT - 1, "turns until the game is ended, hundreds"),
    ("turns_left", (), DIGIT - 1, "turns until the game is ended, units"),
    ("half_of_rival", (), 1, "1 if half of the completer's cards are enough for a tile (two players)"),
]
_SEAT: list[tuple[Any, ...]] = [
    ("known", _COLOUR, CARDS_PER_COLOUR, "cards in {whose} hand that everybody has seen"),
    ("face_up", _BOTH, CARDS_PER_COLOUR, "{whose} cards face up in the mandala"),
    ("face_down", _BOTH, CARDS_PER_COLOUR, "{whose} cards face down in the mandala"),
    ("single", _COLOUR, X3, "value of {whose} single tile, 10 for x3, 0 without one", True),
    ("flower_low", _FLOWER, X3, "lower half of each of {whose} flowers, 10 for x3, 0 without one", True),
    ("flower_high", _FLOWER, X3, "higher half of each of {whose} flowers", True),
    ("marker", ("mandala",), 1, "1 if the claim marker lies on {whose} side"),
    ("move", (), 1, "1 if {whose} decision is next (after the end: if it was the last)"),
    ("completed", (), 1, "1 if {whose} play completed the mandala that is being destroyed"),
    ("skipped", (), 1, "1 if {whose} turn was skipped just before this turn"),
]
_OTHER: list[tuple[Any, ...]] = [("hand_size", (), NUM_CARDS, "cards in {whose} hand"), *_SEAT]


def layout(num_players: int) -> Layout:
    """The layout for so many players: the table, my side, then the others' sides in turn order after me."""
    lengths = {
        "colour": NUM_COLOURS,
        "mandala": NUM_MANDALAS,
        "value": NUM_VALUES,
        "flower": FLOWERS_PER_COLOUR,
        "other": num_players - 1,
    }
    mine = [(f"my_{name}", axes, high, text.format(whose="my"), *code) for name, axes, high, text, *code in _SEAT]
    others = [
        (f"other_{name}", ("other", *axes), high, text.format(whose="another player's"), *code)
        for name, axes, high, text, *code in _OTHER
    ]
    return Layout.build(lengths, [*_TABLE, *mine, *others])


LAYOUTS = {num_players: layout(num_players) for num_players in PLAYER_COUNTS}

# Where blocks begin. Those of the others come last: these numbers are for one other player, and with more of them every
# block of the others grows in proportion (`of_seat`).
_ONE = LAYOUTS[2]
HAND = _ONE["hand"].start
UNSEEN = _ONE["unseen"].start
DISCARD = _ONE["discard"].start
STACK = _ONE["stack"].start
TILE_VALUE = _ONE["tile"].start
DECK_SIZE = _ONE["deck_size"].start
PHASE = _ONE["phase"].start
PICKING = _ONE["picking"].start
FINAL = _ONE["final"].start
TURNS_LEFT_HUNDREDS = _ONE["turns_left_hundreds"].start
TURNS_LEFT = _ONE["turns_left"].start
HALF_OF_RIVAL = _ONE["half_of_rival"].start
OTHERS = _ONE["other_hand_size"].start  # where the blocks of the others begin
NUMBERS_PER_OTHER = _ONE.size - OTHERS

HAND_SIZE = _ONE["other_hand_size"].start - OTHERS
KNOWN, OTHER_KNOWN = _ONE["my_known"].start, _ONE["other_known"].start - OTHERS
FACE_UP, OTHER_FACE_UP = _ONE["my_face_up"].start, _ONE["other_face_up"].start - OTHERS
FACE_DOWN, OTHER_FACE_DOWN = _ONE["my_face_down"].start, _ONE["other_face_down"].start - OTHERS
SINGLE, OTHER_SINGLE = _ONE["my_single"].start, _ONE["other_single"].start - OTHERS
FLOWER_LOW, OTHER_FLOWER_LOW = _ONE["my_flower_low"].start, _ONE["other_flower_low"].start - OTHERS
FLOWER_HIGH, OTHER_FLOWER_HIGH = _ONE["my_flower_high"].start, _ONE["other_flower_high"].start - OTHERS
MARKER, OTHER_MARKER = _ONE["my_marker"].start, _ONE["other_marker"].start - OTHERS
MOVE, OTHER_MOVE = _ONE["my_move"].start, _ONE["other_move"].start - OTHERS
COMPLETED, OTHER_COMPLETED = _ONE["my_completed"].start, _ONE["other_completed"].start - OTHERS
SKIPPED, OTHER_SKIPPED = _ONE["my_skipped"].start, _ONE["other_skipped"].start - OTHERS

CELLS = NUM_MANDALAS * NUM_COLOURS
FLOWER_CELLS = FLOWERS_PER_COLOUR * NUM_COLOURS


@jit
def of_seat(seat: int, num_players: int, mine: int, others: int, length: int) -> int:
    """Where a block begins for the viewer (seat 0) or the player `seat` turns after; length is that of one player."""
    return mine if seat == 0 else OTHERS + (num_players - 1) * others + (seat - 1) * length


@jit
def encode(state: Any, player: int, obs: Any) -> None:
    """Write all that a player knows into obs, int8 of shape (F,)."""
    # In rising order of the places: a store also clears the two bytes behind it.
    write_table(state, player, obs)
    write_mine(state, player, obs)
    write_others(state, player, obs)


@jit
def store_rows(obs: Any, start: int, rows: Any) -> None:
    """Write piles one behind the other."""
    for row in range(len(rows)):
        store(obs, start + row * NUM_COLOURS, load(rows[row]))


@jit
def write_table(state: Any, player: int, obs: Any) -> None:
    """Write my hand and what lies between the players."""
    unseen = load(state.deck)
    for other in range(len(state.hands)):
        if other != player:
            unseen += load(state.hands[other]) - load(state.known[other])
    store(obs, HAND, load(state.hands[player]))
    store(obs, UNSEEN, unseen)
    store(obs, DISCARD, load(state.discard))
    store_rows(obs, STACK, state.stacks)
    store_rows(obs, TILE_VALUE, state.tiles)
    turns_left = state.max_turns - state.turn
    obs[DECK_SIZE] = size(state.deck)
    obs[PHASE] = state.phase
    for mandala in range(NUM_MANDALAS):
        obs[PICKING + mandala] = state.picking == mandala
    obs[FINAL] = state.final
    obs[TURNS_LEFT_HUNDREDS] = turns_left // DIGIT
    obs[TURNS_LEFT] = turns_left % DIGIT
    obs[HALF_OF_RIVAL] = state.half_of_rival


@jit
def write_mine(state: Any, player: int, obs: Any) -> None:
    """Write what everybody knows about my cards, tiles, markers and decisions."""
    store(obs, KNOWN, load(state.known[player]))
    store_rows(obs, FACE_UP, state.face_up[player])
    store_rows(obs, FACE_DOWN, state.face_down[player])
    store(obs, SINGLE, load(state.singles[player]))
    store_rows(obs, FLOWER_LOW, state.flower_lows[player])
    store_rows(obs, FLOWER_HIGH, state.flower_highs[player])
    write_labels(state, player, 0, obs)


@jit
def write_others(state: Any, player: int, obs: Any) -> None:
    """Write the same about the others, in turn order after me: each block holds all of them."""
    num_players = len(state.hands)
    for seat in range(1, num_players):
        other = (player + seat) % num_players
        obs[of_seat(seat, num_players, 0, HAND_SIZE, 1)] = size(state.hands[other])
    for seat in range(1, num_players):
        other = (player + seat) % num_players
        store(obs, of_seat(seat, num_players, KNOWN, OTHER_KNOWN, NUM_COLOURS), load(state.known[other]))
    for seat in range(1, num_players):
        other = (player + seat) % num_players
        store_rows(obs, of_seat(seat, num_players, FACE_UP, OTHER_FACE_UP, CELLS), state.face_up[other])
    for seat in range(1, num_players):
        other = (player + seat) % num_players
        store_rows(obs, of_seat(seat, num_players, FACE_DOWN, OTHER_FACE_DOWN, CELLS), state.face_down[other])
    for seat in range(1, num_players):
        other = (player + seat) % num_players
        store(obs, of_seat(seat, num_players, SINGLE, OTHER_SINGLE, NUM_COLOURS), load(state.singles[other]))
    for seat in range(1, num_players):
        other = (player + seat) % num_players
        start = of_seat(seat, num_players, FLOWER_LOW, OTHER_FLOWER_LOW, FLOWER_CELLS)
        store_rows(obs, start, state.flower_lows[other])
    for seat in range(1, num_players):
        other = (player + seat) % num_players
        start = of_seat(seat, num_players, FLOWER_HIGH, OTHER_FLOWER_HIGH, FLOWER_CELLS)
        store_rows(obs, start, state.flower_highs[other])
    for seat in range(1, num_players):
        write_labels(state, (player + seat) % num_players, seat, obs)


@jit
def write_labels(state: Any, player: int, seat: int, obs: Any) -> None:
    """Write markers and decisions of the player `seat` turns after the viewer; these blocks come after the piles."""
    num_players = len(state.hands)
    marker = of_seat(seat, num_players, MARKER, OTHER_MARKER, NUM_MANDALAS)
    for mandala in range(NUM_MANDALAS):
        obs[marker + mandala] = state.markers[mandala] == player
    obs[of_seat(seat, num_players, MOVE, OTHER_MOVE, 1)] = state.player == player
    obs[of_seat(seat, num_players, COMPLETED, OTHER_COMPLETED, 1)] = state.completer == player
    obs[of_seat(seat, num_players, SKIPPED, OTHER_SKIPPED, 1)] = state.skipped[player]


@jit
def imagine(obs: Any, state: Any) -> None:
    """Deal a state that the viewer of obs takes to be possible; the viewer is player 0.

    The unseen cards go to the others' hands and the deck at random, by the state's generator. The turns are counted
    from here: turn is 0 and max_turns is what was left.
    """
    num_players = len(state.hands)
    read_table(obs, state)
    state.player, state.completer, state.markers[:] = 0, NOBODY, NOBODY
    for seat in range(num_players):
        read_cards(obs, seat, state)
        read_tiles(obs, seat, state)
    read_tile_values(obs, state)
    left = size(state.deck)
    for seat in range(num_players):
        for colour in range(NUM_COLOURS):
            state.hands[seat, colour] = state.known[seat, colour] if seat > 0 else obs[HAND + colour]
        if seat > 0:
            for _ in range(obs[of_seat(seat, num_players, 0, HAND_SIZE, 1)] - size(state.known[seat])):
                state.hands[seat, take_random(state.deck, left, state)] += 1
                left -= 1


@jit
def read_table(obs: Any, state: Any) -> None:
    """Read what lies between the players; the deck gets all unseen cards."""
    for colour in range(NUM_COLOURS):
        state.deck[colour] = obs[UNSEEN + colour]
        state.discard[colour] = obs[DISCARD + colour]
        for mandala in range(NUM_MANDALAS):
            state.tiles[mandala, colour] = obs[TILE_VALUE + mandala * NUM_COLOURS + colour]
    state.picking = NO_MANDALA
    for mandala in range(NUM_MANDALAS):
        if obs[PICKING + mandala]:
            state.picking = mandala
    state.phase = obs[PHASE]
    state.final = obs[FINAL]
    state.adjudicated = 0
    state.turn = 0
    state.max_turns = int(obs[TURNS_LEFT_HUNDREDS]) * DIGIT + int(obs[TURNS_LEFT])
    state.half_of_rival = obs[HALF_OF_RIVAL]


@jit
def read_cards(obs: Any, seat: int, state: Any) -> None:
    """Read the cards, markers and decisions of one player."""
    num_players = len(state.hands)
    known = of_seat(seat, num_players, KNOWN, OTHER_KNOWN, NUM_COLOURS)
    face_up = of_seat(seat, num_players, FACE_UP, OTHER_FACE_UP, CELLS)
    face_down = of_seat(seat, num_players, FACE_DOWN, OTHER_FACE_DOWN, CELLS)
    marker = of_seat(seat, num_players, MARKER, OTHER_MARKER, NUM_MANDALAS)
    for colour in range(NUM_COLOURS):
        state.known[seat, colour] = obs[known + colour]
    for mandala in range(NUM_MANDALAS):
        if obs[marker + mandala]:
            state.markers[mandala] = seat
        for colour in range(NUM_COLOURS):
            cell = mandala * NUM_COLOURS + colour
            state.face_up[seat, mandala, colour] = obs[face_up + cell]
            state.face_down[seat, mandala, colour] = obs[face_down + cell]
    if obs[of_seat(seat, num_players, MOVE, OTHER_MOVE, 1)]:
        state.player = seat
    if obs[of_seat(seat, num_players, COMPLETED, OTHER_COMPLETED, 1)]:
        state.completer = seat
    state.skipped[seat] = obs[of_seat(seat, num_players, SKIPPED, OTHER_SKIPPED, 1)]


@jit
def read_tiles(obs: Any, seat: int, state: Any) -> None:
    """Read the single tiles and the flowers of one player."""
    num_players = len(state.hands)
    single = of_seat(seat, num_players, SINGLE, OTHER_SINGLE, NUM_COLOURS)
    low = of_seat(seat, num_players, FLOWER_LOW, OTHER_FLOWER_LOW, FLOWER_CELLS)
    high = of_seat(seat, num_players, FLOWER_HIGH, OTHER_FLOWER_HIGH, FLOWER_CELLS)
    for colour in range(NUM_COLOURS):
        state.singles[seat, colour] = obs[single + colour]
        for place in range(FLOWERS_PER_COLOUR):
            cell = place * NUM_COLOURS + colour
            state.flower_lows[seat, place, colour] = obs[low + cell]
            state.flower_highs[seat, place, colour] = obs[high + cell]


@jit
def read_tile_values(obs: Any, state: Any) -> None:
    """Read the stacks and, from all tiles that are somewhere, the values that the tiles of this game have."""
    for colour in range(NUM_COLOURS):
        counts = state.stacks[:, colour]
        for place in range(NUM_VALUES):
            counts[place] = obs[STACK + place * NUM_COLOURS + colour]
        for mandala in range(NUM_MANDALAS):
            count_tile(counts, state.tiles[mandala, colour])
        for player in range(len(state.hands)):
            count_tile(counts, state.singles[player, colour])
            for place in range(FLOWERS_PER_COLOUR):
                count_tile(counts, state.flower_lows[player, place, colour])
                count_tile(counts, state.flower_highs[player, place, colour])
        tile = 0
        for place in range(NUM_VALUES):
            for _ in range(counts[place]):
                state.tile_values[colour, tile] = place + 1
                tile += 1
            counts[place] = obs[STACK + place * NUM_COLOURS + colour]


@jit
def count_tile(counts: Any, value: int) -> None:
    """Count a tile, if there is one."""
    if value > 0:
        counts[value - 1] += 1
