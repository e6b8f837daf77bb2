"""LAVE against people: statistics by hand, small sets, and the floors of the data's README."""

import json
from math import isnan
from pathlib import Path

import pytest

from experiments.agreement import answer_sets, answers
from spanreward.rewards import LaveReward, MatchJudge
from tests.support.fakes import FakeJudge
from tests.support.paths import DATA

present = pytest.mark.skipif(
    not (DATA / "evouna_nq").is_dir(), reason=f"people's judgments are not at {DATA}"
)


def test_cohen_kappa_by_hand() -> None:
    # 3 of 5 agree; chance is 3/5 * 3/5 + 2/5 * 2/5 = 0.52
    one, other = [True, True, True, False, False], [True, True, False, False, True]
    assert answers.cohen_kappa(one, other) == pytest.approx(0.08 / 0.48)
    assert answers.cohen_kappa([True, False], [True, False]) == 1.0
    assert answers.cohen_kappa([True, False], [False, True]) == -1.0
    assert isnan(answers.cohen_kappa([True], [True]))


def test_measures_by_hand() -> None:
    units = [
        # a half is not right
        [
            answers.Scored(True, {"m": 1.0}),
            answers.Scored(False, {"m": 0.5}),
            answers.Scored(False, {"m": 1.0}),
        ],
        [answers.Scored(True, {"m": 0.0}), answers.Scored(False, {"m": 0.0})],
    ]
    assert answers.agreement(units, "m") == pytest.approx(3 / 5)
    assert answers.right_above_wrong(units, "m") == pytest.approx((1 + 0.5 + 0.5) / 3)
    assert answers.mean_score(units, "m") == pytest.approx(0.5)


def test_what_the_judge_failed_on_is_left_out_and_counted() -> None:
    samples = [answers.answered("Q?", text, ["a"]) for text in "ab"]
    cases = [answers.AnswerToScore("g", n, sample, n == 0) for n, sample in enumerate(samples)]
    judge = FakeJudge(fails=lambda prompt: 'answer: "b"' in prompt)
    lave = LaveReward(judge, rationale=False)
    (row,) = answers.by_group("set", cases, lave, answers.MATCHES, {"agreement": answers.agreement})
    assert (row.n, row.failed) == (1, 1)
    assert row.metrics["exact_match"].value == 1.0
    silent = LaveReward(FakeJudge(fails=lambda prompt: True), rationale=False)
    with pytest.raises(ValueError, match=r"failed on every .* set, g"):
        answers.by_group("set", cases, silent, answers.MATCHES, {"kappa": answers.kappa})


def test_sets_are_read(tmp_path: Path) -> None:
    votes = {"r1": "true", "r2": "false", "r3": "nonsense"}
    rows = {
        "nlvr_dev/nlvr_dev.jsonl": {"sentence": "There is a box.", "label": "true", "votes": votes},
        "evouna_nq/evouna_nq.jsonl": {
            "question": "who",
            "golden_answer": "Ann/Bob",
            **{f"answer_{system}": "Ann" for system in answer_sets.SYSTEMS[1:]},
            **{f"judge_{system}": system == "gpt4" for system in answer_sets.SYSTEMS},
            "answer_fid": None,
        },
    }
    for name, row in rows.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(json.dumps(row) + "\n")
    (sentence,) = answer_sets.load_nlvr(tmp_path)
    assert (sentence.true, sentence.votes) == (True, ("yes", "no", "nonsense"))
    (question,) = answer_sets.load_evouna(tmp_path)
    assert question.answers == ("Ann", "Bob")
    assert [system for system, _, right in question.judged if right] == ["gpt4"]
    assert len(question.judged) == 4
    with pytest.raises(FileNotFoundError, match="aokvqa_val"):
        answer_sets.load_aokvqa(tmp_path)


@present
def test_floors_repeat_the_readme() -> None:
    """Within three answers of 500: how the README normalises is not known."""
    floors = {"fid": (0.832, 0.872), "gpt35": (0.382, 0.844), "chatgpt": (0.284, 0.806)}
    floors |= {"gpt4": (0.200, 0.818), "newbing": (0.194, 0.840)}
    counts = dict.fromkeys(floors, 0)
    right: dict[tuple[str, str], int] = {}
    for record in answer_sets.load_evouna(DATA):
        for system, answer, judged in record.judged:
            counts[system] += 1
            for name, metric in answers.MATCHES.items():
                same = bool(metric(answer, record.answers)) == judged
                right[system, name] = right.get((system, name), 0) + same
    for system, expected in floors.items():
        found = (right[system, name] / counts[system] for name in ("exact_match", "contains"))
        assert tuple(found) == pytest.approx(expected, abs=0.0065), system


@present
def test_one_call_measures_every_set() -> None:
    reward = LaveReward(MatchJudge(), rationale=False)
    rows = answers.measure_answers(
        DATA, reward, ["evouna_nq", "aokvqa", "nlvr", "vizwiz"], count=12
    )
    assert {row.set for row in rows} == {"evouna_nq", "aokvqa", "nlvr", "vizwiz"}
    for row in rows:
        assert row.n <= 12
        assert row.failed == 0
        value, interval = row.metrics["lave"].value, row.metrics["lave"].interval
        assert isnan(value) or interval.low <= value <= interval.high
    (choices,) = [row for row in rows if row.set == "aokvqa"]
    assert 0.5 < choices.metrics["lave"].value <= 1.0
