"""What training reaches after so many decisions, with several seeds: `python benchmarks/strength.py`.

Each run begins from nothing and ends with its learning rate; a run of more decisions is another run. The minutes are
those of the run on this machine, measuring included, with the load average that is printed. Further arguments are those
of `python -m training.train`, as in `--ppo.learning_rate 5e-4`.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

import torch

from mandala_env import evaluate, load_game
from training.train import read_arguments, train

MATCHES = (("heuristic", 4000), ("search:simulations=200", 600), ("champion", 2000))


def main() -> None:
    """Train, evaluate and print a row for each run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--preset", default="configs/mandala_v0/small.yaml")
    parser.add_argument("--decisions", type=int, nargs="+", default=[10_000_000, 36_000_000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    given, others = parser.parse_known_args()
    print(f"load average {os.getloadavg()[0]:.2f}\n", flush=True)
    print("| decisions | seed | minutes |" + "".join(f" {spec} |" for spec, _ in MATCHES))
    print("|---|---|---|" + "---|" * len(MATCHES), flush=True)
    for decisions in given.decisions:
        for seed in given.seeds:
            run = ["--total_decisions", str(decisions), "--seed", str(seed), "--name", f"{decisions}-{seed}"]
            config, _ = read_arguments([given.preset, *others, *run])
            with tempfile.TemporaryDirectory() as runs:
                checkpoint = train(config, Path(runs), quiet=True) / "checkpoint"
                minutes = json.loads((checkpoint / "config.json").read_text())["training"]["seconds"] / 60
                torch.set_num_threads(1)
                game, cells = load_game(config.game, **config.options), ""
                for spec, games in MATCHES:
                    (match,) = evaluate(str(checkpoint), spec, game=game, games=games)
                    low, high = match.interval
                    cells += f" {match.score:.1%} ({low:.1%} to {high:.1%}) |"
            print(f"| {decisions:,} | {seed} | {minutes:.1f} |{cells}", flush=True)


if __name__ == "__main__":
    main()
