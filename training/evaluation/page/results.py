"""What programs read of a comparison: results.json and completions.jsonl. docs/compare.md says what
the keys mean.

results_of(comparison)["difference"]["dapo_minus_sft"]["posh_f1"]["mean"]       # 0.04
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spanreward.rewards.rows.fingerprint import row_fingerprint
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.evaluate import Answers
from spanreward.training.evaluation.answer_scores.several import every_sample
from spanreward.training.evaluation.answers.same_row import ROW
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.statistics.comparison import Comparison, Ranked
from spanreward.training.evaluation.statistics.estimates import Estimate
from spanreward.training.evaluation.statistics.outcomes import Compared
from spanreward.training.evaluation.statistics.slices import Slice

SCHEMA = 1  # a new number where a key changes its meaning or goes
# what is told of all prompts, and not of slices
NOT_OF_SLICES = ("win", "tie", "loss", "failed", "worst_case")
# what is told of a model with a rank
RANK_KEYS = ("mean", "low", "high", "counted", "failed")


def results_of(comparison: Comparison) -> dict[str, Any]:
    """Returns what results.json holds: plain numbers, texts, lists and None."""
    setup = comparison.setup
    metrics = comparison.metrics
    parts = comparison.parts
    size = {"seeds": setup.seeds, "prompts": len(setup.prompts.rows)}
    pairs = {f"{pair.later}_minus_{pair.earlier}": pair for pair in comparison.pairs}
    differences: dict[str, dict[str, Any]] = {}
    slices = {}
    for name, pair in pairs.items():
        slices[name] = [sliced(row) for row in pair.slices]
        table = differences[name] = {}
        for metric, entry in pair.metrics.items():
            table[metric] = compared(entry, metrics[metric].main)
    part_tables = {}
    if parts.models:
        part_differences = {}
        for (later, earlier), part_table in parts.differences.items():
            part_differences[f"{later}_minus_{earlier}"] = part_table
        part_tables = {
            **size,
            "models": estimate_tables(parts.models),
            "difference": estimate_tables(part_differences),
        }
    results = {
        "schema": SCHEMA,
        **size,
        "models": estimate_tables(comparison.models),
        "difference": differences,
        "fixed": setup.fixed,
        "sides": setup.sides,
        "title": setup.title,
        "facts": setup.facts,
        "columns": list(setup.columns),
        "slices": slices,
        "sentences": {name: pair.sentence for name, pair in pairs.items()},
        "headlines": {name: pair.headline for name, pair in pairs.items()},
        "referees": {name: asdict(metric) for name, metric in metrics.items()},
        "lost_by": comparison.lost_by,
        "leaderboard": {
            "metric": comparison.lost_by[0],
            "rows": [ranked(row) for row in comparison.ranking],
        },
        "parts": part_tables,
        "compute": {side: asdict(compute) for side, compute in comparison.compute.items()},
        "data": setup.prompts.source,
        "max_tokens": setup.max_tokens,
        "readers": setup.readers,
        "notes": comparison.notes,
        "warnings": comparison.warnings,
    }
    if comparison.failures:
        results["no_answers"] = by_side(comparison.failures)
    if comparison.not_read:
        results["not_read"] = by_side(comparison.not_read)
    return results


def by_side(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns each side's dataclass as plain data."""
    return {side: asdict(fact) for side, fact in facts.items()}


def estimate_tables(tables: Mapping[str, Mapping[str, Estimate]]) -> dict[str, Any]:
    """Returns {model or pair: {metric: estimate}} with the estimates as plain data."""
    plain: dict[str, Any] = {}
    for name, table in tables.items():
        plain[name] = {metric: asdict(estimate) for metric, estimate in table.items()}
    return plain


def compared(entry: Compared, main: bool) -> dict[str, Any]:
    """Returns one metric of a pair as one flat mapping. main: whether it has a verdict."""
    fields = asdict(entry)
    result = dict(fields["difference"])
    if entry.holm is not None:
        result["holm"] = entry.holm
    result |= fields["outcome"]
    if main:
        result["win_rate"] = fields["win_rate"]
    return result


def sliced(row: Slice) -> dict[str, Any]:
    """Returns one metric on one slice as one flat mapping."""
    result = asdict(row)
    difference = result.pop("difference")
    outcome = result.pop("outcome")
    for name, value in difference.items():
        if name not in NOT_OF_SLICES:
            result[name] = value
    return result | outcome


def ranked(row: Ranked) -> dict[str, Any]:
    """Returns a model's line of the leaderboard."""
    mean = asdict(row.mean)
    keys = RANK_KEYS if row.rank else ("mean",)
    figures = {key: mean[key] for key in keys}
    return {"model": row.model, "rank": row.rank, **figures, "tied": row.tied}


def write_completions(path: Path, setup: Setup, answers: Answers) -> None:
    """Writes a line per side, run and prompt: the completion, its scores, the shown verdict, the
    row's fingerprint.
    """
    rows = setup.prompts.rows
    row_marks = [row_fingerprint(row) for row in rows]
    with path.open("w", encoding="utf-8") as file:
        for side, runs in answers.items():
            for run, (seed, run_answers) in enumerate(zip(setup.seeds, runs, strict=True), start=1):
                about_run = {"model": side, "run": run, "seed": seed}
                for row, mark, answer in zip(rows, row_marks, run_answers, strict=True):
                    for facts in sample_facts(answer):
                        line = {**about_run, "id": row["id"], **facts, ROW: mark}
                        file.write(json.dumps(line) + "\n")


def sample_facts(answer: JudgedAnswer) -> Iterator[dict[str, Any]]:
    """Yields what a line says of the answer, or of each of a prompt's samples, by their number."""
    for number, sample in enumerate(every_sample([answer]), start=1):
        facts: dict[str, Any] = {}
        if answer.samples:
            facts["sample"] = number
        facts["completion"] = sample.text
        facts["scores"] = sample.scores
        facts["verdict"] = sample.verdict.to_dict()
        facts["judge"] = sample.judge
        yield facts
