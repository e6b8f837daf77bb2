"""What a reader must be told of a comparison before its figures, and what limits them.

unjudged(evaluation)                # judgments that failed, and why
lopsided(evaluation.failed)         # judgments of one side failed more often
alike(evaluation.answers)           # two sides with the same answers, a side with one answer
leaks(setup)                        # runs that were trained on these rows
not_read_by(answers_of_sides)       # what no judge was shown
looks(setup, models)                # answers that are cut or padded
caveats(setup, metrics)             # notes
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter
from scipy.stats import binomtest

from spanreward.rewards.base.unread import MUCH, NotRead, not_read
from spanreward.rewards.rows.tables import is_table, read_table
from spanreward.training.data.row_content import row_content
from spanreward.training.data.rows import read_values
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.evaluate import Answers, Evaluation
from spanreward.training.evaluation.answer_scores.metrics import Metric
from spanreward.training.evaluation.answer_scores.several import samples_a_prompt
from spanreward.training.evaluation.answers.held_out import rows_of
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.answers.sides import recipe_of
from spanreward.training.evaluation.statistics.estimates import Estimate
from spanreward.training.evaluation.statistics.outcomes import LEVEL, MIN_PROMPTS
from spanreward.training.recipe import DataPart, JsonlPart

SAME = 0.9  # a larger share of identical answers is told
SHORT = 15  # words of a reference
LOOKS = 0.05  # a larger share of cut or padded answers, or of failed judgments, is told


def unjudged(evaluation: Evaluation) -> Iterator[str]:
    """Yields a warning for every metric where more than LOOKS of the judgments failed, with the
    first reason.
    """
    runs = [run for of_side in evaluation.answers.values() for run in of_side]
    why = next(
        (one.verdict.note for run in runs for one in run if one.verdict.status.failed),
        "see completions.jsonl",
    )
    for metric in next(iter(evaluation.failed.values())):
        share = np.mean([table[metric].mean() for table in evaluation.failed.values()])
        if share > LOOKS:
            yield (
                f"{metric}: judgments of {share:.0%} of all answers failed. The first reason: {why}"
            )


def lopsided(failed: Mapping[str, Mapping[str, np.ndarray]]) -> Iterator[str]:
    """Yields a warning for every metric and two sides whose judgments failed unequally often: by an
    exact test of the prompts on which one side failed more often than the other.
    """
    for one, other in combinations(failed, 2):
        for metric, of_one in failed[one].items():
            of_other = failed[other][metric]
            more = of_one.sum(axis=0)
            fewer = of_other.sum(axis=0)
            counts = int((more > fewer).sum()), int((more < fewer).sum())
            if sum(counts) and binomtest(counts[0], sum(counts)).pvalue < LEVEL:
                yield (
                    f"{metric}: judgments of {of_one.mean():.0%} of the answers of {one} failed, "
                    f"and of {of_other.mean():.0%} of those of {other}: what is left may be a fair "
                    "sample of neither"
                )


def alike(answers: Answers) -> Iterator[str]:
    """Yields warnings of two sides with the same answers, and of a side that answers everything
    alike.
    """
    texts = {
        side: [[answer.text for answer in of_run] for of_run in of_side]
        for side, of_side in answers.items()
    }
    for one, other in combinations(texts, 2):
        equal = np.array(texts[one]) == np.array(texts[other])
        if equal.size and equal.mean() > SAME:
            yield (
                f"{equal.sum()} of {equal.size} answers of {one} and {other} are identical: did an "
                "adapter not load, or is it one checkpoint twice?"
            )
    for side, first in ((side, run) for side, runs in texts.items() for run in runs[:1]):
        most, count = next(iter(Counter(first).most_common(1)), ("", 0))
        if len(first) >= MIN_PROMPTS and count > SAME * len(first):
            yield f"{side} gives one answer to {count} of {len(first)} prompts: {most[:60]!r}"


def notes_on_samples(answers: Answers) -> Iterator[str]:
    """Yields what the scores are where prompts have several answers."""
    counts = {}
    for side, runs in answers.items():
        counts[side] = max(map(samples_a_prompt, runs), default=1)
    if set(counts.values()) == {1}:
        return
    told = ", ".join(f"{count} of {side}" for side, count in counts.items())
    yield (
        f"each prompt has several sampled answers ({told}): its scores are their means, and the "
        "page shows the first"
    )
    if len(set(counts.values())) > 1:
        yield "no best of the samples is told, because it grows with their number"


def not_read_by(answers: Mapping[str, Sequence[JudgedAnswer]]) -> dict[str, NotRead]:
    """Returns how much of each side's answers was not read; {} where all of all sides was."""
    found = {}
    for side, of_side in answers.items():
        found[side] = not_read((answer.text, answer.verdict.unread) for answer in of_side)
    if not any(of_side.unread for of_side in found.values()):
        return {}
    return found


def much_unread(found: Mapping[str, NotRead]) -> Iterator[str]:
    """Yields a note for every side of which more than a few per cent was not read."""
    for side, of_side in found.items():
        if of_side.share > MUCH:
            share = f"{of_side.share:.0%}"
            yield f"{side}: not read: {of_side} ({share}), which the page shows struck out"


def leaks(setup: Setup) -> Iterator[str]:
    """Yields a sentence for every run whose recipe trains on some of these rows: by what a row asks
    for and is judged by, where the training data are a JSONL file that is here, else by the data
    block.
    """
    rows = setup.prompts.rows
    source = setup.prompts.source
    asked = {row_content(row) for row in rows} - {row_content({})}
    parts = (
        []
        if source.get("source") in (None, "rows")
        else TypeAdapter(DataPart).validate_python(source).parts
    )
    for side, run in (
        (side, run) for side, runs in setup.sides.items() for run in dict.fromkeys(runs)
    ):
        data = recipe_of(run).get("data")
        for part in TypeAdapter(DataPart).validate_python(data).parts if data else ():
            where = " ".join(filter(None, rows_of(part)))
            if isinstance(part, JsonlPart) and Path(part.path).is_file():
                records = read_table(part.path)
                shared = asked & {
                    row_content(read_values(record, part.columns, name)) for name, record in records
                }
                if shared:
                    yield (
                        f"{side} ({run}) was trained on {len(shared)} of these {len(rows)} rows "
                        f"({where})"
                    )
            elif rows_of(part) in map(rows_of, parts):
                yield f"{side} ({run}) was trained on these data ({where})"


def looks(
    setup: Setup, models: Mapping[str, Mapping[str, Estimate]]
) -> tuple[list[str], list[str]]:
    """Returns warnings and notes of runs with more than LOOKS of their answers cut or padded. It is
    a warning where that is beyond chance over prompts (Wilson, 95 %), else a note.
    """
    cautions: dict[bool, list[str]] = {True: [], False: []}
    count = len(setup.prompts.rows)
    words = {
        "truncated": "cut at the maximal length",
        "degenerate": "padded with words that say nothing",
    }
    for metric, what in words.items():
        for side, table in models.items():
            for seed, share in zip(
                setup.seeds, table[metric].per_seed if metric in table else (), strict=False
            ):
                if share is not None and share > LOOKS:
                    which = "" if setup.fixed else f", seed {seed}"
                    surely = (
                        binomtest(round(share * count), count).proportion_ci(method="wilson").low
                        > LOOKS
                    )
                    cautions[surely].append(
                        f"{side}{which}: {share:.0%} of its answers here are {what}"
                    )
    return cautions[True], cautions[False]


def caveats(setup: Setup, metrics: Mapping[str, Metric]) -> Iterator[str]:
    """Yields what limits the figures: no other judge, decoding that is not known, references that
    PoSh needs long.
    """
    kinds = {metric.kind for metric in metrics.values() if metric.main}
    if "trained" in kinds and "untrained" not in kinds:
        caution = "every judge here is one that a model was trained on"
        yield f'{caution}: name held-out metrics under "referees" in the recipe'
    if "unknown" in kinds and not setup.fixed:
        yield (
            "nothing here says what every side was trained on, so a judge may be one that it "
            "has learned to please"
        )
    files = [side for side, runs in setup.sides.items() if any(map(is_table, runs))]
    if files and len(files) < len(setup.sides):
        yield (
            f"{' and '.join(files)}: how the answers were decoded (greedy or sampled, how long) is "
            f"not known; the others decode greedily, at most {setup.max_tokens} tokens"
        )
    words = [len(text.split()) for row in setup.prompts.rows for text in row.get("reference") or ()]
    # a true detail that a picture shows is right, however short the references are
    in_references = [
        part
        for part in setup.parts
        if part.metric == "posh" and part.options.get("evidence", "reference") == "reference"
    ]
    if in_references and words and np.median(words) < SHORT:
        yield (
            f"the references have {np.median(words):.0f} words (median): PoSh is made for detailed "
            "ones, and calls true details that short references lack wrong"
        )
