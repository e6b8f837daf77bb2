"""People's answers as they come back: Label Studio's JSON export, full or minimal, or tasks.jsonl
filled in.

    answers, told = read_answers(Path("export.json"), key)
    answers[0].question, answers[0].rater, answers[0].preference  # 2: the first side is much better

The file may have been edited by hand. What is missing is counted and told; what cannot be right is
an error that names the place.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.blind.export import fingerprint
from experiments.blind.questions import ANSWERS, QUESTIONS
from spanreward.rewards.files.json_lines import BYTE_ORDER_MARK, read_value
from spanreward.rewards.rows.tables import read_table


@dataclass(frozen=True, slots=True)
class Answer:
    """What a rater said to one question about the pair of texts for a prompt and seed. preference:
    from -2 to 2, above 0 where the first side is better. first: whether that side stood first.
    """

    task: str
    prompt: str
    seed: int
    rater: str
    question: str
    preference: int
    first: bool


@dataclass(frozen=True, slots=True)
class Given:
    """A row of a file before it is checked: its place, the task, the rater, the answers' words, and
    the two texts.
    """

    where: str
    task: str
    rater: str
    words: Mapping[str, Any]
    texts: tuple[Any, Any] = (None, None)


def read_key(path: Path) -> dict[str, Any]:
    """Raises ValueError for a file that is no key."""
    try:
        key = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (
            f"the key {path} cannot be read ({error.strerror}): it lies beside the exported folder."
        )
        raise ValueError(reason) from None
    except ValueError as error:
        raise ValueError(
            f"the key {path} is not JSON ({error}): take the file that the export wrote."
        ) from None
    if not isinstance(key, dict) or not {"comparison", "sides", "tasks"} <= key.keys():
        raise ValueError(
            f"{path} is no key that `blind export` wrote: it needs comparison, sides and tasks."
        )
    return key


def read_answers(path: Path, key: Mapping[str, Any]) -> tuple[list[Answer], list[str]]:
    """Returns the answers, and sentences on what is missing. Raises ValueError, naming the place,
    for a file of no known form, a task that the key does not know, a changed text, a label that is
    none of ANSWERS, a rater who answers a task twice, and a file without any answer.
    """
    found: list[Answer] = []
    seen: dict[tuple[str, str], str] = {}
    skipped = 0
    for given in read_given(path):
        known = key["tasks"].get(given.task)
        if known is None:
            raise ValueError(
                f"{given.where}: the key has no pair {given.task!r}: was this exported with "
                "another key?"
            )
        for number, (text, mark) in enumerate(
            zip(given.texts, known["texts"], strict=True), start=1
        ):
            if isinstance(text, str) and fingerprint(text) != mark:
                raise ValueError(
                    f"{given.where}: text {number} of the pair {given.task!r} is not the one "
                    "exported."
                )
        words = {name: given.words.get(name) for name in QUESTIONS}
        if not any(words.values()):
            skipped += 1
            continue
        if (given.task, given.rater) in seen:
            raise ValueError(
                f"{given.where}: rater {given.rater!r} answers the pair {given.task!r} again, "
                f"after {seen[given.task, given.rater]}: keep one."
            )
        seen[given.task, given.rater] = given.where
        first = known["first"] == key["sides"][0]
        for name, word in words.items():
            if word not in (None, ""):
                value = level(word, name, given.where) * (1 if first else -1)
                found.append(
                    Answer(given.task, known["id"], known["seed"], given.rater, name, value, first)
                )
    if not found:
        raise ValueError(
            f"{path} holds no answer to any pair: fill in {', '.join(QUESTIONS)} and import it "
            "then."
        )
    return found, missing(found, key, seen, skipped)


def level(word: Any, question: str, where: str) -> int:
    """Returns the answer's level from -2 to 2, seen from the text shown first."""
    said = " ".join(word.lower().split()) if isinstance(word, str) else word
    if not isinstance(said, str) or said not in ANSWERS:
        raise ValueError(
            f"{where}: {question} is answered {word!r}; the answers are "
            f"{', '.join(map(repr, ANSWERS))}."
        )
    return ANSWERS[said]


def missing(
    found: list[Answer], key: Mapping[str, Any], seen: Mapping[tuple[str, str], str], skipped: int
) -> list[str]:
    """Returns a sentence for everything that is not answered."""
    told = []
    tasks = {task for task, _ in seen}
    if len(tasks) < len(key["tasks"]):
        told.append(
            f"{len(key['tasks']) - len(tasks)} of {len(key['tasks'])} tasks have no answer."
        )
    if skipped:
        told.append(f"{skipped} rows are empty and were left out.")
    for name in QUESTIONS:
        answered = sum(answer.question == name for answer in found)
        if answered < len(seen):
            told.append(f"{len(seen) - answered} of {len(seen)} rows have no answer to {name}.")
    return told


def read_given(path: Path) -> Iterator[Given]:
    """Yields the rows of a file of any form. Raises ValueError for a file of none of them."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}.")
    content = path.read_bytes().removeprefix(BYTE_ORDER_MARK)
    if not content.lstrip().startswith(b"["):
        yield from (plain(entry, where) for where, entry in read_table(path))
        return
    for number, entry in enumerate(read_value(content, str(path)), start=1):
        where = f"{path} task {number}"
        if isinstance(entry, dict) and isinstance(entry.get("annotations"), list):
            yield from annotated(entry, where)
        else:
            yield plain(entry, where)


def plain(entry: Any, where: str) -> Given:
    """Reads a row of tasks.jsonl, or of Label Studio's minimal export."""
    if not isinstance(entry, dict) or not isinstance(entry.get("pair"), str):
        raise ValueError(
            f"{where} must be an object with the 'pair' that it answers, got {entry!r:.80}."
        )
    rater = entry.get("rater") or entry.get("annotator") or ""
    return Given(where, entry["pair"], str(rater), entry, (entry.get("text1"), entry.get("text2")))


def annotated(entry: dict[str, Any], where: str) -> Iterator[Given]:
    """Yields the annotations of a task in Label Studio's export, without the cancelled ones."""
    data = entry.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("pair"), str):
        raise ValueError(
            f"{where} must hold the 'pair' that it answers in its data, got {data!r:.80}."
        )
    for annotation in entry["annotations"]:
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        by = annotation.get("completed_by", "")
        rater = by.get("email") or by.get("id") if isinstance(by, dict) else by
        words = {}
        for result in annotation.get("result") or []:
            value = result.get("value") if isinstance(result, dict) else None
            chosen = value.get("choices") if isinstance(value, dict) else None
            if isinstance(chosen, list) and chosen:
                words[str(result.get("from_name"))] = chosen[0] if len(chosen) == 1 else chosen
        yield Given(where, data["pair"], str(rater), words, (data.get("text1"), data.get("text2")))
