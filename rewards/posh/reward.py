"""PoSh as a reward: finds the completion's words without support in the references, and what the
completion leaves out.

    reward = PoshReward(MatchJudge())
    sample = Sample(prompt="Describe.", completion="A red circle.", references=("A blue circle.",))
    verdict = reward.assess([sample])[0]
    verdict.score, verdict.parts["precision"], verdict.spans, verdict.missed

Precision asks whether each entity, attribute and relation of the completion is in the reference.
Recall asks the reverse. Both are mean ratings / 5, and the score is their F1. Mode "published"
follows the published code, and takes the reference with the best F1. In mode "default" rules word
the identifiers, filler is penalised, and each component of the completion has its best rating over
all references. Recall is that of the reference with the best F1.

A true detail may be in none of the references. With evidence="picture" a judge looks the
completion's components up in the picture. With "both" the judge does so for components that no
reference plainly has, and the better rating counts. The completion is still searched for the
references' components.
"""

import logging
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from hashlib import sha256
from statistics import fmean
from typing import Any, Literal

from spanreward.rewards.base.checks import MODES, Mode, check_choice
from spanreward.rewards.base.cost import WORDS_PER_TOKEN, Cost
from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.judges.by_name import as_judge
from spanreward.rewards.judges.judge import Judge
from spanreward.rewards.language.coref import Coref, coref_method
from spanreward.rewards.language.foreign import in_another_script
from spanreward.rewards.language.parse import describe_both, reader_name
from spanreward.rewards.language.pipeline import check_pipeline
from spanreward.rewards.language.scene_graph import SceneGraph, pack_graph, unpack_graph
from spanreward.rewards.language.supported_claims import vocabulary_of, without_unmet_needs
from spanreward.rewards.language.unasserted import asserted_part
from spanreward.rewards.posh.answer_sheet import AnswerSheet
from spanreward.rewards.posh.components import (
    RatedComponent,
    best_of,
    decided_denials,
    rated_components,
    spans_of,
    surplus_entities,
)
from spanreward.rewards.posh.conduct import ask_all_passes
from spanreward.rewards.posh.graph_view import GraphView, view_graph
from spanreward.rewards.posh.interview import PRESENCE_THRESHOLD, Interview
from spanreward.rewards.posh.picture_evidence import (
    Pictures,
    decoy_scores,
    less_yes_rate,
    open_row_pictures,
    picture_sheet,
    take_plain_answers,
)
from spanreward.rewards.posh.prompts import PromptSource, load_prompts
from spanreward.rewards.posh.row_answers import (
    JudgedRows,
    Pair,
    ParsedRow,
    ReferenceGraphs,
    RowAnswers,
    note_on_cuts,
)
from spanreward.rewards.posh.scores import (
    COMPONENT_KINDS,
    SCORE_NAMES,
    ScoreName,
    coarse_scores,
    credit_of_component,
    direction_score,
    f1,
    penalise_scores,
    penalise_unread,
)
from spanreward.rewards.reward.answer_cache import AnswerCache
from spanreward.rewards.reward.plain_text_reward import PlainTextReward
from spanreward.rewards.reward.rows import judged_beginning as judged_text
from spanreward.rewards.text.judged_part import check_part
from spanreward.rewards.text.quoting import Mark

log = logging.getLogger(__name__)

PoshEvidence = Literal["reference", "picture", "both"]
EVIDENCE_NAMES = ("reference", "picture", "both")
REMEMBERED_REFERENCES = 4096  # references whose graphs are kept for later calls, at most
# measured: 0.563 and 0.559 on Scenes of levels 1 and 3, 0.61 on descriptions of 200 words
QUESTIONS_PER_WORD = 0.56
# prompt tokens missing in a prefix cache, on descriptions of 200 words (evidence/cost.md)
COMPUTED_PER_QUESTION = 29
PROMPT_WORDS = 90  # words of a prompt without the description in the prompt
NOTHING_SAID = "the completion says of nothing that it is there"
PARSED_TOGETHER = 32  # samples; their questions keep the judge busy while more samples are parsed
MUCH_YES = 0.5  # a higher mean rating of absent things (from 0 to 1) gives a warning
PARSED_FIRST = 8  # samples of the first parse, during which the judge is idle


class PoshReward(PlainTextReward):
    """Reward that scores a completion with PoSh (PoSh, section 3). Needs the dataset column
    `reference`.

    Args:
        judge: the judge that rates whether an entity, attribute or relation is in a text.
        prompts: a file like prompts.yaml, or the two published JSON files or their folder. None
            stands for our wording in prompts.yaml.
        mode: "default" for training, or "published" for the behaviour of the paper's code.
        pipeline: the spaCy pipeline that parses the texts, or its name. None stands for the best
            installed pipeline.
        coref: "rules", "none", "maverick" or a function, see
            `coref_method` of rewards/language/coref.py.
        score: "precision", "recall" or "f1".
        name: the reward's name in logs.
        presence_threshold: an entity with a lower mean rating (1 to 5) counts as absent.
        judged_part: only this part of a completion is judged: a tag, a JSON key or /a regular
            expression/ (rewards/text/judged_part.py).
        evidence: "reference", "picture" or "both" as the place to look the completion's components
            up. The picture needs a judge that sees, a picture in each row, and mode "default".

    Raises:
        ValueError: for an unknown value of an argument, a template with wrong placeholders, a
            pipeline that does not parse, or evidence other than "reference" in published mode.
        FileNotFoundError: if `prompts` is no file or folder with prompts.
        ImportError: for coref "maverick" without its package.
    """

    columns = ("reference",)
    main_parts: tuple[str, ...] = ("f1", "precision", "recall")
    lowest = dict.fromkeys(SCORE_NAMES, 0.0)

    def __init__(
        self,
        judge: Judge | str,
        *,
        prompts: PromptSource | None = None,
        mode: Mode = "default",
        pipeline: Any = None,
        coref: Coref = "rules",
        score: ScoreName = "f1",
        name: str = "posh",
        presence_threshold: float = PRESENCE_THRESHOLD,
        judged_part: str | None = None,
        evidence: PoshEvidence = "reference",
    ) -> None:
        super().__init__(name)
        self.judged_part = check_part(judged_part)
        check_choice("evidence", evidence, EVIDENCE_NAMES)
        check_choice("mode", mode, MODES)
        check_choice("score", score, SCORE_NAMES)
        self.judge = as_judge(judge)
        self.judges = (self.judge,)
        self.prompts = load_prompts(prompts)
        self.wording = sha256(repr(self.prompts).encode()).hexdigest()[:16]  # a hash of the prompts
        self.mode = mode
        self.evidence = evidence
        if evidence != "reference":
            if mode == "published":
                raise ValueError(
                    f"mode='published' looks a completion up in its references, got "
                    f"evidence={evidence!r}: take mode='default'."
                )
            self.prompts.of_picture()
            self.viewers = (self.judge,)  # the judges that are shown the pictures
            self.one_of = ("image", "images")  # the dataset needs one of these columns
            self.main_parts = (*self.main_parts, "yes_rate")
        coref_method(coref)
        check_pipeline(pipeline)
        self.pipeline = pipeline
        self.coref = coref
        self.score = score
        self.presence_threshold = presence_threshold
        # packed graphs, least recently used first; the second is None if equal to the first
        self._references: OrderedDict[str, tuple[bytes, bytes | None]] = OrderedDict()
        self._answers = AnswerCache()
        self._warned_of_yes = False

    def __getstate__(self) -> dict[str, Any]:
        # a pickle has only the configuration: the caches are large and can be filled again
        return {**self.__dict__, "_references": OrderedDict(), "_answers": AnswerCache()}

    def reader(self) -> str:
        """Returns the parser's name, see `Reward.reader`."""
        return reader_name(self.pipeline, self.coref)

    def cost(self, words: float, references: int) -> Cost:
        """See `Reward.cost`. The number of questions per word is measured.

        Questions about decoys are left out: all completions of a call share a few per picture.
        """
        of_texts = round(QUESTIONS_PER_WORD * words * (1 + references))
        how = (
            f"{QUESTIONS_PER_WORD} per word of the completion and each reference (measured), "
            f"{words:.0f} words each"
        )
        of_pictures = 0
        if self.evidence != "reference":
            of_pictures = round(QUESTIONS_PER_WORD * words)
        if self.evidence == "picture":
            of_texts -= of_pictures
            how += "; those of the completion are asked of the picture"
        elif self.evidence == "both":
            how += (
                f"; and at most {QUESTIONS_PER_WORD} per word of the completion of the picture, "
                "which is asked only for what no reference plainly has"
            )
        questions = of_texts + of_pictures
        # a question about a picture holds no description
        read = of_texts * (PROMPT_WORDS + words) + of_pictures * PROMPT_WORDS
        tokens = read / WORDS_PER_TOKEN
        computed = questions * COMPUTED_PER_QUESTION
        return Cost(questions, tokens, questions, False, how, computed)

    def assess_plain(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order. Default mode lowers scores for unread text."""
        if self.mode == "published":
            return self._assess_texts(samples)
        read = [replace(sample, completion=judged_text(sample)) for sample in samples]
        verdicts = []
        for verdict, sample in zip(self._assess_texts(read), samples, strict=True):
            verdicts.append(penalise_unread(verdict, sample, self.score))
        return verdicts

    def _assess_texts(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Judges some samples while the next are parsed. The judge stays awake throughout."""
        parts: list[Sequence[Sample]] = [samples]
        if len(samples) > PARSED_TOGETHER:
            parts = [samples[:PARSED_FIRST]]
            for start in range(PARSED_FIRST, len(samples), PARSED_TOGETHER):
                parts.append(samples[start : start + PARSED_TOGETHER])
        judged: list[JudgedRows] = []
        self._answers.begin()  # makes the answers of earlier calls known
        with (
            ThreadPoolExecutor(max_workers=1) as parser,  # two threads would block each other
            self.judge if len(parts) > 1 else nullcontext(),
        ):
            ahead = parser.submit(self._parse, parts[0])
            for number in range(len(parts)):
                rows, parsed_by = ahead.result()
                # start the next parse before asking the judge, so that both run at the same time
                if number + 1 < len(parts):
                    ahead = parser.submit(self._parse, parts[number + 1])
                judged.append(self._judge_rows(rows, parsed_by, self._answers))
        return self._verdicts_on(judged)

    def _parse(self, samples: Sequence[Sample]) -> tuple[list[ParsedRow], str]:
        """Returns the samples with their graphs, and the parser's name."""
        judged = [sample for sample in samples if sample.references]
        references: dict[str, None] = {}  # each once, in order
        for sample in judged:
            references.update(dict.fromkeys(sample.references))
        new = [text for text in references if text not in self._references]
        completions = [sample.completion for sample in judged if sample.completion.strip()]
        texts = list(dict.fromkeys([*new, *completions]))
        both = self._graphs(texts, set(new))
        # unpack the known graphs of earlier calls, and pack the new graphs for later calls
        by_reference: dict[str, ReferenceGraphs] = {}
        for text in references:
            if text in self._references:
                by_reference[text] = _unpacked_graphs(*self._references[text])
            else:
                by_reference[text] = _graphs_of_reference(*both[text])
                self._references[text] = _packed_graphs(*by_reference[text])
            self._references.move_to_end(text)  # used last
        while len(self._references) > REMEMBERED_REFERENCES:
            self._references.popitem(last=False)  # unused for the longest time
        rows = []
        for sample in samples:
            graph, _ = both.get(sample.completion, (SceneGraph(), None))  # empty if not parsed
            graphs_of_references = tuple(by_reference[text] for text in sample.references)
            rows.append(ParsedRow(sample, graph, graphs_of_references))
        return rows, self.reader() if judged else ""

    def _graphs(
        self, texts: Sequence[str], supporting: Collection[str]
    ) -> dict[str, tuple[SceneGraph, SceneGraph | None]]:
        """Returns the two graphs of each text, by text (`describe_both`). supporting: the texts
        that are references, which alone may have a second graph.
        """
        if not texts:
            return {}
        both = describe_both(texts, supporting, self.pipeline, self.coref, self.mode)
        return dict(zip(texts, both, strict=True))

    def assess_rows(
        self, rows: Sequence[ParsedRow], parsed_by: str, cache: AnswerCache
    ) -> list[Verdict]:
        """Returns the verdicts on parsed rows. parsed_by: the parser's name."""
        return self._verdicts_on([self._judge_rows(rows, parsed_by, cache)])

    def _judge_rows(
        self, rows: Sequence[ParsedRow], parsed_by: str, cache: AnswerCache
    ) -> JudgedRows:
        """Asks the judge all questions about the rows, and returns the rows with the answers. A row
        that needs no question has its verdict instead.

        parsed_by: the parser's name.
        """
        views = _views_by_graph(rows)
        default = self.mode == "default"
        vocabularies: dict[tuple[str, ...], Set[str]] = {}
        for row in rows:
            references = row.sample.references
            if default and references not in vocabularies:
                vocabularies[references] = vocabulary_of(references)
        judged = JudgedRows(rows, parsed_by, verdicts={}, answers={})  # filled below
        pictures: dict[int, Pictures] = {}
        if self.evidence != "reference":
            pictures, reasons = open_row_pictures(rows)
            for number, reason in reasons.items():
                judged.verdicts[number] = Verdict(None, Status.NOT_APPLICABLE, note=reason)
        sheets: list[AnswerSheet] = []
        for number, row in enumerate(rows):
            if number in judged.verdicts:
                continue
            usable = self._usable_references(row, views)
            verdict = self._verdict_without_questions(row, views, usable)
            if verdict is not None:
                judged.verdicts[number] = verdict
                continue
            # recall may find only claims with wording that the references back
            claimed = row.graph
            if default:
                claimed = without_unmet_needs(row.graph, vocabularies[row.sample.references])
            pairs = [self._pair(number, row, index, views, claimed) for index in usable]
            for pair in pairs:
                sheets += pair.sheets
            judged.answers[number] = RowAnswers(pairs)
        # ask about all rows together, so that the judge gets large batches
        if sheets:
            with self.judge:
                ask_all_passes(sheets, self.judge, self.mode, cache)
                if self.evidence != "reference":
                    self._ask_pictures(judged, views, pictures, cache)
        return judged

    def _usable_references(self, row: ParsedRow, views: Mapping[int, GraphView]) -> list[int]:
        """Returns the indices of the row's references that name anything. The published code uses
        all references: it gives recall or precision 1 to a text without components.

        views: the view of each graph, by the graph's id.
        """
        usable: list[int] = []
        for index, (graph, _) in enumerate(row.references):
            if views[id(graph)].namesakes or self.mode == "published":
                usable.append(index)
        return usable

    def _verdict_without_questions(
        self, row: ParsedRow, views: Mapping[int, GraphView], usable: Sequence[int]
    ) -> Verdict | None:
        """Returns the verdict on a row about which the judge is not asked, None for any other row.

        The judge is not asked if no reference is usable. In default mode it is not asked either if
        the completion names nothing. Published mode asks about such a completion.

        views: the view of each graph, by the graph's id. usable: the indices of the references that
        name anything.
        """
        if not usable:
            note = "no reference that names anything"
            if any(map(in_another_script, row.sample.references)):
                note += ": the parser reads English"
            return Verdict(None, Status.NOT_APPLICABLE, note=note)
        # `namesakes` has the entities by their names, so it is empty if the text names nothing
        names_nothing = not row.sample.completion.strip() or not views[id(row.graph)].namesakes
        if self.mode == "default" and names_nothing:
            nothing = coarse_scores(0.0, 0.0)
            return Verdict(0.0, Status.EMPTY, nothing, note=NOTHING_SAID)
        return None

    def _verdicts_on(self, parts: Sequence[JudgedRows]) -> list[Verdict]:
        """Returns the verdicts on all rows of a call, in order.

        All ratings from pictures are reduced by one yes-rate, so that rows of a group lose the
        same.
        """
        decoys: list[float] = []
        for judged in parts:
            decoys += judged.decoys
        yes_rate = fmean(decoys) if decoys else None
        if yes_rate is not None and yes_rate > MUCH_YES and not self._warned_of_yes:
            self._warned_of_yes = True  # warn once: the log has this rate at each step
            log.warning(
                "%s: %r says yes to %.0f %% of the things that pictures lack, so its yes says "
                "little, and the score hardly counts it: take a judge that sees better.",
                self.__name__,
                self.judge,
                100 * yes_rate,
            )
        verdicts: list[Verdict] = []
        for judged in parts:
            for number, row in enumerate(judged.rows):
                verdict = judged.verdicts.get(number)
                if verdict is None:
                    verdict = self._verdict_on(row, judged.answers[number], yes_rate)
                verdicts.append(replace(verdict, parsed_by=judged.parsed_by))
        return verdicts

    def _verdict_on(self, row: ParsedRow, answers: RowAnswers, yes_rate: float | None) -> Verdict:
        """Returns the verdict on a row with answers. yes_rate: the decoys' mean score, or None."""
        failure = answers.failure
        if failure is not None:
            return Verdict(None, failure.status, note=failure.message)
        if self.mode == "published":
            # the published code takes one reference: take the verdict with the best F1
            one_by_one = [self._verdict(row.sample, RowAnswers([pair])) for pair in answers.pairs]
            return max(one_by_one, key=lambda verdict: verdict.parts["f1"])
        if answers.picture is not None and yes_rate is not None:
            answers = replace(answers, picture=less_yes_rate(answers.picture, yes_rate))
        verdict = self._verdict(row.sample, answers)
        if yes_rate is not None:
            verdict = replace(verdict, parts={**verdict.parts, "yes_rate": yes_rate})
        return penalise_scores(verdict, row.sample, row.graph)

    def _ask_pictures(
        self,
        judged: JudgedRows,
        views: dict[int, GraphView],
        pictures: dict[int, Pictures],
        cache: AnswerCache,
    ) -> None:
        """Asks whether the pictures show the components of the completions, and puts the answers
        into `judged.answers`. Also asks about decoys, things that the pictures lack, and puts the
        ratings of the decoys into `judged.decoys`.

        views: the view of each graph, by the graph's id. pictures: by the row's number.
        """
        sheets: dict[int, AnswerSheet] = {}
        for number, answers in judged.answers.items():
            if answers.failure is not None:
                continue
            row = judged.rows[number]
            sheet = picture_sheet(
                number,
                row,
                views[id(row.graph)],
                pictures[number],
                self.prompts.of_picture(),
                self.presence_threshold,
            )
            # what a reference plainly has is not asked of the picture; with evidence "picture",
            # `answers.precision` is empty, and everything is asked
            take_plain_answers(sheet, answers.precision)
            sheets[number] = sheet
            judged.answers[number] = replace(answers, picture=sheet)
        if sheets:
            ask_all_passes(list(sheets.values()), self.judge, self.mode, cache)
            judged.decoys.extend(decoy_scores(judged.rows, sheets, self.judge, cache))

    def _pair(
        self,
        number: int,
        row: ParsedRow,
        index: int,
        views: Mapping[int, GraphView],
        claimed: SceneGraph,
    ) -> Pair:
        """Returns the unanswered sheets on a row's completion and its reference of this index.

        views: the view of each graph, by the graph's id. claimed: the part of the completion's
        graph in which recall may find the reference's components.
        """
        completion, reference = row.sample.completion, row.sample.references[index]
        graph_for_recall, graph_for_precision = row.references[index]
        asserted_text = completion
        marks: tuple[Mark, ...] = ()
        if self.mode == "default":
            asserted_text = asserted_part(completion, row.graph)
            marks = self.prompts.marks
        # recall looks the reference's components up in the completion
        recall = Interview(
            sample=number,
            source=views[id(graph_for_recall)],
            source_text=reference,
            target_text=asserted_text,
            target_graph=claimed,
            wording=self.prompts.recall,
            presence_threshold=self.presence_threshold,
            marks=marks,
        )
        if self.evidence == "picture":
            return Pair(index, None, AnswerSheet(recall))
        # precision looks the completion's components up in the reference
        precision = Interview(
            sample=number,
            source=views[id(row.graph)],
            source_text=completion,
            target_text=reference,
            target_graph=graph_for_precision,
            wording=self.prompts.precision,
            presence_threshold=self.presence_threshold,
            denials=row.graph.denials,
            marks=marks,
        )
        return Pair(index, AnswerSheet(precision), AnswerSheet(recall))

    def _verdict(self, sample: Sample, answers: RowAnswers) -> Verdict:
        """Returns the verdict on a sample from the answers of its references and its picture."""
        pairs = answers.pairs
        default = self.mode == "default"
        of_references = answers.precision
        # rate the completion's components, without surplus mentions
        groups = [of_references]
        if answers.picture is not None:
            groups.append([answers.picture])
        versions: list[list[RatedComponent]] = []
        for sheets in groups:
            too_often = surplus_entities(sheets) if default and sheets else frozenset()
            versions += [rated_components(sheet, too_often, reaching=default) for sheet in sheets]
        of_completion = best_of(versions)
        of_completion += decided_denials(of_references, answers.picture)
        counted = [component for component in of_completion if component.counts]
        precision = _mean_score(counted)
        # rate the references' components
        sides = [rated_components(pair.recall) for pair in pairs]
        recalls = [_mean_score(side) for side in sides]
        # recall is that of the reference with the best F1
        best = max(range(len(pairs)), key=lambda number: f1(precision, recalls[number]))
        index = pairs[best].reference
        of_reference = sides[best]
        recall = recalls[best]
        parts = coarse_scores(precision, recall)
        parts |= _means_by_kind("precision", counted)
        parts |= _means_by_kind("recall", of_reference)
        sizes = (len(counted), len(of_reference))
        # only components with a question and a weight in the mean have a credit
        credits: list[float] = []
        for component in of_completion:
            added = 0.0
            if component.asked and component.counts:
                added = credit_of_component(component.rating, precision, recall, *sizes, self.score)
            credits.append(added)
        # missed components have no words in the completion, so their credit is 0
        missed = spans_of(of_reference, [0.0] * len(of_reference), sample.references[index])
        return Verdict(
            score=parts[self.score],
            parts=parts,
            spans=spans_of(of_completion, credits, sample.completion),
            missed=tuple(span for span in missed if span.score < 1.0),
            reference=index,
            note=note_on_cuts(sample, pairs),
        )


def _views_by_graph(rows: Sequence[ParsedRow]) -> dict[int, GraphView]:
    """Returns the view of each graph in the rows that asks questions, by the graph's id. Equal
    texts share one graph, so they share one view.
    """
    views: dict[int, GraphView] = {}
    for row in rows:
        asking = [graph for graph, _ in row.references]
        for graph in (row.graph, *asking):
            if id(graph) not in views:
                views[id(graph)] = view_graph(graph)
    return views


def _graphs_of_reference(graph: SceneGraph, supporting: SceneGraph | None) -> ReferenceGraphs:
    """Returns a reference's two graphs (see ReferenceGraphs) from those of `describe_both`."""
    # the first graph only asks questions, so it needs no `hanging`
    asking = replace(graph, hanging=[])
    if supporting is None:
        return asking, asking
    return asking, supporting


def _packed_graphs(graph: SceneGraph, supporting: SceneGraph) -> tuple[bytes, bytes | None]:
    """Returns a reference's graphs packed, with None for a second graph that equals the first."""
    if supporting is graph:
        return pack_graph(graph), None
    return pack_graph(graph), pack_graph(supporting)


def _unpacked_graphs(stored: bytes, supporting: bytes | None) -> ReferenceGraphs:
    """Returns the graphs that `_packed_graphs` packed."""
    graph = unpack_graph(stored)
    if supporting is None:
        return graph, graph
    return graph, unpack_graph(supporting)


def _mean_score(side: Sequence[RatedComponent]) -> float:
    """Returns precision or recall: the mean rating / 5 of the components."""
    return direction_score([component.rating for component in side])


def _means_by_kind(direction: str, side: Sequence[RatedComponent]) -> dict[str, float]:
    """Returns mean rating / 5 of each kind with components, such as {"precision_entity": 0.8}."""
    means = {}
    for kind in COMPONENT_KINDS:
        ratings = [component.rating for component in side if component.kind == kind]
        if ratings:
            means[f"{direction}_{kind}"] = direction_score(ratings)
    return means
