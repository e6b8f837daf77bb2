"""HarmonicEval's criteria against THumB's: each number is the statistic of the judge's parts."""

import json
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from experiments.agreement.caption_sets import load_thumb
from experiments.agreement.thumb import measure_thumb, rate
from experiments.labels.statistics import pearson
from experiments.scenes.word_judge import WordJudge
from spanreward.rewards import HarmonicReward
from tests.support.experiment_numbers import measured
from tests.support.fakes import FakeJudge, certain, criterion_of
from tests.support.paths import ROOT

DATA = ROOT.parent / "shared" / "data"
present = pytest.mark.skipif(
    not (DATA / "thumb").is_dir(), reason=f"people's judgments are not at {DATA}"
)


def thumb(folder: Path) -> Path:
    """Two photographs with three captions; people's P is the number of words, their R is 3."""
    texts = {"A": "A dog.", "B": "A dog runs fast.", "Human": "A dog runs fast on a beach."}
    rated = {"R": 3.0, "Fl": 0.0, "Inc": 0.0, "Con": 0.0, "human_score": 3.0}
    candidates = []
    for system, text in texts.items():
        candidates.append({"SYS": system, "hyp": text, "P": len(text.split()), **rated})
    line = {"references": ["A dog runs.", "A beach."], "candidates": candidates}
    (folder / "thumb").mkdir()
    lines = "".join(json.dumps({**line, "seg_id": image}) + "\n" for image in ("1", "2"))
    (folder / "thumb" / "thumb_mscoco.jsonl").write_text(lines)
    return folder


def test_by_hand(tmp_path: Path) -> None:
    """Correctness is right about B and wrong about the people's caption."""

    def answer(prompt: Any) -> Any:
        text = prompt.partition("TEXT:\n")[2].partition("\nEND")[0]
        ratings = {"A dog.": 2, "A dog runs fast.": 4, "A dog runs fast on a beach.": 3}
        return certain(ratings[text] if criterion_of(prompt) == "correctness" else 5)

    judge = FakeJudge(rate=answer)
    rows = measure_thumb(thumb(tmp_path), HarmonicReward(judge, evidence="context", spans="none"))
    found = {(row.measure, row.note): row for row in rows}
    correct = found["correctness ~ P, Pearson", "all captions"]
    assert correct.ours == pytest.approx(2.0 / (2 * 38 / 3) ** 0.5)
    assert correct.n == 6
    alone = found["correctness ~ P, Pearson", "without people's own captions"]
    assert (alone.ours, alone.n) == (pytest.approx(1.0), 4)
    assert isnan(found["completeness ~ R, Pearson", "all captions"].ours)
    assert any("A dog runs. A beach." in prompt for prompt in judge.rated[0])


def test_only_what_the_reward_asks_is_measured(tmp_path: Path) -> None:
    reward = HarmonicReward(FakeJudge(), criteria=["correctness"], evidence="context", spans="none")
    rows = measure_thumb(thumb(tmp_path), reward, images=1)
    assert {row.measure.split(" ~ ")[0] for row in rows} == {"overall", "correctness"}
    assert {row.n for row in rows} == {3, 2}


def test_pearson_by_hand() -> None:
    assert pearson([1, 2, 3], [1, 3, 2]) == pytest.approx(0.5)
    assert isnan(pearson([1, 1], [1, 2]))


def test_the_command_prints_what_it_writes(tmp_path: Path) -> None:
    words = ("agreement", "people", thumb(tmp_path), "--metric", "harmonic")
    out, rows = measured(tmp_path, *words)
    assert {row["set"] for row in rows} == {"thumb"}
    fluency = next(row for row in rows if row["measure"] == "fluency ~ Fl, Pearson")
    assert fluency["ours"] is None
    correct = next(row for row in rows if row["measure"] == "correctness ~ P, Pearson")
    assert f"{correct['ours']:.3f}" in out


@present
def test_the_floor_repeats_the_data_s_readme() -> None:
    """.191 and .302 there, which does not give its list of stop words."""
    photographs = load_thumb(DATA)
    assert (len(photographs), sum(map(len, photographs))) == (242, 1210)
    captions = [caption for photograph in photographs for caption in photograph]
    rated = rate(captions, HarmonicReward(FakeJudge(), criteria=["fluency"], spans="none"))
    for expected, systems in ((0.191, {"Human"}), (0.302, set())):
        pairs = [
            (one.floor["overall"], one.people["overall"])
            for caption, one in zip(captions, rated, strict=True)
            if caption.system in systems or caption.system != "Human"
        ]
        assert pearson(*zip(*pairs, strict=True)) == pytest.approx(expected, abs=0.003)


@present
def test_the_match_judge_on_a_part() -> None:
    reward = HarmonicReward(WordJudge(), evidence="context", spans="none")
    rows = measure_thumb(DATA, reward, images=6)
    assert {row.n for row in rows} == {30, 24}
    for row in rows:
        if row.measure.startswith("correctness"):
            assert row.interval.low < row.ours < row.interval.high
