"""A comparison's differences as files for a paper.

export(results, Path("outputs/comparison"), ["tex", "csv", "md", "svg"])    # differences.tex, ...
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from spanreward.rewards.comparison.figures import estimate, label, number
from spanreward.training.evaluation.outcomes import p_value
from spanreward.training.evaluation.report import pairs

Kind = Literal["tex", "csv", "md", "svg"]


def export(results: Mapping[str, Any], folder: Path, kinds: Sequence[Kind]) -> list[Path]:
    """Writes the main metrics' differences to differences.KIND, and returns the paths. csv holds all digits."""
    table = differences(results)
    shown = in_words(table)
    paths = []
    for kind in dict.fromkeys(kinds):
        path = folder / f"differences.{kind}"
        paths.append(path)
        if kind == "svg":
            draw(table, path)
        elif kind == "csv":
            table.to_csv(path, index=False)
        elif kind == "tex":
            cells = shown.style.hide(axis="index").format(escape="latex").format_index(escape="latex", axis="columns")
            text = cells.to_latex(hrules=True).replace("<", "$<$").replace(">", "$>$")  # not in every font of LaTeX
            path.write_text(text, encoding="utf-8")
        else:
            safe = shown.map(lambda text: str(text).replace("|", "\\|"))
            rows = [list(safe.columns), ["---"] * len(safe.columns), *safe.to_numpy().tolist()]
            path.write_text("".join(f"| {' | '.join(row)} |\n" for row in rows), encoding="utf-8")
    return paths


def differences(results: Mapping[str, Any]) -> pd.DataFrame:
    """Returns a row per pair and main metric: the mean, the interval that decides (both_low, both_high), p-values."""
    keys = ("mean", "both_low", "both_high", "p", "holm", "counted", "trained", "win", "tie", "loss", "verdict")
    return pd.DataFrame(
        [
            {"model": later, "against": earlier, "metric": metric, **{key: entries[metric].get(key) for key in keys}}
            for pair, (later, earlier) in pairs(results).items()
            for entries in [results["difference"][pair]]
            for metric, referee in results["referees"].items()
            if referee["main"]
        ]
    )


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    def p(value: float) -> str:
        return number(None) if pd.isna(value) else p_value(value)

    rows = [
        {
            "model": row.model,
            "against": row.against,
            "metric": label(row.metric),
            "difference [95 %]": estimate(row.mean, row.both_low, row.both_high, sign="+"),
            "p": p(row.p),
            "p (Holm)": p(row.holm),
            "verdict": row.verdict,
        }
        for row in table.itertuples()
    ]
    return pd.DataFrame(rows)


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
