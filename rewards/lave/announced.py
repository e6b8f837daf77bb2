"""Finds the part of a text that the text announces as its answer: `<answer>dog</answer>`,
`{"answer": "dog"}`, `Answer: dog`.

    announced_answer("It barks. **Answer:** a dog")      # (19, 27), "** a dog"

Some signs are surer than others: a tag is surer than "the answer is". Only the surest signs in the
text count, and of several such signs the last counts.
"""

import re

_ANSWER_NOUN = r"(?:\w{1,20}[ _-])?answer"
_FOREIGN_ANSWER_NOUNS = (
    "答案|回答|答え|정답|답변|ответ|απάντηση|الإجابة|उत्तर"
    "|respuesta|resposta|risposta|réponse|antwort"
)
_OPEN, _SHUT = r"[<\[]\s{0,2}", r"(?: [^<>\[\]\n]{0,80})?[>\]]"
_OTHER_ANSWER_NOUNS = "prediction|response|output|result|solution|choice|option|label"
# The name of the group decides where the announced answer ends (`_end_of_announced`).
_ANNOUNCEMENTS = tuple(
    re.compile(sign, re.IGNORECASE | re.MULTILINE)
    for sign in (
        rf"(?P<tag>{_OPEN}(?:{_ANSWER_NOUN}|conclusion){_SHUT}|<\|begin_of_box\|>|\bfinal<\|message\|>)"
        r"|(?P<brace>\\(?:boxed|fbox)\s*\{)"
        rf"|(?P<value>[\"'](?:{_ANSWER_NOUN})[\"']\s*:|final_answer\()"
        rf"|(?P<line>(?<![^\W_])(?:ans(?:wer)?|{_FOREIGN_ANSWER_NOUNS})[*_`\"')]{{0,4}}(?:\s?[:\uff1a|]|\s[=\u2013\u2014-]\s)"
        r"|^[#>*_ \t]{0,9}(?:final |the )?answer[*_# \t]{0,9}$|^####[ \t](?=[^\n]{1,20}\Z))",
        rf"(?P<tag>{_OPEN}(?:{_OTHER_ANSWER_NOUNS}){_SHUT})|(?P<value>[\"'](?:{_OTHER_ANSWER_NOUNS})[\"']\s*:)",
        # the only key of an object
        r"\A[^\w{]*+(?:json\s*)?\{\s*(?P<value>[\"']\w[\w ]{0,30}[\"']\s*:)(?![^:]*[\"']\s*:)",
        r"\b(?P<line>(?:answer|(?:right|correct|best) (?:option|choice))"
        r"(?: to [^.?!\n:]{1,80}?)?[*_]{0,2}"
        r" (?:is|was|would be)(?! not\b))(?=[^\n\w]*\w)",
    )
)
_DENIED_END = re.compile(
    r"\b(?:wrong|incorrect|false|bad|no|not (?:the|my|an))[\W_]*\Z", re.IGNORECASE
)
DENYING_CHARACTERS = 20  # a denial is searched in so many characters before a sign
# the text up to the closing brace, with at most two levels of braces inside
_BRACED_TEXT = re.compile(r"(?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+")
_CLOSING_SIGN = re.compile(
    rf"[<\[]\s{{0,2}}/\s{{0,2}}(?:{_ANSWER_NOUN}|conclusion|{_OTHER_ANSWER_NOUNS}){_SHUT}|<\|end_of_box\|>",
    re.IGNORECASE,
)
_REST_OF_LINE = re.compile(r"[\s*_`#>]*[^\n\r]*")
_ANNOUNCED_VALUE = re.compile(
    r"\s*(?:\"(?:[^\"\\]|\\.)*+\"?|'(?:[^'\\\n]|\\.|'(?!\s*[,}\]\n]))*+'?|\[[^\]]*\]?|[^,}\n]*)",
    re.DOTALL,
)


def announced_answer(text: str) -> tuple[int, int] | None:
    """Returns the characters [start, end) of the last answer that the text announces: those of
    " dog" in "Answer: cat. Answer: dog". Returns None without an announced answer.

    The surest signs are tried first. Less sure signs count only if no surer sign is in the text.
    """
    for pattern in _ANNOUNCEMENTS:
        last = None
        for sign in pattern.finditer(text):
            # "The wrong answer: a dog" announces nothing
            words_before = max(sign.start() - DENYING_CHARACTERS, 0)
            if not _DENIED_END.search(text, words_before, sign.start()):
                last = sign
        if last is not None:
            return last.end(), _end_of_announced(text, last.lastgroup or "", last.end())
    return None


def _end_of_announced(text: str, sign: str, start: int) -> int:
    """Returns the end of the announced answer that begins at `start`: the end of "dog" in "Answer:
    dog\\nIt barks." and in "<answer>dog</answer>".

    sign: the name of the group that announced the answer. A "tag" answer ends before the closing
    tag, and a "brace" answer before the closing brace. A "value" answer ends with the value, and a
    "line" answer with the line or before a closing tag. With "" the answer ends with the text.
    """
    end = len(text)
    if sign in ("tag", "line"):
        # a line may be within tags: "<answer>Answer: a dog</answer>"
        closing = _CLOSING_SIGN.search(text, start)
        if closing:
            end = closing.start()
    pattern = {"brace": _BRACED_TEXT, "value": _ANNOUNCED_VALUE, "line": _REST_OF_LINE}.get(sign)
    if pattern is None:  # a tag's text has any number of lines
        return end
    match = pattern.match(text, start, end)
    return match.end() if match else end
