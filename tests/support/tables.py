"""The same rows as files of every kind."""

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset

KINDS = (
    "jsonl", "jsonl.gz", "json", "pretty.json", "csv", "csv.gz", "excel.csv", "tsv", "parquet",
    "hub", "saved",
)  # fmt: skip


def table(folder: Path, kind: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Writes the rows (lists as JSON), and returns what names them on a command line."""
    path = folder / f"rows.{kind}"
    if kind.endswith(".gz"):
        plain = Path(table(folder, kind.removesuffix(".gz"), rows))
        path.write_bytes(gzip.compress(plain.read_bytes()))
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind.endswith("json"):
        path.write_text(json.dumps(list(rows), indent=2 if "pretty" in kind else None))
    elif kind.endswith(("csv", "tsv")):
        separator = {"csv": ",", "excel.csv": ";", "tsv": "\t"}[kind]
        encoding = "utf-8-sig" if "excel" in kind else "utf-8"
        with path.open("w", encoding=encoding, newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
            writer.writeheader()
            writer.writerows({key: in_text(value) for key, value in row.items()} for row in rows)
    elif kind == "parquet":
        Dataset.from_list(list(rows)).to_parquet(path)
    elif kind == "hub":
        path.mkdir(exist_ok=True)
        Dataset.from_list(list(rows)).to_parquet(path / "train.parquet")
    else:
        Dataset.from_list(list(rows)).save_to_disk(path)
    return f"hub:{path}" if kind in ("hub", "saved") else str(path)


def in_text(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list) else value
