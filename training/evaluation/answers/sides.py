"""Reads which models are compared: each side has a name, and one run for every training seed.

    sides = read_sides(["sft=outputs/sft0,outputs/sft1", "api=answers.jsonl"])
    sides["api"]  # ["answers.jsonl", "answers.jsonl"]: the same file for each run of sft
    recipe_of("outputs/sft0")  # the recipe of the run's training
    read_answers("answers.jsonl", rows)  # one completion per row
    read_samples("answers.jsonl", rows)  # a list of completions per row

A run is the folder of a policy or an adapter, a model's id on the hub, or a file of answers by any
model. A line of such a file is {"id": "1", "completion": "A dog on grass."}. The file may be any
table that rewards/rows/tables.py reads.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import hf_hub_download

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.files.hub import offline_without_hub
from spanreward.rewards.rows.messages import completion_text, messages_in
from spanreward.rewards.rows.sample import row_sample
from spanreward.rewards.rows.tables import check_texts, is_table, read_table
from spanreward.training.evaluation.answers.same_row import differing_key
from spanreward.training.policy_folder import policy_folder
from spanreward.training.recipe import RecipeError
from spanreward.training.recipe_file import read_mapping

POLICY_FILES = ("config.json", "adapter_config.json")


def read_sides(specs: Sequence[str]) -> dict[str, list[str]]:
    """Returns {name: runs}, with equally many runs for all sides.

    Example: ["sft=outputs/sft0,outputs/sft1", "api=answers.jsonl"] gives {"sft": ["outputs/sft0",
    "outputs/sft1"], "api": ["answers.jsonl", "answers.jsonl"]}. The run of a side with a single run
    is repeated for every seed of the other sides.

    specs: a text for each side. Raises ValueError for fewer than two sides, unequal
    numbers of runs, or a run that does not exist.
    """
    sides: dict[str, list[str]] = {}
    for spec in specs:
        name, runs = named_runs(spec)
        if name in sides:
            raise ValueError(f"two models are called {name!r}: give them different names.")
        sides[name] = runs
    if len(sides) < 2:
        raise ValueError(f"a comparison needs two models or more, got {list(specs)}.")
    counts = {name: len(runs) for name, runs in sides.items()}
    # sides may have 1 and 3 runs, but not 2 and 3
    counts_above_one = set(counts.values()) - {1}
    if len(counts_above_one) > 1:
        raise ValueError(
            "every model needs as many folders (training seeds) as the others, or a single one, "
            f"got {counts}."
        )
    for name, runs in sides.items():
        for run in runs:
            check_run(name, run)
    # a single run is repeated for every seed of the other sides
    most = max(counts.values())
    for name, runs in sides.items():
        if len(runs) == 1:
            sides[name] = runs * most
    return sides


def named_runs(spec: str) -> tuple[str, list[str]]:
    """Returns the name and the runs of a side: "sft=outputs/sft0,outputs/sft1" gives ("sft",
    ["outputs/sft0", "outputs/sft1"]).

    Raises ValueError for a text without a name, such as "outputs/sft", or without a run: "sft=".
    """
    name, _, listed = spec.partition("=")
    if not (name and listed):
        raise ValueError(f"a model is written NAME=FOLDER, got {spec!r}.")
    return name, [policy_folder(run) for run in listed.split(",")]


def check_run(name: str, run: str) -> None:
    """Raises ValueError if a run is no policy's folder, no file of answers and no model of the hub.

    name: the side's name, for the message.
    """
    path = Path(run)
    if is_table(run) and path.is_file():  # a file of answers
        return
    if any((path / file).is_file() for file in POLICY_FILES):  # the folder of a policy
        return
    if path.exists():
        raise ValueError(
            f"model {name!r}: {run!r} is not a folder with a trained policy (no config.json or "
            "adapter_config.json)."
        )
    # the hub is asked last, and never for a name such as answers.jsonl
    if is_table(run) or not on_hub(run):
        raise ValueError(
            f"model {name!r}: {run!r} is no folder, no file of answers (.jsonl, .csv, ...), and no "
            "model of the hub."
        )


def on_hub(model: str) -> bool:
    """Returns whether the hub, or its local cache, has a model of this id.

    The answer takes about a second, also if the hub cannot be reached or the text is no id.
    """
    offline_without_hub()
    try:
        hf_hub_download(model, "config.json")
    except (OSError, ValueError):
        # the hub cannot be reached or has no such model, or the text is no id
        return False
    return True


def read_seeds(seeds: Sequence[int] | None, sides: Mapping[str, Sequence[str]]) -> list[int]:
    """Returns the training seed of each run: the values of --seeds, or 0, 1, 2, ... without
    --seeds.

    Raises ValueError for more or fewer seeds than runs.
    """
    # `read_sides` gives all sides equally many runs
    first_runs = next(iter(sides.values()))
    count = len(first_runs)
    if seeds is None:
        return list(range(count))
    if len(seeds) != count:
        raise ValueError(
            f"every model has {count} folders, and --seeds names {len(seeds)}: {list(seeds)}."
        )
    return list(seeds)


def recipe_of(run: str) -> dict[str, Any]:
    """Returns the recipe.yaml in a run's folder; {} for a folder without a recipe, a file of
    answers or a model of the hub.
    """
    path = Path(run) / "recipe.yaml"
    return read_mapping(path) if path.is_file() else {}


def read_answers(path: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns one completion per row, in the order of `rows`.

    path: a file of answers. Raises ValueError for a second answer to a row, and every error of
    `read_samples`.
    """
    samples = read_samples(path, rows, one_each=True)
    return [texts[0] for texts in samples]


def read_samples(
    path: str,
    rows: Sequence[Mapping[str, Any]],
    one_each: bool = False,
) -> list[list[str]]:
    """Returns the completions of each row, in the order of `rows`.

    path: a file of answers. Several completions of a row keep the order of the file. Lines about
    other rows are ignored. one_each: whether a second answer to a row is an error. Raises
    ValueError, naming the line or the row, if rows have no answer, or unequal numbers of answers.
    Also raises ValueError for an answer without text, and for a line about another row of the same
    id (`differing_key`).
    """
    samples = {}
    for row in rows:
        samples[str(row["id"])] = row_sample(row)
    # collect the answers of each row
    texts: dict[str, list[str]] = {}  # by id, also ids that the data lack
    for where, record in read_table(path):
        name = str(record.get("id"))
        text = answer_in(record, where)
        row_texts = texts.setdefault(name, [])
        is_answered = len(row_texts) > 0  # by an earlier line
        if is_answered and one_each:
            raise RecipeError(
                f"{where} answers the row {record['id']!r} a second time: keep one answer a row."
            )
        row_texts.append(text)
        # a file may answer more rows than are compared on
        if name in samples:
            check_same_row(record, samples[name], where)
    check_all_answered(path, list(samples), list(texts))
    answers = {name: texts[name] for name in samples}
    check_equally_many(path, answers)
    return [answers[str(row["id"])] for row in rows]


def check_same_row(record: Mapping[str, Any], row: Sample, where: str) -> None:
    """Raises RecipeError if a line of a file of answers is about another row than the data's row
    with its id: equal ids may belong to different data.
    """
    key = differing_key(record, row, where)
    if key:
        raise RecipeError(
            f"{where} answers another row than the data's {record['id']!r}: they differ in "
            f"their {key}."
        )


def check_all_answered(path: str, row_ids: Sequence[str], answered_ids: Sequence[str]) -> None:
    """Raises RecipeError if a row has no answer.

    path: the file of answers. row_ids: the ids of all rows. answered_ids: the ids in the file, also
    ids that the data lack.
    """
    # rows without an id are numbered from 1, and a script may have counted from 0
    if "0" in answered_ids and "0" not in row_ids and "1" in row_ids:
        raise RecipeError(
            f"{path} counts the rows from 0, and their ids count from 1: write these as its ids."
        )
    answered = set(answered_ids)
    missing = [name for name in row_ids if name not in answered]
    if missing:
        first_id = answered_ids[0] if answered_ids else ""
        raise RecipeError(
            f"{path} has no answer to {len(missing)} of the {len(row_ids)} rows, the first of them "
            f"{missing[0]!r}. Its ids are such as {first_id!r}: give the rows' ids, "
            "their numbers from 1 where they have none."
        )


def check_equally_many(path: str, answers: Mapping[str, Sequence[str]]) -> None:
    """Raises RecipeError if some rows have more answers than others.

    path: the file of answers. answers: the completions of each row, by the row's id.
    """
    if not answers:
        return
    counts = {}
    for name, texts in answers.items():
        counts[name] = len(texts)
    # the message names a row with the fewest answers and a row with the most answers
    fewest = min(counts, key=counts.__getitem__)
    most = max(counts, key=counts.__getitem__)
    if counts[fewest] < counts[most]:
        raise RecipeError(
            f"{path} has {counts[most]} answers to the row {most!r} and "
            f"{counts[fewest]} to {fewest!r}: give every row the same number of answers, and "
            "remove any answer that was written twice by mistake."
        )


def answer_in(record: Mapping[str, Any], where: str) -> str:
    """Returns the text of the completion in a line. Raises RecipeError for a line without an id or
    a completion.
    """
    # a line of `spanreward score` has an id but no text, and gets a message of its own
    check_texts(record, where)
    completion = record.get("completion")
    # a completion is a text, or a list of messages
    has_text = isinstance(completion, str | list)
    if record.get("id") is None or not has_text:
        raise RecipeError(
            f"{where} needs an id and a completion, a text, and has {dict(record)!r:.200}."
        )
    try:
        return completion_text(messages_in(completion))
    except ValueError as error:
        raise RecipeError(f"{where}: {error}.") from None
