"""Finds the candidate, the part of a completion that is the answer.

    find_candidate("It has four legs. Answer: a dog")      # (26, 31)
    find_candidate("<answer>cat</answer> or <answer>dog</answer>")      # the last one, "dog"

The candidate is the text from the last `Answer:` (but not "wrong answer:") to the end of the line, or from the last
`<answer>` to `</answer>`. It may be empty. A completion without either is the candidate itself if it has at most SHORT
characters, and else its first sentence or line is. Only one answer counts, so naming several does not pay.
"""

import re

SHORT = 160  # the most characters of a completion that is the candidate as a whole
JUDGED_CHARACTERS = 500  # of a candidate; the rest counts as wrong
_ANNOUNCED = re.compile(
    r"<answer>|(?<!\bwrong )(?<!\bincorrect )(?<!\bfalse )(?<!\bnot the )\banswer\**:\**", re.IGNORECASE
)
_CLOSED = re.compile(r"</answer>", re.IGNORECASE)
_LINE = re.compile(r"\s*[^\n\r]*")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|(?=[\n\r])")


def find_candidate(completion: str) -> tuple[int, int]:
    """Returns the candidate's characters [start, end) without white space around it; start == end if it is empty."""
    found = _announced(completion)
    if found is not None:
        return _stripped(completion, *found)
    start, end = whole_candidate(completion)
    if end - start > SHORT:
        sentence = _SENTENCE_END.search(completion, start, end)
        end = sentence.end() if sentence else end
    return _stripped(completion, start, end)


def whole_candidate(completion: str) -> tuple[int, int]:
    """Returns the characters [start, end) of the completion without white space around it."""
    return _stripped(completion, 0, len(completion))


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return start, start + len(piece.strip())


def _announced(completion: str) -> tuple[int, int] | None:
    found = list(_ANNOUNCED.finditer(completion))
    if not found:
        return None
    start = found[-1].end()
    closed = _CLOSED.search(completion, start)
    end = closed.start() if closed else len(completion)
    if not found[-1].group().startswith("<"):
        line = _LINE.match(completion, start, end)
        end = line.end() if line else end
    return start, end
