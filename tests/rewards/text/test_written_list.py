"""The list in a judge's answer, whatever stands around it; none where there are several."""

import pytest

from spanreward.rewards.text.written_list import MOST_ENTRIES, read_list, without_list_signs


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("[]", []),
        ("```json\n[]\n```", []),
        ('{"differences": []}', []),
        ('```json\n["a"]\n```', ["a"]),
        ('Here it is:\n["a", "b"]', ["a", "b"]),
        ('["a"] is all.', ["a"]),
        ('{"a": ["b"]}', ["b"]),
        ('Of the text [1] I say:\n["a"]', ["a"]),
        ('<think>["b"]</think>["a"]', ["a"]),  # the token limit
        ('["a", "b", "c', ["a", "b"]),
        ('["a", "b]", "c', ["a", "b]"]),
        ('["a", "b"', ["a"]),
        ("['a', \"it's\",]", ["a", "it's"]),
        ("[{\u201ca\u201d: 3}]", [{"\u201ca\u201d": 3}]),
        ("[", None),
        ('["a', None),
        ('["a"] and ["b"]', None),
        ('["a", "c"] and ["b"]', None),
        ('It says [] itself. ["a"]', None),  # the prompt's own words
        ("Write a list, [] if there is none.", None),
        ("[Text begins] A cat. [Text ends]", None),
        ("No difference.", None),
        ("", None),
        ("[" * 5000, None),
        ("[" * 5000 + '"a"' + "]" * 5000, None),
        ('["\\ud800"]', None),
        ("null", None),
    ],
)
def test_the_list_of_an_answer(answer: str, found: list[str] | None) -> None:
    assert read_list(answer) == found


def test_no_more_than_was_asked_for() -> None:
    entries = [f"'{number}" for number in range(1000)]
    assert read_list(str(entries)) == entries[:MOST_ENTRIES]


@pytest.mark.parametrize(
    "text", ["[]", '["a"]', "```json\n[]\n```", "{'a': []}", "\uff3b\uff3d []"]
)
def test_a_text_that_a_judge_repeats_holds_no_list(text: str) -> None:
    shown = without_list_signs(text)
    assert len(shown) == len(text)
    for answer in (shown, f"The text says: {shown}", f"{shown}\n```", shown.splitlines()[-1]):
        assert read_list(answer) is None
