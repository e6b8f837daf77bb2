"""A text of endless pieces is read in a time that grows with its length alone."""

from time import process_time
from typing import Any

import pytest

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.text.judged_part import judged_range
from spanreward.rewards.text.no_answers import no_answers
from spanreward.rewards.text.quoting import marks_in, mask_marks
from spanreward.rewards.text.written import read_text
from spanreward.rewards.text.written_list import read_list
from tests.rewards.text.test_written import MARKUP

CALLS = ["<tool_call>", "<tool_call>{</tool_call>", "[TOOL_CALLS]{}", "<function=a"]
CALLS += ["[TOOL_CALLS][", "<|tool_call|>"]
MARKS = marks_in("END OF TEXT")
LISTS = ("'a', ", '"a", ', "[", "[ ", "{'a': [", "\\", "[1, ", "&a [*a, ")


def read_within_json(text: str) -> None:
    read_text('{"a": "<box ' + text[:20_000])


def read_lists(text: str) -> None:
    for begins in ("", "['b', ", '["b", "c", '):
        read_list(begins + text * 3)
        read_list(f"{begins}{text[:20_000]}'x']")


READERS: list[tuple[Any, tuple[str, ...]]] = [
    (read_text, (*MARKUP, *CALLS)),
    (read_within_json, (*MARKUP, *CALLS)),
    (read_lists, LISTS),
    (lambda text: mask_marks(text, MARKS), ("end ", "end of ", "e", " ", "énd ")),
    (lambda text: no_answers([Sample("", text)], ["1"]), ("a.", "{", "error ", "[", "<h1>")),
    (
        lambda text: judged_range(text, "caption"),
        ("<caption>", "<caption ", '"caption": "', '"caption": [', "</caption>"),
    ),
]
CASES: list[tuple[Any, str]] = []
for reader, pieces in READERS:
    CASES += [(reader, piece) for piece in pieces]


@pytest.mark.parametrize(("read", "piece"), CASES, ids=range(len(CASES)))
def test_the_time_to_read_a_text_is_linear_in_its_length(read: Any, piece: str) -> None:
    start = process_time()
    read(piece * (100_000 // len(piece)))
    assert process_time() - start < 10  # 4 at most here; what is quadratic takes minutes
