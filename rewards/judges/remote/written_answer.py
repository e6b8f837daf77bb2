"""Reads the written answers of a server: their text, a rating in words, or why there is neither.

    text_or_failure(answer, "64")                        # "I rate it 4.", or a Failure
    pooled_rating(["4", "5", "4"], ("4", "5"), cut=0)    # 2/3 on "4", 1/3 on "5", samples=3

RemoteJudge (remote_judge.py) asks the questions and collects the answers.
"""

from collections.abc import Sequence

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.files.http_client import safe_line
from spanreward.rewards.judges.judge import Failure, Rating
from spanreward.rewards.judges.remote.answer import ServerAnswer
from spanreward.rewards.judges.remote.endpoint import AnswerOrFailure
from spanreward.rewards.judges.written_rating import read_written_rating

SHOWN_ANSWER = 60  # characters of an answer that is no rating


def pooled_rating(
    texts: Sequence[str | Failure],
    scale: Sequence[str],
    cut: int,
) -> Rating | Failure:
    """Returns the mean distribution of one question's written answers. The Rating's `mass` is the
    share of readable answers.

    The answers "4", "5", "no idea" and "4" give 2/3 on "4", 1/3 on "5", and a mass of .75. If fewer
    than half of the answers are readable, the first Failure is returned. cut: how many
    characters of the question's description were cut.
    """
    readable: list[Rating] = []
    failures: list[Failure] = []
    for text in texts:
        answer = text if isinstance(text, Failure) else rating_in_words(text, scale)
        if isinstance(answer, Failure):
            failures.append(answer)
        else:
            readable.append(answer)
    if not readable or 2 * len(readable) < len(texts):
        return failures[0]
    probabilities = dict.fromkeys(scale, 0.0)
    for rating in readable:
        for entry, share in rating.probabilities.items():
            probabilities[entry] += share / len(readable)
    readable_share = len(readable) / len(texts)
    return Rating(probabilities, readable_share, cut, samples=len(readable))


def numbers_without_logprobs(answers: Sequence[AnswerOrFailure]) -> list[int]:
    """Returns the numbers of the answers that have no log-probabilities, from 0. Failures are left
    out.
    """
    numbers: list[int] = []
    for number, answer in enumerate(answers):
        if isinstance(answer, ServerAnswer) and not answer.first:
            numbers.append(number)
    return numbers


def numbers_without_text(answers: Sequence[AnswerOrFailure]) -> list[int]:
    """Returns the numbers of the answers that used up their tokens before they had any text, from
    0.
    """
    numbers: list[int] = []
    for number, answer in enumerate(answers):
        if isinstance(answer, ServerAnswer) and ended_before_its_text(answer):
            numbers.append(number)
    return numbers


def ended_before_its_text(answer: ServerAnswer) -> bool:
    """Returns whether an answer used up its tokens before it had any text."""
    return answer.finish_reason == "length" and not (answer.text or "").strip()


def text_or_failure(answer: AnswerOrFailure, tried: str) -> str | Failure:
    """Returns the text of an answer, or a Failure if the answer has no text.

    tried: the numbers of tokens that the answer could have, for the message: "64 and then 4,160".
    """
    if isinstance(answer, Failure):
        return answer
    if answer.text is None or ended_before_its_text(answer):
        why = f"the server gave no text within {tried} tokens ({answer_in_words(answer)})"
        return Failure(Status.UNPARSED, why)
    return answer.text


def rating_in_words(text: str, scale: Sequence[str]) -> Rating | Failure:
    """Returns the rating in a written answer, or an UNPARSED Failure that quotes the answer."""
    rating = read_written_rating(text, scale)
    if rating is not None:
        return rating
    words = safe_line(text, SHOWN_ANSWER)
    why = f"the judge wrote no rating from {scale[0]} to {scale[-1]}: {words!r}"
    return Failure(Status.UNPARSED, why)


def answer_in_words(answer: ServerAnswer) -> str:
    """Returns a clause that describes an unusable answer, for a message: "it answered 'I think',
    finish_reason 'length'".
    """
    words = safe_line(answer.text or "", SHOWN_ANSWER)
    clause = f"it answered {words!r}" if words else "it answered no text"
    clause += f", finish_reason {safe_line(str(answer.finish_reason), SHOWN_ANSWER)!r}"
    if answer.reasoning:
        clause += ", and it wrote reasoning"
    return clause
