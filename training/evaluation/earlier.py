"""A finished comparison read again, for another page or for a paper, without generating or judging.

results = read_results("outputs/comparison/results.json")
prompts, answers = read_judged("outputs/comparison/results.json", results)
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from spanreward.rewards.base.verdict import Span, Status, Verdict
from spanreward.training.data.jsonl import read_records
from spanreward.training.evaluation.prompts import Prompts, prompts_of, prompts_of_file
from spanreward.training.evaluation.shown import ShownAnswer
from spanreward.training.recipe import DataPart

SCHEMA = 1  # of results.json: a new number where a key changes its meaning or goes


def read_results(path: Path) -> dict[str, Any]:
    """Raises ValueError for a file that is no comparison's, or of another schema."""
    results = json.loads(path.read_text(encoding="utf-8"))
    found = results.get("schema") if isinstance(results, dict) else None
    if found != SCHEMA:
        raise ValueError(
            f"{path} has the schema {found}, and this version reads {SCHEMA}: compare again with this version, which "
            "takes the answers from answers/, or use the version that wrote it."
        )
    return dict(results)


def read_judged(path: Path, results: Mapping[str, Any]) -> tuple[Prompts, dict[str, list[list[ShownAnswer]]]]:
    """Returns the prompts, read again from the data, and the judged answers [run][prompt] from completions.jsonl beside
    results.json. Raises ValueError where the data no longer have one of the rows.
    """
    records = [record for _, record in read_records(path.with_name("completions.jsonl"))]
    counts = results["prompts"], len(results["seeds"])
    answers: dict[str, list[list[ShownAnswer]]] = {}
    for place, model in enumerate(results["models"]):
        of_model = [read_answer(one) for one in records[place * counts[0] * counts[1] :][: counts[0] * counts[1]]]
        answers[model] = [of_model[run * counts[0] :][: counts[0]] for run in range(counts[1])]
    prompts = compared_prompts(results)
    return prompts.taken(places(prompts, [str(one["id"]) for one in records[: counts[0]]])), answers


def compared_prompts(results: Mapping[str, Any]) -> Prompts:
    """Returns the prompts of a finished comparison, read again from the data that it names."""
    data = results["data"]
    if data["source"] == "rows":  # of `compare --data`
        return prompts_of_file(data["path"], data["count"], results["columns"])
    return prompts_of(TypeAdapter[Any](DataPart).validate_python(data), results["columns"])


def places(prompts: Prompts, ids: Sequence[str]) -> list[int]:
    found = {str(row["id"]): number for number, row in enumerate(prompts.rows)}
    missing = [name for name in ids if name not in found]
    if missing:
        raise ValueError(
            f"the data {prompts.source} no longer have the row {missing[0]!r} ({len(missing)} of {len(ids)} are "
            "missing): put back the data that were compared."
        )
    return [found[name] for name in ids]


def read_answer(record: Mapping[str, Any]) -> ShownAnswer:
    """Returns an answer from its line in completions.jsonl."""
    told = dict(record["verdict"])
    for spans in ("spans", "missed"):
        told[spans] = tuple(Span(**span) for span in told[spans])
    verdict = Verdict(**{**told, "status": Status(told["status"])})
    wrong = tuple((start, end) for start, end in record["wrong"])
    return ShownAnswer(record["completion"], verdict, record["scores"], wrong, record["reasons"], record["judge"])
