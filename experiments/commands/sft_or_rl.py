"""When is RL worth it? One picture from several comparisons, each of models that learnt from other
references.

    python -m experiments sft-or-rl all=outputs/all half=outputs/half --picture sft_or_rl.svg --json
    sft_or_rl.json

A folder is one that `spanreward compare --output` wrote. A dot is the mean truth F1 of one run over
the held-out prompts, a line the mean of the runs.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from experiments.commands.named import named

METRIC = "truth_f1"
COLOURS = ("#888888", "#c77c11", "#1b7f4b", "#3566a8", "#8d3fa8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "comparisons", nargs="+", metavar="REFERENCES=FOLDER", help="what the models learnt from"
    )
    parser.add_argument("--picture", type=Path, required=True, help="the SVG or PNG to write")
    parser.add_argument("--json", type=Path, required=True, help="the same figures")
    arguments = parser.parse_args()
    cells = {}
    for name, folder in named(
        parser, arguments.comparisons, "a comparison is REFERENCES=FOLDER"
    ).items():
        cells[name] = figures_of(
            json.loads((Path(folder) / "results.json").read_text(encoding="utf-8"))
        )
    arguments.json.write_text(json.dumps(cells, indent=2) + "\n", encoding="utf-8")
    draw(cells, arguments.picture)
    for name, models in cells.items():
        print(name, {model: round(figures["mean"], 3) for model, figures in models.items()})


def figures_of(results: Mapping[str, Any]) -> dict[str, Any]:
    """{model: mean, runs, intervals over prompts and over prompts and runs (None with fewer than
    three runs)}.
    """
    kept = ("mean", "per_seed", "low", "high", "both_low", "both_high")
    return {
        model: {name: metrics[METRIC].get(name) for name in kept}
        | {"words": metrics["words"]["mean"]}
        for model, metrics in results["models"].items()
    }


def draw(cells: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    models = list(dict.fromkeys(model for cell in cells.values() for model in cell))
    figure, axis = plt.subplots(figsize=(1.6 + 1.5 * len(cells), 4))
    step = 0.8 / len(models)
    for place, cell in enumerate(cells.values()):
        for number, model in enumerate(models):
            if model in cell:
                x, colour = (
                    place + step * (number - (len(models) - 1) / 2),
                    COLOURS[number % len(COLOURS)],
                )
                runs = cell[model]["per_seed"]
                axis.plot([x] * len(runs), runs, "o", color=colour, markersize=4, alpha=0.7)
                axis.hlines(
                    cell[model]["mean"], x - step / 3, x + step / 3, color=colour, linewidth=2
                )
    for number, model in enumerate(models):
        axis.plot([], [], "o", color=COLOURS[number % len(COLOURS)], label=model)
    axis.set_xticks(range(len(cells)), cells)
    axis.set_xlabel("references")
    axis.set_ylabel("truth F1, held-out pictures")
    axis.grid(axis="y", alpha=0.3)
    figure.legend(
        *axis.get_legend_handles_labels(),
        loc="upper center",
        ncols=len(models),
        frameon=False,
        fontsize=9,
    )
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    figure.savefig(path)
    plt.close(figure)
