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
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.language.supported_claims import without_unmet_needs
from spanreward.rewards.language.unasserted import asserted_part
from spanreward.rewards.posh.answer_sheet import AnswerSheet
from spanreward.rewards.posh.conduct import ask_all_passes
from spanreward.rewards.posh.graph_view import GraphView
from spanreward.rewards.posh.interview import PRESENCE_THRESHOLD, Interview
from spanreward.rewards.posh.known_references import KnownReferences
from spanreward.rewards.posh.picture_evidence import (
    Pictures,
    copy_plain_answers,
    decoy_scores,
    open_row_pictures,
    picture_sheet,
    reduce_by_yes_rate,
)
from spanreward.rewards.posh.prompts import PromptSource, load_prompts
from spanreward.rewards.posh.row_answers import (
    JudgedRows,
    Pair,
    ParsedRow,
    RowAnswers,
    views_by_graph,
    vocabularies_by_references,
)
from spanreward.rewards.posh.row_verdict import verdict_from_answers
from spanreward.rewards.posh.scores import (
    SCORE_NAMES,
    ScoreName,
    coarse_scores,
    penalise_scores,
    penalise_unread,
)
from spanreward.rewards.reward.answer_cache import AnswerCache
from spanreward.rewards.reward.plain_text_reward import PlainTextReward
from spanreward.rewards.reward.rows import judged_beginning as judged_text
from spanreward.rewards.text.judged_part import check_part

log = logging.getLogger(__name__)

PoshEvidence = Literal["reference", "picture", "both"]
EVIDENCE_NAMES = ("reference", "picture", "both")
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
        # lines of the prompts, which are masked in a text that imitates them; () masks nothing
        self._marks_to_mask = self.prompts.marks if mode == "default" else ()
        self.evidence = evidence
        if evidence != "reference":
            self._prepare_for_pictures()
        coref_method(coref)  # raises for an unknown or missing method
        check_pipeline(pipeline)
        self.pipeline = pipeline
        self.coref = coref
        self.score = score
        self.presence_threshold = presence_threshold
        self._known_references = KnownReferences()
        self._answers = AnswerCache()
        self._warned_of_yes = False

    def _prepare_for_pictures(self) -> None:
        """Sets what evidence "picture" and "both" need: a judge that sees pictures, a column with
        pictures in the dataset, and the yes-rate in the log.

        Raises ValueError in published mode, and for prompts without templates for pictures.
        """
        if self.mode == "published":
            raise ValueError(
                f"mode='published' looks a completion up in its references, got "
                f"evidence={self.evidence!r}: take mode='default'."
            )
        self.prompts.of_picture()  # raises ValueError if there are no such templates
        self.viewers = (self.judge,)  # the judges that are shown the pictures
        self.one_of = ("image", "images")  # the dataset needs one of these columns
        self.main_parts = (*self.main_parts, "yes_rate")

    def __getstate__(self) -> dict[str, Any]:
        # a pickle has only the configuration: the caches are large and can be filled again
        emptied = {"_known_references": KnownReferences(), "_answers": AnswerCache()}
        return {**self.__dict__, **emptied}

    def reader(self) -> str:
        """Returns the parser's name, see `Reward.reader`."""
        return reader_name(self.pipeline, self.coref)

    def cost(self, words: float, references: int) -> Cost:
        """Returns the questions and tokens for one completion, see `Reward.cost`. The number of
        questions per word is measured.

        Questions about decoys are left out: all completions of a call share a few per picture.
        """
        # the completion's components are looked up in each reference, and each reference's
        # components in the completion
        text_questions = round(QUESTIONS_PER_WORD * words * (1 + references))
        picture_questions = 0
        how = (
            f"{QUESTIONS_PER_WORD} per word of the completion and each reference (measured), "
            f"{words:.0f} words each"
        )
        if self.evidence != "reference":
            picture_questions = round(QUESTIONS_PER_WORD * words)
        if self.evidence == "picture":
            text_questions -= picture_questions
            how += "; those of the completion are asked of the picture"
        elif self.evidence == "both":
            how += (
                f"; and at most {QUESTIONS_PER_WORD} per word of the completion of the picture, "
                "which is asked only for what no reference plainly has"
            )
        questions = text_questions + picture_questions
        # a prompt about a picture has no description
        prompt_words = text_questions * (PROMPT_WORDS + words) + picture_questions * PROMPT_WORDS
        return Cost(
            questions=questions,
            prompt_tokens=prompt_words / WORDS_PER_TOKEN,
            written_tokens=questions,
            exact=False,
            how=how,
            computed_tokens=questions * COMPUTED_PER_QUESTION,
        )

    def assess_plain(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order. Default mode judges only the beginning of a
        long completion, and lowers the score for the unread rest.
        """
        if self.mode == "published":
            return self._assess_texts(samples)
        beginnings = [replace(sample, completion=judged_text(sample)) for sample in samples]
        verdicts = []
        for verdict, sample in zip(self._assess_texts(beginnings), samples, strict=True):
            verdicts.append(penalise_unread(verdict, sample, self.score))
        return verdicts

    def _assess_texts(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order.

        Many samples are divided into parts: one part is parsed while the judge answers the
        questions of the part before. `with self.judge` keeps the judge awake between the parts.
        """
        parts = _parts_to_parse(samples)
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
        """Returns the samples with their graphs, and the parser's name. The name is "" if no sample
        has a reference, because then no text is parsed.
        """
        samples_with_references = [sample for sample in samples if sample.references]
        references: dict[str, None] = {}  # each once, in order
        completions: list[str] = []
        for sample in samples_with_references:
            references.update(dict.fromkeys(sample.references))
            if sample.completion.strip():
                completions.append(sample.completion)
        # parse the completions, and the references that no earlier call has parsed
        new = [text for text in references if text not in self._known_references]
        texts = list(dict.fromkeys([*new, *completions]))
        graphs = self._graphs(texts, set(new))
        graphs_of_references = self._known_references.graphs_of(references, graphs)
        rows = []
        for sample in samples:
            graph, _ = graphs.get(sample.completion, (SceneGraph(), None))  # empty if not parsed
            graphs_of_row = tuple(graphs_of_references[text] for text in sample.references)
            rows.append(ParsedRow(sample, graph, graphs_of_row))
        parser_name = self.reader() if samples_with_references else ""
        return rows, parser_name

    def _graphs(
        self, texts: Sequence[str], supporting: Collection[str]
    ) -> dict[str, tuple[SceneGraph, SceneGraph | None]]:
        """Returns the two graphs of each text, by text. The second graph has everything that a
        reference supports (`ParsedRow`). The second graph is None if it equals the first graph, or
        if the text is no reference.

        supporting: the texts that are references.
        """
        if not texts:
            return {}
        graphs = describe_both(texts, supporting, self.pipeline, self.coref, self.mode)
        return dict(zip(texts, graphs, strict=True))

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
        views = views_by_graph(rows)
        judged = JudgedRows(rows, parsed_by, verdicts={}, answers={})  # filled below
        pictures: dict[int, Pictures] = {}
        if self.evidence != "reference":
            pictures, reasons = open_row_pictures(rows)
            for number, reason in reasons.items():
                judged.verdicts[number] = Verdict(None, Status.NOT_APPLICABLE, note=reason)
        self._prepare_answers(judged, views)
        sheets: list[AnswerSheet] = []
        for answers in judged.answers.values():
            for pair in answers.pairs:
                sheets += pair.sheets
        # ask about all rows together, so that the judge gets large batches
        if sheets:
            with self.judge:
                ask_all_passes(sheets, self.judge, self.mode, cache)
                if self.evidence != "reference":
                    self._ask_pictures(judged, views, pictures, cache)
        return judged

    def _prepare_answers(self, judged: JudgedRows, views: Mapping[int, GraphView]) -> None:
        """Puts the unanswered sheets of each row into `judged.answers`. A row that needs no
        question gets its verdict in `judged.verdicts` instead.

        views: the view of each graph, by the graph's id.
        """
        vocabularies: dict[tuple[str, ...], Set[str]] = {}
        if self.mode == "default":
            vocabularies = vocabularies_by_references(judged.rows)
        for number, row in enumerate(judged.rows):
            # the row has no usable picture
            if number in judged.verdicts:
                continue
            usable = self._usable_references(row, views)
            verdict = self._verdict_without_questions(row, views, usable)
            if verdict is not None:
                judged.verdicts[number] = verdict
                continue
            # The graph in which recall looks for the references' components. In default mode, it
            # lacks claims with wording that no reference supports.
            claimed = row.graph
            if self.mode == "default":
                claimed = without_unmet_needs(row.graph, vocabularies[row.sample.references])
            pairs = [self._unanswered_pair(number, row, index, views, claimed) for index in usable]
            judged.answers[number] = RowAnswers(pairs)

    def _usable_references(self, row: ParsedRow, views: Mapping[int, GraphView]) -> list[int]:
        """Returns the indices of the row's references that name a thing ("And then?" names none).
        In published mode, returns all indices, because the published code gives precision or recall
        1 to a text without components.

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
        """Returns the verdict on a row that needs no question, None for any other row.

        A row needs no question if no reference is usable. In default mode, a completion that names
        nothing, such as "And then?", needs no question either: its score is 0.

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
        if yes_rate is not None and yes_rate > MUCH_YES:
            self._warn_of_yes_rate(yes_rate)
        verdicts: list[Verdict] = []
        for judged in parts:
            for number, row in enumerate(judged.rows):
                verdict = judged.verdicts.get(number)
                if verdict is None:
                    verdict = self._verdict_on(row, judged.answers[number], yes_rate)
                verdicts.append(replace(verdict, parsed_by=judged.parsed_by))
        return verdicts

    def _warn_of_yes_rate(self, yes_rate: float) -> None:
        """Logs a warning that the judge often says yes to absent things. Only the first call logs,
        because the training log has the yes-rate at each step.
        """
        if self._warned_of_yes:
            return
        self._warned_of_yes = True
        log.warning(
            "%s: %r says yes to %.0f %% of the things that pictures lack, so its yes says "
            "little, and the score hardly counts it: take a judge that sees better.",
            self.__name__,
            self.judge,
            100 * yes_rate,
        )

    def _verdict_on(self, row: ParsedRow, answers: RowAnswers, yes_rate: float | None) -> Verdict:
        """Returns the verdict on a row with answers, with the penalties for a judge that often says
        yes and for filler. A row with a failed question has no score.

        yes_rate: the mean rating of decoys, from 0 to 1. None without decoys.
        """
        failure = answers.failure
        if failure is not None:
            return Verdict(None, failure.status, note=failure.message)
        # the published code knows one reference, no picture and no filler: the reference with the
        # best F1 gives the verdict
        if self.mode == "published":
            one_by_one = [self._verdict(row.sample, RowAnswers([pair])) for pair in answers.pairs]
            return max(one_by_one, key=lambda verdict: verdict.parts["f1"])
        if answers.picture is not None and yes_rate is not None:
            answers = replace(answers, picture=reduce_by_yes_rate(answers.picture, yes_rate))
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

        Args:
            judged: the rows after the questions about the references.
            views: the view of each graph, by the graph's id.
            pictures: the opened pictures of each row, by the row's number.
            cache: known answers.
        """
        sheets = self._picture_sheets(judged, views, pictures)
        for number, sheet in sheets.items():
            judged.answers[number] = replace(judged.answers[number], picture=sheet)
        if sheets:
            ask_all_passes(list(sheets.values()), self.judge, self.mode, cache)
            judged.decoys.extend(decoy_scores(judged.rows, sheets, self.judge, cache))

    def _picture_sheets(
        self,
        judged: JudgedRows,
        views: Mapping[int, GraphView],
        pictures: Mapping[int, Pictures],
    ) -> dict[int, AnswerSheet]:
        """Returns the sheets for the questions about pictures, by the row's number. A sheet already
        has the answers on components that a reference plainly has: the picture is not asked about
        these components.

        Args:
            judged: the rows after the questions about the references.
            views: the view of each graph, by the graph's id.
            pictures: the opened pictures of each row, by the row's number.
        """
        sheets: dict[int, AnswerSheet] = {}
        for number, answers in judged.answers.items():
            # a row with a failed question has no score, so the picture is not needed
            if answers.failure is not None:
                continue
            row = judged.rows[number]
            sheets[number] = picture_sheet(
                number,
                row,
                views[id(row.graph)],
                pictures[number],
                self.prompts.of_picture(),
                self.presence_threshold,
            )
            # with evidence "picture", `answers.precision` is empty, and nothing is copied
            copy_plain_answers(sheets[number], answers.precision)
        return sheets

    def _unanswered_pair(
        self,
        number: int,
        row: ParsedRow,
        index: int,
        views: Mapping[int, GraphView],
        claimed: SceneGraph,
    ) -> Pair:
        """Returns the unanswered sheets for a row's completion and one of the row's references.

        Args:
            number: the row's number.
            row: the row.
            index: the reference's index in the row's sample.
            views: the view of each graph, by the graph's id.
            claimed: the part of the completion's graph in which recall may find the reference's
                components.
        """
        recall = self._recall_sheet(number, row, index, views, claimed)
        precision = None
        if self.evidence != "picture":
            precision = self._precision_sheet(number, row, index, views)
        return Pair(index, precision, recall)

    def _recall_sheet(
        self,
        number: int,
        row: ParsedRow,
        index: int,
        views: Mapping[int, GraphView],
        claimed: SceneGraph,
    ) -> AnswerSheet:
        """Returns an empty sheet for the questions whether the completion has the components of a
        reference.

        number: the row's number. index: the reference's index in the row's sample. views: the view
        of each graph, by the graph's id. claimed: the part of the completion's graph in which
        recall may find the reference's components.
        """
        asking, _ = row.references[index]  # the graph with the components in question
        target_text = row.sample.completion
        if self.mode == "default":
            target_text = asserted_part(target_text, row.graph)
        interview = Interview(
            sample=number,
            source=views[id(asking)],
            source_text=row.sample.references[index],
            target_text=target_text,
            target_graph=claimed,
            wording=self.prompts.recall,
            presence_threshold=self.presence_threshold,
            marks=self._marks_to_mask,
        )
        return AnswerSheet(interview)

    def _precision_sheet(
        self, number: int, row: ParsedRow, index: int, views: Mapping[int, GraphView]
    ) -> AnswerSheet:
        """Returns an empty sheet for the questions whether a reference has the components of the
        completion.

        number: the row's number. index: the reference's index in the row's sample. views: the view
        of each graph, by the graph's id.
        """
        _, supporting = row.references[index]  # the graph of all that the reference supports
        interview = Interview(
            sample=number,
            source=views[id(row.graph)],
            source_text=row.sample.completion,
            target_text=row.sample.references[index],
            target_graph=supporting,
            wording=self.prompts.precision,
            presence_threshold=self.presence_threshold,
            denials=row.graph.denials,
            marks=self._marks_to_mask,
        )
        return AnswerSheet(interview)

    def _verdict(self, sample: Sample, answers: RowAnswers) -> Verdict:
        """Returns the verdict on a sample from the answers of its references and its picture."""
        return verdict_from_answers(sample, answers, self.score, self.mode)


def _parts_to_parse(samples: Sequence[Sample]) -> list[Sequence[Sample]]:
    """Returns the samples in parts: one part for few samples, otherwise a small first part and
    parts of PARSED_TOGETHER samples.

    The first part is small, because the judge is idle while the first part is parsed.
    """
    if len(samples) <= PARSED_TOGETHER:
        return [samples]
    parts = [samples[:PARSED_FIRST]]
    for start in range(PARSED_FIRST, len(samples), PARSED_TOGETHER):
        parts.append(samples[start : start + PARSED_TOGETHER])
    return parts
