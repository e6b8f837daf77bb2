"""Recipes: what is written is what runs, and a mistake is one sentence."""

import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from spanreward.rewards.experimental.cascade_judge import CascadeJudge
from spanreward.rewards.judges import MatchJudge
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.training.recipe import (
    FilePart,
    HubPart,
    JsonlPart,
    JudgePart,
    MixedPart,
    RecipeError,
    check_recipe,
    load_recipe,
    read_mapping,
    trainer_config,
)
from spanreward.training.recipe_file import apply_override
from spanreward.training.recipe_rewards import build_rewards
from tests.support.paths import ROOT

DATA = sorted((ROOT / "recipes/data").glob("*.yaml"))
JUDGES = set((ROOT / "recipes/judges").iterdir())  # of another command
RECIPES = sorted(set((ROOT / "recipes").rglob("*.yaml")) - set(DATA) - JUDGES)
DAPO = ROOT / "recipes/quickstart/scenes-dapo.yaml"


def recipe_file(folder: Path, text: str) -> Path:
    path = folder / "recipe.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_recipe_loads_as_written_and_written_again(path: Path, tmp_path: Path) -> None:
    recipe = load_recipe(path)
    raw = yaml.safe_load(path.read_text())
    assert recipe.algorithm == raw["algorithm"]
    assert recipe.trainer.keys() == raw["trainer"].keys()
    if isinstance(raw["data"], str):
        raw["data"] = yaml.safe_load((path.parent / raw["data"]).read_text())
    assert recipe.data.source == raw["data"]["source"]
    assert len(recipe.rewards) == len(raw.get("rewards", []))
    texts = [value for value in recipe.trainer.values() if isinstance(value, str)]
    assert [text for text in texts if text[:1].isdigit()] == []
    assert check_recipe(recipe.model_dump()) == recipe
    again = recipe_file(tmp_path, yaml.safe_dump(recipe.model_dump(), sort_keys=False))
    assert load_recipe(again) == recipe


def test_overrides() -> None:
    recipe = load_recipe(
        DAPO,
        [
            "seed=3", "overwrite=true", "output=outputs/a=b", "trainer.learning_rate=1e-4",
            "trainer.epsilon_high=0.5", "trainer.report_to=[none]", "trainer.vllm_mode=server",
            "rewards.0.weight=2", "rewards.0.options.mode=default",
            "policy.lora.target_modules=[q_proj, v_proj]", "policy.lora.r=4",
        ],
    )  # fmt: skip
    assert (recipe.seed, recipe.overwrite, recipe.output) == (3, True, "outputs/a=b")
    changed = {"learning_rate": 1e-4, "epsilon_high": 0.5, "report_to": ["none"]}
    assert recipe.trainer.items() >= changed.items()
    assert recipe.trainer["vllm_mode"] == "server"
    (reward,) = recipe.rewards
    assert (reward.metric, reward.weight, reward.options) == ("posh", 2.0, {"mode": "default"})
    assert recipe.policy.lora is not None
    assert (recipe.policy.lora.r, recipe.policy.lora.target_modules) == (4, ["q_proj", "v_proj"])


def test_a_later_override_wins_and_the_rest_stays() -> None:
    recipe = load_recipe(DAPO, ["seed=3", "seed=5"])
    assert recipe == load_recipe(DAPO).model_copy(update={"seed": 5})


def test_overrides_of_a_whole_part() -> None:
    changes = ["data={source: jsonl, path: x.jsonl}", "validation=null"]
    recipe = load_recipe(DAPO, [*changes, "rewards=[{metric: posh}, {metric: posh}]"])
    assert recipe.data == JsonlPart(source="jsonl", path="x.jsonl")
    assert [reward.judge for reward in recipe.rewards] == [JudgePart(name="match")] * 2
    empty: dict[str, Any] = {"validation": None}  # as a run writes it
    apply_override(empty, "validation.path=held_out.jsonl")
    assert empty == {"validation": {"path": "held_out.jsonl"}}


def test_a_judge_is_a_name_or_a_mapping() -> None:
    recipe = load_recipe(DAPO, ["rewards.0.judge=vllm:smollm2"])
    assert recipe.rewards[0].judge == JudgePart(name="vllm:smollm2", cache=False, options={})
    written = "{name: vllm:smollm2, cache: true, options: {memory: 2e9}}"
    changes = [f"rewards.0.judge={written}", "rewards.0.judge.cache=mine.sqlite"]
    judge = load_recipe(DAPO, changes).rewards[0].judge
    assert judge == JudgePart(name="vllm:smollm2", cache="mine.sqlite", options={"memory": 2e9})


@pytest.mark.parametrize("text", ["2e-3", "1E5", "3.e-2", "-1e+3"])
def test_scientific_numbers_are_numbers_in_file_and_override(text: str, tmp_path: Path) -> None:
    path = with_data(tmp_path, "{source: rows.py:rows}", f"trainer: {{adam_epsilon: {text}}}\n")
    changes = [f"trainer.adam_epsilon={text}", f"data.options.levels=[{text}]"]
    changed = load_recipe(DAPO, changes)
    assert changed.data.options["levels"] == [float(text)]
    for recipe in (load_recipe(path), changed):
        assert recipe.trainer["adam_epsilon"] == float(text)


def test_text_that_only_begins_like_a_number_stays_text() -> None:
    assert load_recipe(DAPO, ["output=1e-4/seed0"]).output == "1e-4/seed0"


@settings(max_examples=30, deadline=None)
@given(st.integers(-(2**40), 2**40))
def test_any_seed(seed: int) -> None:
    assert load_recipe(DAPO, [f"seed={seed}"]).seed == seed


def test_a_cascade_has_a_student_and_a_teacher(tmp_path: Path) -> None:
    teacher = "{name: vllm:smollm2, options: {memory: 2e9}}"
    written = f"{{cascade: {{student: match, teacher: {teacher}, audit: 0.1, seed: 3}}}}"
    recipe = load_recipe(DAPO, [f"rewards.0.judge={written}"])
    again = load_recipe(recipe_file(tmp_path, yaml.safe_dump(recipe.model_dump(mode="json"))))
    assert again == recipe
    asked = JudgePart(name="vllm:smollm2", options={"memory": 2e9})
    assert again.rewards[0].judge.answering == [JudgePart(name="match"), asked]
    (reward,) = build_rewards(recipe.rewards)
    (judge,) = reward.judges
    assert isinstance(judge, CascadeJudge)
    assert isinstance(judge.student, MatchJudge)
    assert isinstance(judge.teacher, VllmJudge)
    assert (judge.teacher.memory, judge.sure, judge.audit, judge.seed) == (2e9, 0.9, 0.1, 3)


SFT = DAPO.with_name("scenes-sft.yaml")


def test_sft_and_dapo_learn_from_the_same_data() -> None:
    pairs = [(DAPO, SFT)]
    for policy in ("qwen2.5-vl-7b", "qwen2.5-vl-3b-lora", "qwen3-vl-2b"):
        folder = ROOT / "recipes" / policy
        pairs.append((folder / "docent-sft.yaml", folder / "docent-posh-dapo.yaml"))
    for one, other in pairs:
        assert load_recipe(one).data == load_recipe(other).data


def test_every_data_file_is_used() -> None:
    texts = [recipe.read_text() for recipe in RECIPES]
    unused = [path for path in DATA if not any(f"../data/{path.name}" in text for text in texts)]
    assert unused == []


def with_data(folder: Path, data: str, more: str = "") -> Path:
    head = "algorithm: sft\noutput: o\npolicy: {model: tiny}\n"
    return recipe_file(folder, f"{head}data: {data}\n{more}")


def test_data_and_parts_from_files_beside_the_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path.parent)
    (tmp_path / "mine.yaml").write_text("source: rows.py:rows\noptions: {level: 2}\n")
    path = with_data(tmp_path, "mine.yaml")
    data = FilePart(source="rows.py:rows", options={"level": 2})
    assert load_recipe(path).data == data
    assert load_recipe(path, ["data.count=5"]).data == data.model_copy(update={"count": 5})
    assert load_recipe(path, ["data.options.seed=5"]).data.options == {"level": 2, "seed": 5}
    whole = load_recipe(path, ["data={source: rows.py:rows}"])
    assert whole.data == FilePart(source="rows.py:rows")
    path = with_data(tmp_path, "{source: mixed, parts: [mine.yaml, {source: hub, id: a/b}]}")
    changed = load_recipe(path, ["data.parts.1.id=c/d"]).data
    assert changed == MixedPart(source="mixed", parts=[data, HubPart(source="hub", id="c/d")])


def test_validation_is_the_data_but_for_what_it_says(tmp_path: Path) -> None:
    data = "{source: hub, id: a/b, columns: {reference: text}}"
    path = with_data(tmp_path, data, "validation: {split: val}\n")
    recipe = load_recipe(path, ["validation.count=3"])
    expected = HubPart(source="hub", id="a/b", columns={"reference": "text"}, split="val", count=3)
    assert recipe.validation_data == expected
    assert load_recipe(with_data(tmp_path, "{source: hub, id: a/b}")).validation_data is None


def test_validation_changes_the_options_that_it_names(tmp_path: Path) -> None:
    data = "{source: rows.py:rows, count: 9, options: {level: 2, split: train}}"
    recipe = load_recipe(with_data(tmp_path, data, "validation: {options: {split: test}}\n"))
    expected = FilePart(source="rows.py:rows", count=9, options={"level": 2, "split": "test"})
    assert recipe.validation_data == expected
    assert recipe.data.options == {"level": 2, "split": "train"}


def test_paper_settings_of_docent() -> None:
    """PoSh's paper, appendix A.3.5, word for word."""
    folder = ROOT / "recipes/qwen2.5-vl-7b"
    sft, dapo = (load_recipe(folder / f"docent-{name}.yaml") for name in ("sft", "posh-dapo"))
    for recipe in (sft, dapo):
        assert recipe.policy.model.startswith("Qwen/Qwen2.5-VL-7B")
        assert recipe.policy.lora is None  # "full parameter updates"
        trainer = recipe.trainer
        # of DAPO the completions of a rollout, which makes four updates
        passes = trainer.get("steps_per_generation", trainer["gradient_accumulation_steps"])
        assert trainer["per_device_train_batch_size"] * passes * 8 == 64
    best = {"load_best_model_at_end": True, "metric_for_best_model": "eval_loss"}
    of_sft = {"learning_rate": 1e-5, "warmup_steps": 0.1, "num_train_epochs": 5, **best}
    assert sft.trainer.items() >= of_sft.items()
    assert sft.validation_data == sft.data.model_copy(update={"split": "val"})
    of_dapo = {"learning_rate": 1e-6, "warmup_steps": 4 * 20, "num_generations": 8, "beta": 0.0}
    of_dapo |= {"temperature": 1.0, "top_p": 0.7, "epsilon_high": 0.28, "num_train_epochs": 1}
    assert dapo.trainer.items() >= of_dapo.items()
    assert dapo.trainer["steps_per_generation"] == 4 * dapo.trainer["gradient_accumulation_steps"]
    assert "dynamic_sampling" not in dapo.trainer
    assert dapo.rewards[0].judge.name == "vllm:Qwen/Qwen3-14B"


LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in pairwise("abcdefghijklmnopqrstuvwxyz")
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("seed: 2001-99-99", "month must be in 1..12"),
        ("seed: !!int x", "invalid literal for int"),
        ("seed: !!bool x", "x"),
        ("seed: !!timestamp x", "groupdict"),
        ("seed: &a [*a]", "a value holds itself, by an alias"),
        ("data: &a {parts: {more: *a}}", "a value holds itself, by an alias"),
        (LAUGHS, "its aliases make it more than 100,000 values"),
        (re.sub(r": (&.) \[(.*)\]", r": \1 {<<: [\2]}", LAUGHS).replace("{<<: [x, x]}", "{x: 1}"),
            "more than 100,000"),
        ("seed: " + "[" * 5000, "recursion"),
        ("seed: " + "[" * 5000 + "]" * 5000, "recursion"),
        ('output: "a\\0b"', "holds the character NUL"),
    ],
)  # fmt: skip
def test_yaml_that_is_no_data_is_one_sentence(tmp_path: Path, text: str, reason: str) -> None:
    path = recipe_file(tmp_path, text)
    start = time.monotonic()
    with pytest.raises(RecipeError, match=r"recipe\.yaml is not YAML: ") as error:
        load_recipe(path)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)
    assert time.monotonic() - start < 20


def test_aliases_of_a_usual_size_are_read(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, "a: &a {x: 1e-4, y: [1, 2]}\nb: {<<: *a, y: *a}\nc: [*a, *a]\n")
    once = {"x": 1e-4, "y": [1, 2]}
    assert read_mapping(path) == {"a": once, "b": {"x": 1e-4, "y": once}, "c": [once, once]}


@pytest.mark.parametrize(
    ("algorithm", "trainer", "loss"),
    [("grpo", {}, "grpo"), ("dapo", {}, "dapo"), ("grpo", {"loss_type": "dr_grpo"}, "dr_grpo")],
)
def test_the_loss_is_the_algorithms_unless_the_recipe_names_one(
    algorithm: str, trainer: dict[str, Any], loss: str
) -> None:
    written = {"policy": {"model": "tiny"}, "data": {"source": "rows.py:rows"}, "output": "out"}
    rewards = [{"metric": "posh"}]
    recipe = check_recipe(
        {"algorithm": algorithm, "rewards": rewards, "trainer": trainer, **written}
    )
    assert check_recipe(recipe.model_dump()) == recipe
    config = trainer_config(algorithm)
    assert config("out", use_cpu=True, bf16=False, **recipe.trainer).loss_type == loss
