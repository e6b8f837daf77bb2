"""The data of a judgment: a Sample goes in, a Verdict comes out.

sample = Sample(prompt="Describe.", completion="A red circle.", references=("A blue circle.",))
verdict = reward.assess([sample])[0]
verdict.score                      # 0.83, or None when the judge failed
[(s.text("A red circle."), s.score) for s in verdict.spans]
verdict.html("A red circle.")      # its words coloured, in a notebook
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from numbers import Real
from typing import Any

from pydantic import TypeAdapter, ValidationError

from spanreward.rewards.base.checks import explained
from spanreward.rewards.base.texts import people, texts
from spanreward.rewards.base.verdict_html import Html, render

FORBID = {"extra": "forbid"}  # unknown keys, where pydantic reads a verdict
# of a credit or a part, in absolute value: one NaN or 1e300 in a step would destroy the policy
LARGEST_NUMBER = 1e6
ROUNDING = 1e-6  # by which a mean of ratings may leave its scale
LEFT_OUT = 0.5  # missed spans with a lower score are shown as left out


class Status(StrEnum):
    """Why a verdict has a score, or has none."""

    OK = "ok"
    # the completion says nothing that can be judged: the score is 0, and no judge was asked
    EMPTY = "empty"
    # the row lacks what the metric needs: its column is None or empty
    NOT_APPLICABLE = "not_applicable"
    UNPARSED = "unparsed"  # the judge's answer could not be read
    TIMEOUT = "timeout"  # the judge did not answer before the deadline
    ERROR = "error"  # the judge raised an error

    @property
    def failed(self) -> bool:
        """Whether the judge is to blame for the missing score, and neither the completion nor the
        data.
        """
        return self in (Status.UNPARSED, Status.TIMEOUT, Status.ERROR)


class NotApplicable(ValueError):
    """The metric cannot judge a row.

    The message says why, and becomes the note of a verdict of that status.
    """


def is_sound(value: Any) -> bool:
    """Whether the value is a finite number of at most LARGEST_NUMBER in absolute value."""
    if not isinstance(value, (float, int, Real)):
        return False
    return abs(float(value)) <= LARGEST_NUMBER  # also False for NaN


@dataclass(frozen=True, slots=True)
class Sample:
    """One completion with everything that a metric may read.

    A single text, or a single picture, may stand where several belong: `references="A circle."` is
    `references=("A circle.",)`.

    Attributes:
        prompt: the prompt's text.
        completion: the text to judge, never stripped. Span offsets index into it.
        images: PIL images.
        references: the texts of the dataset column `reference`.
        question: the question that the completion answers.
        answers: several people's answers to the question.
        task: HarmonicEval's task, where the row has one.
        bbox: (x0, y0, x1, y1) in pixels of the first image.
        context: a text that describes the picture.
        anchor: another text for the same prompt, to compare the completion with.
        criteria: what a good answer to this row must do, one text per criterion.
        id: the row's id.
        columns: the row's other columns by name, for metrics of your own. They do not count when
            samples are compared.

    Raises:
        ValueError: references, answers or criteria that are no texts.
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
    columns: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        images = self.images
        if not isinstance(images, (list, tuple)):
            images = (images,)
        references = _as_texts(texts, self.references, "references")
        answers = _as_texts(people, self.answers, "answers")
        criteria = _as_texts(texts, self.criteria, "criteria")
        # a frozen dataclass refuses `self.images = ...`
        object.__setattr__(self, "images", tuple(images))
        object.__setattr__(self, "references", references)
        object.__setattr__(self, "answers", answers)
        object.__setattr__(self, "criteria", criteria)


def _as_texts(
    read: Callable[[Any, str], tuple[str, ...]],
    value: Any,
    name: str,
) -> tuple[str, ...]:
    """Returns the texts as a row's are read, unless they are texts already."""
    # most samples come from rows that were read: reading again would cost time, and drop blank ones
    if isinstance(value, tuple) and all(isinstance(text, str) for text in value):
        return value
    return read(value, name)


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of one text, with their score and credit.

    Attributes:
        start: the first character's offset, from 0.
        end: the offset behind the last character.
        score: from 0 (wrong) to 1 (right).
        credit: what these words add to the verdict's score, negative where they cost; PoSh gives
            words rated 1 of 5 none above 0. Every span of a `component` carries its whole credit:
            count it once per component.
        kind: entity, attribute, relation, answer, filler, unread or a criterion's name.
        note: the reason, in one sentence.
        component: the number of the component that the words name.
        asked: False if the judge was not asked about these words because the thing they describe is
            absent ("red" in "a red hat" where there is no hat). Such a span has a score and no
            credit.

    Raises:
        ValueError: an empty range or one that starts below 0, a score outside [0, 1], and a credit
            that is NaN, infinite or above LARGEST_NUMBER.
    """

    __pydantic_config__ = FORBID

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
            raise ValueError(
                f"a span needs 0 <= start < end, got start {self.start} and end {self.end}"
            )
        in_scale = is_sound(self.score) and -ROUNDING <= self.score <= 1 + ROUNDING
        if not in_scale:
            raise ValueError(f"a span's score is a number from 0 to 1, got {self.score!r}")
        if not is_sound(self.credit):
            raise ValueError(
                f"a span's credit must be a finite number of at most {LARGEST_NUMBER:g}, got "
                f"{self.credit}"
            )

    def text(self, of: str) -> str:
        """Returns the span's words in the text that it lies on."""
        return of[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Unread:
    """Characters [start, end) of the completion that no judge was shown, as markup goes before a
    text is judged.

    Attributes:
        start: the first character's offset, from 0.
        end: the offset behind the last character.
        kind: what they are, in words for people, such as "reasoning" (rewards/text/pieces.py has
            all).

    Raises:
        ValueError: an empty range, or one that starts below 0.
    """

    __pydantic_config__ = FORBID

    start: int
    end: int
    kind: str

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(
                f"unread text needs 0 <= start < end, got start {self.start} and end {self.end}"
            )


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judgment of one completion.

    Attributes:
        score: in [0, 1] if the status is OK or EMPTY, otherwise None.
        status: OK, EMPTY (the score is 0), or why there is no score.
        parts: named numbers behind the score.
        spans: on the completion.
        missed: spans on the sample's `references[reference]` that the completion does not fully
            say. Their score, below 1, is how far it does.
        reference: the number of the reference that the verdict is about.
        note: a sentence for people.
        parsed_by: the parser ("en_core_web_sm 3.8.0, coref rules"), "" for a metric without one.
            Scores of different parsers do not compare.
        unread: what of the completion was not read, sorted and disjoint. Empty in published modes,
            which read texts as they are.

    Raises:
        ValueError: a score that its status does not have, or lacks; a score outside [0, 1]; and a
            part that is NaN, infinite or above LARGEST_NUMBER.
    """

    __pydantic_config__ = FORBID

    score: float | None
    status: Status = Status.OK
    parts: dict[str, float] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()
    missed: tuple[Span, ...] = ()
    reference: int = 0
    note: str = ""
    parsed_by: str = ""
    unread: tuple[Unread, ...] = ()

    def __post_init__(self) -> None:
        has_score = self.score is not None
        needs_score = self.status in (Status.OK, Status.EMPTY)
        if needs_score != has_score:
            raise ValueError(
                f"status {self.status!s} with score {self.score}: only ok and empty verdicts have "
                "a score"
            )
        if self.score is not None:
            in_scale = is_sound(self.score) and 0.0 <= self.score <= 1.0
            if not in_scale:
                raise ValueError(f"a score is a number in [0, 1], got {self.score!r}")
        wrong = {name: value for name, value in self.parts.items() if not is_sound(value)}
        if wrong:
            raise ValueError(
                f"a verdict's parts must be finite numbers of at most {LARGEST_NUMBER:g}, got "
                f"{wrong}"
            )

    @property
    def left_out(self) -> tuple[Span, ...]:
        """The missed spans with a score below LEFT_OUT, which pages show."""
        return tuple(span for span in self.missed if span.score < LEFT_OUT)

    def html(self, text: str | Sample | None = None) -> Html:
        """Returns what a notebook draws: the text with its words coloured, the parts and the notes.

        text: the completion, or its sample, whose reference then shows what is missed. Raises
        ValueError for spans past the text. Without a text, as in a notebook's last line, the spans
        are numbers.
        """
        missed = None
        if isinstance(text, Sample):
            if text.references and self.left_out:
                missed = text.references[self.reference]
            text = text.completion
        if text is not None and not isinstance(text, str):
            raise ValueError(
                f"a verdict is shown with its text or its sample, got {type(text).__name__}: give "
                "one of them."
            )
        return render("verdict.html.jinja", verdict=self, text=text, reference=missed)

    _repr_html_ = html

    def to_dict(self) -> dict[str, Any]:
        """Returns the verdict as plain data for `json.dumps`, as the files of verdicts hold it."""
        return {**asdict(self), "status": str(self.status)}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Verdict":
        """Returns the verdict of `to_dict`, maybe read from JSON.

        Raises ValueError for any other key or value.
        """
        # As JSON, in which pydantic's strict mode takes a list for a tuple and a text for a Status.
        # `float` writes numpy's numbers.
        text = json.dumps(data, default=float)
        try:
            return READER.validate_json(text, strict=True)
        except ValidationError as error:
            raise ValueError(explained(error, "a verdict")) from None


READER = TypeAdapter(Verdict)
