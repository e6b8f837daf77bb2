"""The published code's own questions and scores (data/posh_oracle), reproduced; and our own
(tests/data/posh_oracle/own_*), written out from PoSh's specification without running this project.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmark.given_graphs import assess_graphs
from spanreward import PoshReward, Rating
from spanreward.rewards.judges.judge import RATING_SCALE
from spanreward.rewards.language.scene_graph import Entity, Relation, SceneGraph
from spanreward.rewards.posh.answer_sheet import AnswerSheet
from spanreward.rewards.posh.candidates import candidate_names
from spanreward.rewards.posh.components import rated_components
from spanreward.rewards.posh.conduct import ask_all_passes
from spanreward.rewards.posh.graph_view import view_graph
from spanreward.rewards.posh.interview import Interview
from spanreward.rewards.posh.prompts import DirectionPrompts, load_prompts
from spanreward.rewards.posh.scores import direction_score
from tests.support.fakes import FakeJudge, asked, prompt_of
from tests.support.judged import prompts_of, sample
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


def interviews_of(pair: dict) -> list[Interview]:
    prompts = load_prompts(pair["wording"])
    said, wanted = pair["generation"], pair["reference"]
    said_graph = SceneGraph.from_dict(pair["generation_graph"])
    wanted_graph = SceneGraph.from_dict(pair["reference_graph"])
    threshold = float(pair["presence_threshold"])
    precision, recall = prompts.precision, prompts.recall
    said_view, wanted_view = view_graph(said_graph), view_graph(wanted_graph)
    return [
        Interview(0, said_view, said, wanted, wanted_graph, precision, threshold),
        Interview(0, wanted_view, wanted, said, said_graph, recall, threshold),
    ]


def shortened(prompt: str) -> str:
    return hashlib.sha256(prompt.encode()).hexdigest()[:16]


@published
def test_the_oracle_is_complete() -> None:
    assert len(scored_pairs()) - len(OWN) == 15 + 12 + 15


@pytest.mark.parametrize("pair", scored_pairs(), ids=lambda pair: pair["id"])
def test_published_questions_and_scores(pair: Any) -> None:
    judge = FakeJudge()
    sheets = [AnswerSheet(interview) for interview in interviews_of(pair)]
    ask_all_passes(sheets, judge, "published")

    for direction, sheet in zip(DIRECTIONS, sheets, strict=True):
        interview = sheet.interview
        prompts = [prompt for prompt in prompts_of(judge) if prompt.startswith(interview.prefix)]
        if pair["prompts"] is not None:
            assert prompts == [text for text in pair["prompts"][direction] if DUMMY not in text]
        else:
            dummy = shortened(f"{interview.prefix}\n\n{DUMMY}\n\n{interview.wording.instructions}")
            wanted = [sha for sha in pair["prompt_sha256"][direction] if sha != dummy]
            assert [shortened(prompt) for prompt in prompts] == wanted
        entries = [entry for entry in pair["granular"] if entry["direction"] == direction]
        expected = [entry for entry in entries if entry["counted"]]
        got = rated_components(sheet)
        ratings = [component.rating for component in got]
        assert ratings == pytest.approx([entry["score"] for entry in expected], abs=1e-9)
        for component, entry in zip(got, expected, strict=True):
            assert (component.kind, component.asked) == (entry["type"], entry["asked"])
            if component.kind == "entity":
                assert component.identifier == entry["identifier"]
            # the published code loses those of capitalised attributes, and repeats some
            if entry["text_spans"]:
                assert set(component.spans) == {tuple(span) for span in entry["text_spans"]}
        assert direction_score(ratings) == pytest.approx(pair["coarse"][direction], abs=1e-9)

    written = [prompt for call in judge.written for prompt in call]
    assert written == [prompt for prompt, _ in pair["rewrites"]]
    assert judge.write(asked(*written), 20) == [text for _, text in pair["rewrites"]]


@pytest.mark.parametrize("threshold", [2.0, 3.0])
@pytest.mark.parametrize(
    "wording", [CONSTRUCTED, pytest.param(ORACLE, marks=published)], ids=["own", "published"]
)
def test_published_rewards_of_a_batch(threshold: float, wording: Path) -> None:
    chosen = (threshold, wording)
    pairs = [p for p in scored_pairs() if (p["presence_threshold"], p["wording"]) == chosen]
    assert pairs
    reward = PoshReward(
        FakeJudge(), prompts=wording, mode="published", presence_threshold=threshold
    )
    graphs = [SceneGraph.from_dict(pair["generation_graph"]) for pair in pairs]
    references = [[SceneGraph.from_dict(pair["reference_graph"])] for pair in pairs]
    verdicts = assess_graphs(
        reward,
        [sample(pair["generation"], pair["reference"]) for pair in pairs],
        graphs,
        references,
    )
    for pair, verdict in zip(pairs, verdicts, strict=True):
        found = {part: verdict.parts[part] for part in pair["coarse"]}
        assert found == pytest.approx(pair["coarse"], abs=1e-9)
        assert verdict.score == pytest.approx(pair["coarse"]["f1"], abs=1e-9)


def golden() -> list[dict]:
    runs = []
    for path in (CONSTRUCTED / "own_golden.json", ORACLE / "golden.json"):
        if path.is_file():
            runs += json.loads(path.read_text(encoding="utf-8"))["templating"]
    return runs


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
    """Hands out the golden ratings in the order of the questions; rewrites to the same words."""

    def __init__(self, ratings: list[float]) -> None:
        super().__init__()
        self.ratings = iter(ratings)

    def rate(self, questions: Any, scale: Any = RATING_SCALE) -> Any:
        self.rated.append([prompt_of(question) for question in questions])
        return [between(next(self.ratings)) for _ in questions]

    def write(self, questions: Any, max_tokens: Any) -> Any:
        return [prompt_of(question)[1:-1] for question in questions]


def between(mean: float) -> Rating:
    """A distribution on 1 and 5 with this mean."""
    return Rating({"1": (5 - mean) / 4, "5": (mean - 1) / 4})


@pytest.mark.parametrize("run", golden(), ids=range(len(golden())))
def test_golden_templating(run: Any) -> None:
    view = view_graph(SceneGraph.from_dict(run["graph"]))
    special = {n for n, entity in enumerate(view.entities) if entity.fixed is not None}
    questions = [question for stage in run["passes"] for question in stage["questions"]]
    questions = [question for question in questions if question.get("entity") not in special]
    judge = Listed([question["rating"] for question in questions])
    sheet = AnswerSheet(Interview(0, view, "", "", SceneGraph(), PLAIN))
    ask_all_passes([sheet], judge, "published")
    prompts = [prompt.strip() for prompt in prompts_of(judge)]
    assert len(prompts) == len(questions)
    named = [f"entity|{one['identifier']}" for one in questions if "identifier" in one]
    assert prompts[: len(named)] == named
    for number, chosen in run["chosen"].items():
        found = sheet.entities[int(number)]
        assert (found.present, found.identifier) == (chosen["present"], chosen["identifier"])
        assert found.rating == pytest.approx(chosen["score"], abs=1e-6)
    rated: dict[Any, float] = {}
    for one in run["passes"][2]["questions"]:
        if "attribute_of" in one:
            rated["attribute", one["attribute_of"], one["number"]] = one["rating"]
        elif "relation" in one:
            rated["relation", one["relation"]] = one["rating"]
    found_ratings = {key: answer.rating for key, answer in sheet.details.items()}
    assert found_ratings == pytest.approx(rated, abs=1e-6)
    ratings = [component.rating for component in rated_components(sheet)]
    assert direction_score(ratings) == pytest.approx(run["precision"], abs=1e-6)


def test_candidates_of_the_specification() -> None:
    """An example by hand: a red hat, worn by a present man, is the only hat."""
    man = Entity("man", ["man"], [0], [(2, 5)])
    hat = Entity("hat", ["hat"], [0], [(18, 21)], ["red"], {"red": [0]}, {"red": [(14, 17)]})
    view = view_graph(SceneGraph([man, hat], [Relation(0, 1, "wears", "verb", [0], [(6, 11)])]))
    sheet = AnswerSheet(Interview(0, view, "", "", SceneGraph(), PLAIN))
    ask_all_passes([sheet], FakeJudge(lambda prompt: between(5.0)), "published")
    found = sheet.entities
    names = [c.phrase for c in candidate_names(view, 1, {0: found[0]}, PLAIN)]
    assert names == ["hat", "hat of man", "red hat", "red hat of man"]
