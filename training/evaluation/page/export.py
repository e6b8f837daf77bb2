"""A comparison's differences as files for a paper.

export(comparison, Path("outputs/comparison"), ["tex", "csv"])       # differences.tex, ...
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from spanreward.rewards.comparison.figures import NONE, estimate, label
from spanreward.training.evaluation.statistics.comparison import Comparison
from spanreward.training.evaluation.statistics.sentences import p_value

COLUMNS = ["model", "against", "metric", "mean", "both_low", "both_high", "p", "holm", "counted", "trained"]
COLUMNS += ["win", "tie", "loss", "verdict"]


def export(comparison: Comparison, folder: Path, kinds: Sequence[str]) -> list[Path]:
    """Writes the main metrics' differences to differences.KIND (tex, csv), and returns the paths."""
    table = differences(comparison)
    paths = [folder / f"differences.{kind}" for kind in dict.fromkeys(kinds)]
    for path in paths:
        if path.suffix == ".tex":
            style = in_words(table).style.hide(axis="index").format(escape="latex")
            text = style.format_index(escape="latex", axis="columns").to_latex(hrules=True)
            path.write_text(text.replace("<", "$<$"), encoding="utf-8")  # "<" is not in every font of LaTeX
        else:
            table.to_csv(path, index=False)
    return paths


def differences(comparison: Comparison) -> pd.DataFrame:
    """Returns a row per pair and main metric, the last pair first, with the interval that decides."""
    rows = [
        {"model": pair.later, "against": pair.earlier, "metric": metric, **asdict(entry.difference)}
        | {"holm": entry.holm, "verdict": entry.outcome.verdict}
        for pair in reversed(comparison.pairs)
        for metric, entry in pair.metrics.items()
        if comparison.metrics[metric].main
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    ps = {name: [NONE if pd.isna(p) else p_value(p) for p in table[name]] for name in ("p", "holm")}
    ends = table[["mean", "both_low", "both_high"]].itertuples(index=False)
    figures = {"difference [95 %]": [estimate(mean, low, high, sign="+") for mean, low, high in ends]}
    names = table[["model", "against"]].assign(metric=table["metric"].map(label))
    return names.assign(**figures, p=ps["p"], **{"p (Holm)": ps["holm"]}, verdict=table["verdict"])
