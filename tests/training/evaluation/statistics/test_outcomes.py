"""When "better" may be said, on entries written by hand."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spanreward.training.evaluation.answer_scores.metrics import Metric, main_metrics_by_trust
from spanreward.training.evaluation.statistics.estimates import Difference
from spanreward.training.evaluation.statistics.outcomes import Compared, judge_pair
from spanreward.training.evaluation.statistics.sentences import (
    contradiction_cautions,
    named_or_counted,
    pair_headline,
    pair_sentence,
)
from spanreward.training.evaluation.statistics.summary import summarise_models

METRICS = {
    "truth_f1": Metric("judgeless", "the picture's contents", True),
    "posh_f1": Metric("trained", "posh by match", True),
    "posh_recall": Metric("trained", "posh by match", False),
    "harmonic_overall": Metric("untrained", "harmonic by match", True),
    "overlap": Metric("judgeless", "the references, by content words", True),
    "words": Metric("judgeless", "", False),
}


def entry(
    mean: Any, prompts: Any, both: Any = None, counted: int = 100, trained: int = 3, **more: Any
) -> Difference:
    """both: over prompts and seeds together; over seeds alone it is the same."""
    (low, high), (start, end) = prompts or (None, None), both or (None, None)
    ends = {"runs_low": start, "runs_high": end, "both_low": start, "both_high": end}
    numbers = {"counted": counted, "trained": trained, "failed": 9, **more}
    return Difference(mean, low, high, [], **ends, **numbers)


def compared(found: Difference, metric: str, **more: Any) -> Compared:
    return Compared(found, judge_pair(found, metric, **more))


HIGHER, LOWER, BOTH = (0.05, 0.15), (-0.15, -0.05), (0.01, 0.2)
UP, DOWN = entry(0.1, HIGHER, BOTH), entry(-0.1, LOWER, (-0.2, -0.01))
ONCE = entry(0.1, HIGHER, trained=1)


@pytest.mark.parametrize(
    ("found", "holm", "verdicts", "why"),
    [
        (UP, None, "better higher higher", ""),
        (DOWN, None, "worse lower lower", ""),
        (entry(0.1, HIGHER, (-0.1, 0.3)), None, "? higher ?", "seeds together"),
        (entry(0.1, (-0.1, 0.3), HIGHER), None, "? ? higher", "over prompts: the interval holds"),
        (entry(0.1, HIGHER, trained=2), None, "? higher ?", "2 seeds, 3 or more"),
        (ONCE, None, "? higher ?", "1 seed, 3 or more"),
        (entry(0.1, (0.1, 0.1), (0.1, 0.1), 5), None, "? ? higher", "5 prompts, 6 or more"),
        (entry(0.0, (0.0, 0.0), (0.0, 0.0)), None, "? ? ?", "over prompts"),  # all ties
        (entry(0.3, None, counted=1), None, "? ? ?", "1 prompt, 6 or more"),
        (entry(None, None, counted=0, trained=0), None, "? ? ?", "0 prompts"),
        (UP, 0.07, "? ? higher", "an adjusted p of 0.07 (Holm)"),
        (UP, 0.04, "better higher higher", ""),
        (replace(UP, worst_case=[-0.03, 0.2]), None, "? ? higher", "turn it, to -0.030"),
        (replace(UP, worst_case=[0.03, 0.2]), None, "better higher higher", ""),
    ],
)
def test_better_needs_every_condition(
    found: Difference, holm: float | None, verdicts: str, why: str
) -> None:
    said = judge_pair(found, "posh_f1", holm)
    told = f"{said.verdict} {said.over_prompts} {said.over_seeds}"
    assert told.replace("undecided", "?") == verdicts
    assert why in said.why
    assert bool(said.why) == (said.verdict == "undecided")


def test_a_lone_run_is_higher_at_most_and_a_fixed_system_needs_no_seeds() -> None:
    said = judge_pair(UP, "posh_f1", lone="sft")
    assert (said.verdict, said.over_prompts) == ("undecided", "higher")
    assert said.why.startswith("undecided over seeds: sft")
    assert judge_pair(ONCE, "posh_f1", fixed=True).verdict == "better"


@pytest.mark.parametrize(
    ("metric", "higher", "alone"),
    [
        ("words", "longer", "longer"),
        ("degenerate", "worse", "more"),
        ("truncated", "worse", "more"),
    ],
)
def test_more_is_not_always_better(metric: str, higher: str, alone: str) -> None:
    assert judge_pair(entry(1.0, (0.5, 1.5), (0.1, 2.0)), metric).verdict == higher
    assert judge_pair(entry(1.0, (0.5, 1.5), None, trained=1), metric).over_prompts == alone


def test_verdicts_are_symmetric_under_relabelling() -> None:
    rng = np.random.default_rng(4)
    for gain in (0.0, 0.05, 0.3):
        one = rng.normal(0.5, 0.1, (3, 40))
        two = one + gain + rng.normal(0, 0.05, (3, 40)) + rng.normal(0, 0.02, (3, 1))
        forth = summarise_models({"a": {"f1": one}, "b": {"f1": two}}).differences["b", "a"]["f1"]
        back = summarise_models({"b": {"f1": two}, "a": {"f1": one}}).differences["a", "b"]["f1"]
        opposite = {"better": "worse", "worse": "better", "undecided": "undecided"}
        assert judge_pair(back, "f1").verdict == opposite[judge_pair(forth, "f1").verdict]
        assert back.low == pytest.approx(-forth.high, abs=0.003)


MATCH = " (PoSh F1 by match, no published metric)"


def entries(posh: Any, truth: Any, words: float = 3.0) -> dict[str, Any]:
    found = {"truth_f1": truth, "posh_f1": posh, "words": entry(words, (1.0, 5.0), (1.0, 5.0))}
    return {metric: compared(one, metric) for metric, one in found.items()}


def test_a_sentence_says_who_says_so() -> None:
    found = entries(UP, DOWN)
    said = pair_sentence("dapo", "sft", found, METRICS).replace("\N{MINUS SIGN}", "-")
    assert re.sub(r"\(.*?\)", "", said) == (
        "dapo against sft: better by PoSh F1 +0.100 [0.050, 0.150] {0.010, 0.200} ; worse by "
        "truth F1 -0.100 [-0.150, -0.050] {-0.200, -0.010} ; 3.0 words more."
    )
    by = re.findall(r"(trained on; by match|no judge)\b", said)
    assert by == ["trained on; by match", "no judge"]
    lone = pair_sentence("dapo", "sft", found, METRICS, lone="sft")
    told = r"dapo against sft: undecided over seeds \(sft .*\)\. .*: higher by PoSh F1"
    assert re.match(told, lone)


def test_a_sentence_about_one_seed_or_none() -> None:
    few = entries(ONCE, entry(0.0, (-0.05, 0.05), trained=1))
    few["words"] = compared(entry(-2.0, (1.0, 5.0), trained=1), "words")
    unknown = METRICS | {"posh_f1": Metric("unknown", "posh by match", True)}
    fixed = {metric: compared(one.difference, metric, fixed=True) for metric, one in few.items()}
    said = pair_sentence("b", "a", fixed, unknown, fixed=True)
    assert said.startswith("b against a: better by PoSh F1 +0.100 [0.050, 0.150] (by match, ")
    told = (
        r"dapo against sft: undecided over seeds \(1 seed, .*\)\. .*: higher by PoSh F1 \+0\.100 "
        r"\[0\.050, 0\.150\] \(.*trained on; by match, .*\); undecided by truth F1 \+0\.000 "
        r"\[\N{MINUS SIGN}0\.050, 0\.050\] \(no judge\); 2\.0 words fewer\."
    )
    assert re.fullmatch(told, pair_sentence("dapo", "sft", few, METRICS))


NOTHING = entry(0.0, (-1, 1))


@pytest.mark.parametrize(
    ("posh", "truth", "said"),
    [
        (UP, DOWN, f"b is better than a by PoSh F1, and worse by truth F1{MATCH}."),
        (NOTHING, DOWN, "b is worse than a by truth F1."),
        (ONCE, ONCE, "b is higher than a by truth F1 and PoSh F1, "),
        (NOTHING, NOTHING, "b against a: no difference"),
    ],
)
def test_a_pair_in_a_few_words(posh: Difference, truth: Difference, said: str) -> None:
    found = pair_headline("b", "a", entries(posh, truth), METRICS)
    assert found == said if said.endswith(".") else found.startswith(said)


@pytest.mark.parametrize(
    ("names", "count", "said"),
    [("xy", 2, "x and y"), ("xyz", 3, "all 3 metrics"), ("xyz", 4, "3 of 4 metrics")],
)
def test_a_few_metrics_are_named_and_many_counted(names: str, count: int, said: str) -> None:
    assert named_or_counted(list(names), count) == said


def test_a_reward_that_is_pleased_and_a_truth_that_is_not() -> None:
    up = entry(0.1, HIGHER)
    (warning,), notes = contradiction_cautions(
        "dapo", "sft", entries(up, entry(-0.1, LOWER)), METRICS
    )
    told = r"dapo against sft: PoSh F1 \(.*trained on\) \+0.100, but truth F1 \(no judge\) \N{MINUS SIGN}0.100: "
    assert re.match(told, warning)
    assert notes == []
    perhaps = entry(-0.01, (-0.05, 0.03))
    warnings, (note,) = contradiction_cautions("dapo", "sft", entries(up, perhaps), METRICS)
    assert warnings == []
    assert note.endswith(" may be chance")
    judged = entries(up, perhaps) | {"harmonic_overall": compared(perhaps, "harmonic_overall")}
    _, (note,) = contradiction_cautions("dapo", "sft", judged, METRICS)  # one for both
    assert note.count("dapo") == 1
    assert note.count("\N{MINUS SIGN}0.010") == 2
    assert contradiction_cautions("dapo", "sft", entries(up, up), METRICS) == ([], [])
    unknown = entry(None, None, counted=0)
    assert contradiction_cautions("dapo", "sft", entries(up, unknown), METRICS) == ([], [])


def test_any_two_metrics_that_contradict_are_told() -> None:
    found = {"truth_f1": entry(0.1, HIGHER), "harmonic_overall": entry(-0.1, LOWER)}
    judged = {metric: compared(one, metric) for metric, one in found.items()}
    (warning,), _ = contradiction_cautions("dapo", "sft", judged, METRICS)
    assert re.search(r"harmonic overall \(.* not\) \N{MINUS SIGN}0.100: look at", warning)


def test_the_trained_reward_says_last_who_lost() -> None:
    assert main_metrics_by_trust(METRICS) == ["truth_f1", "harmonic_overall", "overlap", "posh_f1"]
    assert main_metrics_by_trust({"posh_f1": METRICS["posh_f1"], "words": METRICS["words"]}) == [
        "posh_f1"
    ]
