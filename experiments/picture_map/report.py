"""What the runs of the map came to: means over runs with intervals, a table and a figure.

    rows = rows_of(runs)               # a row for each cell, and one for the bases
    draw_map(rows, Path("pictures.svg"))

Intervals are t intervals over runs. `gain` is the difference from the runs of the same seeds whose
judge saw no picture, with the same references and the same credit.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import sem, t

from experiments.picture_map.cell import ERRORS, OMISSIONS, Cell

COLOURS = {"picture": "#3566a8", "both": "#1b7f4b"}
COLOUR_OF_REFERENCE = "#c77c11"
CONFIDENCE = 0.95
FIGURES = ("truth_f1", "precision", "recall")


def rows_of(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the bases' row first, then the cells' in the order of their names."""
    by_cell: dict[str, dict[int, Mapping[str, Any]]] = defaultdict(dict)
    cells: dict[str, Cell] = {}
    for run in runs:
        name = "base"
        if "cell" in run:
            cell = Cell(**run["cell"])
            name = cell.name
            cells[name] = cell
        by_cell[name][run["seed"]] = run
    rows = []
    for name in sorted(by_cell, key=lambda name: (name != "base", name)):
        row: dict[str, Any] = {"name": name}
        by_seed = by_cell[name]
        if name in cells:
            row["cell"] = {field: getattr(cells[name], field) for field in Cell.__slots__}
        row |= figures_of(by_seed)
        if name in cells and cells[name].evidence != "reference":
            unseeing = Cell(cells[name].omission, "reference", 0.0, cells[name].spans)
            row["gain"] = gain(by_seed, by_cell.get(unseeing.name, {}))
        rows.append(row)
    return rows


def figures_of(by_seed: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Returns each figure's mean, interval and runs, of greedy texts; of sampled ones truth F1."""
    seeds = sorted(by_seed)
    found: dict[str, Any] = {"seeds": seeds}
    for figure in FIGURES:
        found[figure] = summary([by_seed[seed]["greedy"][figure] for seed in seeds])
    found["sampled_truth_f1"] = summary([by_seed[seed]["sampled"]["truth_f1"] for seed in seeds])
    found["tokens"] = round(fmean(by_seed[seed]["greedy"]["tokens"] for seed in seeds), 1)
    return found


def gain(
    seeing: Mapping[int, Mapping[str, Any]], unseeing: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Returns the differences in greedy truth F1, seed by seed. None without a common seed."""
    seeds = sorted(seeing.keys() & unseeing.keys())
    if not seeds:
        return None
    differences = []
    for seed in seeds:
        with_picture, without = seeing[seed]["greedy"], unseeing[seed]["greedy"]
        differences.append(with_picture["truth_f1"] - without["truth_f1"])
    return summary(differences)


def summary(values: Sequence[float]) -> dict[str, Any]:
    """low, high: None for a single run."""
    mean = fmean(values)
    low = high = None
    if len(values) > 1:
        half = float(sem(values) * t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
        low, high = round(mean - half, 4), round(mean + half, 4)
    runs = [round(value, 4) for value in values]
    return {"mean": round(mean, 4), "low": low, "high": high, "runs": runs}


def markdown_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [
        "| left out | evidence | judge's errors | credit | runs | truth F1 | precision | recall "
        "| sampled | less without pictures |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "cell" not in row:
            head = "| | base | | |"
        else:
            cell = Cell(**row["cell"])
            credit = "spans" if cell.spans else "scalar"
            errors = "" if cell.evidence == "reference" else f"{cell.errors:.0%}"
            if cell.judge != "noisy":
                errors = "trained"
            head = f"| {cell.omission:.0%} | {cell.evidence} | {errors} | {credit} |"
        figures = [typeset(row[figure]) for figure in (*FIGURES, "sampled_truth_f1")]
        against = "" if row.get("gain") is None else typeset(row["gain"], "+")
        lines.append(f"{head} {len(row['seeds'])} | {' | '.join(figures)} | {against} |")
    return lines


def typeset(figure: Mapping[str, Any], sign: str = "") -> str:
    text = f"{figure['mean']:{sign}.3f}"
    if figure["low"] is not None:
        text += f" [{figure['low']:{sign}.3f}, {figure['high']:{sign}.3f}]"
    return text


def draw_map(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A row of panels for the scalar and one for spans, a column for each omission. Dots are runs,
    lines their means.
    """
    figure, axes = plt.subplots(
        2, len(OMISSIONS), figsize=(3.4 * len(OMISSIONS), 6.2), sharex=True, sharey=True
    )
    for line, spans in enumerate((False, True)):
        for column, omission in enumerate(OMISSIONS):
            axis = axes[line][column]
            draw_panel(axis, rows, omission, spans)
            if line == 0:
                axis.set_title(f"references leave out {omission:.0%}", fontsize=9)
            else:
                axis.set_xlabel("the judge's errors about pictures", fontsize=8)
        credit = "spans" if spans else "scalar"
        axes[line][0].set_ylabel(f"{credit}: truth F1", fontsize=8)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=3, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


def draw_panel(axis: Any, rows: Sequence[Mapping[str, Any]], omission: float, spans: bool) -> None:
    noisy = []
    for row in rows:
        if "cell" in row and row["cell"]["judge"] == "noisy":
            cell = Cell(**row["cell"])
            if (cell.omission, cell.spans) == (omission, spans):
                noisy.append((cell, row["truth_f1"]))
    for cell, truth in noisy:
        if cell.evidence == "reference":
            axis.axhline(
                truth["mean"], color=COLOUR_OF_REFERENCE, label="evidence: reference", linewidth=2
            )
            count = len(truth["runs"])
            axis.plot([-0.02] * count, truth["runs"], ".", color=COLOUR_OF_REFERENCE, alpha=0.6)
    for evidence, colour in COLOURS.items():
        of_evidence = [(cell, truth) for cell, truth in noisy if cell.evidence == evidence]
        of_evidence.sort(key=lambda pair: pair[0].errors)
        errors = [cell.errors for cell, _ in of_evidence]
        means = [truth["mean"] for _, truth in of_evidence]
        axis.plot(errors, means, "-", color=colour, label=f"evidence: {evidence}", linewidth=2)
        aside = 0.004 if evidence == "both" else -0.004  # so that neither hides the other
        for cell, truth in of_evidence:
            places = np.full(len(truth["runs"]), cell.errors + aside)
            axis.plot(places, truth["runs"], ".", color=colour, alpha=0.6)
    axis.set_xticks(ERRORS, [f"{error:.0%}" for error in ERRORS])
    axis.tick_params(labelsize=8)
    axis.grid(axis="y", alpha=0.3)
