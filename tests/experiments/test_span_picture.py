"""The SVG of a text with its spans coloured."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from hypothesis import example, given, strategies as st

from experiments import credit_picture
from experiments.readme_picture import draw
from experiments.span_picture import cells, layout, span_picture
from spanreward.rewards.base.verdict_html import COLOURS_OF_VALUES
from tests.support.invented_report import span
from tests.support.paths import ROOT

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(texts, st.integers(2, 20))
@example("aaa\xadb", 3)  # a soft hyphen has no width, and may stand behind the last column
def test_layout_places_every_character_inside_the_lines(text: str, columns: Any) -> None:
    places = layout(text, columns)
    assert len(places) == len(text)
    assert places == sorted(places)
    assert all(
        column + cells(c) <= columns
        for (_, column), c in zip(places, text, strict=True)
        if not c.isspace()
    )


def test_span_picture_is_xml_and_holds_the_text(tmp_path: Path) -> None:
    text = 'A <red> "circle" & a 円 \x00, beside a blue square.\nAnd more.'
    spans = [span(text, "<red>", 0.0), span(text, "blue square", 1.0)]
    span_picture(tmp_path / "p.svg", text, spans, ("A & B", [span("A & B", "B", 0.0)]), columns=24)
    root = ElementTree.parse(tmp_path / "p.svg").getroot()
    drawn = "".join(element.text for element in root.iter("{http://www.w3.org/2000/svg}text"))
    shown = text.replace("\n", "").replace("\x00", "\ufffd").replace(" ", "")
    assert shown in drawn.replace(" ", "")
    fills = {rect.get("fill") for rect in root.iter("{http://www.w3.org/2000/svg}rect")}
    assert {COLOURS_OF_VALUES[0].fill, COLOURS_OF_VALUES[4].fill} <= fills


def test_the_picture_of_the_readme_is_what_posh_says(tmp_path: Path) -> None:
    draw(tmp_path / "spans.svg")
    assert (tmp_path / "spans.svg").read_text() == (ROOT / "docs/spans.svg").read_text()


def test_the_picture_of_the_way_to_span_coef_is_what_the_trainer_computes(tmp_path: Path) -> None:
    credit_picture.draw(tmp_path / "span_coef.svg")
    assert (tmp_path / "span_coef.svg").read_text() == (ROOT / "docs/span_coef.svg").read_text()
    assert "their mean is +0.90" in (tmp_path / "span_coef.svg").read_text()
