"""Files of 20 rows with an agreement that is known: each table finds it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from scipy.stats import kendalltau

from experiments.labels.tables import (
    PERSONS,
    TABLES,
    TableRow,
    fill_table,
    judge_records,
    pictures_with_persons,
)
from spanreward.rewards import HarmonicReward, LaveReward, MatchJudge, PoshReward
from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.judges.judge import Failure, Question
from spanreward.rewards.metrics import build_reward
from spanreward.rewards.reward.from_function import reward
from spanreward.rewards.reward.reward import Reward
from tests.support.elo import elo_by_the_formula
from tests.support.fakes import FakeJudge, certain, criterion_of, prompt_of

LABELS = {2: "1_much_better", 1: "1_slightly_better", 0: "equal", -1: "2_slightly_better"}
LABELS |= {-2: "2_much_better"}


class Told(Reward):
    """A metric whose parts the text gives as JSON; "fails" is a judge that does not answer."""

    columns = ()

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        return [self.verdict(sample.completion) for sample in samples]

    def verdict(self, text: str) -> Verdict:
        if text == "fails":
            return Verdict(None, Status.TIMEOUT, note="too late")
        told = json.loads(text)
        return Verdict(told.get("f1", 0.5), parts=told)


class Pointing(Reward):
    """Calls each x of a text wrong, and each y of the reference left out."""

    columns = ()

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        return [
            Verdict(
                0.5,
                spans=self.at(sample.completion, "x", 0.25),
                missed=self.at(sample.references[0], "y", 0.0),
            )
            for sample in samples
        ]

    def at(self, text: str, letter: str, score: float) -> tuple[Span, ...]:
        places = [place for place, one in enumerate(text) if one == letter]
        return tuple(Span(place, place + 1, score, 0.0, "entity", "", place) for place in places)


@reward()
def half(sample: Sample) -> float:
    """A metric without parts and spans."""
    return 0.5


def written(folder: Path, rows: Sequence[dict[str, Any]]) -> Path:
    assert len(rows) == 20
    path = folder / "judgments.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def filled(
    table: str, path: Path, *metrics: Reward, pictures: Path | None = None
) -> dict[tuple[str, str], TableRow]:
    records = TABLES[table].read(path, pictures=pictures)
    verdicts = {one.__name__: judge_records(records, one) for one in metrics}
    rows = fill_table(TABLES[table], records, verdicts)
    return {(row.slice, row.measure): row for row in rows}


def docent(
    text_1: dict[str, float], text_2: dict[str, float], label: int, image: int
) -> dict[str, Any]:
    """A row with the columns of docent-eval-coarse."""
    judged = dict.fromkeys(("mistakes", "omissions", "overall_quality"), LABELS[label])
    row = {"uuid": f"picture-{image}", "model1": "llava", "model2": "molmo", "reference": "A dog."}
    texts = {"model1_generation": json.dumps(text_1), "model2_generation": json.dumps(text_2)}
    return {**row, **texts, **judged}


def docent_rows() -> list[dict[str, Any]]:
    """Four pairs of every label. Precision follows people but for four pairs that people call much
    better and it calls worse; recall follows them in full; F1 says the opposite of them."""
    rows = []
    for number in range(20):
        label = (2, 1, 0, -1, -2)[number % 5]
        first = {"recall": 0.5 + label / 10, "f1": 0.5 - label / 10}
        first["precision"] = 0.5 + (-1 if label == 2 else label) / 10
        second = {"precision": 0.5, "recall": 0.5, "f1": 0.5}
        rows.append(docent(first, second, label, image=number))
    return rows


def test_docent_coarse(tmp_path: Path) -> None:
    """PoSh, table 3: precision for mistakes, recall for omissions, F1 for overall quality."""
    rows = filled("docent-coarse", written(tmp_path, docent_rows()), Told("posh"))
    found = {measure: row.metrics["posh"] for (_, measure), row in rows.items()}
    assert found["mistakes: accuracy"].value == 16 / 20
    assert found["omissions: accuracy"].value == 1.0
    assert found["overall: accuracy"].value == 4 / 20  # the ties
    assert found["omissions: Spearman"].value == pytest.approx(1.0)
    assert found["omissions: tau-b"].value == pytest.approx(1.0)
    assert found["overall: Spearman"].value == pytest.approx(-1.0)
    # by label 2, 1, 0, -1, -2 precision says -1, 1, 0, -1, -2: of ten kinds of pairs 7 rightly, 2
    # wrongly, one not at all, 16 pairs of each; of 190 pairs people leave 30 undecided, and
    # precision 28 + 3 * 6
    assert found["mistakes: tau-b"].value == pytest.approx((7 - 2) * 16 / (160 * 144) ** 0.5)
    assert {(one.n, one.failed) for one in found.values()} == {(20, 0)}


def test_a_failed_judge_is_counted_and_no_tie(tmp_path: Path) -> None:
    rows = docent_rows()
    rows[0]["model2_generation"] = rows[5]["model1_generation"] = "fails"  # two of four wrong pairs
    rows_ = filled("docent-coarse", written(tmp_path, rows), Told("posh"))
    found = rows_["all", "mistakes: accuracy"].metrics["posh"]
    assert (found.value, found.n, found.failed) == (16 / 18, 18, 2)


def test_a_metric_without_any_score_is_shown_without_one_beside_another(tmp_path: Path) -> None:
    path = written(tmp_path, [{**row, "model1_generation": "fails"} for row in docent_rows()])
    with pytest.raises(ValueError, match=r"posh .* 20 of 40 .* timeout: too late"):
        filled("docent-coarse", path, Told("posh"))
    found = filled("docent-coarse", path, Told("posh"), half)["all", "overall: Spearman"]
    posh = found.metrics["posh"]
    assert (isnan(posh.value), posh.n, posh.failed) == (True, 0, 20)
    assert found.metrics["half"].n == 20


def test_one_picture_has_no_interval(tmp_path: Path) -> None:
    path = written(tmp_path, [{**row, "uuid": "one"} for row in docent_rows()])
    rows = filled("docent-coarse", path, Told("posh"))
    found = rows["all", "omissions: accuracy"].metrics["posh"]
    assert found.value == 1.0
    assert isnan(found.interval.low)


def test_docent_granular(tmp_path: Path) -> None:
    """The authors' layout. Ten words a text and a full stop, one of them wrong; the metric finds it
    in 15 of 20 and points at its neighbour in five."""
    rows = []
    for number in range(20):
        words = ["a"] * 10
        words[3 if number < 15 else 4] = "x"
        text = " ".join(words) + "."
        row = {"uuid": f"p{number // 4}", "model": f"m{number % 4}", "generation": text}
        row["mistakes"] = json.dumps([{"start": 6, "end": 7, "text": text[6:7]}])
        rows.append({**row, "reference": "a a y a.", "omissions": '[{"start": 4, "end": 5}]'})
    path = written(tmp_path, rows)
    found = filled("docent-granular", path, Pointing("posh"), half)
    # 15 of 20 found are right, of 20 there: F1 .75; of the other 180 words 175: F1 350 / 360
    mistakes = found["all", "mistakes: macro F1"].metrics
    assert mistakes["posh"].value == pytest.approx((0.75 + 350 / 360) / 2)
    assert found["all", "omissions: macro F1"].metrics["posh"].value == 1.0
    assert list(mistakes) == ["posh"]  # a metric without spans has no such figure
    records = TABLES["docent-granular"].read(path)
    assert [record.group for record in records[:5:4]] == ["p0", "p1"]
    assert records[0].systems == records[4].systems == ("m0",)


def marks_of(folder: Path, marked: Any) -> Any:
    row = {"uuid": 1, "model": "m", "generation": "A big a cat", "reference": "A cat."}
    path = folder / "rows.jsonl"
    path.write_text(json.dumps({**row, "omissions": "[]", "mistakes": marked}))
    (record,) = TABLES["docent-granular"].read(path)
    return record.mistakes


@pytest.mark.parametrize(
    "marked", ["[]", [], [[6, 7]], [{"start": 6, "end": 7}], '[{"start": 6, "end": 7}]', [["a", 1]]]
)
def test_marks_may_be_pairs_objects_or_a_text_of_them(tmp_path: Path, marked: Any) -> None:
    assert marks_of(tmp_path, marked) == (() if marked in ("[]", []) else ((6, 7),))


@pytest.mark.parametrize(
    ("marked", "reason"),
    [
        ("red", "a list of"),
        ("{", "a list of"),
        (None, "a list of"),
        ('[{"start": 6, "end": 99}]', "text of 11 characters"),
        ('[{"start": 6}]', "got {'start': 6}"),
        ('[{"start": "6", "end": "7"}]', "got {'start': '6', 'end': '7'}"),
    ],
)
def test_marks_that_are_none_are_refused(tmp_path: Path, marked: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=f"column 'mistakes' .*{reason}"):
        marks_of(tmp_path, marked)


def test_of_several_components_on_a_token_the_best_rated_counts(tmp_path: Path) -> None:
    """The reference's "hat" is an entity rated 5 and in `missed`; its red is left out."""
    reference = "A man wears a red hat."
    sample = Sample("", "A man wears a hat.", references=(reference,))
    (usual,) = PoshReward(MatchJudge(), mode="published").assess([sample])
    metric = build_reward(TABLES["docent-granular"].metric, MatchJudge(), {"mode": "published"})
    (every,) = metric.assess([sample])
    assert replace(every, missed=usual.missed) == usual
    assert {span for span in every.missed if span.score < 1} == set(usual.missed)
    expected = {"man", "wears", "hat", "red"}
    assert {reference[span.start : span.end] for span in every.missed} == expected
    row = {"uuid": 1, "model": "m", "generation": sample.completion, "reference": reference}
    row |= {"mistakes": "[]", "omissions": '[{"start": 14, "end": 17}]'}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    records = TABLES["docent-granular"].read(tmp_path / "rows.jsonl")
    rows = fill_table(TABLES["docent-granular"], records, {"posh": [(every,)]})
    found = {row.measure: row.metrics["posh"] for row in rows}
    assert found["omissions: macro F1"].value == 1.0


def caparena_rows() -> list[dict[str, Any]]:
    """Four models, in the layout of caparena_annots_eval.json. People follow `QUALITY` but for four
    pairs, the metric in all. Two pairs have a text by a human."""
    meetings = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("d", "b"), ("d", "a")] * 3
    rows = []
    for number, (one, other) in enumerate([*meetings, ("human", "a"), ("b", "human")]):
        texts = {f"caption{n}": json.dumps({"f1": QUALITY[m]}) for n, m in ((1, one), (2, other))}
        better, worse = (one, other) if QUALITY[one] > QUALITY[other] else (other, one)
        winner = worse if number < 2 else ("equal", "skip")[number - 2] if number < 4 else better
        sources = {"source1": one, "source2": other, "ref": "A dog.", "winner": winner}
        row = {"img": f"{number}.jpg", "cluster": ("indoor", "street")[number % 2]}
        rows.append({**row, **texts, **sources})
    return rows


QUALITY = {"a": 0.9, "b": 0.6, "c": 0.4, "d": 0.05, "human": 1.0}


def test_caparena(tmp_path: Path) -> None:
    """18 pairs without a human, two of them ties to people. The third smallest difference is .2, as
    are the smallest two, so the metric has no tie: it is right on the 14 pairs where people follow
    it."""
    path = tmp_path / "caparena_annots_eval.json"
    path.write_text(json.dumps(caparena_rows()))
    found = filled("caparena", path, Told("posh"))
    accuracy = found["all", "captions: accuracy"].metrics["posh"]
    assert (accuracy.value, accuracy.n) == (14 / 18, 18)
    expected = {"indoor", "street", "all"}
    assert {part for part, measure in found if measure == "captions: accuracy"} == expected
    assert {part for part, measure in found if measure.startswith("models")} == {"all"}
    for measure in ("models: Spearman", "models: tau-b"):
        assert found["all", measure].metrics["posh"].value == pytest.approx(1.0)
        assert isnan(found["all", measure].metrics["posh"].interval.low)


def test_pictures_with_three_persons_are_a_part_of_caparena(tmp_path: Path) -> None:
    """People are with the metric on these, and not elsewhere."""
    rows = caparena_rows()[4:18]
    for row in rows[:7]:
        row["img"] = "test_00057.jpg"
    rows[0]["img"] = "qual_test_00018"  # the list has no file endings
    for row in rows[7:]:
        row["winner"] = row["source1"] if row["winner"] == row["source2"] else row["source2"]
    path = tmp_path / "caparena_annots_eval.json"
    path.write_text(json.dumps(rows))
    found = filled("caparena", path, Told("posh"))
    for measure in ("captions: accuracy", "models: tau-b"):
        assert found[PERSONS, measure].metrics["posh"].n == 7
    assert found[PERSONS, "models: tau-b"].metrics["posh"].value == pytest.approx(1.0)
    assert found["all", "models: tau-b"].metrics["posh"].value < 1
    assert len(pictures_with_persons()) == 108


def test_the_models_are_ranked_by_the_authors_settings(tmp_path: Path) -> None:
    """Kendall's tau between the oracle's ratings of people's and of the metric's choices."""
    rows = caparena_rows()[:18]
    for row in rows[4:8]:  # people prefer the worse of six pairs in all
        row["winner"] = row["source1"] if row["winner"] == row["source2"] else row["source2"]
    path = tmp_path / "judgments.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    people = [{row["source1"]: 1, row["source2"]: -1}.get(row["winner"], 0) for row in rows]
    metric = [1 if QUALITY[row["source1"]] > QUALITY[row["source2"]] else -1 for row in rows]
    ratings = []
    for signs in (metric, people):
        pairs = zip(rows, signs, strict=True)
        elo = elo_by_the_formula([(row["source1"], row["source2"], sign) for row, sign in pairs])
        ratings.append([elo[model] for model in "abcd"])
    expected = kendalltau(*ratings).statistic
    assert abs(expected) < 1
    found = filled("caparena", path, Told("posh"))["all", "models: tau-b"].metrics["posh"].value
    assert found == pytest.approx(expected)


def test_mmhe_best_of_three(tmp_path: Path) -> None:
    """The best has the first, second or last score: 2, 1 or 0 of its pairs are right."""
    texts = [json.dumps({"overall": score, "f1": 0.5}) for score in (5.0, 3.0, 1.0)]
    best = [0] * 10 + [1] * 6 + [2] * 4
    extra = {"references": ["A dog."], "image": "", "question": None, "bbox": None}
    rows = [
        {"id": n, "task": "IC" if n % 2 else "REG", "texts": texts, "best": b, **extra}
        for n, b in enumerate(best)
    ]
    found = filled("mmhe-best", written(tmp_path, rows), Told("harmonic"))
    assert found["all", "pair accuracy"].metrics["harmonic"].value == (20 + 6) / 40
    assert found["IC", "pair accuracy"].metrics["harmonic"].value == (10 + 3) / 20
    assert found["IC", "pair accuracy"].metrics["harmonic"].n == 10


class SeeingJudge(FakeJudge):
    """Keeps how many pictures each criterion was shown."""

    def __init__(self, rate: Any) -> None:
        super().__init__(rate)
        self.pictures: dict[str, set[int]] = {}

    def rate(self, questions: Sequence[Question], *scale: Any) -> list[Any]:
        for question in questions:
            criterion = criterion_of(prompt_of(question))
            self.pictures.setdefault(criterion, set()).add(len(question.images))
        return super().rate(questions, *scale)


def test_mmhe_by_criterion_and_with_pictures(tmp_path: Path) -> None:
    """Correctness as people say, completeness the reverse, fluency always the same."""

    def answer(prompt: str) -> Any:
        words = len(prompt.partition("TEXT:\n")[2].partition("\nEND")[0].split())
        told = {"correctness": words, "completeness": 6 - words}
        return certain(told.get(criterion_of(prompt), 3))

    Image.new("RGB", (32, 32), "red").save(tmp_path / "red.png")
    rows = []
    for number in range(20):
        rating = 1 + number % 5
        names = ("correctness", "completeness", "clarity", "conciseness")
        criteria = {name: [rating] * 3 for name in names} | {"fluency": [rating, 5, 3]}
        extra = {"references": ["A dog."], "image": "red.png", "question": None, "bbox": None}
        row = {"id": number, "task": "IC", "text": " ".join(["word"] * rating)}
        rows.append({**row, **extra, **criteria})
    judge = SeeingJudge(answer)
    harmonic = HarmonicReward(judge, mode="published", spans="none")
    found = filled("mmhe-criteria", written(tmp_path, rows), harmonic, pictures=tmp_path)
    for criterion, expected, pictures in (
        ("correctness", 1.0, 1),
        ("completeness", -1.0, 1),
        ("fluency", float("nan"), 0),
    ):
        tau = found["IC", f"{criterion}: tau-b"].metrics["harmonic"].value
        assert tau == pytest.approx(expected, nan_ok=True)
        assert judge.pictures[criterion] == {pictures}
    assert judge.pictures["clarity"] == judge.pictures["conciseness"] == {0}


class RatingJudge(FakeJudge):
    """Rates the answer that it is asked about: right, half and wrong."""

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        values = {"right": 3, "half": 2, "wrong": 1}
        return [f"So rating={values[question.probe.candidate]}" for question in questions]


def answered(folder: Path, scores: dict[str, Any], last: Any = None) -> Path:
    """Eight questions of yes or no and twelve others, with people's scores of three answers."""
    rows = []
    for number in range(20):
        answer = ("right", "half", "wrong")[number % 3]
        said = {"question": "Is it?", "references": ["yes" if number < 8 else "red"] * 5}
        said |= {"prediction": answer, "human_score": scores[answer]}
        rows.append({"qid": number, "model": "blip2", "dataset": "vqav2", **said})
    rows[-1]["human_score"] = last or rows[-1]["human_score"]
    return written(folder, rows)


def test_lave(tmp_path: Path) -> None:
    """LAVE as people; another metric as people on eight yes/no questions alone."""
    qualities = {"right": 1.0, "half": 0.5, "wrong": 0.0}
    path = answered(tmp_path, qualities)

    @reward()
    def other(sample: Sample) -> float:
        quality = qualities[sample.completion]
        return quality if sample.answers[0] == "yes" else 1 - quality

    lave = LaveReward(RatingJudge(), mode="published", candidate="whole")
    found = filled("lave", path, lave, other)
    assert {part for part, _ in found} == {"blip2 vqav2", "binary", "other", "all"}
    for part, expected, n in (("binary", 1.0, 8), ("other", -1.0, 12)):
        for measure in ("quality: Spearman", "quality: tau-b"):
            assert found[part, measure].metrics["lave"].value == pytest.approx(1.0)
            assert found[part, measure].metrics["other"].value == pytest.approx(expected)
            assert found[part, measure].metrics["lave"].n == n


def test_five_votes_are_a_quality(tmp_path: Path) -> None:
    """The same figure from the votes that a quality is made of."""
    votes = {"right": [1, 1, 1, 1, 0], "half": [1, 1, 0, 0, 0], "wrong": [1, 0, 0, 0, 0]}
    lave = LaveReward(RatingJudge(), candidate="whole")
    found = filled("lave", answered(tmp_path, votes), lave)
    assert found["all", "quality: Spearman"].metrics["lave"].value == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"line 20: .* five votes"):
        filled("lave", answered(tmp_path, votes, last=[1, 1]), lave)
