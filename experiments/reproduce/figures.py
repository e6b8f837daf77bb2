"""The papers' own figures, and the same numbers out of what a command has measured.

    FIGURES["docent-coarse"]["all, overall: accuracy"]        # 0.707
    measured_by("table", numbers)["all, overall: accuracy"]

Shares and correlations are between -1 and 1, where a paper prints percents too.
"""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from experiments.agreement.judging import MEAN
from experiments.labels.tables import PERSONS

CRITERIA = ("correctness", "completeness", "clarity", "fluency", "conciseness")
BY_TASK = {  # HarmonicEval, tables 3 and 7: percents by task, in the order of CRITERIA
    "gpt-4o": {
        "REG": (23.2, 30.8, 24.0, 20.7, 23.8),
        "VQA": (53.5, 50.6, 31.8, 51.9, 44.4),
        "VDU": (60.0, 48.8, 47.9, 51.2, 45.8),
        "IC": (44.7, 50.3, 19.8, 36.4, 22.8),
    },
    "llava-7b": {
        "REG": (14.5, 14.0, 14.8, 28.4, 2.9),
        "VQA": (42.2, 49.4, 23.7, 45.2, 18.1),
        "VDU": (29.7, 40.3, 28.6, 44.9, 7.2),
        "IC": (28.8, 31.5, 7.8, 34.8, 10.5),
    },
    "llava-13b": {
        "REG": (31.4, 28.2, 22.4, 26.1, 15.0),
        "VQA": (49.4, 57.8, 26.7, 49.7, 30.5),
        "VDU": (39.7, 45.9, 36.4, 42.2, 27.7),
        "IC": (35.6, 40.0, 4.5, 27.4, 5.2),
    },
}


GOLD = ("precision", "recall", "f1", "coref", "head", "tail")  # PoSh, table 8


def taus(judge: str) -> dict[str, float]:
    """HarmonicEval, tables 3 and 7."""
    return {
        f"{task.lower()}, {criterion}: tau-b": percent / 100
        for task, percents in BY_TASK[judge].items()
        for criterion, percent in zip(CRITERIA, percents, strict=True)
    }


def accuracies(reg: float, vqa: float, vdu: float, ic: float) -> dict[str, float]:
    """HarmonicEval, tables 2, 4, 5 and 6: percents by task."""
    tasks = {"reg": reg, "vqa": vqa, "vdu": vdu, "ic": ic}
    return {f"{task}, pair accuracy": percent / 100 for task, percent in tasks.items()}


POSH_2 = {
    f"all, {kind}: macro F1{metric}": value
    for metric, both in {
        "": (0.580, 0.680),
        " of random": (0.503, 0.499),
        " of 4grams": (0.483, 0.641),
        " of scene_graphs": (0.514, 0.658),
    }.items()
    for kind, value in zip(("mistakes", "omissions"), both, strict=True)
}
POSH_3 = {
    f"all, {dimension}: {name}": value
    for dimension, values in {
        "mistakes": (0.607, 0.519, 0.405),
        "omissions": (0.627, 0.581, 0.451),
        "overall": (0.707, 0.599, 0.466),
    }.items()
    for name, value in zip(("accuracy", "Spearman", "tau-b"), values, strict=True)
}
CAPARENA = {
    "all, captions: accuracy": 0.592,
    "all, models: Spearman": 0.931,
    "all, models: tau-b": 0.796,
    f"{PERSONS}, models: Spearman": 0.727,  # section 6
    f"{PERSONS}, models: tau-b": 0.581,
}
POSH_8 = {  # means over ten texts of DOCENT
    f"published, {kind}: {name}": value
    for kind, values in {
        "entities": {"precision": 0.937, "recall": 0.883, "f1": 0.909, "coref": 0.925},
        "attributes": {"precision": 0.881, "recall": 0.917, "f1": 0.898, "head": 0.951},
        "relations": {
            "precision": 0.978,
            "recall": 0.794,
            "f1": 0.872,
            "head": 0.850,
            "tail": 0.926,
        },
    }.items()
    for name, value in values.items()
}
# the F1 of relations, beside that of other texts drawn in another form
DISCOSG = {"published, all, exact": 0.872}
LAVE_2 = {  # tables 2, 8 and 9, LAVE with Flan-T5
    f"{part}, quality: {name}": value
    for part, values in {
        "all": (0.6499, 0.6214),
        "binary": (0.7832, 0.7510),
        "other": (0.6324, 0.6051),
    }.items()
    for name, value in zip(("Spearman", "tau-b"), values, strict=True)
}
GPT_4V = {  # MLLM-as-a-Judge, table 2: by set from COCO to MM-Vet, in the paper's order
    "scores: pearson":
        (.454, .507, .458, .645, .606, .624, .579, .645, .620, .431, .185, .383, .401, .326),
    "pairs: one_order":
        (.696, .824, .847, .639, .564, .673, .679, .657, .640, .612, .521, .415, .606, .529),
    "pairs: one_order_without_ties":
        (.804, .870, .922, .807, .801, .805, .734, .849, .761, .703, .699, .647, .755, .659),
    "rankings: one_order":
        (.318, .353, .070, .385, .348, .319, .290, .347, .300, .402, .597, .462, .453, .411),
}  # fmt: skip
# its column "Ave."
JUDGE_2 = {f"{MEAN}, {measure}": fmean(by_set) for measure, by_set in GPT_4V.items()}
BENCH_5 = {  # MLLM-Bench, table 5
    "claude-3-5-sonnet-20240620": 0.94,
    "gemini-1.5-flash-002": 0.90,
    "mistralai/pixtral-12b": 0.78,
    "qwen/qwen-2-vl-72b-instruct": 0.72,
    "meta-llama/llama-3.2-11b-vision-instruct": 0.65,
    "microsoft/phi-3-medium-128k-instruct": 0.20,
}


def measured_by(command: str, numbers: Any) -> Mapping[str, float | None]:
    """Returns what a command of `agreement` measured, by the names of this file's figures."""
    # of several metrics the first, which is the table's own; the others by their names
    if command == "table":
        found = {}
        for row in numbers["rows"]:
            for number, (metric, measured) in enumerate(row["metrics"].items()):
                of = f" of {metric}" if number else ""
                found[f"{row['slice'].lower()}, {row['measure']}{of}"] = measured["value"]
        return found
    if command == "judge":  # likewise the first of the judges
        judged = next(iter(numbers["judges"].values()))
        rows = [(kind, row) for kind in ("pairs", "scores", "rankings") for row in judged[kind]]
        # of one set
        alone = [(kind, {**row, "part": MEAN}) for kind, row in rows if len(judged[kind]) == 1]
        return {
            f"{row['part']}, {kind}: {name}": value
            for kind, row in (*rows, *alone)
            for name, value in row.items()
        }
    if command == "votes":
        scores = {name: model["score"] for name, model in numbers["models"].items()}
        return {name: score / 100 for name, score in scores.items() if score is not None}
    if numbers and "kind" in numbers[0]:
        return {
            f"{row['mode']}, {row['kind']}: {name}": row[name] for row in numbers for name in GOLD
        }
    return {f"{row['mode']}, {row['split']}, {row['match']}": row["f1"] for row in numbers}


def without_figures(command: str, numbers: Any) -> list[str]:
    """Returns the names of the rows in which the metric, the judge or the votes have no figure at
    all.

    Of several metrics or judges only the first counts: others may measure nothing of a set.
    """
    if command == "table":
        return [
            f"{row['slice']}, {row['measure']}"
            for row in numbers["rows"]
            if next(iter(row["metrics"].values()))["value"] is None
        ]
    if command == "judge":
        judged = next(iter(numbers["judges"].values()))
        rows = [(kind, row) for kind in ("pairs", "scores", "rankings") for row in judged[kind]]
        return [f"{row['part']}, {kind}" for kind, row in rows if not row["n"]]
    if command == "votes":
        return [name for name, model in numbers["models"].items() if model["score"] is None]
    return []
