"""The report page in a real browser: quiet console, no sideways scrolling on a phone.

Needs Debian's chromium.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from spanreward.rewards.base.verdict import Span, Verdict
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.page.report import write_report
from spanreward.training.evaluation.page.shown import ShownPrompt
from tests.support.chromium import (
    axe_violations,
    browse,
    drawn_examples,
    filtered,
    measure,
    needs_chromium,
)
from tests.support.comparisons import comparison_of
from tests.support.invented_report import invented_comparison, invented_examples, write_invented

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


def test_of_five_hundred_prompts_only_the_first_are_drawn_at_once(tmp_path: Path) -> None:
    """With photographs, as large as a page keeps them: what is not drawn costs no layout."""
    noise = np.random.default_rng(0)
    examples: list[ShownPrompt] = []
    invented = invented_examples()
    for number in range(500):
        photo = Image.fromarray(noise.integers(0, 255, (12, 16, 3), np.uint8))
        large = photo.resize((640, 480), Image.Resampling.BICUBIC)
        examples.append(replace(invented[number % 6], image=large))
    page = tmp_path / "r.html"
    write_report(page, invented_comparison(), examples)
    drawn, held = drawn_examples(page)
    assert held == 500
    assert drawn < 50
    assert page.stat().st_size < 10e6


def test_filters_show_what_they_say(page: Any) -> None:
    assert filtered(page) == {
        "outcome": {"all": 6, "lost": 3, "won": 3},
        "the last answer is": {"all": 6, "longer": 3, "shorter": 3},
        "metrics": {"all": 6, "agree": 3, "disagree": 3},
        "objects": {"all": 6, "1": 2, "2": 2, "3": 2},
    }


@pytest.mark.parametrize("width", [1280, 500])
def test_axe_finds_nothing_serious(page: Any, width: int) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is missing")
    assert axe_violations(page, width) == []


BAD = '<html><title>x</title><body><p style="color: #ccc">pale</p><img src="data:,"></body></html>'


def test_axe_would_notice(tmp_path: Path) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is missing")
    bad = tmp_path / "bad.html"
    bad.write_text(BAD)
    broken = {rule for rule, _ in axe_violations(bad, 1280)}
    assert {"color-contrast", "image-alt", "html-has-lang"} <= broken


def test_hostile_answers_run_nothing_in_a_browser(tmp_path: Path) -> None:
    """In every text of a page: the console stays silent."""
    hostile = (
        '</style><script>console.log("ran")</script><img src=x '
        'onerror="console.log(1)">\u202e\x00{{ 7 * 7 }}</div>'
    )
    spans = (Span(0, len(hostile), 0.0, 0.0, "entity", hostile, 0),)
    verdict = Verdict(0.5, spans=spans, note=hostile)
    answers = {hostile: JudgedAnswer(hostile, verdict, {"truth_f1": 0.5}, judge=hostile)}
    shown = ShownPrompt(None, hostile, (hostile,) * 2, answers)
    examples = [replace(shown, slices={hostile: (f"{hostile}{number}",)}) for number in range(2)]
    scores = {f"{hostile}before": {"truth_f1": [[0.1, 0.2]]}, hostile: {"truth_f1": [[0.5, 0.7]]}}
    told: Any = {"warnings": [hostile], "notes": [hostile]}
    comparison = comparison_of(scores, hostile, {hostile: hostile}, **told)
    page = tmp_path / "r.html"
    write_report(page, comparison, examples)
    dom, console = browse(page, "--dump-dom")
    assert console == []
    assert "<script" not in dom
    assert len(filtered(page)[hostile.replace("\x00", "\ufffd")]) == 3
    assert measure(page, 400)[0]["wide"] == []


def test_the_measurement_would_notice(page: Any) -> None:
    bad = page.with_name("bad.html")
    bad.write_text(
        '<p style="width: 900px">wide</p><img src="data:image/png,x"><script>undefined.x</script>'
    )
    measured, console = measure(bad, 400)
    assert measured["width"] > 800
    assert len(measured["wide"]) == 1
    assert "TypeError" in console[0]
