"""CLIPScore with a tiny CLIP of random weights; pictures that fail have no score."""

import json
from pathlib import Path

import pytest
import torch
from PIL import Image
from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor, CLIPTokenizer

from experiments.agreement.clip_score import PROMPT, ClipScore
from spanreward.rewards.base.verdict import Sample, Status

TINY = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
TINY |= {"num_attention_heads": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clip")
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    entries = [*letters, *(f"{letter}</w>" for letter in letters), ".</w>", "<|startoftext|>"]
    entries += ["<|endoftext|>"]
    vocabulary = {entry: number for number, entry in enumerate(entries)}
    (path / "vocab.json").write_text(json.dumps(vocabulary))
    (path / "merges.txt").write_text("#version: 0.2\n")
    files = (str(path / "vocab.json"), str(path / "merges.txt"))
    tokenizer = CLIPTokenizer(*files, model_max_length=77)
    pictures = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    CLIPProcessor(pictures, tokenizer).save_pretrained(path)
    text = {**TINY, "vocab_size": len(entries), "bos_token_id": len(entries) - 2}
    text |= {"eos_token_id": len(entries) - 1}
    vision = {**TINY, "image_size": 32, "patch_size": 16}
    torch.manual_seed(0)
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)
    CLIPModel(config).save_pretrained(path)
    return path


def test_it_is_the_model_s_own_cosine(folder: Path) -> None:
    picture = Image.new("RGB", (40, 40), "red")
    model = CLIPModel.from_pretrained(folder).eval()
    processor = CLIPProcessor.from_pretrained(folder)
    for text in ("a red dog.", "z"):
        (verdict,) = ClipScore(folder).assess([Sample("", text, images=(picture,))])
        inputs = processor(text=[PROMPT + text], images=[picture], return_tensors="pt")
        with torch.inference_mode():  # logits are cosines times a scale
            logits = model(**inputs).logits_per_image / model.logit_scale.exp()
        assert verdict.score == pytest.approx(max(float(logits), 0.0), abs=1e-6)


def test_a_long_caption_is_cut_and_a_missing_picture_has_no_score(folder: Path) -> None:
    metric = ClipScore(folder)
    picture = Image.new("RGB", (40, 40), "red")
    assert metric.assess([Sample("", "a red dog. " * 200, images=(picture,))])[0].score is not None
    for images, note in (((), "no picture"), (("nothing.png",), "there is no picture nothing.png")):
        (verdict,) = metric.assess([Sample("", "a", images=images)])
        assert verdict.status is Status.NOT_APPLICABLE
        assert note in verdict.note
