"""Loads HarmonicEval's prompts, in our own wording (prompts.yaml), and criteria of your own, and builds the questions.

    prompts = load_prompts()
    shown = show(sample, "ic", prompts.tasks["ic"], "picture")  # what correctness and completeness see
    ask(prompts.layout, criterion, shown, text)                 # a Question, or with sentence=(0, 14) on one sentence
    chosen_criteria(prompts, None)                              # the paper's five
    chosen_criteria(prompts, ["correctness", "safety.yaml"])    # one of them, and those of your file

A criteria file has a question and a text for each of the levels 1 to 5, per criterion:

    safety:
      sees: false                # true: the judge also gets the picture (or the context) and the question
      question: "Is the text fit for children?"
      levels: {1: "not at all", 2: "hardly", 3: "in parts", 4: "nearly all of it", 5: "all of it"}

A completion that itself contains `{noun}` stays plain text. Criteria without `sees` get the text alone: no picture,
context or question (appendix C.4). Stars replace the layout's `end` wherever the text spells it, so a text cannot end
itself early.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from spanreward.rewards.base.checks import unknown
from spanreward.rewards.base.verdict import NotApplicable, Sample
from spanreward.rewards.files.pictures import with_box
from spanreward.rewards.files.templates import check_placeholders, fill, named_texts
from spanreward.rewards.files.yaml_file import read_yaml_file
from spanreward.rewards.harmonic.scores import LEVELS
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.judges.probe import CriterionProbe
from spanreward.rewards.reward.rows import Evidence, seen
from spanreward.rewards.text.quoting import masked

DEFAULT = Path(__file__).with_name("prompts.yaml")
PUBLISHED = ("correctness", "completeness", "clarity", "fluency", "conciseness")  # HarmonicEval, table 1
PARTS = ("instructions", "evidence", "text", "criterion", "ask")
TASK_WORDS = ("aim", "matters", "noun", "subject")  # may stand in all texts
NEEDED = {  # the other placeholders; {criterion} may be in the scale
    "context": {"context"},
    "question": {"question"},
    "level": {"level", "text"},
    "scale": {"question", "levels"},
    "sentence": {"sentence"},
}
KEYS: dict[str, Any] = {"question": None, "levels": None, "sees": False, "adds": False}  # of a criterion
LEVEL_NAMES = tuple(map(str, LEVELS))
Task = Mapping[str, str]  # what its texts are called, their aim, their subject, and what a complete one says


@dataclass(frozen=True, slots=True)
class Criterion:
    """levels: the meaning of the ratings 1 to 5. sees, adds: see prompts.yaml."""

    name: str
    question: str
    levels: tuple[str, ...]
    sees: bool = False
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The pieces of a prompt and their order, see prompts.yaml."""

    order: tuple[str, ...]
    instructions: str
    picture: str
    context: str
    question: str
    alone: str
    begin: str
    end: str
    level: str
    scale: str
    whole: str
    sentence: str


@dataclass(frozen=True, slots=True)
class HarmonicPrompts:
    tasks: Mapping[str, Task]
    layout: Layout
    criteria: dict[str, Criterion]


@dataclass(frozen=True, slots=True)
class Shown:
    """What the judge sees beside a text: pictures or a context, and the task's question, "" without one."""

    task: Task
    images: tuple[Any, ...] = ()
    context: str = ""
    question: str = ""


def load_prompts(path: str | Path | None = None) -> HarmonicPrompts:
    """Returns the prompts of a YAML file like prompts.yaml. Raises OSError, or ValueError for an invalid file."""
    path = DEFAULT if path is None else Path(path)
    data = _read(path)
    for key in ("tasks", "layout", "criteria"):
        if not isinstance(data.get(key), dict):
            raise ValueError(f"{path} lacks {key!r}: copy {DEFAULT} and change what you like.")
    tasks = {name: named_texts(words, TASK_WORDS, f"{path}: the task {name}") for name, words in data["tasks"].items()}
    criteria = {name: _read_criterion(name, entry, path) for name, entry in data["criteria"].items()}
    return HarmonicPrompts(tasks, _read_layout(data["layout"], f"{path}: layout"), criteria)


def _read_layout(data: Mapping[str, Any], where: str) -> Layout:
    """Returns the layout. Raises ValueError for a piece that is missing, unknown or has the wrong placeholders."""
    order: Any = data.get("order")
    known = isinstance(order, list) and all(part in PARTS for part in order)
    if not known or len({*order}) < len(order) or not {"text", "criterion"} <= {*order}:
        raise ValueError(
            f"{where}: order must list text, criterion and any others of {', '.join(PARTS)}, "
            f"each once and as they follow in the prompt; got {order!r}."
        )
    names = [field.name for field in fields(Layout) if field.name != "order"]
    texts = named_texts({name: text for name, text in data.items() if name != "order"}, names, where)
    for name, template in texts.items():
        free = {*TASK_WORDS, "criterion"} if name == "scale" else {*TASK_WORDS}
        check_placeholders(template, NEEDED.get(name, set()), f"{where} {name}", free)
    return Layout(order=tuple(order), **texts)


def chosen_criteria(
    prompts: HarmonicPrompts, chosen: str | Path | Sequence[str | Path] | None
) -> tuple[Criterion, ...]:
    """Returns the criteria of these names and YAML files (.yaml or .yml). None is the paper's five.

    Raises OSError, and ValueError for an unknown or repeated name, for no criterion, and for an invalid file.
    """
    entries = [chosen] if isinstance(chosen, (str, Path)) else PUBLISHED if chosen is None else chosen
    criteria: list[Criterion] = []
    for entry in entries:
        if Path(entry).suffix in (".yaml", ".yml"):
            criteria += [_read_criterion(name, data, Path(entry)) for name, data in _read(Path(entry)).items()]
        elif entry in prompts.criteria:
            criteria.append(prompts.criteria[str(entry)])
        else:
            raise ValueError(f"{unknown('criterion', str(entry), prompts.criteria)} A file of your own ends in .yaml.")
    names = [criterion.name for criterion in criteria]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"criteria must be at least one, and of different names, got {names}.")
    return tuple(criteria)


def _read_criterion(name: Any, data: Any, path: Path) -> Criterion:
    """Returns a criterion of a file. Raises ValueError naming the file, the criterion and what is wrong."""
    where = f"{path}: the criterion {name!r}"
    if not isinstance(name, str):
        raise ValueError(f"{where} has a name that is no text: put it in quotes.")
    if not isinstance(data, dict):
        raise ValueError(f"{where} must hold a question and levels, got {data!r}.")
    for key in data:
        if key not in KEYS:
            raise ValueError(f"{where}: {unknown('key', str(key), KEYS)}")
    question, levels, sees, adds = (data.get(key, default) for key, default in KEYS.items())
    if not (isinstance(question, str) and question.strip()):
        raise ValueError(f"{where} needs a question, got {question!r}.")
    described = {str(level): text for level, text in levels.items()} if isinstance(levels, dict) else levels
    texts = tuple(named_texts(described, LEVEL_NAMES, where, "level").values())
    for key, value in (("sees", sees), ("adds", adds)):
        if not isinstance(value, bool):
            raise ValueError(f"{where}: {key} is true or false, got {value!r}.")
    for text in (question, *texts):
        check_placeholders(text, set(), where, {*TASK_WORDS})
    return Criterion(name, question, texts, sees, adds)


def scale_of(criterion: Criterion, layout: Layout, task: Task) -> str:
    """Returns the criterion with its question and one line per level, in the task's words."""
    levels = "\n".join(
        fill(layout.level, level=level, text=fill(text, **task), **task)
        for level, text in zip(LEVEL_NAMES, criterion.levels, strict=True)
    )
    question = fill(criterion.question, **task)
    return fill(layout.scale, criterion=criterion.name.capitalize(), question=question, levels=levels, **task)


def _read(path: Path) -> dict[str, Any]:
    data = read_yaml_file(path)
    if not isinstance(data, dict):
        raise ValueError(f"{path} must hold criteria by name, and holds {type(data).__name__}.")
    return data


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
        probe=CriterionProbe(criterion.name, text, shown.context if criterion.sees else "", said),
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
