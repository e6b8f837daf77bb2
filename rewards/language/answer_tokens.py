"""The tokens of an answer: words, numbers, formulas, and names with signs such as "C++".

    tokens_of("It is -7.50 °C")         # ["it", "is", "-7.5", "°", "c"]
    tokens_of("speed < 30, not C++")    # ["speed<30", "not", "c++"]

A sign with a meaning is a token or a part of a token. A number is its value with its sign. A ratio,
fraction, score, date, range or formula is one token without spaces. A final `+`, `#`, `*` or `-` of
a name belongs to the name. Number words become digits. Punctuation between tokens has the kind
"mark", and `tokens_of` leaves punctuation out. If an answer has only punctuation, its marks are its
tokens: "?".
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from spanreward.rewards.language.answer_text import DIGITS_OF_NUMBERS, normalise_answer
from spanreward.rewards.language.letter_lists import letters_listed
from spanreward.rewards.language.numbers import (
    NUMBER_SCALES,
    NUMBER_WORDS,
    number_in_digits,
    number_in_words,
)
from spanreward.rewards.language.words import ARTICLES
from spanreward.rewards.text.plain_text import plain_text
from spanreward.rewards.text.written import read_text

# dashes, quotes, operators: one character replaces one, so that positions do not change
_SAME_CHARACTERS = str.maketrans(
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d\u2019\u2236\u2044\u2215\u22c5\u00b7\u00d7\u00f7\u2264\u2265\u2a7d\u2a7e",
    "--------'://***/\u2264\u2265\u2264\u2265",
)
_TIMES_SIGN = re.compile(r"(?<=\d)(\s?)[xX](?=\s?\d)")  # the x of "3 x 4"
# Japanese, Chinese and Korean letters, which may touch a Latin word without a space
_EAST_ASIAN_LETTERS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_LEXEME_PATTERN = re.compile(
    rf"(?P<word>\d+(?:st|nd|rd|th|s)\b|[{_EAST_ASIAN_LETTERS}]+|(?:(?![{_EAST_ASIAN_LETTERS}])[^\W\d_])(?:(?![{_EAST_ASIAN_LETTERS}])\w)*"
    r"(?:'\w+|(?<=\d)\.\d+)*)"
    r"|(?P<number>(?:\d{1,3}(?:,\d{3}){1,9}(?!,?\d)|\d+)(?:\.\d+)*|(?<![\w.])\.\d+)"
    r"|(?P<sign><=|>=|!=|==|->|=>|(?P<one>[^\s\w]|_)(?P=one)*)",
    re.IGNORECASE,
)
_SPELLED_SIGNS = {
    "<=": "\u2264",
    ">=": "\u2265",
    "!=": "\u2260",
    "==": "=",
    "->": "\u2192",
    "=>": "\u2192",
    "**": "^",
}
_RELATION_SIGNS = frozenset("<>=\u2264\u2265\u2260\u2248\u2261")
_ARROW_SIGNS = frozenset("\u2190\u2192\u2194\u21d2\u21d4")
_OPERATOR_SIGNS = frozenset("-+*/:^\u00b1")  # operators between two numbers or variables
_PREFIX_SIGNS = frozenset("-+\u00b1\u221a\u221b\u221c")
_ROOT_OPERATORS = frozenset("\u221a\u221b\u221c")
# signs that may have a space on one side only
_MAY_HAVE_SPACE = frozenset("*/^\u00b1\u221a\u221b\u221c")
# most letters of a name before "-" or "*" ("A-"), and of a unit with a power ("km^2")
_MAX_NAME_LETTERS = 2
_FIRST_EMOJI = "\U0001f000"  # the first emoji; emoji beside words are decoration
_MINUS_WORDS = ("minus", "negative")
_MOST_FORMULA_CHARACTERS = 200  # longest formula in characters, so that the time is linear
_MOST_NUMBER_WORDS = 20  # longest number in words, in tokens
_RAISED_DIGITS = re.compile("[\u2070\u00b9\u00b2\u00b3\u2074-\u207b\u207f]+")
# the empty text between the "1" and the "\u00bd" of "1\u00bd"
_BEFORE_FRACTION = re.compile("(?<=\\d)(?=[\u00bc-\u00be\u2150-\u215e])")
_MARKUP_SIGNS = "*_`~|#\"'"
_UNIT_SIGNS = "%\u2030"  # signs of units, which Unicode counts as punctuation
_OPERAND_KINDS = ("word", "number", "formula")


@dataclass(frozen=True, slots=True)
class Token:
    """The token at the characters [start, end) of an answer.

    text: the token in one spelling: lower case, numbers in digits.
    kind: "word", "number", "formula" or "sign"; "mark" for punctuation, which comparisons ignore.
    open: whether the last operand of a formula is still missing, as after "speed<".
    """

    text: str
    start: int
    end: int
    kind: str
    open: bool = False

    @property
    def is_operand(self) -> bool:
        """True for a number, a variable of one letter and a formula."""
        if self.kind == "word":
            return len(self.text) == 1
        return self.kind in ("number", "formula")


def tokens_of(answer: str) -> list[str]:
    """Returns the tokens by which an answer is compared with other answers, in order.

    Marks and articles are left out. Articles stay in "C, A" and in "c a t", where "a" is a letter,
    and in an answer of articles alone ("A").
    """
    tokens = [token.text for token in read_tokens(answer) if token.kind != "mark"]
    # in "C, A" and "c a t" the "a" is a letter and no article
    if is_spelled(tokens) or letters_listed(answer):
        return tokens
    without_articles = [text for text in tokens if text not in ARTICLES]
    # "A" alone is the letter
    return without_articles or tokens


def is_spelled(tokens: Sequence[str]) -> bool:
    """Whether there are at least two tokens and each token is one letter: "c", "a", "t". Among such
    tokens "a" is a letter and no article.
    """
    if len(tokens) < 2:
        return False
    return all(len(token) == 1 and token.isalpha() for token in tokens)


def is_exact(token: str) -> bool:
    """Whether a token has a digit or a sign: "7", "c++". Such a token is either equal to another
    token or wrong, never nearly right.
    """
    return not token.replace("'", "").isalpha()


def has_letters(token: str) -> bool:
    """Whether a token has a letter of any script."""
    return any(map(str.isalpha, token))


@lru_cache(maxsize=4096)  # people's answers are compared with each completion of a group
def plain_answer(answer: str) -> str:
    """Returns the plain text of an answer with all its signs: "**5 m\u00b2**" gives "5 m^2". In
    "1\u00bd" a space comes between the number and the fraction.
    """
    # These replacements come before `plain_text`. That function would read "m\u00b2" as "m2",
    # "\u2260" as "=", and "1\u00bd" as "11/2".
    text = shown_answer(answer).replace("\u2212", "-").replace("\u2260", "!=")
    text = _RAISED_DIGITS.sub(_as_power, text)
    text = _BEFORE_FRACTION.sub(" ", text)
    if not any(map(str.isalnum, text)):
        return text  # an answer of signs alone keeps all signs
    plain, _ = plain_text(text)
    return plain


def shown_answer(answer: str) -> str:
    """Returns an answer in the form that a reading judge sees, without markup and with all signs:
    "**5 %**" gives "5 %".
    """
    if any(map(str.isalnum, answer)):
        return read_text(answer).plain
    # an answer of signs: remove invisible characters (Unicode categories M and C), then remove
    # markup unless the answer is markup alone
    visible = []
    for character in answer:
        category = unicodedata.category(character)
        if category[0] not in "MC":
            visible.append(character)
    signs = "".join(visible).strip()
    without_markup = "".join(character for character in signs if character not in _MARKUP_SIGNS)
    return without_markup.strip() or signs


def comparable_form(answer: str) -> str:
    """Returns a plain answer in the form in which LAVE compares answers.

    Words have the form that `normalise_answer` returns. Numbers, formulas and names with a sign
    have one spelling each. A list of letters is sorted: "C, A" gives "a c".

    answer: a result of `plain_answer`.
    """
    letters = letters_listed(answer)
    if letters:
        return " ".join(letters).lower()
    # "C A T": `normalise_answer` would drop the "A"
    if is_spelled(answer.split()):
        return " ".join(answer.lower().split())
    pieces: list[str] = []
    part = ""  # text that waits to be normalised as a whole
    done = 0  # the offset up to which the answer is in `pieces` or `part`
    for token in read_tokens(answer):
        # a token without a form of its own is added to `part` later, with the text around it
        if _is_normalised_alike(token, answer):
            continue
        text_before = answer[done : token.start]
        part += text_before
        done = token.end
        if normalise_answer(token.text) == token.text:
            part += token.text
        else:
            # `normalise_answer` would remove the signs of "-7.5", so "-7.5" is a separate piece
            pieces += [normalise_answer(part), token.text]
            part = ""
    part += answer[done:]
    pieces.append(normalise_answer(part))
    return " ".join(filter(None, pieces))


def _is_normalised_alike(token: Token, answer: str) -> bool:
    """Whether `normalise_answer` alone gives a token its form: a mark, a word, or a number such as
    "7" that the function does not change.
    """
    if token.kind == "mark" or not is_exact(token.text):
        return True
    return normalise_answer(answer[token.start : token.end]) == token.text


def read_tokens(answer: str) -> list[Token]:
    """Returns the tokens of a plain text in order, with the marks between the tokens: "5 - 3, red"
    has the tokens "5-3", "," and "red". The time is linear in the length of the text.
    """
    text = _TIMES_SIGN.sub("\\1*", answer.translate(_SAME_CHARACTERS))
    # words, numbers and signs, each by itself
    lexemes = []
    for match in _lexeme_matches(text):
        start, end = match.span()
        kind = match.lastgroup or ""
        lexemes.append(Token(_text_of_lexeme(match), start, end, kind))
    # signs join their operands, and number words become digits
    tokens = _with_number_words(_with_formulas(text, lexemes))
    # an emoji beside words or numbers is a mark, which says nothing: "a dog 🐕"
    has_content = any(token.kind in _OPERAND_KINDS for token in tokens)
    visible = []
    for token in tokens:
        is_emoji = token.kind == "sign" and token.text >= _FIRST_EMOJI
        if is_emoji and has_content:
            token = replace(token, kind="mark")
        visible.append(token)
    # In an answer of marks alone, each mark is a sign, which says something: "?" is the answer to
    # "which sign?".
    if all(token.kind == "mark" for token in visible):
        return [replace(token, kind="sign") for token in visible]
    return visible


def _lexeme_matches(text: str) -> Iterator[re.Match[str]]:
    """Yields the matches of `_LEXEME_PATTERN` in the text, in order: words, numbers and signs."""
    return _LEXEME_PATTERN.finditer(text)


def _text_of_lexeme(lexeme: re.Match[str]) -> str:
    """Returns the text of a lexeme in lower case and without accents. A number gets its shortest
    spelling.

    lexeme: a match of `_LEXEME_PATTERN`.
    """
    text = lexeme[0]
    if lexeme["number"]:
        # NFKC turns digits of other scripts into ASCII digits
        return number_in_digits(unicodedata.normalize("NFKC", text))
    if lexeme["sign"]:
        return _SPELLED_SIGNS.get(text, text)
    if not text.isascii():
        # NFKD writes each accent as a separate character behind its letter
        letters = unicodedata.normalize("NFKD", text)
        text = "".join(letter for letter in letters if not unicodedata.combining(letter))
    word = text.lower().removesuffix("'s")
    # other number words become digits later, together with their neighbours ("twenty one")
    if word == "none":
        return DIGITS_OF_NUMBERS[word]
    return word


def _as_power(written: re.Match[str]) -> str:
    """Returns raised digits as a power, such as "^2".

    written: a match of `_RAISED_DIGITS`.
    """
    digits = unicodedata.normalize("NFKC", written[0])
    return "^" + digits.replace("\u2212", "-")


def _with_formulas(text: str, lexemes: Sequence[Token]) -> list[Token]:
    """Returns the tokens after each sign has joined the number or name that the sign belongs to.

    The lexemes are read from left to right. The last token grows as long as signs connect the token
    with the next lexeme: "5 - 3" becomes "5-3".
    """
    tokens: list[Token] = []
    for number, lexeme in enumerate(lexemes):
        last = tokens[-1] if tokens else None
        if lexeme.kind != "sign":
            # if the last token is "5-", the lexeme "3" is its missing operand
            if last is not None and last.open:
                tokens[-1] = _joined_token(last, lexeme, needs_operand=False)
            else:
                tokens.append(lexeme)
            continue
        role = _role_in_row(lexemes, number, last)
        # only signs behind a token have the role "between" or "suffix"
        if last is not None and role == "between":
            tokens[-1] = _joined_token(last, lexeme, needs_operand=True)  # "5" becomes "5-"
        elif last is not None and role == "suffix":
            tokens[-1] = _joined_token(last, lexeme, needs_operand=False)  # "c" becomes "c++"
        elif role == "prefix":
            # "+5" is the same as "5"
            written = lexeme.text.replace("+", "")
            tokens.append(replace(lexeme, text=written, kind="formula", open=True))
        else:
            # the role "sign" or "mark" is the kind of a token by itself
            tokens.append(replace(lexeme, kind=role))
    return tokens


def _role_in_row(lexemes: Sequence[Token], number: int, last: Token | None) -> str:
    """Returns the role of the sign with the index `number` (`_role_of_sign`). A sign beside an
    expression in brackets, as in "(a+b)/2", is a token by itself.

    last: the token that the sign might join.
    """
    sign = lexemes[number]
    behind = lexemes[number + 1 : number + 3]
    before = lexemes[number - 1] if number else None
    if _is_beside_brackets(before, sign, behind):
        return "sign"
    return _role_of_sign(last, sign, behind)


def _joined_token(token: Token, lexeme: Token, needs_operand: bool) -> Token:
    """Returns one token, made of the token and the lexeme after it: "5-" of "5" and "-". A number
    with a sign before it stays a number ("-5").

    needs_operand: whether the new token lacks an operand, as "5-" does.
    """
    text = token.text
    if needs_operand and token.kind == "number" and text.isdecimal():
        text = text.lstrip("0") or "0"  # the "09" of "09:15"
    # `_with_formulas` removes the "+" of "+5" and leaves the text ""
    is_sign_of_number = text in ("", "-")
    if is_sign_of_number and lexeme.kind == "number":
        kind = "number"  # "-5"
    elif token.kind == "word" and lexeme.kind == "sign" and not needs_operand:
        kind = "word"  # "C++"
    else:
        kind = "formula"
    text += lexeme.text
    return Token(text, token.start, lexeme.end, kind, open=needs_operand)


def _is_beside_brackets(before: Token | None, sign: Token, behind: Sequence[Token]) -> bool:
    """Whether a sign connects an expression in brackets with an operand or with other brackets:
    "(a+b)/2".

    before: the lexeme before the sign.
    behind: the lexemes after the sign, at most two.
    """
    if before is None or not behind:
        return False
    if sign.text not in _OPERATOR_SIGNS or sign.text == ":":
        return False
    following = behind[0]
    if before.end != sign.start or following.start != sign.end:
        return False
    opens = following.text[0] == "("
    if before.text[-1] == ")":
        return opens or following.is_operand  # "(a)*(b)", "(a)/2"
    return opens and before.is_operand  # "2/(a)"


def _role_of_sign(last: Token | None, sign: Token, behind: Sequence[Token]) -> str:
    """Returns the role of a sign:

    - "between": the sign joins two operands, as "-" in "5 - 3".
    - "prefix": the sign belongs to the operand behind it, as "-" in "-5".
    - "suffix": the sign belongs to the name or number before it, as "++" in "C++".
    - "sign": the sign is a token by itself, as "%".
    - "mark": the sign is punctuation, which comparisons of answers ignore.

    last: the token that the sign might join.
    behind: the lexemes after the sign, at most two.
    """
    left = last
    if last is not None:
        # A long formula joins no more signs. Each sign copies the formula, which would take
        # quadratic time.
        is_long = last.end - last.start > _MOST_FORMULA_CHARACTERS
        if is_long or last.kind not in _OPERAND_KINDS:
            left = None
    if sign.text in _RELATION_SIGNS or sign.text in _ARROW_SIGNS:
        return _relation_role(left, sign, behind)
    if left is not None and _connects_operands(left, sign, behind):
        return "between"
    if _begins_operand(left, sign, behind):
        return "prefix"
    if left is not None and _ends_name(left, sign, behind):
        return "suffix"
    return _role_of_lone_sign(sign)


def _begins_operand(left: Token | None, sign: Token, behind: Sequence[Token]) -> bool:
    """Whether a sign belongs to the operand behind it: "-5", "\u221a 2".

    left: the number or name before the sign, None without one. behind: the lexemes after the sign.
    """
    if not behind or not behind[0].is_operand or sign.text not in _PREFIX_SIGNS:
        return False
    is_near = behind[0].start == sign.end or sign.text in _MAY_HAVE_SPACE
    touches_left = left is not None and left.end == sign.start
    return is_near and not touches_left


def _ends_name(left: Token, sign: Token, behind: Sequence[Token]) -> bool:
    """Whether a sign is the end of a name or number: "C++", "A-", "18+".

    left: the number or name before the sign. behind: the lexemes after the sign.
    """
    touches_left = left.end == sign.start
    touches_right = bool(behind) and behind[0].start == sign.end
    if left.open or not touches_left or touches_right:
        return False
    if sign.text[0] in "+#":
        return True
    is_short_name = left.kind == "word" and len(left.text) <= _MAX_NAME_LETTERS
    return is_short_name and sign.text in ("-", "*")


def _role_of_lone_sign(sign: Token) -> str:
    """Returns "sign" for a sign with a meaning of its own, such as "%" or "\u20ac", and "mark" for
    punctuation.
    """
    first = sign.text[0]
    if first in _UNIT_SIGNS:
        return "sign"
    if first in "|+`^~":
        return "mark"  # Unicode counts these as symbols, but alone they mean nothing
    # categories of symbols begin with S, and categories of punctuation with P
    return "sign" if unicodedata.category(first).startswith("S") else "mark"


def _relation_role(left: Token | None, sign: Token, behind: Sequence[Token]) -> str:
    """Returns the role of a sign such as "<" or an arrow (`_role_of_sign`): "between" for "speed <
    30". The operands of the sign may be words.

    left: the operand before the sign, None without an operand.
    behind: the lexemes after the sign, at most two.
    """
    has_unary_sign = len(behind) > 1 and behind[0].text in _PREFIX_SIGNS  # "x < -1"
    has_operand = bool(behind) and (behind[0].kind != "sign" or has_unary_sign)
    if has_operand and left is not None and not left.open:
        return "between"
    if sign.text in _ARROW_SIGNS:
        return "sign"
    # "\u2248 5" is the same answer as "5", so the sign is ignored
    if has_operand and sign.text == "\u2248":
        return "mark"
    # "< 5" is another answer than "5", so the sign belongs to the number
    if has_operand:
        return "prefix"
    if left is not None and left.end == sign.start:
        return "suffix"
    return "sign"


def _connects_operands(left: Token, sign: Token, behind: Sequence[Token]) -> bool:
    """Whether an operator connects the operand on its left with the lexeme on its right, as "-" in
    "5 - 3".

    left: the token before the sign. It is open if its own operand is still missing, as after "y =".
    behind: the lexemes after the sign, at most two.
    """
    if not behind:
        return False
    following = behind[0]
    touches_left = left.end == sign.start
    touches_right = following.start == sign.end
    # after "y =" the sign can only be the sign of the missing operand: "y = -x"
    if left.open:
        return sign.text in _PREFIX_SIGNS and following.is_operand and touches_right
    if sign.text == "^":
        return touches_left and touches_right and _is_power(left, behind)
    if not left.is_operand or not following.is_operand:
        return False
    if sign.text in _ROOT_OPERATORS:
        return touches_left and touches_right  # "2\u221a3"
    # spaces on both sides or on no side: "5 - 3" is one formula, and "5 -3" is two numbers
    has_even_spaces = touches_left == touches_right
    if not has_even_spaces and sign.text not in _MAY_HAVE_SPACE:
        return False
    if sign.text == ":":  # a time or a ratio, and not "x: 5"
        return left.kind != "word" and following.kind == "number"
    return sign.text in _OPERATOR_SIGNS


def _is_power(left: Token, behind: Sequence[Token]) -> bool:
    """Whether a "^" between these tokens raises a number, a variable or a unit to a power: "x^2",
    "10^-3", "km^2", but not "dog^2".

    left: the token before the "^". behind: the lexemes after the "^", at least one.
    """
    is_unit = left.kind == "word" and len(left.text) <= _MAX_NAME_LETTERS
    is_negative = behind[0].text == "-" and len(behind) > 1
    return (is_unit or left.is_operand) and (is_negative or behind[0].is_operand)


def _with_number_words(tokens: Sequence[Token]) -> list[Token]:
    """Returns the tokens with number words as digits ("twenty-one" becomes "21") and with "minus 5"
    as "-5".
    """
    joined: list[Token] = []
    at = 0  # the index of the next token
    while at < len(tokens):
        token, at = _number_or_token(tokens, at)
        # the sign of "minus 5"
        before = joined[-1] if joined else None
        if token.kind == "number" and before is not None and before.text in _MINUS_WORDS:
            joined[-1] = Token(f"-{token.text}", before.start, token.end, "number")
        else:
            joined.append(token)
    return joined


def _number_or_token(tokens: Sequence[Token], at: int) -> tuple[Token, int]:
    """Returns the number in words that begins at the index `at`, as one token in digits, and the
    index of the token behind it. Without such a number, returns the token at the index unchanged.
    """
    token = tokens[at]
    if not _may_begin_number(tokens, at):
        return token, at + 1
    run = _number_words_from(tokens, at)
    number, word_count = number_in_words([word.text for word in run])
    is_in_digits = word_count == 1 and token.kind == "number"  # such as "5", which does not change
    if word_count == 0 or is_in_digits:
        return token, at + 1
    last = run[word_count - 1]
    # skip all tokens of the number: "twenty-one" is three tokens, because of the hyphen
    while tokens[at] is not last:
        at += 1
    return Token(number, token.start, last.end, "number"), at + 1


def _may_begin_number(tokens: Sequence[Token], at: int) -> bool:
    """Whether a number in words may begin at the token with index `at`. Digits and "a" begin such a
    number only before a scale: "2 million", "a hundred".
    """
    token = tokens[at]
    if token.kind == "word" and token.text in NUMBER_WORDS:
        return token.text not in NUMBER_SCALES
    if token.kind != "number" and token.text != "a":
        return False
    return at + 1 < len(tokens) and tokens[at + 1].text in NUMBER_SCALES


def _number_words_from(tokens: Sequence[Token], at: int) -> list[Token]:
    """Returns the number words from the index `at` on. Hyphens between number words are skipped."""
    run = [tokens[at]]
    for token in tokens[at + 1 : at + _MOST_NUMBER_WORDS]:
        is_hyphen = token.text == "-" and token.kind == "mark"
        if is_hyphen and token.start == run[-1].end:
            continue
        may_be_read = token.text in NUMBER_WORDS or token.text == "and"
        if token.kind != "word" or not may_be_read:
            break
        run.append(token)
    return run
