"""What the judge answered about the rows of a batch, before it becomes verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.posh.answer_sheet import AnswerSheet

# the graph of a reference, and that of everything that it supports
ReferenceGraphs = tuple[SceneGraph, SceneGraph]


@dataclass(frozen=True, slots=True)
class ParsedRow:
    """A sample with the graph of its completion, and the two graphs of each reference.

    These two differ if the reference leaves something open, such as "a red or orange bird".
    """

    sample: Sample
    graph: SceneGraph
    references: tuple[ReferenceGraphs, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """The answers on a completion and its reference of this index.

    precision: None where the completion is looked up in the picture alone.
    """

    reference: int
    precision: AnswerSheet | None
    recall: AnswerSheet

    @property
    def sheets(self) -> tuple[AnswerSheet, ...]:
        """The sheets of the directions that are asked, in the order of the questions."""
        if self.precision is None:
            return (self.recall,)
        return self.precision, self.recall


@dataclass(frozen=True, slots=True)
class RowAnswers:
    """The answers on a completion and its references, and on what its picture shows of it."""

    pairs: Sequence[Pair]
    picture: AnswerSheet | None = None

    @property
    def precision(self) -> list[AnswerSheet]:
        """The answers of the references on the completion."""
        return [pair.precision for pair in self.pairs if pair.precision is not None]

    @property
    def failure(self) -> Failure | None:
        """The first failure of the judge."""
        # in the order of the questions, so that the message is that of the first one that failed
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
    """Rows that were asked about.

    Attributes:
        rows: in order, with those that nothing was asked about.
        parsed_by: what parsed them.
        verdicts: by the row's number, of rows that nothing was asked about.
        answers: by the row's number, of the others.
        decoys: how far the judge said yes to each thing that a picture lacks, from 0 to 1.
    """

    rows: Sequence[ParsedRow]
    parsed_by: str
    verdicts: dict[int, Verdict]
    answers: dict[int, RowAnswers]
    decoys: list[float] = field(default_factory=list)
