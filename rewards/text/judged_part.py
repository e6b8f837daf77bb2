"""Finds the part of a completion that a metric judges, if the metric judges one part only.

    judged_range("<caption>A dog.</caption><answer>dog</answer>", "caption")        # (9, 15)
    judged_range('{"caption": "A dog.", "answer": "dog"}', "caption")               # (13, 19)
    judged_range("Caption: A dog.\\nAnswer: dog", "/Caption: (.*)/")                 # (9, 15)

A part is the name of a tag, the name of a JSON key, or a regular expression between slashes. If the
expression has a group, the text of the first group is the part.

If the part occurs several times, the range reaches from the start of the first occurrence to the
end of the last occurrence. All text between is judged, too. Otherwise a policy could hide a bad
caption before or behind a good caption.

Parts within reasoning or within turns of other speakers are ignored. A tag that is never closed
reaches to the end of the text.
"""

import re
from functools import lru_cache

from spanreward.rewards.text.json_text import value_end
from spanreward.rewards.text.shown import blank_unshown

# A user's regular expression searches only so many characters, because the expression may be slow.
MOST_SEARCHED_CHARACTERS = 20_000
_TAG_NAME = re.compile(r"[^\s<>\"'/\\](?:[^<>\"'/\\\n]*[^\s<>\"'/\\])?")


def check_part(part: str | None) -> str | None:
    """Returns the part unchanged: "caption", or "/Caption: (.*)/". None means the whole completion.

    Raises ValueError if the part is neither a name nor a valid regular expression between slashes.
    """
    if part is None:
        return None
    if not isinstance(part, str):
        raise ValueError(f"judged_part is a name or /a regular expression/, got {part!r}")
    if _is_expression(part):
        try:
            re.compile(part[1:-1])
        except re.error as error:
            raise ValueError(f"judged_part is no regular expression: {part}: {error}") from None
    elif not _TAG_NAME.fullmatch(part):
        raise ValueError(
            f"judged_part is the name of a tag or JSON key, or /a regular expression/, got {part!r}"
        )
    return part


def judged_range(text: str, part: str) -> tuple[int, int] | None:
    """Returns the characters [start, end) of the part, without white space at its ends.

    Returns None if the text has no such part. part: a name such as "caption", or a regular
    expression between slashes such as "/Caption: (.*)/".
    """
    # spaces replace reasoning; the length stays the same, so that offsets are valid in both texts
    visible = blank_unshown(text)
    if _is_expression(part):
        part_range = _by_expression(visible, part)
    else:
        part_range = _between_tags(visible, part) or _values_of_key(visible, part)
    if part_range is None:
        return None
    # exclude white space at both ends
    start, end = part_range
    within = text[start:end]
    start += len(within) - len(within.lstrip())
    return start, start + len(within.strip())


def _is_expression(part: str) -> bool:
    """Whether a part is a regular expression between slashes, and not a name."""
    return len(part) > 2 and part[0] == part[-1] == "/"


@lru_cache(maxsize=64)
def _tag_and_key_patterns(part: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns two patterns: for the tags of this name, and for the JSON key of this name."""
    name = re.escape(part)
    tag = rf"<(?P<slash>/)?{name}(?:\s[^<>]*)?>"
    key = rf"(?<!\\)([\"']){name}\1\s*:\s*"
    return re.compile(tag, re.IGNORECASE), re.compile(key, re.IGNORECASE)


def _by_expression(visible: str, part: str) -> tuple[int, int] | None:
    """Returns the range from the first match of the expression to the last match, None without a
    match. "/a (.*)/" in "a dog" has the range (2, 5).

    If the expression has groups, the range of the first group counts for each match. visible: the
    text with spaces in place of the characters that a reader is not shown.
    """
    pattern = _compiled_expression(part)
    group = 1 if pattern.groups else 0
    starts = []
    ends = []
    for match in pattern.finditer(visible, 0, MOST_SEARCHED_CHARACTERS):
        start, end = match.span(group)
        # a start below 0 means that the group has no text in this match
        if start >= 0:
            starts.append(start)
            ends.append(end)
    if not starts:
        return None
    return starts[0], max(ends)


@lru_cache(maxsize=64)
def _compiled_expression(part: str) -> re.Pattern[str]:
    """Returns the compiled expression of a part such as "/Caption: (.*)/"."""
    return re.compile(part[1:-1])


def _between_tags(visible: str, part: str) -> tuple[int, int] | None:
    """Returns the range from the first opening tag to the last closing tag, None without a tag:
    (9, 15) for the tag "caption" in "<caption>A dog.</caption>".

    If the last tag is an opening tag, the range reaches to the end of the text.
    """
    tags, _ = _tag_and_key_patterns(part)
    start = end = -1  # -1 until a tag is found
    is_open = False
    for tag in tags.finditer(visible):
        if not tag["slash"]:
            is_open = True
            if start < 0:
                start = tag.end()
        elif start >= 0:
            is_open = False
            end = tag.start()
    if start < 0:
        return None
    if is_open:
        end = len(visible)
    return start, end


def _values_of_key(visible: str, part: str) -> tuple[int, int] | None:
    """Returns the range from the first value of this JSON key to the last value, None without a
    value: (13, 19) for the key "caption" in `{"caption": "A dog."}`.
    """
    _, keys = _tag_and_key_patterns(part)
    start = end = -1  # -1 until a key is found
    for key in keys.finditer(visible):
        if key.start() < end:  # this key is within the value of the last key
            continue
        begin, end = value_end(visible, key.end())
        if start < 0:
            start = begin
    if start < 0:
        return None
    return start, end
