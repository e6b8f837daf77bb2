"""A whole comparison: answers, verdicts, statistics, and the files that hold them.

results = compare(setup, Path("outputs/comparison"))

results.json       every number that is printed or shown, and more
completions.jsonl  each answer with its scores, the first reward's verdict, and the judge's reasons
report.html        one page for people
comparator.json    the last two models, for PAIR's LLM Comparator
answers/           what each policy wrote, for the next comparison
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from spanreward.rewards.reward import Reward
from spanreward.rewards.scoring import to_json
from spanreward.training.evaluation.compute import compute_of
from spanreward.training.evaluation.curves import read_curves
from spanreward.training.evaluation.evaluate import Evaluation, evaluate
from spanreward.training.evaluation.leaderboard import leaderboard
from spanreward.training.evaluation.llm_comparator import comparator
from spanreward.training.evaluation.outcomes import by_kind, contradictions, judge_pair, lost_by, sentence
from spanreward.training.evaluation.prompts import Prompts
from spanreward.training.evaluation.referees import Referee, metrics_of, recipe_of, referees, related, trained_on
from spanreward.training.evaluation.report import pairs, write_report
from spanreward.training.evaluation.shown import ShownAnswer, shown_prompts
from spanreward.training.evaluation.slices import compare_slices
from spanreward.training.evaluation.statistics import independent, summarise_models, win_rate
from spanreward.training.evaluation.until_decided import evaluate_until_decided
from spanreward.training.recipe import RewardPart
from spanreward.training.run_checks import failed_checks

SHOWN = 500  # prompts on a page
LOOKS = 0.05  # a larger share of cut or padded answers is told


@dataclass(frozen=True, slots=True)
class Setup:
    """What is compared, and by whom.

    Attributes:
        sides: {name: runs}, the same number of each.
        seeds: the training seed of each run.
        prompts: what they are asked.
        parts: the rewards and referees as asked for; `rewards` are the same ones built, in this order.
        learned: the rewards that models were trained on, where their folders do not say.
        readers: what reads the texts, by the reward's name.
        max_tokens: of an answer.
        explain: the number of prompts for which the judge gives its reasons.
        title, facts: of the page, and for its foot.
        until: the metric that decides when to stop judging; None judges the answers to all prompts.
        reasoning_end: the tag that ends the reasoning of policies that think first; only the text after it is judged.
    """

    sides: dict[str, list[str]]
    seeds: list[int]
    prompts: Prompts
    parts: Sequence[RewardPart]
    rewards: Sequence[Reward]
    learned: Sequence[RewardPart]
    readers: dict[str, str]
    max_tokens: int
    explain: int
    title: str
    facts: dict[str, str]
    until: str | None = None
    reasoning_end: str | None = None


def compare(setup: Setup, output: Path, progress: Callable[[str], None] = lambda done: None) -> dict[str, Any]:
    """Judges all answers, writes the files into the output folder, and returns what results.json holds."""
    asked = (setup.sides, setup.prompts, setup.rewards, setup.max_tokens)
    told: dict[str, Any] = {"kept": output / "answers", "progress": progress}
    told |= {"explain": setup.explain, "reasoning_end": setup.reasoning_end}
    if setup.until is None:
        results = summarise(setup, evaluation := evaluate(*asked, **told))
    else:
        prompts, evaluation, decision = evaluate_until_decided(*asked, metric=setup.until, **told)
        count = len(setup.prompts.rows)
        setup = replace(setup, prompts=prompts)
        results = summarise(setup, evaluation)
        results["until_decided"] = {"metric": setup.until, "of": count, "asked": len(prompts.rows), **asdict(decision)}
        results["notes"].insert(0, stopped(results["until_decided"], list(setup.sides)))
    output.mkdir(parents=True, exist_ok=True)
    (output / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    write_completions(output / "completions.jsonl", setup, evaluation)
    shown = shown_prompts(setup.prompts, evaluation.answers, results["lost_by"])
    curves = {
        side: [read_curves(Path(run), seed) for run, seed in zip(runs, setup.seeds, strict=True)]
        for side, runs in setup.sides.items()
    }
    write_report(output / "report.html", setup.title, results, curves, shown[:SHOWN], setup.facts)
    (output / "comparator.json").write_text(json.dumps(comparator(shown, results), indent=1) + "\n")
    return results


def stopped(until: Mapping[str, Any], sides: Sequence[str]) -> str:
    """Returns what a comparison until decided says, and what its other figures do not."""
    *_, earlier, later = sides
    which = {1: f"{later} is better than {earlier}", -1: f"{earlier} is better than {later}"}
    said = f"{which[until['side']]} by" if until["side"] else f"{later} or {earlier}: undecided by"
    return (
        f"{said} {until['metric']} after {until['asked']} of {until['of']} prompts, valid whenever one stops (95 %, "
        "over prompts); the other intervals are of these prompts and do not allow for stopping early"
    )


def summarise(setup: Setup, evaluation: Evaluation) -> dict[str, Any]:
    """Returns what results.json holds: see docs/compare.md. Raises ValueError where nothing could be judged."""
    scores = evaluation.scores
    metrics = list(next(iter(scores.values())))
    scales = {metric: reward.scale for reward in setup.rewards for metric in metrics_of(reward)}
    results = summarise_models(scores, setup.seeds, evaluation.failed, setup.sides, scales)
    known = any(recipe_of(run) for runs in setup.sides.values() for run in runs)
    trained = trained_on(setup.sides) if known else {(part.metric, part.judge.name) for part in setup.learned}
    of_metric = referees(setup.rewards, setup.parts, trained, metrics)
    mains = [metric for metric in metrics if of_metric[metric].main]
    if not mains:
        names = [reward.__name__ for reward in setup.rewards]
        raise ValueError(f"the rewards {names} apply to none of these answers, and no metric without a judge does.")
    looking, perhaps = looks(setup, results)
    warnings = [*setup.prompts.told, *unsound(setup, metrics), *looking, *related(setup.sides, setup.parts)]
    notes = [*perhaps, *caveats(setup, of_metric)]
    results["slices"], results["sentences"] = {}, {}
    named = pairs(results)
    for pair, entries in results["difference"].items():
        later, earlier = named[pair]
        one, two = scores[later], scores[earlier]
        for metric, entry in entries.items():
            entry |= judge_pair(entry, metric)
            if metric in mains:
                entry["win_rate"] = win_rate(one[metric], two[metric], one["words"], two["words"])
        seeds = independent(setup.seeds, list(zip(setup.sides[later], setup.sides[earlier], strict=True)))
        results["slices"][pair] = compare_slices(one, two, setup.prompts.slices, mains, seeds)
        results["sentences"][pair] = sentence(later, earlier, entries, of_metric)
        more = contradictions(later, earlier, entries, of_metric)
        warnings, notes = warnings + more[0], notes + more[1]
    results |= {
        "referees": {metric: asdict(one) for metric, one in of_metric.items()},
        "lost_by": lost_by(of_metric),
        "leaderboard": leaderboard(results, scores, lost_by(of_metric)[0]),
        "parts": parts_by_kind(setup, evaluation),
        "compute": compute_of(setup.sides, {side: table.get("length") for side, table in scores.items()}),
        "data": setup.prompts.source,
        "max_tokens": setup.max_tokens,
        "readers": setup.readers,
        "notes": notes,
        "warnings": warnings,
    }
    return results


def caveats(setup: Setup, of_metric: Mapping[str, Referee]) -> list[str]:
    """Returns what limits the figures: no other judge, one seed of a model beside several of another."""
    kinds = by_kind(of_metric)
    told = []
    if kinds["trained"] and not kinds["untrained"]:
        told.append("every judge here is one that a model was trained on: name others under `referees` in the recipe")
    for side, runs in setup.sides.items():
        if len(runs) > len(set(runs)) == 1 and recipe_of(runs[0]):
            told.append(
                f"{side} is one run beside {len(runs)}: the figures do not say how far its own training seed moves it"
            )
    return told


def unsound(setup: Setup, metrics: Sequence[str]) -> list[str]:
    """Returns what comes before any number: rewards that apply to nothing, failed checks of a run."""
    told = [
        f"the reward {reward.__name__} applies to none of these answers, and is not in the tables"
        for reward in setup.rewards
        if metrics_of(reward)[0] not in metrics
    ]
    return told + [
        f"{side}, seed {seed}: the check {check.name} of its training failed: {check.found}, wanted {check.wanted}"
        for side, runs in setup.sides.items()
        for seed, run in zip(setup.seeds, runs, strict=True)
        for check in failed_checks(run)
    ]


def looks(setup: Setup, results: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Returns warnings and notes of runs with more than LOOKS of their answers cut or padded. It is a warning where
    that is beyond chance over prompts (Wilson, 95 %), else a note.
    """
    told: dict[bool, list[str]] = {True: [], False: []}
    count = len(setup.prompts.rows)
    words = {"truncated": "cut at the maximal length", "degenerate": "padded with words that say nothing"}
    for metric, what in words.items():
        for side, table in results["models"].items():
            for seed, share in zip(setup.seeds, table[metric]["per_seed"] if metric in table else (), strict=False):
                if share is not None and share > LOOKS:
                    surely = binomtest(round(share * count), count).proportion_ci(method="wilson").low > LOOKS
                    told[surely].append(f"{side}, seed {seed}: {share:.0%} of its answers here are {what}")
    return told[True], told[False]


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
    """Writes a line per side, seed and prompt: the completion, its scores, the shown reward's verdict, the wrong
    characters and the judge's reasons.
    """
    with path.open("w", encoding="utf-8") as file:
        for side, of_seeds in evaluation.answers.items():
            for seed, answers in zip(setup.seeds, of_seeds, strict=True):
                for row, answer in zip(setup.prompts.rows, answers, strict=True):
                    line = {"model": side, "seed": seed, "id": row["id"], "completion": answer.text}
                    line |= {"scores": answer.scores, "wrong": answer.wrong, "verdict": to_json(answer.verdict)}
                    line |= {"reasons": answer.reasons}
                    file.write(json.dumps(line) + "\n")
