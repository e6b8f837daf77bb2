"""Questions as typed data, for judges that do not read prose.

    PresenceProbe("A red circle.", "attribute", Mention("circle"), words="red")
    # is the circle described as red?
    AnswerProbe("What color is it?", "red", ("red", "dark red"))  # is the answer right?
    PairProbe("Describe.", "A red circle.", "A circle.", context="A red circle.")
    # which of two is better?

A metric sets `Question.probe` to a probe that asks the same as the question's prose. MatchJudge
answers PresenceProbes, PhraseProbes and AnswerProbes. In all probes `context` is a text that
describes the picture, or "" if the judge sees the picture.
"""

from dataclasses import dataclass, field
from typing import Literal

from spanreward.rewards.language.scene_graph import SceneGraph


@dataclass(frozen=True, slots=True)
class Link:
    """A relation of a mention to another thing: (mention, relation, other). With `reverse` the
    relation is (other, relation, mention).

    In "the dog on the sofa" the dog has Link("on", Mention("sofa")). The sofa has Link("on",
    Mention("dog"), reverse=True).
    """

    relation: str
    other: "Mention"
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Mention:
    """The words by which a question refers to a thing.

    Attributes:
        head: the noun.
        attributes: the adjectives before the noun, all of which must hold.
        links: relations to other things, all of which must hold.
        details, ties: further attributes and relations that the source text gives to the thing, if
            the prompt shows that text. (The source is the text from which the question was made.)
            Details and ties need not hold in `text`. They only help to choose among several things
            with the same head.
    """

    head: str
    attributes: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    details: tuple[str, ...] = ()
    ties: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class PresenceProbe:
    """Asks about `mention` in `text`. The kind decides the question.

    "entity": does the text mention the thing? "attribute": does the text describe the thing as
    `words`? "relation": does the text relate the thing by `words` to `other`? "denied": does the
    text mention the thing although the source denies the thing?

    Attributes:
        text: the text that is judged.
        kind, mention, words, other: the question, as above.
        graph: the scene graph of `text`, if the metric has parsed it. Probes that differ only in
            the graph are equal.
        source, places: the text that the question was made from, and the characters [start, end) in
            the source that the question asks about. Only judges with `reads_source` get them.
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
    """Asks about `mention` in the picture. The kind decides the question.

    "entity" and "denied": does the picture show the thing? "attribute": does the picture show the
    thing as `words`? "relation": does the picture relate the thing by `words` to `other`?
    """

    kind: Literal["entity", "attribute", "relation", "denied"]
    mention: Mention
    words: str = ""
    other: Mention | None = None


@dataclass(frozen=True, slots=True)
class PhraseProbe:
    """Asks for `words` as one noun phrase.

    Attributes:
        words: an entity's name and an attribute or a relation, side by side.
        by_rule: the phrase that the metric's own rule gives, without a judge.
    """

    words: str
    by_rule: str


@dataclass(frozen=True, slots=True)
class AnswerProbe:
    """Asks how right the answer `candidate` to `question` is, given the reference answers.

    The rating is from 1 (wrong) to 3 (right).
    """

    question: str
    candidate: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CriterionProbe:
    """Asks how good `text` is by the criterion `name`, from 1 to 5.

    If `sentence`, a sentence of the text, is not empty, only that sentence is rated.
    """

    name: str
    text: str
    context: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class QualityProbe:
    """Asks how well `text` answers `request`, from 1 (poor) to 5."""

    request: str
    text: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class MeetsProbe:
    """Asks how far `text` meets `criterion`, from 1 (not at all) to 5."""

    criterion: str
    text: str
    request: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class PairProbe:
    """Asks whether `first` or `second` answers `request` better. If `criteria` is not empty, the
    texts are compared by these criteria.
    """

    request: str
    first: str
    second: str
    context: str = ""
    criteria: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RankingProbe:
    """Asks for the order of the texts, from best to worst, by how well they answer `request`.

    The answer lists the texts' numbers: "2, 1, 3".
    """

    request: str
    texts: tuple[str, ...]
    context: str = ""
