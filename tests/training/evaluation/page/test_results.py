"""What results.json holds: its keys are a promise to programs."""

import json

from spanreward.training.evaluation.page.results import results_of
from tests.support.invented_report import invented_comparison

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
