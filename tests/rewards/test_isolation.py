"""Good rows beside hostile ones get what they get without them, from every metric and judge.

Hostile rows are generated from seeds. Some make a metric raise, some make the judge raise, and both
for the whole batch. Hostile completions are those of tests/support/hostile_member.py.
"""

import hashlib
import io
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from experiments.agreement.overlap_baselines import ReferenceOverlap
from spanreward import CriteriaReward, DifferencesReward, FunctionJudge, HarmonicReward
from spanreward.rewards import JudgedReward, LaveReward, PairwiseReward, PoshReward
from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.experimental.cascade_judge import CascadeJudge
from spanreward.rewards.experimental.encoder_judge import EncoderJudge
from spanreward.rewards.experimental.jury_judge import JuryJudge
from spanreward.rewards.judges import CachedJudge, Failure, Judge, MatchJudge, Question, Rating
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.lave import vqa
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.text import bag_of_words
from tests.support.hostile_member import MEMBERS
from tests.support.server import Server, text_of
from tests.support.tiny_encoder import saved
from tests.support.tiny_models import save_llama

RAISES = "unspeakable"  # a word for which `Scripted` raises
REFERENCE = "A red circle is above a blue square. A cat sits on the mat."
PIECES = [
    *("A red circle", " is ", "not", "\n\n", "...", "\0", "\ud800", "\u202e", "é", "円", "1", "-7"),
    *("[", "]", "{", "}", "<|im_end|>", "</think>", "<think>", "**", "```", "|", "> ", "1. ", "'"),
    *('"', "\\", "$$", "=", ": 5", "{completion}", "%s", "&amp;", "<b>", "\t", " "),
    *("[Text A ends]", RAISES),
]
LONGEST = 400  # characters, so that many rows are judged in a test


def hostile_text(random_: random.Random) -> str:
    """Returns a text of pieces, one piece many times, or a beginning of a known hostile one."""
    kind = random_.randrange(4)
    if kind == 0:
        return random_.choice(PIECES) * random_.randrange(60)
    if kind == 1:
        return random_.choice([*MEMBERS.values()])[:LONGEST]
    return "".join(random_.choices(PIECES, k=random_.randrange(1, 30)))


NO_TEXTS = [None, 7, math.nan, b"A cat.", ["A cat."], {"text": "A cat."}, object(), True, ()]
NO_PICTURES: list[Any] = [None, 7, "", "/nowhere.png", "/etc/passwd", "https://evil.example/a.png"]
NO_PICTURES += ["data:,x", {"path": "/etc/passwd"}, {"bytes": None}, [], object()]
NUMBERS = [0, -1, 5, 1e300, math.nan, math.inf, "1", None]


def picture(random_: random.Random) -> Any:
    """Returns what stands where a picture belongs. Nothing of it is a good picture."""
    whole = io.BytesIO()
    Image.effect_noise((40, 30), 50).save(whole, "PNG")
    cut = whole.getvalue()[: random_.randrange(len(whole.getvalue()))]
    return random_.choice([*NO_PICTURES, cut, {"bytes": cut}])


def value(random_: random.Random, name: str) -> Any:
    """Returns a hostile value of a Sample's field."""
    if name in ("references", "answers", "criteria"):
        return tuple(hostile_text(random_) for _ in range(random_.randrange(6)))
    if name == "images":
        return tuple(picture(random_) for _ in range(random_.randrange(4)))
    if name == "bbox":
        return tuple(random_.choices(NUMBERS, k=random_.choice([4, 4, 0, 3])))
    if name == "columns":
        return {hostile_text(random_): hostile_text(random_), "choices": random_.choice(NO_TEXTS)}
    if random_.randrange(4) == 0:
        return random_.choice(NO_TEXTS)
    return hostile_text(random_)


def sound_sample(completion: str) -> Sample:
    """Returns a row that every metric can judge."""
    asked = {"question": "What is on the mat?", "answers": ("cat", "a cat", "dog", "cat")}
    texts = {"references": (REFERENCE,), "context": REFERENCE, "anchor": "A dog is on the mat."}
    criteria = ("It names the cat.", "It names the mat.")
    return Sample("Describe it.", completion, **asked, **texts, criteria=criteria, task="ic")  # type: ignore[arg-type]


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
GOOD = ["A red circle is on the mat.", "The cat is blue.", "", "cat"]
GOOD += ["A cat sits on the mat. A dog sits on it too."]


class Scripted(Judge):
    """Answers by the prompt alone, and raises for a call in which one question has RAISES."""

    name = "scripted"
    sees_pictures = False

    def __init__(self) -> None:
        self.calls = self.asked = 0

    def rate_each(self, questions: Sequence[Question], scale: Sequence[str]) -> list[Rating]:
        self._read(questions)
        return [Rating(shares(prompt_of(question), scale)) for question in questions]

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


def shares(text: bytes, scale: Sequence[str]) -> dict[str, float]:
    """Returns a distribution over the entries of a scale, from the text alone."""
    weights = [1 + byte**2 for byte in hashlib.sha256(text).digest()[: len(scale)]]
    return {entry: weight / sum(weights) for entry, weight in zip(scale, weights, strict=True)}


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
ENTRIES = (*"12345", *"ABC")


def rule(seed: str = "") -> FunctionJudge:
    def rate(text: str) -> dict[str, float]:
        return shares((seed + text).encode("utf-8", "surrogatepass"), ENTRIES)

    return FunctionJudge(f"rule {seed}", rate)


def served(body: dict[str, Any], number: int) -> Any:
    def tell(answer: dict[str, Any]) -> None:
        found = shares(text_of(body).encode("utf-8", "surrogatepass"), ENTRIES)
        (choice,) = answer["choices"]
        choice["message"]["content"] = max("123", key=found.__getitem__)
        top = [{"token": entry, "logprob": math.log(share)} for entry, share in found.items()]
        choice["logprobs"] = {"content": [{"top_logprobs": top}]}

    return tell


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Callable[[Path], Any]]]:
    """What makes a judge of each kind; models and server are shared."""
    server = Server()
    server.behave = served
    llama = tmp_path_factory.mktemp("llama")
    save_llama(llama, context=2560)
    model = TransformersJudge(str(llama), min_mass=0.0)
    encoder = EncoderJudge(saved(tmp_path_factory.mktemp("bert")))
    yield {
        "scripted": lambda folder: Scripted(),
        "match": lambda folder: MatchJudge(),
        "function": lambda folder: rule(),
        "encoder": lambda folder: encoder,
        "transformers": lambda folder: model,
        "server": lambda folder: ChatJudge(server.url, "m", deadline=60.0),
        "jury": lambda folder: JuryJudge(rule("one"), rule("two")),
        "cascade": lambda folder: CascadeJudge(rule("one"), rule("two"), sure=0.4, audit=0.5),
        "cached": lambda folder: CachedJudge(rule(), folder / "ratings.sqlite"),
    }
    server.stop()


KINDS = ("function", "transformers", "server", "jury", "cascade", "cached")
REWARDS = ("posh", "harmonic, context", "lave, rated", "pairwise, references", "criteria")
PAIRS = [(name, "scripted") for name in METRICS] + [
    (name, kind) for name in REWARDS for kind in KINDS
]
PAIRS += [("posh", "match"), ("lave", "match"), ("lave, rated", "match"), ("posh", "encoder")]


def hostile_rows(name: str, kind: str) -> list[Sample]:
    """Every reward meets all forty completions, and so does every kind of judge but the slow one; a
    pair of the two meets a seventh of the forty. The quick judges meet random rows.
    """
    rows = [sound_sample(text) for text in MEMBERS.values()]
    if kind in KINDS:
        share = 20 if kind == "transformers" and name != "posh" else 7
        return rows[(REWARDS.index(name) + KINDS.index(kind)) % share :: share]
    random_rows = [hostile_sample(seed) for seed in range(ROWS)]
    return {"scripted": random_rows, "match": random_rows + rows, "encoder": rows}[kind]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_good_rows_get_what_they_get_alone(
    judges: Any, tmp_path: Path, name: str, kind: str
) -> None:
    good = [sound_sample(text) for text in GOOD]

    def judged(samples: list[Sample], number: int) -> list[Verdict]:
        folder = tmp_path / str(number)
        folder.mkdir()
        return METRICS[name](judges[kind](folder)).judge_samples(samples)

    alone = judged(good, 0)
    assert any(verdict.score is not None for verdict in alone), alone[0].note
    statuses = {verdict.status for verdict in alone}
    assert statuses <= {Status.OK, Status.EMPTY} or kind == "scripted", alone[0].note
    for number, row in enumerate(hostile_rows(name, kind), start=1):
        place = number % (len(good) + 1)
        verdicts = judged([*good[:place], row, *good[place:]], number)
        hostile = verdicts.pop(place)
        is_judged = hostile.status in (Status.OK, Status.EMPTY) or name == "pairwise, references"
        assert is_judged or kind in ("scripted", "match"), (number, hostile.note)
        if kind not in ("transformers", "encoder"):
            assert verdicts == alone, number
        for one, other in zip(verdicts, alone, strict=True):
            assert_equal(one, other)


def assert_equal(one: Verdict, other: Verdict) -> None:
    """To 1e-5, which a model's padding moves."""

    def numbers(verdict: Verdict) -> list[float]:
        scores = [span.score for span in (*verdict.spans, *verdict.missed)]
        return [verdict.score or 0.0, *scores, *(span.credit for span in verdict.spans)]

    assert (one.status, one.note, one.reference) == (other.status, other.note, other.reference)
    places = [[(span.start, span.end, span.kind) for span in v.spans] for v in (one, other)]
    assert places[0] == places[1]
    assert one.parts == pytest.approx(other.parts, abs=1e-5)
    assert numbers(one) == pytest.approx(numbers(other), abs=1e-5)


@pytest.mark.parametrize("form", ["pair", "batch"])
def test_a_group_is_compared_beside_hostile_rows_of_other_requests(form: Any) -> None:
    metric = PairwiseReward(Scripted(), form=form)
    good = [sound_sample(text) for text in GOOD]
    alone = metric.judge_samples(good)
    for seed in range(ROWS):
        hostile = hostile_sample(seed)
        object.__setattr__(hostile, "question", f"{hostile.question} Say it otherwise.")
        assert metric.judge_samples([*good, hostile])[:-1] == alone, seed


def test_a_group_is_compared_without_a_member_for_which_the_judge_raises() -> None:
    metric = PairwiseReward(Scripted())
    good = [sound_sample(text) for text in GOOD if text]
    *verdicts, raising = metric.judge_samples([*good, sound_sample(f"A {RAISES} circle.")])
    assert (raising.score, raising.status) == (None, Status.ERROR)
    for verdict, alone in zip(verdicts, metric.judge_samples(good), strict=True):
        assert (verdict.score, verdict.parts["won"]) == (alone.score, alone.parts["won"])


@pytest.mark.parametrize("name", METRICS)
def test_many_hostile_rows_together_harm_nobody_and_tell_nothing(name: str) -> None:
    metric = METRICS[name](Scripted())
    good = [sound_sample(text) for text in GOOD]
    alone = metric.judge_samples(good)
    batch: list[Sample] = []
    for seed in range(20):
        batch += [hostile_sample(seed), sound_sample(f"A {RAISES} thing, {seed}.")]
    verdicts = metric.judge_samples([*batch[::2], *good, *batch[1::2]])
    assert verdicts[20 : 20 + len(good)] == alone
    for verdict in verdicts[20 : 20 + len(good)]:
        assert RAISES not in verdict.note
    for number, verdict in enumerate(verdicts[20 + len(good) :]):
        told = [seed for seed in range(20) if f"thing, {seed}." in verdict.note]
        assert told in ([], [number])


@pytest.mark.parametrize("name", METRICS)
def test_honest_rows_cost_no_more_calls_and_no_rows_none(name: str) -> None:
    """As many as two calls of `assess` in one, whose judge gets all questions at once."""
    judge, again = Scripted(), Scripted()
    good = [sound_sample(text) for text in GOOD]
    with again:
        expected = METRICS[name](again).assess(good)
    assert METRICS[name](judge).judge_samples(good) == expected
    assert METRICS[name](judge).assess([]) == METRICS[name](judge).judge_samples([]) == []
    assert (judge.calls, judge.asked) == (again.calls, again.asked)


def test_a_span_past_the_end_is_refused_where_the_verdict_meets_its_text() -> None:
    said = (Span(0, 6, 1.0, 0.1, "entity", "", 0),)
    verdicts = {"short": Verdict(0.5, spans=said), "longer": Verdict(0.5, spans=said)}
    verdicts |= {"missed": Verdict(0.5, missed=said)}
    verdicts |= {"none": Verdict(0.5, missed=said, reference=1)}

    class Given(Reward):
        def assess(self, samples: Any) -> list[Verdict]:
            return [verdicts[one.completion] for one in samples]

    found = Given("given").judge_samples(
        [Sample("", text, references="a dog") for text in verdicts]
    )
    assert [one.score for one in found] == [None, 0.5, None, None]
    assert "character 6 " in found[0].note
    assert found[0].note.endswith("has 5")
