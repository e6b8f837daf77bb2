"""Looks components of completions up in pictures, and corrects the judge's tendency to say yes.

    pictures, reasons = open_row_pictures(rows)
    sheet = picture_sheet(0, row, view, pictures[0], wording, 2.0)    # for conduct.py
    decoys = choose_decoys(rows, pictures)                            # things absent from a picture
    reduce_by_yes_rate(sheet, yes_rate=0.2)                                # reduced ratings

A judge of pictures tends to say yes: a thing that is not in the picture may still get a 4. Decoys
measure this tendency. A decoy is a thing from another row's references, with its attributes ("brown
dog"). No text about this picture has the decoy's name, so the picture most likely lacks the thing.

The yes-rate is the mean rating of decoys, from 0 to 1. Each rating from a picture is reduced by the
yes-rate, and stretched so that a sure yes stays a 5. If a judge always says yes, all its ratings
become 1.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from PIL import Image

from spanreward.rewards.base.verdict import NotApplicable
from spanreward.rewards.judges.judge import Failure, Judge, Question
from spanreward.rewards.judges.probe import Mention
from spanreward.rewards.language.lemmas import lemmas_of_phrase
from spanreward.rewards.language.scene_graph import Entity, SceneGraph
from spanreward.rewards.posh.answer_sheet import AnswerSheet, ComponentRating
from spanreward.rewards.posh.candidates import EntityAnswer
from spanreward.rewards.posh.components import (
    HIGHEST_RATING,
    PLAINLY_THERE,
    RATING_IF_ABSENT,
    entity_counts,
    surplus_entities,
)
from spanreward.rewards.posh.conduct import rate_questions
from spanreward.rewards.posh.graph_view import GraphView
from spanreward.rewards.posh.interview import Interview
from spanreward.rewards.posh.prompts import PicturePrompts
from spanreward.rewards.posh.questions import Component, presence_question, question_text
from spanreward.rewards.posh.row_answers import ParsedRow
from spanreward.rewards.posh.scores import span_score
from spanreward.rewards.reward.answer_cache import AnswerCache
from spanreward.rewards.reward.rows import open_pictures

Pictures = tuple[Image.Image, ...]
PictureKey = tuple[int, ...]  # the ids of a row's opened pictures
MAX_DECOYS = 4  # for each distinct picture of a call, at most
NEARLY_ONE = 1 - 1e-6  # a judge with this yes-rate or more always says yes


@dataclass(frozen=True, slots=True)
class Decoy:
    """A thing that a row's picture lacks.

    Attributes:
        row: the row's number.
        phrase: the thing in words, such as "brown dog".
        mention: the thing as typed data.
    """

    row: int
    phrase: str
    mention: Mention


def open_row_pictures(rows: Sequence[ParsedRow]) -> tuple[dict[int, Pictures], dict[int, str]]:
    """Opens the pictures of all rows. Rows that share picture objects share the opened pictures.

    Returns the pictures by the row's number. For rows without usable pictures, returns the reason
    by the row's number.
    """
    pictures: dict[int, Pictures] = {}
    reasons: dict[int, str] = {}
    opened: dict[tuple[int, ...], Pictures] = {}  # by the ids of the given image objects
    for number, row in enumerate(rows):
        images = row.sample.images
        if not images:
            reasons[number] = "this row has no picture"
            continue
        key = tuple(map(id, images))  # the rows of a group have the same image objects
        try:
            if key not in opened:
                opened[key] = open_pictures(images)
        except NotApplicable as reason:
            reasons[number] = str(reason)
        else:
            pictures[number] = opened[key]
    return pictures, reasons


def picture_sheet(
    number: int,
    row: ParsedRow,
    view: GraphView,
    pictures: Pictures,
    wording: PicturePrompts,
    presence_threshold: float,
) -> AnswerSheet:
    """Returns an empty sheet for the questions whether the pictures show the completion's
    components.

    Args:
        number: the row's number.
        row: the row.
        view: the view of the completion's graph.
        pictures: the row's opened pictures.
        wording: the templates for pictures.
        presence_threshold: an entity with a lower rating counts as absent.
    """
    interview = Interview(
        sample=number,
        source=view,
        source_text=row.sample.completion,
        # A picture has no text and no graph. So no name is ambiguous, and the target agrees with no
        # denial.
        target_text="",
        target_graph=SceneGraph(),
        wording=wording,
        presence_threshold=presence_threshold,
        denials=row.graph.denials,
        pictures=pictures,
    )
    return AnswerSheet(interview)


def copy_plain_answers(picture: AnswerSheet, references: Sequence[AnswerSheet]) -> None:
    """Copies answers on components that a reference plainly has into a picture's sheet. The judge
    is then not asked whether the picture shows these components.

    Of several references, the best rating counts.

    Two kinds of answers are not copied. Denials: a reference with the thing makes a denial wrong,
    but the picture may lack the thing. Surplus entities and their details: the reference has one
    star, but the picture may show a second star.

    Args:
        picture: the sheet that is changed.
        references: the completion looked up in each reference, after all questions.
    """
    if not references:
        return
    surplus = surplus_entities(references)
    for sheet in references:
        _copy_entities(picture, sheet, surplus)
        _copy_details(picture, sheet, surplus)


def _copy_entities(picture: AnswerSheet, reference: AnswerSheet, surplus: Set[int]) -> None:
    """Copies answers on entities that a reference plainly has into a picture's sheet. No copy
    replaces a better answer.

    surplus: the numbers of the entities that the completion mentions too often. Answers on these
    entities are not copied.
    """
    for number, answer in reference.entities.items():
        is_plain = answer.rating >= PLAINLY_THERE
        if is_plain and number not in surplus:
            earlier = picture.entities.get(number)
            if earlier is None or answer.rating > earlier.rating:
                picture.entities[number] = answer


def _copy_details(picture: AnswerSheet, reference: AnswerSheet, surplus: Set[int]) -> None:
    """Copies answers on attributes and relations that a reference plainly has into a picture's
    sheet. Answers on denials are not copied, and no copy replaces a better answer.

    surplus: the numbers of the entities that the completion mentions too often. Answers on the
    attributes and relations of these entities are not copied.
    """
    # the attributes and relations; denials have no entities, and are left out
    for key, entities in entities_by_detail(reference).items():
        answer = reference.details.get(key)
        # an attribute or relation of an absent entity has no answer
        if answer is None or answer.rating < PLAINLY_THERE:
            continue
        earlier = picture.details.get(key)
        is_better = earlier is None or answer.rating > earlier.rating
        if is_better and surplus.isdisjoint(entities):
            picture.details[key] = answer


def choose_decoys(rows: Sequence[ParsedRow], pictures: Mapping[int, Pictures]) -> list[Decoy]:
    """Returns up to MAX_DECOYS decoys for each distinct picture. A decoy is a thing that the
    picture
    lacks: the judge should rate it 1.

    A decoy is a thing of another picture. So there are none if all rows have the same picture. The
    decoys of a picture do not depend on the order of the rows.

    Args:
        rows: all rows.
        pictures: the opened pictures by the row's number.
    """
    rows_by_picture: dict[PictureKey, list[ParsedRow]] = {}
    first_numbers: dict[PictureKey, int] = {}  # the number of the first row with each picture
    for number, images in pictures.items():
        key = _picture_key(images)
        rows_by_picture.setdefault(key, []).append(rows[number])
        first_numbers.setdefault(key, number)
    things_by_picture: dict[PictureKey, dict[str, Mention]] = {}
    for key, rows_of_picture in rows_by_picture.items():
        things_by_picture[key] = _things_of_references(rows_of_picture)
    decoys: list[Decoy] = []
    for key, rows_of_picture in rows_by_picture.items():
        lacking = _lacking_things(key, rows_of_picture, things_by_picture)
        # all rows with this picture have the same references, so the first row is enough
        references = rows_of_picture[0].sample.references
        # choose at random: the first things would all come from one other picture
        in_chance_order = sorted(lacking, key=lambda phrase: _shuffle_key(phrase, references))
        for phrase in in_chance_order[:MAX_DECOYS]:
            decoys.append(Decoy(first_numbers[key], phrase, lacking[phrase]))
    return decoys


def _lacking_things(
    key: PictureKey,
    rows: Sequence[ParsedRow],
    things_by_picture: Mapping[PictureKey, Mapping[str, Mention]],
) -> dict[str, Mention]:
    """Returns the things that a picture most likely lacks, by phrase. These are things of other
    pictures, if no text about this picture has their name.

    Args:
        key: the picture.
        rows: all rows with the picture.
        things_by_picture: the things in the references of each picture.
    """
    named: set[frozenset[str]] = set()  # the picture may show these things
    for row in rows:
        named |= _names_of_things(row)
    other_things: dict[str, Mention] = {}
    for other_key, things in things_by_picture.items():
        if other_key != key:
            other_things.update(things)
    lacking: dict[str, Mention] = {}
    for phrase, mention in other_things.items():
        if lemmas_of_phrase(mention.head) not in named:
            lacking[phrase] = mention
    return lacking


def _picture_key(images: Pictures) -> PictureKey:
    """Returns the ids of a row's opened pictures. Rows that share picture objects have equal keys
    (`open_row_pictures`).
    """
    return tuple(map(id, images))


def decoy_question(decoy: Decoy, sheet: AnswerSheet) -> Question:
    """Returns the question whether the picture shows a decoy.

    sheet: the sheet of a row with the decoy's picture.
    """
    names = {"entity_identifier": decoy.phrase}
    component = Component("entity", (0,), names, decoy.mention)
    text = question_text(sheet.interview, component, published=False)
    return presence_question(sheet.interview, component, text, published=False)


def decoy_scores(
    rows: Sequence[ParsedRow],
    sheets: Mapping[int, AnswerSheet],
    judge: Judge,
    cache: AnswerCache,
) -> list[float]:
    """Asks the judge about decoys of the pictures, and returns the score of each answered decoy: 0
    for a sure no, 1 for a sure yes.

    rows: all rows. sheets: the sheets of pictures, by the row's number.
    """
    pictures = {number: sheet.interview.pictures for number, sheet in sheets.items()}
    decoys = choose_decoys(rows, pictures)
    questions = [decoy_question(decoy, sheets[decoy.row]) for decoy in decoys]
    scores: list[float] = []
    for answer in cache.complete(questions, partial(rate_questions, judge)):
        # a failed decoy fails no row: the other decoys give the yes-rate
        if not isinstance(answer, Failure):
            scores.append(span_score(answer.value))
    return scores


def reduce_by_yes_rate(sheet: AnswerSheet, yes_rate: float) -> AnswerSheet:
    """Returns a copy of the sheet with each rating reduced by the yes-rate.

    A reduced rating may make an entity absent. The attributes and relations of an absent entity
    lose their answers, as if the judge had not been asked.

    yes_rate: the mean rating of decoys, from 0 to 1.
    """
    # entities first, because a reduced rating can make an entity absent
    entities: dict[int, EntityAnswer] = {}
    for number, entity in sheet.entities.items():
        rating = believed_rating(entity.rating, yes_rate)
        present = rating >= sheet.interview.presence_threshold
        entities[number] = replace(entity, rating=rating, present=present)
    entities_of = entities_by_detail(sheet)
    details: dict[tuple[str | int, ...], ComponentRating] = {}
    for key, answer in sheet.details.items():
        # a denied thing is no entity of the completion, so a denial has no entities
        if all(entities[end].present for end in entities_of.get(key, ())):
            rating = believed_rating(answer.rating, yes_rate)
            details[key] = replace(answer, rating=rating)
    return replace(sheet, entities=entities, details=details)


def entities_by_detail(sheet: AnswerSheet) -> dict[tuple[str | int, ...], tuple[int, ...]]:
    """Returns the numbers of the entities of each attribute and relation, by the key in
    `AnswerSheet.details`. An attribute has one entity. A relation has a subject and an object.
    """
    view = sheet.interview.source
    entities: dict[tuple[str | int, ...], tuple[int, ...]] = {}
    for number, entity in enumerate(view.entities):
        for place in range(len(entity.attributes)):
            entities["attribute", number, place] = (number,)
    for relation in view.relations:
        entities["relation", relation.number] = (relation.subject, relation.object)
    return entities


def believed_rating(rating: float, yes_rate: float) -> float:
    """Returns the rating reduced by the yes-rate: 1 + 4 (s - y) / (1 - y), and at least 1.

    Here s is the rating as a share from 0 to 1 (`span_score`), and y is the yes-rate. With y = 0.2,
    the rating 5 stays 5, 3.4 becomes 3, and 1.8 becomes 1. With y = 1 the result is always 1.
    """
    # avoid a division by 0
    if yes_rate >= NEARLY_ONE:
        return RATING_IF_ABSENT
    share = (span_score(rating) - yes_rate) / (1 - yes_rate)
    return RATING_IF_ABSENT + (HIGHEST_RATING - RATING_IF_ABSENT) * max(share, 0.0)


def _things_of_references(rows: Iterable[ParsedRow]) -> dict[str, Mention]:
    """Returns the things with attributes in the rows' references, by phrase: "a brown dog" gives
    `{"brown dog": Mention("dog", ("brown",))}`.
    """
    things: dict[str, Mention] = {}
    for row in rows:
        for graph, _ in row.references:
            for entity in graph.entities:
                if _is_thing(entity):
                    # the attributes and the name; equal phrases are one thing
                    phrase = " ".join((*entity.attributes, entity.head))
                    things[phrase] = Mention(entity.head, tuple(entity.attributes))
    return things


def _is_thing(entity: Entity) -> bool:
    """Returns whether the entity can be a decoy: it has attributes, and is neither the viewer nor a
    side of the view.

    Another picture hardly shows a thing with the same attributes ("brown dog") by chance.
    """
    is_side = entity.is_us or entity.is_left or entity.is_right
    return bool(entity.attributes) and not is_side


def _names_of_things(row: ParsedRow) -> set[frozenset[str]]:
    """Returns the names of all things in the texts about a row's picture, with denied things. A
    name is a set of base forms.
    """
    graphs = [row.graph]
    # a reference's second graph has everything that the reference supports, so it has more names
    for _, supporting in row.references:
        graphs.append(supporting)
    names: set[frozenset[str]] = set()
    for graph in graphs:
        names.update(entity_counts(graph))
        for denial in graph.denials:
            names.add(lemmas_of_phrase(denial.head))
    return names


def _shuffle_key(phrase: str, about: Sequence[str]) -> bytes:
    """Returns a hash of the phrase and the references. Sorting by the hash shuffles phrases.

    The order differs between pictures, and stays the same in every run.

    phrase: a possible decoy. about: the references of the row with the picture.
    """
    text = "\0".join((phrase, *about))
    return sha256(text.encode("utf-8", "replace")).digest()
