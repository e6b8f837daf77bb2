"""The judge's answers about the rows of a batch, before they become verdicts."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.language.supported_claims import vocabulary_of
from spanreward.rewards.posh.answer_sheet import AnswerSheet
from spanreward.rewards.posh.graph_view import GraphView, view_graph

# Two graphs of a reference. The first has the components that recall asks about. The second has
# everything that the reference supports, see `ParsedRow`.
ReferenceGraphs = tuple[SceneGraph, SceneGraph]


@dataclass(frozen=True, slots=True)
class ParsedRow:
    """A sample with the graph of its completion, and the two graphs of each reference.

    The two graphs differ only if the reference leaves something open. For "a red or orange bird"
    the second graph supports both "red" and "orange", and the first graph has neither color.
    """

    sample: Sample
    graph: SceneGraph
    references: tuple[ReferenceGraphs, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """The answers on a completion and one of its references.

    Attributes:
        reference: the reference's index in the sample.
        precision: the answers on the completion's components. None if they are looked up only in
            the picture.
        recall: the answers on the reference's components.
    """

    reference: int
    precision: AnswerSheet | None
    recall: AnswerSheet

    @property
    def sheets(self) -> tuple[AnswerSheet, ...]:
        """The sheets of this pair that have questions, in the order of the questions."""
        if self.precision is None:
            return (self.recall,)
        return self.precision, self.recall


@dataclass(frozen=True, slots=True)
class RowAnswers:
    """The answers on one completion.

    Attributes:
        pairs: the answers for each reference.
        picture: the answers of the picture on the completion's components, None without a picture.
    """

    pairs: Sequence[Pair]
    picture: AnswerSheet | None = None

    @property
    def precision(self) -> list[AnswerSheet]:
        """The sheets with the completion's components looked up in the references."""
        return [pair.precision for pair in self.pairs if pair.precision is not None]

    @property
    def failure(self) -> Failure | None:
        """The judge's first failure in the order of the questions, or None."""
        # the order of the questions, so that the note of the verdict names the first failure
        sheets: list[AnswerSheet] = []
        for pair in self.pairs:
            sheets += pair.sheets
        if self.picture is not None:
            sheets.append(self.picture)
        for sheet in sheets:
            if sheet.failure is not None:
                return sheet.failure
        return None


@dataclass(frozen=True, slots=True)
class JudgedRows:
    """Rows after the judge has answered.

    Attributes:
        rows: all rows in order, including rows without a question.
        parsed_by: the parser's name, such as "en_core_web_sm 3.8.0, coref rules".
        verdicts: the verdicts of rows without a question, by the row's number.
        answers: the answers of all other rows, by the row's number.
        decoys: the judge's rating of each decoy, from 0 (not in the picture) to 1. A decoy is a
            thing that the picture lacks (picture_evidence.py).
    """

    rows: Sequence[ParsedRow]
    parsed_by: str
    verdicts: dict[int, Verdict]
    answers: dict[int, RowAnswers]
    decoys: list[float] = field(default_factory=list)


def note_on_cuts(sample: Sample, pairs: Sequence[Pair]) -> str:
    """Returns the note on text that the judge did not read, "" if the judge read everything.

    For example "the judge read 900 of 1,000 characters of the completion".

    pairs: the answers on the completion and each of its references.
    """
    cut_of_completion = max(map(_cut_of_completion, pairs), default=0)
    notes = [_note_on_cut("the completion", sample.completion, cut_of_completion)]
    for pair in pairs:
        name = "the reference"
        if len(sample.references) > 1:
            name = f"reference {pair.reference + 1}"
        text = sample.references[pair.reference]
        notes.append(_note_on_cut(name, text, _cut_of_reference(pair)))
    return "; ".join(filter(None, notes))


def _cut_of_completion(pair: Pair) -> int:
    """Returns how many characters of the completion the judge did not read."""
    # recall looks components up in the completion, precision may show the completion too
    cut = pair.recall.cut_of(source=False)
    if pair.precision is not None:
        cut = max(cut, pair.precision.cut_of(source=True))
    return cut


def _cut_of_reference(pair: Pair) -> int:
    """Returns how many characters of the reference the judge did not read."""
    cut = pair.recall.cut_of(source=True)
    if pair.precision is not None:
        cut = max(cut, pair.precision.cut_of(source=False))
    return cut


def _note_on_cut(name: str, text: str, cut: int) -> str:
    """Returns the note on one text, "" if the judge read the whole text.

    name: such as "reference 2". cut: how many characters the judge did not read.
    """
    if not cut:
        return ""
    read = len(text) - cut
    return f"the judge read {read:,} of {len(text):,} characters of {name}"


def vocabularies_by_references(
    rows: Sequence[ParsedRow],
) -> dict[tuple[str, ...], Set[str]]:
    """Returns the vocabulary of each row's references (`vocabulary_of`), by the references. Rows of
    a group have the same references, and share one vocabulary.
    """
    vocabularies: dict[tuple[str, ...], Set[str]] = {}
    for row in rows:
        references = row.sample.references
        if references not in vocabularies:
            vocabularies[references] = vocabulary_of(references)
    return vocabularies


def views_by_graph(rows: Sequence[ParsedRow]) -> dict[int, GraphView]:
    """Returns the views of the graphs whose components the judge is asked about, by the graph's id.

    These are the completion's graph and the first graph of each reference. Equal texts share one
    graph, and so one view.
    """
    views: dict[int, GraphView] = {}
    for row in rows:
        graphs = [row.graph]
        for graph, _ in row.references:
            graphs.append(graph)
        for graph in graphs:
            if id(graph) not in views:
                views[id(graph)] = view_graph(graph)
    return views
