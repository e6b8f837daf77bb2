"""Asks PoSh's questions in three passes over a whole batch, in the order of the published code.

    interviews = [Interview(sample=0, source=..., ...), ...]     # one per direction of each pair of texts
    conduct(interviews, judge, mode="default")
    interviews[0].entities[0].rating, interviews[0].attributes, interviews[0].relations

Pass 1 asks about entities that are not part of another one. Pass 2 asks about parts, named by the wholes that pass 1
found. Pass 3 asks about the attributes and relations of the entities that were found, and about denied things.

In published mode a pass is one `judge.write`, which words the identifiers, and one `judge.rate` over all interviews. In
default mode identifiers are worded by rule, equal questions are asked once, and passes 1 and 2 are two calls each.

A text that is too long for the judge loses its end, which `Interview.cut` counts. A prompt that shows two texts cuts
the longer one. In default mode a name in a question has at most LONGEST_NAME characters.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from spanreward.rewards.judges.judge import Failure, Judge, Question
from spanreward.rewards.judges.probe import Mention, PhraseProbe, PresenceProbe
from spanreward.rewards.language.scene_graph import CharacterSpan
from spanreward.rewards.memo import Memo, Rated
from spanreward.rewards.naming import Mode
from spanreward.rewards.posh.candidates import Candidate, Found, candidates
from spanreward.rewards.posh.graph_view import GraphView
from spanreward.rewards.posh.interview import ComponentRating, Interview, denied_thing
from spanreward.rewards.quoting import one_line
from spanreward.rewards.templates import fill
from spanreward.rewards.verdict import Status

REWRITE_TOKENS = 20
HIGHEST_RATING = 5.0
LONGEST_NAME = 100  # characters of each name in a question
PUBLISHED_TOP = 20  # the published code reads a rating from so many of the likeliest tokens
UNREADABLE = 1.0  # the published code's rating of an answer without a digit


@dataclass(frozen=True, slots=True)
class _Pending:
    """A rating question to ask. number: its place in the interview's prompts."""

    interview: Interview
    question: Question
    number: int


def conduct(interviews: Sequence[Interview], judge: Judge, mode: Mode = "default", memo: Memo | None = None) -> None:
    """Asks all three passes and fills in the interviews. A Failure ends only the interviews of its sample."""
    memo = Memo() if memo is None else memo
    if mode == "published":
        memo.begin()  # the published code asks every question again
    _ask_entities(interviews, judge, mode, memo, first_pass=True)
    for interview in interviews:  # after pass 1, in which the published code uses the text's own word for the viewer
        for number, entity in enumerate(interview.source.entities):
            if entity.fixed is not None:
                interview.entities[number] = Found(entity.fixed, Mention(entity.text), HIGHEST_RATING, True, -1)
    _ask_entities(_unfailed(interviews), judge, mode, memo, first_pass=False)
    _ask_details(_unfailed(interviews), judge, mode, memo)


def _unfailed(interviews: Sequence[Interview]) -> list[Interview]:
    failed = _failed(interviews)
    return [interview for interview in interviews if interview.sample not in failed]


def _failed(interviews: Sequence[Interview]) -> set[int]:
    """Returns the samples that the judge failed on."""
    return {interview.sample for interview in interviews if interview.failure is not None}


def _ask_entities(interviews: Sequence[Interview], judge: Judge, mode: Mode, memo: Memo, first_pass: bool) -> None:
    """Runs pass 1 or 2, which finds each entity's best rated name.

    Published mode asks by all names. Default mode asks by other names only if the simplest one is rated below 5. The
    result is the same, because no name replaces one with a 5 (2.4).
    """
    names = [
        (interview, candidates(interview.source, number, interview.entities, interview.wording, first_pass))
        for interview in interviews
        for number, entity in enumerate(interview.source.entities)
        if entity.fixed is None and (not entity.parents) == first_pass
    ]
    if mode == "published":
        return _ask_names([(interview, one) for interview, several in names for one in several], judge, mode, memo)
    _ask_names([(interview, several[0]) for interview, several in names], judge, mode, memo)
    failed = _failed(interviews)
    others = [
        (interview, candidate)
        for interview, several in names
        if interview.sample not in failed and round(interview.entities[several[0].entity].rating) < HIGHEST_RATING
        for candidate in several[1:]
    ]
    _ask_names(others, judge, mode, memo)


def _ask_names(named: Sequence[tuple[Interview, Candidate]], judge: Judge, mode: Mode, memo: Memo) -> None:
    """Words these candidates, has them rated, and keeps each entity's best one."""
    asked = []
    worded = _rewritten(named, judge, memo) if mode == "published" else [candidate.fluent for _, candidate in named]
    for (interview, candidate), identifier in zip(named, worded, strict=True):
        if interview.failure is None:
            names, mention = {"entity_identifier": identifier}, interview.mention(candidate.entity, candidate.mention)
            put = _put(interview, mode, interview.wording.ask_entity, names, "entity", mention)
            spans = interview.source.entities[candidate.entity].spans
            asked.append((candidate, identifier, _placed(put, spans, judge)))
    ratings = _rate([put for *_, put in asked], judge, mode, memo)
    for (candidate, identifier, put), rating in zip(asked, ratings, strict=True):
        interview = put.interview
        if isinstance(rating, Failure):
            interview.failure = interview.failure or rating
            continue
        kept = interview.entities.get(candidate.entity)
        if kept is None or round(rating) > round(kept.rating):  # 2.4: rounds half to even, keeps the first of equals
            present = rating >= interview.presence_threshold  # unrounded
            interview.entities[candidate.entity] = Found(identifier, candidate.mention, rating, present, put.number)


def _rewritten(named: Sequence[tuple[Interview, Candidate]], judge: Judge, memo: Memo) -> list[str]:
    """Returns the published identifiers (2.3): heads unchanged, the others as the judge words them."""
    identifiers = [candidate.phrase for _, candidate in named]
    places, questions = [], []
    for place, (interview, candidate) in enumerate(named):
        if candidate.kind != "head":
            wording = interview.wording
            template = wording.rewrite_attribute if candidate.kind == "attribute" else wording.rewrite_relation
            places.append(place)
            prompt = fill(template, entity_identifier=candidate.phrase)
            questions.append(_question(prompt, PhraseProbe(candidate.phrase, candidate.fluent)))
    written = memo.complete(questions, lambda new: judge.write(new, max_tokens=REWRITE_TOKENS), repeats=True)
    for place, question, text in zip(places, questions, written, strict=True):
        interview = named[place][0]
        if isinstance(text, Failure):
            interview.failure = interview.failure or text
        else:
            identifiers[place] = text
            interview.rewrites.append((question.messages[0]["content"], text))
    return identifiers


def _ask_details(interviews: Sequence[Interview], judge: Judge, mode: Mode, memo: Memo) -> None:
    """Runs pass 3: attributes of present entities, then relations between present entities (2.5), then denials."""
    asked: list[tuple[dict[Any, ComponentRating], tuple[int, int] | int, _Pending]] = []
    for interview in interviews:
        view, found, wording = interview.source, interview.entities, interview.wording
        present = [number for number in range(len(view.entities)) if found[number].present]
        for number in present:
            for place, attribute in enumerate(view.entities[number].attributes):
                name, mention = interview.bearer(number, attribute.text, mode == "published")
                names = {"entity_identifier": name, "attribute": attribute.text}
                put = _put(interview, mode, wording.ask_attribute, names, "attribute", mention, attribute.text)
                asked.append((interview.attributes, (number, place), _placed(put, attribute.spans, judge)))
        for number in _relation_order(view):
            relation = view.relation(number)
            if found[relation.subject].present and found[relation.object].present:
                (first, subject), (second, other) = interview.ends(relation, mode == "published")
                names = {"entity1_identifier": first, "entity2_identifier": second, "relation": relation.text}
                put = _put(interview, mode, wording.ask_relation, names, "relation", subject, relation.text, other)
                asked.append((interview.relations, number, _placed(put, relation.spans, judge)))
        for number, denial in enumerate(interview.denials):
            if interview.can_tell(denial):
                name, mention = denied_thing(denial)
                put = _put(
                    interview,
                    mode,
                    wording.ask_denied or wording.ask_entity,
                    {"entity_identifier": name},
                    "denied",
                    mention,
                )
                asked.append((interview.denied, number, _placed(put, tuple(denial.text_spans), judge)))
    ratings = _rate([put for *_, put in asked], judge, mode, memo)
    for (answers, key, put), rating in zip(asked, ratings, strict=True):
        if isinstance(rating, Failure):
            put.interview.failure = put.interview.failure or rating
        else:
            answers[key] = ComponentRating(rating, put.number)


def _relation_order(view: GraphView) -> list[int]:
    """Returns each relation once, ordered by the entities' first appearance in relations (2.5)."""
    entities = dict.fromkeys(end for r in view.relations if r is not None for end in (r.subject, r.object))
    return list(dict.fromkeys(number for entity in entities for number in view.entities[entity].relations))


def _put(
    interview: Interview,
    mode: Mode,
    template: str,
    names: dict[str, str],
    kind: Literal["entity", "attribute", "relation", "denied"],
    mention: Mention,
    words: str = "",
    other: Mention | None = None,
) -> _Pending:
    """Adds a question about these names to the interview. In default mode the part that prompts share comes first.

    Default mode also shortens the names and removes their quotes. Otherwise a completion could overrun the judge's
    context with a name, or close its quotes and address the judge.
    """
    if mode == "default":
        names = short_names(names)
    question, instructions = fill(template, **names), interview.wording.instructions
    before = "" if mode == "published" else f"{instructions}\n\n"
    after = f"\n\n{question}\n\n{instructions}" if mode == "published" else f"\n\n{question}"
    prompt = before + interview.prefix + after
    start, end = (len(before) + place for place in interview.description)
    interview.prompts.append(prompt)
    interview.questions.append(question)
    probe = PresenceProbe(interview.target_text, kind, mention, words, other, interview.target_graph)
    top = PUBLISHED_TOP if mode == "published" else 0
    return _Pending(interview, _question(prompt, probe, (start, end), top), len(interview.prompts) - 1)


def short_names(names: dict[str, str]) -> dict[str, str]:
    """Returns the names on one line each, without double quotes and cut after LONGEST_NAME characters."""
    lines = {key: one_line(name) for key, name in names.items()}
    return {key: name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…" for key, name in lines.items()}


def _placed(put: _Pending, spans: tuple[CharacterSpan, ...], judge: Judge) -> _Pending:
    """Adds the source text and these words' places in it, for a judge that reads them."""
    if not judge.reads_source:
        return put
    probe = replace(put.question.probe, source=put.interview.source_text, places=spans)
    return replace(put, question=replace(put.question, probe=probe))


def _rate(asked: Sequence[_Pending], judge: Judge, mode: Mode, memo: Memo) -> list[float | Failure]:
    """Returns the mean rating of each question, from one call to the judge.

    Published mode asks repeated questions again. An answer without a digit among its PUBLISHED_TOP likeliest tokens is
    rated 1 (3).
    """

    def rate(questions: list[Question]) -> list[Rated | Failure]:
        ratings = judge.rate(questions)
        return [rating if isinstance(rating, Failure) else Rated(rating.mean, rating.cut) for rating in ratings]

    means: list[float | Failure] = []
    found = memo.complete([put.question for put in asked], rate, repeats=mode == "published")
    for put, answer in zip(asked, found, strict=True):
        if isinstance(answer, Rated):
            put.interview.cut = max(put.interview.cut, answer.cut)
            means.append(answer.value)
        else:
            unreadable = mode == "published" and answer.status is Status.UNPARSED
            means.append(UNREADABLE if unreadable else answer)
    return means


def _question(
    prompt: str, probe: PresenceProbe | PhraseProbe, description: tuple[int, int] = (0, 0), top: int = 0
) -> Question:
    return Question([{"role": "user", "content": prompt}], probe=probe, description=description, top=top)
