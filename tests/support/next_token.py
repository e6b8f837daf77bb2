"""What a policy would write next about a picture of Scenes."""

from typing import Any

import torch
from PIL import Image

from experiments.scenes.language import PROMPT
from experiments.scenes.world import Scene, Thing, draw

STAR = draw(Scene((Thing("star", "red", "large", "top", "left"),), seed=""), 48)
SQUARE = draw(Scene((Thing("square", "blue", "small", "bottom", "right"),), seed=""), 48)


def logits(model: Any, processor: Any, image: Image.Image) -> torch.Tensor:
    messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": PROMPT}]}]
    text = processor.apply_chat_template(messages, add_generation_prompt=True)
    with torch.inference_mode():
        return model(**processor(images=[image], text=[text], return_tensors="pt")).logits[0, -1]
