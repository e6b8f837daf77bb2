"""The second set of trainings.md, what SFT learns: long rows, turns that never end, and rows with
answers and references.
"""

from pathlib import Path
from typing import Any

from PIL import Image

from experiments.trainings.enacting import POLICIES, Case, outcome_of, trained
from spanreward.training.run import build_trainer
from tests.support.tiny_sft import BASE_TOKENS, CHATML, LINES, save_with, sft_recipe
from tests.support.tokenizer import SPECIAL

LONG = 1900  # tokens of a long prompt
ROWS = 16
TEMPLATES = {  # each with its tokens; the second one is the eos
    "a template that ends in the eos": (CHATML, SPECIAL),
    "a new line": (LINES, SPECIAL),
    "another token": (CHATML, BASE_TOKENS),
}
LEARNED = ("A star.", "A red star.", "A cat.", "Two dogs.")


def long_rows(policy: str, folder: Path) -> str:
    """Says how many of sixteen rows are trained on. Eight of them have long prompts."""
    if policy == "Llama":
        save_with(folder / "policy")
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
    trainer = build_trainer(sft_recipe(folder, records), [])
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
        outcomes.append(f"{name}: {outcome_of(learnt_to_stop, place)}")
    return "; ".join(outcomes)


def learnt_to_stop(folder: Path) -> str:
    records = [
        {"prompt": f"What is {number}?", "reference": text} for number, text in enumerate(LEARNED)
    ]
    recipe = sft_recipe(
        folder, records, max_steps=60, per_device_train_batch_size=4, learning_rate=1e-2
    )
    trainer: Any = build_trainer(recipe, [])
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
    recipe = sft_recipe(folder, [{**row, "reference": "A red star on grass."}] * ROWS)
    trainer: Any = build_trainer(recipe, [])
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
