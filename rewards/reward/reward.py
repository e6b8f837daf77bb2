"""The base class of every metric: a TRL reward function that also returns Verdicts.

    class Length(Reward):
        columns = ()
        def assess(self, samples):
            return [Verdict(score=min(len(s.completion) / 100, 1.0)) for s in samples]

    GRPOTrainer(reward_funcs=[Length(name="length")], ...)
    # or Length(name="length").assess(samples)

A reward works in any trainer that calls `reward(prompts, completions, **columns)`.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from spanreward.rewards.base.by_halves import NotAsked, by_halves, time_for_more
from spanreward.rewards.base.cost import Cost
from spanreward.rewards.base.unread import MUCH, NotRead, not_read
from spanreward.rewards.base.verdict import LEFT_OUT, Sample, Status, Verdict
from spanreward.rewards.files.http_client import legible
from spanreward.rewards.judges.judge import Judge
from spanreward.rewards.reward.failures import first_failure, many_failed, nothing_scored
from spanreward.rewards.rows.sample import READ, read_sample

log = logging.getLogger(__name__)
MOST_QUOTATIONS = 20  # words named of each kind in a feedback

LogMetric = Callable[[str, float], None]
LogExtra = Callable[[str, list[Any]], None]


class Reward:
    """Base class of the metrics: a reward function with a judge. A subclass defines `assess`.

    Attributes:
        columns: the dataset columns that the metric needs. A missing column is a ValueError at the
            first call. A row whose value is None is NOT_APPLICABLE.
        one_of: alternative columns. The dataset needs at least one of them.
        main_parts: the parts of a verdict that tables show, the main one first.
        scale: the lowest and the highest value of the main part.
        judges: the judges that `assess` asks.
        viewers: those that are shown the pictures of rows that have them.
        in_words: what can take the place of pictures, "" for nothing.
        wording: a hash of the prompts. Verdicts made with different prompts are never mixed.
        by_batch: whether a verdict depends on the other rows.
        deadline: the most seconds that `assess` takes without its judges, which have their own;
            None is no limit.
    """

    columns: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    main_parts: tuple[str, ...] = ()
    scale: tuple[float, float] = (0.0, 1.0)
    judges: tuple[Judge, ...] = ()
    viewers: tuple[Judge, ...] = ()
    in_words: str = ""
    wording: str = ""
    by_batch: bool = False
    deadline: float | None = None
    _named_unread = False  # whether a warning has said what was not read
    _named_failure = False  # likewise, why a first completion could not be judged
    _named_many = False  # likewise, that most of a call's could not

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __repr__(self) -> str:
        parts = [f"judge={judge!r}" for judge in self.judges]
        if not parts:
            parts.append(self.__name__)
        if "mode" in self.__dict__:  # a metric without modes has at most the class's own
            parts.append(f"mode={self.__dict__['mode']}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order. It needs no trainer."""
        raise NotImplementedError(f"{type(self).__name__} must define assess(samples)")

    @property
    def judges_to_wake(self) -> tuple[Judge, ...]:
        """The judge that the caller keeps awake during `assess`, if there is only one.

        Several judges need not be in memory together: `assess` wakes each one for its own
        questions, in a fixed order.
        """
        if len(self.judges) != 1:
            return ()
        return self.judges

    def shows_pictures(self, sample: Sample) -> bool:
        """Returns whether the viewers are shown this row's pictures, which are not opened."""
        return bool(self.viewers and sample.images)

    def reader(self) -> str:
        """Returns the name of the parser, "" for a metric without one.

        Raises ImportError where it is missing.
        """
        return ""

    def missing_column(self, present: Container[str]) -> str | None:
        """Returns the first missing column, quoted for a message ("'image' or 'context'"), or
        None.
        """
        for column in self.columns:
            if column not in present:
                return repr(column)
        if self.one_of and not any(column in present for column in self.one_of):
            return " or ".join(map(repr, self.one_of))
        return None

    def unscored(self, verdicts: Sequence[Verdict]) -> str:
        """Returns a clause that says why verdicts have no score, and which columns the metric
        reads.
        """
        first = next(verdict for verdict in verdicts if verdict.score is None)
        columns = " and ".join(map(repr, (*self.columns, *self.one_of)))
        reads = columns or "no column"
        reason = first.note or first.status.value
        return f"{self.__name__}, which reads {reads}, says {reason!r}"

    def lacks(self, missing: str, where: str, present: Sequence[str]) -> ValueError:
        """Returns the error for a missing column.

        missing: as `missing_column` quotes it. where: what the message calls the data. present: its
        columns, [] where TRL may have dropped them.
        """
        cure = "rename the column that holds it"
        if any(repr(column) in missing for column in READ):  # a metric's own have no other names
            cure += ", or name it in data.columns (on a command line --columns OURS=THEIRS)"
        if not present:
            cure += ", and leave remove_unused_columns=False"
        return ValueError(
            f"{self.__name__} needs the dataset column {missing}, and {where} has {present}: "
            f"{cure}."
        )

    def cost(self, words: float, references: int) -> Cost | None:
        """Returns the estimated cost of one completion of `words` words, or None if the metric
        gives no estimate.

        references: how many references the row has, each as long as the completion.
        """
        if self.judges:
            return None
        return Cost(0, 0, 0, exact=True, how="no judge is asked")

    def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] | None = None,
        completion_ids: Any = None,
        **columns: Any,
    ) -> list[float | None]:
        """Returns a float in [0, 1] or None per completion, as TRL expects.

            PoshReward("match")(completions=["A red dog."], reference=["A dog."])     # by hand

        prompts: a text or messages for each completion; None where there are none to tell.
        completions: a text or message for each. columns: the dataset's columns, one value per
        completion or one for all, and TRL's `log_metric`, which gets the means of the verdicts'
        parts, and `log_extra`, which gets the verdicts in words. Raises ValueError, on every rank,
        for a missing column or an unusable value. Other errors give None.
        """
        _, verdicts = self.judge_completions(prompts, completions, **columns)
        self.name_many_failures(verdicts)
        return [verdict.score for verdict in verdicts]

    def compute(
        self,
        *,
        predictions: Sequence[Any],
        references: Any = None,
        **columns: Any,
    ) -> dict[str, Any]:
        """Returns what `compute` of a metric of Hugging Face's `evaluate` does: `{"score": 0.84,
        "parts": {"f1": 0.84}, "statuses": {"ok": 2}}`, with the means of the scores and parts.

        references: a text or a list of texts for each prediction, people's `answers` for a metric
        that reads these. columns: the others that the metric reads. Raises ValueError as `__call__`
        does.
        """
        if references is not None:
            column = "answers" if "answers" in self.columns else "reference"
            columns[column] = references
        missing = self.missing_column(columns)
        if missing:
            raise ValueError(
                f"{self.__name__} needs {missing}: write compute(predictions=[...], "
                "references=[...], ...)"
            )
        _, verdicts = self.judge_completions(None, predictions, **columns)
        scores = [verdict.score for verdict in verdicts if verdict.score is not None]
        mean = None
        if scores:
            mean = sum(scores) / len(scores)
        statuses = Counter(str(verdict.status) for verdict in verdicts)
        return {"score": mean, "parts": mean_parts(verdicts), "statuses": dict(statuses)}

    def judge_completions(
        self,
        prompts: Sequence[Any] | None,
        completions: Sequence[Any] | None,
        log_metric: LogMetric | None = None,
        log_extra: LogExtra | None = None,
        **columns: Any,
    ) -> tuple[list[Sample], list[Verdict]]:
        """Does what `__call__` does, and returns the samples and their verdicts."""
        # only these two raise: what a judge does is a verdict
        samples = self.read_samples(prompts, completions, **columns)
        self.check_groups(samples)
        verdicts = self.judge_samples(samples)
        # the log says what TRL, which gets numbers alone, cannot
        self.name_unread(samples, verdicts)
        self.name_failure(verdicts)
        if log_metric is not None:
            for metric, value in summarise(verdicts, samples).items():
                log_metric(f"{self.__name__}/{metric}", value)
        if log_extra is not None:
            log_extra(f"{self.__name__}/spans", list(map(feedback, samples, verdicts)))
        return samples, verdicts

    def check_groups(self, samples: Sequence[Sample]) -> None:
        """Raises ValueError where the metric needs whole groups, and these are parts of them."""

    def name_unread(self, samples: Sequence[Sample], verdicts: Sequence[Verdict]) -> None:
        """Warns where more than a few per cent of these completions was not read, once a run."""
        unread = _not_read(samples, verdicts)
        if unread.share > MUCH and not self._named_unread:
            self._named_unread = True
            log.warning(
                "%s did not read %.0f %% of a batch's completions: %s. See docs/metrics.md.",
                self.__name__,
                100 * unread.share,
                unread,
            )

    def name_failure(self, verdicts: Sequence[Verdict]) -> None:
        """Warns of the first of these completions that could not be judged, once a run; also where
        no judge failed, and none of a call has a score.
        """
        reason = first_failure(verdicts) or nothing_scored(verdicts)
        if reason and not self._named_failure:
            self._named_failure = True
            log.warning(
                "%s could not judge a completion, and gives None for it: %s. Later failures are "
                "counted, and not written here.",
                self.__name__,
                reason,
            )

    def name_many_failures(self, verdicts: Sequence[Verdict]) -> None:
        """Warns where a call of TRL's own trainers fails on most completions, once a run."""
        count = many_failed(verdicts)
        if count and not self._named_many:
            self._named_many = True
            log.warning(
                "%s could not judge %s completions of a call, and TRL's trainers go on: there None "
                "beside another reward counts as 0, and a completion with None alone is dropped. "
                "Mend the reward or its judge; SpanGRPOTrainer leaves such rows out, and stops.",
                self.__name__,
                count,
            )

    def read_samples(
        self,
        prompts: Sequence[Any] | None,
        completions: Sequence[Any] | None,
        **columns: Any,
    ) -> list[Sample]:
        """Returns a Sample per completion.

        Raises ValueError for a missing column or an unusable value.
        """
        if completions is None:
            raise ValueError(
                f"{self.__name__} has no completions to judge: give completions=[...], a text or "
                "message for each."
            )
        if prompts is None:
            prompts = [""] * len(completions)
        lists = _value_lists(columns, len(completions))
        missing = self.missing_column(columns)
        if missing:
            raise self.lacks(missing, "the dataset", sorted(lists))
        if isinstance(completions, str):
            raise ValueError(
                f"completions must be a list, a text or message for each, got {completions!r:.80}"
            )
        if len(prompts) != len(completions):
            raise ValueError(
                f"there are {len(prompts)} prompts for {len(completions)} completions: give one "
                "for each"
            )
        for name, values in lists.items():
            if len(values) != len(completions):
                raise ValueError(
                    f"the column {name!r} has {len(values)} values for {len(completions)} "
                    "completions"
                )
        samples = []
        for number, (completion, prompt) in enumerate(zip(completions, prompts, strict=True)):
            row = {name: values[number] for name, values in lists.items()}
            samples.append(read_sample(row, completion, prompt))
        return samples

    def judge_samples(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Runs `assess` with the judge awake. It raises nothing: a rank that raises would leave the
        other ranks waiting.

        Where `assess` raises, the samples are judged again by halves. One that raises alone has a
        verdict of status ERROR, and the others have theirs.
        """
        try:
            with ExitStack() as awake:
                for judge in self.judges_to_wake:
                    awake.enter_context(judge)
                return self._judged(samples)
        except Exception as error:  # of a judge that does not wake, or a metric of a wrong shape
            self._log_failure(samples)
            return [_failed(error) for _ in samples]

    def _judged(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns the verdicts. Raises TypeError where `assess` returns no verdict for each sample,
        for which no row is to blame.
        """
        begun = time.monotonic()
        try:
            verdicts = self.assess(samples)
        except Exception as error:
            self._log_failure(samples)
            if len(samples) == 1:
                return [_failed(error)]
        else:
            # outside of the `try`: a list of a wrong shape is no row's fault
            return _checked(verdicts, samples)
        # one of several samples may be to blame
        until = time_for_more(begun)
        if self.by_batch:
            return self._without_raising(samples, until)
        return by_halves(samples, self._assessed, _failed, until)

    def _without_raising(self, samples: Sequence[Sample], until: float) -> list[Verdict]:
        """Returns the verdicts of rows that are compared, after `assess` raised for all of them.

        Those that raise alone have status ERROR, and the others are compared without them. Where
        these raise too, no row is to blame, and none has another's words in its note.
        """
        verdicts: dict[int, Verdict] = {}
        # each alone, only to see which one raises: its score says nothing without the others
        for number, sample in enumerate(samples):
            try:
                if time.monotonic() < until:
                    self._assessed([sample])
            except Exception as error:
                verdicts[number] = _failed(error)
        sound = [number for number in range(len(samples)) if number not in verdicts]
        try:
            compared = self._assessed([samples[number] for number in sound])
        except Exception as error:
            # by its type alone: its message may quote one of the rows
            together = _failed(NotAsked(f"rows together raise {type(error).__name__}"))
            compared = [together] * len(sound)
        for number, verdict in zip(sound, compared, strict=True):
            verdicts[number] = verdict
        return [verdicts[number] for number in range(len(samples))]

    def _assessed(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns what `assess` does. Raises as it does, and TypeError as `_checked`."""
        return _checked(self.assess(samples), samples)

    def _log_failure(self, samples: Sequence[Sample]) -> None:
        """Writes the error that is being handled, with its traceback."""
        log.exception("%s could not judge a batch of %d completions", self.__name__, len(samples))


def _value_lists(columns: Mapping[str, Any], count: int) -> dict[str, list[Any]]:
    """Returns the columns as lists of a value for each completion. One value of a column that is
    read stands for all; other single values are no columns.
    """
    lists: dict[str, list[Any]] = {}
    for name, values in columns.items():
        # a text and a mapping are iterable, and one value each
        if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)):
            lists[name] = list(values)
    for name in READ - lists.keys():
        if name in columns:
            lists[name] = [columns[name]] * count
    return lists


def _failed(error: Exception) -> Verdict:
    """Returns the verdict on a row that raised alone. Its note has no key, as clients read it."""
    return Verdict(None, Status.ERROR, note=legible(f"{type(error).__name__}: {error}"))


def judges_of(rewards: Iterable[Reward]) -> list[Judge]:
    """Returns the judges of the rewards, in order, one that several share once."""
    judges_by_id: dict[int, Judge] = {}  # judges need not be hashable
    for reward in rewards:
        for judge in reward.judges:
            judges_by_id[id(judge)] = judge
    return list(judges_by_id.values())


def checked(samples: Any) -> Sequence[Sample]:
    """Returns the samples of `assess`.

    Raises TypeError for anything else, with how it is written.
    """
    wrong = [samples]
    if isinstance(samples, (list, tuple)):
        wrong = [sample for sample in samples if not isinstance(sample, Sample)]
    if wrong:
        kind = type(wrong[0]).__name__
        raise TypeError(
            f"assess takes a list of Samples, got {kind}: write assess([Sample(prompt, completion, "
            "...)]), or spanreward.score(reward, rows) for rows of a file."
        )
    return samples  # type: ignore[no-any-return]


def _checked(verdicts: Any, samples: Sequence[Sample]) -> list[Verdict]:
    """Returns what `assess` returned, with status ERROR for spans past their texts.

    Raises TypeError unless it is a list with one Verdict for each of the samples.
    """
    count = len(samples)
    needed = f"assess must return a list of {count} verdicts, one for each sample"
    if not isinstance(verdicts, list):
        raise TypeError(f"{needed}, got {repr(verdicts)[:80]}")
    if len(verdicts) != count:
        raise TypeError(f"{needed}, got {len(verdicts)} in a list")
    for verdict in verdicts:
        if not isinstance(verdict, Verdict):
            raise TypeError(f"assess must return a list of verdicts, got {verdict!r:.80} in it")
    return list(map(_on_its_text, verdicts, samples))


def _on_its_text(verdict: Verdict, sample: Sample) -> Verdict:
    """Returns the verdict, or one of status ERROR where a span ends past the text that it lies
    on.
    """
    reference = _reference_of(verdict, sample)
    for spans, text in ((verdict.spans, sample.completion), (verdict.missed, reference)):
        ends = [span.end for span in spans]
        last = max(ends, default=0)
        if last > len(text):
            note = f"a span ends at character {last} of a text that has {len(text)}"
            return Verdict(None, Status.ERROR, note=note)
    return verdict


def _reference_of(verdict: Verdict, sample: Sample) -> str:
    """Returns the reference that the verdict is about, "" where the sample has none of its
    number.
    """
    number = verdict.reference
    return "".join(sample.references[number : number + 1])


def summarise(verdicts: Sequence[Verdict], samples: Sequence[Sample] = ()) -> dict[str, float]:
    """Returns the mean of every part over the verdicts that have it, and as fractions of all
    verdicts those whose judge failed, those that are empty, and those without a score by their
    status.

    samples: of the verdicts. With them it also returns the share of their characters that no judge
    was shown.
    """
    if not verdicts:
        return {}
    count = len(verdicts)
    summary = mean_parts(verdicts)
    if samples:
        summary["not_read"] = _not_read(samples, verdicts).share
    counts = Counter(verdict.status for verdict in verdicts)
    failed = sum(counts[status] for status in Status if status.failed)
    summary["failed_fraction"] = failed / count
    summary["empty_fraction"] = counts[Status.EMPTY] / count
    # a status that no verdict has is 0, so that every step of a run has the same keys
    for status in Status:
        if status not in (Status.OK, Status.EMPTY):
            summary[f"unscored_fraction/{status}"] = counts[status] / count
    return summary


def _not_read(samples: Sequence[Sample], verdicts: Sequence[Verdict]) -> NotRead:
    """Returns how much of the samples' completions no judge was shown."""
    completions = []
    for sample, verdict in zip(samples, verdicts, strict=True):
        completions.append((sample.completion, verdict.unread))
    return not_read(completions)


def mean_parts(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """Returns the mean of every part over the verdicts that have it."""
    values: dict[str, list[float]] = {}
    for verdict in verdicts:
        for part, value in verdict.parts.items():
            values.setdefault(part, []).append(value)
    means = {}
    for part, values_of_part in sorted(values.items()):
        means[part] = sum(values_of_part) / len(values_of_part)
    return means


def feedback(sample: Sample, verdict: Verdict) -> str:
    """Returns a verdict in words, for people and for trainers that teach from text: which of the
    words are wrong, why, and what is left out. "" where that is nothing, and where there is no
    score.

        'Wrong: "red" (the reference says blue). Left out: "a lamp".'
    """
    if verdict.score is None:
        return ""
    text = sample.completion
    reference = _reference_of(verdict, sample)
    # words that nobody asked about are wrong only because others are
    wrong = [span for span in verdict.spans if span.asked and span.score < LEFT_OUT]
    wrong.sort(key=lambda span: span.start)
    quotations = []
    for span in wrong[:MOST_QUOTATIONS]:
        quotation = f'"{text[span.start : span.end]}"'
        if span.note:
            quotation += f" ({span.note})"
        quotations.append(quotation)
    missed = []
    for span in verdict.left_out[:MOST_QUOTATIONS]:
        missed.append(f'"{reference[span.start : span.end]}"')
    sentences = []
    if quotations:
        sentences.append(f"Wrong: {', '.join(quotations)}.")
    if missed:
        sentences.append(f"Left out: {', '.join(missed)}.")
    # a quotation may have line breaks, and feedback is one line
    return " ".join(" ".join(sentences).split())
