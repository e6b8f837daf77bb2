"""A question to a judge, and its key: equal questions have equal keys.

    question_keys([Question([{"role": "user", "content": "Rate from 1 to 5: ..."}])])

Many questions show the same long text and ask something short about it. A SharedPrompt lets such
questions hold the long text as one string object. `question_keys` hashes that text once for all
questions of a call.
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

EMPTY_MAPPING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class SharedPrompt(Sequence[Mapping[str, str]]):
    """The messages of a question with one user message, whose beginning is shared with other
    questions.

    A SharedPrompt reads as [{"role": "user", "content": beginning + rest}]. The two texts are
    joined at each reading and not stored: 180 joined prompts about a text of 1,600 words would take
    14 MB.

    Attributes:
        beginning: the shared text, the same string object in all of the questions.
        rest: the text after the beginning, which belongs to this question alone.
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

    def __eq__(self, other: object) -> bool:  # a list of the same messages is equal, too
        return isinstance(other, Sequence) and list(self) == list(other)


@dataclass(frozen=True, slots=True)
class Question:
    """A chat for the judge.

    Attributes:
        messages: [{"role", "content"}], where content is a string.
        images: PIL images that belong to the messages.
        probe: the same question as typed data (probe.py), for judges that do not read prose, such
            as MatchJudge.
        description: character offsets [start, end) into the last message's content. If the chat is
            too long for the judge, the text between these offsets loses its end. If the two offsets
            are equal, nothing may be cut.
        top: how a rating is read from the judge's tokens. With 0, only tokens that are exactly an
            entry of the scale count. With N above 0, the N likeliest tokens count, as in PoSh's
            published code. A token then counts for every entry that its text contains: "12" for 1
            and 2.
        again: how many equal questions come before this question. PoSh's published code asks equal
            questions several times, and a judge that samples may answer differently each time.
            Questions with different `again` have different keys. All other equal questions are
            asked once.
    """

    messages: Sequence[Mapping[str, str]]
    images: tuple[Any, ...] = ()
    probe: Any = None
    description: tuple[int, int] = (0, 0)
    top: int = 0
    again: int = 0
    # The question's key, computed at the first use and kept: a question passes several caches, and
    # its text may be long.
    _key: str | None = field(default=None, init=False, repr=False, compare=False)


def question_keys(
    questions: Sequence[Question], about: Mapping[str, Any] = EMPTY_MAPPING
) -> list[str]:
    """Returns a key for each question, in order: a hash (32 hex digits) of the question and of
    `about`.

    Questions with equal keys are equal in every field. The hash of a PresenceProbe includes the
    probe's graph, because MatchJudge answers from that graph. A picture is hashed by how it looks.
    A text that several questions share is hashed once.

    about: plain data that the keys shall also depend on, such as the name of a judge.
    """
    hashes = _SharedHashes()
    keys: list[str] = []
    for question in questions:
        if question._key is None:
            object.__setattr__(question, "_key", _own_key(question, hashes))  # the class is frozen
        keys.append(str(question._key))
    if not about:
        return keys
    # `about` is hashed together with the question's own key. So the own key, which is kept in the
    # question, serves for every `about`.
    shared = exact_json(dict(about))
    keys_about: list[str] = []
    for key in keys:
        keys_about.append(_sha256_digits(shared + key.encode())[:32])
    return keys_about


def _own_key(question: Question, hashes: "_SharedHashes") -> str:
    """Returns a hash (32 hex digits) of all fields of a question.

    hashes: the hashes of texts, pictures and graphs that several questions share. Another order of
    the fields would change all keys, and existing caches would be lost.
    """
    content = [
        _messages_content(question, hashes),
        [hashes.of_picture(image) for image in question.images],
        _probe_content(question.probe, hashes),
        question.description,
        question.top,
        question.again,
    ]
    return _sha256_digits(exact_json(content))[:32]


class _SharedHashes:
    """The hashes of the texts, pictures and graphs in the questions of one call, each computed
    once.

    Texts are compared by their content. Pictures and graphs are compared by `id`, since a
    comparison of their content would be as slow as hashing.
    """

    def __init__(self) -> None:
        self._by_text: dict[str, str] = {}
        self._by_id: dict[int, str] = {}  # the questions hold these objects, so no id is reused

    def of_text(self, text: str) -> str:
        """Returns the hash of a text."""
        if text not in self._by_text:
            self._by_text[text] = _sha256_digits(text.encode("utf-8", "surrogatepass"))
        return self._by_text[text]

    def of_picture(self, image: Any) -> str:
        """Returns the hash of how a PIL image looks."""
        return self._of_object(image, _picture_content)

    def of_graph(self, graph: Any) -> str:
        """Returns the hash of a scene graph's repr."""
        return self._of_object(graph, _graph_content)

    def _of_object(self, thing: Any, content: Callable[[Any], bytes]) -> str:
        """Returns the hash of `content(thing)`, computed at the first call for this object."""
        if id(thing) not in self._by_id:
            self._by_id[id(thing)] = _sha256_digits(content(thing))
        return self._by_id[id(thing)]


def _messages_content(question: Question, hashes: _SharedHashes) -> list[Any]:
    """Returns the messages of a question as plain data, for the question's key.

    A system's message "Be brief." and a user's message "TEXT: a kite. Is it red?", with a
    description that ends at 13, give a list of four entries:

        [("content", "Be brief."), ("role", "system")]    # each earlier message
        [("role", "user")]                                # the last message without its content
        the hash of "TEXT: a kite."                       # its content up to the description's end
        " Is it red?"                                     # the rest of its content

    Many questions share the text up to the end of the description, so its hash is computed once for
    all of them.
    """
    shared_end = question.description[1]
    messages = question.messages
    if isinstance(messages, SharedPrompt) and shared_end <= len(messages.beginning):
        return _shared_prompt_content(messages, shared_end, hashes)
    if not messages:
        return []
    *earlier, last = messages
    fields: list[Any] = []
    for message in earlier:
        fields.append(sorted(message.items()))
    fields_of_last = dict(last)
    content = fields_of_last.pop("content")
    fields.append(sorted(fields_of_last.items()))
    shared_hash = hashes.of_text(content[:shared_end])
    return [*fields, shared_hash, content[shared_end:]]


def _shared_prompt_content(
    prompt: SharedPrompt, shared_end: int, hashes: _SharedHashes
) -> list[Any]:
    """Returns the messages of a SharedPrompt as plain data, equal to what `_messages_content`
    returns for the same messages in a list.

    The beginning "TEXT: a kite.", the rest " Is it red?" and the end 13 give [[("role", "user")],
    the hash of "TEXT: a kite.", " Is it red?"].

    Beginning and rest are not joined here, because the beginning is long, and many questions share
    it.

    shared_end: the end of the description, an offset within the beginning.
    """
    shared_hash = hashes.of_text(prompt.beginning[:shared_end])
    rest = prompt.beginning[shared_end:] + prompt.rest
    fields = [("role", "user")]  # a SharedPrompt has one message, of the user
    return [fields, shared_hash, rest]


def _probe_content(probe: Any, hashes: _SharedHashes) -> list[Any]:
    """Returns a probe as plain data. The probe's two texts and its graph, which many probes share,
    are replaced by their hashes.
    """
    if not isinstance(probe, PresenceProbe):
        return [repr(probe)]
    graph = None
    if probe.graph is not None:  # the probe's repr has no graph
        graph = hashes.of_graph(probe.graph)
    without_texts = repr(replace(probe, text="", source=""))
    text = hashes.of_text(probe.text)
    source = hashes.of_text(probe.source)
    return [without_texts, text, source, graph]


def numbered_repeats(questions: Sequence[Question]) -> list[Question]:
    """Returns the questions, in order, with `again` set: the number of equal questions before each
    question. So a judge is asked once for each repeat.
    """
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
    """Returns the bytes by which a scene graph is hashed."""
    return repr(graph).encode()


def _picture_content(image: Any) -> bytes:
    """Returns the bytes of everything that decides how a PIL image looks.

    For an object that is no image, and for an image that cannot be decoded, the bytes are random.
    So this picture equals no other picture. The question then reaches its judge, which reports what
    is wrong with the picture.
    """
    if not isinstance(image, Image.Image):
        return uuid4().bytes
    with PICTURE_LOCK:  # PIL reads a file lazily, and not in two threads at once
        try:
            pixels = image.tobytes()  # before the other attributes, because this reads the file
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


def _sha256_digits(content: bytes) -> str:
    """Returns the SHA-256 of the content, as 64 hex digits."""
    return hashlib.sha256(content).hexdigest()
