"""The dry run of SFT shows a whole example as it is trained, or says why it cannot."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from experiments.scenes.parts import SCENES, TINY
from spanreward.training.plan.dry_run import dry_run
from spanreward.training.plan.example import example_of
from spanreward.training.recipe import RecipeError, check_recipe
from tests.support.tiny_models import save_llava
from tests.support.tiny_sft import BASE_TOKENS, CHATML, LINES, save_with, sft_recipe

ROW: dict[str, Any] = {"prompt": "What is it?", "reference": "A red star."}


def test_an_example_below_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dry_run(sft_recipe(tmp_path, [ROW, ROW]))
    printed = capsys.readouterr().out
    assert "example: the first of 2" in printed
    assert "pictures not opened\nread, not trained (" in printed
    assert "<|im_start|>user\nWhat is it?<|im_end|>\n<|im_start|>assistant\n\ntrained (" in printed
    assert "tokens):\nA red star.<|im_end|>\n" in printed


def test_a_picture_is_one_token_and_is_not_opened(tmp_path: Path) -> None:
    save_llava(tmp_path / "policy")
    finding, text = example_of(sft_recipe(tmp_path, [{**ROW, "image": "gone.png"}]), True)
    assert finding.ok is True
    assert text.count("<image>") == 1
    assert text.endswith("tokens):\nA red star.<eos>")
    Image.new("RGB", (8, 8)).save(tmp_path / "gone.png")
    assert example_of(sft_recipe(tmp_path, [{**ROW, "image": "gone.png"}]), True)[1] == text


@pytest.mark.parametrize("changes", [{"policy": {"model": TINY}}, {"data": {"source": SCENES}}])
def test_what_is_no_file_here_cannot_be_shown(tmp_path: Path, changes: Any) -> None:
    recipe = check_recipe({**sft_recipe(tmp_path, [ROW]).model_dump(), **changes})
    finding, text = example_of(recipe, True)
    assert (finding.ok, text) == (None, "")
    assert "cannot be shown" in str(finding)
    assert example_of(sft_recipe(tmp_path, [ROW]), False)[1] == ""


def test_a_row_with_two_targets_stops_the_dry_run(tmp_path: Path) -> None:
    both = {**ROW, "answers": ["star"]}
    with pytest.raises(RecipeError, match=r"set data\.target"):
        dry_run(sft_recipe(tmp_path, [both]))
    _, text = example_of(sft_recipe(tmp_path, [both], {"target": "answers"}), True)
    assert text.endswith("tokens):\nstar<|im_end|>\n")


def test_a_turn_that_never_ends_stops_the_dry_run(tmp_path: Path) -> None:
    save_with(tmp_path / "policy", CHATML, BASE_TOKENS)
    with pytest.raises(RecipeError, match=r"set trainer.eos_token to '<\|im_end\|>'"):
        dry_run(sft_recipe(tmp_path, [ROW]))
    dry_run(sft_recipe(tmp_path, [ROW], eos_token="<|im_end|>"))


def test_a_template_of_the_recipe_is_left_to_the_run(tmp_path: Path) -> None:
    save_with(tmp_path / "policy", LINES)
    (tmp_path / "own.jinja").write_text(CHATML)
    path = str(tmp_path / "own.jinja")
    finding, _ = example_of(sft_recipe(tmp_path, [ROW], chat_template_path=path), True)
    assert finding.ok is True
