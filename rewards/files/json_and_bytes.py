"""Packs a JSON value with bytes in it, such as a picture, into one sequence of bytes.

    form = JsonAndBytes()
    content = form.packed({"image": b"...", "id": "a"})
    form.unpacked(content)                                  # the same; nobody's code runs for it

The packed form has the JSON first, and then all of the bytes. In the JSON each part of type bytes
is replaced by {mark: [start, end]}. The mark is a key drawn at random, so no value has it.
"""

import json
import secrets
from typing import Any

LENGTH_BYTES = 8  # at the beginning: the number of bytes of the JSON


class JsonAndBytes:
    """Packs and unpacks one value at a time. Several threads must not share one object."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(16)
        self._behind = bytearray()  # the bytes after the JSON, of the current value
        self._encoder = json.JSONEncoder(ensure_ascii=False, default=self._place_of)
        self._decoder = json.JSONDecoder(object_hook=self._with_bytes)

    def packed(self, value: Any) -> bytes | None:
        """Returns the value as bytes, or None if the value would not be equal after unpacking. JSON
        turns a tuple into a list, for example.
        """
        self._behind = bytearray()
        try:
            # For each part of type bytes the encoder calls `_place_of`, which appends the part to
            # `_behind`.
            text = self._encoder.encode(value).encode("utf-8", "surrogatepass")
            length = len(text).to_bytes(LENGTH_BYTES, "big")
            content = length + text + self._behind
            is_exact = self.unpacked(content) == value
        except (TypeError, ValueError, RecursionError):
            return None
        return content if is_exact else None

    def unpacked(self, content: bytes) -> Any:
        """Returns the value of packed bytes. Raises ValueError for bytes that `packed` did not
        write.
        """
        # The content has three parts: the length of the JSON, the JSON, and the bytes that the JSON
        # refers to.
        text_end = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES], "big")
        self._behind = bytearray(content[text_end:])
        text = content[LENGTH_BYTES:text_end].decode("utf-8", "surrogatepass")
        return self._decoder.decode(text)

    def _place_of(self, part: Any) -> dict[str, list[int]]:
        """Appends a part of type bytes after the JSON, and returns the object that replaces it in
        the JSON. The encoder calls this for every part that is no JSON. Raises TypeError if the
        part is no bytes.
        """
        if not isinstance(part, bytes):
            raise TypeError(f"{type(part).__name__} is neither JSON nor bytes")
        start = len(self._behind)
        self._behind.extend(part)
        return {self._mark: [start, len(self._behind)]}

    def _with_bytes(self, part: dict[str, Any]) -> Any:
        """Returns what an object of the JSON stands for: {mark: [0, 3]} stands for the first three
        bytes after the JSON. Any other object stands for itself.

        The decoder calls this for each object.
        """
        if self._mark not in part:
            return part
        start, end = part[self._mark]
        return bytes(self._behind[start:end])
