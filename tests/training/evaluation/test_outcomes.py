"""When "better" may be said, on entries written by hand."""

from typing import Any

import numpy as np
import pytest

from spanreward.training.evaluation.outcomes import contradictions, judge_pair, lost_by, sentence
from spanreward.training.evaluation.referees import Referee
from spanreward.training.evaluation.statistics import summarise_models

REFEREES = {
    "truth_f1": Referee("judgeless", "the picture's contents", True),
    "posh_f1": Referee("trained", "posh by match", True),
    "posh_recall": Referee("trained", "posh by match", False),
    "harmonic_overall": Referee("untrained", "harmonic by match", True),
    "overlap": Referee("judgeless", "the references, by content words", True),
    "words": Referee("judgeless", "", False),
}


def entry(mean: Any, prompts: Any, seeds: Any = None, counted: int = 100, trained: int = 3) -> dict[str, Any]:
    (low, high), (runs_low, runs_high) = prompts or (None, None), seeds or (None, None)
    found = {"mean": mean, "low": low, "high": high, "runs_low": runs_low, "runs_high": runs_high}
    return found | {"counted": counted, "trained": trained}


@pytest.mark.parametrize(
    ("given", "verdict", "over_prompts", "over_seeds", "why"),
    [
        (entry(0.1, (0.05, 0.15), (0.01, 0.2)), "better", "higher", "higher", ""),
        (entry(-0.1, (-0.15, -0.05), (-0.2, -0.01)), "worse", "lower", "lower", ""),
        (entry(0.1, (0.05, 0.15), (-0.1, 0.3)), "undecided", "higher", "undecided", "over seeds: the interval holds 0"),
        (entry(0.1, (-0.1, 0.3), (0.05, 0.15)), "undecided", "undecided", "higher", "over prompts: the interval holds"),
        (
            entry(0.1, (0.05, 0.15), None, trained=2),
            "undecided",
            "higher",
            "undecided",
            "2 seeds, 3 or more are needed",
        ),
        (entry(0.1, (0.05, 0.15), None, trained=1), "undecided", "higher", "undecided", "1 seed, 3 or more are needed"),
        (entry(0.1, (0.1, 0.1), (0.1, 0.1), counted=5), "undecided", "undecided", "higher", "5 prompts, 6 or more"),
        (entry(0.0, (0.0, 0.0), (0.0, 0.0)), "undecided", "undecided", "undecided", "over prompts"),  # all ties
        (entry(0.3, None, None, counted=1), "undecided", "undecided", "undecided", "1 prompt, 6 or more are needed"),
        (entry(0.1, (0.05, 0.1), (-0.1, -0.05)), "undecided", "higher", "lower", "contradict each other"),
        (entry(None, None, None, counted=0, trained=0), "undecided", "undecided", "undecided", "0 prompts"),
    ],
)
def test_better_needs_both_intervals(given: Any, verdict: str, over_prompts: str, over_seeds: str, why: str) -> None:
    said = judge_pair(given, "posh_f1")
    assert (said["verdict"], said["over_prompts"], said["over_seeds"]) == (verdict, over_prompts, over_seeds)
    assert why in said["why"]
    assert bool(said["why"]) == (verdict == "undecided")


@pytest.mark.parametrize(
    ("metric", "higher", "alone"),
    [("words", "longer", "longer"), ("degenerate", "worse", "more"), ("truncated", "worse", "more")],
)
def test_more_is_not_always_better(metric: str, higher: str, alone: str) -> None:
    assert judge_pair(entry(1.0, (0.5, 1.5), (0.1, 2.0)), metric)["verdict"] == higher
    assert judge_pair(entry(1.0, (0.5, 1.5), None, trained=1), metric)["over_prompts"] == alone


def test_verdicts_are_symmetric_under_relabelling() -> None:
    rng = np.random.default_rng(4)
    for gain in (0.0, 0.05, 0.3):
        one = rng.normal(0.5, 0.1, (3, 40))
        two = one + gain + rng.normal(0, 0.05, (3, 40)) + rng.normal(0, 0.02, (3, 1))
        forth = summarise_models({"a": {"f1": one}, "b": {"f1": two}})["difference"]["b_minus_a"]["f1"]
        back = summarise_models({"b": {"f1": two}, "a": {"f1": one}})["difference"]["a_minus_b"]["f1"]
        opposite = {"better": "worse", "worse": "better", "undecided": "undecided"}
        assert judge_pair(back, "f1")["verdict"] == opposite[judge_pair(forth, "f1")["verdict"]]
        assert back["low"] == pytest.approx(-forth["high"], abs=0.003)


def entries(posh: Any, truth: Any, words: float = 3.0) -> dict[str, Any]:
    found = {"truth_f1": truth, "posh_f1": posh, "words": entry(words, (1.0, 5.0), (1.0, 5.0))}
    return {metric: one | judge_pair(one, metric) for metric, one in found.items()}


def test_a_sentence_says_who_says_so() -> None:
    both = entry(0.1, (0.05, 0.15), (0.01, 0.2)), entry(-0.1, (-0.15, -0.05), (-0.2, -0.01))
    said = sentence("dapo", "sft", entries(*both), REFEREES)
    assert said == (
        "dapo against sft: better by PoSh F1 +0.100 [0.050, 0.150] {0.010, 0.200} (a reward that was trained on); "
        "worse by truth F1 \N{MINUS SIGN}0.100 [\N{MINUS SIGN}0.150, \N{MINUS SIGN}0.050] "
        "{\N{MINUS SIGN}0.200, \N{MINUS SIGN}0.010} (no judge); 3.0 words more."
    )
    alone = entry(0.1, (0.05, 0.15), trained=1), entry(0.0, (-0.05, 0.05), trained=1)
    few = entries(*alone, words=-2.0)
    few["words"]["trained"] = 1
    assert sentence("dapo", "sft", few, REFEREES) == (
        "dapo against sft: undecided over seeds (1 seed, 3 or more are needed). On these prompts alone: higher by "
        "PoSh F1 +0.100 [0.050, 0.150] (a reward that was trained on); undecided by truth F1 +0.000 "
        "[\N{MINUS SIGN}0.050, 0.050] (no judge); 2.0 words fewer."
    )


def test_a_reward_that_is_pleased_and_a_truth_that_is_not() -> None:
    up, down = entry(0.1, (0.05, 0.15)), entry(-0.1, (-0.15, -0.05))
    (warning,), notes = contradictions("dapo", "sft", entries(up, down), REFEREES)
    assert warning.startswith(
        "dapo against sft: PoSh F1, which was trained on, is +0.100, but truth F1 (no judge) \N{MINUS SIGN}0.100: it"
    )
    assert notes == []
    perhaps = entry(-0.01, (-0.05, 0.03))
    warnings, (note,) = contradictions("dapo", "sft", entries(up, perhaps), REFEREES)
    assert warnings == []
    assert note.endswith("though one of the two may be chance")
    assert contradictions("dapo", "sft", entries(up, up), REFEREES) == ([], [])
    unknown = entry(None, None, counted=0)
    assert contradictions("dapo", "sft", entries(up, unknown), REFEREES) == ([], [])


def test_the_trained_reward_says_last_who_lost() -> None:
    assert lost_by(REFEREES) == ["truth_f1", "harmonic_overall", "overlap", "posh_f1"]
    assert lost_by({"posh_f1": REFEREES["posh_f1"], "words": REFEREES["words"]}) == ["posh_f1"]
