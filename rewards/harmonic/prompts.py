"""Loads HarmonicEval's prompts (prompts.yaml, in our own wording) and users' criteria, and builds
the questions to the judge.

    prompts = load_harmonic_prompts()
    # the picture or context, for criteria that see it
    evidence = shown_parts(sample, "ic", prompts.tasks["ic"], "picture")
    # a Question about the text; with sentence=(0, 14), a Question about one sentence
    ask_rating(prompts.layout, criterion, evidence, text)
    chosen_criteria(prompts, None)                            # the paper's five criteria
    chosen_criteria(prompts, ["correctness", "safety.yaml"])  # one of ours, and those of a file

A criteria file has, for each criterion, a question and a text for each of the levels 1 to 5
(docs/metrics.md). A criterion without `sees` gets the text alone: no picture, context or question
(appendix C.4).

A `{noun}` within a completion is no placeholder and is not filled. Stars replace the layout's lines
within a completion, so that a completion cannot end its own part of the prompt early.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, StringConstraints

from spanreward.rewards.base.checks import unknown_name_message
from spanreward.rewards.base.verdict import NotApplicable, Sample
from spanreward.rewards.files.templates import (
    Wording,
    fill_template,
    placeholder_validator,
    read_as,
)
from spanreward.rewards.files.yaml_file import read_yaml_file
from spanreward.rewards.harmonic.scores import RATING_LEVELS
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.judges.probe import CriterionProbe
from spanreward.rewards.reward.rows import Evidence, evidence_of_sample
from spanreward.rewards.text.quoting import Mark, fill_masked, marks_in, mask_marks

HARMONIC_PROMPTS_FILE = Path(__file__).with_name("prompts.yaml")
# HarmonicEval, table 1
PUBLISHED_CRITERIA = ("correctness", "completeness", "clarity", "fluency", "conciseness")
TASK_WORDS = ("aim", "matters", "noun", "subject")  # placeholders that every prompt text may have
LEVEL_NAMES = tuple(map(str, RATING_LEVELS))
Words = Annotated[str, placeholder_validator(set(), free={*TASK_WORDS})]
PromptPart = Literal["instructions", "evidence", "text", "criterion", "ask"]


def in_order(texts: Any, names: Sequence[str]) -> dict[str, Any]:
    """Returns the texts of a file as a dict in the order of `names`.

    texts: the file's mapping of names to texts. YAML reads a name such as `1` as a number, so all
    names become strings: {2: "b", 1: "a"} gives {"1": "a", "2": "b"} for the names "1" and "2".
    Raises ValueError unless the file has exactly these names.
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
    Raises ValueError for a criterion that already has a key `name`: the two names could differ.
    """
    # data of another type are returned unchanged: pydantic will explain the fault
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


def check_order(order: tuple[PromptPart, ...]) -> tuple[PromptPart, ...]:
    """Returns a layout's order of the prompt's parts unchanged: ("instructions", "text",
    "criterion").

    Raises ValueError for an order with a repeated part, without "text" or without "criterion". The
    error is shown behind the name of the faulty key: "layout.order: it lists ..."
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
    """Returns the texts of the levels 1 to 5, in this order.

    Raises ValueError unless each level, and nothing else, has a text.
    """
    return tuple(in_order(texts, LEVEL_NAMES).values())


# The words of a task: what its texts are called (noun), their aim, their subject, and the content
# of a complete text (matters). prompts.yaml has examples.
Task = Annotated[dict[str, str], BeforeValidator(partial(in_order, names=TASK_WORDS))]


class Criterion(Wording):
    """A criterion of a file like prompts.yaml.

    Args:
        name: the criterion's name in logs and prompts, such as "fluency".
        question: the question to the judge about the text.
        levels: the meaning of the ratings 1 to 5, in this order.
        sees: whether the judge gets the picture (or the context) and the question with the text.
        adds: whether the sentences of a text add up to the text's rating, as in completeness (see
            spans.py). Otherwise a text is as good as the average of its sentences.
    """

    name: str
    question: Annotated[Words, StringConstraints(pattern=r"\S")]
    levels: Annotated[tuple[Words, ...], BeforeValidator(_texts_of_levels)]
    sees: bool = False
    adds: bool = False


class Layout(Wording):
    """The pieces of a prompt and their order. prompts.yaml explains each piece."""

    order: Annotated[tuple[PromptPart, ...], AfterValidator(check_order)]
    instructions: Words
    picture: Words
    context: Annotated[str, placeholder_validator({"context"}, free={*TASK_WORDS})]
    question: Annotated[str, placeholder_validator({"question"}, free={*TASK_WORDS})]
    alone: Words
    begin: Words
    end: Words
    level: Annotated[str, placeholder_validator({"level", "text"}, free={*TASK_WORDS})]
    scale: Annotated[
        str, placeholder_validator({"question", "levels"}, free={*TASK_WORDS, "criterion"})
    ]
    whole: Words
    sentence: Annotated[str, placeholder_validator({"sentence"}, free={*TASK_WORDS})]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The layout's lines, such as "END OF TEXT", that stars replace within a row's texts.

        Otherwise a completion could end its own part of the prompt (see rewards/text/quoting.py).
        """
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
    """The parts of a row that the judge sees beside a text.

    Args:
        task: the words of the text's task.
        images: the row's pictures, as PIL images. Empty if the judge reads a context.
        context: a text that describes the picture. "" if the judge sees pictures.
        question: the row's question. "" without one.
    """

    task: Task
    images: tuple[Any, ...] = ()
    context: str = ""
    question: str = ""


def load_harmonic_prompts(path: str | Path | None = None) -> HarmonicPrompts:
    """Returns the prompts of a YAML file like prompts.yaml. Without a path, prompts.yaml is read.

    Raises OSError, or ValueError for an invalid file.
    """
    if path is None:
        path = HARMONIC_PROMPTS_FILE
    path = Path(path)
    return read_as(HarmonicPrompts, read_yaml_file(path), path)


def chosen_criteria(
    prompts: HarmonicPrompts, chosen: str | Path | Sequence[str | Path] | None
) -> tuple[Criterion, ...]:
    """Returns the criteria of these names and YAML files.

    chosen: a name such as "fluency", the path of a file (.yaml or .yml), or a list of names and
    paths. None gives the paper's five criteria. Raises OSError, and ValueError for an unknown or
    repeated name, for an empty list, and for an invalid file.
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
        criteria += _criteria_of_entry(prompts, entry)
    names = [criterion.name for criterion in criteria]
    # names must differ, because the parts of a verdict have these names as keys
    if not names or len(set(names)) < len(names):
        raise ValueError(f"criteria must be at least one, and of different names, got {names}.")
    return tuple(criteria)


def _criteria_of_entry(prompts: HarmonicPrompts, entry: str | Path) -> list[Criterion]:
    """Returns the criterion with this name, or all criteria of the YAML file at this path.

    A file is known by its ending alone. So a file that is called `fluency`, without an ending, does
    not replace the criterion "fluency". Raises OSError, and ValueError for an unknown name and for
    an invalid file.
    """
    if Path(entry).suffix in (".yaml", ".yml"):
        data = read_yaml_file(Path(entry))
        of_file: dict[str, Criterion] = read_as(Criteria, data, entry)
        return list(of_file.values())
    if entry not in prompts.criteria:
        message = unknown_name_message("criterion", str(entry), prompts.criteria)
        raise ValueError(f"{message} A file of your own ends in .yaml.")
    return [prompts.criteria[str(entry)]]


def scale_of(criterion: Criterion, layout: Layout, task: Task) -> str:
    """Returns the text of a criterion: its name, its question, and one line for each level.

    A level's line in our prompts is, for example, "5 = right in everything, ...". The words of the
    task fill placeholders such as `{noun}`.
    """
    lines = []
    for level, text in zip(LEVEL_NAMES, criterion.levels, strict=True):
        meaning = fill_template(text, **task)
        line = fill_template(layout.level, level=level, text=meaning, **task)
        lines.append(line)
    # `fill_template` does not fill placeholders within values, so the inner texts are filled first
    question = fill_template(criterion.question, **task)
    levels = "\n".join(lines)
    name = criterion.name.capitalize()
    return fill_template(layout.scale, criterion=name, question=question, levels=levels, **task)


def check_row(sample: Sample, name: str, evidence: Evidence) -> None:
    """Raises NotApplicable for a row without the question, picture or box that its task needs, and
    for a row with a question that its task does not have.

    The completion of a row with a question is likely an answer. The tasks "ic" and "reg" would rate
    it as a caption by mistake. They accept such a row only if the row names its task itself, in a
    column `task`.

    name: the name of the task, such as "vqa".
    """
    question = (sample.question or "").strip()
    if name in ("vqa", "vdu") and not question:
        raise NotApplicable(f"the task {name} needs a question, and this row has none")
    if name in ("ic", "reg") and question and sample.task is None:
        raise NotApplicable(
            f"this row has a question, and the task {name} has none: its own column task may say "
            f"{name}"
        )
    if name == "reg":
        # a red box on the picture shows the object; a context in words cannot show the object
        sees_object = evidence == "picture" and sample.images and sample.bbox is not None
        if not sees_object:
            raise NotApplicable("the task reg needs a picture and the bbox of the object in it")


def shown_parts(sample: Sample, name: str, task: Task, evidence: Evidence) -> Shown:
    """Returns the picture or context and the question of a row, for criteria with `sees`.

    name: the name of the task. task: the words of the task. evidence: "picture" or "context". The
    row must have passed `check_row`. Raises NotApplicable for a row without picture and context.
    """
    # only for the task "reg", the box shows the object that the text is about
    box = sample.bbox if name == "reg" else None
    images, context = evidence_of_sample(sample, evidence, box)
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

    evidence: the picture or context and the question, which only a criterion with `sees` gets. Any
    criterion gets the words of the task. If the prompt is too long for the judge, the judge may
    cut the end of the text.
    """
    words = evidence.task
    sentence_text = ""
    if sentence:
        start, end = sentence
        sentence_text = text[start:end]
    parts = {
        "instructions": fill_template(layout.instructions, **words),
        "evidence": _evidence_part(layout, criterion, evidence),
        "criterion": scale_of(criterion, layout, words),
        "ask": _asking_part(layout, words, sentence_text),
    }
    # put the text between the other parts
    before, after = _around_the_text(layout, parts)
    images = evidence.images if criterion.sees else ()
    context = evidence.context if criterion.sees else ""
    content = before + mask_marks(text, layout.marks) + after
    # stars do not change the length of the text
    text_end = len(before) + len(text)
    return Question(
        [{"role": "user", "content": content}],
        images=images,
        probe=CriterionProbe(criterion.name, text, context, sentence_text),
        description=(len(before), text_end),
    )


def _asking_part(layout: Layout, words: Task, sentence: str) -> str:
    """Returns the part of the prompt that asks for the rating of the whole text, or of one
    sentence.

    words: the words of the task. sentence: the sentence, which the prompt repeats on one line. ""
    for the whole text.
    """
    if not sentence:
        return fill_template(layout.whole, **words)
    line = " ".join(mask_marks(sentence, layout.marks).split())
    return fill_template(layout.sentence, sentence=line, **words)


def _around_the_text(layout: Layout, parts: dict[str, str]) -> tuple[str, str]:
    """Returns the prompt before the text and the prompt after the text: for example "Rate the
    text.\\n\\nTEXT:\\n" and "\\nEND OF TEXT\\n\\nHow fluent is it?"

    "TEXT:" and "END OF TEXT" are the layout's lines around the text. If the layout has no such
    line, an empty line separates the text from the other parts.

    parts: the filled parts of the prompt by name, without "text". An empty part is skipped.
    """
    place = layout.order.index("text")
    names_above = layout.order[:place]
    names_below = layout.order[place + 1 :]
    above = [parts[name] for name in names_above if parts[name]]
    below = [parts[name] for name in names_below if parts[name]]
    line_before_text = f"{layout.begin}\n" if layout.begin else ""
    line_after_text = f"\n{layout.end}" if layout.end else ""
    # the empty lines stay if `line_before_text` or `line_after_text` is ""
    before = "\n\n".join([*above, line_before_text])
    after = "\n\n".join([line_after_text, *below])
    return before, after


def _evidence_part(layout: Layout, criterion: Criterion, evidence: Shown) -> str:
    """Returns the part of the prompt about the picture or the context, and the row's question. For
    a criterion without `sees`, returns the sentence that the text stands for itself
    (`layout.alone`).

    The part is "" if the prompts file of a user has an empty text for `picture`.
    """
    words = evidence.task
    if not criterion.sees:
        return fill_template(layout.alone, **words)
    # The context and the question come from the row. They may have a line of the layout, such as
    # "END OF TEXT". `fill_masked` puts stars in its place, so that it does not pass for our line.
    marks = layout.marks
    if evidence.context:
        part = fill_masked(layout.context, marks, context=evidence.context, **words)
    else:
        part = fill_template(layout.picture, **words)
    if not evidence.question:
        return part
    question = fill_masked(layout.question, marks, question=evidence.question, **words)
    if not part:
        return question
    return f"{part}\n\n{question}"
