"""A state of Mandala as a readable dict, and back."""

from typing import Any

import numpy as np

from mandala_env.core.game import Game
from mandala_env.core.position import Reader, list_items, pile_dict, plain, require
from mandala_env.games.mandala.rules import STARTING_CUP
from mandala_env.games.mandala.state import (
    CARDS_PER_COLOUR,
    CLAIM,
    COLOURS,
    HAND_LIMIT,
    NO_MANDALA,
    NUM_MANDALAS,
    NUM_PLAYERS,
    OVER,
    PHASES,
    PLAY,
)
from mandala_env.words import shown

KEYS = (
    "game", "player", "phase", "turn", "exhaustions", "deck", "discard", "hands", "cups", "starting_cups", "rivers",
    "mandalas", "claiming",
)  # fmt: skip


def to_position(game: Game, state: Any) -> dict:
    """The state as a dict; the random generator and the options are not part of it."""
    players, mandalas, state = range(NUM_PLAYERS), range(NUM_MANDALAS), plain(state)
    return {
        "game": game.id,
        "player": state.player,
        "phase": PHASES[state.phase],
        "turn": state.turn,
        "exhaustions": state.exhaustions,
        "deck": pile_dict(COLOURS, state.deck),
        "discard": pile_dict(COLOURS, state.discard),
        "hands": [pile_dict(COLOURS, state.hands[player]) for player in players],
        "cups": [pile_dict(COLOURS, state.cups[player]) for player in players],
        "starting_cups": [pile_dict(COLOURS, state.starting_cups[player]) for player in players],
        "rivers": [river(state.river_spaces[player]) for player in players],
        "mandalas": [
            {
                "mountain": pile_dict(COLOURS, state.mountains[mandala]),
                "fields": [pile_dict(COLOURS, state.fields[mandala][player]) for player in players],
            }
            for mandala in mandalas
        ],
        "claiming": None if state.claiming == NO_MANDALA else {"mandala": state.claiming, "completer": state.completer},
    }


def river(spaces: list[int]) -> list[str]:
    """The colours of a river from space 1 on."""
    return [colour for space, colour in sorted(zip(spaces, COLOURS, strict=True)) if space > 0]


def from_position_into(game: Game, position: dict, state: Any) -> None:
    """Write the position into a state that holds the options; raises PositionError, a ValueError."""
    reader = Reader(position, KEYS)
    reader.choice("game", [game.id])
    state.player = reader.whole("player", 0, NUM_PLAYERS - 1)
    state.phase = reader.choice("phase", PHASES)
    last_turn = int(state.max_turns) - (state.phase != OVER)
    state.turn = reader.whole("turn", 0, last_turn)
    state.exhaustions = reader.whole("exhaustions", 0, 9999)
    state.deck = reader.pile("deck", COLOURS, CARDS_PER_COLOUR)
    state.discard = reader.pile("discard", COLOURS, CARDS_PER_COLOUR)
    for key in ("hands", "cups", "starting_cups"):
        state[key] = reader.piles(key, NUM_PLAYERS, COLOURS, CARDS_PER_COLOUR)
    for player, (name, colours) in enumerate(reader.items("rivers", NUM_PLAYERS)):
        state.river_spaces[player] = read_river(colours, name)
    for mandala, (name, area) in enumerate(reader.items("mandalas", NUM_MANDALAS)):
        areas = Reader(area, ("mountain", "fields"), name)
        state.mountains[mandala] = areas.pile("mountain", COLOURS, CARDS_PER_COLOUR)
        state.fields[mandala] = areas.piles("fields", NUM_PLAYERS, COLOURS, CARDS_PER_COLOUR)
        check_colour_rule(state, mandala, name)
    read_claiming(reader, state)
    check_cards(state)
    check_hands_and_cups(state)
    is_river_full = bool((state.river_spaces > 0).all(axis=1).any())
    natural_end = state.exhaustions > 0 or is_river_full
    if state.phase == PLAY:
        require(not is_river_full, "phase: a game with six colours in a river is over after that destruction")
    if state.phase == OVER:
        reason = "a river with six colours, an exhaustion or max_turns turns"
        require(natural_end or state.turn >= state.max_turns, f"phase: a game that is over needs {reason}")
    require(
        state.deck.any() or state.exhaustions > 0, "exhaustions: the deck is empty, so it has run out at least once"
    )
    state.adjudicated = state.phase == OVER and state.turn >= state.max_turns and not natural_end


def read_river(colours: Any, name: str) -> np.ndarray:
    """The spaces of the colours of a river that lists its colours from space 1 on."""
    require(
        isinstance(colours, (list, tuple)), f"{name}: expected a list of colours from space 1 on, not {shown(colours)}"
    )
    spaces = np.zeros(len(COLOURS), np.int8)
    for space, colour in enumerate(colours, start=1):
        require(colour in COLOURS, f"{name}: there is no colour {shown(colour)}; the colours are {', '.join(COLOURS)}")
        require(spaces[COLOURS.index(colour)] == 0, f"{name}: {colour} lies there twice; a river has a colour once")
        spaces[COLOURS.index(colour)] = space
    return spaces


def read_claiming(reader: Reader, state: Any) -> None:
    """Which mandala is being destroyed, and who completed it; null outside the claim phase."""
    claiming = reader.value("claiming")
    state.claiming, state.completer = NO_MANDALA, 0
    if state.phase != CLAIM:
        require(claiming is None, f"claiming: expected null in phase {PHASES[state.phase]!r}, not {shown(claiming)}")
        return
    part = Reader(claiming, ("mandala", "completer"), "claiming")
    state.claiming = part.whole("mandala", 0, NUM_MANDALAS - 1)
    state.completer = part.whole("completer", 0, NUM_PLAYERS - 1)
    colours_left = np.count_nonzero(state.mountains[state.claiming])
    require(colours_left > 1, f"claiming: a choice needs 2 or more colours in the mountain, there are {colours_left}")
    require(state.fields[state.claiming].any(), "claiming: with both fields empty nobody is asked to claim")


def check_colour_rule(state: Any, mandala: int, name: str) -> None:
    """A colour lies in at most one of the mountain and the two fields; six colours are never left lying."""
    areas = np.stack([state.mountains[mandala], *state.fields[mandala]]) > 0
    for colour, where in zip(COLOURS, areas.sum(axis=0), strict=True):
        require(where <= 1, f"{name}: {colour} lies in {where} areas; the colour rule allows one")
    require(state.phase == CLAIM or not areas.any(axis=0).all(), f"{name}: all six colours: it would be destroyed")


def check_cards(state: Any) -> None:
    """There are 18 cards of each colour."""
    counts = state.deck.astype(int) + state.discard + (state.river_spaces > 0).sum(axis=0)
    counts += state.hands.sum(axis=0) + state.cups.sum(axis=0) + state.mountains.sum(axis=0)
    counts += state.fields.sum(axis=(0, 1))
    for colour, count in zip(COLOURS, counts.tolist(), strict=True):
        where = "deck, discard, hands, cups, rivers and mandalas"
        require(count == CARDS_PER_COLOUR, f"{colour}: expected {CARDS_PER_COLOUR} cards in {where}, not {count}")


def check_hands_and_cups(state: Any) -> None:
    """Hands have 1 to 8 cards; the two starting cards are part of each cup."""
    for (hand_name, hand), (cup_name, cup) in zip(
        list_items(state.hands.tolist(), NUM_PLAYERS, "hands"),
        list_items(state.starting_cups.tolist(), NUM_PLAYERS, "starting_cups"),
        strict=True,
    ):
        require(1 <= sum(hand) <= HAND_LIMIT, f"{hand_name}: expected 1 to {HAND_LIMIT} cards, not {sum(hand)}")
        require(sum(cup) == STARTING_CUP, f"{cup_name}: expected {STARTING_CUP} cards, not {sum(cup)}")
    too_many = np.argwhere(state.starting_cups > state.cups)
    require(not len(too_many), "starting_cups: they are part of the cups, but not all of these cards are in the cups")
