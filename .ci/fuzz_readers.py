"""Coverage-guided fuzzing of what reads files and answers: each may refuse them only in its own
words.

    python -m venv /tmp/fuzz && /tmp/fuzz/bin/pip install atheris
    PYTHONPATH=.:$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])') \\
        /tmp/fuzz/bin/python .ci/fuzz_readers.py recipe -max_total_time=600

The first argument is a name of TARGETS, the others go to libFuzzer. It begins with the target's
SEEDS, and ends at the first input that makes a reader raise anything but what its docstring says,
which it writes to a file crash-...: make it a test beside the reader's others. atheris (Apache-2.0)
is no dependency of the project, and CI does not run this.
"""

import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import product
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["rewards", "training", "yaml", "json", "zipfile"]):
    import logging

    import spanreward.rewards.harmonic.prompts as harmonic
    import spanreward.rewards.lave.prompts as lave
    import spanreward.rewards.pairwise.questions as pairwise
    import spanreward.rewards.posh.prompts as posh
    from spanreward.rewards.judges.cache.store import Store
    from spanreward.rewards.judges.encoding.chat import rating_from_logprobs, rating_from_top
    from spanreward.rewards.language.scene_graph import Entity, SceneGraph
    from spanreward.rewards.lave.reward import read_rating
    from spanreward.rewards.pairwise.ranking import read_ranking
    from spanreward.rewards.rows.lines import read_row
    from spanreward.rewards.rows.tables import read_table, table_rows
    from spanreward.training.data.rows import read_rows
    from spanreward.training.recipe import JsonlPart, RecipeError, check_recipe
    from spanreward.training.recipe_file import read_mapping
    from spanreward.training.run_folder import continue_lines, damage_of, read_versions

FOLDER = Path(tempfile.mkdtemp(dir="/dev/shm"))
ROOT = Path(__file__).parents[1]
HARMONIC = harmonic.load_harmonic_prompts()
ROWS = JsonlPart(source="jsonl", path="rows.jsonl")
SMALL = 700  # bytes of a seed: YAML is read some hundred bytes a millisecond while it is watched
KEYS = [f"key{number}" for number in range(8)]


def recipe(data: bytes) -> None:
    path = FOLDER / "recipe.yaml"
    path.write_bytes(data)
    with suppress(RecipeError):
        check_recipe(read_mapping(path))


def prompts(data: bytes) -> None:
    """The first byte says which loader reads the rest: each of them parses files of ours as
    well.
    """
    path = FOLDER / "prompts.yaml"
    folder = FOLDER / "published"
    folder.mkdir(exist_ok=True)
    for file in (path, folder / "precision.json", folder / "recall.json"):
        file.write_bytes(data[1:])
    loaders: tuple[Callable[[], object], ...] = (
        lambda: posh.load_prompts(path),
        lambda: harmonic.load_harmonic_prompts(path),
        lambda: pairwise.load_pairwise_prompts(path),
        lambda: lave.load_lave_prompts(path),
        lambda: harmonic.chosen_criteria(HARMONIC, path),
        lambda: posh.load_prompts(folder),
    )
    with suppress(ValueError, OSError):
        loaders[data[0] % len(loaders) if data else 0]()


def ratings(data: bytes) -> None:
    text, _, quoted = data.decode("utf-8", "replace").partition("\0")
    assert read_rating(text, quoted) in (None, 1, 2, 3)
    for count in (2, 3, 9):
        order = read_ranking(text, count)
        assert order is None or sorted(order) == list(range(count))
    provider = atheris.FuzzedDataProvider(data)
    logprobs = {number: provider.ConsumeFloat() for number in range(6)}
    words = [provider.ConsumeUnicode(3) for _ in range(5)]
    for found in (
        rating_from_top(logprobs, words, ("1", "2", "3", "4", "5")),
        rating_from_logprobs(logprobs, {"1": [0, 9], "2": [1], "3": [2, 3]}),
    ):
        assert not hasattr(found, "mean") or 1 - 1e-9 <= found.mean <= 5 + 1e-9, found


def jsonl(data: bytes) -> None:
    for line in data.split(b"\n"):
        path = FOLDER / "rows.jsonl"
        path.write_bytes(line)
        with suppress(ValueError):
            for row in table_rows(path):
                read_row(*row)
            read_rows(read_table(path), ROWS, lambda value, where: value)


def graphs(data: bytes) -> None:
    with suppress(ValueError, RecursionError):
        value = json.loads(data)
        with suppress(KeyError, TypeError):
            SceneGraph.from_dict(value)


def whole_cache() -> bytes:
    path = FOLDER / "whole.sqlite"
    Store(path, 1 << 20).write(dict.fromkeys(KEYS, b"value" * 100))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


WHOLE = whole_cache()


def cache(data: bytes) -> None:
    """A cache in which bytes were changed, or which was cut."""
    provider = atheris.FuzzedDataProvider(data)
    damaged = bytearray(WHOLE)
    for _ in range(provider.ConsumeIntInRange(0, 20)):
        damaged[provider.ConsumeIntInRange(0, len(damaged) - 1)] = provider.ConsumeIntInRange(
            0, 255
        )
    del damaged[provider.ConsumeIntInRange(0, len(damaged)) :]
    path = FOLDER / "cache.sqlite"
    for rest in ("-wal", "-shm"):
        path.with_name(path.name + rest).unlink(missing_ok=True)
    path.write_bytes(damaged)
    with suppress(ValueError):
        store = Store(path, 1 << 20)
        found = store.read(KEYS)
        assert all(value == b"value" * 100 for value in found.values())
        store.write({"another": b"value"})
        assert store.read(["another"]) in ({}, {"another": b"value"})


def checkpoint(data: bytes) -> None:
    folder = FOLDER / "checkpoint-1"
    folder.mkdir(exist_ok=True)
    for name in ("trainer_state.json", "model.safetensors", "optimizer.pt"):
        (folder / name).write_bytes(data)
        damage_of(folder)
        (folder / name).unlink()
    path = FOLDER / "verdicts.jsonl"
    path.write_bytes(data)
    continue_lines(path, 3)
    (FOLDER / "versions.json").write_bytes(data)
    with suppress(RecipeError):
        read_versions(FOLDER)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (recipe, prompts, ratings, jsonl, graphs, cache, checkpoint)
}
ANSWERS = (
    "The people say red. So rating=1",
    "The rating is **3**.\n\nQuestion: a",
    "2\0two",
    "2, 3, 1",
    "Text 2, 1",
)
ROW = b'{"image": "a.jpg", "completion": "A dog.", "question": "?", "answers": [{"answer": "dog"}], "bbox": [1, 2, 3, 4]}'
GRAPH = SceneGraph(
    [Entity("dog", ["dog"], [0], [(2, 5)], ["red"], {"red": [0]}, {"red": [(0, 1)]})]
)
STATE = (
    b'{"global_step": 1, "best_model_checkpoint": null, "log_history": [{"step": 1, "loss": 0.5}]}'
)
TENSORS = (
    (60).to_bytes(8, "little")
    + b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'.ljust(60)
    + b"1234"
)


def seeds(target: str) -> list[bytes]:
    """Small inputs of the kind that the target reads: this repository's own recipes and prompts,
    and a few by hand.
    """
    known = {
        "recipe": [
            path.read_bytes()
            for path in ROOT.glob("recipes/*/*.yaml")
            if path.stat().st_size < SMALL
        ],
        "prompts": [
            bytes([loader]) + path.read_bytes()[:SMALL].rpartition(b"\n")[0]
            for loader, path in product(range(6), ROOT.glob("rewards/*/*.yaml"))
        ],
        "ratings": [answer.encode() for answer in ANSWERS],
        "jsonl": [ROW],
        "graphs": [json.dumps(GRAPH.to_dict()).encode()],
        "cache": [bytes(range(60))],
        "checkpoint": [STATE, TENSORS, b'{"step": 3}\n{"step": 4}\n', b'{"torch": "2.13.0"}'],
    }
    return known[target]


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    corpus = FOLDER / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds(sys.argv[1])):
        (corpus / str(number)).write_bytes(seed)
    atheris.Setup([sys.argv[0], *sys.argv[2:], str(corpus)], TARGETS[sys.argv[1]])
    atheris.Fuzz()
