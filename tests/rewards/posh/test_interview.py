"""An interview asks and an answer sheet answers: what each knows of its pair of texts."""

from dataclasses import replace

import pytest

from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.posh.answer_sheet import AnswerSheet
from spanreward.rewards.posh.graph_view import view_graph
from spanreward.rewards.posh.interview import Interview
from spanreward.rewards.posh.prompts import DirectionPrompts, load_prompts

PROMPTS = load_prompts()
BOTH = replace(PROMPTS.precision, prefix="{source_text} | {target_text}")
VIEW = view_graph(SceneGraph())


@pytest.mark.parametrize(
    ("wording", "source", "target", "cut_text", "of_source"),
    [
        (BOTH, "A red dog.", "A cat.", "A red dog.", 7),
        (BOTH, "A dog.", "A red cat.", "A red cat.", 0),
        # our prompt shows the target alone
        (PROMPTS.precision, "A long description of a dog.", "A cat.", "A cat.", 0),
        (PROMPTS.recall, "A long description of a dog.", "A cat.", "A cat.", 0),
    ],
)
def test_the_longer_text_in_the_prompt_is_the_one_that_is_cut(
    wording: DirectionPrompts, source: str, target: str, cut_text: str, of_source: int
) -> None:
    interview = Interview(0, VIEW, source, target, SceneGraph(), wording)
    start, end = interview.description
    assert interview.quotes_source == (wording is BOTH)
    assert interview.prefix[start:end] == cut_text
    sheet = AnswerSheet(interview, cut=7)
    assert (sheet.cut_of(source=True), sheet.cut_of(source=False)) == (of_source, 7 - of_source)
