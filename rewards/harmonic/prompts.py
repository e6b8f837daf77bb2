"""Loads HarmonicEval's prompts, in our own wording (prompts.yaml), and criteria of your own, and
builds the questions.

    prompts = load_harmonic_prompts()
    evidence = show(sample, "ic", prompts.tasks["ic"], "picture")
    # what correctness and completeness see
    ask_rating(prompts.layout, criterion, evidence, text)
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
    """Returns the texts of a file, in the order of these names.

    texts: the file's mapping of names to texts. YAML reads the name `1` as a number, so all names
    become strings. Raises ValueError unless the file has exactly these names.
    """
    entries = {}
    if isinstance(texts, dict):
        entries = {str(name): text for name, text in texts.items()}
    if entries.keys() != set(names):
        needed = ", ".join(names)
        names_of_file = ", ".join(entries) or repr(texts)
        raise ValueError(f"a text is needed for each of {needed}, got {names_of_file}")
    return {name: entries[name] for name in names}


def name_entries(criteria: Any) -> Any:
    """Returns a file's criteria with the key `name` added to each.

    `{"clarity": {"question": ...}}` gives `{"clarity": {"name": "clarity", "question": ...}}`.
    Raises ValueError for a criterion that has a key `name` already, which could differ from the
    name it stands under.
    """
    # pydantic explains what is wrong with data of another type
    if not isinstance(criteria, dict) or not criteria:
        return criteria
    named = {}
    for name, entry in criteria.items():
        if not isinstance(entry, dict):
            named[name] = entry
            continue
        if "name" in entry:
            raise ValueError(f"the criterion {name!r} has its name already: leave out the key name")
        named[name] = {"name": name, **entry}
    return named


def whole(order: tuple[PromptPart, ...]) -> tuple[PromptPart, ...]:
    """Returns the order as it is. Raises ValueError if it has a part twice, or lacks the text or
    the criterion.
    """
    distinct = set(order)
    repeats_a_part = len(distinct) < len(order)
    if repeats_a_part or "text" not in distinct or "criterion" not in distinct:
        raise ValueError(
            "it lists text, criterion and others, each once, as they follow in the prompt, got "
            f"{order}"
        )
    return order


def _texts_of_levels(texts: Any) -> tuple[str, ...]:
    """Returns the texts of the levels 1 to 5, in this order. Raises ValueError as `in_order`."""
    return tuple(in_order(texts, LEVEL_NAMES).values())


# What the texts of a task are called, their aim, their subject, and what a complete one says.
Task = Annotated[dict[str, str], BeforeValidator(partial(in_order, names=TASK_WORDS))]


class Criterion(Wording):
    """A criterion of a file like prompts.yaml.

    Args:
        name: the criterion's name in logs and prompts, such as "fluency".
        question: what the judge is asked about the text.
        levels: the meaning of the ratings 1 to 5, in this order.
        sees: whether the judge gets the picture (or the context) and the question with the text.
        adds: whether the sentences of a text add up to its rating (see spans.py). Otherwise a text
            is as good as the average of its sentences.
    """

    name: str
    question: Annotated[Words, StringConstraints(pattern=r"\S")]
    levels: Annotated[tuple[Words, ...], BeforeValidator(_texts_of_levels)]
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
        """The lines that no text in a prompt may spell (see rewards/text/quoting.py)."""
        evidence = (self.picture, self.context, self.question, self.alone)
        around_the_text = (self.begin, self.end)
        asking = (self.whole, self.sentence)
        return marks_in(self.instructions, *evidence, *around_the_text, *asking)


Criteria = Annotated[dict[str, Criterion], BeforeValidator(name_entries)]


@dataclass(frozen=True, slots=True)
class HarmonicPrompts:
    """A file like prompts.yaml.

    Args:
        tasks: the words of each task, by its name ("ic", "reg", "vqa", "vdu").
        layout: the pieces of a prompt.
        criteria: the criteria, by name.
    """

    tasks: dict[str, Task]
    layout: Layout
    criteria: Criteria


@dataclass(frozen=True, slots=True)
class Shown:
    """What the judge sees beside a text.

    Args:
        task: the words of the text's task.
        images: the row's pictures, as PIL images. Empty if the judge reads a context.
        context: a text that says what is in the picture. "" if the judge sees pictures.
        question: the row's question. "" without one.
    """

    task: Task
    images: tuple[Any, ...] = ()
    context: str = ""
    question: str = ""


def load_harmonic_prompts(path: str | Path | None = None) -> HarmonicPrompts:
    """Returns the prompts of a YAML file like prompts.yaml. Without a path these are our own.

    Raises OSError, or ValueError for an invalid file.
    """
    if path is None:
        path = HARMONIC_PROMPTS_FILE
    path = Path(path)
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
        # Only the ending tells a file from a name: a file called `fluency` hides no criterion.
        if Path(entry).suffix in (".yaml", ".yml"):
            data = read_yaml_file(Path(entry))
            of_file: dict[str, Criterion] = read_as(Criteria, data, entry)
            criteria.extend(of_file.values())
        elif entry in prompts.criteria:
            criteria.append(prompts.criteria[str(entry)])
        else:
            message = unknown("criterion", str(entry), prompts.criteria)
            raise ValueError(f"{message} A file of your own ends in .yaml.")
    names = [criterion.name for criterion in criteria]
    # the parts of a verdict are keyed by these names
    if not names or len(set(names)) < len(names):
        raise ValueError(f"criteria must be at least one, and of different names, got {names}.")
    return tuple(criteria)


def scale_of(criterion: Criterion, layout: Layout, task: Task) -> str:
    """Returns the criterion with its question and one line per level, in the task's words.

    A level's line is "5 = right in everything, ..." in our prompts.
    """
    lines = []
    for level, text in zip(LEVEL_NAMES, criterion.levels, strict=True):
        meaning = fill(text, **task)
        line = fill(layout.level, level=level, text=meaning, **task)
        lines.append(line)
    # `fill` does not look into values, so texts with {noun} are filled before they go into others
    question = fill(criterion.question, **task)
    levels = "\n".join(lines)
    name = criterion.name.capitalize()
    return fill(layout.scale, criterion=name, question=question, levels=levels, **task)


def check_row(sample: Sample, name: str, evidence: Evidence) -> None:
    """Raises NotApplicable for a row that lacks what its task needs. name: the task's."""
    question = (sample.question or "").strip()
    if name in ("vqa", "vdu") and not question:
        raise NotApplicable(f"the task {name} needs a question, and this row has none")
    # A row with a question is likely an answer, which would be rated as a caption by mistake. The
    # column `task` shows that the caption is meant.
    if name in ("ic", "reg") and question and sample.task is None:
        raise NotApplicable(
            f"this row has a question, and the task {name} has none: its own column task may say "
            f"{name}"
        )
    if name == "reg":
        # the object is shown by a red box on the picture, and a context cannot show it
        sees_object = evidence == "picture" and sample.images and sample.bbox is not None
        if not sees_object:
            raise NotApplicable("the task reg needs a picture and the bbox of the object in it")


def show(sample: Sample, name: str, task: Task, evidence: Evidence) -> Shown:
    """Returns what the criteria with `sees` get of a row that `check_row` lets pass (see `seen`).

    Raises NotApplicable for a row that lacks it.
    """
    # in the other tasks a box would point at something that the text need not be about
    box = sample.bbox if name == "reg" else None
    images, context = seen(sample, evidence, box)
    question = (sample.question or "").strip()
    return Shown(task, images, context, question)


def ask_rating(
    layout: Layout,
    criterion: Criterion,
    evidence: Shown,
    text: str,
    sentence: tuple[int, int] | None = None,
) -> Question:
    """Returns the rating question about the text, or about the sentence at its characters [start,
    end).

    evidence: what a criterion that sees gets beside the text; the others get its task's words. The
    text may be cut at its end.
    """
    marks = layout.marks
    words = evidence.task
    # what is asked: about the whole text, or about one sentence, which is repeated in one line
    sentence_text = ""
    asking = fill(layout.whole, **words)
    if sentence:
        start, end = sentence
        sentence_text = text[start:end]
        line = " ".join(mask(sentence_text, marks).split())
        asking = fill(layout.sentence, sentence=line, **words)
    parts = {
        "instructions": fill(layout.instructions, **words),
        "evidence": _evidence_part(layout, criterion, evidence),
        "criterion": scale_of(criterion, layout, words),
        "ask": asking,
    }
    before, after = _around_the_text(layout, parts)
    images = evidence.images if criterion.sees else ()
    context = evidence.context if criterion.sees else ""
    content = before + mask(text, marks) + after
    # the mask keeps the text's length, so the text ends where it would without stars
    text_end = len(before) + len(text)
    return Question(
        [{"role": "user", "content": content}],
        images=images,
        probe=CriterionProbe(criterion.name, text, context, sentence_text),
        description=(len(before), text_end),
    )


def _around_the_text(layout: Layout, parts: dict[str, str]) -> tuple[str, str]:
    """Returns the prompt before the text and after it, with the lines that begin and end the text.

    parts: the filled part of each name in the layout's order but the text. Empty ones leave no gap.
    """
    place = layout.order.index("text")
    names_above = layout.order[:place]
    names_below = layout.order[place + 1 :]
    above = [parts[name] for name in names_above if parts[name]]
    below = [parts[name] for name in names_below if parts[name]]
    # Without such a line the empty string still sets the text off by a blank line.
    begin = ""
    if layout.begin:
        begin = f"{layout.begin}\n"
    end = ""
    if layout.end:
        end = f"\n{layout.end}"
    before = "\n\n".join([*above, begin])
    after = "\n\n".join([end, *below])
    return before, after


def _evidence_part(layout: Layout, criterion: Criterion, evidence: Shown) -> str:
    """Returns the part of the prompt on the picture, or the context, and the task's question.

    It may be "" with a prompts file of your own, in which `picture` is empty.
    """
    words = evidence.task
    marks = layout.marks
    if not criterion.sees:
        return fill(layout.alone, **words)
    # rows write the context and the question, so these are masked
    if evidence.context:
        part = fill_masked(layout.context, marks, context=evidence.context, **words)
    else:
        part = fill(layout.picture, **words)
    if not evidence.question:
        return part
    question = fill_masked(layout.question, marks, question=evidence.question, **words)
    if not part:
        return question
    return f"{part}\n\n{question}"
