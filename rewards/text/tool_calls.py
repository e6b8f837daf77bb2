"""Finds the calls of tools in a text, and the results of the tools, by the marks around them.

A call without an end mark reaches to the end of the text.
"""

import json
import re
from collections.abc import Iterator

_CALL_KIND = r"(?:calls?|responses?|results?|outputs?|use|code)"
_BAR, _JOINT = r"[|\uff5c]", r"[_\u2581]"
_CALL_TOKEN = rf"(?:tool|function){_JOINT}{_CALL_KIND}"
_CALL_START = re.compile(
    rf"<(?P<tag>(?:tool|function)_{_CALL_KIND}|function(?=\s*=|\s+name\s*=))(?:[\s=][^<>]{{0,200}})?>"
    rf"|(?P<token><{_BAR}{_CALL_TOKEN}(?:{_JOINT}section)?(?:{_JOINT}(?:begin|start))?{_BAR}?>)"
    r"|(?P<python><\|python_tag\|>)"
    r"|\[(?P<upper>TOOL_(?:RESULTS|OUTPUT|RESPONSE))\]|(?P<list>\[TOOL_CALLS?\])",
    re.IGNORECASE,
)
_CALL_ENDS = {
    "token": re.compile(
        rf"<(?:{_BAR}(?:/|end{_JOINT}){_CALL_TOKEN}|{_BAR}{_CALL_TOKEN}(?:{_JOINT}section)?{_JOINT}end"
        rf"|{_CALL_TOKEN}){_BAR}>|</{_CALL_TOKEN}>",
        re.IGNORECASE,
    ),
    "python": re.compile(r"<\|eom_id\|>"),
}
# white space and the tool's name before the JSON of a call: "search[ARGS] " of
# "[TOOL_CALLS]search[ARGS] {"
_NAME_BEFORE_JSON = re.compile(r"\s*+(?:[\w.-]{1,80}+(?:\[ARGS\])?\s*+)?(?=[\[{])")
_JSON_DECODER = json.JSONDecoder()


def calls_in(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields the characters [start, end) of each call and each result of a tool, in order: the
    range of "<tool_call>...</tool_call>" in "Look. <tool_call>...</tool_call> A dog."

    start, end: the characters of the text that are searched. The time is linear in their number.
    """
    while True:
        opened = _CALL_START.search(text, start, end)
        if opened is None:
            return
        start = _end_of_call(text, opened, end)
        yield opened.start(), start


def _end_of_call(text: str, opened: re.Match[str], end: int) -> int:
    """Returns the end of the call that the mark `opened` begins, at most `end`. For "<tool_call>"
    this is behind "</tool_call>".
    """
    kind = opened.lastgroup or ""
    # Mistral's "[TOOL_CALLS]" has no end mark: the call ends where its JSON ends
    if kind == "list":
        return _end_of_json(text, opened.end(), end)
    # some kinds have a pattern of their own; any other call ends with its name in a tag
    # ("</tool_call>") or in brackets ("[/TOOL_CALL]")
    name = re.escape(opened[kind])
    closed = rf"</{name}\s*>"
    if kind == "upper":
        closed = rf"\[/{name}\]"
    sign = _CALL_ENDS.get(kind) or re.compile(closed, re.IGNORECASE)
    match = sign.search(text, opened.end(), end)
    if match is None:
        return end
    return match.end()


def _end_of_json(text: str, start: int, end: int) -> int:
    """Returns the end of the JSON object or list at `start`, or `end` if no JSON is there.

    White space and the name of a tool may be before the JSON: `search {"q": "heron"}`.
    """
    name = _NAME_BEFORE_JSON.match(text, start, end)
    if name is None:
        return end
    try:
        # text[:end]: the value must not go on into another turn
        _, stop = _JSON_DECODER.raw_decode(text[:end], name.end())
    except (ValueError, RecursionError):
        return end
    return stop
