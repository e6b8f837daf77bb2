"""A judge against people (MLLM-as-a-Judge, section 3): by hand, and stand-ins on files."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from PIL import Image

from experiments.agreement import judging_measures as measures
from experiments.agreement.caption_sets import load_flickr8k_expert, load_thumb
from experiments.agreement.judging import (
    CHUNK,
    MEAN,
    drawn,
    judge_pairs,
    judge_rankings,
    judge_scores,
    measure_pairs,
    measure_rankings,
    measure_scores,
)
from experiments.agreement.judging_biases import by_author, by_author_of_scores, by_error
from experiments.agreement.judging_sets import read_judging
from experiments.agreement.stand_in_judges import FirstJudge, LongerJudge
from experiments.labels.pair_statistics import pair_accuracies
from experiments.scenes.word_judge import WordJudge
from spanreward.rewards.base.verdict import Sample, Status
from spanreward.rewards.judges import CachedJudge
from spanreward.rewards.judges.judge import Failure, Question, Rating
from spanreward.rewards.pairwise import PairwiseReward
from tests.support.group_judges import GroupJudge
from tests.support.paths import DATA

fixture = pytest.mark.skipif(
    not (DATA / "mllm_judge_fixture").is_dir(), reason=f"the fixture is not at {DATA}"
)
PAIR = {"id": 1, "instruction": "Which fruit?", "human_answer": "A", "original_dataset": "coco"}
PAIR |= {
    "answer1": {"name": "x", "answer": "A lime, cut in two."},
    "answer2": {"name": "y", "answer": "Lime."},
}
SCORE = {"id": 1, "instruction": "Which fruit?", "name": "x", "answer": "A lime.", "human": "4"}
BATCH = {"id": 1, "instruction": "Which fruit?", "human": "BA"}
BATCH["answers"] = [
    {"name": "x", "answer": "A lime, cut in two."},
    {"name": "y", "answer": "Lime."},
]
PREFERENCE: dict[str, Any] = {
    "id": "a",
    "query": "Which fruit?",
    "response": ["A lime, cut.", "Lime."],
}
PREFERENCE |= {"human_ranking": [0, 1]}


def write(folder: Path, name: str, *rows: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_accuracies_by_hand() -> None:
    found = pair_accuracies([1, 0, -1, 1, 0, None], [1, 1, -1, -1, 0, 1])
    assert (found.same, found.read, found.with_ties) == (3, 5, 0.6)
    assert (found.right, found.decided, found.without_ties) == (2, 3, 2 / 3)
    nothing = pair_accuracies([0, None], [1, 1])
    assert (nothing.with_ties, nothing.without_ties) == (0, None)
    assert pair_accuracies([None], [1]).with_ties is None


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("ABCD", "ABCD", 0),
        ("ACBD", "ABCD", 0.5),
        ("DABC", "ABCD", 0.5),
        ("DCBA", "ABCD", 1),
        ("AB", "BA", 1),
    ],
)
def test_ranking_distances_by_hand(one: str, other: str, distance: float) -> None:
    assert measures.ranking_distance(one, other) == distance


@given(st.permutations(range(6)), st.permutations(range(6)))
def test_distances_are_symmetric_and_zero_of_equals(one: list[int], other: list[int]) -> None:
    distance = measures.ranking_distance(one, other)
    assert distance == measures.ranking_distance(other, one)
    assert (distance == 0) == (one == other)
    assert 0 <= distance <= 1


def test_consistency_by_hand() -> None:
    """Table 4: of six answers 4, 3 and 6 are alike; three of six are no majority."""
    answers = [list("AAAABC"), list("AAABBC"), list("AAAAAA"), []]
    assert measures.consistency(answers) == measures.Consistency((4 / 6 + 3 / 6 + 1) / 3, 2 / 3)
    assert measures.consistency([[]]) is None


def test_recall_and_f1_of_outcomes_by_hand() -> None:
    """People: three wins, one tie, one loss. The judge: win, win, loss; tie; win. Wins: recall 2/3,
    precision 2/3; the tie 1 and 1; the loss 0 and 0."""
    found = measures.class_agreement([1, 1, -1, 0, 1, None], [1, 1, 1, 0, -1, 1])
    assert found == measures.ClassAgreement(
        recall=pytest.approx((2 / 3 + 1 + 0) / 3), f1=pytest.approx((2 / 3 + 1 + 0) / 3)
    )
    # 1 and .5
    assert measures.class_agreement([0, 1], [1, 1]) == measures.ClassAgreement(
        recall=0.5, f1=pytest.approx(2 / 3)
    )
    assert measures.class_agreement([None], [1]) is None


def test_the_deviation_of_a_request_s_ratings_by_hand() -> None:
    assert measures.mean_absolute_deviation([[1.0, 3.0], [2.0, 2.0, 5.0], [4.0]]) == pytest.approx(
        (1 + 4 / 3) / 2
    )
    assert measures.mean_absolute_deviation([[4.0]]) is None


@fixture
def test_published_pairs_of_the_fixture_are_the_hand_counts() -> None:
    """People: A, B, tie. The answers have 28 and 38, 20 and 46, 59 and 58 words, so a judge of
    length is right on the second pair alone, and the reward of the first answers against the second
    ones is 0, 0, 1."""
    pairs = read_judging(DATA / "mllm_judge_fixture").pairs
    (found,) = measure_pairs(pairs, judge_pairs(LongerJudge(), pairs))
    assert (found.with_ties, found.without_ties, found.right, found.decided) == (1 / 3, 1 / 2, 1, 2)
    assert (found.recall, found.f1) == (1 / 3, pytest.approx((0 + 2 / 3 + 0) / 3))
    samples = []
    for pair in pairs:
        ask, (text, anchor) = pair.shown.request, pair.texts
        samples.append(Sample(ask, text, anchor=anchor, context="A photo.", question=ask))
    reward = PairwiseReward(LongerJudge(), anchor="anchor", mode="published")
    assert [verdict.score for verdict in reward.assess(samples)] == [0.0, 0.0, 1.0]


def test_the_share_of_the_longer_by_hand() -> None:
    lengths = [(5, 2), (5, 2), (1, 9), (9, 1), (9, 1), (4, 4)]
    assert measures.longer_share([1, -1, 1, 0, None, 1], lengths) == 1 / 3
    assert measures.longer_share([0], [(5, 2)]) is None


def test_repetitions_are_drawn_from_the_distribution() -> None:
    split, sure = Rating({"A": 0.5, "B": 0.5, "C": 0.0}), Rating({"A": 1.0, "B": 0.0, "C": 0.0})
    draws = drawn([split, sure, Failure(Status.TIMEOUT, "late")] * 300)
    assert draws == drawn([split, sure, Failure(Status.TIMEOUT, "late")] * 300)
    assert draws[1] == ["A"] * 6
    assert draws[2] == []
    counts = np.array([draw.count("A") for draw in draws[::3]])
    assert counts.mean() == pytest.approx(3, abs=0.25)
    found = measures.consistency(draws[::3])
    assert found is not None
    assert found.majority == pytest.approx(1 - 20 / 64, abs=0.08)  # 3 of 6 has no majority


@pytest.mark.skipif(
    not (DATA / "vl_rewardbench").is_dir(), reason=f"VL-RewardBench is not at {DATA}"
)
def test_slots_and_lengths_on_vl_rewardbench() -> None:
    """Its README: 99.68 % in one order, nothing decided in both; 33/89, 141/356 and 76/145."""
    pairs = read_judging(DATA / "vl_rewardbench").pairs
    assert len(pairs) == 625
    first, *_ = measure_pairs(pairs, judge_pairs(FirstJudge(), pairs))
    assert (first.right, first.decided, first.first_slot, first.orders_agree) == (0, 0, 1.0, 0.0)
    assert round(100 * (first.one_order or 0), 2) == 99.68
    _, general, hallucination, reasoning, mean = measure_pairs(
        pairs, judge_pairs(LongerJudge(), pairs)
    )
    expected = ["general", "hallucination", "reasoning"]
    assert [part.part for part in (general, hallucination, reasoning)] == expected
    assert (general.right, hallucination.right, reasoning.right) == (33, 141, 76)
    assert [general.decided, hallucination.decided, reasoning.decided] == [89, 356, 145]
    assert (general.longer, general.first_slot, general.orders_agree) == (1.0, 0.5, 1.0)
    assert (mean.part, mean.decided) == (MEAN, 89 + 356 + 145)
    assert mean.without_ties == pytest.approx((33 / 89 + 141 / 356 + 76 / 145) / 3)


@fixture
def test_the_published_format_is_read() -> None:
    found = read_judging(DATA / "mllm_judge_fixture")
    assert [text.people for text in found.scores] == [3, 2, 4, 3, 4]
    assert [pair.people for pair in found.pairs] == [1, -1, 0]
    assert [group.people for group in found.rankings] == [(0, 2, 1, 3)]
    assert found.rankings[0].authors == ("llava", "cogvlm", "gpt4", "gemini")
    (agreed,) = measure_rankings(found.rankings, judge_rankings(FirstJudge(), found.rankings))
    assert (agreed.distance, agreed.orders_agree, agreed.as_shown) == (0.5, 0.0, 1.0)


def test_scores_pairs_and_rankings_by_hand(tmp_path: Path) -> None:
    scores = [{**SCORE, "id": n, "answer": "word " * n, "human": n} for n in range(1, 6)]
    write(tmp_path, "score", *scores)
    write(tmp_path, "pair", *[{**PAIR, "id": n, "human_answer": "ABC"[n % 3]} for n in range(6)])
    write(tmp_path, "batch", *[{**BATCH, "id": n, "human": ("AB", "BA")[n % 2]} for n in range(4)])
    found = read_judging(tmp_path)
    judge = LongerJudge()
    (rated,) = measure_scores(found.scores, judge_scores(judge, found.scores))
    assert rated.pearson == pytest.approx(1.0)
    assert (rated.n, rated.mean_people, rated.length_people) == (5, 3, pytest.approx(1.0))
    (pairs,) = measure_pairs(found.pairs, judge_pairs(judge, found.pairs))
    expected = (1 / 3, 1 / 2, 1, 1 / 2)
    assert (pairs.with_ties, pairs.without_ties, pairs.longer, pairs.longer_people) == expected
    (rankings,) = measure_rankings(found.rankings, judge_rankings(judge, found.rankings))
    assert (rankings.distance, rankings.orders_agree) == (0.5, 1)


class Leaning(FirstJudge):
    """Prefers the first slot, unless the second text is longer by four words."""

    def worth(self, texts: Sequence[str]) -> list[float]:
        return [(3.5 * (place == 0) + len(text.split())) / 300 for place, text in enumerate(texts)]


def test_a_paper_s_average_is_of_sets_and_of_one_order(tmp_path: Path) -> None:
    """Set a: three pairs, the longer text first; people prefer it. Set b: one, the longer text
    second and preferred. The judge follows the slot but for a difference of four words, so both
    orders decide nothing for three words."""
    long, short = "one two three four five", "one two"
    answers = [("a", long, short, "A")] * 3
    answers += [("b", short, long, "B"), ("b", short, f"{long} six", "B")]
    rows = []
    for number, (part, *texts, people) in enumerate(answers):
        one, two = ({"name": name, "answer": text} for name, text in zip("xy", texts, strict=True))
        row = {**PAIR, "id": number, "original_dataset": part, "human_answer": people}
        rows.append({**row, "answer1": one, "answer2": two})
    pairs = read_judging(write(tmp_path, "pair", *rows)).pairs
    pooled, a, b, mean = measure_pairs(pairs, judge_pairs(Leaning(), pairs))
    expected = (1.0, 1.0, 0.0, None)
    assert (a.one_order, a.one_order_without_ties, a.with_ties, a.without_ties) == expected
    wanted = (0.5, 0.5, 0.5, 1.0)
    assert (b.one_order, b.one_order_without_ties, b.with_ties, b.without_ties) == wanted
    assert (pooled.one_order, mean.one_order) == (4 / 5, 3 / 4)
    # of both orders only what is sure is decided
    assert (pooled.without_ties, mean.without_ties) == (1.0, 1.0)
    assert (mean.part, mean.n, mean.with_ties, mean.interval) == (MEAN, 5, 0.25, None)


def test_rankings_in_one_order_and_under_the_authors_names(tmp_path: Path) -> None:
    row = {key: value for key, value in BATCH.items() if key != "human"}
    write(tmp_path, "Batch", {**row, "human_answer": "BA"})
    write(tmp_path, "score_lite", SCORE)
    (tmp_path / "image").mkdir()
    Image.new("RGB", (2, 2)).save(tmp_path / "image" / "7.jpg")
    write(tmp_path, "pair", {**PAIR, "image_path": "7.jpg"})
    found = read_judging(tmp_path)
    assert (len(found.scores), found.rankings[0].people) == (1, (1, 0))
    assert len(found.pairs[0].shown.images) == 1
    (agreed,) = measure_rankings(found.rankings, judge_rankings(FirstJudge(), found.rankings))
    assert (agreed.one_order, agreed.distance) == (1.0, 0.5)


def test_a_judge_that_favours_itself_is_seen(tmp_path: Path) -> None:
    """People find x and y alike; the judge prefers x's longer texts, which its row says."""
    rows = [{**PAIR, "id": n, "human_answer": "AB"[n % 2]} for n in range(8)]
    pairs = read_judging(write(tmp_path, "pair", *rows)).pairs
    own, other = by_author(pairs, judge_pairs(LongerJudge(), pairs))
    assert (own.author, own.n, own.judge, own.people, own.more) == ("x", 8, 1, 0.5, 0.5)
    assert own.interval is not None
    assert own.interval.low > 0
    assert other.more == -0.5
    write(tmp_path, "score", *[{**SCORE, "id": n, "human": 3} for n in range(3)])
    scores = read_judging(tmp_path).scores
    (favour,) = by_author_of_scores(scores, judge_scores(FirstJudge(), scores))
    assert (favour.judge, favour.people) == (pytest.approx(3), 3)


def test_mistakes_that_are_let_pass(tmp_path: Path) -> None:
    right = {**PREFERENCE, "human_error_analysis": ["hallucination"]}
    wrong = {"human_ranking": [1, 0], "human_error_analysis": ["hallucination", "others, x"]}
    rows = [*({**right, "id": n} for n in range(3)), {**PREFERENCE, "id": 3, **wrong}]
    pairs = read_judging(write(tmp_path, "preferences", *rows)).pairs
    hallucination, others = by_error(pairs, judge_pairs(LongerJudge(), pairs))
    assert (hallucination.n, hallucination.right, hallucination.preferred) == (4, 3, 0.25)
    assert (others.error, others.preferred) == ("others", 1.0)
    (undecided, _) = by_error(pairs, judge_pairs(FirstJudge(), pairs))
    assert (undecided.undecided, undecided.preferred) == (4, 0)


def test_failed_votes_are_counted_and_are_no_ties(tmp_path: Path) -> None:
    folder = write(tmp_path, "pair", *[{**PAIR, "id": n} for n in range(4)])
    write(tmp_path, "batch", BATCH)
    write(tmp_path, "score", SCORE)
    found = read_judging(folder)
    dead = GroupJudge(len, fails=lambda question: True)
    (pairs,) = measure_pairs(found.pairs, judge_pairs(dead, found.pairs))
    expected = (0, 4, None, None, None)
    assert (pairs.n, pairs.failed, pairs.with_ties, pairs.interval, pairs.majority) == expected
    (rankings,) = measure_rankings(found.rankings, judge_rankings(dead, found.rankings))
    assert (rankings.failed, rankings.distance) == (1, None)
    (scores,) = measure_scores(found.scores, judge_scores(dead, found.scores))
    assert (scores.failed, scores.pearson) == (1, None)


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("score", {"human": 6}, "'human' .* 1 to 5, got 6"),
        ("score", {"human": "good"}, "'human' .* 1 to 5, got 'good'"),
        ("score", {"answer": 3}, "'answer' holds 3, "),
        ("pair", {"human_answer": "D"}, "'human_answer' .*, got 'D'"),
        (
            "pair",
            {"answer1": {"name": "x"}},
            "'name' .* 'answer', got {'name': 'x'}",
        ),
        ("batch", {"human": "AC"}, "'human' ranks 2 .* AB, got 'AC'"),
        ("batch", {"answers": []}, "'human' ranks 0 .*, got 'BA'"),
        ("preferences", {"human_ranking": [0, 0]}, r"'human_ranking' 0 and 1, got \[0, 0\]"),
        ("preferences", {"query": None}, "'query' holds None, "),
    ],
)
def test_a_line_that_cannot_be_used_is_named(
    tmp_path: Path, name: str, change: dict[str, Any], sentence: str
) -> None:
    row = {"score": SCORE, "pair": PAIR, "batch": BATCH, "preferences": PREFERENCE}[name]
    folder = write(tmp_path, name, {**row, "id": 0}, {**row, **change})
    with pytest.raises(ValueError, match=rf"{name}\.jsonl line 2.*{sentence}"):
        read_judging(folder)


def test_folders_that_hold_nothing_or_something_twice(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none of score"):
        read_judging(tmp_path)
    with pytest.raises(ValueError, match=r"repeats line 1: .* pair, 1, x, y"):
        read_judging(write(tmp_path, "pair", PAIR, PAIR))


def test_a_picture_outside_the_folder_is_not_shown(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "set"):
        place.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4), "red").save(place / "a.png")
    names = ("a.png", "../a.png", "b.png")
    rows = [{**PAIR, "id": n, "image_path": name} for n, name in enumerate(names)]
    inside, outside, missing = read_judging(write(tmp_path / "set", "pair", *rows)).pairs
    assert len(inside.shown.images) == 1
    assert outside.shown.images == missing.shown.images == ()
    judge = GroupJudge(len)
    judge_pairs(judge, [missing])
    assert "you do not see" in judge.rated[0][0].messages[0]["content"]


class Mortal(GroupJudge):
    """Dies in its second call, as a server does."""

    def rate(
        self, questions: Sequence[Question], scale: Sequence[str] = ("1", "2", "3", "4", "5")
    ) -> Any:
        if len(self.rated) == 1:
            self.rated.append([])
            raise ConnectionError("the judge is gone")
        return super().rate(questions, scale)


def test_a_judge_that_dies_half_way_goes_on_and_is_asked_nothing_twice(tmp_path: Path) -> None:
    rows = [{**PAIR, "id": n, "instruction": f"Which is number {n}?"} for n in range(CHUNK + 10)]
    pairs = read_judging(write(tmp_path, "pair", *rows)).pairs
    mortal = Mortal(len)
    cached = CachedJudge(mortal, tmp_path / "ratings.sqlite")
    with pytest.raises(ConnectionError):
        judge_pairs(cached, pairs)
    votes = judge_pairs(CachedJudge(mortal, tmp_path / "ratings.sqlite"), pairs)
    calls = [len(call) for call in mortal.rated]
    harmless = [1, 1]  # once it raised: is it down, or is a row to blame?
    assert calls == [2 * CHUNK, 0, *harmless, 2 * 10]
    assert all(vote.outcome == 1 for vote in votes)
    again = GroupJudge(len)
    assert judge_pairs(CachedJudge(again, tmp_path / "ratings.sqlite"), pairs) == votes
    assert again.rated == []


def test_a_reward_whose_judge_died_asks_the_rest_only(tmp_path: Path) -> None:
    """Answers that came are remembered, those that failed are asked again."""
    late = True
    texts = ["A red circle above a star.", "A circle.", "A star and a red circle."]
    group = [Sample("Describe.", text, context="A red circle.") for text in texts]
    judge = GroupJudge(len, fails=lambda question: late and question.probe.first == texts[1])
    reward = PairwiseReward(CachedJudge(judge, tmp_path / "ratings.sqlite"))
    assert reward.assess(group)[1].status is Status.TIMEOUT
    late = False
    assert [verdict.status for verdict in reward.assess(group)] == [Status.OK] * 3
    assert [len(call) for call in judge.rated] == [6, 2]


PLANTED = {"thumb": 0.75, "flickr8k_expert": 0.85}


def planted_groups(name: str) -> list[list[tuple[str, float]]]:
    """Texts of one picture with what people give them, different texts and values."""
    groups = []
    if name == "thumb":
        for captions in load_thumb(DATA):
            groups.append([(one.text, one.ratings["human_score"]) for one in captions])
    else:
        for image in load_flickr8k_expert(DATA):
            groups.append([(text, sum(given)) for text, given in image.candidates])
    return groups


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.skipif(not (DATA / "thumb").is_dir(), reason=f"people's judgments are not at {DATA}")
def test_agreement_is_the_planted_one_in_pairs_and_batches(tmp_path: Path, name: str) -> None:
    """A judge that is right with a planted chance, in every order by itself: with ties, both orders
    decide accuracy^2 of the pairs rightly; without, the right ones of those that both orders decide
    alike."""
    accuracy, generator = PLANTED[name], random.Random(0)
    pairs, batches = [], []
    for number, group in enumerate(planted_groups(name)):
        ranked = sorted({value: text for text, value in group}.items(), reverse=True)
        texts = [text for _, text in ranked]
        entries = [{"name": "x", "answer": text} for text in texts]
        for better in range(len(texts) - 1):
            answers = {"answer1": entries[better], "answer2": {**entries[better + 1], "name": "y"}}
            row = {**PAIR, "id": f"{number} {better}", "instruction": f"{number}"}
            pairs.append({**row, **answers})
        if len(texts) > 1:
            row = {**BATCH, "id": number, "instruction": f"{number}", "answers": entries}
            batches.append({**row, "human": "ABCDEFGH"[: len(texts)]})
    write(tmp_path, "pair", *pairs)
    write(tmp_path, "batch", *batches)
    found = read_judging(tmp_path)
    place: dict[tuple[str, str], int] = {}
    for group_ in found.rankings:
        place |= {(group_.shown.request, text): n for n, text in enumerate(group_.texts)}

    class Planted(GroupJudge):
        def _rate(self, question: Question, scale: Sequence[str]) -> Rating | Failure:
            probe = question.probe
            better = place[probe.request, probe.first] < place[probe.request, probe.second]
            right = better == (generator.random() < accuracy)
            return Rating({"A": float(right), "B": float(not right), "C": 0.0})

        def _write(self, question: Question) -> str | Failure:
            places = [place[question.probe.request, text] for text in question.probe.texts]
            ranking = sorted(range(len(places)), key=places.__getitem__)
            if generator.random() > accuracy:
                ranking.reverse()
            return ", ".join(str(one + 1) for one in ranking)

    (agreed,) = measure_pairs(found.pairs, judge_pairs(Planted(len), found.pairs))
    assert agreed.one_order == pytest.approx(accuracy, abs=0.04)
    assert agreed.with_ties == pytest.approx(accuracy**2, abs=0.05)
    alike = accuracy**2 + (1 - accuracy) ** 2
    assert agreed.without_ties == pytest.approx(accuracy**2 / alike, abs=0.04)
    assert agreed.orders_agree == pytest.approx(alike, abs=0.05)
    (ranked_,) = measure_rankings(found.rankings, judge_rankings(Planted(len), found.rankings))
    reversed_ = [
        measures.ranking_distance(group.people[::-1], group.people) for group in found.rankings
    ]
    assert ranked_.distance == pytest.approx((1 - accuracy) * float(np.mean(reversed_)), abs=0.05)
    assert ranked_.orders_agree == pytest.approx(alike, abs=0.07)


def test_words_judge_by_the_context_of_a_line(tmp_path: Path) -> None:
    row = {**PAIR, "context": "A green lime lies on a tray.", "answer2": {"answer": "A red apple."}}
    row["answer1"] = {"name": "x", "answer": "A green lime is on a tray."}
    folder = write(tmp_path, "pair", row, {**PAIR, "id": 2})
    known, unknown = judge_pairs(WordJudge(), read_judging(folder).pairs)
    assert known.outcome == 1
    assert unknown.failure is not None
    assert "sees no pictures" in unknown.failure.message
