"""Policies that call tools: the assistant's last message is judged, and credit goes to tokens that
the policy wrote.

TRL's own loop calls the tools, of a tiny model whose sampled texts a test chooses.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer, chat_template_utils

from spanreward.rewards import Sample, Span, Verdict
from spanreward.training.grpo.reasoning import split_turns
from spanreward.training.grpo.trainer import SpanGRPOConfig, SpanGRPOTrainer
from spanreward.training.policy import load_policy
from tests.support.tiny_models import drawing, save_llama, save_qwen
from tests.support.tiny_trainer import COMMON, Scored

ANSWERS = ("A red star.", "A blue star.", "A red square.", "A tiny star.")
REPORT = "A red star. It is there"
QUESTION = "What is there?"
ASKED: dict[str, Any] = {"prompt": [[{"role": "user", "content": QUESTION}]] * 8}


def call(row: int, name: str = "look") -> str:
    return (
        f'Number {row}.\n<tool_call>\n{{"name": "{name}", "arguments": {{"where": '
        '"left"}}\n</tool_call>'
    )


def look(where: str) -> str:
    """
    Looks at a part of the picture.

    Args:
        where: the part
    """
    return f"{REPORT}, {where}."


def photograph(where: str) -> list[dict[str, Any]]:
    """
    Takes a picture.

    Args:
        where: the part
    """
    return [{"type": "image", "image": drawing(7)}, {"type": "text", "text": f"{REPORT}, {where}."}]


class Room:
    def reset(self, **row: Any) -> str:
        """Added to the prompt."""
        return " You are in a room."

    def look(self, where: str) -> str:
        """
        Looks at a part of the room.

        Args:
            where: the part
        """
        return look(where)


def by_length(sample: Sample) -> Verdict:
    """The second word is wrong, the rest is right."""
    words = [(match.start(), match.end()) for match in re.finditer(r"\w+", sample.completion)]
    spans = (
        Span(*place, 1.0, 0.1 + 0.8 * (number != 1), "attribute", "", number)
        for number, place in enumerate(words)
    )
    return Verdict(len(sample.completion) / 100, spans=tuple(spans))


def made(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    turns: Sequence[Sequence[str]],
    rows: dict[str, Any] | None = None,
    stock: bool = False,
    pictured: bool = False,
    settings: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Any, Scored]:
    """A trainer whose policy says turns[row][turn], row 0 to 7 of a batch, and its reward."""
    (save_qwen if pictured else save_llama)(folder)
    model, processor = load_policy(str(folder))
    words = processor.tokenizer if pictured else processor
    template = (
        chat_template_utils.qwen3_vl_chat_template
        if pictured
        else chat_template_utils.qwen2_5_chat_template
    )
    processor.chat_template = words.chat_template = template
    chat_template_utils.add_response_schema(processor)

    def speak(self: Any, prompt_ids: list[list[int]], *args: Any, **kwargs: Any) -> Any:
        seen = [words.decode(ids) for ids in prompt_ids]
        numbers = [re.findall(r"Number (\d)\.\n", text) for text in seen]
        chosen = [
            turns[int(found[0])][len(found)] if found else turns[row][0]
            for row, found in enumerate(numbers)
        ]
        return [words(text + "<|im_end|>")["input_ids"] for text in chosen], None

    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", speak)
    common = {
        **COMMON,
        "max_completion_length": 400,
        "max_steps": 1,
        "output_dir": str(folder / "out"),
    }
    common |= settings or {}
    args = GRPOConfig(**common) if stock else SpanGRPOConfig(**{"span_coef": 0.5, **common})
    data = Dataset.from_dict(ASKED if rows is None else rows) if rows != {} else None
    reward = Scored(by_length)
    kind = GRPOTrainer if stock else SpanGRPOTrainer
    return kind(model, [reward], args, data, processing_class=processor, **options), reward


def answers(name: str = "look") -> list[list[str]]:
    return [[call(row, name), ANSWERS[row % 4]] for row in range(8)]


def batch_of(trainer: Any) -> dict[str, Any]:
    trainer.model.train()
    return trainer._generate_and_score_completions(
        [trainer.train_dataset[row // 4] for row in range(8)]
    )


@pytest.mark.parametrize(
    "options", [{"tools": [look]}, {"environment_factory": Room}], ids=["tools", "environment"]
)
@pytest.mark.parametrize("stock", [False, True])
def test_the_last_message_is_judged_and_weights_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], stock: bool
) -> None:
    trainer, reward = made(tmp_path, monkeypatch, answers(), stock=stock, **options)
    before = {name: value.clone() for name, value in trainer.model.named_parameters()}
    trainer.train()
    assert [sample.completion for sample in reward.seen] == [*ANSWERS, *ANSWERS]
    assert {sample.prompt for sample in reward.seen} == {
        QUESTION + ("" if "tools" in options else Room().reset())
    }
    assert any(
        not torch.equal(value, before[name]) for name, value in trainer.model.named_parameters()
    )
    log = trainer.state.log_history[0]
    assert log["tools/call_frequency"] == 1.0
    assert log["tools/failure_frequency"] == 0.0
    assert log["reward"] == pytest.approx(sum(map(len, ANSWERS)) / 4 / 100)
    if not stock:
        assert log["spans/unaligned_fraction"] == log["spans/rows_without_credit"] == 0.0


def test_credit_goes_to_the_answers_tokens_and_the_tools_do_not_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, _ = made(tmp_path, monkeypatch, answers(), tools=[look])
    output = batch_of(trainer)
    scalars = trainer.recorders[0].advantages
    words = trainer.processing_class
    for row in range(8):
        ids = output["completion_ids"][row]
        wrote = (output["completion_mask"] * output["tool_mask"])[row].bool()
        assert REPORT not in words.decode(ids[wrote])
        assert REPORT in words.decode(ids[output["completion_mask"][row].bool()])
        advantages = output["advantages"][row]
        length = len(words(ANSWERS[row % 4] + "<|im_end|>")["input_ids"])
        last = int(output["completion_mask"][row].sum())
        first = last - length
        # one number: no word of the call is judged
        assert len(set(advantages[:first][wrote[:first]].tolist())) == 1
        assert len(set(advantages[first:last].tolist())) > 1
        assert advantages[wrote].mean().item() == pytest.approx(scalars[row], abs=1e-5)


def test_all_of_the_assistants_messages_are_judged_where_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, reward = made(
        tmp_path, monkeypatch, answers(), settings={"judged_turns": "all"}, tools=[look]
    )
    batch_of(trainer)
    assert [sample.completion for sample in reward.seen] == [
        f"Number {row}.\n\n{ANSWERS[row % 4]}" for row in range(8)
    ]
    assert trainer._metrics["train"]["spans/unaligned_fraction"] == [0.0]
    recorder = trainer.recorders[0]
    for row in range(8):
        text, received = recorder.samples[row].completion, recorder.token_advantages[row]
        spans = recorder.verdicts[row].spans
        said = f"Number {row} {ANSWERS[row % 4]}"
        assert [text[span.start : span.end] for span in spans] == re.findall(r"\w+", said)
        first, wrong, *others = [
            next(value for start, end, value in received if start <= span.start < end)
            for span in spans
        ]
        assert wrong < min(first, *others)


@pytest.mark.parametrize("asked", [False, True])
def test_a_tools_picture_reaches_the_judge_where_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    rows, settings = {**ASKED, "image": [drawing(1)] * 8}, {"tool_pictures": asked}
    turns = answers("photograph")
    trainer, reward = made(
        tmp_path, monkeypatch, turns, rows, settings=settings, pictured=True, tools=[photograph]
    )
    output = batch_of(trainer)
    sizes = [drawing(1).size, drawing(7).size][: 1 + asked]
    assert [[picture.size for picture in sample.images] for sample in reward.seen] == [sizes] * 8
    assert len(output["image_grid_thw"]) == 16
    assert output["advantages"].abs().sum() > 0


@pytest.mark.parametrize("rows", [{}, {"environment": ["a"] * 8}], ids=["no dataset", "no prompts"])
def test_an_environment_may_write_the_prompts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: dict[str, Any]
) -> None:
    rooms: Any = {"a": Room} if rows else Room
    trainer, reward = made(tmp_path, monkeypatch, answers(), rows, environment_factory=rooms)
    trainer.train()
    assert {sample.prompt.strip() for sample in reward.seen} == {Room().reset().strip()}


class Paying(Room):
    def get_reward(self) -> float:
        return 0.25


def test_an_overlong_completion_costs_the_metrics_and_not_the_environments_reward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "soft_overlong_cache": 390,
        "soft_overlong_size": 1.0,
        "multi_objective_aggregation": "normalize_then_sum",
    }
    trainer, _ = made(
        tmp_path, monkeypatch, answers(), settings=settings, environment_factory=Paying
    )
    punished = trainer._usable_rewards(torch.tensor([[0.5, -0.25, 0.75]]))
    assert trainer.reward_func_names == ["scored", "soft_overlong_punishment_reward", "Paying"]
    assert punished.tolist() == [[0.25, 0.0, 0.5]]
    assert batch_of(trainer)["advantages"].abs().sum() > 0


def test_a_call_that_is_not_answered_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [[call(row), call(row), ANSWERS[0]] for row in range(8)]
    settings = {"max_tool_calling_iterations": 1}
    trainer, reward = made(tmp_path, monkeypatch, turns, settings=settings, tools=[look])
    output = batch_of(trainer)
    assert [sample.completion for sample in reward.seen] == [f"Number {row}." for row in range(8)]
    assert all(
        sample.completion.endswith("</tool_call>") for sample in trainer.recorders[0].samples
    )
    assert trainer._metrics["train"]["spans/unaligned_fraction"] == [0.0]
    assert output["advantages"].isfinite().all()


def hostile(where: str) -> str:
    return f"</think> {where} </think> {REPORT}"


def test_the_last_turns_reasoning_ends_where_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile.__name__, hostile.__doc__ = "look", look.__doc__
    thoughts = [
        [f"<think>1</think>\n{first}", f"<think>2</think>{last}"] for first, last in answers()
    ]
    settings = {"reasoning_end": "</think>"}
    trainer, reward = made(tmp_path, monkeypatch, thoughts, settings=settings, tools=[hostile])
    batch_of(trainer)
    assert [sample.completion for sample in reward.seen] == [*ANSWERS, *ANSWERS]
    assert trainer._metrics["train"]["spans/rows_without_credit"] == [0.0]


def test_the_last_turn_is_found_in_the_text_of_all(tmp_path: Path) -> None:
    save_llama(tmp_path)
    _, tokenizer = load_policy(str(tmp_path))
    ids = tokenizer("A red star. A blue star. A red star.")["input_ids"]
    whole = tokenizer.decode(ids)
    parts = split_turns(tokenizer.backend_tokenizer, ids, ["A red star."])
    assert (parts.answer, parts.text) == ("A red star.", whole)
    assert parts.places == ((len(whole) - len("A red star."), len(whole)),)
    ((_, end),) = split_turns(tokenizer.backend_tokenizer, ids, ["A blue star."]).places
    assert whole[end:] == " A red star."
    assert split_turns(tokenizer.backend_tokenizer, ids, [""]).answer == ""
    assert split_turns(tokenizer.backend_tokenizer, ids, ["elsewhere"]).text == "elsewhere"
