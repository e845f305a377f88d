"""Train a player: `python -m training.train CONFIG.yaml [--resume RUN] [--ppo.learning_rate 3e-4 ...]`.

A run's folder holds the resolved config, metrics as JSON lines and for TensorBoard, the last state and, at the end, the
checkpoint and a page with the curves: runs/NAME/{config.yaml, progress.json, events.*, state.safetensors, checkpoint/,
report.html}.
"""

import json
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from errno import EEXIST, ENOTEMPTY
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

import torch
import yaml
from jsonargparse import ArgumentParser
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, ProgressBarCallback
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat, configure
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tqdm import tqdm

from mandala_env.arena.match import Match, evaluate, table
from mandala_env.arena.run_report import write_run_page
from mandala_env.core.game import Game
from mandala_env.files import write_file
from mandala_env.opponents.base import load_opponent
from mandala_env.opponents.checkpoint import NetworkOpponent
from mandala_env.policies.checkpoint import save_checkpoint
from mandala_env.registry import load_game
from training.config import EvaluationConfig, TrainConfig, num_workers, read_preset
from training.precision import as_this_machine_can
from training.selfplay import SelfPlayPPO, TrainingDiverged
from training.state import StateError, check_size, read_state, restore_state, save_state

FINAL_GAMES = 2000
STATE = "state.safetensors"


class Housekeeping(BaseCallback):
    """Between an update and the next collection: measure the learner, write the metrics, save the run's state."""

    def __init__(self, folder: Path, config: TrainConfig, quiet: bool) -> None:
        super().__init__()
        self.folder, self.config, self.quiet = folder, config, quiet
        self.saved_at = -1

    def _on_training_start(self) -> None:
        model: Any = self.model
        self.saved_at = model.iteration  # a resumed run has done all this before

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self.after_update()

    def _on_training_end(self) -> None:
        self.after_update(is_last=True)

    def after_update(self, is_last: bool = False) -> None:
        """What is due after the update of an iteration."""
        model: Any = self.model
        iteration = model.iteration
        if iteration == self.saved_at:
            return
        self.saved_at = iteration
        if iteration % self.config.evaluation.every == 0 and not is_last:
            self.measure(model)
        self.logger.record("time/iteration", iteration)
        self.logger.record("time/decisions", model.num_timesteps)
        self.logger.dump(model.num_timesteps)
        if iteration % self.config.save_every == 0 or is_last:
            # The state last: a run that is killed before it does all this once more.
            write_file(self.folder / "league.json", json.dumps(model.league.payoff_table(), indent=2) + "\n")
            save_state(self.folder / STATE, model, asdict(self.config))

    def measure(self, model: Any) -> None:
        """Play the learner's most likely actions against the baselines; log the scores and their intervals."""
        settings, words = self.config.evaluation, []
        player = NetworkOpponent(model.game, self.config.seed, model.network)
        for match in evaluate(player, settings.against, game=model.game, games=settings.games, seed=model.iteration):
            low, high = match.interval
            self.logger.record(f"evaluation/{match.against}", match.score)
            self.logger.record(f"evaluation/{match.against}_low", low)
            self.logger.record(f"evaluation/{match.against}_high", high)
            words.append(f"{match.score:.1%} against {match.against}")
        if not self.quiet:
            tqdm.write(f"{model.num_timesteps:>12,} decisions: {', '.join(words)}")


def parser() -> ArgumentParser:
    """The command line: a preset's path, options with the names of the config's fields, and where the run goes."""
    result = ArgumentParser(prog="python -m training.train", description=(__doc__ or "").split("\n")[0])
    result.add_argument("preset", type=str, help="a YAML file of configs/")
    result.add_argument("--resume", type=str, default=None, help="the folder of a run to go on with")
    result.add_argument("--runs", type=str, default="runs", help="where the folders of runs are made")
    result.add_argument("--quiet", action="store_true", help="no progress bar")
    result.add_class_arguments(TrainConfig, nested_key=None)
    return result


def read_arguments(arguments: list[str]) -> tuple[TrainConfig, Any]:
    """The config that a preset and options make, and the other arguments; a wrong key ends the program."""
    reader = parser()
    if {"-h", "--help"} & set(arguments):
        reader.parse_args(["--help"])
    preset = next((a for a in arguments if a.endswith((".yaml", ".yml"))), None)
    if preset is None:
        reader.error("expected a preset: the path of a YAML file such as configs/mandala_v0/small.yaml")
    try:
        values = read_preset(Path(preset))
    except ValueError as error:
        reader.error(str(error))
    # What reads the command line would look for classes in rule options, which may be anything, and import them.
    options = values.pop("options", {})
    defaults = reader.parse_object({"preset": preset, **values})
    namespace = reader.parse_args(arguments, namespace=defaults)
    instantiated = reader.instantiate(namespace)
    fields = {name: getattr(instantiated, name) for name in TrainConfig.__dataclass_fields__}
    if not any(argument.partition("=")[0] == "--options" for argument in arguments):  # that would replace all of them
        fields["options"] = {**options, **fields["options"]}
    return TrainConfig(**fields), instantiated


def train(config: TrainConfig, runs: Path, resume: Path | None = None, quiet: bool = False) -> Path:
    """Train to the end and leave a checkpoint; returns the run's folder.

    runs    a new folder for the run is made in it
    resume  the folder of a run to go on with; only total_decisions may differ from its config
    """
    torch.set_num_threads(1)  # the threads are ours, see training.selfplay
    config = as_this_machine_can(config)
    game = load_game(config.game, **config.options)
    check_evaluation(config.evaluation, game)
    model = SelfPlayPPO(game, config)
    check_size(model)
    plain = json.loads(json.dumps(asdict(config)))  # YAML has no tuples
    if resume is not None:
        folder = resume
        header, arrays = read_state(folder / STATE)
        check_same_run(header["config"], plain, folder)
        restore_state(model, header, arrays)
    else:  # a state from the first moment on: whenever the run is killed, it can be gone on with
        folder = new_folder(runs, config.name, lambda folder: save_state(folder / STATE, model, plain))
    write_file(folder / "config.yaml", yaml.safe_dump(plain, sort_keys=False))
    logger = make_logger(folder, model.num_timesteps)
    try:
        model.set_logger(logger)
        run(model, folder, quiet)
    finally:
        logger.close()
    return folder


def run(model: SelfPlayPPO, folder: Path, quiet: bool) -> None:
    """Train what is missing and write what a run ends with."""
    config = model.config
    callbacks: list[BaseCallback] = [Housekeeping(folder, config, quiet)]
    if not quiet:
        callbacks.append(ProgressBarCallback())
        print(f"training {config.game} for {config.total_decisions:,} decisions; tensorboard --logdir {folder}")
    missing = config.total_decisions - model.num_timesteps
    try:
        if missing > 0:
            model.learn(missing, callback=CallbackList(callbacks), reset_num_timesteps=False)
    except TrainingDiverged as error:
        raise TrainingDiverged(f"{error}; {last_good_state(folder)}") from None
    finally:
        model.workers.close()
    finish(folder, config, model.game, model, model.seconds(), quiet)


def last_good_state(folder: Path) -> str:
    """Say where a run that came to a bad end can be gone on from."""
    return f"the last good state is that of iteration {read_state(folder / STATE)[0]['iteration']}: {folder / STATE}"


def check_evaluation(evaluation: EvaluationConfig, game: Game) -> None:
    """Raise ValueError now for what would end the run at its first measurement."""
    if evaluation.games % game.num_players:
        raise ValueError(
            f"evaluation.games must be a multiple of the {game.num_players} players, not {evaluation.games}"
        )
    for spec in evaluation.against:
        load_opponent(spec, game)


def new_folder(runs: Path, name: str, fill: Callable[[Path], None]) -> Path:
    """A folder that did not exist before: NAME, or NAME-2, NAME-3, ...; it has that name from when `fill` is done."""
    unfinished = runs / f".{name}.{uuid4().hex[:8]}"
    unfinished.mkdir(parents=True)
    try:
        fill(unfinished)
        for number in range(1, 10**6):
            folder = runs / (name if number == 1 else f"{name}-{number}")
            try:
                if not folder.exists():
                    return unfinished.rename(folder)
            except OSError as error:  # another run has just taken the name
                if error.errno not in (EEXIST, ENOTEMPTY):
                    raise
        raise FileExistsError(f"{runs} is full of runs called {name}")
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def make_logger(folder: Path, num_timesteps: int) -> Logger:
    """Metrics as JSON lines and for TensorBoard; what a killed run wrote past the state it goes on from is not shown.

    The library's JSON writer starts its file anew: what it holds is kept under another name first.
    """
    old = folder / "progress.json"
    if old.exists():
        number = 1
        while (kept := folder / f"progress-{number}.json").exists():
            number += 1
        old.rename(kept)
    logger = configure(str(folder), ["json", "tensorboard"])
    restart = SessionLog(status=SessionLog.START)  # TensorBoard forgets what it has read from this step on
    for output in logger.output_formats:
        if isinstance(output, TensorBoardOutputFormat):
            output.writer.file_writer.add_event(Event(step=num_timesteps + 1, session_log=restart))
    return logger


def check_same_run(saved: dict, given: dict, folder: Path) -> None:
    """Refuse to go on with a run under another config: the result would be neither run's."""
    # Older runs do not say what could not be chosen then. The kind of the workers changes no result.
    defaults = asdict(TrainConfig())
    saved, given = (filled(one, defaults) for one in (saved, given))
    for one in (saved, given):
        one["workers"] = num_workers(one["workers"], one["num_threads"])
    for key in given:
        if key != "total_decisions" and saved.get(key) != given[key]:
            raise StateError(f"{folder} was made with {key} = {saved.get(key)!r}, not {given[key]!r}")


def filled(values: dict, defaults: dict) -> dict:
    """The values, with the defaults for what is not among them, also in sections."""
    return {**defaults, **values} | {
        name: filled(values[name], default)
        for name, default in defaults.items()
        if isinstance(default, dict) and isinstance(values.get(name), dict)
    }


def finish(
    folder: Path, config: TrainConfig, game: Game, model: SelfPlayPPO, seconds: float, quiet: bool
) -> list[Match]:
    """Evaluate the learner, write its checkpoint and the run's page, and print the summary."""
    player = NetworkOpponent(game, config.seed, model.network)
    matches = evaluate(
        player, config.evaluation.against, game=game, games=whole_deals(FINAL_GAMES, game), seed=config.seed + 1
    )
    matches = [replace(match, player=config.name) for match in matches]
    training = {
        "config": asdict(config),
        "decisions": model.num_timesteps,
        "seconds": round(seconds, 1),
        "machine": f"{platform.machine()}, {config.num_threads} threads",
        "versions": {name: version(name) for name in ("torch", "numpy", "numba", "sb3-contrib")},
    }
    save_checkpoint(
        folder / "checkpoint",
        game,
        model.network,
        training=training,
        metrics={"evaluation": [match.to_dict() for match in matches]},
        card=model_card(config, training, matches),
    )
    report = write_run_page(folder, games=whole_deals(FINAL_GAMES // 5, game))
    if not quiet:
        per_second = f", {model.num_timesteps / seconds:,.0f} a second" if seconds > 1 else ""
        print(f"\n{model.num_timesteps:,} decisions in {seconds / 60:.1f} minutes{per_second}\n\n{table(matches)}\n")
        print(f"checkpoint   {folder / 'checkpoint'}\nmetrics      {folder / 'progress.json'}\nreport       {report}")
        print(f"play against it: load_opponent('checkpoint:{folder / 'checkpoint'}')")
    return matches


def whole_deals(games: int, game: Game) -> int:
    """About so many games, such that every deal is played from every seat."""
    return max(2, games // game.num_players) * game.num_players


def model_card(config: TrainConfig, training: dict, matches: list[Match]) -> str:
    """The checkpoint's README."""
    machine, versions = training["machine"], json.dumps(training["versions"])
    minutes = training["seconds"] / 60
    return "\n".join(
        [
            f"# {config.name}, a player of {config.game}",
            "",
            f"Trained by self-play PPO for {training['decisions']:,} decisions in {minutes:.1f} minutes",
            f"({machine}; {versions}; seed {config.seed}). The most likely action of the policy, without search:",
            "",
            "```",
            table(matches),
            "```",
            "",
            "The config it was trained with is in config.json; the scores in full are in metrics.json.",
            "",
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """The command; see the module."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        config, others = read_arguments(given)
        train(config, Path(others.runs), None if others.resume is None else Path(others.resume), others.quiet)
    except (ValueError, OSError, TrainingDiverged) as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
