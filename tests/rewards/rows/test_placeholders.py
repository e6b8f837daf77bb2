"""Placeholders of pictures: those apart go, and those within a sentence become words."""

import time
from pathlib import Path
from typing import Any

import pytest

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.rows.lines import read_row
from spanreward.rewards.rows.placeholders import without_placeholders
from spanreward.rewards.rows.sample import read_sample

FORMS = (
    *("<image>", "<image 1>", "<image_1>", "<image1>", "<|image_1|>", "<|image|>", "<ImageHere>"),
    *("<img>", "<img>a dog.png</img>", "[IMG]", "[IMG1]", "{image}", "{{image}}", "<image/>"),
    *("<image #1>", "< image >", "<im_start><image><im_end>", "<image_placeholder>"),
    *("<im_start><im_patch><im_patch><im_end>", "<start_of_image>"),
    *("<|vision_start|><|image_pad|><|vision_end|>", "<img><IMG_CONTEXT><IMG_CONTEXT></img>"),
)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_goes_where_it_stands_apart_and_is_a_word_of_its_sentence(form: str) -> None:
    for apart in (f"{form}\nWhat is it?", f"{form}What is it?", f"What is it? {form}"):
        assert without_placeholders(apart, 1) == "What is it?"
    assert without_placeholders(f"Look.\n{form}\nWhat is it?", 1) == "Look.\nWhat is it?"
    assert without_placeholders(f"What does {form} show?", 1) == "What does the picture show?"
    assert without_placeholders(form, 1) == ""


IN_SENTENCES = [
    ("Is <image_1> older than <image_2>?", 2, "Is picture 1 older than picture 2?"),
    ("Is <image_0> older than <image_1>?", 2, "Is picture 1 older than picture 2?"),
    ("Is {image} older than {image}?", 2, "Is picture 1 older than picture 2?"),
    ("<image>\n<image>\nIs [IMG2] older?", 2, "Is picture 2 older?"),
    ("Which?\nA. <image 1>\nB. <image 2>", 2, "Which?\nA. picture 1\nB. picture 2"),
    ("Image 1: <image>\nImage 2: <image>", 2, "Image 1: picture 1\nImage 2: picture 2"),
    ("1. <image> 2. <image> Which?", 2, "1. picture 1 2. picture 2 Which?"),
    ("What is in image <image 2>?", 2, "What is in image 2?"),
    ("What is in this <image>?", 1, "What is in this picture?"),
    ("What is in the picture <image>?", 1, "What is in the picture?"),
    ("<image> shows what?", 1, "The picture shows what?"),
    ("<image> what is it?", 1, "what is it?"),
    ("What stands behind <image>", 1, "What stands behind the picture"),
    ("USER: <image>\nWhat is it?", 1, "USER: What is it?"),
    ("图<image>中有几只猫", 1, "图 the picture 中有几只猫"),
    ("<|im_start|>user\nWhat is it?", 1, "<|im_start|>user\nWhat is it?"),
    ("Describe the <imagery> of x<y. ", 1, "Describe the <imagery> of x<y. "),
]


@pytest.mark.parametrize(("text", "pictures", "plain"), IN_SENTENCES)
def test_a_sentence_keeps_its_words(text: str, pictures: int, plain: str) -> None:
    assert without_placeholders(text, pictures) == plain


TOO_MANY = [
    ("Is <image 1> older than <image 2>?", 1, "of 2 pictures,.*'<image 2>'.* 1 picture:"),
    ("What is in <image 3>?", 2, "of 3 pictures,.*'<image 3>'.* 2 pictures:"),
    ("<image><image>\nWhat is it?", 1, "of 2 pictures,.* 1 picture:"),
]


@pytest.mark.parametrize(("text", "pictures", "counts"), TOO_MANY)
def test_more_placeholders_than_pictures_are_refused(text: str, pictures: int, counts: str) -> None:
    with pytest.raises(ValueError, match=f"the question .*{counts}"):
        without_placeholders(text, pictures, "the question")
    row: dict[str, Any] = {"completion": "x", "question": text, "images": ["a.png"] * pictures}
    assert str(read_row(3, "line 3", row, Path()).sample).startswith("line 3: the question ")
    messages = [{"role": "user", "content": text}, {"role": "user", "content": "Say it."}]
    with pytest.raises(ValueError, match="the prompt "):
        read_sample({"images": ["a.png"] * pictures}, "x", messages)


def test_a_row_that_holds_no_picture_is_read() -> None:
    """A metric that sees no picture is given rows without them."""
    row = {"question": "Is <image 1> older than <image 2>?"}
    sample = read_sample(row, "x", "<image>\nSay it.")
    assert sample == Sample("Say it.", "x", question="Is picture 1 older than picture 2?")


def test_many_placeholders_take_a_time_linear_in_the_text() -> None:
    """A quadratic one takes minutes."""
    start = time.perf_counter()
    for text in ("<image> " * 10_000, "<img>" * 10_000, "[" * 100_000, "a <image> b " * 10_000):
        without_placeholders(text)
    assert time.perf_counter() - start < 20
