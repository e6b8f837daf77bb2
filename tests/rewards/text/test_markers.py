"""A sign that says something stays, and one that only marks up goes."""

import pytest

from spanreward.rewards.text.written import read_text

SIGNS = (
    "\u221240", "\u2212 40", "-40", "- 5", "+ 5", "> 30", "< 30", "±3", "~5", "#1", "[1]", "1.", "3. 5", "12. May", "A*", "A* search",
    "C++", "C#", ".NET", "B-", "2**3", "2*3*4", "x*y", "|-5|", "P(A|B)", "x < 5", "x<y and z>w", "speed <30", "5 - 3 = 2",
    "1: 4", "1:4", "2/3", "→", "→ exit", "✓", "✅", "✗", "①", "•", "✓ Milk\n✗ Eggs", "[x] Milk\n[ ] Eggs", "- $5 fee",
    "50% - 60%", "4 > 3", "<3", "5*", "*Note", "10 - 20", "½", "°", "5 °C", "8' x 10'",
)  # fmt: skip
MARKUP = {
    "- 5\n- 7": "5\n7", "- A kite": "A kite", "> A kite": "A kite", "• A kite": "A kite",
    "* A kite\n* Two": "A kite\nTwo", "✓ Milk\n✓ Eggs": "Milk\nEggs",
    "→ There is an exit here.": "There is an exit here.", "1. A kite\n2. Two": "A kite\nTwo",
    "3. A kite\n4. Two": "A kite\nTwo", "1. A kite": "A kite", "① A kite": "A kite",
    "*A* kite": "A kite", "**5** kites": "5 kites",
    "| a | b |\n|---|---|\n| c | d |": "a , b \nc , d", "1: A kite": "A kite", "Sky - blue": "blue",
}  # fmt: skip


@pytest.mark.parametrize("text", SIGNS)
def test_a_sign_that_says_something_stays(text: str) -> None:
    assert read_text(text).plain == text


@pytest.mark.parametrize("text", MARKUP)
def test_a_sign_that_marks_up_goes(text: str) -> None:
    assert read_text(text).plain == MARKUP[text]
