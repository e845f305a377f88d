"""A state of Flowers as a readable dict, and back."""

from typing import Any

import numpy as np

from mandala_env.core.game import Game
from mandala_env.core.jit import kernel
from mandala_env.core.position import PositionError, Reader, list_items, pile_dict, plain, require, whole
from mandala_env.games.flowers.destruction import takers
from mandala_env.games.flowers.rules import FLOWERS_TO_END, has_legal_play, has_third_flower
from mandala_env.games.flowers.state import (
    CARDS_PER_COLOUR,
    COLOURS,
    COLOURS_PER_KIND,
    FLOWERS_PER_COLOUR,
    KINDS,
    NO_MANDALA,
    NOBODY,
    NUM_MANDALAS,
    NUM_VALUES,
    OVER,
    PHASES,
    PICK,
    PLAY,
    TILES_PER_COLOUR,
)
from mandala_env.games.flowers.tiles import add_flower, value_code, value_word
from mandala_env.words import shown

KEYS = (
    "game", "player", "phase", "turn", "deck", "discard", "hands", "known", "stacks", "mandalas", "singles", "flowers",
    "final", "picking",
)  # fmt: skip
OPTIONAL_KEYS = ("skipped",)
COLOURS_OF = {"dark": COLOURS[:COLOURS_PER_KIND], "light": COLOURS[COLOURS_PER_KIND:]}


# --- writing --------------------------------------------------------------------------------------------------


def to_position(game: Game, state: Any) -> dict:
    """The state as a dict; the random generator and the options are not part of it."""
    players, state = range(game.num_players), plain(state)
    return {
        "game": game.id,
        "player": state.player,
        "phase": PHASES[state.phase],
        "turn": state.turn,
        "deck": pile_dict(COLOURS, state.deck),
        "discard": pile_dict(COLOURS, state.discard),
        "hands": [pile_dict(COLOURS, state.hands[player]) for player in players],
        "known": [pile_dict(COLOURS, state.known[player]) for player in players],
        "stacks": {kind: stack(state, kind) for kind in KINDS},
        "mandalas": [mandala_dict(state, mandala) for mandala in range(NUM_MANDALAS)],
        "singles": [singles(state.singles[player]) for player in players],
        "flowers": [flowers(state, player) for player in players],
        "final": bool(state.final),
        "picking": picking(state),
        "skipped": [player for player in players if state.skipped[player]],
    }


def stack(state: Any, kind: str) -> list[list]:
    """The tiles of a stack as [colour, value], by colour and value."""
    return [
        [colour, value_word(place + 1)]
        for colour in COLOURS_OF[kind]
        for place in range(NUM_VALUES)
        for _ in range(state.stacks[place][COLOURS.index(colour)])
    ]


def mandala_dict(state: Any, mandala: int) -> dict:
    """One mandala with its tiles, marker and cards."""
    players, marker = range(len(state.hands)), state.markers[mandala]
    return {
        "tiles": {kind: tile(state.tiles[mandala], kind) for kind in KINDS},
        "marker": None if marker == NOBODY else marker,
        "face_up": [pile_dict(COLOURS, state.face_up[player][mandala]) for player in players],
        "face_down": [pile_dict(COLOURS, state.face_down[player][mandala]) for player in players],
    }


def tile(values: Any, kind: str) -> list | None:
    """The tile of one kind of a mandala as [colour, value], None if it was taken."""
    for colour in COLOURS_OF[kind]:
        if code := values[COLOURS.index(colour)]:
            return [colour, value_word(code)]
    return None


def singles(values: Any) -> dict[str, int | str]:
    """A player's single tiles as {colour: value}."""
    return {colour: value_word(code) for colour, code in zip(COLOURS, values, strict=True) if code}


def flowers(state: Any, player: int) -> list[list]:
    """A player's flowers as [colour, lower half, higher half], by colour, the least first."""
    lows, highs = state.flower_lows[player], state.flower_highs[player]
    return [
        [colour, value_word(lows[place][index]), value_word(highs[place][index])]
        for index, colour in enumerate(COLOURS)
        for place in reversed(range(FLOWERS_PER_COLOUR))
        if lows[place][index]
    ]


def picking(state: Any) -> dict | None:
    """The mandala of which a tile is being picked, and who completed it."""
    if state.picking == NO_MANDALA:
        return None
    return {"mandala": state.picking, "completer": None if state.completer == NOBODY else state.completer}


# --- reading --------------------------------------------------------------------------------------------------


def from_position_into(game: Game, position: dict, state: Any) -> None:
    """Write the position into a state that holds the options; raises PositionError, a ValueError."""
    reader = Reader(position, KEYS, optional=OPTIONAL_KEYS)
    reader.choice("game", [game.id])
    state.player = reader.whole("player", 0, game.num_players - 1)
    state.phase = reader.choice("phase", PHASES)
    state.final = read_bool(reader.value("final"), "final")
    last_turn = int(state.max_turns) - (state.phase != OVER and not state.final)
    state.turn = reader.whole("turn", 0, last_turn)
    state.deck = reader.pile("deck", COLOURS, CARDS_PER_COLOUR)
    state.discard = reader.pile("discard", COLOURS, CARDS_PER_COLOUR)
    for key in ("hands", "known"):
        state[key] = reader.piles(key, game.num_players, COLOURS, CARDS_PER_COLOUR)
    read_tiles(game, reader, state)
    for mandala, (name, area) in enumerate(reader.items("mandalas", NUM_MANDALAS)):
        read_mandala(game, Reader(area, ("tiles", "marker", "face_up", "face_down"), name), mandala, state)
    check_cards(state)
    check_hands(state)
    check_tiles(state)
    read_picking(game, reader, state)
    check_phase(state)
    read_skipped(game, reader, state)
    state.adjudicated = state.phase == OVER and not state.final


def read_bool(value: Any, name: str) -> bool:
    """True or False and nothing like them."""
    require(isinstance(value, (bool, np.bool_)), f"{name}: expected true or false, not {shown(value)}")
    return bool(value)


def read_value(value: Any, name: str) -> int:
    """The code of a tile's value."""
    try:
        return value_code(value)
    except ValueError as error:
        raise PositionError(f"{name}: {error}") from None


def read_colour(value: Any, colours: tuple[str, ...], name: str) -> int:
    """The index of a colour among all colours; it must be one of those given."""
    is_known = isinstance(value, str) and value in colours
    require(is_known, f"{name}: there is no colour {shown(value)}; the colours are {', '.join(colours)}")
    return COLOURS.index(value)


def read_tile(value: Any, kind: str, name: str) -> tuple[int, int]:
    """The colour and value code of a tile of a kind."""
    (_, colour), (_, number) = list_items(value, 2, f"{name}, a {kind} tile [colour, value]")
    return read_colour(colour, COLOURS_OF[kind], name), read_value(number, name)


def read_tiles(game: Game, reader: Reader, state: Any) -> None:
    """The stacks, and the single tiles and flowers of the players."""
    stacks, most = Reader(reader.value("stacks"), KINDS, "stacks"), COLOURS_PER_KIND * TILES_PER_COLOUR
    for kind in KINDS:
        tiles = stacks.value(kind)
        is_list = isinstance(tiles, (list, tuple)) and len(tiles) <= most
        require(is_list, f"stacks.{kind}: expected a list of tiles, {most} at most, not {shown(tiles)}")
        for index, item in enumerate(tiles):
            colour, code = read_tile(item, kind, f"stacks.{kind}[{index}]")
            state.stacks[code - 1, colour] += 1
    for player, (name, tiles) in enumerate(reader.items("singles", game.num_players)):
        require(isinstance(tiles, dict), f"{name}: expected single tiles such as {{'red': 3}}, not {shown(tiles)}")
        for colour, number in tiles.items():
            state.singles[player, read_colour(colour, COLOURS, name)] = read_value(number, f"{name}[{shown(colour)}]")
    for player, (name, found) in enumerate(reader.items("flowers", game.num_players)):
        require(isinstance(found, (list, tuple)), f"{name}: expected a list of flowers, not {shown(found)}")
        for index, item in enumerate(found):
            read_flower(item, state, player, f"{name}[{index}]")


def read_flower(value: Any, state: Any, player: int, name: str) -> None:
    """Put a flower among those of a player."""
    (_, colour), (_, one), (_, two) = list_items(value, 3, f"{name}, a flower [colour, half, half]")
    index = read_colour(colour, COLOURS, name)
    has_room = state.flower_lows[player, -1, index] == 0
    require(has_room, f"{name}: there are tiles for {FLOWERS_PER_COLOUR} {colour} flowers only")
    _add_flower(state, player, index, read_value(one, name), read_value(two, name))


def read_mandala(game: Game, reader: Reader, mandala: int, state: Any) -> None:
    """One mandala with its tiles, marker and cards."""
    tiles = Reader(reader.value("tiles"), KINDS, reader.name("tiles"))
    for kind in KINDS:
        if (value := tiles.value(kind)) is not None:
            colour, code = read_tile(value, kind, tiles.name(kind))
            state.tiles[mandala, colour] = code
    for key in ("face_up", "face_down"):
        state[key][:, mandala] = reader.piles(key, game.num_players, COLOURS, CARDS_PER_COLOUR)
    marker = reader.value("marker")
    state.markers[mandala] = NOBODY if marker is None else reader.whole("marker", 0, game.num_players - 1)
    check_mandala(state, mandala, reader.path)


def read_picking(game: Game, reader: Reader, state: Any) -> None:
    """The mandala of which a tile is being picked, and who completed it; null outside the pick phase."""
    value = reader.value("picking")
    state.picking, state.completer = NO_MANDALA, NOBODY
    if state.phase != PICK:
        require(value is None, f"picking: expected null in phase {PHASES[state.phase]!r}, not {shown(value)}")
        return
    part = Reader(value, ("mandala", "completer"), "picking")
    state.picking = part.whole("mandala", 0, NUM_MANDALAS - 1)
    if state.final:
        completer = part.value("completer")
        require(completer is None, f"picking.completer: final destructions have none (null), not {shown(completer)}")
    else:
        state.completer = part.whole("completer", 0, game.num_players - 1)
        face_up = state.face_up[state.completer, state.picking]
        require(face_up.any(), "picking.completer: who completed the mandala must have a card face up there")
    first, second = _takers(state)
    require(first != second, "picking: nobody is asked to pick unless two players take a tile each")
    require(state.player == first, f"player: the holder of the marker picks, that is player {first}")


def read_skipped(game: Game, reader: Reader, state: Any) -> None:
    """Read whose turns were skipped just before this one; nobody's if the position does not say."""
    seats = reader.value("skipped") if "skipped" in reader.source else []
    require(isinstance(seats, (list, tuple)), f"skipped: expected a list of players, not {shown(seats)}")
    for seat in seats:
        state.skipped[whole(seat, 0, game.num_players - 1, "skipped")] = 1
    if len(seats) and state.phase == PLAY:
        last = [(state.player - 1 - turn) % game.num_players for turn in range(min(len(seats), game.num_players))]
        require(
            len(seats) < game.num_players and sorted(seats) == sorted(last),
            f"skipped: expected the players just before player {state.player}, not {shown(seats)}",
        )
        could_play = [seat for seat in last if _can_play(state, seat)]
        require(not could_play, f"skipped: player {could_play[0] if could_play else 0} had a legal play")


# --- what must be true of a position --------------------------------------------------------------------------


def check_mandala(state: Any, mandala: int, name: str) -> None:
    """A colour lies face up once; face down lie only colours that are there; the marker needs a card face up."""
    tiles, face_up, face_down = state.tiles[mandala], state.face_up[:, mandala], state.face_down[:, mandala]
    where = (face_up > 0).sum(axis=0) + (tiles > 0)
    for colour, times, hidden in zip(COLOURS, where.tolist(), face_down.any(axis=0).tolist(), strict=True):
        require(
            times <= 1,
            f"{name}: {colour} is on {times} of the tile and the players' face-up cards; a new colour is on none",
        )
        require(times or not hidden, f"{name}: {colour} lies face down, but neither on a tile nor face up there")
    marker = int(state.markers[mandala])
    if marker == NOBODY:
        require(not face_up.any(), f"{name}.marker: a player with a card face up there must hold it")
    else:
        require(face_up[marker].any(), f"{name}.marker: player {marker} has no card face up there")
    num_tiles = np.count_nonzero(tiles)
    require(num_tiles in (0, 2), f"{name}.tiles: expected both tiles or none")
    require(num_tiles or not (face_up.any() or face_down.any()), f"{name}: cards lie at a mandala without tiles")


def check_cards(state: Any) -> None:
    """There are 15 cards of each colour."""
    counts = state.deck.astype(int) + state.discard + state.hands.sum(axis=0)
    counts += state.face_up.sum(axis=(0, 1)) + state.face_down.sum(axis=(0, 1))
    for colour, count in zip(COLOURS, counts.tolist(), strict=True):
        where = "deck, discard, hands and mandalas"
        require(count == CARDS_PER_COLOUR, f"{colour}: expected {CARDS_PER_COLOUR} cards in {where}, not {count}")


def check_hands(state: Any) -> None:
    """Hands have 1 card or more; what is known of a hand is part of it."""
    for player, hand in enumerate(state.hands):
        require(hand.any(), f"hands[{player}]: expected 1 card or more")
        unknown = [colour for colour, is_less in zip(COLOURS, hand < state.known[player], strict=True) if is_less]
        require(not unknown, f"known[{player}]: more {', '.join(unknown)} than hands[{player}] has")


def check_tiles(state: Any) -> None:
    """The tiles in stacks, mandalas, singles and flowers are those of this game."""
    counts = state.stacks.tolist()
    for index, colour in enumerate(COLOURS):
        codes = [place + 1 for place in range(NUM_VALUES) for _ in range(counts[place][index])]
        codes += [*state.tiles[:, index].tolist(), *state.singles[:, index].tolist()]
        codes += [*state.flower_lows[..., index].flat, *state.flower_highs[..., index].flat]
        found = [value_word(code) for code in sorted(codes) if code]
        expected = [value_word(code) for code in state.tile_values[index]]
        where = "stacks, mandalas, singles and flowers"
        require(found == expected, f"{colour}: expected the tiles {expected} in {where}, not {found}")


def check_phase(state: Any) -> None:
    """Each phase has its own conditions: what lies there could not be left lying otherwise."""
    has_tiles, has_cards = (state.tiles > 0).any(axis=1), (state.face_up + state.face_down).any(axis=(0, 2))
    colours = (state.tiles > 0) + (state.face_up > 0).any(axis=0)
    for mandala in np.flatnonzero(colours.all(axis=1)):
        is_asked = mandala == state.picking
        require(is_asked, f"mandalas[{mandala}]: all six colours: it would be destroyed")
    if state.phase == PICK and not state.final:
        require(colours[state.picking].all(), "picking.mandala: it is not complete")
    if state.phase == PLAY:
        require(not state.final, "final: in the final destructions nobody plays")
        require(
            _can_play(state, int(state.player)), f"player: player {state.player} has no legal play and would be skipped"
        )
    if state.phase == OVER:
        require(state.final or state.turn >= state.max_turns, "final: only max_turns ends a game without destructions")
        require(not state.final or not has_cards.any(), "mandalas: cards are left after the final destructions")
    elif not state.final:
        require(has_tiles.all(), "mandalas: expected two tiles at every mandala")
        require(not _has_ended(state), f"flowers: the game would have ended with {FLOWERS_TO_END} flowers of a player")


# --- what the rules say of a state ----------------------------------------------------------------------------


@kernel
def _can_play(state: Any, player: int) -> bool:
    return has_legal_play(state, player)


@kernel
def _has_ended(state: Any) -> bool:
    return has_third_flower(state)


@kernel
def _takers(state: Any) -> tuple[int, int]:
    return takers(state, state.picking, state.completer)


@kernel
def _add_flower(state: Any, player: int, colour: int, one: int, two: int) -> None:
    add_flower(state, player, colour, one, two)
