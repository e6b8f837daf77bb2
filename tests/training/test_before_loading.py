"""What a recipe names for later is looked for before a judge or a policy is loaded, by a run and by
a dry run.
"""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from spanreward.training import run as running
from spanreward.training.before_loading import faults_of
from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.plan.dry_run import dry_run, named_here
from spanreward.training.recipe import RecipeError, load_recipe
from spanreward.training.run import run
from spanreward.training.trainer_settings import check_together
from tests.support.paths import ROOT

DAPO, SFT = (ROOT / "recipes" / "quickstart" / f"scenes-{name}.yaml" for name in ("dapo", "sft"))


@pytest.fixture(autouse=True)
def nothing_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.py").write_text(
        "def unseeded():\n    return 1\n\ndef small(seed):\n    return 1\n\n"
        "def rows(split='a'):\n    raise AssertionError('called')\n"
    )
    (tmp_path / "rows.jsonl").write_text('{"prompt": "Which?", "reference": "A cat."}\n')
    (tmp_path / "bad.jsonl").write_text('{"prompt": "Which?", "reference": 7}\n')

    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / "train.jsonl").write_text((tmp_path / "rows.jsonl").read_text())

    def load(*_: Any, **__: Any) -> None:
        raise AssertionError("something is loaded")

    for name in ("start_judges", "build_trainer"):
        monkeypatch.setattr(running, name, load)


FILE = "data={source: jsonl, path: HERE/rows.jsonl}"
FAULTS = [
    (["referees=[{metric: pohs}]"], "referees", "unknown metric 'pohs'"),
    (["referees=[{metric: posh, judge: mach}]"], "referees", "unknown judge 'mach'"),
    (["referees=[{metric: 'HERE/own.py:Rule'}]"], "referees", "HERE/own.py has no class Rule"),
    ([FILE, "validation=null", "referees=[{metric: lave}]"], "referees",
        "lave needs the dataset column 'question', and the held-out data has"),
    ([FILE, "validation={path: HERE/none.jsonl}"], "validation",
        "there is no data file HERE/none.jsonl"),
    ([FILE, "validation={path: HERE/bad.jsonl}"], "validation",
        "HERE/bad.jsonl line 1: the column 'reference' must hold a text"),
    (["validation={options: {splt: test}}"], "validation",
        "experiments/scenes/rows.py:scenes cannot"),
    (["data={source: hub, id: HERE/hub}", "validation={split: val}"], "validation",
        "the dataset 'HERE/hub' has no split 'val', only ['train']"),
    (["policy.model=HERE/own.py:smal"], "policy",
        "policy.model HERE/own.py:smal: HERE/own.py has no function smal"),
    (["policy.model=HERE/own.py:unseeded"], "policy",
        "policy.model HERE/own.py:unseeded: HERE/own.py:unseeded cannot be called as it is: too"),
    (["data={source: HERE/own.py:row}", "validation=null"], "data",
        "HERE/own.py has no function row: did you mean 'rows'?"),
    (["data={source: HERE/own.py:rows, options: {splt: b}}", "validation=null"], "data",
        "HERE/own.py:rows cannot be called as it is: got an unexpected keyword argument 'splt'"),
    (["trainer.num_generations=3"], "trainer",
        "generation_batch_size (128) must be divisible by num_generations (3)"),
    (["trainer.span_coef=.1", "trainer.loss_type=vespo"], "trainer",
        "loss_type='vespo' moves all tokens of a completion alike"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "what", "told"), FAULTS)
def test_a_run_and_a_dry_run_say_it_first(
    changes: list[str], what: str, told: str, tmp_path: Path
) -> None:
    told = told.replace("HERE", str(tmp_path))
    placed = [change.replace("HERE", str(tmp_path)) for change in changes]
    recipe = load_recipe(DAPO, [f"output={tmp_path}/out", *placed])
    with pytest.raises(RecipeError, match=re.escape(told)) as error:
        run(recipe)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith((told, f"recipe key {what}: {told}"))
    (found, *_) = named_here(recipe, 1, [])
    assert (found.what, found.ok) == (what, False)
    assert found.found.startswith(told)


def test_a_dry_run_ends_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = load_recipe(DAPO, [f"output={tmp_path}/out", "referees=[{metric: pohs}]"])
    with pytest.raises(RecipeError, match=r"cannot run it .*referees: unknown metric 'pohs'"):
        dry_run(recipe)
    assert "referees: unknown metric 'pohs'" in capsys.readouterr().out


def test_a_part_of_a_split_is_left_to_datasets(tmp_path: Path) -> None:
    data = f"data={{source: hub, id: {tmp_path}/hub, split: 'train[:1]'}}"
    assert list(faults_of(load_recipe(DAPO, [data, "validation=null", "referees=[]"]), 1)) == []


def test_an_sft_recipe_has_rewards_for_its_comparison(tmp_path: Path) -> None:
    changes = [f"output={tmp_path}/out", "rewards=[{metric: pohs}]"]
    with pytest.raises(RecipeError, match="referees: unknown metric 'pohs'"):
        run(load_recipe(SFT, changes))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("report_to=wandb", "report_to 'wandb' needs wandb, which is not installed: pip install"),
        ("report_to=[none, mlflow]", "report_to 'mlflow' needs mlflow, which is not installed"),
        ("optim=adamw_8bit", "optim 'adamw_8bit' needs bitsandbytes, which is not installed"),
        ("use_liger_kernel=true", "use_liger_kernel True needs liger_kernel, which is not"),
        ("use_vllm=true", "use_vllm True needs vllm, which is not installed"),
        ("deepspeed=zero.json", "deepspeed 'zero.json' needs deepspeed, which is not installed"),
        (
            "model_init_kwargs={attn_implementation: flash_attention_2}",
            "model_init_kwargs {'attn_implementation': 'flash_attention_2'} needs flash_attn, which",
        ),
    ],
)
def test_a_package_that_a_setting_needs(
    change: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = importlib.util.find_spec
    absent = {"wandb", "mlflow", "bitsandbytes", "liger_kernel", "vllm", "deepspeed", "flash_attn"}

    def found(name: str, package: str | None = None) -> Any:
        return None if name in absent else find_spec(name, package)

    monkeypatch.setattr("spanreward.training.trainer_settings.find_spec", found)
    recipe = load_recipe(DAPO, [f"output={tmp_path}/out", f"trainer.{change}"])
    key = change.partition("=")[0]
    with pytest.raises(RecipeError, match=rf"recipe key trainer\.{key}: {re.escape(told)}"):
        run(recipe)
    findings = {finding.what: finding for finding in named_here(recipe, 1, [])}
    assert findings[f"trainer.{key}"].found.startswith(told.partition(" needs ")[0])


def test_settings_are_checked_for_as_many_processes_as_train() -> None:
    settings = {
        "output_dir": "out",
        "per_device_train_batch_size": 1,
        "gradient_accumulation_steps": 1,
        "num_generations": 8,
    }
    check_together(SpanGRPOConfig, settings, processes=8)
    with pytest.raises(ValueError, match=r"generation_batch_size \(1\) must be divisible"):
        check_together(SpanGRPOConfig, settings, processes=1)


def test_nothing_is_wrong_with_the_quickstart() -> None:
    for path in (DAPO, SFT):
        assert list(faults_of(load_recipe(path), 1)) == []
