"""What people get wrong, each as a command or a script, and what they must be told.

prepare(folder)          # the files that the commands and scripts name
MISTAKES[0].words        # of `spanreward`, to be run in that folder
MISTAKES[-1].script      # or Python, which must raise an error of one sentence
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from PIL import Image
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from experiments.scenes.policy import tiny_policy, tiny_processor

SETTINGS = {
    **{
        "max_steps": 1,
        "per_device_train_batch_size": 4,
        "num_generations": 4,
        "max_completion_length": 8,
    },
    **{"use_cpu": True, "bf16": False, "report_to": "none"},
}
RECIPE: dict[str, Any] = {
    "algorithm": "grpo",
    "output": "out",
    "policy": {"model": "policy"},
    "data": {"source": "jsonl", "path": "rows.jsonl"},
    "rewards": [{"metric": "posh", "judge": "match"}],
    "trainer": SETTINGS,
}
BEFORE = """
from datasets import Dataset
from PIL import Image
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer
from spanreward import *
from spanreward.rewards.judges.encoding.picture_chat import load_processor

SETTINGS = {settings}
ask = [{{"role": "user", "content": "Describe it."}}]
row = {{"prompt": ask, "reference": "A red circle."}}
rows = Dataset.from_list([row] * 8)
pictures = Dataset.from_list([row | {{"image": Image.new("RGB", (48, 48), "red")}}] * 8)
reader = {{"model": AutoModelForCausalLM.from_pretrained("reader")}}
reader["processing_class"] = AutoTokenizer.from_pretrained("reader")
seer = {{"model": AutoModelForImageTextToText.from_pretrained("policy"), "processing_class": load_processor("policy")}}

def train(rewards, data, policy, trainer=SpanGRPOTrainer, config=SpanGRPOConfig, **settings):
    args = config(output_dir="out", **SETTINGS | settings)
    trainer(args=args, reward_funcs=rewards, train_dataset=data, **policy).train()

"""


@dataclass(frozen=True, slots=True)
class Mistake:
    """told: a regular expression of what is said. status: how the command ends; 0 where it goes on
    and warns. before, after: grades of what was and is said, A to F, "-" for what did not exist
    (misplaced.py).
    """

    what: str
    told: str
    words: tuple[str, ...] = ()
    script: str = ""
    status: int = 1
    before: str = ""
    after: str = ""

    @property
    def name(self) -> str:
        return self.what.replace("`", "").replace(" ", "-")


def train(what: str, told: str, *overrides: str) -> Mistake:
    return Mistake(what, told, ("train", "recipe.yaml", "--set", *overrides))


def score(what: str, told: str, *words: str, rows: str = "rows.jsonl", status: int = 1) -> Mistake:
    return Mistake(
        what, told, ("score", *words, "--input", rows, "--output", "verdicts.jsonl"), status=status
    )


def compare(what: str, told: str, *words: str, status: int = 1) -> Mistake:
    return Mistake(what, told, ("compare", *words, "--output", "comparison"), status=status)


def script(what: str, told: str, code: str) -> Mistake:
    return Mistake(what, told, script=code)


MISTAKES = [
    Mistake("a command misspelt", "invalid choice: 'trian'", ("trian", "recipe.yaml"), status=2),
    Mistake(
        "a recipe that is not there",
        "there is no recipe recpe.yaml: .spanreward recipes",
        ("train", "recpe.yaml"),
    ),
    train(
        "a setting misspelt",
        "unknown recipe key 'trainer.learning_rat': did you mean",
        "trainer.learning_rat=1e-5",
    ),
    train(
        "a text for a number",
        "recipe key trainer.max_steps: .* got 'many'",
        "trainer.max_steps=many",
    ),
    train(
        "a negative weight of spans",
        "trainer.span_coef: Input should be greater than or equal to 0, got -1",
        "trainer.span_coef=-1",
    ),
    train(
        "a group that does not divide the batch",
        r"must be divisible by num_generations \(3\)",
        "trainer.num_generations=3",
    ),
    train("a data file that is not there", "nothing.jsonl", "data.path=nothing.jsonl"),
    train("a data key that no row has", "caption", "data.columns.reference=caption"),
    train(
        "a column that the reward needs and the data lack",
        "lave needs the dataset column",
        "rewards.0.metric=lave",
    ),
    train("a picture that is not there", "gone.png", "data.path=gone.jsonl"),
    train(
        "a metric misspelt", "unknown metric 'pohs': did you mean 'posh'", "rewards.0.metric=pohs"
    ),
    train(
        "a kind of judge misspelt",
        "unknown judge 'vlm:Qwen/Qwen3-8B': did you mean",
        "rewards.0.judge=vlm:Qwen/Qwen3-8B",
    ),
    train("a judge without its model", "the judge 'vllm' is not complete", "rewards.0.judge=vllm"),
    train(
        "a judge's server that is not running",
        "cannot start: .*127.0.0.1:9",
        "rewards.0.judge=server:http://127.0.0.1:9#m",
    ),
    train(
        "a judge by hub id without a network",
        "Qwen/Qwen3-8B' is not on this machine",
        "rewards.0.judge=transformers:Qwen/Qwen3-8B",
    ),
    train(
        "a policy by hub id without a network",
        "text-generation policy in 'Qwen/Qwen2.5-VL-3B",
        "policy.model=Qwen/Qwen2.5-VL-3B-Instruct",
    ),
    train(
        "data by hub id without a network",
        "the dataset 'amitha/docent' cannot be loaded",
        "data={source: hub, id: amitha/docent}",
    ),
    train(
        "a policy that reads text only",
        "a tokenizer, which reads no pictures",
        "policy.model=reader",
    ),
    train(
        "an output folder that is not empty",
        "the output folder full is not empty: choose another output",
        "output=full",
    ),
    Mistake(
        "resuming what never ran",
        "there is no run to resume in out",
        ("train", "recipe.yaml", "--resume"),
    ),
    score("no judge for a metric that asks one", "posh asks a judge, and none is named", "posh"),
    score(
        "a file to score that is not there",
        "nothing.jsonl",
        "posh",
        "--judge",
        "match",
        rows="nothing.jsonl",
    ),
    score(
        "a metric's option misspelt",
        "unknown option of posh 'scor': did you mean 'score'",
        "posh",
        "--judge",
        "match",
        "--set",
        "scor=recall",
    ),
    score(
        "rows without the metric's key",
        "'reference'",
        "posh",
        "--judge",
        "match",
        rows="bare.jsonl",
    ),
    score(
        "a line that is not JSON",
        "broken.jsonl:2: not scored: line 2 is not JSON",
        "posh",
        "--judge",
        "match",
        rows="broken.jsonl",
        status=0,
    ),
    compare(
        "a checkpoint that is not there",
        "nowhere",
        "one=nowhere",
        "two=answers.jsonl",
        "--recipe",
        "recipe.yaml",
    ),
    compare(
        "answers to other prompts",
        "answers.jsonl",
        "one=answers.jsonl",
        "two=answers.jsonl",
        "--data",
        "rows.jsonl",
        "--metric",
        "posh",
    ),
    compare(
        "data without a metric",
        "--data needs --metric",
        "one=answers.jsonl",
        "two=answers.jsonl",
        "--data",
        "rows.jsonl",
        status=2,
    ),
    script(
        "a class in place of a reward",
        r"reward_funcs has <class .*: give a reward that is made, as PoshReward",
        "train([PoshReward], rows, reader)",
    ),
    script(
        "a metric's name in place of a reward",
        "reward_funcs has 'posh'",
        "train('posh', rows, reader)",
    ),
    script(
        "a class in place of a judge", "a judge is a Judge or its name", "PoshReward(MatchJudge)"
    ),
    script(
        "pictures for a policy that reads text only",
        "processing_class is a tokenizer, which reads no pictures",
        "train([PoshReward('match')], pictures, reader)",
    ),
    script(
        "a policy without a chat template",
        "has no chat_template to write them with",
        "reader['processing_class'].chat_template = None\ntrain([PoshReward('match')], rows, "
        "reader)",
    ),
    script(
        "a column of another name",
        "posh needs the dataset column 'reference'.* rename the column",
        "train([PoshReward('match')], rows.rename_column('reference', 'solution'), reader)",
    ),
    script(
        "a column of another name, in TRL's trainer",
        "posh needs the dataset column 'reference'.* rename the column",
        "train([PoshReward('match')], rows.rename_column('reference', 'solution'), reader, "
        "GRPOTrainer, GRPOConfig)",
    ),
    script(
        "columns that TRL drops",
        "leave remove_unused_columns=False",
        "train([PoshReward('match')], rows, reader, GRPOTrainer, GRPOConfig, "
        "remove_unused_columns=True)",
    ),
    script(
        "no column of prompts",
        "train_dataset needs the column 'prompt'",
        "train([PoshReward('match')], rows.rename_column('prompt', 'question'), reader)",
    ),
    script(
        "two rewards of one name",
        "rewards need different names",
        "train([PoshReward('match'), PoshReward('match')], rows, reader)",
    ),
    script(
        "fewer rows than a batch",
        "has 1 rows, and one batch takes 2 prompts",
        "train([PoshReward('match')], rows.select([0]), reader, per_device_train_batch_size=8)",
    ),
    script(
        "spans of a function that gives none",
        "needs a reward that gives spans",
        "train([lambda completions, **_: [0.0] * len(completions)], rows, reader, span_coef=0.5)",
    ),
    script(
        "a callback that watches no recorder",
        "SpanTableCallback watches Recorders, got",
        "SpanTableCallback([PoshReward('match')])",
    ),
]


def prepare(folder: Path) -> None:
    """Write what the commands and scripts read: a recipe, rows, pictures, answers and two untrained
    policies.
    """
    (folder / "recipe.yaml").write_text(yaml.safe_dump(RECIPE))
    Image.new("RGB", (48, 48), "red").save(folder / "red.png")
    row = {"completion": "A red circle.", "reference": "A red circle.", "image": "red.png"}
    write(folder / "rows.jsonl", [{"id": str(number), **row} for number in range(8)])
    write(folder / "gone.jsonl", [row, {**row, "image": "gone.png"}])
    write(folder / "bare.jsonl", [{"id": "a", "completion": "A red circle."}])
    write(folder / "answers.jsonl", [{"id": "other", "completion": "A red circle."}])
    (folder / "broken.jsonl").write_text(json.dumps(row) + "\noops\n")
    (folder / "full").mkdir()
    (folder / "full" / "mine.txt").write_text("")
    processor = tiny_processor()
    tiny_policy(0).save_pretrained(folder / "policy")
    processor.save_pretrained(folder / "policy")
    sizes: Any = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    config = LlamaConfig(
        vocab_size=len(processor.tokenizer), eos_token_id=processor.tokenizer.eos_token_id, **sizes
    )
    LlamaForCausalLM(config).save_pretrained(folder / "reader")
    processor.tokenizer.save_pretrained(folder / "reader")
    reading = PreTrainedTokenizerFast.from_pretrained(folder / "reader", processor_class=None)
    reading.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    reading.save_pretrained(folder / "reader")


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def whole(mistake: Mistake) -> str:
    """Returns the script as a file that runs."""
    return BEFORE.format(settings=SETTINGS) + mistake.script + "\n"
