"""Good rows beside hostile ones get what they get without them, from every metric and judge.

Hostile rows are generated from seeds. Some make a metric raise, some make the judge raise, and both
for the whole batch. Hostile completions are those of tests/support/hostile_member.py.
"""

import hashlib
import io
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
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


def texts(random_: random.Random) -> tuple[str, ...]:
    return tuple(hostile_text(random_) for _ in range(random_.randrange(6)))


def no_text(random_: random.Random) -> Any:
    """Returns what stands where a text belongs, in a row that somebody's own code made."""
    nothing = [None, 7, float("nan"), b"A cat.", ["A cat."], {"text": "A cat."}, object(), True, ()]
    return random_.choice(nothing)


def picture(random_: random.Random) -> Any:
    """Returns what stands where a picture belongs. Nothing of it is a good picture."""
    whole = io.BytesIO()
    Image.effect_noise((40, 30), 50).save(whole, "PNG")
    cut = whole.getvalue()[: random_.randrange(len(whole.getvalue()))]
    wrong: list[Any] = [None, 7, "", "/nowhere.png", "/etc/passwd", "https://evil.example/a.png"]
    wrong += ["data:,x", cut]
    wrong += [{"bytes": cut}, {"path": "/etc/passwd"}, {"bytes": None}, [], object()]
    return random_.choice(wrong)


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
CASES: list[tuple[str, type[Judge]]] = [(name, Scripted) for name in METRICS]
CASES += [("posh", MatchJudge), ("lave", MatchJudge), ("lave, rated", MatchJudge)]


@pytest.mark.parametrize(("name", "judge"), CASES)
def test_good_rows_get_what_they_get_alone(name: str, judge: type[Judge]) -> None:
    metric = METRICS[name](judge())
    good = [sound_sample(text) for text in GOOD]
    alone = metric.judge_samples(good)
    assert any(verdict.score is not None for verdict in alone), alone[0].note
    for seed in range(ROWS):
        place = seed % (len(good) + 1)
        batch = [*good[:place], hostile_sample(seed), *good[place:]]
        verdicts = metric.judge_samples(batch)
        verdicts.pop(place)
        assert verdicts == alone, seed


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
    alone = metric.judge_samples(good)
    *verdicts, raising = metric.judge_samples([*good, sound_sample(f"A {RAISES} circle.")])
    assert (raising.score, raising.status) == (None, Status.ERROR)
    assert [verdict.score for verdict in verdicts] == [verdict.score for verdict in alone]
    assert [verdict.parts["won"] for verdict in verdicts] == [v.parts["won"] for v in alone]


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
def test_honest_rows_cost_no_more_calls(name: str) -> None:
    """As many as two calls of `assess` in one, whose judge gets all questions at once."""
    judge = Scripted()
    verdicts = METRICS[name](judge).judge_samples([sound_sample(text) for text in GOOD])
    again = Scripted()
    with again:
        expected = METRICS[name](again).assess([sound_sample(text) for text in GOOD])
    assert verdicts == expected
    assert (judge.calls, judge.asked) == (again.calls, again.asked)


ENTRIES = (*"12345", *"ABC")
PLACE = 7


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
PAIRS = [(name, kind) for name in REWARDS for kind in KINDS]
PAIRS += [("posh", "match"), ("lave, rated", "match"), ("posh", "encoder")]
ALL = ("match", "encoder")  # what runs with one or two others


def honest(number: int) -> Sample:
    colour = ("red", "blue", "green")[number % 3]
    thing = ("circle", "square", "star", "cat", "dog")[number % 5]
    texts = (f"The {thing} is {colour}.", f"A {colour} {thing} is on the mat.")
    return sound_sample(texts[number % 2])


OTHERS = [honest(number) for number in range(15)]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_the_others_verdicts_stay(judges: Any, tmp_path: Path, name: str, kind: str) -> None:
    """Every reward meets all forty completions, and so does every kind of judge but the slow one; a
    pair of the two meets a seventh of the forty.
    """
    turn = REWARDS.index(name) + (KINDS.index(kind) if kind in KINDS else 0)
    share = 20 if kind == "transformers" and name != "posh" else 7
    if kind in ALL:
        share = 1

    def judged(samples: list[Sample], number: int) -> list[Verdict]:
        folder = tmp_path / str(number)
        folder.mkdir()
        return METRICS[name](judges[kind](folder)).judge_samples(samples)

    alone = judged(OTHERS, 0)
    assert len({(verdict.score, verdict.status) for verdict in alone}) > 1
    for verdict in alone:
        assert verdict.status not in (Status.ERROR, Status.NOT_APPLICABLE), verdict.note
    for number, member in enumerate([*MEMBERS][turn % share :: share], start=1):
        batch = [*OTHERS[:PLACE], sound_sample(MEMBERS[member]), *OTHERS[PLACE:]]
        verdicts = judged(batch, number)
        hostile = verdicts.pop(PLACE)
        for one, other in zip(verdicts, alone, strict=True):
            assert_equal(one, other)
        is_judged = hostile.status in (Status.OK, Status.EMPTY)
        assert is_judged or name == "pairwise, references", (member, hostile.note)


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


@pytest.mark.parametrize("name", METRICS)
def test_no_samples_have_no_verdicts(name: str) -> None:
    assert METRICS[name](rule()).assess([]) == METRICS[name](rule()).judge_samples([]) == []


def test_a_span_past_the_end_is_refused_where_the_verdict_meets_its_text() -> None:
    said = (Span(0, 6, 1.0, 0.1, "entity", "", 0),)
    verdicts = {"short": Verdict(0.5, spans=said), "longer": Verdict(0.5, spans=said)}
    verdicts |= {"missed": Verdict(0.5, missed=said)}
    verdicts |= {"none": Verdict(0.5, missed=said, reference=1)}

    class Given(Reward):
        def assess(self, samples: Any) -> list[Verdict]:
            return [verdicts[one.completion] for one in samples]

    samples = [replace(sound_sample(text), references=("a dog",)) for text in verdicts]
    found = Given("given").judge_samples(samples)
    assert [one.score for one in found] == [None, 0.5, None, None]
    assert "character 6 " in found[0].note
    assert found[0].note.endswith("has 5")
