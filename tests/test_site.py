"""The site that `make docs` built: its search finds the page before the mention."""

import json
import re
import subprocess
from html import unescape

import pytest

from tests.support.chromium import CHROMIUM, FLAGS, needs_chromium
from tests.support.paths import ROOT

SITE = ROOT / "outputs" / "docs"
pytestmark = pytest.mark.skipif(not (SITE / "search.html").is_file(), reason="no site: make docs")


def found(query: str, profile: object) -> list[str]:
    """The pages of the results, in their order."""
    address = f"{(SITE / 'search.html').as_uri()}?q={query.replace(' ', '+')}"
    flags = [*FLAGS, "--virtual-time-budget=8000", f"--user-data-dir={profile}", "--dump-dom"]
    command = [str(CHROMIUM), *flags, address]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    links = re.findall(r'<li[^>]*>\s*<a href="([\w/.]+)', dom[dom.index('id="search-results"') :])
    return list(dict.fromkeys(links))


@needs_chromium
@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("span_coef", "trainer.html"),
        ("own dataset", "recipes.html"),
        ("wandb", "trainer.html"),
        ("which judge", "choosing.html"),
    ],
)
def test_the_page_comes_before_the_mention(query: str, page: str, tmp_path: object) -> None:
    pages = found(query, tmp_path)
    assert len(pages) > 1
    assert pages[0] == page


def test_formulas_are_not_highlighted_as_python() -> None:
    page = (SITE / "credit.html").read_text()
    (formula,) = re.findall(
        r'<div class="highlight-(\w+)[^>]*><div class="highlight"><pre>(?:<[^>]*>)*baseline', page
    )
    assert formula == "none"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("spans", "What each token received"),
        ("pictures", "Does the picture show"),
        ("report", "Drawn pictures"),
        ("doctor", "torch"),
    ],
)
def test_the_gallery_is_there(page: str, text: str) -> None:
    assert text in (SITE / "gallery" / f"{page}.html").read_text()


def test_the_notebook_is_a_page_with_its_outputs() -> None:
    page = unescape((SITE / "gallery" / "verdicts.html").read_text())
    assert 'src="data:image/png;base64,' in page
    notebook = json.loads((ROOT / "docs" / "gallery" / "verdicts.ipynb").read_text())
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            for line in output.get("text", "").splitlines():
                assert line.rstrip() in page, line
