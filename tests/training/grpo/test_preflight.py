"""What does not fit together is said before the first step."""

import logging
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset, Image as Picture, List, concatenate_datasets
from PIL import Image
from trl import GRPOTrainer

from experiments.scenes.parts import TINY
from spanreward import HarmonicReward, PoshReward, SpanGRPOConfig, SpanGRPOTrainer
from spanreward.rewards.base.verdict import Sample
from spanreward.training.data.load import load_data
from spanreward.training.grpo.preflight import (
    check_columns,
    check_parts,
    check_pictures,
    check_rows,
    pad_left,
)
from spanreward.training.policy import load_policy
from spanreward.training.recipe import JsonlPart
from tests.support.tiny_models import drawing
from tests.support.tiny_policies import SAVE
from tests.support.tiny_trainer import COMMON, Scored, make_trainer, scenes

USER = {"role": "user", "content": "What is it?"}


def rows(prompts: list[Any], **columns: list[Any]) -> Dataset:
    return Dataset.from_dict({"prompt": prompts, **columns})


def test_rewards_that_read_pictures_take_a_dataset_with_them() -> None:
    for column in ("image", "images"):
        data = rows([[USER]] * 2, **{column: [None, None]})
        check_rows([HarmonicReward("match")], load_policy(TINY)[1], "train_dataset", data)


@pytest.mark.parametrize("column", ["image", "images"])
def test_pictures_that_the_judge_cannot_see_are_refused_before_a_model_loads(
    column: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.png").write_bytes(b"no picture")  # which nothing opens
    broken = str(tmp_path / "broken.png")
    pictures: list[Any] = [None, broken if column == "image" else [broken]]
    kind = Picture() if column == "image" else List(Picture())
    words = {"context": ["A dog."] * 2, "reference": ["A dog."] * 2}
    data = rows([[USER]] * 2, **words, **{column: pictures}).cast_column(column, kind)
    args = SpanGRPOConfig(output_dir=str(tmp_path), **COMMON)
    told = r"train_dataset row 2: harmonic: the judge match"
    many = concatenate_datasets([data] * 4)
    reward = HarmonicReward("match")
    with pytest.raises(ValueError, match=told):
        SpanGRPOTrainer("no model", reward_funcs=[reward], args=args, train_dataset=many)
    with pytest.raises(ValueError, match=r"eval_dataset\['hard'\] row 2: harmonic"):
        check_pictures([reward], "eval_dataset", {"hard": data})
    looking = PoshReward("match", evidence="both")
    with pytest.raises(ValueError, match=told.replace("harmonic", "posh")):
        SpanGRPOTrainer("no model", reward_funcs=[looking], args=args, train_dataset=many)
    check_pictures([PoshReward("match"), HarmonicReward("match", evidence="context")], "it", data)
    check_pictures([reward], "it", data.select([0]))


def test_columns_that_a_transform_makes_are_not_missed(tmp_path: Path) -> None:
    data = Dataset.from_list([{"caption": "A red circle.", "n": n} for n in range(8)])
    data.set_transform(
        lambda row: {"prompt": [[USER]] * len(row["n"]), "reference": row["caption"]}
    )
    trainer = make_trainer(tmp_path, data, [PoshReward("match")], max_steps=1)
    trainer.train()
    assert trainer.state.log_history[0]["reward"] > 0


def test_pictures_are_not_decoded_and_ten_thousand_rows_take_little(tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"no picture")
    count = 10_000
    data = rows(
        [[USER]] * count,
        reference=["A red circle on grass."] * count,
        image=[str(tmp_path)] * count,
    )
    began = time.monotonic()
    check_rows([PoshReward("match")], load_policy(TINY)[1], "train_dataset", data)
    # 2 s on a free machine: experiments/benchmark has the figure
    assert time.monotonic() - began < 20


def test_a_processor_that_pads_on_the_right_is_set_to_the_left() -> None:
    _, processor = load_policy(TINY)
    processor.tokenizer.padding_side = "right"
    assert pad_left(processor)
    assert processor.tokenizer.padding_side == "left"
    assert not pad_left(processor)


@pytest.mark.parametrize("family", ["Qwen/Qwen2.5-VL", "Qwen/Qwen3-VL"])
def test_pictures_and_questions_of_unequal_length_train(tmp_path: Path, family: str) -> None:
    """Their hub files name no padding side. Pictures of four sizes ended in a shape error."""
    SAVE[family](tmp_path / "policy")
    sizes = [(56, 56), (112, 56), (56, 140), (168, 112)]
    questions = [
        "What is it?",
        "What is it, and where is it, if anywhere?",
        "Why?",
        "What colour is the thing here?",
    ]
    prompts = [[{"role": "user", "content": question}] for question in questions]
    data = rows(prompts, image=[Image.new("RGB", size, "red") for size in sizes])
    model, processor = load_policy(str(tmp_path / "policy"))
    processor.tokenizer.padding_side = "right"  # as the hub's
    args = SpanGRPOConfig(str(tmp_path / "out"), **{**COMMON, "max_steps": 1, "num_generations": 2})
    reward = Scored(lambda sample: len(sample.completion) % 5 / 5)
    trainer = SpanGRPOTrainer(model, [reward], args, data, processing_class=processor)
    trainer.train()
    assert trainer.state.global_step == 1


def test_spans_in_a_stock_trainer_warn(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model, processor = load_policy(TINY)
    reward = Scored(lambda _: 0.5)
    args = SpanGRPOConfig(str(tmp_path), **COMMON, span_coef=0.5)
    with caplog.at_level(logging.WARNING):
        GRPOTrainer(model, [reward], args, scenes(), processing_class=processor)
        assert "span_coef=0.5 has no effect" in caplog.text
        caplog.clear()
        make_trainer(tmp_path, scenes(), [PoshReward("match")], span_coef=0.5)
        assert "has no effect" not in caplog.text


def judge(sample: Sample) -> float:
    return 0.5


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"reward_weights": [0.0]}, "every reward has the weight 0"),
        ({"metric_for_best_model": "eval_loss"}, "GRPO's loss is near 0"),
        ({"metric_for_best_model": "eval_rewrd"}, "did you mean 'reward'"),
    ],
)
def test_settings_with_which_nothing_good_comes(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        make_trainer(tmp_path, scenes(), [Scored(judge)], **settings)


def test_columns_that_rewards_read_are_not_dropped(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="drops the columns"):
        make_trainer(tmp_path, scenes(), [PoshReward("match")], remove_unused_columns=True)


def test_what_each_function_pays_is_kept_apart_by_name(tmp_path: Path) -> None:
    def keyword(completions: list[Any], word: str = "a", **_: Any) -> list[float]:
        return [float(word in completion[0]["content"]) for completion in completions]

    functions = [Scored(judge), keyword, partial(keyword, word="e")]
    trainer = make_trainer(tmp_path, scenes(), functions)
    assert len(set(trainer.reward_func_names)) == 3
    keyword.__name__ = Scored(judge).__name__
    with pytest.raises(ValueError, match="rewards need different names"):
        make_trainer(tmp_path, scenes(), functions)


def test_the_best_checkpoint_is_chosen_by_the_reward(tmp_path: Path) -> None:
    best = {
        "load_best_model_at_end": True,
        "eval_strategy": "steps",
        "save_strategy": "steps",
        "eval_steps": 1,
    }
    args = SpanGRPOConfig(str(tmp_path), **{**COMMON, **best, "save_steps": 1})
    assert (args.metric_for_best_model, args.greater_is_better) == ("eval_reward", True)
    with pytest.raises(ValueError, match="several eval_dataset log one"):
        check_parts(args, [], [], {"eval_dataset": {"a": scenes(), "b": scenes()}})


def test_readme_s_processor_has_a_side() -> None:
    text = (Path(__file__).parents[3] / "README.md").read_text()
    assert "AutoProcessor" not in text or 'padding_side="left"' in text


def test_a_recipes_scaled_pictures_hide_no_columns(tmp_path: Path) -> None:
    """Its transform makes no columns, so what lacks is told before the first step, as without
    `max_pixels`.
    """
    drawing(1, (64, 64)).save(tmp_path / "a.png")
    (tmp_path / "rows.jsonl").write_text(
        '{"image": "a.png", "question": "What is it?", "answers": ["a dog"]}\n'
    )
    block = {"source": "jsonl", "path": str(tmp_path / "rows.jsonl"), "max_pixels": 1000}
    data = load_data(JsonlPart.model_validate(block))
    with pytest.raises(ValueError, match="the dataset column 'reference'"):
        check_columns([PoshReward("match")], "train_dataset", data)
    assert data[0]["image"].size == (31, 31)


@pytest.mark.parametrize("several", [False, True])
def test_an_eval_dataset_without_prompts_is_one_sentence(tmp_path: Path, several: bool) -> None:
    model, processor = load_policy(TINY)
    data = scenes(8)
    unasked: Any = data.remove_columns("prompt")
    name = "eval_dataset"
    if several:
        unasked = {"own": unasked}
        name = r"eval_dataset\['own'\]"
    with pytest.raises(ValueError, match=f"{name} needs the column 'prompt'"):
        SpanGRPOTrainer(
            model,
            Scored(lambda sample: 0.5),
            SpanGRPOConfig(**COMMON, output_dir=str(tmp_path)),
            train_dataset=data,
            eval_dataset=unasked,
            processing_class=processor,
        )
