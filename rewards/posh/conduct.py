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

REWRITE_TOKENS = 20
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
    asker = _Asker(judge, mode == "published", AnswerCache() if cache is None else cache)
    if asker.published:
        asker.cache.begin()  # the published code asks every question again
    asker.ask_entities(sheets, parts=False)
    # after pass 1, in which the published code uses the text's own word for the viewer
    for sheet in sheets:
        for number, entity in enumerate(sheet.interview.source.entities):
            if entity.fixed is not None:
                sheet.entities[number] = EntityAnswer(
                    entity.fixed, Mention(entity.text), HIGHEST_RATING, True, ""
                )
    asker.ask_entities(_unfailed(sheets), parts=True)
    asker.ask_details(_unfailed(sheets))


def _unfailed(sheets: Sequence[AnswerSheet]) -> list[AnswerSheet]:
    """Returns the sheets of the samples that the judge has not failed on."""
    failed = {sheet.interview.sample for sheet in sheets if sheet.failure is not None}
    return [sheet for sheet in sheets if sheet.interview.sample not in failed]


@dataclass(frozen=True, slots=True)
class _Asker:
    judge: Judge
    published: bool
    cache: AnswerCache

    def ask_entities(self, sheets: Sequence[AnswerSheet], parts: bool) -> None:
        """Finds each entity's best rated name, for the entities that are parts, or for the others.

        Published mode asks by all names. Default mode asks by other names only if the simplest one
        is rated below 5. The result is the same, because no name replaces one with a 5 (2.4).
        """
        names_of = [(sheet, names) for sheet in sheets for names in names_to_ask(sheet, parts)]
        if self.published:
            self._ask_names([(sheet, name) for sheet, names in names_of for name in names])
            return
        self._ask_names([(sheet, names[0]) for sheet, names in names_of])
        unfailed = {sheet.interview.sample for sheet in _unfailed(sheets)}
        further_names: list[tuple[AnswerSheet, Candidate]] = []
        for sheet, names in names_of:
            if sheet.interview.sample in unfailed:
                rating = sheet.entities[names[0].entity].rating
                if round(rating) < HIGHEST_RATING:
                    further_names += [(sheet, name) for name in names[1:]]
        self._ask_names(further_names)

    def _ask_names(self, named: Sequence[tuple[AnswerSheet, Candidate]]) -> None:
        """Words these names, has them rated, and keeps each entity's best one."""
        identifiers = (
            self._rewrite(named) if self.published else [candidate.fluent for _, candidate in named]
        )
        pairs = [
            (sheet, candidate, identifier)
            for (sheet, candidate), identifier in zip(named, identifiers, strict=True)
            if sheet.failure is None
        ]
        answers = self._rate(
            [
                (sheet, entity_named(sheet.interview, candidate, identifier))
                for sheet, candidate, identifier in pairs
            ]
        )
        for (sheet, candidate, identifier), answer in zip(pairs, answers, strict=True):
            best = sheet.entities.get(candidate.entity)
            # 2.4: rounds half to even, keeps the first of equals
            if answer is not None and (best is None or round(answer.rating) > round(best.rating)):
                present = answer.rating >= sheet.interview.presence_threshold  # unrounded
                sheet.entities[candidate.entity] = EntityAnswer(
                    identifier, candidate.mention, answer.rating, present, answer.question
                )

    def _rewrite(self, named: Sequence[tuple[AnswerSheet, Candidate]]) -> list[str]:
        """Returns the published identifiers (2.3): heads unchanged, the others as the judge words
        them.
        """
        identifiers = [candidate.phrase for _, candidate in named]
        to_rewrite = [
            place for place, (_, candidate) in enumerate(named) if candidate.kind != "head"
        ]
        questions = [
            rewrite_question(named[place][0].interview, named[place][1]) for place in to_rewrite
        ]
        questions = numbered_repeats(questions)
        written = self.cache.complete(
            questions, partial(self.judge.write, max_tokens=REWRITE_TOKENS)
        )
        for place, text in zip(to_rewrite, written, strict=True):
            if isinstance(text, Failure):
                sheet, _ = named[place]
                sheet.failure = sheet.failure or text
            else:
                identifiers[place] = text
        return identifiers

    def ask_details(self, sheets: Sequence[AnswerSheet]) -> None:
        """Runs pass 3."""
        pairs = [
            (sheet, component) for sheet in sheets for component in details(sheet, self.published)
        ]
        for (sheet, component), answer in zip(pairs, self._rate(pairs), strict=True):
            if answer is not None:
                sheet.details[component.kind, *component.numbers] = answer

    def _rate(self, pairs: Sequence[tuple[AnswerSheet, Component]]) -> list[ComponentRating | None]:
        """Returns the mean rating of each component, from one call to the judge. None for a
        failure, which the sheet keeps. Published mode asks the questions of another pass again,
        and rates an answer without a digit among its likeliest tokens as 1 (3).
        """
        texts = [
            question_text(sheet.interview, component, self.published) for sheet, component in pairs
        ]
        questions = [
            presence_question(
                sheet.interview, component, text, self.published, self.judge.reads_source
            )
            for (sheet, component), text in zip(pairs, texts, strict=True)
        ]
        if self.published:
            questions = numbered_repeats(questions)
        else:
            self.cache.begin()
        answers = self.cache.complete(questions, partial(rate_questions, self.judge))
        ratings: list[ComponentRating | None] = []
        for (sheet, _), text, answer in zip(pairs, texts, answers, strict=True):
            if not isinstance(answer, Failure):
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
