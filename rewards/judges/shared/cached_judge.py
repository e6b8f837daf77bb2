"""A judge that remembers: what any judge answered once is read from a file, over steps, runs and processes.

    judge = CachedJudge(TransformersJudge("smollm2"))     # in the cache folder, or path="ratings.sqlite"
    with judge:
        judge.rate(questions)                             # the inner judge wakes up at the first unknown question
    judge.hits, judge.misses

An answer is known by the version of this package and the code of its judges (how a question is encoded and an answer
read), the inner judge's name (its weights and settings), the scale or the length of the text, and
all that a judge may read of a question: messages, pictures, probe, what of it may be cut, and how its answer is read.
Failures are forgotten. Where the file cannot be used the inner judge is asked, see `Store`.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from PIL.ExifTags import Base

from rewards.cache_folder import CACHE
from rewards.judges.judge import (
    RATING_SCALE,
    Failure,
    Judge,
    Question,
    Rating,
)
from rewards.judges.probe import PresenceProbe
from rewards.judges.shared.rank0_judge import Rank0Judge
from rewards.judges.shared.store import Store
from rewards.judges.usage import Usage

T = TypeVar("T", Rating, str)


class CachedJudge(Judge):
    """A judge whose answers are kept in a file.

    Args:
        judge: who is asked what the file does not know.
        path: the file, `ratings.sqlite` in the cache folder when None.
        max_bytes: the file's size, see `Store`.

    Attributes:
        hits: questions so far that the file answered, or that another question of the same call repeated.
        misses: those put to the inner judge.

    Raises:
        ValueError: for a path where there is a file of another kind or version.
    """

    def __init__(self, judge: Judge, path: str | Path | None = None, max_bytes: int = 1 << 30) -> None:
        if isinstance(judge, Rank0Judge):  # a rank that knows all its answers would stay away from the others' rounds
            raise TypeError("a cache goes inside a judge that all ranks share: Rank0Judge(CachedJudge(judge))")
        self.judge = judge
        self.remote = judge.remote  # the file may be read and written from any thread
        self.deadline = judge.deadline
        self.store = Store(CACHE / "ratings.sqlite" if path is None else Path(path).expanduser(), max_bytes)
        self.hits = 0
        self.misses = 0
        self._depth = 0
        self._awake = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "hits": 0, "misses": 0, "_depth": 0, "_awake": False}

    @property
    def name(self) -> str:
        """The inner judge's: its answers are the same."""
        return self.judge.name

    @property
    def usage(self) -> Usage:
        """The inner judge's, with the questions that the file answered."""
        inner = self.judge.usage
        return replace(inner, questions=self.hits + self.misses, cached=self.hits + inner.cached)

    def start(self) -> None:
        """Start the inner judge now, not at the first unknown question. Raises what it does."""
        self.judge.start()

    def close(self) -> None:
        """Close the inner judge."""
        self.judge.close()

    def __enter__(self) -> Self:
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0 and self._awake:
            self._awake = False
            self.judge.__exit__(kind, error, trace)

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        """The inner judge's ratings, in order; an equal question gets an equal one. Raises what the inner judge does,
        when it is asked, and ValueError as the constructor does.
        """
        return self._answers(
            questions, {"scale": list(scale)}, lambda unknown: self.judge.rate(unknown, scale), _packed_rating, _rating
        )

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """The inner judge's texts, as `rate`."""
        return self._answers(
            questions, {"write": max_tokens}, lambda unknown: self.judge.write(unknown, max_tokens), _json, json.loads
        )

    def _answers(
        self,
        questions: Sequence[Question],
        asked_for: Mapping[str, Any],
        ask: Callable[[list[Question]], list[T | Failure]],
        pack: Callable[[T], bytes],
        unpack: Callable[[bytes], T],
    ) -> list[T | Failure]:
        made_by = {"spanreward": version("spanreward"), "code": code_hash(), "judge": self.name}
        keys = question_keys(questions, {**made_by, **asked_for})
        found = self.store.read(list(dict.fromkeys(keys)))
        answers: dict[str, T | Failure] = {key: unpack(value) for key, value in found.items()}
        unknown = {key: question for key, question in zip(keys, questions, strict=True) if key not in found}
        if unknown:
            with self:
                self._wake()
                new = dict(zip(unknown, ask(list(unknown.values())), strict=True))
            self.store.write({key: pack(answer) for key, answer in new.items() if not isinstance(answer, Failure)})
            answers.update(new)
        self.hits += len(questions) - len(unknown)
        self.misses += len(unknown)
        return [answers[key] for key in keys]

    def _wake(self) -> None:
        """Enter the inner judge, once until the outermost `with` ends."""
        if not self._awake:
            self.judge.__enter__()
            self._awake = True


@cache
def code_hash(package: Path = Path(__file__).parents[2]) -> str:
    """Hexadecimal, of all the code that turns a question into an answer: the judges', how a picture is shown to them,
    and the parser's for `match`. package: the folder `rewards`.
    """
    files = [*(package / "judges").rglob("*.py"), *(package / "language").rglob("*.py"), package / "pictures.py"]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sorted(files))).hexdigest()


def rate_once(
    judge: Judge, questions: Sequence[Question | Failure], scale: Sequence[str] = RATING_SCALE
) -> list[Rating | Failure]:
    """The judge's ratings, in order, in one call in which equal questions are one; no call where there is none. A
    Failure in place of a question, one that could not even be asked, stays in its place.
    """
    return _once(questions, lambda distinct: judge.rate(distinct, scale))


def write_once(judge: Judge, questions: Sequence[Question | Failure], max_tokens: int) -> list[str | Failure]:
    """The judge's texts, as `rate_once`."""
    return _once(questions, lambda distinct: judge.write(distinct, max_tokens))


def _once(
    questions: Sequence[Question | Failure], ask: Callable[[list[Question]], list[T | Failure]]
) -> list[T | Failure]:
    asked = [question for question in questions if isinstance(question, Question)]
    keys = iter(question_keys(asked, {}))
    places = [one if isinstance(one, Failure) else next(keys) for one in questions]
    distinct = dict(zip([place for place in places if isinstance(place, str)], asked, strict=True))
    answers = dict(zip(distinct, ask(list(distinct.values())) if distinct else [], strict=True))
    return [answers[place] if isinstance(place, str) else place for place in places]


def question_keys(questions: Sequence[Question], about: Mapping[str, Any]) -> list[str]:
    """128 bits in hexadecimal per question: equal where `about` (plain data) and all that a judge may read are.

    A probe is what its repr says, and for a PresenceProbe also the graph it brings, from which MatchJudge answers.
    """
    start = hashlib.sha256(_json(about))
    hashes: dict[int, str] = {}  # of pictures and graphs, which many questions share, by their id

    def hash_of(thing: Any, content: Callable[[Any], bytes]) -> str:
        if id(thing) not in hashes:
            hashes[id(thing)] = hashlib.sha256(content(thing)).hexdigest()
        return hashes[id(thing)]

    keys = []
    for question in questions:
        probe, graph = question.probe, None
        if isinstance(probe, PresenceProbe) and probe.graph is not None:
            graph = hash_of(probe.graph, lambda graph: repr(graph).encode())
        pictures = [hash_of(image, _picture) for image in question.images]
        key = start.copy()
        messages = [sorted(message.items()) for message in question.messages]
        key.update(_json([messages, pictures, repr(probe), graph, question.description, question.top]))
        keys.append(key.hexdigest()[:32])
    return keys


def _picture(image: Any) -> bytes:
    """All that decides how a PIL image looks."""
    pixels = image.tobytes()  # first, as a file is read only now
    shown = (image.getpalette(), image.info.get("transparency"), image.getexif().get(Base.Orientation))
    return repr((image.mode, image.size, *shown)).encode() + pixels


def _packed_rating(rating: Rating) -> bytes:
    return _json({"probabilities": dict(rating.probabilities), "mass": rating.mass, "cut": rating.cut})


def _rating(packed: bytes) -> Rating:
    return Rating(**json.loads(packed))


def _json(data: Any) -> bytes:
    """Without escapes, in which two lone surrogates and the emoji that they are together would be the same."""
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")
