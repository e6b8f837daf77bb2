"""A page of docs/evidence has the figures that its command gives today, to the digit: the cheapest of them."""

import re

import pytest

from tests.support.command import experiments
from tests.support.paths import DATA, ROOT

LINES = re.compile(r"│ (.+?) +│ (0\.\d{3}) +│$", re.MULTILINE)


@pytest.mark.skipif(not DATA.is_dir(), reason="people's answers are not beside the repository (../shared/data)")
def test_the_lists_of_answers_get_what_the_page_says() -> None:
    done = experiments("agreement", "lists", DATA)
    assert done.code == 0, done.err
    of = {text: value.removeprefix("0") for text, value in LINES.findall(done.out.partition("Right answers")[0])}
    restated = "the question, and A on B with C by D"
    two = {text: of[text] for text in ("It is A, B.", "It is A or B.", "What is shown there is A, B.")}
    others = {*two, "the right choice", "a random choice", restated}
    four = [price for text, price in of.items() if text not in others]
    page = " ".join((ROOT / "docs" / "evidence" / "filler.md").read_text(encoding="utf-8").split())
    for said in (
        f"The right choice gets {of['the right choice']}, a random one {of['a random choice']}.",
        f'Lists of all four get {min(four)} to {max(four)} ("It is A, B, C, D." {of["It is A, B, C, D."]},',
        f'"It is A on B with C by D." {of["It is A on B with C by D."]}), of two',
        f'of two {min(two.values())} to {max(two.values())} ("It is A or B." {of["It is A or B."]}, "It is A, B."',
        f'"It is A, B." {of["It is A, B."]}).',
        f'The question said again with "A on B with C by D" gets {of[restated]},',
    ):
        assert said in page
