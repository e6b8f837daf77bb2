"""The tiny policy: small, reproducible, and not blind."""

import random
from typing import Any

import pytest
import torch
from PIL import Image

from experiments.scenes.language import describe
from experiments.scenes.parts import TINY
from experiments.scenes.policy import SPECIAL_TOKENS, tiny_policy, tiny_tokenizer
from experiments.scenes.world import COLORS, SHAPES, SIZES, Scene, Thing, draw, make_scenes
from spanreward.training.policy import load_policy
from tests.support.next_token import SQUARE, STAR, logits


@pytest.fixture(scope="module")
def tiny() -> Any:
    model, processor = load_policy(TINY, seed=0)
    return model.eval(), processor


def test_about_a_million_parameters(tiny: Any) -> None:
    model, _ = tiny
    assert 0.8e6 < sum(parameter.numel() for parameter in model.parameters()) < 1.3e6
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight


def test_same_seed_same_weights() -> None:
    first, second, other = (tiny_policy(seed).state_dict() for seed in (1, 1, 2))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


def test_the_picture_and_where_a_thing_is_change_what_comes_next(tiny: Any) -> None:
    star, square = (logits(*tiny, image) for image in (STAR, SQUARE))  # type: ignore[call-arg]
    assert torch.equal(star, logits(*tiny, STAR))  # type: ignore[call-arg]
    assert (star - square).abs().max() > 0.01  # a blind model would give exactly the same
    things = [Thing("star", "red", "large", "top", place) for place in ("left", "right")]
    left, right = (draw(Scene((thing,), "")) for thing in things)
    assert (logits(*tiny, left) - logits(*tiny, right)).abs().max() > 0.01  # type: ignore[call-arg]


def test_the_prompt_as_the_model_reads_it(tiny: Any) -> None:
    _, processor = tiny
    messages = [
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Describe."}]},
        {"role": "assistant", "content": "A star."},
    ]
    told = processor.apply_chat_template(messages)
    assert told == "<user><image>Describe.<assistant>A star.<eos>"
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
    def pixels(image: Image.Image) -> Any:
        return tiny[1].image_processor(image, return_tensors="pt")["pixel_values"]

    for mode, size in (("RGB", (500, 300)), ("L", (20, 90)), ("RGBA", (48, 48))):
        assert pixels(Image.new(mode, size).convert("RGB")).shape == (1, 3, 48, 48)
    background = pixels(Image.new("RGB", (48, 48), (236, 234, 228)))
    assert background.abs().max() < 0.01  # an empty place is zeros
