"""One reading turns what a model wrote into plain text, whose characters have origins."""

import unicodedata

import pytest
from hypothesis import example, given, settings, strategies as st

from experiments.field.texts import text_cases
from experiments.hacking.hostile_texts import CONTROL
from spanreward import HarmonicReward, MatchJudge, PoshReward, Sample
from spanreward.rewards.base.unread import not_read
from spanreward.rewards.reward.plain_text_reward import plain_sample
from spanreward.rewards.text.written import read_text
from spanreward.training.evaluation.answer_scores.answer import scores_without_reward
from tests.support.fakes import FakeJudge

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
@example("<<b>b>x<<b>/b> costs $5 & more")
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
    # every visible character is read, or in one range of what is not
    spoken = zip(reading.plain, reading.origin, strict=True)
    read = {place for character, place in spoken if not character.isspace()}
    unread: set[int] = set()
    end = 0
    for start, stop, kind in reading.unread:
        assert end <= start < stop
        assert kind
        assert text[start:stop] == text[start:stop].strip()
        unread.update(range(start, stop))
        end = stop
    assert not read & unread
    visible = {place for place, character in enumerate(text) if not character.isspace()}
    assert visible <= read | unread


def test_the_cases_from_the_field() -> None:
    """Each is worth what its plain text is worth, and no honest word is filler."""
    for case in text_cases(PoshReward(MatchJudge())):
        assert case.score == pytest.approx(case.wanted)
        assert case.score == 1.0 or "wrong" in case.name
        assert "filler" not in case.kinds


WRITTEN = "<think>A dog.</think>## Caption\n\n**A blue circle** is above a <b>red</b> square.</s>"


def test_spans_lie_on_what_was_written_and_a_verdict_says_what_was_not_read() -> None:
    reference = "<answer>A **red** circle is above a red square.</answer>"
    sample = Sample("", WRITTEN, references=("A dog.", reference))
    (verdict,) = PoshReward(MatchJudge()).assess([sample])
    (plain,) = PoshReward(MatchJudge()).assess([plain_sample(sample)])
    assert plain.score == verdict.score
    said = plain_sample(sample).completion
    pairs = list(zip(plain.spans, verdict.spans, strict=True))
    assert all(said[one.start : one.end] == WRITTEN[two.start : two.end] for one, two in pairs)
    assert {reference[span.start : span.end] for span in verdict.missed} >= {"red"}
    counts = {"reasoning": 21, "labels": 10, "Markdown": 4, "HTML": 7, "special tokens": 4}
    assert not_read([(WRITTEN, verdict.unread)]).unread == counts
    first = verdict.unread[0]
    assert WRITTEN[first.start : first.end] == "<think>A dog.</think>"
    (published,) = PoshReward(MatchJudge(), mode="published").assess([sample])
    assert published.score != verdict.score
    assert published.unread == ()


def test_no_markup_reaches_a_judge() -> None:
    judge = FakeJudge()
    sample = Sample("", WRITTEN, references=(WRITTEN,), context=WRITTEN)
    for reward in (PoshReward(judge), HarmonicReward(judge, evidence="context")):
        reward.assess([sample])
    asked = "".join(prompt for call in judge.rated for prompt in call)
    assert asked
    assert not [mark for mark in ("**", "dog", "<") if mark in asked]


def test_unread_text_is_counted_without_markup() -> None:
    sample = Sample("", f"<p>{'A red circle. ' * 1000}", references=("A dog.",))
    (verdict,) = PoshReward(MatchJudge()).assess([sample])
    (unread,) = (span for span in verdict.spans if span.kind == "unread")
    assert unread.start == 10_003
    assert verdict.note.endswith("the plain text")


def test_measures_without_a_judge_read_the_same_text() -> None:
    text = "<p>" * 40 + "A **dog** sleeps.</s>"
    marked = Sample("", text, references=("<answer>A dog sleeps.</answer>",))
    scores, plain = (scores_without_reward(row, None, 99) for row in (marked, plain_sample(marked)))
    assert scores == plain
    assert scores["overlap"] == 1.0
