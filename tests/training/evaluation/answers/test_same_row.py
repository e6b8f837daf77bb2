"""Which line of a file of answers is about a row: templates, cases and references may differ."""

import json
from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards.rows.sample import row_sample
from spanreward.training.evaluation.answers.same_row import differing_key, texts_of_turns
from spanreward.training.evaluation.answers.sides import read_answers
from tests.support.files import write_lines

PROMPT = "Describe the boat: is it red?"
VICUNA = "A chat between a curious user and an artificial intelligence assistant."
SAME = [
    "Describe the boat: is it red?",
    "  describe the BOAT:\n\nis it red? ",
    "**Describe** the boat: is it red?",
    "<image>\nDescribe the boat: is it red?",
    f"<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n<|vision_start|>"
    f"<|image_pad|><|vision_end|>{PROMPT}<|im_end|>\n<|im_start|>assistant\n",
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: 2023"
    f"<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n<|image|>{PROMPT}<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
    f"<s>[INST] {PROMPT} [/INST]",
    f"<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n{PROMPT} [/INST]",
    f"<s>[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST][IMG]{PROMPT}[/INST]",
    f"<bos><start_of_turn>user\n<start_of_image>{PROMPT}<end_of_turn>\n<start_of_turn>model\n",
    f"USER: <image>\n{PROMPT} ASSISTANT:",
    f"{VICUNA} USER: <image>\n{PROMPT} ASSISTANT:",
    f"{VICUNA}###Human: <image>\n{PROMPT}\n###Assistant:",
    f"<|user|>\n<|image_1|>\n{PROMPT}<|end|>\n<|assistant|>\n",
    f"<|system|>\nBe brief.<|end|><|user|>{PROMPT}<|end|><|assistant|>",
    f"<\uff5cbegin▁of▁sentence\uff5c>Be brief.<\uff5cUser\uff5c>{PROMPT}<\uff5cAssistant\uff5c>",
    f"User:<image>{PROMPT}<end_of_utterance>\nAssistant:",
    f"Question: {PROMPT} Answer:",
    f"### Instruction:\n{PROMPT}\n\n### Response:\n",
    f"<|start|>system<|message|>Be brief.<|end|><|start|>user<|message|>{PROMPT}<|end|>"
    "<|start|>assistant",
    f"<|im_start|>User:<image>{PROMPT}<end_of_utterance>\nAssistant:",
    f"<s>system\nBe brief.</s>\n<s>user\n{PROMPT}</s>\n<s>assistant\n",
    f"<|start_of_role|>user<|end_of_role|>{PROMPT}<|end_of_text|>\n<|start_of_role|>assistant"
    "<|end_of_role|>",
    f"<|begin_of_sentence|>User: {PROMPT}\n\nAssistant:",
    f"<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    f"<|header_start|>user<|header_end|>\n\n{PROMPT}<|eot|><|header_start|>assistant"
    "<|header_end|>\n\n",
    f"<|user_start|>{PROMPT}<|user_end|><|assistant_start|>",
    [{"role": "user", "content": PROMPT}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": PROMPT}],
    [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": PROMPT}]}],
    json.dumps([{"role": "user", "content": f"<image>\n{PROMPT}"}]),
    [{"from": "human", "value": f"<image>\n{PROMPT}"}],
]
OTHER = [
    "Describe the boat: is it blue?",
    "Is it red?",
    "<|im_start|>user\nDescribe the boat.<|im_end|>\n<|im_start|>assistant\n",
    f"<|im_start|>user\nIs it day?<|im_end|>\n<|im_start|>assistant\nYes.<|im_end|>\n"
    f"<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\n",
    f"<|im_start|>system\n{PROMPT}<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n",
    "USER: <image>\nDescribe the kettle: is it red? ASSISTANT:",
    f"USER: Is it day? ASSISTANT: Yes. USER: {PROMPT} ASSISTANT:",
    f"{PROMPT} Answer with one word.",
    f"Read this.\nUser: {PROMPT}",
    [{"role": "user", "content": "Why?"}],
    [{"role": "system", "content": PROMPT}, {"role": "user", "content": "Why?"}],
]


def difference(line: Any, **row: Any) -> str:
    return differing_key(line, row_sample(row), "a.jsonl line 1")


@pytest.mark.parametrize("prompt", SAME, ids=str)
def test_the_same_prompt_in_any_template(prompt: Any) -> None:
    assert difference({"prompt": prompt}, prompt=PROMPT) == ""
    if isinstance(prompt, str):
        assert difference({"prompt": PROMPT}, prompt=prompt) == ""


def test_a_system_prompt_and_a_question_are_one_text_in_a_row() -> None:
    system = "<|im_start|>system\nBe brief.<|im_end|>\n"
    templated = f"{system}<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\n"
    assert difference({"prompt": templated}, prompt=f"Be brief.\n{PROMPT}") == ""
    assert difference({"question": SAME[11]}, question=PROMPT) == ""
    assert difference({"question": SAME[11]}, question="Why?") == "question"


@pytest.mark.parametrize("prompt", OTHER, ids=str)
def test_another_prompt_is_another_row(prompt: Any) -> None:
    assert difference({"prompt": prompt}, prompt=PROMPT) == "prompt"


def test_a_dialogue_that_is_asked_about_is_one_turn() -> None:
    dialogue = "Read.\nUser: Hi.\nAssistant: Hello.\nWho speaks first?"
    templated = f"<|im_start|>user\n{dialogue}<|im_end|>\n<|im_start|>assistant\n"
    assert texts_of_turns(dialogue) == [dialogue]
    assert difference({"prompt": templated}, prompt=dialogue) == ""
    other = dialogue.replace("Hi.", "Go.")
    assert difference({"prompt": templated}, prompt=other) == "prompt"
    assert difference({"prompt": other}, prompt=dialogue) == "prompt"


HERONS = ["A grey heron.", "A heron."]


@pytest.mark.parametrize(
    ("line", "row", "differs"),
    [
        ("A heron.", HERONS, ""),
        ("a  heron.\n", HERONS, ""),
        (["A heron."], HERONS, ""),
        (HERONS[::-1], HERONS, ""),
        (["A heron.", "A stork."], "A heron.", "reference"),
        ("A **heron**.", "A heron.", ""),
        ("A stork.", HERONS, "reference"),
        (["A heron.", "A stork."], HERONS, "reference"),
        ("A grey", "A grey heron.", "reference"),
    ],
)
def test_one_of_the_references_is_the_rows(line: Any, row: Any, differs: str) -> None:
    assert difference({"reference": line}, reference=row) == differs


@pytest.mark.parametrize(
    ("said", "differs"),
    [
        ({"reference": "A heron.", "prompt": f" <image>\n {PROMPT} "}, ""),
        ({"prompt": None, "question": None, "reference": None, "level": 9}, ""),
        ({"reference": "A stork."}, "reference"),
        ({"prompt": "Why?"}, "prompt"),
        ({"row_fingerprint": "0123456789abcdef"}, "row_fingerprint"),
    ],
    ids=str,
)
def test_a_line_about_another_row_is_named(tmp_path: Path, said: Any, differs: str) -> None:
    """Lines of an earlier version of the data, or of other data of these ids; rows of other ids are
    not looked at.
    """
    lines = [{"id": "9", **said}, {"id": "1", **said}]
    path = write_lines(tmp_path / "a.jsonl", [{"completion": "A.", **line} for line in lines])
    rows = [{"id": "1", "prompt": PROMPT, "reference": "A heron."}]
    if not differs:
        assert read_answers(str(path), rows) == ["A."]
        return
    with pytest.raises(ValueError, match=rf"a.jsonl line 2 .* '1': .* {differs}\."):
        read_answers(str(path), rows)
