"""A judge without a model that looks presence questions up in the scene graph of the text. Not a
published metric.

    probe = PresenceProbe("A red circle.", "attribute", Mention("circle"), "red")
    MatchJudge().rate([Question(messages, probe=probe)])

It reads `Question.probe`, never the prompt, and knows words, not their meaning: lemmas must be
equal, an attribute must belong to the thing in question, a relation must connect the two things.
All probability is on one rating, but see 1:

    5  found
    4  found in other words of the same stem or place: "sits in" / "in", "next to" / "near", "with"
       / "wears", "snowy" / "snow covered", "coffee cup" / "cup of coffee", "a group of men" /
       "men", "left
       corner" / "left"
    3  the text has the words, but the parser tied them to nothing (for a relation: to neither of
       its two things)
    2  the text has a thing of that name, but describes it otherwise
    1  not found. 5 % of the probability is on 2, because other words may say it. None of it is on 2
       for a colour, a count or one of two opposites that the text does not give, and for a relation
       that the text gives otherwise

Of several things with the name, those count that share most attributes and relations with the thing
in the question's source text. One that fits is enough. rate_answer.py rates LAVE's answers.
"""

from collections.abc import Sequence
from typing import Any

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating, rating_of
from spanreward.rewards.judges.match.rate_answer import rate_answer
from spanreward.rewards.judges.match.text_index import TextIndex
from spanreward.rewards.judges.probe import AnswerProbe, PhraseProbe, PresenceProbe
from spanreward.rewards.language.parse import describe, reader_name

# Part of the name, so that a cache holds no answers of another version. Raise it in the commit
# after which `match` may rate a question otherwise, here or in what it reads texts with
# (language/, text/).
VERSION = 2
REMEMBERED_GRAPHS = 256  # until the `with` ends
NO_PROSE = Failure(
    Status.UNPARSED,
    "match compares words for posh and lave, and answers no other question: give a judge that "
    "reads prose, such as vllm:MODEL or server:URL#MODEL",
)


class MatchJudge(Judge):
    """A judge that answers from the words of the text, without a model. It is no published metric.

    Args:
        pipeline, coref: as for `describe` of rewards/language. Texts whose probe has a graph are
            not parsed.
    """

    sees_pictures = False
    _takes_shared = True

    def __init__(self, pipeline: Any = None, coref: Any = "rules") -> None:
        self.pipeline = pipeline
        self.coref = coref
        # by the id of a probe's graph, which the index holds
        self._given: dict[int, TextIndex] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_given": {}}

    def _sleep(self) -> None:
        self._given = {}

    @property
    def name(self) -> str:
        """Returns its version, and what it parses texts with.

        Raises ImportError where the pipeline is not installed.
        """
        return f"match {VERSION}, {reader_name(self.pipeline, self.coref)}"

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Returns one rating per question, and NO_PROSE for all but presence and answers."""
        probes = [question.probe for question in questions]
        presences = {
            number: probe for number, probe in enumerate(probes) if isinstance(probe, PresenceProbe)
        }
        with self.usage.clock("seconds"):
            asked = list(presences.values())
            levels = dict(zip(presences, self.levels(asked, self._indexes_of(asked)), strict=True))
        levels |= {
            n: rate_answer(probe)[0]
            for n, probe in enumerate(probes)
            if isinstance(probe, AnswerProbe)
        }
        ratings = {level: rating_of(level, scale) for level in set(levels.values())}
        return [ratings[levels[n]] if n in levels else NO_PROSE for n in range(len(probes))]

    def levels(self, probes: Sequence[PresenceProbe], indexes: Sequence[TextIndex]) -> list[float]:
        """Returns the ratings, 1 to 5. `indexes` has the index of each probe's text."""
        return [index.rating(probe) for probe, index in zip(probes, indexes, strict=True)]

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns a PhraseProbe's noun phrase, a rationale and rating for an AnswerProbe, and else
        NO_PROSE.
        """
        return [written(question.probe) for question in questions]

    def _indexes_of(self, probes: Sequence[PresenceProbe]) -> list[TextIndex]:
        """Returns per probe the index of its text. Texts without a graph are parsed together."""
        graphs = {id(probe.graph): probe.graph for probe in probes if probe.graph is not None}
        if len(self._given) > REMEMBERED_GRAPHS:
            self._given = {}
        self._given |= {
            key: TextIndex(graph) for key, graph in graphs.items() if key not in self._given
        }
        texts = list(dict.fromkeys(probe.text for probe in probes if probe.graph is None))
        described = describe(texts, self.pipeline, self.coref) if texts else []
        parsed = {text: TextIndex(graph) for text, graph in zip(texts, described, strict=True)}
        return [
            parsed[probe.text] if probe.graph is None else self._given[id(probe.graph)]
            for probe in probes
        ]


def written(probe: Any) -> str | Failure:
    if isinstance(probe, PhraseProbe):
        return probe.by_rule
    if isinstance(probe, AnswerProbe):
        rating, reason = rate_answer(probe)
        return f"The candidate answer is rated so because {reason}. So rating={rating:.0f}"
    return NO_PROSE
