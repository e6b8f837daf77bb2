"""Writes the files that programs read: results.json and completions.jsonl. docs/compare.md explains
the keys.

results_of(comparison)["difference"]["dapo_minus_sft"]["posh_f1"]["mean"]  # 0.04
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spanreward.rewards.rows.fingerprint import row_fingerprint
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.evaluate import AnswersOfSides
from spanreward.training.evaluation.answer_scores.several import every_sample
from spanreward.training.evaluation.answers.same_row import ROW_KEY
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.statistics.comparison import Comparison, Ranked
from spanreward.training.evaluation.statistics.estimates import Estimate
from spanreward.training.evaluation.statistics.outcomes import Compared
from spanreward.training.evaluation.statistics.slices import Slice

SCHEMA_VERSION = 1  # rises if a key changes its meaning or is removed
# keys of a difference over all prompts that a slice's difference does not have
NOT_OF_SLICES = ("win", "tie", "loss", "failed", "worst_case")
# keys of a model with a rank
RANK_KEYS = ("mean", "low", "high", "counted", "failed")


def results_of(comparison: Comparison) -> dict[str, Any]:
    """Returns the contents of results.json: plain numbers, texts, lists and None."""
    setup = comparison.setup
    # the leaderboard ranks the models by the most trusted of the main metrics
    decisive_metric = comparison.lost_by[0]
    slices = {}
    sentences = {}
    headlines = {}
    for pair in comparison.pairs:
        name = _key_of(pair.later, pair.earlier)
        slices[name] = [plain_slice(row) for row in pair.slices]
        sentences[name] = pair.sentence
        headlines[name] = pair.headline
    results = {
        "schema": SCHEMA_VERSION,
        **_size_of(setup),
        "models": estimate_tables(comparison.models),
        "difference": _tables_of_pairs(comparison),
        "fixed": setup.fixed,
        "sides": setup.sides,
        "title": setup.title,
        "facts": setup.facts,
        "columns": list(setup.columns),
        "slices": slices,
        "sentences": sentences,
        "headlines": headlines,
        "referees": plain_by_name(comparison.metrics),  # every metric, not only held-out ones
        "lost_by": comparison.lost_by,  # metrics: the first that differs says which model lost
        "leaderboard": {
            "metric": decisive_metric,
            "rows": [plain_rank(row) for row in comparison.ranking],
        },
        "parts": _tables_of_parts(comparison),
        "compute": plain_by_name(comparison.compute),
        "data": setup.prompts.source,
        "max_tokens": setup.max_tokens,
        "readers": setup.readers,
        "notes": comparison.notes,
        "warnings": comparison.warnings,
    }
    # these two keys exist only if some answers are failures or were not read whole
    if comparison.failures:
        results["no_answers"] = plain_by_name(comparison.failures)
    if comparison.not_read:
        results["not_read"] = plain_by_name(comparison.not_read)
    return results


def _key_of(later: str, earlier: str) -> str:
    """Returns the key of a pair of models in results.json, such as "dapo_minus_sft"."""
    return f"{later}_minus_{earlier}"


def _size_of(setup: Setup) -> dict[str, Any]:
    """Returns the training seeds and the number of prompts, by their keys in results.json."""
    return {"seeds": setup.seeds, "prompts": len(setup.prompts.rows)}


def _tables_of_pairs(comparison: Comparison) -> dict[str, Any]:
    """Returns {pair: {metric: result}}, such as {"dapo_minus_sft": {"posh_f1": {...}}}."""
    tables = {}
    for pair in comparison.pairs:
        table = {}
        for metric, entry in pair.metrics.items():
            is_main = comparison.metrics[metric].main
            table[metric] = plain_result(entry, is_main)
        tables[_key_of(pair.later, pair.earlier)] = table
    return tables


def _tables_of_parts(comparison: Comparison) -> dict[str, Any]:
    """Returns the means and differences of the metrics that are split by kind of phrase, such as
    entities and relations; {} if no metric is split.
    """
    parts = comparison.parts
    if not parts.models:
        return {}
    differences = {}
    for (later, earlier), table in parts.differences.items():
        differences[_key_of(later, earlier)] = table
    return {
        **_size_of(comparison.setup),
        "models": estimate_tables(parts.models),
        "difference": estimate_tables(differences),
    }


def plain_by_name(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns {name: dataclass} with the dataclasses as plain data. A name is that of a side or a
    metric.
    """
    return {name: asdict(fact) for name, fact in facts.items()}


def estimate_tables(tables: Mapping[str, Mapping[str, Estimate]]) -> dict[str, Any]:
    """Returns {model or pair: {metric: estimate}} with the estimates as plain data."""
    plain: dict[str, Any] = {}
    for name, table in tables.items():
        plain[name] = plain_by_name(table)
    return plain


def plain_result(entry: Compared, main: bool) -> dict[str, Any]:
    """Returns the result of one metric of a pair as one flat mapping: the difference of the two
    models, the p-value after Holm's adjustment, the outcome, and the win rate.

    The p-value is left out if the entry has none. main: whether the metric is a main metric; only
    then the win rate is in the result.
    """
    fields = asdict(entry)
    # the keys have the order of results.json
    result = dict(fields["difference"])
    if entry.holm is not None:
        result["holm"] = entry.holm
    result.update(fields["outcome"])
    if main:
        result["win_rate"] = fields["win_rate"]
    return result


def plain_slice(row: Slice) -> dict[str, Any]:
    """Returns the result of one metric on one slice as one flat mapping."""
    result = asdict(row)
    # the fields of `difference` and `outcome` come last, on the level of the other fields
    difference = result.pop("difference")
    outcome = result.pop("outcome")
    for name, value in difference.items():
        if name not in NOT_OF_SLICES:
            result[name] = value
    result.update(outcome)
    return result


def plain_rank(row: Ranked) -> dict[str, Any]:
    """Returns one line of the leaderboard as plain data."""
    mean = asdict(row.mean)
    # a model without a rank may have no interval
    keys = RANK_KEYS if row.rank else ("mean",)
    line: dict[str, Any] = {"model": row.model, "rank": row.rank}
    for key in keys:
        line[key] = mean[key]
    line["tied"] = row.tied
    return line


def write_completions(path: Path, setup: Setup, answers: AnswersOfSides) -> None:
    """Writes one line to `path` for each sample of each side, run and prompt.

    A line holds the completion, its scores, its shown verdict and its row's fingerprint. Raises
    OSError.
    """
    with path.open("w", encoding="utf-8") as file:
        for line in _completion_lines(setup, answers):
            file.write(json.dumps(line) + "\n")


def _completion_lines(setup: Setup, answers: AnswersOfSides) -> Iterator[dict[str, Any]]:
    """Yields the contents of each line of completions.jsonl. Runs are numbered from 1."""
    rows = setup.prompts.rows
    # once per row, because hashing a picture's pixels takes time
    row_fingerprints = [row_fingerprint(row) for row in rows]
    for side, runs in answers.items():
        runs_with_seed = zip(setup.seeds, runs, strict=True)
        for run, (seed, run_answers) in enumerate(runs_with_seed, start=1):
            about_run = {"model": side, "run": run, "seed": seed}
            answers_with_rows = zip(rows, row_fingerprints, run_answers, strict=True)
            for row, fingerprint, answer in answers_with_rows:
                for facts in sample_facts(answer):
                    yield {**about_run, "id": row["id"], **facts, ROW_KEY: fingerprint}


def sample_facts(answer: JudgedAnswer) -> Iterator[dict[str, Any]]:
    """Yields the completion, scores and verdict of each sample of an answer, by their keys in
    completions.jsonl. The key "judge" has the name of the reward that gave the verdict.

    An answer with several samples also gives their numbers, from 1.
    """
    for number, sample in enumerate(every_sample([answer]), start=1):
        facts: dict[str, Any] = {}
        # the only sample of a prompt has no number
        if answer.samples:
            facts["sample"] = number
        facts["completion"] = sample.text
        facts["scores"] = sample.scores
        facts["verdict"] = sample.verdict.to_dict()
        facts["judge"] = sample.judge
        yield facts
