"""Only the named part of a completion is judged, and no spelling hides words from the judge."""

import time
from typing import Any

import pytest

from spanreward import JudgedReward, MatchJudge, PoshReward, Sample, Status, build_reward
from spanreward.rewards.base.unread import not_read
from spanreward.rewards.text.judged_part import judged_range
from spanreward.rewards.text.written import read_text
from tests.support.fakes import FakeJudge

PARTS = {
    ("<caption>A dog.</caption><answer>dog</answer>", "caption"): "A dog.",
    ("<caption>\n A dog. \n</caption>\n<answer>dog</answer>", "answer"): "dog",
    ('<Caption lang="en">A dog.</CAPTION>', "caption"): "A dog.",
    ("<caption>A dog.", "caption"): "A dog.",
    ('{"caption": "A dog.", "answer": "dog"}', "caption"): "A dog.",
    ('{"long caption": "A \\"red\\" dog."}', "long caption"): 'A \\"red\\" dog.',
    ("{'caption': 'A dog.'}", "caption"): "A dog.",
    ('{"caption": ["A dog.", "A cat."], "id": 3}', "caption"): '["A dog.", "A cat."]',
    ('{"caption": "A dog', "caption"): "A dog",
    ("Caption: A dog.\nAnswer: dog", "/Caption: (.*)/"): "A dog.",
    ("Caption: A dog.", "/A .*/"): "A dog.",
    # reasoning and other turns have no part
    ("<think><caption>A cat.</caption></think><caption>A dog.</caption>", "caption"): "A dog.",
    ("<caption>A cat.</think><caption>A dog.</caption>", "caption"): "A dog.",
    ("<caption>A dog.</caption></s><caption>A cat.</caption>", "caption"): "A dog.",
    # nothing hides between, before or within parts
    ("<caption>A</caption> B <caption>C</caption>", "caption"): "A</caption> B <caption>C",
    ("<caption>A <caption>B</caption> C</caption>", "caption"): "A <caption>B</caption> C",
    ("<caption>A</caption>B</caption>", "caption"): "A</caption>B",
    ('{"caption": "A", "caption": "B"}', "caption"): 'A", "caption": "B',
    ("Caption: A\nB\nCaption: C", "/Caption: (.*)/"): "A\nB\nCaption: C",
}  # fmt: skip


@pytest.mark.parametrize(("text", "part"), PARTS)
def test_a_part_is_found(text: str, part: str) -> None:
    place = judged_range(text, part)
    assert place
    assert text[slice(*place)] == PARTS[text, part]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("A dog.", "caption"),
        ("A dog.</caption>", "caption"),
        ("<captions>A dog.</captions>", "caption"),
        ("<think><caption>A dog.</caption>", "caption"),
        ("A dog.", "/Caption: (.*)/"),
        ("", "caption"),
    ],
)
def test_a_text_without_the_part_has_none(text: str, part: str) -> None:
    assert judged_range(text, part) is None


@pytest.mark.parametrize(
    "piece", ["<caption>", "<caption ", '"caption": "', '"caption": [', "</caption>"]
)
def test_time_is_linear(piece: str) -> None:
    start = time.process_time()
    judged_range(piece * (200_000 // len(piece)), "caption")
    assert time.process_time() - start < 5


TEXT = "<caption>A **red** kite flies.</caption> <answer>kite</answer>"
REFERENCE = "A red kite flies."


@pytest.mark.parametrize("mode", ["default", "published"])
def test_only_the_part_is_judged(mode: Any) -> None:
    text = TEXT if mode == "default" else TEXT.replace("**", "")
    reward = PoshReward(MatchJudge(), mode=mode, judged_part="caption")
    (verdict,) = reward.assess([Sample("", text, references=(REFERENCE,))])
    assert verdict.score == 1.0
    assert {"red", "kite"} <= {text[span.start : span.end] for span in verdict.spans}
    counts = {"outside the judged part": len("<caption></caption> <answer>kite</answer>")}
    counts |= {"Markdown": 4} if mode == "default" else {}
    assert not_read([(text, verdict.unread)]).unread == counts


@pytest.mark.parametrize("mode", ["default", "published"])
def test_a_completion_without_the_part_is_empty(mode: Any) -> None:
    reward = PoshReward(MatchJudge(), mode=mode, judged_part="caption")
    (verdict,) = reward.assess([Sample("", "A red kite flies.", references=(REFERENCE,))])
    assert (verdict.score, verdict.status) == (0.0, Status.EMPTY)
    assert verdict.note.endswith("no part 'caption'")
    (row,) = reward.assess([Sample("", "A red kite flies.")])
    if mode == "default":
        assert row.status is Status.NOT_APPLICABLE


@pytest.mark.parametrize("metric", ["posh", "harmonic", "criteria", "pairwise", "differences"])
def test_every_metric_that_reads_completions_takes_a_part(metric: str) -> None:
    reward: Any = build_reward(metric, MatchJudge(), {"judged_part": "caption"})
    assert reward.judged_part == "caption"
    with pytest.raises(ValueError, match="judged_part"):
        build_reward(metric, MatchJudge(), {"judged_part": "/(/"})


def test_a_judge_is_shown_the_part_alone() -> None:
    judge = FakeJudge()
    reward = JudgedReward(judge, "Rate: {completion}", judged_part="caption")
    reward.assess([Sample("", TEXT)])
    assert judge.rated == [["Rate: A red kite flies."]]


BESIDE = {
    TEXT: REFERENCE, "<description>A kite.</description>\n<answer>kite</answer>": "A kite.",
    "<answer>kite</answer><image_caption>A kite.</image_caption>": "A kite.",
    "<answer>A kite.</answer>": "A kite.",
    "<answer><caption>A kite.</caption> It flies.</answer>": "A kite. It flies.",
    "<caption></caption><answer>A kite.</answer>": "A kite.",
}  # fmt: skip


@pytest.mark.parametrize("text", BESIDE)
def test_an_answer_beside_a_description_is_no_part_of_it(text: str) -> None:
    assert " ".join(read_text(text).plain.split()) == BESIDE[text]


def test_an_answer_to_the_rows_question_is_read() -> None:
    assert read_text(TEXT, answers=True).plain.split()[-1] == "kite"
    judge = FakeJudge()
    reward = JudgedReward(judge, "Rate: {completion}")
    reward.assess([Sample("", TEXT, question="What flies?"), Sample("", TEXT)])
    assert [text.split()[-1] for text in judge.rated[0]] == ["kite", "flies."]
