"""What a run writes to its folder, what is refused there, and how lines go on."""

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import save_file

from experiments.scenes.parts import SCENES, TINY
from spanreward.training.recipe import Recipe, RecipeError, check_recipe
from spanreward.training.run_folder import (
    begin_run,
    check_new,
    checkpoint_folders,
    checkpoint_to_resume,
    continue_lines,
    plain_leaves,
)


def recipe(output: Path, **changes: Any) -> Recipe:
    fields = {"algorithm": "sft", "output": str(output), "policy": {"model": TINY}}
    fields["data"] = {"source": SCENES}
    return check_recipe({**fields, **changes})


def add_checkpoint(output: Path, step: int, whole: bool = True) -> Path:
    folder = output / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    if whole:
        (folder / "trainer_state.json").write_text("{}")
    return folder


def test_a_new_run_says_what_made_it(tmp_path: Path) -> None:
    asked = recipe(tmp_path / "out", seed=3, data={"source": SCENES, "options": {"seed": 5}})
    begin_run(asked, processes=2)
    made = json.loads((tmp_path / "out" / "versions.json").read_text())
    assert made["torch"] == torch.__version__.split("+")[0] or made["torch"] == torch.__version__
    assert made["python"].startswith("3.")
    assert (made["processes"], made["resumed"]) == (2, [])
    written = check_recipe(yaml.safe_load((tmp_path / "out" / "recipe.yaml").read_text()))
    assert written == asked


def test_a_folder_with_something_in_it(tmp_path: Path) -> None:
    check_new(recipe(tmp_path / "out"), [])
    (tmp_path / "out").mkdir()
    check_new(recipe(tmp_path / "out"), [])
    add_checkpoint(tmp_path / "out", 4)
    with pytest.raises(RecipeError, match=r"is not empty: .* --resume"):
        check_new(recipe(tmp_path / "out"), [])
    check_new(recipe(tmp_path / "out", overwrite=True), ["org/model", str(tmp_path / "rows.jsonl")])
    for inside in ("checkpoint-4", "verdicts.jsonl"):
        with pytest.raises(RecipeError, match=rf"{inside}, which this run reads"):
            check_new(recipe(tmp_path / "out", overwrite=True), [str(tmp_path / "out" / inside)])


def test_a_run_that_overwrites_leaves_no_checkpoint_of_another(tmp_path: Path) -> None:
    add_checkpoint(tmp_path, 90)
    (tmp_path / "notes.txt").write_text("mine")
    begin_run(recipe(tmp_path, overwrite=True), processes=1)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["notes.txt", "recipe.yaml", "versions.json"]


def test_the_last_whole_checkpoint_is_resumed(tmp_path: Path) -> None:
    begin_run(recipe(tmp_path), processes=1)
    for step in (9, 100, 20):
        add_checkpoint(tmp_path, step)
    add_checkpoint(tmp_path, 200, whole=False)
    (tmp_path / "checkpoint-old").mkdir()
    names = [path.name for path in checkpoint_folders(tmp_path)]
    assert names == [f"checkpoint-{step}" for step in (9, 20, 100, 200)]
    found = checkpoint_to_resume(recipe(tmp_path, overwrite=True), processes=1)
    assert found == tmp_path / "checkpoint-100"
    begin_run(recipe(tmp_path), processes=1, checkpoint=found)
    made = json.loads((tmp_path / "versions.json").read_text())
    assert [entry["checkpoint"] for entry in made["resumed"]] == ["checkpoint-100"]
    assert made["resumed"][0]["torch"] == made["torch"]
    assert len(checkpoint_folders(tmp_path)) == 4


def add_files(folder: Path) -> None:
    """What a Trainer leaves in a checkpoint."""
    (folder / "config.json").write_text('{"a": [1, 2]}')
    save_file({"a": torch.arange(999)}, folder / "model.safetensors")
    for name in ("optimizer.pt", "rng_state.pth", "training_args.bin"):
        torch.save({"a": torch.arange(999)}, folder / name)


FILES = [
    "trainer_state.json", "config.json", "model.safetensors", "optimizer.pt", "rng_state.pth",
    "training_args.bin",
]  # fmt: skip


@pytest.fixture
def begun(tmp_path: Path) -> tuple[Path, Path]:
    """The two checkpoints of a run."""
    begin_run(recipe(tmp_path), processes=1)
    first, last = add_checkpoint(tmp_path, 2), add_checkpoint(tmp_path, 4)
    add_files(first)
    add_files(last)
    return first, last


def resumed(output: Path) -> Path:
    """The checkpoint that is resumed."""
    return checkpoint_to_resume(recipe(output), processes=1)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kept", [0.0, 0.5, 0.99])
def test_a_checkpoint_that_was_cut_is_passed_over(
    begun: tuple[Path, Path], name: str, kept: float, caplog: pytest.LogCaptureFixture
) -> None:
    first, last = begun
    (last / "trainer_state.json").write_text('{"global_step": 4}')
    assert resumed(last.parent) == last
    content = (last / name).read_bytes()
    (last / name).write_bytes(content[: int(kept * len(content))])
    assert resumed(last.parent) == first
    assert f"{last} is damaged ({name}: " in caplog.text
    (first / name).write_bytes(b"")
    with pytest.raises(RecipeError, match=rf"every checkpoint in .* checkpoint-2 \({name}: "):
        resumed(last.parent)


class Code:
    def __reduce__(self) -> Any:
        return print, ("run",)


@pytest.mark.parametrize("name", ["optimizer.pt", "scheduler.pt", "rng_state.pth"])
def test_a_pickle_with_code_is_a_sentence_and_is_not_run(
    begun: tuple[Path, Path], name: str, caplog: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    first, last = begun
    random_states = {"python": random.getstate(), "cpu": torch.get_rng_state()}
    random_states["numpy"] = np.random.get_state()  # noqa: NPY002
    torch.save(random_states, last / "rng_state.pth")  # as Trainer does
    assert resumed(last.parent) == last
    torch.save({"a": Code()}, last / name)
    assert resumed(last.parent) == first
    why = f"{name} holds builtins.print, "
    assert f"{last} is damaged ({why}" in caplog.text
    torch.save(Code(), first / name)
    with pytest.raises(RecipeError, match=rf"checkpoint-2 \({re.escape(why)}.* overwrite=true"):
        resumed(last.parent)
    assert "run" not in capfd.readouterr().out


@pytest.mark.parametrize("content", ["", '{"processes": 1', "[]", '{"resumed": []}'])
def test_a_run_whose_beginning_is_not_known(tmp_path: Path, content: str) -> None:
    begin_run(recipe(tmp_path), processes=1)
    (tmp_path / "versions.json").write_text(content)
    with pytest.raises(RecipeError, match=r"versions.json, .* cannot be read \("):
        resumed(tmp_path)


def test_what_reads_the_texts_is_kept_and_another_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    small = {"posh": "en_core_web_sm 3.8.0, coref rules"}
    large = {"posh": "en_core_web_trf 3.8.0, coref maverick"}
    begin_run(recipe(tmp_path), 1, read_by=small)
    begin_run(recipe(tmp_path), 1, add_checkpoint(tmp_path, 2), small)
    assert not caplog.messages
    begin_run(recipe(tmp_path), 1, add_checkpoint(tmp_path, 4), large)
    (warning,) = caplog.messages
    assert re.search(f"posh .* by {small['posh']} and .* by {large['posh']}", warning)
    made = json.loads((tmp_path / "versions.json").read_text())
    assert made["readers"] == small
    assert [entry["readers"] for entry in made["resumed"]] == [small, large]


def test_what_cannot_be_resumed(tmp_path: Path) -> None:
    def refused(words: str, processes: int = 1, **changes: Any) -> None:
        asked = recipe(tmp_path, **{"trainer": {"max_steps": 5}, **changes})
        with pytest.raises(RecipeError, match=words):
            checkpoint_to_resume(asked, processes)

    refused("no run to resume in .*no recipe.yaml")
    begin_run(recipe(tmp_path, trainer={"max_steps": 5}), processes=1)
    refused("no checkpoint .*SIGTERM")
    add_checkpoint(tmp_path, 4, whole=False)
    refused("no checkpoint to resume")
    add_checkpoint(tmp_path, 2)
    refused("trainer.max_steps: 5, and this recipe 4", trainer={"max_steps": 4})
    more = {"source": SCENES, "options": {"count": 7}}
    refused("data.options.count: None, and this recipe 7", data=more)
    refused("1 processes and this is 4", processes=4)
    weights_only = {"max_steps": 5, "save_only_model": True}
    begin_run(recipe(tmp_path, trainer=weights_only), 1, tmp_path / "checkpoint-2")
    refused("leaves the optimizer out", trainer=weights_only)


@pytest.mark.parametrize(
    ("was", "now", "longer"),
    [
        ({"max_steps": 5}, {"max_steps": 9}, True),
        ({"num_train_epochs": 1}, {"num_train_epochs": 1.5}, True),
        ({}, {"num_train_epochs": 4}, True),
        ({}, {"num_train_epochs": 2}, False),
        ({"num_train_epochs": 4}, {}, False),
        ({}, {"max_steps": 9}, False),
        ({"max_steps": 9}, {}, False),
        ({"max_steps": 9}, {"max_steps": 5}, False),
        ({"max_steps": 5}, {"max_steps": 9, "learning_rate": 1e-3}, False),
    ],
)
def test_a_resumed_run_may_only_be_longer(
    tmp_path: Path, was: Any, now: Any, longer: bool, caplog: pytest.LogCaptureFixture
) -> None:
    begin_run(recipe(tmp_path, trainer=was), processes=1)
    checkpoint, asked = add_checkpoint(tmp_path, 2), recipe(tmp_path, trainer=now)
    if not longer:
        with pytest.raises(RecipeError, match="its own recipe"):
            checkpoint_to_resume(asked, processes=1)
        return
    assert checkpoint_to_resume(asked, processes=1) == checkpoint
    assert caplog.text.count("the learning rate goes on") == 1
    begin_run(asked, 1, checkpoint)
    caplog.clear()
    # the folder's recipe is the longer one
    assert checkpoint_to_resume(asked, processes=1) == checkpoint
    assert not caplog.text


def test_lines_go_on_after_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    lines = [{"step": 1}, {"step": 2}, {"step": 2, "train_runtime": 1.0}]
    lines.append({"step": 3, "text": "\ud800\u2028 \x85"})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text(text + '{"step": 4, "los')
    continue_lines(path, 3)
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    assert kept == [*lines[:2], lines[3]]
    continue_lines(path, 1)
    assert path.read_text() == '{"step": 1}\n'
    continue_lines(path, 0)
    assert path.read_text() == ""
    continue_lines(tmp_path / "not there", 1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_values_are_named_by_their_path() -> None:
    held = {"a": 1, "b": {"c": [{"d": 5}, 2]}, "e": None}
    assert dict(plain_leaves(held)) == {"a": 1, "b.c.0.d": 5, "b.c.1": 2, "e": None}
