"""Which part of a completion is the answer: the candidate that LAVE rates.

    find_candidate("It has four legs. Answer: a dog")      # (26, 31)
    find_candidate("<answer>cat</answer> or <answer>dog</answer>")      # the last one, "dog"

An announced answer comes first: what follows the last `Answer:` (no "wrong answer:") up to the end of its line, or the
last `<answer>` up to `</answer>`; or the last match of the user's own pattern. Without one it is the whole completion
when that has at most SHORT characters, else its first sentence or line. So of several answers one counts, and naming
many does not pay; an announced answer that is left empty is an empty candidate.
"""

import re
from collections import deque

SHORT = 160  # characters of a completion that is an answer as it stands
JUDGED_CHARACTERS = 500  # of a candidate; the rest is not read and counts as wrong
_ANNOUNCED = re.compile(
    r"<answer>|(?<!\bwrong )(?<!\bincorrect )(?<!\bfalse )(?<!\bnot the )\banswer\**:\**", re.IGNORECASE
)
_CLOSED = re.compile(r"</answer>", re.IGNORECASE)
_LINE = re.compile(r"\s*[^\n\r]*")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|(?=[\n\r])")


def compile_pattern(pattern: str | None) -> re.Pattern[str] | None:
    """The pattern, of which the first group (or, without groups, all of it) is the answer. Raises ValueError."""
    if pattern is None:
        return None
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        raise ValueError(f"answer_pattern must be a regular expression, got {pattern!r}: {error}") from None


def find_candidate(completion: str, pattern: re.Pattern[str] | None = None) -> tuple[int, int]:
    """Characters [start, end) of the candidate without the white space around it; start == end when it is empty."""
    found = _by_pattern(completion, pattern) if pattern else _announced(completion)
    if found is not None:
        return _stripped(completion, *found)
    start, end = whole_candidate(completion)
    if end - start > SHORT:
        sentence = _SENTENCE_END.search(completion, start, end)
        end = sentence.end() if sentence else end
    return _stripped(completion, start, end)


def whole_candidate(completion: str) -> tuple[int, int]:
    """Characters [start, end) of the completion without the white space around it; start == end when it is empty."""
    return _stripped(completion, 0, len(completion))


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(deque(pattern.finditer(text), maxlen=1)), None)


def _by_pattern(completion: str, pattern: re.Pattern[str]) -> tuple[int, int] | None:
    last = _last(pattern, completion)
    if last is None:
        return None
    start, end = last.span(1 if pattern.groups else 0)
    return (start, end) if start >= 0 else (last.end(), last.end())


def _announced(completion: str) -> tuple[int, int] | None:
    last = _last(_ANNOUNCED, completion)
    if last is None:
        return None
    start = last.end()
    closed = _CLOSED.search(completion, start)
    end = closed.start() if closed else len(completion)
    if not last.group().startswith("<"):
        line = _LINE.match(completion, start, end)
        end = line.end() if line else end
    return start, end
