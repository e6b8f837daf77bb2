"""--dry-run: its numbers are those of the run, and it opens nothing."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments.scenes.parts import SCENES, TINY
from spanreward.rewards.judges import MatchJudge
from spanreward.training.commands.train import main
from spanreward.training.plan.dry_run import (
    costs_of,
    dry_run,
    question_lines,
    row_count,
    win_rate_fact,
)
from spanreward.training.plan.memory import KNOWN_CONFIGS, PROCESS_BYTES, size_by_name
from spanreward.training.plan.needs import (
    Launch,
    asked_judges,
    generating_steps,
    plan_of,
    read_launch,
    settings_of,
)
from spanreward.training.recipe import (
    JsonlPart,
    Recipe,
    RecipeError,
    WinRatePart,
    check_recipe,
    load_recipe,
)
from spanreward.training.recipe_rewards import build_rewards
from spanreward.training.run import build_trainer
from tests.support.data_parts import jsonl
from tests.support.paths import ROOT
from tests.support.tiny_models import save_llava

DAPO = ROOT / "recipes" / "quickstart" / "scenes-dapo.yaml"
CONFIG = ROOT / "accelerate_configs"
LARGE = ROOT / "recipes" / "qwen2.5-vl-7b"
BILLIONS = {  # as published
    "Qwen/Qwen2.5-VL-3B-Instruct": 3.75,
    "Qwen/Qwen2.5-VL-7B-Instruct": 8.29,
    "Qwen/Qwen3-VL-2B-Instruct": 2.13,
    "Qwen/Qwen3-VL-8B-Instruct": 8.77,
    "Qwen/Qwen2.5-14B-Instruct": 14.77,
    "Qwen/Qwen3-4B": 4.02,
    "Qwen/Qwen3-8B": 8.19,
    "Qwen/Qwen3-14B": 14.77,
    "smollm2": 0.13,
}


WRITTEN = yaml.safe_load(f"""
algorithm: dapo
policy: {{model: {TINY}}}
data: {{source: {SCENES}, count: 30, options: {{references: 2}}}}
rewards: [{{metric: posh}}, {{metric: lave, options: {{rationale: false}}}}, {{metric: harmonic}}]
""")
TRAINER = {"use_cpu": True, "bf16": False, "per_device_train_batch_size": 4, "num_generations": 2}


def recipe(output: Path, trainer: Any = (), **changes: Any) -> Recipe:
    settings = {**TRAINER, **dict(trainer)}
    return check_recipe({**WRITTEN, "output": str(output), "trainer": settings, **changes})


def words_of(shown: str) -> str:
    return " ".join(shown.replace("│", " ").split())


def test_what_a_win_rate_costs() -> None:
    lave = WinRatePart(metric="lave", options={"rationale": False}, every=20, prompts=8)
    said, numbers = win_rate_fact(lave, longest=64)
    assert re.search("every 20 .* 8 prompts .* 64 tokens .* lave .* 8 questions", said)
    assert numbers == {"every": 20, "prompts": 8, "tokens": 64, "questions": 8}
    assert win_rate_fact(lave.model_copy(update={"max_tokens": 9}), longest=None)[1]["tokens"] == 9


def test_the_table_of_models() -> None:
    sizes = {name: size_by_name(name) for name in KNOWN_CONFIGS}
    assert {name: round(size.parameters / 1e9, 2) for name, size in sizes.items()} == BILLIONS
    assert size_by_name("nobody/knows-this-model") is None


@pytest.mark.parametrize(
    "settings",
    [
        {"num_train_epochs": 2},
        {"num_train_epochs": 1, "gradient_accumulation_steps": 2, "num_iterations": 3},
        {"num_train_epochs": 1.5, "steps_per_generation": 3, "gradient_accumulation_steps": 2},
        {"num_train_epochs": 1, "generation_batch_size": 8},
        {"max_steps": 7},
    ],
)
def test_steps_are_those_of_the_trainer(tmp_path: Path, settings: Any) -> None:
    asked = recipe(tmp_path / "out", rewards=[{"metric": "posh"}], trainer=settings)
    steps = generating_steps(settings_of(asked), 1, row_count(asked.data))
    trainer = build_trainer(asked, build_rewards(asked.rewards))
    *_, total = trainer.set_initial_training_values(trainer.args, trainer.get_train_dataloader())
    assert steps.total == total
    assert steps.completions == trainer.args.generation_batch_size
    assert steps.groups * trainer.num_generations == trainer.args.generation_batch_size


def test_steps_without_a_number_of_rows_and_with_half_a_group(tmp_path: Path) -> None:
    settings = settings_of(recipe(tmp_path))
    assert generating_steps(settings, 1, None).total is None
    half = {**settings, "steps_per_generation": 3, "num_generations": 8}
    with pytest.raises(RecipeError, match=r"12 completions \(4 x 3 .* trainer.num_generations 8"):
        generating_steps(half, 1, None)


def test_rows(tmp_path: Path) -> None:
    """A function of one's own is not called: it may read for hours."""
    for data, rows in (({}, None), ({"count": 7}, 7), ({"options": {"count": 7}}, None)):
        assert row_count(recipe(tmp_path, data={"source": "none.py:rows", **data}).data) == rows
    assert row_count(jsonl(tmp_path, '{"a": 1}\n', {"a": 2}, {"a": 3})) == 3
    assert row_count(jsonl(tmp_path, {"a": 2}, {"a": 3}, {"a": 3}, count=2)) == 2
    with pytest.raises(RecipeError, match="no data file"):
        row_count(JsonlPart(source="jsonl", path=str(tmp_path / "none")))


@pytest.mark.parametrize(
    "reward",
    [
        {"metric": "lave", "options": {"rationale": False}},
        {"metric": "lave"},
        {"metric": "harmonic", "options": {"spans": "none", "evidence": "context"}},
    ],
)
def test_exact_numbers_of_questions_are_those_asked(tmp_path: Path, reward: Any) -> None:
    asked = recipe(tmp_path, rewards=[reward])
    (line,) = question_lines(asked, costs_of(asked), 4, 1)
    (built,) = build_rewards(asked.rewards)
    columns: dict[str, list[Any]] = {"context": ["A red circle."] * 2}
    if reward["metric"] == "lave":
        columns = {"answers": [["red"], ["blue"]], "question": ["Which colour?"] * 2}
    built(["", ""], ["Red.", "It is quite green."], **columns)
    (judge,) = built.judges
    assert isinstance(judge, MatchJudge)
    each = judge.usage.questions // 2
    assert line.startswith(f"{reward['metric']}: {each} per completion, {4 * each} per batch")


def test_estimates_say_so(tmp_path: Path) -> None:
    asked = recipe(tmp_path)
    posh, _, harmonic = question_lines(asked, costs_of(asked), 64, 1)
    assert posh.startswith("posh: about ")
    assert re.match("harmonic: about 25 .* 1,600 per batch", harmonic)


def test_the_configurations_of_accelerate() -> None:
    launches = {
        "cpu": Launch(1, "none"),
        "ddp": Launch(8, "none"),
        "zero2": Launch(8, "zero2"),
        "zero3": Launch(8, "zero3"),
        "zero3_nodes": Launch(16, "zero3", machines=2),
        "fsdp2": Launch(8, "fsdp"),
    }
    assert {name: read_launch(str(CONFIG / f"{name}.yaml")) for name in launches} == launches


def test_what_is_no_configuration(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("distributed_type: NO\nnum_procesess: 2\n")
    for path in (wrong, tmp_path / "none.yaml"):
        with pytest.raises(RecipeError, match="no configuration of accelerate"):
            read_launch(str(path))


def test_memory_of_recipes() -> None:
    launch = Launch(8, "zero3")
    plan = plan_of(load_recipe(LARGE / "docent-posh-dapo.yaml"), launch)
    assert plan is not None
    assert plan.judging["judge"] == 2 * plan.judges[0].size.parameters
    assert plan.judging["KV cache"] == pytest.approx(8e9, rel=1e-4)
    assert plan.training["gradients"] == 2 * plan.policy.parameters // 8
    assert plan.state["judges' processes"] == PROCESS_BYTES
    served = plan_of(load_recipe(LARGE / "docent-posh-nodes-dapo.yaml"), launch)
    assert served is not None
    assert (served.judges, served.main_memory) == ((), 0)
    both = plan_of(load_recipe(LARGE / "mixed-dapo.yaml"), launch)
    assert both is not None
    assert len(both.judges) == 2
    assert plan_of(load_recipe(DAPO), launch) is None  # on the CPU


def test_a_second_judge_for_texts_and_the_parts_of_a_cascade_are_judges_too(tmp_path: Path) -> None:
    part = {"metric": "harmonic", "judge": "match", "options": {"text_judge": "vllm:Qwen/Qwen3-8B"}}
    cascade = {"cascade": {"student": "match", "teacher": "vllm:Qwen/Qwen3-14B"}}
    found = asked_judges(recipe(tmp_path, rewards=[part, {"metric": "posh", "judge": cascade}]))
    assert [(judge.name, metrics) for judge, metrics in found] == [
        ("match", ["harmonic", "posh"]),
        ("vllm:Qwen/Qwen3-8B", ["harmonic"]),
        ("vllm:Qwen/Qwen3-14B", ["posh"]),
    ]


def test_a_large_recipe_is_shown_without_loading_anything_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("nothing may be loaded")

    for name in ("load_policy", "load_data", "start_judges"):
        monkeypatch.setattr(f"spanreward.training.run.{name}", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("torch.accelerator.device_count", lambda: 2)
    changes = [
        "policy={model: Qwen/Qwen2.5-VL-7B-Instruct}",
        "rewards.0.judge={name: vllm:Qwen/Qwen3-14B, options: {memory: 8000000000}}",
        *("data={source: hub, id: somebody/pictures}", "validation=null"),
        *("trainer.use_cpu=false", "trainer.per_device_train_batch_size=2"),
        f"output={tmp_path}/out",
    ]
    path = tmp_path / "large.yaml"
    path.write_text(yaml.safe_dump(load_recipe(DAPO, changes).model_dump()))
    options = f"--accelerate-config {CONFIG}/zero3.yaml --json {tmp_path}/plan/it.json".split()
    monkeypatch.setattr(sys, "argv", ["train.py", str(path), "--dry-run", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    told = str(ended.value)
    assert told.startswith("train.py: this machine cannot")
    assert re.search("GPUs: 2, .* takes 8 .*: trainer.use_cpu=true", told)
    shown = words_of(capsys.readouterr().out)
    for text in ("Qwen/Qwen3-14B", "computed for", "200 optimizer steps", "per completion"):
        assert text in shown
    assert not (tmp_path / "out").exists()
    plan = json.loads((tmp_path / "plan" / "it.json").read_text())
    assert plan["launch"]["processes"] == 8
    assert plan["steps"]["total"] == 200
    (posh,) = plan["questions"]
    assert f"{posh['per_batch']:,} per batch" in shown
    assert f"while training: {sum(plan['memory']['training'].values()) / 1e9:.1f} GB" in shown
    assert [one["what"] for one in plan["here"] if one["ok"] is False][-1] == "GPUs"


def test_rows_are_checked_where_they_are_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the trainer does, and no picture is opened."""
    save_llava(tmp_path / "policy")
    row = {"image": "none.png", "reference": "A star.", "prompt": "What is it?"}
    lacking = {key: value for key, value in row.items() if key != "reference"}

    def shown(*lines: dict[str, Any]) -> str:
        changes: dict[str, Any] = {"data": jsonl(tmp_path, *lines).model_dump()}
        changes["policy"] = {"model": str(tmp_path / "policy")}
        asked = recipe(tmp_path / "out", {"max_steps": 2}, rewards=[{"metric": "posh"}], **changes)
        try:
            dry_run(asked)
        except RecipeError as error:
            return str(error)
        return words_of(capsys.readouterr().out)

    assert "rows: 3 fit the rewards" in shown(*[row] * 3)
    assert "the dataset column 'reference'" in shown(*[lacking] * 3)
    assert "line 4" in shown(*[row] * 3, {**row, "reference": 5})
    assert "3 fit" not in shown(*[row] * 3, {**row, "task": "ic", "bbox": [1, 2]})


def test_rows_that_only_loading_tells_are_said_to_be_unchecked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dry_run(recipe(tmp_path / "out", rewards=[{"metric": "posh"}]))
    assert "rows: not checked" in words_of(capsys.readouterr().out)
