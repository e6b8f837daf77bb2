"""Votes on file: what their sources published, small folders by hand, and bad input."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from experiments.agreement.mllm_bench import SITUATIONS, TIE, UNABLE
from experiments.agreement.votes import VoteResults, measure_votes
from spanreward.rewards.comparison.resampling import Interval
from tests.support.paths import DATA
from tests.support.votes import iiw, mllm, wildvision, write_votes

present = pytest.mark.skipif(
    not (DATA / "mllm_bench").is_dir(), reason=f"published votes are not at {DATA}"
)
ONE, TWO = SITUATIONS

LEVELS = ["Perception/Remembering", "Understanding", "Applying", "Analyzing", "Evaluating"]
LEVELS += ["Creating"]
# MLLM-Bench, Table 5: wins/ties/losses by level, in the order of LEVELS, and the win rate.
TABLE_5 = {
    "claude-3-5-sonnet-20240620": ("67/0/3 106/4/0 56/2/2 90/8/2 38/1/1 39/0/1", 0.94),
    "gemini-1.5-flash-002": ("67/2/1 99/7/4 49/8/3 87/9/4 40/0/0 36/4/0", 0.90),
    "mistralai/pixtral-12b": ("55/8/7 88/8/14 46/7/7 72/14/14 32/2/6 36/1/3", 0.78),
    "qwen/qwen-2-vl-72b-instruct": ("49/5/16 78/15/17 40/10/10 72/7/21 32/2/6 32/1/7", 0.72),
    "meta-llama/llama-3.2-11b-vision-instruct": (
        "47/13/10 74/18/18 33/13/14 66/15/19 26/8/6 25/5/10",
        0.65,
    ),
    "microsoft/phi-3-medium-128k-instruct": (
        "8/12/50 11/19/80 14/14/32 26/18/56 6/9/25 17/3/20",
        0.20,
    ),
}


@pytest.fixture(scope="module")
def of() -> Any:
    """A folder's results, measured once."""
    known: dict[str, VoteResults] = {}

    def measure(name: str) -> VoteResults:
        if name not in known:
            known[name] = measure_votes(DATA / name)
        return known[name]

    return measure


def published(name: str, file: str) -> Any:
    return json.loads((DATA / name / file).read_text())


@present
def test_the_levels_of_mllm_bench_are_those_of_its_table(of: Any) -> None:
    models = of("mllm_bench").models
    assert set(models) == set(TABLE_5)
    for name, (cells, win_rate) in TABLE_5.items():
        assert " ".join("/".join(map(str, models[name].slices[level])) for level in LEVELS) == cells
        assert round(models[name].win_rate / 100, 2) == win_rate


@present
def test_the_capabilities_of_mllm_bench(of: Any) -> None:
    """Ten questions each of 42 (table 9); together they are the levels."""
    for model in of("mllm_bench").models.values():
        assert len(model.capabilities) == 42
        assert {sum(counts) for counts in model.capabilities.values()} == {10}
        levels, parts = (
            zip(*found.values(), strict=True) for found in (model.slices, model.capabilities)
        )
        assert list(map(sum, levels)) == list(map(sum, parts))


@present
def test_the_totals_of_mllm_bench_are_the_official_ones(of: Any) -> None:
    models = of("mllm_bench").to_json()["models"]
    for name, official in published("mllm_bench", "vote_results.json").items():
        total = official.pop("total")
        assert models[name]["counts"] == official
        score, interval = models[name]["score"], models[name]["interval"]
        assert score == models[name]["win_rate"] == pytest.approx(100 * official[name] / total)
        assert interval["low"] < score < interval["high"]
        assert models[name]["unreadable"] == 0


@present
def test_both_orders_of_mllm_bench(of: Any) -> None:
    results = of("mllm_bench")
    assert results.swap_consistency == pytest.approx(0.890, abs=5e-4)
    assert all(0.49 < model.first_slot < 0.54 for model in results.models.values())


@present
def test_wildvision_is_what_its_leaderboard_says(of: Any) -> None:
    models = of("wildvision_bench").to_json()["models"]
    official = published("wildvision_bench", "published.json")["models"]
    assert list(models) == list(official)
    for name, row in official.items():
        assert round(models[name]["score"], 2) == row["score"]
        for key in ("win_rate", "reward", "unreadable"):
            assert models[name][key] == row[key]
        assert models[name]["counts"] == {key: row[key] for key in models[name]["counts"]}


@present
def test_our_intervals_are_wider_than_those_that_draw_rows(of: Any) -> None:
    """Published ones draw rows: by question the standard error is 1.48 times that."""
    models = of("wildvision_bench").models
    official = published("wildvision_bench", "published.json")
    ratios = []
    for name, row in official["models"].items():
        if name != official["anchor"]:
            low, high = row["ci95"]
            ours = models[name].interval
            assert ours.low < row["score"] < ours.high
            ratios.append((ours.high - ours.low) / (high - low))
    assert sum(ratios) / len(ratios) == pytest.approx(1.48, abs=0.12)
    assert models[official["anchor"]].interval == Interval(50.0, 50.0)


@present
def test_unreadable_votes_of_wildvision_both_ways(of: Any) -> None:
    aria = of("wildvision_bench").models["aria"]
    assert aria.unreadable == 6
    assert (round(aria.score, 2), round(aria.treated["tie"], 2)) == (74.10, 73.90)
    assert aria.treated["loss"] < aria.treated["tie"] < aria.score < aria.treated["win"]
    models = dict(of("wildvision_bench").models)
    del models["claude-3-sonnet-20240229"]
    assert sum(model.unspoken for model in models.values()) + aria.unreadable == 113 - 7
    moved = [abs(model.without_unspoken - model.score) for model in models.values()]
    assert max(moved) == pytest.approx(0.29, abs=0.01)  # .295
    assert any("6 votes could not" in sentence for sentence in of("wildvision_bench").warnings)


@present
def test_net_preferences_of_imageinwords(of: Any) -> None:
    models = of("iiw_votes").models
    nets = {
        "DCI_Test / DCI": (60.7, 78.6, 37.5, 85.7, 82.1),
        "DOCCI_Test / DOCCI": (48, 70, 38, 80, 72),
        "IIW-400 / GPT-4V": (42, 56, 72, 74, 28),
        "IIW-400 / IIW-P5B": (74, 96, 74, 44, 54),
    }
    questions = ["Comprehensiveness", "Specificity", "Hallucination"]
    questions += ["First few line(s) as tldr", "Human Like"]
    official = published("iiw_votes", "published.json")["counts_of_this_part"]
    for comparison, values in nets.items():
        for question, value in zip(questions, values, strict=True):
            model = models[f"{comparison} / {question}"]
            assert round(model.score, 1) == value
            assert list(model.counts.values())[::-1] == official[comparison][question]


@present
def test_questions_on_one_example_are_drawn_together(of: Any) -> None:
    """Five questions on 56 descriptions: wider than the interval of 280 votes drawn singly."""
    together = of("iiw_votes").models["DCI_Test / DCI"]
    assert together.prompts == 56
    assert sum(together.counts.values()) == 280
    counts = together.counts
    share = 1 - counts["tie"] / 280
    of_rows = 2 * 1.96 * 100 * ((share - (together.score / 100) ** 2) / 280) ** 0.5
    assert together.interval.high - together.interval.low > 1.2 * of_rows


def test_a_small_folder_of_five_labels_by_hand(tmp_path: Path) -> None:
    labels = ["B>>A", "B>A", "A=B", "A>B", "A>>B", "B>A", None, "I think that both answers are …"]
    rows = [wildvision(f"q{number}", label) for number, label in enumerate(labels)]
    results = measure_votes(write_votes(tmp_path / "votes.jsonl", rows))
    model = results.models["m"]
    assert model.counts == {"much_better": 1, "better": 2, "tie": 3, "worse": 1, "much_worse": 1}
    assert model.unreadable == 2
    assert model.score == pytest.approx(100 * (3 + 2 + 0.5) / (3 + 2 + 1 + 1 + 3))
    assert model.win_rate == pytest.approx(100 * 3 / 8)
    assert model.reward == pytest.approx(100 * (2 + 2 - 1 - 2) / 16)
    assert model.treated == pytest.approx(
        {"tie": 100 * 6.5 / 12, "loss": 100 * 5.5 / 16, "win": 100 * 11.5 / 16}
    )
    assert model.interval.low < model.score < model.interval.high
    assert model.swap_consistency is None
    assert results.warnings[0].startswith("2 votes could not")
    assert "none 1, 'I think that both answers are …' 1" in results.warnings[0]
    assert "in one order only" in results.warnings[1]


def test_labels_that_the_source_filled_in_are_told(tmp_path: Path) -> None:
    rows = [
        wildvision("q0", "B>A"),
        wildvision("q1", "A>B"),
        wildvision("q2", "A=B", raw=None, judge_failed=True),
    ]
    model = measure_votes(write_votes(tmp_path / "votes.jsonl", rows)).models["m"]
    assert (model.unspoken, model.score, model.without_unspoken) == (1, 50.0, 50.0)
    rows[1]["score"] = rows[1]["raw"] = "B>A"
    model = measure_votes(write_votes(tmp_path / "votes.jsonl", rows)).models["m"]
    assert (round(model.score, 2), model.without_unspoken) == (83.33, 100.0)


def test_both_orders_of_five_labels_are_one_prompt(tmp_path: Path) -> None:
    """An always-first judge has an even score and a first slot of 1."""
    rows = [wildvision(f"q{number}", "A>B", order="anchor first") for number in range(20)]
    rows += [{**row, "order": "model first"} for row in rows]
    results = measure_votes(write_votes(tmp_path / "votes.jsonl", rows))
    model = results.models["m"]
    expected = (50.0, 1.0, 0.0, 20)
    assert (model.score, model.first_slot, model.swap_consistency, model.prompts) == expected
    assert model.interval == Interval(50.0, 50.0)
    assert not any("one order" in sentence for sentence in results.warnings)


def test_what_two_orders_decide_by_hand(tmp_path: Path) -> None:
    """Anchor first, then the model: Answer2 and Answer1 are two votes for the model."""
    votes = [
        ("Answer2", "Answer1", "m"),
        ("Answer1", "Answer2", "a"),
        ("Answer1", "Answer1", TIE),
        ("Answer2", "Answer2", TIE),
        (ONE, ONE, ONE),
        (TWO, TWO, TWO),
        (ONE, TWO, UNABLE),
        (UNABLE, UNABLE, UNABLE),
        (ONE, "Answer1", "m"),
        ("Answer1", TWO, "a"),
        ("answer2", " Answer1. ", "m"),  # as a judge may write it
    ]
    for number, (one, two, decided) in enumerate(votes):
        folder = write_votes(tmp_path / str(number) / "votes.jsonl", [mllm(0, one, two)])
        counts = measure_votes(folder).models["m"].counts
        assert {name: count for name, count in counts.items() if count} == {decided: 1}
    rows = [mllm(number, one, two) for number, (one, two, _) in enumerate(votes)]
    results = measure_votes(write_votes(tmp_path / "votes.jsonl", rows))
    model = results.models["m"]
    assert list(model.counts.values()) == [3, 2, 1, 1, 2, 2]
    assert model.score == model.win_rate == pytest.approx(100 * 3 / 11)
    assert model.swap_consistency == pytest.approx(6 / 11)
    assert "reward" not in results.to_json()["models"]["m"]


def test_an_unreadable_order_leaves_its_prompt_out(tmp_path: Path) -> None:
    votes = [("Answer2", "Answer1"), ("Answer2", "Answer1"), ("Answer2", None), (ONE, ONE)]
    rows = [mllm(number, *both) for number, both in enumerate(votes)]
    model = measure_votes(write_votes(tmp_path / "votes.jsonl", rows)).models["m"]
    assert (model.unreadable, sum(model.counts.values())) == (1, 3)
    assert model.score == pytest.approx(100 * 2 / 3)
    assert model.treated == pytest.approx({"tie": 50.0, "loss": 50.0, "win": 75.0})


def test_questions_give_levels_and_lengths(tmp_path: Path) -> None:
    rows = [mllm(number, "Answer2", "Answer1", answer="w " * (2 + number)) for number in range(12)]
    folder = write_votes(tmp_path / "votes.jsonl", rows)
    assert measure_votes(folder).models["m"].length is None
    question = {"level": "Applying", "anchor_model": "a", "anchor_answer": "w " * 8}
    questions = [{"id": number, **question} for number in range(12)]
    write_votes(tmp_path / "questions.jsonl", questions)
    model = measure_votes(folder).models["m"]
    assert model.slices == {"Applying": (12, 0, 0)}
    assert (model.length.raw, model.length.longer) == (1.0, 11 / 24)  # 6 to 10 words beside 8


def test_answers_in_words_by_hand(tmp_path: Path) -> None:
    answers = ["IIW is substantially better", "IIW is marginally better", "Neutral"]
    answers += ["DCI is marginally better"]
    rows = [iiw(f"e{number}", answer) for number, answer in enumerate(answers)]
    models = measure_votes(write_votes(tmp_path / "votes.jsonl", rows)).models
    assert list(models) == ["S / DCI / Hallucination", "S / DCI"]
    assert (models["S / DCI"].score, models["S / DCI"].reward) == (25.0, 25.0)
    assert list(models["S / DCI"].counts.values()) == [1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("votes", "win_rate", "interval", "warning"),
    [(["B>A"], 100.0, None, "m has 1 prompt"), (["A=B"] * 5, 0.0, 50.0, "m has no decided")],
)
def test_one_prompt_and_ties_alone_are_told(
    tmp_path: Path, votes: list[str], win_rate: float, interval: float | None, warning: str
) -> None:
    rows = [wildvision(f"q{number}", vote) for number, vote in enumerate(votes)]
    results = measure_votes(write_votes(tmp_path / "votes.jsonl", rows))
    model = results.to_json()["models"]["m"]
    assert (model["score"], model["win_rate"]) == ((100 + win_rate) / 2, win_rate)
    assert model["interval"] == {"low": interval, "high": interval}
    assert any(warning in sentence for sentence in results.warnings)


def test_a_model_without_a_readable_vote_has_no_score(tmp_path: Path) -> None:
    rows = [wildvision(f"q{n}", None) for n in range(3)]
    rows += [wildvision(f"q{n}", "B>A", model="n") for n in range(2)]
    results = measure_votes(write_votes(tmp_path / "votes.jsonl", rows))
    entry = results.to_json()["models"]["m"]
    expected = (None, 3, {"low": None, "high": None})
    assert (entry["score"], entry["unreadable"], entry["interval"]) == expected
    assert results.models["n"].score == 100.0
    assert any("n has votes on 2 of 3" in sentence for sentence in results.warnings)


def test_what_differs_from_the_published_is_told(tmp_path: Path) -> None:
    rows = [mllm(0, "Answer2", "Answer1"), mllm(1, ONE, ONE)]
    folder = write_votes(tmp_path / "votes.jsonl", rows)
    (folder / "vote_results.json").write_text(json.dumps({"m": {"m": 2, ONE: 1, "total": 2}}))
    (told,) = [one for one in measure_votes(folder).warnings if "published" in one]
    assert re.match("m: .* 2 as m, .* 1", told)


@present
@pytest.mark.parametrize("name", ["mllm_bench", "wildvision_bench"])
def test_the_published_counts_are_ours(of: Any, name: str) -> None:
    assert not any("its source published" in sentence for sentence in of(name).warnings)


def test_the_order_of_lines_does_not_matter(tmp_path: Path) -> None:
    labels = ["B>>A", "A>B", "A=B", "B>A", None] * 4
    rows = [wildvision(f"q{n}", label) for n, label in enumerate(labels)]
    one = measure_votes(write_votes(tmp_path / "a" / "votes.jsonl", rows)).models["m"]
    two = measure_votes(write_votes(tmp_path / "b" / "votes.jsonl", rows[::-1])).models["m"]
    assert (one.score, one.counts, one.treated) == (two.score, two.counts, two.treated)
    assert one.interval.low == pytest.approx(two.interval.low, abs=3)


GOOD = wildvision("q0", "B>A")
OTHER = {"answer1_is": "b", "vote": ONE}
BAD_INPUT = {
    "line 2 repeats line 1: .* q0, m, anchor first": [GOOD, GOOD],
    "line 3 repeats line 1: .* 0, m ": [mllm(0, ONE, ONE), mllm(1, ONE, ONE), mllm(0, ONE, ONE)],
    r"1 of 1 .* 'model_a' \(1 times\): .* B>>A, B>A": [wildvision("q0", "model_a")],
    r"'First' \(1 times\): .* Answer1, Answer2": [mllm(0, "First", "Second")],
    "line 1: order .*, got 'shuffled'": [{**GOOD, "order": "shuffled"}],
    "one anchor, got a, b": [GOOD, {**GOOD, "question_id": "q1", "anchor": "b"}],
    "line 1: 'model' holds 7.5": [{**GOOD, "model": 7.5}],
    "line 1: 'score' holds 3": [{**GOOD, "score": 3}],
    "m and a .* got a and a": [mllm(0, ONE, ONE, vote_order2={**OTHER, "answer1_is": "a"})],
    "one anchor, .* got a, b": [mllm(0, ONE, ONE), mllm(1, ONE, ONE, vote_order1=OTHER)],
    "line 1, vote_order1: .* got 1": [mllm(0, ONE, ONE, vote_order1={**OTHER, "vote": 1})],
    "line 1 .* no known layout: .* winner": [{"winner": "a"}],
    "is empty: ": [],
}


@pytest.mark.parametrize("sentence", BAD_INPUT, ids=range(len(BAD_INPUT)))
def test_bad_input_is_one_sentence(tmp_path: Path, sentence: str) -> None:
    folder = write_votes(tmp_path / "votes.jsonl", BAD_INPUT[sentence])
    with pytest.raises(ValueError, match=sentence) as error:
        measure_votes(folder)
    assert "\n" not in str(error.value)
