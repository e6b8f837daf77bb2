"""A judge with a cache in a file, for all steps, runs and processes.

    judge = CachedJudge(TransformersJudge("smollm2"))
    # in the cache folder, or path="ratings.sqlite"
    with judge:
        judge.rate(questions)  # the inner judge wakes at the first unknown question
    judge.hits, judge.misses

The key of an answer has: the version of this package and the code of its judges (which encodes
questions and reads answers), the inner judge's name (weights and settings), the scale or
max_tokens, and every field of the question. Failures are not kept. If the file cannot be used, the
inner judge is asked (see `Store`).
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self, TypeVar

from PIL.ExifTags import Base

from spanreward.rewards.files import CACHE
from spanreward.rewards.judges.judge import (
    RATING_SCALE,
    Failure,
    Judge,
    OuterJudge,
    Question,
    Rating,
    sound,
)
from spanreward.rewards.judges.probe import PresenceProbe
from spanreward.rewards.judges.shared.store import Store
from spanreward.rewards.judges.usage import Usage

T = TypeVar("T", Rating, str)


class CachedJudge(OuterJudge):
    """A judge that keeps another judge's answers in a file.

    Args:
        judge: the inner judge, which is asked for answers that are not in the file.
        path: the file; None is `ratings.sqlite` in the cache folder.
        max_bytes: the file's size, see `Store`.

    Attributes:
        hits: questions that the file answered, or that repeated another question of the same call.
        misses: questions to the inner judge.

    Raises:
        ValueError: for a path to a file of another kind or version.
    """

    def __init__(
        self, judge: Judge, path: str | Path | None = None, max_bytes: int = 1 << 30
    ) -> None:
        super().__init__(judge)
        self.store = Store(
            CACHE / "ratings.sqlite" if path is None else Path(path).expanduser(), max_bytes
        )
        self.hits = 0
        self.misses = 0
        self._awake = False

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "hits": 0, "misses": 0, "_awake": False}

    @property
    def usage(self) -> Usage:
        """The inner judge's usage, plus the questions that the file answered."""
        inner = self.judge.usage
        return replace(inner, questions=self.hits + self.misses, cached=self.hits + inner.cached)

    def __enter__(self) -> Self:
        self._depth += 1
        return self

    def __exit__(self, *error: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._awake:
            self._awake = False
            self.judge.__exit__(*error)

    def rate(
        self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE
    ) -> list[Rating | Failure]:
        about = {"scale": list(scale)}
        return self._answers(
            lambda kept: Rating(**kept), questions, about, lambda new: self.judge.rate(new, scale)
        )

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        return self._answers(
            str, questions, {"write": max_tokens}, lambda new: self.judge.write(new, max_tokens)
        )

    def _answers(
        self,
        unpack: Callable[[Any], T],
        questions: Sequence[Question],
        about: Mapping[str, Any],
        ask: Callable[[list[Question]], list[T | Failure]],
    ) -> list[T | Failure]:
        made_by = {"spanreward": version("spanreward"), "code": code_hash(), "judge": self.name}
        keys = question_keys(questions, {**made_by, **about})
        found = self.store.read(list(dict.fromkeys(keys)))
        answers: dict[str, T | Failure] = {
            key: unpack(json.loads(value)) for key, value in found.items()
        }
        unknown = {
            key: question
            for key, question in zip(keys, questions, strict=True)
            if key not in answers
        }
        if unknown:
            with self:
                if not self._awake:  # once until the outermost `with` ends
                    self.judge.__enter__()
                    self._awake = True
                new = dict(zip(unknown, ask(list(unknown.values())), strict=True))
            self.store.write(
                {
                    key: _packed(answer)
                    for key, answer in new.items()
                    if not isinstance(answer, Failure)
                }
            )
            answers.update(new)
        self.hits += len(questions) - len(unknown)
        self.misses += len(unknown)
        return [answers[key] for key in keys]


@cache
def code_hash(package: Path = Path(__file__).parents[2]) -> str:
    """Hash of the code that turns a question into an answer: judges, and what they read texts and
    pictures with.
    """
    files = [
        file
        for name in ("files", "text", "language", "judges")
        for file in (package / name).rglob("*.py")
    ]
    return _sha256(b"\0".join(path.read_bytes() for path in sorted(files)))


def rate_once(
    judge: Judge, questions: Sequence[Question | Failure], scale: Sequence[str] = RATING_SCALE
) -> list[Rating | Failure]:
    """Rates all questions in one call, equal ones once; none without questions.

    A Failure is returned in its place.
    """
    return _once(questions, lambda distinct: sound(judge.rate(distinct, scale)))


def write_once(
    judge: Judge, questions: Sequence[Question | Failure], max_tokens: int
) -> list[str | Failure]:
    """Like `rate_once`, for texts."""
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
    """Hash (32 hex digits) of each question and of `about` (plain data).

    A probe counts by its repr; a PresenceProbe also by its graph, from which MatchJudge answers.
    """
    graphs = [
        question.probe.graph if isinstance(question.probe, PresenceProbe) else None
        for question in questions
    ]
    graph_hashes = _hashes_by_id(
        (graph for graph in graphs if graph is not None), lambda graph: repr(graph).encode()
    )
    picture_hashes = _hashes_by_id(
        (image for question in questions for image in question.images), _picture
    )
    keys = []
    for question, graph in zip(questions, graphs, strict=True):
        messages = [sorted(message.items()) for message in question.messages]
        pictures = [picture_hashes[id(image)] for image in question.images]
        content = [messages, pictures, repr(question.probe), graph_hashes.get(id(graph))]
        content += [question.description, question.top]
        keys.append(_sha256(_json(about) + _json(content))[:32])
    return keys


def _hashes_by_id(things: Iterable[Any], content: Callable[[Any], bytes]) -> dict[int, str]:
    """Hashes each object once, by its id(): many questions share a picture or a graph."""
    distinct = {id(thing): thing for thing in things}
    return {key: _sha256(content(thing)) for key, thing in distinct.items()}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _picture(image: Any) -> bytes:
    """Everything that decides how a PIL image looks."""
    pixels = image.tobytes()  # first, because this reads the file
    shown = (
        image.getpalette(),
        image.info.get("transparency"),
        image.getexif().get(Base.Orientation),
    )
    return repr((image.mode, image.size, *shown)).encode() + pixels


def _packed(answer: Rating | str) -> bytes:
    if isinstance(answer, Rating):
        return _json(
            {"probabilities": dict(answer.probabilities), "mass": answer.mass, "cut": answer.cut}
        )
    return _json(answer)


def _json(data: Any) -> bytes:
    """Without escapes: escaped, two lone surrogates would equal the emoji that they form
    together.
    """
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")
