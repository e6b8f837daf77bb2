"""Which part of a completion a metric judges, where it judges one part only.

    judged_range("<caption>A dog.</caption><answer>dog</answer>", "caption")        # (9, 15)
    judged_range('{"caption": "A dog.", "answer": "dog"}', "caption")               # (13, 19)
    judged_range("Caption: A dog.\\nAnswer: dog", "/Caption: (.*)/")                 # (9, 15)

A part is the name of a tag or of a JSON key, or a regular expression between slashes, whose first
group counts. Where it occurs several times, the range goes from the start of the first one to the
end of the last one, with all that stands between. So whichever of them a reader takes, it is
judged, and a policy cannot hide a bad caption before or behind a good one, nor within it. Reasoning
and turns of others have no part. A tag without an end goes to the end of the text.
"""

import re
from functools import lru_cache

from spanreward.rewards.text.json_text import value_end
from spanreward.rewards.text.shown import blanked

# characters that a regular expression of a user's own is tried on: it may be slow
MOST_SEARCHED_CHARACTERS = 20_000
_NAME = re.compile(r"[^\s<>\"'/\\](?:[^<>\"'/\\\n]*[^\s<>\"'/\\])?")


def check_part(part: str | None) -> str | None:
    """Returns the part.

    Raises ValueError for what is no name and no regular expression.
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
    elif not _NAME.fullmatch(part):
        raise ValueError(
            f"judged_part is the name of a tag or JSON key, or /a regular expression/, got {part!r}"
        )
    return part


def judged_range(text: str, part: str) -> tuple[int, int] | None:
    """Returns the characters [start, end) of the part, without white space around them, None where
    the text has no such part. part: as `check_part` returns it.
    """
    # of the same length, so that places in it are those of the text
    visible = blanked(text)
    if _is_expression(part):
        part_range = _by_expression(visible, part)
    else:
        part_range = _between_tags(visible, part) or _of_key(visible, part)
    if part_range is None:
        return None
    start, end = part_range
    within = text[start:end]
    start += len(within) - len(within.lstrip())
    return start, start + len(within.strip())


def _is_expression(part: str) -> bool:
    """Whether a part is a regular expression between slashes, and not a name."""
    return len(part) > 2 and part[0] == part[-1] == "/"


@lru_cache(maxsize=64)
def _compiled(part: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns what finds the tags of this name and its key in JSON."""
    name = re.escape(part)
    tag = rf"<(?P<slash>/)?{name}(?:\s[^<>]*)?>"
    key = rf"(?<!\\)([\"']){name}\1\s*:\s*"
    return re.compile(tag, re.IGNORECASE), re.compile(key, re.IGNORECASE)


def _by_expression(visible: str, part: str) -> tuple[int, int] | None:
    """Returns the range of a regular expression's matches, or of their first groups."""
    pattern = _expression(part)
    group = 1 if pattern.groups else 0
    starts = []
    ends = []
    for match in pattern.finditer(visible, 0, MOST_SEARCHED_CHARACTERS):
        start, end = match.span(group)
        # below 0: this match has not taken the group
        if start >= 0:
            starts.append(start)
            ends.append(end)
    if not starts:
        return None
    return starts[0], max(ends)


@lru_cache(maxsize=64)
def _expression(part: str) -> re.Pattern[str]:
    return re.compile(part[1:-1])


def _between_tags(visible: str, part: str) -> tuple[int, int] | None:
    """Returns the range from the first tag that opens to the last one that closes."""
    tags, _ = _compiled(part)
    start = end = -1
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


def _of_key(visible: str, part: str) -> tuple[int, int] | None:
    """Returns the range from the first value under this key to the last one."""
    _, keys = _compiled(part)
    start = end = -1
    for key in keys.finditer(visible):
        if key.start() < end:  # within a value
            continue
        begin, end = value_end(visible, key.end())
        if start < 0:
            start = begin
    if start < 0:
        return None
    return start, end
