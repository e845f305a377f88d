"""Training teaches: slow, because it takes some thousands of games."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mandala_env import evaluate
from tests.training.tiny import PRESET
from training.train import read_arguments, train


@pytest.mark.slow
def test_some_seconds_of_training_beat_random_and_the_untrained_self(tmp_path: Path, game: Any) -> None:
    config, _ = read_arguments(
        [PRESET, "--total_decisions", "600000", "--evaluation.every", "1000", "--num_threads", "1"]
    )
    trained = train(config, tmp_path, quiet=True) / "checkpoint"
    untrained = train(replace(config, name="untrained", total_decisions=1), tmp_path, quiet=True) / "checkpoint"
    against_random, against_untrained = evaluate(
        f"checkpoint:{trained}", ["random", f"checkpoint:{untrained}"], game=game, games=1000, seed=77
    )
    assert against_random.interval[0] > 0.85
    assert against_untrained.interval[0] > 0.85
    (before,) = evaluate(f"checkpoint:{untrained}", "random", game=game, games=1000, seed=77)
    assert before.score < against_random.score - 0.1
