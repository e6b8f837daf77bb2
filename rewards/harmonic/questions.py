"""Builds the questions about a text: a criterion of the whole text or of one sentence.

    shown = show(sample, "ic", task, "picture")        # what correctness and completeness see
    ask(prompts.layout, criterion, shown, text)        # a Question
    ask(prompts.layout, criterion, shown, text, sentence=(0, 14))

Criteria without `sees` get the text alone: no picture, context or question (appendix C.4). Stars replace the layout's
`end` wherever the text spells it, so a text cannot end itself early.
"""

from dataclasses import dataclass
from typing import Any

from spanreward.rewards.base.verdict import NotApplicable, Sample
from spanreward.rewards.files.pictures import with_box
from spanreward.rewards.files.templates import fill
from spanreward.rewards.harmonic.prompts import Criterion, Layout, Task, scale_of
from spanreward.rewards.judges import probe
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.reward.evidence import Evidence, seen
from spanreward.rewards.text.quoting import masked


@dataclass(frozen=True, slots=True)
class Shown:
    """What the judge sees beside a text: pictures or a context, and the task's question, "" without one."""

    task: Task
    images: tuple[Any, ...] = ()
    context: str = ""
    question: str = ""


def show(sample: Sample, name: str, task: Task, evidence: Evidence) -> Shown:
    """Returns what the criteria with `sees` get (see `seen`). Raises NotApplicable for a row that lacks it."""
    question = (sample.question or "").strip()
    if name in ("vqa", "vdu") and not question:
        raise NotApplicable(f"the task {name} needs a question, and this row has none")
    if name in ("ic", "reg") and question and sample.task is None:
        raise NotApplicable(
            f"this row has a question, and the task {name} has none: its own column task may say {name}"
        )
    if name == "reg" and (evidence != "picture" or not sample.images or sample.bbox is None):
        raise NotApplicable("the task reg needs a picture and the bbox of the object in it")
    images, context = seen(sample, evidence)
    if name == "reg" and sample.bbox is not None:
        images = (with_box(images[0], sample.bbox), *images[1:])
    return Shown(task, images, context, question)


def ask(
    layout: Layout, criterion: Criterion, shown: Shown, text: str, sentence: tuple[int, int] | None = None
) -> Question:
    """Returns the rating question about the text, or about the sentence at its characters [start, end)."""
    said = "" if sentence is None else text[slice(*sentence)]
    line = " ".join(masked(said, layout.end).split())
    parts = {
        "instructions": fill(layout.instructions, **shown.task),
        "evidence": _evidence(layout, criterion, shown),
        "criterion": scale_of(criterion, layout, shown.task),
        "ask": fill(layout.sentence, sentence=line, **shown.task) if sentence else fill(layout.whole, **shown.task),
    }
    place = layout.order.index("text")
    above = [parts[name] for name in layout.order[:place] if parts[name]]
    below = [parts[name] for name in layout.order[place + 1 :] if parts[name]]
    before = "\n\n".join([*above, f"{layout.begin}\n" if layout.begin else ""])
    after = "\n\n".join([f"\n{layout.end}" if layout.end else "", *below])
    return Question(
        [{"role": "user", "content": before + masked(text, layout.end) + after}],
        images=shown.images if criterion.sees else (),
        probe=probe.CriterionProbe(criterion.name, text, shown.context if criterion.sees else "", said),
        description=(len(before), len(before) + len(text)),
    )


def _evidence(layout: Layout, criterion: Criterion, shown: Shown) -> str:
    """Returns the part of the prompt on the picture, or the context, and the task's question."""
    words = shown.task
    if not criterion.sees:
        return fill(layout.alone, **words)
    seen = fill(layout.context, context=shown.context, **words) if shown.context else fill(layout.picture, **words)
    asked = fill(layout.question, question=shown.question, **words) if shown.question else ""
    return "\n\n".join(piece for piece in (seen, asked) if piece)
