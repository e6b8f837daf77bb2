"""A question to a judge, and its key: equal questions have equal keys.

question_keys([Question([{"role": "user", "content": "Rate from 1 to 5: ..."}])])   # 32 hex digits
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from PIL import Image
from PIL.ExifTags import Base

from spanreward.rewards.judges.probe import PresenceProbe
from spanreward.rewards.rows.pictures import PICTURE_LOCK

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Question:
    """A chat for the judge.

    Attributes:
        messages: [{"role", "content"}], where content is a string.
        images: PIL images that belong to the messages.
        probe: the same question as typed data (probe.py), for judges that do not read prose
            (MatchJudge).
        description: character offsets [start, end) into the last message's content. Where the chat
            is too long for the judge, the text between them loses its end. Where they are equal,
            nothing may be cut.
        top: how a rating is read. 0: from exactly the tokens that are an entry of the scale. Above
            0, as in published code: from this many of the likeliest tokens, whatever their
            probability. A token counts for every entry that its text contains ("12" for 1 and 2).
        again: how many equal questions stand before it. Published PoSh asks each of them, and a
            judge that samples may answer each otherwise. Elsewhere equal questions are asked once.
    """

    messages: Sequence[Mapping[str, str]]
    images: tuple[Any, ...] = ()
    probe: Any = None
    description: tuple[int, int] = (0, 0)
    top: int = 0
    again: int = 0
    # computed at the first use: a question passes several caches, and its text may be long
    _key: str | None = field(default=None, init=False, repr=False, compare=False)


def question_keys(questions: Sequence[Question], about: Mapping[str, Any] = NOTHING) -> list[str]:
    """Returns a hash (32 hex digits) of each question and of `about` (plain data).

    Every field of a question counts. A probe counts by its repr, and a PresenceProbe also by its
    graph, from which MatchJudge answers. A picture counts by how it looks.
    """
    new = [question for question in questions if question._key is None]
    graph_hashes = _hashes_by_id(map(_graph_of, new), _graph_content)
    images = [image for question in new for image in question.images]
    image_hashes = _hashes_by_id(images, _picture_content)
    for question in new:
        content = [
            [sorted(message.items()) for message in question.messages],
            [image_hashes[id(image)] for image in question.images],
            repr(question.probe),
            graph_hashes[id(_graph_of(question))],
            question.description,
            question.top,
            question.again,
        ]
        object.__setattr__(question, "_key", _sha256(_json(content))[:32])
    keys = [str(question._key) for question in questions]
    if not about:
        return keys
    shared = _json(dict(about))
    return [_sha256(shared + key.encode())[:32] for key in keys]


def numbered_repeats(questions: Sequence[Question]) -> list[Question]:
    """Returns the questions, in order, with `again` set where equal ones stand before."""
    counts: Counter[str] = Counter()
    numbered = []
    for key, question in zip(question_keys(questions), questions, strict=True):
        numbered.append(replace(question, again=counts[key]) if counts[key] else question)
        counts[key] += 1
    return numbered


def _graph_of(question: Question) -> Any:
    return question.probe.graph if isinstance(question.probe, PresenceProbe) else None


def _hashes_by_id(things: Iterable[Any], content: Callable[[Any], bytes]) -> dict[int, str | None]:
    """Hashes each object once, by its id(): many questions share a picture or a graph.

    The hash of None is None.
    """
    hashes: dict[int, str | None] = {id(None): None}
    for thing in things:
        if id(thing) not in hashes:
            hashes[id(thing)] = _sha256(content(thing))
    return hashes


def _graph_content(graph: Any) -> bytes:
    return repr(graph).encode()


def _picture_content(image: Any) -> bytes:
    """Everything that decides how a PIL image looks.

    What is no image, or cannot be decoded, equals nothing else: its judge says what is wrong.
    """
    if not isinstance(image, Image.Image):
        return uuid4().bytes
    with PICTURE_LOCK:
        try:
            pixels = image.tobytes()  # first, because this reads the file
        except Exception:  # each format raises its own kind for a damaged file
            return uuid4().bytes
        orientation = image.getexif().get(Base.Orientation)
        appearance = (
            image.mode,
            image.size,
            image.getpalette(),
            image.info.get("transparency"),
            orientation,
        )
    return repr(appearance).encode() + pixels


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _json(data: Any) -> bytes:
    """Without escapes: escaped, two lone surrogates would equal the emoji that they form
    together.
    """
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")
