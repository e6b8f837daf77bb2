"""Links between the components of a sentence (who does what to whom), and the links that conjuncts
share.
"""

from collections.abc import Iterator, Sequence

from spanreward.rewards.language.components import Component, Kind, Places, Role
from spanreward.rewards.language.rules import Rules
from spanreward.rewards.language.words import (
    LEADING_WORDS,
    NOUN_TAGS,
    OBJECT_DEPENDENCIES,
    PREPOSITION_OBJECTS,
    SUBJECT_DEPENDENCIES,
    Word,
)

CONJUNCTION_WINDOW = 8  # words; conjuncts farther apart share nothing, as published
# Both components store a link. The dict maps the role at one component to the role at the other.
REVERSE_ROLES = {
    Role.MOD_OF: Role.HAS_MOD,
    Role.SUBJ: Role.SUBJ_OF,
    Role.DOBJ: Role.DOBJ_OF,
    Role.PHEAD: Role.HAS_PREP,
    Role.POBJ: Role.POBJ_OF,
}
COMPLEMENT_ROLES = frozenset({Role.DOBJ, Role.HAS_PREP})
# The second conjunct gets no links of these roles if it already has a link of the role: the coats
# of "red hats and blue coats" are not red.
NOT_INHERITED_TWICE = frozenset(
    {
        Role.HAS_MOD,
        Role.MOD_OF,
        Role.SUBJ_OF,
        Role.SUBJ,
        Role.DOBJ,
        Role.HAS_PREP,
    }
)


def add_links(components: Sequence[Component], places: Places, rules: Rules) -> None:
    """Adds links between the components of one sentence. The components come in the order of
    `find_components`.

    places: from the index of each word of the text to the component of the word.
    """
    for component in components:
        if component.kind is Kind.ADJECTIVE:
            _link_adjective(component, places)
        elif component.kind is Kind.VERB:
            _link_verb(component, places, rules)
        elif component.kind is Kind.PREPOSITION:
            _link_preposition(component, places)


def _add_link(source: Component, role: Role, target: Component) -> None:
    """Adds a link to both components.

    role: what the target is to the source.
    """
    source.links.append((target, role))
    target.links.append((source, REVERSE_ROLES[role]))


def _link_adjective(adjective: Component, places: Places) -> None:
    """Links an adjective to the nouns that it describes.

    The search starts at each word of the adjective and moves up to heads, past other adjectives. At
    a copula the search moves down to all nouns of the copula ("the hat is red"). If no noun is
    found, the nouns directly below the adjective are linked.
    """
    for noun in _nouns_above_adjective(adjective, places):
        _add_link(adjective, Role.MOD_OF, places[noun.index])
    # down, if the way up found no noun
    for word in adjective.words:
        if adjective.links:
            break
        for child in word.children:
            if _can_be_described(child, places):
                _add_link(adjective, Role.MOD_OF, places[child.index])


def _nouns_above_adjective(adjective: Component, places: Places) -> Iterator[Word]:
    """Yields the nouns on the way up from the words of an adjective: the noun of "a red hat", and
    through the copula the noun of "the hat is red".
    """
    visited: set[Word] = set()
    for word in adjective.words:
        waiting = [word.head]
        while waiting:
            candidate = waiting.pop()
            visited.add(candidate)
            if _can_be_described(candidate, places):
                yield candidate
            elif candidate.dep == "amod":
                # another adjective: further up
                if candidate.head not in visited:
                    waiting.append(candidate.head)
            elif candidate.pos == "AUX":
                # a copula: its subject and other words below it
                for child in candidate.children:
                    if child not in visited and child not in adjective.words:
                        waiting.append(child)


def _can_be_described(word: Word, places: Places) -> bool:
    """Whether a word is a noun with a component, so that an adjective may describe the noun."""
    return word.dep != "amod" and word.index in places and word.pos in NOUN_TAGS


def _link_verb(verb: Component, places: Places, rules: Rules) -> None:
    """Links a verb to its subjects and its direct objects: in "a man holds a cup" the verb "holds"
    gets the subject "man" and the object "cup".
    """
    for word in verb.words:
        # particles and adverbs of the verb have no subjects and objects
        if word.pos != "VERB" and word is not verb.anchor:
            continue
        subjects = _subjects_of_verb(word, places)
        direct = [subject for subject in subjects if subject.head is word]
        # the "that" of "the hat that fell" only stands for the hat
        has_own_subject = any(not subject.is_relative for subject in direct)
        if rules.own_subjects and word.dep in ("relcl", "conj") and has_own_subject:
            subjects = direct  # "the hat that the man wears", "a hat lies there and the man sits"
        inverted: list[Word] = []
        if not subjects:
            inverted = _inverted_subjects(word, places, rules)
        for subject in subjects + inverted:
            _add_link(verb, Role.SUBJ, places[subject.index])
        for child in word.children:
            if child.dep in OBJECT_DEPENDENCIES and child.index in places and child not in inverted:
                _add_link(verb, Role.DOBJ, places[child.index])


def _subjects_of_verb(verb: Word, places: Places) -> list[Word]:
    """Returns the subjects of a verb.

    The verb's own subjects come first, in reverse order. Next is the noun that the verb describes
    ("a man holding a book"), or the subjects of the verb's auxiliary.
    """
    head = verb.head
    subjects = verb.subjects[::-1]
    is_thing = head.pos in (*NOUN_TAGS, "PRON") or head.dep in SUBJECT_DEPENDENCIES
    if is_thing and head.index in places:
        subjects.append(head)  # "a man holding a book"
    elif head.pos == "AUX" and head is not verb:
        subjects += reversed(head.subjects)
    return [word for word in subjects if word.index in places]


def _inverted_subjects(verb: Word, places: Places, rules: Rules) -> list[Word]:
    """Returns the subjects after a verb: "there is a man", "in the boat sits a man"."""
    deps: tuple[str, ...] = ()
    if rules.copula_relations and verb.is_copula:
        deps = ("attr", *OBJECT_DEPENDENCIES)
    elif rules.any_order and any(map(_may_open_inverted_sentence, _children_before(verb))):
        deps = OBJECT_DEPENDENCIES  # the parser labels the man of "sits a man" as an object
    subjects = []
    for child in verb.children:
        is_behind = child.index > verb.index
        if is_behind and child.dep in deps and child.index in places:
            subjects.append(child)
    return subjects


def _children_before(verb: Word) -> list[Word]:
    return [child for child in verb.children if child.index < verb.index]


def _may_open_inverted_sentence(word: Word) -> bool:
    """Whether a word may open a sentence whose subject comes after the verb."""
    return word.dep == "prep" or word.text.lower() in LEADING_WORDS


def _link_preposition(preposition: Component, places: Places) -> None:
    """Links a preposition to its head and to its objects: in "a cup on a table" the preposition
    "on" gets the head "cup" and the object "table".
    """
    word = preposition.anchor
    head = word.head
    # up to the first head outside of the preposition
    while head in preposition.words and head.head is not head:
        head = head.head
    if head.index in places:
        _add_link(preposition, Role.PHEAD, places[head.index])
    for child in word.children:
        if child.dep in PREPOSITION_OBJECTS and child.index in places:
            _add_link(preposition, Role.POBJ, places[child.index])


def spread_over_conjunctions(words: Sequence[Word], places: Places, rules: Rules) -> None:
    """Gives the second of two conjuncts the links of the first, in the whole text: the coats of
    "red hats and coats" are red too.
    """
    for word in words:
        if word.dep != "conj":
            continue
        distance = abs(word.index - word.head.index)
        if distance > CONJUNCTION_WINDOW:
            continue
        first = places.get(word.head.index)
        second = places.get(word.index)
        if first is None or second is None or first.kind is not second.kind:
            continue
        if first.kind is Kind.PREPOSITION:
            _share_preposition(first, second)
        else:
            _share_links(first, second, word, rules)


def _share_preposition(first: Component, second: Component) -> None:
    """Completes the links of two joined prepositions. In "a bird over and under the table", "under"
    gets the bird and "over" gets the table.
    """
    first_heads = first.linked(Role.PHEAD)
    first_objects = first.linked(Role.POBJ)
    second_objects = second.linked(Role.POBJ)
    # the second preposition gets the head of the first ("bird") in place of its own head ("over")
    if first_heads:
        head = first_heads[0]
        other_links = [link for link in second.links if link[1] is not Role.PHEAD]
        second.links = [*other_links, (head, Role.PHEAD)]
        if (second, Role.HAS_PREP) not in head.links:
            head.links.append((second, Role.HAS_PREP))
    # the first preposition gets the object of the second ("table"): the parser links a shared
    # object to the second preposition only
    if not first_objects and second_objects:
        first.links.append((second_objects[0], Role.POBJ))


def _share_links(first: Component, second: Component, conjunct: Word, rules: Rules) -> None:
    """Gives the second of two joined components the links of the first: the coats of "red hats and
    coats" get the link to "red".

    With the rule `own_objects`, a second verb does not get the first verb's objects and
    prepositions that come before the second verb.

    conjunct: the word of the second component that is joined to the first component.
    """
    links = set(second.links)
    roles = {role for _, role in second.links}
    for target, role in list(first.links):
        if target is second or (target, role) in links:
            continue
        stands_between = first.anchor.index < target.anchor.index < conjunct.index
        is_complement = first.kind is Kind.VERB and role in COMPLEMENT_ROLES
        # "sits on a bench and smiles": the bench is no place of "smiles"
        if rules.own_objects and is_complement and stands_between:
            continue
        if role in NOT_INHERITED_TWICE and role in roles:
            continue
        second.links.append((target, role))
        # the target gets a link to the second component, with the role of its link to the first
        for source, source_role in target.links:
            if source is first:
                target.links.append((second, source_role))
                break
