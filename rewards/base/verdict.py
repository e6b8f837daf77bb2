"""The input and output of a metric: a Sample holds a completion, and a Verdict holds its judgment.

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

from spanreward.rewards.base.checks import first_fault_message
from spanreward.rewards.base.texts import answers_of_people, texts_of_value
from spanreward.rewards.base.verdict_html import Html, render_template

# makes pydantic refuse unknown keys when it reads a verdict
FORBID_UNKNOWN_KEYS = {"extra": "forbid"}
# The largest absolute value of a credit or a part. A single NaN or 1e300 in a training step would
# destroy the policy.
LARGEST_NUMBER = 1e6
# a score may be outside [0, 1] by this much, from rounding in a mean of ratings
SCORE_TOLERANCE = 1e-6
LEFT_OUT = 0.5  # pages show a missed span with a lower score as left out of the completion


class Status(StrEnum):
    """The reason why a verdict has a score, or has no score."""

    OK = "ok"
    # the completion has no content to judge: the score is 0, and no judge was asked
    EMPTY = "empty"
    # the row lacks a value that the metric needs: the column is None or empty
    NOT_APPLICABLE = "not_applicable"
    UNPARSED = "unparsed"  # the judge's answer could not be read
    TIMEOUT = "timeout"  # the judge did not answer before the deadline
    ERROR = "error"  # the judge raised an error

    @property
    def failed(self) -> bool:
        """Whether the score is missing because the judge failed, and not because of the completion
        or the row.
        """
        return self in (Status.UNPARSED, Status.TIMEOUT, Status.ERROR)


class NotApplicable(ValueError):
    """Raised by a metric that cannot judge a row.

    The message gives the reason, such as "the row has no picture". The row's verdict has the status
    NOT_APPLICABLE, with the message as its note.
    """


def is_sound(value: Any) -> bool:
    """Whether the value is a finite number of at most LARGEST_NUMBER in absolute value."""
    if not isinstance(value, (float, int, Real)):
        return False
    return abs(float(value)) <= LARGEST_NUMBER  # also False for NaN


@dataclass(frozen=True, slots=True)
class Sample:
    """A completion with all data of its row that a metric may read.

    A field for several texts or pictures also takes a single text or picture:
    `references="A circle."` is `references=("A circle.",)`.

    Attributes:
        prompt: the prompt's text.
        completion: the text to judge, never stripped. The offsets of spans are indices into this
            text.
        images: PIL images.
        references: the texts of the dataset column `reference`.
        question: the question that the completion answers.
        answers: the answers of several people to the question.
        task: HarmonicEval's task for this row ("ic", "reg", "vqa" or "vdu"), None if the row names
            no task.
        bbox: (x0, y0, x1, y1) in pixels of the first image.
        context: a text that describes the picture.
        anchor: another text for the same prompt, to compare the completion with.
        criteria: demands on a good answer to this row, such as "names the colour of the car", one
            text per demand.
        id: the row's id.
        columns: the row's other columns by name, for metrics of your own. Two samples that differ
            only in `columns` are equal.

    Raises:
        ValueError: if references, answers or criteria are not texts.
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
        references = _as_texts(texts_of_value, self.references, "references")
        answers = _as_texts(answers_of_people, self.answers, "answers")
        criteria = _as_texts(texts_of_value, self.criteria, "criteria")
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
    """Returns the value as a tuple of texts.

    read: `texts_of_value` or `answers_of_people` (rewards/base/texts.py). A tuple of texts is
    returned without reading.
    name: the field's name, for the error.
    """
    # Most samples come from rows that were read before. To read their texts again would cost time,
    # and would drop blank texts.
    if isinstance(value, tuple) and all(isinstance(text, str) for text in value):
        return value
    return read(value, name)


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of a text, with the score and the credit of these characters.

    Attributes:
        start: the offset of the first character, from 0.
        end: the offset behind the last character.
        score: from 0 (wrong) to 1 (right).
        credit: the amount that these words add to the verdict's score, negative if the words lower
            the score. In PoSh, words rated 1 of 5 have no credit above 0. If a component has
            several spans, each span holds the component's whole credit. So a sum of credits must
            count each component once.
        kind: entity, attribute, relation, answer, filler, unread or a criterion's name.
        note: the reason for the score, in one sentence.
        component: the number of the component (such as an entity) that the words name.
        asked: False if the judge was not asked about these words, because the described thing is
            absent: "red" in "a red hat" for a picture without a hat. A span with asked=False has a
            score and no credit.

    Raises:
        ValueError: for an empty range or a range that starts below 0, a score outside [0, 1], and a
            credit that is NaN, infinite or above LARGEST_NUMBER.
    """

    __pydantic_config__ = FORBID_UNKNOWN_KEYS

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
        in_scale = is_sound(self.score) and -SCORE_TOLERANCE <= self.score <= 1 + SCORE_TOLERANCE
        if not in_scale:
            raise ValueError(f"a span's score is a number from 0 to 1, got {self.score!r}")
        if not is_sound(self.credit):
            raise ValueError(
                f"a span's credit must be a finite number of at most {LARGEST_NUMBER:g}, got "
                f"{self.credit}"
            )

    def text(self, of: str) -> str:
        """Returns the span's words. of: the text that the span's offsets refer to."""
        return of[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Unread:
    """Characters [start, end) of the completion that no judge was shown, such as markup, which is
    removed before a text is judged.

    Attributes:
        start: the offset of the first character, from 0.
        end: the offset behind the last character.
        kind: the kind of these characters in words, such as "reasoning". rewards/text/pieces.py
            lists all kinds.

    Raises:
        ValueError: for an empty range, and for a range that starts below 0.
    """

    __pydantic_config__ = FORBID_UNKNOWN_KEYS

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
    """The judgment of a completion by a metric.

    Attributes:
        score: in [0, 1] if the status is OK or EMPTY, otherwise None.
        status: OK, EMPTY (the score is 0), or the reason for the missing score.
        parts: the numbers that the score is made of, by name, such as {"precision": 0.8}.
        spans: words of the completion with their scores.
        missed: words of the reference whose content the completion lacks in full or in part. Their
            scores run from 0 (left out) to below 1.
        reference: the index in the sample's `references` of the reference behind this verdict.
        note: a sentence for people.
        parsed_by: the parser, such as "en_core_web_sm 3.8.0, coref rules"; "" if the metric has no
            parser. Scores of different parsers cannot be compared.
        unread: the parts of the completion that no judge was shown, sorted and disjoint. Empty in
            published modes, in which the judge reads the whole text.

    Raises:
        ValueError: for a score outside [0, 1], and a part that is NaN, infinite or above
            LARGEST_NUMBER. Also for a missing score with the status OK or EMPTY, and for a score
            with any other status.
    """

    __pydantic_config__ = FORBID_UNKNOWN_KEYS

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
        """The missed spans with a score below LEFT_OUT. Pages show these spans."""
        return tuple(span for span in self.missed if span.score < LEFT_OUT)

    def html(self, text: str | Sample | None = None) -> Html:
        """Returns HTML for a notebook: the text with its words coloured, the parts and the notes.

        text: the completion, or the whole sample. For a sample, the HTML also shows the reference
        with its missed words. Without a text, the HTML shows the offsets of the spans in place of
        their words. A notebook calls this method without a text if its last line is a verdict.

        Raises ValueError for spans that end behind the text's end.
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
        return render_template("verdict.html.jinja", verdict=self, text=text, reference=missed)

    _repr_html_ = html

    def to_dict(self) -> dict[str, Any]:
        """Returns the verdict as plain data for `json.dumps`, in the form of a line of
        verdicts.jsonl.
        """
        return {**asdict(self), "status": str(self.status)}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Verdict":
        """Returns the verdict that `to_dict` wrote. data: the dict of `to_dict`, or a dict read
        from its JSON.

        Raises ValueError for an unknown key, and for a value of the wrong type or range.
        """
        # pydantic's strict mode accepts a list for a tuple, and a text for a Status, only in JSON.
        # `float` converts numpy's numbers for `json.dumps`.
        text = json.dumps(data, default=float)
        try:
            return VERDICT_READER.validate_json(text, strict=True)
        except ValidationError as error:
            raise ValueError(first_fault_message(error, "a verdict")) from None


VERDICT_READER = TypeAdapter(Verdict)
