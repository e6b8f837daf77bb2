"""Placeholders of pictures in a text: `<image>`, `<|image_2|>`, `[IMG]` and the like.

    without_placeholders("<image>\\nWhat is it?")                       # "What is it?"
    without_placeholders("What stands behind <image>?", 1)             # "... behind the picture?"
    without_placeholders("Is <image 1> older than <image 2>?", 2)      # "Is picture 1 older ..."
    without_placeholders("Is <image 1> older than <image 2>?", 1)      # a ValueError

A placeholder that stands apart is where the picture goes, and goes itself, as a chat template puts
its own in. One within a sentence is a word of it, and becomes words. Marks and capitals tell what a
sentence is, as the text may be in any language.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Names as LLaVA, Phi, Qwen, Gemma, InternVL, Pixtral and DeepSeek write them. A frame belongs to
# the placeholder before it, as those of Qwen: <|vision_start|><|image_pad|><|vision_end|>.
FRAME = (
    r"(?:vision_(?:start|end)|(?:start|end)_of_(?:image|img)"
    r"|(?:image|img)[ _-]?(?:start|end|pad|context|content|soft_token|break|patch))"
)
NOUN = r"(?:image|img|picture)(?:[ _-]?(?:here|token|placeholder))?"
NAME = rf"(?:{FRAME}|{NOUN})(?:[ _:#-]{{0,2}}\d{{1,4}})?"
FORMS = (
    r"<(?P<tag>img|image)>[^<>\n]{0,300}</(?P=tag)>",  # around a file's name, as in Qwen-VL
    rf"< ?\|?/?{NAME} ?/?\|?>",
    r"<im_(?:start|end|patch)>",  # LLaVA's; <|im_start|> begins a turn
    rf"\[/?{NAME}\]",
    r"\{\{? ?" + NAME + r" ?\}\}?",
)
PLACEHOLDER = re.compile("|".join(FORMS), re.IGNORECASE)
IS_FRAME = re.compile(rf"[<\[ |]+(?:/|im_|{FRAME})", re.IGNORECASE)
OPENS = re.compile("start", re.IGNORECASE)
LAST_NUMBER = re.compile(r"(?<!\d)(\d++)\W*+\Z")
NEAR_CHARACTERS = 80  # characters around a placeholder that are looked at
REST_OF_LINE = re.compile(r"[ \t]*\n?")
# before a placeholder: the end of a sentence or of a control token, and an option's label
SENTENCE_ENDED = re.compile(r"""[.?!\u2026\u3002\uff1f\uff01\]>}]['"\u201d\u2019»)]?\Z""")
LABEL = re.compile(r"(?:\A[(\[]?\w{1,3}|\s[(\[]?(?:\d{1,2}|[A-Za-z]))[.):\]]\Z")
COLONS = (":", "\uff1a")
DETERMINED = re.compile(r"\b(?:the|this|that|your|my|given)[ \t]+\Z", re.IGNORECASE)
AFTER_A_NOUN = re.compile(r"\b(?:image|picture|photo|figure)[ \t]+\Z", re.IGNORECASE)
# behind it: a sentence goes on with a mark or in small letters, which do not ask
SENTENCE_MARKS = tuple("-,;:.?!'\u2019)»\u201d\u3001\uff0c\u3002\uff1f\uff01\uff1a\uff1b")
ASKS = re.compile(r"(?:what|which|who|whom|whose|where|when|why|how)\b")


@dataclass(slots=True)
class Placeholder:
    """Characters [start, end) of a text that stand for one picture.

    Args:
        start: the first character's offset.
        end: the offset behind the last character.
        number: the picture's, from 1, or as it is written; None where none is.
        waits: whether the next token is of the same picture.
    """

    start: int
    end: int
    number: int | None
    waits: bool


def without_placeholders(text: str, pictures: int = 0, name: str = "the text") -> str:
    """Returns what `plain_texts` does of one text."""
    (plain,) = plain_texts([text], pictures, name)
    return plain


def plain_texts(texts: Sequence[str], pictures: int, name: str) -> list[str]:
    """Returns texts about the same pictures without placeholders, in order.

    pictures: how many the row has; 0 where it holds none, and then they are not counted. name: what
    the message calls the texts. Raises ValueError for placeholders of more pictures than there are.
    """
    # The texts' pictures are counted through: the second message's first may be the row's third.
    placeholder_lists = [placeholders(text) for text in texts]
    all_placeholders: list[Placeholder] = []
    for of_text in placeholder_lists:
        all_placeholders.extend(of_text)
    needed_pictures = give_numbers(all_placeholders)
    if needed_pictures > pictures > 0:
        counted = "1 picture" if pictures == 1 else f"{pictures} pictures"
        last = _highest_as_written(texts, placeholder_lists)
        raise ValueError(
            f"{name} has placeholders of {needed_pictures} pictures, such as {last!r}, and the row "
            f"has {counted}: give a picture for each, or write in words what they stand for"
        )
    has_numbers = max(needed_pictures, pictures) > 1
    plain = []
    for text, of_text in zip(texts, placeholder_lists, strict=True):
        if of_text:
            text = "".join(_pieces_in_words(text, of_text, has_numbers)).strip()
        plain.append(text)
    return plain


def placeholders(text: str) -> list[Placeholder]:
    """Returns the text's placeholders, in order."""
    matches: list[Placeholder] = []
    for match in PLACEHOLDER.finditer(text):
        token = match.group()
        is_frame = IS_FRAME.match(token) is not None
        opens = is_frame and OPENS.search(token) is not None
        # a further token of the same picture: the pad and the end of <|vision_start|><|image_pad|>
        last = matches[-1] if matches else None
        if last is not None and not opens and (last.waits or is_frame):
            between = text[last.end : match.start()]
            if not between.strip(" "):
                last.end = match.end()
                last.waits = False
                continue
        number = None
        if not match["tag"]:  # digits of a file's name between tags are no number
            digits = LAST_NUMBER.search(token)
            if digits is not None:
                number = int(digits[1])
        matches.append(Placeholder(match.start(), match.end(), number, opens))
    return matches


def give_numbers(marks: Sequence[Placeholder]) -> int:
    """Gives each placeholder its picture's number, and returns the highest. Those without one are
    of the first picture, the second, and so on; numbers that are written may begin with 0.
    """
    begins_with_zero = any(placeholder.number == 0 for placeholder in marks)
    unnumbered = 0
    highest = 0
    for placeholder in marks:
        if placeholder.number is None:
            unnumbered += 1
            placeholder.number = unnumbered
        elif begins_with_zero:
            placeholder.number += 1
        highest = max(highest, placeholder.number)
    return highest


def _highest_as_written(
    texts: Sequence[str], placeholder_lists: Sequence[Sequence[Placeholder]]
) -> str:
    """Returns how the placeholder of the highest number is written."""
    highest = 0
    token = ""
    for text, of_text in zip(texts, placeholder_lists, strict=True):
        for placeholder in of_text:
            number = placeholder.number or 0
            if number > highest:
                highest = number
                token = text[placeholder.start : placeholder.end]
    return token[:NEAR_CHARACTERS]


def _pieces_in_words(text: str, marks: Sequence[Placeholder], has_numbers: bool) -> Iterator[str]:
    """Yields the text's pieces, with words, or nothing, in place of placeholders.

    marks: the text's placeholders, at least one. has_numbers: whether words tell pictures apart.
    """
    is_alone = len(marks) == 1
    end = 0  # of what was yielded
    for block in _adjacent(text, marks):
        block_start = block[0].start
        block_end = block[-1].end
        if _stands_apart(text, block_start, block_end, is_alone):
            # the picture's own place in the chat: it goes, with the line that it stood on
            yield text[end:block_start]
            rest = REST_OF_LINE.match(text, block_end)
            end = block_end if rest is None else rest.end()
            continue
        for placeholder in block:
            words = _words_of_placeholder(text, placeholder, has_numbers)
            before = text[end : placeholder.start]
            if not words:  # and no two spaces where it stood
                before = before.rstrip(" \t")
            yield before
            yield words
            end = placeholder.end
    yield text[end:]


def _adjacent(text: str, marks: Sequence[Placeholder]) -> Iterator[list[Placeholder]]:
    """Yields placeholders between which there is nothing but space."""
    block: list[Placeholder] = []
    for placeholder in marks:
        if block and text[block[-1].end : placeholder.start].strip():
            yield block
            block = []
        block.append(placeholder)
    yield block


def _stands_apart(text: str, start: int, end: int, alone: bool) -> bool:
    """Returns whether no sentence reaches from before characters [start, end) to behind them, or
    begins with them. alone: whether these are the only placeholder.
    """
    line = _line_before(text, start)
    if LABEL.search(line):
        return False
    if line and not SENTENCE_ENDED.search(line) and not (alone and line.endswith(COLONS)):
        return False
    behind = text[end : end + NEAR_CHARACTERS]
    rest = behind.lstrip(" \t")
    if rest.startswith(SENTENCE_MARKS):
        return False
    goes_on = rest != behind and rest[:1].islower()  # a glued word begins a text of its own
    return not goes_on or ASKS.match(rest) is not None


def _line_before(text: str, place: int) -> str:
    """Returns what stands before a place on its line, of NEAR_CHARACTERS at most."""
    near = text[max(0, place - NEAR_CHARACTERS) : place]
    _, _, line = near.rpartition("\n")
    return line.strip(" \t")


def _words_of_placeholder(text: str, placeholder: Placeholder, has_numbers: bool) -> str:
    """Returns what a placeholder within a sentence says, "" where its words are there already."""
    before = text[max(0, placeholder.start - NEAR_CHARACTERS) : placeholder.start]
    named = AFTER_A_NOUN.search(before) is not None  # "in the image <image>"
    if named and has_numbers:
        words = str(placeholder.number)
    elif has_numbers:
        words = f"picture {placeholder.number}"
    elif named:
        return ""
    elif DETERMINED.search(before):
        words = "picture"
    else:
        words = "the picture"
    # a capital where it begins a sentence, and no label such as "A." ended one
    stripped = before.rstrip()
    is_label = LABEL.search(_line_before(text, placeholder.start)) is not None
    if not stripped or (SENTENCE_ENDED.search(stripped) and not is_label):
        words = words[:1].upper() + words[1:]
    # spaces where it was glued to a word
    if before[-1:].isalnum():
        words = f" {words}"
    if text[placeholder.end : placeholder.end + 1].isalnum():
        words = f"{words} "
    return words
