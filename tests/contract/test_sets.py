"""Sets of actions as words: choosing the n-th action is choosing from the sorted list."""

import numpy as np
import pytest

from mandala_env.core import actions as sets
from mandala_env.core.actions import num_words
from tests.compiled import called

allow, is_allowed, count_allowed, nth_allowed = map(
    called, (sets.allow, sets.is_allowed, sets.count_allowed, sets.nth_allowed)
)


@pytest.mark.parametrize("num_actions", [1, 63, 64, 65, 150, 272])
def test_the_nth_action_of_a_set_is_the_nth_of_its_sorted_list(num_actions: int) -> None:
    rng = np.random.default_rng(num_actions)
    for share in (0.02, 0.3, 0.7, 1.0):
        for _ in range(20):
            actions = np.flatnonzero(rng.random(num_actions) < share)
            words = np.zeros(num_words(num_actions), np.uint64)
            for action in actions:
                allow(words, int(action), np.uint64(1))
            assert count_allowed(words) == len(actions)
            assert [nth_allowed(words, n) for n in range(len(actions))] == actions.tolist()


@pytest.mark.parametrize("first", [0, 1, 40, 63, 64, 100])
def test_a_run_of_actions_may_lie_across_two_words(first: int) -> None:
    words = np.zeros(3, np.uint64)
    allow(words, first, np.uint64((1 << 40) - 1))
    assert [action for action in range(192) if is_allowed(words, action)] == list(range(first, first + 40))
