"""PoSh as a reward: which of the completion's words a reference does not support, and what it left out (002).

    reward = PoshReward(MatchJudge())
    sample = Sample(prompt="Describe.", completion="A red circle.", references=("A blue circle.",))
    verdict = reward.assess([sample])[0]
    verdict.score, verdict.parts["precision"], verdict.spans, verdict.missed

Precision asks the judge for every entity, attribute and relation of the completion in the reference, recall for the
reference's in the completion; the score is F1 of their mean ratings / 5. mode="published" repeats the published code
(rewrites by the judge, an empty completion has precision 1); mode="default" words identifiers by rule, asks equal
questions once, and an empty completion is EMPTY with score 0.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from rewards.judges.judge import Judge
from rewards.language.parse import describe
from rewards.language.scene_graph import SceneGraph
from rewards.posh.components import Component, best_of, components
from rewards.posh.graph_view import view_graph
from rewards.posh.prompts import PromptSource, load_prompts
from rewards.posh.questions import PRESENCE_THRESHOLD, Interview, Mode, conduct
from rewards.posh.scores import Score, credit, direction_score, f1
from rewards.posh.spans import spans_of
from rewards.reward import Reward
from rewards.verdict import Sample, Status, Verdict

REMEMBERED_REFERENCES = 4096
KINDS = ("entity", "attribute", "relation")


class PoshReward(Reward):
    """PoSh with any judge. Needs the dataset column `reference` (a text or several).

    prompts: our wording, or a path (or pair of paths) to the published JSON files. pipeline, coref: how texts are
    parsed, see `rewards.language.describe`. score: which part is the verdict's score. presence_threshold: the rating
    from which an entity counts as there and its attributes and relations are asked about.
    """

    columns = ("reference",)

    def __init__(
        self,
        judge: Judge,
        prompts: PromptSource | None = None,
        mode: Mode = "default",
        pipeline: Any = None,
        coref: Any = "rules",
        score: Score = "f1",
        name: str = "posh",
        presence_threshold: float = PRESENCE_THRESHOLD,
    ) -> None:
        super().__init__(name)
        if mode not in ("default", "published"):
            raise ValueError(f'mode is "default" or "published", got {mode!r}')
        if score not in ("f1", "precision", "recall"):
            raise ValueError(f'score is "f1", "precision" or "recall", got {score!r}')
        self.judge = judge
        self.judges = (judge,)
        self.prompts = load_prompts(prompts)
        self.mode = mode
        self.pipeline = pipeline
        self.coref = coref
        self.score = score
        self.presence_threshold = presence_threshold
        self._references: OrderedDict[str, SceneGraph] = OrderedDict()  # parsed, least recently used first

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_references": OrderedDict()}

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Parse every distinct text once, then judge. One Verdict per sample, in order."""
        judged = [sample for sample in samples if sample.references]
        references = list(dict.fromkeys(text for sample in judged for text in sample.references))
        graphs = {text: self._references[text] for text in references if text in self._references}
        new = [text for text in references if text not in graphs]
        completions = [sample.completion for sample in judged if sample.completion.strip()]
        texts = list(dict.fromkeys([*new, *(text for text in completions if text not in graphs)]))
        parsed = describe(texts, pipeline=self.pipeline, coref=self.coref, mode=self.mode) if texts else []
        graphs.update(zip(texts, parsed, strict=True))
        for text in references:
            self._references[text] = graphs[text]
            self._references.move_to_end(text)
        while len(self._references) > REMEMBERED_REFERENCES:
            self._references.popitem(last=False)
        return self.assess_graphs(
            samples,
            [graphs.get(sample.completion) or SceneGraph() for sample in samples],
            [[graphs[text] for text in sample.references] for sample in samples],
        )

    def assess_graphs(
        self,
        samples: Sequence[Sample],
        graphs: Sequence[SceneGraph],
        reference_graphs: Sequence[Sequence[SceneGraph]],
    ) -> list[Verdict]:
        """Judge texts that are parsed already: a graph per completion, and per sample a graph per reference.

        Raises ValueError when the lengths differ.
        """
        for sample, parsed in zip(samples, reference_graphs, strict=True):
            if len(sample.references) != len(parsed):
                raise ValueError(f"got {len(parsed)} reference graphs for {len(sample.references)} references")
        verdicts: dict[int, Verdict] = {}
        pairs: dict[int, list[Pair]] = {}
        for number, (sample, graph, parsed) in enumerate(zip(samples, graphs, reference_graphs, strict=True)):
            usable = self._usable_references(parsed)
            if not usable:
                verdicts[number] = Verdict(None, Status.NOT_APPLICABLE, note="no reference that names anything")
            elif self.mode == "default" and not (sample.completion.strip() and view_graph(graph).countable):
                verdicts[number] = Verdict(0.0, Status.EMPTY, note="the completion names nothing")
            else:
                pairs[number] = [self._pair(number, sample, graph, index, parsed[index]) for index in usable]
        interviews = [interview for several in pairs.values() for pair in several for interview in pair[1:]]
        if interviews:
            with self.judge:
                conduct(interviews, self.judge, self.mode)
        verdicts.update({number: self._verdict(samples[number], several) for number, several in pairs.items()})
        return [verdicts[number] for number in range(len(samples))]

    def _usable_references(self, graphs: Sequence[SceneGraph]) -> list[int]:
        """In default mode references that name nothing are passed over; the published code gives them recall 1."""
        return [i for i, graph in enumerate(graphs) if self.mode == "published" or view_graph(graph).countable]

    def _pair(self, number: int, sample: Sample, graph: SceneGraph, index: int, reference: SceneGraph) -> "Pair":
        said, wanted, threshold = sample.completion, sample.references[index], self.presence_threshold
        return (
            index,
            Interview(number, view_graph(graph), said, wanted, reference, self.prompts.precision, threshold),
            Interview(number, view_graph(reference), wanted, said, graph, self.prompts.recall, threshold),
        )

    def _verdict(self, sample: Sample, pairs: Sequence["Pair"]) -> Verdict:
        """One sample's answers, over all its references, as a Verdict.

        Of several references, a component of the completion is worth its best rating over them; recall is that of the
        reference with the best F1.
        """
        for _, *interviews in pairs:
            for interview in interviews:
                if interview.failure is not None:
                    return Verdict(None, interview.failure.status, note=interview.failure.message)
        said = best_of([components(asked) for _, asked, _ in pairs])
        precision = direction_score([component.rating for component in said])
        candidates = [(index, components(asked)) for index, _, asked in pairs]
        recalls = [direction_score([component.rating for component in wanted]) for _, wanted in candidates]
        best = max(range(len(pairs)), key=lambda i: f1(precision, recalls[i]))
        (index, wanted), recall = candidates[best], recalls[best]
        parts = {"precision": precision, "recall": recall, "f1": f1(precision, recall), "reference": float(index)}
        parts |= means_by_kind("precision", said) | means_by_kind("recall", wanted)
        credits = [
            credit(c.rating, precision, recall, len(said), len(wanted), self.score) if c.asked else 0.0 for c in said
        ]
        missed = spans_of(wanted, [0.0] * len(wanted), sample.references[index])
        return Verdict(
            score=parts[self.score],
            parts=parts,
            spans=spans_of(said, credits, sample.completion),
            missed=tuple(span for span in missed if span.score < 0.5),
        )


Pair = tuple[int, Interview, Interview]  # the reference's index, its precision and its recall interview


def means_by_kind(direction: str, side: Sequence[Component]) -> dict[str, float]:
    """`{direction}_entity` and so on: mean ratings / 5 of the kinds that occur."""
    ratings = {kind: [component.rating for component in side if component.kind == kind] for kind in KINDS}
    return {f"{direction}_{kind}": direction_score(values) for kind, values in ratings.items() if values}
