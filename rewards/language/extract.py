"""Makes the scene graph of a parsed text."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from spanreward.rewards.language.clusters import Cluster, References, resolve
from spanreward.rewards.language.components import Component, Kind, Places, Role, find_components
from spanreward.rewards.language.grammar import misplaced
from spanreward.rewards.language.links import add_links, spread_over_conjunctions
from spanreward.rewards.language.retracted_parts import Needs
from spanreward.rewards.language.rules import PUBLISHED, Rules
from spanreward.rewards.language.scene_graph import (
    CharacterSpan,
    Entity,
    Relation,
    SceneGraph,
    Source,
)
from spanreward.rewards.language.unasserted import Unasserted, claims_of, unasserted
from spanreward.rewards.language.words import Word

VIEWER = ("us", "our", "we")
Pieces = Sequence[Component]
Path = tuple[Component, ...]  # the prepositions that lead from a verb to one of their objects
# The kinds of components that have objects, with the role of these.
OBJECT_ROLES = ((Kind.PREPOSITION, Role.POBJ), (Kind.VERB, Role.DOBJ))


def graph_of(
    words: Sequence[Word],
    sentences: Sequence[str],
    clusters: Sequence[Cluster] = (),
    rules: Rules = PUBLISHED,
    alternatives: bool = False,
) -> SceneGraph:
    """Returns the scene graph of a parsed text. It changes neither the words nor the sentences.

    Args:
        words, sentences: those of `read_words`.
        clusters: coreference, as lists of mentions (first, last): token numbers, both inclusive.
        alternatives: whether to keep alternatives that the text leaves open by "or".
    """
    read = Unasserted()
    if rules.asserted:
        read = unasserted(words, claims_of(words), alternatives)
    linked = _linked(words, rules)
    return _graph(words, sentences, linked, clusters, rules, read)


def both_graphs(
    words: Sequence[Word],
    sentences: Sequence[str],
    clusters: Sequence[Cluster],
    rules: Rules,
) -> tuple[SceneGraph, SceneGraph | None]:
    """Returns the graph of a parsed text, and the one with alternatives, both as `graph_of` does.

    None for the second where it is the first without its `hanging`.
    """
    if not rules.asserted:
        return graph_of(words, sentences, clusters, rules), None
    claims = claims_of(words)
    read = unasserted(words, claims)
    linked = _linked(words, rules)
    links = [component.links for component in linked.components]
    graph = _graph(words, sentences, linked, clusters, rules, read)
    if not graph.unasserted:
        return graph, None
    supported = unasserted(words, claims, alternatives=True)
    if supported.left_out == read.left_out:
        return graph, None
    for component, all_links in zip(linked.components, links, strict=True):
        component.links = all_links  # the first graph may have left out some
    reference_graph = _graph(words, sentences, linked, clusters, rules, supported)
    return graph, reference_graph


class _Linked(NamedTuple):
    """The components of a text with their links, in text order, and those of its words."""

    components: list[Component]
    places: Places


def _linked(words: Sequence[Word], rules: Rules) -> _Linked:
    """Returns the components of a whole text, linked."""
    places: Places = {}
    components: list[Component] = []
    for _, sentence in groupby(words, key=lambda word: word.sentence):
        of_sentence = find_components(list(sentence), places, rules)
        add_links(of_sentence, places, rules)
        components += of_sentence
    # once all links of the text are there, as published
    spread_over_conjunctions(words, places, rules)
    components.sort(key=lambda component: component.words[0].index)
    for number, component in enumerate(components):
        component.id = number
    return _Linked(components, places)


def _graph(
    words: Sequence[Word],
    sentences: Sequence[str],
    linked: _Linked,
    clusters: Sequence[Cluster],
    rules: Rules,
    read: Unasserted,
) -> SceneGraph:
    """Returns the graph of a text without what it does not assert."""
    components: Pieces = linked.components
    spans: list[CharacterSpan] = []
    if read.left_out:
        components, spans = without_components(components, read.left_out)
        sentences = without_words(sentences, words, read.left_out)
    builder = _Builder(linked.places, resolve(words, clusters), rules)
    builder.build(components)
    # many words have the same needs: each is put in order once
    ordered_needs: dict[Needs, list[list[str]]] = {}
    hanging = []
    for word, needs in read.hanging.items():
        if needs not in ordered_needs:
            ordered_needs[needs] = sorted(map(sorted, needs))
        span = (word.start, word.end)
        hanging.append((span, ordered_needs[needs]))
    return SceneGraph(
        entities=builder.entities,
        relations=list(builder.relations.values()),
        sentences=list(sentences),
        misplaced=misplaced(words) if rules.grammar else [],
        unasserted=spans,
        denials=list(read.absent),
        hanging=hanging,
    )


def without_components(
    components: Pieces, left_out: frozenset[int]
) -> tuple[list[Component], list[CharacterSpan]]:
    """Returns the components without those of the words to leave out, and the characters of the
    removed components.

    A preposition or verb that loses all of its objects goes too: a man who wears no hat wears
    nothing.
    """
    gone = {component for component in components if component.anchor.index in left_out}
    for kind, role in OBJECT_ROLES:
        for component in components:
            if component.kind is not kind:
                continue
            objects = component.linked(role)
            if objects and gone.issuperset(objects):
                gone.add(component)
    remaining = [component for component in components if component not in gone]
    for component in remaining:
        links = []
        for target, role in component.links:
            if target not in gone:
                links.append((target, role))
        # a new list: the other graph of this text needs the old one
        component.links = links
    spans: set[CharacterSpan] = set()
    for component in gone:
        spans.update(component.spans)
    return remaining, sorted(spans)


def without_words(
    sentences: Sequence[str],
    words: Sequence[Word],
    left_out: frozenset[int],
) -> list[str]:
    """Returns the sentences.

    A sentence with words to leave out becomes its other words, joined by spaces.
    """
    remaining = list(sentences)
    for number, of_sentence in groupby(words, key=lambda word: word.sentence):
        removes = False
        stays = []
        for word in of_sentence:
            if word.index in left_out:
                removes = True
            else:
                stays.append(word.text)
        # the others keep their own spaces
        if removes:
            remaining[number] = " ".join(stays).strip()
    return remaining


def _in_text_order(components: Iterable[Component]) -> list[Component]:
    """Returns the components in the order of their first words, by which they are numbered."""
    return sorted(components, key=lambda component: component.id)


class _Builder:
    """Makes entities, then attributes and relations, of the components of a text in text order."""

    def __init__(self, places: Places, references: References, rules: Rules) -> None:
        self.places = places
        self.references = references
        self.rules = rules
        self.entities: list[Entity] = []
        self.relations: dict[tuple[int, int, str], Relation] = {}
        self.entity_of: dict[Component, int] = {}
        # prepositions and verbs that are part of an attribute or a relation
        self.handled: set[Component] = set()
        # the clusters, so that a thing of many mentions takes linear time
        self.members: dict[int | str, set[Component]] = {}
        self.clusters_of: dict[Component, set[int | str]] = {}
        for cluster, indices in references.words_of.items():
            for index in indices:
                if index not in places:
                    continue
                component = places[index]
                self.members.setdefault(cluster, set()).add(component)
                self.clusters_of.setdefault(component, set()).add(cluster)
        # the members that are entities, in text order, and the first of their entities
        self.named: dict[int | str, list[Component]] = {}
        self.lowest: dict[int | str, int] = {}

    def build(self, components: Pieces) -> None:
        """Adds what the components name. Entities come first, as all else refers to them;
        prepositions come last, as verbs take theirs.
        """
        for component in components:
            if component.kind is not Kind.NOUN:
                continue
            # a pronoun of which nothing is said is no entity
            if component.anchor.pos != "PRON" or component.links:
                self._add_entity(component)
        for component in components:
            if component.kind is Kind.ADJECTIVE and component.anchor.dep == "poss":
                self._add_possession(component)
            elif component.kind is Kind.ADJECTIVE:
                self._add_attribute(component.linked(Role.MOD_OF), [component])
            elif component.kind is Kind.VERB:
                self._add_verb(component)
        for component in components:
            if component.kind is Kind.PREPOSITION and component not in self.handled:
                for subject in component.linked(Role.PHEAD):
                    for target in component.linked(Role.POBJ):
                        self._add_relation(subject, target, [component], "prep")

    def _clusters(self, component: Component) -> set[int | str]:
        """Returns the clusters of the component's words."""
        cluster_of = self.references.cluster_of
        clusters = set()
        for word in component.words:
            if word.index in cluster_of:
                clusters.add(cluster_of[word.index])
        return clusters

    def _has_others(self, cluster: int | str, component: Component) -> bool:
        """Whether a cluster has components beside this one."""
        members = self.members.get(cluster, set[Component]())
        if component in members:
            return len(members) > 1
        return bool(members)

    def _add_entity(self, component: Component) -> None:
        """Adds a mention to the entity of its clusters, which is a new one at the first mention."""
        clusters = self._clusters(component)
        numbers = [self.lowest[cluster] for cluster in clusters if cluster in self.lowest]
        if not numbers:
            entity = Entity(component.text, heads=[], sentence_idxs=[], text_spans=[])
            entity.is_us = component.text.lower() in VIEWER
            entity.is_right = "right" in clusters and self._has_others("right", component)
            entity.is_left = "left" in clusters and self._has_others("left", component)
            # as published: in a text without "our left", "our right" is both
            if entity.is_right and "left" not in self.references.words_of:
                entity.is_left = True
            self.entities.append(entity)
            numbers = [len(self.entities) - 1]
        number = min(numbers)
        self.entity_of[component] = number
        for cluster in self.clusters_of.get(component, ()):
            self.named.setdefault(cluster, []).append(component)
            lowest = self.lowest.get(cluster, number)
            self.lowest[cluster] = min(number, lowest)
        entity = self.entities[number]
        entity.heads.append(component.text)
        entity.sentence_idxs.append(component.anchor.sentence)
        entity.text_spans += component.spans

    def _add_attribute(self, targets: Pieces, pieces: Pieces) -> None:
        """Gives every target that is an entity the attribute that the components `pieces` make up,
        in text order.

        The sentence of the attribute is that of the first of `pieces`.
        """
        text = self._text(_in_text_order(pieces))
        sentence = pieces[0].anchor.sentence
        for target in targets:
            if target not in self.entity_of:
                continue
            entity = self.entities[self.entity_of[target]]
            if text not in entity.attribute_text_spans:
                entity.attributes.append(text)
            entity.attribute_sentence_idxs.setdefault(text, []).append(sentence)
            spans = entity.attribute_text_spans.setdefault(text, [])
            for piece in pieces:
                spans += piece.spans

    def _add_relation(
        self,
        subject: Component,
        target: Component,
        pieces: Pieces,
        source: Source,
        text: str = "",
    ) -> None:
        """Relates two components if both are entities. `text` is by default the text of the
        components `pieces`.

        The sentence of the relation is that of the first of `pieces`.
        """
        if subject not in self.entity_of or target not in self.entity_of:
            return
        subject_number = self.entity_of[subject]
        target_number = self.entity_of[target]
        text = text or self._text(pieces)
        key = (subject_number, target_number, text)
        # a relation that is said again has one more place, and the source of the first
        if key not in self.relations:
            self.relations[key] = Relation(
                subject_number, target_number, text, source, sentence_idxs=[], text_spans=[]
            )
        relation = self.relations[key]
        relation.sentence_idxs.append(pieces[0].anchor.sentence)
        for piece in pieces:
            relation.text_spans += piece.spans

    def _text(self, pieces: Pieces) -> str:
        """Returns the words of components in their order, without those that have none."""
        texts = [piece.text for piece in pieces]
        text = " ".join(filter(None, texts))
        return text.lower() if self.rules.ignore_case else text

    def _add_possession(self, possessive: Component) -> None:
        """Makes what "his" or "the dog's" stands before a part of the owner, if coreference has
        one.
        """
        owners: set[Component] = set()
        for cluster in self._clusters(possessive):
            # the first two are enough: one may be the possessive itself
            owners.update(self.named.get(cluster, [])[:2])
        owners.discard(possessive)
        if not owners:
            return
        owner = _in_text_order(owners)[0]
        for target in possessive.linked(Role.MOD_OF):
            self._add_relation(target, owner, [possessive], "poss", "part of")

    def _add_verb(self, verb: Component) -> None:
        """Adds what a verb with subjects says: an attribute of them where it has no objects, else
        relations to its objects and to those of its prepositions.
        """
        subjects = verb.linked(Role.SUBJ)
        if not subjects:
            return
        find_paths = self._shortest if self.rules.own_prepositions else self._ways
        paths = list(find_paths(verb))
        pieces = [verb, *(path[-1] for path in paths)]
        # each object with the prepositions that lead to it, in text order
        direct: list[tuple[Component, Path]] = []
        for target in _in_text_order(verb.linked(Role.DOBJ)):
            direct.append((target, ()))
        indirect: list[tuple[Component, Path]] = []
        for path in paths:
            for target in path[-1].linked(Role.POBJ):
                indirect.append((target, path))
        indirect.sort(key=lambda pair: pair[0].id)
        # "a man sleeps", but a copula alone says nothing
        if not direct and not indirect:
            if not verb.silent:
                self._add_attribute(subjects, pieces)
                self.handled.update(pieces)
            return
        # "holds a cup in a hand" relates the cup to the hand
        for first, _ in direct:
            for second, path in indirect:
                self._add_verb_relation(verb, first, second, pieces, path, about_subject=False)
        # and the man to the cup, or to the hand where there is no cup
        for subject in _in_text_order(subjects):
            for target, path in direct or indirect:
                self._add_verb_relation(verb, subject, target, pieces, path, about_subject=True)

    def _ways(self, verb: Component) -> Iterator[Path]:
        """Yields every way from a verb to a preposition that hangs from it or from another of its
        prepositions.
        """
        waiting: list[Path] = []
        for target in reversed(self._next(verb)):
            waiting.append((target,))
        # the last is taken first, so that each list goes in backwards
        while waiting:
            path = waiting.pop()
            yield path
            for target in reversed(self._next(path[-1])):
                if target not in path:
                    waiting.append((*path, target))

    def _shortest(self, verb: Component) -> list[Path]:
        """Returns the shortest way to each preposition, and of equal ones the first, in text order.

        "over and under" is two prepositions and not "over under". There can be very many other
        ways.
        """
        shortest: dict[Component, Path] = {verb: ()}
        queue = [verb]
        # the queue grows while it is read: near prepositions come before far ones
        for component in queue:
            for target in self._next(component):
                if target not in shortest:
                    shortest[target] = (*shortest[component], target)
                    queue.append(target)
        del shortest[verb]
        return sorted(shortest.values(), key=lambda path: [step.id for step in path])

    def _next(self, component: Component) -> list[Component]:
        """Returns the prepositions that hang from this verb or preposition directly, in text
        order.
        """
        targets = _in_text_order(component.linked(Role.HAS_PREP))
        if self.rules.any_order:
            return targets
        # as published, those before the verb are not seen: "In the boat sits a man"
        return [target for target in targets if target.id >= component.id]

    def _add_verb_relation(
        self,
        verb: Component,
        subject: Component,
        target: Component,
        pieces: Pieces,
        path: Path,
        about_subject: bool,
    ) -> None:
        """Relates two entities by those of the verb and its prepositions that can say how the
        target relates.

        about_subject: whether `subject` is the verb's subject, or else one of its direct objects.
        """
        if subject not in self.entity_of or target not in self.entity_of:
            return
        if self.rules.own_prepositions:
            pieces = (verb, *path) if about_subject else path
        # only what stands between the two can say how the one relates to the other
        if not (self.rules.any_order and about_subject):
            pieces = [piece for piece in pieces if subject.id <= piece.id <= target.id]
        prepositions = [piece for piece in set(pieces) if piece is not verb]
        verb_first = _in_text_order(prepositions)
        if verb in pieces:
            verb_first.insert(0, verb)
        new_pieces = verb_first
        if not about_subject:  # a preposition relates a direct object only once
            new_pieces = []
            for piece in verb_first:
                if piece is verb or piece not in self.handled:
                    new_pieces.append(piece)
        self.handled.update(verb_first)
        if any(piece.text for piece in new_pieces):
            only_prepositions = verb.silent and verb in new_pieces
            source: Source = "prep" if only_prepositions else "verb"
            self._add_relation(subject, target, new_pieces, source)
