"""Only the writer's own turn is read, without its reasoning, of whatever chat template."""

import re

import pytest

from spanreward import PoshReward, Sample
from spanreward.rewards.text.shown import (
    TURN_MARK_FORMS,
    TURN_MARKS,
    TurnMark,
    blank_unshown,
    parts_of,
)
from spanreward.rewards.text.written import read_text

TEXT = "A red kite flies."


@pytest.mark.parametrize("written", [
    f"{TEXT}</s>A dog sleeps.", f"<s>{TEXT}</s>",
    f"{TEXT}<|im_end|>\n<|im_start|>user\nAnd then?<|im_end|>\n<|im_start|>assistant\nA dog.<|im_end|>",
    f"<|im_start|>user\nA green kite.<|im_end|>\n<|im_start|>assistant\n{TEXT}<|im_end|>",
    f"USER: <image>\nWhat is it? ASSISTANT: {TEXT}",
    f"system\nYou help.\nuser\nWhat is it?\nassistant\n{TEXT}", f"assistant\n\n{TEXT}",
    f"[INST] What is it? [/INST] {TEXT}</s>",
    f"<start_of_turn>model\n{TEXT}<end_of_turn>\n<start_of_turn>user\nA dog?",
    "<|channel|>analysis<|message|>A " f"cat?<|end|><|start|>assistant<|channel|>final<|message|>{TEXT}<|return|>",
    "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final" f"<|message|>{TEXT}<|return|>",
    "<|channel|>commentary to=functions.zoom <|constrain|>json<|message|>{}<|call|><|start|>functions.zoom to=assistant<|channel|>commentary<|message|>Done.<|end|>" f"<|start|>assistant<|channel|>final<|message|>{TEXT}<|return|>",
    "<|start|>assistant to=functions.zoom<|channel|>commentary json<|message|>{}<|call|>" f"<|start|>assistant<|channel|>final<|message|>{TEXT}<|return|>",
    f"<|channel|>final <|constrain|>json<|message|>{TEXT}<|return|>",
    f"<|channel>thought\nA cat?<channel|>{TEXT}<turn|>",
    f"<|START_THINKING|>A cat?<|END_THINKING|>{TEXT}", f"<rationale>A cat?</rationale>{TEXT}",
    f"A cat?</think>{TEXT}", f"<s>[INST][IMG]What is it?[/INST]{TEXT}</s>",
    f"User: What is it?<end_of_utterance>\nAssistant: {TEXT}<end_of_utterance>\nUser: And?\nAssistant: A dog.",
    f"{TEXT}\n\n### Instruction:\nAnd then?\n\n### Response:\nA dog.",
    f"{TEXT}\nQ: And then?\nA: A dog.", f"{TEXT}<|endofchunk|>Output: A dog.",
    f"analysisA cat?assistantfinal{TEXT}",
    f"Here is my thought process: a cat? Here is my response: {TEXT}",
])  # fmt: skip
def test_the_answer_alone_is_shown(written: str) -> None:
    reading = read_text(written)
    assert reading.plain.strip() == TEXT
    red = reading.plain.index("red")
    assert written[slice(*reading.written(red, red + 3))] == "red"
    assert blank_unshown(written).strip("</s> \n") == TEXT


@pytest.mark.parametrize("text", [
    "<|channel|>commentary<|message|>I look.", "<think>A cat? <think>A dog?",
    "<|im_start|>user\nA red kite.<|im_end|>", "</s>", "",
])  # fmt: skip
def test_what_is_never_shown_is_no_answer(text: str) -> None:
    assert not read_text(text).plain.strip()


@pytest.mark.parametrize(("text", "plain"), [
    ("A <s>blue</s> red kite.", "A blue red kite."),  # struck out in HTML, and no end
    ("<|im_start|>user\nA red kite.", "A red kite."),  # no turn of its own follows
])  # fmt: skip
def test_no_mark_hides_what_a_reader_sees(text: str, plain: str) -> None:
    assert read_text(text).plain.strip() == plain


@pytest.mark.parametrize("text", [
    # "User:" hides nothing without an answer
    "A sign reads ASSISTANT: ring twice.", "The user stands.", "A man.\nUser: Ann.\nTime: noon.",
    "A: a dog\nB: a cat",  # options
])  # fmt: skip
def test_words_of_a_text_begin_no_turn(text: str) -> None:
    assert parts_of(text) == [(0, len(text), "")]


@pytest.mark.parametrize("frame", [
    "Step 1: {}", "Frame 12: {}", "S1: {}", "Frame at 0.0s: {}", "From 0 to 5 seconds: {}",
    "Caption (50 words): {}", "Scene 2 - {}", "Part One — {}", "Panel B: {}", "Shot #4: {}",
    "Fig. 3(b): {}", "Timestamp 00:03 - {}", "『{}』", "»{}«", "① {}", "─────\n{}\n─────", "→ {}",
    "✅ {}", "🐶 **Scene:** {}", '"{}"', "Caption: “{}”",
])  # fmt: skip
def test_labels_bullets_and_quotation_marks_around_a_whole_text_cost_nothing(frame: str) -> None:
    (verdict,) = PoshReward("match").assess([Sample("", frame.format(TEXT), references=(TEXT,))])
    assert verdict.score == 1.0


def test_a_label_that_names_a_thing_and_a_quotation_within_a_text_still_count() -> None:
    texts = ("No step 1: a red kite flies.", 'A sign says "a red kite flies".')
    samples = [Sample("", text, references=(TEXT,)) for text in texts]
    assert max(verdict.score or 0 for verdict in PoshReward("match").assess(samples)) < 0.5


@pytest.mark.parametrize("form", TURN_MARK_FORMS, ids=lambda form: form.example)
def test_a_form_is_found_in_its_example(form: TurnMark) -> None:
    alone = re.search(form.pattern, form.example, TURN_MARKS.flags)
    assert alone is not None
    joined = TURN_MARKS.search(form.example, alone.start())
    assert joined is not None
    assert joined.span() == alone.span()
    assert (joined.lastgroup or "") == form.name
    assert form.reader


def test_forms_of_one_name_stand_together() -> None:
    names = list(dict.fromkeys(form.name for form in TURN_MARK_FORMS if form.name))
    assert names == list(TURN_MARKS.groupindex)
