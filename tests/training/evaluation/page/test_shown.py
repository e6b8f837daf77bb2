"""What a page shows of each prompt, and the keys of results.json, a promise to programs."""

import json
from typing import Any

import pytest

from spanreward.rewards.base.verdict import Status, Verdict
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answers.prompts import Prompts
from spanreward.training.evaluation.page.results import results_of
from spanreward.training.evaluation.page.shown import shown_prompts
from tests.support.invented_report import invented_comparison

LOST_BY = ["truth_f1", "posh_f1"]


def answer(text: str, truth: float | None, posh: float | None) -> JudgedAnswer:
    verdict = Verdict(0.5) if text else Verdict(None, Status.TIMEOUT)
    scores = {"truth_f1": truth, "posh_f1": posh, "words": float(len(text.split()))}
    if text and truth is None:
        del scores["truth_f1"]
    return JudgedAnswer(text, verdict, scores)


def shown() -> Any:
    message = {"role": "user", "content": "Describe."}
    rows: list[Any] = [{"id": name, "image": None, "prompt": [message]} for name in "abcde"]
    rows[0]["reference"] = ["A dog."]
    sft = [
        answer("one two", 0.5, 0.5),
        answer("one", 0.9, 0.2),
        answer("one", 0.5, 0.5),
        answer("one", None, 0.9),
        answer("one", 0.4, 0.4),
    ]
    dapo = [
        answer("one two", 0.7, 0.7),
        answer("one two", 0.1, 0.8),  # the truth is worse, its reward better
        answer("one", 0.5, 0.5),
        answer("one", None, 0.5),  # no truth: the reward says who lost
        answer("", None, None),
    ]
    prompts = Prompts(rows, {"era": [("old",), ("new",), (), (), ()]}, {})
    return shown_prompts(prompts, {"base": [sft], "sft": [sft], "dapo": [dapo]}, LOST_BY)


def test_what_the_last_model_lost_comes_first() -> None:
    found = shown()
    told = [(one.id, one.outcome, one.by, one.margin, one.length) for one in found]
    assert told == [
        ("b", "lost", "truth_f1", pytest.approx(-0.8), "longer"),
        ("d", "lost", "posh_f1", pytest.approx(-0.4), "as long"),
        ("c", "tied", "truth_f1", 0.0, "as long"),
        ("a", "won", "truth_f1", pytest.approx(0.2), "as long"),
        ("e", "not judged", "", None, "shorter"),
    ]
    assert [one.disagree for one in found] == [True, False, False, False, False]
    assert found[3].references == ("A dog.",)
    assert found[0].slices == {"era": ("new",)}


ESTIMATE = {"mean", "low", "high", "per_seed", "runs_low", "runs_high", "counted", "trained"}
ESTIMATE |= {"both_low", "both_high", "p", "error", "freedom"}
OUTCOME = {"verdict", "over_prompts", "over_seeds", "why"}


def test_results_have_the_promised_keys() -> None:
    results = results_of(invented_comparison())
    json.dumps(results, allow_nan=False)
    assert " ".join(results) == (
        "schema seeds prompts models difference fixed sides title facts columns slices sentences "
        "headlines referees lost_by leaderboard parts compute data max_tokens readers notes "
        "warnings"
    )
    assert list(results["difference"]) == ["sft_minus_base", "dapo_minus_base", "dapo_minus_sft"]
    assert set(results["models"]["sft"]["posh_f1"]) == ESTIMATE | {"failed"}
    entries = results["difference"]["dapo_minus_sft"]
    counted = {"win", "tie", "loss", "failed", "worst_case"}
    assert set(entries["posh_f1"]) == ESTIMATE | OUTCOME | counted | {"holm", "win_rate"}
    assert set(entries["posh_recall"]) == ESTIMATE | OUTCOME | counted  # no main metric
    sliced = set(results["slices"]["dapo_minus_sft"][0])
    assert sliced == ESTIMATE | OUTCOME | {"slice", "value", "metric", "holm"}
    posh = {"kind": "trained", "by": "posh by match", "main": True}
    assert results["referees"]["posh_f1"] == posh
    ranks = [row["rank"] for row in results["leaderboard"]["rows"]]
    assert ranks == sorted(ranks)
