"""A judge without a model: looks presence questions up in the target text's own scene graph. Not a published metric.
Answers to questions it compares with people's answers word by word (rate_answer.py), of HarmonicEval's criteria it
knows what words can tell (rate_criteria.py), and of several texts which says more that is right (compare_texts.py).

    MatchJudge().rate([Question(messages, probe=PresenceProbe("A red circle.", "attribute", Mention("circle"), "red"))])

It reads `Question.probe` only, never the prose, and knows words, not meaning: lemmas must be equal (2 and two are),
attributes attached to the thing asked about, relations between the two things asked about. So synonyms count as absent,
and so does most of what the parser got wrong. Its answers are certain: all the probability is on one rating,

    5  found
    4  found in other words of the same stem or place: "sits in" / "in", "next to" / "near", "with" / "wears",
       "snowy" / "snow covered", "coffee cup" / "cup of coffee", "a group of men" / "men", "left corner" / "left"
    3  the words are there, and neither they nor the things they tie are said to belong elsewhere
    2  a thing of that name is there, but not as the identifier describes it
    1  not found; but for 5 % that are on 2, as it may be said in words that this judge does not know. All on 1: a
       colour, a count or one side of two that is not given, and a tie that is given otherwise

Where several things of that name fit, any of them may satisfy; what else the question's text says of the thing (its
attributes and relations) first narrows them down to those that share most of it.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from rewards.judges.judge import RATING_SCALE, Failure, Judge, Question, Rating
from rewards.judges.match.compare_texts import Comparison, compare, ranking, worths
from rewards.judges.match.rate_answer import rate_answer
from rewards.judges.match.rate_criteria import rate_criteria
from rewards.judges.match.text_index import TextIndex
from rewards.judges.probe import AnswerProbe, CriterionProbe, PhraseProbe, PresenceProbe, RankingProbe
from rewards.judges.usage import Usage
from rewards.language.parse import describe, reader_name
from rewards.language.rules import Mode
from rewards.verdict import Status

REMEMBERED_TEXTS = 4096
REMEMBERED_CHARACTERS = 500_000  # of all of them, whose indexes take some 240 bytes a character


class MatchJudge(Judge):
    """Answers from the words of the text itself, without a model. It is no published metric.

    Args:
        pipeline: the spaCy pipeline, as for `rewards.language.describe`. Only texts whose probe brings no graph are
            parsed.
        coref: likewise.
    """

    def __init__(self, pipeline: Any = None, coref: Any = "rules") -> None:
        self.pipeline = pipeline
        self.coref = coref
        self._indexes: OrderedDict[tuple[str, Mode], TextIndex] = OrderedDict()  # least recently used first

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "usage": Usage(), "_indexes": OrderedDict()}

    @property
    def name(self) -> str:
        """What it parses texts with, on which its answers depend. Raises ImportError where that is missing."""
        return f"match {reader_name(self.pipeline, self.coref)}"

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        """One certain rating per question; a Failure (UNPARSED) for a question whose probe it does not answer."""
        self.usage.questions += len(questions)
        probes = [question.probe for question in questions]
        presences = [probe for probe in probes if isinstance(probe, PresenceProbe)]
        with self.usage.clock("seconds"):
            levels = iter(self.levels(presences, self._indexes_of(presences)))
            criteria = [probe for probe in probes if isinstance(probe, CriterionProbe)]
            of_criteria = iter(rate_criteria(criteria, scale, self._parse, self.levels))
            compared = iter(self._worths([probe for probe in probes if isinstance(probe, Comparison)]))

        def answer(probe: Any) -> Rating | Failure:
            if isinstance(probe, PresenceProbe):
                return rating_of(next(levels), scale)
            if isinstance(probe, AnswerProbe):
                return rating_of(rate_answer(probe)[0], scale)
            if isinstance(probe, CriterionProbe):
                return next(of_criteria)
            if isinstance(probe, Comparison):
                return compare(probe, next(compared), scale)
            return Failure(Status.UNPARSED, f"the match judge answers typed questions (probes) only, got {probe!r}")

        return [answer(probe) for probe in probes]

    def levels(self, probes: Sequence[PresenceProbe], indexes: Sequence[TextIndex]) -> list[float]:
        """The ratings, 1 to 5, each probe's from the index of its text."""
        return [index.rating(probe) for probe, index in zip(probes, indexes, strict=True)]

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """The asker's own noun phrase for a Phrase, a rationale and rating for an Answer, the order of texts for a
        Ranking, else a Failure (UNPARSED).
        """
        self.usage.questions += len(questions)
        probes = [question.probe for question in questions]
        with self.usage.clock("seconds"):
            compared = iter(self._worths([probe for probe in probes if isinstance(probe, RankingProbe)]))
        return [ranking(next(compared)) if isinstance(probe, RankingProbe) else written(probe) for probe in probes]

    def _worths(self, probes: Sequence[Comparison]) -> list[list[float] | Failure]:
        return worths(probes, lambda asked: rate_criteria(asked, RATING_SCALE, self._parse, self.levels))

    def _indexes_of(self, probes: Sequence[PresenceProbe]) -> list[TextIndex]:
        """Per probe the index of its text. Brought graphs are indexed once each, texts without are parsed together."""
        given = {id(probe.graph): probe.graph for probe in probes if probe.graph is not None}
        brought = {key: TextIndex(graph) for key, graph in given.items()}
        own = self._parse([probe.text for probe in probes if probe.graph is None])
        return [own[probe.text] if probe.graph is None else brought[id(probe.graph)] for probe in probes]

    def _parse(self, texts: Sequence[str], mode: Mode = "default") -> dict[str, TextIndex]:
        """An index per text; those not remembered are parsed together."""
        wanted = list(dict.fromkeys(texts))
        indexes = {text: self._indexes[text, mode] for text in wanted if (text, mode) in self._indexes}
        new = [text for text in wanted if text not in indexes]
        graphs = describe(new, pipeline=self.pipeline, coref=self.coref, mode=mode) if new else []
        indexes.update({text: TextIndex(graph) for text, graph in zip(new, graphs, strict=True)})
        for text in wanted:
            self._indexes[text, mode] = indexes[text]
            self._indexes.move_to_end((text, mode))
        characters = sum(len(text) for text, _ in self._indexes)
        while len(self._indexes) > REMEMBERED_TEXTS or characters > REMEMBERED_CHARACTERS:
            (text, _), _ = self._indexes.popitem(last=False)
            characters -= len(text)
        return indexes


def written(probe: Any) -> str | Failure:
    """What a probe is answered with in words."""
    if isinstance(probe, PhraseProbe):
        return probe.by_rule
    if isinstance(probe, AnswerProbe):
        rating, reason = rate_answer(probe)
        return f"The candidate answer is rated so because {reason}. So rating={rating:.0f}"
    kind = type(probe).__name__  # not its words, which are a whole completion
    return Failure(Status.UNPARSED, f"the match judge writes noun phrases and rationales only, got the probe {kind}")


def rating_of(level: float, scale: Sequence[str]) -> Rating:
    """The distribution over the scale's whole numbers whose mean is `level`, on one of them or on two neighbours."""
    return Rating({entry: max(0.0, 1 - abs(float(entry) - level)) for entry in scale})
