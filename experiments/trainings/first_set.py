"""The first set of trainings.md: pictures, padding, cut completions, thoughts, turns and tools."""

from pathlib import Path
from typing import Any
from unittest import mock

from trl import GRPOTrainer, chat_template_utils

from experiments.trainings.enacting import (
    POLICIES,
    SIZES,
    TEXTS,
    Case,
    batch_of,
    refused,
    rows,
    trained,
    trainer_of,
)
from spanreward import LaveReward, PoshReward, SpanGRPOConfig, SpanGRPOTrainer
from spanreward.training.policy import load_policy
from spanreward.training.recipe_file import read_yaml
from tests.support.tiny_trainer import COMMON


def unequal_pictures(policy: str, folder: Path) -> str:
    return "trains: " + trained(trainer_of(policy, folder, side="right"))


def unequal_questions(policy: str, folder: Path) -> str:
    """The log-probabilities beside those of a processor that pads on the left, and those if the
    side stayed right.
    """
    data, found = rows(policy, SIZES[:1] * 4), []
    for side, stays in (("left", "left"), ("right", "left"), ("right", "right")):
        trainer = trainer_of(
            policy, folder / f"{side}-{stays}", data, side, num_iterations=2, num_generations=2
        )
        trainer._tokenizer.padding_side = (
            stays if stays == "right" else trainer._tokenizer.padding_side
        )
        batch = batch_of(trainer, TEXTS)
        found.append(batch["old_per_token_logps"] * batch["completion_mask"])
    now, right = ((one - found[0]).abs() for one in found[1:])
    many = int((right.amax(1) > 1e-3).sum())
    return (
        f"differ by {now.max():.2g} from left padding (left on the right: {right.max():.2f}, "
        f"in {many} rows of 8)"
    )


def picture_token(policy: str, folder: Path) -> str:
    trainer = trainer_of(policy, folder, num_generations=2)
    token = trainer.model.config.image_token_id
    advantages = batch_of(trainer, TEXTS, [token])["advantages"]
    kept = token not in trainer.generation_kwargs["suppress_tokens"]
    lost = trainer._metrics["train"]["advantages/unusable_fraction"][-1]
    ends = "is sampled" if kept else "is not sampled"
    return (
        f"{ends}; put in by hand: advantage {advantages[3]:g}, unusable {lost:.3f}; trains: "
        f"{trained(trainer)}"
    )


def all_cut(policy: str, folder: Path) -> str:
    settings: dict[str, Any] = {
        "mask_truncated_completions": True,
        "max_completion_length": 1,
        "max_steps": 60,
    }
    trainer = trainer_of(policy, folder, **settings)
    return f"stops after {trained(trainer)}: {trainer.learning_monitor.stopped}"


def best_checkpoint(policy: str, folder: Path) -> str:
    saving = {"save_strategy": "steps", "eval_strategy": "steps", "load_best_model_at_end": True}
    chosen = SpanGRPOConfig(str(folder), **{**COMMON, **saving}).metric_for_best_model
    return (
        f"picks by {chosen}; given eval_loss: "
        f"{refused(trainer_of, policy, folder, metric_for_best_model='eval_loss')}"
    )


def thoughts(policy: str, folder: Path) -> str:
    """Scores of the answer within marks, and of the bare answer."""
    bare = {"posh": "A red star on grass.", "lave": "a dog"}
    columns = {
        "reference": ["A red star."],
        "question": ["What animal is it?"],
        "answers": [["dog", "dog", "cat"]],
    }
    said = []
    for reward in (PoshReward("match"), LaveReward("match")):
        text = bare[reward.__name__]
        marked = f"<think>A blue dog? No, a cat.</think><answer>{text}</answer>"
        one, other = (
            reward(["What is it?"], [written], **columns)[0] for written in (marked, text)
        )
        said.append(f"{reward.__name__} {one:.3f} (bare {other:.3f})")
    return ", ".join(said)


def assistants_turn(policy: str, folder: Path) -> str:
    return refused(
        trainer_of,
        policy,
        folder,
        rows(policy, SIZES, {"role": "assistant", "content": "The picture shows"}),
    )


def stock_trainer(policy: str, folder: Path) -> str:
    trainer_of(policy, folder, stock=True, span_coef=0.5)
    return "is made"


def weight_and_key(policy: str, folder: Path) -> str:
    twice = "trainer: {max_steps: 2}\ntrainer: {max_steps: 36}\n"
    weight = refused(trainer_of, policy, folder, reward_weights=[0.0])
    return f"{weight} / {refused(read_yaml, twice, 'recipe.yaml')}"


def tool_call(policy: str, folder: Path) -> str:
    """A stock trainer's call of a reward, whose completion has a tool's turn."""
    call = {"type": "function", "function": {"name": "zoom", "arguments": {}}}
    asked = {"role": "assistant", "content": "A blue circle.", "tool_calls": [call]}
    turns = [
        asked,
        {"role": "tool", "name": "zoom", "content": "A pond."},
        {"role": "assistant", "content": "A star."},
    ]
    one, other = (
        PoshReward("match")(["?"], [said], reference=["A star."])[0] for said in (turns, "A star.")
    )
    return f"the last message is judged: {one:.2f} (alone {other:.2f})"


class Pond:
    """An environment of TRL's whose tool looks at a part of the picture."""

    def reset(self, **row: Any) -> str:
        """Adds nothing to the prompt."""
        return ""

    def look(self, where: str) -> str:
        """
        Looks at a part of the picture.

        Args:
            where: the part
        """
        return f"A blue circle in a pond, on the {where}."


def environment(policy: str, folder: Path) -> str:
    """TRL's own loop around a policy that calls the environment's tool and then answers, with spans
    on its tokens.
    """
    POLICIES[policy](folder / "policy")
    model, processor = load_policy(str(folder / "policy"))
    tokenizer: Any = processor
    tokenizer.chat_template = chat_template_utils.qwen2_5_chat_template
    chat_template_utils.add_response_schema(tokenizer)
    call = (
        'Let me see.\n<tool_call>\n{"name": "look", "arguments": {"where": "left"}}\n</tool_call>'
    )
    answers, asked = TEXTS[1:5], "Let me see."

    def speak(
        self: Any,
        prompt_ids: list[list[int]],
        images: Any,
        multimodal_fields: Any,
        *_: Any,
        **__: Any,
    ) -> tuple[list[list[int]], None]:
        said = [
            answers[row % 4] if asked in tokenizer.decode(ids) else call
            for row, ids in enumerate(prompt_ids)
        ]
        return [tokenizer(text + "<|im_end|>")["input_ids"] for text in said], None

    args = SpanGRPOConfig(
        str(folder / "out"),
        **{**COMMON, "max_completion_length": 400, "max_steps": 1, "span_coef": 0.5},
    )
    data = rows(policy).add_column("reference", ["A red red star."] * 4)
    with mock.patch.object(GRPOTrainer, "_generate_single_turn", speak):
        trainer = SpanGRPOTrainer(
            model,
            [PoshReward("match")],
            args,
            data,
            processing_class=tokenizer,
            environment_factory=Pond,
        )
        said = trained(trainer)
    log, recorder = trainer.state.log_history[0], trainer.recorders[0]
    pairs = list(zip(recorder.samples, recorder.verdicts, strict=True))
    phrases = [
        sample.completion[span.start : span.end]
        for sample, verdict in pairs
        for span in verdict.spans
    ]
    tools = sum(phrase in Pond().look("left") for phrase in phrases)
    calls, unaligned = log["tools/call_frequency"], log["spans/unaligned_fraction"]
    return (
        f"{said}, {calls:g} calls a row, {unaligned:g} unaligned; {tools} of {len(phrases)} "
        "spans on the tool's words"
    )


CASES = (
    *(Case(0, policy, unequal_pictures) for policy in ("Qwen2.5-VL", "Qwen3-VL", "LLaVA")),
    *(Case(1, policy, unequal_questions) for policy in ("Qwen2.5-VL", "Qwen3-VL", "LLaVA")),
    *(Case(2, policy, picture_token) for policy in ("Qwen2.5-VL", "Qwen3-VL", "LLaVA")),
    *(Case(3, policy, all_cut) for policy in POLICIES),
    Case(4, "Llama", best_checkpoint),
    Case(5, "Llama", thoughts),
    *(Case(6, policy, assistants_turn) for policy in POLICIES),
    Case(7, "LLaVA", stock_trainer),
    Case(8, "Llama", weight_and_key),
    Case(9, "Llama", tool_call),
    Case(9, "Llama", environment),
)
