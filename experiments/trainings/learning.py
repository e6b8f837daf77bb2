"""The second set of trainings.md, what SFT learns: long rows, turns that never end, and rows with
answers and references.
"""

import json
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from transformers import LlamaConfig, LlamaForCausalLM

from experiments.trainings.enacting import POLICIES, Case, trained
from spanreward.training.recipe import Recipe, check_recipe
from spanreward.training.run import build_trainer
from tests.support.tiny_models import save_llama
from tests.support.tiny_trainer import COMMON
from tests.support.tokenizer import SPECIAL, tokenizer

SETTINGS = (  # of COMMON that SFT has too
    "per_device_train_batch_size",
    "learning_rate",
    "max_steps",
    "save_strategy",
    "report_to",
    "bf16",
    "gradient_checkpointing",
    "use_cpu",
    "disable_tqdm",
)
LONG = 1900  # tokens of a long prompt
ROWS = 16
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAVA = (  # as LLaVA-1.5's on the hub, whose turn ends in a space
    "{% for m in messages %}{{ m.role.upper() }}: {{ m.content }} {% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)
LINES = LLAVA.replace("m.content }} ", "m.content }}\n")
TEMPLATES = {  # each with its tokens, of which the second is the eos
    "a template that ends in the eos": (CHATML, SPECIAL),
    "a new line": (LINES, SPECIAL),
    "another token": (CHATML, ("<|im_start|>", "<|endoftext|>", "<|im_end|>")),
}
LEARNED = ("A star.", "A red star.", "A cat.", "Two dogs.")


def recipe_of(folder: Path, records: list[dict[str, Any]], **trainer: Any) -> Recipe:
    """Returns a recipe of SFT with the policy that is in the folder and a file of these rows."""
    settings = {name: COMMON[name] for name in SETTINGS} | {"logging_strategy": "no"}
    file = folder / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return check_recipe(
        {
            "algorithm": "sft",
            "output": str(folder / "out"),
            "policy": {"model": str(folder / "policy")},
            "data": {"source": "jsonl", "path": str(file)},
            "trainer": {**settings, **trainer},
        }
    )


def long_rows(policy: str, folder: Path) -> str:
    """Sixteen rows, of which eight have long prompts: those of which some token is trained."""
    if policy == "Llama":
        save_llama(folder / "policy", context=2 * LONG)
    else:
        POLICIES[policy](folder / "policy")
    Image.new("RGB", (56, 56), "red").save(folder / "star.png")
    records = []
    for number in range(ROWS):
        text = "Why?" if number % 2 else "5" * LONG  # a token each
        record = {"prompt": text, "reference": "A red star."}
        if policy != "Llama":
            record["image"] = "star.png"
        records.append(record)
    trainer = build_trainer(recipe_of(folder, records, per_device_train_batch_size=1), [])
    learned = 0
    for batch in trainer.get_train_dataloader():
        learned += int((batch["labels"] != -100).any(1).sum())
    return f"{learned} of {ROWS} rows are trained on"


def endless_turns(policy: str, folder: Path) -> str:
    """How many of four answers stop after the SFT, by what ends a turn."""
    outcomes = []
    for name, (template, special) in TEMPLATES.items():
        place = folder / name.replace(" ", "-")
        place.mkdir()
        save_with(place / "policy", template, special)
        outcomes.append(f"{name}: {learnt_to_stop(place)}")
    return "; ".join(outcomes)


def save_with(folder: Path, template: str, special: tuple[str, ...]) -> None:
    """Saves two random layers whose tokenizer has the template, and as its eos the second token."""
    torch.manual_seed(0)
    words = tokenizer(template, special)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        eos_token_id=words.eos_token_id,
        bos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    words.save_pretrained(folder)


def learnt_to_stop(folder: Path) -> str:
    records = [
        {"prompt": f"What is {number}?", "reference": text} for number, text in enumerate(LEARNED)
    ]
    recipe = recipe_of(
        folder, records, max_steps=60, per_device_train_batch_size=4, learning_rate=1e-2
    )
    try:
        trainer = build_trainer(recipe, [])
    except ValueError as error:
        return f"refused: {error}"
    trained(trainer)
    words: Any = trainer.processing_class
    trainer.model.eval()
    stopped = 0
    for record in records:
        ids = words.apply_chat_template(
            [{"role": "user", "content": record["prompt"]}],
            add_generation_prompt=True,
            return_dict=True,
            return_tensors="pt",
        )["input_ids"]
        written = trainer.model.generate(ids, max_new_tokens=32, do_sample=False)[0, ids.shape[1] :]
        stopped += int(words.eos_token_id in written)
    return f"{stopped} of {len(records)} answers stop"


def two_targets(policy: str, folder: Path) -> str:
    """What SFT learns from a row with a question, answers and a reference."""
    save_with(folder / "policy", CHATML, SPECIAL)
    row = {"prompt": "Look.", "question": "What is it?", "answers": ["star", "star", "sun"]}
    recipe = recipe_of(folder, [{**row, "reference": "A red star on grass."}] * ROWS)
    trainer = build_trainer(recipe, [])
    batch = next(iter(trainer.get_train_dataloader()))
    labels = batch["labels"][0]
    words: Any = trainer.processing_class
    return f"trains on {words.decode(labels[labels != -100])!r}"


CASES = (
    Case(14, "Llama", long_rows),
    Case(14, "LLaVA", long_rows),
    Case(15, "Llama", endless_turns),
    Case(24, "Llama", two_targets),
)
