"""What a sleeping judge holds, alone on the machine: GB of the GPU and of main memory, and its wakes.

    python -m tests.gpu.phases.asleep --size real
"""

from pathlib import Path

from spanreward.rewards.judges import Question
from spanreward.rewards.judges.local.vllm_engine import family, free_memory
from spanreward.rewards.judges.local.vllm_judge import VllmJudge
from tests.gpu.phases.common import arguments
from tests.gpu.phases.timeline import Timeline


def main() -> None:
    given = arguments(__doc__)
    timeline = Timeline("asleep", given.json)
    judge = VllmJudge(str(given.models / "judge"), memory=4e9 if given.size == "real" else 1e8, max_model_len=4096, min_mass=0.0)
    free = free_memory()
    with timeline("start, with the first sleep"):
        judge.start()
    asleep = free - free_memory()
    pids = [pid for process in judge._processes for pid in family(process.pid)]
    timeline.figure("GB of the GPU asleep", round(asleep / 1e9, 2))
    timeline.figure("GB of main memory asleep", round(sum(map(resident, pids)) / 1e9, 2))
    for _ in range(3):
        with timeline("wake, one question, sleep"), judge:
            judge.rate([Question([{"role": "user", "content": "Rate it from 1 to 5: 4"}])])
    timeline.figure("seconds to wake and to sleep, in all", [judge.usage.wake_seconds, judge.usage.sleep_seconds])
    timeline.figure("GB of the GPU at most", round(judge.usage.peak_memory_bytes / 1e9, 2))
    judge.close()


def resident(pid: int) -> int:
    """Bytes of main memory that a process has."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return 1024 * int(line.split()[1])


if __name__ == "__main__":
    main()
