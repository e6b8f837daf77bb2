"""What does not fit together is said before the first step."""

import inspect
import logging
import re
import time
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset, Image as Picture, List, concatenate_datasets
from PIL import Image
from trl import GRPOTrainer

from experiments.scenes.parts import TINY
from spanreward import HarmonicReward, LaveReward, PoshReward, SpanGRPOTrainer
from spanreward.training.data.load import load_data
from spanreward.training.grpo.preflight import (
    check_columns,
    check_parts,
    check_pictures,
    check_rows,
    pad_left,
)
from spanreward.training.grpo.reward_functions import check_function
from spanreward.training.policy import load_policy
from spanreward.training.recipe import JsonlPart
from tests.support.batches import config_of
from tests.support.tiny_models import drawing
from tests.support.tiny_policies import SAVE
from tests.support.tiny_sft import BASE_TOKENS, CHATML, save_with
from tests.support.tiny_trainer import Scored, scenes
from tests.support.tokenizer import SPECIAL

USER = {"role": "user", "content": "What is it?"}


def rows(prompts: list[Any], **columns: list[Any]) -> Dataset:
    return Dataset.from_dict({"prompt": prompts, **columns})


def half() -> Scored:
    return Scored(lambda sample: 0.5)


def constant(completions: list[Any], **_: Any) -> list[float]:
    return [1.0] * len(completions)


MATCH = PoshReward("match")
WATCHED: dict[str, Any] = {"reward_weights": [1.0, 0.0]}
DATA: dict[str, Any] = {
    "empty": lambda: scenes().select([]),
    "one": lambda: scenes(1),
    "streamed": lambda: scenes().with_format(None).to_iterable_dataset(),
}


DYNAMIC = {"dynamic_sampling": True}
HALF = [half()]


@pytest.mark.parametrize(
    ("rewards", "settings", "said"),
    [
        (HALF, {"reward_weights": [0.0]}, "every reward has the weight 0"),
        (HALF, {"metric_for_best_model": "eval_loss"}, "loss is near 0"),
        (HALF, {"metric_for_best_model": "eval_rewrd"}, "did you mean 'reward'"),
        ([MATCH], {"remove_unused_columns": True}, "drops the columns"),
        ([LaveReward("match", rationale=False)], {}, "lave needs .* 'question', and train_dataset"),
        ([MATCH, MATCH], {}, r"different names, got \['posh', 'posh'\]"),
        # a weight is not asked for what the user did not pass
        ([constant], {**WATCHED, "soft_overlong_cache": 8}, "has 2 numbers .* 1 reward functions"),
        ([constant], {"span_coef": 0.5}, "span_coef=0.5 needs a reward"),
        ([constant, half()], {**WATCHED, "span_coef": 0.5}, "span_coef=0.5 .* with a weight"),
        ([constant, half()], {**WATCHED, **DYNAMIC}, "is none with a weight"),
        ([constant], DYNAMIC, "dynamic_sampling .* of a Reward"),
        (HALF, {"tools": [constant], **DYNAMIC}, "and tools makes several"),
        (HALF, {"environment_factory": object, **DYNAMIC}, "environment_factory makes"),
        (HALF, {"rollout_func": constant, "span_coef": 0.5}, "span_coef=0.5 needs tokens"),
        (HALF, {"rollout_func": constant, **DYNAMIC}, "rollout_func makes several"),
        (HALF, {"data": "empty"}, "has 0 rows, .* 2 prompts"),
        (HALF, {"data": "one"}, "has 1 rows, .* 2 prompts .*8 / num_generations 4"),
        (HALF, {"data": "streamed", **DYNAMIC}, "dynamic_sampling .* streamed"),
    ],
)
def test_parts_that_do_not_fit(make: Any, rewards: Any, settings: Any, said: str) -> None:
    parts = {name: DATA[value]() if name == "data" else value for name, value in settings.items()}
    with pytest.raises(ValueError, match=said):
        make(*rewards, **parts)


@pytest.mark.parametrize("column", ["image", "images"])
def test_rewards_that_read_pictures_take_a_dataset_with_them(column: str) -> None:
    data = rows([[USER]] * 2, **{column: [None, None]})
    check_rows([HarmonicReward("match")], load_policy(TINY)[1], "train_dataset", data)


@pytest.mark.parametrize("column", ["image", "images"])
def test_pictures_that_the_judge_cannot_see_are_refused(column: str, tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"no picture")  # which nothing opens
    broken = str(tmp_path / "broken.png")
    pictures: list[Any] = [None, broken if column == "image" else [broken]]
    kind = Picture() if column == "image" else List(Picture())
    words = {"context": ["A dog."] * 2, "reference": ["A dog."] * 2}
    data = rows([[USER]] * 2, **words, **{column: pictures}).cast_column(column, kind)
    parts = {"args": config_of(tmp_path), "train_dataset": concatenate_datasets([data] * 4)}
    reward = HarmonicReward("match")
    for looking, name in ((reward, "harmonic"), (PoshReward("match", evidence="both"), "posh")):
        with pytest.raises(ValueError, match=f"train_dataset row 2: {name}: the judge match"):
            SpanGRPOTrainer("no model", reward_funcs=[looking], **parts)
    with pytest.raises(ValueError, match=r"eval_dataset\['hard'\] row 2: harmonic"):
        check_pictures([reward], "eval_dataset", {"hard": data})
    check_pictures([MATCH, HarmonicReward("match", evidence="context")], "it", data)
    check_pictures([reward], "it", data.select([0]))


def test_columns_that_a_transform_makes_are_not_missed(make: Any) -> None:
    data = Dataset.from_list([{"caption": "A red circle.", "n": n} for n in range(8)])
    data.set_transform(
        lambda row: {"prompt": [[USER]] * len(row["n"]), "reference": row["caption"]}
    )
    trainer = make(PoshReward("match"), data=data, max_steps=1)
    trainer.train()
    assert trainer.state.log_history[0]["reward"] > 0


def test_ten_thousand_rows_take_little(tmp_path: Path) -> None:
    """No picture is decoded: these are none."""
    count = 10_000
    columns = {"reference": ["A red circle on grass."] * count, "image": [str(tmp_path)] * count}
    data = rows([[USER]] * count, **columns)
    began = time.monotonic()
    check_rows([MATCH], load_policy(TINY)[1], "train_dataset", data)
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
    questions = ["What is it?", "What is it, and where is it, if anywhere?", "Why?", "What colour?"]
    prompts = [[{"role": "user", "content": question}] for question in questions]
    data = rows(prompts, image=[Image.new("RGB", size, "red") for size in sizes])
    model, processor = load_policy(str(tmp_path / "policy"))
    processor.tokenizer.padding_side = "right"  # as the hub's
    args = config_of(tmp_path / "out", max_steps=1, num_generations=2)
    reward = Scored(lambda sample: len(sample.completion) % 5 / 5)
    trainer = SpanGRPOTrainer(model, [reward], args, data, processing_class=processor)
    trainer.train()
    assert trainer.state.global_step == 1


def test_spans_in_a_stock_trainer_warn(
    make: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, processor = load_policy(TINY)
    args = config_of(tmp_path, span_coef=0.5)
    with caplog.at_level(logging.WARNING):
        GRPOTrainer(model, [half()], args, scenes(), processing_class=processor)
        assert "span_coef=0.5 has no effect" in caplog.text
        caplog.clear()
        make(MATCH, span_coef=0.5)
        assert "has no effect" not in caplog.text


def test_what_each_function_pays_is_kept_apart_by_name(make: Any) -> None:
    def keyword(completions: list[Any], word: str = "a", **_: Any) -> list[float]:
        return [float(word in completion[0]["content"]) for completion in completions]

    functions = [half(), keyword, partial(keyword, word="e")]
    assert len(set(make(*functions).reward_func_names)) == 3
    keyword.__name__ = half().__name__
    with pytest.raises(ValueError, match="rewards need different names"):
        make(*functions)


def test_the_best_checkpoint_is_chosen_by_the_reward(tmp_path: Path) -> None:
    best = {"load_best_model_at_end": True, "eval_strategy": "steps", "save_strategy": "steps"}
    args = config_of(tmp_path, **best, eval_steps=1, save_steps=1)
    assert (args.metric_for_best_model, args.greater_is_better) == ("eval_reward", True)
    with pytest.raises(ValueError, match="several eval_dataset"):
        check_parts(args, [], [], {"eval_dataset": {"a": scenes(), "b": scenes()}})


def test_readme_s_processor_has_a_side() -> None:
    text = (Path(__file__).parents[3] / "README.md").read_text()
    assert "AutoProcessor" not in text or 'padding_side="left"' in text


def test_a_recipes_scaled_pictures_hide_no_columns(tmp_path: Path) -> None:
    """What lacks is told before the first step, as without `max_pixels`."""
    drawing(1, (64, 64)).save(tmp_path / "a.png")
    path = tmp_path / "rows.jsonl"
    path.write_text('{"image": "a.png", "question": "What is it?", "answers": ["a dog"]}\n')
    data = load_data(JsonlPart(source="jsonl", path=str(path), max_pixels=1000))
    with pytest.raises(ValueError, match="the dataset column 'reference'"):
        check_columns([MATCH], "train_dataset", data)
    assert data[0]["image"].size == (31, 31)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("prompt", r"eval_dataset\['own'\] needs the column 'prompt'"),
        ("reference", r"the dataset column 'reference'.*eval_dataset\['own'\] has \['context', "),
    ],
)
def test_a_missing_column_is_told(tmp_path: Path, missing: str, said: str) -> None:
    model, processor = load_policy(TINY)
    parts = {"train_dataset": scenes(), "eval_dataset": {"own": scenes().remove_columns(missing)}}
    with pytest.raises(ValueError, match=said):
        SpanGRPOTrainer(model, MATCH, config_of(tmp_path), processing_class=processor, **parts)


# A function that TRL cannot call.

COLUMNS = ("prompt", "image", "reference")


# fmt: off
def open_ended(completions: Any, **_: Any) -> Any: ...
def closed(prompts: Any, completions: Any) -> Any: ...
def labelled(completions: Any, label: Any, **_: Any) -> Any: ...
def referenced(completions: Any, reference: Any, **_: Any) -> Any: ...
def optional(completions: Any, label: Any = None, **_: Any) -> Any: ...
def positional(completions: Any, /, **_: Any) -> Any: ...
def starred(*texts: Any, completions: Any, **_: Any) -> Any: ...
async def waiting(completions: Any, **_: Any) -> Any: ...
def whole(
    prompts: Any, completions: Any, completion_ids: Any, trainer_state: Any,
    log_extra: Any, log_metric: Any, image: Any, reference: Any,
) -> Any: ...
# fmt: on


REACHED = [open_ended, referenced, optional, starred, whole, waiting, dict]


@pytest.mark.parametrize(
    ("function", "columns"), [*product(REACHED, (COLUMNS, None)), (labelled, None)]
)
def test_a_function_that_trl_reaches(function: Any, columns: Any) -> None:
    check_function(function, columns)


LACKS = r"labelled needs 'label', .* only \['image', 'prompt', 'reference'\]\."


@pytest.mark.parametrize(
    ("function", "columns", "told"),
    [
        (
            closed,
            COLUMNS,
            r"closed does not take .* 'completion_ids': .*\(completions, \*\*kwargs\)",
        ),
        (closed, None, "closed does not take"),
        (labelled, COLUMNS, LACKS),
        (positional, COLUMNS, "positional has 'completions' before a /"),
    ],
)
def test_a_function_that_it_does_not(function: Any, columns: Any, told: str) -> None:
    with pytest.raises(ValueError, match=f"the reward function {told}"):
        check_function(function, columns)


def test_the_trainer_says_so_before_the_model_is_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the reward function labelled"):
        SpanGRPOTrainer("no/such-model", labelled, config_of(tmp_path), train_dataset=scenes(8))


def test_a_package_that_a_setting_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanreward.training.trainer_settings.find_spec", lambda name: None)
    args = config_of(tmp_path, optim="galore_adamw")
    with pytest.raises(ValueError, match="optim 'galore_adamw' needs galore_torch"):
        SpanGRPOTrainer("no/such-model", open_ended, args, train_dataset=scenes(8))


# A chat template whose turns do not end generation.

WARNING = r"turn with '<\|im_end\|>', .* '<\|endoftext\|>': .*the policy's generation_config.json"


def trainer_with(folder: Path, tokens: tuple[str, ...], prompt: Any, **settings: Any) -> Any:
    save_with(folder / "policy", CHATML, tokens)
    model, processor = load_policy(str(folder / "policy"))
    args = config_of(folder / "out", **settings)
    rewards = [Scored(lambda sample: len(sample.completion) % 5 / 5)]
    data = Dataset.from_dict({"prompt": [prompt] * 8})
    return SpanGRPOTrainer(model, rewards, args, data, processing_class=processor)


@pytest.mark.parametrize(
    ("tokens", "prompt", "warned"),
    [(BASE_TOKENS, [USER], 1), (SPECIAL, [USER], 0), (BASE_TOKENS, "Why?", 0)],
    ids=["endless", "a turn that ends", "no turns"],
)
def test_it_is_said_before_the_first_step(
    tmp_path: Path, tokens: Any, prompt: Any, warned: int, caplog: pytest.LogCaptureFixture
) -> None:
    trainer_with(tmp_path, tokens, prompt)
    assert len(re.findall(WARNING, caplog.text)) == caplog.text.count("template ends") == warned


def test_where_all_are_cut_no_longer_completion_is_advised(tmp_path: Path) -> None:
    settings = {"max_completion_length": 1, "mask_truncated_completions": True, "max_steps": 9}
    trainer = trainer_with(tmp_path, BASE_TOKENS, [USER], **settings)
    trainer.train()
    stopped = trainer.learning_monitor.stopped
    assert re.search(r"max_completion_length \(1\), .* chat template ends", stopped)
    assert "raise" not in stopped


def test_a_template_that_never_ends_itself_is_refused(tmp_path: Path) -> None:
    """Where TRL loads the policy with its tokenizer, and no recipe has looked at them."""
    folder = tmp_path / "policy"
    save_with(folder, "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}")
    args = config_of(tmp_path / "out")
    data = Dataset.from_dict({"prompt": [[USER]] * 8})
    with pytest.raises(ValueError, match=rf"the chat template of \S*{folder} calls itself"):
        SpanGRPOTrainer(str(folder), [Scored(lambda sample: 0.5)], args, data)


def test_the_signature_is_trls() -> None:
    assert inspect.signature(SpanGRPOTrainer) == inspect.signature(GRPOTrainer)


def test_an_unknown_argument_is_named_before_anything_is_loaded() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'train_data'"):
        SpanGRPOTrainer("a/model", train_data=[])  # type: ignore[call-arg]  # the mistake
