"""Questions as typed data, for judges that do not read prose.

    PresenceProbe("A red circle.", "attribute", Mention("circle"), words="red")
    # is the circle described as red?
    AnswerProbe("What color is it?", "red", ("red", "dark red"))  # is the answer right?
    PairProbe("Describe.", "A red circle.", "A circle.", context="A red circle.")
    # which of two is better?

Metrics set `Question.probe`, which says what the question's prose says. MatchJudge answers
presence, phrases and answers. `context` describes the picture in words, "" where the judge sees it.
"""

from dataclasses import dataclass, field
from typing import Literal

from spanreward.rewards.language.scene_graph import SceneGraph


@dataclass(frozen=True, slots=True)
class Link:
    """A relation of a mention: (mention, relation, other), or (other, relation, mention) if
    `reverse`.

    For "the dog on the sofa" the dog has Link("on", Mention("sofa")), and for "the sofa" of that
    sentence it is Link("on", Mention("dog"), reverse=True).
    """

    relation: str
    other: "Mention"
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Mention:
    """How the question refers to a thing.

    Attributes:
        head: its noun.
        attributes: those before the noun, all of which must hold.
        links: relations to other things, all of which must hold.
        details, ties: what else the source text says of the thing, if the prompt shows that text
            (the one from which the question was made). They need not hold in `text`; they only tell
            which of several things with this head is meant.
    """

    head: str
    attributes: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    details: tuple[str, ...] = ()
    ties: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class PresenceProbe:
    """Does `text` mention `mention` (entity), describe it as `words` (attribute), or relate it by
    `words` to `other` (relation)? Does it mention it although the source denies it (denied)?

    Attributes:
        text: the text that is judged.
        kind, mention, words, other: what is asked of it.
        graph: the scene graph of `text`, if the metric has parsed it. Probes that differ only in it
            are equal.
        source, places: the text that the question was made from, and the characters [start, end) of
            what is asked in it. They are given to a judge that asks for them only
            (Judge.reads_source).
    """

    text: str
    kind: Literal["entity", "attribute", "relation", "denied"]
    mention: Mention
    words: str = ""
    other: Mention | None = None
    graph: SceneGraph | None = field(default=None, compare=False, repr=False)
    source: str = ""
    places: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class PictureProbe:
    """Does the picture show `mention` (entity, denied), show it as `words` (attribute), or relate
    it by `words` to `other` (relation)?
    """

    kind: Literal["entity", "attribute", "relation", "denied"]
    mention: Mention
    words: str = ""
    other: Mention | None = None


@dataclass(frozen=True, slots=True)
class PhraseProbe:
    """Write `words` as one noun phrase.

    Attributes:
        words: an entity's name with an attribute or a relation, one after another.
        by_rule: the phrase that the metric's own rule gives.
    """

    words: str
    by_rule: str


@dataclass(frozen=True, slots=True)
class AnswerProbe:
    """How right is the answer `candidate` to `question`, given the reference answers?

    From 1 (wrong) to 3 (right).
    """

    question: str
    candidate: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CriterionProbe:
    """How good is `text` by the criterion `name`, from 1 to 5?

    If there is a `sentence` of it, only that is rated.
    """

    name: str
    text: str
    context: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class QualityProbe:
    """How well does `text` answer `request`, from 1 (poor) to 5?"""

    request: str
    text: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class MeetsProbe:
    """How far does `text` meet `criterion`, from 1 (not at all) to 5?"""

    criterion: str
    text: str
    request: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class PairProbe:
    """Which of `first` and `second` answers `request` better? By `criteria`, if there are any."""

    request: str
    first: str
    second: str
    context: str = ""
    criteria: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RankingProbe:
    """In which order, from best to worst, do the texts answer `request`?

    The answer is their numbers: "2, 1, 3".
    """

    request: str
    texts: tuple[str, ...]
    context: str = ""
