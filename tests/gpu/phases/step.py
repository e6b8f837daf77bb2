"""The main job at its real size: three steps of docs/one_gpu.md's recipe, the policy and the judge
in vLLM on one GPU.

    python -m tests.gpu.phases.step --models /dev/shm/spanreward --size real

What is random is said so: both models' weights. So the policy's texts are noise, and descriptions
of drawn scenes of about 150 words are judged in their place (described.py). Costs are real, ratings
mean nothing. A step's `sampling_logp_difference`, of vLLM's and the trainer's log-probabilities,
tells whether both read the same weights and pictures. On a CPU (--size toy) TRL's engine is changed
as tests/support/trl_engine_on_cpu.py says.
"""

import json
import re
from pathlib import Path
from typing import Any

from tests.gpu.phases.common import arguments, judge_options, prepare_engine
from tests.gpu.phases.described import described, pictures
from tests.gpu.phases.timeline import Timeline
from tests.support.paths import ROOT

GUIDE = ROOT / "docs" / "one_gpu.md"
RECIPE = re.compile(r"```yaml\n(# one_gpu\.yaml\n.*?)```", re.DOTALL)
TOY = (
    "use_cpu=true", "bf16=false", "gradient_checkpointing=false", "gradient_accumulation_steps=2",
    "num_generations=4", "max_completion_length=16", "soft_overlong_cache=4",
)  # fmt: skip


def main() -> None:
    given = arguments(__doc__)
    timeline = Timeline("whole step", given.json)
    with timeline("imports of the trainer"):
        from spanreward.training.recipe import load_recipe
        from spanreward.training.run import run
    rows = pictures(given.models / "rows", 24)
    recipe = given.models / "one_gpu.yaml"
    recipe.write_text(RECIPE.search(GUIDE.read_text())[1])  # type: ignore[index]
    with timeline("import of vLLM"):
        import vllm  # noqa: F401
    prepare_engine(given.size, given.engine)
    watch(timeline)
    run(
        load_recipe(recipe, changes(given.models, rows, given.size)),
        build=lambda *parts: built(timeline, *parts),
    )


def changes(models: Path, rows: Path, size: str) -> list[str]:
    """Our models and data in place of the recipe's, and three steps."""
    judge = {"name": f"vllm:{models / 'judge'}", "options": judge_options(size)}
    return [
        *(f"policy.model={models / 'policy'}", f"data.path={rows}", f"output={models / 'step'}"),
        *(
            f"rewards.0.metric={described()}",
            "rewards.0.judge=" + json.dumps(judge),
            "trainer.max_steps=3",
        ),
        *([*(f"trainer.{one}" for one in TOY), "policy.dtype=float32"] if size == "toy" else []),
        "overwrite=true",
    ]


def watch(timeline: Timeline) -> None:
    """Makes phases of what a step does, from here on."""
    from peft.tuners.lora.layer import Linear as LoraLinear
    from trl.generation.vllm_generation import VLLMGeneration

    import spanreward.training.run as running
    from spanreward.rewards.judges.local.vllm_judge import VllmJudge
    from spanreward.training.grpo.trainer import SpanGRPOTrainer
    from spanreward.training.grpo.trl_internals import adapter_push

    timeline.watch(VllmJudge, "start", "judge: start, with its first sleep")
    timeline.watch(VllmJudge, "_sleep", "judge: sleep")
    timeline.watch(VllmJudge, "_wake", "judge: wake")
    timeline.watch(VllmJudge, "rate", "judge: one call")
    timeline.watch(running, "load_policy", "policy: load")
    timeline.watch(VLLMGeneration, "_init_vllm", "policy's engine: start")
    timeline.watch(VLLMGeneration, "sync_weights", "push")
    timeline.watch(VLLMGeneration, "generate", "sampling, with the push")
    timeline.watch(SpanGRPOTrainer, "_calculate_rewards", "judging, with waking and sleeping")
    timeline.watch(
        SpanGRPOTrainer, "_generate_and_score_completions", "sampling, judging, log-probabilities"
    )
    timeline.watch(
        SpanGRPOTrainer,
        "training_step",
        "forward and backward, with what a batch's first one waits for",
    )
    timeline.add(adapter_push, "_merged_layer", "push: all of our merging, with the two below")
    timeline.add(LoraLinear, "merge", "push: peft's merge")
    timeline.add(LoraLinear, "unmerge", "push: peft's unmerge")


def built(timeline: Timeline, *parts: Any) -> Any:
    """The trainer, which says of each step and of each push where its seconds went."""
    from transformers import TrainerCallback

    from spanreward.training.run import build_trainer

    class Steps(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
            timeline.figure(f"step {state.global_step}, seconds", seconds_of(trainer))
            timeline.figure(f"step {state.global_step}, judge", usage_of(trainer))
            timeline.figure(
                f"step {state.global_step}, sampling_logp_difference", differences_of(trainer)
            )
            timeline.figure(
                f"step {state.global_step}, push: [seconds, calls]", timeline.take_sums()
            )

    with timeline("trainer, with the policy's load and its engine's start"):
        trainer = build_trainer(*parts)
    engine = trainer.vllm_generation.llm
    timeline.add(
        engine.llm_engine.model_executor.driver_worker.model_runner.model,
        "load_weights",
        "push: loading",
    )
    timeline.add(engine, "wake_up", "push and sampling: waking")
    trainer.add_callback(Steps())
    return trainer


def seconds_of(trainer: Any) -> dict[str, float]:
    logged = {
        key: values[-1]
        for key, values in trainer._metrics["train"].items()
        if key.startswith("seconds/")
    }
    return {key.removeprefix("seconds/"): round(seconds, 2) for key, seconds in logged.items()}


def differences_of(trainer: Any) -> list[float]:
    """Mean and largest of the step."""
    logged = trainer._metrics["train"]
    return [
        round(logged[f"sampling/sampling_logp_difference/{what}"][-1], 6)
        for what in ("mean", "max")
    ]


def usage_of(trainer: Any) -> dict[str, Any]:
    usage = trainer.recorders[0].reward.judge.usage
    names = (
        "questions",
        "prompt_tokens",
        "cached_tokens",
        "wake_seconds",
        "sleep_seconds",
        "seconds",
    )
    return {name: round(getattr(usage, name), 2) for name in names}


if __name__ == "__main__":
    main()
