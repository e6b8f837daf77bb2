"""`experiments reproduce`: what a table takes, and runs with the data that there is."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.labels.tables import PERSONS, TABLES
from experiments.reproduce.command import COMMANDS
from experiments.reproduce.figures import GPT_4V, JUDGE_2
from experiments.reproduce.steps import POSH_JUDGE, REPRODUCTIONS, Step
from spanreward import Sample, build_reward, load_judge
from tests.experiments.reproduce.test_printed_tables import lines
from tests.support.experiment_numbers import measured, numbers_of
from tests.support.paths import DATA

LINE = {"edit_type": "swap", "image_id": 1, "caption": "A red circle."}
LINE |= {"negative_caption": "A blue circle."}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "sugarcrepe").mkdir()
    line = {**LINE, "filename": "a.jpg", "references": ["A red circle above a star."]}
    (tmp_path / "sugarcrepe" / "sugarcrepe.jsonl").write_text(json.dumps(line) + "\n")
    return tmp_path


def steps_of(name: str, data: Path, *words: str | Path) -> list[dict[str, Any]]:
    """What a dry run plans."""
    found = numbers_of(data, "reproduce", name, "--dry-run", "--data", data, *words)
    steps: list[dict[str, Any]] = found["steps"]
    return steps


STEPS = [(name, step) for name, reproduced in REPRODUCTIONS.items() for step in reproduced.steps]


def test_every_step_is_a_table_or_a_command() -> None:
    for _, step in STEPS:
        assert step.command in COMMANDS
        if step.command == "table":
            assert bool(step.pictures) <= TABLES[step.table].pictures
        assert step.from_where


@pytest.mark.parametrize(
    ("name", "step"), STEPS, ids=[f"{name}-{step.title or step.table}" for name, step in STEPS]
)
def test_a_figure_of_a_paper_is_named_as_its_table_names_it(name: str, step: Step) -> None:
    """Else it would stand beside nothing."""
    if step.command == "table" and step.figures:
        named = {figure.partition(", ")[2].partition(" of ")[0] for figure in step.figures}
        assert named <= {measure.name for measure in TABLES[step.table].measures}
        parts = {figure.partition(", ")[0] for figure in step.figures}
        assert parts <= {"all", "binary", "other", "reg", "vqa", "vdu", "ic", PERSONS}
    assert (name == "here") == (not step.figures)
    assert all(0 < value < 1 for value in step.figures.values())


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_a_dry_run_lists_what_is_needed_and_runs_nothing(name: str, tmp_path: Path) -> None:
    out, plan = measured(tmp_path, "reproduce", name, "--dry-run", "--data", tmp_path)
    assert len(plan["steps"]) == len(REPRODUCTIONS[name].steps)
    for step in plan["steps"]:
        assert step["command"] in out
        assert "not there" in step["missing"]
        assert all(need in out for need in step["needs"])
        assert (step["questions"] is None) == (step["texts"] is None)


def test_its_questions_and_tokens_are_the_metric_s_cost(tmp_path: Path) -> None:
    """PoSh on 400 texts of 251 words: .562 questions a word and reference's word, 455 tokens."""
    coarse = steps_of("posh-3", tmp_path)[0]
    assert POSH_JUDGE in coarse["command"]
    assert coarse["questions"] == 400 * round(0.56 * 251 * 2)
    assert coarse["prompt_tokens"] == pytest.approx(coarse["questions"] * (90 + 251) / 0.75)


def test_the_authors_environment_is_shown_for_their_judge(tmp_path: Path) -> None:
    command = steps_of("posh-2", tmp_path)[0]["command"]
    assert command.startswith("VLLM_BATCH_INVARIANT=1 python")
    assert steps_of("posh-2", tmp_path, "--judge", "match")[0]["command"].startswith("python")


def test_the_paper_s_figure_stands_beside_the_measured_one(tmp_path: Path) -> None:
    """Answers that people call right and wrong, and `match` says the same."""
    row = {"model": "blip2", "dataset": "vqav2", "question": "What is it?"}
    row |= {"references": ["a dog"] * 5}
    said = [{"prediction": "dog", "human_score": 1.0}, {"prediction": "cat", "human_score": 0.0}]
    rows = [{**row, "qid": number, **one} for number, one in enumerate(said * 5)]
    lines(tmp_path / "lave" / "test.jsonl", *rows)
    words = ("reproduce", "lave-2", "--data", tmp_path, "--judge", "match")
    out, numbers = measured(tmp_path, *words)
    compared = numbers["steps"][0]["compared"]
    assert compared["all, quality: Spearman"] == {"paper": 0.6499, "measured": pytest.approx(1.0)}
    # no yes/no question
    assert compared["binary, quality: Spearman"] == {"paper": 0.7832, "measured": None}
    assert "Beside the paper: lave" in out


@pytest.mark.skipif(not (DATA / "mllm_bench").is_dir(), reason=f"the votes are not at {DATA}")
def test_mllm_bench_s_win_rates_are_the_paper_s(tmp_path: Path) -> None:
    numbers = numbers_of(tmp_path, "reproduce", "mllm-bench-5", "--data", DATA)
    compared = numbers["steps"][0]["compared"]
    assert len(compared) == 6
    for both in compared.values():
        assert both["measured"] == pytest.approx(both["paper"], abs=0.00501)


@pytest.mark.skipif(
    not (DATA / "mllm_judge_fixture").is_dir(), reason=f"the fixture is not at {DATA}"
)
def test_mllm_as_a_judge_s_files_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "mllm_judge").mkdir()
    for path in (DATA / "mllm_judge_fixture").glob("*.jsonl"):
        (tmp_path / "mllm_judge" / path.name).write_text(path.read_text())
    longer = "experiments/agreement/stand_in_judges.py:LongerJudge"
    words = ("reproduce", "mllm-judge-2", "--data", tmp_path, "--judge", longer)
    compared = numbers_of(tmp_path, *words)["steps"][0]["compared"]
    assert {name: both["paper"] for name, both in compared.items()} == JUDGE_2


def test_a_paper_s_average_is_the_mean_of_its_fourteen_sets() -> None:
    """As printed: .490, .636, .773 and .361."""
    assert [len(by_set) for by_set in GPT_4V.values()] == [14] * 4
    assert [round(value, 4) for value in JUDGE_2.values()] == [0.4903, 0.6359, 0.7726, 0.3611]


def test_prompts_demonstrations_and_options_reach_the_metric(tmp_path: Path) -> None:
    words = "--prompts mine.yaml --demonstrations six.yaml --judge vllm:smollm2 --no-cache --set "
    words += "judge.memory=2e9 mode=default"
    (step,) = steps_of("lave-2", tmp_path, *words.split())
    mine = "candidate=whole prompts=mine.yaml demonstrations=six.yaml mode=default"
    judge = "--judge vllm:smollm2 --set judge.memory=2e9"
    assert step["command"].endswith(f"{judge} {mine} --no-cache")
    assert step["prompts"] == "mine.yaml, six.yaml"


@pytest.mark.parametrize(
    ("name", "prompts"),
    [("lave-2", "ours"), ("posh-2", "posh/scorers/prompts"), ("mllm-bench-5", "-")],
)
def test_a_plan_names_the_prompts(name: str, prompts: str, tmp_path: Path) -> None:
    assert {step["prompts"] for step in steps_of(name, tmp_path)} == {prompts}


def test_texts_are_counted_where_the_file_is(data: Path) -> None:
    steps = {step["command"].split()[5]: step for step in steps_of("here", data)}
    assert (steps["sugarcrepe"]["texts"], steps["sugarcrepe"]["counted"]) == (2, True)
    assert steps["sugarcrepe"]["missing"] == ""
    assert steps["thumb"]["texts"] is None


def test_it_runs_what_is_there_and_says_what_is_not(data: Path) -> None:
    out, numbers = measured(data, "reproduce", "here", "--data", data, "--count", "1")
    assert [step["table"] for step in numbers["steps"]] == ["sugarcrepe"]
    assert numbers["steps"][0]["rows"][0]["metrics"]["posh"]["value"] == 1.0
    assert "thumb: left out" in " ".join(out.split())
    assert len(numbers["left_out"]) == 6


def test_the_judges_of_what_lies_here_can_rate_what_they_are_asked() -> None:
    for step in REPRODUCTIONS["here"].steps:
        options = dict(option.split("=") for option in step.options)
        reward = build_reward(step.metric, load_judge(step.judge), options)
        text = "A red circle."
        sample = Sample("", text, references=(text,), context=text, task="ic")
        assert reward.assess([sample])[0].score is not None, step


def test_a_column_map_of_ones_own_is_passed_on(tmp_path: Path) -> None:
    (tmp_path / "caparena").mkdir()
    pair = {"picture": "a", "one": "A dog.", "two": "A cat.", "a": "x", "b": "y", "c": "A dog."}
    pair |= {"better": "x"}
    (tmp_path / "caparena" / "caparena_annots_eval.json").write_text(json.dumps([pair]))
    columns = (
        "group: picture, completions: [one, two], systems: [a, b], references: c, "
        "preferences: {overall: better}"
    )
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"name: Mine\nsource: here\nseen: true\ncolumns: {{{columns}}}\n")
    caparena = steps_of("posh-3", tmp_path, "--columns", f"caparena={mine}")[1]
    assert (caparena["texts"], caparena["counted"]) == (2, True)
    assert f"--columns {mine}" in caparena["command"]
