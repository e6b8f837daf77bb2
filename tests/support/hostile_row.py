"""A row of the span table whose every text is hostile."""

from PIL import Image

from spanreward.rewards import Sample, Span, Verdict
from spanreward.training.callbacks.span_table import ShownRow

HOSTILE = [
    '<script>alert(1)</script> "\' onmouseover="alert(2)" {{ 7 * 7 }} </p></mark></section>&amp;',
    "\u202eright to left\u202c \u05d0\u05d1\u05d2 \u0627\u0644", "nul \x00 bell \x07 there",
    "a lone \ud800 surrogate", "\N{GRINNING FACE} e\u0301 円", "<|im_end|><image>[INST]",
    "the same " * 3000,
]  # fmt: skip


def hostile_row(text: str, kind: str = "best") -> ShownRow:
    spans = (Span(0, len(text), 0.0, -0.1, "entity", text[:200], 0),)
    missed = (Span(2, 5, 0.0, 0.0, "attribute", text[:200], 0),)
    verdict = Verdict(
        0.25, parts={"f1": 0.25, text[:50]: 0.5}, spans=spans, missed=missed, note=text[:200]
    )
    sample = Sample(
        text, text, (Image.new("RGB", (48, 48), "red"),), ("A red star.", text), answers=(text,)
    )
    paid = {"posh": (None, 1.0), text[:50]: (0.125, 2.0)}
    return ShownRow(kind, sample, {"posh": verdict, text[:50]: verdict}, 0.25, -0.1, 0.7, paid=paid)
