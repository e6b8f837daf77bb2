"""The base class of every metric: a TRL reward function that also returns Verdicts.

    class Length(Reward):
        columns = ()
        def assess(self, samples):
            return [Verdict(score=min(len(s.completion) / 100, 1.0)) for s in samples]

    GRPOTrainer(reward_funcs=[Length(name="length")], ...)      # or Length(name="length").assess(samples)

A reward works in any trainer that calls `reward(prompts, completions, **columns)`.
"""

import logging
import sys
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from spanreward.rewards.cost import Cost
from spanreward.rewards.judges.judge import Judge
from spanreward.rewards.verdict import Sample, Status, Verdict

log = logging.getLogger(__name__)

LogMetric = Callable[[str, float], None]
_FIELDS = "prompt image images reference question answers task bbox context anchor criteria questions id"
READ = frozenset(_FIELDS.split())  # the dataset columns that become fields of a Sample


class Reward:
    """Base class of the metrics: a reward function with a judge. A subclass defines `assess`.

    Attributes:
        columns: the dataset columns that the metric needs. A missing column is a ValueError at the first call. A row
            whose value is None is NOT_APPLICABLE.
        one_of: alternative columns. The dataset needs at least one of them.
        main_parts: the parts of a verdict that tables show, the main one first.
        scale: the lowest and the highest value of the main part.
        judges: the judges that `assess` asks.
        wording: a hash of the prompts. Verdicts made with different prompts are never mixed.
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
        """Returns one Verdict per sample, in order. It needs no trainer."""
        raise NotImplementedError(f"{type(self).__name__} must define assess(samples)")

    @property
    def judges_to_wake(self) -> tuple[Judge, ...]:
        """The judge that the caller keeps awake during `assess`, if there is only one.

        Several judges need not be in memory together: `assess` wakes each one for its own questions, in a fixed order.
        """
        return self.judges if len(self.judges) == 1 else ()

    @property
    def remote(self) -> bool:
        """Whether every judge is remote (see `Judge.remote`). Such a reward may run in a thread."""
        return bool(self.judges) and all(judge.remote for judge in self.judges)

    def reader(self) -> str:
        """Returns the name of the parser, "" for a metric without one. Raises ImportError where it is missing."""
        return ""

    def missing_column(self, present: Container[str]) -> str | None:
        """Returns the first missing column, quoted for a message ("'image' or 'context'"), or None."""
        for column in self.columns:
            if column not in present:
                return repr(column)
        if self.one_of and not any(column in present for column in self.one_of):
            return " or ".join(map(repr, self.one_of))
        return None

    def unscored(self, verdicts: Sequence[Verdict]) -> str:
        """Returns a clause that says why verdicts have no score, and which columns the metric reads."""
        first = next(verdict for verdict in verdicts if verdict.score is None)
        reads = " and ".join(map(repr, (*self.columns, *self.one_of)))
        return f"{self.__name__}, which reads {reads or 'no column'}, says {first.note or first.status.value!r}"

    def lacks(self, missing: str, where: str, present: Sequence[str]) -> ValueError:
        """Returns the error for a missing column. where: the data that has the columns `present`."""
        needed = f"{self.__name__} needs the dataset column {missing}, and {where} has {present}"
        dropped = "" if present else ", and leave remove_unused_columns=False"
        return ValueError(f"{needed}: rename the column that holds it to {missing}{dropped}.")

    def cost(self, words: float, references: int) -> Cost | None:
        """Returns the estimated cost of one completion of `words` words, or None if the metric gives no estimate.

        references: how many references the row has, each as long as the completion.
        """
        return None if self.judges else Cost(0, 0, 0, exact=True, how="no judge is asked")

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Any = None, **columns: Any
    ) -> list[float | None]:
        """Returns a float in [0, 1] or None per completion, as TRL expects.

        columns: the dataset's columns, one value per completion, and TRL's `log_metric`, which gets the means of the
        verdicts' parts. Raises ValueError, on every rank, for a missing column or an unusable value. Other errors give
        None.
        """
        _, verdicts = self.judge_completions(prompts, completions, **columns)
        return [verdict.score for verdict in verdicts]

    def judge_completions(
        self, prompts: Sequence[Any], completions: Sequence[Any], log_metric: LogMetric | None = None, **columns: Any
    ) -> tuple[list[Sample], list[Verdict]]:
        """Does what `__call__` does, and returns the samples and their verdicts."""
        samples = self.read_samples(prompts, completions, **columns)
        verdicts = self.judge_samples(samples)
        if log_metric is not None:
            for metric, value in summarise(verdicts).items():
                log_metric(f"{self.__name__}/{metric}", value)
        return samples, verdicts

    def read_samples(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[Sample]:
        """Returns a Sample per completion. Raises ValueError for a missing column or an unusable value."""
        lists = {name: values for name, values in columns.items() if isinstance(values, list)}
        missing = self.missing_column(columns)
        if missing:
            raise self.lacks(missing, "the dataset", sorted(lists))
        return [
            read_sample({name: values[i] for name, values in lists.items()}, completion, prompt)
            for i, (completion, prompt) in enumerate(zip(completions, prompts, strict=True))
        ]

    def judge_samples(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Runs `assess` with the judge awake. After an exception every sample has a verdict of status ERROR.

        A rank that raises would leave the other ranks waiting.
        """
        try:
            with ExitStack() as awake:
                for judge in self.judges_to_wake:
                    awake.enter_context(judge)
                return _checked(self.assess(samples), len(samples))
        except Exception as error:
            log.exception("%s could not judge a batch of %d completions", self.__name__, len(samples))
            return [Verdict(None, Status.ERROR, note=f"{type(error).__name__}: {error}") for _ in samples]


def _checked(verdicts: Any, count: int) -> list[Verdict]:
    """Returns what `assess` returned. Raises TypeError unless it is a list with one Verdict for each of the samples."""
    if not isinstance(verdicts, list) or len(verdicts) != count:
        got = f"{len(verdicts)} in a list" if isinstance(verdicts, list) else repr(verdicts)[:80]
        raise TypeError(f"assess must return a list of {count} verdicts, one for each sample, got {got}")
    if wrong := [verdict for verdict in verdicts if not isinstance(verdict, Verdict)]:
        raise TypeError(f"assess must return a list of verdicts, got {wrong[0]!r:.80} in it")
    return verdicts


def summarise(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """Returns the mean of every part over the verdicts that have it, and as fractions of all verdicts those whose judge
    failed, those that are empty, and those without a score by their status.
    """
    if not verdicts:
        return {}
    values: dict[str, list[float]] = {}
    for verdict in verdicts:
        for part, value in verdict.parts.items():
            values.setdefault(part, []).append(value)
    summary = {part: sum(column) / len(column) for part, column in sorted(values.items())}
    counts = Counter(verdict.status for verdict in verdicts)
    fractions = {status: counts[status] / len(verdicts) for status in Status}
    summary["failed_fraction"] = sum(counts[status] for status in Status if status.failed) / len(verdicts)
    summary["empty_fraction"] = fractions.pop(Status.EMPTY)
    del fractions[Status.OK]
    return summary | {f"unscored_fraction/{status}": fraction for status, fraction in fractions.items()}


def read_sample(row: Mapping[str, Any], completion: Any, prompt: Any = "") -> Sample:
    """Returns the Sample for a dataset row (docs/recipes.md). Raises ValueError for a value of the wrong type."""
    images = row.get("images")
    if images is None:
        images = [row["image"]] if row.get("image") is not None else []
    if not isinstance(images, (list, tuple)):
        raise ValueError(f"the column 'images' must hold a list of pictures, got {images!r}")
    return Sample(
        prompt=_text_of_prompt(prompt),
        completion=_text_of_completion(completion),
        images=tuple(images),
        references=texts(row.get("reference"), "reference"),
        question=one_text(row.get("question"), "question"),
        answers=() if row.get("questions") else texts(row.get("answers"), "answers"),
        task=one_text(row.get("task"), "task"),
        bbox=box(row.get("bbox"), "bbox"),
        context=one_text(row.get("context"), "context"),
        anchor=one_text(row.get("anchor"), "anchor"),
        criteria=texts(row.get("criteria"), "criteria"),
        questions=read_questions(row.get("questions"), row.get("answers")),
        id=None if row.get("id") is None else str(row["id"]),
        columns={name: value for name, value in row.items() if name not in READ},
    )


def one_text(value: Any, column: str) -> str | None:
    """Returns a column's value. Raises ValueError unless it is a text or None."""
    if value is not None and not isinstance(value, str):
        raise ValueError(f"the column {column!r} must hold a text, got {value!r}")
    return value


def read_questions(questions: Any, answers: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Returns each question with its answers, without those that lack either. Raises ValueError for unequal lengths."""
    asked = texts(questions, "questions")
    given = answers if isinstance(answers, (list, tuple)) else [answers] * bool(answers)
    if asked and given and len(asked) != len(given):
        raise ValueError(f"the row has {len(asked)} questions and {len(given)} answers: give each question its own.")
    pairs = ((question, texts(accepted, "answers")) for question, accepted in zip(asked, given, strict=False))
    return tuple((question, accepted) for question, accepted in pairs if accepted)


def box(value: Any, column: str) -> tuple[float, float, float, float] | None:
    """Returns a column's value as four finite numbers, or None. Raises ValueError for anything else."""
    if value is None:
        return None
    numbers = value if isinstance(value, (list, tuple)) else ()
    if len(numbers) != 4 or not all(isinstance(n, (int, float)) and abs(n) <= sys.float_info.max for n in numbers):
        raise ValueError(f"the column {column!r} must hold four numbers x0, y0, x1, y1, got {value!r}")
    x0, y0, x1, y1 = numbers
    return x0, y0, x1, y1


def texts(value: Any, column: str) -> tuple[str, ...]:
    """Returns a column's value as texts without the blank ones. Raises ValueError unless it holds texts or None."""
    values = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(values, (list, tuple)) or not all(isinstance(text, str) for text in values):
        raise ValueError(f"the column {column!r} must hold a text or a list of texts, got {value!r}")
    return tuple(text for text in values if text.strip())


def _text_of_completion(completion: Any) -> str:
    """Returns the completion's text, unstripped. Raises ValueError for several messages, such as tool calls."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, (list, tuple)) and len(completion) == 1:
        return _text_of_message(completion[0])
    raise ValueError(
        f"a completion must be a text or a single assistant message, got {completion!r}: completions of several "
        "messages (tool calls) cannot be judged as one text."
    )


def _text_of_prompt(prompt: Any) -> str:
    """Returns the prompt's text, with messages joined by line breaks. Raises ValueError for anything else."""
    if not isinstance(prompt, (str, list, tuple)):
        raise ValueError(f"a prompt must be a text or a list of messages, got {prompt!r}")
    return prompt if isinstance(prompt, str) else "\n".join(_text_of_message(message) for message in prompt)


def _text_of_message(message: Any) -> str:
    """Returns a message's text, or the text of its text blocks. Raises ValueError for anything else."""
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
