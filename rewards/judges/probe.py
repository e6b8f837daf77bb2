"""A question as typed data, for judges that answer without reading prose.

    PresenceProbe("A red circle.", "attribute", Mention("circle"), words="red")       # is the circle described as red?
    PhraseProbe("circle above square", by_rule="the circle above the square")         # a noun phrase, please
    AnswerProbe("What color is it?", "red", ("red", "dark red"))                      # is the answer right?
    CriterionProbe("fluency", "A red circle.")                                        # how good is the text by this?
    PairProbe("Describe.", "A red circle.", "A circle.", context="A red circle.")     # which of two is better?

Metrics attach a probe to `Question.probe`; MatchJudge answers from it. A PresenceProbe says what the prose of the
question says and nothing more.
"""

from dataclasses import dataclass, field
from typing import Literal

from rewards.language.scene_graph import SceneGraph


@dataclass(frozen=True, slots=True)
class Link:
    """A mention's tie to another one: (mention, relation, other), or the reverse when `reverse` is set."""

    relation: str
    other: "Mention"
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Mention:
    """How an identifier singles something out: its name, attributes in front of it, ties to other things.

    details and ties: what else the question's own text says of it. They need not hold; they only tell which of several
    things of that name is meant.
    """

    head: str
    attributes: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    details: tuple[str, ...] = ()
    ties: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class PresenceProbe:
    """Does `text` speak of `mention`, describe it as `words`, or say that `words` ties it to `other`?

    kind says which of the three. `graph` is `text` parsed, for judges that need it and when the asker has it at hand;
    it is no part of the question's identity.
    """

    text: str
    kind: Literal["entity", "attribute", "relation"]
    mention: Mention
    words: str = ""
    other: Mention | None = None
    graph: SceneGraph | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PhraseProbe:
    """Make one noun phrase of `words`. by_rule: what the asker would have made of them itself."""

    words: str
    by_rule: str


@dataclass(frozen=True, slots=True)
class AnswerProbe:
    """How right is the answer `candidate` to `question`, given people's answers, from 1 (wrong) to 3 (right)?"""

    question: str
    candidate: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CriterionProbe:
    """How good is `text` by a criterion of this name, from 1 to 5; or `sentence`, in its place in it, if there is one?

    context: what is known of the picture that the text is about; "" where the judge is shown the picture, or nothing.
    """

    name: str
    text: str
    context: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class QualityProbe:
    """How well does `text` serve `request`, from 1 (poor) to 5? `context` is what is known of the picture."""

    request: str
    text: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class MeetsProbe:
    """How far does `text` meet `criterion`, from 1 (not at all) to 5? `context` is what is known of the picture."""

    criterion: str
    text: str
    request: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class PairProbe:
    """Which of `first` and `second` serves `request` better? `context` is what is known of the picture, "" for nothing.

    criteria: by which; () leaves that to the judge.
    """

    request: str
    first: str
    second: str
    context: str = ""
    criteria: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RankingProbe:
    """In which order, from best to worst, do the texts serve `request`? Answered by their numbers from 1: "2, 1, 3"."""

    request: str
    texts: tuple[str, ...]
    context: str = ""
