"""A denial is a claim: right, wrong or unknown."""

import json

import pytest

from experiments.scenes.referee_judge import RefereeJudge
from spanreward import MatchJudge, PoshReward, Sample, Span, Status, Verdict
from spanreward.rewards.language.parse import describe
from spanreward.rewards.language.scene_graph import SceneGraph

REFERENCE = "A man wears a red hat beside a blue circle and a plate on the table. A dog sits. There is no cat."
POSH = PoshReward(MatchJudge())


def judged(completion: str, *references: str) -> Verdict:
    return POSH.assess([Sample("", completion, references=references or (REFERENCE,))])[0]


def denials(verdict: Verdict) -> list[Span]:
    return [span for span in verdict.spans if span.kind == "denial"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("There is no red hat.", ["no red hat"]),
        ("There isn't a plate on the table.", ["n't", "plate"]),
        ("There is no plate in the picture.", ["no plate"]), ("A man with no hat.", ["no hat"]),
        ("A man without a hat.", ["hat"]), ("The man has no hat.", ["no hat"]),
        ("The circle is not blue.", ["circle", "not blue"]),
        ("The dog is not there.", ["dog", "not"]), ("The plate is missing.", ["plate"]),
        ("No dog is visible.", ["No dog"]), ("The dog does not exist.", ["dog", "not"]),
    ],
)  # fmt: skip
def test_a_wrong_denial_costs_what_a_wrong_thing_costs(text: str, words: list[str]) -> None:
    honest, wrong = judged("A man."), judged(f"A man. {text}")
    said = f"A man. {text}"
    assert [said[span.start : span.end] for span in denials(wrong)] == words
    assert all(span.score == 0.0 and span.credit < 0 for span in denials(wrong))
    assert wrong.parts["precision_denial"] == pytest.approx(0.2)
    assert wrong.parts["precision"] < honest.parts["precision"]


@pytest.mark.parametrize(
    "text",
    [
        "There is no zebra.", "The circle is not red.", "There is no blue hat.",
        "A dog with no hat.",  # it is the man's
        "There is no dog on the table.", "The dog is not on the table.",  # a dog and a table are there
        "Is there no dog?", "If there is no dog, it is quiet.", "Without doubt.",
    ],
)  # fmt: skip
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


def test_one_reference_that_has_the_thing_is_enough() -> None:
    for other, score in (("A man.", 0.0), ("A man without a hat.", 1.0)):
        found = denials(judged("A man. There is no hat.", other, "A man in a hat."))
        assert found[0].score == score


def test_of_several_things_of_a_name_any_may_be_meant() -> None:
    both = "A red circle above a blue circle."
    assert denials(judged("The circle is not red.", both)) == []
    assert denials(judged("There is no red circle. A circle.", both))[0].score == 0.0


def test_the_referee_looks_at_places() -> None:
    reward = PoshReward(RefereeJudge({}))
    reference = ("There is a red circle in the top left corner.",)
    texts = {
        "There is a red circle. There is no circle in the top left corner.": 1,
        "There is a red circle. There is no circle in the bottom left corner.": 0,
        "There is a red circle. There is no blue circle.": 0,
        "There is a red circle. There is no red circle.": 1,
    }
    verdicts = reward.assess([Sample("", text, references=reference) for text in texts])
    assert [bool(denials(verdict)) for verdict in verdicts] == [
        bool(wrong) for wrong in texts.values()
    ]


def test_published_mode_reads_no_denial() -> None:
    reward = PoshReward(MatchJudge(), mode="published")
    (verdict,) = reward.assess([Sample("", "A man. There is no dog.", references=(REFERENCE,))])
    assert denials(verdict) == []


def test_graphs_keep_denials_through_json() -> None:
    (graph,) = describe(["An old man without a red hat. There is no dog."])
    found = [(d.head, d.attributes, d.links) for d in graph.denials]
    assert found == [("hat", ["red"], [("part of", ["old", "man"])]), ("dog", [], [])]
    assert SceneGraph.from_dict(json.loads(json.dumps(graph.to_dict()))) == graph
    (plain,) = describe(["A dog."])
    assert "denials" not in plain.to_dict()
