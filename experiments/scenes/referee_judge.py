"""A judge that knows the truth about Scenes: what a perfect judge would say, for finding what a
metric lets pass.

    judge = RefereeJudge({row["context"]: scene})
    PoshReward(judge), HarmonicReward(judge, evidence="context"), LaveReward(judge, rationale=False), CaprlReward(judge)

Presence in a text it reads with the referee's grammar (referee.py), criteria it rates by the
referee's precision and recall, and an answer is right when it is what most people say (in Scenes
the truth) or another wording of it, and nothing else. It answers the questions of questions.py from
a text. It is certain, and answers typed questions only. For experiments: no reward of a run knows
the truth.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.caprl.probe import UNANSWERABLE, ReadProbe
from experiments.scenes.questions import other_words, place_name
from experiments.scenes.referee import (
    ATTRIBUTES,
    SIDES,
    DescribedObject,
    Reading,
    judge_description,
    read,
)
from experiments.scenes.world import COLUMNS, ROWS, SHAPES, Scene
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import (
    Failure,
    Judge,
    Question,
    Rating,
    rating_of,
)
from spanreward.rewards.judges.probe import (
    AnswerProbe,
    CriterionProbe,
    Link,
    Mention,
    PresenceProbe,
)
from spanreward.rewards.language.answer_text import answer_words

PLACES = {"corner", "edge", "center", "middle"}
YES, NO = 5.0, 1.0


class RefereeJudge(Judge):
    """scenes: what is on the picture, by the row's context."""

    name = "referee"

    def __init__(self, scenes: Mapping[str, Scene]) -> None:
        self.scenes = dict(scenes)
        self._readings: dict[str, Reading] = {}

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        return [self._rate(question.probe, scale) for question in questions]

    def _rate(self, probe: Any, scale: Sequence[str]) -> Rating | Failure:
        if isinstance(probe, PresenceProbe):
            if probe.text not in self._readings:
                self._readings[probe.text] = read(probe.text)
            return rating_of(YES if says(probe, self._readings[probe.text]) else NO, scale)
        if isinstance(probe, CriterionProbe):
            return rating_of(self._criterion(probe), scale)
        if isinstance(probe, AnswerProbe):
            right = max(probe.references, key=probe.references.count)
            said = answer_words(probe.candidate)
            holds = any(said == answer_words(wording) for wording in (right, *other_words(right)))
            return rating_of(3.0 if holds else 1.0, scale)
        return Failure(
            Status.UNPARSED, f"the referee answers typed questions only, got {type(probe).__name__}"
        )

    def _criterion(self, probe: CriterionProbe) -> float:
        """What the text alone shows (clarity, fluency, conciseness) it does not know: 3."""
        if probe.name not in ("correctness", "completeness"):
            return 3.0
        truth = judge_description(probe.sentence or probe.text, self.scenes[probe.context])
        return 1 + 4 * (truth.precision if probe.name == "correctness" else truth.recall)

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Answers to ReadProbes."""
        return [self._write(question.probe) for question in questions]

    def _write(self, probe: Any) -> str | Failure:
        if isinstance(probe, ReadProbe):
            return answer(probe.question, read(probe.text))
        return Failure(
            Status.UNPARSED, f"the referee writes answers only, got {type(probe).__name__}"
        )


def answer(question: str, reading: Reading) -> str:
    """What a text that was read answers to a question of questions.py: UNANSWERABLE where it says
    nothing, or two things. Silence is no "no".
    """
    words = question.removesuffix("?").split()
    shape = next((shape for word in words for shape in SHAPES if word in (shape, f"{shape}s")), "")
    mentions = [mention for mention in reading.mentions if shape in mention.values("shape")]
    if not mentions:
        return UNANSWERABLE
    if words[0] == "Is":
        return "yes" if any(words[-2] in mention.values("color") for mention in mentions) else "no"
    if words[0] == "How":
        return str(len(mentions))
    places = [(mention.values("row"), mention.values("column")) for mention in mentions]
    said = {color for mention in mentions for color in mention.values("color")}
    if words[0] == "Where":
        said = {
            place_name(row, column)
            for rows, columns in places
            for row in rows
            for column in columns
        }
    return said.pop() if len(said) == 1 else UNANSWERABLE


def says(probe: PresenceProbe, reading: Reading) -> bool:
    """Whether the text that was read has the thing, has it so, or ties it so."""
    if probe.kind == "relation" and probe.other is not None:
        return ties(probe.mention, probe.words, probe.other, reading)
    found = meant(probe.mention, reading)
    if probe.kind == "entity":
        return bool(found)
    if probe.kind == "denied":
        placed = all(
            ties(probe.mention, link.relation, link.other, reading) for link in probe.mention.links
        )
        return placed and any(
            all(is_so(m, word, probe.mention) for word in described(probe.mention)) for m in found
        )
    owners = [
        link.other for link in probe.mention.links if link.reverse and name(probe.mention) in PLACES
    ]
    if owners:  # "top" of the corner that the circle is in: is the circle at the top?
        found = [mention for owner in owners for mention in meant(owner, reading)]
    return any(is_so(mention, probe.words, probe.mention) for mention in found)


def ties(subject: Mention, words: str, other: Mention, reading: Reading) -> bool:
    """A place is where its thing is; two things lie as the text says, or as their places say."""
    if name(subject) in PLACES:
        return name(other) not in PLACES and ties(other, words, subject, reading)
    firsts = meant(subject, reading)
    if name(other) in PLACES:
        return any(
            all(is_so(mention, word, other) for word in (*described(other), ""))
            for mention in firsts
        )
    seconds = meant(other, reading)
    relation = next(
        (known for known in ("above", "below", "left", "right") if known in words.lower().split()),
        None,
    )
    if relation is None:
        return False
    said = [
        (first, second)
        for first, claim, second in reading.relations
        if claim.value.split()[0] == relation and first in firsts and second in seconds
    ]
    return bool(said) or any(lies(a, relation, b) for a in firsts for b in seconds if a is not b)


def lies(first: DescribedObject, relation: str, second: DescribedObject) -> bool:
    fact, order, sign = {
        "above": ("row", ROWS, -1),
        "below": ("row", ROWS, 1),
        "left": ("column", COLUMNS, -1),
        "right": ("column", COLUMNS, 1),
    }[relation]
    steps = {
        order.index(a) - order.index(b) for a in first.values(fact) for b in second.values(fact)
    }
    return any(step * sign > 0 for step in steps)


def meant(asked: Mention, reading: Reading) -> list[DescribedObject]:
    """The mentions that the question can mean: of its name, those that most of what is said of it
    holds for.
    """
    of_name = [
        m for m in reading.mentions if name(asked) in PLACES or name(asked) in m.values("shape")
    ]
    if name(asked) in PLACES:
        return [
            m for m in of_name if all(is_so(m, word, asked) for word in (*described(asked), ""))
        ]
    worth = [sum(is_so(mention, word, asked) for word in described(asked)) for mention in of_name]
    return [mention for mention, value in zip(of_name, worth, strict=True) if value == max(worth)]


def is_so(mention: DescribedObject, word: str, asked: Mention) -> bool:
    """Whether the text says this word of the mention; of a place, with "" that the mention is in
    one of its kind.
    """
    word = word.lower()
    if word in ATTRIBUTES:
        return word in mention.values(ATTRIBUTES[word])
    if word in SIDES:
        return word in mention.values(SIDES[word])
    if word == "" and name(asked) in PLACES:
        rows, columns = mention.values("row"), mention.values("column")
        kinds = {"corner": (0, 0), "edge": (0, 1), "center": (1, 1), "middle": (1, 1)}
        middles = [(row == "middle") + (column == "center") for row in rows for column in columns]
        return sum(kinds[name(asked)]) in middles
    return False


def name(asked: Mention) -> str:
    word = asked.head.lower().split()[-1] if asked.head.split() else ""
    return word.removesuffix("s") if word.removesuffix("s") in SHAPES else word


def described(asked: Mention) -> list[str]:
    """The words that the question says of it: its attributes, and where its ties put it."""
    said = [word for text in (*asked.details, *asked.attributes) for word in text.lower().split()]
    links: tuple[Link, ...] = (*asked.ties, *asked.links)
    return said + [
        word for link in links for text in link.other.details for word in text.lower().split()
    ]
