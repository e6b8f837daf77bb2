"""The report and the page of a file's scores in a real browser: quiet, quick, searchable, and without
sideways scrolling on a phone.

Needs Debian's chromium.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from spanreward.rewards import Sample
from spanreward.rewards.base.verdict import Span, Verdict
from spanreward.rewards.rows.lines import InputRow
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.page.report import write_report
from spanreward.training.evaluation.page.scored import write_scored
from spanreward.training.evaluation.page.shown import ShownPrompt
from tests.support.chromium import (
    axe_violations,
    browse,
    found_in,
    measure,
    needs_chromium,
    opening_seconds,
)
from tests.support.comparisons import comparison_of
from tests.support.hostile_row import HOSTILE, hostile_row
from tests.support.invented_report import invented_comparison, invented_examples, write_invented

pytestmark = needs_chromium
TEXT = (
    "A red dog sleeps on a green sofa beside a lamp, and the cat that it knows looks at the rain. "
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report of invented answers, and the scores of hostile texts."""
    folder = tmp_path_factory.mktemp("pages")
    rows = [hostile_row(text) for text in HOSTILE]
    found = [InputRow(n, text[:80], {}, rows[n].sample) for n, text in enumerate(HOSTILE)]
    verdicts = [row.verdicts["posh"] for row in rows]
    write_scored(folder / "scored.html", "posh with match: rows.jsonl", found, verdicts)
    return {"report": write_invented(folder / "report.html"), "scored": folder / "scored.html"}


@pytest.mark.parametrize(("name", "marks"), [("report", 40), ("scored", 5 + len(HOSTILE))])
def test_a_page_is_quiet_and_fits_a_phone(pages: dict[str, Path], name: str, marks: int) -> None:
    page = pages[name]
    picture = page.with_suffix(".png")
    _, console = browse(page, f"--screenshot={picture}", "--window-size=1280,2000")
    assert console == []
    assert len(set(Image.open(picture).convert("RGB").resize((64, 100)).getdata())) > 20
    for width in (1280, 400):
        measured, console = measure(page, width)
        assert (console, measured["wide"], measured["width"]) == ([], [], width)
        assert measured["marks"] > marks


@pytest.mark.parametrize("width", [1280, 500])
@pytest.mark.parametrize("name", ["report", "scored"])
def test_axe_finds_nothing_serious(pages: dict[str, Path], name: str, width: int) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is missing")
    assert axe_violations(pages[name], width) == []


def test_of_two_hundred_prompts_only_the_first_are_drawn_at_once(tmp_path: Path) -> None:
    """With photographs, as large as a page keeps them: what is not drawn costs no layout."""
    noise = np.random.default_rng(0)
    examples: list[ShownPrompt] = []
    invented = invented_examples()
    for number in range(200):
        photo = Image.fromarray(noise.integers(0, 255, (12, 16, 3), np.uint8))
        large = photo.resize((640, 480), Image.Resampling.BICUBIC)
        examples.append(replace(invented[number % 6], image=large))
    page = tmp_path / "r.html"
    write_report(page, invented_comparison(), examples)
    script = """
  const all = [...inner.querySelectorAll(".example > *:first-child")]
  return [all.filter(e => e.checkVisibility({ contentVisibilityAuto: true })).length, all.length]"""
    (drawn, held), console = found_in(page, script)
    assert (held, console) == (200, [])
    assert drawn < 50
    assert page.stat().st_size < 4e6


def filtered(page: Any) -> Any:
    """{legend: {label: how many prompts are shown}} when a filter alone is set."""
    script = """
  const found = {}
  const shown = () => [...inner.querySelectorAll(".example")]
    .filter(e => inner.defaultView.getComputedStyle(e).display != "none").length
  for (const set of inner.querySelectorAll("fieldset")) {
    const counts = found[set.querySelector("legend").textContent] = {}
    for (const label of set.querySelectorAll("label")) {
      label.querySelector("input").click()
      counts[label.firstChild.nextSibling.textContent.trim()] = shown()
    }
    set.querySelector("input").click()
  }
  return found"""
    found, console = found_in(page, script)
    assert console == []
    return found


def test_filters_show_what_they_say(pages: dict[str, Path]) -> None:
    assert filtered(pages["report"]) == {
        "outcome": {"all": 6, "lost": 3, "won": 3},
        "the last answer is": {"all": 6, "longer": 3, "shorter": 3},
        "metrics": {"all": 6, "agree": 3, "disagree": 3},
        "objects": {"all": 6, "1": 2, "2": 2, "3": 2},
    }


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


BAD = """<html><title>x</title><body><p style="color: #ccc; width: 900px">wide and pale</p>
<img src="data:image/png,x"><script>undefined.x</script></body></html>"""


def test_the_measurements_would_notice(tmp_path: Path) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is missing")
    bad = tmp_path / "bad.html"
    bad.write_text(BAD)
    measured, console = measure(bad, 400)
    assert measured["width"] > 800
    assert len(measured["wide"]) == 1
    assert "TypeError" in console[0]
    broken = {rule for rule, _ in axe_violations(bad, 1280)}
    assert {"color-contrast", "image-alt", "html-has-lang"} <= broken


def large(path: Path, count: int) -> Path:
    text = TEXT * 5
    places = [match.span() for match in re.finditer(r"\w+", text)][:30]
    notes = enumerate(places)
    spans = tuple(Span(a, b, n / 29, 0.01, "entity", f"note {n}", n) for n, (a, b) in notes)
    rows, verdicts = [], []
    for n in range(count):
        sample = Sample("Describe.", f"{text}{n}", references=(text, TEXT))
        rows.append(InputRow(n, f"row{n}", {}, sample))
        share = n / count
        verdicts.append(Verdict(share, parts={"f1": share}, spans=spans, missed=spans[:9]))
    write_scored(path, "t", rows, verdicts)
    return path


def test_orders_and_search(tmp_path: Path) -> None:
    script = """
  const first = () => inner.querySelector(".example dd")?.textContent
  const count = () => inner.getElementById("count").textContent
  const words = inner.getElementById("words")
  const set = text => { words.value = text; words.dispatchEvent(new Event("input")) }
  const found = [[first(), count(), inner.querySelectorAll(".example").length]]
  for (const order of ["best", "random", "worst"]) {
    inner.querySelector(`input[value=${order}]`).click()
    found.push([first(), count()])
  }
  set("ROW7 describe"); found.push([first(), count()])
  set("zebra"); found.push([first() ?? null, count()])
  return found"""
    whole = "100 of 100 rows"
    found, console = found_in(large(tmp_path / "p.html", 100), script)
    assert console == []
    opened, best, random, *others = found
    assert opened[:2] == ["row0", whole]
    assert 20 <= opened[2] < 100
    assert best == ["row99", whole]
    assert random[0] not in ("row0", "row99")
    assert others == [["row0", whole], ["row7", "11 of 100 rows"], [None, "0 of 100 rows"]]


@pytest.mark.slow
def test_ten_thousand_rows_open_in_a_second(tmp_path: Path) -> None:
    """1.0 s of a core here, with the painting; a slower machine may take twice as much."""
    page = large(tmp_path / "p.html", 10_000)
    assert page.stat().st_size < 50e6
    assert min(opening_seconds(page) for _ in range(2)) < 2
