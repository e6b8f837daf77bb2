"""What hides words in a text goes before it is read, and spans stay on the text as given."""

import pytest

from spanreward.rewards.judges.match.rate_answer import rate_answer
from spanreward.rewards.judges.probe import AnswerProbe
from spanreward.rewards.language.parse import scene_graphs
from spanreward.rewards.text.plain_text import plain_text

HIDDEN = [
    "n\u00ado", "n\u200bo", "\uff4e\uff4f", "n\u043e", "n\u00f3", "n\u034fo", "n\0o",
    "\U0001d427\U0001d428",
]  # fmt: skip


@pytest.mark.parametrize("text", HIDDEN)
def test_one_word_however_it_is_spelled(text: str) -> None:
    plain, origin = plain_text(text)
    assert plain == "no"
    assert text[origin[0]] == text[0]
    (graph,) = scene_graphs([f"A square. There is {text} red circle."])
    assert [entity.head for entity in graph.entities] == ["square"]
    assert rate_answer(AnswerProbe("What color?", f"It is {text}t red", ("red",)))[0] == 1


@pytest.mark.parametrize(
    "text", ["A circle.", "Ein gro\u00dfer Kreis", "\u4e2d\u6587", "\U0001f600", " a\nb\t"]
)
def test_other_letters_stay(text: str) -> None:
    assert plain_text(text)[0] == text


def test_spans_lie_on_the_text_as_given() -> None:
    text = "  A gr\u200been star. A \ufb01ne dog. There is n\u00ado red circle."
    (graph,) = scene_graphs([text])
    star, dog = graph.entities
    assert [text[start:end] for start, end in star.text_spans + dog.text_spans] == ["star", "dog"]
    assert [text[start:end] for start, end in star.attribute_text_spans["green"]] == ["gr\u200been"]
    assert [text[start:end] for start, end in dog.attribute_text_spans["fine"]] == ["\ufb01ne"]
    assert {text[start:end] for start, end in graph.unasserted} == {"red", "circle"}


def test_published_mode_reads_the_text_as_it_is() -> None:
    (graph,) = scene_graphs(["There is n\u00ado red circle."], mode="published")
    assert "circle" in [entity.head for entity in graph.entities]
