"""What a judge is asked about a text, or two in the order in which they are shown.

shown = show(sample, "picture")                       # what the texts are judged by, or why nothing
ask(prompts, shown, "first text", "second text")      # a Question, to be answered with A, B or C
ask_score(prompts, shown, "a text")                   # a Question, to be answered with 1 to 5
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from rewards.judges.judge import Question
from rewards.judges.probe import PairProbe, QualityProbe
from rewards.naming import unknown
from rewards.pictures import PictureError, opened
from rewards.templates import fill, placeholders, places
from rewards.verdict import Sample
from rewards.yaml_file import read_yaml_file

DEFAULT = Path(__file__).with_name("prompts.yaml")
Evidence = Literal["picture", "context"]


@dataclass(frozen=True, slots=True)
class PairPrompts:
    """The pieces of a question about a text, a pair or a group, see prompts.yaml."""

    instructions: str
    picture: str
    unseen: str
    context: str
    request: str
    texts: str
    answer: str
    score: str
    text: str
    rating: str
    batch: str
    numbered: str
    ranking: str
    analyse: str
    analysis: str


_NEEDED = {
    "context": {"context"},
    "request": {"request"},
    "texts": {"first", "second"},
    "text": {"text"},
    "numbered": {"number", "text"},
    "analysis": {"analysis"},
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What texts are judged by: pictures, else a context that stands for them, else nothing; and what was asked for."""

    request: str
    images: tuple[Any, ...] = ()
    context: str = ""


def load_prompts(path: str | Path | None = None) -> PairPrompts:
    """The prompts in a YAML file of the form of prompts.yaml. Raises OSError, or ValueError for what is not of it."""
    path = DEFAULT if path is None else Path(path)
    data = read_yaml_file(path)
    names = [field.name for field in fields(PairPrompts)]
    if not isinstance(data, dict):
        raise ValueError(f"{path} must hold the texts {', '.join(names)}, and holds {type(data).__name__}.")
    for name in data:
        if name not in names:
            raise ValueError(f"{path}: {unknown('text', str(name), names)}")
    for name in names:
        text, needed = data.get(name), _NEEDED.get(name, set())
        if not isinstance(text, str):
            raise ValueError(f"{path} lacks the text {name!r}: copy {DEFAULT} and change what you like.")
        if placeholders(text) != needed:
            wanted = " and ".join(f"{{{entry}}}" for entry in sorted(needed)) or "no placeholder"
            raise ValueError(f"{path}: {name} takes {wanted}, got {', '.join(sorted(placeholders(text))) or 'none'}.")
    return PairPrompts(**data)


def show(sample: Sample, evidence: Evidence) -> Shown | str:
    """What the row's texts are judged by, or one sentence on what it lacks. A context may stand in for a picture."""
    request = (sample.question or sample.prompt).strip()
    context = (sample.context or "").strip()
    if context and (evidence == "context" or not sample.images):
        return Shown(request, context=context)
    if evidence == "context":
        return "this row has no context, a text that says what is in the picture"
    if not sample.images:
        return "this row has no picture, and no context in its place"
    try:
        return Shown(request, images=tuple(opened(image) for image in sample.images))
    except PictureError as error:
        return str(error)


def head(instructions: str, prompts: PairPrompts, shown: Shown) -> str:
    """How a question begins: what to do, what it is judged by, and what was asked for."""
    seen = prompts.picture if shown.images else prompts.unseen
    pieces = [instructions, fill(prompts.context, context=shown.context) if shown.context else seen]
    pieces += [fill(prompts.request, request=shown.request)] if shown.request else []
    return "\n\n".join(pieces) + "\n\n"


def ask(
    prompts: PairPrompts, shown: Shown, first: str, second: str, criteria: tuple[str, ...] = (), more: str = ""
) -> Question:
    """The question about two texts. more: what stands between the texts and how to answer, such as the criteria.

    Of a chat that is too long for the judge the end of the longer text may be left out.
    """
    before = head(prompts.instructions, prompts, shown)
    texts = fill(prompts.texts, first=first, second=second)
    start, end = places(prompts.texts, first=first, second=second)["first" if len(first) >= len(second) else "second"]
    after = "\n\n".join(["", *([more] if more else []), prompts.answer])
    return Question(
        [{"role": "user", "content": before + texts + after}],
        images=shown.images,
        probe=PairProbe(shown.request, first, second, shown.context, criteria),
        description=(len(before) + start, len(before) + end),
    )


def ask_score(prompts: PairPrompts, shown: Shown, text: str) -> Question:
    """How well a text serves the request, to be rated from 1 to 5."""
    before = head(prompts.score, prompts, shown)
    start, end = places(prompts.text, text=text)["text"]
    return Question(
        [{"role": "user", "content": f"{before}{fill(prompts.text, text=text)}\n\n{prompts.rating}"}],
        images=shown.images,
        probe=QualityProbe(shown.request, text, shown.context),
        description=(len(before) + start, len(before) + end),
    )
