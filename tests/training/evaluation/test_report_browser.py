"""The report page in a real browser: quiet console, no sideways scrolling on a phone. Needs Debian's chromium."""

from typing import Any

import pytest
from PIL import Image

from tests.support.chromium import browse, measure, needs_chromium
from tests.support.invented_report import write_invented

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return write_invented(tmp_path_factory.mktemp("report") / "report.html")


def test_wide_page_is_quiet_and_draws(page: Any) -> None:
    picture = page.with_name("wide.png")
    _, console = browse(page, f"--screenshot={picture}", "--window-size=1280,2000")
    assert console == []
    assert len(set(Image.open(picture).convert("RGB").resize((64, 100)).getdata())) > 20


@pytest.mark.parametrize("width", [1280, 400])
def test_no_sideways_scrolling(page: Any, width: int) -> None:
    measured, console = measure(page, width)
    assert console == []
    assert measured["wide"] == []
    assert measured["width"] == width
    assert measured["marks"] > 40


def test_the_measurement_would_notice(page: Any) -> None:
    bad = page.with_name("bad.html")
    bad.write_text('<p style="width: 900px">wide</p><img src="data:image/png,x"><script>undefined.x</script>')
    measured, console = measure(bad, 400)
    assert measured["width"] > 800
    assert len(measured["wide"]) == 1
    assert "TypeError" in console[0]
