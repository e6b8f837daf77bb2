"""The forms in which a row holds a picture: its bytes, or the name of its file.

    content_of_picture({"bytes": [137, 80, 78, 71]})        # b"\\x89PNG"
    content_of_picture("data:image/png;base64,iVBORw==")    # b"\\x89PNG"
    name_of("file:///photos/a%20b.png")                     # "/photos/a b.png"

Tables of text and JSON hold no bytes. So they come as base64, as numbers, or as Python shows them,
which is no picture any more.
"""

import base64
import binascii
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

DATA_URL = re.compile(r"data:[^,]{0,200},", re.IGNORECASE)
ENCODED = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)
BASE64 = re.compile(r"[A-Za-z0-9+/_\s-]+={0,2}\s*")
SHORTEST = 64  # characters of base64; a PNG has more, and shorter texts are names
# what a picture, bytes or an array look like where a table wrote them as text
WRITTEN_OBJECT = re.compile(r"\s*(?:[{<\[(]|b['\"]|\w+\()")


def content_of_picture(picture: Any) -> bytes | None:
    """Returns the bytes of a picture that is not a file's name; None for other pictures.

    Raises ValueError for what was one, or says that it is one, and holds no bytes.
    """
    if isinstance(picture, bytes | bytearray | memoryview):
        return bytes(picture)
    if isinstance(picture, Mapping):
        stored = _stored(picture.get("bytes"))
        if stored is not None:
            return stored
        picture = name_of(picture)
    if not isinstance(picture, str):
        return None
    if DATA_URL.match(picture):
        content = ENCODED.sub("", picture, count=1)
        if content == picture:
            raise ValueError(f"the picture {picture[:40]!r} is a data URL without base64")
        return decoded(content, picture)
    # a long name without a dot looks like base64, so a file of that name comes first
    if len(picture) >= SHORTEST and BASE64.fullmatch(picture) and not os.path.exists(picture):
        return decoded(picture, picture)
    return None


def _stored(content: Any) -> bytes | None:
    """Returns the bytes that `datasets` and JSON store under "bytes"; None for none of them."""
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content) or None
    if isinstance(content, str) and content:
        return decoded(content, content)
    if isinstance(content, list | tuple) and content:
        try:
            return bytes(content)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the picture's list of numbers holds no bytes ({error})") from None
    return None


def decoded(text: str, written: str) -> bytes:
    """Returns what base64 holds, of either alphabet, maybe in lines and without its end.

    written: what the row has, for the error. Raises ValueError for a text that is no base64.
    """
    in_one_line = "".join(text.split())
    letters = in_one_line.translate(str.maketrans("-_", "+/")).rstrip("=")
    # four letters are three bytes, and a shorter last group is filled up with "="
    padding = "=" * (-len(letters) % 4)
    try:
        return base64.b64decode(letters + padding, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"the picture {written[:40]!r} is no base64 ({error})") from None


def name_of(picture: Any) -> str | None:
    """Returns the path or the URL of a picture; None for one that is there itself."""
    if isinstance(picture, Mapping):
        if picture.get("bytes"):
            return None
        for key in ("path", "image", "url"):
            name = picture.get(key)
            if name and isinstance(name, str | os.PathLike):
                return name_of(name)
        return None
    if not isinstance(picture, str | os.PathLike):
        return None
    name = os.fsdecode(picture)
    if name.lower().startswith("file:"):
        parts = urlsplit(name)
        # a file URL of another machine stays a URL, which is refused
        if parts.netloc in ("", "localhost"):
            return unquote(parts.path)
    return name


def is_shown(name: str) -> bool:
    """Returns whether a text is a value as Python shows it, and not a file's name."""
    return WRITTEN_OBJECT.match(name) is not None
