"""Shows in plain text how a metric reads the first rows of a file: the judged text, and the first
question.

    for row in readings_of_rows(reward, rows, verdicts, listener):
        print(in_text(row))

A listener takes the judge's place and only records the question. So no judge is asked, and no score
changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spanreward.rewards.base.unread import not_read
from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.judges.judge import Failure, Judge
from spanreward.rewards.judges.probe import AnswerProbe
from spanreward.rewards.judges.question import Question
from spanreward.rewards.reward.plain_text_reward import PlainTextReward, plain_sample
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.lines import InputRow

MAX_TEXT_CHARACTERS = 600
MAX_QUESTION_CHARACTERS = 3000
INDENT = " " * 4


class Listener(Judge):
    """A judge that records the first question and answers no question.

    Args:
        judge: the judge whose place the listener takes. The listener has the judge's name and its
            `reads_source`, and never asks the judge.
    """

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.reads_source = judge.reads_source
        self.first: Question | None = None

    @property
    def name(self) -> str:
        return self.judge.name

    def rate_each(self, questions: Sequence[Question], scale: Sequence[str]) -> list[Failure]:
        return self._keep(questions)

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[Failure]:
        return self._keep(questions)

    def _keep(self, questions: Sequence[Question]) -> list[Failure]:
        """Records the first question if none is recorded yet, and returns a failure for each
        question.
        """
        if self.first is None:
            self.first = questions[0]
        return [Failure(Status.ERROR, "only listened to") for _ in questions]


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row as its metric reads it.

    Attributes:
        id: the row's id.
        verdict: the row's verdict, by the real judge.
        written: the completion as the model wrote it.
        plain: the part of the completion that the metric reads, without markup; None for a metric
            that reads the completion as written.
        references: the references as the metric reads them, and people's answers.
        question: the first question to the judge; None if the judge is asked nothing.
    """

    id: str
    verdict: Verdict
    written: str
    plain: str | None
    references: tuple[str, ...]
    question: Question | None


def readings_of_rows(
    reward: Reward,
    rows: Sequence[InputRow],
    verdicts: Sequence[Verdict],
    listener: Listener | None,
) -> list[ReadRow]:
    """Returns the rows as their metric reads them.

    reward: the metric, with `listener` as its judge. rows: the first rows of a file. verdicts: the
    verdict on each row by the real judge. listener: None for a metric without a judge.
    """
    samples = [row.sample for row in rows if isinstance(row.sample, Sample)]
    read_rows = []
    for row, verdict in zip(rows, verdicts, strict=True):
        sample = row.sample
        # the sample of an unreadable row is a sentence with the reason; its verdict has this reason
        if not isinstance(sample, Sample):
            read_rows.append(unreadable_row(row, verdict))
            continue
        question = None
        if listener is not None:
            others = [other for other in samples if other is not sample]
            question = first_question(reward, sample, others, listener)
        # the texts that the metric reads: without markup, except in the mode "published"
        read = sample
        plain = None
        if isinstance(reward, PlainTextReward) and reward.mode != "published":
            read = plain_sample(sample)
            plain = read.completion
        read_row = ReadRow(
            row.id,
            verdict,
            written=sample.completion,
            plain=plain,
            references=(*read.references, *read.answers),
            question=question,
        )
        read_rows.append(read_row)
    return read_rows


def unreadable_row(row: InputRow, verdict: Verdict) -> ReadRow:
    """Returns a row that could not be read, such as a line that is no JSON: it has no texts."""
    return ReadRow(row.id, verdict, written="", plain=None, references=(), question=None)


def first_question(
    reward: Reward, sample: Sample, others: Sequence[Sample], listener: Listener
) -> Question | None:
    """Returns the first question that the judge would get about a sample; None if it gets none.

    reward: the metric, with `listener` as its judge. listener: a judge that answers no question,
    and keeps the first question in `first`. others: the samples of the other rows.
    """
    listener.first = None
    batch = [sample]
    if reward.by_batch:
        # a metric that compares rows needs the other rows too; its first question is about the
        # first row of the batch
        batch += others
    reward.judge_samples(batch)  # sets `listener.first`; the verdicts are not needed
    return listener.first


def in_text(row: ReadRow) -> str:
    """Returns a row as lines of text for a terminal, without control characters."""
    verdict = row.verdict
    score = "no score" if verdict.score is None else f"{verdict.score:.3f}"
    lines = [f"Row {row.id}: {score}, {verdict.status}"]
    for name, text in facts_of_completion(row).items():
        if text:
            lines.append(f"  {name}: {both_ends(text)}")
    for reference in row.references:
        lines.append(f"  reference: {both_ends(reference)}")
    if row.question is None:
        lines.append("  first question: none to a judge")
    else:
        lines += question_lines(row.question)
    return "\n".join(map(visible_text, lines))


def facts_of_completion(row: ReadRow) -> dict[str, str]:
    """Returns the texts on a row's completion by their names, in the order in which they are shown.

    Example: {"note": "", "written": "<b>A dog.</b>", "read": "A dog.", "not read": "7 of 13
    characters: HTML 7"}.
    """
    facts = {"note": row.verdict.note, "written": row.written or "nothing"}
    if row.plain is not None and row.plain == row.written:
        facts["read"] = "as written"
    elif row.plain is not None:
        facts["read"] = row.plain or "nothing"
    if row.verdict.unread:
        unread = not_read([(row.written, row.verdict.unread)])
        facts["not read"] = str(unread)
    # LAVE rates only "red" of the completion "The colour is red."
    if row.question is not None and isinstance(row.question.probe, AnswerProbe):
        facts["the answer in it"] = row.question.probe.candidate
    return facts


def question_lines(question: Question) -> list[str]:
    """Returns the lines of a judge's question: a heading with the number of pictures, if there are
    any, and the messages, indented. The middle of a long message is left out.
    """
    lines = ["  first question:"]
    if question.images:
        lines = [f"  first question: (with {len(question.images)} pictures)"]
    for message in question.messages:
        text = f"{message['role']}: {message['content']}"
        for line in both_ends(text, MAX_QUESTION_CHARACTERS).splitlines():
            lines.append(INDENT + line)
    return lines


def both_ends(text: str, max_characters: int = MAX_TEXT_CHARACTERS) -> str:
    """Returns the text; a text with more than `max_characters` is cut to its two ends and its
    length.

    A cut text is such as "A dog on [...] the grass. (1,234 characters)".
    """
    if len(text) <= max_characters:
        return text
    half = max_characters // 2
    begin = text[:half]
    end = text[-half:]
    return f"{begin} [...] {end} ({len(text):,} characters)"


def visible_text(text: str) -> str:
    """Returns the text in which each unprintable character is written as an escape: the escape
    character becomes the four characters "\\x1b".

    A completion is hostile input. Its escape sequences could clear the user's screen.
    """
    characters = []
    for character in text:
        if not character.isprintable():
            character = character.encode("unicode_escape").decode()
        characters.append(character)
    return "".join(characters)
