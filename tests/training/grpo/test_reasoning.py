"""A thinking policy: only the answer is judged, and its spans lie on the tokens that wrote them."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from tokenizers import AddedToken, Tokenizer

from experiments.scenes.policy import tiny_tokenizer
from spanreward.rewards import PoshReward, Reward
from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.training.grpo.reasoning import (
    Parts,
    on_completion,
    split_reasoning,
    split_turns,
    unknown_mark,
)
from tests.support.batches import batch_of
from tests.support.fakes import FakeJudge
from tests.support.tiny_trainer import scenes

END = "</think>"
EOS = 1
SPELLED = tiny_tokenizer().backend_tokenizer  # the tag is written letter by letter


def with_tag(tag: str, special: bool) -> Tokenizer:
    """The tiny tokenizer with the tag as one token."""
    tokenizer = tiny_tokenizer().backend_tokenizer
    tokenizer.add_tokens([AddedToken(tag, special=special, normalized=False)])
    return tokenizer


ONE_TOKEN = with_tag(END, special=False)  # as Qwen3's
SPECIAL = with_tag("[/THINK]", special=True)  # as Magistral's: decoding leaves it out
TOKENIZERS = [(SPELLED, END), (ONE_TOKEN, END), (SPECIAL, "[/THINK]")]
IDS = ["spelled", "one token", "special token"]


def cut(before: str, answer: str, finished: bool = True) -> Parts:
    """A text whose end is judged."""
    return Parts(before + answer, ((len(before), len(before + answer)),), finished)


def split(text: str, tokenizer: Tokenizer = SPELLED, end: str = END) -> Parts:
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return split_reasoning(tokenizer, [*ids, EOS], end)


@pytest.mark.parametrize(("tokenizer", "end"), TOKENIZERS, ids=IDS)
@pytest.mark.parametrize("between", ["", "\n\n", " "])
@pytest.mark.parametrize("thought", ["<think>\nIs it red?\n", "Is it red? \N{GRINNING FACE}", ""])
@pytest.mark.parametrize("answer", ["A red star.", "\N{GRINNING FACE} \u05d0", ""])
def test_the_answer_follows_the_tag(
    tokenizer: Any, end: Any, thought: str, between: str, answer: str
) -> None:
    parts = split(thought + end + between + answer, tokenizer, end)
    shown = "" if end == "[/THINK]" else end
    assert parts == cut(thought + shown, between + answer, finished=True)


@pytest.mark.parametrize(("tokenizer", "end"), TOKENIZERS, ids=IDS)
@pytest.mark.parametrize("text", ["<think>Is it", "A red star.", "", "</thin"])
def test_an_unfinished_block_holds_no_answer(tokenizer: Any, end: Any, text: str) -> None:
    assert split(text, tokenizer, end) == cut(text, "", finished=False)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("a</think>b</think>c", "b</think>c"),
        ("a</think>b<think>c</think>d", "b<think>c</think>d"),
        ("<think>a<think>b</think>c</think>d", "c</think>d"),
        ("</think>", ""),
        ("<think></think>", ""),
        ("</think></think></think>", "</think></think>"),
        ("a</THINK>b</think >c</think>d", "d"),
        ("</think><|im_end|><think>", "<|im_end|><think>"),
        ("\x00\u202e</think>\x00\u202e", "\x00\u202e"),
    ],
)
@pytest.mark.parametrize("tokenizer", [SPELLED, ONE_TOKEN], ids=IDS[:2])
def test_the_first_end_tag_counts(tokenizer: Any, text: str, answer: str) -> None:
    parts = split(text, tokenizer)
    assert parts.answer == answer
    assert parts.text == text


def test_a_tag_of_several_special_tokens() -> None:
    """As gpt-oss ends its reasoning."""
    tokenizer = with_tag("<|channel|>", special=True)
    tokenizer.add_special_tokens(["<|message|>"])
    end = "<|channel|>final<|message|>"
    text = "<|channel|>analysis<|message|>red?" + end + "A star."
    assert split(text, tokenizer, end) == cut("analysisred?final", "A star.")


EMOJI = SPELLED.encode("😀").ids
TAG = SPELLED.encode(END).ids


@pytest.mark.parametrize(
    ("ids", "parts"),
    [
        # special tokens within a spelled tag break it
        ([*SPELLED.encode("a</thi").ids, EOS, *SPELLED.encode("nk>b").ids], ("a</think>b", "", False)),
        ([*EMOJI[:2], *TAG, *EMOJI[2:]], ("\ufffd" + END, "\ufffd\ufffd")),
        ([], ("", "", False)),
    ],
)  # fmt: skip
def test_ids_that_are_no_text(ids: list[int], parts: Any) -> None:
    assert split_reasoning(SPELLED, ids, END) == cut(*parts)


@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from(TOKENIZERS))
@example("<think>", END, TOKENIZERS[1])
def test_any_text_is_cut_at_its_first_tag(thought: Any, answer: Any, kind: Any) -> None:
    tokenizer, end = kind
    parts = split(thought + end + answer, tokenizer, end)
    ids = tokenizer.encode(thought + end + answer, add_special_tokens=False).ids
    decoded = tokenizer.decode(ids)
    assert parts.finished
    assert parts.text == decoded
    assert decoded.endswith(parts.answer)
    if end == END:
        assert parts.places[0][0] == decoded.index(END) + len(END)


def test_spans_move_onto_the_completion_and_missed_stay_on_the_reference() -> None:
    span = Span(2, 5, 0.0, -0.3, "attribute", "", 0)
    verdict = Verdict(0.5, spans=(span,), missed=(span,))
    parts = split("Red?</think>A red star.")
    moved = on_completion(verdict, parts)
    (placed,) = moved.spans
    assert parts.text[placed.start : placed.end] == "red"
    assert moved.missed == (span,)
    assert (moved.score, placed.credit) == (0.5, -0.3)


def test_spans_of_several_turns_move_onto_the_completion() -> None:
    text = "Let me look.<call>A tool.A red star."
    ids = SPELLED.encode(text).ids
    parts = split_turns(SPELLED, ids, ["Let me look.", "", "A red star."])
    assert parts.answer == "Let me look.\n\nA red star."
    reached = []
    for place in ((4, 6), (16, 19), (7, 18), (12, 15)):
        verdict = Verdict(0.5, spans=(Span(*place, 0.0, -0.3, "entity", "", 0),))
        (span,) = on_completion(verdict, parts).spans
        reached.append(text[span.start : span.end])
    assert reached == ["me", "red", "look.<call>A tool.A re", "<call>A tool.A"]
    elsewhere = split_turns(SPELLED, ids, ["Let me look.", "No.", "A red star."])
    assert elsewhere.text == elsewhere.answer == "Let me look.\n\nNo.\n\nA red star."


@pytest.mark.parametrize(
    ("turn", "place"),
    [("A red star.", (25, 36)), ("A blue star.", (12, 24)), ("", (36, 36))],
)
def test_the_last_turn_is_found_in_the_text_of_all(turn: str, place: tuple[int, int]) -> None:
    text = "A red star. A blue star. A red star."
    assert split_turns(SPELLED, SPELLED.encode(text).ids, [turn]) == Parts(text, (place,))


ANSWER = "A red star."
SPANS = (Span(2, 5, 0.0, -0.3, "attribute", "", 0), Span(6, 10, 1.0, 0.1, "entity", "", 1))
TEMPLATE = {  # as TRL's for Qwen3: `content` without the reasoning and the white space behind it
    "defaults": {"role": "assistant"},
    "start_anchor": "<assistant>",
    "fields": {
        "reasoning_content": {"open": "<think>", "close_pattern": r"</think>\s*", "content": "text"},
        "content": {"close_pattern": r"<eos>\s*", "content": "text"},
    },
}  # fmt: skip
LONG = {"max_completion_length": 128}


class ByAnswer(Reward):
    """Verdicts by what is judged, which is kept."""

    def __init__(self, verdicts: dict[str, Verdict]) -> None:
        super().__init__("by_answer")
        self.verdicts = verdicts
        self.judged: list[str] = []

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        self.judged += [sample.completion for sample in samples]
        return [self.verdicts[sample.completion] for sample in samples]


def rows_of(trainer: Any, output: dict[str, Any]) -> list[list[tuple[str, float]]]:
    """The tokens of each completion, and their advantages."""
    rows = []
    for row, mask in enumerate(output["completion_mask"].bool()):
        ids, advantages = output["completion_ids"][row][mask], output["advantages"][row][mask]
        tokens = trainer.processing_class.tokenizer.batch_decode(ids.unsqueeze(1))
        rows.append(list(zip(tokens, advantages.tolist(), strict=True)))
    return rows


@pytest.mark.parametrize("parsed", [False, True], ids=["decoded", "parsed"])
def test_reasoning_is_not_judged_and_carries_no_credit(make: Any, parsed: bool) -> None:
    """The row that thinks has the advantages of the row that does not, on the same words."""
    empty = Verdict(0.0, Status.EMPTY)
    reward = ByAnswer({ANSWER: Verdict(0.25, spans=SPANS), "": empty, "No.": Verdict(0.75)})
    thinks = "<think>A red star? A red star.</think>" + ANSWER
    direct = "<think></think>" + ANSWER
    texts = [thinks, direct, "<think></think>No.", "<think>A red star?"] * 2
    trainer = make(reward, span_coef=2.0, reasoning_end=END, **LONG)
    if parsed:
        trainer._tokenizer.response_template = TEMPLATE
    output = batch_of(trainer, texts)
    assert reward.judged == [ANSWER, ANSWER, "No.", ""] * 2
    assert [sample.completion for sample in trainer.recorders[0].samples] == texts
    spans = trainer.recorders[0].verdicts[0].spans
    assert [texts[0][span.start : span.end] for span in spans] == ["red", "star"]
    thinking, plain, *others = rows_of(trainer, output)[:4]
    assert thinking[-5:] == plain[-5:]
    assert [token for token, _ in plain[-5:]] == ["A", " red", " star", ".", "<eos>"]
    scalar = plain[-1][1]
    assert plain[-4][1] < scalar < plain[-3][1]
    assert {advantage for _, advantage in [*thinking[:-5], *plain[:-5]]} == {scalar}
    assert [len({advantage for _, advantage in row}) for row in others] == [1, 1]
    assert trainer._metrics["train"]["reasoning/unfinished_fraction"] == [0.25]
    assert trainer._metrics["train"]["spans/unaligned_fraction"] == [0.0]


def test_without_the_option_a_response_template_tells_the_answer(make: Any) -> None:
    """The answer is found in the ids, which hold the reasoning that TRL's content lacks."""
    reward = ByAnswer({ANSWER: Verdict(0.25, spans=SPANS), "No.": Verdict(0.75)})
    trainer = make(reward, span_coef=2.0, **LONG)
    trainer._tokenizer.response_template = TEMPLATE
    output = batch_of(trainer, ["<think>Hm.</think>" + ANSWER, "No.", "No.", "No."] * 2)
    assert reward.judged == [ANSWER, "No.", "No.", "No."] * 2
    scalar, *others = dict.fromkeys(output["advantages"][0].tolist())
    assert min(others) < scalar < max(others)
    assert trainer._metrics["train"]["spans/unaligned_fraction"] == [0.0]


def test_no_answer_is_a_real_zero_for_which_no_judge_is_asked(make: Any) -> None:
    judge = FakeJudge()
    trainer = make(PoshReward(judge), span_coef=0.5, reasoning_end=END, **LONG)
    output = batch_of(trainer, ["<think>A red star", "A red star</think>\n\n "] * 4)
    found = [(verdict.status, verdict.score) for verdict in trainer.recorders[0].verdicts]
    assert found == [(Status.EMPTY, 0.0)] * 8
    assert judge.rated == judge.written == []
    assert output["advantages"].abs().max() == 0


def test_known_marks_need_no_setting(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The same scores, and the same tokens with the same advantages, as with `reasoning_end`."""
    data = scenes()
    references = [["A red star and a blue circle."]] * len(data)
    data = data.remove_columns("reference").add_column("reference", references)
    thought = "<think>A green kite? No.</think>"
    answers = ["A red star.", "A green star.", "A blue circle.", "A red circle."] * 2
    made = []
    for chosen in ({}, {"reasoning_end": END}):
        trainer = make(PoshReward("match"), data=data, span_coef=1.0, **LONG, **chosen)
        output = batch_of(trainer, [thought + answer for answer in answers])
        scores = [verdict.score for verdict in trainer.recorders[0].verdicts]
        made.append((scores, rows_of(trainer, output)))
    assert made[0] == made[1]
    assert len(set(scores)) > 1
    assert "most completions begin" not in caplog.text


@pytest.mark.parametrize(
    ("text", "special", "mark"),
    [
        ("[REASON]A red star?[/REASON]A star.", (), "[REASON]"),
        ("<plan>A red star?</plan>A star.", (), "<plan>"),
        ("\n{plan}A red star?{/plan}A star.", (), "{plan}"),
        ("<|channel|>analysis<|message|>A star?<|channel|>final<|message|>A star.", (), ""),
        ("<|channel|>analysis<|message|>A?<|channel|>final<|message|>A.", ("<|channel|>",), "<|channel|>analysis"),
        ("[THINK]A red star?[/THINK]A star.", ("[THINK]", "[/THINK]"), "[THINK]"),
        ("[THINK]A red star?[/THINK]A star.", (), ""),
        ("<think>A red star?</think>A star.", (), ""),
        ("<scratchpad>A red star?</scratchpad>A star.", (), ""),
        ("<answer>A red star.</answer>", (), ""),
        ("<caption>A red star.</caption>", (), ""),
        ("<ref>A red star</ref><box>(1,2),(3,4)</box>", (), ""),
        ("A red star.", (), ""),
        ("[1] A red star.", (), ""),
        ("", (), ""),
    ],
)  # fmt: skip
def test_an_unknown_mark_is_found(text: str, special: tuple[str, ...], mark: str) -> None:
    tokenizer = tiny_tokenizer().backend_tokenizer
    tokenizer.add_special_tokens(list(special))
    ids = []
    for each in (text, text, text, "A star.", ""):
        ids.append([*tokenizer.encode(each, add_special_tokens=False).ids, EOS])
    parts = [split_turns(tokenizer, row, [tokenizer.decode(row)]) for row in ids]
    assert unknown_mark(tokenizer, ids, parts) == mark
    assert unknown_mark(tokenizer, ids[2:], parts[2:]) == ""


def test_an_unknown_mark_is_named_once(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    trainer = make(PoshReward("match"), **LONG)
    for _ in range(2):
        batch_of(trainer, ["[REASON]Red?[/REASON]A red star."] * 8)
    assert caplog.text.count("completions begin with '[REASON]'") == 1
