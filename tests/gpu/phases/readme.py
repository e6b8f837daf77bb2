"""README's lines, word for word but for the models, the data and the rollout, three steps.

    python -m tests.gpu.phases.readme --size real

They sample with transformers, and each call of the reward wakes and sleeps the judge. The policy's
texts are noise.
"""

import re
from pathlib import Path
from typing import Any

from tests.gpu.phases.common import arguments, judge_options
from tests.gpu.phases.described import pictures
from tests.gpu.phases.timeline import Timeline
from tests.support.paths import ROOT

BLOCK = re.compile(r"<!-- tested by tests/test_readme.py -->\n```python\n(.*?)```", re.DOTALL)
TOYS = (
    ("max_completion_length=256", "max_completion_length=8"),
    ("bf16=True", "use_cpu=True, bf16=False"),
    ("num_generations=8", "num_generations=2"),
)
SHORT = 'max_steps=3, logging_steps=1, save_strategy="no", report_to="none"'


def main() -> None:
    given = arguments(__doc__)
    timeline = Timeline("README", given.json)
    with timeline("imports of the trainer"):
        from trl import GRPOTrainer

        from spanreward.rewards.judges.local.vllm_judge import VllmJudge
    timeline.watch(VllmJudge, "start", "judge: start, with its first sleep")
    timeline.watch(VllmJudge, "_wake", "judge: wake")
    timeline.watch(VllmJudge, "_sleep", "judge: sleep")
    timeline.watch(GRPOTrainer, "_generate_single_turn", "sampling by transformers")
    timeline.watch(GRPOTrainer, "_calculate_rewards", "judging, with waking and sleeping")
    timeline.watch(GRPOTrainer, "training_step", "a pass, with what a batch's first one waits for")
    rows = pictures(given.models / "rows", 24)
    names: dict[str, Any] = {"__name__": "__main__", "rows_of": rows_of}
    exec(script(given.models, rows, given.size), names)
    # the last one is a summary
    timeline.figure("logged at the last step", names["trainer"].state.log_history[-2])
    names["judge"].close()


def script(models: Path, rows: Path, size: str) -> str:
    """README's code with our models, data and number of steps."""
    code = BLOCK.search((ROOT / "README.md").read_text())[1]  # type: ignore[index]
    for real, here in (
        ('"vllm:Qwen/Qwen3-8B", memory=4e9', f'"vllm:{models / "judge"}", **{judge_options(size)}'),
        ('load_dataset("amitha/docent", split="train")', f'rows_of("{rows}")'),
        ('"Qwen/Qwen2.5-VL-3B-Instruct"', f'"{models / "policy"}"'),
        ('"outputs/posh",', f'"{models / "readme"}", {SHORT},'),
        ("steps_per_generation=16", "steps_per_generation=4"),  # each step samples
        *(TOYS if size == "toy" else ()),
    ):
        assert real in code, f"README has no {real} any more"
        code = code.replace(real, here)
    return code


def rows_of(path: str) -> Any:
    """The rows as DOCENT's dataset has them: pictures, not paths."""
    from datasets import Image, load_dataset

    data = load_dataset("json", data_files=path, split="train")
    folder = path.rpartition("/")[0]
    return data.map(lambda row: {"image": f"{folder}/{row['image']}"}).cast_column("image", Image())


if __name__ == "__main__":
    main()
