"""A run of the training command from end to end, its schedule, its threads, and what ends it."""

import json
import math
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from mandala_env import evaluate, load_opponent
from mandala_env.core.batch import Batch
from mandala_env.policies.checkpoint import load_checkpoint
from tests.sampling import random_states
from tests.training.tiny import NUM_GAMES, NUM_STEPS, PER_ITERATION, PRESET, make_model, tiny
from training.config import EvaluationConfig, LeagueConfig, PPOConfig
from training.selfplay import SelfPlayPPO, TrainingDiverged
from training.state import read_state
from training.train import main, new_folder, train

REDUCED = shlex.split(
    "--network.shared 4 --network.per_mandala 2 --ppo.num_games 24 --ppo.num_steps 16 --ppo.minibatch_size 200 "
    "--total_decisions 1536 --evaluation.every 2 --evaluation.games 8 --quiet"
)


def exit_message(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says when it refuses its arguments."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code not in (0, None)
    said = capsys.readouterr().err if isinstance(caught.value.code, int) else str(caught.value.code)
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize("threads", [1, 2])
def test_the_command_trains_and_leaves_a_player(tmp_path: Path, game: Any, threads: int) -> None:
    main([PRESET, *REDUCED, "--runs", str(tmp_path), "--name", "mine", "--num_threads", str(threads)])
    folder = tmp_path / "mine"
    names = {path.name for path in folder.iterdir()}
    assert {"config.yaml", "progress.json", "state.safetensors", "checkpoint", "report.html"} <= names
    assert any(name.startswith("events.out.tfevents") for name in names)

    config = yaml.safe_load((folder / "config.yaml").read_text())
    assert config["ppo"]["num_games"] == 24 and config["num_threads"] == threads and config["name"] == "mine"
    assert config["league"]["share"] == 0.25  # the preset's

    rows = [json.loads(line) for line in (folder / "progress.json").read_text().splitlines()]
    assert [row["time/iteration"] for row in rows] == [1, 2, 3, 4]
    assert [row["time/decisions"] for row in rows] == [PER_ITERATION * n for n in (1, 2, 3, 4)]
    assert "against heuristic" in (folder / "report.html").read_text(encoding="utf-8")
    for row in rows:
        assert all(math.isfinite(row[f"train/{name}"]) for name in ("policy_loss", "value_loss", "entropy"))
        assert row["train/entropy"] > 0
    assert "evaluation/random" in rows[1] and "evaluation/heuristic_low" in rows[1]
    assert "evaluation/random" not in rows[0]

    (match,) = evaluate(str(folder / "checkpoint"), "random", game=game, games=8)
    assert 0 <= match.score <= 1
    network = load_checkpoint(folder / "checkpoint", game)
    assert network.config.shared == 4 and network.config.per_mandala == 2
    saved = json.loads((folder / "checkpoint" / "config.json").read_text())
    assert saved["training"]["config"] == config and saved["training"]["decisions"] == 4 * PER_ITERATION
    metrics = json.loads((folder / "checkpoint" / "metrics.json").read_text())
    assert [m["against"] for m in metrics["evaluation"]] == ["random", "heuristic"]
    card = (folder / "checkpoint" / "README.md").read_text()
    assert "mine" in card and "heuristic" in card
    load_opponent(f"checkpoint:{folder / 'checkpoint'},temperature=1", game)


def test_training_changes_the_weights_and_a_config_fixes_the_result(tmp_path: Path, game: Any) -> None:
    weights = []
    for number in range(3):
        folder = train(tiny(3, seed=7 if number < 2 else 8), tmp_path, quiet=True)
        weights.append(load_checkpoint(folder / "checkpoint", game).state_dict())
    start = make_model(game, tiny(seed=7)).network.state_dict()
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in start)
    assert not all(torch.equal(weights[0][name], weights[2][name]) for name in start)
    untouched = [name for name in start if start[name].numel() and torch.equal(weights[0][name], start[name])]
    assert not untouched
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["tiny", "tiny-2", "tiny-3"]


@pytest.mark.parametrize("threads", [1, 2])
def test_training_does_not_touch_the_global_generators(tmp_path: Path, threads: int) -> None:
    np.random.seed(5)  # noqa: NPY002
    torch.manual_seed(5)
    before = random_states()
    train(tiny(4, num_threads=threads), tmp_path, quiet=True)
    assert random_states() == before


def test_the_learning_rate_and_entropy_bonus_fall_to_their_last_values_and_no_further(tmp_path: Path) -> None:
    ppo = PPOConfig(NUM_GAMES, NUM_STEPS, 400, learning_rate=1e-3, final_learning_rate=1e-4, entropy_coef=0.02)
    config = tiny(ppo=replace(ppo, final_entropy_coef=0.01), total_decisions=int(2.5 * PER_ITERATION))
    folder = train(config, tmp_path, quiet=True)
    rows = [json.loads(line) for line in (folder / "progress.json").read_text().splitlines()]
    left = [1 - 1 / 2.5, 1 - 2 / 2.5, 0]  # the third iteration goes past the end
    assert [row["train/learning_rate"] for row in rows] == pytest.approx([1e-4 + 9e-4 * part for part in left])
    assert [row["train/entropy_coef"] for row in rows] == pytest.approx([0.01 + 0.01 * part for part in left])


@pytest.mark.parametrize(
    ("num_games", "num_steps", "threads", "minibatch"), [(1, 1, 1, 2), (2, 1, 2, 2), (3, 2, 3, 2), (5, 3, 2, 4)]
)
def test_the_smallest_runs_work(tmp_path: Path, num_games: int, num_steps: int, threads: int, minibatch: int) -> None:
    ppo = PPOConfig(num_games=num_games, num_steps=num_steps, minibatch_size=minibatch)
    train(
        tiny(ppo=ppo, num_threads=threads, total_decisions=3 * num_games * num_steps, league=LeagueConfig(share=0.3)),
        tmp_path,
        quiet=True,
    )


def test_a_run_never_writes_into_the_folder_of_another(tmp_path: Path) -> None:
    (tmp_path / "run-2").mkdir()
    folders = [new_folder(tmp_path, "run", lambda folder: (folder / "state").touch()) for _ in range(3)]
    assert [folder.name for folder in folders] == ["run", "run-3", "run-4"]
    assert all((folder / "state").exists() for folder in folders) and len(list(tmp_path.iterdir())) == 4


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [1.5, True, "2", None, float("nan")], ids=repr)
@pytest.mark.parametrize("name", ["num_threads", "seed", "total_decisions", "save_every"])
def test_what_is_counted_is_a_whole_number(name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=f"config.{name} must be a whole number from"):
        tiny(**{name: wrong})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ppo.learning_rte", "1"], "learning_rte"),
        (["--league.share", "1.5"], "league.share must be a number from 0 to 1, not 1.5"),
        (["--ppo.learning_rate", "5"], "ppo.learning_rate must be a number from 0 to 1"),
        (["--ppo.num_games", "many"], "ppo.num_games"),
        (["--ppo.num_games", "1"], "num_games must be at least num_threads"),
        (["--num_threads", "0"], "num_threads must be a whole number from 1"),
        (["--workers", "dask:2"], "workers must be local, local:N, ray or ray:N, not 'dask:2'"),
        (["--workers", "ray:99999"], "num_games must be at least num_threads"),
        (["--name", "a/b"], "config.name must be the name of a folder, not 'a/b'"),
        (["--network.layers", "-1"], "network.layers must be a whole number"),
        (["--game", "chess"], "unknown game 'chess'; the games are mandala_v0"),
        (["--options", "{speed: 3}"], "mandala_v0 has no option speed"),
        (["--league.scripted", "[nobody]"], "unknown opponent 'nobody'"),
        (["--evaluation.against", "[nobody]"], "unknown opponent 'nobody'"),
        (["--evaluation.games", "41"], "evaluation.games must be a multiple of the 2 players, not 41"),
        (["--resume", "no/such/run"], "no/such/run"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_option_ends_the_command_with_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert said in exit_message([PRESET, "--quiet", "--runs", str(tmp_path), *options], capsys)
    assert not list(tmp_path.iterdir())  # and no half-made run stays behind


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ppo: {learning_rte: 1}", "learning_rte"),
        ("speed: 3", "speed"),
        ("ppo: 3", "ppo"),
        ("ppo: {learning_rate: fast}", "ppo.learning_rate"),
        ("- a list", "expected the fields of a config"),
        ("", "expected the fields of a config"),
        ("a: [", "preset.yaml"),
    ],
)
def test_a_wrong_preset_ends_the_command_with_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = tmp_path / "preset.yaml"
    path.write_text(text)
    assert said in exit_message([str(path), "--quiet", "--runs", str(tmp_path / "runs")], capsys)
    assert not (tmp_path / "runs").exists()


def test_a_missing_preset_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no/such/preset.yaml" in exit_message(["no/such/preset.yaml"], capsys)
    assert "expected a preset" in exit_message(["--quiet"], capsys)


def test_an_option_beats_the_preset_and_the_preset_the_default(tmp_path: Path) -> None:
    from training.train import read_arguments

    path = tmp_path / "preset.yaml"
    path.write_text("seed: 4\nppo: {num_games: 99, num_steps: 7}\n")
    config, others = read_arguments(["--ppo.num_games", "50", str(path), "--runs", "elsewhere"])
    assert (config.seed, config.ppo.num_games, config.ppo.num_steps) == (4, 50, 7)
    assert config.ppo.gamma == PPOConfig().gamma and config.evaluation == EvaluationConfig()
    assert others.runs == "elsewhere" and others.resume is None
    path.write_text("game: flowers_v0\noptions: {num_players: 4, max_turns: 300}\n")
    assert read_arguments([str(path), "--options.max_turns", "100"])[0].options == {"num_players": 4, "max_turns": 100}
    assert read_arguments([str(path), "--options", "{num_players: 3}"])[0].options == {"num_players": 3}


# --- divergence --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "value"), [("payoffs", np.nan), ("payoffs", np.inf), ("values", np.nan), ("log_probs", -1e30)]
)
def test_poisoned_data_raises_and_leaves_the_weights_as_they_were(game: Any, what: str, value: float) -> None:
    config = tiny(ppo=PPOConfig(num_games=NUM_GAMES, num_steps=NUM_STEPS, minibatch_size=10**6))
    model = make_model(game, config)
    model.learn(PER_ITERATION)
    getattr(model.decisions, what)[:] = value
    model.decisions.ended[:] = True
    weights = {name: tensor.clone() for name, tensor in model.network.state_dict().items()}
    moments = repr(model.policy.optimizer.state_dict())
    with np.errstate(all="ignore"), pytest.raises(TrainingDiverged, match=r"iteration 1, decision \d+: .*policy_loss"):
        model.train()
    assert all(torch.equal(weights[name], tensor) for name, tensor in model.network.state_dict().items())
    assert repr(model.policy.optimizer.state_dict()) == moments


def test_a_poisoned_reward_ends_the_run_at_its_place_and_what_was_saved_goes_on_as_if_nothing_had_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny(4, save_every=1)
    clean = train(config, tmp_path / "clean", quiet=True)
    step, num_steps = Batch.step, 0

    def poisoned(batch: Batch, actions: np.ndarray) -> Any:
        nonlocal num_steps
        payoffs, ended = step(batch, actions)
        num_steps += len(batch) == NUM_GAMES  # not in the games of an evaluation
        if num_steps == 2 * NUM_STEPS + 6:
            payoffs[7, 1] = np.nan
        return payoffs, ended

    with monkeypatch.context() as patch:
        patch.setattr(Batch, "step", poisoned)
        with pytest.raises(TrainingDiverged) as caught:
            train(config, tmp_path, quiet=True)
    state = tmp_path / "tiny" / "state.safetensors"
    assert str(caught.value) == (
        f"iteration 3, decision {2 * PER_ITERATION}: 1 of the payoffs are not finite, the first at step 5, game 7, "
        f"seat 1; the last good state is that of iteration 2: {state}"
    )
    header, arrays = read_state(state)
    assert all(np.isfinite(array).all() for array in arrays.values() if array.dtype.kind == "f")
    assert all(0 <= member["beaten"] <= 1 for member in header["league"])
    resumed = train(config, tmp_path, resume=state.parent, quiet=True)
    for name in ("model.safetensors", "metrics.json"):
        assert (resumed / "checkpoint" / name).read_bytes() == (clean / "checkpoint" / name).read_bytes()


def test_weights_that_overflow_end_the_run_and_say_so_before_anything_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect = SelfPlayPPO.collect_rollouts

    def spoil(self: SelfPlayPPO, *args: Any, **kwargs: Any) -> bool:
        with torch.no_grad():
            self.parameters_in_one.mul_(1e20)
        return collect(self, *args, **kwargs)

    monkeypatch.setattr(SelfPlayPPO, "collect_rollouts", spoil)
    with pytest.raises(TrainingDiverged, match=r"iteration 1, .* of the values are not finite.* state"):
        train(tiny(2), tmp_path, quiet=True)
    for path in tmp_path.rglob("*.safetensors"):
        assert all(np.isfinite(array).all() for array in read_state(path)[1].values() if array.dtype.kind == "f")


def test_an_iteration_in_which_the_learner_decides_nothing_teaches_nothing(game: Any) -> None:
    league = LeagueConfig(share=1.0, max_snapshots=0, scripted=["random"])
    model = make_model(game, tiny(ppo=PPOConfig(num_games=1, num_steps=1, minibatch_size=2), league=league))
    num_idle = 0
    for _ in range(12):
        weights = model.parameters_in_one.detach().clone()
        model.learn(1, reset_num_timesteps=False)
        if not model.decisions.is_learners.any():
            assert torch.equal(model.parameters_in_one, weights)
            num_idle += 1
    assert 0 < num_idle < 12


def test_the_command_ends_with_one_line_when_training_diverges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverge(self: SelfPlayPPO) -> None:
        raise TrainingDiverged("iteration 1: the gradient's norm is nan")

    monkeypatch.setattr(SelfPlayPPO, "train", diverge)
    said = exit_message([PRESET, *REDUCED, "--runs", str(tmp_path)], capsys)
    assert said.startswith("TrainingDiverged: iteration 1: the gradient's norm is nan; ") and "state" in said


def test_a_config_is_plain_data() -> None:
    assert json.loads(json.dumps(asdict(tiny()))) == asdict(tiny())
