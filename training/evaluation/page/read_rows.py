"""How a metric reads the first rows of a file, in plain text: what is judged, and what is asked.

    for row in readings(reward, rows, verdicts, stand_in):
        print(in_text(row))

A stand-in takes the judge's place and only listens. So no question is asked and no score changes.
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

LONGEST = 600  # characters of a text that is shown
LONGEST_QUESTION = 3000
INDENT = " " * 4


class Listener(Judge):
    """Keeps the first question, and answers none. judge: whose place it takes."""

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
        if self.first is None:
            self.first = questions[0]
        return [Failure(Status.ERROR, "only listened to") for _ in questions]


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row as its metric reads it.

    written: the completion. plain: what is read of it, None where it is read as written.
    references: with people's answers. question: the judge's first, None where nothing is asked.
    """

    id: str
    verdict: Verdict
    written: str
    plain: str | None
    references: tuple[str, ...]
    question: Question | None


def readings(
    reward: Reward,
    rows: Sequence[InputRow],
    verdicts: Sequence[Verdict],
    listener: Listener | None,
) -> list[ReadRow]:
    """Returns the rows as read. reward: the metric, whose judge is `listener`; None where it takes
    none. verdicts: the rows' own, by the real judge.
    """
    samples = [row.sample for row in rows if isinstance(row.sample, Sample)]
    found = []
    for row, verdict in zip(rows, verdicts, strict=True):
        sample = row.sample
        if not isinstance(sample, Sample):
            found.append(ReadRow(row.id, verdict, "", None, (), None))
            continue
        question = None
        if listener is not None:
            listener.first = None
            others = [other for other in samples if other is not sample]
            # a metric that compares rows asks about the first of them first
            reward.judge_samples([sample, *others] if reward.by_batch else [sample])
            question = listener.first
        read = sample
        plain = None
        if isinstance(reward, PlainTextReward) and reward.mode != "published":
            read = plain_sample(sample)
            plain = read.completion
        references = (*read.references, *read.answers)
        found.append(ReadRow(row.id, verdict, sample.completion, plain, references, question))
    return found


def in_text(row: ReadRow) -> str:
    """Returns a row as lines of text without control characters."""
    verdict = row.verdict
    score = "no score" if verdict.score is None else f"{verdict.score:.3f}"
    lines = [f"Row {row.id}: {score}, {verdict.status}"]
    facts = {"note": verdict.note, "written": row.written or "nothing"}
    if row.plain is not None:
        facts["read"] = "as written" if row.plain == row.written else row.plain or "nothing"
    if verdict.unread:
        facts["not read"] = str(not_read([(row.written, verdict.unread)]))
    if row.question is not None and isinstance(row.question.probe, AnswerProbe):
        facts["the answer in it"] = row.question.probe.candidate
    for name, text in facts.items():
        if text:
            lines.append(f"  {name}: {shortened(text)}")
    for reference in row.references:
        lines.append(f"  reference: {shortened(reference)}")
    if row.question is None:
        return "\n".join(map(visible, [*lines, "  first question: none to a judge"]))
    pictures = len(row.question.images)
    lines.append("  first question:" + (f" (with {pictures} pictures)" if pictures else ""))
    for message in row.question.messages:
        text = f"{message['role']}: {message['content']}"
        lines += [INDENT + line for line in shortened(text, LONGEST_QUESTION).splitlines()]
    return "\n".join(map(visible, lines))


def shortened(text: str, longest: int = LONGEST) -> str:
    """Returns the text, or its two ends and how long it is."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} [...] {text[-half:]} ({len(text):,} characters)"


def visible(text: str) -> str:
    """Returns the text with what a terminal would obey, or not show, as escapes."""
    signs = []
    for sign in text:
        signs.append(sign if sign.isprintable() else sign.encode("unicode_escape").decode())
    return "".join(signs)
