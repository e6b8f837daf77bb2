"""MatchJudge that knows words of like meaning: a couch is a sofa. Not a published metric, no
language model.

    python -m experiments agreement people ../shared/data --judge experiments/match_embed/judge.py:EmbeddingMatchJudge
    EmbeddingMatchJudge().rate([Question(messages, probe=PresenceProbe("A sofa.", "entity", Mention("couch")))])
    # 4

It asks again what MatchJudge does not find, in the text's own words. The text's most similar name,
attribute or relation replaces each name, attribute and relation of the question if the cosine of
their embeddings reaches `threshold`. What it finds in this way is rated 4 at most. A thing that it
does not find is rated 1 + the cosine of the most similar name, below 2, so the least similar of
several absent things has the lowest rating. It never replaces colours, counts, sides and
prepositions, because "red" and "blue", or "above" and "below", have similar embeddings.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from experiments.match_embed.word_vectors import Embedder
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.judges.match.text_index import (
    CHECKABLE_ATTRIBUTES,
    PLACE_PREPOSITIONS,
    REWORDED_RATING,
    SAME_NAME,
    TextIndex,
)
from spanreward.rewards.judges.probe import Link, Mention, PresenceProbe
from spanreward.rewards.language.lemmas import lemmas_of_phrase

# the best of 0.6, 0.7 and 0.8 on one half of people's judgments; "sofa" and "couch" have 0.86
THRESHOLD = 0.7


class EmbeddingMatchJudge(MatchJudge):
    """MatchJudge that also looks for words of like meaning, by embeddings.

    Args:
        pipeline, coref: as for MatchJudge.
        embedder: turns phrases into vectors; None is the model of the extra `embed`.
        threshold: two phrases mean the same from this cosine, -1 to 1, on.

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
        """Returns MatchJudge's name with the embeddings and the threshold."""
        return f"match:embed {self.embedder.folder}>={self.threshold}, {super().name}"

    def levels(self, probes: Sequence[PresenceProbe], indexes: Sequence[TextIndex]) -> list[float]:
        levels = super().levels(probes, indexes)
        missing = [number for number, level in enumerate(levels) if level < SAME_NAME]
        phrases = {phrase for number in missing for phrase in phrases_of(probes[number])}
        distinct = {id(indexes[number]): indexes[number] for number in missing}
        options = {
            phrase
            for index in distinct.values()
            for part in vocabulary_of(index)
            for phrase in part
        }
        self.embedder.embed([*phrases, *options])  # computes all at once; later calls look them up
        wordings = {
            key: OwnWords(index, self.embedder, self.threshold) for key, index in distinct.items()
        }
        for number in missing:
            probe, wording = probes[number], wordings[id(indexes[number])]
            found = min(indexes[number].rating(wording.presence(probe)), REWORDED_RATING)
            absent = probe.kind == "entity" and found < SAME_NAME
            levels[number] = wording.foreign(probe.mention.head) if absent else found
        return levels


class OwnWords:
    """Puts questions in one text's own words."""

    def __init__(self, index: TextIndex, embedder: Embedder, threshold: float) -> None:
        self.embedder = embedder
        self.threshold = threshold
        self.options = dict(
            zip(("name", "attribute", "relation"), vocabulary_of(index), strict=True)
        )
        self.rows = {kind: embedder.embed(phrases) for kind, phrases in self.options.items()}
        self._nearest: dict[tuple[str, str], tuple[str, float]] = {}

    def presence(self, probe: PresenceProbe) -> PresenceProbe:
        """Returns the probe with the text's phrase in place of every phrase that is similar
        enough.
        """
        words = self.own("attribute" if probe.kind == "attribute" else "relation", probe.words)
        other = None if probe.other is None else self.mention(probe.other)
        return replace(probe, mention=self.mention(probe.mention), words=words, other=other)

    def foreign(self, name: str) -> float:
        """Returns the rating of a name that the text lacks: 1 + the cosine of the most similar
        name, below 2.
        """
        return 1 + min(max(self.nearest("name", name)[1], 0.0), 0.99)

    def mention(self, mention: Mention) -> Mention:
        return Mention(
            self.own("name", mention.head),
            tuple(self.own("attribute", words) for words in mention.attributes),
            tuple(self.link(link) for link in mention.links),
            tuple(self.own("attribute", words) for words in mention.details),
            tuple(self.link(link) for link in mention.ties),
        )

    def link(self, link: Link) -> Link:
        return Link(self.own("relation", link.relation), self.mention(link.other), link.reverse)

    def own(self, kind: str, phrase: str) -> str:
        """Returns the text's most similar phrase, or the phrase itself if none is similar enough or
        may replace it.
        """
        option, cosine = self.nearest(kind, phrase)
        return option if cosine >= self.threshold and replaceable(phrase) else phrase

    def nearest(self, kind: str, phrase: str) -> tuple[str, float]:
        """Returns the text's most similar phrase with its cosine in [-1, 1], or the phrase with 0
        if there is none.
        """
        options = self.options[kind]
        if not options or not phrase:
            return phrase, 0.0
        if (kind, phrase) not in self._nearest:
            cosines = self.rows[kind] @ self.embedder.embed([phrase])[0]
            best = int(cosines.argmax())
            self._nearest[kind, phrase] = options[best], float(cosines[best])
        return self._nearest[kind, phrase]


def replaceable(phrase: str) -> bool:
    """Whether another phrase may replace it: it has no colour, count or side, and is more than
    prepositions.
    """
    words = lemmas_of_phrase(phrase)
    return words.isdisjoint(CHECKABLE_ATTRIBUTES) and not words <= PLACE_PREPOSITIONS


def phrases_of(probe: PresenceProbe) -> list[str]:
    """Returns every name, attribute and relation in the question."""
    mentions = [probe.mention] if probe.other is None else [probe.mention, probe.other]
    return [
        phrase for phrase in (probe.words, *(p for m in mentions for p in _phrases_in(m))) if phrase
    ]


def _phrases_in(mention: Mention) -> list[str]:
    links = (*mention.links, *mention.ties)
    said = [phrase for link in links for phrase in (link.relation, *_phrases_in(link.other))]
    return [mention.head, *mention.attributes, *mention.details, *said]


def vocabulary_of(index: TextIndex) -> tuple[list[str], list[str], list[str]]:
    """Returns the text's distinct names, attributes and relations."""
    entities, relations = index.graph.entities, index.graph.relations
    names = [name for entity in entities for name in (entity.head, *entity.heads)]
    attributes = [attribute for entity in entities for attribute in entity.attributes]
    said = [relation.relation for relation in relations]
    return list(dict.fromkeys(names)), list(dict.fromkeys(attributes)), list(dict.fromkeys(said))
