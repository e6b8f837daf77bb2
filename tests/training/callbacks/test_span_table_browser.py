"""The page of a step in a real browser: quiet console, no sideways scrolling on a phone, whatever
was written.
"""

from pathlib import Path

import pytest

from spanreward.training.callbacks.span_table import write_page
from tests.support.chromium import browse, measure, needs_chromium
from tests.support.hostile_row import HOSTILE, hostile_row

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spans") / "step-000050.html"
    kinds = ["best", "best", "worst", "worst", "worst", "not judged", "worst"]
    rows = [hostile_row(text, kind) for text, kind in zip(HOSTILE, kinds, strict=True)]
    write_page(path, 50, rows, [row.reward for row in rows])
    return path


def test_the_page_is_quiet_and_fits_a_phone(page: Path) -> None:
    _, console = browse(page, f"--screenshot={page.with_suffix('.png')}", "--window-size=1280,4000")
    assert console == []
    measured, console = measure(page, 400)
    assert console == []
    assert measured["wide"] == []
    assert measured["width"] == 400
    assert measured["marks"] >= 5 + 4 * len(HOSTILE)
