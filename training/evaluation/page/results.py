"""What programs read of a comparison: results.json and completions.jsonl. docs/compare.md says what the keys mean.

results_of(comparison)["difference"]["dapo_minus_sft"]["posh_f1"]["mean"]       # 0.04
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spanreward.rewards.scoring import to_json
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.judged.evaluate import Answers
from spanreward.training.evaluation.statistics.comparison import Comparison, Pair
from spanreward.training.evaluation.statistics.leaderboard import Ranked
from spanreward.training.evaluation.statistics.outcomes import Compared
from spanreward.training.evaluation.statistics.slices import Slice
from spanreward.training.evaluation.statistics.summary import Summary

SCHEMA = 1  # a new number where a key changes its meaning or goes


def results_of(comparison: Comparison) -> dict[str, Any]:
    """Returns what results.json holds: plain numbers, texts, lists and None."""
    setup = comparison.setup
    pairs = {key(pair.later, pair.earlier): pair for pair in comparison.pairs}
    return {
        "schema": SCHEMA,
        "seeds": setup.seeds,
        "prompts": len(setup.prompts.rows),
        "models": models_of(comparison.models),
        "difference": {name: differences_of(pair, comparison) for name, pair in pairs.items()},
        "fixed": setup.fixed,
        "sides": setup.sides,
        "title": setup.title,
        "facts": setup.facts,
        "columns": list(setup.columns),
        "slices": {name: [slice_of(row) for row in pair.slices] for name, pair in pairs.items()},
        "sentences": {name: pair.sentence for name, pair in pairs.items()},
        "headlines": {name: pair.headline for name, pair in pairs.items()},
        "flips": {name: [asdict(row) for row in pair.flips] for name, pair in pairs.items()},
        "referees": {name: asdict(metric) for name, metric in comparison.metrics.items()},
        "lost_by": comparison.lost_by,
        "leaderboard": {
            "metric": comparison.leaderboard.metric,
            "rows": [ranked(row) for row in comparison.leaderboard.rows],
        },
        "parts": parts_of(comparison.parts, setup),
        "compute": {side: asdict(one) for side, one in comparison.compute.items()},
        "data": setup.prompts.source,
        "max_tokens": setup.max_tokens,
        "readers": setup.readers,
        "notes": comparison.notes,
        "warnings": comparison.warnings,
    }


def key(later: str, earlier: str) -> str:
    return f"{later}_minus_{earlier}"


def models_of(models: Any) -> dict[str, Any]:
    return {model: {metric: asdict(mean) for metric, mean in table.items()} for model, table in models.items()}


def differences_of(pair: Pair, comparison: Comparison) -> dict[str, Any]:
    def entry(metric: str, found: Compared) -> dict[str, Any]:
        told: dict[str, Any] = {"holm": found.holm} if found.holm is not None else {}
        told |= {"equivalent": asdict(found.equivalent)} if found.equivalent else {}
        rate = {"win_rate": found.win_rate and asdict(found.win_rate)} if comparison.metrics[metric].main else {}
        return asdict(found.difference) | told | asdict(found.outcome) | rate

    return {metric: entry(metric, found) for metric, found in pair.metrics.items()}


def slice_of(row: Slice) -> dict[str, Any]:
    what = {"slice": row.slice, "value": row.value, "metric": row.metric}
    whole = ("win", "tie", "loss", "failed", "worst_case")  # are told of all prompts alone
    numbers = {name: value for name, value in asdict(row.difference).items() if name not in whole}
    return what | numbers | {"holm": row.holm} | asdict(row.outcome)


def ranked(row: Ranked) -> dict[str, Any]:
    mean = row.mean
    numbers = {"low": mean.low, "high": mean.high, "counted": mean.counted, "failed": mean.failed}
    return {
        **{"model": row.model, "rank": row.rank, "mean": mean.mean},
        **({} if row.rank is None else numbers),
        "tied": row.tied,
    }


def parts_of(parts: Summary, setup: Setup) -> dict[str, Any]:
    if not parts.models:
        return {}
    tables = {key(*sides): table for sides, table in parts.differences.items()}
    return {
        "seeds": setup.seeds,
        "prompts": len(setup.prompts.rows),
        "models": models_of(parts.models),
        "difference": models_of(tables),
    }


def write_completions(path: Path, setup: Setup, answers: Answers) -> None:
    """Writes a line per side, run and prompt: the completion, its scores, the shown verdict and the reasons."""
    with path.open("w", encoding="utf-8") as file:
        for side, of_seeds in answers.items():
            for run, (seed, of_run) in enumerate(zip(setup.seeds, of_seeds, strict=True), start=1):
                for row, answer in zip(setup.prompts.rows, of_run, strict=True):
                    line = {"model": side, "run": run, "seed": seed, "id": row["id"], "completion": answer.text}
                    line |= {"scores": answer.scores, "wrong": answer.wrong, "verdict": to_json(answer.verdict)}
                    line |= {"reasons": answer.reasons, "judge": answer.judge}
                    file.write(json.dumps(line) + "\n")
