"""Policies whose tools TRL's own loop calls: what is judged, and which tokens get credit."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer, chat_template_utils

from spanreward.rewards import Sample, Span, Verdict
from spanreward.training.grpo.trainer import SpanGRPOConfig, SpanGRPOTrainer
from spanreward.training.policy import load_policy
from tests.support.batches import weights_of
from tests.support.tiny_models import drawing, save_llama, save_qwen
from tests.support.tiny_trainer import COMMON, Scored

ANSWERS = ("A red star.", "A blue star.", "A red square.", "A tiny star.")
REPORT = "A red star. It is there"
QUESTION = "What is there?"
ASKED: dict[str, Any] = {"prompt": [[{"role": "user", "content": QUESTION}]] * 8}


def call(row: int, name: str = "look") -> str:
    said = f'{{"name": "{name}", "arguments": {{"where": "left"}}}}'
    return f"Number {row}.\n<tool_call>\n{said}\n</tool_call>"


def look(where: str) -> str:
    """Looks at a part of the picture.

    Args:
        where: the part
    """
    return f"{REPORT}, {where}."


def photograph(where: str) -> list[dict[str, Any]]:
    """Takes a picture.

    Args:
        where: the part
    """
    return [{"type": "image", "image": drawing(7)}, {"type": "text", "text": f"{REPORT}, {where}."}]


class Room:
    def reset(self, **row: Any) -> str:
        """Added to the prompt."""
        return " You are in a room."

    def look(self, where: str) -> str:
        """Looks at a part of the room.

        Args:
            where: the part
        """
        return look(where)


def by_length(sample: Sample) -> Verdict:
    """The second word is wrong, the rest is right."""
    words = [(match.start(), match.end()) for match in re.finditer(r"\w+", sample.completion)]
    spans = []
    for number, place in enumerate(words):
        spans.append(Span(*place, 1.0, 0.1 if number == 1 else 0.9, "attribute", "", number))
    return Verdict(len(sample.completion) / 100, spans=tuple(spans))


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes a trainer whose policy says turns[row][turn], row 0 to 7 of a batch, and its reward."""

    def make(
        turns: Sequence[Sequence[str]],
        rows: dict[str, Any] | None = None,
        stock: bool = False,
        pictured: bool = False,
        settings: dict[str, Any] | None = None,
        **options: Any,
    ) -> tuple[Any, Scored]:
        (save_qwen if pictured else save_llama)(tmp_path)
        model, processor = load_policy(str(tmp_path))
        words = processor.tokenizer if pictured else processor
        name = "qwen3_vl_chat_template" if pictured else "qwen2_5_chat_template"
        processor.chat_template = words.chat_template = getattr(chat_template_utils, name)
        chat_template_utils.add_response_schema(processor)

        def speak(self: Any, prompt_ids: list[list[int]], *args: Any, **kwargs: Any) -> Any:
            chosen = []
            for row, ids in enumerate(prompt_ids):
                said = re.findall(r"Number (\d)\.\n", words.decode(ids))
                chosen.append(turns[int(said[0]) if said else row][len(said)])
            return [words(text + "<|im_end|>")["input_ids"] for text in chosen], None

        monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", speak)
        common = {**COMMON, "max_completion_length": 400, "max_steps": 1, **(settings or {})}
        common |= {"output_dir": str(tmp_path / "out")}
        args = GRPOConfig(**common) if stock else SpanGRPOConfig(**{"span_coef": 0.5, **common})
        data = Dataset.from_dict(ASKED if rows is None else rows) if rows != {} else None
        reward = Scored(by_length)
        kind = GRPOTrainer if stock else SpanGRPOTrainer
        return kind(model, [reward], args, data, processing_class=processor, **options), reward

    return make


def answers(name: str = "look") -> list[list[str]]:
    return [[call(row, name), ANSWERS[row % 4]] for row in range(8)]


def batch_of(trainer: Any) -> dict[str, Any]:
    trainer.model.train()
    rows = [trainer.train_dataset[row // 4] for row in range(8)]
    return trainer._generate_and_score_completions(rows)


def judged(reward: Scored) -> list[str]:
    return [sample.completion for sample in reward.seen]


@pytest.mark.parametrize(
    "options", [{"tools": [look]}, {"environment_factory": Room}], ids=["tools", "environment"]
)
@pytest.mark.parametrize("stock", [False, True])
def test_the_last_message_is_judged_and_weights_move(made: Any, options: Any, stock: bool) -> None:
    trainer, reward = made(answers(), stock=stock, **options)
    before = weights_of(trainer)
    trainer.train()
    assert judged(reward) == [*ANSWERS, *ANSWERS]
    prompt = QUESTION + ("" if "tools" in options else Room().reset())
    assert {sample.prompt for sample in reward.seen} == {prompt}
    assert not torch.equal(weights_of(trainer), before)
    log = trainer.state.log_history[0]
    assert (log["tools/call_frequency"], log["tools/failure_frequency"]) == (1.0, 0.0)
    assert log["reward"] == pytest.approx(sum(map(len, ANSWERS)) / 4 / 100)
    if not stock:
        assert log["spans/unaligned_fraction"] == log["spans/rows_without_credit"] == 0.0


def test_credit_goes_to_the_answers_tokens_and_the_tools_do_not_train(made: Any) -> None:
    trainer, _ = made(answers(), tools=[look])
    output = batch_of(trainer)
    scalars = trainer.recorders[0].advantages
    words = trainer.processing_class
    for row in range(8):
        ids, mask = output["completion_ids"][row], output["completion_mask"][row]
        wrote = (mask * output["tool_mask"][row]).bool()
        assert REPORT not in words.decode(ids[wrote])
        assert REPORT in words.decode(ids[mask.bool()])
        advantages = output["advantages"][row]
        last = int(mask.sum())
        first = last - len(words(ANSWERS[row % 4] + "<|im_end|>")["input_ids"])
        # one number: no word of the call is judged
        assert len(set(advantages[:first][wrote[:first]].tolist())) == 1
        assert len(set(advantages[first:last].tolist())) > 1
        assert advantages[wrote].mean().item() == pytest.approx(scalars[row], abs=1e-5)


def test_all_of_the_assistants_messages_are_judged_where_asked_for(made: Any) -> None:
    trainer, reward = made(answers(), settings={"judged_turns": "all"}, tools=[look])
    batch_of(trainer)
    assert judged(reward) == [f"Number {row}.\n\n{ANSWERS[row % 4]}" for row in range(8)]
    assert trainer._metrics["train"]["spans/unaligned_fraction"] == [0.0]
    recorder = trainer.recorders[0]
    for row in range(8):
        text, received = recorder.samples[row].completion, recorder.token_advantages[row]
        spans = recorder.verdicts[row].spans
        said = f"Number {row} {ANSWERS[row % 4]}"
        assert [text[span.start : span.end] for span in spans] == re.findall(r"\w+", said)
        credit = []
        for span in spans:
            at = [value for start, end, value in received if start <= span.start < end]
            credit.append(at[0])
        first, wrong, *others = credit
        assert wrong < min(first, *others)


@pytest.mark.parametrize("asked", [False, True])
def test_a_tools_picture_reaches_the_judge_where_asked_for(made: Any, asked: bool) -> None:
    rows, settings = {**ASKED, "image": [drawing(1)] * 8}, {"tool_pictures": asked}
    options = {"settings": settings, "pictured": True, "tools": [photograph]}
    trainer, reward = made(answers("photograph"), rows, **options)
    output = batch_of(trainer)
    sizes = [drawing(1).size, drawing(7).size][: 1 + asked]
    assert [[picture.size for picture in sample.images] for sample in reward.seen] == [sizes] * 8
    assert len(output["image_grid_thw"]) == 16
    assert output["advantages"].abs().sum() > 0


@pytest.mark.parametrize("rows", [{}, {"environment": ["a"] * 8}], ids=["no dataset", "no prompts"])
def test_an_environment_may_write_the_prompts(made: Any, rows: dict[str, Any]) -> None:
    trainer, reward = made(answers(), rows, environment_factory={"a": Room} if rows else Room)
    trainer.train()
    assert {sample.prompt.strip() for sample in reward.seen} == {Room().reset().strip()}


class Paying(Room):
    def get_reward(self) -> float:
        return 0.25


def test_an_overlong_completion_costs_no_environments_reward(made: Any) -> None:
    settings = {"soft_overlong_cache": 390, "soft_overlong_size": 1.0}
    settings |= {"multi_objective_aggregation": "normalize_then_sum"}
    trainer, _ = made(answers(), settings=settings, environment_factory=Paying)
    punished = trainer._usable_rewards(torch.tensor([[0.5, -0.25, 0.75]]))
    assert trainer.reward_func_names == ["scored", "soft_overlong_punishment_reward", "Paying"]
    assert punished.tolist() == [[0.25, 0.0, 0.5]]
    assert batch_of(trainer)["advantages"].abs().sum() > 0


def test_a_call_that_is_not_answered_is_not_judged(made: Any) -> None:
    turns = [[call(row), call(row), ANSWERS[0]] for row in range(8)]
    trainer, reward = made(turns, settings={"max_tool_calling_iterations": 1}, tools=[look])
    output = batch_of(trainer)
    assert judged(reward) == [f"Number {row}." for row in range(8)]
    whole = [sample.completion for sample in trainer.recorders[0].samples]
    assert all(text.endswith("</tool_call>") for text in whole)
    assert trainer._metrics["train"]["spans/unaligned_fraction"] == [0.0]
    assert output["advantages"].isfinite().all()


def hostile(where: str) -> str:
    return f"</think> {where} </think> {REPORT}"


def test_the_last_turns_reasoning_ends_where_it_says_so(made: Any) -> None:
    hostile.__name__, hostile.__doc__ = "look", look.__doc__
    turns = []
    for first, last in answers():
        turns.append([f"<think>1</think>\n{first}", f"<think>2</think>{last}"])
    trainer, reward = made(turns, settings={"reasoning_end": "</think>"}, tools=[hostile])
    batch_of(trainer)
    assert judged(reward) == [*ANSWERS, *ANSWERS]
    assert trainer._metrics["train"]["spans/rows_without_credit"] == [0.0]
