r"""Decodes texts that were joined from a tokenizer's tokens: "AĠgreyĠheron." is "A grey heron."

Tokenizers write white space as signs such as "Ġ" and "▁". These signs have other uses, too: "Ġ" is
a letter of Maltese, and "▁▂▅" draws a chart. So the signs are decoded only in texts with (almost)
no white space. Byte-level tokenizers, which write "Ġ", also write each byte of UTF-8 as a letter:
"cafÃ©" is "café".
"""

import re
from collections.abc import Iterator

from spanreward.rewards.text.pieces import TOKENS, Piece

_SPACE_SIGNS = {
    "\u0120": " ",
    "\u2581": " ",
    "\u010a": "\n",
    "\u0109": "\t",
    "\u010d": "",  # a carriage return, which a line break follows
}
_TOKEN_SIGNS = "".join(_SPACE_SIGNS)
_MARKED_TOKEN = re.compile(
    rf"(?P<special><[|\uff5c][^<>\n]{{0,64}}?[|\uff5c]>)|(?P<sign>[{_TOKEN_SIGNS}])"
    r"|(?P<bytes>[\xa1-\u0143]+?(?=[\u0120\u010a]|[^\xa1-\u0143]|\Z))"
)
_DRAWN_BLOCKS = re.compile(r"\u2581[\u2582-\u259f]|[\u2582-\u259f]\u2581")
_SIGN_WITHIN_TEXT = re.compile(r"[^\W\d_A-Z][\u0120\u010a]|[.,;:!?][\u0120\u010a]|\u010a|\u2581")
# signs are decoded if the text has at least 4 signs for each white space character
MIN_SIGNS_PER_SPACE = 4


def _bytes_of_letters() -> dict[str, int]:
    """Returns the byte that each letter of a byte-level tokenizer stands for: "\u0120" gives 0x20.

    The letter of a printable byte is the character of the same number. The other bytes have the
    letters from U+0100 on, in order.
    """
    printable = [
        *range(0x21, 0x7F),  # ASCII
        *range(0xA1, 0xAD),  # Latin-1, up to the soft hyphen, which cannot be seen
        *range(0xAE, 0x100),
    ]
    letters = {chr(byte): byte for byte in printable}
    # the other bytes, in order: the space, byte 0x20, is the 33rd and has the letter U+0120
    following = 0x100
    for byte in range(256):
        if byte not in printable:
            letters[chr(following)] = byte
            following += 1
    return letters


_BYTES_OF_SIGNS = _bytes_of_letters()


def without_token_marks(text: str) -> Iterator[Piece]:
    """Yields the pieces of the text, with white space in place of a tokenizer's signs."""
    if not _signs_are_spaces(text):
        yield 0, len(text)
        return
    # byte-level tokenizers write "Ġ"; tokenizers that write "▁" do not write bytes as letters
    has_byte_letters = "\u0120" in text or "\u010a" in text
    at = 0  # the offset up to which the text is yielded
    for token in _MARKED_TOKEN.finditer(text):
        start, end = token.span()
        # a special token such as "<|end▁of▁turn|>" is kept with its signs: later stages know the
        # token by its name
        if token["special"]:
            continue
        # letters such as "é" are text if they stand for no bytes
        if token["bytes"] and not has_byte_letters:
            continue
        yield at, start
        at = end
        if token["sign"]:
            yield start, end, TOKENS
            # the sign before the first word is no space
            if start > 0:
                yield _SPACE_SIGNS[token["sign"]], start
        else:
            yield from _decoded_bytes(token)
    yield at, len(text)


def _signs_are_spaces(text: str) -> bool:
    """Whether the text has signs of a tokenizer that stand for white space: "AĠredĠkite"."""
    count = sum(1 for token in _MARKED_TOKEN.finditer(text) if token["sign"])
    if not count or _DRAWN_BLOCKS.search(text):
        return False
    # a single sign may be a Maltese letter, unless no such letter can be at its place ("a,Ġ")
    if count == 1 and not _SIGN_WITHIN_TEXT.search(text):
        return False
    # a text of tokens has its spaces as signs, so it has little white space of its own
    spaces = sum(map(str.isspace, text))
    return spaces * MIN_SIGNS_PER_SPACE <= count


def _decoded_bytes(token: re.Match[str]) -> Iterator[Piece]:
    """Yields the characters for letters that stand for bytes: "Ã©" gives "é".

    Letters whose bytes are no valid UTF-8 are kept.
    """
    start, end = token.span()
    try:
        codes = bytes(_BYTES_OF_SIGNS[letter] for letter in token["bytes"])
        decoded = codes.decode()
    except (KeyError, UnicodeDecodeError):
        yield start, end
        return
    yield start, end, TOKENS
    # a character of n bytes comes from n letters
    for character in decoded:
        yield character, start
        start += len(character.encode())
