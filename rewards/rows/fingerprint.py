"""What a row is known by: its content, and not its id or its place in a file.

fingerprint(Sample("Describe.", "A red circle.", references=("A circle.",)))
# 16 hexadecimal digits
row_fingerprint({"prompt": "Describe.", "reference": "A circle."})      # of a row without an answer
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from PIL import Image

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.picture_forms import content_of_picture, name_of
from spanreward.rewards.rows.sample import row_sample


def fingerprint(sample: Sample, columns: bool = False) -> str:
    """Returns 16 hexadecimal digits that change with every field of the sample but its id.

    columns: whether its other columns count, which only metrics of your own read. A picture counts
    by its content: a copied or moved file is the same picture, and another one under the same name
    is not.
    """
    content = {field.name: getattr(sample, field.name) for field in fields(sample)}
    content["id"] = None
    content["images"] = [_picture(picture) for picture in sample.images]
    if not columns:
        content["columns"] = None
    # Empty fields do not count, so a field that a later version adds changes no fingerprint.
    filled = {name: value for name, value in content.items() if value}
    text = json.dumps(filled, sort_keys=True, default=repr)
    return digest(text)


def row_fingerprint(row: Mapping[str, Any]) -> str:
    """Returns the fingerprint of a row, whatever its answer: what a file of answers keeps beside
    each. Raises ValueError for a value of the wrong type.
    """
    return fingerprint(row_sample(row))


def _picture(picture: Any) -> str:
    """Returns a mark of what `opened` takes (rows/pictures.py); the name of what is not there."""
    with suppress(OSError, ValueError):
        if isinstance(picture, Image.Image):
            # equal bytes are other pictures in another mode or shape
            shape = repr((picture.mode, picture.size))
            return digest(shape, picture.tobytes())
        content = content_of_picture(picture)
        if content is not None:
            return digest("", content)
        name = name_of(picture)
        if name is not None and Path(name).is_file():
            return digest("", Path(name).read_bytes())
    return repr(picture)


def digest(text: str, content: bytes = b"") -> str:
    """Returns the first 16 hexadecimal digits of the SHA-256 of the text and the bytes."""
    written = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(written + content).hexdigest()[:16]
