"""What the judge is asked about one text: a criterion of the whole, of one sentence in its place, or the reason why.

    shown = show(sample, task, "picture")              # what correctness and completeness are judged by, or why nothing
    ask(prompts.layout, criterion, shown, text)        # a Question
    ask(prompts.layout, criterion, shown, text, sentence=(0, 14))

Criteria that do not see are asked about the text alone: no picture, no context, no question (appendix C.4). A text that
spells the layout's `end` has stars there, so that it does not end where its writer likes, and a sentence is one line.
"""

from dataclasses import dataclass
from typing import Any, Literal

from rewards.harmonic.prompts import Criterion, Layout, Task, scale_of
from rewards.judges import probe
from rewards.judges.judge import Question
from rewards.pictures import PictureError, opened, with_box
from rewards.quoting import masked
from rewards.templates import fill
from rewards.verdict import Sample

Evidence = Literal["picture", "context"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a text is judged by: pictures, else a context that stands for them; the task's question, "" without one."""

    task: Task
    images: tuple[Any, ...] = ()
    context: str = ""
    question: str = ""


def show(sample: Sample, name: str, task: Task, evidence: Evidence) -> Shown | str:
    """What the criteria that see are given, or one sentence on what this row lacks or has wrong.

    The picture where evidence is "picture" and there is one, else the context. REG needs the picture, with its box.
    """
    question = (sample.question or "").strip()
    if name in ("vqa", "vdu") and not question:
        return f"the task {name} needs a question, and this row has none"
    if name in ("ic", "reg") and question and sample.task is None:
        return f"this row has a question, and the task {name} has none: its own column task may say {name}"
    context = (sample.context or "").strip()
    if name == "reg":
        if evidence != "picture" or not sample.images or sample.bbox is None:
            return "the task reg needs a picture and the bbox of the object in it"
    elif (evidence == "context" or not sample.images) and context:
        return Shown(task, context=context, question=question)
    if evidence == "context":
        return "this row has no context, a text that says what is in the picture"
    if not sample.images:
        return "this row has no picture, and no context in its place"
    try:
        images = tuple(opened(image) for image in sample.images)
        if name == "reg" and sample.bbox is not None:
            images = (with_box(images[0], sample.bbox), *images[1:])
    except PictureError as error:
        return str(error)
    return Shown(task, images=images, question=question)


def ask(
    layout: Layout, criterion: Criterion, shown: Shown, text: str, sentence: tuple[int, int] | None = None
) -> Question:
    """The rating question about the text, or about its characters [start, end)."""
    said = None if sentence is None else text[slice(*sentence)]
    words = shown.task.words
    line = " ".join(masked(said or "", layout.end).split())
    last = fill(layout.whole, **words) if said is None else fill(layout.sentence, sentence=line, **words)
    return _question(layout, criterion, shown, text, last, said or "")


def ask_why(layout: Layout, criterion: Criterion, shown: Shown, text: str, rating: float) -> Question:
    """The question for the reason of a rating."""
    return _question(layout, criterion, shown, text, fill(layout.why, rating=f"{rating:.1f}", **shown.task.words), "")


def _question(layout: Layout, criterion: Criterion, shown: Shown, text: str, last: str, sentence: str) -> Question:
    words = shown.task.words
    parts = {
        "instructions": fill(layout.instructions, **words),
        "evidence": _evidence(layout, criterion, shown),
        "criterion": scale_of(criterion, layout, shown.task),
        "ask": last,
    }
    place = layout.order.index("text")
    above = [parts[name] for name in layout.order[:place] if parts[name]]
    below = [parts[name] for name in layout.order[place + 1 :] if parts[name]]
    before = "\n\n".join([*above, f"{layout.begin}\n" if layout.begin else ""])
    after = "\n\n".join([f"\n{layout.end}" if layout.end else "", *below])
    return Question(
        [{"role": "user", "content": before + masked(text, layout.end) + after}],
        images=shown.images if criterion.sees else (),
        probe=probe.CriterionProbe(criterion.name, text, shown.context if criterion.sees else "", sentence),
        description=(len(before), len(before) + len(text)),
    )


def _evidence(layout: Layout, criterion: Criterion, shown: Shown) -> str:
    """What the criterion is judged by, in words: the picture or the context and the task's question, or nothing."""
    words = shown.task.words
    if not criterion.sees:
        return fill(layout.alone, **words)
    seen = fill(layout.context, context=shown.context, **words) if shown.context else fill(layout.picture, **words)
    asked = fill(layout.question, question=shown.question, **words) if shown.question else ""
    return "\n\n".join(piece for piece in (seen, asked) if piece)
