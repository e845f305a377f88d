"""The same training for a game of more than two players."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mandala_env import evaluate, load_game, load_opponent
from tests.training.tiny import make_model, tiny
from training.config import EvaluationConfig, LeagueConfig
from training.rollout import NOBODY
from training.train import train


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_a_run_leaves_a_checkpoint_that_plays(num_players: int, tmp_path: Path) -> None:
    options = {"num_players": num_players}
    config = tiny(3, game="flowers_v0", options=options, evaluation=EvaluationConfig(every=2, games=12))
    checkpoint = train(config, tmp_path, quiet=True) / "checkpoint"
    game = load_game("flowers_v0", **options)
    player = load_opponent(f"checkpoint:{checkpoint}", game)
    (match,) = evaluate(player, "random", game=game, games=2 * num_players)
    assert match.games == 2 * num_players and len(match.by_seat) == num_players
    if num_players == 3:
        with pytest.raises(ValueError, match="fingerprint"):
            load_opponent(f"checkpoint:{checkpoint}", "flowers_v0")


def test_a_run_of_another_number_of_players_is_not_gone_on_with(tmp_path: Path) -> None:
    config = tiny(1, game="flowers_v0", options={"num_players": 3}, evaluation=EvaluationConfig(every=9, games=12))
    folder = train(config, tmp_path, quiet=True)
    with pytest.raises(ValueError, match="was made with options"):
        train(replace(config, options={"num_players": 2}), tmp_path, resume=folder, quiet=True)


def test_with_three_players_every_seat_gets_its_own_result() -> None:
    game = load_game("flowers_v0", num_players=3)
    model = make_model(game, tiny(40, game="flowers_v0", options={"num_players": 3}))
    num_ends, seats = 0, set()
    for _ in range(12):
        model.learn(1, reset_num_timesteps=False)
        d = model.decisions
        assert all(math.isfinite(value) for value in (d.advantages.min(), d.advantages.max()))
        for step, number in zip(*np.nonzero(d.ended), strict=True):
            payoffs = d.payoffs[step, number]
            assert payoffs.sum() == pytest.approx(0, abs=1e-6) and payoffs.max() > 0 > payoffs.min()
            num_ends += 1
        members = ~d.is_learners
        seats |= set(d.players[members].tolist())
    assert num_ends > 5 and seats == {0, 1, 2}


def test_a_learner_that_sits_alone_has_one_seat_and_a_member_all_others() -> None:
    game = load_game("flowers_v0", num_players=4)
    league = LeagueConfig(share=1.0, max_snapshots=0, scripted=["random"], alone=1.0)
    model = make_model(game, tiny(40, game="flowers_v0", options={"num_players": 4}, league=league))
    for _ in range(6):
        model.learn(1, reset_num_timesteps=False)
        assert all((shard.num_seats[shard.slots != NOBODY] == 3).all() for shard in model.shards)
    assert [member.name for member in model.league.members] == ["random"]
