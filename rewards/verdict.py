"""What is judged and what comes back: Sample in, Verdict out.

    verdict = reward.assess([Sample(prompt="Describe.", completion="A red circle.", references=("A blue circle.",))])[0]
    verdict.score                      # 0.83, or None when the judge failed
    [(s.start, s.end, s.score) for s in verdict.spans]

A Verdict's `score` is a float in [0, 1] exactly when its status is OK or EMPTY; otherwise it is None and the status
says whose fault that is. Nothing in this file knows of judges, metrics or trainers.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

LEFT_OUT = 0.5


class Status(StrEnum):
    """Why a verdict has, or lacks, a score."""

    OK = "ok"
    EMPTY = "empty"  # the completion says nothing that could be judged: a real 0, no judge was asked
    NOT_APPLICABLE = "not_applicable"  # this row lacks what the metric needs (its column is None or empty)
    UNPARSED = "unparsed"  # the judge answered, unreadably
    TIMEOUT = "timeout"  # the judge did not answer before the deadline
    ERROR = "error"  # the judge broke

    @property
    def failed(self) -> bool:
        """True when the judge, not the completion and not the data, is to blame for the missing score."""
        return self in (Status.UNPARSED, Status.TIMEOUT, Status.ERROR)


@dataclass(frozen=True, slots=True)
class Sample:
    """One completion with everything a metric may look at.

    Attributes:
        prompt: its text.
        completion: judged exactly as given, never stripped, so that span offsets index into it.
        images: PIL images.
        references: the dataset column `reference`, as texts.
        question: what an answer answers.
        answers: several people's answers to it.
        task: HarmonicEval's task, where the row says so.
        bbox: (x0, y0, x1, y1) in pixels of the first image.
        context: a text that says what is in the picture.
        anchor: another text for the same prompt, to compare the completion with.
        criteria: what a good answer to this row must do, one text each.
        id: the row's.
    """

    prompt: str
    completion: str
    images: tuple[Any, ...] = ()
    references: tuple[str, ...] = ()
    question: str | None = None
    answers: tuple[str, ...] = ()
    task: str | None = None
    bbox: tuple[float, float, float, float] | None = None
    context: str | None = None
    anchor: str | None = None
    criteria: tuple[str, ...] = ()
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of one text, and what they are worth.

    Attributes:
        score: from 0 (wrong) to 1 (right).
        credit: what these words add to the verdict's score; below 0 they cost. All spans of one `component` carry the
            component's whole credit, which belongs to them together, not to each.
        kind: of what the words are: entity, attribute, relation, answer, filler, unread or a criterion's name.
        note: why, in one sentence.
        component: the number of the component that the words name.
        asked: False where nobody was asked about these words, as what they are said of is absent ("red" of "a red hat"
            where there is no hat): they have a score, and no credit.
    """

    start: int
    end: int
    score: float
    credit: float
    kind: str
    note: str
    component: int
    asked: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"a span needs 0 <= start < end, got start {self.start} and end {self.end}")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judgment of one completion.

    Attributes:
        score: in [0, 1]; None where `status` says why there is none.
        status: OK, EMPTY (a real 0), or what kept the score from coming.
        parts: named numbers behind the score.
        spans: on the completion.
        missed: on the sample's `references[reference]`: what the completion does not wholly say, each with the score of
            how far it does, below 1.
        reference: which of the references the verdict is about.
        note: a sentence.
        parsed_by: what parsed the texts ("en_core_web_sm 3.8.0, coref rules"), since scores of other parses do not
            compare; "" for a metric that parses none.
    """

    score: float | None
    status: Status = Status.OK
    parts: dict[str, float] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()
    missed: tuple[Span, ...] = ()
    reference: int = 0
    note: str = ""
    parsed_by: str = ""

    def __post_init__(self) -> None:
        scored = self.status in (Status.OK, Status.EMPTY)
        if scored != (self.score is not None):
            raise ValueError(f"status {self.status!s} with score {self.score}: only ok and empty verdicts have a score")
        if self.score is not None and not 0.0 <= self.score <= 1.0:
            raise ValueError(f"a score lies in [0, 1], got {self.score}")

    @property
    def left_out(self) -> tuple[Span, ...]:
        """Of `missed` what is more missing than said, below LEFT_OUT: what pages show."""
        return tuple(span for span in self.missed if span.score < LEFT_OUT)
