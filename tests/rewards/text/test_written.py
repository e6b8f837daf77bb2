"""One reading turns what a model wrote into plain text: markup goes, content stays, and characters
have origins.
"""

import time
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from experiments.field.texts import text_cases
from experiments.hacking.hostile_texts import CONTROL
from spanreward import HarmonicReward, MatchJudge, PoshReward, Sample
from spanreward.rewards.base.unread import not_read
from spanreward.rewards.reward.plain_text_reward import plain_sample
from spanreward.rewards.text.filler import is_degenerate
from spanreward.rewards.text.written import read_text
from spanreward.training.evaluation.answer_scores.answer import scores_without_reward

MARKUP = (
    *CONTROL, "</think>", "<b>", "</b>", "<br>", "<p>", "</p>", "<!--", "-->", "~~", "**", "*", "__", "_", "`",
    "```json\n", "```", "# ", "> ", "- ", "1. ", "Caption: ", "Sky:", "**Sky**: ", "\n", " ", "{", "}", "[", "]", "](",
    ")", "!", "[[1, 2, 3, 4]]", '{"caption": "', '"}', '", "objects": ["', '"', ",", "\\n", "\\", "\\boxed{", "\\u003c",
    "&lt;", "&amp;", "&", "|", "|---|\n", "<box>", "(1,2),(3,4)", "</box>", "<loc_12>", "<del>", "</del>", "<i hidden>",
    "</i>", "not", "a red circle", ".", "'", "~", "$", "---\n",
    "\\frac{", "\\sqrt", "\\pi", "\\(", "\\)", "^{", "$$", "\u2713 ", "\u2717 ", "\n2. ", "\n> 5", "5", "\\begin{a}",
    "x\n---\n", "=", "<", ">", "\u25c1think\u25b7", "\x00", "\ud83d",
)  # fmt: skip
PIECES = st.lists(st.one_of(st.sampled_from(MARKUP), st.text(max_size=3)), max_size=12)
TEXTS = st.one_of(st.text(), PIECES.map("".join))


@settings(max_examples=600, deadline=None)
@given(TEXTS)
@example("&lt;!-- There is no --&gt; red circle")
@example("<<b>b>x<<b>/b>")
def test_any_text_is_read_once_and_for_all(text: str) -> None:
    reading = read_text(text)
    assert len(reading.plain) == len(reading.origin)
    assert list(reading.origin) == sorted(reading.origin)
    assert all(0 <= place < len(text) for place in reading.origin)
    assert read_text(reading.plain).plain == reading.plain
    for number, (said, place) in enumerate(zip(reading.plain, reading.origin, strict=True)):
        start, end = reading.written(number, number + 1)
        assert start == place < end
        if unicodedata.category(said)[0] in "LN" and said != text[place]:
            assert text[place] in "\\&"  # an escape or an entity
    if reading.plain == text:
        assert reading.plain is text


@settings(max_examples=600, deadline=None)
@given(TEXTS)
@example("<<b>b>x<<b>/b> costs $5 & more")
def test_what_is_not_read_is_known(text: str) -> None:
    """Every visible character is read, or in one range of what is not; white space alone is no
    range.
    """
    reading = read_text(text)
    read = set()
    for character, place in zip(reading.plain, reading.origin, strict=True):
        if not character.isspace():
            read.add(place)
    end = 0
    unread: set[int] = set()
    for start, stop, kind in reading.unread:
        assert end <= start < stop
        assert kind
        assert text[start:stop] == text[start:stop].strip()
        unread.update(range(start, stop))
        end = stop
    assert not read & unread
    for place, character in enumerate(text):
        assert character.isspace() or place in read or place in unread


UNREAD = {
    "<think>A cat?</think>A **red** kite.</s>Why?": [
        ("reasoning", "<think>A cat?</think>"),
        ("Markdown", "**"),
        ("Markdown", "**"),
        ("special tokens", "</s>"),
        ("after the end", "Why?"),
    ],
    "It may be a cat.</think> A red kite.": [("reasoning", "It may be a cat.</think>")],
    "<|im_start|>user\nA dog.<|im_end|>\n<|im_start|>assistant\nA red kite.": [
        ("another's turn", "<|im_start|>user\nA dog."),
        ("special tokens", "<|im_end|>"),
        ("special tokens", "<|im_start|>assistant"),
    ],
    "A red kite<box>[[12, 30, 45, 60]]</box> flies <!-- low --><b>~~by~~</b>.": [
        ("boxes", "<box>[[12, 30, 45, 60]]</box>"),
        ("hidden text", "<!-- low -->"),
        ("HTML", "<b>"),
        ("hidden text", "~~by~~"),
        ("HTML", "</b>"),
    ],
    'Caption: \\boxed{A "red" kite}': [
        ("labels", "Caption:"),
        ("LaTeX", "\\boxed{"),
        ("LaTeX", "}"),
    ],
    '{"bbox": [1, 2, 3, 4], "not seen": "a kite"}': [
        ("JSON", "{"),
        ("boxes", '"bbox": [1, 2, 3, 4],'),
        ("JSON", '"'),
        ("JSON", ': "'),
        ("JSON", '"}'),
    ],
    "A red kite   \n\n": [],
}


@pytest.mark.parametrize("text", UNREAD)
def test_what_is_not_read_has_a_kind(text: str) -> None:
    unread = [(kind, text[start:end]) for start, end, kind in read_text(text).unread]
    assert unread == UNREAD[text]


@pytest.mark.parametrize("piece", MARKUP)
def test_time_is_linear(piece: str) -> None:
    start = time.process_time()
    read_text(piece * (100_000 // len(piece)))
    read_text('{"a": "<box ' + piece * (20_000 // len(piece)))
    assert time.process_time() - start < 10  # 4 at most here; what is quadratic takes minutes


SAID = "A red kite flies over a beach. Two children watch it."
PLAIN = (
    SAID,
    "2 < 3, a b_c, R&B, 5 * 3 = 15, #1 (a sign), 10:30: it's [sic] 50% - 60% ~ \u00fc \u4e2d\u6587",
    " a\nb\t\n",
    "",
)
SPELLED = (  # each says SAID
    "### Kite\n\nA red kite flies over a beach. Two children watch it.",
    "**Description**\n\n" + SAID,
    "<think>A dog?</think>\n\n<answer>\n" + SAID + "\n</answer>",
    "It may be a dog. </think>" + SAID,
    "[THINK]dog[/THINK]" + SAID,
    "<|channel|>analysis<|message|>A dog.<|end|><|start|>assistant<|channel|>final<|message|>"
    + SAID
    + "<|return|>",
    '```json\n{"image_caption": "A red kite flies over a beach.", "people": "Two children watch it."}\n```',
    '{"caption": "A red kite flies over a beach. Two children watch it.',
    "{'caption': 'A red kite flies over a beach. Two children watch it.'}",
    '[{"bbox_2d": [1, 2, 30, 40], "caption": "A red kite flies over a beach."}, {"caption": "Two children watch it."}]',
    "A <|object_ref_start|>red kite<|object_ref_end|><|box_start|>(1,2),(3,4)<|box_end|> flies "
    "over a beach. Two children watch it.",
    "A<phrase> red kite</phrase><object><patch_index_0044><patch_index_0863></object> flies over a "
    "beach. Two children watch it.",
    "A red kite<loc_12><loc_30><loc_45><loc_60> flies over a beach. Two children watch it.",
    "A red kite [0.1, 0.2, 0.3, 0.4] flies over a beach. Two children [[1, 2, 3, 4], [5, 6, 7, 8]] watch it.",
    'A <point x="61.5" y="40.2" alt="kite">red kite</point> flies over a beach. Two children watch '
    "it.",
    "Caption: A [red kite](https://a.b/c_d) flies over a beach.[^1] Two&nbsp;children watch&#32;it.",
    "> A red kite flies over a beach.\n> ---\n> 1) Two children watch it.<end_of_utterance>",
    "\\boxed{\\text{A red kite flies over a beach. Two children watch it.}}",
    "A red kite flies over a beach.<br/>Two children watch it.<\uff5cend\u2581of\u2581sentence\uff5c>",
    "<ul><li>A red kite flies over a beach.</li><li>Two children watch it.</li></ul>",
    "A red kite flies over a beach. Two children **watch it.",
    f"Sure! Here's a caption for the image:\n\n{SAID}",
    f"<h2>Description</h2><p>{SAID}</p>",
    f"Description\n===========\n{SAID}",
    "A red kite <click>12, 30</click> flies over a beach. (x1: 12, y1: 30, x2: 45, y2: 60) Two children watch it.",
    "A red kite flies over a beach.\\n\\nTwo children watch it.",
)
SHOWN = {  # what a reader is shown is judged, and what he is not shown is not
    "There is n**o**t a red circle.": "There is not a red circle.",
    "There is n<i></i>o<!-- --> red circle.": "There is no red circle.",
    '<span title="There is no">A red circle.</span>': "A red circle.",
    "<!-- There is no -->A red circle.": "A red circle.",
    "A red circle. <!-- A dog.": "A red circle.",
    "~~A dog.~~ <del>A cat.</del> A red circle.": "A red circle.",
    '<p style="display: none">A dog.</p>A red circle.': "A red circle.",
    "<script>A dog.</script><i hidden>A cat.</i>A red circle.": "A red circle.",
    "[There is no](a-dog.html) red circle.": "There is no red circle.",
    "![A dog.](a.png) A red circle.": "A red circle.",
    "# Not in the picture\nA red circle.": "Not in the picture\nA red circle.",
    "Not in the picture: a red circle.": "Not in the picture: a red circle.",
    '{"not in the picture": "a red circle"}': "not in the picture: a red circle",
    '{"not_visible": ["a red circle", "a dog"]}': "not_visible: a red circle, a dog",
    "<details><summary>There is no</summary>red circle.</details>": "There is no\nred circle.",
    "<box>There is no</box> red circle.": "There is no red circle.",
    "&lt;!-- There is no --&gt; red circle": "  -- There is no --  red circle",
    "<<i>!-- There is no --> red circle": "  -- There is no --  red circle",
    "\\u003c!-- There is no --\\u003e red circle": "  -- There is no --  red circle",
    "There is no<b <!-- red circle": "There is no<b",
    "A red circle. <think>A dog.": "A red circle.",
}


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_text_is_itself(text: str) -> None:
    assert read_text(text).plain is text


@pytest.mark.parametrize("text", SPELLED)
def test_one_content_however_it_is_marked_up(text: str) -> None:
    assert " ".join(read_text(text).plain.split()) == SAID


@pytest.mark.parametrize("text", SHOWN)
def test_what_a_reader_is_shown_is_judged(text: str) -> None:
    assert read_text(text).plain == SHOWN[text]


def test_the_cases_from_the_field() -> None:
    """Each is worth what its plain text is worth, and no honest word is filler (a last word before
    `."}`).
    """
    for case in text_cases(PoshReward(MatchJudge())):
        assert case.score == pytest.approx(case.wanted)
        assert case.score == 1.0 or "wrong" in case.name
        assert "filler" not in case.kinds


WRITTEN = "<think>A dog.</think>## Caption\n\n**A blue circle** is above a <b>red</b> square.</s>"


def test_spans_lie_on_what_was_written() -> None:
    reference = "<answer>A **red** circle is above a red square.</answer>"
    sample = Sample("", WRITTEN, references=("A dog.", reference))
    (verdict,) = PoshReward(MatchJudge()).assess([sample])
    (plain,) = PoshReward(MatchJudge()).assess([plain_sample(sample)])
    assert plain.score == verdict.score
    said = plain_sample(sample).completion
    pairs = list(zip(plain.spans, verdict.spans, strict=True))
    assert all(said[one.start : one.end] == WRITTEN[two.start : two.end] for one, two in pairs)
    assert {reference[span.start : span.end] for span in verdict.missed} >= {"red"}
    (published,) = PoshReward(MatchJudge(), mode="published").assess([sample])
    assert published.score != verdict.score


def test_a_verdict_says_what_was_not_read() -> None:
    sample = Sample("", WRITTEN, references=("A dog.",))
    (verdict,) = PoshReward(MatchJudge()).assess([sample])
    counts = {"reasoning": 21, "labels": 10, "Markdown": 4, "HTML": 7, "special tokens": 4}
    assert not_read([(WRITTEN, verdict.unread)]).unread == counts
    first = verdict.unread[0]
    assert WRITTEN[first.start : first.end] == "<think>A dog.</think>"
    (published,) = PoshReward(MatchJudge(), mode="published").assess([sample])
    assert published.unread == ()


def test_no_markup_reaches_a_judge() -> None:
    judge = Noting()
    sample = Sample("", WRITTEN, references=(WRITTEN,), context=WRITTEN)
    for reward in (PoshReward(judge), HarmonicReward(judge, evidence="context")):
        reward.assess([sample])
    assert judge.asked
    assert not [
        prompt for prompt in judge.asked if "**" in prompt or "dog" in prompt or "<" in prompt
    ]


class Noting(MatchJudge):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def rate(self, questions: Any, scale: Any = ("1", "2", "3", "4", "5")) -> Any:
        self.asked += [question.messages[0]["content"] for question in questions]
        return super().rate(questions, scale)


def test_unread_text_is_counted_without_markup() -> None:
    (verdict,) = PoshReward(MatchJudge()).assess(
        [Sample("", f"<p>{'A red circle. ' * 1000}", references=("A dog.",))]
    )
    (unread,) = (span for span in verdict.spans if span.kind == "unread")
    assert unread.start == 10_003
    assert "past 10000 characters" in unread.note
    assert unread.note.endswith("the plain text")
    assert verdict.note.endswith("the plain text")


def test_measures_without_a_judge_read_the_same_text() -> None:
    marked = Sample(
        "", "<p>" * 40 + "A **dog** sleeps.</s>", references=("<answer>A dog sleeps.</answer>",)
    )
    assert scores_without_reward(marked, None, 99) == scores_without_reward(
        plain_sample(marked), None, 99
    )
    assert scores_without_reward(marked, None, 99)["overlap"] == 1.0
    assert not is_degenerate(marked)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("x<sup>8</sup>", "x\u2078"),
        ("x<sub>8</sub>", "x\u2088"),
        ("Na<sup>+</sup>", "Na\u207a"),
        ("the 1<sup>st</sup> door", "the 1st door"),
        ("\ufeff9-", "9-"),
        ("75-69\u2060", "75-69"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        ("$II$", "II"),
        ("$$Nf3?$$", "Nf3?"),
        ("$\\$4.60$", "$4.60"),
        ("It costs $5 or $6.", "It costs $5 or $6."),
        ("| 3 |\n| :-: |", "3"),
        ("<answer> C: </answer>", "C:"),
        ("<answer> \u2657 </answer>", "\u2657"),
        ("the kite in <image_2>", "the kite in picture 2"),
        ("<image_1>\nA dog.", "A dog."),
    ],
)
def test_what_means_something_stays_when_its_markup_goes(text: str, plain: str) -> None:
    assert read_text(text).plain == plain
    assert read_text(plain).plain == plain
