"""Words that a text does not assert: it denies them, asks about them, leaves them open by "or", or orders them.

    read = unasserted(words)
    read.left_out, read.denied      # "There is no red circle.": the places of "no", "red" and "circle", twice
    read.hanging                    # what the other words need that are said in a frame (claims.py)

"There is no red circle", "Is there a red circle?" and "either a red or a blue circle" name a red circle, but none of
them claims one. An unasserted word claims nothing to be there, and it supports no claim of another text. A plain denial
is a claim of its own: that the thing is not there (absences.py).

Denials and alternatives are read by words and tags: in broken sentences the tagger is right more often than the parser.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from spanreward.rewards.language.alternatives import left_open
from spanreward.rewards.language.claims import NEVER, hanging
from spanreward.rewards.language.denial import denied
from spanreward.rewards.language.framing import QUOTES, Needs
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.language.words import Word, word_set

ASKING = word_set("is are was were do does did can could will would")
ASKED_OF = ("EX", "DT", "PRP", "PRP$", "NN", "NNS")  # tags after a verb that opens a question
STOPS = frozenset(".!?;:\n")


class Unasserted(NamedTuple):
    """left_out: places of words that it does not assert. denied: those that it denies. hanging: the others' needs."""

    left_out: frozenset[int] = frozenset()
    denied: frozenset[int] = frozenset()
    hanging: Mapping[Word, Needs] = MappingProxyType({})


def asserted(text: str, graph: SceneGraph) -> str:
    """Returns the text without what it does not assert. graph: that of the text, in default mode.

    A judge that reads this need not tell a claim from a frame around a name, and reads no order that a text gives it.
    """
    if not graph.unasserted:
        return text
    return " ".join(sentence for sentence in graph.sentences if any(map(str.isalnum, sentence)))


def unasserted(words: Sequence[Word], alternatives: bool = False) -> Unasserted:
    """Reads a whole text, in linear time.

    alternatives: whether alternatives joined by "or" count as asserted. A reference supports each of its alternatives,
    and what it frames.
    """
    needs = {} if alternatives else hanging(words)
    found = {word.index for word, of_word in needs.items() if NEVER in of_word}
    plainly: set[int] = set()
    open_: set[int] = set()
    for start, end, stop in segments(words):
        texts = [word.text.lower() for word in words[start:end]]
        tags = [word.tag for word in words[start:end]]
        inverted = len(texts) > 1 and texts[0] in ASKING and tags[1] in ASKED_OF  # "is there a dog"
        if "?" in stop or inverted:
            found.update(range(start + quoted(texts), end))
        plainly.update(start + place for place in denied(texts, tags))
        if not alternatives:
            open_.update(start + place for place in left_open(texts, tags))
    left_out = frozenset(found | plainly | open_)
    framed = {word: of_word for word, of_word in needs.items() if of_word and word.index not in left_out}
    return Unasserted(left_out, frozenset(plainly - found), framed)


def segments(words: Sequence[Word]) -> Iterator[tuple[int, int, str]]:
    """Yields (start, end, sign after it) for every segment between full stops, colons and line breaks."""
    start = 0
    for place, word in enumerate(words):
        if not STOPS.isdisjoint(word.text) and not any(letter.isalnum() for letter in word.text):
            yield start, place, word.text
            start = place + 1
    yield start, len(words), ""


def quoted(texts: Sequence[str]) -> int:
    """Returns the start of a quotation that is still open, else 0: in 'A sign says "Who?"' only the quotation asks."""
    quotes = [place for place, text in enumerate(texts) if text in QUOTES]
    return quotes[-1] + 1 if len(quotes) % 2 else 0
