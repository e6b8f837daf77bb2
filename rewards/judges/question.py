"""A question to a judge, and its key: equal questions have equal keys.

    question_keys([Question([{"role": "user", "content": "Rate from 1 to 5: ..."}])])

Many questions show one long text, and each asks something short about it. So a question may hold
that text as one object with others (SharedPrompt), and a key hashes it once for all questions of a
call.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, overload
from uuid import uuid4

from PIL import Image
from PIL.ExifTags import Base

from spanreward.rewards.files.json_lines import exact_json
from spanreward.rewards.judges.probe import PresenceProbe
from spanreward.rewards.rows.pictures import PICTURE_LOCK

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class SharedPrompt(Sequence[Mapping[str, str]]):
    """The messages of a question that has one of a user, whose beginning many questions share.

    It reads as [{"role": "user", "content": beginning + rest}], and joins the two at each reading:
    180 questions about a text of 1,600 words would otherwise keep 14 MB.

    Attributes:
        beginning: one string object, which all of these questions hold.
        rest: of this question.
    """

    beginning: str
    rest: str

    def __len__(self) -> int:
        return 1

    @overload
    def __getitem__(self, index: int) -> Mapping[str, str]: ...

    @overload
    def __getitem__(self, index: slice) -> list[Mapping[str, str]]: ...

    def __getitem__(self, index: int | slice) -> Mapping[str, str] | list[Mapping[str, str]]:
        messages: list[Mapping[str, str]] = [
            {"role": "user", "content": self.beginning + self.rest}
        ]
        return messages[index]

    def __eq__(self, other: object) -> bool:  # also to a list of the same messages
        return isinstance(other, Sequence) and list(self) == list(other)


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
    graph, from which MatchJudge answers. A picture counts by how it looks. Each text that questions
    share is read once, so the work grows with what is new in each question.
    """
    hashes = _SharedHashes()
    for question in questions:
        if question._key is None:
            # The order is part of each key, and so of every cache that people have.
            content = [
                _messages_content(question, hashes),
                [hashes.of_picture(image) for image in question.images],
                _probe_content(question.probe, hashes),
                question.description,
                question.top,
                question.again,
            ]
            key = _sha256(exact_json(content))[:32]
            object.__setattr__(question, "_key", key)  # the way around a frozen class
    keys = [str(question._key) for question in questions]
    if not about:
        return keys
    # not with the questions' content: their own keys stay the same under another `about`
    shared = exact_json(dict(about))
    keys_about: list[str] = []
    for key in keys:
        keys_about.append(_sha256(shared + key.encode())[:32])
    return keys_about


class _SharedHashes:
    """Hashes each text, picture and graph once, of the questions of one call. Texts go by what they
    say, and pictures and graphs by which object they are.
    """

    def __init__(self) -> None:
        self._by_text: dict[str, str] = {}
        self._by_id: dict[int, str] = {}  # of objects that the questions hold

    def of_text(self, text: str) -> str:
        if text not in self._by_text:
            self._by_text[text] = _sha256(text.encode("utf-8", "surrogatepass"))
        return self._by_text[text]

    def of_picture(self, image: Any) -> str:
        return self._of_object(image, _picture_content)

    def of_graph(self, graph: Any) -> str:
        return self._of_object(graph, _graph_content)

    def _of_object(self, thing: Any, content: Callable[[Any], bytes]) -> str:
        if id(thing) not in self._by_id:
            self._by_id[id(thing)] = _sha256(content(thing))
        return self._by_id[id(thing)]


def _messages_content(question: Question, hashes: _SharedHashes) -> list[Any]:
    """Returns the messages as plain data, with a hash in place of what stands before the end of the
    description.
    """
    end = question.description[1]
    messages = question.messages
    if isinstance(messages, SharedPrompt) and end <= len(messages.beginning):
        # as below for the same messages in a list, but the two texts are not joined
        shared = hashes.of_text(messages.beginning[:end])
        rest = messages.beginning[end:] + messages.rest
        return [[["role", "user"]], shared, rest]
    if not messages:
        return []
    earlier = list(messages)
    last = earlier.pop()
    fields: list[Any] = []
    for message in earlier:
        fields.append(sorted(message.items()))
    # Of the last message the content stands apart, because only its beginning is hashed.
    beside_content = dict(last)
    content = beside_content.pop("content")
    fields.append(sorted(beside_content.items()))
    shared = hashes.of_text(content[:end])
    return [*fields, shared, content[end:]]


def _probe_content(probe: Any, hashes: _SharedHashes) -> list[Any]:
    """Returns a probe as plain data, with hashes in place of what many probes share."""
    if not isinstance(probe, PresenceProbe):
        return [repr(probe)]
    graph = None
    if probe.graph is not None:  # its repr leaves it out
        graph = hashes.of_graph(probe.graph)
    without_texts = repr(replace(probe, text="", source=""))
    text = hashes.of_text(probe.text)
    source = hashes.of_text(probe.source)
    return [without_texts, text, source, graph]


def numbered_repeats(questions: Sequence[Question]) -> list[Question]:
    """Returns the questions, in order, with `again` set where equal ones stand before."""
    counts: Counter[str] = Counter()
    numbered = []
    for key, question in zip(question_keys(questions), questions, strict=True):
        if counts[key]:
            numbered.append(replace(question, again=counts[key]))
        else:
            numbered.append(question)
        counts[key] += 1
    return numbered


def _graph_content(graph: Any) -> bytes:
    return repr(graph).encode()


def _picture_content(image: Any) -> bytes:
    """Returns everything that decides how a PIL image looks.

    What is no image, or cannot be decoded, equals nothing else: its judge says what is wrong.
    """
    if not isinstance(image, Image.Image):
        return uuid4().bytes
    with PICTURE_LOCK:  # PIL reads a file lazily, and not in two threads at once
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
