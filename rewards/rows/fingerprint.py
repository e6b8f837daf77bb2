"""What a row is known by: its content, and not its id or its place in a file.

fingerprint(Sample("Describe.", "A red circle.", references=("A circle.",)))
# 16 hexadecimal digits
"""

import hashlib
import json
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from PIL import Image

from spanreward.rewards.base.verdict import Sample


def fingerprint(sample: Sample, columns: bool = False) -> str:
    """Returns 16 hexadecimal digits that change with every field of the sample but its id.

    columns: whether its other columns count, which only metrics of your own read. A picture counts
    by its content: a copied or moved file is the same picture, and another one under the same name
    is not.
    """
    held = {field.name: getattr(sample, field.name) for field in fields(sample)}
    held |= {
        "id": None,
        "images": list(map(_picture, sample.images)),
        "columns": columns and sample.columns,
    }
    return digest(
        json.dumps(
            {name: value for name, value in held.items() if value}, sort_keys=True, default=repr
        )
    )


def _picture(picture: Any) -> str:
    """Returns a mark of what `opened` takes (rows/pictures.py); the name of what is not there."""
    with suppress(OSError, ValueError):
        if isinstance(picture, Image.Image):
            return digest(repr((picture.mode, picture.size)), picture.tobytes())
        held = (
            (picture.get("bytes") or picture.get("path")) if isinstance(picture, dict) else picture
        )
        if isinstance(held, bytes):
            return digest("", held)
        if isinstance(held, (str, Path)) and Path(held).is_file():
            return digest("", Path(held).read_bytes())
    return repr(picture)


def digest(text: str, content: bytes = b"") -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass") + content).hexdigest()[:16]
