"""The question that a judge answers from a text alone: ReadProbe("What color is the star?", "A red
star.").
"""

from dataclasses import dataclass

UNANSWERABLE = "unanswerable"


@dataclass(frozen=True, slots=True)
class ReadProbe:
    """What does `text` alone answer to `question`? Write a few words, or UNANSWERABLE."""

    question: str
    text: str
