"""Only the named part of a completion is judged, and no spelling hides words from the judge."""

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
    # texts without the part
    ("A dog.", "caption"): None, ("A dog.</caption>", "caption"): None, ("", "caption"): None,
    ("<captions>A dog.</captions>", "caption"): None,
    ("<think><caption>A dog.</caption>", "caption"): None, ("A dog.", "/Caption: (.*)/"): None,
}  # fmt: skip


@pytest.mark.parametrize(("text", "part"), PARTS)
def test_a_part_is_found(text: str, part: str) -> None:
    place = judged_range(text, part)
    assert (place and text[slice(*place)]) == PARTS[text, part]


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
    without = [Sample("", REFERENCE, references=(REFERENCE,)), Sample("", REFERENCE)]
    verdict, row = reward.assess(without)
    assert (verdict.score, verdict.status) == (0.0, Status.EMPTY)
    assert mode == "published" or row.status is Status.NOT_APPLICABLE


@pytest.mark.parametrize("metric", ["posh", "harmonic", "criteria", "pairwise", "differences"])
def test_every_metric_that_reads_completions_takes_a_part(metric: str) -> None:
    reward: Any = build_reward(metric, MatchJudge(), {"judged_part": "caption"})
    assert reward.judged_part == "caption"


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


def test_a_judge_is_shown_the_part_alone_and_an_answer_to_the_rows_question() -> None:
    samples = [Sample("", TEXT, question="What flies?"), Sample("", TEXT)]
    for part, expected in ((None, ["kite", "flies."]), ("caption", ["flies."])):
        judge = FakeJudge()
        JudgedReward(judge, "Rate: {completion}", judged_part=part).assess(samples)
        assert [text.split()[-1] for text in judge.rated[0]] == expected
    assert judge.rated == [["Rate: A red kite flies."]]
