"""PoSh's three passes of questions, for a whole batch at once as the published code orders them.

    interviews = [Interview(sample=0, source=..., target=..., ...), ...]     # one per direction of each pair
    conduct(interviews, judge, mode="default")
    interviews[0].entities[0].rating, interviews[0].attributes, interviews[0].relations

Pass 1 asks for the entities that are no part of another one, pass 2 for the parts, by way of what was found in pass 1,
pass 3 for the attributes and relations of what was found. A pass is one `judge.rate` over all interviews, in published
mode after one `judge.write` that words the identifiers. In default mode identifiers are worded by rule, the same
question is asked once, and a pass is two calls: the simplest name of everything, then what that did not settle.

A question is the judge's whatever the texts are: a text too long for it loses its end (of two that a prompt shows the
longer one), which `Interview.cut` counts, and in default mode a name is asked by its first LONGEST_NAME characters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rewards.judges.judge import Failure, Judge, Question
from rewards.judges.probe import Mention, PhraseProbe, PresenceProbe
from rewards.memo import Memo
from rewards.posh.candidates import Candidate, Found, candidates
from rewards.posh.graph_view import GraphView
from rewards.posh.interview import ComponentRating, Interview
from rewards.quoting import one_line
from rewards.templates import fill
from rewards.verdict import Status

Mode = Literal["published", "default"]

REWRITE_TOKENS = 20
HIGHEST_RATING = 5.0
LONGEST_NAME = 100  # characters, of each part of a question: what is longer is no name
PUBLISHED_TOP = 20  # of the answer's likeliest tokens, from which the published code reads a rating
UNREADABLE = 1.0  # the rating of an answer without a digit, to the published code


@dataclass(frozen=True, slots=True)
class _Pending:
    """A rating question on its way to the judge; `number` is its place in the interview's prompts."""

    interview: Interview
    question: Question
    number: int


def conduct(interviews: Sequence[Interview], judge: Judge, mode: Mode = "default", memo: Memo | None = None) -> None:
    """Ask all three passes and fill the interviews in.

    A Failure ends only the interviews of its sample, whose `failure` it becomes. memo: what is known already.
    """
    memo = Memo() if memo is None else memo
    if mode == "published":
        memo.begin()  # the published code knows nothing of its own earlier questions
    _ask_entities(interviews, judge, mode, memo, first_pass=True)
    for interview in interviews:  # only now: until pass 2 the published code calls the viewer by the text's own word
        for number, entity in enumerate(interview.source.entities):
            if entity.fixed is not None:
                interview.entities[number] = Found(entity.fixed, Mention(entity.text), HIGHEST_RATING, True, -1)
    _ask_entities(_unfailed(interviews), judge, mode, memo, first_pass=False)
    _ask_details(_unfailed(interviews), judge, mode, memo)


def _unfailed(interviews: Sequence[Interview]) -> list[Interview]:
    failed = _failed(interviews)
    return [interview for interview in interviews if interview.sample not in failed]


def _failed(interviews: Sequence[Interview]) -> set[int]:
    """The samples that the judge failed on."""
    return {interview.sample for interview in interviews if interview.failure is not None}


def _ask_entities(interviews: Sequence[Interview], judge: Judge, mode: Mode, memo: Memo, first_pass: bool) -> None:
    """Pass 1 or 2: the best rated name of each entity.

    Published: all names are asked, in the published order. Default: the simplest name first, the others only where it
    is not rated 5, since nothing replaces that (2.4): the same result for fewer questions.
    """
    names = [
        (interview, candidates(interview.source, number, interview.entities, interview.wording, first_pass))
        for interview in interviews
        for number, entity in enumerate(interview.source.entities)
        if entity.fixed is None and (not entity.parents) == first_pass
    ]
    if mode == "published":
        _ask_names([(interview, candidate) for interview, several in names for candidate in several], judge, mode, memo)
        return
    _ask_names([(interview, several[0]) for interview, several in names], judge, mode, memo)
    failed = _failed(interviews)
    _ask_names(
        [
            (interview, candidate)
            for interview, several in names
            if interview.sample not in failed and not _settled(interview.entities[several[0].entity])
            for candidate in several[1:]
        ],
        judge,
        mode,
        memo,
    )


def _settled(found: Found) -> bool:
    """Whether no other name can replace this one (2.4)."""
    return round(found.rating) >= HIGHEST_RATING


def _ask_names(named: Sequence[tuple[Interview, Candidate]], judge: Judge, mode: Mode, memo: Memo) -> None:
    """Word these candidates, rate them, keep the best of each entity."""
    identifiers = (
        _rewritten(named, judge, memo) if mode == "published" else [candidate.fluent for _, candidate in named]
    )
    asked = []
    for (interview, candidate), identifier in zip(named, identifiers, strict=True):
        if interview.failure is None:
            question = _worded(interview.wording.ask_entity, mode, entity_identifier=identifier)
            mention = interview.mention(candidate.entity, candidate.mention)
            probe = PresenceProbe(interview.target_text, "entity", mention, graph=interview.target_graph)
            asked.append((candidate, identifier, _put(interview, question, probe, mode)))
    for (candidate, identifier, put), rating in zip(
        asked, _rate([a for *_, a in asked], judge, mode, memo), strict=True
    ):
        interview = put.interview
        if isinstance(rating, Failure):
            interview.failure = interview.failure or rating
            continue
        kept = interview.entities.get(candidate.entity)
        if kept is None or round(rating) > round(kept.rating):  # 2.4: half to even, first of equals
            present = rating >= interview.presence_threshold  # not rounded
            interview.entities[candidate.entity] = Found(identifier, candidate.mention, rating, present, put.number)


def _rewritten(named: Sequence[tuple[Interview, Candidate]], judge: Judge, memo: Memo) -> list[str]:
    """The published identifiers (2.3): heads as they are, the others as the judge words them, verbatim."""
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
    """Pass 3: attributes of present entities, then relations between present entities (2.5)."""
    asked: list[tuple[tuple[int, int] | int, _Pending]] = []
    for interview in interviews:
        view, found, wording = interview.source, interview.entities, interview.wording
        target, graph = interview.target_text, interview.target_graph
        present = [number for number in range(len(view.entities)) if found[number].present]
        for number in present:
            for place, attribute in enumerate(view.entities[number].attributes):
                name, mention = interview.bearer(number, attribute.text, mode == "published")
                question = _worded(wording.ask_attribute, mode, entity_identifier=name, attribute=attribute.text)
                probe = PresenceProbe(target, "attribute", mention, attribute.text, graph=graph)
                asked.append(((number, place), _put(interview, question, probe, mode)))
        for number in _relation_order(view):
            relation = view.relation(number)
            if found[relation.subject].present and found[relation.object].present:
                (first, subject), (second, other) = interview.ends(relation, mode == "published")
                ends_named = {"entity1_identifier": first, "entity2_identifier": second}
                question = _worded(wording.ask_relation, mode, **ends_named, relation=relation.text)
                probe = PresenceProbe(target, "relation", subject, relation.text, other, graph=graph)
                asked.append((number, _put(interview, question, probe, mode)))
    for (key, put), rating in zip(asked, _rate([a for _, a in asked], judge, mode, memo), strict=True):
        if isinstance(rating, Failure):
            put.interview.failure = put.interview.failure or rating
        elif isinstance(key, tuple):
            put.interview.attributes[key] = ComponentRating(rating, put.number)
        else:
            put.interview.relations[key] = ComponentRating(rating, put.number)


def _relation_order(view: GraphView) -> list[int]:
    """Relations by the entities' first appearance among the relations, each once (2.5)."""
    entities = dict.fromkeys(end for r in view.relations if r is not None for end in (r.subject, r.object))
    return list(dict.fromkeys(number for entity in entities for number in view.entities[entity].relations))


def _worded(template: str, mode: Mode, **names: str) -> str:
    """The question about these names. A completion could otherwise name things so long that no judge can be asked, or
    so that they leave their quotes and speak to the judge.
    """
    if mode == "default":
        lines = {key: one_line(name) for key, name in names.items()}
        names = {key: name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…" for key, name in lines.items()}
    return fill(template, **names)


def _put(interview: Interview, question: str, probe: PresenceProbe, mode: Mode) -> _Pending:
    """Word the whole prompt and note it down. What many questions share comes first, so that it is computed once."""
    instructions = interview.wording.instructions
    before = "" if mode == "published" else f"{instructions}\n\n"
    after = f"\n\n{question}\n\n{instructions}" if mode == "published" else f"\n\n{question}"
    prompt = before + interview.prefix + after
    start, end = (len(before) + place for place in interview.description)
    interview.prompts.append(prompt)
    interview.questions.append(question)
    top = PUBLISHED_TOP if mode == "published" else 0
    return _Pending(interview, _question(prompt, probe, (start, end), top), len(interview.prompts) - 1)


def _rate(asked: Sequence[_Pending], judge: Judge, mode: Mode, memo: Memo) -> list[float | Failure]:
    """The mean rating of each, in one call. As published, repeats are asked again, and an answer without a digit among
    its PUBLISHED_TOP likeliest tokens is a 1 (3).
    """

    def rate(questions: list[Question]) -> list[_Rated | Failure]:
        ratings = judge.rate(questions)
        return [rating if isinstance(rating, Failure) else _Rated(rating.mean, rating.cut) for rating in ratings]

    means: list[float | Failure] = []
    found = memo.complete([put.question for put in asked], rate, repeats=mode == "published")
    for put, answer in zip(asked, found, strict=True):
        if isinstance(answer, _Rated):
            put.interview.cut = max(put.interview.cut, answer.cut)
            means.append(answer.mean)
        else:
            unreadable = mode == "published" and answer.status is Status.UNPARSED
            means.append(UNREADABLE if unreadable else answer)
    return means


class _Rated(NamedTuple):
    """What is kept of a Rating."""

    mean: float
    cut: int


def _question(
    prompt: str, probe: PresenceProbe | PhraseProbe, description: tuple[int, int] = (0, 0), top: int = 0
) -> Question:
    return Question([{"role": "user", "content": prompt}], probe=probe, description=description, top=top)
