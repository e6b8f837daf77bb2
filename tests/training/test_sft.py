"""What SFT learns: whole rows, the tokens that the dry run shows, and turns that end."""

import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spanreward.training.recipe import RecipeError
from spanreward.training.run import build_trainer
from spanreward.training.sft import SupervisedTrainer, trained_tokens
from tests.support.tiny_models import save_llava, save_qwen
from tests.support.tiny_sft import BASE_TOKENS, CHATML, LINES, save_with, sft_recipe

SHORT = {"prompt": "Why?", "reference": "A red star."}
LONG = {"prompt": "5" * 1200, "reference": "A red star."}


def test_rows_longer_than_trls_default_are_trained_on_whole(tmp_path: Path) -> None:
    trainer: Any = build_trainer(sft_recipe(tmp_path, [SHORT, LONG]), [])
    assert trainer.args.max_length is None
    batches = list(trainer.get_train_dataloader())
    assert [int((batch["labels"] != -100).sum()) for batch in batches] == [13, 13]
    packing: Any = build_trainer(sft_recipe(tmp_path, [SHORT] * 4, packing=True), [])
    assert packing.args.max_length == 1024


def test_rows_that_max_length_cuts_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cut = {**SHORT, "reference": "7" * 100}
    recipe = sft_recipe(tmp_path, [SHORT, cut, LONG, LONG], max_length=100)
    trainer: Any = build_trainer(recipe, [])
    assert len(trainer.train_dataset) == 2
    told = "max_length 100 cuts 3 of 4 rows .* in 2 of .* trainer.max_length .* at least 12"
    assert re.search(told, caplog.text)


def test_a_max_length_that_leaves_nothing_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"^max_length 4 leaves no token .* any of 2 rows"):
        build_trainer(sft_recipe(tmp_path, [SHORT, LONG], max_length=4), [])


def pictured(folder: Path) -> list[dict[str, Any]]:
    Image.new("RGB", (56, 56), "red").save(folder / "star.png")
    return [{"image": "star.png", **SHORT}, {"image": "star.png", **LONG}]


def test_rows_of_the_validation_and_with_pictures_are_counted_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recipe = sft_recipe(tmp_path, [SHORT, LONG], max_length=100, eval_strategy="epoch")
    build_trainer(recipe.model_copy(update={"validation": {"count": 2}}), [])
    assert re.search("cuts 1 of 2 rows .* validation data", caplog.text)
    folder = tmp_path / "pictured"
    save_llava(folder / "policy")
    build_trainer(sft_recipe(folder, pictured(folder), max_length=1000), [])
    assert re.search("max_length 1000 cuts 1 of 2 rows .* no token .* in 1", caplog.text)


@pytest.mark.parametrize("save", [save_with, save_llava, save_qwen])
def test_the_tokens_are_those_that_trl_trains(tmp_path: Path, save: Any) -> None:
    save(tmp_path / "policy")
    records = [SHORT] if save is save_with else pictured(tmp_path)[:1]
    trainer: Any = build_trainer(sft_recipe(tmp_path, records), [])
    batch = next(iter(trainer.get_train_dataloader()))
    ids, labels = batch["input_ids"][0], batch["labels"][0]
    row = trainer.train_dataset[0]
    if save is save_with:
        row = {**row, "completion": [{"role": "assistant", "content": SHORT["reference"]}]}
    tokens = trained_tokens(trainer.processing_class, row)
    assert [*tokens.prompt, *tokens.answer] == ids.tolist()
    assert tokens.answer == labels[labels != -100].tolist()


def test_a_template_that_never_ends_a_turn_is_refused(tmp_path: Path) -> None:
    save_with(tmp_path / "policy", LINES)
    with pytest.raises(RecipeError, match=r"turn with '\\n', .* ends at '<\|im_end\|>'"):
        build_trainer(sft_recipe(tmp_path, [SHORT]), [])


def test_an_eos_that_ends_no_turn_is_refused_and_its_cure_works(tmp_path: Path) -> None:
    save_with(tmp_path / "policy", CHATML, BASE_TOKENS)
    with pytest.raises(RecipeError, match=r"set trainer.eos_token to '<\|im_end\|>'"):
        build_trainer(sft_recipe(tmp_path, [SHORT]), [])
    recipe = sft_recipe(tmp_path, [SHORT], eos_token="<|im_end|>")
    assert isinstance(build_trainer(recipe, []), SupervisedTrainer)


ENDLESS = "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}"


@pytest.mark.parametrize("name", ["own.jinja", "other"])
def test_a_template_of_the_recipe_that_never_ends_itself(tmp_path: Path, name: str) -> None:
    """A file, or a model's."""
    save_with(tmp_path / "other", ENDLESS)
    (tmp_path / "own.jinja").write_text(ENDLESS)
    recipe = sft_recipe(tmp_path, [SHORT], chat_template_path=str(tmp_path / name))
    with pytest.raises(RecipeError, match=rf"template of \S*{name} calls itself"):
        build_trainer(recipe, [])


def test_a_template_of_the_recipe_counts(tmp_path: Path) -> None:
    save_with(tmp_path / "policy", LINES)
    (tmp_path / "own.jinja").write_text(CHATML)
    recipe = sft_recipe(tmp_path, [SHORT], chat_template_path=str(tmp_path / "own.jinja"))
    assert isinstance(build_trainer(recipe, []), SupervisedTrainer)
