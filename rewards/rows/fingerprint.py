"""Fingerprints of rows: two rows have the same fingerprint if they have the same content.

sample_fingerprint(Sample("Describe.", "A red circle.", references=("A circle.",)))
# 16 hexadecimal digits
row_fingerprint({"prompt": "Describe.", "reference": "A circle."})      # a row without a completion

The row's id and the row's place in a file do not count.
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


def sample_fingerprint(sample: Sample, columns: bool = False) -> str:
    """Returns 16 hexadecimal digits that change with every field of the sample but its id.

    A picture counts by its content. So a copied file is the same picture, and a changed file under
    the same name is a different picture. columns: whether `sample.columns` counts, which only
    metrics of users read.
    """
    content = {field.name: getattr(sample, field.name) for field in fields(sample)}
    content["id"] = None
    content["images"] = [_picture_digest(picture) for picture in sample.images]
    if not columns:
        content["columns"] = None
    # Empty fields do not count, so a field that a later version adds changes no fingerprint.
    filled = {name: value for name, value in content.items() if value}
    text = json.dumps(filled, sort_keys=True, default=repr)
    return short_digest(text)


def row_fingerprint(row: Mapping[str, Any]) -> str:
    """Returns the fingerprint of a row without its completion.

    A file of answers keeps this fingerprint beside each answer, to find the answer's row again.
    Raises ValueError for a value of the wrong type.
    """
    return sample_fingerprint(row_sample(row))


def _picture_digest(picture: Any) -> str:
    """Returns a text that identifies a picture: a hash of its content.

    picture: any form of a picture that `opened_picture` accepts (rows/pictures.py). If the
    picture's file does not exist, the result is the picture's `repr`.
    """
    with suppress(OSError, ValueError):
        if isinstance(picture, Image.Image):
            # the same bytes in another mode or shape are a different picture
            shape = repr((picture.mode, picture.size))
            return short_digest(shape, picture.tobytes())
        content = content_of_picture(picture)
        if content is not None:
            return short_digest("", content)
        name = name_of(picture)
        if name is not None and Path(name).is_file():
            return short_digest("", Path(name).read_bytes())
    return repr(picture)


def short_digest(text: str, content: bytes = b"") -> str:
    """Returns the first 16 hexadecimal digits of the SHA-256 of the text and the bytes."""
    written = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(written + content).hexdigest()[:16]
