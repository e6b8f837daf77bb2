"""`experiments benchmark`: what it counts, by hand and on a small file of pairs."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmark import posh
from experiments.scenes.parts import TINY
from spanreward.rewards.judges.judge import Question
from spanreward.training.policy import load_policy
from tests.support.experiment_numbers import numbers_of
from tests.support.paths import ROOT
from tests.support.tokenizer import tokenizer

REFERENCE = "A tall man in a red hat holds a brown dog. A short man sits on a bench."
SAID = ["A tall man holds a brown dog.", "A man in a red hat sits on a bench."]
SAID.append("A dog lies on a bench.")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    tokenizer().save_pretrained(tmp_path / "model")
    pairs = [{"completion": said, "reference": REFERENCE} for said in SAID]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    return tmp_path


def run(folder: Path, words: str) -> Any:
    return numbers_of(folder, "benchmark", *words.split())


def letters(*texts: str) -> list[Question]:
    return [Question([{"role": "user", "content": text}]) for text in texts]


def spelt(question: Question) -> tuple[int, ...]:
    return tuple(map(ord, question.messages[0]["content"]))


def test_computed_tokens_by_hand() -> None:
    # In order, in blocks of 2: ab is new, abcdef finds ab, abcdxy finds abcd.
    wave = letters("abcdxy", "ab", "abcdef")
    assert posh.computed([wave], spelt, 2) == [2 + 4 + 2]
    assert posh.computed([wave, wave], spelt, 2) == [8, 0]  # nothing is asked twice
    assert posh.computed([wave], spelt, 1) == [2 + 4 + 2]
    assert posh.computed([wave], spelt, 4) == [2 + 6 + 2]
    assert posh.computed([wave, letters("abcdefg")], spelt, 2)[1] == 1


def test_names_are_compared_without_case_and_articles() -> None:
    assert posh.name('"The man that holds the dog."') == posh.name("man that holds a dog")


def test_what_posh_costs(files: Path) -> None:
    asked = f"posh --pairs {files}/pairs.jsonl --tokens {files}/model"
    numbers = run(files, asked)
    published, by_rule, default = numbers["modes"].values()
    for mode in (published, by_rule, default):
        assert mode["unique"] <= mode["questions"]
        assert mode["unique"] == sum(wave["unique"] for wave in mode["waves"])
        assert mode["second_call"] == {"questions": mode["questions"], "asked": 0}
        assert mode["by_rule"]["1"] <= mode["by_rule"]["32"] <= mode["by_rule"]["128"]
        (group,) = mode["groups"].values()
        assert group["pairs"] == len(SAID)
        assert 1 < group["ratio"] < len(SAID)
        assert 0 < mode["precision"]["questions"] < 1
        assert mode["prompt_tokens"] is None  # the match judge has none
    # its writer writes by rule
    assert published["names"]["written"] == published["names"]["as_by_rule"] > 0
    assert default["names"]["written"] == by_rule["names"]["written"] == 0
    assert default["by_rule"]["32"] < published["by_rule"]["32"]
    assert numbers["names_by_rule_move_f1"] == {"mean": 0.0, "largest": 0.0}

    alone = run(files, f"{asked} --modes default")
    assert list(alone["modes"]) == ["default"]
    assert alone["modes"]["default"]["by_rule"] == default["by_rule"]
    assert "names_by_rule_move_f1" not in alone


def test_a_group_of_eight_costs_less_than_seven(files: Path) -> None:
    group = ROOT / "tests" / "data" / "group_of_8.jsonl"  # sampled from SmolLM2 at temperature 0.8
    numbers = run(files, f"posh --pairs {group} --tokens {files}/model --modes default")
    (cost,) = numbers["modes"]["default"]["groups"].values()
    assert cost["pairs"] == 8
    assert cost["ratio"] < 7


def test_judges_are_measured_on_the_same_questions(files: Path) -> None:
    asked = f"judge --pairs {files}/pairs.jsonl --judges match --questions 12 --rounds 2"
    numbers = run(files, asked)
    match, empty, full = numbers["lines"]
    assert (match["what"], match["questions"], match["failed"]) == ("match", 12, 0)
    assert len(match["rounds"]) == numbers["rounds"] == 2
    assert match["times_the_first"] == 1.0
    assert match["questions_per_second"] == pytest.approx(1 / match["seconds_per_question"])
    assert (empty["judged"], full["judged"]) == (12, 0)


def test_memory_is_computed(tmp_path: Path) -> None:
    numbers = run(tmp_path, "memory --gpus 1 8 --kv-tokens 1000")
    # what the model's index of tensors adds up to
    assert numbers["policy_parameters"] == 8_292_166_656
    assert numbers["judge_parameters"] == 14_770_033_664
    expected = [(1, "per_rank"), (1, "server"), (8, "per_rank"), (8, "server")]
    assert [(line["gpus"], line["placement"]) for line in numbers["lines"]] == expected
    one, *_ = numbers["lines"]
    assert one["judge"] == 29.5  # GB: two bytes a parameter
    assert one["KV cache"] == 0.2  # 4 bytes x 48 layers x 8 heads x 128 x 1,000 tokens
    # 28 bytes x 8,192 tokens x 5,120, and 8 x 256 logits x 152,064
    assert one["judge's batch"] == 1.5
    peak = one["policy"] + one["optimizer"] + 4.0 + 29.5 + 0.2 + 1.5
    assert one["peak_judging"] == pytest.approx(peak, abs=0.2)


def test_an_adapters_base_is_measured_with_both_pushes(tmp_path: Path) -> None:
    found = run(tmp_path, "adapters --pushes 3 --width 32 --rate 1e-3 --seeds 2")
    theirs, ours, single = found["rows"]
    assert [row["base"] for row in (theirs, ours, single)] == ["bfloat16", "bfloat16", "float32"]
    assert ours["drifts"] == [0.0, 0.0]
    assert all(drift > 1e-3 for drift in theirs["drifts"])
    assert all(0 < drift < 1e-3 for drift in single["drifts"])


def test_groups_are_ranked_in_three_ways(tmp_path: Path) -> None:
    result = run(tmp_path, "groups --groups 6 --noise 0 0.3")
    rows = {(row["noise"], row["way"]): row for row in result["rows"]}
    assert result["groups"] == 6
    assert [rows[0, way]["questions"] for way in ("round-robin", "ranking", "score")] == [56, 2, 8]
    for way in ("round-robin", "ranking", "score"):
        assert rows[0, way]["spearman"] > rows[0.3, way]["spearman"]
        assert rows[0, way]["upside_down"] < rows[0.3, way]["upside_down"]
    assert rows[0, "round-robin"]["spearman"] > 0.95


YES = """
from spanreward.rewards.judges.judge import RATING_SCALE, Judge, Rating

class Yes(Judge):
    name = "yes"

    def rate(self, questions, scale=RATING_SCALE):
        return [Rating({entry: float(entry == scale[-1]) for entry in scale})] * len(questions)

    def write(self, questions, max_tokens):
        raise NotImplementedError
"""


def test_a_search_asks_the_judge_that_it_is_given(tmp_path: Path) -> None:
    model, processor = load_policy(TINY, 0)
    model.save_pretrained(tmp_path / "policy")
    processor.save_pretrained(tmp_path / "policy")
    judge = tmp_path / "judge.py"
    judge.write_text(YES)
    sizes = "--pictures 1 --samples 2 --starts 1 --steps 40"
    asked = f"search --judge {judge}:Yes --policies {tmp_path}/policy {sizes}"
    searches = run(tmp_path, asked)["searches"]
    assert len(searches) == 2
    # it says yes to everything
    assert searches["40 mutants"]["reward"] == pytest.approx(1, abs=0.05)
