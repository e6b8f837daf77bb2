"""Reads what W&B wrote offline: wandb 0.31 has no reader in Python.

Its log is LevelDB's, behind 7 bytes.
"""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto import wandb_internal_pb2

BLOCK = 32768
HEADER = struct.Struct("<IHB")  # checksum, length, kind
LAST = (1, 4)  # kinds of chunk that end a record


def records(path: Path) -> Iterator[Any]:
    """The records of a run-*.wandb file."""
    data = path.read_bytes()
    assert data[:4] == b":W&B"
    at, record = 7, b""
    while at + HEADER.size <= len(data):
        if BLOCK - at % BLOCK < HEADER.size:
            at += BLOCK - at % BLOCK
            continue
        _, length, kind = HEADER.unpack_from(data, at)
        record += data[at + HEADER.size : at + HEADER.size + length]
        at += HEADER.size + length
        if kind in LAST:
            message = wandb_internal_pb2.Record()
            message.ParseFromString(record)
            yield message
            record = b""


def history(folder: Path) -> list[dict[str, Any]]:
    """The rows of the only offline run in `folder`, keys within values joined by dots."""
    rows = []
    for record in records(only_run(folder)):
        if record.HasField("history"):
            items = record.history.item
            rows.append({".".join(i.nested_key) or i.key: json.loads(i.value_json) for i in items})
    return rows


def only_run(folder: Path) -> Path:
    (path,) = folder.glob("offline-run-*/run-*.wandb")
    return path
