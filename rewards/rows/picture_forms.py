"""Reads the forms in which a row holds a picture: the bytes, or the name of a file.

    content_of_picture({"bytes": [137, 80, 78, 71]})        # b"\\x89PNG"
    content_of_picture("data:image/png;base64,iVBORw==")    # b"\\x89PNG"
    name_of("file:///photos/a%20b.png")                     # "/photos/a b.png"

JSON and tables of text cannot hold bytes. So the bytes are written as base64 or as a list of
numbers. If the bytes were written as Python prints them (`b'...'`), the picture is lost.
"""

import base64
import binascii
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

# the beginning of any data URL, up to its content, and of a data URL with base64
DATA_URL_START = re.compile(r"data:[^,]{0,200},", re.IGNORECASE)
BASE64_URL_START = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)
BASE64_TEXT = re.compile(r"[A-Za-z0-9+/_\s-]+={0,2}\s*")
MIN_BASE64_CHARACTERS = 64  # a shorter text is a name, not base64: a PNG has more characters
# the beginning of a picture, bytes or an array that a table wrote as Python prints them
WRITTEN_OBJECT = re.compile(r"\s*(?:[{<\[(]|b['\"]|\w+\()")


def content_of_picture(picture: Any) -> bytes | None:
    """Returns the bytes of a picture, or None for a file's name and for a PIL image: the data URL
    "data:image/png;base64,iVBORw==" gives b"\\x89PNG".

    Raises ValueError for a value in the form of bytes, such as a data URL, without valid bytes.
    """
    if isinstance(picture, bytes | bytearray | memoryview):
        return bytes(picture)
    # a dict with bytes, or with a name
    if isinstance(picture, Mapping):
        stored = _stored_bytes(picture.get("bytes"))
        if stored is not None:
            return stored
        picture = name_of(picture)
    if not isinstance(picture, str):
        return None
    if DATA_URL_START.match(picture):
        start = BASE64_URL_START.match(picture)
        if start is None:
            raise ValueError(f"the picture {picture[:40]!r} is a data URL without base64")
        return decoded_base64(picture[start.end() :], picture)
    # a long name without a dot looks like base64, so check first that no such file exists
    if (
        len(picture) >= MIN_BASE64_CHARACTERS
        and BASE64_TEXT.fullmatch(picture)
        and not os.path.exists(picture)
    ):
        return decoded_base64(picture, picture)
    return None


def _stored_bytes(content: Any) -> bytes | None:
    """Returns the bytes that `datasets` or JSON stores under the key "bytes", or None without
    bytes.
    """
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content) or None
    if isinstance(content, str) and content:
        return decoded_base64(content, content)
    if isinstance(content, list | tuple) and content:
        try:
            return bytes(content)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the picture's list of numbers holds no bytes ({error})") from None
    return None


def decoded_base64(text: str, written: str) -> bytes:
    """Returns the bytes of a text in base64.

    Both alphabets are read (with "+/" and with "-_"), with line breaks, and with or without "=" at
    the end. written: the row's value, for the error. Raises ValueError for a text that is no
    base64.
    """
    in_one_line = "".join(text.split())
    letters = in_one_line.translate(str.maketrans("-_", "+/")).rstrip("=")
    # four letters are three bytes; add "=" until the last group has four letters
    padding = "=" * (-len(letters) % 4)
    try:
        return base64.b64decode(letters + padding, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"the picture {written[:40]!r} is no base64 ({error})") from None


def name_of(picture: Any) -> str | None:
    """Returns the path or the URL of a picture, or None for a picture without path and URL:
    {"path": "a.png", "bytes": None} gives "a.png".
    """
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
        # the file URL of another machine stays a URL, and `opened_picture` refuses URLs
        if parts.netloc in ("", "localhost"):
            return unquote(parts.path)
    return name


def is_printed_object(name: str) -> bool:
    """Returns whether a text is a value as Python prints it (`b'...'`), and not a file's name."""
    return WRITTEN_OBJECT.match(name) is not None
