"""What several trainings logged by step, one panel a key: a thin line a run, a thick one their
mean.

    python -m experiments curves DAPO=outputs/dapo0,outputs/dapo1 SFT-DAPO=outputs/both0,outputs/both1 \
        --keys rewards/posh/mean entropy --picture curves.svg

A folder is a run's, with its metrics.jsonl.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from experiments.commands.named import named
from spanreward.rewards.rows.tables import read_table

COLOURS = ("#c77c11", "#8d3fa8", "#1b7f4b", "#3566a8", "#888888")
Runs = Mapping[str, Sequence[Mapping[str, Sequence[float]]]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "arms", nargs="+", metavar="NAME=FOLDER[,FOLDER...]", help="an arm and its runs"
    )
    parser.add_argument("--keys", nargs="+", required=True, help="what was logged")
    parser.add_argument("--picture", type=Path, required=True, help="the SVG or PNG to write")
    arguments = parser.parse_args()
    arms = named(parser, arguments.arms, "an arm is NAME=FOLDER")
    runs = {
        name: [logged(Path(one), arguments.keys) for one in folders.split(",")]
        for name, folders in arms.items()
    }
    draw(runs, arguments.keys, arguments.picture)


def logged(folder: Path, keys: Sequence[str]) -> dict[str, list[float]]:
    """{key: its value in each step that has a loss}."""
    lines = [line for _, line in read_table(folder / "metrics.jsonl") if "loss" in line]
    return {key: [line[key] for line in lines] for key in keys}


def draw(arms: Runs, keys: Sequence[str], path: Path) -> None:
    figure, axes = plt.subplots(1, len(keys), figsize=(4.2 * len(keys), 3.4), squeeze=False)
    for axis, key in zip(axes[0], keys, strict=True):
        for number, (name, runs) in enumerate(arms.items()):
            values, colour = np.array([run[key] for run in runs]), COLOURS[number % len(COLOURS)]
            steps = np.arange(1, values.shape[1] + 1)
            axis.plot(steps, values.T, color=colour, linewidth=0.6, alpha=0.35)
            axis.plot(steps, values.mean(axis=0), color=colour, linewidth=2, label=name)
        axis.set_title(key, fontsize=10)
        axis.set_xlabel("step")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.grid(alpha=0.3)
    figure.legend(
        *axes[0][0].get_legend_handles_labels(),
        loc="upper center",
        ncols=len(arms),
        frameon=False,
        fontsize=9,
    )
    figure.tight_layout(rect=(0, 0, 1, 0.92))
    figure.savefig(path)
    plt.close(figure)
