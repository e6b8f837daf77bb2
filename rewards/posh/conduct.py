"""Asks PoSh's questions in three passes over a whole batch, in the order of the published code.

    interviews = [Interview(sample=0, source=..., ...), ...]
    # one per direction of each pair of texts
    conduct(interviews, judge, mode="default")
    interviews[0].entities[0].rating, interviews[0].attributes, interviews[0].relations

Pass 1 asks about entities that are not part of another one, pass 2 about parts, named by the wholes
that pass 1 found, pass 3 about what is said of the found entities, and about denied things.
Published mode lets the judge word the identifiers; default mode words them by rule and asks equal
questions once. What is too long for the judge loses its end (`Interview.cut`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from spanreward.rewards.base.checks import Mode
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.judge import Failure, Judge, Question
from spanreward.rewards.judges.probe import Mention
from spanreward.rewards.posh.candidates import Candidate, Found
from spanreward.rewards.posh.interview import ComponentRating, Interview
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
    interviews: Sequence[Interview],
    judge: Judge,
    mode: Mode = "default",
    cache: AnswerCache | None = None,
) -> None:
    """Asks all three passes and fills in the interviews.

    A Failure ends only the interviews of its sample.
    """
    asker = _Asker(judge, mode == "published", AnswerCache() if cache is None else cache)
    if asker.published:
        asker.cache.begin()  # the published code asks every question again
    asker.ask_entities(interviews, parts=False)
    # after pass 1, in which the published code uses the text's own word for the viewer
    for interview in interviews:
        for number, entity in enumerate(interview.source.entities):
            if entity.fixed is not None:
                interview.entities[number] = Found(
                    entity.fixed, Mention(entity.text), HIGHEST_RATING, True, ""
                )
    asker.ask_entities(_unfailed(interviews), parts=True)
    asker.ask_details(_unfailed(interviews))


def _unfailed(interviews: Sequence[Interview]) -> list[Interview]:
    """Returns the interviews of the samples that the judge has not failed on."""
    failed = {interview.sample for interview in interviews if interview.failure is not None}
    return [interview for interview in interviews if interview.sample not in failed]


@dataclass(frozen=True, slots=True)
class _Asker:
    judge: Judge
    published: bool
    cache: AnswerCache

    def ask_entities(self, interviews: Sequence[Interview], parts: bool) -> None:
        """Finds each entity's best rated name, for the entities that are parts, or for the others.

        Published mode asks by all names. Default mode asks by other names only if the simplest one
        is rated below 5. The result is the same, because no name replaces one with a 5 (2.4).
        """
        entities = [
            (interview, names)
            for interview in interviews
            for names in names_to_ask(interview, parts)
        ]
        if self.published:
            self._ask_names([(interview, name) for interview, names in entities for name in names])
            return
        self._ask_names([(interview, names[0]) for interview, names in entities])
        unfailed = {interview.sample for interview in _unfailed(interviews)}
        others = [
            (interview, name)
            for interview, names in entities
            if interview.sample in unfailed
            and round(interview.entities[names[0].entity].rating) < HIGHEST_RATING
            for name in names[1:]
        ]
        self._ask_names(others)

    def _ask_names(self, named: Sequence[tuple[Interview, Candidate]]) -> None:
        """Words these names, has them rated, and keeps each entity's best one."""
        identifiers = (
            self._rewrite(named) if self.published else [candidate.fluent for _, candidate in named]
        )
        asked = [
            (interview, candidate, identifier)
            for (interview, candidate), identifier in zip(named, identifiers, strict=True)
            if interview.failure is None
        ]
        answers = self._rate(
            [(interview, entity_named(interview, name, said)) for interview, name, said in asked]
        )
        for (interview, candidate, identifier), answer in zip(asked, answers, strict=True):
            best = interview.entities.get(candidate.entity)
            # 2.4: rounds half to even, keeps the first of equals
            if answer is not None and (best is None or round(answer.rating) > round(best.rating)):
                present = answer.rating >= interview.presence_threshold  # unrounded
                found = Found(
                    identifier, candidate.mention, answer.rating, present, answer.question
                )
                interview.entities[candidate.entity] = found

    def _rewrite(self, named: Sequence[tuple[Interview, Candidate]]) -> list[str]:
        """Returns the published identifiers (2.3): heads unchanged, the others as the judge words
        them.
        """
        identifiers = [candidate.phrase for _, candidate in named]
        to_rewrite = [
            place for place, (_, candidate) in enumerate(named) if candidate.kind != "head"
        ]
        questions = [rewrite_question(*named[place]) for place in to_rewrite]
        written = self.cache.complete(
            questions, partial(self.judge.write, max_tokens=REWRITE_TOKENS)
        )
        for place, text in zip(to_rewrite, written, strict=True):
            if isinstance(text, Failure):
                interview = named[place][0]
                interview.failure = interview.failure or text
            else:
                identifiers[place] = text
        return identifiers

    def ask_details(self, interviews: Sequence[Interview]) -> None:
        """Runs pass 3."""
        asked = [
            (interview, component)
            for interview in interviews
            for component in details(interview, self.published)
        ]
        for (interview, component), answer in zip(asked, self._rate(asked), strict=True):
            if answer is not None:
                interview.details[component.kind, *component.numbers] = answer

    def _rate(self, asked: Sequence[tuple[Interview, Component]]) -> list[ComponentRating | None]:
        """Returns the mean rating of each component, from one call to the judge. None for a
        failure, which the interview keeps. Published mode asks the questions of another pass again,
        and rates an answer without a digit among its likeliest tokens as 1 (3).
        """
        texts = [
            question_text(interview, component, self.published) for interview, component in asked
        ]
        questions = [
            presence_question(interview, component, text, self.published, self.judge.reads_source)
            for (interview, component), text in zip(asked, texts, strict=True)
        ]
        if not self.published:
            self.cache.begin()
        answers = self.cache.complete(questions, self._ask_judge)
        ratings: list[ComponentRating | None] = []
        for (interview, _), text, answer in zip(asked, texts, answers, strict=True):
            if not isinstance(answer, Failure):
                interview.cut = max(interview.cut, answer.cut)
                ratings.append(ComponentRating(answer.value, text))
            elif self.published and answer.status is Status.UNPARSED:
                ratings.append(ComponentRating(UNREADABLE, text))
            else:
                interview.failure = interview.failure or answer
                ratings.append(None)
        return ratings

    def _ask_judge(self, questions: list[Question]) -> list[Rated | Failure]:
        ratings = self.judge.rate(questions)
        return [
            rating if isinstance(rating, Failure) else Rated(rating.mean, rating.cut)
            for rating in ratings
        ]
