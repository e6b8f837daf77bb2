"""A whole comparison: answers, verdicts, statistics, and the files that hold them.

results = compare(setup, Path("outputs/comparison"))

results.json       every number that is printed or shown, and more
completions.jsonl  each answer with its scores, the first reward's verdict, and the judge's reasons
report.html        one page for people
answers/           what each policy wrote, for the next comparison
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from spanreward.rewards.comparison.crossed import equivalence
from spanreward.rewards.comparison.multiplicity import holm
from spanreward.rewards.scoring import to_json
from spanreward.training.evaluation.cautions import alike, caveats, looks, lopsided, unsound
from spanreward.training.evaluation.compute import compute_of
from spanreward.training.evaluation.curves import read_curves
from spanreward.training.evaluation.earlier import SCHEMA
from spanreward.training.evaluation.evaluate import Evaluation, evaluate
from spanreward.training.evaluation.flips import flips
from spanreward.training.evaluation.held_out import leaks
from spanreward.training.evaluation.leaderboard import leaderboard
from spanreward.training.evaluation.outcomes import (
    LEVEL,
    MIN_PROMPTS,
    contradictions,
    judge_pair,
    lost_by,
    plain,
    sentence,
)
from spanreward.training.evaluation.prompts import Prompts
from spanreward.training.evaluation.referees import identities, metrics_of, recipe_of, referees, trained_on
from spanreward.training.evaluation.report import pairs, write_report
from spanreward.training.evaluation.setup import Setup
from spanreward.training.evaluation.shown import ShownAnswer, shown_prompts
from spanreward.training.evaluation.slices import compare_slices
from spanreward.training.evaluation.statistics import independent, summarise_models, win_rate

SHOWN = 500  # prompts on a page


def compare(setup: Setup, output: Path, progress: Callable[[str], None] = lambda done: None) -> dict[str, Any]:
    """Judges all answers, writes the files into the output folder, and returns what results.json holds."""
    evaluation = evaluate(
        setup.sides,
        setup.prompts,
        setup.rewards,
        setup.max_tokens,
        kept=output / "answers",
        progress=progress,
        explain=setup.explain,
        reasoning_end=setup.reasoning_end,
    )
    results = summarise(setup, evaluation)
    output.mkdir(parents=True, exist_ok=True)
    (output / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    write_completions(output / "completions.jsonl", setup, evaluation)
    write_page(output / "report.html", results, setup.prompts, evaluation.answers)
    return results


def write_page(
    path: Path, results: Mapping[str, Any], prompts: Prompts, answers: Mapping[str, Sequence[Sequence[ShownAnswer]]]
) -> None:
    """Writes the report of these results, with the curves of the run folders that are still there."""
    curves = {
        side: [read_curves(Path(run), seed) for run, seed in zip(runs, results["seeds"], strict=True)]
        for side, runs in results["sides"].items()
    }
    shown = shown_prompts(prompts, answers, results["lost_by"])
    write_report(path, results["title"], results, curves, shown[:SHOWN], results["facts"])


def summarise(setup: Setup, evaluation: Evaluation) -> dict[str, Any]:
    """Returns what results.json holds: see docs/compare.md. Raises ValueError where nothing could be judged."""
    scores, clusters = evaluation.scores, setup.prompts.clusters
    metrics = list(next(iter(scores.values())))
    scales = {metric: reward.scale for reward in setup.rewards for metric in metrics_of(reward)}
    rows = [0] * len(setup.seeds) if setup.fixed else setup.seeds
    results = summarise_models(scores, rows, evaluation.failed, setup.sides, scales, clusters)
    results = {"schema": SCHEMA, **results, "seeds": setup.seeds, "fixed": setup.fixed}
    results |= {"sides": setup.sides, "title": setup.title, "facts": setup.facts, "columns": [*setup.columns]}
    told = {side: any(recipe_of(run) for run in runs) for side, runs in setup.sides.items()}
    trained = trained_on(setup.sides)
    if not any(told.values()):
        trained = identities(setup.learned)
    of_metric = referees(setup.rewards, setup.parts, trained, metrics, all(told.values()) or bool(setup.learned))
    mains = [metric for metric in metrics if of_metric[metric].main]
    if not mains:
        names = [reward.__name__ for reward in setup.rewards]
        raise ValueError(f"the rewards {names} apply to none of these answers, and no metric without a judge does.")
    looking, perhaps = looks(setup, results)
    leaked = leaks(setup.sides, setup.prompts.rows, setup.prompts.source)
    warnings = [*lopsided(evaluation.failed), *alike(evaluation.answers), *setup.prompts.told, *leaked]
    warnings += [*unsound(setup, metrics), *looking]
    notes = [*perhaps, *setup.prompts.noted, *caveats(setup, of_metric)]
    results |= {"slices": {}, "sentences": {}, "headlines": {}, "flips": {}}
    adjust(results["difference"], mains)
    if setup.within is not None:
        adjust_equivalence(results["difference"], mains, setup.within)
    ids = [str(row.get("id", number)) for number, row in enumerate(setup.prompts.rows, start=1)]
    named = pairs(results)
    for pair, entries in results["difference"].items():
        later, earlier = named[pair]
        one, two = scores[later], scores[earlier]
        lone = lone_run(setup.sides[later], setup.sides[earlier], later, earlier)
        for metric, entry in entries.items():
            entry |= judge_pair(entry, metric, setup.fixed, lone)
            if metric in mains:
                entry["win_rate"] = win_rate(one[metric], two[metric], one["words"], two["words"], clusters)
        seeds = independent(rows, list(zip(setup.sides[later], setup.sides[earlier], strict=True)))
        results["slices"][pair] = compare_slices(one, two, setup.prompts.slices, mains, seeds, clusters)
        results["flips"][pair] = flips(one, two, mains, ids)
        results["sentences"][pair] = sentence(later, earlier, entries, of_metric, setup.fixed, lone)
        results["headlines"][pair] = plain(later, earlier, entries, of_metric)
        more = contradictions(later, earlier, entries, of_metric)
        warnings, notes = warnings + more[0], notes + more[1]
    results |= {
        "referees": {metric: asdict(one) for metric, one in of_metric.items()},
        "lost_by": lost_by(of_metric),
        "leaderboard": leaderboard(results, scores, lost_by(of_metric)[0], clusters),
        "parts": parts_by_kind(setup, evaluation),
        "compute": compute_of(setup.sides, {side: table.get("length") for side, table in scores.items()}),
        "data": setup.prompts.source,
        "max_tokens": setup.max_tokens,
        "readers": setup.readers,
        "notes": notes,
        "warnings": warnings,
    }
    return results


def adjust(difference: Mapping[str, Mapping[str, dict[str, Any]]], mains: Sequence[str]) -> None:
    """Adds `holm` to the main metrics' entries: their p, adjusted over all pairs and referees."""
    entries = [
        entries[metric] for entries in difference.values() for metric in mains if entries[metric]["p"] is not None
    ]
    for entry, adjusted in zip(entries, holm([entry["p"] for entry in entries]), strict=True):
        entry["holm"] = adjusted


def adjust_equivalence(
    difference: Mapping[str, Mapping[str, dict[str, Any]]], mains: Sequence[str], within: float
) -> None:
    """Adds `equivalent` to the main metrics' entries: {"within", "p", "holds"}, with p adjusted over all pairs and
    referees (Holm). It holds only where no failed judgment could take the mean out of the range.
    """
    entries = [entries[metric] for entries in difference.values() for metric in mains]
    known = [entry for entry in entries if entry["error"] is not None]
    tests = [equivalence(entry["mean"], entry["error"], entry["freedom"], within) for entry in known]
    for entry in entries:
        entry["equivalent"] = {"within": within, "p": None, "holds": False}
    for entry, p in zip(known, holm(tests), strict=True):
        ends = entry["worst_case"] or [entry["mean"]]
        holds = p < LEVEL and entry["counted"] >= MIN_PROMPTS and max(map(abs, ends)) < within
        entry["equivalent"] = {"within": within, "p": p, "holds": holds}


def lone_run(later: Sequence[str], earlier: Sequence[str], *names: str) -> str:
    """Returns the name of a side that is one training run beside several of the other, "" for none. A run that the
    others began from is fixed and no lone one.
    """
    for runs, others, name in ((later, earlier, names[0]), (earlier, later, names[1])):
        began = {Path(str((recipe_of(run).get("policy") or {}).get("model", ""))).resolve() for run in set(others)}
        if len(set(runs)) == 1 < len(set(others)) and recipe_of(runs[0]) and Path(runs[0]).resolve() not in began:
            return name
    return ""


def parts_by_kind(setup: Setup, evaluation: Evaluation) -> dict[str, Any]:
    """Returns the parts that split a main part by kind (PoSh's precision_entity, ...), as `summarise_models` does. They
    come from the shown verdicts; {} where there are none.
    """
    mains = {reward.__name__: tuple(f"{main}_" for main in reward.main_parts) for reward in setup.rewards}
    splits = dict.fromkeys(
        (answer.judge, part)
        for of_side in evaluation.answers.values()
        for of_run in of_side
        for answer in of_run
        for part in answer.verdict.parts
        if part.startswith(mains[answer.judge])
    )
    if not splits:
        return {}

    def values(of_side: Sequence[Sequence[ShownAnswer]], judge: str, part: str) -> np.ndarray:
        rows = [[one.verdict.parts.get(part) if one.judge == judge else None for one in of_run] for of_run in of_side]
        return np.array(rows, dtype=float)

    scores = {
        side: {f"{judge}_{part}": values(of_side, judge, part) for judge, part in splits}
        for side, of_side in evaluation.answers.items()
    }
    nothing = {side: {name: np.zeros(array.shape, bool) for name, array in of.items()} for side, of in scores.items()}
    return summarise_models(scores, setup.seeds, nothing, setup.sides)


def write_completions(path: Path, setup: Setup, evaluation: Evaluation) -> None:
    """Writes a line per side, run and prompt: the completion, its scores, the shown verdict and the reasons."""
    with path.open("w", encoding="utf-8") as file:
        for side, of_seeds in evaluation.answers.items():
            for run, (seed, answers) in enumerate(zip(setup.seeds, of_seeds, strict=True), start=1):
                for row, answer in zip(setup.prompts.rows, answers, strict=True):
                    line = {"model": side, "run": run, "seed": seed, "id": row["id"], "completion": answer.text}
                    line |= {"scores": answer.scores, "wrong": answer.wrong, "verdict": to_json(answer.verdict)}
                    line |= {"reasons": answer.reasons, "judge": answer.judge}
                    file.write(json.dumps(line) + "\n")
