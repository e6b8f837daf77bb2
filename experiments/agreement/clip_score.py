"""CLIPScore (Hessel et al. 2021): how well a caption matches its picture for CLIP, without a
reference.

    ClipScore(Path("clip-vit-base-patch32")).assess([Sample("", "A red circle.", images=(picture,))])[0].score

The weights are a folder that transformers reads; nothing is downloaded. The caption is cut at
CLIP's 77 tokens.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, AutoProcessor

from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.rows.pictures import PictureError, opened_picture, shown_picture

PROMPT = "A photo depicts "  # CLIPScore, section 3


class ClipScore(Reward):
    """The cosine of the caption's and the picture's embeddings, clipped to [0, 1]. The paper's
    factor of 2.5 is left out: it changes no order. folder: of CLIP's weights. Raises ValueError
    where there are none.
    """

    def __init__(self, folder: Path, name: str = "clip_score") -> None:
        super().__init__(name)
        self.folder = folder
        if not (folder / "config.json").is_file():
            raise ValueError(
                f"there is no CLIP in {folder}: give a folder that holds config.json and the "
                "weights."
            )
        self._loaded: tuple[Any, Any] | None = None

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        return [self._verdict(sample) for sample in samples]

    def _verdict(self, sample: Sample) -> Verdict:
        if not sample.images:
            return Verdict(None, Status.NOT_APPLICABLE, note="no picture")
        try:
            picture = shown_picture(opened_picture(sample.images[0]))
        except PictureError as error:
            return Verdict(None, Status.NOT_APPLICABLE, note=str(error))
        return Verdict(min(max(self._cosine(sample.completion, picture), 0.0), 1.0))

    @torch.inference_mode()
    def _cosine(self, text: str, picture: Any) -> float:
        if self._loaded is None:
            model = AutoModel.from_pretrained(self.folder, local_files_only=True).eval()
            self._loaded = model, AutoProcessor.from_pretrained(self.folder, local_files_only=True)
        model, processor = self._loaded
        inputs = processor(
            text=[PROMPT + text],
            images=[picture],
            return_tensors="pt",
            padding=True,
            truncation=True,
        )
        found = model(**inputs)
        return float(torch.nn.functional.cosine_similarity(found.text_embeds, found.image_embeds))
