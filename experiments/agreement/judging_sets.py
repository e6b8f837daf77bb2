"""What people said of models' texts, read from a folder, for judges to be held against.

    found = read_judging(Path("../shared/data/vl_rewardbench"))
    found.pairs[0].texts, found.pairs[0].people          # 1: people prefer the first

MLLM-as-a-Judge: score.jsonl (`id`, `instruction`, `answer`, `name`, `human` from 1 to 5),
pair.jsonl (`answer1`, `answer2`, `human_answer` A, B or C) and batch.jsonl (`answers`,
`human_answer` or `human` such as "ACBD"). A folder may lack some of them; score_lite.jsonl and
Score.jsonl are read too. VL-RewardBench: preferences.jsonl. A line may have `context`, a text in
place of the picture; a picture (`image_path`, `image`) is shown where the folder, or image/ in it,
has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.agreement.vote_folder import Line, Once, read_lines
from spanreward.rewards.pairwise.questions import Shown
from spanreward.rewards.rows.pictures import opened_picture

OUTCOMES = {"A": 1, "B": -1, "C": 0}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Judged:
    """Models' texts for one request. authors: who wrote each. part: of the set, which tables show
    apart.
    """

    id: str
    shown: Shown
    texts: tuple[str, ...]
    authors: tuple[str, ...]
    part: str


@dataclass(frozen=True, slots=True)
class Rated(Judged):
    """One text, which people rated from 1 to 5."""

    people: float


@dataclass(frozen=True, slots=True)
class Preferred(Judged):
    """Two texts: people prefer the first (1), the second (-1) or neither (0). errors: what the
    worse one has.
    """

    people: int
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ordered(Judged):
    """Several texts, and their places from the best to the worst."""

    people: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JudgingSet:
    scores: list[Rated] = field(default_factory=list)
    pairs: list[Preferred] = field(default_factory=list)
    rankings: list[Ordered] = field(default_factory=list)


def read_judging(folder: Path) -> JudgingSet:
    """Raises FileNotFoundError where none of the files is there, and ValueError, in one sentence
    that names the line, for what cannot be used.
    """
    if (folder / "preferences.jsonl").is_file():
        return JudgingSet(
            pairs=[preference(line, folder) for line in read_lines(folder / "preferences.jsonl")]
        )
    found = {name: path for name in ("score", "pair", "batch") if (path := file_of(folder, name))}
    if not found:
        raise FileNotFoundError(
            f"{folder} has none of score.jsonl, pair.jsonl, batch.jsonl and preferences.jsonl: "
            "give a folder of MLLM-as-a-Judge or VL-RewardBench."
        )
    lines = {name: read_lines(path) for name, path in found.items()}
    once = Once("the text of")
    return JudgingSet(
        [rated(line, folder, once) for line in lines.get("score", [])],
        [paired(line, folder, once) for line in lines.get("pair", [])],
        [ordered(line, folder, once) for line in lines.get("batch", [])],
    )


def file_of(folder: Path, name: str) -> Path | None:
    """Returns the set's file by one of the names that the authors gave it."""
    names = (f"{name}.jsonl", f"{name.capitalize()}.jsonl", f"{name}_lite.jsonl")
    return next((folder / one for one in names if (folder / one).is_file()), None)


def rated(line: Line, folder: Path, once: Once) -> Rated:
    """A line of score.jsonl, whose `human` is a number, or one in quotes."""
    value = line.get("human", (int, float, str))
    if str(value).strip() not in ("1", "2", "3", "4", "5", "1.0", "2.0", "3.0", "4.0", "5.0"):
        raise ValueError(f"{line.where}: 'human' is a rating from 1 to 5, got {value!r}.")
    author = line.name("name")
    once(line, "score", line.name("id"), author)
    return Rated(
        *common(line, folder), (line.get("answer", str),), (author,), part_of(line), float(value)
    )


def paired(line: Line, folder: Path, once: Once) -> Preferred:
    """A line of pair.jsonl."""
    texts, authors = answers([line.get("answer1", dict), line.get("answer2", dict)], line)
    once(line, "pair", line.name("id"), *authors)
    label = line.get("human_answer", str).strip()
    if label not in OUTCOMES:
        raise ValueError(f"{line.where}: 'human_answer' is A, B or C (a tie), got {label!r}.")
    return Preferred(*common(line, folder), texts, authors, part_of(line), OUTCOMES[label])


def ordered(line: Line, folder: Path, once: Once) -> Ordered:
    """A line of batch.jsonl."""
    texts, authors = answers(line.get("answers", list), line)
    once(line, "batch", line.name("id"))
    key = "human" if "human" in line.row else "human_answer"
    letters = line.get(key, str).strip()
    if len(texts) < 2 or sorted(letters) != list(LETTERS[: len(texts)]):
        raise ValueError(
            f"{line.where}: {key!r} ranks {len(texts)} answers by the letters "
            f"{LETTERS[: len(texts)]}, got {letters!r}."
        )
    return Ordered(
        *common(line, folder),
        texts,
        authors,
        part_of(line),
        tuple(LETTERS.index(letter) for letter in letters),
    )


def preference(line: Line, folder: Path) -> Preferred:
    """A line of preferences.jsonl. Its ids may come twice, with other texts."""
    texts, ranks = line.get("response", list), line.get("human_ranking", list)
    if (
        len(texts) != 2
        or sorted(map(str, ranks)) != ["0", "1"]
        or not all(isinstance(text, str) for text in texts)
    ):
        raise ValueError(
            f"{line.where}: 'response' holds two texts and 'human_ranking' 0 and 1, got {ranks!r}."
        )
    named = line.row.get("models")
    models = tuple(map(str, named)) if isinstance(named, list) and len(named) == 2 else ("", "")
    labels = line.row.get("human_error_analysis") or []
    # of "others, ..." the rest is a remark
    errors = tuple(str(label).split(",")[0] for label in labels)
    people = 1 if ranks[0] == 0 else -1
    return Preferred(*common(line, folder), tuple(texts), models, part_of(line), people, errors)


def answers(entries: Sequence[Any], line: Line) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts and who wrote them."""
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("answer"), str):
            raise ValueError(
                f"{line.where}: an answer holds 'name' and the text 'answer', got {entry!r:.80}."
            )
    return tuple(entry["answer"] for entry in entries), tuple(
        str(entry.get("name", "")) for entry in entries
    )


def common(line: Line, folder: Path) -> tuple[str, Shown]:
    """The line's id, and what its texts are judged by: its context, else its picture where the
    folder has it.
    """
    request = line.get("instruction" if "instruction" in line.row else "query", str)
    context = line.row.get("context")
    named = line.row.get("image_path") or line.row.get("image")
    bases = (
        [folder.resolve(), (folder / "image").resolve()]
        if isinstance(named, str) and not context
        else []
    )
    paths = [
        (base / str(named)).resolve()
        for base in bases
        if (base / str(named)).resolve().is_relative_to(base)
    ]
    images = next(((opened_picture(path),) for path in paths if path.is_file()), ())
    return line.name("id"), Shown(
        request.strip(), images, context if isinstance(context, str) else ""
    )


def part_of(line: Line) -> str:
    return str(line.row.get("group") or line.row.get("original_dataset") or "")
