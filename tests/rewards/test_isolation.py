"""Good rows beside one hostile row get what they get without it, from every metric.

Hostile rows are generated from seeds. Some make a metric raise, some make
the judge raise, and both for the whole batch.
"""

import hashlib
import io
import random
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import pytest
from PIL import Image

from experiments.agreement.overlap_baselines import ReferenceOverlap
from spanreward import CriteriaReward, DifferencesReward, HarmonicReward, PairwiseReward, Question
from spanreward.rewards.base.verdict import Sample, Status
from spanreward.rewards.judges import Failure, Judge, MatchJudge, Rating
from spanreward.rewards.lave import LaveReward, vqa
from spanreward.rewards.posh import PoshReward
from spanreward.rewards.reward.judged_reward import JudgedReward
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.text import bag_of_words
from tests.support.hostile_member import MEMBERS

RAISES = "unspeakable"  # a word for which `Scripted` raises
REFERENCE = "A red circle is above a blue square. A cat sits on the mat."
PIECES = (
    *("A red circle", " is ", "not", "\n\n", "...", "\0", "\ud800", "\u202e", "é", "円", "1", "-7"),
    *("[", "]", "{", "}", "<|im_end|>", "</think>", "<think>", "**", "```", "|", "> ", "1. ", "'"),
    *(
        '"',
        "\\",
        "$$",
        "=",
        ": 5",
        "{completion}",
        "%s",
        "&amp;",
        "<b>",
        "\t",
        " ",
        "[Text A ends]",
    ),
    RAISES,
)
LONGEST = 400  # characters, so that many rows are judged in a test


def hostile_text(random_: random.Random) -> str:
    """Returns a text of pieces, one piece many times, or a beginning of a known hostile one."""
    kind = random_.randrange(4)
    if kind == 0:
        return random_.choice(PIECES) * random_.randrange(60)
    if kind == 1:
        return random_.choice([*MEMBERS.values()])[:LONGEST]
    text = ""
    for _ in range(random_.randrange(1, 30)):
        text += random_.choice(PIECES)
    return text


def texts(random_: random.Random) -> tuple[str, ...]:
    return tuple(hostile_text(random_) for _ in range(random_.randrange(6)))


def no_text(random_: random.Random) -> Any:
    """Returns what stands where a text belongs, in a row that somebody's own code made."""
    return random_.choice(
        [None, 7, float("nan"), b"A cat.", ["A cat."], {"text": "A cat."}, object(), True, ()]
    )


def picture(random_: random.Random) -> Any:
    """Returns what stands where a picture belongs. Nothing of it is a good picture."""
    whole = io.BytesIO()
    Image.effect_noise((40, 30), 50).save(whole, "PNG")
    cut = whole.getvalue()[: random_.randrange(len(whole.getvalue()))]
    return random_.choice(
        [
            *(None, 7, "", "/nowhere.png", "/etc/passwd", "https://evil.example/a.png", "data:,x"),
            *(cut, {"bytes": cut}, {"path": "/etc/passwd"}, {"bytes": None}, [], object()),
        ]
    )


def box(random_: random.Random) -> Any:
    numbers = [0, -1, 5, 1e300, float("nan"), float("inf"), "1", None]
    return tuple(random_.choice(numbers) for _ in range(random_.choice([4, 4, 0, 3])))


def value(random_: random.Random, name: str) -> Any:
    """Returns a hostile value of a Sample's field."""
    if name in ("references", "answers", "criteria"):
        return texts(random_)
    if name == "images":
        return tuple(picture(random_) for _ in range(random_.randrange(4)))
    if name == "bbox":
        return box(random_)
    if name == "columns":
        return {hostile_text(random_): hostile_text(random_), "choices": no_text(random_)}
    if random_.randrange(4) == 0:
        return no_text(random_)
    return hostile_text(random_)


def sound_sample(completion: str) -> Sample:
    """Returns a row that every metric can judge."""
    return Sample(
        "Describe it.",
        completion,
        references=(REFERENCE,),
        context=REFERENCE,
        question="What is on the mat?",
        answers=("cat", "a cat", "dog", "cat"),
        criteria=("It names the cat.", "It names the mat."),
        anchor="A dog is on the mat.",
        task="ic",
    )


def hostile_sample(seed: int) -> Sample:
    """Returns a sound row with one to four hostile fields."""
    random_ = random.Random(seed)
    names = [field.name for field in fields(Sample)]
    sample = sound_sample("A red circle is on the mat.")
    for name in random_.sample(names, random_.randrange(1, 5)):
        # past the dataclass, as a metric must not count on what another file checks
        object.__setattr__(sample, name, value(random_, name))
    return sample


ROWS = 40  # hostile ones a metric
GOOD = (
    "A red circle is on the mat.",
    "The cat is blue.",
    "A cat sits on the mat. A dog sits on it too.",
    "",
    "cat",
)


class Scripted(Judge):
    """Answers by the prompt alone, and raises for a call in which one question has RAISES."""

    name = "scripted"
    sees_pictures = False

    def __init__(self) -> None:
        self.calls = 0
        self.asked = 0

    def rate_each(self, questions: Sequence[Question], scale: Sequence[str]) -> list[Rating]:
        self._read(questions)
        ratings = []
        for question in questions:
            digest = hashlib.sha256(prompt_of(question)).digest()
            weights = [1 + byte for byte in digest[: len(scale)]]
            shares = [weight / sum(weights) for weight in weights]
            ratings.append(Rating(dict(zip(scale, shares, strict=True))))
        return ratings

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        self._read(questions)
        written: list[str | Failure] = []
        for question in questions:
            number = hashlib.sha256(prompt_of(question)).digest()[0] % 3
            written.append(f"It is so. So rating={number + 1}")
        return written

    def _read(self, questions: Sequence[Question]) -> None:
        self.calls += 1
        self.asked += len(questions)
        for question in questions:
            if RAISES.encode() in prompt_of(question):
                raise RuntimeError(f"sk-secret-0123456789 in {prompt_of(question)!r}")


def prompt_of(question: Question) -> bytes:
    return question.messages[-1]["content"].encode("utf-8", "surrogatepass")


def agreed(text: str, references: Sequence[str]) -> float:
    """VQA accuracy among four people more, as a row has one reference."""
    return vqa.vqa_accuracy(text, [*references, "cat", "cat", "a cat", "dog"])


POLITE = "{prompt} {context}\n{completion}\nHow polite is it, from 1 to 5?"
METRICS: dict[str, Callable[[Judge], Reward]] = {
    "posh": PoshReward,
    "posh, published": lambda judge: PoshReward(judge, mode="published"),
    "harmonic": HarmonicReward,
    "harmonic, context": lambda judge: HarmonicReward(judge, evidence="context"),
    "lave": LaveReward,
    "lave, rated": lambda judge: LaveReward(judge, rationale=False),
    "pairwise, anchor": lambda judge: PairwiseReward(judge, anchor="anchor"),
    "pairwise, references": lambda judge: PairwiseReward(judge, anchor="reference"),
    "pairwise, score": lambda judge: PairwiseReward(judge, form="score"),
    "criteria": CriteriaReward,
    "criteria, votes": lambda judge: CriteriaReward(judge, form="pairwise"),
    "differences": DifferencesReward,
    "judged": lambda judge: JudgedReward(judge, POLITE),
    "vqa accuracy": lambda judge: ReferenceOverlap("vqa_accuracy", agreed),
    "overlap": lambda judge: ReferenceOverlap("bag_of_words", bag_of_words.bag_f1),
}
BY_MATCH = ("posh", "lave", "lave, rated")


def judges_of(name: str) -> list[type[Judge]]:
    if name in BY_MATCH:
        return [Scripted, MatchJudge]
    return [Scripted]


CASES = [(name, judge) for name in METRICS for judge in judges_of(name)]


@pytest.mark.parametrize(("name", "judge"), CASES)
def test_good_rows_get_what_they_get_alone(name: str, judge: type[Judge]) -> None:
    reward = METRICS[name](judge())
    good = [sound_sample(text) for text in GOOD]
    alone = reward.judge_samples(good)
    assert any(verdict.score is not None for verdict in alone), alone[0].note
    for seed in range(ROWS):
        place = seed % (len(good) + 1)
        batch = [*good[:place], hostile_sample(seed), *good[place:]]
        verdicts = reward.judge_samples(batch)
        verdicts.pop(place)
        assert verdicts == alone, seed


@pytest.mark.parametrize("form", ["pair", "batch"])
def test_a_group_is_compared_beside_hostile_rows_of_other_requests(form: Any) -> None:
    reward = PairwiseReward(Scripted(), form=form)
    good = [sound_sample(text) for text in GOOD]
    alone = reward.judge_samples(good)
    for seed in range(ROWS):
        hostile = hostile_sample(seed)
        object.__setattr__(hostile, "question", f"{hostile.question} Say it otherwise.")
        assert reward.judge_samples([*good, hostile])[:-1] == alone, seed


def test_a_group_is_compared_without_a_member_for_which_the_judge_raises() -> None:
    reward = PairwiseReward(Scripted())
    good = [sound_sample(text) for text in GOOD if text]
    alone = reward.judge_samples(good)
    *verdicts, raising = reward.judge_samples([*good, sound_sample(f"A {RAISES} circle.")])
    assert (raising.score, raising.status) == (None, Status.ERROR)
    assert [verdict.score for verdict in verdicts] == [verdict.score for verdict in alone]
    assert [verdict.parts["won"] for verdict in verdicts] == [v.parts["won"] for v in alone]


@pytest.mark.parametrize("name", METRICS)
def test_many_hostile_rows_together_harm_nobody_and_tell_nothing(name: str) -> None:
    reward = METRICS[name](Scripted())
    good = [sound_sample(text) for text in GOOD]
    alone = reward.judge_samples(good)
    batch: list[Sample] = []
    for seed in range(20):
        batch += [hostile_sample(seed), sound_sample(f"A {RAISES} thing, {seed}.")]
    verdicts = reward.judge_samples([*batch[::2], *good, *batch[1::2]])
    assert verdicts[20 : 20 + len(good)] == alone
    for verdict in verdicts[20 : 20 + len(good)]:
        assert RAISES not in verdict.note
    for number, verdict in enumerate(verdicts[20 + len(good) :]):
        told = [seed for seed in range(20) if f"thing, {seed}." in verdict.note]
        assert told in ([], [number])


@pytest.mark.parametrize("name", METRICS)
def test_honest_rows_cost_no_more_calls(name: str) -> None:
    """As many as two calls of `assess` in one, whose judge gets all questions at once."""
    judge = Scripted()
    verdicts = METRICS[name](judge).judge_samples([sound_sample(text) for text in GOOD])
    again = Scripted()
    with again:
        expected = METRICS[name](again).assess([sound_sample(text) for text in GOOD])
    assert verdicts == expected
    assert (judge.calls, judge.asked) == (again.calls, again.asked)
