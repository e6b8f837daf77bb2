"""Image-text models of random weights, saved as any other model: they exercise a judge and judge
nothing.

And what tests ask them: small drawings, questions, and what the libraries themselves make of a
question.
"""

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from experiments.scenes.policy import tiny_policy, tiny_processor
from spanreward.rewards.judges import Failure, Question, Rating
from spanreward.rewards.judges.encoding.prompt import Prompt, with_converted_images
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from tests.support.tokenizer import tokenizer

QWEN_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content "
    "}}{% else %}{% for part in m.content %}{% if part.type == 'image' "
    "%}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part.text }}{% endif %}{% endfor "
    "%}{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% "
    "endif %}"
)
QWEN_TOKENS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
PATCH = 14


def save_llava(folder: Path, seed: int = 0) -> None:
    """The policy that learns Scenes, untrained, with larger weights: its answers differ."""
    model = tiny_policy(seed)
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(2.0)
    model.save_pretrained(folder)
    tiny_processor().save_pretrained(folder)


def save_qwen(folder: Path, seed: int = 0, context: int = 2048) -> None:
    """Two layers of Qwen2.5-VL: rotary positions in three dimensions, windows."""
    words = tokenizer(QWEN_TEMPLATE)
    words.add_tokens(list(QWEN_TOKENS), special_tokens=True)
    start, end, image, video = words.convert_tokens_to_ids(list(QWEN_TOKENS))
    torch.manual_seed(seed)
    config = Qwen2_5_VLConfig(  # type: ignore[call-arg]
        text_config={
            "vocab_size": len(words), "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": context,
            "initializer_range": 0.2, "eos_token_id": words.eos_token_id, "bos_token_id": None,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]},
        },
        vision_config={
            "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 64,
            "patch_size": PATCH, "spatial_merge_size": 2, "window_size": 4 * PATCH, "fullatt_block_indexes": [1],
            "initializer_range": 0.2,
        },
        vision_start_token_id=start, vision_end_token_id=end, image_token_id=image, video_token_id=video,
        initializer_range=0.2,
    )  # fmt: skip
    Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
    words.save_pretrained(folder)
    limits = {"shortest_edge": 4 * PATCH * PATCH, "longest_edge": 400 * PATCH * PATCH}
    Qwen2VLImageProcessorPil(size=limits).save_pretrained(folder)


def drawing(seed: int, size: tuple[int, int] = (60, 44)) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (3, 4, 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize(size, Image.Resampling.NEAREST)


FIRST, SECOND = drawing(1), drawing(2, (90, 60))


def ask(text: str, *images: Image.Image) -> Question:
    return Question([{"role": "user", "content": text}], images=images)


def usual(judge: TransformersJudge, question: Question) -> Any:
    """What the processor itself makes of a question without anything hostile in it."""
    (message,) = question.messages
    parts = [{"type": "image", "image": image} for image in question.images]
    chat = [{"role": "user", "content": [*parts, {"type": "text", "text": message["content"]}]}]
    return judge.encoder.processor.apply_chat_template(
        chat, tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )


def prompt_of(judge: Any, question: Question) -> Prompt:
    return judge.encoder.prompt(with_converted_images([question])[0], judge.context)[0]


def started(save: Callable[[Path], None], folder: Path, batch_size: int = 4) -> TransformersJudge:
    """A judge of the model that `save` writes into the folder."""
    save(folder)
    judge = TransformersJudge(str(folder), batch_size=batch_size, min_mass=0.0)
    judge.start()
    return judge


def encodings(judge: TransformersJudge) -> list[int]:
    """A list that grows by one with each run of the vision tower from now on."""
    runs: list[int] = []
    inner = judge._model.model
    tower = inner.vision_tower if judge.config.model_type == "llava" else inner.visual
    tower.register_forward_hook(lambda *_: runs.append(1))
    return runs


def save_llama(folder: Path, seed: int = 0, context: int = 1024) -> None:
    """Two random layers and the tests' tokenizer."""
    torch.manual_seed(seed)
    words = tokenizer()
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=context, eos_token_id=words.eos_token_id, initializer_range=0.3,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    words.save_pretrained(folder)


def close(answers: list[Rating | Failure], others: list[Rating | Failure]) -> bool:
    """Equal to 1e-4, as distributions over the scale and as the mass on it."""
    for one, other in zip(answers, others, strict=True):
        assert isinstance(one, Rating)
        assert isinstance(other, Rating)
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-4)
        assert one.mass == pytest.approx(other.mass, abs=1e-4)
    return True


def check_alone_and_together(judge: TransformersJudge, asked: list[Question]) -> None:
    """Neither the batch nor the order changes a rating or a text."""
    together = judge.rate(asked)
    assert close(together, [judge.rate([question])[0] for question in asked])
    order = random.Random(0).sample(range(len(asked)), len(asked))
    assert close(judge.rate([asked[n] for n in order]), [together[n] for n in order])
    # else it would show nothing
    assert len({round(rating.mean, 5) for rating in together}) > len(asked) / 2
    texts = judge.write(asked[::2], max_tokens=8)
    assert texts == [judge.write([question], max_tokens=8)[0] for question in asked[::2]]


TEXTS = (
    "A red circle is above a blue square.",
    "A small blue square and a green star.",
    "Two dogs.",
)
ASKED = (
    "Is there a circle?",
    "Is the square blue?",
    "Does a dog sit on the grass beside the old red house?",
    "Why?",
)


def questions() -> list[Question]:
    prompts = []
    for text, asked in itertools.product(TEXTS, ASKED):
        prompts.append(f"Answer with a digit from 1 to 5. {text} {asked}")
    return [ask(prompt) for prompt in (*prompts, "Unlike the others.", prompts[0])]
