"""The papers' own figures, and the same numbers out of what a command has measured.

    FIGURES["docent-coarse"]["all, overall: accuracy"]        # 0.707
    measured_by("table", numbers)["all, overall: accuracy"]

Shares and correlations are between -1 and 1, where a paper prints percents too.
"""

from collections.abc import Mapping
from typing import Any

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


POSH_2 = {"all, mistakes: macro F1": 0.580, "all, omissions: macro F1": 0.680}
POSH_3 = {
    f"all, {dimension}: {name}": value
    for dimension, values in {
        "mistakes": (0.607, 0.519, 0.405),
        "omissions": (0.627, 0.581, 0.451),
        "overall": (0.707, 0.599, 0.466),
    }.items()
    for name, value in zip(("accuracy", "Spearman", "tau-b"), values, strict=True)
}
CAPARENA = {"all, captions: accuracy": 0.592, "all, models: Spearman": 0.931, "all, models: tau-b": 0.796}
# Table 8, of ten texts of DOCENT: the F1 of relations. DiscoSG's people drew other texts, in another form.
POSH_8 = {"published, all, exact": 0.872}
LAVE_2 = {  # tables 2, 8 and 9, LAVE with Flan-T5
    f"{part}, quality: {name}": value
    for part, values in {"all": (0.6499, 0.6214), "binary": (0.7832, 0.7510), "other": (0.6324, 0.6051)}.items()
    for name, value in zip(("Spearman", "tau-b"), values, strict=True)
}
JUDGE_2 = {  # MLLM-as-a-Judge, table 2, GPT-4V, the average over its sets
    "all, scores: pearson": 0.490,
    "all, pairs: one_order": 0.636,
    "all, pairs: without_ties": 0.773,
    "all, rankings: distance": 0.361,
}
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
    if command == "table":  # of several metrics the first, which is the table's own
        return {
            f"{row['slice'].lower()}, {row['measure']}": next(iter(row["metrics"].values()))["value"]
            for row in numbers["rows"]
        }
    if command == "judge":  # likewise the first of the judges
        judged = next(iter(numbers["judges"].values()))
        kinds = ("pairs", "scores", "rankings")
        return {
            f"{row['part']}, {kind}: {name}": value
            for kind in kinds
            for row in judged[kind]
            for name, value in row.items()
        }
    if command == "votes":
        return {name: model["score"] / 100 for name, model in numbers["models"].items()}
    return {f"{row['mode']}, {row['split']}, {row['match']}": row["f1"] for row in numbers}
