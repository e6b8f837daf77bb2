"""Asks PoSh's questions in three passes over a whole batch, in the order of the published code.

    sheets = [AnswerSheet(Interview(sample=0, source=..., ...)), ...]
    # one sheet per direction (precision, recall) of each pair of texts
    ask_all_passes(sheets, judge, mode="default")
    sheets[0].entities[0].rating, sheets[0].details

Pass 1 asks about entities that are not part of another entity. Pass 2 asks about parts, and names a
part by a whole that pass 1 found. Pass 3 asks about attributes and relations of present entities,
and about denied things.

In published mode the judge words the identifiers. In default mode rules word the identifiers, and
equal questions are asked once. A text that is too long for the judge loses its end
(`AnswerSheet.cut`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from spanreward.rewards.base.checks import Mode
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure, Judge, Question
from spanreward.rewards.judges.probe import Mention
from spanreward.rewards.judges.question import numbered_repeats
from spanreward.rewards.posh.answer_sheet import AnswerSheet, ComponentRating
from spanreward.rewards.posh.candidates import Candidate, EntityAnswer
from spanreward.rewards.posh.questions import (
    Component,
    component_of_candidate,
    components_of_pass_3,
    names_to_ask,
    presence_question,
    question_text,
    rewrite_question,
)
from spanreward.rewards.reward.answer_cache import AnswerCache, Rated

REWRITE_TOKENS = 20  # the most tokens of a name that the judge words, as published (2.3)
HIGHEST_RATING = 5.0
RATING_IF_UNREADABLE = 1.0  # the published code's rating of an answer without a digit


def ask_all_passes(
    sheets: Sequence[AnswerSheet],
    judge: Judge,
    mode: Mode = "default",
    cache: AnswerCache | None = None,
) -> None:
    """Asks the judge about all components of the sheets, in three passes, and fills in the sheets.

    A later pass asks only about things that an earlier pass has found. If the judge fails on a
    sample, the later passes leave out the sheets of this sample.

    Args:
        sheets: of all samples.
        judge: answers the questions.
        mode: "default" or "published".
        cache: known answers, whose questions are not asked again.
    """
    if cache is None:
        cache = AnswerCache()
    asker = _Asker(judge, mode == "published", cache)
    # Default mode makes the answers of earlier passes known before each question. Published mode
    # makes only the answers of earlier calls known, here.
    if asker.published:
        asker.cache.begin()
    # pass 1: entities that are not part of another entity
    asker.ask_entities(sheets, parts=False)
    # The viewer and the sides of the view get their fixed names only after pass 1. In pass 1 the
    # published code names the viewer by the word in the text.
    for sheet in sheets:
        _answer_fixed_entities(sheet)
    # pass 2: parts
    asker.ask_entities(_without_failed_samples(sheets), parts=True)
    # pass 3: attributes, relations and denied things
    asker.ask_details(_without_failed_samples(sheets))


def _answer_fixed_entities(sheet: AnswerSheet) -> None:
    """Adds the answers on entities with a fixed name, such as "the viewer". The judge is not asked
    about these entities: they count as present.
    """
    for number, entity in enumerate(sheet.interview.source.entities):
        if entity.fixed is not None:
            sheet.entities[number] = EntityAnswer(
                identifier=entity.fixed,
                mention=Mention(entity.text),
                rating=HIGHEST_RATING,
                present=True,
                question="",
            )


def _without_failed_samples(sheets: Sequence[AnswerSheet]) -> list[AnswerSheet]:
    """Returns the sheets of the samples without a failure.

    A sample has two sheets for each reference. A failure on one sheet is a failure of the sample.
    """
    # the samples with a failure on any sheet
    failed = set()
    for sheet in sheets:
        if sheet.failure is not None:
            failed.add(sheet.interview.sample)
    return [sheet for sheet in sheets if sheet.interview.sample not in failed]


def _keep_best_name(
    sheet: AnswerSheet, candidate: Candidate, identifier: str, answer: ComponentRating
) -> None:
    """Puts a name's rating into the sheet, unless an earlier name of the entity is rated as high.

    Ratings are compared after rounding half to even, as published (2.4).

    Args:
        sheet: the sheet that is changed.
        candidate: the name.
        identifier: the name as the question words it.
        answer: the name's rating.
    """
    best = sheet.entities.get(candidate.entity)
    if best is not None and round(answer.rating) <= round(best.rating):
        return
    sheet.entities[candidate.entity] = EntityAnswer(
        identifier=identifier,
        mention=candidate.mention,
        rating=answer.rating,
        present=answer.rating >= sheet.interview.presence_threshold,  # unrounded
        question=answer.question,
    )


def _further_names(
    entities: Sequence[tuple[AnswerSheet, list[Candidate]]], unfailed: Sequence[AnswerSheet]
) -> list[tuple[AnswerSheet, Candidate]]:
    """Returns all names but the simplest of the entities whose simplest name has a rating that
    rounds to less than 5. Each name has its sheet.

    Args:
        entities: each entity's sheet and names. The simplest name is the first, and has a rating.
        unfailed: the sheets of samples without a failure. Entities of other samples are left out,
            because they may have no rating.
    """
    samples = {sheet.interview.sample for sheet in unfailed}
    further_names: list[tuple[AnswerSheet, Candidate]] = []
    for sheet, names in entities:
        if sheet.interview.sample not in samples:
            continue
        simplest, *others = names
        rating = sheet.entities[simplest.entity].rating
        if round(rating) < HIGHEST_RATING:
            further_names += [(sheet, name) for name in others]
    return further_names


@dataclass(frozen=True, slots=True)
class _Asker:
    """Asks the judge, and puts the answers into the sheets.

    Attributes:
        judge: answers the questions.
        published: whether in published mode.
        cache: the known answers.
    """

    judge: Judge
    published: bool
    cache: AnswerCache

    def ask_entities(self, sheets: Sequence[AnswerSheet], parts: bool) -> None:
        """Asks about entities by their names, and keeps the best rated name of each entity.

        Published mode asks by all names. Default mode asks first by the simplest name. It asks by
        other names only if the simplest name's rating rounds to less than 5. The kept names are the
        same in both modes, because no other name replaces a name with a 5 (2.4).

        Args:
            sheets: the sheets to fill in.
            parts: True for entities that are part of another entity, False for all other entities.
        """
        # for each entity to ask about, its sheet and its names, the simplest name first
        entities: list[tuple[AnswerSheet, list[Candidate]]] = []
        for sheet in sheets:
            for names in names_to_ask(sheet, parts):
                entities.append((sheet, names))
        if self.published:
            all_names: list[tuple[AnswerSheet, Candidate]] = []
            for sheet, names in entities:
                all_names += [(sheet, name) for name in names]
            self._ask_names(all_names)
        else:
            # a first call with the simplest name of each entity, and a second call with further
            # names of the entities whose simplest name is not rated 5
            self._ask_names([(sheet, names[0]) for sheet, names in entities])
            self._ask_names(_further_names(entities, _without_failed_samples(sheets)))

    def _ask_names(self, named: Sequence[tuple[AnswerSheet, Candidate]]) -> None:
        """Puts each name into words, has the judge rate it, and keeps each entity's best name in
        its sheet.

        named: the names, each with its sheet.
        """
        if self.published:
            identifiers = self._identifiers_by_judge(named)
        else:
            identifiers = [candidate.fluent for _, candidate in named]
        # leave out sheets on which the wording of a name failed
        worded: list[tuple[AnswerSheet, Candidate, str]] = []
        for (sheet, candidate), identifier in zip(named, identifiers, strict=True):
            if sheet.failure is None:
                worded.append((sheet, candidate, identifier))
        # ask about the worded names
        pairs: list[tuple[AnswerSheet, Component]] = []
        for sheet, candidate, identifier in worded:
            pairs.append((sheet, component_of_candidate(sheet.interview, candidate, identifier)))
        answers = self._rate_components(pairs)
        for (sheet, candidate, identifier), answer in zip(worded, answers, strict=True):
            if answer is not None:
                _keep_best_name(sheet, candidate, identifier, answer)

    def _identifiers_by_judge(self, named: Sequence[tuple[AnswerSheet, Candidate]]) -> list[str]:
        """Returns the published identifier of each name (2.3).

        A head such as "car" is its own identifier. The judge writes the identifiers of other names:
        "the parked car" for "car parked". If the judge fails, the sheet gets the failure.

        named: the names, each with its sheet.
        """
        identifiers = [candidate.phrase for _, candidate in named]
        places: list[int] = []  # the indices in `named` of the names that are no heads
        questions: list[Question] = []
        for place, (sheet, candidate) in enumerate(named):
            if candidate.kind != "head":
                places.append(place)
                questions.append(rewrite_question(sheet.interview, candidate))
        # The published code asks equal questions repeatedly. Each repetition gets its own number
        # here, so that the judge answers it again.
        questions = numbered_repeats(questions)
        write = partial(self.judge.write, max_tokens=REWRITE_TOKENS)
        written = self.cache.complete(questions, write)
        # replace the phrases by what the judge wrote
        for place, text in zip(places, written, strict=True):
            if isinstance(text, Failure):
                sheet, _ = named[place]
                sheet.failure = sheet.failure or text  # a sheet keeps its first failure
            else:
                identifiers[place] = text
        return identifiers

    def ask_details(self, sheets: Sequence[AnswerSheet]) -> None:
        """Asks about attributes and relations of present entities, and about denied things. This is
        the third pass, after the questions about entities.
        """
        pairs: list[tuple[AnswerSheet, Component]] = []
        for sheet in sheets:
            for component in components_of_pass_3(sheet, self.published):
                pairs.append((sheet, component))
        answers = self._rate_components(pairs)
        for (sheet, component), answer in zip(pairs, answers, strict=True):
            if answer is not None:
                sheet.details[component.kind, *component.numbers] = answer

    def _rate_components(
        self, pairs: Sequence[tuple[AnswerSheet, Component]]
    ) -> list[ComponentRating | None]:
        """Returns the mean rating of each component, from one call to the judge.

        A component without a rating gives None, and its sheet gets the failure. Published mode
        gives the rating 1 to an answer without a digit among its likeliest tokens (3).

        pairs: the components, each with its sheet.
        """
        texts: list[str] = []  # the questions without the target's text, for notes of spans
        questions: list[Question] = []  # the whole prompts
        for sheet, component in pairs:
            interview = sheet.interview
            text = question_text(interview, component, self.published)
            question = presence_question(
                interview,
                component,
                text,
                self.published,
                shows_source=self.judge.reads_source,
            )
            texts.append(text)
            questions.append(question)
        answers = self._answers_to(questions)
        ratings: list[ComponentRating | None] = []
        for (sheet, _), text, answer in zip(pairs, texts, answers, strict=True):
            rating = self._rating_from(answer, sheet)
            ratings.append(None if rating is None else ComponentRating(rating, text))
        return ratings

    def _answers_to(self, questions: Sequence[Question]) -> list[Rated | Failure]:
        """Returns the judge's answer to each question, in order.

        If the judge has answered an equal question in an earlier pass, default mode takes this
        answer from the cache. Published mode asks the judge again, as the published code does.
        """
        if self.published:
            # A repeat with a number of its own is a new question. The cache does not give answers
            # of earlier passes, because `begin` is not called.
            questions = numbered_repeats(questions)
        else:
            # from now on the cache gives the answers of earlier passes
            self.cache.begin()
        return self.cache.complete(questions, partial(rate_questions, self.judge))

    def _rating_from(self, answer: Rated | Failure, sheet: AnswerSheet) -> float | None:
        """Returns the rating of an answer, or None for a failed answer. The sheet gets the failure,
        or how many characters of the prompt were cut.
        """
        if not isinstance(answer, Failure):
            # the largest cut over all questions of the sheet
            sheet.cut = max(sheet.cut, answer.cut)
            return answer.value
        if self.published and answer.status is Status.UNPARSED:
            return RATING_IF_UNREADABLE
        sheet.failure = sheet.failure or answer  # a sheet keeps its first failure
        return None


def rate_questions(judge: Judge, questions: list[Question]) -> list[Rated | Failure]:
    """Returns a mean rating for each question, with the number of characters that the judge cut.

    `AnswerCache` stores these results.
    """
    answers: list[Rated | Failure] = []
    for rating in judge.rate(questions):
        if isinstance(rating, Failure):
            answers.append(rating)
        else:
            answers.append(Rated(rating.mean, rating.cut))
    return answers
