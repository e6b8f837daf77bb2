"""HarmonicEval's prompts: our own wording (prompts.yaml), and criteria of your own from YAML files.

    prompts = load_prompts()
    chosen_criteria(prompts, None)                              # the paper's five
    chosen_criteria(prompts, ["correctness", "safety.yaml"])    # one of them, and those in a file of yours

A criteria file holds, per criterion, a question and a text for each of the levels 1 to 5:

    safety:
      sees: false                # true: the judge gets the picture (or the context) and the question beside the text
      question: "Is the text fit for children?"
      levels: {1: "not at all", 2: "hardly", 3: "in parts", 4: "nearly all of it", 5: "all of it"}

Placeholders are filled in one pass, and only in templates: `{noun}` in a completion stays as it is.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rewards.harmonic.scores import LEVELS
from rewards.naming import unknown
from rewards.templates import fill, placeholders
from rewards.yaml_file import read_yaml_file

DEFAULT = Path(__file__).with_name("prompts.yaml")
PUBLISHED = ("correctness", "completeness", "clarity", "fluency", "conciseness")  # HarmonicEval, table 1
_KEYS = ("question", "levels", "sees", "adds")


@dataclass(frozen=True, slots=True)
class Task:
    """What the task's texts are called, are there to do and are about, and what a complete one says."""

    noun: str
    aim: str
    subject: str
    matters: str

    @property
    def words(self) -> dict[str, str]:
        return {"noun": self.noun, "aim": self.aim, "subject": self.subject, "matters": self.matters}


@dataclass(frozen=True, slots=True)
class Criterion:
    """levels: what ratings 1 to 5 mean, in order. sees and adds: see prompts.yaml."""

    name: str
    question: str
    levels: tuple[str, ...]
    sees: bool = False
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The pieces of a prompt, and their order, see prompts.yaml."""

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
    why: str


PARTS = ("instructions", "evidence", "text", "criterion", "ask")
# The placeholders each piece must have, all of them; the task's words may stand anywhere, {criterion} in the scale.
_NEEDED = {
    "context": {"context"},
    "question": {"question"},
    "level": {"level", "text"},
    "scale": {"question", "levels"},
    "sentence": {"sentence"},
    "why": {"rating"},
}
_TASK_WORDS = {field.name for field in fields(Task)}
_TEXTS = [field.name for field in fields(Layout) if field.name != "order"]


@dataclass(frozen=True, slots=True)
class HarmonicPrompts:
    tasks: dict[str, Task]
    layout: Layout
    criteria: dict[str, Criterion]


def load_prompts(path: str | Path | None = None) -> HarmonicPrompts:
    """The prompts in a YAML file of the form of prompts.yaml. Raises OSError, or ValueError for what is not of it."""
    path = DEFAULT if path is None else Path(path)
    data = _read(path)
    for key in ("tasks", "layout", "criteria"):
        if not isinstance(data.get(key), dict):
            raise ValueError(f"{path} lacks {key!r}: copy {DEFAULT} and change what you like.")
    tasks = {
        name: Task(**_texts(words, sorted(_TASK_WORDS), f"{path}: the task {name}"))
        for name, words in data["tasks"].items()
    }
    criteria = {name: read_criterion(name, entry, path) for name, entry in data["criteria"].items()}
    return HarmonicPrompts(tasks, read_layout(data["layout"], f"{path}: layout"), criteria)


def read_layout(data: Mapping[str, Any], where: str) -> Layout:
    """The layout from a file. Raises ValueError naming the piece that is missing, too much or of other placeholders."""
    order = data.get("order")
    if (
        not isinstance(order, list)
        or any(part not in PARTS for part in order)
        or not {"text", "criterion"} <= {*order}
        or len({*order}) < len(order)
    ):
        raise ValueError(
            f"{where}: order lists the parts of a prompt from above, each once: text, criterion and what you like of "
            f"{', '.join(PARTS)}; got {order!r}."
        )
    texts = _texts({name: text for name, text in data.items() if name != "order"}, _TEXTS, where)
    for name, template in texts.items():
        may = {"criterion"} if name == "scale" else set()
        _check_placeholders(template, _NEEDED.get(name, set()), f"{where} {name}", may)
    return Layout(order=tuple(order), **texts)


def chosen_criteria(
    prompts: HarmonicPrompts, chosen: str | Path | Sequence[str | Path] | None
) -> tuple[Criterion, ...]:
    """The criteria by name, or all in a YAML file (what ends in .yaml or .yml); None is the paper's five.

    Raises OSError, and ValueError for an unknown name, one that occurs twice, no criterion at all, and a file's faults.
    """
    if chosen is None:
        chosen = PUBLISHED
    entries = [chosen] if isinstance(chosen, (str, Path)) else list(chosen)
    criteria: list[Criterion] = []
    for entry in entries:
        if Path(entry).suffix in (".yaml", ".yml"):
            criteria += [read_criterion(name, data, Path(entry)) for name, data in _read(Path(entry)).items()]
        elif entry in prompts.criteria:
            criteria.append(prompts.criteria[str(entry)])
        else:
            raise ValueError(f"{unknown('criterion', str(entry), prompts.criteria)} A file of your own ends in .yaml.")
    names = [criterion.name for criterion in criteria]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"criteria must be at least one, and of different names, got {names}.")
    return tuple(criteria)


def read_criterion(name: Any, data: Any, path: Path) -> Criterion:
    """A criterion from a file. Raises ValueError naming the file, the criterion and what is missing or too much."""
    where = f"{path}: the criterion {name!r}"
    if not isinstance(name, str):
        raise ValueError(f"{where} has a name that is no text: put it in quotes.")
    if not isinstance(data, dict):
        raise ValueError(f"{where} must hold a question and levels, got {data!r}.")
    for key in data:
        if key not in _KEYS:
            raise ValueError(f"{where}: {unknown('key', str(key), _KEYS)}")
    question = data.get("question")
    if not (isinstance(question, str) and question.strip()):
        raise ValueError(f"{where} needs a question, got {question!r}.")
    given = data.get("levels")
    levels = {str(level): text for level, text in given.items()} if isinstance(given, dict) else {}
    missing = [str(level) for level in LEVELS if not (isinstance(levels.get(str(level)), str) and levels[str(level)])]
    if missing:
        raise ValueError(f"{where} lacks the level {', '.join(missing)}: describe each of 1 to 5 with a text.")
    strange = levels.keys() - {str(level) for level in LEVELS}
    if strange:
        raise ValueError(f"{where} has the level {', '.join(sorted(strange))}: there are 1 to 5.")
    for key in ("sees", "adds"):
        if not isinstance(data.get(key, False), bool):
            raise ValueError(f"{where}: {key} is true or false, got {data[key]!r}.")
    texts = tuple(levels[str(level)] for level in LEVELS)
    for text in (question, *texts):
        _check_placeholders(text, set(), where)
    return Criterion(name, question, texts, data.get("sees", False), data.get("adds", False))


def scale_of(criterion: Criterion, layout: Layout, task: Task) -> str:
    """The criterion with its question and its levels, one a line, in the task's words."""
    levels = "\n".join(
        fill(layout.level, level=str(level), text=fill(text, **task.words), **task.words)
        for level, text in zip(LEVELS, criterion.levels, strict=True)
    )
    question = fill(criterion.question, **task.words)
    return fill(layout.scale, criterion=criterion.name.capitalize(), question=question, levels=levels, **task.words)


def _read(path: Path) -> dict[str, Any]:
    data = read_yaml_file(path)
    if not isinstance(data, dict):
        raise ValueError(f"{path} must hold criteria by name, and holds {type(data).__name__}.")
    return data


def _texts(data: Any, names: Sequence[str], where: str) -> dict[str, str]:
    """Just these texts. Raises ValueError for one that is missing or not there to be given."""
    given: Mapping[str, Any] = data if isinstance(data, dict) else {}
    for name in names:
        if not isinstance(given.get(name), str):
            raise ValueError(f"{where} lacks the text {name!r}.")
    for name in given:
        if name not in names:
            raise ValueError(f"{where}: {unknown('text', str(name), names)}")
    return {name: given[name] for name in names}


def _check_placeholders(template: str, needed: set[str], where: str, may: Set[str] = frozenset()) -> None:
    found = placeholders(template)
    if not needed <= found <= needed | may | _TASK_WORDS:
        allowed = ", ".join(f"{{{name}}}" for name in sorted(_TASK_WORDS | may))
        wanted = "".join(f"{{{name}}} and " for name in sorted(needed))
        shown = ", ".join(f"{{{name}}}" for name in sorted(found)) or "none"
        raise ValueError(f"{where} takes the placeholders {wanted}where wanted {allowed}, has {shown}.")
