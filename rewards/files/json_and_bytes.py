"""Values of JSON with bytes among them, such as pictures, as one run of bytes.

    form = JsonAndBytes()
    content = form.packed({"image": b"...", "id": "a"})
    form.unpacked(content)                                  # the same; nobody's code runs for it

The bytes stand behind the JSON. In their place the JSON has {mark: [start, end]}, where the mark is
a key that no value has, for it is drawn at random.
"""

import json
import secrets
from typing import Any

LENGTH_BYTES = 8  # at the beginning: the number of bytes of the JSON


class JsonAndBytes:
    """Packs and unpacks one value at a time, for one thread."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(16)
        self._behind = bytearray()  # the bytes of the value that is packed or unpacked
        self._encoder = json.JSONEncoder(ensure_ascii=False, default=self._place_of)
        self._decoder = json.JSONDecoder(object_hook=self._with_bytes)

    def packed(self, value: Any) -> bytes | None:
        """Returns the value as bytes, or None for one that would not come back equal, such as a
        tuple, of which JSON makes a list.
        """
        self._behind = bytearray()
        try:
            text = self._encoder.encode(value).encode("utf-8", "surrogatepass")
            content = len(text).to_bytes(LENGTH_BYTES, "big") + text + self._behind
            is_exact = self.unpacked(content) == value
        except (TypeError, ValueError, RecursionError):
            return None
        return content if is_exact else None

    def unpacked(self, content: bytes) -> Any:
        """Returns the value again. Raises ValueError for bytes that `packed` did not write."""
        # the length of the text, the text, and the bytes that it refers to
        text_end = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES], "big")
        self._behind = bytearray(content[text_end:])
        text = content[LENGTH_BYTES:text_end].decode("utf-8", "surrogatepass")
        return self._decoder.decode(text)

    def _place_of(self, part: Any) -> dict[str, list[int]]:
        """Appends bytes behind the JSON, and returns what stands for them in it. The encoder asks
        for all that it cannot write itself.
        """
        if not isinstance(part, bytes):
            raise TypeError(f"{type(part).__name__} is neither JSON nor bytes")
        start = len(self._behind)
        self._behind.extend(part)
        return {self._mark: [start, len(self._behind)]}

    def _with_bytes(self, part: dict[str, Any]) -> Any:
        """Returns the bytes that an object stands for, or the object."""
        if self._mark not in part:
            return part
        start, end = part[self._mark]
        return bytes(self._behind[start:end])
