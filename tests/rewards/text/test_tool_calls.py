# ruff: noqa: RUF001
"""Calls of tools, and what tools gave back, are no part of a description."""

import time

import pytest

from spanreward.rewards import LaveReward, MatchJudge, Sample
from spanreward.rewards.text.pieces import TOOLS
from spanreward.rewards.text.written import read_text

CALL = '{"name": "zoom", "arguments": {"x": [1]}}'
CALLS = [
    f"<tool_call>{CALL}</tool_call>",
    f"<tool_call>\n{CALL}\n</tool_call>\n<tool_call>{CALL}</tool_call>",
    f"<tool_calls>{CALL}</tool_calls>", f"<function_call>{CALL}</function_call>",
    "<tool_response>A green kite.</tool_response>", f"<|tool_call|>{CALL}<|/tool_call|>",
    f"<|tool_call_start|>{CALL}<|tool_call_end|>", "<|tool_call>call:zoom{x:1}<tool_call|>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>zoom<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    f"[TOOL_CALLS][{CALL}]", '[TOOL_CALLS]zoom[ARGS]{"x": 1}',
    "[TOOL_RESULTS]A green kite.[/TOOL_RESULTS]",
    "<function=zoom><parameter=x>1</parameter></function>", "<function=zoom>{}</function>",
]  # fmt: skip
OPEN = [
    "<tool_call>{", f"<|tool_call|>[{CALL}]", "[TOOL_CALLS][{", "<function=zoom>{",
    "<|python_tag|>f()",
]  # fmt: skip


@pytest.mark.parametrize("call", [*CALLS, *OPEN])
def test_a_call_is_not_read(call: str) -> None:
    text = f"A red kite.{call}"
    reading = read_text(text)
    assert reading.plain == "A red kite."
    assert reading.unread[0][2] == TOOLS
    assert reading.unread[0][0] == 11


@pytest.mark.parametrize("call", CALLS)
def test_what_follows_a_call_is_read(call: str) -> None:
    text = f"{call}\n\nA red kite."
    reading = read_text(text)
    assert reading.plain.strip() == "A red kite."
    place = reading.plain.index("red")
    assert text[slice(*reading.written(place, place + 3))] == "red"


def test_a_call_within_reasoning_hides_no_answer() -> None:
    assert read_text("<think>Use <tool_call>?</think>A red kite.").plain == "A red kite."
    text = "A tool call, and a sign: [TOOLS]."
    assert read_text(text).plain == text


def test_no_answer_is_found_in_a_call() -> None:
    text = '<tool_call>{"answer": "cat"}</tool_call>dog'
    sample = Sample("", text, question="What is it?", answers=("dog",) * 4)
    (verdict,) = LaveReward(MatchJudge()).assess([sample])
    assert verdict.score == 1.0


@pytest.mark.parametrize(
    "piece",
    [
        "<tool_call>", "<tool_call>{</tool_call>", "[TOOL_CALLS]{}", "<function=a", "[TOOL_CALLS][",
        "<|tool_call|>",
    ],
)  # fmt: skip
def test_calls_take_linear_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    start = time.process_time()
    read_text(text)
    assert time.process_time() - start < 6
