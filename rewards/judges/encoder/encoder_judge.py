"""A judge that reads a text once beside its target, and rates its phrases by a token classifier. No published metric.

    judge = EncoderJudge("KRLabsOrg/lettucedect-base-modernbert-en-v1")
    dog = PresenceProbe("A cat.", "entity", Mention("dog"), source="A dog.", places=((2, 5),))
    judge.rate([Question([], probe=dog)])

The model is a transformers token classifier over the pair (context, answer) with two labels, 0 supported and 1
unsupported: the layout of LettuceDetect (Kovács and Recski 2025, arXiv 2502.17125). The context is the target, and the
answer is the text that the question was made from. A phrase's probability of support is the mean over its tokens. It is
the probability of the scale's last entry, and the rest is that of the first.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.encoder.windows import Window, supports, windows
from spanreward.rewards.judges.judge import RATING_SCALE, Failure, Judge, Question, Rating
from spanreward.rewards.judges.local.local_judge import rank_index
from spanreward.rewards.judges.model_files import files_hash, model_folder
from spanreward.rewards.judges.probe import PhraseProbe, PresenceProbe

BATCH = {"cpu": 8, "cuda": 32}  # windows; where padding costs more than a call, few
UNSUPPORTED = 1  # the label
Tokens = dict[tuple[int, int], float]  # by characters: how likely it is that the target supports the token


class EncoderJudge(Judge):
    """A judge that reads each (text, target) once within a `with`, whatever the number of questions. It never writes.

    It runs on this rank's GPU in bfloat16, or on the CPU in float32. On a GPU it is in main memory outside `with`.

    Args:
        model: a hub id or a folder with a token classifier of two labels, as safetensors, and a fast tokenizer.
    """

    text_only = True
    reads_source = True

    def __init__(self, model: str) -> None:
        self.model = model
        self._loaded: tuple[Any, Any] | None = None
        self._read: dict[tuple[str, str], Tokens] = {}  # until the outermost `with` ends

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_loaded": None, "_read": {}}

    @cached_property
    def name(self) -> str:
        return f"encoder:{self.model}@{files_hash(model_folder(self.model))}"

    def start(self) -> None:
        """Loads the model. Raises FileNotFoundError without its files, ValueError if it has not two labels."""
        if self._loaded is None:
            folder = model_folder(self.model)
            model = AutoModelForTokenClassification.from_pretrained(folder, use_safetensors=True).eval()
            if model.config.num_labels != 2:
                raise ValueError(
                    f"the token classifier {self.model} has {model.config.num_labels} labels, and the encoder judge "
                    "needs 2 (0 supported, 1 unsupported): give a model of LettuceDetect's layout."
                )
            self._loaded = AutoTokenizer.from_pretrained(folder, padding_side="right"), model

    def close(self) -> None:
        self._loaded = None

    def _wake(self) -> None:
        if torch.cuda.is_available():
            self.start()
            self._loaded[1].to(f"cuda:{rank_index()}", torch.bfloat16)  # type: ignore[index]  # started

    def _sleep(self) -> None:
        self._read = {}
        if torch.cuda.is_available() and self._loaded is not None:
            self._loaded[1].to("cpu")

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        """Returns one rating per question, and a Failure (UNPARSED) for other probes than phrases with a source."""
        self.usage.questions += len(questions)
        probes = [question.probe for question in questions]
        pairs = list(dict.fromkeys((p.source, p.text) for p in probes if isinstance(p, PresenceProbe) and p.source))
        with self, self.usage.clock("seconds"):
            new = [pair for pair in pairs if pair not in self._read]
            self._read |= zip(new, self.read(new), strict=True)
            read = self._read  # the end of the `with` forgets it

        def answer(probe: Any) -> Rating | Failure:
            if not isinstance(probe, PresenceProbe) or not probe.source:
                self.usage.unparsed += 1
                return Failure(Status.UNPARSED, f"an encoder rates phrases with a source, got {type(probe).__name__}")
            tokens = read[probe.source, probe.text]
            at = [p for (start, end), p in tokens.items() if any(start < e and s < end for s, e in probe.places)]
            chosen = at or list(tokens.values())  # a phrase without a place is rated as its whole text
            right = sum(chosen) / len(chosen) if chosen else 0.0
            right = 1 - right if probe.kind == "denied" else right  # a denial that is supported: the thing is not there
            return Rating({entry: right * (entry == scale[-1]) + (1 - right) * (entry == scale[0]) for entry in scale})

        return [answer(probe) for probe in probes]

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """Returns per (text, target) the probability, in [0, 1], that the target supports each token of the text.

        The keys are the tokens' characters [start, end) in the text.
        """
        if not pairs:
            return []
        self.start()
        tokenizer, model = self._loaded  # type: ignore[misc]  # started
        longest = min(model.config.max_position_embeddings, tokenizer.model_max_length)
        cut = [windows(tokenizer, text, target, longest) for text, target in pairs]
        order = sorted((window for several in cut for window in several), key=lambda window: len(window.places))
        batch = BATCH[model.device.type]
        for start in range(0, len(order), batch):
            self._classify(tokenizer, model, order[start : start + batch])
        return [supports(several) for several in cut]

    @torch.inference_mode()
    def _classify(self, tokenizer: Any, model: Any, batch: Sequence[Window]) -> None:
        padded = tokenizer.pad([window.inputs for window in batch], return_tensors="pt").to(model.device)
        logits = model(**padded).logits.float()
        right = 1 - logits.softmax(-1)[..., UNSUPPORTED]
        self.usage.prompt_tokens += sum(len(window.places) for window in batch)
        for row, window in zip(right.tolist(), batch, strict=True):
            window.right = row[: len(window.places)]

    def write(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns a PhraseProbe's noun phrase, and a Failure (UNPARSED) for all else."""
        self.usage.questions += len(questions)
        refused = Failure(Status.UNPARSED, "the encoder judge writes no text")
        return [q.probe.by_rule if isinstance(q.probe, PhraseProbe) else refused for q in questions]
