"""`match` with an answer to every metric's questions, by words alone: for Scenes, whose rows
describe the picture.

    HarmonicReward(WordJudge(), evidence="context"), PairwiseReward(WordJudge())

It answers PoSh's and LAVE's questions as MatchJudge does. It rates criteria (rate_criteria.py),
compares texts (compare_texts.py) and reads answers in a text (read_text.py). None of that is a
published metric. In a recipe:

    judge: experiments/scenes/word_judge.py:WordJudge
"""

from collections.abc import Sequence
from typing import Any

from experiments.caprl.probe import ReadProbe
from experiments.scenes.compare_texts import Comparison, compare, ranking, values_of
from experiments.scenes.rate_criteria import rate_criteria
from experiments.scenes.read_text import read_text
from spanreward.rewards.judges.judge import RATING_SCALE, Failure, Question, Rating
from spanreward.rewards.judges.match.match_judge import MatchJudge
from spanreward.rewards.judges.match.text_index import TextIndex
from spanreward.rewards.judges.probe import CriterionProbe, RankingProbe
from spanreward.rewards.language.parse import scene_graphs

# characters of all texts together; an index takes about 240 bytes per character
REMEMBERED = 500_000


class WordJudge(MatchJudge):
    """MatchJudge that also answers the questions of harmonic, pairwise, criteria and caprl."""

    def __init__(self, pipeline: Any = None, coref: Any = "rules") -> None:
        super().__init__(pipeline, coref)
        self._indexes: dict[str, TextIndex] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_indexes": {}}

    @property
    def name(self) -> str:
        return f"words, {super().name}"

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        answers = super().rate_each(questions, scale)
        probes = [question.probe for question in questions]
        criteria = {
            number: probe
            for number, probe in enumerate(probes)
            if isinstance(probe, CriterionProbe)
        }
        comparisons = {
            number: probe for number, probe in enumerate(probes) if isinstance(probe, Comparison)
        }
        with self.usage.clock("seconds"):
            for number, answer in zip(
                criteria, self._criteria(list(criteria.values()), scale), strict=True
            ):
                answers[number] = answer
            values = self._values(list(comparisons.values()))
            for (number, probe), of_texts in zip(comparisons.items(), values, strict=True):
                answers[number] = compare(probe, of_texts, scale)
        return answers

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Writes also an order for a RankingProbe, and a ReadProbe's answer."""
        texts = super().write_each(questions, max_tokens)
        probes = [question.probe for question in questions]
        with self.usage.clock("seconds"):
            compared = iter(
                self._values([probe for probe in probes if isinstance(probe, RankingProbe)])
            )
            read = self._parse([probe.text for probe in probes if isinstance(probe, ReadProbe)])
            for number, probe in enumerate(probes):
                if isinstance(probe, RankingProbe):
                    texts[number] = ranking(next(compared))
                elif isinstance(probe, ReadProbe):
                    texts[number] = read_text(probe.question, read[probe.text])
        return texts

    def _criteria(
        self, probes: Sequence[CriterionProbe], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        return rate_criteria(probes, scale, self._parse, self._supporting, self.levels)

    def _parse(self, texts: Sequence[str]) -> dict[str, TextIndex]:
        """Returns an index per text. Texts that it does not remember are parsed together."""
        if sum(map(len, self._indexes)) > REMEMBERED:
            self._indexes = {}
        new = [text for text in dict.fromkeys(texts) if text not in self._indexes]
        graphs = scene_graphs(new, self.pipeline, self.coref) if new else []
        self._indexes |= {text: TextIndex(graph) for text, graph in zip(new, graphs, strict=True)}
        return {text: self._indexes[text] for text in texts}

    def _supporting(self, texts: Sequence[str]) -> dict[str, TextIndex]:
        """Returns an index per text that has every alternative: "a red or blue circle" is red and
        is blue.
        """
        distinct = list(dict.fromkeys(texts))
        graphs = scene_graphs(distinct, self.pipeline, self.coref, "reference") if distinct else []
        return {text: TextIndex(graph) for text, graph in zip(distinct, graphs, strict=True)}

    def _values(self, probes: Sequence[Comparison]) -> list[list[float] | Failure]:
        return values_of(probes, lambda asked: self._criteria(asked, RATING_SCALE))
