"""TransformersJudge: neither the batch, the order nor a shared beginning changes an answer."""

import inspect
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from spanreward import Failure, Status, load_judge
from spanreward.rewards.judges.encoding.prompt import groups_of_prompts, shared_length
from spanreward.rewards.judges.local.forward_names import cache_name, selects_positions
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from tests.support.fakes import asked as prompts
from tests.support.tiny_models import ask, check_alone_and_together, close, questions, save_llama


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("tiny")
    save_llama(folder)
    # a random model puts little on the digits
    return TransformersJudge(str(folder), batch_size=4, min_mass=0.0)


def test_neither_the_batch_nor_the_order_changes_an_answer(judge: Any) -> None:
    check_alone_and_together(judge, questions())


def test_ratings_from_the_likeliest_tokens(judge: Any) -> None:
    """Of the model's 20 likeliest tokens those with a digit from 1 to 5 in them."""
    asked = [replace(question, top=20) for question in questions()]
    judge.start()
    expected = []
    for question in asked:
        ids = torch.tensor([judge.encoder.encode(question.messages)])
        with torch.inference_mode():
            best = judge._model(ids).logits[0, -1].float().softmax(-1).topk(20)
        masses = dict.fromkeys("12345", 0.0)
        for number, p in zip(best.indices.tolist(), best.values.tolist(), strict=True):
            for digit in masses:
                masses[digit] += p * (digit in judge.encoder.decode([number]))
        mean = sum(int(digit) * p for digit, p in masses.items()) / (sum(masses.values()) or 1)
        expected.append(pytest.approx(mean, abs=1e-4) if mean else None)
    given = [None if isinstance(rating, Failure) else rating.mean for rating in judge.rate(asked)]
    assert given == expected
    assert len({value for value in given if value is not None}) > 2  # or it would show nothing


def test_questions_that_are_read_differently_stand_in_one_call(judge: Any) -> None:
    exact = questions()[:6]
    top = [replace(question, top=20) for question in exact]
    mixed = judge.rate([question for pair in zip(exact, top, strict=True) for question in pair])
    assert close(mixed[::2], judge.rate(exact))
    assert [type(one) for one in mixed[1::2]] == [type(one) for one in judge.rate(top)]


def test_prefixes_are_computed_once(judge: Any) -> None:
    before, asked = copy(judge.usage), questions()
    judge.rate(asked)
    used = judge.usage.since(before)
    distinct = {tuple(judge.encoder.encode(question.messages)) for question in asked}
    assert len(distinct) == len(asked) - 1  # one is asked twice, and answered once
    assert used.prompt_tokens == sum(map(len, distinct))
    assert 0.3 * used.prompt_tokens < used.cached_tokens < used.prompt_tokens
    assert used.questions == len(asked)


def test_too_long_a_question_fails_alone(judge: Any) -> None:
    first, second, third = judge.rate(prompts("Rate it.", "1 " * 20_000, "Rate it."))
    # float32: where a row stands in its batch moves the seventh digit
    assert close([first], [third])
    assert second.status is Status.ERROR
    assert "tokens long" in second.message


@contextmanager
def short_of_memory(judge: TransformersJudge, rows: int, token: int | None = None) -> Iterator[Any]:
    """As a GPU that holds so many rows at a time; and none with this token."""

    def check(model: Any, arguments: Any, options: Any) -> None:
        ids = options["input_ids"]
        if len(ids) > rows or (token is not None and bool((ids == token).any())):
            raise torch.OutOfMemoryError("CUDA out of memory")

    judge.start()
    handle = judge._model.register_forward_pre_hook(check, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_out_of_memory_is_tried_with_half(judge: Any, rows: int) -> None:
    asked = questions()
    expected, written = judge.rate(asked), judge.write(asked, 3)
    before = judge.usage.retries
    with short_of_memory(judge, rows):
        assert close(judge.rate(asked), expected)
        assert judge.usage.retries > before
        assert judge.write(asked, 3) == written


def test_a_question_too_large_for_memory_fails_alone(judge: Any) -> None:
    asked = questions()
    expected = judge.rate(asked)
    (token,) = judge.encoder.tokenizer.encode("X", add_special_tokens=False)
    with short_of_memory(judge, 4, token):
        *others, failure = judge.rate([*asked, *prompts("XXX")])
    assert close(others, expected)
    assert failure.status is Status.ERROR
    assert "out of memory" in failure.message
    assert judge.usage.peak_memory_bytes == 0  # of a CPU it is not known


def test_the_callers_mistakes_are_raised(judge: Any) -> None:
    with pytest.raises(ValueError, match="a rating reads one"):
        judge.rate(questions(), scale=("good", "abominable"))
    with pytest.raises(ValueError, match=r"text only \(.*llama\)"):
        judge.write_ids([ask("Rate it.", "picture")], 4)


def test_pickled_as_settings(judge: Any) -> None:
    judge.start()
    packed = pickle.dumps(judge)
    assert len(packed) < 2000
    assert pickle.loads(packed).name == judge.name
    assert close(pickle.loads(packed).rate(questions()[:2]), judge.rate(questions()[:2]))


def test_groups_by_shared_beginnings() -> None:
    a, b = [1, 2, 3, 4, 5, 6], [1, 2, 9, 9, 9, 9]
    prompts = sorted([[*a, 1], [*a, 2], [*a, 3, 3], [*b, 1], [*b, 2]])
    assert groups_of_prompts(prompts) == [(0, 3), (3, 5)]
    assert groups_of_prompts([[1, 2], [1, 3], [1, 4]]) == [(0, 3)]
    assert groups_of_prompts([[5]]) == [(0, 1)]
    assert shared_length([[1, 2, 3], [1, 2, 3]]) == 2  # one token must be left to ask with
    assert shared_length([[1, 2], [1, 2, 3], [1, 5]]) == 1


def test_load_judge_loads_nothing(tmp_path: Path) -> None:
    judge = load_judge(f"transformers:{tmp_path}/missing")
    assert isinstance(judge, TransformersJudge)
    with pytest.raises(FileNotFoundError, match="is no folder"):
        judge.start()


@pytest.mark.parametrize(
    ("rank", "devices", "device"),
    [(None, 4, "cuda:0"), ("3", 4, "cuda:3"), ("3", 1, "cuda:0"), ("5", 4, "cuda:1")],
)
def test_each_rank_has_a_device(monkeypatch: Any, rank: Any, devices: int, device: str) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: devices)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("LOCAL_RANK", rank)
    judge = TransformersJudge("smollm2")
    assert (judge.device, judge.dtype) == (device, "bfloat16")
    assert TransformersJudge("smollm2", dtype="float32").dtype == "float32"
    assert TransformersJudge("smollm2", device="cpu").dtype == "float32"


class Output(SimpleNamespace):
    """What a forward returns: fields by attribute or by name."""

    def __getitem__(self, name: str) -> Any:
        return vars(self)[name]


class Forwarding:
    """A loaded model behind a forward with these arguments, as another transformers has it."""

    def __init__(self, model: Any, arguments: str) -> None:
        self.model, self.base_model, self.device = model, model.base_model, model.device
        keyword = inspect.Parameter.KEYWORD_ONLY
        named = [inspect.Parameter(name, keyword) for name in arguments.split()]

        def forward(**given: Any) -> Any:
            return self(**given)

        forward.__signature__ = inspect.Signature(named)
        self.forward = forward

    def __call__(self, **given: Any) -> Any:
        assert set(given) <= set(inspect.signature(self.forward).parameters)
        name, installed = cache_name(self), str(cache_name(self.model))
        if name in given:
            given[installed] = given.pop(name)
        output = self.model(**given)
        cache = {name: output[installed]} if given["use_cache"] else {}
        return Output(logits=output.logits, **cache)


ARGUMENTS = {
    "before 5.24": "input_ids past_key_values use_cache logits_to_keep",
    "from 5.24 on": "input_ids cache use_cache logits_to_keep",
    "nothing of earlier tokens, and the logits of all": "input_ids use_cache",
}


@pytest.mark.parametrize("version", ARGUMENTS)
def test_ratings_are_the_same_by_every_signature(version: str, judge: Any) -> None:
    """And so no rating depends on what transformers calls a forward's arguments."""
    other = TransformersJudge(judge.model, batch_size=4, min_mass=0.0)
    other.start()
    other._model = Forwarding(other._model, ARGUMENTS[version])
    other._cache_name = cache_name(other._model)
    other._selects_positions = selects_positions(other._model)
    assert close(other.rate(questions()), judge.rate(questions()))
    assert (other.usage.cached_tokens > 0) == (" 5.24" in version)


def test_what_the_judge_gives_a_model_is_in_its_signature(judge: Any) -> None:
    """With the transformers that is installed here: nothing goes to **kwargs."""
    judge.start()
    model: Any = judge._model
    given: set[str] = set()
    hook = model.register_forward_pre_hook(
        lambda _, __, names: given.update(names), with_kwargs=True
    )
    judge.rate(questions())
    hook.remove()
    assert {"input_ids", "use_cache", "logits_to_keep", cache_name(model)} <= given
    assert given <= set(inspect.signature(model.forward).parameters)
