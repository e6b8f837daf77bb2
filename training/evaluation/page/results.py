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
WHOLE = ("win", "tie", "loss", "failed", "worst_case")
RANKED = ("mean", "low", "high", "counted", "failed")


def results_of(comparison: Comparison) -> dict[str, Any]:
    """Returns what results.json holds: plain numbers, texts, lists and None."""
    setup = comparison.setup
    metrics = comparison.metrics
    parts = comparison.parts
    size = {"seeds": setup.seeds, "prompts": len(setup.prompts.rows)}
    pairs = {f"{pair.later}_minus_{pair.earlier}": pair for pair in comparison.pairs}
    of_parts = {
        f"{later}_minus_{earlier}": table for (later, earlier), table in parts.differences.items()
    }
    waiting = {side: asdict(found) for side, found in comparison.failures.items()}
    unread = {side: asdict(found) for side, found in comparison.not_read.items()}
    return {
        "schema": SCHEMA,
        **size,
        "models": tables(comparison.models),
        "difference": {
            name: {
                metric: compared(entry, metrics[metric].main)
                for metric, entry in pair.metrics.items()
            }
            for name, pair in pairs.items()
        },
        "fixed": setup.fixed,
        "sides": setup.sides,
        "title": setup.title,
        "facts": setup.facts,
        "columns": list(setup.columns),
        "slices": {name: [sliced(row) for row in pair.slices] for name, pair in pairs.items()},
        "sentences": {name: pair.sentence for name, pair in pairs.items()},
        "headlines": {name: pair.headline for name, pair in pairs.items()},
        "referees": {name: asdict(metric) for name, metric in metrics.items()},
        "lost_by": comparison.lost_by,
        "leaderboard": {
            "metric": comparison.lost_by[0],
            "rows": [ranked(row) for row in comparison.ranking],
        },
        "parts": {**size, "models": tables(parts.models), "difference": tables(of_parts)}
        if parts.models
        else {},
        "compute": {side: asdict(one) for side, one in comparison.compute.items()},
        "data": setup.prompts.source,
        "max_tokens": setup.max_tokens,
        "readers": setup.readers,
        "notes": comparison.notes,
        "warnings": comparison.warnings,
        **({"no_answers": waiting} if waiting else {}),
        **({"not_read": unread} if unread else {}),
    }


def tables(found: Mapping[str, Mapping[str, Estimate]]) -> dict[str, Any]:
    return {
        name: {metric: asdict(one) for metric, one in table.items()}
        for name, table in found.items()
    }


def compared(entry: Compared, main: bool) -> dict[str, Any]:
    found = asdict(entry)
    adjusted = {} if entry.holm is None else {"holm": entry.holm}
    return (
        found["difference"]
        | adjusted
        | found["outcome"]
        | ({"win_rate": found["win_rate"]} if main else {})
    )


def sliced(row: Slice) -> dict[str, Any]:
    found = asdict(row)
    difference = found.pop("difference")
    outcome = found.pop("outcome")
    return (
        found | {name: value for name, value in difference.items() if name not in WHOLE} | outcome
    )


def ranked(row: Ranked) -> dict[str, Any]:
    found = asdict(row)
    mean = {name: found["mean"][name] for name in (RANKED if row.rank else ("mean",))}
    return {"model": row.model, "rank": row.rank, **mean, "tied": row.tied}


def write_completions(path: Path, setup: Setup, answers: Answers) -> None:
    """Writes a line per side, run and prompt: the completion, its scores, the shown verdict, the
    row's fingerprint.
    """
    marks = [row_fingerprint(row) for row in setup.prompts.rows]
    with path.open("w", encoding="utf-8") as file:
        for side, of_seeds in answers.items():
            for run, (seed, of_run) in enumerate(zip(setup.seeds, of_seeds, strict=True), start=1):
                of_side = {"model": side, "run": run, "seed": seed}
                for row, mark, answer in zip(setup.prompts.rows, marks, of_run, strict=True):
                    for line in lines_of(answer):
                        whole = {**of_side, "id": row["id"], **line, ROW: mark}
                        file.write(json.dumps(whole) + "\n")


def lines_of(answer: JudgedAnswer) -> Iterator[dict[str, Any]]:
    """Yields what a line says of the answer, or of each of a prompt's samples, by their number."""
    for number, sample in enumerate(every_sample([answer]), start=1):
        of_samples = {"sample": number} if answer.samples else {}
        yield {
            **of_samples,
            "completion": sample.text,
            "scores": sample.scores,
            "verdict": sample.verdict.to_dict(),
            "judge": sample.judge,
        }
