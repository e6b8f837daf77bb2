"""The report page: nothing lost, nothing let through, nothing fetched. The data is invented."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spanreward.rewards.base.verdict import Span, Status, Verdict
from spanreward.rewards.base.verdict_html import (
    COLOURS_OF_VALUES,
    Segment,
    shade_of_score,
    text_segments,
)
from spanreward.rewards.comparison.number_text import metric_label
from spanreward.training.evaluation.answer_scores.answer import JudgedAnswer
from spanreward.training.evaluation.answer_scores.training_cost import Compute
from spanreward.training.evaluation.page.report import drawn_ranges, typeset_interval, write_report
from spanreward.training.evaluation.page.shown import ShownPrompt
from spanreward.training.evaluation.statistics.comparison import Comparison
from spanreward.training.evaluation.statistics.estimates import Estimate
from spanreward.training.evaluation.statistics.pairs import first_pairs
from spanreward.training.evaluation.statistics.slices import Slice
from tests.support.comparisons import BEFORE, comparison_of
from tests.support.invented_report import write_invented
from tests.support.page import Page


def report(folder: Path, comparison: Comparison, *examples: ShownPrompt) -> str:
    """The page of these."""
    write_report(folder / "r.html", comparison, examples)
    return (folder / "r.html").read_text(encoding="utf-8")


def minimal_report(
    folder: Path, text: str, verdict: Verdict, model: str = "dapo", prompt: str = "Describe."
) -> str:
    comparison = comparison_of({**BEFORE, model: {"truth_f1": [[0.5, 0.7]]}}, facts={"seeds": "0"})
    answer = JudgedAnswer(text, verdict, {"truth_f1": 0.5})
    return report(
        folder, comparison, ShownPrompt(None, prompt, ("A red circle.",), {model: answer})
    )


def span(start: int, end: int, score: float = 0.0, note: str = "", number: int = 0) -> Span:
    return Span(start, end, score, 0.0, "entity", note, number)


ONE = comparison_of({**BEFORE, "dapo": {"truth_f1": [[0.5, 0.6]]}})


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@st.composite
def marked_texts(draw: Any) -> Any:
    text = draw(texts)
    ranges = st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).filter(
        lambda r: r[0] < r[1]
    )
    pairs = draw(st.lists(ranges, max_size=6)) if text else []
    places = enumerate(pairs)
    return text, [span(a, b, draw(st.floats(0, 1)), f"note {i}", i) for i, (a, b) in places]


@given(marked_texts())
def test_segments_lose_nothing_and_the_lowest_score_wins(case: Any) -> None:
    text, spans = case
    pieces = text_segments(text, spans)
    assert "".join(piece.text for piece in pieces) == text
    assert [piece.start for piece in pieces[1:]] == [piece.end for piece in pieces[:-1]]
    for piece in pieces:
        assert piece.text == text[piece.start : piece.end] != ""
        for i in range(piece.start, piece.end):
            scores = [span.score for span in spans if span.start <= i < span.end]
            assert piece.score == (min(scores) if scores else None)


def test_segments_of_overlapping_spans_by_hand() -> None:
    text = "a red circle"
    whole, red = span(2, 12, 0.75, "the circle"), span(2, 5, 0.0, "not red", 1)
    assert text_segments(text, [whole, red]) == [
        Segment(0, 2, "a ", None, ()),
        Segment(2, 5, "red", 0.0, ("the circle", "not red")),
        Segment(5, 12, " circle", 0.75, ("the circle",)),
    ]
    assert text_segments("", []) == []
    of_code_points = text_segments("👩‍🎨 e\u0301tait 円", [span(0, 3, 1.0), span(4, 6, number=1)])
    assert [piece.text for piece in of_code_points] == ["👩‍🎨", " ", "e\u0301", "tait 円"]


def test_a_span_outside_its_text_is_named() -> None:
    with pytest.raises(ValueError, match="from 2 to 9, text has 5 characters"):
        text_segments("a red", [span(2, 9)])


def test_levels_are_the_ratings() -> None:
    assert [shade_of_score((rating - 1) / 4) for rating in range(1, 6)] == [0, 1, 2, 3, 4]
    assert len({(look.line, look.width, look.fill) for look in COLOURS_OF_VALUES}) == 5


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    hostile = (
        '<script>alert(1)</script> "\' onmouseover="alert(2)" {{ 7 * 7 }} </p></mark>&amp;\u202e'
    )
    verdict = Verdict(
        score=0.1,
        reference=0,
        spans=(span(0, len(hostile), 0.0, hostile),),
        missed=(span(2, 5, 0.0, hostile, 1),),
        note=hostile,
    )
    page = Page(minimal_report(tmp_path, hostile, verdict, model=hostile, prompt=hostile))
    assert "script" not in {tag for tag, _ in page.tags}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert page.texts == [hostile, "A red circle."]
    marks = [attributes for tag, attributes in page.tags if tag == "mark" and "title" in attributes]
    assert hostile in next(mark["title"] for mark in marks if mark.get("class") == "s0")


def test_a_steps_seconds_are_shown_the_longest_first(tmp_path: Path) -> None:
    run = {"steps": 20, "seconds": {"decode": 1.25, "judge": 12.5, "push": 0.0}, "processes": 2}
    compute = {"dapo": Compute(runs=1, tokens_written=None, training=[run, {"steps": 3}])}
    page = report(tmp_path, replace(ONE, compute=compute))
    assert "steps 20 · a step: judge 12.50 s, decode 1.25 s · processes 2" in page
    assert "push" not in page.partition('id="compute"')[2]


@pytest.mark.parametrize(
    "text", ["  two\n\n lines ", "👩‍🎨 e\u0301 円", "\n", "a\ud800b", "nul \x00 there"]
)
def test_odd_text_is_shown_as_it_is(tmp_path: Path, text: str) -> None:
    shown = Page(minimal_report(tmp_path, text, Verdict(0.5, spans=(span(0, 1, 0.5),)))).texts[0]
    # a browser would drop NUL without a trace
    legible = text.replace("\ud800", "\ufffd").replace("\x00", "\ufffd")
    assert shown == (legible if text.strip() else "(nothing written)")


def test_page_is_complete_in_itself(tmp_path: Path) -> None:
    html = write_invented(tmp_path / "r.html").read_text(encoding="utf-8")
    page = Page(html)
    links: list[str] = []
    for _, attributes in page.tags:
        named = {"src", "href", "srcset", "data", "action"} & attributes.keys()
        links += [attributes[name] for name in named]
    # six pictures, two of them twice, the icon
    assert len([link for link in links if link.startswith("data:")]) == 9
    places = {f"#{a['id']}" for _, a in page.tags if "id" in a}
    assert all(link in places for link in links if not link.startswith("data:"))
    active = {"script", "iframe", "object", "embed", "base", "form"}
    assert not active & {tag for tag, _ in page.tags}
    for word in ("url(", "@import", "http://", "https://"):
        assert word not in html


def test_a_failed_verdict_is_not_counted_and_never_0(tmp_path: Path) -> None:
    failed = Verdict(None, Status.NOT_APPLICABLE, note="no reference")
    html = minimal_report(tmp_path, "A red circle.", failed)
    assert "not applicable: not counted" in html
    assert "no reference" in html
    assert "0.00" not in html.partition('id="pairs"')[2].partition('id="models"')[0]
    assert "0.00 (empty" in minimal_report(tmp_path, "", Verdict(0.0, Status.EMPTY))


def test_missed_lies_on_the_reference_it_was_judged_by(tmp_path: Path) -> None:
    left_out, half_said = span(4, 8), span(9, 15, 0.5, number=1)
    verdict = Verdict(0.5, reference=1, missed=(left_out, half_said))
    answers = {"dapo": JudgedAnswer("A square.", verdict, {})}
    references = ("No.", "One blue square.")
    html = report(tmp_path, ONE, ShownPrompt(None, "Describe.", references, answers))
    assert Page(html).texts == ["A square.", "One blue square."]
    assert re.search(r'One <mark class="s0"[^>]*>blue</mark> square\.', html)


@pytest.mark.parametrize(
    ("models", "first", "headlines"),
    [
        ("ab", "b-a", "b-a"),
        ("abc", "c-b c-a b-a", "c-b c-a"),
        ("abcd", "d-c d-b d-a", "d-c d-b"),
    ],
)
def test_the_pairs_that_come_first(tmp_path: Path, models: str, first: str, headlines: str) -> None:
    """At most two headlines, of the last model: what was learnt, and beside what."""
    comparison = comparison_of({model: {"f1": [[0.5] * 4]} for model in models})
    pairs = first_pairs(comparison.pairs)
    assert " ".join(f"{pair.later}-{pair.earlier}" for pair in pairs) == first
    told = re.findall(
        r'<p class="headline">(.) against (.), in short', report(tmp_path, comparison)
    )
    assert " ".join(map("-".join, told)) == headlines


def test_numbers_in_words() -> None:
    typeset = typeset_interval(Estimate(-0.0412, -0.06, 0.02, []), 3)
    assert typeset.replace("\N{MINUS SIGN}", "-") == "-0.041 [-0.060, 0.020]"
    assert typeset_interval(Estimate(None, None, None, []), 3) == "\N{EN DASH}"
    labels = [metric_label(name) for name in ("truth_f1", "posh_recall", "length")]
    assert labels == ["truth F1", "PoSh recall", "length"]


def test_differences_share_a_range_unless_they_are_lengths() -> None:
    one = {"f1": [[0.5, 0.5]], "recall": [[0.5, 0.5]], "length": [[10, 10]]}
    two = {"f1": [[0.6, 0.6]], "recall": [[0.3, 0.3]], "length": [[14, 14]]}
    drawn = drawn_ranges(comparison_of({"sft": one, "dapo": two}))
    assert drawn["f1"] == drawn["recall"] == pytest.approx((-0.2, 0.1))
    assert drawn["length"] == (0, 4)


def test_results_without_numbers_still_make_a_page(tmp_path: Path) -> None:
    nothing = {"f1": [[np.nan, np.nan]]}
    html = report(tmp_path, comparison_of({"sft": nothing, "dapo": nothing}))
    assert "2 failed, not counted" in html
    assert "nan" not in html


def test_a_metric_without_a_score_in_a_slice_is_a_dash(tmp_path: Path) -> None:
    pair = ONE.pairs[0]
    found = pair.metrics["truth_f1"]
    rows = [
        Slice("kind", value, metric, found.difference, None, found.outcome)
        for value, metric in (("a", "truth_f1"), ("b", "truth_f1"), ("b", "overlap"))
    ]
    decided = {**ONE.metrics, "overlap": ONE.metrics["truth_f1"]}
    models = {model: {**table, "overlap": table["truth_f1"]} for model, table in ONE.models.items()}
    sliced = replace(ONE, metrics=decided, models=models, pairs=[replace(pair, slices=rows)])
    table = report(tmp_path, sliced).partition('id="slices"')[2].partition("</table>")[0]
    assert table.count("<td>\N{EN DASH}</td>") == 1
