"""Words that a text says without asserting them: denied, doubted, asked, or left open between several.

    unasserted(words)       # of "There is no red circle.": the places of "no", "red" and "circle"

"There is no red circle", "I doubt that there is a red circle", "Is there a red circle?" and "either a red or a blue
circle" name a red circle, and none says that there is one. A metric that looks for names would pay for all of them.
What is not asserted is no claim: neither right nor wrong, and no support for what another text says.

It goes by words and not by the tree (denial.py, alternatives.py), as of long lists and of broken sentences the tagger
knows more than the parser. Tags: Penn Treebank.
"""

from collections.abc import Iterator, Sequence

from rewards.language.alternatives import left_open
from rewards.language.denial import NONE, NOT, PICTURE, SEEN, TRUE, UNTRUE, denied
from rewards.language.words import Word

ASKING = frozenset(["is", "are", "was", "were", "do", "does", "did", "can", "could", "will", "would"])
ASKED_OF = ("EX", "DT", "PRP", "PRP$", "NN", "NNS")  # what stands behind a verb that opens a question
INVERTED = frozenset(["had", "should"])  # "had there been a dog"
CALLED_IN_DOUBT = frozenset((("who", "says"), ("who", "said"), ("what", "about"), ("how", "about")))
_TAKING_BACK = "this that it which is was are were all of the above everything a lie statement said following below"
TAKING_BACK = frozenset(_TAKING_BACK.split())
NO = frozenset(["no", "not", "nope", "or"])  # a sentence of its own: "There is a circle. No."
_HEADING = "in on part things what objects shapes and only description descriptions answer claim claims example"
HEADING = frozenset(_HEADING.split()) | TAKING_BACK | SEEN | PICTURE | UNTRUE | NOT | NONE
BACK = frozenset(["this", "it", "above"])
FORWARD = frozenset(["following", "below"])
WHOLE = frozenset(["all", "everything", "none", "nothing", "above"])
QUOTES = frozenset(('"', "\u201c", "\u201d", "``", "''"))
STOPS = frozenset(".!?;:\n")
ENDS = frozenset(".!?")


def unasserted(words: Sequence[Word], alternatives: bool = False) -> frozenset[int]:
    """The places in `words`, which are all of a text, of those that it does not assert. Linear in their number.

    alternatives: whether those that "or" joins count as asserted, as a reference supports each of them.
    """
    found: set[int] = set()
    previous = 0  # where the segment before this one begins
    listing = False  # what "Not in the picture:" announces
    for start, end, stop in segments(words):
        texts = [word.text.lower() for word in words[start:end]]
        tags = [word.tag for word in words[start:end]]
        if listing:
            found.update(range(start, end))
        listing = (listing and not ENDS.intersection(stop) and stop.count("\n") < 2) or announces(texts, stop)
        if takes_back(texts) and not listing:
            forward = not FORWARD.isdisjoint(texts)
            before = 0 if WHOLE.intersection(texts) else previous
            found.update(range(end, len(words)) if forward else range(before, start))
        if "?" in stop or asks(texts, tags):
            found.update(range(start + quoted(texts), end))
        found.update(start + place for place in denied(texts, tags))
        if not alternatives:
            found.update(start + place for place in left_open(texts, tags))
        previous = start if texts else previous
    return frozenset(found)


def segments(words: Sequence[Word]) -> Iterator[tuple[int, int, str]]:
    """(start, end, the sign behind it) of what stands between full stops, colons and line breaks."""
    start = 0
    for place, word in enumerate(words):
        if not STOPS.isdisjoint(word.text) and not any(letter.isalnum() for letter in word.text):
            yield start, place, word.text
            start = place + 1
    yield start, len(words), ""


def asks(texts: Sequence[str], tags: Sequence[str]) -> bool:
    """By its order of words: "is there a dog", "had there been a dog"; or as "who says that there is"."""
    if len(texts) < 2:
        return False
    inverted = texts[0] in INVERTED and tags[1] == "EX"
    return inverted or (texts[0] in ASKING and tags[1] in ASKED_OF) or (texts[0], texts[1]) in CALLED_IN_DOUBT


def announces(texts: Sequence[str], stop: str) -> bool:
    """Whether it is a heading over what is not there: "Not in the picture:", "False:", "The following is wrong:"."""
    said = {text for text in texts if text[0].isalnum()}
    denies = not said.isdisjoint(UNTRUE | NOT | NONE)
    return ":" in stop and denies and said <= HEADING and said.isdisjoint(BACK) and texts[0] != "that"


def takes_back(texts: Sequence[str]) -> bool:
    """Whether the segment says no more than that what stands before it is untrue: "That is not true." """
    said = {text for text in texts if text[0].isalnum()}
    if said <= NO and said - {"or"}:
        return True
    untrue = said & (UNTRUE | {"lie"}) or (said & (NOT | NONE) and said & TRUE)
    return bool(untrue) and said <= TAKING_BACK | UNTRUE | TRUE | NOT | NONE


def quoted(texts: Sequence[str]) -> int:
    """Where a quotation that is open at the end begins: of 'A sign says "Who?"' only the quotation asks. Else 0."""
    quotes = [place for place, text in enumerate(texts) if text in QUOTES]
    return quotes[-1] + 1 if len(quotes) % 2 else 0
