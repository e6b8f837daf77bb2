"""What W&B knows of a run, and that a resumed run goes on in the same one; who gets the span table."""

import json
import shutil
import sys
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from transformers import TrainerControl, TrainerState, TrainingArguments

from experiments.scenes.parts import SCENES, TINY
from spanreward.training.callbacks.run_trackers import RunTrackers, public
from spanreward.training.callbacks.span_trackers import send
from spanreward.training.recipe import check_recipe
from spanreward.training.run import run
from tests.support.fakes import FakeJudge
from tests.support.hostile_row import HOSTILE, hostile_row
from tests.support.tiny_trainer import COMMON, Scored

SETTINGS = {name: value for name, value in COMMON.items() if name not in ("seed", "save_strategy", "disable_tqdm")}


def test_wandb_holds_what_the_run_is_made_of_and_resume_goes_on_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    from tests.support.wandb_file import runs

    for name, value in {"MODE": "offline", "SILENT": "true", "CONSOLE": "off"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    for name in ("DIR", "DATA_DIR", "CACHE_DIR", "CONFIG_DIR"):
        monkeypatch.setenv(f"WANDB_{name}", str(tmp_path))
    output = tmp_path / "out"
    recipe = check_recipe(
        {
            "algorithm": "dapo",
            "output": str(output),
            "policy": {"model": TINY},
            "data": {"source": SCENES, "options": {"count": 8}},
            "rewards": [{"metric": "posh", "judge": "match"}],
            "spans_every": 5,
            "trainer": {**SETTINGS, "report_to": "wandb", "save_steps": 1, "span_coef": 0.5},
        }
    )
    try:
        run(recipe)
        wandb.finish()
        shutil.rmtree(output / "checkpoint-2")
        run(recipe, resume=True)
    finally:
        wandb.finish()
        wandb.teardown()
    (first, config), (second, resumed) = runs(tmp_path / "wandb")
    assert first == second
    assert config["recipe"] == json.loads(json.dumps(recipe.model_dump()))
    assert config["versions"]["trl"] == resumed["versions"]["trl"]
    (judged,) = config["rewards"].values()
    assert judged["metric"] == "PoshReward"
    assert judged["judges"][0].startswith("match en_core_web_sm")
    assert len(judged["prompts"]) >= 12
    assert config["readers"]["posh"].endswith("coref rules")
    assert config["max_steps"] == 2  # TRL's own arguments stay beside
    state = json.loads((output / "checkpoint-2" / "trainer_state.json").read_text())
    assert state["stateful_callbacks"]["RunTrackers"]["attributes"]["runs"]["wandb"]["id"] == first
    assert [path.name for path in (output / "spans").iterdir()] == ["step-000002.html"]  # the last step has a page


def test_a_checkpoint_of_an_earlier_version_is_resumed_in_a_new_run(tmp_path: Path) -> None:
    (tmp_path / "trainer_state.json").write_text(json.dumps({"stateful_callbacks": {}}))
    args = TrainingArguments(output_dir=str(tmp_path), use_cpu=True, bf16=False, report_to="none")
    trackers, state = RunTrackers({}), TrainerState(is_world_process_zero=True)
    trackers.go_on(args, tmp_path)
    trackers.on_train_begin(args, state, TrainerControl())
    assert args.run_name is None
    assert state.stateful_callbacks == {"RunTrackers": {"args": {}, "attributes": {"runs": {}}}}


def test_no_secret_of_a_url_is_sent() -> None:
    told = {"judge": ["server:http://me:secret@host:8000#m"], "prompt": "What is this?", "url": "http://host:8000#m"}
    assert public(told) == {**told, "judge": ["server:***"]}
    judge = FakeJudge()
    judge.name = "server:http://me:secret@host:8000#m"
    reward = Scored(lambda sample: 0.5)
    reward.judges = (judge,)
    assert "secret" not in json.dumps(RunTrackers({}, [reward]).config)


@pytest.mark.parametrize("text", HOSTILE)
def test_tensorboard_gets_an_escaped_table(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path))
    args = TrainingArguments(output_dir=str(tmp_path / "o"), use_cpu=True, bf16=False, report_to="tensorboard")
    send(args, 7, [hostile_row(text)], "page")
    events = EventAccumulator(str(tmp_path / "spans")).Reload()
    (event,) = events.Tensors("spans/text_summary")
    (table,) = (piece.decode() for piece in event.tensor_proto.string_val)
    assert event.step == 7
    assert "<strong>" in table
    assert "<script" not in table
    assert escape("<image>") in table or "<image>" not in text


def test_trackio_gets_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[Any] = []
    made = SimpleNamespace(log=logged.append, Html=lambda page, inject: (page, inject))
    monkeypatch.setitem(sys.modules, "trackio", made)
    args = SimpleNamespace(report_to=["trackio"], output_dir="out")
    send(args, 3, [hostile_row("A star.")], "<!doctype html>")
    assert logged == [{"spans": ("<!doctype html>", False), "train/global_step": 3}]
