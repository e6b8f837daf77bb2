"""MatchJudge that knows other words for the same: a couch is a sofa. Not a published metric, no language model.

    EmbeddingMatchJudge().rate([Question(messages, probe=PresenceProbe("A sofa.", "entity", Mention("couch")))])   # 4

What MatchJudge does not find is asked again in the target text's own words: every name, attribute and relation of the
question is replaced by the text's most alike one, where the cosine of their embeddings reaches `threshold`. What is
found so is rated 4 at most; a thing that is not found is rated 1 + the cosine of the most alike name (below 2), so that
of several absent things the most foreign one is the worst. Colours, counts, sides and prepositions are never replaced:
"red" and "blue", "above" and "below" are alike to an embedding.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rewards.judges.match.match_judge import MatchJudge
from rewards.judges.match.text_index import CHECKABLE, PREPOSITIONS, REWORDED, SAME_NAME, TextIndex
from rewards.judges.match.word_vectors import Embedder
from rewards.judges.probe import Link, Mention, PresenceProbe
from rewards.language.lemmas import lemmas

THRESHOLD = 0.7  # of 0.6, 0.7 and 0.8 the best on one half of people's judgments; "sofa" and "couch" have 0.86


class EmbeddingMatchJudge(MatchJudge):
    """MatchJudge that also looks for words of like meaning, by static embeddings.

    Args:
        pipeline: as for MatchJudge.
        coref: as for MatchJudge.
        embedder: what turns phrases into vectors; None takes the model of the extra `embed`.
        threshold: the cosine, -1 to 1, from which on two phrases mean the same.

    Raises:
        ImportError: without the extra `embed`.
    """

    def __init__(
        self,
        pipeline: Any = None,
        coref: Any = "rules",
        embedder: Embedder | None = None,
        threshold: float = THRESHOLD,
    ) -> None:
        super().__init__(pipeline, coref)
        self.embedder = embedder or Embedder()
        self.threshold = threshold

    @property
    def name(self) -> str:
        """As MatchJudge's, with what says which words are alike."""
        return f"match:embed {self.embedder.folder}>={self.threshold}, {super().name}"

    def levels(self, probes: Sequence[PresenceProbe], indexes: Sequence[TextIndex]) -> list[float]:
        levels = super().levels(probes, indexes)
        missing = [number for number, level in enumerate(levels) if level < SAME_NAME]
        phrases = {phrase for number in missing for phrase in phrases_of(probes[number])}
        distinct = {id(indexes[number]): indexes[number] for number in missing}
        options = {phrase for index in distinct.values() for part in vocabulary_of(index) for phrase in part}
        self.embedder.embed([*phrases, *options])  # all at once; what follows is looked up
        wordings = {key: OwnWords(index, self.embedder, self.threshold) for key, index in distinct.items()}
        for number in missing:
            probe, wording = probes[number], wordings[id(indexes[number])]
            found = min(indexes[number].rating(wording.presence(probe)), REWORDED)
            absent = probe.kind == "entity" and found < SAME_NAME
            levels[number] = wording.foreign(probe.mention.head) if absent else found
        return levels


class OwnWords:
    """Questions in one text's own words: `presence(probe)` is the probe with every phrase that has a like replaced."""

    def __init__(self, index: TextIndex, embedder: Embedder, threshold: float) -> None:
        names, attributes, relations = vocabulary_of(index)
        self.names = NearestPhrase(names, embedder, threshold)
        self.attributes = NearestPhrase(attributes, embedder, threshold)
        self.relations = NearestPhrase(relations, embedder, threshold)

    def presence(self, probe: PresenceProbe) -> PresenceProbe:
        choice = self.attributes if probe.kind == "attribute" else self.relations
        other = None if probe.other is None else self.mention(probe.other)
        return replace(probe, mention=self.mention(probe.mention), words=choice.of(probe.words), other=other)

    def foreign(self, name: str) -> float:
        """The rating of a name the text does not have: 1 and the likeness of what comes nearest, below 2."""
        return 1 + min(max(self.names.cosine(name), 0.0), 0.99)

    def mention(self, mention: Mention) -> Mention:
        return Mention(
            self.names.of(mention.head),
            tuple(self.attributes.of(words) for words in mention.attributes),
            tuple(self.link(link) for link in mention.links),
            tuple(self.attributes.of(words) for words in mention.details),
            tuple(self.link(link) for link in mention.ties),
        )

    def link(self, link: Link) -> Link:
        return Link(self.relations.of(link.relation), self.mention(link.other), link.reverse)


class NearestPhrase:
    """The phrases one may choose from."""

    def __init__(self, options: Sequence[str], embedder: Embedder, threshold: float) -> None:
        self.options = options
        self.embedder = embedder
        self.threshold = threshold
        self.rows = embedder.embed(options)
        self._chosen: dict[str, tuple[str, float]] = {}

    def of(self, phrase: str) -> str:
        """The most alike option, or the phrase itself when none is alike enough or no other word could excuse it."""
        option, cosine = self._best(phrase)
        return option if cosine >= self.threshold and replaceable(phrase) else phrase

    def cosine(self, phrase: str) -> float:
        """Of the most alike option, in [-1, 1]; 0 without options."""
        return self._best(phrase)[1]

    def _best(self, phrase: str) -> tuple[str, float]:
        if not self.options or not phrase:
            return phrase, 0.0
        if phrase not in self._chosen:
            cosines = self.rows @ self.embedder.embed([phrase])[0]
            best = int(cosines.argmax())
            self._chosen[phrase] = self.options[best], float(cosines[best])
        return self._chosen[phrase]


def replaceable(phrase: str) -> bool:
    """Not a colour, count or side, and not prepositions alone, which are alike to embeddings ("above" and "below")."""
    words = lemmas(phrase)
    return words.isdisjoint(CHECKABLE) and not words <= PREPOSITIONS


def phrases_of(probe: PresenceProbe) -> list[str]:
    """Every name, attribute and relation in the question."""
    mentions = [probe.mention] if probe.other is None else [probe.mention, probe.other]
    return [phrase for phrase in (probe.words, *(p for m in mentions for p in _phrases_in(m))) if phrase]


def _phrases_in(mention: Mention) -> list[str]:
    links = (*mention.links, *mention.ties)
    said = [phrase for link in links for phrase in (link.relation, *_phrases_in(link.other))]
    return [mention.head, *mention.attributes, *mention.details, *said]


def vocabulary_of(index: TextIndex) -> tuple[list[str], list[str], list[str]]:
    """The text's distinct names, attributes and relations."""
    entities, relations = index.graph.entities, index.graph.relations
    names = [name for entity in entities for name in (entity.head, *entity.heads)]
    attributes = [attribute for entity in entities for attribute in entity.attributes]
    said = [relation.relation for relation in relations]
    return list(dict.fromkeys(names)), list(dict.fromkeys(attributes)), list(dict.fromkeys(said))
