"""The page of a file's scores in a real browser: quiet, quick, searchable, and narrow."""

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards import Sample, Span, Verdict
from spanreward.rewards.rows.lines import InputRow
from spanreward.training.evaluation.page.scored import write_scored
from tests.support.chromium import axe_violations, browse, measure, needs_chromium, opening_seconds
from tests.support.hostile_row import HOSTILE, hostile_row

pytestmark = needs_chromium
TEXT = (
    "A red dog sleeps on a green sofa beside a lamp, and the cat that it knows looks at the rain. "
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scored") / "page.html"
    rows = [hostile_row(text) for text in HOSTILE]
    found = [InputRow(n, text[:80], {}, rows[n].sample) for n, text in enumerate(HOSTILE)]
    write_scored(path, "posh with match: rows.jsonl", found, [row.verdicts["posh"] for row in rows])
    return path


def test_the_page_is_quiet_and_fits_a_phone(page: Path) -> None:
    _, console = browse(page, f"--screenshot={page.with_suffix('.png')}", "--window-size=1280,4000")
    assert console == []
    measured, console = measure(page, 400)
    assert (console, measured["wide"], measured["width"]) == ([], [], 400)
    assert measured["marks"] > 5 + len(HOSTILE)


@pytest.mark.parametrize("width", [1280, 500])
def test_axe_finds_nothing_serious(page: Path, width: int) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is missing")
    assert axe_violations(page, width) == []


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


def used(page: Path, script: str) -> Any:
    """What `script` finds, once the page in a frame has loaded, by a real clock."""
    holder = page.with_name("holder.html")
    holder.write_text(
        f"""<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<iframe width="1280" height="900" srcdoc="{html.escape(page.read_text(encoding="utf-8"))}"></iframe><pre></pre>
<script>onload = () => {{
  const inner = document.querySelector("iframe").contentDocument
  document.querySelector("pre").textContent = "found" + JSON.stringify((() => {{ {script} }})()) + "end"
}}</script>""",
        encoding="utf-8",
    )
    dom, console = browse(holder, "--dump-dom", "--window-size=1280,900")
    assert console == []
    return json.loads(html.unescape(re.search(r"<pre>found(.*?)end", dom, re.DOTALL)[1]))


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
    opened, best, random, *others = used(large(tmp_path / "p.html", 100), script)
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
