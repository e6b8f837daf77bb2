"""Situations of training that people reported, re-enacted with tiny random policies on a CPU:
before and now.

    python -m experiments trainings ../shared/field
    # a Markdown table, one line a case; half a minute

`trainings.md` has a row for each situation, with what happened before in its column `today`. A case
here names its row.
"""

import argparse
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import torch
from datasets import Dataset
from PIL import Image
from transformers import PrinterCallback
from trl import GRPOTrainer, chat_template_utils

from experiments.field.texts import FOLDER
from experiments.scenes.parts import TINY
from spanreward import LaveReward, PoshReward, SpanGRPOConfig, SpanGRPOTrainer
from spanreward.training.grpo.preflight import check_rows
from spanreward.training.policy import load_policy
from spanreward.training.recipe_file import read_yaml
from tests.support.tiny_models import save_llava
from tests.support.tiny_policies import SAVE
from tests.support.tiny_trainer import COMMON, Scored

POLICIES = {
    "Qwen2.5-VL": SAVE["Qwen/Qwen2.5-VL"],
    "Qwen3-VL": SAVE["Qwen/Qwen3-VL"],
    "LLaVA": save_llava,
}
POLICIES |= {"Llama": SAVE["smollm2"]}
SIZES = ((56, 56), (112, 56), (56, 140), (168, 112))
QUESTIONS = (
    "What is it?",
    "What is it, and where is it, if anywhere?",
    "Why?",
    "What colour is the thing here?",
)
TEXTS = tuple(f"A {'red ' * number}star" for number in range(8))


@dataclass(frozen=True, slots=True)
class Case:
    """row: of trainings.md's table, from 0. policy: a name in POLICIES. enact: says what happens in
    the folder.
    """

    row: int
    policy: str
    enact: Callable[[str, Path], str]


def rows(policy: str, sizes: Sequence[tuple[int, int]] = SIZES, *turns: dict[str, str]) -> Dataset:
    """Four questions, with pictures where the policy reads them; turns: messages after each
    question.
    """
    columns: dict[str, Any] = {
        "prompt": [[{"role": "user", "content": one}, *turns] for one in QUESTIONS]
    }
    if policy != "Llama":
        columns["image"] = [Image.new("RGB", size, "red") for size in sizes]
    return Dataset.from_dict(columns)


def trainer_of(
    policy: str,
    folder: Path,
    data: Dataset | None = None,
    side: str = "right",
    stock: bool = False,
    **settings: Any,
) -> Any:
    """Returns a trainer of a new policy. side: where the processor that it is handed pads."""
    POLICIES[policy](folder / "policy")
    model, processor = load_policy(str(folder / "policy"))
    tokenizer: Any = processor if policy == "Llama" else processor.tokenizer
    tokenizer.padding_side = side
    args = SpanGRPOConfig(str(folder / "out"), **{**COMMON, "logging_strategy": "no", **settings})
    reward = Scored(lambda sample: len(sample.completion) % 5 / 5)
    kind = GRPOTrainer if stock else SpanGRPOTrainer
    return kind(model, [reward], args, data or rows(policy), processing_class=processor)


def batch_of(trainer: Any, texts: Sequence[str], extra: Sequence[int] = ()) -> dict[str, Any]:
    """Returns the batch that the trainer makes of these eight completions, the fourth with more
    tokens before it.
    """
    tokenizer = trainer._tokenizer
    ids = [[*tokenizer(text)["input_ids"], tokenizer.eos_token_id] for text in texts]
    ids[3] = [*extra, *ids[3]]
    trainer._generate_single_turn = lambda *_, **__: ([[*row] for row in ids], None)
    trainer.model.train()
    made: dict[str, Any] = trainer._generate_and_score_completions(
        [trainer.train_dataset[i // 2] for i in range(8)]
    )
    return made


def trained(trainer: Any) -> str:
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return f"{trainer.state.global_step} steps"


def unequal_pictures(policy: str, folder: Path) -> str:
    return "trains: " + trained(trainer_of(policy, folder))


def unequal_questions(policy: str, folder: Path) -> str:
    """The log-probabilities beside those of a processor that pads on the left, and those if the
    side stayed right.
    """
    data, found = rows(policy, SIZES[:1] * 4), []
    for side, stays in (("left", "left"), ("right", "left"), ("right", "right")):
        trainer = trainer_of(policy, folder / f"{side}-{stays}", data, side, num_iterations=2)
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
    trainer = trainer_of(policy, folder)
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
    return f"stops after {trained(trainer)}: {trainer.pulse.stopped}"


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
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("spanreward")
    log.addHandler(handler)
    trainer_of(policy, folder, stock=True, side="left", span_coef=0.5)
    log.removeHandler(handler)
    return " ".join(said)


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


def refused(act: Callable[..., Any], *arguments: Any, **settings: Any) -> str:
    """Returns the sentence with which `act` refuses, "not refused" if it does not."""
    try:
        act(*arguments, **settings)
    except ValueError as error:
        return f"refused: {error}"
    return "not refused"


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


def before(folder: Path) -> list[tuple[str, str]]:
    """Returns the situations of trainings.md and what happened in each; [] where the file is not
    there.
    """
    file = folder / "trainings.md"
    lines = (
        [line for line in file.read_text().splitlines() if line.startswith("|")][2:]
        if file.is_file()
        else []
    )
    cells = [line.replace(r"\|", "\0").strip("|").split("|") for line in lines]
    return [(one[0].replace("\0", "|").strip(), one[1].strip()) for one in cells]


def enacted(cases: Sequence[Case] = CASES) -> Iterator[tuple[Case, str]]:
    for case in cases:
        with TemporaryDirectory() as folder:
            torch.manual_seed(0)
            yield case, " ".join(case.enact(case.policy, Path(folder)).split())


def preflight(count: int) -> Iterator[str]:
    """Says what the preflight of so many rows costs.

    Their pictures are not there, and nothing opens them.
    """
    columns = {
        "reference": "A red circle on grass.",
        "question": "What is it?",
        "image": "nowhere.png",
    }
    prompts = {
        "prompt": [[{"role": "user", "content": "What is it?"}]] * count,
        "answers": [["circle"] * 10] * count,
    }
    data = Dataset.from_dict(prompts | {name: [value] * count for name, value in columns.items()})
    rewards = [PoshReward("match"), LaveReward("match")]
    _, processor = load_policy(TINY)
    for chosen in (rewards[:1], rewards):
        began, used = time.perf_counter(), time.process_time()
        check_rows(chosen, processor, "train_dataset", data)
        seconds = (
            f"{time.process_time() - used:.2f} s of CPU, {time.perf_counter() - began:.2f} "
            "s on the clock"
        )
        yield f"{count:,} rows, {len(chosen)} rewards: {seconds}, load {os.getloadavg()[0]:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", default=FOLDER, help="the folder with trainings.md"
    )
    parser.add_argument(
        "--rows", type=int, help="instead: what the preflight of so many rows costs"
    )
    arguments = parser.parse_args()
    if arguments.rows:
        print("\n".join(preflight(arguments.rows)))
        return
    known = before(arguments.folder)
    print("| situation | policy | before | now |\n|---|---|---|---|")
    for (row, now), alike in groupby(enacted(), key=lambda one: (one[0].row, one[1])):
        cases = [case for case, _ in alike]
        situation, was = known[row] if known else (cases[0].enact.__name__, "")
        cells = (situation, ", ".join(case.policy for case in cases), was, now)
        print("".join(f"| {cell.replace('|', chr(92) + '|')} " for cell in cells) + "|", flush=True)


if __name__ == "__main__":
    main()
