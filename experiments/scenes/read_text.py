"""Answers a question from a text by its words: how WordJudge reads for CapRL. Not a published
metric.

    read_text("What color is the star?", index)
    # "red", if the text has one star and says that it is red

It knows what color things are, how many there are, where they are, and yes or no. Where the text
says nothing of the thing, or several answers, it is UNANSWERABLE: a list of all colors answers
nothing, and silence is no "no".
"""

from experiments.caprl.probe import UNANSWERABLE
from spanreward.rewards.judges.match.text_index import CHECKABLE_ATTRIBUTES, TextIndex
from spanreward.rewards.language.lemmas import lemma_of_word, lemmas_of_phrase
from spanreward.rewards.text.filler import FUNCTION_WORDS

NAMED = "black blue brown gold gray green grey orange pink purple red silver violet white yellow"
COLORS = {lemma_of_word(word): word for word in NAMED.split()}
BINARY = frozenset(("is", "are", "does", "do", "was", "were", "has", "have", "can"))
FREE = lemmas_of_phrase(" ".join(FUNCTION_WORDS)) | BINARY


def read_text(question: str, index: TextIndex) -> str:
    """Returns the answer in a few words, or UNANSWERABLE."""
    asked, words = lemmas_of_phrase(question), question.lower().split()
    named = {
        n: name for name, numbers in index.named.items() if name and name <= asked for n in numbers
    }
    wanted = (asked & CHECKABLE_ATTRIBUTES).difference(*named.values())
    said = {number: frozenset[str]().union(*index.attributes[number]) for number in named}
    fitting = [number for number in named if wanted <= said[number]]
    things = fitting or list(named)
    described = {word for number in things for word in said[number]}
    found: set[str] = set()
    if things and BINARY & {*words[:1]} and asked - wanted <= index.words | FREE:
        found = {"yes" if fitting else "no"}
    elif {"color", "colour"} & {*words}:
        found = {COLORS[word] for word in described if word in COLORS}
    elif things and words[:2] == ["how", "many"]:
        counted = {word for word in described if word.isdigit()}
        found = counted if counted or any(index.plural[n] for n in things) else {str(len(things))}
    elif words[:1] == ["where"]:
        ends = [relation.object for relation in index.graph.relations if relation.subject in things]
        entities = [index.graph.entities[end] for end in ends if index.is_place[end]]
        found = {" ".join(entity.attributes or [entity.head]) for entity in entities}
    return found.pop() if len(found) == 1 else UNANSWERABLE
