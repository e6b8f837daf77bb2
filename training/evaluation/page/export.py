"""A comparison's differences as files for a paper.

export(comparison, Path("outputs/comparison"), ["tex", "csv", "svg"])       # differences.tex, ...
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pandas as pd

from spanreward.rewards.comparison.figures import estimate, label, number
from spanreward.training.evaluation.statistics.comparison import Comparison
from spanreward.training.evaluation.statistics.words import p_value

Kind = Literal["tex", "csv", "svg"]


def export(comparison: Comparison, folder: Path, kinds: Sequence[Kind]) -> list[Path]:
    """Writes the main metrics' differences to differences.KIND, and returns the paths. csv holds all digits."""
    table = differences(comparison)
    writers = {"tex": write_tex, "csv": lambda table, path: table.to_csv(path, index=False), "svg": draw}
    paths = [folder / f"differences.{kind}" for kind in dict.fromkeys(kinds)]
    for path in paths:
        writers[path.suffix[1:]](table, path)
    return paths


def differences(comparison: Comparison) -> pd.DataFrame:
    """Returns a row per pair and main metric, the last pair first: the mean, the interval that decides, p-values."""
    return pd.DataFrame(
        [
            {
                **{"model": pair.later, "against": pair.earlier, "metric": metric, "mean": found.mean},
                **{"both_low": found.both_low, "both_high": found.both_high, "p": found.p, "holm": entry.holm},
                **{"counted": found.counted, "trained": found.trained},
                **{"win": found.win, "tie": found.tie, "loss": found.loss, "verdict": entry.outcome.verdict},
            }
            for pair in reversed(comparison.pairs)
            for metric, entry in pair.metrics.items()
            for found in [entry.difference]
            if comparison.metrics[metric].main
        ]
    )


def write_tex(table: pd.DataFrame, path: Path) -> None:
    def p(value: float) -> str:
        return number(None) if pd.isna(value) else p_value(value)

    shown = pd.DataFrame(
        {
            "model": table["model"],
            "against": table["against"],
            "metric": table["metric"].map(label),
            "difference [95 %]": [estimate(*row, sign="+") for row in table[["mean", "both_low", "both_high"]].values],
            "p": table["p"].map(p),
            "p (Holm)": table["holm"].map(p),
            "verdict": table["verdict"],
        }
    )
    cells = shown.style.hide(axis="index").format(escape="latex").format_index(escape="latex", axis="columns")
    text = cells.to_latex(hrules=True).replace("<", "$<$").replace(">", "$>$")  # not in every font of LaTeX
    path.write_text(text, encoding="utf-8")


def draw(table: pd.DataFrame, path: Path) -> None:
    """Draws every difference with its interval."""
    from matplotlib.figure import Figure

    known = table.dropna(subset=["mean", "both_low"])[::-1]
    figure = Figure(figsize=(6, 0.8 + 0.32 * len(known)), layout="constrained")
    axes = figure.subplots()
    reach = [known["mean"] - known["both_low"], known["both_high"] - known["mean"]]
    axes.errorbar(known["mean"], range(len(known)), xerr=reach, fmt="o", capsize=3)
    axes.axvline(0, color="grey", linestyle=":")
    names = [f"{row.model} \N{MINUS SIGN} {row.against}, {label(row.metric)}" for row in known.itertuples()]
    axes.set_yticks(range(len(known)), names, parse_math=False)
    axes.set_xlabel("difference [95 %]")
    figure.savefig(path)
