"""The README's promises that can be run."""

import json
import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from experiments.scenes.parts import scenes_part
from spanreward.training.data.load import load_data
from spanreward.training.recipe import load_recipe
from tests.support.paths import ROOT
from tests.support.tiny_models import save_llava

SMALL = (
    'max_completion_length=8, max_steps=64, logging_steps=4, lr_scheduler_type="constant",'
    'save_strategy="no", report_to="none", use_cpu=True, bf16=False, disable_tqdm=True'
)


README = (ROOT / "README.md").read_text()


def test_the_first_result_is_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"first result -->\n```python\n(.*?)```", README, re.DOTALL)
    exec(code, {})
    assert f"# {capsys.readouterr().out.strip()}\n" in code


def test_the_script_teaches_in_a_stock_trainer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own text, with a small random policy and its rate, one picture, and the judge `match`."""
    script = r"<!-- tested by tests/test_readme.py -->\n```python\n(.*?)```"
    (code,) = re.findall(script, README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    save_llava(Path("policy"))
    rows = load_data(scenes_part(count=1)).select_columns(["image", "reference"])
    rows.select([0] * 8).to_parquet("rows.parquet")
    for real, small in (
        ('"vllm:Qwen/Qwen3-8B", memory=4e9', '"match"'),
        ('"amitha/docent"', '"parquet", data_files="rows.parquet"'),
        ('"Qwen/Qwen2.5-VL-3B-Instruct"', '"policy"'),
        (", max_pixels=1003520", ""),
        ("max_completion_length=256,\n        bf16=True", SMALL),
        ("learning_rate=1e-5", "learning_rate=3e-3"),
    ):
        assert real in code
        code = code.replace(real, small)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(code, names)
    *rollouts, _ = names["trainer"].state.log_history
    assert len(rollouts) == 16
    assert {"reward", "posh/f1", "posh/precision", "posh/recall"} <= set(rollouts[0])
    assert any(line["clip_ratio/region_mean"] > 0 for line in rollouts)
    rewards = [line["reward"] for line in rollouts]
    assert fmean(rewards[-5:]) > fmean(rewards[:5]) + 0.03


def test_the_script_has_the_recipes_settings() -> None:
    recipe = load_recipe(ROOT / "recipes/qwen2.5-vl-3b-lora/docent-posh-dapo.yaml")
    batch = ("per_device_train_batch_size", "gradient_accumulation_steps", "steps_per_generation")
    for name in ("learning_rate", "num_generations", "num_train_epochs", *batch):
        (written,) = re.findall(rf"\b{name}=([\d.e-]+)", README)
        assert float(written) == recipe.trainer[name], name
    assert recipe.policy.lora is not None
    part = recipe.policy.lora
    assert f"r={part.r}, lora_alpha={part.alpha}," in README


def test_the_result_is_what_was_measured() -> None:
    """Means over six runs; docs/evidence/smollm2.md has the commands."""
    measured = json.loads((ROOT / "docs/evidence/smollm2.json").read_text())
    rows = {"base": "base", "SFT on people's captions": "SFT", "DAPO with PoSh": "DAPO"}
    rows["SFT, then DAPO with PoSh"] = "SFT-DAPO"
    for row, model in rows.items():
        found = measured["models"][model]
        f1, made_up = found["posh_embed_f1"]["mean"], 1 - found["said_all"]["mean"]
        line = next(line for line in README.splitlines() if line.startswith(f"| {row} |"))
        assert f"{f1:.3f}".removeprefix("0") in line
        assert f"| {100 * made_up:.0f} % |" in line
    gain = measured["difference"]["SFT-DAPO_minus_SFT"]["posh_embed_f1"]
    told = "+{mean:.3f} [{low:.3f}, {high:.3f}]".format(**gain).replace("0.", ".")
    assert told in README


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= 700
    assert max(map(len, README.splitlines())) <= 140  # a table's row is one line
