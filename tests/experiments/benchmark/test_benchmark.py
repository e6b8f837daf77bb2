"""`experiments benchmark`: what it counts, by hand and on a small file of pairs."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmark import command, posh as posh_command
from experiments.scenes.parts import TINY
from spanreward.rewards.judges.judge import Question
from spanreward.training.policy import load_policy
from tests.support.command import experiments
from tests.support.paths import ROOT
from tests.support.tokenizer import tokenizer

REFERENCE = "A tall man in a red hat holds a brown dog. A short man sits on a bench."
SAID = (
    "A tall man holds a brown dog.",
    "A man in a red hat sits on a bench.",
    "A dog lies on a bench.",
)


@pytest.fixture
def benchmark() -> Any:
    return command


@pytest.fixture
def posh() -> Any:
    return posh_command


@pytest.fixture
def files(tmp_path: Path) -> Any:
    tokenizer().save_pretrained(tmp_path / "model")
    pairs = [{"completion": said, "reference": REFERENCE} for said in SAID]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, benchmark: Any, *arguments: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmark.py", *map(str, arguments)])
    benchmark.main()


def letters(*texts: str) -> list[Question]:
    return [Question([{"role": "user", "content": text}]) for text in texts]


def spelt(question: Question) -> tuple[int, ...]:
    return tuple(map(ord, question.messages[0]["content"]))


def test_computed_tokens_by_hand(posh: Any) -> None:
    # In order, in blocks of 2: ab is new, abcdef finds ab, abcdxy finds abcd.
    wave = letters("abcdxy", "ab", "abcdef")
    assert posh.computed([wave], spelt, 2) == [2 + 4 + 2]
    assert posh.computed([wave, wave], spelt, 2) == [8, 0]  # nothing is asked twice
    assert posh.computed([wave], spelt, 1) == [2 + 4 + 2]
    assert posh.computed([wave], spelt, 4) == [2 + 6 + 2]
    assert posh.computed([wave, letters("abcdefg")], spelt, 2)[1] == 1


def test_names_are_compared_without_case_and_articles(posh: Any) -> None:
    assert posh.name('"The man that holds the dog."') == posh.name("man that holds a dog")


def test_the_command_prints_and_writes_what_posh_costs(
    monkeypatch: pytest.MonkeyPatch, benchmark: Any, files: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(
        monkeypatch, benchmark, "posh", "--pairs", files / "pairs.jsonl", "--tokens", files / "model",
        "--json", files / "out" / "posh.json",
    )  # fmt: skip
    numbers = json.loads(capsys.readouterr().out)
    assert numbers == json.loads((files / "out" / "posh.json").read_text())
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

    run(
        monkeypatch, benchmark, "posh", "--pairs", files / "pairs.jsonl", "--tokens", files / "model",
        "--modes", "default",
    )  # fmt: skip
    alone = json.loads(capsys.readouterr().out)
    assert list(alone["modes"]) == ["default"]
    assert alone["modes"]["default"]["by_rule"] == default["by_rule"]
    assert "names_by_rule_move_f1" not in alone


def test_a_group_of_eight_costs_less_than_seven(
    monkeypatch: pytest.MonkeyPatch, benchmark: Any, files: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    group = ROOT / "tests" / "data" / "group_of_8.jsonl"  # sampled from SmolLM2 at temperature 0.8
    run(
        monkeypatch,
        benchmark,
        *f"posh --pairs {group} --tokens {files}/model --modes default".split(),
    )
    (cost,) = json.loads(capsys.readouterr().out)["modes"]["default"]["groups"].values()
    assert cost["pairs"] == 8
    assert cost["ratio"] < 7


def test_judges_are_measured_on_the_same_questions(
    monkeypatch: pytest.MonkeyPatch, benchmark: Any, files: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(
        monkeypatch, benchmark, "judge", "--pairs", files / "pairs.jsonl", "--judges", "match", "--questions", 12,
        "--rounds", 2, "--json", files / "judge.json",
    )  # fmt: skip
    numbers = json.loads(capsys.readouterr().out)
    assert numbers == json.loads((files / "judge.json").read_text())
    match, empty, full = numbers["lines"]
    assert (match["what"], match["questions"], match["failed"]) == ("match", 12, 0)
    assert len(match["rounds"]) == numbers["rounds"] == 2
    assert match["times_the_first"] == 1.0
    assert match["questions_per_second"] == pytest.approx(1 / match["seconds_per_question"])
    assert (empty["judged"], full["judged"]) == (12, 0)
    with pytest.raises(SystemExit, match=r"--questions 5000"):
        run(monkeypatch, benchmark, "judge", "--pairs", files / "pairs.jsonl", "--questions", 5000)


def test_memory_is_computed(
    monkeypatch: pytest.MonkeyPatch, benchmark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, benchmark, "memory", "--gpus", 1, 8, "--kv-tokens", 1000)
    numbers = json.loads(capsys.readouterr().out)
    # what the model's index of tensors adds up to
    assert numbers["policy_parameters"] == 8_292_166_656
    assert numbers["judge_parameters"] == 14_770_033_664
    assert [(line["gpus"], line["placement"]) for line in numbers["lines"]] == [
        (1, "per_rank"), (1, "server"), (8, "per_rank"), (8, "server"),
    ]  # fmt: skip
    one, *_ = numbers["lines"]
    assert one["judge"] == 29.5  # GB: two bytes a parameter
    assert one["KV cache"] == 0.2  # 4 bytes x 48 layers x 8 heads x 128 x 1,000 tokens
    # 28 bytes x 8,192 tokens x 5,120, and 8 x 256 logits x 152,064
    assert one["judge's batch"] == 1.5
    assert one["peak_judging"] == pytest.approx(
        one["policy"] + one["optimizer"] + 4.0 + 29.5 + 0.2 + 1.5, abs=0.2
    )
    with pytest.raises(SystemExit, match=r"--gpus .* got 0"):
        run(monkeypatch, benchmark, "memory", "--gpus", 0)


def test_an_adapters_base_is_measured_with_both_pushes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, benchmark: Any
) -> None:
    path = tmp_path / "adapters.json"
    small = ("--pushes", 3, "--width", 32, "--rate", 1e-3, "--seeds", 2)
    run(monkeypatch, benchmark, "adapters", *small, "--json", path)
    theirs, ours, single = json.loads(path.read_text())["rows"]
    assert [row["base"] for row in (theirs, ours, single)] == ["bfloat16", "bfloat16", "float32"]
    assert ours["drifts"] == [0.0, 0.0]
    assert all(drift > 1e-3 for drift in theirs["drifts"])
    assert all(0 < drift < 1e-3 for drift in single["drifts"])
    run_wrongly = ("adapters", "--pushes", 0)
    with pytest.raises(SystemExit, match="must be 1 or more"):
        run(monkeypatch, benchmark, *run_wrongly)


def test_spans_are_measured_beside_stock(
    monkeypatch: pytest.MonkeyPatch, benchmark: Any, files: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    run(
        monkeypatch, benchmark, "spans", "--completions", 8, "--tokens", 8, "--rounds", 1, "--offset-tokens", 50,
        "--json", files / "spans.json",
    )  # fmt: skip
    numbers = json.loads((files / "spans.json").read_text())
    assert [line["trainer"] for line in numbers["steps"]] == [
        *(
            "GRPOTrainer",
            "SpanGRPOTrainer, span_coef=0",
            "SpanGRPOTrainer, span_coef=0.1",
            "the same with a table",
        )
    ]
    stock, *ours = numbers["steps"]
    assert stock["added"] == 0
    for line in ours:
        assert line["added_to_step"] == pytest.approx(
            (line["seconds"] - stock["seconds"]) / stock["seconds"]
        )
    assert all(line["aligned"] and line["tokens"] == 50 for line in numbers["offsets"])
    assert numbers["components_per_completion"] > 0
    with pytest.raises(SystemExit, match=r"--completions .* 8, got 12"):
        run(monkeypatch, benchmark, "spans", "--completions", 12)


def test_groups_are_ranked_in_three_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, benchmark: Any
) -> None:
    path = tmp_path / "groups.json"
    run(monkeypatch, benchmark, "groups", "--groups", 6, "--noise", 0, 0.3, "--json", path)
    result = json.loads(path.read_text())
    rows = {(row["noise"], row["way"]): row for row in result["rows"]}
    assert result["groups"] == 6
    assert [rows[0, way]["questions"] for way in ("round-robin", "ranking", "score")] == [56, 2, 8]
    for way in ("round-robin", "ranking", "score"):
        assert rows[0, way]["spearman"] > rows[0.3, way]["spearman"]
        assert rows[0, way]["upside_down"] < rows[0.3, way]["upside_down"]
    assert rows[0, "round-robin"]["spearman"] > 0.95


def test_a_search_asks_the_judge_that_it_is_given(tmp_path: Path) -> None:
    model, processor = load_policy(TINY, 0)
    model.save_pretrained(tmp_path / "policy")
    processor.save_pretrained(tmp_path / "policy")
    judge = tmp_path / "judge.py"
    judge.write_text(
        "from spanreward.rewards.judges.judge import RATING_SCALE, Judge, Rating\nclass "
        "Yes(Judge):\n    name = 'yes'\n    def rate(self, questions, scale=RATING_SCALE):\n       "
        " return [Rating({entry: float(entry == scale[-1]) for entry in scale}) for _ in "
        "questions]\n    def write(self, questions, max_tokens):\n        raise "
        "NotImplementedError\n"
    )
    sizes = ["--pictures", "1", "--samples", "2", "--starts", "1", "--steps", "40"]
    found = tmp_path / "search.json"
    done = experiments(
        *(
            *f"benchmark search --judge {judge}:Yes --policies {tmp_path}/policy".split(),
            *sizes,
            "--json",
            found,
        )
    )
    assert done.code == 0, done.err
    searches = json.loads(found.read_text())["searches"]
    assert len(searches) == 2
    # it says yes to everything
    assert searches["40 mutants"]["reward"] == pytest.approx(1, abs=0.05)
