"""The published code's own questions and scores (data/posh_oracle), reproduced; and answers of our
own, everywhere.

Our own (tests/data/posh_oracle/own_*) are small texts, whose graphs, questions and choices were
written out from PoSh's specification without running this project.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmark.given_graphs import assess_graphs
from spanreward import PoshReward, Rating, Sample
from spanreward.rewards.language.scene_graph import Entity, Relation, SceneGraph
from spanreward.rewards.posh.answer_sheet import AnswerSheet
from spanreward.rewards.posh.candidates import candidates
from spanreward.rewards.posh.components import components
from spanreward.rewards.posh.conduct import conduct
from spanreward.rewards.posh.graph_view import view_graph
from spanreward.rewards.posh.interview import Interview
from spanreward.rewards.posh.prompts import DirectionPrompts, load_prompts
from spanreward.rewards.posh.scores import direction_score
from tests.support.fakes import FakeJudge, asked, hashed_rating
from tests.support.parsed import CONSTRUCTED, ORACLE

published = pytest.mark.skipif(not ORACLE.is_dir(), reason=f"no published answers at {ORACLE}")
# asked by the published code for special entities; the answer is ignored
DUMMY = "Please respond with 'yes'."
DIRECTIONS = ("precision", "recall")


def records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


OWN = [{**pair, "wording": CONSTRUCTED} for pair in records(CONSTRUCTED / "own_scores.jsonl")]


def scored_pairs() -> list[dict]:
    if not ORACLE.is_dir():
        return OWN
    pairs = records(ORACLE / "scores.jsonl") + records(ORACLE / "scores_constructed.jsonl")
    texts = {pair["id"]: pair for pair in pairs}
    strict = [
        {**texts[pair["id"]], **pair, "prompts": None}
        for pair in records(ORACLE / "scores_threshold3.jsonl")
    ]
    return [*OWN, *({**pair, "wording": ORACLE} for pair in pairs + strict)]


def sample_of(pair: dict) -> Sample:
    return Sample(prompt="", completion=pair["generation"], references=(pair["reference"],))


def interviews_of(pair: dict, sample: int = 0) -> list[Interview]:
    prompts = load_prompts(pair["wording"])
    generation, reference = (
        SceneGraph.from_dict(pair[f"{side}_graph"]) for side in ("generation", "reference")
    )
    said, wanted, threshold = (
        pair["generation"],
        pair["reference"],
        float(pair["presence_threshold"]),
    )
    return [
        Interview(
            sample, view_graph(generation), said, wanted, reference, prompts.precision, threshold
        ),
        Interview(
            sample, view_graph(reference), wanted, said, generation, prompts.recall, threshold
        ),
    ]


def shortened(prompt: str) -> str:
    return hashlib.sha256(prompt.encode()).hexdigest()[:16]


@published
def test_the_oracle_is_complete() -> None:
    assert len(scored_pairs()) - len(OWN) == 15 + 12 + 15


@pytest.mark.parametrize("pair", OWN, ids=lambda pair: f"{pair['id']}-{pair['presence_threshold']}")
def test_our_own_answers_follow_from_their_questions(pair: Any) -> None:
    """No code of PoSh's is used: a question's hash is its rating, and a direction's score the mean
    of its ratings.
    """
    assert len(OWN) == 4
    for direction in DIRECTIONS:
        entries = [entry for entry in pair["granular"] if entry["direction"] == direction]
        for entry in entries:
            prompt = pair["prompts"][direction][entry["prompt"]] if entry["asked"] else None
            assert entry["score"] == pytest.approx(
                hashed_rating(prompt).mean if prompt else 1.0, abs=1e-12
            )
        ratings = [entry["score"] for entry in entries]
        assert pair["coarse"][direction] == pytest.approx(
            sum(ratings) / len(ratings) / 5, abs=1e-12
        )


@pytest.mark.parametrize(
    "pair", scored_pairs(), ids=lambda pair: f"{pair['id']}-{pair['presence_threshold']}"
)
def test_published_questions_and_scores(pair: Any) -> None:
    judge = FakeJudge()
    sheets = [AnswerSheet(interview) for interview in interviews_of(pair)]
    conduct(sheets, judge, "published")

    for direction, sheet in zip(DIRECTIONS, sheets, strict=True):
        interview = sheet.interview
        prompts = [
            prompt for call in judge.rated for prompt in call if prompt.startswith(interview.prefix)
        ]
        if pair["prompts"] is not None:
            assert prompts == [
                prompt for prompt in pair["prompts"][direction] if DUMMY not in prompt
            ]
        else:
            dummy = shortened(f"{interview.prefix}\n\n{DUMMY}\n\n{interview.wording.instructions}")
            expected = [sha for sha in pair["prompt_sha256"][direction] if sha != dummy]
            assert [shortened(prompt) for prompt in prompts] == expected
        expected = [
            entry
            for entry in pair["granular"]
            if entry["direction"] == direction and entry["counted"]
        ]
        got = components(sheet)
        assert [component.kind for component in got] == [entry["type"] for entry in expected]
        assert [c.rating for c in got] == pytest.approx(
            [entry["score"] for entry in expected], abs=1e-9
        )
        assert [c.asked for c in got] == [entry["asked"] for entry in expected]
        names = [c.identifier for c in got if c.kind == "entity"]
        assert names == [entry["identifier"] for entry in expected if entry["type"] == "entity"]
        for component, entry in zip(got, expected, strict=True):
            # the published code loses those of capitalised attributes, and repeats some
            if entry["text_spans"]:
                assert set(component.spans) == {tuple(span) for span in entry["text_spans"]}
        ratings = [component.rating for component in got]
        assert direction_score(ratings) == pytest.approx(pair["coarse"][direction], abs=1e-9)

    written = [prompt for call in judge.written for prompt in call]
    assert written == [prompt for prompt, _ in pair["rewrites"]]
    assert judge.write(asked(*written), 20) == [text for _, text in pair["rewrites"]]


@pytest.mark.parametrize("threshold", [2.0, 3.0])
@pytest.mark.parametrize(
    "wording", [CONSTRUCTED, pytest.param(ORACLE, marks=published)], ids=["own", "published"]
)
def test_published_rewards_of_a_batch(threshold: float, wording: Path) -> None:
    pairs = [
        p for p in scored_pairs() if (p["presence_threshold"], p["wording"]) == (threshold, wording)
    ]
    assert pairs
    reward = PoshReward(
        FakeJudge(), prompts=wording, mode="published", presence_threshold=threshold
    )
    graphs = [SceneGraph.from_dict(pair["generation_graph"]) for pair in pairs]
    references = [[SceneGraph.from_dict(pair["reference_graph"])] for pair in pairs]
    verdicts = assess_graphs(reward, [sample_of(pair) for pair in pairs], graphs, references)
    for pair, verdict in zip(pairs, verdicts, strict=True):
        assert {part: verdict.parts[part] for part in pair["coarse"]} == pytest.approx(
            pair["coarse"], abs=1e-9
        )
        assert verdict.score == pytest.approx(pair["coarse"]["f1"], abs=1e-9)


def golden() -> list[dict]:
    paths = [
        path for path in (CONSTRUCTED / "own_golden.json", ORACLE / "golden.json") if path.is_file()
    ]
    return [
        run for path in paths for run in json.loads(path.read_text(encoding="utf-8"))["templating"]
    ]


PLAIN = DirectionPrompts(
    prefix="",
    plain="{entity_text}",
    of_parent="{entity_text} of {parent_entity_identifier}",
    with_relation='{formatted_entity} with relation "{relation}"',
    ask_entity="entity|{entity_identifier}",
    ask_attribute="attribute|{entity_identifier}|{attribute}",
    ask_relation="relation|{entity1_identifier}|{entity2_identifier}|{relation}",
    rewrite_attribute='"{entity_identifier}"',
    rewrite_relation='"{entity_identifier}"',
    instructions="",
)


class Listed(FakeJudge):
    """Hands out the golden ratings in the order of the questions, and rewrites to the same
    words.
    """

    def __init__(self, ratings: list[float]) -> None:
        super().__init__()
        self.ratings = iter(ratings)

    def rate(self, questions: Any, scale: Any = ("1", "2", "3", "4", "5")) -> Any:
        self.rated.append([question.messages[0]["content"] for question in questions])
        return [between(next(self.ratings)) for _ in questions]

    def write(self, questions: Any, max_tokens: Any) -> Any:
        return [question.messages[0]["content"][1:-1] for question in questions]


def between(mean: float) -> Rating:
    """A distribution on 1 and 5 with this mean."""
    return Rating({"1": (5 - mean) / 4, "5": (mean - 1) / 4})


@pytest.mark.parametrize("run", golden(), ids=range(len(golden())))
def test_golden_templating(run: Any) -> None:
    graph = SceneGraph.from_dict(run["graph"])
    special = {
        number
        for number, entity in enumerate(view_graph(graph).entities)
        if entity.fixed is not None
    }
    questions = [
        q for stage in run["passes"] for q in stage["questions"] if q.get("entity") not in special
    ]
    judge = Listed([question["rating"] for question in questions])
    sheet = AnswerSheet(Interview(0, view_graph(graph), "", "", SceneGraph(), PLAIN))
    conduct([sheet], judge, "published")
    prompts = [prompt.strip() for call in judge.rated for prompt in call]
    assert len(prompts) == len(questions)
    expected = [
        f"entity|{question['identifier']}" for question in questions if "identifier" in question
    ]
    assert prompts[: len(expected)] == expected
    for number, chosen in run["chosen"].items():
        found = sheet.entities[int(number)]
        assert (found.present, found.identifier) == (chosen["present"], chosen["identifier"])
        assert found.rating == pytest.approx(chosen["score"], abs=1e-6)
    last = run["passes"][2]["questions"]
    rated = {
        ("attribute", q["attribute_of"], q["number"]): q["rating"]
        for q in last
        if "attribute_of" in q
    }
    rated |= {("relation", q["relation"]): q["rating"] for q in last if "relation" in q}
    assert {key: answer.rating for key, answer in sheet.details.items()} == pytest.approx(
        rated, abs=1e-6
    )
    ratings = [component.rating for component in components(sheet)]
    assert direction_score(ratings) == pytest.approx(run["precision"], abs=1e-6)


def test_candidates_of_the_specification() -> None:
    """An example by hand: a red hat, worn by a present man, is the only hat."""
    man = Entity("man", ["man"], [0], [(2, 5)])
    hat = Entity("hat", ["hat"], [0], [(18, 21)], ["red"], {"red": [0]}, {"red": [(14, 17)]})
    view = view_graph(SceneGraph([man, hat], [Relation(0, 1, "wears", "verb", [0], [(6, 11)])]))
    sheet = AnswerSheet(Interview(0, view, "", "", SceneGraph(), PLAIN))
    conduct([sheet], FakeJudge(lambda prompt: between(5.0)), "published")
    found = sheet.entities
    names = [c.phrase for c in candidates(view, 1, {0: found[0]}, PLAIN)]
    assert names == ["hat", "hat of man", "red hat", "red hat of man"]
