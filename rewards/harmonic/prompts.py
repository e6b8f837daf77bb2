"""Loads HarmonicEval's prompts, in our own wording (prompts.yaml), and criteria of your own, and
builds the questions.

    prompts = load_prompts()
    shown = show(sample, "ic", prompts.tasks["ic"], "picture")
    # what correctness and completeness see
    ask_rating(prompts.layout, criterion, shown, text)
    # a Question, or with sentence=(0, 14) on one sentence
    chosen_criteria(prompts, None)                              # the paper's five
    chosen_criteria(prompts, ["correctness", "safety.yaml"])  # one of them, and those of your file

A criteria file has a question and a text for each of the levels 1 to 5, per criterion
(docs/metrics.md). A completion that itself contains `{noun}` stays plain text. Criteria without
`sees` get the text alone: no picture, context or question (appendix C.4). Stars replace the
layout's lines wherever the text spells them, so a text cannot end itself early.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, StringConstraints

from spanreward.rewards.base.checks import unknown
from spanreward.rewards.base.verdict import NotApplicable, Sample
from spanreward.rewards.files.templates import Wording, fill, read_as, takes
from spanreward.rewards.files.yaml_file import read_yaml_file
from spanreward.rewards.harmonic.scores import LEVELS
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.judges.probe import CriterionProbe
from spanreward.rewards.reward.rows import Evidence, seen
from spanreward.rewards.text.quoting import Mark, fill_masked, marks_in, mask

HARMONIC_PROMPTS_FILE = Path(__file__).with_name("prompts.yaml")
# HarmonicEval, table 1
PUBLISHED_CRITERIA = ("correctness", "completeness", "clarity", "fluency", "conciseness")
TASK_WORDS = ("aim", "matters", "noun", "subject")  # placeholders that all texts may have
LEVEL_NAMES = tuple(map(str, LEVELS))
Words = Annotated[str, takes(set(), free={*TASK_WORDS})]
PromptPart = Literal["instructions", "evidence", "text", "criterion", "ask"]


def in_order(texts: Any, names: Sequence[str]) -> dict[str, Any]:
    """Returns the texts of a file by these names. Raises ValueError for other names."""
    entries = {}
    if isinstance(texts, dict):
        entries = {str(name): text for name, text in texts.items()}
    if entries.keys() != {*names}:
        names_of_file = ", ".join(entries) or repr(texts)
        raise ValueError(f"a text is needed for each of {', '.join(names)}, got {names_of_file}")
    return {name: entries[name] for name in names}


def name_entries(criteria: Any) -> Any:
    """Returns a file's criteria, each with its name.

    Raises ValueError for a key `name`, which would be another.
    """
    if not isinstance(criteria, dict) or not criteria:
        return criteria
    named = {}
    for name, entry in criteria.items():
        named[name] = entry
        if isinstance(entry, dict):
            if "name" in entry:
                raise ValueError(
                    f"the criterion {name!r} has its name already: leave out the key name"
                )
            named[name] = {"name": name, **entry}
    return named


def whole(order: tuple[PromptPart, ...]) -> tuple[PromptPart, ...]:
    """Raises ValueError for an order with a piece twice, and for one without the text or the
    criterion.
    """
    if len({*order}) < len(order) or not {"text", "criterion"} <= {*order}:
        raise ValueError(
            "it lists text, criterion and others, each once, as they follow in the prompt, got "
            f"{order}"
        )
    return order


# What the texts of a task are called, their aim, their subject, and what a complete one says.
Task = Annotated[dict[str, str], BeforeValidator(partial(in_order, names=TASK_WORDS))]


class Criterion(Wording):
    """levels: the meaning of the ratings 1 to 5. sees, adds: see prompts.yaml."""

    name: str
    question: Annotated[Words, StringConstraints(pattern=r"\S")]
    levels: Annotated[
        tuple[Words, ...],
        BeforeValidator(lambda texts: tuple(in_order(texts, LEVEL_NAMES).values())),
    ]
    sees: bool = False
    adds: bool = False


class Layout(Wording):
    """The pieces of a prompt and their order, see prompts.yaml."""

    order: Annotated[tuple[PromptPart, ...], AfterValidator(whole)]
    instructions: Words
    picture: Words
    context: Annotated[str, takes({"context"}, free={*TASK_WORDS})]
    question: Annotated[str, takes({"question"}, free={*TASK_WORDS})]
    alone: Words
    begin: Words
    end: Words
    level: Annotated[str, takes({"level", "text"}, free={*TASK_WORDS})]
    scale: Annotated[str, takes({"question", "levels"}, free={*TASK_WORDS, "criterion"})]
    whole: Words
    sentence: Annotated[str, takes({"sentence"}, free={*TASK_WORDS})]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The lines that no text in a prompt may spell."""
        above = (self.instructions, self.picture, self.context, self.question, self.alone)
        return marks_in(*above, self.begin, self.end, self.whole, self.sentence)


Criteria = Annotated[dict[str, Criterion], BeforeValidator(name_entries)]


@dataclass(frozen=True, slots=True)
class HarmonicPrompts:
    """A file like prompts.yaml."""

    tasks: dict[str, Task]
    layout: Layout
    criteria: Criteria


@dataclass(frozen=True, slots=True)
class Shown:
    """What the judge sees beside a text: pictures or a context, and the task's question, "" without
    one.
    """

    task: Task
    images: tuple[Any, ...] = ()
    context: str = ""
    question: str = ""


def load_harmonic_prompts(path: str | Path | None = None) -> HarmonicPrompts:
    """Returns the prompts of a YAML file like prompts.yaml.

    Raises OSError, or ValueError for an invalid file.
    """
    path = HARMONIC_PROMPTS_FILE if path is None else Path(path)
    return read_as(HarmonicPrompts, read_yaml_file(path), path)


def chosen_criteria(
    prompts: HarmonicPrompts, chosen: str | Path | Sequence[str | Path] | None
) -> tuple[Criterion, ...]:
    """Returns the criteria of these names and YAML files (.yaml or .yml). None is the paper's five.

    Raises OSError, and ValueError for an unknown or repeated name, for no criterion, and for an
    invalid file.
    """
    entries: Sequence[str | Path]
    if chosen is None:
        entries = PUBLISHED_CRITERIA
    elif isinstance(chosen, (str, Path)):
        entries = [chosen]
    else:
        entries = chosen
    criteria: list[Criterion] = []
    for entry in entries:
        if Path(entry).suffix in (".yaml", ".yml"):
            of_file: dict[str, Criterion] = read_as(Criteria, read_yaml_file(Path(entry)), entry)
            criteria += of_file.values()
        elif entry in prompts.criteria:
            criteria.append(prompts.criteria[str(entry)])
        else:
            raise ValueError(
                f"{unknown('criterion', str(entry), prompts.criteria)} A file of your own ends in "
                ".yaml."
            )
    names = [criterion.name for criterion in criteria]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"criteria must be at least one, and of different names, got {names}.")
    return tuple(criteria)


def scale_of(criterion: Criterion, layout: Layout, task: Task) -> str:
    """Returns the criterion with its question and one line per level, in the task's words."""
    lines = []
    for level, text in zip(LEVEL_NAMES, criterion.levels, strict=True):
        in_words = fill(text, **task)
        lines.append(fill(layout.level, level=level, text=in_words, **task))
    return fill(
        layout.scale,
        criterion=criterion.name.capitalize(),
        question=fill(criterion.question, **task),
        levels="\n".join(lines),
        **task,
    )


def check_row(sample: Sample, name: str, evidence: Evidence) -> None:
    """Raises NotApplicable for a row that lacks what its task needs. name: the task's."""
    question = (sample.question or "").strip()
    if name in ("vqa", "vdu") and not question:
        raise NotApplicable(f"the task {name} needs a question, and this row has none")
    if name in ("ic", "reg") and question and sample.task is None:
        raise NotApplicable(
            f"this row has a question, and the task {name} has none: its own column task may say "
            f"{name}"
        )
    if name == "reg" and (evidence != "picture" or not sample.images or sample.bbox is None):
        raise NotApplicable("the task reg needs a picture and the bbox of the object in it")


def show(sample: Sample, name: str, task: Task, evidence: Evidence) -> Shown:
    """Returns what the criteria with `sees` get of a row that `check_row` lets pass (see `seen`).

    Raises NotApplicable for a row that lacks it.
    """
    box = sample.bbox if name == "reg" else None
    images, context = seen(sample, evidence, box)
    return Shown(task, images, context, (sample.question or "").strip())


def ask_rating(
    layout: Layout,
    criterion: Criterion,
    shown: Shown,
    text: str,
    sentence: tuple[int, int] | None = None,
) -> Question:
    """Returns the rating question about the text, or about the sentence at its characters [start,
    end).
    """
    marks = layout.marks
    sentence_text = ""
    asking = fill(layout.whole, **shown.task)
    if sentence:
        start, end = sentence
        sentence_text = text[start:end]
        line = " ".join(mask(sentence_text, marks).split())
        asking = fill(layout.sentence, sentence=line, **shown.task)
    parts = {
        "instructions": fill(layout.instructions, **shown.task),
        "evidence": _evidence(layout, criterion, shown),
        "criterion": scale_of(criterion, layout, shown.task),
        "ask": asking,
    }
    place = layout.order.index("text")
    above = [parts[name] for name in layout.order[:place] if parts[name]]
    below = [parts[name] for name in layout.order[place + 1 :] if parts[name]]
    before = "\n\n".join([*above, f"{layout.begin}\n" if layout.begin else ""])
    after = "\n\n".join([f"\n{layout.end}" if layout.end else "", *below])
    context = shown.context if criterion.sees else ""
    return Question(
        [{"role": "user", "content": before + mask(text, marks) + after}],
        images=shown.images if criterion.sees else (),
        probe=CriterionProbe(criterion.name, text, context, sentence_text),
        description=(len(before), len(before) + len(text)),
    )


def _evidence(layout: Layout, criterion: Criterion, shown: Shown) -> str:
    """Returns the part of the prompt on the picture, or the context, and the task's question."""
    words = shown.task
    if not criterion.sees:
        return fill(layout.alone, **words)
    if shown.context:
        evidence = fill_masked(layout.context, layout.marks, context=shown.context, **words)
    else:
        evidence = fill(layout.picture, **words)
    if not shown.question:
        return evidence
    question = fill_masked(layout.question, layout.marks, question=shown.question, **words)
    return f"{evidence}\n\n{question}" if evidence else question
