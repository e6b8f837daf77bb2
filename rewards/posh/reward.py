"""PoSh as a reward: finds the completion's words that no reference supports, and what the
completion leaves out.

    reward = PoshReward(MatchJudge())
    sample = Sample(prompt="Describe.", completion="A red circle.", references=("A blue circle.",))
    verdict = reward.assess([sample])[0]
    verdict.score, verdict.parts["precision"], verdict.spans, verdict.missed

Precision asks whether each entity, attribute and relation of the completion is in the reference,
recall the reverse. Both are mean ratings / 5, and the score is their F1. mode="published" follows
the published code: of several references the best F1 counts. In mode="default" identifiers are
worded by rule, filler is penalised, a component of the completion has its best rating over all
references, and recall is that of the reference with the best F1.
"""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from spanreward.rewards.base.checks import MODES, Mode, check_choice
from spanreward.rewards.base.cost import WORDS_PER_TOKEN, Cost
from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.judges.by_name import as_judge
from spanreward.rewards.judges.judge import Judge
from spanreward.rewards.language.backing import backed, vocabulary
from spanreward.rewards.language.coref import Coref, coref_method
from spanreward.rewards.language.foreign import in_another_script
from spanreward.rewards.language.parse import describe_both, reader_name
from spanreward.rewards.language.pipeline import check_pipeline
from spanreward.rewards.language.scene_graph import SceneGraph, packed, unpacked
from spanreward.rewards.language.unasserted import asserted
from spanreward.rewards.posh.answer_sheet import AnswerSheet
from spanreward.rewards.posh.components import (
    RatedComponent,
    best_of,
    components,
    denials,
    spans_of,
    surplus,
)
from spanreward.rewards.posh.conduct import conduct
from spanreward.rewards.posh.graph_view import GraphView, view_graph
from spanreward.rewards.posh.interview import PRESENCE_THRESHOLD, Interview
from spanreward.rewards.posh.prompts import PromptSource, load_prompts
from spanreward.rewards.posh.scores import (
    KINDS,
    SCORES,
    Score,
    coarse_scores,
    credit,
    direction_score,
    f1,
    penalise,
    penalise_unread,
)
from spanreward.rewards.reward.answer_cache import AnswerCache
from spanreward.rewards.reward.reading import ReadingReward
from spanreward.rewards.reward.rows import judged
from spanreward.rewards.text.judged_part import check_part
from spanreward.rewards.text.quoting import Mark

REMEMBERED_REFERENCES = 4096
# 0.563 and 0.559 on Scenes of levels 1 and 3, 0.61 on descriptions of 200 words
QUESTIONS_PER_WORD = 0.56
# prompt tokens that a prefix cache lacks, on descriptions of 200 words (evidence/cost.md)
COMPUTED_PER_QUESTION = 29
PROMPT_WORDS = 90  # words of a prompt beside the description in it
NOTHING_SAID = "the completion says of nothing that it is there"
PARSED_TOGETHER = 32  # samples, whose questions keep an engine busy while the next ones are parsed
PARSED_FIRST = 8  # samples, for whose parse the judge waits

# the graph of a reference, and that of everything that it supports
ReferenceGraphs = tuple[SceneGraph, SceneGraph]


@dataclass(frozen=True, slots=True)
class ParsedRow:
    """A sample with the graph of its completion, and the two graphs of each reference.

    These two differ if the reference leaves something open, such as "a red or orange bird".
    """

    sample: Sample
    graph: SceneGraph
    references: tuple[ReferenceGraphs, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """The answers on a completion and its reference of this index, in both directions."""

    reference: int
    precision: AnswerSheet
    recall: AnswerSheet

    @property
    def both(self) -> tuple[AnswerSheet, AnswerSheet]:
        return self.precision, self.recall


class PoshReward(ReadingReward):
    """Reward that scores a completion with PoSh (PoSh, section 3). Needs the dataset column
    `reference`.

    Args:
        judge: the judge that says whether an entity, attribute or relation is in a text.
        prompts: None for our wording, a file like prompts.yaml, or the two published JSON files or
            their folder.
        mode: "default" for training, or "published" for the behaviour of the paper's code.
        pipeline: the spaCy pipeline that parses the texts, or its name. None takes the best
            installed one.
        coref: "rules", "none", "maverick" or a function, see
            `spanreward.rewards.language.describe`.
        score: "precision", "recall" or "f1".
        name: the reward's name in logs.
        presence_threshold: an entity with a lower mean rating (1 to 5) counts as absent (the
            published code's 2).
        judged_part: a tag, a JSON key or /a regular expression/ (rewards/text/judged_part.py): only
            this part of a completion is judged.
    """

    columns = ("reference",)
    main_parts = ("f1", "precision", "recall")
    lowest = dict.fromkeys(SCORES, 0.0)

    def __init__(
        self,
        judge: Judge | str,
        *,
        prompts: PromptSource | None = None,
        mode: Mode = "default",
        pipeline: Any = None,
        coref: Coref = "rules",
        score: Score = "f1",
        name: str = "posh",
        presence_threshold: float = PRESENCE_THRESHOLD,
        judged_part: str | None = None,
    ) -> None:
        super().__init__(name)
        self.judged_part = check_part(judged_part)
        check_choice("mode", mode, MODES)
        check_choice("score", score, SCORES)
        self.judge = as_judge(judge)
        self.judges = (self.judge,)
        self.prompts = load_prompts(prompts)
        self.wording = sha256(repr(self.prompts).encode()).hexdigest()[:16]
        self.mode = mode
        coref_method(coref)
        check_pipeline(pipeline)
        self.pipeline = pipeline
        self.coref = coref
        self.score = score
        self.presence_threshold = presence_threshold
        # packed graphs, least recently used first; None for the second where it is the first
        self._references: OrderedDict[str, tuple[bytes, bytes | None]] = OrderedDict()
        self._answers = AnswerCache()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_references": OrderedDict(), "_answers": AnswerCache()}

    def reader(self) -> str:
        return reader_name(self.pipeline, self.coref)

    def cost(self, words: float, references: int) -> Cost:
        """See `Reward.cost`. QUESTIONS_PER_WORD is measured."""
        questions = round(QUESTIONS_PER_WORD * words * (1 + references))
        each = (PROMPT_WORDS + words) / WORDS_PER_TOKEN
        how = (
            f"{QUESTIONS_PER_WORD} per word of the completion and each reference (measured), "
            f"{words:.0f} words each"
        )
        return Cost(
            questions, questions * each, questions, False, how, questions * COMPUTED_PER_QUESTION
        )

    def assess_plain(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Parses every distinct text once and returns one Verdict per sample, in order."""
        if self.mode == "published":
            return self._assess_texts(samples)
        verdicts = self._assess_texts(
            [replace(sample, completion=judged(sample)) for sample in samples]
        )
        return [
            penalise_unread(v, sample, self.score)
            for v, sample in zip(verdicts, samples, strict=True)
        ]

    def _assess_texts(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Judges some samples while the next ones are parsed.

        The judge stays awake for all of them.
        """
        parts: list[Sequence[Sample]] = [samples]
        if len(samples) > PARSED_TOGETHER:
            rest = range(PARSED_FIRST, len(samples), PARSED_TOGETHER)
            parts = [samples[:PARSED_FIRST]]
            parts += [samples[start : start + PARSED_TOGETHER] for start in rest]
        verdicts: list[Verdict] = []
        self._answers.begin()
        with (
            ThreadPoolExecutor(max_workers=1) as parser,
            self.judge if len(parts) > 1 else nullcontext(),
        ):
            ahead = parser.submit(self._parse, parts[0])
            for number in range(len(parts)):
                rows, parsed_by = ahead.result()
                if number + 1 < len(parts):
                    ahead = parser.submit(self._parse, parts[number + 1])
                verdicts += self.assess_rows(rows, parsed_by, self._answers)
        return verdicts

    def _parse(self, samples: Sequence[Sample]) -> tuple[list[ParsedRow], str]:
        """Returns the samples with their graphs, and the parser's name."""
        judged = [sample for sample in samples if sample.references]
        references = dict.fromkeys(text for sample in judged for text in sample.references)
        new = [text for text in references if text not in self._references]
        completions = [sample.completion for sample in judged if sample.completion.strip()]
        texts = list(dict.fromkeys([*new, *completions]))
        both = self._graphs(texts, set(new))
        known: dict[str, ReferenceGraphs] = {}
        for text in references:
            if text in self._references:
                known[text] = _restored(*self._references[text])
            else:
                known[text] = _of_reference(*both[text])
                self._references[text] = _stored(*known[text])
            self._references.move_to_end(text)
        while len(self._references) > REMEMBERED_REFERENCES:
            self._references.popitem(last=False)
        rows = []
        for sample in samples:
            graph, _ = both.get(sample.completion, (SceneGraph(), None))
            graphs_of_references = tuple(known[text] for text in sample.references)
            rows.append(ParsedRow(sample, graph, graphs_of_references))
        return rows, self.reader() if judged else ""

    def _graphs(
        self, texts: Sequence[str], supporting: Collection[str]
    ) -> dict[str, tuple[SceneGraph, SceneGraph | None]]:
        """Returns the graphs of each text, as `describe_both` does."""
        if not texts:
            return {}
        both = describe_both(texts, supporting, self.pipeline, self.coref, self.mode)
        return dict(zip(texts, both, strict=True))

    def assess_rows(
        self, rows: Sequence[ParsedRow], parsed_by: str, cache: AnswerCache
    ) -> list[Verdict]:
        """Judges parsed texts. parsed_by: what parsed them."""
        distinct = {
            id(graph): graph
            for row in rows
            for graph in (row.graph, *(own for own, _ in row.references))
        }
        views = {key: view_graph(graph) for key, graph in distinct.items()}
        default = self.mode == "default"
        known = {
            texts: vocabulary(texts) for texts in {row.sample.references for row in rows if default}
        }
        verdicts: dict[int, Verdict] = {}
        pairs: dict[int, list[Pair]] = {}
        for number, row in enumerate(rows):
            paid = backed(row.graph, known[row.sample.references]) if default else row.graph
            said = views[id(row.graph)]
            wanted = [views[id(reference)] for reference, _ in row.references]
            # in the published code a reference without components has recall 1, and an empty
            # completion precision 1
            usable = [index for index, view in enumerate(wanted) if view.namesakes or not default]
            if not usable:
                note = "no reference that names anything"
                note += (
                    ": the parser reads English"
                    if any(map(in_another_script, row.sample.references))
                    else ""
                )
                verdicts[number] = Verdict(None, Status.NOT_APPLICABLE, note=note)
            elif default and not (row.sample.completion.strip() and said.namesakes):
                nothing = coarse_scores(0.0, 0.0)
                verdicts[number] = Verdict(0.0, Status.EMPTY, nothing, note=NOTHING_SAID)
            else:
                pairs[number] = [
                    self._pair(number, row, index, said, wanted[index], paid) for index in usable
                ]
        sheets: list[AnswerSheet] = []
        for pairs_of_row in pairs.values():
            for pair in pairs_of_row:
                sheets += pair.both
        if sheets:
            with self.judge:
                conduct(sheets, self.judge, self.mode, cache)
        for number, several in pairs.items():
            sample = rows[number].sample
            if failure := next(
                (one.failure for pair in several for one in pair.both if one.failure), None
            ):
                verdicts[number] = Verdict(None, failure.status, note=failure.message)
            elif default:
                verdicts[number] = penalise(
                    self._verdict(sample, several), sample, rows[number].graph
                )
            else:  # the published code takes one reference, so the best one counts
                one_by_one = [self._verdict(sample, [pair]) for pair in several]
                verdicts[number] = max(one_by_one, key=lambda verdict: verdict.parts["f1"])
        return [replace(verdicts[number], parsed_by=parsed_by) for number in range(len(rows))]

    def _pair(
        self,
        number: int,
        row: ParsedRow,
        index: int,
        said: GraphView,
        wanted: GraphView,
        paid: SceneGraph,
    ) -> Pair:
        completion, reference, threshold = (
            row.sample.completion,
            row.sample.references[index],
            self.presence_threshold,
        )
        _, supporting = row.references[index]
        claimed = completion
        marks: tuple[Mark, ...] = ()
        if self.mode == "default":
            claimed = asserted(completion, row.graph)
            marks = self.prompts.marks
        prompts, denials = self.prompts, row.graph.denials
        precision = Interview(
            number,
            said,
            completion,
            reference,
            supporting,
            prompts.precision,
            threshold,
            denials,
            marks,
        )
        recall = Interview(
            number, wanted, reference, claimed, paid, prompts.recall, threshold, (), marks
        )
        return Pair(index, AnswerSheet(precision), AnswerSheet(recall))

    def _verdict(self, sample: Sample, pairs: Sequence[Pair]) -> Verdict:
        """Returns the verdict from one sample's answers over the references of these pairs."""
        sheets = [pair.precision for pair in pairs]
        default = self.mode == "default"
        too_often = surplus(sheets) if default else frozenset()
        said = best_of([components(sheet, too_often, reaching=default) for sheet in sheets])
        said += denials(sheets)
        precision = direction_score([component.rating for component in said])
        sides = [components(pair.recall) for pair in pairs]
        recalls = [direction_score([component.rating for component in side]) for side in sides]
        best = max(range(len(pairs)), key=lambda i: f1(precision, recalls[i]))
        index, wanted, recall = pairs[best].reference, sides[best], recalls[best]
        parts = coarse_scores(precision, recall)
        parts |= _means_by_kind("precision", said) | _means_by_kind("recall", wanted)
        credits = [
            credit(component.rating, precision, recall, len(said), len(wanted), self.score)
            if component.asked
            else 0.0
            for component in said
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


def _of_reference(graph: SceneGraph, supporting: SceneGraph | None) -> ReferenceGraphs:
    """Returns a reference's graphs from those of `describe_both`."""
    own = replace(graph, hanging=[])  # asks, and backs nothing of its own
    return own, own if supporting is None else supporting


def _stored(graph: SceneGraph, supporting: SceneGraph) -> tuple[bytes, bytes | None]:
    """Returns a reference's graphs packed. Most references have one for both."""
    return packed(graph), None if supporting is graph else packed(supporting)


def _restored(stored: bytes, supporting: bytes | None) -> ReferenceGraphs:
    graph = unpacked(stored)
    return graph, graph if supporting is None else unpacked(supporting)


def _cuts(sample: Sample, pairs: Sequence[Pair]) -> str:
    """Returns the note on what the judge did not read of the completion and the references, or
    "".
    """
    said = max(
        cut
        for pair in pairs
        for cut in (pair.precision.cut_of(source=True), pair.recall.cut_of(source=False))
    )
    texts = [("the completion", sample.completion, said)]
    for pair in pairs:
        name = "the reference" if len(sample.references) == 1 else f"reference {pair.reference + 1}"
        cut = max(pair.precision.cut_of(source=False), pair.recall.cut_of(source=True))
        texts.append((name, sample.references[pair.reference], cut))
    return "; ".join(
        f"the judge read {len(text) - cut:,} of {len(text):,} characters of {name}"
        for name, text, cut in texts
        if cut
    )


def _means_by_kind(direction: str, side: Sequence[RatedComponent]) -> dict[str, float]:
    """Returns mean ratings / 5 of the kinds that occur, as `precision_entity` and so on."""
    ratings = {
        kind: [component.rating for component in side if component.kind == kind] for kind in KINDS
    }
    return {
        f"{direction}_{kind}": direction_score(values) for kind, values in ratings.items() if values
    }
