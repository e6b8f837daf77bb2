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
       "men", "left corner" / "left"
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
        # By the id of a probe's graph. The index holds the graph, so that its id stays taken.
        self._index_by_graph_id: dict[int, TextIndex] = {}

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state["_index_by_graph_id"] = {}  # an id means nothing in another process
        return state

    def _sleep(self) -> None:
        self._index_by_graph_id = {}

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
        # the probes of both kinds, by the question's number
        presence_probes: dict[int, PresenceProbe] = {}
        answer_probes: dict[int, AnswerProbe] = {}
        for number, question in enumerate(questions):
            if isinstance(question.probe, PresenceProbe):
                presence_probes[number] = question.probe
            elif isinstance(question.probe, AnswerProbe):
                answer_probes[number] = question.probe
        level_by_question: dict[int, float] = {}
        with self.usage.clock("seconds"):
            probes = list(presence_probes.values())
            levels = self.levels(probes, self._indexes_of(probes))
            for number, level in zip(presence_probes, levels, strict=True):
                level_by_question[number] = level
        for number, probe in answer_probes.items():
            level_by_question[number], _ = rate_answer(probe)
        # There are few levels, and a Rating is never changed: thousands of questions share each.
        distinct_levels = set(level_by_question.values())
        rating_by_level = {level: rating_of(level, scale) for level in distinct_levels}
        ratings: list[Rating | Failure] = []
        for number in range(len(questions)):
            if number in level_by_question:
                level = level_by_question[number]
                ratings.append(rating_by_level[level])
            else:
                ratings.append(NO_PROSE)
        return ratings

    def levels(self, probes: Sequence[PresenceProbe], indexes: Sequence[TextIndex]) -> list[float]:
        """Returns the ratings, 1 to 5. `indexes` has the index of each probe's text."""
        levels = []
        for probe, index in zip(probes, indexes, strict=True):
            levels.append(index.rating(probe))
        return levels

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns a PhraseProbe's noun phrase, a rationale and rating for an AnswerProbe, and else
        NO_PROSE.
        """
        return [write_answer(question.probe) for question in questions]

    def _indexes_of(self, probes: Sequence[PresenceProbe]) -> list[TextIndex]:
        """Returns per probe the index of its text. Texts without a graph are parsed together."""
        # A graph that comes again after this only costs a new index.
        if len(self._index_by_graph_id) > REMEMBERED_GRAPHS:
            self._index_by_graph_id = {}
        unparsed: dict[str, None] = {}  # texts without a graph, each once
        for probe in probes:
            if probe.graph is None:
                unparsed[probe.text] = None
                continue
            graph_id = id(probe.graph)
            if graph_id not in self._index_by_graph_id:
                self._index_by_graph_id[graph_id] = TextIndex(probe.graph)
        index_by_text: dict[str, TextIndex] = {}
        if unparsed:
            texts = list(unparsed)
            graphs = describe(texts, self.pipeline, self.coref)
            for text, graph in zip(texts, graphs, strict=True):
                index_by_text[text] = TextIndex(graph)
        indexes = []
        for probe in probes:
            if probe.graph is None:
                indexes.append(index_by_text[probe.text])
            else:
                indexes.append(self._index_by_graph_id[id(probe.graph)])
        return indexes


def write_answer(probe: Any) -> str | Failure:
    """Returns what `write_each` answers to a question with this probe."""
    if isinstance(probe, PhraseProbe):
        return probe.by_rule
    if isinstance(probe, AnswerProbe):
        rating, reason = rate_answer(probe)
        # in the form that LAVE's prompt asks for, whose reader looks for "rating="
        return f"The candidate answer is rated so because {reason}. So rating={rating:.0f}"
    return NO_PROSE
