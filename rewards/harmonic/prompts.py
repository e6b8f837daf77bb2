"""Loads HarmonicEval's prompts, in our own wording (prompts.yaml), and criteria of your own from YAML files.

    prompts = load_prompts()
    chosen_criteria(prompts, None)                              # the paper's five
    chosen_criteria(prompts, ["correctness", "safety.yaml"])    # one of them, and those of your file

A criteria file has a question and a text for each of the levels 1 to 5, per criterion:

    safety:
      sees: false                # true: the judge also gets the picture (or the context) and the question
      question: "Is the text fit for children?"
      levels: {1: "not at all", 2: "hardly", 3: "in parts", 4: "nearly all of it", 5: "all of it"}

A completion that itself contains `{noun}` stays plain text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from spanreward.rewards.base.checks import unknown
from spanreward.rewards.files.templates import check_placeholders, fill, named_texts
from spanreward.rewards.files.yaml_file import read_yaml_file
from spanreward.rewards.harmonic.scores import LEVELS

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
