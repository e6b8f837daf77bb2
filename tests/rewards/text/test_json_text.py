"""Of JSON is read what it says: no key that only names the field, and nothing about the record."""

import pytest

from spanreward.rewards.text.written import read_text

READ = {
    '{"bbox_2d": [4, 8, 90, 200], "label": "a grey heron"}': "a grey heron",
    '```json\n[{"bbox_2d": [4, 8, 90, 200], "label": "a grey heron"}, {"bbox_2d": [1, 2, 3, 4], ' '"label": "two boats"}]\n```': "a grey heron;\ntwo boats",
    '[{"phrase": "a heron", "polygon": [[1, 2], [3, 4]]}, {"phrase": "a boat", "polygon": [[1, ' "2], [3, 4]]}]": "a heron;\na boat",
    '{"caption": "A heron stands.", "confidence": 0.9}': "A heron stands.",
    '{"text": "A heron stands.", "valid": true, "id": 12, "nsfw": false}': "A heron stands.",
    '{"generatedText": "A heron stands in water", "numTokens": 12}': "A heron stands in water",
    '{"label": "dog", "score": 0.98}': "dog",
    '{"objects": [{"name": "heron", "box": [1, 2, 3, 4]}, {"name": "boat"}]}': "heron;\nboat",
    '[{"object": "a dog", "colour": "red"}, {"object": "a cat", "colour": "blue"}]': "a dog;\nred;\na cat;\nblue",
    # a key that says something stays
    '{"Not in the picture": "a dog"}': "Not in the picture: a dog",
    '{"dog colour": "red"}': "dog colour: red",
    '[{"dog colour": "red"}, {"dog colour": "blue"}]': "dog colour: red;\ndog colour: blue",
    '{"bbox": [1, 2, 3, 4], "notPresent": "a dog"}': "notPresent: a dog",
    '[{"missing_object": "a dog"}, {"missing_object": "a cat"}]': "missing_object: a dog;\nmissing_object: a cat",
    # and so does a number that says something
    '{"dogs": 3, "cats": 2}': "dogs: 3;\ncats: 2",
    '{"object": "a dog", "count": 3}': "a dog;\ncount: 3",
    '{"object": "a dog", "present": false}': "a dog;\npresent: false", '{"answer": 42}': "42",
}  # fmt: skip


@pytest.mark.parametrize("text", READ)
def test_json_is_read_as_what_it_says(text: str) -> None:
    reading = read_text(text)
    assert reading.plain == READ[text]
    assert read_text(reading.plain).plain == reading.plain
    assert {kind for _, _, kind in reading.unread} <= {"JSON", "boxes", "Markdown", "labels"}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r'{"caption": "A dog is above\na cat."}', "A dog is above\na cat."),
        (r'{"caption": "A dog.\tA cat."}', "A dog. A cat."),
        (r'{"caption": "3 \times 4"}', "3 \u00d7 4"),
        (r'{"caption": "\nabla f"}', "∇ f"),
    ],
)
def test_breaks_of_lines_are_read_and_commands_are_none(text: str, plain: str) -> None:
    assert read_text(text).plain == plain
