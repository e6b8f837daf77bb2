"""The base of every metric: TRL's reward contract in, Verdicts out.

    class Length(Reward):
        columns = ()
        def assess(self, samples):
            return [Verdict(score=min(len(s.completion) / 100, 1.0)) for s in samples]

    GRPOTrainer(reward_funcs=[Length(name="length")], ...)      # or Length(name="length").assess(samples) anywhere

A subclass names the dataset columns it needs and writes `assess`. This file imports no trainer: it works in anything
that calls `reward(prompts, completions, **columns)`.
"""

import logging
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Protocol, runtime_checkable

from rewards.cost import Cost
from rewards.judges.judge import Failure, Judge
from rewards.verdict import Sample, Status, Verdict

log = logging.getLogger(__name__)

LogMetric = Callable[[str, float], None]


class Reward:
    """A metric as a reward function. A subclass names its columns and writes `assess`.

    Attributes:
        columns: dataset columns without which the metric makes no sense. A missing one is a ValueError at the first
            call; None in one row is NOT_APPLICABLE.
        one_of: columns of which the dataset needs one, likewise.
        main_parts: the parts of a verdict that tables show, the one that counts first.
        scale: the lowest and the highest value of that part.
        judges: the judges that must be awake while `assess` works.
        wording: identifies the prompts, so that verdicts made with other prompts are not mixed.
    """

    columns: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    main_parts: tuple[str, ...] = ()
    scale: tuple[float, float] = (0.0, 1.0)
    judges: tuple[Judge, ...] = ()
    wording: str = ""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Judge the samples, in order, one Verdict each. The pure metric: no trainer in sight."""
        raise NotImplementedError(f"{type(self).__name__} must define assess(samples)")

    @property
    def held(self) -> tuple[Judge, ...]:
        """The judges to keep awake around `assess`: the only one. Of several, `assess` enters each for its own
        questions, and in the same order whatever there is to ask, so that they need not be in memory at once.
        """
        return self.judges if len(self.judges) == 1 else ()

    @property
    def remote(self) -> bool:
        """Whether it has judges and all are elsewhere, so that it may judge in a thread (see `Judge.remote`)."""
        return bool(self.judges) and all(judge.remote for judge in self.judges)

    def reader(self) -> str:
        """What parses the texts, "" for a metric that parses none. Raises ImportError where it is missing."""
        return ""

    def missing_column(self, present: Container[str]) -> str | None:
        """The first column that is needed and not there, in quotes for a message; of alternatives all of them."""
        for column in self.columns:
            if column not in present:
                return repr(column)
        if self.one_of and not any(column in present for column in self.one_of):
            return " or ".join(map(repr, self.one_of))
        return None

    def lacks(self, missing: str, where: str, present: Sequence[str]) -> ValueError:
        """The error for what `missing_column` found. where: what has the columns `present`."""
        return ValueError(
            f"{self.__name__} needs the dataset column {missing}, and {where} has {present}: rename the column that "
            f"holds it to {missing}."
        )

    def cost(self, words: float, references: int) -> Cost | None:
        """What its judges are asked about a completion of so many words, given so many references of the same length,
        and write; None where the metric does not say. A metric without a judge asks nothing.
        """
        return None if self.judges else Cost(0, 0, 0, exact=True, how="no judge is asked")

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Any = None, **columns: Any
    ) -> list[float | None]:
        """TRL's contract: one float in [0, 1], or None, per completion.

        `columns` are the dataset's, one value per completion, and TRL's `log_metric`, through which every part of the
        verdicts is logged. Raises ValueError for a missing column or an unusable value (the same on every rank);
        whatever else goes wrong becomes None.
        """
        _, verdicts = self.judge_completions(prompts, completions, **columns)
        return [verdict.score for verdict in verdicts]

    def judge_completions(
        self, prompts: Sequence[Any], completions: Sequence[Any], log_metric: LogMetric | None = None, **columns: Any
    ) -> tuple[list[Sample], list[Verdict]]:
        """What `__call__` does, with the samples and whole verdicts as the result."""
        samples = self.read_samples(prompts, completions, **columns)
        verdicts = self.judge_samples(samples)
        if log_metric is not None:
            for metric, value in summarise(verdicts).items():
                log_metric(f"{self.__name__}/{metric}", value)
        return samples, verdicts

    def read_samples(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[Sample]:
        """A Sample per completion. Raises ValueError for a missing column or an unusable value."""
        missing = self.missing_column(columns)
        if missing:
            present = sorted(name for name, values in columns.items() if isinstance(values, list))
            raise self.lacks(missing, "the dataset", present)
        rows = [
            {name: values[i] for name, values in columns.items() if isinstance(values, list)}
            for i in range(len(completions))
        ]
        return [
            read_sample(row, completion, prompt)
            for row, completion, prompt in zip(rows, completions, prompts, strict=True)
        ]

    def judge_samples(self, samples: Sequence[Sample]) -> list[Verdict]:
        """`assess` with the judge awake, and whatever it raises turned into verdicts of status ERROR.

        A judge is entered even where nothing is asked, as one that all ranks share waits for all of them. An exception
        on one rank would hang the others until the collective times out.
        """
        try:
            with ExitStack() as awake:
                for judge in self.held:
                    awake.enter_context(judge)
                return self.assess(samples)
        except Exception as error:
            log.exception("%s could not judge a batch of %d completions", self.__name__, len(samples))
            return [Verdict(None, Status.ERROR, note=f"{type(error).__name__}: {error}") for _ in samples]


@runtime_checkable
class Explaining(Protocol):
    """A reward that can say why it judged so. For reports: it asks the judge for free texts, no part of a score."""

    def explain(self, samples: Sequence[Sample], verdicts: Sequence[Verdict]) -> list[dict[str, str | Failure]]:
        """The judge's reasons for these verdicts on these samples, per sample by what they are for (a criterion)."""
        ...


def summarise(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """Mean of every part over the verdicts that have it, and the fractions of failed and of empty verdicts."""
    if not verdicts:
        return {}
    values: dict[str, list[float]] = {}
    for verdict in verdicts:
        for part, value in verdict.parts.items():
            values.setdefault(part, []).append(value)
    summary = {part: sum(column) / len(column) for part, column in sorted(values.items())}
    summary["failed_fraction"] = sum(v.status.failed for v in verdicts) / len(verdicts)
    summary["empty_fraction"] = sum(v.status is Status.EMPTY for v in verdicts) / len(verdicts)
    return summary


def read_sample(row: Mapping[str, Any], completion: Any, prompt: Any = "") -> Sample:
    """A Sample from one dataset row (columns as in docs/recipes.md), a completion and a prompt, both text or messages.

    Raises ValueError when a value is of a kind that cannot be judged.
    """
    images = row.get("images")
    if images is None:
        images = [row["image"]] if row.get("image") is not None else []
    if not isinstance(images, (list, tuple)):
        raise ValueError(f"the column 'images' must hold a list of pictures, got {images!r}")
    return Sample(
        prompt=text_of_prompt(prompt),
        completion=text_of_completion(completion),
        images=tuple(images),
        references=texts(row.get("reference"), "reference"),
        question=one_text(row.get("question"), "question"),
        answers=texts(row.get("answers"), "answers"),
        task=one_text(row.get("task"), "task"),
        bbox=box(row.get("bbox"), "bbox"),
        context=one_text(row.get("context"), "context"),
        anchor=one_text(row.get("anchor"), "anchor"),
        criteria=texts(row.get("criteria"), "criteria"),
        id=None if row.get("id") is None else str(row["id"]),
    )


def one_text(value: Any, column: str) -> str | None:
    """A column's value, a text or None."""
    if value is not None and not isinstance(value, str):
        raise ValueError(f"the column {column!r} must hold a text, got {value!r}")
    return value


def box(value: Any, column: str) -> tuple[float, float, float, float] | None:
    """A column's value as four finite numbers, or None."""
    if value is None:
        return None
    numbers = value if isinstance(value, (list, tuple)) else ()
    if len(numbers) != 4 or not all(
        isinstance(one, (int, float)) and abs(one) <= sys.float_info.max for one in numbers
    ):
        raise ValueError(f"the column {column!r} must hold four numbers x0, y0, x1, y1, got {value!r}")
    x0, y0, x1, y1 = numbers
    return x0, y0, x1, y1


def texts(value: Any, column: str) -> tuple[str, ...]:
    """A column's value as texts: () for None, one for a string, and a list's entries without the blank ones."""
    values = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(values, (list, tuple)) or not all(isinstance(text, str) for text in values):
        raise ValueError(f"the column {column!r} must hold a text or a list of texts, got {value!r}")
    return tuple(text for text in values if text.strip())


def text_of_completion(completion: Any) -> str:
    """The completion's text, unstripped. Raises ValueError for several messages (tool turns cannot be judged)."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, (list, tuple)) and len(completion) == 1:
        return text_of_message(completion[0])
    raise ValueError(
        f"a completion must be a text or a single assistant message, got {completion!r}: completions of several "
        "messages (tool calls) cannot be judged as one text."
    )


def text_of_prompt(prompt: Any) -> str:
    """The prompt's text; messages are joined by line breaks. Raises ValueError for anything else."""
    if not isinstance(prompt, (str, list, tuple)):
        raise ValueError(f"a prompt must be a text or a list of messages, got {prompt!r}")
    return prompt if isinstance(prompt, str) else "\n".join(text_of_message(message) for message in prompt)


def text_of_message(message: Any) -> str:
    """A message's text; of a list of blocks, the text blocks. Raises ValueError for what is no message."""
    if not isinstance(message, Mapping):
        raise ValueError(f"a message must hold a role and content, got {message!r}")
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, (list, tuple)) else [content]
    if not all(isinstance(block, Mapping) for block in blocks):
        raise ValueError(f"a message's content must be a text or a list of blocks, got {content!r}")
    said = [block.get("text") for block in blocks if block.get("type") == "text"]
    if not all(isinstance(text, str) for text in said):
        raise ValueError(f"a block of type 'text' must hold a text, got {content!r}")
    return "".join(said)
