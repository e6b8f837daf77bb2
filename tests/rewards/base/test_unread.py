"""What was not read: counted by kind, and shown where it stands."""

import re

from spanreward.rewards import Span, Verdict
from spanreward.rewards.base.unread import NotRead, not_read
from spanreward.rewards.base.verdict import Unread
from spanreward.rewards.base.verdict_html import text_segments

TEXT = "A <b>red</b> hat & a dog."
UNREAD = (Unread(2, 5, "HTML"), Unread(8, 12, "HTML"))


def test_kinds_are_counted_the_most_first() -> None:
    other = (Unread(0, 1200, "reasoning"),)
    found = not_read([(TEXT, UNREAD), ("x" * 1300, other), ("A dog.", ())])
    assert found == NotRead(1331, {"reasoning": 1200, "HTML": 7})
    assert str(found) == "1,207 of 1,331 characters: reasoning 1,200, HTML 7"
    assert found.share == 1207 / 1331
    assert str(not_read([])) == "0 of 0 characters"
    assert not_read([]).share == 0


def test_a_text_is_cut_where_reading_stops() -> None:
    spans = (Span(0, 16, 0.2, 0.0, "entity", "no hat", 0),)
    cut = text_segments(TEXT, spans, UNREAD)
    texts = "A |<b>|red|</b>| hat| & a dog."
    assert "|".join(piece.text for piece in cut) == texts
    assert [piece.unread for piece in cut] == ["", "HTML", "", "HTML", "", ""]
    assert [piece.score for piece in cut] == [0.2] * 5 + [None]
    many = tuple(Unread(2 * n, 2 * n + 1, "Markdown") for n in range(20_000))
    assert len(text_segments("*a" * 20_000, (), many)) == 40_000


def test_a_notebook_strikes_it_out_and_hides_nothing() -> None:
    page = Verdict(0.5, unread=UNREAD).html(TEXT)
    struck = '<s class="unread" title="not read: HTML">&lt;b&gt;</s>'
    assert struck in page
    assert ".spanreward .unread {" in page
    (shown,) = re.findall(r'<p class="text"[^>]*>(.*?)</p>', page)
    assert re.sub(r"<[^>]*>", "", shown) == "A &lt;b&gt;red&lt;/b&gt; hat &amp; a dog."
    hostile = Verdict(0.5, unread=(Unread(0, 1, "<script>"),)).html("x")
    assert "<script>" not in hostile
