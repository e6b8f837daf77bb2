r"""The signs that tokenizers write for white space, where a text was put together of its tokens and
never decoded: "AĠgreyĠheron." and "▁A▁grey▁heron." are "A grey heron."

These signs also have uses of their own: "Ġ" is a letter of Maltese, and "▁▂▅" draws a chart. They
stand for white space where the text has (almost) none beside them. The letters of such a byte-level
text stand for bytes: "cafÃ©" is "café".
"""

import re
from collections.abc import Iterator

from spanreward.rewards.text.pieces import TOKENS, Piece

_SPACES = {
    "\u0120": " ",
    "\u2581": " ",
    "\u010a": "\n",
    "\u0109": "\t",
    "\u010d": "",  # a carriage return, beside the line break that follows
}
_TOKEN_SIGNS = "".join(_SPACES)
_MARKED_TOKEN = re.compile(
    rf"(?P<special><[|\uff5c][^<>\n]{{0,64}}?[|\uff5c]>)|(?P<sign>[{_TOKEN_SIGNS}])"
    r"|(?P<bytes>[\xa1-\u0143]+?(?=[\u0120\u010a]|[^\xa1-\u0143]|\Z))"
)
_DRAWN = re.compile(r"\u2581[\u2582-\u259f]|[\u2582-\u259f]\u2581")
_WITHIN = re.compile(r"[^\W\d_A-Z][\u0120\u010a]|[.,;:!?][\u0120\u010a]|\u010a|\u2581")
RARE = 4  # signs for white space to each white space, at least


def _bytes_of_letters() -> dict[str, int]:
    """Returns the byte of each letter by which byte-level tokenizers write it: printable ones stand
    for themselves, the others follow from U+0100 on.
    """
    printable = [
        *range(0x21, 0x7F),  # ASCII
        *range(0xA1, 0xAD),  # Latin-1, up to the soft hyphen, which cannot be seen
        *range(0xAE, 0x100),
    ]
    letters = {chr(byte): byte for byte in printable}
    # the others in their order: the space, byte 0x20, is the 33rd of them and becomes U+0120
    following = 0x100
    for byte in range(256):
        if byte not in printable:
            letters[chr(following)] = byte
            following += 1
    return letters


_BYTES = _bytes_of_letters()


def without_token_marks(text: str) -> Iterator[Piece]:
    """Yields the text with white space in place of a tokenizer's signs for it."""
    if not _stand_for_spaces(text):
        yield 0, len(text)
        return
    # only where these stand letters may be bytes: "▁" is of tokenizers that write letters
    byte_level = "\u0120" in text or "\u010a" in text
    at = 0
    for token in _MARKED_TOKEN.finditer(text):
        start, end = token.span()
        if token["special"] or (token["bytes"] and not byte_level):
            continue
        yield at, start
        at = end
        if token["sign"]:
            yield start, end, TOKENS
            # the sign before the first word stands for no space
            if start > 0:
                yield _SPACES[token["sign"]], start
        else:
            yield from _decoded_bytes(token)
    yield at, len(text)


def _stand_for_spaces(text: str) -> bool:
    """Whether the signs stand for white space here, and not for themselves."""
    count = sum(1 for token in _MARKED_TOKEN.finditer(text) if token["sign"])
    if not count or _DRAWN.search(text):
        return False
    # one alone may be a letter, unless it stands where none does
    if count == 1 and not _WITHIN.search(text):
        return False
    spaces = sum(map(str.isspace, text))
    return spaces * RARE <= count


def _decoded_bytes(token: re.Match[str]) -> Iterator[Piece]:
    """Yields the characters whose bytes these letters stand for, or the letters if they are no
    UTF-8.
    """
    start, end = token.span()
    try:
        codes = bytes(_BYTES[letter] for letter in token["bytes"])
        decoded = codes.decode()
    except (KeyError, UnicodeDecodeError):
        yield start, end
        return
    yield start, end, TOKENS
    # each character comes from as many letters as it has bytes
    for character in decoded:
        yield character, start
        start += len(character.encode())
