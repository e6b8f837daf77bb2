"""Words that a text does not assert: it denies them, doubts them, asks about them, or leaves them open by "or".

    left_out, denied = unasserted(words)    # "There is no red circle.": the places of "no", "red" and "circle", twice

"There is no red circle", "I doubt that there is a red circle", "Is there a red circle?" and "either a red or a blue
circle" name a red circle, but none of them claims one. A metric that looks for names would reward all of them. An
unasserted word claims nothing to be there, and it supports no claim of another text. A plain denial is a claim of its
own: that the thing is not there (absences.py).

The rules use words and Penn Treebank tags and no parse tree (denial.py, alternatives.py). In long lists and broken
sentences the tagger is right more often than the parser.
"""

from collections.abc import Iterator, Sequence

from spanreward.rewards.language.alternatives import left_open
from spanreward.rewards.language.claims import unclaimed
from spanreward.rewards.language.denial import NONE, NOT, PICTURE, SEEN, TRUE, UNTRUE, denied
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.language.words import SIDES, Word, word_set

ASKING = word_set("is are was were do does did can could will would")
ASKED_OF = ("EX", "DT", "PRP", "PRP$", "NN", "NNS")  # tags after a verb that opens a question
TAKING_BACK = word_set(
    "this that it which is was are were all of the above everything a lie statement said following below"
)
NO = word_set("no not nope or just kidding")  # a sentence of its own: "There is a circle. No."
BACK = word_set("this it above")
FORWARD = word_set("following below")
WHOLE = word_set("all everything none nothing above")
QUOTES = word_set("\" \u201c \u201d `` ''")
STOPS = frozenset(".!?;:\n")
ENDS = frozenset(".!?")


def asserted(text: str, graph: SceneGraph) -> str:
    """Returns the text without what it does not assert. graph: that of the text, in default mode.

    A judge that reads this need not tell a claim from a frame around a name, and reads no order that a text gives it.
    """
    if not graph.unasserted:
        return text
    return " ".join(sentence for sentence in graph.sentences if any(map(str.isalnum, sentence)))


def unasserted(words: Sequence[Word], alternatives: bool = False) -> tuple[frozenset[int], frozenset[int]]:
    """Returns the places of the words that a text does not assert, and of those of them that it plainly denies.

    `words` is the whole text. Takes linear time.

    alternatives: whether alternatives joined by "or" count as asserted. A reference supports each of its alternatives.
    """
    found = set() if alternatives else unclaimed(words)
    plainly: set[int] = set()
    open_: set[int] = set()
    previous = 0  # where the segment before this one begins
    listing = False  # whether the segment belongs to a list under "Not in the picture:"
    for start, end, stop in segments(words):
        texts = [word.text.lower() for word in words[start:end]]
        tags = [word.tag for word in words[start:end]]
        if listing:
            found.update(range(start, end))
        listing = (listing and not ENDS.intersection(stop) and stop.count("\n") < 2) or announces(texts, tags, stop)
        if takes_back(texts) and not listing:
            forward = not FORWARD.isdisjoint(texts)
            before = 0 if WHOLE.intersection(texts) else previous
            found.update(range(end, len(words)) if forward else range(before, start))
        inverted = len(texts) > 1 and texts[0] in ASKING and tags[1] in ASKED_OF  # "is there a dog"
        if "?" in stop or inverted:
            found.update(range(start + quoted(texts), end))
        plainly.update(start + place for place in denied(texts, tags))
        if not alternatives:
            open_.update(start + place for place in left_open(texts, tags))
        previous = start if texts else previous
    return frozenset(found | plainly | open_), frozenset(plainly - found)


def segments(words: Sequence[Word]) -> Iterator[tuple[int, int, str]]:
    """Yields (start, end, sign after it) for every segment between full stops, colons and line breaks."""
    start = 0
    for place, word in enumerate(words):
        if not STOPS.isdisjoint(word.text) and not any(letter.isalnum() for letter in word.text):
            yield start, place, word.text
            start = place + 1
    yield start, len(words), ""


def announces(texts: Sequence[str], tags: Sequence[str], stop: str) -> bool:
    """Whether it is a heading that names nothing or denies: "True or false:", "Not in the picture:"."""
    if ":" not in stop or not texts:
        return False
    names = any(tag.startswith("N") or tag in ("CD", "VBG", "IN") for tag in tags) or not set(SIDES).isdisjoint(texts)
    finite = any(tag in ("VBZ", "VBP", "VBD") for tag in tags)
    denies = not (NOT | NONE).isdisjoint(texts) and "there" not in texts
    shown = texts[0] in NOT | NONE or not (SEEN | PICTURE).isdisjoint(texts)
    untrue = not UNTRUE.isdisjoint(texts) or (denies and shown)
    return (untrue and BACK.isdisjoint(texts) and texts[0] != "that") or not (names or finite)


def takes_back(texts: Sequence[str]) -> bool:
    """Whether the segment only says that the text before it is untrue: "That is not true." """
    said = {text for text in texts if text[0].isalnum()}
    if said <= NO and said - {"or"}:
        return True
    says_untrue = not said.isdisjoint(UNTRUE | {"lie"})
    says_not_true = not said.isdisjoint(NOT | NONE) and not said.isdisjoint(TRUE)
    return (says_untrue or says_not_true) and said <= TAKING_BACK | UNTRUE | TRUE | NOT | NONE


def quoted(texts: Sequence[str]) -> int:
    """Returns the start of a quotation that is still open, else 0: in 'A sign says "Who?"' only the quotation asks."""
    quotes = [place for place, text in enumerate(texts) if text in QUOTES]
    return quotes[-1] + 1 if len(quotes) % 2 else 0
