"""LAVE and the usual metrics of answers against what people said of the same answers.

    rows = measure_answers(Path("../shared/data"), LaveReward(MatchJudge()), sets=["evouna_nq"])
    rows[0].group, rows[0].measure, rows[0].metrics["lave"].value, rows[0].metrics["exact_match"].value

evouna_nq: five systems' free answers with people's verdicts; the answer counts as right when the
score is above a half. aokvqa: the right one of four choices against each wrong one. nlvr: yes and
no to a sentence about a picture, of which one is right, with five people's votes as the answers.
vizwiz: one person's answer against the other nine, by the kind of question (a mean score, no
agreement). Intervals are 95 % bootstraps over questions. Answers that the judge failed on are left
out, for every metric, and counted.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from experiments.agreement import answer_metrics, answer_sets
from experiments.agreement.captions import CHUNK
from experiments.agreement.measures import RIGHT_ABOVE, cohen_kappa
from experiments.labels.statistics import pair_accuracy
from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.comparison.resampling import Interval, bootstrap
from spanreward.rewards.lave import vqa
from spanreward.rewards.reward.reward import Reward

Metric = Callable[[str, Sequence[str]], float]
MATCHES: dict[str, Metric] = {
    "exact_match": answer_metrics.exact_match,
    "contains": answer_metrics.contains,
}
OVERLAPS: dict[str, Metric] = {
    "exact_match": answer_metrics.exact_match,
    "contains": answer_metrics.contains,
    "token_f1": vqa.token_f1,
    "vqa_accuracy": vqa.vqa_accuracy,
    "soft_vqa_accuracy": answer_metrics.soft_vqa_accuracy,
}


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure of one metric, in the measure's own unit."""

    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class AnswerAgreement:
    """One measure on one group of a set, by metric. n: questions. failed: answers left out."""

    set: str
    group: str
    measure: str
    metrics: dict[str, Measured]
    n: int
    failed: int


@dataclass(frozen=True, slots=True)
class Scored:
    """An answer's score by every metric, and whether people find it right."""

    right: bool | None
    scores: dict[str, float]


class AnswerMeasure(Protocol):
    """How far a metric's scores of several questions' answers agree with people: one number, such
    as a correlation.
    """

    def __call__(self, units: Sequence[Sequence[Scored]], metric: str) -> float: ...


@dataclass(frozen=True, slots=True)
class AnswerToScore:
    """An answer to be scored: the group it is compared in (a model, or a set's choices), and
    whether people call it right (None where they do not say).
    """

    group: str
    question: int
    sample: Sample
    right: bool | None


def measure_answers(
    folder: Path, reward: Reward, sets: Sequence[str], count: int | None = None
) -> list[AnswerAgreement]:
    """The rows of the named sets, of the first `count` questions of each.

    Raises KeyError for an unknown set, FileNotFoundError for a missing one, ValueError when no
    answer could be judged.
    """
    return [row for name in sets for row in SETS[name](folder, reward, count)]


def measure_evouna(folder: Path, reward: Reward, count: int | None) -> list[AnswerAgreement]:
    cases = [
        AnswerToScore(system, number, answered(record.question, answer, record.answers), right)
        for number, record in enumerate(answer_sets.load_evouna(folder)[:count])
        for system, answer, right in record.judged
    ]
    measures = {"agreement": agreement, "Cohen's kappa": kappa}
    return by_group("evouna_nq", cases, reward, MATCHES | {"token_f1": vqa.token_f1}, measures)


def measure_aokvqa(folder: Path, reward: Reward, count: int | None) -> list[AnswerAgreement]:
    cases = [
        AnswerToScore(
            "choices",
            number,
            answered(record.question, choice, record.answers),
            choice_number == record.right,
        )
        for number, record in enumerate(answer_sets.load_aokvqa(folder)[:count])
        for choice_number, choice in enumerate(record.choices)
    ]
    return by_group("aokvqa", cases, reward, OVERLAPS, {"right above wrong": right_above_wrong})


def measure_nlvr(folder: Path, reward: Reward, count: int | None) -> list[AnswerAgreement]:
    cases = [
        AnswerToScore(
            group,
            number,
            answered(f"Is it true? {record.sentence}", word, record.votes),
            (word == "yes") == record.true,
        )
        for number, record in enumerate(answer_sets.load_nlvr(folder)[:count])
        for group in ("all", "split votes" if len(set(record.votes)) > 1 else "one vote")
        for word in ("yes", "no")
    ]
    return by_group("nlvr", cases, reward, OVERLAPS, {"right above wrong": right_above_wrong})


def measure_vizwiz(folder: Path, reward: Reward, count: int | None) -> list[AnswerAgreement]:
    cases = [
        AnswerToScore(
            group, number, answered(record.question, record.answers[0], record.answers[1:]), None
        )
        for number, record in enumerate(answer_sets.load_vizwiz(folder)[:count])
        for group in ("all", record.kind)
    ]
    return by_group("vizwiz", cases, reward, OVERLAPS, {"mean score of a person": mean_score})


def answered(question: str, answer: str, answers: Sequence[str]) -> Sample:
    return Sample(question, answer, question=question, answers=tuple(answers))


def by_group(
    name: str,
    cases: Sequence[AnswerToScore],
    reward: Reward,
    baselines: Mapping[str, Metric],
    measures: Mapping[str, AnswerMeasure],
) -> list[AnswerAgreement]:
    """Every measure of every group in order of appearance; a bootstrap draws questions with all
    their answers.
    """
    groups: dict[str, dict[int, list[Scored]]] = {case.group: {} for case in cases}
    failed = Counter[str]()
    for case, score in zip(cases, scores_of([case.sample for case in cases], reward), strict=True):
        if score is None:
            failed[case.group] += 1
            continue
        answer, answers = case.sample.completion, case.sample.answers
        scores = {reward.__name__: score} | {
            metric: of(answer, answers) for metric, of in baselines.items()
        }
        groups[case.group].setdefault(case.question, []).append(Scored(case.right, scores))
    rows = []
    for group, questions in groups.items():
        units = list(questions.values())
        if not units:
            raise ValueError(
                f"the judge failed on every answer of {name}, {group}: nothing can be measured."
            )
        for title, measure in measures.items():
            metrics = {
                metric: Measured(
                    measure(units, metric), bootstrap(units, partial(measure, metric=metric))
                )
                for metric in (reward.__name__, *baselines)
            }
            rows.append(AnswerAgreement(name, group, title, metrics, len(units), failed[group]))
    return rows


def scores_of(samples: Sequence[Sample], reward: Reward) -> list[float | None]:
    verdicts = [
        verdict
        for at in range(0, len(samples), CHUNK)
        for verdict in reward.assess(samples[at : at + CHUNK])
    ]
    return [verdict.score for verdict in verdicts]


def flags(units: Sequence[Sequence[Scored]], metric: str) -> tuple[list[bool], list[bool]]:
    """Which answers the metric calls right, and which people do."""
    every = [answer for unit in units for answer in unit]
    return [answer.scores[metric] > RIGHT_ABOVE for answer in every], [
        bool(answer.right) for answer in every
    ]


def agreement(units: Sequence[Sequence[Scored]], metric: str) -> float:
    ours, people = flags(units, metric)
    return sum(one == other for one, other in zip(ours, people, strict=True)) / len(ours)


def kappa(units: Sequence[Sequence[Scored]], metric: str) -> float:
    return cohen_kappa(*flags(units, metric))


def right_above_wrong(units: Sequence[Sequence[Scored]], metric: str) -> float:
    """How often a question's right answer scores above a wrong one of its, ties half."""
    pairs = [
        (one.scores[metric], other.scores[metric])
        for unit in units
        for one in unit
        for other in unit
        if one.right and not other.right
    ]
    return pair_accuracy([right for right, _ in pairs], [wrong for _, wrong in pairs])


def mean_score(units: Sequence[Sequence[Scored]], metric: str) -> float:
    every = [answer.scores[metric] for unit in units for answer in unit]
    return sum(every) / len(every)


SETS: dict[str, Callable[[Path, Reward, int | None], list[AnswerAgreement]]] = {
    "evouna_nq": measure_evouna,
    "aokvqa": measure_aokvqa,
    "nlvr": measure_nlvr,
    "vizwiz": measure_vizwiz,
}
