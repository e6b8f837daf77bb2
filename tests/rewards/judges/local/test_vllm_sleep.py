"""VllmJudge wakes, sleeps and fails on a stand-in for vLLM, whose CPU build cannot sleep."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, Mock

import psutil
import pytest
from transformers import LlamaConfig

from spanreward import Rating, Status
from spanreward.rewards.judges.local.vllm_engine import Guard, one_at_a_time
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from tests.support.fake_vllm import GB, install
from tests.support.fakes import asked
from tests.support.tokenizer import tokenizer

ASK = asked("Rate it from 1 to 5: 4")
ENGINE = "spanreward.rewards.judges.local.vllm_engine"
JUDGE = "spanreward.rewards.judges.local.vllm_judge"


def rated(judge: VllmJudge) -> None:
    """Wakes, rates, and sleeps."""
    with judge:
        assert isinstance(judge.rate(ASK)[0], Rating)


def ends(fake: Any) -> list[str]:
    """What was done last with each engine."""
    return [engine.called[-1] for engine in fake.built]


def sleeping_child() -> Any:
    child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(1000,))
    child.start()
    return child


def noting(name: str) -> tuple[list[Any], Callable[..., None]]:
    """What is called of an engine, with the value of an environment variable then."""
    seen: list[Any] = []
    return seen, lambda self, called: seen.append((called, os.environ.get(name)))


@pytest.fixture(autouse=True)
def own_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Real engines that start elsewhere on this machine are not waited for."""
    monkeypatch.setattr(f"{ENGINE}.CACHE_FOLDER", tmp_path)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A stand-in for vLLM."""
    return install(monkeypatch)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with what a judge reads before its engine starts."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer().save_pretrained(folder)
    LlamaConfig(vocab_size=256, max_position_embeddings=512).save_pretrained(folder)
    return str(folder)


def test_exact_ids_and_likeliest_tokens_never_mix(fake: Any, monkeypatch: Any, model: str) -> None:
    """vLLM (read in 0.33) gives a row without exact ids minus infinity beside one with them."""
    batches: list[tuple[int, bool]] = []
    generate = fake.generate

    def noted(self: Any, requests: list[Any], params: Any, **others: Any) -> Any:
        batches.append((len(requests), params.logprobs is None))
        assert batches[-1][1] != (params.logprob_token_ids is None)
        return generate(self, requests, params, **others)

    monkeypatch.setattr(fake, "generate", noted)
    plain = asked(*(f"Rate it from 1 to 5: {number}" for number in range(6)))
    with VllmJudge(model, memory=2e9) as judge:
        judge.rate([replace(one, top=20 * (n % 2)) for n, one in enumerate(plain)])
    assert sorted(batches[-2:]) == [(3, False), (3, True)]


def test_it_sleeps_at_level_1_outside_of_with_and_is_checked_anew(fake: Any, model: str) -> None:
    judge = VllmJudge(model, memory=2e9)
    with judge:
        rated(judge)
    rated(judge)
    with pytest.raises(ZeroDivisionError), judge:
        _ = 1 / 0
    (engine,) = fake.built
    assert engine.called == [
        *("start", "check", "generate", "sleep1"),
        *("wake_up", "check", "generate", "sleep1", "wake_up", "check", "sleep1"),
    ]
    # without a share of 1 % vLLM would ask for 92 % of the device to be free
    names = ("enable_sleep_mode", "kv_cache_memory_bytes", "gpu_memory_utilization")
    assert [engine.options[name] for name in names] == [True, 2_000_000_000, 0.01]
    assert min(judge.usage.wake_seconds, judge.usage.sleep_seconds) > 0
    judge.close()
    assert ends(fake) == ["shutdown"]


def test_started_early_it_sleeps_until_it_is_asked(fake: Any, model: str) -> None:
    judge = VllmJudge(model)
    judge.start()
    judge.start()
    (engine,) = fake.built
    assert engine.called == ["start", "check", "sleep1"]
    rated(judge)
    assert engine.called[3:] == ["wake_up", "check", "generate", "sleep1"]
    packed = pickle.dumps(judge)
    assert len(packed) < 2000
    rated(pickle.loads(packed))  # with an engine of its own
    assert len(fake.built) == 2


def test_ranks_on_the_same_devices_are_refused(fake: Any, monkeypatch: Any, model: str) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    with pytest.raises(ValueError, match=r"tensor_parallel=2 would put .* server:URL#MODEL"):
        VllmJudge(model, tensor_parallel=2).start()
    assert fake.built == []


def test_the_engine_has_no_store_of_torchrun(fake: Any, monkeypatch: Any, model: str) -> None:
    seen, note = noting("TORCHELASTIC_USE_AGENT_STORE")
    monkeypatch.setattr(fake, "_call", note)
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    VllmJudge(model).start()
    assert seen[0] == ("start", "False")
    assert os.environ["TORCHELASTIC_USE_AGENT_STORE"] == "True"


def with_gpus(monkeypatch: pytest.MonkeyPatch, count: int) -> list[int]:
    """As if the process saw so many GPUs. Returns those whose free memory is asked."""
    asked: list[int] = []

    def free(gpu: int) -> tuple[int, int]:
        asked.append(gpu)
        return list(range(count))[gpu], 80 * GB

    given = {"is_available": True, "device_count": count, "init": None, "empty_cache": None}
    for name, value in given.items():
        monkeypatch.setattr(f"torch.cuda.{name}", Mock(return_value=value))
    monkeypatch.setattr("torch.cuda.mem_get_info", free)
    named = Mock(side_effect=lambda gpu: SimpleNamespace(uuid=f"GPU-{gpu}"))
    monkeypatch.setattr("torch.cuda.get_device_properties", named)
    return asked


# LOCAL_RANK, what is visible, how many; what the engine sees, whose memory is asked
GPUS = [("1", "4,5", 2, "5", 1), ("3", None, 4, "3", 3), (None, "4,5", 2, "4,5", 0)]
# SLURM's ways
GPUS += [("3", "3", 1, "3", 0), ("3", None, 1, "0", 0), ("3", "GPU-5ca1", 1, "GPU-5ca1", 0)]


@pytest.mark.parametrize("case", GPUS)
def test_a_rank_has_its_gpu(fake: Any, monkeypatch: Any, model: str, case: Any) -> None:
    """If CUDA starts inside the pinned environment, other devices stay invisible."""
    rank, visible, count, pinned, index = case
    asked = with_gpus(monkeypatch, count)
    order, note = noting("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr(fake, "_call", note)
    monkeypatch.setattr("torch.cuda.init", lambda: note(None, "init"))
    for name, value in (("LOCAL_RANK", rank), ("CUDA_VISIBLE_DEVICES", visible)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    VllmJudge(model).start()
    assert order[:2] == [("init", visible), ("start", pinned)]
    assert order[-1] == ("sleep1", visible)
    assert set(asked) == {index}


def test_engines_start_one_after_another_on_the_same_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch, 8)
    started = []

    def start(gpus: Sequence[int]) -> threading.Thread:
        def wait() -> None:
            with one_at_a_time(gpus):
                started.append(list(gpus))

        thread = threading.Thread(target=wait)
        thread.start()
        return thread

    with one_at_a_time([1]):
        start([0]).join(10.0)
        assert started == [[0]]
        waiting = [start([1]), start(range(8))]  # the second is a judge on all GPUs
        time.sleep(0.2)
        assert started == [[0]]
    for thread in waiting:
        thread.join(10.0)
    assert len(started) == 3


def test_several_gpus_are_all_waited_for(monkeypatch: Any, model: str, tmp_path: Path) -> None:
    install(monkeypatch)
    VllmJudge(model).start()
    with_gpus(monkeypatch, 4)
    monkeypatch.setenv("LOCAL_RANK", "2")
    VllmJudge(model).start()
    found = {file.name for file in tmp_path.glob("*.lock")}
    assert found == {"vllm-start-cpu.lock", "vllm-start-GPU-2.lock"}
    monkeypatch.setenv("LOCAL_RANK", "0")
    VllmJudge(model, tensor_parallel=2).start()
    assert len(list(tmp_path.glob("vllm-start-GPU-*.lock"))) == 4


def test_a_vllm_that_lacks_what_is_used_is_named(fake: Any, monkeypatch: Any, model: str) -> None:
    told = r"vLLM 0\.32\.0 .* {}.*'vllm>=0\.28,<0\.34'"
    with monkeypatch.context() as patch:
        patch.delattr("tests.support.fake_vllm.Environment.disable_envs_cache")
        with pytest.raises(RuntimeError, match=told.format("disable_envs_cache")):
            VllmJudge(model).start()
    assert fake.built == []
    start = fake.__init__

    def without(self: Any, **options: Any) -> None:
        start(self, **options)
        del self.llm_engine.engine_core

    monkeypatch.setattr(fake, "__init__", without)
    with pytest.raises(RuntimeError, match=told.format(r"llm_engine\.engine_core\.shutdown")):
        VllmJudge(model).start()


def test_out_of_memory_on_wake_is_explained_and_fails_the_step(fake: Any, model: str) -> None:
    judge = VllmJudge(model)
    rated(judge)
    full = [RuntimeError("CUDA out of memory") for _ in range(2)]
    fake.raises = {"wake_up": full[:1], "start": full[1:]}
    with judge:
        (failure,) = judge.rate(ASK)
        assert judge.rate(ASK) == judge.write(ASK, max_tokens=3) == [failure]
    assert len(fake.built) == 1  # neither of the later calls tried again
    assert failure.status is Status.ERROR
    for told in ("RuntimeError: CUDA out of memory", "memory=", "server"):
        assert told in failure.message
    rated(judge)
    assert len(fake.built) == 2


def test_a_judge_that_cannot_sleep_is_closed(fake: Any, model: str) -> None:
    judge = VllmJudge(model)
    fake.raises = {"sleep1": [RuntimeError("no room in main memory")]}
    rated(judge)
    assert fake.built[0].called == ["start", "check", "generate", "sleep1", "shutdown"]
    rated(judge)


def test_beside_trls_colocated_engine_it_has_its_own_process(monkeypatch: Any, model: str) -> None:
    """TRL's engine is within the process, where only one can sleep, and vLLM keeps its view."""
    fake = install(monkeypatch, colocated=True)
    envs = sys.modules["vllm"].envs
    judge = VllmJudge(model)
    with judge:
        judge.rate(ASK)
        fake.raises = {"generate": [RuntimeError("the engine died")]}
        assert isinstance(judge.rate(ASK)[0], Rating)
    assert len(fake.built) == 2
    assert not envs.VLLM_ENABLE_V1_MULTIPROCESSING  # TRL's engine sees what it saw
    assert envs._is_envs_cache_enabled()


def test_one_that_wakes_badly_or_with_other_weights_is_started_anew(fake: Any, model: str) -> None:
    """Finite answers are not enough: an adapter came back wrong without a word (vLLM #53888)."""
    judge = VllmJudge(model)
    judge.start()
    for logprob, built in ((-1.05, 1), (-1.5, 2), (float("nan"), 3)):
        fake.logprob = logprob
        rated(judge)
        assert len(fake.built) == built
    fake.raises = {"check": [RuntimeError("the judge answers with nan")]}
    rated(judge)
    assert ends(fake) == [*["shutdown"] * 3, "sleep1"]


def test_an_engine_sleeps_before_the_next_one_starts(
    fake: Any, monkeypatch: Any, model: str
) -> None:
    """The next one on its GPU measures what is free there."""
    order = Mock()
    monkeypatch.setattr(f"{JUDGE}.one_at_a_time", order.lock)
    order.lock.return_value = MagicMock(__exit__=order.unlock)
    monkeypatch.setattr(fake, "sleep", order.sleep)
    VllmJudge(model).start()
    assert [call[0] for call in order.method_calls] == ["lock", "sleep", "unlock"]


@pytest.mark.parametrize(("use", "call"), [(VllmJudge.start, "check"), (rated, "generate")])
def test_an_engine_is_not_left_behind(fake: Any, model: str, use: Any, call: str) -> None:
    fake.raises = {call: [KeyboardInterrupt()]}
    with pytest.raises(KeyboardInterrupt):
        use(VllmJudge(model))
    assert fake.built[0].called[-2:] == [call, "shutdown"]


def test_a_start_that_fails_leaves_no_process(fake: Any, monkeypatch: Any, model: str) -> None:
    monkeypatch.setattr(f"{JUDGE}.END_SECONDS", 0.1)
    children = []

    def start(self: object, **options: object) -> None:
        children.append(sleeping_child())
        raise KeyboardInterrupt

    monkeypatch.setattr(fake, "__init__", start)
    with pytest.raises(KeyboardInterrupt):
        VllmJudge(model).start()
    assert [child.is_alive() for child in children] == [False]


def test_a_dead_engine_is_left_alone(fake: Any, monkeypatch: Any, model: str) -> None:
    """vLLM itself never comes back from a call in whose middle its process is killed."""
    never = threading.Event()
    judge = VllmJudge(model)
    with judge:
        judge.rate(ASK)
        child = sleeping_child()
        judge._processes = [child]

        def generate(self: object, *asked: object, **options: object) -> None:
            child.kill()
            never.wait()

        with monkeypatch.context() as patch:
            patch.setattr(fake, "generate", generate)
            patch.setattr(fake, "__init__", lambda self, **options: 1 / 0)
            (failure,) = judge.rate(ASK)
    never.set()
    assert "then ZeroDivisionError" in failure.message


def test_a_hanging_engine_is_given_up_in_time(fake: Any, monkeypatch: Any, model: str) -> None:
    judge = VllmJudge(model, deadline=1.0)
    judge.start()
    never = threading.Event()
    with monkeypatch.context() as patch, judge:
        patch.setattr(fake, "generate", lambda *_, **__: never.wait())
        late, later = judge.rate(ASK)[0], judge.rate(ASK)[0]
    assert late.status is later.status is Status.TIMEOUT
    assert "within 1 s" in late.message
    assert ends(fake) == ["shutdown"]
    never.set()
    judge.deadline = 60.0
    rated(judge)


def sleep_beside_a_guarded_child(sender: Any) -> None:
    child = subprocess.Popen(["sleep", "1000"])
    guard = Guard([child.pid])
    sender.send(child.pid)
    time.sleep(1000)
    guard.release()


def test_a_guarded_process_does_not_outlive_a_killed_parent() -> None:
    receiver, sender = multiprocessing.Pipe()
    fork = multiprocessing.get_context("fork")
    parent = fork.Process(target=sleep_beside_a_guarded_child, args=(sender,))
    parent.start()
    child = psutil.Process(receiver.recv())
    parent.kill()
    parent.join()
    psutil.wait_procs([child], timeout=60)
    assert not child.is_running()


def test_a_released_guard_is_gone_and_kills_nobody() -> None:
    child = subprocess.Popen(["sleep", "1000"])
    guard = Guard([child.pid])
    guard.release()
    time.sleep(0.1)
    assert child.poll() is None
    child.kill()
    child.wait()
    guard.release()
