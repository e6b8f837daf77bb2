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
    bare = [of[text] for text in ("A B C D", "It is A B C D.", "lines", "1. A 2. B 3. C 4. D")]
    mixed = "It is A on B with C by D."
    apart = {"the right choice", "a random choice", mixed, "It is A, B.", "It is A or B."}
    joined = [of[text] for text in of if text not in apart | {"What is shown there is A, B."} and of[text] not in bare]
    page = " ".join((ROOT / "docs" / "evidence" / "filler.md").read_text(encoding="utf-8").split())
    for said in (
        f"The right choice gets {of['the right choice']}, a random one {of['a random choice']}.",
        f'Lists of all four get {min(joined)} to {max(joined)} ("It is A, B, C, D." {of["It is A, B, C, D."]}),',
        f'without commas {min(bare)} to {max(bare)}, "{mixed}" **{of[mixed]}**.',
        f'"It is A, B." {of["It is A, B."]}, "It is A or B." {of["It is A or B."]},',
        f'"What is shown there is A, B." **{of["What is shown there is A, B."]}**.',
    ):
        assert said in page
