"""Replaces placeholders of pictures in a text, such as `<image>`, `<|image_2|>` and `[IMG]`.

    without_placeholders("<image>\\nWhat is it?")                       # "What is it?"
    without_placeholders("What stands behind <image>?", 1)             # "... behind the picture?"
    without_placeholders("Is <image 1> older than <image 2>?", 2)      # "Is picture 1 older ..."
    without_placeholders("Is <image 1> older than <image 2>?", 1)      # a ValueError

A placeholder outside any sentence only marks the picture's place in the chat. Such a placeholder is
dropped, because the judge's chat template adds a placeholder itself. A placeholder within a
sentence is replaced by words, because the sentence needs them. Punctuation and capitals decide
whether a placeholder is within a sentence, because the text may be in any language.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# The names in the placeholders of LLaVA, Phi, Qwen, Gemma, InternVL, Pixtral and DeepSeek. A frame
# is a token that joins its neighbours to one placeholder: the three tokens
# <|vision_start|><|image_pad|><|vision_end|> of Qwen are one placeholder.
FRAMED_NOUN = (
    r"(?:vision_(?:start|end)|(?:start|end)_of_(?:image|img)"
    r"|(?:image|img)[ _-]?(?:start|end|pad|context|content|soft_token|break|patch))"
)
PLACEHOLDER_NOUN = r"(?:image|img|picture)(?:[ _-]?(?:here|token|placeholder))?"
PLACEHOLDER_NAME = rf"(?:{FRAMED_NOUN}|{PLACEHOLDER_NOUN})(?:[ _:#-]{{0,2}}\d{{1,4}})?"
PLACEHOLDER_FORMS = (
    r"<(?P<tag>img|image)>[^<>\n]{0,300}</(?P=tag)>",  # around a file's name, as in Qwen-VL
    rf"< ?\|?/?{PLACEHOLDER_NAME} ?/?\|?>",
    r"<im_(?:start|end|patch)>",  # a frame of LLaVA; <|im_start|>, with bars, begins a turn
    rf"\[/?{PLACEHOLDER_NAME}\]",
    r"\{\{? ?" + PLACEHOLDER_NAME + r" ?\}\}?",
)
PLACEHOLDER = re.compile("|".join(PLACEHOLDER_FORMS), re.IGNORECASE)
IS_FRAME = re.compile(rf"[<\[ |]+(?:/|im_|{FRAMED_NOUN})", re.IGNORECASE)
START_WORD = re.compile("start", re.IGNORECASE)
LAST_NUMBER = re.compile(r"(?<!\d)(\d++)\W*+\Z")
NEAR_CHARACTERS = 80  # characters around a placeholder that are looked at
REST_OF_LINE = re.compile(r"[ \t]*\n?")
# text before a placeholder: the end of a sentence or of a control token, or the label of an option
SENTENCE_ENDED = re.compile(r"""[.?!\u2026\u3002\uff1f\uff01\]>}]['"\u201d\u2019»)]?\Z""")
LABEL_BEFORE = re.compile(r"(?:\A[(\[]?\w{1,3}|\s[(\[]?(?:\d{1,2}|[A-Za-z]))[.):\]]\Z")
COLON_SIGNS = (":", "\uff1a")
DETERMINER_BEFORE = re.compile(r"\b(?:the|this|that|your|my|given)[ \t]+\Z", re.IGNORECASE)
AFTER_A_NOUN = re.compile(r"\b(?:image|picture|photo|figure)[ \t]+\Z", re.IGNORECASE)
# Text behind a placeholder: the sentence continues with a punctuation mark or in small letters. A
# small question word such as "what" begins a new sentence.
SENTENCE_MARKS = tuple("-,;:.?!'\u2019)»\u201d\u3001\uff0c\u3002\uff1f\uff01\uff1a\uff1b")
QUESTION_WORD = re.compile(r"(?:what|which|who|whom|whose|where|when|why|how)\b")


@dataclass(slots=True)
class Placeholder:
    """The placeholder of one picture: the characters [start, end) of a text.

    Args:
        start: the first character's offset.
        end: the offset behind the last character.
        number: the written number of the picture, or None without a written number. After
            `give_numbers`, the number of the picture, from 1.
        waits: whether the last token opens a frame, so that the next token belongs to the same
            placeholder.
    """

    start: int
    end: int
    number: int | None
    waits: bool


def without_placeholders(text: str, pictures: int = 0, name: str = "the text") -> str:
    """Returns one text without placeholders. `plain_texts` explains the arguments and errors."""
    (plain,) = plain_texts([text], pictures, name)
    return plain


def plain_texts(texts: Sequence[str], pictures: int, name: str) -> list[str]:
    """Returns the texts of one row without placeholders, in order.

    texts: the row's messages, for example. pictures: the number of the row's pictures. With 0 the
    number is not checked. name: the name of the texts in an error, such as "the prompt". Raises
    ValueError for placeholders of more pictures than the row has.
    """
    # Count the placeholders of all texts together: the first placeholder of the second message may
    # be the row's third picture.
    placeholder_lists = [find_placeholders(text) for text in texts]
    all_placeholders: list[Placeholder] = []
    for of_text in placeholder_lists:
        all_placeholders.extend(of_text)
    highest_number = give_numbers(all_placeholders)  # also sets each placeholder's number
    needed_pictures = highest_number
    if needed_pictures > pictures > 0:
        counted = "1 picture" if pictures == 1 else f"{pictures} pictures"
        last = _highest_as_written(texts, placeholder_lists)
        raise ValueError(
            f"{name} has placeholders of {needed_pictures} pictures, such as {last!r}, and the row "
            f"has {counted}: give a picture for each, or write in words what they stand for"
        )
    # write words in place of the placeholders, with numbers if there are several pictures
    has_numbers = max(needed_pictures, pictures) > 1
    plain = []
    for text, of_text in zip(texts, placeholder_lists, strict=True):
        if of_text:
            text = "".join(_pieces_in_words(text, of_text, has_numbers)).strip()
        plain.append(text)
    return plain


def find_placeholders(text: str) -> list[Placeholder]:
    """Returns the text's placeholders, in order: "Is <image 2> red?" has one placeholder with the
    characters [3, 12) and the number 2.

    A placeholder may be several tokens: <|vision_start|><|image_pad|><|vision_end|> is one picture.
    Each of these tokens is a part of a placeholder, and the first token opens the placeholder.
    """
    placeholders: list[Placeholder] = []
    for match in PLACEHOLDER.finditer(text):
        token = match.group()
        is_part = IS_FRAME.match(token) is not None
        opens = is_part and START_WORD.search(token) is not None
        if placeholders and not opens:
            previous = placeholders[-1]
            is_adjacent = not text[previous.end : match.start()].strip(" ")
            # <|vision_end|> is a part, and <image> belongs to an opening token before it
            if is_adjacent and (is_part or previous.waits):
                previous.end = match.end()
                previous.waits = False
                continue
        number = _written_number(match)
        placeholders.append(Placeholder(match.start(), match.end(), number, waits=opens))
    return placeholders


def _written_number(match: re.Match[str]) -> int | None:
    """Returns the number of a picture in its placeholder: 2 for "<image 2>", None for "<image>".

    match: a match of PLACEHOLDER. Digits in a file's name, as in "<img>dog 2.png</img>", are no
    number of a picture.
    """
    # PLACEHOLDER has the group `tag` for a pair of tags around a file's name
    has_file_name = match["tag"] is not None
    if has_file_name:
        return None
    digits = LAST_NUMBER.search(match.group())
    return None if digits is None else int(digits[1])


def give_numbers(marks: Sequence[Placeholder]) -> int:
    """Sets the number, from 1, of each placeholder, and returns the highest number.

    Placeholders without a written number get 1, 2 and so on. If a placeholder has the written
    number 0, all written numbers are increased by 1.
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
    """Returns the text of the placeholder with the highest number, such as "<image 2>"."""
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
    """Yields the pieces of the text, with words or nothing in place of each placeholder: "Is
    <image> red?" gives "Is ", "the picture" and " red?".

    marks: the text's placeholders, at least one. has_numbers: whether the words contain the number
    of the picture.
    """
    is_alone = len(marks) == 1
    end = 0  # the offset up to which the text was yielded
    for block in _blocks_of_adjacent(text, marks):
        block_start = block[0].start
        block_end = block[-1].end
        if _is_outside_sentences(text, block_start, block_end, is_alone):
            # drop the placeholders and the rest of their line
            yield text[end:block_start]
            rest = REST_OF_LINE.match(text, block_end)
            end = block_end if rest is None else rest.end()
            continue
        # replace each placeholder within a sentence by words
        for placeholder in block:
            words = _words_of_placeholder(text, placeholder, has_numbers)
            before = text[end : placeholder.start]
            if not words:  # without words, keep only one of the spaces around the placeholder
                before = before.rstrip(" \t")
            yield before
            yield words
            end = placeholder.end
    yield text[end:]


def _blocks_of_adjacent(text: str, marks: Sequence[Placeholder]) -> Iterator[list[Placeholder]]:
    """Yields blocks of placeholders with nothing but white space between them: "<image> <image> or
    <image>?" has a block of two and a block of one.
    """
    block: list[Placeholder] = []
    for placeholder in marks:
        if block and text[block[-1].end : placeholder.start].strip():
            yield block
            block = []
        block.append(placeholder)
    yield block


def _is_outside_sentences(text: str, start: int, end: int, is_alone: bool) -> bool:
    """Returns whether the placeholders at the characters [start, end) are outside any sentence: yes
    in "<image> What is it?", no in "What does <image> show?".

    False if a sentence before the placeholders continues, or if a sentence begins with the
    placeholders. is_alone: whether the text has only one placeholder.
    """
    line = _line_before(text, start)
    if LABEL_BEFORE.search(line):
        return False
    # after a colon, the text's only placeholder ends the sentence
    is_after_colon = is_alone and line.endswith(COLON_SIGNS)
    if line and not SENTENCE_ENDED.search(line) and not is_after_colon:
        return False
    behind = text[end : end + NEAR_CHARACTERS]
    rest = behind.lstrip(" \t")
    if rest.startswith(SENTENCE_MARKS):
        return False
    # A small letter continues the sentence: "<image> shows a dog". But a question word begins a new
    # sentence, as in "<image> what is it?", and so does a word without a space: "<image>describe".
    is_small = rest[:1].islower()
    is_question = QUESTION_WORD.match(rest) is not None
    has_space = behind.startswith((" ", "\t"))
    continues_sentence = is_small and has_space and not is_question
    return not continues_sentence


def _line_before(text: str, place: int) -> str:
    """Returns the text between the start of the line and the offset `place`, stripped.

    At most NEAR_CHARACTERS characters before the offset are looked at.
    """
    near = text[max(0, place - NEAR_CHARACTERS) : place]
    _, _, line = near.rpartition("\n")
    return line.strip(" \t")


def _words_of_placeholder(text: str, placeholder: Placeholder, has_numbers: bool) -> str:
    """Returns the words that replace a placeholder within a sentence, such as "the picture".

    has_numbers: whether the words contain the picture's number, as in "picture 2". If the text
    before the placeholder names the picture already, as in "in the image <image>", the words are
    only "2", or "" without numbers.
    """
    before = text[max(0, placeholder.start - NEAR_CHARACTERS) : placeholder.start]
    is_named = AFTER_A_NOUN.search(before) is not None  # "in the image <image>"
    if has_numbers:
        words = str(placeholder.number) if is_named else f"picture {placeholder.number}"
    elif is_named:
        return ""
    elif DETERMINER_BEFORE.search(before):  # "this <image>"
        words = "picture"
    else:
        words = "the picture"
    # begin with a capital at the start of a sentence; a label such as "A." ends no sentence
    stripped = before.rstrip()
    is_label = LABEL_BEFORE.search(_line_before(text, placeholder.start)) is not None
    if not stripped or (SENTENCE_ENDED.search(stripped) and not is_label):
        words = words[:1].upper() + words[1:]
    # add spaces if a word follows or precedes the placeholder without a space
    if before[-1:].isalnum():
        words = f" {words}"
    if text[placeholder.end : placeholder.end + 1].isalnum():
        words = f"{words} "
    return words
