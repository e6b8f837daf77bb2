"""A verdict shows itself, and goes through plain data and back as it was."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spanreward import MatchJudge, PoshReward, Sample, Span, Status, Verdict
from spanreward.rewards import HarmonicReward, LaveReward, load_judge
from spanreward.rewards.base.verdict import Unread
from spanreward.rewards.base.verdict_html import legible_in_html
from spanreward.rewards.experimental.jury_judge import JuryJudge
from tests.support.hostile_row import HOSTILE, hostile_row
from tests.support.own_parts import overlap
from tests.support.page import Page

TAGS = "div style p b span mark details summary ul li"
TEXT, REFERENCE = "A green circle.", "A red circle."
numbers = st.floats(-1e6, 1e6)
places = (st.integers(0, 9), st.integers(10, 99))
notes = (st.text(), st.text(), st.integers(0, 9))
spans = st.builds(Span, *places, st.floats(0, 1), numbers, *notes, asked=st.booleans())


def verdict_of(text: str = TEXT) -> Verdict:
    (verdict,) = PoshReward("match").assess([Sample("", text, references=(REFERENCE,))])
    return verdict


@given(st.floats(0, 1), st.dictionaries(st.text(), numbers), st.lists(spans), *notes)
def test_a_verdict_is_the_same_after_json(
    score: float, parts: Any, on: Any, note: str, parsed_by: str, index: int
) -> None:
    verdict = Verdict(score, Status.OK, parts, tuple(on), tuple(on[1:]), index, note, parsed_by)
    verdict = replace(verdict, unread=(Unread(0, 3, note), Unread(5, 9, "HTML")))
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict
    assert Verdict.from_dict(verdict.to_dict()) == verdict


def test_a_verdict_of_before_unread_text_was_known_and_one_without_a_score_are_read() -> None:
    old = verdict_of("<b>A red circle.</b>").to_dict()
    assert old.pop("unread")
    assert Verdict.from_dict(old).unread == ()
    for status in (Status.TIMEOUT, Status.NOT_APPLICABLE, Status.ERROR):
        verdict = Verdict(None, status, note="late")
        assert Verdict.from_dict(verdict.to_dict()) == verdict
    assert Verdict.from_dict({"score": None, "status": "timeout"}).status is Status.TIMEOUT
    with pytest.raises(ValueError, match="a verdict: "):
        Verdict.from_dict({})


SPAN = {"start": 2, "end": 5, "score": 0.0, "credit": 0.1, "kind": "entity"}
SPAN |= {"note": "", "component": 0}


@pytest.mark.parametrize(("more", "message"), [
    ({"f1": 1}, r"a verdict: f1: .*, got 1"),
    ({"status": "fine"}, r"a verdict: status: .*'ok', 'empty'.*, got 'fine'"),
    ({"parts": {"f1": None}}, r"a verdict: parts\.f1: .* number, got None"),
    ({"spans": [SPAN | {"credit": 1e300}]}, r"a verdict: spans\.0: .*credit"),
    ({"unread": [{"start": 2, "end": 2, "kind": "HTML"}]}, r"unread\.0: .*0 <= start < end"),
    ({"spans": [SPAN | {"colour": 1}]}, r"a verdict: spans\.0\.colour: "),
    ({"missed": {"0": SPAN}}, r"a verdict: missed: "),
    ({"note": 3}, r"a verdict: note: .* string, got 3"),
    ({"score": True}, r"a verdict: score: .* number, got True"),
    ([], "a verdict: "),
    ("x", "a verdict: "),
])  # fmt: skip
def test_other_data_is_refused_in_one_sentence(more: Any, message: str) -> None:
    data = {"score": 0.5, **more} if isinstance(more, dict) else more
    with pytest.raises(ValueError, match=message) as error:
        Verdict.from_dict(data)
    assert "\n" not in str(error.value)


def test_a_span_knows_its_words() -> None:
    assert [span.text(TEXT) for span in verdict_of().spans] == ["circle", "green"]
    assert [span.text(REFERENCE) for span in verdict_of().left_out] == ["red"]


def test_a_notebook_draws_the_text_in_colours() -> None:
    verdict = verdict_of()
    page = verdict.html(TEXT)
    assert page._repr_html_() == page
    assert re.search(r'<mark class="s0" title="0\.00 wrong[^>]*>green</mark>', page)
    assert re.search(r'<mark class="s4" title="1\.00 right[^>]*>circle</mark>', page)
    assert "Missed" not in page
    beside = verdict.html(Sample("", TEXT, references=(REFERENCE,)))
    assert re.search('Missed in the.*<mark class="s0"[^>]*>red</mark>', beside, re.DOTALL)
    alone = verdict._repr_html_()
    assert re.search("attribute 2.7", alone)
    assert f"{verdict.score:.2f}" in alone


def test_a_failure_is_no_0() -> None:
    assert "timeout: not counted" in Verdict(None, Status.TIMEOUT).html(TEXT)
    empty = Verdict(0.0, Status.EMPTY).html(" ")
    assert "0.00 (empty: nothing to judge)" in empty
    assert "(nothing written)" in empty


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_gets_through(text: str) -> None:
    """Only the template's own tags are there, and the text is what it was."""
    row = hostile_row(text)
    verdict = row.verdicts["posh"]
    pages = [Page(verdict.html(row.sample)), Page(verdict._repr_html_())]
    for tag, attributes in pages[0].tags + pages[1].tags:
        assert tag in TAGS.split()
        assert {*attributes} <= {"class", "dir", "title"}
    assert pages[0].texts[0] == legible_in_html(text)


VLLM, CHAT = "vllm:Qwen/Qwen3-8B", "chat:http://127.0.0.1:9#gpt-4o"


@pytest.mark.parametrize(("thing", "name"), [
    (PoshReward("match"), "PoshReward(judge=match, mode=default)"),
    (LaveReward(VLLM, mode="published"), f"LaveReward(judge={VLLM}, mode=published)"),
    (HarmonicReward(CHAT, text_judge="match"), "HarmonicReward(judge=chat:gpt-4o, judge=match"),
    (overlap, "FunctionReward(overlap)"),
    (JuryJudge(MatchJudge(), load_judge(VLLM)), f"jury(match, {VLLM})"),
])  # fmt: skip
def test_rewards_and_judges_have_short_names(thing: Any, name: str) -> None:
    assert repr(thing).startswith(name)
