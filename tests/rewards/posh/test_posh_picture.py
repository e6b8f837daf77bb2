"""PoshReward(evidence="picture"): what no reference supports is asked of the picture, and nothing else is."""

import random
from collections.abc import Sequence
from operator import sub
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from PIL import Image

from experiments.hacking.hostile_texts import HOSTILE
from experiments.scenes.language import describe
from experiments.scenes.picture_judge import DescribedPictures, key_of
from experiments.scenes.referee import judge_description
from experiments.scenes.referee_judge import RefereeJudge
from experiments.scenes.world import draw, make_scenes
from spanreward import FunctionJudge, MatchJudge, PoshReward, Sample, Status
from spanreward.rewards.judges import CachedJudge
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating
from spanreward.rewards.judges.shared.cascade_judge import CascadeJudge
from tests.support.fakes import prompt_of

RED, BLUE = (Image.new("RGB", (8, 8), color) for color in ("red", "blue"))
TEXTS = {key_of(RED): "A red circle is beside a small blue star. A cup is on a table.", key_of(BLUE): "A green square."}
SAID = "A red circle is beside a blue star."


class Seer(DescribedPictures):
    """Keeps the questions about pictures; `fails`: whether it does on these."""

    def __init__(self, judge: Judge | None = None, fails: bool = False) -> None:
        super().__init__(judge or MatchJudge(), TEXTS)
        self.fails = fails
        self.shown: list[Question] = []

    def rate(self, questions: Sequence[Question], scale: Any = ("1", "2", "3", "4", "5")) -> list[Rating | Failure]:
        looking = [question for question in questions if question.images]
        self.shown += looking
        if looking and self.fails:
            return [Failure(Status.TIMEOUT, "too late") for _ in questions]
        return super().rate(questions, scale)


def row(text: str, *references: str, picture: Any = RED) -> Sample:
    return Sample("Describe it.", text, images=() if picture is None else (picture,), references=references)


def ratings(text: str, verdict: Any) -> dict[str, float]:
    return {text[span.start : span.end]: span.score for span in verdict.spans}


def test_a_detail_that_the_picture_shows_is_no_mistake() -> None:
    sample = row(SAID, "A red circle.")
    judge = Seer()
    (plain,) = PoshReward("match").assess([sample])
    (looked,) = PoshReward(judge, evidence="picture").assess([sample])
    assert ratings(SAID, plain) == {
        "red": 1.0,
        "circle": 1.0,
        "beside": 0.0,
        "blue": 0.0,
        "star": pytest.approx(0, abs=0.1),
    }
    assert ratings(SAID, looked) == dict.fromkeys(("red", "circle", "beside", "blue", "star"), 1.0)
    assert (looked.parts["precision"], looked.parts["recall"]) == (1.0, plain.parts["recall"])
    assert plain.parts["precision"] < 0.6
    questions = [prompt_of(question).rpartition("\n\n")[2] for question in judge.shown]
    assert questions == [
        'Does the picture show "star"?',
        'Does the picture show of "star as in \'circle beside star\'" that it is "blue"?',
        'Does the picture show that "circle" and "star" are tied by "beside"?',
    ]
    assert all(question.images == (RED,) for question in judge.shown)
    (note,) = [span.note for span in looked.spans if SAID[span.start : span.end] == "blue"]
    assert note == f"blue star: 5.0 of 5. {questions[1]}"


def test_what_the_picture_does_not_show_stays_wrong() -> None:
    sample = row(SAID, "A red circle.", picture=BLUE)
    judge = Seer()
    (looked,) = PoshReward(judge, evidence="picture").assess([sample])
    (plain,) = PoshReward("match").assess([sample])
    assert (looked.score, looked.parts) == (plain.score, plain.parts)
    assert len(judge.shown) == 1  # nothing is asked of what is not there


def test_what_a_reference_settles_is_not_asked() -> None:
    judge = Seer()
    texts = ("A red circle.", "A blue star is beside a red circle."), ("A red circle is beside a blue star.",)
    PoshReward(judge, evidence="picture").assess([row(SAID, *references) for references in texts])
    assert judge.shown == []


def test_a_thing_of_several_references_is_asked_once() -> None:
    judge = Seer()
    several = PoshReward(judge, evidence="picture")
    (verdict,) = several.assess([row(SAID, "A red circle.", "A circle.", "A tree.")])
    assert len(judge.shown) == 3
    assert verdict.parts["precision"] == 1.0


def test_a_cup_said_three_times_is_one_cup() -> None:
    once, thrice = PoshReward(Seer(), evidence="picture").assess(
        [row("A red circle and a cup.", "A red circle."), row("A red circle and a cup. A cup. A cup.", "A red circle.")]
    )
    assert once.parts["precision"] == 1.0
    assert thrice.parts["precision"] < 0.8


def test_pictures_are_not_mixed_up_and_equal_ones_asked_once() -> None:
    judge = Seer()
    samples = [row(SAID, "A red circle.", picture=picture) for picture in (RED, BLUE, RED.copy(), BLUE)]
    reward = PoshReward(judge, evidence="picture")
    scores = [verdict.score for verdict in reward.assess(samples)]
    assert scores[0] == scores[2] != scores[1] == scores[3]
    assert len(judge.shown) == 3 + 1
    assert [verdict.score for verdict in reward.assess(samples[::-1])] == scores[::-1]
    assert [reward.assess([sample])[0].score for sample in samples] == scores


def test_a_judge_that_fails_on_pictures_gives_no_score() -> None:
    failed, settled = PoshReward(Seer(fails=True), evidence="picture").assess(
        [row(SAID, "A red circle."), row("A red circle.", "A red circle.")]
    )
    assert (failed.score, failed.status, failed.note) == (None, Status.TIMEOUT, "too late")
    assert settled.score == 1.0


def test_rows_without_a_picture(tmp_path: Path) -> None:
    reward = PoshReward(Seer(), evidence="picture")
    bare, broken = reward.assess(
        [row(SAID, "A star.", picture=None), row(SAID, "A star.", picture=str(tmp_path / "no"))]
    )
    assert (bare.status, bare.note) == (Status.NOT_APPLICABLE, "this row has no picture to ask")
    assert broken.status is Status.NOT_APPLICABLE
    assert "there is no picture" in broken.note
    with pytest.raises(ValueError, match="posh needs the dataset column 'image' or 'images'"):
        reward(["Describe it."], [SAID], reference=["A star."])
    assert reward(["Describe it."], [SAID], reference=["A red circle."], image=[RED])[0] > 0.7


@pytest.mark.parametrize(
    "judge",
    [MatchJudge(), FunctionJudge("five", lambda text: 5), "server:http://127.0.0.1:9#m"],
    ids=["match", "function", "server"],
)
def test_a_judge_that_reads_text_only_is_refused(judge: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"evidence='picture' shows the judge pictures, and .*Judge reads text only"):
        PoshReward(judge, evidence="picture")
    if isinstance(judge, Judge):
        with pytest.raises(ValueError, match="reads text only"):
            PoshReward(CachedJudge(judge, tmp_path / "ratings.sqlite"), evidence="picture")
        with pytest.raises(ValueError, match="reads text only"):
            PoshReward(CascadeJudge(judge, DescribedPictures(MatchJudge(), {})), evidence="picture")


def test_settings_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match='evidence is "references" or "picture", got \'context\''):
        PoshReward("match", evidence="context")
    with pytest.raises(ValueError, match="it goes with mode='default'"):
        PoshReward(Seer(), evidence="picture", mode="published")


def test_cost_and_wording() -> None:
    plain, looking = PoshReward("match"), PoshReward(Seer(), evidence="picture")
    judge = Seer()
    PoshReward(judge, evidence="picture").assess([row(SAID, "A tree.")])
    words = len(SAID.split())
    assert looking.cost(words, 1).questions == pytest.approx(1.5 * plain.cost(words, 1).questions, abs=1)
    assert len(judge.shown) <= looking.cost(words, 1).questions - plain.cost(words, 1).questions + 1
    assert looking.wording != plain.wording


@pytest.mark.parametrize("name", [name for name in HOSTILE if "repeated" not in name])
def test_a_completion_says_nothing_to_the_one_who_looks(name: str) -> None:
    judge = Seer()
    (verdict,) = PoshReward(judge, evidence="picture").assess([row(HOSTILE[name], "A tree.")])
    assert verdict.score is not None
    for question in judge.shown:
        asked = prompt_of(question).rpartition("\n\n")[2]
        assert "\n" not in asked
        assert len(asked) < 500
        assert '"' not in asked.replace('"', "", 6)


def test_the_truth_of_scenes_with_terse_references() -> None:
    """The references leave out half: with the picture, precision is the truth's in place of theirs."""
    scenes = list(make_scenes("test", 2, 16))
    rng = random.Random(0)
    judge = DescribedPictures(
        RefereeJudge({}), {key_of(draw(scene)): describe(scene, random.Random(1)) for scene in scenes}
    )
    told = [describe(scene, rng) if n % 2 else describe(scenes[n - 1], rng) for n, scene in enumerate(scenes)]
    samples = [
        Sample("", text, images=(draw(scene),), references=(describe(scene, rng, 0.6, 0.55),))
        for text, scene in zip(told, scenes, strict=True)
    ]
    looked = PoshReward(judge, evidence="picture").assess(samples)
    plain = PoshReward(RefereeJudge({})).assess(samples)
    truths = [judge_description(text, scene).precision for text, scene in zip(told, scenes, strict=True)]
    for before, after in zip(plain, looked, strict=True):
        assert after.parts["precision"] >= before.parts["precision"]
        assert after.parts["recall"] == before.parts["recall"]
    without, shown = (fmean(verdict.parts["precision"] for verdict in side[1::2]) for side in (plain, looked))
    assert all(truth == 1.0 for truth in truths[1::2])
    assert shown > without + 0.2
    right, wrong = ([verdict.parts["precision"] for verdict in looked[start::2]] for start in (1, 0))
    assert min(right) > max(wrong)
    assert max(map(sub, wrong, [verdict.parts["precision"] for verdict in plain[0::2]])) < shown - without
