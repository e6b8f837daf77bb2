"""docs/other_trainers: the same rewards behind other trainers, or what stands for them."""

import asyncio
import importlib
import importlib.util
import inspect
import json
import math
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import httpx2 as httpx
import pytest
from PIL import Image
from pydantic import BaseModel

from experiments.elsewhere.verl_batch import FILE, TEXTS as RESPONSES, responses
from experiments.scenes.policy import tiny_tokenizer
from spanreward import MatchJudge, PoshReward, Recorder, RemoteReward, Sample, Verdict
from spanreward.rewards.base.verdict import Status
from spanreward.rewards.reward.batching import BatchingReward, JudgeFailed
from spanreward.rewards.reward.reward import Reward
from spanreward.training.grpo.by_group import group_advantages
from tests.support.paths import ROOT
from tests.support.served import served
from tests.support.server import IDS, Server
from tests.support.tiny_models import save_llama
from tests.support.tokenizer import tokenizer

TEXTS = ("A red circle.", "A blue circle.", "")
REFERENCE = "A red circle above a square."
FAILED = Verdict(None, Status.TIMEOUT, note="no answer")
DOCS = ROOT / "docs" / "other_trainers"


def expected() -> list[float | None]:
    return PoshReward(MatchJudge())([""] * 3, list(TEXTS), reference=[REFERENCE] * 3)


def load(name: str) -> Any:
    path = DOCS / f"{name}.py"
    module: Any = ModuleType(name)
    exec(compile(path.read_text(), path, "exec"), vars(module))
    return module


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **parts: Any) -> Any:
    """Puts a module with these parts where the library's would be."""
    names = name.split(".")
    for length in range(1, len(names) + 1):
        inside = ".".join(names[:length])
        if inside not in sys.modules or inside == name:
            monkeypatch.setitem(sys.modules, inside, ModuleType(inside))
    vars(sys.modules[name]).update(parts)
    return sys.modules[name]


def installed_or(monkeypatch: pytest.MonkeyPatch, name: str, **parts: Any) -> Any:
    """The library's module, or what stands for it."""
    if importlib.util.find_spec(name.partition(".")[0]) is not None:
        return importlib.import_module(name)
    return stand_in(monkeypatch, name, **parts)


def judged(texts: Sequence[str] = TEXTS) -> list[Verdict]:
    """PoSh's verdicts on the texts, without a trainer."""
    samples = [Sample("", text, references=(REFERENCE,)) for text in texts]
    return PoshReward(MatchJudge()).assess(samples)


class Counting(Reward):
    """Has no score for "failed", and keeps the sizes of the batches that it was asked about."""

    def __init__(self) -> None:
        super().__init__("counting")
        self.batches: list[int] = []
        self.samples: list[Sample] = []

    def assess(self, samples: Any) -> list[Verdict]:
        self.batches.append(len(samples))
        self.samples += samples
        scores = [Verdict(len(one.completion) / 100) for one in samples]
        return [
            FAILED if one.completion == "failed" else score
            for one, score in zip(samples, scores, strict=True)
        ]


class Silent(Reward):
    """Has a score for nothing."""

    def __init__(self) -> None:
        super().__init__("silent")

    def assess(self, samples: Any) -> list[Verdict]:
        return [FAILED] * len(samples)


def test_what_comes_together_is_judged_together() -> None:
    reward = Counting()

    async def ask() -> list[float]:
        together = BatchingReward(reward)
        asked = [together.score(Sample("", "x" * size)) for size in range(64)]
        return [*await asyncio.gather(*asked), await together.score(Sample("", "later"))]

    assert asyncio.run(ask()) == [size / 100 for size in (*range(64), 5)]
    assert reward.batches == [64, 1]


def test_one_that_is_cancelled_or_fails_leaves_the_others() -> None:
    async def ask() -> list[Any]:
        together = BatchingReward(Counting())
        asked = [
            asyncio.ensure_future(together.score(Sample("", text)))  # type: ignore[arg-type]
            for text in ("gone", "failed", None, "here")
        ]
        await asyncio.sleep(0)
        asked[0].cancel()
        return await asyncio.gather(*asked, return_exceptions=True)

    gone, failed, none, here = asyncio.run(ask())
    # of a turn that calls tools
    assert str(none) == "counting: not_applicable: a completion is a text, got None"
    assert isinstance(gone, asyncio.CancelledError)
    assert isinstance(failed, JudgeFailed)
    assert str(failed) == "counting: timeout: no answer"
    assert here == 0.04


def test_verl(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = load("verl_reward")

    async def ask() -> list[Any]:
        asked = []
        for text, truth in zip(TEXTS, (REFERENCE, [REFERENCE], REFERENCE), strict=True):
            row = {"solution_str": text, "ground_truth": truth, "extra_info": {"num_turns": 1}}
            asked.append(module.compute_score(data_source="d", **row))
        return await asyncio.gather(*asked)

    found = asyncio.run(ask())
    assert [one["score"] for one in found] == expected()
    keys = {"score", "judge_failed", *(f"posh/{part}" for part in PoshReward.main_parts)}
    assert {frozenset(one) for one in found} == {frozenset(keys)}
    # which verl awaits; others it puts into threads
    assert inspect.iscoroutinefunction(module.compute_score)
    # verl's own judge, by the address of its router, and pictures by their paths
    made: list[tuple[Any, ...]] = []
    seen = Counting()

    def build(*parts: Any) -> Counting:
        made.append(parts)
        return seen

    monkeypatch.setattr(module, "load_judge", lambda name: name)
    monkeypatch.setattr(module, "build_reward", build)
    Image.new("RGB", (8, 8)).save(tmp_path / "red.png")
    extra = {"images": [str(tmp_path / "red.png")]}
    options: dict[str, Any] = {"metric": "harmonic", "model": "m"}
    options["reward_router_address"] = "10.0.0.1:80"
    options["reward_model_tokenizer"] = None
    asyncio.run(module.compute_score("d", "four", None, extra, **options))
    assert made == [("harmonic", "server:http://10.0.0.1:80#m", {})]
    assert [image.size for image in seen.samples[0].images] == [(8, 8)]


def test_verl_goes_on_while_few_judgments_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("verl_reward")
    monkeypatch.setattr(module, "build_reward", lambda *_: Counting())

    async def ask(texts: list[str]) -> list[Any]:
        return [await module.compute_score("d", text, REFERENCE) for text in texts]

    good, failed = ["x" * 20, "x" * 40], ["failed"] * module.FIRST
    scores = [one["score"] for one in asyncio.run(ask([*good, *failed]))]
    assert scores == [0.2, 0.4, *[pytest.approx(0.3)] * module.FIRST]
    with pytest.raises(JudgeFailed, match=f"{module.FIRST + 1} of {module.FIRST + 3}: timeout"):
        asyncio.run(ask(["failed"]))
    module.scorer.cache_clear()
    with pytest.raises(JudgeFailed, match="1 of 1: timeout"):  # no score is known yet
        asyncio.run(ask(["failed"]))


def test_verl_itself_calls_it() -> None:
    pytest.importorskip("verl", reason="its documented signature is tested above")
    from omegaconf import OmegaConf
    from verl.trainer.ppo.reward import get_custom_reward_fn

    path = str(DOCS / "verl_reward.py")
    chosen = {"path": path, "name": "compute_score", "reward_kwargs": {"judge": "match"}}
    score = get_custom_reward_fn(OmegaConf.create({"reward": {"custom_reward_function": chosen}}))
    row = {"solution_str": TEXTS[1], "ground_truth": REFERENCE, "extra_info": {}}
    found = asyncio.run(score(data_source="d", **row))
    assert found["score"] == expected()[1]


def test_ms_swift(monkeypatch: pytest.MonkeyPatch) -> None:
    orm = type("ORM", (), {"__init__": lambda self, args=None, **_: None})
    swift = installed_or(monkeypatch, "swift.rewards", ORM=orm, orms={})
    module = load("ms_swift_reward")
    posh = swift.orms["posh"](args=None)
    columns = {"prompt_id": ["a"] * 3, "messages": [[]] * 3, "trainer_state": None}
    assert posh(list(TEXTS), reference=[REFERENCE] * 3, **columns) == expected()
    for part in ("precision", "recall"):  # each a reward function, which ms-swift logs and weighs 0
        function = swift.orms[f"posh_{part}"](args=None)
        found = function(list(TEXTS), reference=[REFERENCE] * 3, **columns)
        assert found == [verdict.parts.get(part) for verdict in judged()]
    neutral = module.neutral([0.5, None, 1.0, None, 0.0], ["a", "a", "a", "b", "c"])
    assert neutral == [0.5, 0.75, 1.0, 0.5, 0.0]
    assert module.neutral([None, None], ["a", "a"]) == [0.0, 0.0]


class InspectScore(SimpleNamespace):
    """Inspect's Score, as its documentation has it."""

    @classmethod
    def unscored(cls, **given: Any) -> "InspectScore":
        return cls(value=math.nan, **given)


def test_inspect(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"Score": InspectScore, "Scorer": Any, "Target": list, "mean": str, "stderr": str}
    scorer = lambda metrics: lambda function: function  # noqa: E731
    if installed_or(monkeypatch, "inspect_ai.scorer", scorer=scorer, **parts).__spec__ is None:
        stand_in(monkeypatch, "inspect_ai.solver", TaskState=SimpleNamespace)
    module = load("inspect_scorer")

    async def scores(scorer: Any) -> list[Any]:
        states = []
        for text in TEXTS:
            output = SimpleNamespace(completion=text)
            states.append(SimpleNamespace(input_text="Describe it.", output=output))
        return await asyncio.gather(*(scorer(state, [REFERENCE]) for state in states))

    found = asyncio.run(scores(module.posh()))
    assert [score.value for score in found] == expected()
    assert [span["words"] for span in found[1].metadata["spans"]] == ["circle", "blue"]
    monkeypatch.setattr(module, "PoshReward", lambda judge: Silent())
    for score in asyncio.run(scores(module.posh())):
        assert math.isnan(score.value)
        assert (score.reason, score.explanation) == ("grader_failed", "timeout: no answer")


class TaskData(BaseModel):
    prompt: str

    @property
    def prompt_text(self) -> str:
        return self.prompt


class Config(BaseModel):
    task: None = None


class Task:
    """Both verifiers' Task and its Taskset."""

    def __init__(self, data: Any, config: Any = None) -> None:
        self.data = self.config = data

    def __class_getitem__(cls, kinds: Any) -> Any:
        return cls


def test_verifiers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parts = {"TaskData": TaskData, "TasksetConfig": Config, "Task": Task, "Taskset": Task}
    installed_or(monkeypatch, "verifiers.v1", **parts, Trace=object, reward=lambda found: found)
    module = load("verifiers_task")
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"prompt": "Describe it.", "reference": [REFERENCE]}) + "\n")
    (task,) = module.DescriptionTaskset(module.DescriptionConfig(rows=rows)).load()
    tokenizer = tiny_tokenizer()
    traces = [trace_of(text, tokenizer) for text in TEXTS]

    async def ask() -> list[float]:
        return await asyncio.gather(*(task.posh_f1(trace) for trace in traces))

    assert asyncio.run(ask()) == expected()
    json.dumps([trace.info for trace in traces])  # it travels so
    unjudged = trace_of("red", tokenizer)
    module.token_advantages([unjudged], tokenizer, 0.5)
    assert unjudged.nodes[-1].advantages is None
    module.token_advantages(traces, tokenizer, 0.0)
    scores = expected()
    for score, trace in zip(scores, traces, strict=True):
        scalar = score - sum(scores) / 3
        assert trace.nodes[-1].advantages == pytest.approx([scalar] * sum(trace.nodes[-1].mask))
    module.token_advantages(traces, tokenizer, 0.5)
    assert len(set(traces[1].nodes[-1].advantages)) > 1  # "blue" is blamed
    assert sum(traces[1].nodes[-1].advantages) == pytest.approx(
        (scores[1] - sum(scores) / 3) * sum(traces[1].nodes[-1].mask), abs=1e-5
    )


def trace_of(text: str, tokenizer: Any) -> Any:
    """What verifiers' Trace holds of a message: the prompt's end, and the tokens of the text."""
    ids = ids_of(text, tokenizer)
    node = SimpleNamespace(token_ids=[7, *ids], mask=[False] + [True] * len(ids), advantages=None)
    return SimpleNamespace(last_reply=text, info={}, nodes=[node])


def ids_of(text: str, tokenizer: Any) -> list[int]:
    """The tokens of a completion that ended."""
    return [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.py")), ids=lambda path: path.stem)
def test_each_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 110


def test_verls_router_leads_to_the_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """verl's reward loop and its router before a server that rates 4."""
    for library in ("verl", "uvicorn", "fastapi"):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed: docs/other_trainers.md says what ran by hand")
    from hydra import compose, initialize_config_module
    from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
    from verl.experimental.reward_loop.router.naive_router import run_router

    judge, policy = tmp_path / "judge", tmp_path / "policy"
    tokenizer().save_pretrained(judge)
    tiny_tokenizer().save_pretrained(policy)
    (judge / "config.json").write_text('{"model_type": "llama"}')
    server = Server()
    server.models = [{"id": str(judge), "root": str(judge)}]
    server.behave = lambda body, number: rate_4
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    threading.Thread(target=run_router, args=("127.0.0.1", port, [server.url]), daemon=True).start()
    time.sleep(3)
    function = "reward.custom_reward_function"
    overrides = [f"{function}.path={FILE.resolve()}", f"{function}.name=compute_score"]
    overrides += [f"actor_rollout_ref.model.path={policy}"]
    overrides += [f"+{function}.reward_kwargs.model={judge}"]
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer", overrides=overrides)
    worker = RewardLoopWorker(config, reward_router_address=f"127.0.0.1:{port}")
    found = worker.loop.run_until_complete(worker.compute_score_batch(responses(tiny_tokenizer())))
    server.stop()
    # p(4) = .8 and p(2) = .1 is a mean of 34 / 9, of 5
    assert [one["reward_score"] for one in found] == [
        pytest.approx(34 / 45 * bool(text)) for text in RESPONSES
    ]
    assert {one["reward_extra_info"]["judge_failed"] for one in found} == {0.0}
    assert set(server.paths) == {"/v1/completions"}


def rate_4(answer: dict[str, Any]) -> None:
    (top,) = answer["choices"][0]["logprobs"]["top_logprobs"]
    top[f"token_id:{IDS['4']}"] = math.log(0.8)


@pytest.mark.parametrize(
    "name",
    [
        "verl_batch", "verl_spans_batch", "skyrl_batch", "ms_swift", "verifiers_rollouts",
        "inspect_eval", "lighteval_eval",
    ],
)  # fmt: skip
def test_each_command_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands themselves need the trainers; docs/other_trainers.md has what they gave."""
    module = importlib.import_module(f"experiments.elsewhere.{name}")
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    command = f"python -m experiments.elsewhere.{name}"
    assert f"ENVIRONMENT/bin/{command}" in capsys.readouterr().out
    assert command in DOCS.with_suffix(".md").read_text()


def test_the_command_of_verifiers_has_the_options_that_ran() -> None:
    told = (DOCS / "verifiers_task.py").read_text().split('"""')[1]
    ran = (ROOT / "experiments" / "elsewhere" / "verifiers_rollouts.py").read_text()
    options = re.findall(r"--([a-z.-]+)", told)
    assert len(options) == 6
    assert not [option for option in options if f'"{option}"' not in ran]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    with served(PoshReward(MatchJudge())) as (url, _):
        yield url


def failing(monkeypatch: pytest.MonkeyPatch, *texts: str) -> None:
    """These texts get no verdict."""
    judge = RemoteReward.judge_samples

    def some(self: RemoteReward, samples: Any) -> list[Verdict]:
        pairs = zip(samples, judge(self, samples), strict=True)
        return [FAILED if one.completion in texts else its for one, its in pairs]

    monkeypatch.setattr(RemoteReward, "judge_samples", some)


def test_slime_by_the_service(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_URL", url)
    module = load("slime_reward")
    prompt = [{"role": "user", "content": "Describe it."}]

    def group() -> list[Any]:
        parts = {"prompt": prompt, "label": REFERENCE, "remove_sample": False}
        return [SimpleNamespace(response=text, metadata={}, **parts) for text in TEXTS]

    samples = group()
    assert asyncio.run(module.scores(None, samples)) == expected()
    assert not any(one.remove_sample for one in samples)
    assert samples[0].metadata["posh"]["f1"] == expected()[0]
    failing(monkeypatch, TEXTS[0])
    samples, (_, *others) = group(), expected()
    assert asyncio.run(module.scores(None, samples, evaluation=False)) == [sum(others) / 2, *others]
    assert [one.remove_sample for one in samples] == [True, False, False]
    failing(monkeypatch, *TEXTS)
    with pytest.raises(JudgeFailed, match="timeout: no answer"):
        asyncio.run(module.scores(None, group()))


def test_openrlhf_by_the_service(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_URL", url)
    module = load("openrlhf_reward")
    prompt = "<|im_start|>user\nDescribe it.<|im_end|>\n<|im_start|>assistant\n"
    ends = ("<|im_end|>", "<|im_end|>\n<eos>", "</s>")
    queries = [prompt + text + end for text, end in zip(TEXTS, ends, strict=True)]
    found = [module.reward_func([query], [prompt], [REFERENCE]) for query in queries]
    rewards = [one["rewards"].tolist() for one in found]
    assert rewards == [[pytest.approx(score)] for score in expected()]
    assert {"precision", "recall", "f1"} <= found[0]["extra_logs"].keys()
    with pytest.raises(ValueError, match="a query does not hold its prompt"):
        module.reward_func(["other"], [prompt], [REFERENCE])
    failing(monkeypatch, TEXTS[0])
    with pytest.raises(JudgeFailed):
        module.reward_func(queries[:1], [prompt], [REFERENCE])


def test_easyr1_by_the_service(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("easyr1_reward")
    inputs = [{"response": text, "response_length": 9, "ground_truth": REFERENCE} for text in TEXTS]
    assert [one["overall"] for one in module.compute_score(inputs, url=url)] == expected()
    failing(monkeypatch, TEXTS[0])
    found, (_, *others) = module.compute_score(inputs, url=url), expected()
    assert [one["overall"] for one in found] == [sum(others) / 2, *others]
    assert [one["judge_failed"] for one in found] == [1.0, 0.0, 0.0]
    assert len({frozenset(one) for one in found}) == 1


class JudgeError(Exception):
    """NeMo Gym's."""


def stand_in_for_nemo_gym(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gym 0.7.0's names that the file uses, with their signatures."""

    class Verify(BaseModel):
        responses_create_params: dict
        response: dict

    class Verified(Verify):
        reward: float
        mask_sample: bool = False

    async def request(method: str, url: str, **given: Any) -> Any:
        async with httpx.AsyncClient() as client:
            return await client.request(method, url, **given)

    async def raise_for_status(answer: Any) -> None:
        answer.raise_for_status()

    async def get_response_json(answer: Any) -> Any:
        return answer.json()

    async def reraise_judge_errors(asked: Any) -> Any:
        try:
            return await asked
        except Exception as error:
            raise JudgeError(f"{type(error).__name__}: {error}") from error

    base = stand_in(monkeypatch, "nemo_gym.base_resources_server", BaseVerifyRequest=Verify)
    base.BaseVerifyResponse, base.BaseResourcesServerConfig = Verified, BaseModel
    base.SimpleResourcesServer = type("SimpleResourcesServer", (), {})
    judge = stand_in(monkeypatch, "nemo_gym.judge", JudgeError=JudgeError)
    judge.reraise_judge_errors = reraise_judge_errors
    utils = stand_in(monkeypatch, "nemo_gym.server_utils", request=request)
    utils.raise_for_status, utils.get_response_json = raise_for_status, get_response_json


def test_nemo_gym_by_the_service(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in_for_nemo_gym(monkeypatch)
    module = load("nemo_gym_server")
    gym = module.SpanRewardServer()
    gym.config = module.Config(reward_url=url)

    def ask(*blocks: str) -> Any:
        content = [{"type": "output_text", "text": text} for text in blocks]
        message = {"type": "message", "role": "assistant", "content": content}
        output = [{"type": "reasoning", "summary": []}, message]
        request = {"responses_create_params": {}, "response": {"output": output}, "id": 7}
        return asyncio.run(gym.verify(module.VerifyRequest(**request, reference=REFERENCE)))

    found = [ask(text) for text in TEXTS]
    assert [one.reward for one in found] == expected()
    assert not any(one.mask_sample for one in found)
    assert found[1].spans
    assert ask(TEXTS[0][:5], TEXTS[0][5:]).reward == expected()[0]
    assert module.last_text({"output": [{"type": "reasoning", "summary": []}]}) == ""
    with served(Silent()) as (url_of_silent, _):
        gym.config = module.Config(reward_url=url_of_silent)
        with pytest.raises(JudgeError, match="timeout: no answer"):
            ask(TEXTS[0])
    gym.config = module.Config(reward_url=f"{url}/elsewhere")
    with pytest.raises(JudgeError, match="404"):
        ask(TEXTS[0])


def test_lighteval(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = "lighteval.metrics"
    stand_in(monkeypatch, f"{metrics}.metrics_sample", SampleLevelComputation=object)
    stand_in(monkeypatch, f"{metrics}.utils.metric_utils", SampleLevelMetric=SimpleNamespace)
    methods = SimpleNamespace(GENERATIVE="GENERATIVE")
    stand_in(monkeypatch, "lighteval.tasks.requests", SamplingMethod=methods)
    posh = load("lighteval_metric").posh
    document = SimpleNamespace(query="Describe it.", get_golds=lambda: [REFERENCE])
    responses = [SimpleNamespace(final_text=[text, "another sample"]) for text in TEXTS]
    scores = posh.sample_level_fn.compute(responses=responses, docs=[document] * 3)
    assert scores == expected()
    assert posh.batched_compute
    monkeypatch.setattr(posh.sample_level_fn, "reward", Silent())
    (failed,) = posh.sample_level_fn.compute(responses=responses[:1], docs=[document])
    assert math.isnan(failed)
    assert posh.corpus_level_fn([failed, 0.5, 1.0]) == 0.75


WITHOUT_TORCH = """
import sys
from types import ModuleType
from typing import Generic, TypeVar

for name in ("torch", "transformers", "trl"):
    sys.modules[name] = None
T = TypeVar("T")
C = TypeVar("C")
class Config: ...
class Task(Generic[T]): ...
class Taskset(Generic[T, C]): ...
v1 = ModuleType("verifiers.v1")
v1.TaskData = v1.TasksetConfig = v1.Trace = Config
v1.Task = Task
v1.Taskset = Taskset
v1.reward = staticmethod
sys.modules |= {"verifiers": ModuleType("verifiers"), "verifiers.v1": v1}
import verifiers_task
from spanreward import PoshReward, Sample
from spanreward.training.grpo.by_group import group_advantages
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1])
texts = ["A red circle.", "A blue circle."]
samples = [Sample("", text, references=("A red circle above a square.",)) for text in texts]
ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
verdicts = PoshReward("match").assess(samples)
print(group_advantages(verdicts, texts, ids, [True] * 2, tokenizer, [0.5, -0.5], 0.5))
"""


def test_verifiers_file_and_its_credit_need_no_torch(tmp_path: Path) -> None:
    """In a process where importing torch fails, as after `pip install verifiers spanreward`."""
    tokenizer = tiny_tokenizer().backend_tokenizer
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    command = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "tokenizer.json")]
    environment = {**os.environ, "PYTHONPATH": str(DOCS)}
    ran = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    texts, scores = ["A red circle.", "A blue circle."], [0.5, -0.5]
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    advantages = group_advantages(judged(texts), texts, ids, [True] * 2, tokenizer, scores, 0.5)
    assert json.loads(ran.stdout) == advantages
    assert len(set(advantages[1])) > 1


def test_skyrl_by_the_service(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_URL", url)
    tokenizer = tiny_tokenizer()
    ids = [ids_of(text, tokenizer) for text in TEXTS]
    masks = [[1] * len(row) for row in ids]
    output = {"response_ids": [*ids, []], "loss_masks": [*masks, []], "rewards": [0.0] * 4}

    class Generator:
        async def generate(self, input_batch: Any, disable_tqdm: bool = False) -> Any:
            return dict(output)

    name = "skyrl.train.generators.skyrl_gym_generator"
    stand_in(monkeypatch, name, SkyRLGymGenerator=Generator)
    generator = load("skyrl_generator").SpanGenerator()
    generator.tokenizer = tokenizer
    asked = {"prompts": [[]] * 4, "env_extras": [{"reference": REFERENCE}] * 4}
    found = asyncio.run(generator.generate(asked, disable_tqdm=True))
    assert [sum(row) for row in found["rewards"]] == pytest.approx([*expected(), 0.0])
    assert [len(row) for row in found["rewards"]] == [len(row) for row in output["response_ids"]]
    assert min(found["rewards"][1][:-1]) < 0  # "blue"
    assert found["loss_masks"] == output["loss_masks"]
    failing(monkeypatch, TEXTS[0])
    found = asyncio.run(generator.generate(asked))
    # the last is a response without tokens
    others = [sum(row) for row in found["rewards"][1:3]] + [0.0]
    assert sum(found["rewards"][0]) == pytest.approx(sum(others) / 3)
    assert not any(found["loss_masks"][0])


def grpo(
    rewards: Any, mask: Any, index: Any, norm_adv_by_std_in_grpo: bool = True, **_: Any
) -> Any:
    """verl's GRPO for one group, read in 0.9.1."""
    scores = rewards.sum(dim=-1)
    assert len(set(index)) == 1
    scaled = (scores - scores.mean()) / (scores.std() + 1e-6 if norm_adv_by_std_in_grpo else 1.0)
    return scaled.unsqueeze(-1) * mask, scaled.unsqueeze(-1) * mask


def test_the_health_of_a_reward_as_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = DOCS.with_suffix(".md").read_text()
    (block,) = re.findall(r"```python\n(from spanreward.training.health.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    sample = Sample("", REFERENCE, references=(REFERENCE,))
    for _ in range(10):
        assert names["seen"] == []
        for _ in range(256):
            names["watch"](PoshReward(MatchJudge()), sample, Verdict(1.0))
    *steady, last = capsys.readouterr().out.splitlines()
    assert steady == ["{}"] * 9
    assert last.startswith("{'saturation': '100% of the completions have all of the reward")


def test_verls_estimator_gives_the_trainers_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    """By verl's own registry and GRPO where verl is installed, else by stand-ins."""
    import numpy as np
    import torch

    registered: dict[str, Any] = {}
    register = lambda name: lambda function: registered.setdefault(name, function)  # noqa: E731
    algos = SimpleNamespace(register_adv_est=register, compute_grpo_outcome_advantage=grpo)
    trainer = SimpleNamespace(compute_advantage=lambda data, adv_estimator, **_: adv_estimator)
    if stand_ins := importlib.util.find_spec("verl") is None:
        stand_in(monkeypatch, "verl.trainer.ppo", core_algos=algos, ray_trainer=trainer)
    module, reward, tokenizer = load("verl_spans"), load("verl_reward"), tiny_tokenizer()
    monkeypatch.setattr(module, "tokenizer_of", lambda name: tokenizer)
    texts = (*TEXTS, "A red circle above a green square.")

    async def ask() -> list[Any]:
        scores = [reward.compute_score("d", text, REFERENCE, spans=True) for text in texts]
        return await asyncio.gather(*scores)

    found = asyncio.run(ask())
    ids = [ids_of(text, tokenizer) for text in texts]
    ids[3] = ids[3][:-1]  # cut: it has its scalar alone
    width = max(map(len, ids)) + 2
    mask = torch.tensor([[float(t < len(row)) for t in range(width)] for row in ids])
    rewards = torch.zeros(mask.shape)
    for row, one in enumerate(found):
        rewards[row, len(ids[row]) - 1] = one["score"]
    padded = torch.tensor([row + [tokenizer.pad_token_id] * (width - len(row)) for row in ids])
    others = {
        "uid": np.array(["a"] * 4, dtype=object),
        "verdict": np.array([one["verdict"] for one in found]),
    }
    batch = {"token_level_rewards": rewards, "response_mask": mask, "responses": padded}
    data = SimpleNamespace(batch=batch, non_tensor_batch=others)
    config = {"span_tokenizer": "policy", "span_coef": 0.5}
    compute = module.ray_trainer.compute_advantage
    advantages = compute(data, adv_estimator="spans", gamma=1.0, config=config).batch["advantages"]
    scalars = [float(row[0]) for row in grpo(rewards, mask, ["a"] * 4)[0]]
    finished = [True, True, True, False]
    backend = tokenizer.backend_tokenizer
    wanted = group_advantages(judged(texts), texts, ids, finished, backend, scalars, 0.5)
    for row, own in enumerate(wanted):
        assert advantages[row, : len(own)].tolist() == pytest.approx(own, abs=1e-6)
        assert not advantages[row, len(own) :].any()
    assert len(set(wanted[1])) > 1
    assert len(set(wanted[3])) == 1
    if stand_ins:
        assert (compute(data, adv_estimator="grpo"), set(registered)) == ("grpo", {"spans"})
    del others["verdict"]
    with pytest.raises(ValueError, match=r"adv_estimator=spans needs trainer\.use_v1=False"):
        compute(data, adv_estimator="spans", config=config)


@pytest.mark.slow
def test_sdpo_learns_from_a_verdicts_words(tmp_path: Path) -> None:
    """TRL's own trainer, one step of a tiny policy on the CPU."""
    from datasets import Dataset
    from trl.experimental.sdpo import SDPOConfig

    module = load("trl_sdpo")
    save_llama(tmp_path / "policy")
    rows = [{"prompt": f"Describe picture {n}.", "reference": REFERENCE} for n in range(4)]
    sizes = {"per_device_train_batch_size": 4, "num_generations": 2, "max_completion_length": 6}
    here = {"report_to": "none", "use_cpu": True, "bf16": False, "max_steps": 1}
    config = SDPOConfig(str(tmp_path), include_environment_feedback=True, **sizes, **here)
    recorder = Recorder(PoshReward(MatchJudge()))
    data, policy = Dataset.from_list(rows), str(tmp_path / "policy")
    trainer = module.FeedbackTrainer(policy, recorder=recorder, args=config, train_dataset=data)
    told: list[str] = []
    text = trainer.teacher_context_builder._build_reprompt_text

    def noting(*parts: str) -> str:
        told.append(parts[-1])
        return text(*parts)

    trainer.teacher_context_builder._build_reprompt_text = noting
    trainer.train()
    words = [module.feedback(*one) for one in zip(recorder.samples, recorder.verdicts, strict=True)]
    assert any(words)
    assert [one for one in words if not any(one in text for text in told)] == []
