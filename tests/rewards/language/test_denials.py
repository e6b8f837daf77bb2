"""A denial is a claim: right, wrong or unknown."""

from typing import Any

import pytest

from experiments.scenes.referee_judge import RefereeJudge
from spanreward import MatchJudge, PoshReward, Sample, Span, Status, Verdict
from spanreward.rewards.language.parse import scene_graphs

REFERENCE = "A man wears a red hat beside a blue circle and a plate on the table. A dog sits. There is no cat."
POSH = PoshReward(MatchJudge())


def judged(completion: str, *references: str, reward: PoshReward = POSH) -> Verdict:
    return reward.assess([Sample("", completion, references=references or (REFERENCE,))])[0]


def denials(verdict: Verdict) -> list[Span]:
    return [span for span in verdict.spans if span.kind == "denial"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("There is no red hat.", ["no red hat"]),
        ("There isn't a plate on the table.", ["n't", "plate"]),
        ("There is no plate in the picture.", ["no plate"]),
        ("A man with no hat.", ["no hat"]),
        ("A man without a hat.", ["hat"]),
        ("The man has no hat.", ["no hat"]),
        ("The circle is not blue.", ["circle", "not blue"]),
        ("The dog is not there.", ["dog", "not"]),
        ("The plate is missing.", ["plate"]),
        ("No dog is visible.", ["No dog"]),
        ("The dog does not exist.", ["dog", "not"]),
    ],
)
def test_a_wrong_denial_costs_what_a_wrong_thing_costs(text: str, words: list[str]) -> None:
    said = f"A man. {text}"
    honest, wrong = judged("A man."), judged(said)
    assert [said[span.start : span.end] for span in denials(wrong)] == words
    assert all(span.score == 0.0 and span.credit < 0 for span in denials(wrong))
    assert wrong.parts["precision_denial"] == pytest.approx(0.2)
    assert wrong.parts["precision"] < honest.parts["precision"]


@pytest.mark.parametrize("text", [
    # it is the man's
    "There is no zebra.", "The circle is not red.", "There is no blue hat.", "A dog with no hat.",
    "There is no dog on the table.",  # a dog and a table are there
    "The dog is not on the table.", "Is there no dog?", "If there is no dog, it is quiet.",
    "Without doubt.",
])  # fmt: skip
def test_what_the_reference_leaves_open_is_no_component(text: str) -> None:
    assert denials(judged(f"A man. {text}")) == []


def test_a_right_denial_is_paid_once() -> None:
    (right,) = denials(judged("A man. There is no cat."))
    assert right.score == 1.0
    assert right.credit > 0
    (again,) = denials(judged("A man. There is no cat. There is no cat. There is no cat."))
    assert (again.start, again.end, again.score) == (right.start, right.end, 1.0)
    assert again.credit < right.credit  # what was just said is filler
    thrice = "There is no cat. There is no cat on the table. There is no cat by the dog."
    assert len(denials(judged(f"A man. {thrice}"))) == 1
    assert denials(judged("A man. There are no cats and no dogs."))[-1].score == 0.0


def test_denials_alone_name_nothing() -> None:
    verdict = judged("There is no cat.")
    assert (verdict.score, verdict.status) == (0.0, Status.EMPTY)


BOTH = "A red circle above a blue circle."


@pytest.mark.parametrize(("text", "references", "scores"), [
    # one reference that has the thing is enough
    ("A man. There is no hat.", ["A man.", "A man in a hat."], [0.0]),
    ("A man. There is no hat.", ["A man without a hat.", "A man in a hat."], [1.0]),
    # of several things of a name any may be meant
    ("The circle is not red.", [BOTH], []), ("There is no red circle. A circle.", [BOTH], [0.0]),
])  # fmt: skip
def test_denials_of_what_references_have(text: str, references: Any, scores: list[float]) -> None:
    assert [span.score for span in denials(judged(text, *references))] == scores


@pytest.mark.parametrize(
    ("denial", "is_wrong"),
    [
        ("There is no circle in the top left corner.", True),
        ("There is no blue circle.", False),
        ("There is no circle in the bottom left corner.", False),
        ("There is no red circle.", True),
    ],
)
def test_the_referee_looks_at_places(denial: str, is_wrong: bool) -> None:
    text, reference = "There is a red circle.", "There is a red circle in the top left corner."
    verdict = judged(f"{text} {denial}", reference, reward=PoshReward(RefereeJudge({})))
    assert bool(denials(verdict)) == is_wrong


def test_a_graph_names_the_thing_that_a_denial_denies_with_what_is_said_of_it() -> None:
    (graph,) = scene_graphs(["An old man without a red hat. There is no dog."])
    found = [(d.head, d.attributes, d.links) for d in graph.denials]
    assert found == [("hat", ["red"], [("part of", ["old", "man"])]), ("dog", [], [])]
