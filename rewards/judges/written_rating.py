"""Reads the rating out of the text that a judge wrote.

    read_written_rating("I rate it 4 on a scale from 1 to 5.", RATING_SCALE).mean    # 4.0
    read_written_rating("I cannot rate this. 1 picture is missing.", RATING_SCALE)    # None

A number is a rating if it has a label: "Rating: 4", `{"score": 4}`, "I would give it a 4", "[[4]]".
A number is also a rating if it is alone: the whole answer or the whole last line. Any other number
is a count or a quotation ("1 picture"), and is not read. If the ratings of a text disagree, the
rating that ends the text counts. If no rating ends the text, the answer is unreadable.

A text takes linear time. Each pattern begins at a word or a bracket, and then looks only a bounded
number of words ahead, or does not backtrack (`*+`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from spanreward.rewards.judges.judge import Rating, rating_of
from spanreward.rewards.judges.rating_context import is_asserted, is_denied, sentence_before
from spanreward.rewards.text.shown import blank_unshown, spaces_for_match

LONGEST_LINE = 100  # characters of a line that may be only a rating

# `++`, `*+` and `{1,9}+` are possessive: they match as much as possible and never backtrack. A
# number has at most nine digits before its point, and at most nine after its point.
_NUMBER_PATTERN = r"[-+\u2212]?\d{1,9}+(?:\.\d{1,9}+)?"
# Markup that may be between a label and its number. A sign ("-"), a "<" or a "~" is no markup,
# because such a character changes the meaning of the number.
_MARKUP_PATTERN = r"[\s*_`\"'“”\u2018\u2019«»()\[\]{}|]*+"
# Characters that may be around a number that is alone in its line: markup, and symbols such as
# stars.
_ORNAMENT_PATTERN = r"(?:[^\w<>≤≥~≈%=/+\u2212\-?#$€£¥°@&^\u00d7]|_)*+"
# The denominator after a rating: "/5" or "out of 5".
_OUT_OF = re.compile(r"[\s*_`(]*+(?:/|out of)[\s*_`]*+(\d{1,9}+(?:\.\d{1,9}+)?)", re.IGNORECASE)
_RATING_UNIT = re.compile(r"\s*+(?:stars?|points?)\b", re.IGNORECASE)
# The characters between a rating and the next word of its line.
_GAP_IN_LINE = re.compile(r"(?:[^\w\n]|_)*+")
_ONE_WORD = re.compile(r"\w++")
# What may follow a rating that ends the text: a remark in parentheses, and punctuation marks.
_REST_OF_TEXT = re.compile(r"(?:\s*+\([^()]{0,80}\))?(?:\W|_)*+\Z")

_RATING_NOUNS = "rating|score|grade"
_SIGNED_NOUNS = "rated|overall|evaluation|assessment|judge?ment"  # only with a sign: "overall: 4"
_CHOICE_NOUNS = "answer|verdict|choice|winner|preference|vote|decision|option|better|best"
_CHOSEN_NOUNS = "option|answer|response|description|caption|candidate|assistant"
_FILLING_WORDS = (
    "a|an|the|therefore|thus|hence|then|still|just|now|also|about|around|clearly|definitely"
)
# A noun that may announce a rating, as a whole word. "_" separates words here: "final_score".
_LABEL_PATTERN = re.compile(
    rf"(?<![^\W_])(?:(?P<noun>{_RATING_NOUNS})|(?P<signed>{_SIGNED_NOUNS})|(?P<choice>{_CHOICE_NOUNS}))"
    r"(?![^\W_])",
    re.IGNORECASE,
)
# The words from the noun to the rating: "for the caption", then a sign (":", "->") or a verb
# ("should be").
_LINK_PATTERN = rf"""
    (?:[\s*_]++(?:one|for|that\ I|I|we|{_CHOSEN_NOUNS})\b[^\d.!?;:,\n=]{{0,60}}?)?
    (?:(?P<sign>{_MARKUP_PATTERN}(?:[:=\uff1a→]|[-=]>|[-\u2013\u2014](?=\s)))(?:\s*+(?:is|a)\s)?
        |(?P<verb>\s++(?:is|was|of|at|as|be|would\ be|should\ be)\b)
            (?:\s++(?:{_FILLING_WORDS})\b){{0,3}}:?)?
    {_MARKUP_PATTERN}(?:(?:{_CHOSEN_NOUNS})\s++)?{_MARKUP_PATTERN}"""
# The words before a number: "give it a", "score the second caption as", "deserves a solid", "that's
# a". The group `persons_verb` has a verb for what a person does, such as "give".
_VERB_PATTERN = rf"""(?<!\w)(?:
    (?P<persons_verb>rate|rated|grade|graded|score|scored|give|gave|assign|assigned|award)
        (?:\s++(?:it|this|that|them
            |(?:the|this|that|its)(?:\s++(?!(?:not|only|with|from|than|because)\b)[^\W\d]++){{1,5}}
        ))?
        (?:\s++(?:as|at|with|to\ be|of))?(?:\s++(?:a|an)\b)?
    |(?:deserves|merits|earns)\s++an?\b
    |(?:it|this|that)(?:\s++(?:is|would\ be)|['\u2019]s)\s++an?\b
    )(?:\s++(?:solid|strong|high|low|good|perfect|full|clear|generous)\b)?{_MARKUP_PATTERN}"""
_CHOICE_VERB = rf"""(?<!\w)(?P<persons_verb>choose|prefer|pick|select|vote\ for|go\ with)
    (?:\s++the)?(?:\s++(?:{_CHOSEN_NOUNS}))?{_MARKUP_PATTERN}"""
# "[[4]]", which MT-Bench's prompts ask for; "\boxed{4}" and "\boxed{\text{4}}", which models for
# mathematics write.
_BOX_START = re.compile(r"\[\[\s*+|\\(?:boxed|fbox)\s*+\{\s*+(?:\\text\w*+\{)?\s*+")
_BOX_END = re.compile(r"\s*+(?:\]\]|\})")
# A key of a JSON object, or of a Python dict, up to its value: `"overall_score": "`.
_KEY_PATTERN = re.compile(
    r"[\"'](?:(?:overall|final|total)[ _-]?)?(?:(?P<noun>rating|score|grade|overall)"
    r"|(?P<choice>answer|verdict|choice|winner|preference|vote|decision))[\"']\s*+:\s*+[\"']?\s*+",
    re.IGNORECASE,
)
_VALUE_END = re.compile(r"\s*+[\"']?\s*+(?:[,}]|\n)")
# What may be before a rating that is alone in its line: "- ", "### ", "Final answer: ".
_BEFORE_LONE_RATING = re.compile(
    rf"(?:[-*•#]++\s)?{_ORNAMENT_PATTERN}(?:(?:final )?answer\s?[:=]{_ORNAMENT_PATTERN})?",
    re.IGNORECASE,
)
_ORNAMENTS = re.compile(_ORNAMENT_PATTERN)
# The number of an entry in a list: "3." or "3)".
_LIST_MARK = re.compile(r"\W*+(\d{1,3})[.)]\W*+")

_FIRST_PERSON = re.compile(r"\b(?:I|[Ww]e)\b")
# Words with which a sentence may continue after its rating. Before any other word a number is a
# count ("3 people"), or the sentence is about the number itself ("a rating of 5 requires").
_GOES_ON = re.compile(
    r"because|since|as|for|on|and|but|due|given|overall|with|over|than|to|here|considering",
    re.IGNORECASE,
)

_QUOTATION = re.compile(r"\"[^\"\n]*+\"|“[^“”\n]*+”")
# An XML tag, with its slash and name, or a control token such as "<|im_end|>".
_TAG_PATTERN = re.compile(r"<(/?)([A-Za-z]\w{0,20})(?:\s[^<>\n]{0,80})?/?>|<\|\w{1,40}\|>")
# A scale such as "on a scale of 0 to 100". Our own scale is replaced by spaces before the search,
# so a match means that the judge rates by another scale.
_FOREIGN_SCALE = re.compile(
    r"\bscale\b[^\d\n.]{0,40}?\d++\s*+(?:-|\u2013|\u2014|to|and|through)\s*+\d", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class WrittenRating:
    """A rating in a text.

    Attributes:
        entry: a number, or an entry of a scale of letters. None if the number is not on the scale.
        start, end: the characters [start, end) from the rating's label to the rating itself.
        ends_text: whether only markup and a remark in parentheses follow the rating.
    """

    entry: float | str | None
    start: int
    end: int
    ends_text: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """A number or letter at a place where a rating may be written.

    Attributes:
        value: the number or letter. None if the number is not on the scale.
        value_end: the offset after the number or letter: after "4" in "4/5 stars".
        unit_end: the offset after its denominator and its unit: after "stars" in "4/5 stars".
            Without denominator and unit it equals `value_end`.
    """

    value: float | str | None
    value_end: int
    unit_end: int


def read_written_rating(text: str, scale: Sequence[str]) -> Rating | None:
    """Returns the rating that the text gives on a scale of numbers or of letters, or None if the
    text gives no rating.

    "Rating: 4" gives the mean 4, and "The answer is B." gives all of the probability to "B". "1
    picture is missing." gives None. A number between two entries becomes a distribution over both
    entries. A number outside the scale is no rating, and a number with another denominator than the
    scale's highest number ("8/10") is no rating. Reasoning in tags is not read.
    """
    written = find_written_rating(text, scale)
    if written is None or written.entry is None:
        return None
    if isinstance(written.entry, float):
        return rating_of(written.entry, scale)
    # The letter gets all of the probability.
    probabilities = dict.fromkeys(scale, 0.0)
    probabilities[written.entry] = 1.0
    return Rating(probabilities)


def find_written_rating(text: str, scale: Sequence[str]) -> WrittenRating | None:
    """Returns the rating that counts, with its place in the text, or None if no rating counts.

    For "It is fair. Rating: 4" the entry is 4, and the place is that of "Rating: 4".

    Parts that must not be read are replaced by spaces and not cut out. So all offsets are offsets
    into `text`.
    """
    reader = _patterns_of_scale(tuple(scale))
    read = reader.without_scale(blank_unshown(text))
    if reader.numbers and _FOREIGN_SCALE.search(read):
        return None
    # JSON objects are read first, and blanked, so that their ratings are not found again in prose.
    ratings, prose = _ratings_in_objects(reader, read)
    # Tags are removed before quotations: a text that is only a quotation inside tags must be read.
    without_tags = _TAG_PATTERN.sub(_without_tag, prose)
    prose = _without_quotations(without_tags)
    ratings += reader.labelled(prose)
    ratings += reader.by_verbs(prose)
    ratings += reader.boxed(prose)
    ratings += reader.alone(prose)
    return _rating_that_counts(ratings)


def _ratings_in_objects(reader: "_Reader", text: str) -> tuple[list[WrittenRating], str]:
    """Returns the ratings in the JSON objects of a text, and the text with spaces in place of these
    objects.

    The text 'So {"score": 4}.' gives the rating 4 and "So             .".
    """
    ratings: list[WrittenRating] = []
    prose = list(text)
    for start, end in _outermost_objects(text):
        rating = reader.in_object(text, start, end)
        if rating is not None:
            ratings.append(rating)
            prose[start:end] = " " * (end - start)
    return ratings, "".join(prose)


def _rating_that_counts(ratings: Sequence[WrittenRating]) -> WrittenRating | None:
    """Returns the last rating if all ratings of a text agree, or if the last rating ends the text.
    Otherwise returns None.

    The 4 counts in "Rating of the style: 3. ... Overall rating: 4".
    """
    if not ratings:
        return None
    last = max(ratings, key=lambda rating: rating.end)
    entries = {rating.entry for rating in ratings}
    if len(entries) == 1 or last.ends_text:
        return last
    return None


@lru_cache
def _patterns_of_scale(scale: tuple[str, ...]) -> "_Reader":
    """Returns the patterns of a scale, which are compiled once."""
    return _Reader(scale)


class _Reader:
    """The patterns that depend on the scale, and the methods that search with them.

    Attributes:
        numbers: whether the scale's entries are numbers. Otherwise they are letters.
        low, high: the least and the greatest number; only for a scale of numbers.
        entry: the pattern of a number or letter that may be a rating.
        link: the pattern of the words from a noun to its rating.
        verb: the pattern of a verb and the words up to its rating.
        mention: the pattern of the scale itself, such as "1-5" (`_mention_pattern`).
    """

    def __init__(self, scale: tuple[str, ...]) -> None:
        self.numbers = all(entry.isdecimal() for entry in scale)
        if self.numbers:
            self.low = float(scale[0])
            self.high = float(scale[-1])
            entry = _NUMBER_PATTERN
            verb = _VERB_PATTERN
        else:
            # The longest entry comes first, or "A" would be read from "A+".
            longest_first = sorted(scale, key=len, reverse=True)
            entries = "|".join(map(re.escape, longest_first))
            entry = rf"(?:{entries})(?!\w)"
            verb = _CHOICE_VERB
        self.entry = re.compile(entry)
        # An entry must have its own case ("A", not "a"). The words around an entry may have any
        # case.
        self.link = re.compile(rf"(?i:{_LINK_PATTERN})(?={entry})", re.VERBOSE)
        self.verb = re.compile(rf"(?i:{verb})(?={entry})", re.VERBOSE)
        mention = _mention_pattern(re.escape(scale[0]), re.escape(scale[-1]))
        self.mention = re.compile(mention, re.IGNORECASE)

    def without_scale(self, text: str) -> str:
        """Returns the text with spaces in place of the scale itself ("from 1 to 5")."""
        if not self.numbers:
            return text
        return self.mention.sub(spaces_for_match, text)

    def entry_at(self, text: str, start: int) -> Entry | None:
        """Returns the number or letter that begins at an offset, or None if there is no number or
        letter.

        For "4 / 5 stars" the value is 4, and `unit_end` is the offset after "stars". For "8/10" the
        value is None.
        """
        match = self.entry.match(text, start)
        if match is None:
            return None
        value_end = match.end()
        if not self.numbers:
            return Entry(match[0], value_end, value_end)
        value = float(match[0].replace("\u2212", "-"))  # the minus sign U+2212
        usable = self.low <= value <= self.high
        unit_end = _end_of_match(_RATING_UNIT, text, value_end)
        denominator = _OUT_OF.match(text, unit_end)
        if denominator:
            usable = usable and float(denominator[1]) == self.high
            unit_end = _end_of_match(_RATING_UNIT, text, denominator.end())
        return Entry(value if usable else None, value_end, unit_end)

    def may_be_rating(self, text: str, end: int) -> bool:
        """Returns whether a number or letter that ends at this offset may be a rating, by the text
        that follows.

        False for "3 people", "3-4", "3 or 4", "80%" and "5?".
        """
        # The spaces and marks up to the next word of the line: ", " in "4, because", "-" in "3-4".
        gap = _GAP_IN_LINE.match(text, end)[0]  # type: ignore[index]  # it matches everywhere
        next_word = end + len(gap)
        # "80%" is no rating, and "5?" is not certain.
        if any(sign in gap for sign in "?%+=/<>~"):
            return False
        line_ends = next_word == len(text) or text[next_word] == "\n"
        sentence_ends = re.search(r"[.!;]\W", gap) is not None
        if line_ends or sentence_ends:
            return True
        is_beginning_of_word = not gap  # "3rd"
        number_follows = self.entry.match(text, next_word) is not None  # "3-4"
        if is_beginning_of_word or number_follows:
            return False
        # "4, because", "4 (a fair caption)" and "4 - a fair caption" are ratings.
        if re.search(r"[.!;:,(]|\s[-\u2013\u2014]|[-\u2013\u2014]\s", gap):
            return True
        return self._sentence_goes_on(text, next_word)

    def _sentence_goes_on(self, text: str, start: int) -> bool:
        """Returns whether the word at an offset continues a sentence after its rating.

        True for the "because" of "4 because", and for the "and" of "4 and it is fair". False for
        the words after the number in "3 people", "3 or 4", "4 and 5", "4 to 5" and "4 and a half".
        """
        word = _ONE_WORD.match(text, start)
        if word is None or not _GOES_ON.fullmatch(word[0]):
            return False
        if word[0].lower() not in ("and", "to"):
            return True
        behind = word.end() + 1
        if self.entry.match(text, behind):  # "and 5"
            return False
        return not text.startswith("a half", behind)

    def rating_at(self, text: str, label: int, start: int) -> WrittenRating | None:
        """Returns the rating at the offset `start`, or None if no rating is written there.

        label: the offset of the label that announces the rating. A number in a line below its label
        is a rating only if the number is alone in its line.
        """
        entry = self.entry_at(text, start)
        if entry is None or not self.may_be_rating(text, entry.unit_end):
            return None
        # "4/5 stars" is read as a whole, so what follows is read from `unit_end` on.
        next_word = _end_of_match(_GAP_IN_LINE, text, entry.unit_end)
        ends_line = next_word == len(text) or text[next_word] == "\n"
        is_below_label = "\n" in text[label:start]
        if is_below_label and not ends_line:
            return None  # "Rating:\n1. The dog is brown." is a list
        ends_text = _ends_text(text, entry.unit_end)
        return WrittenRating(entry.value, label, entry.value_end, ends_text)

    def labelled(self, text: str) -> Iterator[WrittenRating]:
        """Yields each rating that a noun announces: "Rating: 4", "a score of 4" or "answer: B"."""
        for label in _LABEL_PATTERN.finditer(text):
            # On a scale of letters "answer: B" is a rating. On a scale of numbers "answer: 4" is a
            # count.
            if label["choice"] and self.numbers:
                continue
            link = self.link.match(text, label.end())
            if link is None:
                continue
            has_sign = link["sign"] is not None
            has_verb = link["verb"] is not None
            if label["noun"]:
                is_linked = True  # "rating 4"
            elif label["choice"]:
                is_linked = (
                    has_sign or has_verb
                )  # "answer: B" and "the answer is B", not "answer B"
            else:  # the group `signed`
                is_linked = has_sign  # "overall: 4", not "overall is 4"
            if not is_linked:
                continue
            start = label.start()
            rating = self.rating_at(text, start, link.end())
            if rating and is_asserted(text, start, has_sign):
                yield rating

    def by_verbs(self, text: str) -> Iterator[WrittenRating]:
        """Yields the ratings that a verb announces: "I would give it a 4", "I prefer B"."""
        for verb in self.verb.finditer(text):
            start = verb.start()
            rating = self.rating_at(text, start, verb.end())
            words_before = sentence_before(text, start)
            # "It deserves a 4" is this judge's rating, whoever is named before it. But "give" has a
            # person as its subject: "They give it a 4" is a rating of other people.
            if verb["persons_verb"] and not _is_judge_subject(words_before):
                continue
            if rating and not is_denied(words_before):
                yield rating

    def boxed(self, text: str) -> Iterator[WrittenRating]:
        r"""Yields the ratings in boxes: [[4]] and \boxed{4}."""
        for box in _BOX_START.finditer(text):
            entry = self.entry_at(text, box.end())
            if entry is None:
                continue  # no number or letter is in the box
            box_end = _BOX_END.match(text, entry.unit_end)
            if box_end and self.may_be_rating(text, box_end.end()):
                ends_text = _ends_text(text, entry.unit_end)
                yield WrittenRating(entry.value, box.start(), entry.value_end, ends_text)

    def alone(self, text: str) -> list[WrittenRating]:
        """Returns the rating that is alone in the last line, in a list: the 4 of "It is fair.\\n4".

        The list is empty if the last line is no rating. The list is also empty if another line is a
        rating, too: several such lines are a table or a list.
        """
        ratings = []
        last_line = 0  # the offset of the last line that is not blank
        for line in re.finditer(r"[^\n]+", text):
            if not line[0].strip():
                continue
            last_line = line.start()
            rating = self._in_line(line)
            if rating:
                ratings.append(rating)
        if len(ratings) != 1 or ratings[0].start != last_line:
            return []
        if _is_list_mark(text, last_line):
            return []
        return ratings

    def _in_line(self, line: re.Match[str]) -> WrittenRating | None:
        """Returns the rating of a line that is nothing but a rating: "4", "**4/5**", "Answer: 4".
        Returns None for any other line.
        """
        content = line[0].strip()
        if len(content) > LONGEST_LINE:
            return None
        entry = self.entry_at(content, _end_of_match(_BEFORE_LONE_RATING, content, 0))
        if entry is None or _end_of_match(_ORNAMENTS, content, entry.unit_end) < len(content):
            return None
        content_start = line.start() + line[0].index(content)
        return WrittenRating(entry.value, line.start(), content_start + entry.value_end, True)

    def in_object(self, text: str, start: int, end: int) -> WrittenRating | None:
        """Returns the rating of the JSON object in the characters [start, end): 4 for `{"score": 4,
        "reason": "..."}`. Returns None if no key is one for a rating.

        The rating's `entry` is None if a value cannot be read, or if the values of several keys
        disagree. The object may be cut off after the value, without its closing brace.
        """
        keys: list[re.Match[str]] = []  # the keys for a rating
        for key in _KEY_PATTERN.finditer(text, start, end):
            if key["choice"] and self.numbers:
                continue  # on a scale of numbers the value of "answer" is a count
            if text.startswith("{", key.end()):
                continue  # the value is an object, whose own keys come later
            keys.append(key)
        if not keys:
            return None
        values = [self._value_at(text, key.end()) for key in keys]
        last = values[-1]
        all_agree = all(value.value == last.value for value in values)
        has_closing_brace = text[end - 1] == "}"
        # What follows decides whether the rating ends the text: what follows the closing brace, or
        # for an object that is cut off, what follows the last value.
        rating_end = end if has_closing_brace else last.unit_end
        return WrittenRating(
            entry=last.value if all_agree else None,
            start=keys[0].start(),
            end=last.value_end,
            ends_text=_ends_text(text, rating_end),
        )

    def _value_at(self, text: str, start: int) -> Entry:
        """Returns the value of a key in a JSON object, which begins at an offset. Its `value` is
        None for `4 of 10`, and for a text that is no number or letter.
        """
        entry = self.entry_at(text, start)
        if entry is None:
            return Entry(None, start, start)
        if not _VALUE_END.match(text, entry.unit_end):
            return replace(entry, value=None)
        return entry


def _mention_pattern(low: str, high: str) -> str:
    """Returns a pattern that matches the scale itself in a text, such as "1-5", so that its numbers
    are not read as ratings.

    low, high: patterns of the least and the greatest entry.
    """
    # "1-5", "1 to 5", "1 (poor) to 5 (good)" up to the 5
    span = (
        rf"(?<![\w.,/-]){low}(?:\s*+\([^()\n]{{0,40}}\))?"
        rf"\s*+(?:-|\u2013|\u2014|~|to|and|through|\.\.\.?|…)\s*+{high}(?![\w%]|[.,]\d)"
    )
    # "(1 = poor, 5 = good)"
    legend = rf"\(\s*+{low}\s*+[=:][^()\n]{{0,60}}\)"
    # "(out of 5)", "(/5)", "(max. 5)"
    maximum = rf"\(\s*+(?:/|out\ of|max(?:imum)?\.?)\s*+{high}\s*+\)"
    return f"{span}|{legend}|{maximum}"


def _end_of_match(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Returns the end of the pattern's match at an offset, or the offset itself if the pattern does
    not match.
    """
    match = pattern.match(text, start)
    return match.end() if match else start


def _is_judge_subject(words_before: str) -> bool:
    """Returns whether the judge who wrote the text is the subject of a verb, such as "give".

    True for the words "I would" before "give it a 4", and for no words. False for "They".

    words_before: the words of the sentence before the verb.
    """
    begins_sentence = _ONE_WORD.search(words_before) is None
    return begins_sentence or _FIRST_PERSON.search(words_before) is not None


def _ends_text(text: str, start: int) -> bool:
    """Returns whether the text ends at an offset, apart from a remark in parentheses and marks."""
    return _REST_OF_TEXT.match(text, start) is not None


def _without_tag(tag: re.Match[str]) -> str:
    """Returns the replacement of a tag, as long as the tag: " rating:" for "<rating>", ";" for
    "</rating>", and spaces for any other tag.
    """
    whole = tag[0]
    slash = tag[1]
    name = tag[2]
    if not name or not _LABEL_PATTERN.fullmatch(name):
        return spaces_for_match(tag)
    replacement = ";" if slash else f" {name}:"
    return replacement.ljust(len(whole))


def _without_quotations(text: str) -> str:
    """Returns the text with spaces in place of quotations of several words. A text that is only a
    quotation is returned as it is.
    """
    if not _ONE_WORD.search(_QUOTATION.sub("", text)):
        return text
    return _QUOTATION.sub(_without_quotation, text)


def _without_quotation(quotation: re.Match[str]) -> str:
    """Returns the replacement of a quotation: spaces for several words, else the quotation."""
    words = _ONE_WORD.findall(quotation[0])
    if len(words) > 1:
        return spaces_for_match(quotation)
    return quotation[0]  # may be a rating in quotation marks: "4"


def _outermost_objects(text: str) -> Iterator[tuple[int, int]]:
    """Yields the characters [start, end) of each outermost pair of braces. The last pair may lack
    its closing brace.
    """
    depth = 0
    start = 0
    for brace in re.finditer(r"[{}]", text):
        if brace[0] == "{":
            if depth == 0:
                start = brace.start()
            depth += 1
        elif depth:  # a closing brace without an opening one is not counted
            depth -= 1
            if depth == 0:
                yield start, brace.end()
    if depth:
        yield start, len(text)


def _is_list_mark(text: str, start: int) -> bool:
    """Returns whether the last line is only the number of a list's entry, because the answer was
    cut off there: "1. a dog\\n2. a cat\\n3."

    start: the offset of the last line.
    """
    mark = _LIST_MARK.fullmatch(text, start)
    if mark is None:
        return False
    above = text[:start]
    if mark[1] == "1":  # the first entry: a colon announces the list
        return above.rstrip().endswith(":")
    # A later entry: a line above begins with the previous number.
    mark_before = int(mark[1]) - 1
    pattern = rf"^[^\w\n]*+{mark_before}[.)]\s"
    return re.search(pattern, above, re.MULTILINE) is not None
