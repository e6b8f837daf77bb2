"""Does span credit teach faster than the scalar alone? One run of one arm, on Scenes, measured by the referee.

    run = train_arm(Arm("spans", span_coef=1.0), "truth", base="outputs/credit/base2", level=2, seed=0, steps=30,
                    learning_rate=2e-4, evaluate_every=5, prompts=256)
    run["evaluations"][-1]["f1"]                 # truth F1 of each held-out prompt, greedy

Every arm has the same prompts, batch, optimiser and reward: "truth", the referee itself
(training/scenes/truth_reward.py), or "posh", PoSh with the match judge, whose spans err as a judge's do. Advantages are
matched in RMS: those of an arm with spans are scaled, each step, to the RMS over tokens of the scalar's.
"""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from rewards import MatchJudge, PoshReward, Reward
from training.data.load import load_data, load_scenes
from training.evaluation.greedy import continue_prompts
from training.grpo.config import SpanGRPOConfig
from training.grpo.trainer import SpanGRPOTrainer
from training.policy import load_policy
from training.recipe import ScenesPart
from training.scenes.referee import judge_description
from training.scenes.truth_reward import TruthReward
from training.scenes.world import Scene

MAX_TOKENS = {1: 64, 2: 96, 3: 128}  # by level: the longest full reference has 48, 71 and 114
TRAINING_PROMPTS = 2000
EVALUATION_BATCH = 128


@dataclass(frozen=True, slots=True)
class Arm:
    """span_coef: 0 is the scalar alone. noise: what is done to the spans, see TruthReward."""

    name: str
    span_coef: float
    noise: Literal["", "flipped", "permuted"] = ""


ARMS = {
    arm.name: arm
    for arm in (
        Arm("scalar", 0.0),
        Arm("spans", 1.0),
        Arm("flipped", 1.0, "flipped"),
        Arm("permuted", 1.0, "permuted"),
    )
}


REWARDS = ("truth", "posh")


class MatchedTrainer(SpanGRPOTrainer):
    """SpanGRPOTrainer whose token advantages have the RMS that the scalar ones had."""

    def _add_span_credit(self, output: dict[str, Any]) -> None:
        mask = output["completion_mask"].bool()
        before = token_rms(output["advantages"].unsqueeze(1).expand(mask.shape), mask)
        super()._add_span_credit(output)
        output["advantages"] = output["advantages"] * (before / token_rms(output["advantages"], mask).clamp(min=1e-8))


def scenes_data(level: int, split: str, count: int) -> ScenesPart:
    return ScenesPart.model_validate(
        {"source": "scenes", "level": level, "split": split, "count": count, "references": 1}
    )


def token_rms(advantages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Root mean square over the tokens that were sampled; both (B, T)."""
    return advantages[mask].square().mean().sqrt()


class HeldOutMeasure(TrainerCallback):
    """Greedy completions of held-out prompts, before the first step and every so many; and TRL's own log lines."""

    def __init__(self, level: int, processor: Any, every: int, prompts: int) -> None:
        data = scenes_data(level, "validation", prompts)
        self.rows, self.scenes = list(load_data(data)), load_scenes(data)
        self.level, self.processor, self.every = level, processor, every
        self.evaluations: list[dict[str, Any]] = []
        self.steps: list[dict[str, float]] = []

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.evaluate(kwargs["model"], state.global_step)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if state.global_step % self.every == 0:
            self.evaluate(kwargs["model"], state.global_step)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        kept = ("reward", "completions/mean_length", "entropy", "grad_norm")
        if logs and "reward" in logs:
            self.steps.append({"step": state.global_step, **{name: logs[name] for name in kept}})

    def evaluate(self, model: Any, step: int) -> None:
        model.eval()
        texts, lengths = continue_prompts(
            model, self.processor, self.rows, MAX_TOKENS[self.level], batch_size=EVALUATION_BATCH
        )
        model.train()
        truths = [judge_description(text, scene) for text, scene in zip(texts, self.scenes, strict=True)]
        self.evaluations.append(
            {
                "step": step,
                "f1": [round(truth.f1, 4) for truth in truths],
                "precision": sum(truth.precision for truth in truths) / len(truths),
                "recall": sum(truth.recall for truth in truths) / len(truths),
                "length": sum(lengths) / len(lengths),
            }
        )


def experiment_reward(name: str, scenes: Mapping[str, Scene], noise: Literal["", "flipped", "permuted"]) -> Reward:
    """Raises ValueError for noise in spans that are not the referee's."""
    if name == "truth":
        return TruthReward(scenes, noise)
    if noise:
        raise ValueError(f"only the reward 'truth' has {noise} spans, got {name!r}")
    return PoshReward(MatchJudge())


def train_arm(
    arm: Arm,
    reward: str,
    base: str,
    level: int,
    seed: int,
    steps: int,
    learning_rate: float,
    evaluate_every: int,
    prompts: int,
) -> dict[str, Any]:
    """Train and measure one run; the result is plain data, as it goes into a file. reward: of REWARDS."""
    data = scenes_data(level, "train", TRAINING_PROMPTS)
    dataset, scenes = load_data(data), load_scenes(data)
    model, processor = load_policy(base)
    measure = HeldOutMeasure(level, processor, evaluate_every, prompts)
    folder = tempfile.mkdtemp()
    trainer = MatchedTrainer(
        model=model,
        args=SpanGRPOConfig(
            output_dir=folder,
            span_coef=arm.span_coef,
            seed=seed,
            max_steps=steps,
            learning_rate=learning_rate,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=5,
            per_device_train_batch_size=128,
            num_generations=8,
            max_completion_length=MAX_TOKENS[level],
            temperature=1.0,
            loss_type="dapo",
            epsilon_high=0.28,
            beta=0.0,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            bf16=False,
            gradient_checkpointing=False,
            use_cpu=True,
        ),
        processing_class=processor,
        train_dataset=dataset,
        reward_funcs=[experiment_reward(reward, dict(zip(map(str, dataset["id"]), scenes, strict=True)), arm.noise)],
        callbacks=[measure],
    )
    trainer.train()
    shutil.rmtree(folder)
    return {
        "arm": asdict(arm),
        "reward": reward,
        "base": base,
        "level": level,
        "seed": seed,
        "learning_rate": learning_rate,
        "evaluations": measure.evaluations,
        "steps": measure.steps,
    }
