"""What a page shows of each prompt, and what LLM Comparator gets of it."""

from typing import Any

import pytest

from spanreward.rewards.verdict import Status, Verdict
from spanreward.training.evaluation.llm_comparator import comparator
from spanreward.training.evaluation.prompts import Prompts
from spanreward.training.evaluation.shown import ShownAnswer, shown_prompts

LOST_BY = ["truth_f1", "posh_f1"]


def answer(text: str, **scores: Any) -> ShownAnswer:
    return ShownAnswer(text, Verdict(0.5), {**scores, "words": float(len(text.split()))})


def shown() -> Any:
    rows: list[Any] = [
        {"id": name, "image": None, "prompt": [{"role": "user", "content": "Describe."}]} for name in "abcde"
    ]
    rows[0]["reference"] = ["A dog."]
    sft = [
        answer("one two", truth_f1=0.5, posh_f1=0.5),
        answer("one", truth_f1=0.9, posh_f1=0.2),
        answer("one", truth_f1=0.5, posh_f1=0.5),
        answer("one", posh_f1=0.9),
        answer("one", truth_f1=0.4, posh_f1=0.4),
    ]
    dapo = [
        answer("one two", truth_f1=0.7, posh_f1=0.7),
        answer("one two", truth_f1=0.1, posh_f1=0.8),  # the truth is worse, its reward better
        answer("one", truth_f1=0.5, posh_f1=0.5),
        answer("one", posh_f1=0.5),  # no truth: the reward says who lost
        ShownAnswer("", Verdict(None, Status.TIMEOUT), {"truth_f1": None, "posh_f1": None, "words": 0.0}),
    ]
    prompts = Prompts(rows, {"era": [("old",), ("new",), (), (), ()]}, {})
    return shown_prompts(prompts, {"base": [sft], "sft": [sft], "dapo": [dapo]}, LOST_BY)


def test_what_the_last_model_lost_comes_first() -> None:
    found = shown()
    assert [(one.id, one.outcome, one.by) for one in found] == [
        ("b", "lost", "truth_f1"),
        ("d", "lost", "posh_f1"),
        ("c", "tied", "truth_f1"),
        ("a", "won", "truth_f1"),
        ("e", "not judged", ""),
    ]
    assert [one.margin for one in found] == [pytest.approx(-0.8), pytest.approx(-0.4), 0.0, pytest.approx(0.2), None]
    assert [one.disagree for one in found] == [True, False, False, False, False]
    assert [one.length for one in found] == ["longer", "as long", "as long", "as long", "shorter"]
    assert found[3].references == ("A dog.",)
    assert found[0].slices == {"era": ("new",)}


def test_the_file_for_llm_comparator_has_its_documented_form() -> None:
    """Every field that its README requires, A above 0 where A is better, and no score that nobody gave."""
    models: dict[str, Any] = {name: {"truth_f1": {}, "posh_f1": {}, "words": {}} for name in ("base", "sft", "dapo")}
    file = comparator(shown(), {"models": models, "seeds": [3], "lost_by": LOST_BY})
    assert list(file) == ["metadata", "models", "examples"]
    assert file["models"] == [{"name": "dapo"}, {"name": "sft"}]
    assert "1 of 5 prompts left out" in file["metadata"]["source_path"]
    first = file["examples"][0]
    assert list(first) == [
        *("input_text", "tags", "output_text_a", "output_text_b"),
        *("score", "individual_rater_scores", "custom_fields"),
    ]
    assert (first["output_text_a"], first["output_text_b"], first["tags"]) == ("one two", "one", ["era: new"])
    assert first["score"] == pytest.approx(-1.2)
    assert [rater["score"] for rater in first["individual_rater_scores"]] == pytest.approx([-1.2, 0.9])
    fields = {field["name"]: field["type"] for field in file["metadata"]["custom_fields_schema"]}
    assert fields["words"] == "per_model_number"
    assert all(set(example["custom_fields"]) == set(fields) for example in file["examples"])
    assert first["custom_fields"]["words"] == [2.0, 1.0]
    assert all(-1.5 <= example["score"] <= 1.5 for example in file["examples"])
