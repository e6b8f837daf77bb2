"""The model that learns: any image-text-to-text checkpoint, or the tiny one that learns Scenes on a laptop.

    model, processor = load_policy("outputs/quickstart/seed0/base")     # a hub id or a folder
    model, processor = load_policy("tiny", seed=0)                      # about 1 M parameters, untrained

The tiny policy has the LLaVA architecture (CLIP vision tower, projector, Llama decoder) and a byte-level tokenizer
trained on Scenes sentences: a Scenes word is one token, and any other text, emoji included, falls back to bytes.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForImageTextToText,
    AutoProcessor,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    ProcessorMixin,
)
from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil
from transformers.utils import is_torchvision_available

from rewards.judges.encoding.picture_chat import load_processor
from training.recipe import RecipeError
from training.scenes.language import PROMPT, describe
from training.scenes.world import BACKGROUND, make_scenes

PROCESSOR_FILES = ("processor_config.json", "preprocessor_config.json")
IMAGE_PIXELS = 48
PATCH_PIXELS = 16  # a patch is a ninth of the picture, as a place in Scenes is
PIXEL_MEAN = tuple(channel / 255 for channel in BACKGROUND)  # an empty place becomes zeros, so shapes stand out
PIXEL_STD = (0.3, 0.3, 0.3)
INITIALIZER_RANGE = 0.05  # the usual 0.02 suits wider layers: with it the picture is ignored for hundreds of steps
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


def load_policy(model: str, seed: int = 0, dtype: str = "float32") -> tuple[PreTrainedModel, ProcessorMixin]:
    """A policy and its processor. `model`: a hub id, a folder, or "tiny". `seed` sets the tiny policy's weights.

    A folder may hold an adapter: its base is loaded with it, and the base's processor where it has none of its own.
    Raises RecipeError when the id or folder does not hold an image-text-to-text model and its processor.
    """
    if model == "tiny":
        return tiny_policy(seed), tiny_processor()
    try:
        policy = AutoModelForImageTextToText.from_pretrained(model, dtype=getattr(torch, dtype))
        source = processor_folder(model)
        if is_torchvision_available():
            return policy, AutoProcessor.from_pretrained(source)
        return policy, load_processor(source, policy.config)
    except (OSError, ValueError) as error:  # what transformers raises for a missing file and for another kind of model
        reason = str(error).splitlines()[0].rstrip(".:")
        raise RecipeError(
            f"there is no image-text-to-text policy in {model!r} ({reason}): policy.model takes a folder that a run "
            "has written (run its recipe first), a hub id, or tiny; HF_HUB_OFFLINE=1 looks in the local cache only."
        ) from error


def perturb(policy: torch.nn.Module, size: float) -> None:
    """Multiply every weight by 1 + size x a normal number, the same whenever it is called: another CPU, imitated."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in policy.parameters():
            weight.mul_(1 + size * torch.randn(weight.shape, generator=generator))


def processor_folder(model: str) -> str:
    """Where the policy's processor is: with an adapter that has none, its base's."""
    adapter = Path(model) / "adapter_config.json"
    if not adapter.is_file() or any((Path(model) / name).is_file() for name in PROCESSOR_FILES):
        return model
    return str(json.loads(adapter.read_text("utf-8"))["base_model_name_or_path"])


def tiny_policy(seed: int) -> LlavaForConditionalGeneration:
    """An untrained LLaVA-architecture model of about 1 M parameters that fits `tiny_processor`."""
    tokenizer = tiny_tokenizer()
    torch.manual_seed(seed)
    return LlavaForConditionalGeneration(
        LlavaConfig(
            vision_config=CLIPVisionConfig(
                hidden_size=128,
                intermediate_size=256,
                num_hidden_layers=2,
                num_attention_heads=4,
                initializer_range=INITIALIZER_RANGE,
                image_size=IMAGE_PIXELS,
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
            image_seq_length=(IMAGE_PIXELS // PATCH_PIXELS) ** 2,
            vision_feature_layer=-1,
            vision_feature_select_strategy="default",
            tie_word_embeddings=True,
            initializer_range=INITIALIZER_RANGE,  # type: ignore[call-arg]  # for the projector
        )
    )


def tiny_processor() -> LlavaProcessor:
    """Pictures to IMAGE_PIXELS squared, text to the tiny tokenizer's ids."""
    return LlavaProcessor(
        image_processor=LlavaImageProcessorPil(
            size={"shortest_edge": IMAGE_PIXELS},
            crop_size={"height": IMAGE_PIXELS, "width": IMAGE_PIXELS},
            image_mean=list(PIXEL_MEAN),
            image_std=list(PIXEL_STD),
        ),
        tokenizer=tiny_tokenizer(),
        patch_size=PATCH_PIXELS,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,  # CLIP's class token, which the strategy above drops again
        chat_template=CHAT_TEMPLATE,
    )


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE trained on a fixed set of Scenes sentences; the same on every machine."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(tokenizer_sentences(), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="<eos>",
        additional_special_tokens=["<image>", "<user>", "<assistant>"],
        model_input_names=["input_ids", "attention_mask"],
    )


def tokenizer_sentences() -> Iterator[str]:
    generator = random.Random("tokenizer")
    yield PROMPT
    for scene in make_scenes("train", level=2, count=500):
        yield describe(scene, generator)
