"""What pictures show of completions, and how far to believe a judge that says so.

    pictures, reasons = open_row_pictures(rows)
    sheet = picture_sheet(0, row, view, pictures[0], wording, 2.0)    # to be asked, see conduct.py
    decoys = choose_decoys(rows, pictures)                            # things that they lack
    believed(sheet, yes_rate=0.2)                                     # ratings less the yes-rate

Judges that see tend to say yes: to a thing that a picture lacks they may give a 4. Asked about such
a thing, a decoy, the judge says how much its yes is worth. A decoy is a thing of another row's
references, with its attributes ("brown dog"), whose name stands in no text about this picture.
Ratings of pictures lose the mean yes to decoys, the yes-rate, and are stretched so that a sure yes
stays a 5. A judge that always says yes then says nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from PIL import Image

from spanreward.rewards.base.verdict import NotApplicable
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.judges.probe import Mention
from spanreward.rewards.language.lemmas import lemmas
from spanreward.rewards.language.scene_graph import Entity, SceneGraph
from spanreward.rewards.posh.answer_sheet import AnswerSheet, ComponentRating
from spanreward.rewards.posh.candidates import EntityAnswer
from spanreward.rewards.posh.components import ABSENT, PLAIN, RIGHT, named_in, surplus
from spanreward.rewards.posh.graph_view import GraphView
from spanreward.rewards.posh.interview import Interview
from spanreward.rewards.posh.prompts import PicturePrompts
from spanreward.rewards.posh.questions import Component, presence_question, question_text
from spanreward.rewards.posh.row_answers import ParsedRow
from spanreward.rewards.posh.scores import span_score
from spanreward.rewards.reward.rows import open_pictures

Pictures = tuple[Image.Image, ...]
DECOYS = 4  # for each picture of a call
NEARLY_ONE = 1 - 1e-6  # a judge with this yes-rate always says yes


@dataclass(frozen=True, slots=True)
class Decoy:
    """A thing that this row's picture lacks."""

    row: int
    phrase: str
    mention: Mention


def open_row_pictures(rows: Sequence[ParsedRow]) -> tuple[dict[int, Pictures], dict[int, str]]:
    """Returns each row's pictures by its number, opened once for all rows that hold the same ones,
    and why other rows have none that can be used.
    """
    pictures: dict[int, Pictures] = {}
    reasons: dict[int, str] = {}
    opened: dict[tuple[int, ...], Pictures] = {}  # by the images as they were given
    for number, row in enumerate(rows):
        images = row.sample.images
        key = tuple(map(id, images))  # the rows of a group hold the same objects
        try:
            if not images:
                raise NotApplicable("this row has no picture")
            if key not in opened:
                opened[key] = open_pictures(images)
            pictures[number] = opened[key]
        except NotApplicable as reason:
            reasons[number] = str(reason)
    return pictures, reasons


def picture_sheet(
    number: int,
    row: ParsedRow,
    view: GraphView,
    pictures: Pictures,
    wording: PicturePrompts,
    presence_threshold: float,
) -> AnswerSheet:
    """Returns a sheet for the questions whether the pictures show what the completion says."""
    interview = Interview(
        sample=number,
        source=view,
        source_text=row.sample.completion,
        # a picture has neither text nor graph, so that no name is ambiguous and no denial is agreed
        target_text="",
        target_graph=SceneGraph(),
        wording=wording,
        presence_threshold=presence_threshold,
        denials=row.graph.denials,
        pictures=pictures,
    )
    return AnswerSheet(interview)


def take_plain_answers(picture: AnswerSheet, references: Sequence[AnswerSheet]) -> None:
    """Puts into a picture's sheet what a reference plainly has, so that it is not asked about.

    Of several references, the best rating counts. Denials are left out, because a reference that
    has the thing makes a denial wrong, and the picture may say otherwise. Left out is also what is
    said of surplus things: a reference has one star, and the picture may show the second one.
    """
    if not references:
        return
    too_often = surplus(references)
    # an attribute of a surplus entity has the surplus entity for its end
    ends = ends_by_detail(picture)
    for sheet in references:
        for number, entity in sheet.entities.items():
            if entity.rating < PLAIN or number in too_often:
                continue
            earlier_entity = picture.entities.get(number)
            if earlier_entity is None or entity.rating > earlier_entity.rating:
                picture.entities[number] = entity
        for key, answer in sheet.details.items():
            if key[0] == "denied" or not too_often.isdisjoint(ends[key]):
                continue
            if answer.rating < PLAIN:
                continue
            earlier = picture.details.get(key)
            if earlier is None or answer.rating > earlier.rating:
                picture.details[key] = answer


def choose_decoys(rows: Sequence[ParsedRow], pictures: Mapping[int, Pictures]) -> list[Decoy]:
    """Returns up to DECOYS things for each distinct picture; none where there is but one picture.

    Equal rows have equal decoys, in whatever order they stand.
    """
    rows_by_picture: dict[tuple[int, ...], list[int]] = {}
    for number, images in pictures.items():
        key = tuple(map(id, images))
        rows_by_picture.setdefault(key, []).append(number)
    things_by_picture: dict[tuple[int, ...], dict[str, Mention]] = {}
    for key, numbers in rows_by_picture.items():
        things_by_picture[key] = _things(rows[number] for number in numbers)
    decoys: list[Decoy] = []
    for key, numbers in rows_by_picture.items():
        # what a text about this picture names may be in it
        named: set[frozenset[str]] = set()
        for number in numbers:
            named |= _names(rows[number])
        other_things: dict[str, Mention] = {}
        for other_key, things in things_by_picture.items():
            if other_key != key:
                other_things.update(things)
        lacking: dict[str, Mention] = {}
        for phrase, mention in other_things.items():
            if lemmas(mention.head) not in named:
                lacking[phrase] = mention
        # one row stands for all rows with this picture, which have the same references
        first_row = numbers[0]
        about = rows[first_row].sample.references
        # by chance, and not the first ones: those would all be of one other picture
        in_chance_order = sorted(lacking, key=lambda phrase: _chance(phrase, about))
        for phrase in in_chance_order[:DECOYS]:
            decoys.append(Decoy(first_row, phrase, lacking[phrase]))
    return decoys


def decoy_question(decoy: Decoy, sheet: AnswerSheet) -> Question:
    """Returns the question about a decoy. sheet: of a row with its picture."""
    names = {"entity_identifier": decoy.phrase}
    component = Component("entity", (0,), names, decoy.mention)
    text = question_text(sheet.interview, component, published=False)
    return presence_question(sheet.interview, component, text, published=False)


def believed(sheet: AnswerSheet, yes_rate: float) -> AnswerSheet:
    """Returns the sheet with each rating less the yes-rate (0..1).

    What is said of an entity that is then absent has no answer, as if it had not been asked.
    """
    # entities first: less the yes-rate some are absent now
    entities: dict[int, EntityAnswer] = {}
    for number, entity in sheet.entities.items():
        rating = believed_rating(entity.rating, yes_rate)
        present = rating >= sheet.interview.presence_threshold
        entities[number] = replace(entity, rating=rating, present=present)
    ends = ends_by_detail(sheet)
    details: dict[tuple[str | int, ...], ComponentRating] = {}
    for key, answer in sheet.details.items():
        # a denied thing is none of the completion's entities, so that nothing must be present
        detail_ends = ends.get(key, ())
        if all(entities[end].present for end in detail_ends):
            rating = believed_rating(answer.rating, yes_rate)
            details[key] = replace(answer, rating=rating)
    return replace(sheet, entities=entities, details=details)


def ends_by_detail(sheet: AnswerSheet) -> dict[tuple[str | int, ...], tuple[int, ...]]:
    """Returns the entities of each attribute and relation, by its key in `AnswerSheet.details`."""
    view = sheet.interview.source
    ends: dict[tuple[str | int, ...], tuple[int, ...]] = {}
    for number, entity in enumerate(view.entities):
        for place in range(len(entity.attributes)):
            ends["attribute", number, place] = (number,)
    for relation in view.relations:
        ends["relation", relation.number] = (relation.subject, relation.object)
    return ends


def believed_rating(rating: float, yes_rate: float) -> float:
    """Returns 1 + 4 (s - y) / (1 - y), and 1 where that is less: s is the rating's `span_score`, y
    the yes-rate. With a yes-rate of 1 all ratings are 1.
    """
    # the share below would divide by nothing
    if yes_rate >= NEARLY_ONE:
        return ABSENT
    share = (span_score(rating) - yes_rate) / (1 - yes_rate)
    return ABSENT + (RIGHT - ABSENT) * max(share, 0.0)


def _things(rows: Iterable[ParsedRow]) -> dict[str, Mention]:
    """Returns what the rows' references name, by a phrase with all attributes."""
    things: dict[str, Mention] = {}
    for row in rows:
        for graph, _ in row.references:
            for entity in graph.entities:
                if _is_thing(entity):
                    # "brown dog": by its attributes and its name, once
                    phrase = " ".join((*entity.attributes, entity.head))
                    things[phrase] = Mention(entity.head, tuple(entity.attributes))
    return things


def _is_thing(entity: Entity) -> bool:
    """Returns whether the entity has attributes: other pictures hardly show a thing like it."""
    is_side = entity.is_us or entity.is_left or entity.is_right
    return bool(entity.attributes) and not is_side


def _names(row: ParsedRow) -> set[frozenset[str]]:
    """Returns the names of all things in the texts about a row's picture."""
    graphs = [row.graph]
    # the graph of all that a reference supports names more than its other one
    for _, supporting in row.references:
        graphs.append(supporting)
    names: set[frozenset[str]] = set()
    for graph in graphs:
        names.update(named_in(graph))
        for denial in graph.denials:
            names.add(lemmas(denial.head))
    return names


def _chance(phrase: str, about: Sequence[str]) -> bytes:
    """Returns a number by which phrases are drawn, in another order for each picture."""
    text = "\0".join((phrase, *about))
    return sha256(text.encode("utf-8", "replace")).digest()
