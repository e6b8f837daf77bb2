"""The pages that docs/gallery.md shows, made by the product's own commands when the site is built.

    build(Path("outputs/docs/gallery"))      # report.html, spans.html, pictures.html, doctor.html

docs/gallery/ holds what policies of a short quickstart wrote (DAPO with 32 completions a step in
place of 128): the answers of three to held-out pictures, and the completions of DAPO's last step.
"""

import html
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from transformers import TrainerControl, TrainerState
from trl import GRPOConfig

from experiments.scenes.language import PROMPT
from experiments.scenes.parts import scenes_part
from experiments.scenes.policy import tiny_tokenizer
from spanreward import PoshReward, Recorder, SpanTableCallback
from spanreward.training.data.load import load_data
from spanreward.training.grpo.by_group import group_advantages
from spanreward.training.grpo.recorder import TokenAdvantages
from spanreward.training.recipe import FilePart, load_recipe

ROOT = Path(__file__).parents[1]
ANSWERS = ROOT / "docs" / "gallery"
SPAN_COEF = 0.25  # of the recipe
RECIPE = "recipes/quickstart/scenes-dapo.yaml"
PEOPLE = "recipes/quickstart/people-dapo.yaml"
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>spanreward doctor</title>
<pre style="font-size: 13px">{}</pre></html>
"""


def build(folder: Path) -> None:
    """Write the pages into `folder`. Raises CalledProcessError where a command fails."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        compare(folder / "report.html", work)
        spans(folder / "spans.html", work)
        pictures(folder / "pictures.html", work)
    asked = [
        "doctor",
        "--recipe",
        "recipes/qwen2.5-vl-3b-lora/docent-posh-dapo.yaml",
        "--judge",
        "match",
    ]
    (folder / "doctor.html").write_text(
        PAGE.format(html.escape(spanreward(*asked, ok=(0, 1)))), encoding="utf-8"
    )


def compare(page: Path, work: Path) -> None:
    sides = [f"{model}={ANSWERS / f'{model}.jsonl'}" for model in ("base", "sft", "dapo")]
    count = len((ANSWERS / "base.jsonl").read_text().splitlines())
    title = "Drawn pictures: base, SFT and DAPO with PoSh"
    spanreward(
        "compare",
        *sides,
        "--recipe",
        RECIPE,
        "--limit",
        str(count),
        "--output",
        str(work),
        "--title",
        title,
    )
    shutil.copy(work / "report.html", page)


def spans(page: Path, work: Path) -> None:
    """What SpanTableCallback writes of a step whose completions are known."""
    step = json.loads((ANSWERS / "step.json").read_text())
    rows = load_data(scenes_part(count=2000))
    asked = [rows[int(row["id"]) - 1] for row in step["rows"]]
    args = GRPOConfig(
        str(work),
        num_generations=step["num_generations"],
        use_cpu=True,
        bf16=False,
        report_to="none",
    )
    reward = Recorder(PoshReward("match"))
    table = SpanTableCallback([reward], every=1)
    state = TrainerState(global_step=step["step"], is_world_process_zero=True)
    table.on_step_begin(args, state, TrainerControl())
    completions = [[{"role": "assistant", "content": row["completion"]}] for row in step["rows"]]
    images, references = [row["image"] for row in asked], [row["reference"] for row in asked]
    reward([row["prompt"] for row in asked], completions, image=images, reference=references)
    reward.advantages, reward.token_advantages = received(reward, step["num_generations"])
    table.on_step_end(args, state, TrainerControl())
    (written,) = (work / "spans").glob("*.html")
    shutil.copy(written, page)


def pictures(page: Path, work: Path) -> None:
    """What `spanreward score` shows of DAPO's answers to held-out pictures, whose references leave
    much out.
    """
    answers = [json.loads(line) for line in (ANSWERS / "dapo.jsonl").read_text().splitlines()]
    recipe = load_recipe(ROOT / PEOPLE)
    assert isinstance(recipe.validation_data, FilePart)
    rows = load_data(recipe.validation_data.model_copy(update={"count": len(answers)}))
    lines = []
    for number, (row, answer) in enumerate(zip(rows, answers, strict=True)):
        name = f"{number}.png"
        row["image"].save(work / name)
        kept = {"image": name, "prompt": PROMPT, "reference": row["reference"]}
        lines.append(json.dumps(kept | {"completion": answer["completion"]}) + "\n")
    (work / "rows.jsonl").write_text("".join(lines), encoding="utf-8")
    # the page names files as they are given, so these have short names
    judge = "from experiments.scenes.picture_judge import PictureJudge\n"
    (work / "scenes_judge.py").write_text(judge, encoding="utf-8")
    words = ["--judge", "scenes_judge.py:PictureJudge", "--set", "evidence=both"]
    words += ["--input", "rows.jsonl", "--output", "verdicts.jsonl", "--html", str(page.resolve())]
    spanreward("score", "posh", *words, folder=work)


def received(
    reward: Recorder, size: int, coef: float = SPAN_COEF
) -> tuple[list[float], dict[int, TokenAdvantages]]:
    """What the completions and their tokens receive with span_coef `coef`, in groups of `size`."""
    tokenizer = tiny_tokenizer().backend_tokenizer
    scalars: list[float] = []
    tokens: dict[int, TokenAdvantages] = {}
    for start in range(0, len(reward.samples), size):
        verdicts = reward.verdicts[start : start + size]
        texts = [sample.completion for sample in reward.samples[start : start + size]]
        scores = torch.tensor([verdict.score for verdict in verdicts])
        scalars += ((scores - scores.mean()) / (scores.std() + 1e-4)).tolist()
        encodings = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
        ids = [encoding.ids for encoding in encodings]
        advantages = group_advantages(
            verdicts, texts, ids, [True] * size, tokenizer, scalars[start:], coef
        )
        for row, (encoding, values) in enumerate(zip(encodings, advantages, strict=True), start):
            tokens[row] = [
                (*place, value) for place, value in zip(encoding.offsets, values, strict=True)
            ]
    return scalars, tokens


def spanreward(*arguments: str, ok: tuple[int, ...] = (0,), folder: Path = ROOT) -> str:
    """What the command prints. folder: where it runs."""
    env = os.environ | {"COLUMNS": "84", "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "spanreward", *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode not in ok:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return done.stdout


if __name__ == "__main__":
    build(Path(sys.argv[1]))
