"""Makes the scene graph of a parsed text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from typing import NamedTuple

from spanreward.rewards.language.clusters import Cluster, References, words_of_clusters
from spanreward.rewards.language.components import Component, Kind, Places, Role, find_components
from spanreward.rewards.language.grammar import misplaced_words
from spanreward.rewards.language.links import add_links, spread_over_conjunctions
from spanreward.rewards.language.retracted_parts import ClaimNeeds
from spanreward.rewards.language.rules import PUBLISHED_RULES, Rules
from spanreward.rewards.language.scene_graph import (
    CharacterSpan,
    Entity,
    Relation,
    RelationSource,
    SceneGraph,
)
from spanreward.rewards.language.unasserted import Unasserted, claims_of, unasserted_words
from spanreward.rewards.language.words import Word

VIEWER_WORDS = ("us", "our", "we")
Pieces = Sequence[Component]
# the prepositions on the way from a verb to an object: "on" and "under"
PrepositionPath = tuple[Component, ...]
_ObjectWithPath = tuple[Component, PrepositionPath]
# The kinds of components that have objects, with the role of the objects.
OBJECT_ROLES = ((Kind.PREPOSITION, Role.POBJ), (Kind.VERB, Role.DOBJ))


def graph_of(
    words: Sequence[Word],
    sentences: Sequence[str],
    clusters: Sequence[Cluster] = (),
    rules: Rules = PUBLISHED_RULES,
    alternatives: bool = False,
) -> SceneGraph:
    """Returns the scene graph of a parsed text: its entities, attributes and relations. For "A red
    circle is above a square." the entities are the circle and the square, the circle is red, and
    the relation between them is "is above".

    The words and the sentences are not changed.

    Args:
        words, sentences: the results of `read_words`.
        clusters: coreference, as lists of mentions (first, last): token numbers, both inclusive.
        rules: the departures from the published extractor.
        alternatives: whether the graph keeps the alternatives of an "or" ("a cup or a glass").
    """
    not_asserted = Unasserted()
    if rules.asserted:
        not_asserted = unasserted_words(words, claims_of(words), alternatives)
    linked = _linked_components(words, rules)
    return _asserted_graph(words, sentences, linked, clusters, rules, not_asserted)


def both_graphs(
    words: Sequence[Word],
    sentences: Sequence[str],
    clusters: Sequence[Cluster],
    rules: Rules,
) -> tuple[SceneGraph, SceneGraph | None]:
    """Returns two graphs of a parsed text: (without alternatives, with alternatives). Alternatives
    are the cup and the glass of "a cup or a glass".

    The second graph is for a text that serves as a reference: a reference supports each of its
    alternatives. The second graph is None if the two graphs differ in nothing but `hanging`.
    `graph_of` returns the same graphs one by one.
    """
    if not rules.asserted:
        return graph_of(words, sentences, clusters, rules), None
    # the graph without alternatives
    claims = claims_of(words)
    not_asserted = unasserted_words(words, claims)
    linked = _linked_components(words, rules)
    all_links = [component.links for component in linked.components]
    graph = _asserted_graph(words, sentences, linked, clusters, rules, not_asserted)
    # if no word is left out, the text has no alternatives
    if not graph.unasserted:
        return graph, None
    # with the same words left out, the graphs differ in nothing but `hanging`
    not_supported = unasserted_words(words, claims, alternatives=True)
    if not_supported.left_out == not_asserted.left_out:
        return graph, None
    # The first graph gave the components new lists of links (`without_components`). The second
    # graph needs the lists of before, which have not changed.
    for component, links in zip(linked.components, all_links, strict=True):
        component.links = links
    reference_graph = _asserted_graph(words, sentences, linked, clusters, rules, not_supported)
    return graph, reference_graph


class _Linked(NamedTuple):
    """The components of a text with their links, in text order, and the component of each word."""

    components: list[Component]
    places: Places


def _linked_components(words: Sequence[Word], rules: Rules) -> _Linked:
    """Returns the components of a whole text, with the links between the components: in "a man
    sleeps" the component "sleeps" has a link to its subject, "man".
    """
    places: Places = {}
    components: list[Component] = []
    for _, sentence in groupby(words, key=lambda word: word.sentence):
        of_sentence = find_components(list(sentence), places, rules)
        add_links(of_sentence, places, rules)
        components += of_sentence
    # after all other links of the text, as in the published code
    spread_over_conjunctions(words, places, rules)
    # ids in text order
    components.sort(key=lambda component: component.words[0].index)
    for number, component in enumerate(components):
        component.id = number
    return _Linked(components, places)


def _asserted_graph(
    words: Sequence[Word],
    sentences: Sequence[str],
    linked: _Linked,
    clusters: Sequence[Cluster],
    rules: Rules,
    not_asserted: Unasserted,
) -> SceneGraph:
    """Returns the graph of a text without the words that the text does not assert.

    linked: the result of `_linked_components`.
    not_asserted: the words that are not asserted, the denials, and the needs.
    """
    components: Pieces = linked.components
    spans: list[CharacterSpan] = []
    if not_asserted.left_out:
        components, spans = without_components(components, not_asserted.left_out)
        sentences = without_words(sentences, words, not_asserted.left_out)
    builder = _Builder(linked.places, words_of_clusters(words, clusters), rules)
    builder.build(components)
    return SceneGraph(
        entities=builder.entities,
        relations=list(builder.relations.values()),
        sentences=list(sentences),
        misplaced=misplaced_words(words) if rules.grammar else [],
        unasserted=spans,
        denials=list(not_asserted.absent),
        hanging=_spans_with_needs(not_asserted.hanging),
    )


def _spans_with_needs(
    hanging: Mapping[Word, ClaimNeeds],
) -> list[tuple[CharacterSpan, list[list[str]]]]:
    """Returns the span and the needs of each word with needs (`SceneGraph.hanging`), sorted, so
    that equal texts give equal graphs.
    """
    # many words have the same needs: each set of needs is sorted once
    ordered_needs: dict[ClaimNeeds, list[list[str]]] = {}
    spans = []
    for word, needs in hanging.items():
        if needs not in ordered_needs:
            ordered_needs[needs] = sorted(map(sorted, needs))
        spans.append(((word.start, word.end), ordered_needs[needs]))
    return spans


def without_components(
    components: Pieces, left_out: frozenset[int]
) -> tuple[list[Component], list[CharacterSpan]]:
    """Returns the components that remain, and the characters of the removed components. A component
    is removed if its anchor is left out.

    A preposition or verb that loses all of its objects is removed too. Otherwise "a man who wears
    no hat" would give a man who "wears".

    left_out: the indices of the words to leave out.
    """
    removed = {component for component in components if component.anchor.index in left_out}
    # prepositions and verbs without remaining objects
    for kind, role in OBJECT_ROLES:
        for component in components:
            objects = component.linked(role) if component.kind is kind else []
            if objects and removed.issuperset(objects):
                removed.add(component)
    remaining = [component for component in components if component not in removed]
    for component in remaining:
        # a new list, because the other graph of this text needs the old list
        component.links = [link for link in component.links if link[0] not in removed]
    spans: set[CharacterSpan] = set()
    for component in removed:
        spans.update(component.spans)
    return remaining, sorted(spans)


def without_words(
    sentences: Sequence[str],
    words: Sequence[Word],
    left_out: frozenset[int],
) -> list[str]:
    """Returns the sentences without the words to leave out: "There is ." for "There is no dog."
    without "no" and "dog".

    A sentence that loses words becomes its remaining words, joined by spaces. Other sentences do
    not change.

    left_out: the indices of the words to leave out.
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
        # a sentence without removed words keeps its spaces
        if removes:
            remaining[number] = " ".join(stays).strip()
    return remaining


def _in_text_order(components: Iterable[Component]) -> list[Component]:
    """Returns the components in text order. Component ids are numbers in text order."""
    return sorted(components, key=lambda component: component.id)


def _objects_of_paths(paths: Sequence[PrepositionPath]) -> list[_ObjectWithPath]:
    """Returns the objects of prepositions, in text order, each with the prepositions that lead to
    it from the verb: the hand with ("in",) for "holds a cup in a hand".
    """
    objects = []
    for path in paths:
        for target in path[-1].linked(Role.POBJ):
            objects.append((target, path))
    return sorted(objects, key=lambda pair: pair[0].id)


class _Builder:
    """Builds the entities of a text, then the attributes and relations. The components come in text
    order.
    """

    def __init__(self, places: Places, references: References, rules: Rules) -> None:
        self.places = places
        self.references = references
        self.rules = rules
        self.entities: list[Entity] = []
        self.relations: dict[tuple[int, int, str], Relation] = {}
        self.entity_of: dict[Component, int] = {}
        # prepositions and verbs that are part of an attribute or a relation
        self.handled: set[Component] = set()
        # the components of each cluster and the clusters of each component, so that a thing with
        # many mentions takes linear time
        self.members: dict[int | str, set[Component]] = {}
        self.clusters_of: dict[Component, set[int | str]] = {}
        for cluster, indices in references.words_of.items():
            for index in indices:
                if index not in places:
                    continue
                component = places[index]
                self.members.setdefault(cluster, set()).add(component)
                self.clusters_of.setdefault(component, set()).add(cluster)
        # for each cluster, its components that are entities, in text order, and the lowest entity
        # number
        self.entity_mentions: dict[int | str, list[Component]] = {}
        self.lowest_number: dict[int | str, int] = {}

    def build(self, components: Pieces) -> None:
        """Adds the entities, attributes and relations of the components. "A red circle sits on a
        box" gives two entities, the attribute "red" and the relation "sits on".

        Entities come first, because attributes and relations refer to entities. Prepositions come
        last, because a verb takes its own prepositions.
        """
        for component in components:
            if component.kind is not Kind.NOUN:
                continue
            # a pronoun without links is no entity
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

    def _clusters_of_words(self, component: Component) -> set[int | str]:
        """Returns the clusters of the component's words. Each word is in one cluster at most."""
        cluster_of = self.references.cluster_of
        clusters = set()
        for word in component.words:
            if word.index in cluster_of:
                clusters.add(cluster_of[word.index])
        return clusters

    def _has_others(self, cluster: int | str, component: Component) -> bool:
        """Whether a cluster has components other than this component."""
        members = self.members.get(cluster, set[Component]())
        if component in members:
            return len(members) > 1
        return bool(members)

    def _add_entity(self, component: Component) -> None:
        """Adds a mention to the entity of its cluster: "A cup" and a later "it" are two mentions of
        one entity. The first mention of a cluster, and a mention without a cluster, add a new
        entity.
        """
        # the entity with the lowest number in the clusters of the component's words, or a new one
        clusters = self._clusters_of_words(component)
        numbers = []
        for cluster in clusters:
            if cluster in self.lowest_number:
                numbers.append(self.lowest_number[cluster])
        if not numbers:
            self.entities.append(self._new_entity(component, clusters))
            numbers = [len(self.entities) - 1]
        number = min(numbers)
        self.entity_of[component] = number
        # Note the mention for later mentions, also in a cluster whose mention contains an "our
        # left". `clusters_of` has this cluster, and `_clusters_of_words` has "left" in its place.
        for cluster in self.clusters_of.get(component, ()):
            self.entity_mentions.setdefault(cluster, []).append(component)
            lowest = self.lowest_number.get(cluster, number)
            self.lowest_number[cluster] = min(number, lowest)
        entity = self.entities[number]
        entity.heads.append(component.text)
        entity.sentence_idxs.append(component.anchor.sentence)
        entity.text_spans += component.spans

    def _new_entity(self, component: Component, clusters: Set[int | str]) -> Entity:
        """Returns an entity without mentions that has the name of a component.

        The entity is the viewer's left side ("our left") if the text names this side at least
        twice. The right side is alike.

        clusters: the clusters of the component. The cluster "left" has every "our left" of the
        text, and "right" every "our right".
        """
        entity = Entity(component.text, heads=[], sentence_idxs=[], text_spans=[])
        entity.is_us = component.text.lower() in VIEWER_WORDS
        entity.is_right = "right" in clusters and self._has_others("right", component)
        entity.is_left = "left" in clusters and self._has_others("left", component)
        # the published extractor does the same: in a text without "our left", an entity that is
        # "our right" is marked as left, too
        if entity.is_right and "left" not in self.references.words_of:
            entity.is_left = True
        return entity

    def _add_attribute(self, targets: Pieces, pieces: Pieces) -> None:
        """Adds an attribute to every target that is an entity.

        pieces: the components whose texts make up the attribute. The attribute's sentence is the
        sentence of the first piece.
        """
        text = self._joined_text(_in_text_order(pieces))
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
        source: RelationSource,
        text: str = "",
    ) -> None:
        """Adds a relation between two components if both are entities.

        pieces: the components that name the relation. The relation's sentence is the sentence of
        the first piece.
        source: the kind of word that names the relation.
        text: the text of the relation, by default the text of `pieces`.
        """
        if subject not in self.entity_of or target not in self.entity_of:
            return
        subject_number = self.entity_of[subject]
        target_number = self.entity_of[target]
        text = text or self._joined_text(pieces)
        key = (subject_number, target_number, text)
        # a repeated relation gets more spans and keeps its first source
        if key not in self.relations:
            self.relations[key] = Relation(
                subject_number, target_number, text, source, sentence_idxs=[], text_spans=[]
            )
        relation = self.relations[key]
        relation.sentence_idxs.append(pieces[0].anchor.sentence)
        for piece in pieces:
            relation.text_spans += piece.spans

    def _joined_text(self, pieces: Pieces) -> str:
        """Returns the texts of components in their order, joined by spaces. Components without text
        are skipped.
        """
        texts = [piece.text for piece in pieces]
        text = " ".join(filter(None, texts))
        return text.lower() if self.rules.ignore_case else text

    def _add_possession(self, possessive: Component) -> None:
        """Links a thing to its owner: "his hat" gives the relation (hat, part of, man) if
        coreference links "his" to the man.

        possessive: the component of the owner's word before the thing, such as "his" or "the
        dog's".
        """
        owners: set[Component] = set()
        for cluster in self._clusters_of_words(possessive):
            # the first two mentions are enough: one of them may be the possessive itself
            owners.update(self.entity_mentions.get(cluster, [])[:2])
        owners.discard(possessive)
        if not owners:
            return
        owner = _in_text_order(owners)[0]
        for target in possessive.linked(Role.MOD_OF):
            self._add_relation(target, owner, [possessive], "poss", "part of")

    def _add_verb(self, verb: Component) -> None:
        """Adds the attribute or the relations of a verb with subjects.

        A verb without objects is an attribute of its subjects ("a man sleeps"). Otherwise the verb
        gives relations to its objects and to the objects of its prepositions.
        """
        subjects = verb.linked(Role.SUBJ)
        if not subjects:
            return
        find_paths = self._shortest_paths if self.rules.own_prepositions else self._all_paths
        paths = list(find_paths(verb))
        pieces = [verb, *(path[-1] for path in paths)]
        direct = _in_text_order(verb.linked(Role.DOBJ))
        indirect = _objects_of_paths(paths)
        # "a man sleeps" gives an attribute, but a copula alone gives no attribute
        if not direct and not indirect:
            if not verb.silent:
                self._add_attribute(subjects, pieces)
                self.handled.update(pieces)
            return
        # "holds a cup in a hand" relates the cup to the hand
        for first in direct:
            for second, path in indirect:
                self._add_verb_relation(verb, first, second, pieces, path, about_subject=False)
        # the man is related to the cup, or to the hand if there is no cup
        related: list[_ObjectWithPath] = [(target, ()) for target in direct] or indirect
        for subject in _in_text_order(subjects):
            for target, path in related:
                self._add_verb_relation(verb, subject, target, pieces, path, about_subject=True)

    def _all_paths(self, verb: Component) -> Iterator[PrepositionPath]:
        """Yields every path of prepositions from a verb: ("from",) and ("from", "behind") for
        "looks from behind a tree". The first preposition is below the verb, and each further
        preposition is below the preposition before it.
        """
        waiting: list[PrepositionPath] = []
        for target in reversed(self._prepositions_below(verb)):
            waiting.append((target,))
        # the last path is taken first, so each list is added in reverse
        while waiting:
            path = waiting.pop()
            yield path
            for target in reversed(self._prepositions_below(path[-1])):
                if target not in path:
                    waiting.append((*path, target))

    def _shortest_paths(self, verb: Component) -> list[PrepositionPath]:
        """Returns the shortest path of prepositions from a verb to each of its prepositions, in
        text order. Of equally short paths the first is returned.

        Longer paths would join prepositions of one place: "over and under" is two prepositions and
        not "over under". The number of longer paths can also be very large.
        """
        shortest: dict[Component, PrepositionPath] = {verb: ()}
        queue = [verb]
        # the queue grows while it is read: near prepositions come before far ones
        for component in queue:
            for target in self._prepositions_below(component):
                if target not in shortest:
                    shortest[target] = (*shortest[component], target)
                    queue.append(target)
        del shortest[verb]
        return sorted(shortest.values(), key=lambda path: [step.id for step in path])

    def _prepositions_below(self, component: Component) -> list[Component]:
        """Returns the prepositions directly below a verb or preposition, in text order."""
        targets = _in_text_order(component.linked(Role.HAS_PREP))
        if self.rules.any_order:
            return targets
        # the published code ignores a preposition before its verb: "In the boat sits a man"
        return [target for target in targets if target.id >= component.id]

    def _add_verb_relation(
        self,
        verb: Component,
        subject: Component,
        target: Component,
        pieces: Pieces,
        path: PrepositionPath,
        about_subject: bool,
    ) -> None:
        """Adds a relation between two entities. The text of the relation is the verb and its
        prepositions, without words that do not relate the two entities.

        pieces: the verb with its prepositions.
        path: the prepositions on the way from the verb to the target, () for a direct object.
        about_subject: whether `subject` is the subject of the verb. Of "a man holds a cup in a
            hand" True for the man and the cup, False for the cup and the hand.
        """
        if subject not in self.entity_of or target not in self.entity_of:
            return
        # "holds" relates the man to the cup; "in" alone relates the cup to the hand
        if self.rules.own_prepositions:
            pieces = (verb, *path) if about_subject else path
        # Only words between the two entities can name their relation. But with the rule `any_order`
        # the subject of a verb may be anywhere: "in the boat sits a man".
        has_any_order = self.rules.any_order and about_subject
        if not has_any_order:
            pieces = [piece for piece in pieces if subject.id <= piece.id <= target.id]
        # the verb comes first, and then its prepositions in text order
        naming = _in_text_order(piece for piece in set(pieces) if piece is not verb)
        if verb in pieces:
            naming.insert(0, verb)
        # a preposition relates a direct object only once
        new_pieces = naming
        if not about_subject:
            new_pieces = [piece for piece in naming if piece is verb or piece not in self.handled]
        self.handled.update(naming)
        if any(piece.text for piece in new_pieces):
            only_prepositions = verb.silent and verb in new_pieces
            source: RelationSource = "prep" if only_prepositions else "verb"
            self._add_relation(subject, target, new_pieces, source)
