"""What a recipe names for later is looked for before a judge or a policy is loaded."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from spanreward.training import run as running
from spanreward.training.before_loading import faults_of
from spanreward.training.grpo.config import SpanGRPOConfig
from spanreward.training.plan.dry_run import dry_run, faults_here
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
FUNCTION = "data={source: HERE/own.py:rows, options: {splt: b}}"
FAULTS = [  # changes, what is at fault, and words of what is said
    (["referees=[{metric: pohs}]"], "referees", "'pohs'"),
    (["referees=[{metric: posh, judge: mach}]"], "referees", "'mach'"),
    (["referees=[{metric: 'HERE/own.py:Rule'}]"], "referees", "HERE/own.py", "class Rule"),
    ([FILE, "validation=null", "referees=[{metric: lave}]"], "referees", "lave", "'question'"),
    ([FILE, "validation={path: HERE/none.jsonl}"], "validation", "HERE/none.jsonl"),
    ([FILE, "validation={path: HERE/bad.jsonl}"], "validation", "bad.jsonl line 1", "'reference'"),
    (["win_rate={metric: posh, judge: match, anchor: none.jsonl}"], "win_rate", "none.jsonl"),
    (["validation={options: {splt: test}}"], "validation", "experiments/scenes/rows.py:scenes"),
    (["data={source: hub, id: HERE/hub}", "validation={split: val}"], "validation", "'val'"),
    (["policy.model=HERE/own.py:smal"], "policy", "policy.model HERE/own.py:smal", "function"),
    (["policy.model=HERE/own.py:unseeded"], "policy", "HERE/own.py:unseeded", "too many"),
    (["data={source: HERE/own.py:row}", "validation=null"], "data", "did you mean 'rows'?"),
    ([FUNCTION, "validation=null"], "data", "HERE/own.py:rows", "'splt'"),
    (["trainer.num_generations=3"], "trainer", "(128)", "num_generations (3)"),
    (["trainer.span_coef=.1", "trainer.loss_type=vespo"], "trainer", "loss_type='vespo'"),
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_and_a_dry_run_say_it_first(fault: tuple[Any, ...], tmp_path: Path) -> None:
    changes, what, *words = fault
    placed = [change.replace("HERE", str(tmp_path)) for change in changes]
    recipe = load_recipe(DAPO, [f"output={tmp_path}/out", *placed])
    (found, *_) = faults_here(recipe, 1, [])
    assert (found.what, found.ok) == (what, False)
    here = [word.replace("HERE", str(tmp_path)) for word in words]
    assert [word for word in here if word not in found.found] == []
    with pytest.raises(RecipeError) as error:
        run(recipe)
    message = str(error.value)
    assert "\n" not in message
    assert message.removeprefix(f"recipe key {what}: ").startswith(found.found.removesuffix("."))


def test_a_dry_run_ends_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = load_recipe(DAPO, [f"output={tmp_path}/out", "referees=[{metric: pohs}]"])
    with pytest.raises(RecipeError, match=r"cannot run it .*referees: .*'pohs'"):
        dry_run(recipe)
    assert "'pohs'" in capsys.readouterr().out


def test_a_part_of_a_split_is_left_to_datasets(tmp_path: Path) -> None:
    data = f"data={{source: hub, id: {tmp_path}/hub, split: 'train[:1]'}}"
    assert list(faults_of(load_recipe(DAPO, [data, "validation=null", "referees=[]"]), 1)) == []


def test_an_sft_recipe_has_rewards_for_its_comparison(tmp_path: Path) -> None:
    changes = [f"output={tmp_path}/out", "rewards=[{metric: pohs}]"]
    with pytest.raises(RecipeError, match=r"referees: .*'pohs'"):
        run(load_recipe(SFT, changes))


@pytest.mark.parametrize(
    ("setting", "package"),
    [
        ("report_to=wandb", "wandb"),
        ("report_to=[none, mlflow]", "mlflow"),
        ("optim=adamw_8bit", "bitsandbytes"),
        ("use_liger_kernel=true", "liger_kernel"),
        ("use_vllm=true", "vllm"),
        ("deepspeed=zero.json", "deepspeed"),
        ("model_init_kwargs={attn_implementation: flash_attention_2}", "flash_attn"),
    ],
)
def test_a_package_that_a_setting_needs(
    setting: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = importlib.util.find_spec

    def found(name: str, inside: str | None = None) -> Any:
        return None if name == package else find_spec(name, inside)

    monkeypatch.setattr("spanreward.training.trainer_settings.find_spec", found)
    recipe = load_recipe(DAPO, [f"output={tmp_path}/out", f"trainer.{setting}"])
    key = setting.partition("=")[0]
    with pytest.raises(RecipeError, match=rf"key trainer\.{key}: {key} .* needs {package}, "):
        run(recipe)
    findings = {finding.what: finding for finding in faults_here(recipe, 1, [])}
    assert findings[f"trainer.{key}"].found.startswith(f"{key} ")


def test_settings_are_checked_for_as_many_processes_as_train() -> None:
    sizes = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 1}
    settings = {"output_dir": "out", "num_generations": 8, **sizes}
    check_together(SpanGRPOConfig, settings, processes=8)
    with pytest.raises(ValueError, match=r"generation_batch_size \(1\) must be divisible"):
        check_together(SpanGRPOConfig, settings, processes=1)
