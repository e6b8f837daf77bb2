"""Twenty steps of SmolLM2-135M's real weights, sampled by vLLM and by transformers with the same
seed.

    python -m tests.gpu.phases.smollm2 --size real

A push that loses or garbles weights shows here, and not with random ones: the reward of both should
rise alike, and `sampling_logp_difference`, of vLLM's and the trainer's log-probabilities of a
sampled token, stay small. The policy reads two descriptions of a drawn scene and writes one that
agrees with them; three others are the references. The judge is `match`. Text only, an adapter of
rank 16.
"""

import json
from pathlib import Path
from random import Random
from typing import Any

from experiments.captions import ASKED
from experiments.scenes.language import describe
from experiments.scenes.world import make_scenes
from tests.gpu.phases.common import arguments, prepare_engine
from tests.gpu.phases.timeline import Timeline
from tests.support.paths import ROOT

STEPS = 20
ENDS = 5  # the steps at the start and at the end whose mean is shown
SAME = (
    "policy.lora={r: 16, alpha: 32, target_modules: '.*_proj'}", f"trainer.max_steps={STEPS}",
    "trainer.per_device_train_batch_size=16", "trainer.gradient_accumulation_steps=4", "trainer.num_generations=8",
    "trainer.max_completion_length=64", "trainer.learning_rate=1e-4", "trainer.use_cpu=false", "trainer.bf16=true",
    "rewards.0.judge=match", "referees=[]", "validation=null",
    "trainer.steps_per_generation=null", "trainer.logging_steps=1",
)  # fmt: skip
IN_VLLM = (
    "trainer.use_vllm=true", "trainer.vllm_mode=colocate", "trainer.vllm_enable_sleep_mode=true",
    "trainer.vllm_gpu_memory_utilization=0.1", "trainer.vllm_max_model_length=1024",
)  # fmt: skip
TOY = (
    "trainer.use_cpu=true", "trainer.bf16=false", "trainer.gradient_accumulation_steps=1", "trainer.max_steps=2",
    "trainer.per_device_train_batch_size=4", "trainer.num_generations=4", "trainer.max_completion_length=16",
)  # fmt: skip


def main() -> None:
    given = arguments(__doc__)
    timeline = Timeline("SmolLM2", given.json)
    with timeline("imports of the trainer"):
        from spanreward.training.recipe import load_recipe
        from spanreward.training.run import run
    prepare_engine(given.size, given.engine)
    rows = write_rows(given.models / "scenes.jsonl")
    for sampled_by, changes in {"transformers": (), "vllm": IN_VLLM}.items():
        output = given.models / f"smollm2-{sampled_by}"
        here = [*changes, *(TOY if given.size == "toy" else ())]
        recipe = load_recipe(
            ROOT / "recipes/smollm2/captions-dapo.yaml",
            [*SAME, *here, f"data.path={rows}", f"output={output}", "overwrite=true"],
        )
        with timeline(
            f"sampled by {sampled_by}: {recipe.trainer['max_steps']} steps, with loading"
        ):
            run(recipe)
        timeline.figure(f"sampled by {sampled_by}", summary(output))


def write_rows(path: Path) -> Path:
    lines = []
    for number, scene in enumerate(make_scenes("train", level=1, count=STEPS * 8)):
        texts = [describe(scene, Random(f"{number} {place}")) for place in range(5)]
        shown = "\n".join(f"- {text}" for text in texts[:2])
        lines.append(json.dumps({"prompt": ASKED.format(captions=shown), "reference": texts[2:]}))
    path.write_text("\n".join(lines) + "\n")
    return path


def summary(output: Path) -> dict[str, Any]:
    """Means of the first and of the last steps."""
    steps = [
        line
        for line in map(json.loads, (output / "metrics.jsonl").read_text().splitlines())
        if "loss" in line
    ]
    keys = ("reward", "sampling/sampling_logp_difference/mean", "seconds/push", "seconds/decode")
    return {
        key: [
            round(sum(one[key] for one in part) / len(part), 4)
            for part in (steps[:ENDS], steps[-ENDS:])
        ]
        for key in keys
        if key in steps[0]
    }


if __name__ == "__main__":
    main()
