"""The policy that learns Scenes on a laptop: about 1 M parameters, untrained.

    policy: {model: "experiments/scenes/policy.py:tiny"}        # in a recipe; `finer` for level 4
    model, processor = tiny(seed=0)

It has the LLaVA architecture (CLIP vision tower, projector, Llama decoder) and a byte-level
tokenizer trained on Scenes sentences: a Scenes word is one token, and any other text, emoji
included, falls back to bytes.
"""

import random
from collections.abc import Iterator

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)
from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil

from experiments.scenes.language import PROMPT, describe
from experiments.scenes.world import BACKGROUND, make_scenes

PATCH_PIXELS = 16
IMAGE_PIXELS = 3 * PATCH_PIXELS  # a patch is a place in Scenes
FINER_PIXELS = 4 * PATCH_PIXELS  # so of level 4
# an empty place becomes zeros, so shapes stand out
PIXEL_MEAN = tuple(channel / 255 for channel in BACKGROUND)
PIXEL_STD = (0.3, 0.3, 0.3)
# the usual 0.02 suits wider layers: with it the picture is ignored for hundreds of steps
INITIALIZER_RANGE = 0.05
SPECIAL_TOKENS = ("<pad>", "<eos>", "<image>", "<user>", "<assistant>")
CHAT_TEMPLATE = """
{%- for message in messages -%}
<{{ message['role'] }}>
{%- if message['content'] is string -%}{{ message['content'] }}
{%- else -%}
{%- for block in message['content'] -%}
{%- if block['type'] == 'image' -%}<image>{%- else -%}{{ block['text'] }}{%- endif -%}
{%- endfor -%}
{%- endif -%}
{%- if message['role'] == 'assistant' -%}<eos>{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- endif -%}
""".strip()


def tiny(seed: int) -> tuple[LlavaForConditionalGeneration, LlavaProcessor]:
    """The untrained policy and its processor. The seed sets the weights."""
    return tiny_policy(seed), tiny_processor()


def finer(seed: int) -> tuple[LlavaForConditionalGeneration, LlavaProcessor]:
    """The same for the finer grid of level 4, with a tokenizer of its sentences."""
    return tiny_policy(seed, 4, FINER_PIXELS), tiny_processor(4, FINER_PIXELS)


def tiny_policy(
    seed: int, level: int = 2, pixels: int = IMAGE_PIXELS
) -> LlavaForConditionalGeneration:
    """An untrained LLaVA-architecture model of about 1 M parameters that fits `tiny_processor`."""
    tokenizer = tiny_tokenizer(level)
    torch.manual_seed(seed)
    return LlavaForConditionalGeneration(
        LlavaConfig(
            vision_config=CLIPVisionConfig(
                hidden_size=128,
                intermediate_size=256,
                num_hidden_layers=2,
                num_attention_heads=4,
                initializer_range=INITIALIZER_RANGE,
                image_size=pixels,
                patch_size=PATCH_PIXELS,
            ),
            text_config=LlamaConfig(
                vocab_size=len(tokenizer),
                hidden_size=128,
                intermediate_size=256,
                num_hidden_layers=4,
                num_attention_heads=4,
                max_position_embeddings=2048,
                initializer_range=INITIALIZER_RANGE,
                tie_word_embeddings=True,
                bos_token_id=None,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
            ),
            image_token_index=SPECIAL_TOKENS.index("<image>"),
            image_seq_length=(pixels // PATCH_PIXELS) ** 2,
            vision_feature_layer=-1,
            vision_feature_select_strategy="default",
            tie_word_embeddings=True,
            initializer_range=INITIALIZER_RANGE,  # type: ignore[call-arg]  # for the projector
        )
    )


def tiny_processor(level: int = 2, pixels: int = IMAGE_PIXELS) -> LlavaProcessor:
    """Pictures to `pixels` squared, text to the tiny tokenizer's ids."""
    return LlavaProcessor(
        image_processor=LlavaImageProcessorPil(
            size={"shortest_edge": pixels},
            crop_size={"height": pixels, "width": pixels},
            image_mean=list(PIXEL_MEAN),
            image_std=list(PIXEL_STD),
        ),
        tokenizer=tiny_tokenizer(level),
        patch_size=PATCH_PIXELS,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,  # CLIP's class token, which the strategy above drops again
        chat_template=CHAT_TEMPLATE,
    )


def tiny_tokenizer(level: int = 2) -> PreTrainedTokenizerFast:
    """A byte-level BPE trained on a fixed set of a level's sentences; the same on every machine."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(tokenizer_sentences(level), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="<eos>",
        additional_special_tokens=["<image>", "<user>", "<assistant>"],
        model_input_names=["input_ids", "attention_mask"],
    )


def tokenizer_sentences(level: int) -> Iterator[str]:
    generator = random.Random("tokenizer")
    yield PROMPT
    for scene in make_scenes("train", level, count=500):
        yield describe(scene, generator)
