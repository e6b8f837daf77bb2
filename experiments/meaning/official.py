"""The published normalisation of VQA accuracy, from what is known of VQAv2's evaluation script.

Where it makes two answers equal, the metric is not at fault that VQA accuracy does not tell them
apart. Written without a look at the product's rule.
"""

import re

MARKS = ';/[]"{}()=+\\_-><@`,?!'
NUMBERS = {
    "none": "0",
    "zero": "0",
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
}
ARTICLES = {"a", "an", "the"}


def without_marks(text: str) -> str:
    """Returns the text without punctuation: what stands at a space goes, the rest becomes a space.

    If digits have a comma between them, all marks go without leaving a space.
    """
    thousands = re.search(r"\d,\d", text) is not None
    bare = text
    for mark in MARKS:
        if thousands or f"{mark} " in text or f" {mark}" in text:
            bare = bare.replace(mark, "")
        else:
            bare = bare.replace(mark, " ")
    return re.sub(r"\.(?!\d)", "", bare)


def official(text: str) -> str:
    """Returns the answer as the published metric compares it."""
    flat = text.replace("\n", " ").replace("\t", " ").strip()
    words = []
    for word in without_marks(flat).lower().split():
        number = NUMBERS.get(word, word)
        if number not in ARTICLES:
            # the script writes apostrophes into contractions: with and without are one word
            words.append(re.sub("n't$", "nt", number))
    return " ".join(words)
