"""A judge that keeps the answers of another judge in a file, for all steps, runs and processes.

    # the file is in the cache folder; path="ratings.sqlite" is another place
    judge = CachedJudge(TransformersJudge("smollm2"))
    with judge:
        judge.rate(questions)  # the inner judge wakes at the first question without an answer
    judge.hits, judge.misses

The key of an answer is a hash of four things: READING_VERSION; the inner judge's name, which
depends on its weights, chat template and settings; the scale or max_tokens; and every field of the
question. Failures are not written to the file. If the file cannot be used, the inner judge answers
all questions (`Store`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from spanreward.rewards.files import CACHE_FOLDER
from spanreward.rewards.files.json_lines import exact_json
from spanreward.rewards.judges.cache.store import Store
from spanreward.rewards.judges.judge import Failure, Judge, OuterJudge, Question, Rating
from spanreward.rewards.judges.question import question_keys
from spanreward.rewards.judges.usage import Usage

# The version of this package's way to ask judges and to read their answers, a part of every key.
# Raise READING_VERSION in a commit after which the same judge may give another answer to the same
# question:
# - encoding/ makes other tokens of a chat;
# - a rating is read in another way from log-probabilities or from a text (encoding/chat.py,
#   remote/, function_judge.py, experimental/encoder_judge.py);
# - a picture is converted in another way (rows/pictures.py).
# Changes of MatchJudge need no new READING_VERSION, because its name has the
# MATCH_VERSION of match_judge.py.
READING_VERSION = 1


class CachedJudge(OuterJudge):
    """A judge that keeps another judge's answers in a file.

    Args:
        judge: the inner judge, which gives the answers that are not in the file.
        path: the file; None is `ratings.sqlite` in the cache folder.
        max_bytes: the largest size of the file, see `Store`.

    Attributes:
        hits: how many questions the file answered, plus questions that repeated another question of
            the same call.
        misses: how many questions the inner judge got.

    Raises:
        ValueError: for a path to a file that is no cache of ratings, or of another version.
    """

    _takes_shared = True

    def __init__(
        self,
        judge: Judge,
        path: str | Path | None = None,
        max_bytes: int = 1 << 30,
    ) -> None:
        super().__init__(judge)
        file = CACHE_FOLDER / "ratings.sqlite"
        if path is not None:
            file = Path(path).expanduser()
        self.store = Store(file, max_bytes)
        self.misses = 0
        self._awake = False  # whether this judge has woken the inner judge

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state["misses"] = 0
        state["_awake"] = False
        return state

    @property
    def hits(self) -> int:
        return self.questions - self.misses

    @property
    def usage(self) -> Usage:
        """The inner judge's usage, plus the questions that the file answered."""
        inner = self.judge.usage
        cached = self.hits + inner.cached  # the inner judge may also have a cache
        return replace(inner, questions=self.questions, cached=cached)

    def __enter__(self) -> Self:  # does not wake the inner judge: the file may have all answers
        self._depth += 1
        return self

    def __exit__(self, *error: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._awake:
            self._awake = False
            self.judge.__exit__(*error)

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Returns a rating for each question, in order. Known ratings are read from the file, and
        the judge is asked only the other questions.
        """
        keys = self._keys(questions, {"scale": list(scale)})
        ratings: dict[str, Any] = {}
        for key, fields in self._look_up(keys).items():
            ratings[key] = Rating(**fields)
        ask = partial(self.judge.rate, scale=scale)
        return self._complete(ratings, keys, questions, ask)

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns a text for each question, in order. Known texts are read from the file, and the
        judge is asked only the other questions.
        """
        keys = self._keys(questions, {"write": max_tokens})
        texts = self._look_up(keys)
        ask = partial(self.judge.write, max_tokens=max_tokens)
        return self._complete(texts, keys, questions, ask)

    def _complete(
        self,
        answers: Mapping[str, Any],
        keys: Sequence[str],
        questions: Sequence[Question],
        ask: Callable[[Sequence[Question]], Sequence[Any]],
    ) -> list[Any]:
        """Returns an answer for each question, in order: the known answer, or the inner judge's
        answer, which is also written to the file.

        answers: the known answers, by key. keys: the key of each question. ask: asks the inner
        judge; not called if all answers are known.
        """
        unknown = _unanswered_questions(answers, keys, questions)
        new: dict[str, Any] = {}
        if unknown:
            with self:
                self._wake_inner()
                new = dict(zip(unknown, ask(list(unknown.values())), strict=True))
            self._write_answers(new)
        self.misses += len(unknown)
        complete = {**answers, **new}
        return [complete[key] for key in keys]

    def _keys(self, questions: Sequence[Question], request: Mapping[str, Any]) -> list[str]:
        """Returns the key of each question's answer. Everything that can change the answer is part
        of the key.

        request: the other argument of the call, such as {"scale": ["1", "2", "3"]} or
        {"write": 64} (`max_tokens`).
        """
        about = {"reading": READING_VERSION, "judge": self.name, **request}
        return question_keys(questions, about)

    def _look_up(self, keys: Sequence[str]) -> dict[str, Any]:
        """Returns the answers that the file has, by key: a text, or the fields of a Rating. A key
        without an answer is left out.
        """
        answers: dict[str, Any] = {}
        for key, value in self.store.read(keys).items():
            answers[key] = json.loads(value)
        return answers

    def _wake_inner(self) -> None:
        """Wakes the inner judge. The inner judge then stays awake until the outermost `with` of the
        cached judge ends.
        """
        if not self._awake:
            self.judge.__enter__()  # `__exit__` of the cached judge calls the inner `__exit__`
            self._awake = True

    def _write_answers(self, answers: Mapping[str, Rating | str | Failure]) -> None:
        """Writes the answers to the file, by key, without Failures."""
        values: dict[str, bytes] = {}
        for key, answer in answers.items():
            if not isinstance(answer, Failure):
                values[key] = _as_json(answer)
        self.store.write(values)


def _unanswered_questions(
    answers: Mapping[str, Any],
    keys: Sequence[str],
    questions: Sequence[Question],
) -> dict[str, Question]:
    """Returns the questions whose key has no answer yet, by key."""
    unanswered: dict[str, Question] = {}
    for key, question in zip(keys, questions, strict=True):
        if key not in answers:
            unanswered[key] = question
    return unanswered


def _as_json(answer: Rating | str) -> bytes:
    """Returns an answer as JSON: a text as a string, a Rating as an object with its fields.

    Rating({"1": 0.2, "2": 0.8}) gives {"probabilities": {"1": 0.2, "2": 0.8}, "mass": 1.0, "cut":
    0}.
    """
    if isinstance(answer, str):
        return exact_json(answer)
    fields: dict[str, Any] = {
        "probabilities": dict(answer.probabilities),
        "mass": answer.mass,
        "cut": answer.cut,
    }
    # Most ratings were not read from samples. Without this field they have the same form as in
    # files of older versions.
    if answer.samples:
        fields["samples"] = answer.samples
    return exact_json(fields)
