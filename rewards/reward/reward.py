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
from spanreward.rewards.base.unread import UNREAD_SHARE_TO_WARN, NotRead, not_read
from spanreward.rewards.base.verdict import LEFT_OUT, Sample, Status, Verdict
from spanreward.rewards.files.http_client import safe_line
from spanreward.rewards.judges.judge import Judge
from spanreward.rewards.reward.checked_verdicts import check_verdicts, reference_of_verdict
from spanreward.rewards.reward.failures import first_failure, many_failed, nothing_scored
from spanreward.rewards.rows.sample import COLUMNS_READ, read_sample

log = logging.getLogger(__name__)
# words of a completion with a lower score are wrong; words of a reference with a lower score are
# left out of the completion
WRONG_BELOW = LEFT_OUT
MOST_QUOTATIONS = 20  # the most quotations of wrong words, and of missed words, in a feedback

LogMetric = Callable[[str, float], None]
LogExtra = Callable[[str, list[Any]], None]


class Reward:
    """Base class of the metrics: a reward function with a judge. A subclass defines `assess`.

    Attributes:
        columns: the dataset columns that the metric needs. A missing column is a ValueError at the
            first call. A row with the value None in a needed column is NOT_APPLICABLE.
        one_of: alternative columns. The dataset needs at least one of them.
        main_parts: the parts of a verdict that tables show, the main part first.
        scale: the lowest and the highest value of the main part.
        judges: the judges that `assess` asks.
        viewers: the judges that are shown the pictures of rows.
        in_words: names an option in place of pictures, for error messages, such as
            "evidence='context' with a text that ...". "" for no such option.
        wording: a hash of the prompts. Verdicts from different prompts are never mixed.
        by_batch: whether a row's verdict depends on the other rows.
        deadline: the most seconds that `assess` takes, without the time of its judges, which have
            their own deadlines. None for no limit.
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
    _named_unread = False  # whether a warning about unread text was logged
    _named_failure = False  # whether a warning about the first failure was logged
    _named_many = False  # whether a warning about failures on most completions was logged

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __repr__(self) -> str:
        parts = [f"judge={judge!r}" for judge in self.judges]
        if not parts:
            parts.append(self.__name__)
        if "mode" in self.__dict__:  # only a metric with modes sets its own
            parts.append(f"mode={self.__dict__['mode']}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order. `assess` works without a trainer."""
        raise NotImplementedError(f"{type(self).__name__} must define assess(samples)")

    @property
    def judges_to_wake(self) -> tuple[Judge, ...]:
        """The judge that the caller keeps awake during `assess`, in a tuple. Empty for several
        judges.

        Several judges may not fit into memory together. `assess` therefore wakes each of several
        judges only for that judge's questions, in a fixed order.
        """
        if len(self.judges) != 1:
            return ()
        return self.judges

    def shows_pictures(self, sample: Sample) -> bool:
        """Returns whether the viewers are shown this row's pictures. No picture is opened for
        this.
        """
        return bool(self.viewers and sample.images)

    def reader(self) -> str:
        """Returns the parser's name, such as "en_core_web_sm 3.8.0, coref rules".

        A metric without a parser returns "". Raises ImportError if the parser is not installed.
        """
        return ""

    def missing_column(self, present: Container[str]) -> str | None:
        """Returns the first needed column that is missing, or None.

        The column is quoted for a message: "'reference'", or "'image' or 'context'" for
        alternatives.

        present: the columns of the dataset.
        """
        for column in self.columns:
            if column not in present:
                return repr(column)
        if self.one_of and not any(column in present for column in self.one_of):
            return " or ".join(map(repr, self.one_of))
        return None

    def unscored(self, verdicts: Sequence[Verdict]) -> str:
        """Returns a clause like "lave, which reads 'answers', says 'this row has no answers'".

        verdicts: the clause gives the reason of the first verdict without a score.
        """
        first = next(verdict for verdict in verdicts if verdict.score is None)
        columns = " and ".join(map(repr, (*self.columns, *self.one_of)))
        reads = columns or "no column"
        reason = first.note or first.status.value
        return f"{self.__name__}, which reads {reads}, says {reason!r}"

    def lacks(self, missing: str, where: str, present: Sequence[str]) -> ValueError:
        """Returns the error for a missing column, with advice: "posh needs the dataset column
        'reference', and the dataset has ['caption']: rename the column that holds it, ...".

        Args:
            missing: the column as `missing_column` quotes it.
            where: the data's name in the message, such as "the dataset".
            present: the columns of the data, [] if TRL may have dropped columns.
        """
        advice = "rename the column that holds it"
        # a recipe and a command line can name the dataset's column only for COLUMNS_READ
        can_be_named = any(repr(column) in missing for column in COLUMNS_READ)
        if can_be_named:
            advice += ", or name it in data.columns (on a command line --columns OURS=THEIRS)"
        if not present:
            advice += ", and leave remove_unused_columns=False"
        return ValueError(
            f"{self.__name__} needs the dataset column {missing}, and {where} has {present}: "
            f"{advice}."
        )

    def cost(self, words: float, references: int) -> Cost | None:
        """Returns the estimated cost of one completion, or None for a metric without an estimate.

        Args:
            words: the number of words of the completion.
            references: the number of references of the row. Each is assumed to be as long as the
                completion.
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
        """Returns the score in [0, 1] of each completion, or None for no score, as TRL expects.

            PoshReward("match")(completions=["A red dog."], reference=["A dog."])     # no trainer

        Args:
            prompts: a text or messages for each completion, or None without prompts.
            completions: a text or a message for each completion.
            completion_ids: ignored.
            columns: the dataset's columns, each as a list of one value per completion or as one
                value for all. TRL also passes `log_metric` for the means of the verdicts' parts,
                and `log_extra` for the verdicts in words.

        Raises ValueError, on every rank, for a missing column or an unusable value. After any other
        error the affected completions have None.
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
        """Returns the mean score like `compute` of a metric of Hugging Face's `evaluate`.

        The result is {"score": 0.84, "parts": {"f1": 0.84}, "statuses": {"ok": 2}}, with the means
        of the scores and parts. The score is None if no prediction has a score.

        Args:
            predictions: the completions.
            references: a text or a list of texts for each prediction. For a metric that reads the
                column `answers`, people's answers to each question.
            columns: the other columns that the metric reads.

        Raises ValueError like `__call__`.
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
        mean = sum(scores) / len(scores) if scores else None
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
        """Returns the samples and their verdicts, and logs like `__call__`. Arguments: see
        `__call__`.
        """
        # only these two calls raise: an error of a judge becomes a verdict
        samples = self.read_samples(prompts, completions, **columns)
        self.check_groups(samples)
        verdicts = self.judge_samples(samples)
        # TRL gets only numbers, so the log has the reasons
        self.name_unread(samples, verdicts)
        self.name_failure(verdicts)
        if log_metric is not None:
            for metric, value in summarise(verdicts, samples).items():
                log_metric(f"{self.__name__}/{metric}", value)
        if log_extra is not None:
            log_extra(f"{self.__name__}/spans", list(map(feedback, samples, verdicts)))
        return samples, verdicts

    def check_groups(self, samples: Sequence[Sample]) -> None:
        """Raises ValueError if the metric compares the completions of a group and a group is
        incomplete.
        """

    def name_unread(self, samples: Sequence[Sample], verdicts: Sequence[Verdict]) -> None:
        """Logs a warning, once a run, if the judge was not shown a large share of the completions'
        text.
        """
        unread = _not_read(samples, verdicts)
        if unread.share > UNREAD_SHARE_TO_WARN and not self._named_unread:
            self._named_unread = True
            log.warning(
                "%s did not read %.0f %% of a batch's completions: %s. See docs/metrics.md.",
                self.__name__,
                100 * unread.share,
                unread,
            )

    def name_failure(self, verdicts: Sequence[Verdict]) -> None:
        """Logs a warning, once a run, with the reason of the first failure on a completion.

        The warning also comes if no judge failed but no completion of the call has a score.
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
        """Logs a warning, once a run, if most completions of a call failed.

        For TRL's own trainers, which do not stop at failures.
        """
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
        """Returns a Sample per completion. Arguments: see `__call__`.

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
        _check_lengths(prompts, completions, lists)
        samples = []
        for number, (completion, prompt) in enumerate(zip(completions, prompts, strict=True)):
            row = {name: values[number] for name, values in lists.items()}
            samples.append(read_sample(row, completion, prompt))
        return samples

    def judge_samples(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one verdict per sample from `assess`, with the judge awake.

        This method never raises. On several ranks, a rank with an error would otherwise leave the
        other ranks waiting for it.

        If `assess` raises, the samples are judged again by halves. A sample that raises alone gets
        a verdict of status ERROR, and the other samples keep their verdicts.
        """
        try:
            with ExitStack() as awake:
                for judge in self.judges_to_wake:
                    awake.enter_context(judge)
                return self._judged_or_retried(samples)
        except Exception as error:  # a judge did not wake, or `assess` returned no verdicts
            self._log_failure(samples)
            return [_verdict_of_error(error) for _ in samples]

    def _judged_or_retried(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one verdict per sample. If `assess` raises for several samples, parts of the
        samples are judged again.

        Raises TypeError if `assess` returns anything but one verdict per sample, which is no row's
        fault.
        """
        start = time.monotonic()
        try:
            verdicts = self.assess(samples)
        except Exception as error:
            self._log_failure(samples)
            if len(samples) == 1:
                return [_verdict_of_error(error)]
        else:
            # outside of the `try`, because a list of the wrong length is no row's fault
            return check_verdicts(verdicts, samples)
        # If `assess` raised for several samples: find the sample that raises, and judge the others
        # without it. This is outside of the `except`, so that the error's memory is free by then.
        until = time_for_more(start)
        if self.by_batch:
            return self._without_raising(samples, until)
        return by_halves(samples, self._checked_assess, _verdict_of_error, until)

    def _without_raising(self, samples: Sequence[Sample], until: float) -> list[Verdict]:
        """Returns the verdicts of rows that are compared with each other, after `assess` raised for
        all rows.

        A row that raises alone has status ERROR, and the other rows are compared without this row.
        If the other rows raise together too, each of them gets a note without the error's message.

        until: no row is tried alone after this time of the monotonic clock.
        """
        verdicts: dict[int, Verdict] = {}
        # Try each row alone. The scores of these tries mean nothing, because nothing is compared.
        for number, sample in enumerate(samples):
            try:
                if time.monotonic() < until:
                    self._checked_assess([sample])
            except Exception as error:
                verdicts[number] = _verdict_of_error(error)
        sound = [number for number in range(len(samples)) if number not in verdicts]
        try:
            compared = self._checked_assess([samples[number] for number in sound])
        except Exception as error:
            # only the error's type, because the message may quote a row
            together = _verdict_of_error(NotAsked(f"rows together raise {type(error).__name__}"))
            compared = [together] * len(sound)
        for number, verdict in zip(sound, compared, strict=True):
            verdicts[number] = verdict
        return [verdicts[number] for number in range(len(samples))]

    def _checked_assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns the checked verdicts of `assess`.

        Raises what `assess` raises. Raises TypeError for a result that is not one verdict per
        sample.
        """
        return check_verdicts(self.assess(samples), samples)

    def _log_failure(self, samples: Sequence[Sample]) -> None:
        """Logs the error that is being handled, with its traceback."""
        log.exception("%s could not judge a batch of %d completions", self.__name__, len(samples))


def _value_lists(columns: Mapping[str, Any], count: int) -> dict[str, list[Any]]:
    """Returns the columns as lists with one value per completion.

    A single value of a column that `read_sample` reads is repeated for all completions:
    reference="A dog." becomes ["A dog.", "A dog."]. Other single values, such as a trainer's state,
    are dropped.

    Args:
        columns: the keyword arguments of `__call__`.
        count: the number of completions.
    """
    lists: dict[str, list[Any]] = {}
    for name, values in columns.items():
        # a text or a mapping is iterable, but counts as a single value
        if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)):
            lists[name] = list(values)
    for name in COLUMNS_READ - lists.keys():
        if name in columns:
            lists[name] = [columns[name]] * count
    return lists


def _check_lengths(
    prompts: Sequence[Any], completions: Sequence[Any], lists: Mapping[str, Sequence[Any]]
) -> None:
    """Raises ValueError unless there is one prompt and one value of each column per completion.

    lists: the values of each column.
    """
    if isinstance(completions, str):
        raise ValueError(
            f"completions must be a list, a text or message for each, got {completions!r:.80}"
        )
    if len(prompts) != len(completions):
        raise ValueError(
            f"there are {len(prompts)} prompts for {len(completions)} completions: give one for "
            "each"
        )
    for name, values in lists.items():
        if len(values) != len(completions):
            raise ValueError(
                f"the column {name!r} has {len(values)} values for {len(completions)} completions"
            )


def _verdict_of_error(error: Exception) -> Verdict:
    """Returns the verdict of status ERROR for a row that raised alone.

    Its note hides API keys in the error's message, because clients of a server read the note.
    """
    return Verdict(None, Status.ERROR, note=safe_line(f"{type(error).__name__}: {error}"))


def judges_of(rewards: Iterable[Reward]) -> list[Judge]:
    """Returns the judges of the rewards, in order. A judge of several rewards appears once."""
    judges_by_id: dict[int, Judge] = {}  # judges need not be hashable
    for reward in rewards:
        for judge in reward.judges:
            judges_by_id[id(judge)] = judge
    return list(judges_by_id.values())


def checked_samples(samples: Any) -> Sequence[Sample]:
    """Returns the argument of `assess` if it is a list of Samples.

    Raises TypeError otherwise, with an example of the right call.
    """
    # what is no list of Samples: the argument itself, or some of its entries
    wrong_values = [samples]
    if isinstance(samples, (list, tuple)):
        wrong_values = [sample for sample in samples if not isinstance(sample, Sample)]
    if wrong_values:
        kind = type(wrong_values[0]).__name__
        raise TypeError(
            f"assess takes a list of Samples, got {kind}: write assess([Sample(prompt, completion, "
            "...)]), or spanreward.score(reward, rows) for rows of a file."
        )
    return samples  # type: ignore[no-any-return]


def summarise(verdicts: Sequence[Verdict], samples: Sequence[Sample] = ()) -> dict[str, float]:
    """Returns the numbers that a trainer logs for one call.

    The numbers are the mean of every part, "failed_fraction" (the judge failed), "empty_fraction",
    and "unscored_fraction/..." for each status without a score. A mean is over the verdicts with
    the part. A fraction is over all verdicts.

    samples: the samples of the verdicts. With samples there is also "not_read", the share of their
    characters that no judge was shown.
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
    # a status without verdicts is 0, so that every step of a run has the same keys
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
    """Returns the mean of every part over the verdicts with the part, sorted by name: the parts
    {"f1": 0.4} and {"f1": 0.6, "recall": 1.0} give {"f1": 0.5, "recall": 1.0}.
    """
    values: dict[str, list[float]] = {}
    for verdict in verdicts:
        for part, value in verdict.parts.items():
            values.setdefault(part, []).append(value)
    means = {}
    for part, values_of_part in sorted(values.items()):
        means[part] = sum(values_of_part) / len(values_of_part)
    return means


def feedback(sample: Sample, verdict: Verdict) -> str:
    """Returns a verdict in words, for people and for trainers that learn from text.

        'Wrong: "red" (the reference says blue). Left out: "a lamp".'

    Returns "" for a verdict without wrong or missed words, and for a verdict without a score.
    """
    if verdict.score is None:
        return ""
    wrong = _quoted_wrong_words(sample.completion, verdict)
    reference = reference_of_verdict(verdict, sample)
    missed = []
    for span in verdict.left_out[:MOST_QUOTATIONS]:
        missed.append(f'"{span.text(reference)}"')
    sentences = []
    if wrong:
        sentences.append(f"Wrong: {', '.join(wrong)}.")
    if missed:
        sentences.append(f"Left out: {', '.join(missed)}.")
    # a quotation may have line breaks, but feedback is one line
    return " ".join(" ".join(sentences).split())


def _quoted_wrong_words(text: str, verdict: Verdict) -> list[str]:
    """Returns the wrong words of a completion in quotation marks, each with its reason if there is
    one: `['"red" (the reference says blue)']`. At most MOST_QUOTATIONS, in the order of the text.
    """
    wrong = []
    for span in verdict.spans:
        # skip words without a question: "red" in "a red hat" is wrong only because there is no hat
        if span.asked and span.score < WRONG_BELOW:
            wrong.append(span)
    wrong.sort(key=lambda span: span.start)
    quotations = []
    for span in wrong[:MOST_QUOTATIONS]:
        quotation = f'"{span.text(text)}"'
        if span.note:
            quotation += f" ({span.note})"
        quotations.append(quotation)
    return quotations
