"""An interview asks and an answer sheet answers: what each knows of its pair of texts."""

from dataclasses import replace

import pytest

from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.posh.answer_sheet import AnswerSheet
from spanreward.rewards.posh.graph_view import view_graph
from spanreward.rewards.posh.interview import Interview
from spanreward.rewards.posh.prompts import load_prompts

WORDING = load_prompts().precision
BOTH = replace(WORDING, prefix="{source_text} | {target_text}")
VIEW = view_graph(SceneGraph())


@pytest.mark.parametrize(
    ("source", "target", "cut_text", "of_source"),
    [("A red dog.", "A cat.", "A red dog.", 7), ("A dog.", "A red cat.", "A red cat.", 0)],
)
def test_the_longer_text_in_the_prompt_is_the_one_that_is_cut(
    source: str, target: str, cut_text: str, of_source: int
) -> None:
    interview = Interview(0, VIEW, source, target, SceneGraph(), BOTH)
    start, end = interview.description
    assert interview.quotes_source
    assert interview.prefix[start:end] == cut_text
    sheet = AnswerSheet(interview, cut=7)
    assert (sheet.cut_of(source=True), sheet.cut_of(source=False)) == (of_source, 7 - of_source)


def test_our_prompt_shows_the_target_alone() -> None:
    interview = Interview(0, VIEW, "A long description of a dog.", "A cat.", SceneGraph(), WORDING)
    start, end = interview.description
    assert not interview.quotes_source
    assert interview.prefix[start:end] == "A cat."
    assert AnswerSheet(interview, cut=3).cut_of(source=True) == 0
