"""PoSh as a reward: which of the completion's words a reference does not support, and what it left out.

    reward = PoshReward(MatchJudge())
    sample = Sample(prompt="Describe.", completion="A red circle.", references=("A blue circle.",))
    verdict = reward.assess([sample])[0]
    verdict.score, verdict.parts["precision"], verdict.spans, verdict.missed

Precision asks the judge for every entity, attribute and relation of the completion in the reference, recall for the
reference's in the completion; the score is F1 of their mean ratings / 5. mode="published" repeats the published code
(rewrites by the judge, an empty completion has precision 1); mode="default" words identifiers by rule, asks equal
questions once, an empty completion is EMPTY with score 0, and words that say nothing cost (rewards/filler.py).

Of several references, published mode takes the one with the best F1, each asked about for itself. In default mode what
any of them says is right: a component of the completion has its best rating over all, and recall is that of the
reference with the best F1. A reference that says "a red or orange bird" supports a red bird as well as an orange one,
and recall asks for neither colour: no completion is to blame for the one that it leaves out.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import zip_longest
from typing import Any

from rewards.cost import WORDS_PER_TOKEN, Cost
from rewards.judges.judge import Failure, Judge
from rewards.language.reader import Reader, load_reader
from rewards.language.scene_graph import SceneGraph
from rewards.language.server_reader import ReaderFailure
from rewards.length import judged_part
from rewards.memo import Memo
from rewards.naming import check_mode
from rewards.posh.charge import charge
from rewards.posh.components import RatedComponent, best_of, components
from rewards.posh.graph_view import GraphView, view_graph
from rewards.posh.interview import PRESENCE_THRESHOLD, Interview
from rewards.posh.prompts import PromptSource, load_prompts
from rewards.posh.questions import Mode, conduct
from rewards.posh.repeats import surplus
from rewards.posh.scores import KINDS, beta_of, coarse_scores, credit, direction_score, f1, kind_weights
from rewards.posh.spans import spans_of
from rewards.posh.unread import charge_unread, not_read, read_note
from rewards.reward import Reward
from rewards.verdict import Sample, Status, Verdict

REMEMBERED_REFERENCES = 4096
QUESTIONS_PER_WORD = 0.56  # 0.563 and 0.559 on Scenes of levels 1 and 3, 0.61 on descriptions of 200 words
PROMPT_WORDS = 90  # of a question beside the description that it shows
PARSED_TOGETHER = 32  # samples; enough questions to keep an engine busy while the next ones are parsed
GIVEN = "given graphs"
# a graph per completion, per sample one of each reference, and one of what the reference supports; what read them
Parsed = tuple[list[SceneGraph], list[list[SceneGraph]], list[list[SceneGraph]], str]


@dataclass(frozen=True, slots=True)
class Side:
    """A parsed text, the same as PoSh asks about it, and what it supports: a reference its alternatives, too."""

    graph: SceneGraph
    view: GraphView
    supports: SceneGraph


@dataclass(frozen=True, slots=True)
class Pair:
    """A completion and its reference of this index: what the first says asked of the second, and the reverse."""

    reference: int
    precision: Interview
    recall: Interview

    @property
    def both(self) -> tuple[Interview, Interview]:
        return self.precision, self.recall


class PoshReward(Reward):
    """PoSh as a reward (PoSh, section 3), with any judge. Needs the dataset column `reference`, a text or several.

    Args:
        judge: who answers whether an entity, attribute or relation is there.
        prompts: our wording, or a path (or pair of paths) to the published JSON files.
        mode: "default" is meant for training; "published" follows the paper's code.
        pipeline: the spaCy pipeline that parses the texts, or its name; None takes the best that is installed.
        coref: "rules", "none", "maverick", "fastcoref" or a function, see `rewards.language.describe`.
        score: "precision", "recall", "f1" or another F-score such as "f2".
        presence_threshold: the rating, 1 to 5, from which an entity counts as there and its attributes and relations
            are asked about.
        weights: what a component of each kind counts in precision and recall, 1 where not given, such as
            {"attribute": 2, "relation": 0.5}. A text without any component that counts names nothing.
        name: of the reward in logs.
        reader: "server:URL", a reader in an environment of its own (`spanreward read --serve`), with its own pipeline
            and coreference; those given beside it by name are what it must have. None reads in this process.
    """

    columns = ("reference",)
    main_parts = ("f1", "precision", "recall")

    def __init__(
        self,
        judge: Judge,
        prompts: PromptSource | None = None,
        mode: Mode = "default",
        pipeline: Any = None,
        coref: Any = "rules",
        score: str = "f1",
        name: str = "posh",
        presence_threshold: float = PRESENCE_THRESHOLD,
        weights: Mapping[str, float] | None = None,
        reader: str | Reader | None = None,
    ) -> None:
        super().__init__(name)
        check_mode(mode)
        beta_of(score)
        self.judge = judge
        self.judges = (judge,)
        self.prompts = load_prompts(prompts)
        self.wording = sha256(repr(self.prompts).encode()).hexdigest()[:16]
        self.mode = mode
        self.read_with = load_reader(reader, pipeline, coref)
        self.score = score
        self.presence_threshold = presence_threshold
        self.weights = kind_weights(weights)
        self._references: OrderedDict[str, str] = OrderedDict()  # graphs as JSON, least recently used first
        self._memo = Memo()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_references": OrderedDict(), "_memo": Memo()}

    def reader(self) -> str:
        return self.read_with.name()

    def cost(self, words: float, references: int) -> Cost:
        """A question per entity, attribute and relation of the completion and of each reference, so many a word as was
        measured on descriptions, plus those that single an entity out.
        """
        questions = round(QUESTIONS_PER_WORD * words * (1 + references))
        each = (PROMPT_WORDS + words) / WORDS_PER_TOKEN
        how = (
            f"{QUESTIONS_PER_WORD} a word of the completion and of each reference (measured), here of {words:.0f} "
            "words each; of a group's completions, equal questions are asked once"
        )
        return Cost(questions, questions * each, questions, exact=False, how=how)

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Parse every distinct text once, then judge. One Verdict per sample, in order."""
        if self.mode == "published":
            return self._assess_texts(samples)
        verdicts = self._assess_texts([judged_part(sample) for sample in samples])
        return [charge_unread(v, sample, self.score) for v, sample in zip(verdicts, samples, strict=True)]

    def _assess_texts(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Judge what is parsed while the next samples are being parsed; the judge stays awake over all of them."""
        parts = [samples[start : start + PARSED_TOGETHER] for start in range(0, len(samples), PARSED_TOGETHER)]
        verdicts: list[Verdict] = []
        self._memo.begin()
        with ThreadPoolExecutor(max_workers=1) as parser, self.judge if len(parts) > 1 else nullcontext():
            parsed = [parser.submit(self._parse, part) for part in parts[:1]]
            for part, following in zip_longest(parts, parts[1:]):
                try:
                    graphs = parsed.pop().result()
                except ReaderFailure as failure:  # nor would it read the others
                    return [*verdicts, *(not_read(sample, failure) for sample in samples[len(verdicts) :])]
                if following:
                    parsed.append(parser.submit(self._parse, following))
                verdicts += self._assess_graphs(part, *graphs, self._memo)
        return verdicts

    def _parse(self, samples: Sequence[Sample]) -> Parsed:
        """Of each sample the completion's graph and its references', and what read them. A text is parsed once, a
        reference with words that it does not assert once more, for what it supports.
        """
        judged = [sample for sample in samples if sample.references]
        references = list(dict.fromkeys(text for sample in judged for text in sample.references))
        known = {text: json.loads(self._references[text]) for text in references if text in self._references}
        graphs = {text: SceneGraph.from_dict(graph) for text, (graph, _) in known.items()}
        open_ = {text: SceneGraph.from_dict(graph) for text, (_, graph) in known.items() if graph}
        new = [text for text in references if text not in graphs]
        completions = [sample.completion for sample in judged if sample.completion.strip()]
        texts = list(dict.fromkeys([*new, *(text for text in completions if text not in graphs)]))
        parsed = self.read_with.read(texts, self.mode) if texts else []
        graphs.update(zip(texts, parsed, strict=True))
        leaving_open = [text for text in new if graphs[text].unasserted]
        again = self.read_with.read(leaving_open, "reference") if leaving_open else []
        open_.update(zip(leaving_open, again, strict=True))
        for text in references:  # as JSON a graph takes a fifth of the memory
            if text not in self._references:
                other = open_[text].to_dict() if text in open_ else None
                self._references[text] = json.dumps([graphs[text].to_dict(), other])
            self._references.move_to_end(text)
        while len(self._references) > REMEMBERED_REFERENCES:
            self._references.popitem(last=False)
        return (
            [graphs.get(sample.completion) or SceneGraph() for sample in samples],
            [[graphs[text] for text in sample.references] for sample in samples],
            [[open_.get(text, graphs[text]) for text in sample.references] for sample in samples],
            self.reader() if judged else "",
        )

    def assess_graphs(
        self,
        samples: Sequence[Sample],
        graphs: Sequence[SceneGraph],
        reference_graphs: Sequence[Sequence[SceneGraph]],
    ) -> list[Verdict]:
        """Judge texts that are parsed already: a graph per completion, and per sample a graph per reference.

        What a reference leaves open by "or" is in its graph or not, for both directions. Raises ValueError when the
        lengths differ.
        """
        return self._assess_graphs(samples, graphs, reference_graphs, reference_graphs, GIVEN, Memo())

    def _assess_graphs(
        self,
        samples: Sequence[Sample],
        graphs: Sequence[SceneGraph],
        reference_graphs: Sequence[Sequence[SceneGraph]],
        supporting: Sequence[Sequence[SceneGraph]],
        parsed_by: str,
        memo: Memo,
    ) -> list[Verdict]:
        for sample, parsed in zip(samples, reference_graphs, strict=True):
            if len(sample.references) != len(parsed):
                raise ValueError(f"got {len(parsed)} reference graphs for {len(sample.references)} references")
        distinct = {id(graph): graph for graph in (*graphs, *(g for several in reference_graphs for g in several))}
        views = {key: view_graph(graph) for key, graph in distinct.items()}
        verdicts: dict[int, Verdict] = {}
        pairs: dict[int, list[Pair]] = {}
        rows = zip(samples, graphs, reference_graphs, supporting, strict=True)
        for number, (sample, graph, parsed, supports) in enumerate(rows):
            said = Side(graph, views[id(graph)], graph)
            wanted = [Side(one, views[id(one)], other) for one, other in zip(parsed, supports, strict=True)]
            # The published code gives a reference that names nothing recall 1, and an empty completion precision 1.
            usable = [i for i, side in enumerate(wanted) if self.mode == "published" or self._counts(side.view)]
            if not usable:
                verdicts[number] = Verdict(None, Status.NOT_APPLICABLE, note="no reference that names anything")
            elif self.mode == "default" and not (sample.completion.strip() and self._counts(said.view)):
                nothing = coarse_scores(0.0, 0.0, self.score)
                verdicts[number] = Verdict(0.0, Status.EMPTY, nothing, note="the completion names nothing")
            else:
                pairs[number] = [self._pair(number, sample, said, index, wanted[index]) for index in usable]
        interviews = [interview for several in pairs.values() for pair in several for interview in pair.both]
        if interviews:
            with self.judge:
                conduct(interviews, self.judge, self.mode, memo)
        for number, several in pairs.items():
            sample, failure = samples[number], failure_of(several)
            if failure is not None:
                verdicts[number] = Verdict(None, failure.status, note=failure.message)
            elif self.mode == "published":  # the published code takes one reference; of several the best one counts
                one_by_one = [self._verdict(sample, [pair]) for pair in several]
                verdicts[number] = max(one_by_one, key=lambda verdict: verdict.parts["f1"])
            else:
                verdicts[number] = charge(self._verdict(sample, several), sample, graphs[number])
        return [replace(verdicts[number], parsed_by=parsed_by) for number in range(len(samples))]

    def _counts(self, view: GraphView) -> bool:
        """Whether the text says anything that counts under the weights."""
        return any(
            self.weights["entity"]
            or (self.weights["attribute"] and entity.attributes)
            or (self.weights["relation"] and entity.relations)
            for entity in view.entities
            if entity.fixed is None
        )

    def _pair(self, number: int, sample: Sample, said: Side, index: int, wanted: Side) -> Pair:
        """Both directions of one completion and one of its references."""
        completion, reference, threshold = sample.completion, sample.references[index], self.presence_threshold
        precision, recall = self.prompts.precision, self.prompts.recall
        return Pair(
            index,
            Interview(number, said.view, completion, reference, wanted.supports, precision, threshold),
            Interview(number, wanted.view, reference, completion, said.graph, recall, threshold),
        )

    def _verdict(self, sample: Sample, pairs: Sequence[Pair]) -> Verdict:
        """One sample's answers, over the references of these pairs, as a Verdict.

        Of several references, a component of the completion is worth its best rating over them; recall is that of the
        reference with the best F1.
        """
        interviews = [pair.precision for pair in pairs]
        default = self.mode == "default"
        too_often = surplus(interviews) if default else frozenset()
        said = best_of([components(interview, too_often, reaching=default) for interview in interviews])
        precision = direction_score([component.rating for component in said], self._weights(said))
        sides = [components(pair.recall) for pair in pairs]
        recalls = [direction_score([component.rating for component in side], self._weights(side)) for side in sides]
        best = max(range(len(pairs)), key=lambda i: f1(precision, recalls[i]))
        index, wanted, recall = pairs[best].reference, sides[best], recalls[best]
        parts = coarse_scores(precision, recall, self.score)
        parts |= means_by_kind("precision", said) | means_by_kind("recall", wanted)
        total_said, total_wanted = sum(self._weights(said)), sum(self._weights(wanted))
        credits = [
            credit(c.rating, precision, recall, total_said, total_wanted, self.score, self.weights[c.kind])
            if c.asked
            else 0.0
            for c in said
        ]
        missed = spans_of(wanted, [0.0] * len(wanted), sample.references[index])
        return Verdict(
            score=parts[self.score],
            parts=parts,
            spans=spans_of(said, credits, sample.completion),
            missed=tuple(span for span in missed if span.score < 1.0),
            reference=index,
            note=_cuts(sample, pairs),
        )

    def _weights(self, side: Sequence[RatedComponent]) -> list[float]:
        return [self.weights[component.kind] for component in side]


def failure_of(pairs: Sequence[Pair]) -> Failure | None:
    """The first question that the judge failed on."""
    failures = (interview.failure for pair in pairs for interview in pair.both)
    return next((failure for failure in failures if failure is not None), None)


def _cuts(sample: Sample, pairs: Sequence[Pair]) -> str:
    """What the judge did not read of the completion and the references, for the verdict's note."""
    of_completion, of_references = [0], []
    for pair in pairs:
        both = ((pair.precision, pair.precision.cuts_source), (pair.recall, not pair.recall.cuts_source))
        of_completion += [interview.cut for interview, is_completion in both if is_completion]
        cut = max([interview.cut for interview, is_completion in both if not is_completion], default=0)
        name = "the reference" if len(sample.references) == 1 else f"reference {pair.reference + 1}"
        of_references.append((name, len(sample.references[pair.reference]), cut))
    return read_note([("the completion", len(sample.completion), max(of_completion)), *of_references])


def means_by_kind(direction: str, side: Sequence[RatedComponent]) -> dict[str, float]:
    """`{direction}_entity` and so on: mean ratings / 5 of the kinds that occur."""
    ratings = {kind: [component.rating for component in side if component.kind == kind] for kind in KINDS}
    return {f"{direction}_{kind}": direction_score(values) for kind, values in ratings.items() if values}
