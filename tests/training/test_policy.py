"""The tiny policy: small, reproducible, saved whole, and not blind."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from training.policy import CHAT_TEMPLATE, SPECIAL_TOKENS, load_policy, tiny_policy, tiny_processor, tiny_tokenizer
from training.recipe import RecipeError
from training.scenes.language import PROMPT, describe
from training.scenes.world import COLORS, SHAPES, SIZES, Scene, Thing, draw, make_scenes

STAR = draw(Scene((Thing("star", "red", "large", "top", "left"),), seed=""), 48)
SQUARE = draw(Scene((Thing("square", "blue", "small", "bottom", "right"),), seed=""), 48)


@pytest.fixture(scope="module")
def tiny() -> Any:
    model, processor = load_policy("tiny", seed=0)
    return model.eval(), processor


def logits(model: Any, processor: Any, image: Image.Image) -> torch.Tensor:
    messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": PROMPT}]}]
    text = processor.apply_chat_template(messages, add_generation_prompt=True)
    with torch.inference_mode():
        return model(**processor(images=[image], text=[text], return_tensors="pt")).logits[0, -1]


def test_about_a_million_parameters(tiny: Any) -> None:
    model, _ = tiny
    assert 0.8e6 < sum(parameter.numel() for parameter in model.parameters()) < 1.3e6
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight


def test_same_seed_same_weights() -> None:
    first, second, other = tiny_policy(1).state_dict(), tiny_policy(1).state_dict(), tiny_policy(2).state_dict()
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


def test_saved_and_loaded_it_is_the_same_policy(tiny: Any, tmp_path: Path) -> None:
    model, processor = tiny
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    again, its_processor = load_policy(str(tmp_path))
    again.eval()
    assert torch.equal(logits(again, its_processor, STAR), logits(model, processor, STAR))
    assert its_processor.chat_template == processor.chat_template == CHAT_TEMPLATE
    assert its_processor.tokenizer.get_vocab() == processor.tokenizer.get_vocab()
    assert again.generation_config.eos_token_id == model.generation_config.eos_token_id
    assert next(again.parameters()).dtype == torch.float32
    assert next(load_policy(str(tmp_path), dtype="bfloat16")[0].parameters()).dtype == torch.bfloat16


def test_the_picture_changes_what_comes_next(tiny: Any) -> None:
    star, square = (logits(*tiny, image) for image in (STAR, SQUARE))  # type: ignore[call-arg]
    assert torch.equal(star, logits(*tiny, STAR))  # type: ignore[call-arg]
    assert (star - square).abs().max() > 0.01  # a blind model would give exactly the same


def test_where_a_thing_is_changes_what_comes_next(tiny: Any) -> None:
    left, right = (draw(Scene((Thing("star", "red", "large", "top", place),), "")) for place in ("left", "right"))
    assert (logits(*tiny, left) - logits(*tiny, right)).abs().max() > 0.01  # type: ignore[call-arg]


def test_the_prompt_as_the_model_reads_it(tiny: Any) -> None:
    _, processor = tiny
    messages = [
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Describe."}]},
        {"role": "assistant", "content": "A star."},
    ]
    assert processor.apply_chat_template(messages) == "<user><image>Describe.<assistant>A star.<eos>"
    asked = processor.apply_chat_template(messages[:1], add_generation_prompt=True)
    assert asked == "<user><image>Describe.<assistant>"
    ids = processor(images=[STAR], text=[asked], return_tensors="pt")["input_ids"][0].tolist()
    assert ids.count(SPECIAL_TOKENS.index("<image>")) == 9  # one for each place


def test_special_tokens_have_the_ids_the_model_knows(tiny: Any) -> None:
    model, processor = tiny
    tokenizer = processor.tokenizer
    assert [tokenizer.convert_tokens_to_ids(token) for token in SPECIAL_TOKENS] == [0, 1, 2, 3, 4]
    assert model.config.text_config.eos_token_id == tokenizer.eos_token_id == 1
    assert model.config.text_config.pad_token_id == tokenizer.pad_token_id == 0
    assert model.config.text_config.vocab_size == len(tokenizer)


def test_tokenizer_is_the_same_each_time_and_knows_the_words() -> None:
    tokenizer = tiny_tokenizer()
    assert tokenizer.get_vocab() == tiny_tokenizer().get_vocab()
    for word in (*SHAPES, *COLORS, *SIZES, "corner", "edge"):
        assert len(tokenizer(f" {word}")["input_ids"]) == 1, word
    (scene,) = make_scenes("test", 3, 1)
    text = describe(scene, random.Random(0))
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


@pytest.mark.parametrize("text", ["🙂", "日本", "naïve  \n", "e\u0301"])
def test_any_other_text_comes_back(text: str) -> None:
    tokenizer = tiny_tokenizer()
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_pictures_of_any_size_and_kind(tiny: Any) -> None:
    _, processor = tiny
    for image in (Image.new("RGB", (500, 300)), Image.new("L", (20, 90)), Image.new("RGBA", (48, 48))):
        pixels = tiny_processor().image_processor(image.convert("RGB"), return_tensors="pt")["pixel_values"]
        assert pixels.shape == (1, 3, 48, 48)
    background = processor.image_processor(Image.new("RGB", (48, 48), (236, 234, 228)), return_tensors="pt")
    assert background["pixel_values"].abs().max() < 0.01  # an empty place is zeros


def no_policy(model: str) -> str:
    with pytest.raises(RecipeError) as error:
        load_policy(model)
    message = str(error.value)
    assert repr(model) in message
    assert "\n" not in message
    return message


def test_folder_that_is_not_there() -> None:
    assert "run its recipe first" in no_policy("outputs/none/seed0/base")


def test_hub_id_that_cannot_be_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(model: Any, **options: Any) -> None:
        raise OSError(f"We couldn't connect to the hub to load {model}.\nCheck your connection.")

    monkeypatch.setattr("training.policy.AutoModelForImageTextToText.from_pretrained", unreachable)
    message = no_policy("nowhere")
    assert "We couldn't connect to the hub to load nowhere)" in message
    assert "HF_HUB_OFFLINE=1" in message


@pytest.mark.parametrize("config", [None, {"model_type": "llama"}, {"model_type": "llava"}, {}])
def test_folder_without_such_a_model(config: Any, tmp_path: Path) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(json.dumps(config))
    no_policy(str(tmp_path))


def test_folder_without_a_processor(tiny: Any, tmp_path: Path) -> None:
    tiny[0].save_pretrained(tmp_path)
    no_policy(str(tmp_path))
