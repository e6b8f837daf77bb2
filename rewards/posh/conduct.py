"""Asks PoSh's questions in three passes over a whole batch, in the order of the published code.

    sheets = [AnswerSheet(Interview(sample=0, source=..., ...)), ...]
    # one per direction of each pair of texts
    conduct(sheets, judge, mode="default")
    sheets[0].entities[0].rating, sheets[0].details

Pass 1 asks about entities that are not part of another one, pass 2 about parts, named by the wholes
that pass 1 found, pass 3 about what is said of the found entities, and about denied things.
Published mode lets the judge word the identifiers; default mode words them by rule and asks equal
questions once. What is too long for the judge loses its end (`AnswerSheet.cut`).
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
    details,
    entity_named,
    names_to_ask,
    presence_question,
    question_text,
    rewrite_question,
)
from spanreward.rewards.reward.answer_cache import AnswerCache, Rated

REWRITE_TOKENS = 20  # tokens of a name that the judge words, as published (2.3)
HIGHEST_RATING = 5.0
UNREADABLE = 1.0  # the published code's rating of an answer without a digit


def conduct(
    sheets: Sequence[AnswerSheet],
    judge: Judge,
    mode: Mode = "default",
    cache: AnswerCache | None = None,
) -> None:
    """Asks all three passes and fills in the sheets.

    A Failure ends only the sheets of its sample.
    """
    if cache is None:
        cache = AnswerCache()
    asker = _Asker(judge, mode == "published", cache)
    if asker.published:
        asker.cache.begin()  # the published code asks every question again
    # pass 1
    asker.ask_entities(sheets, parts=False)
    # after pass 1, in which the published code uses the text's own word for the viewer
    for sheet in sheets:
        for number, entity in enumerate(sheet.interview.source.entities):
            if entity.fixed is not None:
                sheet.entities[number] = EntityAnswer(
                    identifier=entity.fixed,
                    mention=Mention(entity.text),
                    rating=HIGHEST_RATING,
                    present=True,
                    question="",
                )
    # passes 2 and 3; a sample that has failed costs no more questions
    asker.ask_entities(_unfailed(sheets), parts=True)
    asker.ask_details(_unfailed(sheets))


def _unfailed(sheets: Sequence[AnswerSheet]) -> list[AnswerSheet]:
    """Returns the sheets of the samples that the judge has not failed on."""
    # a sample has two sheets for each reference, and one failure spoils its verdict
    failed = set()
    for sheet in sheets:
        if sheet.failure is not None:
            failed.add(sheet.interview.sample)
    return [sheet for sheet in sheets if sheet.interview.sample not in failed]


@dataclass(frozen=True, slots=True)
class _Asker:
    """Puts questions to a judge, and its answers into the sheets. published: whether as the
    published code does.
    """

    judge: Judge
    published: bool
    cache: AnswerCache

    def ask_entities(self, sheets: Sequence[AnswerSheet], parts: bool) -> None:
        """Finds each entity's best rated name, for the entities that are parts, or for the others.

        Published mode asks by all names. Default mode asks by other names only if the simplest one
        is rated below 5. The result is the same, because no name replaces one with a 5 (2.4).
        """
        # each entity that is asked about: its sheet and its names, the simplest first
        entities: list[tuple[AnswerSheet, list[Candidate]]] = []
        for sheet in sheets:
            for names in names_to_ask(sheet, parts):
                entities.append((sheet, names))
        if self.published:
            all_names: list[tuple[AnswerSheet, Candidate]] = []
            for sheet, names in entities:
                all_names += [(sheet, name) for name in names]
            self._ask_names(all_names)
            return
        # the simplest names of all entities in one call, the others of those that need them in a
        # second one
        simplest_names = [(sheet, names[0]) for sheet, names in entities]
        self._ask_names(simplest_names)
        unfailed = {sheet.interview.sample for sheet in _unfailed(sheets)}
        further_names: list[tuple[AnswerSheet, Candidate]] = []
        for sheet, names in entities:
            # a failed sample may have no answer to look at
            if sheet.interview.sample not in unfailed:
                continue
            rating = sheet.entities[names[0].entity].rating
            if round(rating) < HIGHEST_RATING:
                further_names += [(sheet, name) for name in names[1:]]
        self._ask_names(further_names)

    def _ask_names(self, named: Sequence[tuple[AnswerSheet, Candidate]]) -> None:
        """Words these names, has them rated, and keeps each entity's best one."""
        if self.published:
            identifiers = self._rewrite(named)
        else:
            identifiers = [candidate.fluent for _, candidate in named]
        # the wording of a name may have failed
        worded: list[tuple[AnswerSheet, Candidate, str]] = []
        for (sheet, candidate), identifier in zip(named, identifiers, strict=True):
            if sheet.failure is None:
                worded.append((sheet, candidate, identifier))
        pairs: list[tuple[AnswerSheet, Component]] = []
        for sheet, candidate, identifier in worded:
            pairs.append((sheet, entity_named(sheet.interview, candidate, identifier)))
        answers = self._rate(pairs)
        # of an entity's names the one with the best rating names it from now on
        for (sheet, candidate, identifier), answer in zip(worded, answers, strict=True):
            if answer is None:
                continue
            best = sheet.entities.get(candidate.entity)
            # 2.4: rounds half to even, keeps the first of equals
            if best is not None and round(answer.rating) <= round(best.rating):
                continue
            sheet.entities[candidate.entity] = EntityAnswer(
                identifier=identifier,
                mention=candidate.mention,
                rating=answer.rating,
                present=answer.rating >= sheet.interview.presence_threshold,  # unrounded
                question=answer.question,
            )

    def _rewrite(self, named: Sequence[tuple[AnswerSheet, Candidate]]) -> list[str]:
        """Returns the published identifiers (2.3): heads unchanged, the others as the judge words
        them.
        """
        identifiers = [candidate.phrase for _, candidate in named]  # until the judge words them
        places: list[int] = []  # of the names that the judge words
        questions: list[Question] = []
        for place, (sheet, candidate) in enumerate(named):
            if candidate.kind != "head":
                places.append(place)
                questions.append(rewrite_question(sheet.interview, candidate))
        # the published code asks equal questions again and again
        questions = numbered_repeats(questions)
        write = partial(self.judge.write, max_tokens=REWRITE_TOKENS)
        written = self.cache.complete(questions, write)
        for place, text in zip(places, written, strict=True):
            if isinstance(text, Failure):
                sheet, _ = named[place]
                sheet.failure = sheet.failure or text  # the first one stays
            else:
                identifiers[place] = text
        return identifiers

    def ask_details(self, sheets: Sequence[AnswerSheet]) -> None:
        """Runs pass 3: attributes and relations of the entities that passes 1 and 2 found, and
        denied things.
        """
        pairs: list[tuple[AnswerSheet, Component]] = []
        for sheet in sheets:
            for component in details(sheet, self.published):
                pairs.append((sheet, component))
        answers = self._rate(pairs)
        for (sheet, component), answer in zip(pairs, answers, strict=True):
            if answer is not None:
                sheet.details[component.kind, *component.numbers] = answer

    def _rate(self, pairs: Sequence[tuple[AnswerSheet, Component]]) -> list[ComponentRating | None]:
        """Returns the mean rating of each component, from one call to the judge. None for a
        failure, which the sheet keeps. Published mode asks the questions of another pass again,
        and rates an answer without a digit among its likeliest tokens as 1 (3).
        """
        texts: list[str] = []  # the questions alone, for the notes of spans
        questions: list[Question] = []  # with the text that they ask about
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
        # in default mode the answers of the pass before are known, published mode asks again
        if self.published:
            questions = numbered_repeats(questions)
        else:
            self.cache.begin()
        answers = self.cache.complete(questions, partial(rate_questions, self.judge))
        ratings: list[ComponentRating | None] = []
        for (sheet, _), text, answer in zip(pairs, texts, answers, strict=True):
            if not isinstance(answer, Failure):
                # of all questions of a sheet the one that lost most
                sheet.cut = max(sheet.cut, answer.cut)
                ratings.append(ComponentRating(answer.value, text))
            elif self.published and answer.status is Status.UNPARSED:
                ratings.append(ComponentRating(UNREADABLE, text))
            else:
                sheet.failure = sheet.failure or answer
                ratings.append(None)
        return ratings


def rate_questions(judge: Judge, questions: list[Question]) -> list[Rated | Failure]:
    """Returns the mean rating of each question and what the judge did not read, for a cache."""
    answers: list[Rated | Failure] = []
    for rating in judge.rate(questions):
        if isinstance(rating, Failure):
            answers.append(rating)
        else:
            answers.append(Rated(rating.mean, rating.cut))
    return answers
