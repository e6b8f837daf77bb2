"""One hostile completion among sixteen: the other fifteen have the verdicts that they have without
it.

Every reward meets all forty completions, and so does every kind of judge but the slow one; a pair
of the two meets a seventh of the forty.
"""

import hashlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spanreward import CriteriaReward, FunctionJudge, HarmonicReward, LaveReward, PoshReward, reward
from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.experimental.cascade_judge import CascadeJudge
from spanreward.rewards.experimental.encoder_judge import EncoderJudge
from spanreward.rewards.experimental.jury_judge import JuryJudge
from spanreward.rewards.judges import CachedJudge, MatchJudge
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.remote.chat_judge import ChatJudge
from spanreward.rewards.pairwise import PairwiseReward
from spanreward.rewards.reward.reward import Reward
from tests.support.hostile_member import MEMBERS
from tests.support.server import Server, text_of
from tests.support.tiny_encoder import saved
from tests.support.tiny_models import save_llama

ENTRIES = (*"12345", *"ABC")
PLACE = 7


def shares(text: str, seed: str = "") -> dict[str, float]:
    """A distribution over the entries of all scales, from the text alone."""
    digest = hashlib.sha256((seed + text).encode("utf-8", "surrogatepass")).digest()
    weights = [1 + byte**2 for byte in digest[: len(ENTRIES)]]
    return {entry: weight / sum(weights) for entry, weight in zip(ENTRIES, weights, strict=True)}


def rule(seed: str = "") -> FunctionJudge:
    return FunctionJudge(f"rule {seed}", lambda text: shares(text, seed))


def served(body: dict[str, Any], number: int) -> Any:
    def tell(answer: dict[str, Any]) -> None:
        found, (choice,) = shares(text_of(body)), answer["choices"]
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
    encoder, model = (
        EncoderJudge(saved(tmp_path_factory.mktemp("bert"))),
        TransformersJudge(str(llama), min_mass=0.0),
    )
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


@reward(columns=("reference",), name="own")
def own(sample: Sample) -> Verdict:
    """Raises for texts that are empty, cannot be encoded or have no letter, and marks too much of
    long ones.
    """
    words = sample.completion.encode().split()
    letters = [letter for letter in sample.completion if letter.isalpha()]
    length = len(sample.completion)
    spans = (Span(0, length + length // 5000, 1.0, 0.1, "all", letters[0], 0),)
    return Verdict(min(1.0, len(words) / len(sample.completion.split(" is ")) / 10), spans=spans)


REWARDS: dict[str, Callable[[Any], Any]] = {
    "posh": PoshReward,
    "harmonic": lambda judge: HarmonicReward(judge, evidence="context"),
    "lave": lambda judge: LaveReward(judge, rationale=False),
    "pairwise": lambda judge: PairwiseReward(judge, anchor="reference", evidence="context"),
    "criteria": lambda judge: CriteriaReward(judge, evidence="context"),
    "own": lambda judge: own,
}
KINDS = ("function", "transformers", "server", "jury", "cascade", "cached")
PAIRS = [(name, kind) for name in REWARDS if name != "own" for kind in KINDS]
PAIRS += [("own", "function"), ("posh", "match"), ("lave", "match"), ("posh", "encoder")]
ALL = ("own", "match", "encoder")  # what runs with one or two others


def honest(number: int) -> Sample:
    colour, thing = (
        ("red", "blue", "green")[number % 3],
        ("circle", "square", "star", "cat", "dog")[number % 5],
    )
    return sample(
        f"A {colour} {thing} is on the mat." if number % 2 else f"The {thing} is {colour}."
    )


def sample(completion: str) -> Sample:
    reference = "A red circle is above a blue square. A cat sits on the mat."
    return Sample(
        *("Describe it.", completion),
        references=(reference,),
        context=reference,
        task="ic",
        question="What is on the mat?",
        answers=("cat", "a cat", "dog"),
        criteria=("It names the cat.",),
    )


OTHERS = [honest(number) for number in range(15)]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_the_others_verdicts_stay(judges: Any, tmp_path: Path, name: str, kind: str) -> None:
    turn = [*REWARDS].index(name) + (KINDS.index(kind) if kind in KINDS else 0)
    share = (
        1 if name in ALL or kind in ALL else 20 if kind == "transformers" and name != "posh" else 7
    )
    chosen = [*MEMBERS][turn % share :: share]

    def judged(samples: list[Sample], number: int) -> list[Verdict]:
        folder = tmp_path / str(number)
        folder.mkdir()
        return REWARDS[name](judges[kind](folder)).judge_samples(samples)

    alone = judged(OTHERS, 0)
    assert len({(verdict.score, verdict.status) for verdict in alone}) > 1
    assert not any(verdict.status in (Status.ERROR, Status.NOT_APPLICABLE) for verdict in alone), (
        alone[0].note
    )
    for number, member in enumerate(chosen, start=1):
        batch = [*OTHERS[:PLACE], sample(MEMBERS[member]), *OTHERS[PLACE:]]
        verdicts = judged(batch, number)
        hostile = verdicts.pop(PLACE)
        for one, other in zip(verdicts, alone, strict=True):
            assert equal(one, other), member
        assert hostile.status in (Status.OK, Status.EMPTY) or name in ("own", "pairwise"), (
            member,
            hostile.note,
        )


def equal(one: Verdict, other: Verdict) -> bool:
    """To 1e-5, which a model's padding moves."""

    def parts(verdict: Verdict) -> dict[str, float]:
        numbers = {
            f"span {n}": span.score for n, span in enumerate((*verdict.spans, *verdict.missed))
        }
        credit = {f"credit {n}": span.credit for n, span in enumerate(verdict.spans)}
        return {"score": verdict.score or 0.0, **verdict.parts, **numbers, **credit}

    assert (one.status, one.note, one.reference) == (other.status, other.note, other.reference)
    assert [(s.start, s.end, s.kind) for s in one.spans] == [
        (s.start, s.end, s.kind) for s in other.spans
    ]
    return parts(one) == pytest.approx(parts(other), abs=1e-5)


@pytest.mark.parametrize("name", REWARDS)
def test_no_samples_have_no_verdicts(name: str) -> None:
    assert REWARDS[name](rule()).assess([]) == REWARDS[name](rule()).judge_samples([]) == []


def test_a_span_past_the_end_is_refused_where_the_verdict_meets_its_text() -> None:
    span = Span(0, 6, 1.0, 0.1, "entity", "", 0)
    verdicts = {"short": Verdict(0.5, spans=(span,)), "longer": Verdict(0.5, spans=(span,))}
    verdicts |= {
        "missed": Verdict(0.5, missed=(span,)),
        "none": Verdict(0.5, missed=(span,), reference=1),
    }

    class Given(Reward):
        def assess(self, samples: Any) -> list[Verdict]:
            return [verdicts[one.completion] for one in samples]

    samples = [Sample("", text, references=("a dog",)) for text in verdicts]
    found = Given("given").judge_samples(samples)
    assert [one.score for one in found] == [None, 0.5, None, None]
    assert "character 6 " in found[0].note
    assert found[0].note.endswith("has 5")
