"""The tiny models with pictures that TRL's tests name. They need torchvision, as their processors
read films too.

config, processor = picture_model("Qwen2VLForConditionalGeneration")
"""

from typing import Any

import transformers
from transformers import PretrainedConfig, PreTrainedTokenizerBase, ProcessorMixin

from experiments.trl_tests.text_models import MOE, SMALL, WIDTH, ids_of
from experiments.trl_tests.words import qwen, small, template

SIDE, PATCH = 28, 14  # of a picture and a patch, in pixels
VISION = {
    "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": SIDE,
    "patch_size": PATCH,
}  # fmt: skip
SQUARE = {"height": SIDE, "width": SIDE}
QWEN_VISION = {
    "depth": 2,
    "num_heads": 2,
    "spatial_merge_size": 2,
    "hidden_size": 16,
    "intermediate_size": 32,
}
ROPE = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}
PLAIN = (  # for models whose template TRL does not ship
    "{% for m in messages %}<{{ m.role }}>{% if m.content is string %}{{ m.content }}{% else %}{% "
    "for part in m.content %}{% if part.type == 'image' %}IMAGE{% else %}{{ part.text }}{% endif "
    "%}{% endfor %}{% endif %}<eos>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
Made = tuple[PretrainedConfig, ProcessorMixin]


def picture_model(kind: str) -> Made:
    """Returns the config and the processor of a model of this class.

    Raises KeyError for one not known.
    """
    return MODELS[kind.partition("For")[0]](kind)


def gemma3(_: str) -> Made:
    words = small(
        *("<start_of_turn>", "<end_of_turn>"), chat=template("gemma3"), boi_token="<start_of_image>",
        eoi_token="<end_of_image>", image_token="<image_soft_token>",
    )  # fmt: skip
    config = transformers.Gemma3Config(
        text_config={**SMALL, "head_dim": 4, "query_pre_attn_scalar": 4, "sliding_window": 64, **ids_of(words)},
        vision_config={**VISION, "vision_use_head": False}, mm_tokens_per_image=4,
        boi_token_index=words.boi_token_id, eoi_token_index=words.eoi_token_id, image_token_index=words.image_token_id,
    )  # fmt: skip
    reader = transformers.Gemma3ImageProcessor(size=SQUARE)
    return config, transformers.Gemma3Processor(
        reader, words, chat_template=words.chat_template, image_seq_length=4
    )


def gemma4(_: str) -> Made:
    words = small(
        *("<|turn>", "<turn|>", "<|video|>", "<|channel>", "<channel|>", "<|think|>", "<|tool>", "<tool|>"),
        chat=template("gemma4_v5"), boi_token="<|image>", eoi_token="<image|>", image_token="<|image|>",
        boa_token="<|audio>", eoa_token="<audio|>", audio_token="<|audio|>",
    )  # fmt: skip
    text = {
        **SMALL, "head_dim": 4, "global_head_dim": 4, "hidden_size_per_layer_input": 0, "sliding_window": 64,
        "layer_types": ["sliding_attention", "full_attention"], **ids_of(words),
    }  # fmt: skip
    vision = {
        "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 2, "head_dim": 8, "patch_size": 8, "pooling_kernel_size": 2,
        "position_embedding_size": 64,
    }  # fmt: skip
    config = transformers.Gemma4Config(
        text_config=text, vision_config=vision, audio_config=None, boi_token_id=words.boi_token_id,
        eoi_token_id=words.eoi_token_id, image_token_id=words.image_token_id, boa_token_id=words.boa_token_id,
        eoa_token_index=words.eoa_token_id, audio_token_id=words.audio_token_id,
        video_token_id=id_of(words, "<|video|>"),
    )  # fmt: skip
    reading = {"patch_size": 8, "pooling_kernel_size": 2, "max_soft_tokens": 70}
    processor = transformers.Gemma4Processor(
        transformers.Gemma4AudioFeatureExtractor(), transformers.Gemma4ImageProcessor(**reading), words,
        transformers.Gemma4VideoProcessor(**reading), chat_template=words.chat_template, image_seq_length=70,
    )  # fmt: skip
    return config, processor


def internvl(_: str) -> Made:
    words = small(
        "<user>", "<assistant>", chat=PLAIN.replace("IMAGE", "<IMG_CONTEXT>"), start_image_token="<img>",
        end_image_token="</img>", context_image_token="<IMG_CONTEXT>", video_token="<video>",
    )  # fmt: skip
    config = transformers.InternVLConfig(
        text_config={"model_type": "qwen2", **SMALL, **ids_of(words)},
        vision_config={**VISION, "image_size": [SIDE, SIDE], "patch_size": [PATCH, PATCH]},
        image_token_id=words.context_image_token_id, image_seq_length=1,
    )  # fmt: skip
    reader = transformers.GotOcr2ImageProcessor(size=SQUARE, crop_to_patches=False)
    films = transformers.InternVLVideoProcessor(size=SQUARE)
    return config, transformers.InternVLProcessor(
        reader, words, films, 1, chat_template=words.chat_template
    )


def llava(_: str) -> Made:
    return llava_of("Llava", {"shortest_edge": SIDE})


def llava_next(_: str) -> Made:
    return llava_of(
        "LlavaNext",
        {"shortest_edge": SIDE},
        image_grid_pinpoints=[[2 * SIDE, SIDE], [SIDE, 2 * SIDE]],
    )


def llava_of(family: str, size: dict[str, int], **grid: Any) -> Made:
    words = small(
        "<user>", "<assistant>", chat=PLAIN.replace("IMAGE", "<image>"), image_token="<image>"
    )
    config = getattr(transformers, f"{family}Config")(
        text_config={"model_type": "llama", **SMALL, **ids_of(words)},
        vision_config={"model_type": "clip_vision_model", **VISION},
        image_token_index=words.image_token_id, image_seq_length=4, **grid,
    )  # fmt: skip
    reader = getattr(transformers, f"{family}ImageProcessor")(size=size, crop_size=SQUARE, **grid)
    processor = getattr(transformers, f"{family}Processor")(
        reader,
        words,
        PATCH,
        "default",
        chat_template=words.chat_template,
        num_additional_image_tokens=1,
    )
    return config, processor


def idefics3(_: str) -> Made:
    words = small(
        *("<fake_token_around_image>", "<end_of_utterance>", "<global-img>", "<image>"),
        chat=template("idefics3"),
    )
    config = transformers.Idefics3Config(
        text_config={"model_type": "llama", **SMALL, **ids_of(words)}, vision_config=VISION, scale_factor=2,
        image_token_id=id_of(words, "<image>"), pad_token_id=words.pad_token_id,
    )  # fmt: skip
    edge = {"longest_edge": SIDE}
    reader = transformers.Idefics3ImageProcessor(
        size=edge, max_image_size=edge, do_image_splitting=False
    )
    return config, transformers.Idefics3Processor(
        reader, words, 1, chat_template=words.chat_template
    )


def qwen_vl(kind: str) -> Made:
    new, family = "3_5" in kind, kind.partition("For")[0]
    chat = {"Qwen3_5": "qwen3_5_nothink", "Qwen3_5Moe": "qwen3_6"}.get(family, "qwen2_5_vl")
    words = qwen(chat, 248_044 if new else 151_643)
    text: dict[str, Any] = {**SMALL, "rope_parameters": ROPE, **ids_of(words)}
    vision: dict[str, Any] = {**QWEN_VISION, "patch_size": PATCH, "out_hidden_size": WIDTH}
    if new:
        text |= {
            "layer_types": ["linear_attention", "full_attention"], "head_dim": 16, "linear_key_head_dim": 4,
            "linear_value_head_dim": 4, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
            "rope_parameters": {**ROPE, "mrope_interleaved": True, "partial_rotary_factor": 0.5},
        }  # fmt: skip
        vision["num_position_embeddings"] = 16
    else:
        text |= {"hidden_size": 2 * WIDTH, "num_attention_heads": 2, "num_key_value_heads": 1}
        vision["out_hidden_size"] = 2 * WIDTH
    if family == "Qwen2VL":
        vision = {
            "depth": 2, "num_heads": 2, "spatial_merge_size": 2, "embed_dim": 16, "hidden_size": 2 * WIDTH,
            "mlp_ratio": 2, "patch_size": PATCH,
        }  # fmt: skip
    if family == "Qwen2_5_VL":
        vision |= {"window_size": 4 * PATCH, "fullatt_block_indexes": [1]}
    if family == "Qwen3_5Moe":
        text |= {**MOE, "shared_expert_intermediate_size": 16}
    config = getattr(transformers, f"{family}Config")(
        text_config=text, vision_config=vision, **marks_of(words)
    )
    limits = {"shortest_edge": 4 * PATCH * PATCH, "longest_edge": 64 * PATCH * PATCH}
    reader = transformers.Qwen2VLImageProcessor(size=limits, patch_size=PATCH)
    films = getattr(transformers, "Qwen3VLVideoProcessor" if new else "Qwen2VLVideoProcessor")(
        patch_size=PATCH
    )
    whole = getattr(transformers, "Qwen3VLProcessor" if new else f"{family}Processor")
    return config, whole(reader, words, films, chat_template=words.chat_template)


def id_of(words: PreTrainedTokenizerBase, mark: str) -> int:
    (number,) = words.encode(mark, add_special_tokens=False)
    return number


def marks_of(words: PreTrainedTokenizerBase) -> dict[str, int]:
    names = {
        "vision_start": "vision_start",
        "vision_end": "vision_end",
        "image": "image_pad",
        "video": "video_pad",
    }
    return {f"{name}_token_id": id_of(words, f"<|{mark}|>") for name, mark in names.items()}


MODELS = {
    "Gemma3": gemma3, "Gemma4": gemma4, "InternVL": internvl, "Llava": llava, "LlavaNext": llava_next,
    "Idefics3": idefics3, "Qwen2VL": qwen_vl, "Qwen2_5_VL": qwen_vl, "Qwen3_5": qwen_vl, "Qwen3_5Moe": qwen_vl,
}  # fmt: skip
