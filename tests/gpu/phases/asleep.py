"""What a sleeping judge holds, alone on the machine: GB of the GPU and of main memory, and its
wakes.

    python -m tests.gpu.phases.asleep --size real

Then the same with main memory that eight threads pin (torch's setting, for the engine alone): the
first sleep pins 1.5 times the weights, at 1.7 GB a second with one thread.
"""

import os
from pathlib import Path

from spanreward.rewards.judges import Question
from spanreward.rewards.judges.local.vllm_engine import free_memory, process_ids
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from tests.gpu.phases.common import arguments, judge_options
from tests.gpu.phases.timeline import Timeline

PINNED_BY_EIGHT = "pinned_use_cuda_host_register:True,pinned_num_register_threads:8"


def main() -> None:
    given = arguments(__doc__)
    measure(
        Timeline("asleep", given.json),
        VllmJudge(str(given.models / "judge"), **judge_options(given.size)),
    )
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = PINNED_BY_EIGHT
    again = VllmJudge(str(given.models / "judge"), **judge_options(given.size))
    measure(Timeline("asleep, pinned by 8 threads", given.json), again)


def measure(timeline: Timeline, judge: VllmJudge) -> None:
    free = free_memory()
    with timeline("start, with the first sleep"):
        judge.start()
    timeline.figure("seconds of the first sleep", round(judge.usage.sleep_seconds, 2))
    timeline.figure("GB of the GPU asleep", round((free - free_memory()) / 1e9, 2))
    pids = [pid for process in judge._processes for pid in process_ids(process.pid)]
    timeline.figure("GB of main memory asleep", round(sum(map(resident, pids)) / 1e9, 2))
    for _ in range(3):
        with timeline("wake, one question, sleep"), judge:
            judge.rate([Question([{"role": "user", "content": "Rate it from 1 to 5: 4"}])])
    timeline.figure(
        "seconds to wake and to sleep, in all",
        [judge.usage.wake_seconds, judge.usage.sleep_seconds],
    )
    timeline.figure("GB of the GPU at most", round(judge.usage.peak_memory_bytes / 1e9, 2))
    judge.close()


def resident(pid: int) -> int:
    """Bytes of main memory that a process has."""
    line = next(
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmRSS")
    )
    return 1024 * int(line.split()[1])


if __name__ == "__main__":
    main()
