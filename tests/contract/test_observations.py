"""A seat is shown all that it may know and nothing else, and the games treat seats, mandalas and colours alike."""

import json
import re
from typing import Any

import numpy as np
import pytest

from mandala_env.core.batch import Batch, imagine_all
from mandala_env.core.rng import spread_seeds

from .playing import different, moved, moved_actions, moved_observation, same, sample


def rotation(game: Any, shift: int) -> np.ndarray:
    """Every seat moves on by so many."""
    return (np.arange(game.num_players) + shift) % game.num_players


def imagined_for(game: Any, facts: Any, state: Any, seat: int, seed: int) -> Any:
    """A state that the seat takes to be possible, with the seat where it was."""
    return moved(game, facts, game.imagine(game.observe(state, seat), seed), "player", rotation(game, seat))


# --- what is shown ------------------------------------------------------------------------------------------------


def test_every_number_lies_between_0_and_the_highest_that_the_layout_names(game: Any) -> None:
    highest = game.layout.highest
    for state in sample(game):
        for seat in range(game.num_players):
            observation = game.observe(state, seat)
            assert observation.dtype == np.int8
            assert (observation >= 0).all() and (observation <= highest).all()
            unit = game.layout.unit(observation)
            assert unit.dtype == np.float32 and unit.min() >= 0 and unit.max() <= 1
            assert np.array_equal(game.layout.counts(unit), observation)


def test_an_imagined_state_shows_its_viewer_the_same_in_thousands_of_games(game: Any, facts: Any) -> None:
    batch = Batch(game, 1000, seed=1, copy=False)
    twin = Batch(game, 1000, seed=2, copy=False)
    num_ends = 0
    for step in range(160):
        num_ends += int(batch.step_random()[1].sum())
        if step % 8:
            continue
        for seat in range(game.num_players):
            observations = batch.observe(seat)
            states = game.blank_states(len(batch))
            states["generator"] = spread_seeds(step, len(batch))
            imagine_all(observations, states)
            twin.set_states(states)
            assert np.array_equal(twin.observe(0), observations)
            is_mover = batch.players == seat
            assert np.array_equal(twin.players == 0, is_mover)
            assert np.array_equal(twin.action_masks[is_mover], batch.action_masks[is_mover])
            assert facts.is_complete_set(states)
    assert num_ends > 100


def test_an_imagined_state_shows_the_same_to_every_seat_also_off_turn_and_after_the_end(game: Any) -> None:
    for number, state in enumerate(sample(game)):
        for seat in range(game.num_players):
            observation = game.observe(state, seat)
            assert np.array_equal(game.observe(game.imagine(observation, number), 0), observation)


def test_imagined_states_differ_and_the_same_seed_gives_the_same_one(game: Any) -> None:
    observation = game.observe(game.deal(0), 0)
    states = [game.imagine(observation, seed) for seed in (1, 1, 2)]
    assert same(states[0], states[1])
    assert different(states[0], states[2], "generator")


def test_an_imagined_state_plays_on_to_its_end(game: Any) -> None:
    for seed, state in enumerate(sample(game, every=99)):
        imagined = game.imagine(game.observe(state, 0), seed)
        for _ in range(10_000):
            if game.is_over(imagined):
                break
            game.apply(imagined, game.legal_actions(imagined)[-1])
        assert game.is_over(imagined)


def test_what_a_seat_cannot_see_changes_nothing_that_it_is_shown(game: Any, facts: Any) -> None:
    rng = np.random.default_rng(0)
    num_changed = 0
    states = sample(game)
    for state in states:
        for seat in range(game.num_players):
            other = game.copy(state)
            facts.redeal(other, seat, rng)
            assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
            if game.player(state) == seat:
                assert np.array_equal(game.action_mask(other), game.action_mask(state))
                assert np.array_equal(facts_of_end(game, other), facts_of_end(game, state))
            num_changed += bool(different(state, other, "generator"))
            assert facts.is_complete_set(np.array([other]))
    assert num_changed > len(states)


def facts_of_end(game: Any, state: Any) -> tuple[bool, int]:
    """What everybody is told at any time: whether the game is over and whose move it is."""
    return game.is_over(state), game.player(state)


def test_what_a_seat_sees_determines_all_that_it_may_know(game: Any, facts: Any) -> None:
    """Two states with one observation agree in everything public: an imagined state has nothing but the observation."""
    for number, state in enumerate(sample(game)):
        for seat in range(game.num_players):
            imagined = imagined_for(game, facts, state, seat, number)
            assert facts.public(imagined, seat) == facts.public(state, seat)


def test_the_generator_is_never_shown(game: Any) -> None:
    for state in sample(game, every=20):
        other = game.copy(state)
        other.generator = state.generator ^ np.uint64(2**64 - 1)
        for seat in range(game.num_players):
            assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
        assert np.array_equal(game.action_mask(other), game.action_mask(state))


# --- symmetries ---------------------------------------------------------------------------------------------------


def check_symmetry(game: Any, facts: Any, axis: str, new: np.ndarray, rng: np.random.Generator, every: int) -> None:
    """Moving a state and then asking or playing gives what asking or playing and then moving gives."""
    actions = moved_actions(game, axis, new)
    seats = new if axis == "player" else np.arange(game.num_players)
    for state in sample(game, every):
        facts.leave_no_chance(state, rng)
        twin = moved(game, facts, state, axis, new)
        for seat in range(game.num_players):
            expected = moved_observation(game, game.observe(state, seat), axis, new) if axis != "player" else None
            assert np.array_equal(
                game.observe(twin, int(seats[seat])), game.observe(state, seat) if expected is None else expected
            )
        legal = game.legal_actions(state)
        assert sorted(actions[legal].tolist()) == game.legal_actions(twin)
        assert game.is_over(twin) == game.is_over(state)
        assert np.array_equal(np.array(game.scores(twin))[seats], game.scores(state))
        assert np.array_equal(np.array(game.payoffs(twin))[seats], game.payoffs(state))
        for action in legal:
            after, twin_after = game.copy(state), game.copy(twin)
            game.apply(after, action)
            game.apply(twin_after, int(actions[action]))
            assert same(moved(game, facts, after, axis, new), twin_after), game.actions.text(action)


def test_seats_are_alike(game: Any, facts: Any) -> None:
    rng = np.random.default_rng(1)
    for shift in range(1, game.num_players):
        check_symmetry(game, facts, "player", rotation(game, shift), rng, every=6)


def test_colours_are_alike(game: Any, facts: Any) -> None:
    rng = np.random.default_rng(2)
    for _ in range(3):
        check_symmetry(game, facts, "colour", facts.mix_colours(rng), rng, every=18)


def test_mandalas_are_alike(game: Any, facts: Any) -> None:
    rng = np.random.default_rng(3)
    num_mandalas = game.layout.axis_lengths["mandala"]
    for shift in range(1, num_mandalas):
        check_symmetry(game, facts, "mandala", (np.arange(num_mandalas) + shift) % num_mandalas, rng, every=10)


# --- positions and text -------------------------------------------------------------------------------------------


def test_a_position_gives_the_same_state_again(game: Any) -> None:
    for state in sample(game):
        position = game.position(state)
        again = game.from_position(json.loads(json.dumps(position)), 3)
        assert different(again, state, "generator", "adjudicated") == []
        assert np.array_equal(np.delete(raw(again), hole(game)), np.delete(raw(state), hole(game)))
        assert game.position(again) == position


def raw(state: Any) -> np.ndarray:
    """The bytes of a state."""
    return np.frombuffer(state.tobytes(), np.uint8)


def hole(game: Any) -> np.ndarray:
    """The bytes of the fields that a position does not carry."""
    places = []
    for name in ("generator", "adjudicated"):
        if name in game.dtype.names:
            dtype, start = game.dtype.fields[name][:2]
            places += range(start, start + dtype.itemsize)
    return np.array(places)


def test_a_position_and_a_seed_are_a_game(game: Any) -> None:
    state = sample(game)[3]
    position = game.position(state)
    assert same(game.from_position(position, 5), game.from_position(position, 5))
    assert game.from_position(position, 5).generator != game.from_position(position, 6).generator
    assert game.from_position(position).generator != game.from_position(position).generator


def test_every_action_is_read_back_from_its_text(game: Any) -> None:
    texts = [game.actions.text(action) for action in range(len(game.actions))]
    assert len(set(texts)) == len(texts)
    for action, text in enumerate(texts):
        assert game.actions.parse(text) == action
        assert game.actions.parse(f"  {text.upper().replace(' ', '   ')} ") == action
    for text in ("", "pass", f"{texts[0]} {texts[0]}"):
        with pytest.raises(ValueError, match="the actions are"):
            game.actions.parse(text)
    for action in (-1, len(texts)):
        with pytest.raises(ValueError, match="there is no action"):
            game.actions.text(action)


def test_a_picture_hides_what_its_viewer_cannot_see(game: Any, facts: Any) -> None:
    rng = np.random.default_rng(4)
    for state in sample(game, every=12):
        if game.is_over(state):
            continue  # then all is open: the scores are told
        for seat in range(game.num_players):
            other = game.copy(state)
            facts.redeal(other, seat, rng)
            assert game.render(other, seat) == game.render(state, seat)
        assert re.search(r"\w", game.render(state))
