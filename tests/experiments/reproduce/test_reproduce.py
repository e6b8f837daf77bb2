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
from tests.support.command import experiments
from tests.support.paths import DATA

LINE = {"edit_type": "swap", "image_id": 1, "caption": "A red circle."}
LINE |= {"negative_caption": "A blue circle."}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "sugarcrepe").mkdir()
    line = {**LINE, "filename": "a.jpg", "references": ["A red circle above a star."]}
    (tmp_path / "sugarcrepe" / "sugarcrepe.jsonl").write_text(json.dumps(line) + "\n")
    return tmp_path


def read(path: Path) -> Any:
    return json.loads(
        path.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON")
    )


STEPS = [
    (name, step) for name, reproduction in REPRODUCTIONS.items() for step in reproduction.steps
]


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
        measures = {measure.name for measure in TABLES[step.table].measures}
        assert {
            figure.partition(", ")[2].partition(" of ")[0] for figure in step.figures
        } <= measures
        parts = {figure.partition(", ")[0] for figure in step.figures}
        assert parts <= {"all", "binary", "other", "reg", "vqa", "vdu", "ic", PERSONS}
    assert (name == "here") == (not step.figures)
    assert all(0 < value < 1 for value in step.figures.values())


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_a_dry_run_lists_what_is_needed_and_runs_nothing(name: str, tmp_path: Path) -> None:
    done = experiments(
        "reproduce", name, "--dry-run", "--data", tmp_path, "--json", tmp_path / "plan.json"
    )
    assert done.code == 0, done.err
    steps = read(tmp_path / "plan.json")["steps"]
    assert len(steps) == len(REPRODUCTIONS[name].steps)
    for step in steps:
        assert step["command"] in done.out
        assert "not there" in step["missing"]
        assert all(need in done.out for need in step["needs"])
        assert (step["questions"] is None) == (step["texts"] is None)


def test_its_questions_and_tokens_are_the_metric_s_cost(tmp_path: Path) -> None:
    """PoSh on 400 texts of 251 words: .562 questions a word and reference's word, 455 tokens."""
    experiments(
        "reproduce", "posh-3", "--dry-run", "--data", tmp_path, "--json", tmp_path / "plan.json"
    )
    coarse = read(tmp_path / "plan.json")["steps"][0]
    assert POSH_JUDGE in coarse["command"]
    assert coarse["questions"] == 400 * round(0.56 * 251 * 2)
    assert coarse["prompt_tokens"] == pytest.approx(coarse["questions"] * (90 + 251) / 0.75)


def test_the_judge_s_options_are_passed_on(tmp_path: Path) -> None:
    words = f"--judge vllm:smollm2 --set judge.memory=2e9 --no-cache --json {tmp_path}/plan.json".split()
    experiments("reproduce", "lave-2", "--dry-run", "--data", tmp_path, *words)
    (step,) = read(tmp_path / "plan.json")["steps"]
    assert (
        "--judge vllm:smollm2 --set judge.memory=2e9 mode=published candidate=whole --no-cache"
        in step["command"]
    )


def test_the_authors_environment_is_shown_for_their_judge(tmp_path: Path) -> None:
    for words, begin in (((), "VLLM_BATCH_INVARIANT=1 python"), (("--judge", "match"), "python")):
        experiments(
            *f"reproduce posh-2 --dry-run --data {tmp_path}".split(),
            *words,
            "--json",
            tmp_path / "plan.json",
        )
        assert read(tmp_path / "plan.json")["steps"][0]["command"].startswith(begin)


def test_the_paper_s_figure_stands_beside_the_measured_one(tmp_path: Path) -> None:
    """Answers that people call right and wrong, and `match` says the same."""
    (tmp_path / "lave").mkdir()
    rows = [
        {
            "qid": n,
            "model": "blip2",
            "dataset": "vqav2",
            "question": "What is it?",
            "references": ["a dog"] * 5,
        }
        | {"prediction": text, "human_score": score}
        for n, (text, score) in enumerate([("dog", 1.0), ("cat", 0.0)] * 5)
    ]
    (tmp_path / "lave" / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = experiments(
        "reproduce", "lave-2", "--data", tmp_path, "--judge", "match", "--json", tmp_path / "n.json"
    )
    assert done.code == 0, done.err
    compared = read(tmp_path / "n.json")["steps"][0]["compared"]
    assert compared["all, quality: Spearman"] == {"paper": 0.6499, "measured": pytest.approx(1.0)}
    # no yes/no question
    assert compared["binary, quality: Spearman"] == {"paper": 0.7832, "measured": None}
    assert "Beside the paper: lave" in done.out


@pytest.mark.skipif(not (DATA / "mllm_bench").is_dir(), reason=f"the votes are not at {DATA}")
def test_mllm_bench_s_win_rates_are_the_paper_s(tmp_path: Path) -> None:
    done = experiments("reproduce", "mllm-bench-5", "--data", DATA, "--json", tmp_path / "n.json")
    assert done.code == 0, done.err
    compared = read(tmp_path / "n.json")["steps"][0]["compared"]
    assert len(compared) == 6
    assert all(
        both["measured"] == pytest.approx(both["paper"], abs=0.00501) for both in compared.values()
    )


@pytest.mark.skipif(
    not (DATA / "mllm_judge_fixture").is_dir(), reason=f"the fixture is not at {DATA}"
)
def test_mllm_as_a_judge_s_files_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "mllm_judge").mkdir()
    for path in (DATA / "mllm_judge_fixture").glob("*.jsonl"):
        (tmp_path / "mllm_judge" / path.name).write_text(path.read_text())
    done = experiments(
        *f"reproduce mllm-judge-2 --data {tmp_path} --judge experiments/agreement/stand_in_judges.py:LongerJudge --json {tmp_path}/n.json".split(),
    )
    assert done.code == 0, done.err
    compared = read(tmp_path / "n.json")["steps"][0]["compared"]
    assert {name: both["paper"] for name, both in compared.items()} == JUDGE_2


def test_a_paper_s_average_is_the_mean_of_its_fourteen_sets() -> None:
    """As printed: .490, .636, .773 and .361."""
    assert [len(by_set) for by_set in GPT_4V.values()] == [14] * 4
    assert [round(value, 4) for value in JUDGE_2.values()] == [0.4903, 0.6359, 0.7726, 0.3611]


def test_prompts_demonstrations_and_options_reach_the_metric(tmp_path: Path) -> None:
    words = ("--prompts", "mine.yaml", "--demonstrations", "six.yaml", "--set", "mode=default")
    done = experiments(
        *f"reproduce lave-2 --dry-run --data {tmp_path}".split(),
        *words,
        "--json",
        tmp_path / "plan.json",
    )
    assert done.code == 0, done.err
    (step,) = read(tmp_path / "plan.json")["steps"]
    assert step["command"].endswith(
        "candidate=whole prompts=mine.yaml demonstrations=six.yaml mode=default"
    )
    assert step["prompts"] == "mine.yaml, six.yaml"
    for name, expected in (
        ("lave-2", "ours"),
        ("posh-2", "posh/scorers/prompts"),
        ("mllm-bench-5", "-"),
    ):
        experiments(
            "reproduce", name, "--dry-run", "--data", tmp_path, "--json", tmp_path / "plan.json"
        )
        assert {step["prompts"] for step in read(tmp_path / "plan.json")["steps"]} == {expected}


def test_texts_are_counted_where_the_file_is(data: Path) -> None:
    experiments("reproduce", "here", "--dry-run", "--data", data, "--json", data / "plan.json")
    steps = {step["command"].split()[5]: step for step in read(data / "plan.json")["steps"]}
    assert (steps["sugarcrepe"]["texts"], steps["sugarcrepe"]["counted"]) == (2, True)
    assert steps["sugarcrepe"]["missing"] == ""
    assert steps["thumb"]["texts"] is None


def test_it_runs_what_is_there_and_says_what_is_not(data: Path) -> None:
    done = experiments(
        "reproduce", "here", "--data", data, "--count", "1", "--json", data / "numbers.json"
    )
    assert done.code == 0, done.err
    numbers = read(data / "numbers.json")
    assert [step["table"] for step in numbers["steps"]] == ["sugarcrepe"]
    assert numbers["steps"][0]["rows"][0]["metrics"]["posh"]["value"] == 1.0
    assert "thumb: left out" in " ".join(done.out.split())
    assert len(numbers["left_out"]) == 6


def test_the_judges_of_what_lies_here_can_rate_what_they_are_asked() -> None:
    for step in REPRODUCTIONS["here"].steps:
        options = dict(option.split("=") for option in step.options)
        reward = build_reward(step.metric, load_judge(step.judge), options)
        sample = Sample(
            "", "A red circle.", references=("A red circle.",), context="A red circle.", task="ic"
        )
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
    (tmp_path / "mine.yaml").write_text(
        f"name: Mine\nsource: here\nseen: true\ncolumns: {{{columns}}}\n"
    )
    options = ("--data", tmp_path, "--dry-run", "--json", tmp_path / "plan.json")
    done = experiments(
        "reproduce", "posh-3", "--columns", f"caparena={tmp_path}/mine.yaml", *options
    )
    assert done.code == 0, done.err
    caparena = read(tmp_path / "plan.json")["steps"][1]
    assert (caparena["texts"], caparena["counted"]) == (2, True)
    assert f"--columns {tmp_path}/mine.yaml" in caparena["command"]
    for given, reason in (
        ("mine.yaml", "takes TABLE=MAP.yaml"),
        ("capareno=m.yaml", "did you mean 'caparena'?"),
    ):
        assert reason in experiments("reproduce", "posh-3", "--columns", given, *options).err
