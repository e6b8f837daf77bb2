"""Finds what a reader must know before the figures of a comparison, and what limits the figures.

failed_judgments(evaluation)  # judgments that failed, with the reason
unequal_failures(evaluation.failed)  # judgments of one side that failed more often
identical_answers(evaluation.answers)  # two sides with the same answers, a side with one answer
leak_warnings(setup)  # runs that were trained on these rows
not_read_by(answers_of_sides)  # parts of answers that no judge read
faulty_answers(setup, models)  # answers that are cut or padded
notes_on_limits(setup, metrics)  # notes
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter
from scipy.stats import binomtest

from spanreward.rewards.base.unread import UNREAD_SHARE_TO_WARN, NotRead, not_read
from spanreward.rewards.rows.tables import is_table, read_table
from spanreward.training.data.row_content import row_content
from spanreward.training.data.rows import read_values
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.evaluate import AnswersOfSides, Evaluation
from spanreward.training.evaluation.answer_scores.metrics import Metric
from spanreward.training.evaluation.answer_scores.several import samples_a_prompt
from spanreward.training.evaluation.answers.held_out import names_of_block
from spanreward.training.evaluation.answers.setup import Setup
from spanreward.training.evaluation.answers.sides import recipe_of
from spanreward.training.evaluation.statistics.estimates import Estimate
from spanreward.training.evaluation.statistics.outcomes import MIN_PROMPTS, SIGNIFICANCE_LEVEL
from spanreward.training.recipe import DataPart, JsonlPart, RewardPart

MAX_IDENTICAL_SHARE = 0.9  # a larger share of identical answers gets a warning
MIN_REFERENCE_WORDS = 15  # for PoSh, references with a lower median of words are too short
MAX_FAULTY_SHARE = 0.05  # a larger share of cut or padded answers, or failed judgments, is reported


def failed_judgments(evaluation: Evaluation) -> Iterator[str]:
    """Yields a warning for every metric with more than MAX_FAULTY_SHARE failed judgments, with the
    reason of the first failure.
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


def first_failure(answers: AnswersOfSides) -> str:
    """Returns the note of the first failed verdict; the file to look into if no shown verdict
    failed.
    """
    for runs in answers.values():
        for answer in chain(*runs):
            if answer.verdict.status.failed:
                return answer.verdict.note
    return "see completions.jsonl"


def unequal_failures(failed: Mapping[str, Mapping[str, np.ndarray]]) -> Iterator[str]:
    """Yields a warning for every metric whose judgments failed unequally often on two sides.

    An exact sign test counts the prompts on which one side failed more often than the other side.
    failed: {side: {metric: bools of shape (seeds, prompts)}}.
    """
    for a, b in combinations(failed, 2):
        for metric, failed_a in failed[a].items():
            failed_b = failed[b][metric]
            # each prompt's failures, over all runs
            counts_a = failed_a.sum(axis=0)
            counts_b = failed_b.sum(axis=0)
            # by chance, each side would have more failures on half of the unequal prompts
            prompts_with_more_of_a = int((counts_a > counts_b).sum())
            unequal_prompts = int((counts_a != counts_b).sum())
            if not unequal_prompts:
                continue
            if binomtest(prompts_with_more_of_a, unequal_prompts).pvalue < SIGNIFICANCE_LEVEL:
                yield (
                    f"{metric}: judgments of {failed_a.mean():.0%} of the answers of {a} failed, "
                    f"and of {failed_b.mean():.0%} of those of {b}: what is left may be a fair "
                    "sample of neither"
                )


def identical_answers(answers: AnswersOfSides) -> Iterator[str]:
    """Yields a warning for two sides with nearly all answers equal, and for a side that gives one
    answer to nearly all prompts.
    """
    texts: dict[str, list[list[str]]] = {}  # the answers of each run, by side
    for side, runs in answers.items():
        texts[side] = []
        for run in runs:
            texts[side].append([answer.text for answer in run])
    for a, b in combinations(texts, 2):
        equal = np.array(texts[a]) == np.array(texts[b])  # of shape (runs, prompts)
        if equal.size and equal.mean() > MAX_IDENTICAL_SHARE:
            yield (
                f"{equal.sum()} of {equal.size} answers of {a} and {b} are identical: did an "
                "adapter not load, or is it one checkpoint twice?"
            )
    for side, runs_of_texts in texts.items():
        first_run = runs_of_texts[0] if runs_of_texts else []
        prompts = len(first_run)
        if prompts < MIN_PROMPTS:  # two or three answers may be equal by chance
            continue
        ((text, count),) = Counter(first_run).most_common(1)
        if count > MAX_IDENTICAL_SHARE * prompts:
            yield f"{side} gives one answer to {count} of {prompts} prompts: {text[:60]!r}"


def notes_on_samples(answers: AnswersOfSides) -> Iterator[str]:
    """Yields notes on how prompts with several sampled answers are scored.

    Yields nothing if every prompt has one answer.
    """
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
    # explains why the tables do not have the best of the samples
    if len(set(counts.values())) > 1:
        yield "no best of the samples is told, because it grows with their number"


def not_read_by(answers: Mapping[str, Sequence[JudgedAnswer]]) -> dict[str, NotRead]:
    """Returns how much of each side's answers the judge did not read; {} if every answer was read
    whole.
    """
    unread_of = {}
    for side, side_answers in answers.items():
        completions = [(answer.text, answer.verdict.unread) for answer in side_answers]
        unread_of[side] = not_read(completions)
    if not any(unread.unread for unread in unread_of.values()):
        return {}
    return unread_of


def much_unread(unread_of: Mapping[str, NotRead]) -> Iterator[str]:
    """Yields a note for every side with much text that the judge has not read: a share of the
    characters of its answers above UNREAD_SHARE_TO_WARN.

    Example: "dapo: not read: 42 of 310 characters: special tokens 42 (14%), which the page shows
    struck out". unread_of: the unread text of each side (`not_read_by`).
    """
    for side, unread in unread_of.items():
        if unread.share > UNREAD_SHARE_TO_WARN:
            share = f"{unread.share:.0%}"
            yield f"{side}: not read: {unread} ({share}), which the page shows struck out"


def leak_warnings(setup: Setup) -> Iterator[str]:
    """Yields a warning for every run that was trained on some of the compared rows.

    If the training data are a JSONL file on this machine, the file's rows are compared by content:
    question, references and answers. Other training data are compared by their name, which consists
    of dataset, subset and split.
    """
    rows = setup.prompts.rows
    # rows without a question, references and answers would all be equal, so they do not count
    contents = {row_content(row) for row in rows}
    contents.discard(row_content({}))
    compared_blocks = _names_of_compared_blocks(setup.prompts.source)
    for side, runs in setup.sides.items():
        for run in dict.fromkeys(runs):
            for part in _training_parts(run):
                block = names_of_block(part)  # dataset, subset and split
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


def _names_of_compared_blocks(data: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Returns the names of each data block that is compared on (`names_of_block`), such as
    [("amitha/docent", "", "test")]. Returns [] for a file of --data, which is no data block of a
    recipe.

    data: `Prompts.source`: a recipe's data block as plain data, such as {"source": "hub", "id":
    "amitha/docent", ...}; for a file of --data {"source": "rows", ...}.
    """
    kind = data.get("source")  # "hub", "jsonl", "mixed", a Python function, or "rows" for --data
    if kind is None or kind == "rows":
        return []
    compared = TypeAdapter(DataPart).validate_python(data)
    return list(map(names_of_block, compared.parts))


def _training_parts(run: str) -> Sequence[Any]:
    """Returns the data blocks that a run was trained on; [] for a file of answers and a model of
    the hub, which have no recipe.
    """
    data = recipe_of(run).get("data")
    if not data:
        return []
    return TypeAdapter(DataPart).validate_python(data).parts


def contents_of(part: JsonlPart) -> set[Any]:
    """Returns the question, references and answers of every row of a JSONL file (`row_content`)."""
    contents = set()
    for where, record in read_table(part.path):
        values = read_values(record, part.columns, where)
        contents.add(row_content(values))
    return contents


def faulty_answers(
    setup: Setup, models: Mapping[str, Mapping[str, Estimate]]
) -> tuple[list[str], list[str]]:
    """Returns warnings and notes on runs with more than MAX_FAULTY_SHARE of their answers cut or
    padded.

    A run gets a warning if the whole 95 % interval of this share (Wilson, over prompts) is above
    MAX_FAULTY_SHARE. Any other such run gets a note, because its share may be above by chance.

    models: {side: {metric: mean}}. The metrics "truncated" and "degenerate" are the shares of cut
    and of padded answers.
    """
    warnings = []
    notes = []
    faults = {
        "truncated": "cut at the maximal length",
        "degenerate": "padded with words that say nothing",
    }
    for metric, fault in faults.items():
        for side, table in models.items():
            # answers from files alone have no `truncated`
            if metric not in table:
                continue
            # one share for each run, in the order of `setup.seeds`
            shares = table[metric].per_seed
            for seed, share in zip(setup.seeds, shares, strict=True):
                if share is None or share <= MAX_FAULTY_SHARE:
                    continue
                run = side if setup.fixed else f"{side}, seed {seed}"
                caution = f"{run}: {share:.0%} of its answers here are {fault}"
                if surely_too_many(share, len(setup.prompts.rows)):
                    warnings.append(caution)
                else:
                    notes.append(caution)
    return warnings, notes


def surely_too_many(share: float, prompts: int) -> bool:
    """Returns whether the whole 95 % interval of a share of prompts (Wilson) is above
    MAX_FAULTY_SHARE: 8 of 40 prompts are surely too many, and 4 of 40 may be above it by chance.
    """
    test = binomtest(round(share * prompts), prompts)
    bounds = test.proportion_ci(method="wilson")
    return bool(bounds.low > MAX_FAULTY_SHARE)


def notes_on_limits(setup: Setup, metrics: Mapping[str, Metric]) -> Iterator[str]:
    """Yields notes on what limits the figures.

    Such limits are a lack of held-out judges, unknown training, unknown decoding, and references
    that are too short for PoSh.
    """
    kinds = {metric.kind for metric in metrics.values() if metric.main}
    if "trained" in kinds and "untrained" not in kinds:
        caution = "every judge here is one that a model was trained on"
        yield f'{caution}: name held-out metrics under "referees" in the recipe'
    # Fixed systems, such as models behind an API, count as not trained, so they have not learned to
    # please a judge.
    are_trained = not setup.fixed
    if "unknown" in kinds and are_trained:
        yield (
            "nothing here says what every side was trained on, so a judge may be one that it "
            "has learned to please"
        )
    files = [side for side, runs in setup.sides.items() if any(map(is_table, runs))]
    # Answers from files may be decoded otherwise than those that are sampled here. If all sides are
    # files, nothing is sampled here.
    if files and len(files) < len(setup.sides):
        yield (
            f"{' and '.join(files)}: how the answers were decoded (greedy or sampled, how long) is "
            f"not known; the others decode greedily, at most {setup.max_tokens} tokens"
        )
    if any(map(looks_up_references, setup.parts)):
        yield from _notes_on_short_references(setup.prompts.rows)


def _notes_on_short_references(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields a note if the references are too short for PoSh: if their median number of words is
    below MIN_REFERENCE_WORDS.
    """
    words = []  # the number of words of each reference
    for row in rows:
        for text in row.get("reference") or ():
            words.append(len(text.split()))
    if words and np.median(words) < MIN_REFERENCE_WORDS:
        yield (
            f"the references have {np.median(words):.0f} words (median): PoSh is made for detailed "
            "ones, and calls true details that short references lack wrong"
        )


def looks_up_references(part: RewardPart) -> bool:
    """Returns whether a reward is PoSh with the references as its only evidence.

    Short references are a problem only with this evidence. With a picture as evidence, PoSh can
    confirm a true detail that a short reference lacks.
    """
    evidence = part.options.get("evidence", "reference")
    return part.metric == "posh" and evidence == "reference"
