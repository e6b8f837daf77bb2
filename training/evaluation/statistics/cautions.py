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
from itertools import chain, combinations
from pathlib import Path
from typing import Any

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
from spanreward.training.recipe import DataPart, JsonlPart, RewardPart

MAX_IDENTICAL_SHARE = 0.9  # a larger share of identical answers is told
MIN_REFERENCE_WORDS = 15  # the median of references for which PoSh is made
MAX_FAULTY_SHARE = 0.05  # a larger share of cut or padded answers, or of failed judgments, is told


def unjudged(evaluation: Evaluation) -> Iterator[str]:
    """Yields a warning for every metric where more than MAX_FAULTY_SHARE of the judgments failed,
    with the first reason.
    """
    why = first_failure(evaluation.answers)
    # all sides have the same metrics
    metrics = next(iter(evaluation.failed.values()))
    for metric in metrics:
        shares = []  # of each side
        for table in evaluation.failed.values():
            shares.append(table[metric].mean())
        share = np.mean(shares)
        if share > MAX_FAULTY_SHARE:
            yield (
                f"{metric}: judgments of {share:.0%} of all answers failed. The first reason: {why}"
            )


def first_failure(answers: Answers) -> str:
    """Returns the note of the first judgment that failed, or where to look for one."""
    for runs in answers.values():
        for answer in chain(*runs):
            if answer.verdict.status.failed:
                return answer.verdict.note
    return "see completions.jsonl"


def lopsided(failed: Mapping[str, Mapping[str, np.ndarray]]) -> Iterator[str]:
    """Yields a warning for every metric and two sides whose judgments failed unequally often: by an
    exact test of the prompts on which one side failed more often than the other.
    """
    for a, b in combinations(failed, 2):
        for metric, failed_a in failed[a].items():
            failed_b = failed[b][metric]
            # each prompt's failures, over all runs
            counts_a = failed_a.sum(axis=0)
            counts_b = failed_b.sum(axis=0)
            # a sign test: by chance, as many prompts go one way as the other
            more_of_a = int((counts_a > counts_b).sum())
            unequal = int((counts_a != counts_b).sum())
            if unequal and binomtest(more_of_a, unequal).pvalue < LEVEL:
                yield (
                    f"{metric}: judgments of {failed_a.mean():.0%} of the answers of {a} failed, "
                    f"and of {failed_b.mean():.0%} of those of {b}: what is left may be a fair "
                    "sample of neither"
                )


def alike(answers: Answers) -> Iterator[str]:
    """Yields warnings of two sides with the same answers, and of a side that answers everything
    alike.
    """
    texts: dict[str, list[list[str]]] = {}  # by side, of each run
    for side, runs in answers.items():
        texts[side] = []
        for run in runs:
            texts[side].append([answer.text for answer in run])
    for a, b in combinations(texts, 2):
        texts_of_a = np.array(texts[a])
        texts_of_b = np.array(texts[b])
        equal = texts_of_a == texts_of_b  # of shape (runs, prompts)
        if equal.size and equal.mean() > MAX_IDENTICAL_SHARE:
            yield (
                f"{equal.sum()} of {equal.size} answers of {a} and {b} are identical: did an "
                "adapter not load, or is it one checkpoint twice?"
            )
    for side, runs_of_texts in texts.items():
        if not runs_of_texts:
            continue
        first_run = runs_of_texts[0]
        prompts = len(first_run)
        # two or three answers may be alike by chance
        if prompts < MIN_PROMPTS:
            continue
        most_common = Counter(first_run).most_common(1)
        text, count = most_common[0]
        if count > MAX_IDENTICAL_SHARE * prompts:
            yield f"{side} gives one answer to {count} of {prompts} prompts: {text[:60]!r}"


def notes_on_samples(answers: Answers) -> Iterator[str]:
    """Yields what the scores are where prompts have several answers."""
    counts = {}
    for side, runs in answers.items():
        counts[side] = max(map(samples_a_prompt, runs), default=1)
    if set(counts.values()) == {1}:
        return
    texts = [f"{count} of {side}" for side, count in counts.items()]
    samples = ", ".join(texts)
    yield (
        f"each prompt has several sampled answers ({samples}): its scores are their means, and "
        "the page shows the first"
    )
    # why the tables lack what a reader may look for
    if len(set(counts.values())) > 1:
        yield "no best of the samples is told, because it grows with their number"


def not_read_by(answers: Mapping[str, Sequence[JudgedAnswer]]) -> dict[str, NotRead]:
    """Returns how much of each side's answers was not read; {} where all of all sides was."""
    unread_of = {}
    for side, side_answers in answers.items():
        completions = [(answer.text, answer.verdict.unread) for answer in side_answers]
        unread_of[side] = not_read(completions)
    if not any(unread.unread for unread in unread_of.values()):
        return {}
    return unread_of


def much_unread(unread_of: Mapping[str, NotRead]) -> Iterator[str]:
    """Yields a note for every side of which more than a few per cent was not read."""
    for side, unread in unread_of.items():
        if unread.share > MUCH:
            share = f"{unread.share:.0%}"
            yield f"{side}: not read: {unread} ({share}), which the page shows struck out"


def leaks(setup: Setup) -> Iterator[str]:
    """Yields a sentence for every run whose recipe trains on some of these rows: by what a row asks
    for and is judged by, where the training data are a JSONL file that is here, else by the data
    block.
    """
    rows = setup.prompts.rows
    source = setup.prompts.source
    # a row without a question, references and answers is like any other such row
    contents = set(map(row_content, rows)) - {row_content({})}
    # a file of --data is no block of a recipe
    compared_blocks = []
    if source.get("source") not in (None, "rows"):
        compared = TypeAdapter(DataPart).validate_python(source)
        compared_blocks = list(map(rows_of, compared.parts))
    for side, runs in setup.sides.items():
        for run in dict.fromkeys(runs):
            data = recipe_of(run).get("data")
            # a file of answers, or a model of the hub
            if not data:
                continue
            trained = TypeAdapter(DataPart).validate_python(data)
            for part in trained.parts:
                block = rows_of(part)
                where = " ".join(filter(None, block))
                if isinstance(part, JsonlPart) and Path(part.path).is_file():
                    shared = contents & contents_of(part)
                    if shared:
                        yield (
                            f"{side} ({run}) was trained on {len(shared)} of these {len(rows)} "
                            f"rows ({where})"
                        )
                elif block in compared_blocks:
                    yield f"{side} ({run}) was trained on these data ({where})"


def contents_of(part: JsonlPart) -> set[Any]:
    """Returns what the rows of a JSONL file ask for and are judged by (`row_content`)."""
    contents = set()
    for where, record in read_table(part.path):
        values = read_values(record, part.columns, where)
        contents.add(row_content(values))
    return contents


def looks(
    setup: Setup, models: Mapping[str, Mapping[str, Estimate]]
) -> tuple[list[str], list[str]]:
    """Returns warnings and notes of runs with more than MAX_FAULTY_SHARE of their answers cut or
    padded. It is a warning where that is beyond chance over prompts (Wilson, 95 %), else a note.
    """
    warnings = []
    notes = []
    prompts = len(setup.prompts.rows)
    faults = {
        "truncated": "cut at the maximal length",
        "degenerate": "padded with words that say nothing",
    }
    for metric, fault in faults.items():
        for side, table in models.items():
            # answers from files alone have no `truncated`
            if metric not in table:
                continue
            shares = table[metric].per_seed
            for seed, share in zip(setup.seeds, shares, strict=False):
                if share is None or share <= MAX_FAULTY_SHARE:
                    continue
                run = side if setup.fixed else f"{side}, seed {seed}"
                caution = f"{run}: {share:.0%} of its answers here are {fault}"
                test = binomtest(round(share * prompts), prompts)
                bounds = test.proportion_ci(method="wilson")
                if bounds.low > MAX_FAULTY_SHARE:
                    warnings.append(caution)
                else:
                    notes.append(caution)
    return warnings, notes


def caveats(setup: Setup, metrics: Mapping[str, Metric]) -> Iterator[str]:
    """Yields what limits the figures: no other judge, decoding that is not known, references that
    PoSh needs long.
    """
    kinds = set()
    for metric in metrics.values():
        if metric.main:
            kinds.add(metric.kind)
    if "trained" in kinds and "untrained" not in kinds:
        caution = "every judge here is one that a model was trained on"
        yield f'{caution}: name held-out metrics under "referees" in the recipe'
    if "unknown" in kinds and not setup.fixed:
        yield (
            "nothing here says what every side was trained on, so a judge may be one that it "
            "has learned to please"
        )
    files = []
    for side, runs in setup.sides.items():
        if any(map(is_table, runs)):
            files.append(side)
    # where all are files, no side is known to decode otherwise than the others
    if files and len(files) < len(setup.sides):
        yield (
            f"{' and '.join(files)}: how the answers were decoded (greedy or sampled, how long) is "
            f"not known; the others decode greedily, at most {setup.max_tokens} tokens"
        )
    if not any(map(looks_up_references, setup.parts)):
        return
    words = []  # of each reference
    for row in setup.prompts.rows:
        for text in row.get("reference") or ():
            words.append(len(text.split()))
    if words and np.median(words) < MIN_REFERENCE_WORDS:
        yield (
            f"the references have {np.median(words):.0f} words (median): PoSh is made for detailed "
            "ones, and calls true details that short references lack wrong"
        )


def looks_up_references(part: RewardPart) -> bool:
    """Returns whether a reward is PoSh by the references. With a picture as evidence, a true detail
    is right however short the references are.
    """
    evidence = part.options.get("evidence", "reference")
    return part.metric == "posh" and evidence == "reference"
