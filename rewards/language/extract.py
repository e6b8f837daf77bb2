"""From the linked components of a text to its scene graph."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from spacy.tokens import Doc

from rewards.language.clusters import Cluster, References, resolve
from rewards.language.components import Component, Kind, Places, Role, find_components
from rewards.language.grammar import misplaced
from rewards.language.links import add_links, spread_over_conjunctions
from rewards.language.rules import Rules
from rewards.language.scene_graph import CharacterSpan, Entity, Relation, SceneGraph
from rewards.language.unasserted import unasserted
from rewards.language.words import Word, read_words

VIEWER = ("us", "our", "we")
Path = tuple[Component, ...]  # the prepositions that lead from a verb to one of their objects


def graph_of(
    doc: Doc,
    clusters: Sequence[Cluster] = (),
    rules: Rules | None = None,
    offset: int = 0,
    alternatives: bool = False,
) -> SceneGraph:
    """The scene graph of a parsed text.

    clusters: coreference, as lists of (first, last) token numbers, both inclusive. rules: None is the published
    extractor. offset: how many characters were stripped from the text's left end before it was parsed.
    alternatives: whether those stay that "or" leaves open.
    """
    rules = rules or Rules.published()
    words, sentences = read_words(doc, offset)
    places: Places = {}
    components: list[Component] = []
    for _, sentence in groupby(words, key=lambda word: word.sentence):
        found = find_components(list(sentence), places, rules)
        add_links(found, places, rules)
        components += found
    spread_over_conjunctions(words, places, rules)
    components.sort(key=lambda component: component.words[0].index)
    for number, component in enumerate(components):
        component.id = number
    left_out = unasserted(words, alternatives) if rules.asserted else frozenset()
    spans: list[CharacterSpan] = []
    if left_out:
        components, spans = asserted(components, left_out)
        sentences = without(sentences, words, left_out)
    builder = _Builder(places, resolve(words, clusters), rules)
    builder.build(components)
    places_amiss = misplaced(words) if rules.grammar else []
    return SceneGraph(builder.entities, list(builder.relations.values()), sentences, places_amiss, spans)


def asserted(components: Sequence[Component], left_out: frozenset[int]) -> tuple[list[Component], list[CharacterSpan]]:
    """The components without those of words that are not asserted, and the characters of those.

    What has lost all of its objects goes, too: who wears no hat wears nothing here.
    """
    gone = {component for component in components if component.anchor.index in left_out}
    for kind, role in ((Kind.PREPOSITION, Role.POBJ), (Kind.VERB, Role.DOBJ)):
        for component in components:
            objects = component.linked(role) if component.kind is kind else []
            if objects and gone.issuperset(objects):
                gone.add(component)
    kept = [component for component in components if component not in gone]
    for component in kept:
        component.links = [link for link in component.links if link[0] not in gone]
    return kept, sorted({span for component in gone for span in component.spans})


def without(sentences: Sequence[str], words: Sequence[Word], left_out: frozenset[int]) -> list[str]:
    """The sentences, of those that have words left out only the others."""
    kept = list(sentences)
    for number, own in groupby(words, key=lambda word: word.sentence):
        said = list(own)
        if not left_out.isdisjoint(word.index for word in said):
            kept[number] = " ".join(word.text for word in said if word.index not in left_out).strip()
    return kept


class _Builder:
    """Turns components, in text order, into entities, then attributes and relations."""

    def __init__(self, places: Places, references: References, rules: Rules) -> None:
        self.places = places
        self.references = references
        self.rules = rules
        self.entities: list[Entity] = []
        self.relations: dict[tuple[int, int, str], Relation] = {}
        self.entity_of: dict[Component, int] = {}
        self.handled: set[Component] = set()

    def build(self, components: Sequence[Component]) -> None:
        for component in components:
            if component.kind is Kind.NOUN and (component.anchor.pos != "PRON" or component.links):
                self._add_entity(component)
        for component in components:
            if component.is_possessive:
                self._add_possession(component)
            elif component.kind is Kind.ADJECTIVE:
                self._add_adjective(component)
            elif component.kind is Kind.VERB:
                self._add_verb(component)
        for component in components:
            if component.kind is Kind.PREPOSITION and component not in self.handled:
                self._add_preposition(component)

    def _others(self, component: Component) -> dict[int, list[Component]]:
        """The component's clusters, each with the other components it speaks of; clusters without others left out."""
        clusters = {self.references.cluster_of.get(word.index, -1) for word in component.words} - {-1}
        others = {
            cluster: [
                self.places[index]
                for index in self.references.words_of[cluster]
                if index in self.places and self.places[index] is not component
            ]
            for cluster in clusters
        }
        return {cluster: found for cluster, found in others.items() if found}

    def _add_entity(self, component: Component) -> None:
        others = self._others(component)
        known = [self.entity_of[other] for found in others.values() for other in found if other in self.entity_of]
        if known:
            number = min(known)
            entity = self.entities[number]
            entity.heads.append(component.text)
            entity.sentence_idxs.append(component.sentence)
            entity.text_spans += component.spans
        else:
            number = len(self.entities)
            entity = Entity(component.text, [component.text], [component.sentence], component.spans)
            entity.is_us = component.text.lower() in VIEWER
            entity.is_left = self.references.left in others
            entity.is_right = self.references.right in others
            self.entities.append(entity)
        self.entity_of[component] = number

    def _add_attribute(self, component: Component, target: Component, said: Sequence[Component]) -> None:
        """`said`: the components that make up the attribute, in the order they were reached."""
        entity = self.entities[self.entity_of[target]]
        text = self._text(sorted(said, key=lambda piece: (piece.id, piece.text)))
        if text not in entity.attributes:
            entity.attributes.append(text)
        entity.attribute_sentence_idxs.setdefault(text, []).append(component.sentence)
        spans = entity.attribute_text_spans.setdefault(text, [])
        spans += [span for piece in said for span in piece.spans]

    def _add_relation(self, subject: Component, target: Component, said: Sequence[Component], source: str) -> None:
        """`said`: the components that make up the relation, in the order they are said; the first is its place."""
        ends = self.entity_of[subject], self.entity_of[target]
        text = self._text(said)
        relation = self.relations.setdefault((*ends, text), Relation(*ends, text, source, [], []))  # type: ignore[arg-type]
        relation.sentence_idxs.append(said[0].sentence)
        relation.text_spans += [span for piece in said for span in piece.spans]

    def _text(self, said: Sequence[Component]) -> str:
        text = " ".join(piece.text for piece in said if piece.text)
        return text.lower() if self.rules.ignore_case else text

    def _add_adjective(self, adjective: Component) -> None:
        for target in adjective.linked(Role.MOD_OF):
            if target in self.entity_of:
                self._add_attribute(adjective, target, [adjective])
                self.handled.add(adjective)

    def _add_possession(self, possessive: Component) -> None:
        others = [other for found in self._others(possessive).values() for other in found if other in self.entity_of]
        for target in possessive.linked(Role.MOD_OF):
            if others and target in self.entity_of:
                owner = min(others, key=lambda other: other.id)
                self._add_part(target, owner, possessive)

    def _add_part(self, part: Component, owner: Component, possessive: Component) -> None:
        ends = self.entity_of[part], self.entity_of[owner]
        relation = self.relations.setdefault((*ends, "part of"), Relation(*ends, "part of", "poss", [], []))
        relation.sentence_idxs.append(possessive.sentence)
        relation.text_spans += possessive.spans

    def _add_verb(self, verb: Component) -> None:
        subjects = verb.linked(Role.SUBJ)
        if not subjects:
            return
        reached = self._shortest(verb) if self.rules.own_prepositions else list(self._reached(verb))
        pieces = [verb, *(path[-1] for path in reached)]
        direct: list[tuple[Component, Path]] = [(target, ()) for target in verb.linked(Role.DOBJ)]
        under = [(target, path) for path in reached for target in path[-1].linked(Role.POBJ)]
        objects, secondary = (direct, under) if direct else (under, [])
        if not objects:
            if not verb.silent:
                for subject in subjects:
                    if subject in self.entity_of:
                        self._add_attribute(verb, subject, pieces)
                self.handled.update(pieces)
            return
        for first in _ascending(direct if secondary else []):
            for second in _ascending(secondary):
                self._add_verb_relation(verb, first[0], second[0], pieces, second[1], about_subject=False)
        for subject in sorted(subjects, key=lambda component: component.id):
            for target, path in _ascending(objects):
                self._add_verb_relation(verb, subject, target, pieces, path, about_subject=True)

    def _reached(self, verb: Component) -> Iterator[Path]:
        """The prepositions that hang from a verb, directly or from one another, each with the way to it."""
        waiting: list[tuple[Component, Path]] = [(verb, ())]
        while waiting:
            component, path = waiting.pop()
            if path:
                yield path
            waiting += [(target, (*path, target)) for target in self._next(component)[::-1] if target not in path]

    def _shortest(self, verb: Component) -> list[Path]:
        """Of the ways to each preposition the first of the shortest ("over and under" is two prepositions, not "over
        under"), in the order in which `_reached` first comes to each. There may be endlessly many other ways.
        """
        shortest: dict[Component, Path] = {}
        level: list[tuple[Component, Path]] = [(verb, ())]
        while level:
            following: dict[Component, Path] = {}
            for component, path in level:
                for target in self._next(component):
                    if target not in shortest:
                        following.setdefault(target, (*path, target))
            shortest |= following
            level = list(following.items())
        order: dict[Component, None] = {}
        waiting = self._next(verb)[::-1]
        while waiting:
            component = waiting.pop()
            if component not in order:
                order[component] = None
                waiting += self._next(component)[::-1]
        return [shortest[component] for component in order]

    def _next(self, component: Component) -> list[Component]:
        """The prepositions that hang from this verb or preposition itself, in text order."""
        targets = sorted(component.linked(Role.HAS_PREP), key=lambda target: target.id)
        return [target for target in targets if self.rules.any_order or target.id >= component.id]

    def _add_verb_relation(
        self,
        verb: Component,
        subject: Component,
        target: Component,
        pieces: Sequence[Component],
        path: Path,
        about_subject: bool,
    ) -> None:
        if subject not in self.entity_of or target not in self.entity_of:
            return
        candidates = self._candidates(verb, subject, target, pieces, path, about_subject)
        said = [piece for piece in candidates if piece is verb or about_subject or piece not in self.handled]
        self.handled.update(candidates)
        if any(piece.text for piece in said):
            only_prepositions = verb.silent and verb in said
            self._add_relation(subject, target, said, "prep" if only_prepositions else "verb")

    def _candidates(
        self,
        verb: Component,
        subject: Component,
        target: Component,
        pieces: Sequence[Component],
        path: Path,
        about_subject: bool,
    ) -> list[Component]:
        """The pieces that can say how `target` relates to `subject`, each once, the verb before its prepositions."""
        if self.rules.own_prepositions:
            pieces = (verb, *path) if about_subject else path
        if not (self.rules.any_order and about_subject):
            pieces = [piece for piece in pieces if subject.id <= piece.id <= target.id]
        return sorted(set(pieces), key=lambda piece: (piece is not verb, piece.id))

    def _add_preposition(self, preposition: Component) -> None:
        for subject in preposition.linked(Role.PHEAD):
            for target in preposition.linked(Role.POBJ):
                if subject in self.entity_of and target in self.entity_of:
                    self._add_relation(subject, target, [preposition], "prep")


def _ascending(objects: Sequence[tuple[Component, Path]]) -> list[tuple[Component, Path]]:
    return sorted(objects, key=lambda pair: pair[0].id)
