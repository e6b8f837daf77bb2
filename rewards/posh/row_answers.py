"""The judge's answers about the rows of a batch, before they become verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.posh.answer_sheet import AnswerSheet

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
    """Returns the note on unread text of the completion and references, "" for no unread text."""
    cut_of_completion = 0
    cuts_of_references: list[int] = []
    for pair in pairs:
        cut_of_completion = max(cut_of_completion, pair.recall.cut_of(source=False))
        cut = pair.recall.cut_of(source=True)
        if pair.precision is not None:
            cut_of_completion = max(cut_of_completion, pair.precision.cut_of(source=True))
            cut = max(cut, pair.precision.cut_of(source=False))
        cuts_of_references.append(cut)
    texts = [("the completion", sample.completion, cut_of_completion)]
    for pair, cut in zip(pairs, cuts_of_references, strict=True):
        name = "the reference"
        if len(sample.references) > 1:
            name = f"reference {pair.reference + 1}"
        texts.append((name, sample.references[pair.reference], cut))
    notes = []
    for name, text, cut in texts:
        if cut:
            read = len(text) - cut
            notes.append(f"the judge read {read:,} of {len(text):,} characters of {name}")
    return "; ".join(notes)
