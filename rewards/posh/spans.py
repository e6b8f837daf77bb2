"""From rated components to spans of characters: one per mention, all mentions of a component under its number."""

from collections.abc import Sequence

from rewards.language.scene_graph import CharacterSpan
from rewards.posh.components import RatedComponent
from rewards.posh.scores import span_score
from rewards.verdict import Span


def spans_of(components: Sequence[RatedComponent], credits: Sequence[float], text: str) -> tuple[Span, ...]:
    """The spans on `text`, components in order, each one's mentions from left to right."""
    return tuple(
        Span(
            start,
            end,
            score=span_score(component.rating),
            credit=credit,
            kind=component.kind,
            note=f"{component.identifier}: {component.rating:.1f} of 5. {component.question}",
            component=number,
            asked=component.asked,
        )
        for number, (component, credit) in enumerate(zip(components, credits, strict=True))
        for start, end in mentions(component.spans, text)
    )


def mentions(tokens: Sequence[CharacterSpan], text: str) -> list[CharacterSpan]:
    """Sorted, distinct tokens joined wherever nothing but white space lies between them."""
    joined: list[CharacterSpan] = []
    for start, end in sorted(set(tokens)):
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
