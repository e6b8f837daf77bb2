"""Recipes: what is written is what runs, and a mistake is one sentence that says where and what
instead.
"""

import re
import time
from itertools import pairwise
from pathlib import Path

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
    MetricPart,
    MixedPart,
    RecipeError,
    apply_override,
    check_recipe,
    load_recipe,
    read_mapping,
)
from spanreward.training.recipe_rewards import build_rewards
from tests.support.paths import ROOT

DATA = sorted((ROOT / "recipes/data").glob("*.yaml"))
JUDGES = set((ROOT / "recipes/judges").iterdir())  # of another command
RECIPES = sorted(set((ROOT / "recipes").rglob("*.yaml")) - set(DATA) - JUDGES)
DAPO = ROOT / "recipes/quickstart/scenes-dapo.yaml"


def written(folder: Path, text: str) -> Path:
    path = folder / "recipe.yaml"
    path.write_text(text)
    return path


def test_there_are_recipes() -> None:
    assert DAPO in RECIPES
    assert len(RECIPES) >= 4


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_recipe_loads_as_written(path: Path) -> None:
    recipe = load_recipe(path)
    raw = yaml.safe_load(path.read_text())
    assert recipe.algorithm == raw["algorithm"]
    assert recipe.trainer.keys() == raw["trainer"].keys()
    block = (
        yaml.safe_load((path.parent / raw["data"]).read_text())
        if isinstance(raw["data"], str)
        else raw["data"]
    )
    assert recipe.data.source == block["source"]
    assert len(recipe.rewards) == len(raw.get("rewards", []))
    assert not [
        key
        for key, value in recipe.trainer.items()
        if isinstance(value, str) and value[:1].isdigit()
    ]
    assert check_recipe(recipe.model_dump()) == recipe


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_recipe_survives_being_written_again(path: Path, tmp_path: Path) -> None:
    recipe = load_recipe(path)
    again = written(tmp_path, yaml.safe_dump(recipe.model_dump(), sort_keys=False))
    assert load_recipe(again) == recipe


@pytest.mark.parametrize(
    ("override", "key", "nearest"),
    [
        ("sed=1", "sed", "seed"),
        ("policy.modle=tiny", "policy.modle", "model"),
        ("policy.lora.alpa=3", "policy.lora.alpa", "alpha"),
        ("data.cuont=3", "'data.cuont'", "count"),
        ("rewards.0.metrc=posh", "rewards.0.metrc", "metric"),
        ("rewards.0.judge={name: match, cashe: true}", "rewards.0.judge.cashe", "cache"),
        ("trainer.learning_rte=1", "trainer.learning_rte", "learning_rate"),
        ("trainer.span_coeff=1", "trainer.span_coeff", "span_coef"),
    ],
)
def test_misspelt_key_names_the_nearest(override: str, key: str, nearest: str) -> None:
    with pytest.raises(RecipeError) as error:
        load_recipe(DAPO, [override])
    assert key in str(error.value)
    assert str(error.value).endswith(f"did you mean '{nearest}'?")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("key", ["span_coef", "num_generations"])
def test_settings_of_grpo_are_not_for_sft(key: str) -> None:
    message = (
        f"unknown recipe key 'trainer.{key}': it belongs under trainer where the algorithm "
        "is grpo or dapo."
    )
    with pytest.raises(RecipeError, match=re.escape(message)):
        load_recipe(DAPO.with_name("scenes-sft.yaml"), [f"trainer.{key}=4"])


GRPO = "under trainer where the algorithm is grpo or dapo"


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("span_coef=0.5", f"'span_coef': it belongs {GRPO}."),
        ("span_coeff=0.5", f"'span_coeff': did you mean 'span_coef', {GRPO}?"),
        ("learning_rate=1e-5", "'learning_rate': it belongs under trainer."),
        ("completion_only_loss=true", "it belongs under trainer where the algorithm is sft."),
        ("output_dir=out", "'output_dir': did you mean 'output'?"),
        ("judge=match", "'judge': it belongs under rewards."),
        ("data.model=tiny", "'data.model': it belongs under policy."),
        ("policy.r=8", "'policy.r': it belongs under lora."),
        ("trainer.lora={r: 8}", "'trainer.lora': it belongs under policy."),
        ("trainer.spans_every=9", "'trainer.spans_every': it belongs at the top level."),
        ("policy.sure=0.9", "'policy.sure': it belongs under cascade."),
        (
            "check={reward_rises: true}",
            "unknown recipe key 'check': valid are algorithm, data, output, overwrite, ",
        ),
        ("data.answers=human", "'data.answers': it belongs under data.columns."),
        (
            "data={source: jsonl, path: x, split: val}",
            "'data.split': it belongs under data of source hub.",
        ),
        (
            "policy.path=tiny",
            "it belongs under data of source jsonl. Valid here are dtype, lora, model.",
        ),
        (
            "rewards.0.judge={model: tiny}",
            "under policy. Valid here are cache, cascade, name, options.",
        ),
        (
            "rewards.0.mode=published",
            "'rewards.0.mode': arguments of its class belong under options.",
        ),
        (
            "rewards.0.judge={name: match, memory: 2e9}",
            "arguments of its class belong under options.",
        ),
        ("rewards.0.wieght=2", "'rewards.0.wieght': did you mean 'weight'?"),
        ("trainer.qqq=1", "and 1"),
        (
            "policy=tiny",
            "recipe key policy: it holds keys and values, as {model: ...}, got 'tiny'.",
        ),
        (
            "referees=[lave]",
            "recipe key referees.0: it holds keys and values, as {metric: ...}, got 'lave'.",
        ),
        (
            "data=rows.jsonl",
            "recipe key data: source must be jsonl, hub, mixed or FILE.py:FUNCTION, got "
            "'rows.jsonl'.",
        ),
        ("data=5", "recipe key data: source must be jsonl, hub, mixed or FILE.py:FUNCTION, got 5."),
    ],
)
def test_a_key_at_the_wrong_place_is_told_its_own(override: str, told: str) -> None:
    with pytest.raises(RecipeError, match=re.escape(told)) as error:
        load_recipe(DAPO, [override])
    assert len(str(error.value)) < 600
    assert "\n" not in str(error.value)


def test_a_misspelt_key_is_told_before_the_missing_one(tmp_path: Path) -> None:
    text = "algorithm: sft\noutput: out\npolcy: {model: tiny}\ndata: {source: rows.py:rows}\n"
    with pytest.raises(RecipeError, match="unknown recipe key 'polcy': did you mean 'policy'"):
        load_recipe(written(tmp_path, text))


def test_a_key_like_no_other_lists_the_valid_ones() -> None:
    with pytest.raises(RecipeError, match="valid are dtype, lora, model"):
        load_recipe(DAPO, ["policy.qqq=1"])


def test_overrides() -> None:
    recipe = load_recipe(
        DAPO,
        [
            "seed=3",
            "overwrite=true",
            "output=outputs/a=b",
            "trainer.learning_rate=1e-4",
            "trainer.epsilon_high=0.5",
            "trainer.report_to=[none]",
            "trainer.vllm_mode=server",
            "rewards.0.weight=2",
            "rewards.0.options.mode=default",
            "policy.lora.target_modules=[q_proj, v_proj]",
            "policy.lora.r=4",
        ],
    )
    assert (recipe.seed, recipe.overwrite, recipe.output) == (3, True, "outputs/a=b")
    assert recipe.trainer["learning_rate"] == pytest.approx(0.0001)
    assert isinstance(recipe.trainer["learning_rate"], float)
    assert recipe.trainer["epsilon_high"] == 0.5
    assert recipe.trainer["report_to"] == ["none"]
    assert recipe.trainer["vllm_mode"] == "server"
    assert (recipe.rewards[0].metric, recipe.rewards[0].weight) == ("posh", 2.0)
    assert recipe.rewards[0].options == {"mode": "default"}
    assert recipe.policy.lora is not None
    assert (recipe.policy.lora.r, recipe.policy.lora.target_modules) == (4, ["q_proj", "v_proj"])


def test_a_later_override_wins_and_the_rest_stays() -> None:
    recipe = load_recipe(DAPO, ["seed=3", "seed=5"])
    assert recipe == load_recipe(DAPO).model_copy(update={"seed": 5})


def test_overrides_of_a_whole_part() -> None:
    recipe = load_recipe(
        DAPO,
        [
            "data={source: jsonl, path: x.jsonl}",
            "validation=null",
            "rewards=[{metric: posh}, {metric: posh}]",
        ],
    )
    assert recipe.data == JsonlPart(source="jsonl", path="x.jsonl")
    assert [reward.judge for reward in recipe.rewards] == [JudgePart(name="match")] * 2


def test_a_judge_is_a_name_or_a_mapping() -> None:
    recipe = load_recipe(DAPO, ["rewards.0.judge=vllm:smollm2"])
    assert recipe.rewards[0].judge == JudgePart(name="vllm:smollm2", cache=False, options={})
    written = "{name: vllm:smollm2, cache: true, options: {memory: 2e9}}"
    judge = (
        load_recipe(DAPO, [f"rewards.0.judge={written}", "rewards.0.judge.cache=mine.sqlite"])
        .rewards[0]
        .judge
    )
    options = {"memory": 2_000_000_000.0}
    assert judge == JudgePart(name="vllm:smollm2", cache="mine.sqlite", options=options)


@pytest.mark.parametrize("text", ["2e-3", "1E5", "3.e-2", "-1e+3"])
def test_scientific_numbers_are_numbers_in_file_and_override(text: str, tmp_path: Path) -> None:
    path = with_data(tmp_path, "{source: rows.py:rows}", f"trainer: {{adam_epsilon: {text}}}\n")
    assert load_recipe(path).trainer["adam_epsilon"] == float(text)
    assert load_recipe(DAPO, [f"trainer.adam_epsilon={text}"]).trainer["adam_epsilon"] == float(
        text
    )
    assert load_recipe(DAPO, [f"data.options.levels=[{text}]"]).data.options["levels"] == [
        float(text)
    ]


def test_text_that_only_begins_like_a_number_stays_text() -> None:
    assert load_recipe(DAPO, ["output=1e-4/seed0"]).output == "1e-4/seed0"


@pytest.mark.parametrize("override", ["seed", "", "seed:1"])
def test_override_without_a_value(override: str) -> None:
    with pytest.raises(RecipeError, match="key=value") as error:
        load_recipe(DAPO, [override])
    assert repr(override) in str(error.value)


def test_an_override_below_what_a_run_wrote_as_null() -> None:
    data = {"validation": None}
    apply_override(data, "validation.path=held_out.jsonl")
    assert data == {"validation": {"path": "held_out.jsonl"}}


def test_override_below_a_value() -> None:
    with pytest.raises(RecipeError, match=r"seed\.a cannot be set: seed holds 0"):
        load_recipe(DAPO, ["seed.a=1"])


@pytest.mark.parametrize("key", ["output_dir", "seed", "reward_weights"])
def test_reserved_trainer_keys(key: str) -> None:
    with pytest.raises(RecipeError, match=rf"trainer\.{key} is set by the recipe itself"):
        load_recipe(DAPO, [f"trainer.{key}=1"])


def test_dapo_needs_rewards() -> None:
    with pytest.raises(RecipeError, match=r"at least one entry under rewards"):
        load_recipe(DAPO, ["rewards=[]"])


def test_a_file_of_rows_is_no_recipe(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "1"}\n')
    with pytest.raises(RecipeError, match=r"rows\.jsonl is a table of rows, and no recipe"):
        load_recipe(rows)


def test_unknown_file() -> None:
    with pytest.raises(RecipeError, match=r"there is no recipe recipes/none\.yaml"):
        load_recipe("recipes/none.yaml")


@pytest.mark.parametrize(
    ("text", "kind"), [("- seed\n", "list"), ("seed\n", "str"), ("", "NoneType")]
)
def test_a_file_without_keys(text: str, kind: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=f"must hold keys and values, and holds {kind}"):
        load_recipe(written(tmp_path, text))


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("seed=abc", "seed", "'abc'"),
        ("overwrite=perhaps", "overwrite", "'perhaps'"),
        ("algorithm=ppo", "algorithm", "'ppo'"),
        ("policy.dtype=int8", "policy.dtype", "'int8'"),
        ("policy.lora.r=0", "policy.lora.r", "0"),
        ("data.count=0", "recipe key data.count", "0"),
        ("data.options=1.5", "recipe key data.options", "1.5"),
        ("data.task=dev", "recipe key data.task", "'dev'"),
        ("rewards.0.weight=heavy", "rewards.0.weight", "'heavy'"),
        ("rewards=null", "rewards", "None"),
        ("rewards.0.judge=3", "rewards.0.judge", "3"),
        ("trainer=3", "trainer", "3"),
    ],
)
def test_wrong_value_is_named_with_its_key(override: str, key: str, value: str) -> None:
    with pytest.raises(RecipeError) as error:
        load_recipe(DAPO, [override])
    assert f"{key}:" in str(error.value)
    assert str(error.value).endswith(f"got {value}.")


def test_missing_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"recipe key output: Field required\."):
        load_recipe(
            written(
                tmp_path, "algorithm: sft\npolicy: {model: tiny}\ndata: {source: rows.py:rows}\n"
            )
        )


def test_unknown_data_source_names_the_known_ones() -> None:
    with pytest.raises(
        RecipeError, match=r"recipe key data: .* jsonl, hub, mixed or FILE\.py:FUNCTION, .*'zip'"
    ):
        load_recipe(DAPO, ["data.source=zip"])


def test_a_source_takes_only_its_own_keys() -> None:
    with pytest.raises(RecipeError, match="valid are columns, count, max_pixels, path, prompt"):
        load_recipe(DAPO, ["data={source: jsonl, path: x, level: 1}"])


def test_defaults(tmp_path: Path) -> None:
    recipe = load_recipe(with_data(tmp_path, "{source: rows.py:rows}"))
    assert recipe.data == FilePart(source="rows.py:rows", options={})
    assert recipe.validation_data is None
    assert (recipe.seed, recipe.overwrite, recipe.rewards, recipe.trainer) == (0, False, [], {})


@settings(max_examples=30, deadline=None)
@given(st.integers(-(2**40), 2**40))
def test_any_seed(seed: int) -> None:
    assert load_recipe(DAPO, [f"seed={seed}"]).seed == seed


def test_a_cascade_has_a_student_and_a_teacher(tmp_path: Path) -> None:
    written = (
        "{cascade: {student: match, teacher: {name: vllm:m, options: {memory: 2e9}}, sure: 1}}"
    )
    recipe = load_recipe(DAPO, [f"rewards.0.judge={written}"])
    judge = recipe.rewards[0].judge
    cascade = judge.cascade
    assert cascade is not None
    assert (judge.name, cascade.sure, cascade.audit, cascade.seed) == ("cascade", 1.0, 0.02, 0)
    assert judge.answering == [
        JudgePart(name="match"),
        JudgePart(name="vllm:m", options={"memory": 2e9}),
    ]
    again = tmp_path / "again.yaml"
    again.write_text(yaml.safe_dump(recipe.model_dump(mode="json")))
    assert load_recipe(again) == recipe
    assert recipe.rewards[0].judge.answering == load_recipe(again).rewards[0].judge.answering


def test_a_cascade_is_built_with_its_judges() -> None:
    teacher = "{name: vllm:smollm2, options: {memory: 2e9}}"
    written = f"{{cascade: {{student: match, teacher: {teacher}, audit: 0.1, seed: 3}}}}"
    ((judge,),) = (
        reward.judges
        for reward in build_rewards(load_recipe(DAPO, [f"rewards.0.judge={written}"]).rewards)
    )
    assert isinstance(judge, CascadeJudge)
    assert isinstance(judge.student, MatchJudge)
    assert isinstance(judge.teacher, VllmJudge)
    assert (judge.teacher.memory, judge.sure, judge.audit, judge.seed) == (2e9, 0.9, 0.1, 3)


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (
            "{cascade: {student: match}}",
            "recipe key rewards.0.judge.cascade.teacher: Field required.",
        ),
        (
            "{cascade: 3}",
            "recipe key rewards.0.judge.cascade: it holds keys and values, as {student: ...}, got "
            "3.",
        ),
        ("{cascade: {student: 3, teacher: match}}", "recipe key rewards.0.judge.cascade.student: "),
        (
            "{cascade: {student: match, teacher: {nam: x}}}",
            "unknown recipe key 'rewards.0.judge.cascade.teacher.nam'",
        ),
        (
            "{cascade: {student: match, teacher: match, sure: -1}}",
            "greater than or equal to 0, got -1.",
        ),
        (
            "{cascade: {student: match, teacher: match, sure: true}}",
            "cascade.sure: Input should be a valid number",
        ),
        (
            "{cascade: {student: match, teacher: match, audit: 2}}",
            "less than or equal to 1, got 2.",
        ),
        (
            "{cascade: {student: match, teacher: match, aduit: 1}}",
            "unknown recipe key 'rewards.0.judge.cascade.aduit': did you mean 'audit'?",
        ),
        (
            "{cascade: {student: match, teacher: {name: match, cashe: true}}}",
            "unknown recipe key 'rewards.0.judge.cascade.teacher.cashe': did you mean 'cache'?",
        ),
        *(
            (
                judge,
                "rewards.0.judge: a judge has a name, or is {cascade: {student: JUDGE, teacher: "
                "JUDGE}} without",
            )
            for judge in (
                "cascade",
                "{}",
                "{name: match, cascade: {student: match, teacher: match}}",
                "{cascade: {student: match, teacher: match}, options: {sure: 1}}",
            )
        ),
    ],
)
def test_a_cascade_that_is_wrong(judge: str, message: str) -> None:
    with pytest.raises(RecipeError, match=re.escape(message)) as error:
        load_recipe(DAPO, [f"rewards.0.judge={judge}"])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("override", ["rewards.5.judge=match", "rewards.x.judge=match", "seed=[1"])
def test_override_that_cannot_be_applied(override: str) -> None:
    with pytest.raises(RecipeError):
        load_recipe(DAPO, [override])


def test_a_file_that_is_not_yaml(tmp_path: Path) -> None:
    with pytest.raises(RecipeError):
        load_recipe(written(tmp_path, "a: [1"))


SFT = DAPO.with_name("scenes-sft.yaml")


def test_sft_and_dapo_learn_from_the_same_data() -> None:
    assert load_recipe(DAPO).data == load_recipe(SFT).data
    for policy in ("qwen2.5-vl-7b", "qwen2.5-vl-3b-lora", "qwen3-vl-2b"):
        folder = ROOT / "recipes" / policy
        assert (
            load_recipe(folder / "docent-sft.yaml").data
            == load_recipe(folder / "docent-posh-dapo.yaml").data
        )


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.stem)
def test_every_data_file_is_used(path: Path) -> None:
    assert any(f"../data/{path.name}" in recipe.read_text() for recipe in RECIPES)


def with_data(folder: Path, data: str, more: str = "") -> Path:
    return written(
        folder, f"algorithm: sft\noutput: o\npolicy: {{model: tiny}}\ndata: {data}\n{more}"
    )


def test_data_from_a_file_beside_the_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path.parent)
    (tmp_path / "mine.yaml").write_text("source: rows.py:rows\noptions: {level: 2}\n")
    path = with_data(tmp_path, "mine.yaml")
    data = FilePart(source="rows.py:rows", options={"level": 2})
    assert load_recipe(path).data == data
    assert load_recipe(path, ["data.count=5"]).data == data.model_copy(update={"count": 5})
    assert load_recipe(path, ["data.options.seed=5"]).data.options == {"level": 2, "seed": 5}
    assert load_recipe(path, ["data={source: rows.py:rows}"]).data == FilePart(
        source="rows.py:rows"
    )


def test_parts_from_files(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("source: rows.py:rows\noptions: {level: 2}\n")
    path = with_data(tmp_path, "{source: mixed, parts: [mine.yaml, {source: hub, id: a/b}]}")
    parts = [FilePart(source="rows.py:rows", options={"level": 2}), HubPart(source="hub", id="a/b")]
    assert load_recipe(path).data == MixedPart(source="mixed", parts=parts)
    changed = load_recipe(path, ["data.parts.1.id=c/d"]).data
    assert isinstance(changed, MixedPart)
    assert changed.parts[1] == HubPart(source="hub", id="c/d")


def test_a_data_file_that_is_not_there(tmp_path: Path) -> None:
    message = rf"recipe key data: there is no data file {tmp_path}/none\.yaml; the path goes from the recipe's folder"
    with pytest.raises(RecipeError, match=message):
        load_recipe(with_data(tmp_path, "none.yaml"))


def test_a_data_file_that_holds_no_keys(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("- scenes\n")
    with pytest.raises(RecipeError, match="must hold keys and values, and holds list"):
        load_recipe(with_data(tmp_path, "mine.yaml"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{source: mixed, parts: []}", r"recipe key data\.parts: .*at least 1"),
        (
            "{source: mixed, parts: [{source: hub, idd: a}]}",
            r"'data\.parts\.0\.idd': did you mean 'id'",
        ),
        (
            "{source: mixed, parts: [{source: hub, id: a, splt: b}]}",
            r"'?data\.parts\.0\.splt'?: did you mean 'split'",
        ),
        ("{source: mixed, parts: [{source: zip}]}", r"recipe key data\.parts\.0: .*'zip'"),
        ("{source: hub, id: a, columns: {picture: image}}", r"recipe key data\.columns\.picture"),
        ("{source: hub, id: a, streaming: true}", r"recipe key data: streaming needs a count"),
        ("{source: hub, id: a, max_pixels: 0}", r"recipe key data\.max_pixels: .* got 0"),
        ("{source: hub, id: a, task: caption}", r"recipe key data\.task: .* got 'caption'"),
    ],
)
def test_a_data_block_that_is_wrong(data: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=message) as error:
        load_recipe(with_data(tmp_path, data))
    assert "\n" not in str(error.value)


def test_validation_is_the_data_but_for_what_it_says(tmp_path: Path) -> None:
    path = with_data(
        tmp_path, "{source: hub, id: a/b, columns: {reference: text}}", "validation: {split: val}\n"
    )
    recipe = load_recipe(path, ["validation.count=3"])
    expected = HubPart(source="hub", id="a/b", columns={"reference": "text"}, split="val", count=3)
    assert recipe.validation_data == expected
    assert load_recipe(with_data(tmp_path, "{source: hub, id: a/b}")).validation_data is None


def test_validation_changes_the_options_that_it_names(tmp_path: Path) -> None:
    data = "{source: rows.py:rows, count: 9, options: {level: 2, split: train}}"
    recipe = load_recipe(with_data(tmp_path, data, "validation: {options: {split: test}}\n"))
    expected = FilePart(source="rows.py:rows", count=9, options={"level": 2, "split": "test"})
    assert recipe.validation_data == expected
    assert recipe.data == FilePart(
        source="rows.py:rows", count=9, options={"level": 2, "split": "train"}
    )
    assert load_recipe(DAPO).validation_data.options == {
        **load_recipe(DAPO).data.options,
        "split": "test",
    }


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        ("{splitt: val}", r"unknown recipe key 'validation\.splitt': did you mean 'split'"),
        ("{count: 0}", r"recipe key validation\.count: .* got 0"),
        ("val", r"recipe key validation: .* got 'val'"),
    ],
)
def test_a_validation_that_is_wrong(validation: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=message):
        load_recipe(with_data(tmp_path, "{source: hub, id: a/b}", f"validation: {validation}\n"))


def test_paper_settings_of_docent() -> None:
    """PoSh's paper, appendix A.3.5, word for word."""
    sft, dapo = (
        load_recipe(ROOT / f"recipes/qwen2.5-vl-7b/docent-{name}.yaml")
        for name in ("sft", "posh-dapo")
    )
    for recipe in (sft, dapo):
        assert recipe.policy.model.startswith("Qwen/Qwen2.5-VL-7B")
        assert recipe.policy.lora is None  # "full parameter updates"
        trainer = recipe.trainer
        # of DAPO the completions of a rollout, which makes four updates
        passes = trainer.get("steps_per_generation", trainer["gradient_accumulation_steps"])
        assert trainer["per_device_train_batch_size"] * passes * 8 == 64
    names = (
        "learning_rate",
        "warmup_steps",
        "num_train_epochs",
        "load_best_model_at_end",
        "metric_for_best_model",
    )
    assert [sft.trainer[name] for name in names] == [1e-5, 0.1, 5, True, "eval_loss"]
    assert sft.validation_data == sft.data.model_copy(update={"split": "val"})
    names = (
        "learning_rate",
        "warmup_steps",
        "num_generations",
        "temperature",
        "top_p",
        "epsilon_high",
        "beta",
    )  # type: ignore[assignment]
    assert [dapo.trainer[name] for name in names] == [1e-6, 4 * 20, 8, 1.0, 0.7, 0.28, 0.0]
    assert dapo.trainer["steps_per_generation"] == 4 * dapo.trainer["gradient_accumulation_steps"]
    assert dapo.trainer["num_train_epochs"] == 1
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
        (
            re.sub(r": (&.) \[(.*)\]", r": \1 {<<: [\2]}", LAUGHS).replace(
                "{<<: [x, x]}", "{x: 1}"
            ),
            "more than 100,000",
        ),
        ("seed: " + "[" * 5000, "recursion"),
        ("seed: " + "[" * 5000 + "]" * 5000, "recursion"),
        ('output: "a\\0b"', "holds the character NUL"),
    ],
)
def test_yaml_that_is_no_data_is_one_sentence(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    start = time.monotonic()
    with pytest.raises(RecipeError, match=r"recipe\.yaml is not YAML: ") as error:
        load_recipe(path)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)
    assert time.monotonic() - start < 20


def test_aliases_of_a_usual_size_are_read(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("a: &a {x: 1e-4, y: [1, 2]}\nb: {<<: *a, y: *a}\nc: [*a, *a]\n")
    once = {"x": 1e-4, "y": [1, 2]}
    assert read_mapping(path) == {"a": once, "b": {"x": 1e-4, "y": once}, "c": [once, once]}


def test_a_recipe_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_bytes(b"output: \xff\n")
    with pytest.raises(RecipeError, match=r"recipe\.yaml cannot be read: .*utf-8"):
        load_recipe(tmp_path / "recipe.yaml")


def test_equal_judges_are_one_object_unless_they_are_behind_a_server() -> None:
    """One engine serves all rewards that ask it; judges behind a server are asked at once."""
    for name, shared in (("match", True), ("chat:http://127.0.0.1:9#m", False)):
        first, second = build_rewards(
            [MetricPart(metric=metric, judge=JudgePart(name=name)) for metric in ("posh", "lave")]
        )
        assert (first.judges[0] is second.judges[0]) is shared
