"""A judge that reads a text once beside its target, and rates its phrases by a token classifier. No
published metric.

    judge = EncoderJudge("KRLabsOrg/lettucedect-base-modernbert-en-v1")
    dog = PresenceProbe("A cat.", "entity", Mention("dog"), source="A dog.", places=((2, 5),))
    judge.rate([Question([], probe=dog)])

The model is a transformers token classifier over the pair (context, answer) with two labels, 0
supported and 1 unsupported: the layout of LettuceDetect (Kovács and Recski 2025, arXiv 2502.17125).
The context is the target, and the answer is the text that the question was made from. A phrase's
probability of support is the mean over its tokens. It is the probability of the scale's last entry,
and the rest is that of the first.

A pair that fits into the encoder is one window. Else the text, the target or both are cut into
parts of one length, such that the encoder reads the fewest tokens. Neighbours overlap by about a
sentence. A token's probability is its mean over the windows of one piece of the target, and the
highest over the pieces, as one piece is enough to support it. A decoder reads a token with what
comes before it only. So it reads the text twice (Springer et al. 2024, arXiv 2402.15449), where
that fits into one window, and the second time counts: "a dog" is wrong in "a dog is gone".
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.encoding.chat import encodable
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating
from spanreward.rewards.judges.local.local_judge import rank_index
from spanreward.rewards.judges.model_files import files_hash, model_folder
from spanreward.rewards.judges.probe import PhraseProbe, PresenceProbe

BATCH_WINDOWS = {"cpu": 8, "cuda": 32}  # where padding costs more than a call, few
UNSUPPORTED_LABEL = 1
OVERLAP_TOKENS = 32  # about one and a half sentences
SLACK_TOKENS = 4  # that a cut inside a word can add
BREAK = "\n"  # between target and text, where the tokenizer puts nothing
# by characters: how likely it is that the target supports the token
Tokens = dict[tuple[int, int], float]


@dataclass(slots=True)
class Window:
    """One input of the encoder.

    Args:
        piece: the number of the target's piece in it.
        inputs: the encoder's inputs by name, a value per token.
        places: each token's characters [start, end) in the text, None for one of the target and for
            a special one.
        right: the answer: of each token the probability that the target supports it.
    """

    piece: int
    inputs: dict[str, list[int]]
    places: list[tuple[int, int] | None]
    right: list[float] = field(default_factory=list)


class EncoderJudge(Judge):
    """A judge that reads each (text, target) once within a `with`, whatever the number of
    questions. It never writes.

    It runs on this rank's GPU in bfloat16, or on the CPU in float32. On a GPU it is in main memory
    outside `with`.

    Args:
        model: a hub id or a folder with a token classifier of two labels, as safetensors, and a
            fast tokenizer. It is loaded at the first question, see `start`.
    """

    reads_source = True
    sees_pictures = False

    def __init__(self, model: str) -> None:
        self.model = model
        # tokenizer, model, whether it is a decoder
        self._loaded: tuple[Any, Any, bool] | None = None
        self._read: dict[tuple[str, str], Tokens] = {}  # until the outermost `with` ends

    def __getstate__(self) -> dict[str, Any]:
        """Returns what is pickled: the model's name, and not the model."""
        return {**super().__getstate__(), "_loaded": None, "_read": {}}

    @cached_property
    def name(self) -> str:
        """The model with a hash of its files, as another training has the same folder's name."""
        folder = model_folder(self.model)
        return f"encoder:{self.model}@{files_hash(folder)}"

    def start(self) -> None:
        """Loads the model.

        Raises FileNotFoundError without its files, ValueError if it has not two labels.
        """
        if self._loaded is None:
            folder = model_folder(self.model)
            model, loaded = AutoModelForTokenClassification.from_pretrained(
                folder,
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
                trust_remote_code=False,
            )
            if loaded["missing_keys"]:  # transformers would draw these at random
                raise ValueError(
                    f"{self.model} is no trained token classifier (its files lack "
                    f"{min(loaded['missing_keys'])}): give the folder of `spanreward judge train`, "
                    "or a model of LettuceDetect's layout."
                )
            if model.config.num_labels != 2:
                raise ValueError(
                    f"the token classifier {self.model} has {model.config.num_labels} labels, and "
                    "the encoder judge needs 2 (0 supported, 1 unsupported): give a model of "
                    "LettuceDetect's layout."
                )
            self._loaded = padding_tokenizer(folder), model, is_decoder(model)

    def close(self) -> None:
        """Frees the model, which the next question loads again."""
        self._loaded = None

    def _wake(self) -> None:
        """Moves the model to the GPU, if there is one."""
        if torch.cuda.is_available():
            self.start()
            _, model, _ = self._loaded  # type: ignore[misc]  # started
            model.to(f"cuda:{rank_index()}", torch.bfloat16)

    def _sleep(self) -> None:
        """Moves the model to main memory, and forgets what it read."""
        self._read = {}
        if torch.cuda.is_available() and self._loaded is not None:
            _, model, _ = self._loaded
            model.to("cpu")

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Returns one rating per question, and a Failure (UNPARSED) for other probes than phrases
        with a source.
        """
        pairs: dict[tuple[str, str], None] = {}  # each once, in order
        for question in questions:
            probe = question.probe
            if isinstance(probe, PresenceProbe) and probe.source:
                pairs[probe.source, probe.text] = None
        with self, self.usage.clock("seconds"):
            new = [pair for pair in pairs if pair not in self._read]
            for pair, tokens_read in zip(new, self.read(new), strict=True):
                self._read[pair] = tokens_read
            tokens_by_pair = self._read  # the end of the `with` forgets it
        ratings: list[Rating | Failure] = []
        for question in questions:
            probe = question.probe
            if isinstance(probe, PresenceProbe) and probe.source:
                tokens = tokens_by_pair[probe.source, probe.text]
                ratings.append(_rate_phrase(probe, tokens, scale))
            else:
                self.usage.unparsed += 1
                why = f"an encoder rates phrases with a source, got {type(probe).__name__}"
                ratings.append(Failure(Status.UNPARSED, why))
        return ratings

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """Returns per (text, target) the probability, in [0, 1], that the target supports each
        token of the text.

        The keys are the tokens' characters [start, end) in the text.
        """
        if not pairs:
            return []
        self.start()
        tokenizer, model, twice = self._loaded  # type: ignore[misc]  # started
        longest = min(readable(model), tokenizer.model_max_length)
        windows_by_pair: list[list[Window]] = []
        all_windows: list[Window] = []
        for text, target in pairs:
            windows_of_pair = windows(tokenizer, text, target, longest, twice)
            windows_by_pair.append(windows_of_pair)
            all_windows.extend(windows_of_pair)
        # Windows of like length stand in one batch, so that little of it is padding.
        all_windows.sort(key=lambda window: len(window.places))
        batch = BATCH_WINDOWS[model.device.type]
        for start in range(0, len(all_windows), batch):
            self._classify(tokenizer, model, all_windows[start : start + batch])
        return [supports(windows_of_pair) for windows_of_pair in windows_by_pair]

    @torch.inference_mode()
    def _classify(self, tokenizer: Any, model: Any, batch: Sequence[Window]) -> None:
        """Sets `right` of the windows, from one call of the model."""
        inputs = [window.inputs for window in batch]
        padded = tokenizer.pad(inputs, return_tensors="pt").to(model.device)
        logits = model(**padded).logits.float()  # (windows, tokens, labels)
        right = 1 - logits.softmax(-1)[..., UNSUPPORTED_LABEL]
        self.usage.prompt_tokens += sum(len(window.places) for window in batch)
        for row, window in zip(right.tolist(), batch, strict=True):
            window.right = row[: len(window.places)]  # without the padding, on the right

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns a PhraseProbe's noun phrase, and a Failure (UNPARSED) for all else."""
        refused = Failure(Status.UNPARSED, "the encoder judge writes no text")
        texts: list[str | Failure] = []
        for question in questions:
            probe = question.probe
            if isinstance(probe, PhraseProbe):
                texts.append(probe.by_rule)
            else:
                texts.append(refused)
        return texts


def _rate_phrase(probe: PresenceProbe, tokens: Tokens, scale: Sequence[str]) -> Rating:
    """Returns a rating with the mean probability of the phrase's tokens on the scale's last entry,
    and the rest on its first. A phrase without a place is rated as its whole text.
    """
    chosen: list[float] = []
    for (start, end), probability in tokens.items():
        # a token may reach over an edge of the phrase
        if any(start < place_end and place < end for place, place_end in probe.places):
            chosen.append(probability)
    if not chosen:
        chosen = list(tokens.values())
    support = 0.0
    if chosen:
        support = sum(chosen) / len(chosen)
    if probe.kind == "denied":
        # a denial that is supported: the thing is not there
        support = 1 - support
    probabilities = dict.fromkeys(scale, 0.0)
    probabilities[scale[0]] = 1 - support
    probabilities[scale[-1]] = support
    return Rating(probabilities)


def padding_tokenizer(folder: Path) -> Any:
    """Returns the folder's tokenizer, which pads on the right; one without a padding token with the
    end's.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="right", trust_remote_code=False)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return tokenizer


def readable(model: Any) -> int:
    """Returns how many tokens the model reads.

    RoBERTa counts positions from the padding's on: 512 of 514.
    """
    positions = model.config.max_position_embeddings
    words = model.get_input_embeddings()
    first_position = 0
    for part in model.modules():
        if not isinstance(part, torch.nn.Embedding) or part is words:
            continue
        # the table of positions, known by its size
        if part.num_embeddings == positions and part.padding_idx is not None:
            first_position = max(first_position, part.padding_idx + 1)
    return positions - first_position


@torch.no_grad()
def is_decoder(model: Any) -> bool:
    """Returns whether a token is read without those after it: another last token changes nothing
    before it.
    """
    ids = torch.tensor([[5, 5], [5, 6]], device=model.device)
    first, second = model(ids).logits[:, 0].float()
    return torch.allclose(first, second)


def windows(
    tokenizer: Any,
    text: str,
    target: str,
    longest: int,
    twice: bool = False,
) -> list[Window]:
    """Returns a pair's windows, of at most `longest` tokens, with the text `twice` if it fits.

    No token of a text is special, whatever it spells.
    """
    text = encodable(text)
    target = encodable(target)
    # A tokenizer that puts no token between the two texts of a pair gets a line break there.
    specials_of_pair = tokenizer.num_special_tokens_to_add(True)
    specials_of_single = tokenizer.num_special_tokens_to_add(False)
    end = "" if specials_of_pair > specials_of_single else BREAK
    # for a decoder, the text first as a part of the target
    if twice:
        doubled = f"{target}{BREAK}{text}"
        ids = tokenizer(doubled + end, text, split_special_tokens=True)["input_ids"]
        if len(ids) + SLACK_TOKENS <= longest:
            target = doubled
    # how long both are: a token's side is 0 in the target, 1 in the text, None if it is special
    both = tokenizer(target + end, text, return_offsets_mapping=True, split_special_tokens=True)
    sides = both.sequence_ids()
    target_places = []
    for place, side in zip(both["offset_mapping"], sides, strict=True):
        if side == 0:
            target_places.append(place)
    text_tokens = sides.count(1)
    beside = sides.count(None) + SLACK_TOKENS
    overlap = min(OVERLAP_TOKENS, longest // 8)
    text_length, target_length = fewest_tokens(
        text_tokens, len(target_places), longest - beside, overlap
    )
    # The target is cut here, and the text by the tokenizer, beside each piece of the target.
    pieces = _pieces(target, target_places, target_length, overlap)
    # a short pair fits, and needs more than its overlap
    window_tokens = max(text_length + target_length, 2 * overlap) + beside
    cut = []
    for number, piece in enumerate(pieces):
        encoding = tokenizer(
            piece + end,
            text,
            truncation="only_second",
            max_length=window_tokens,
            stride=overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            split_special_tokens=True,
        )
        names = [name for name in tokenizer.model_input_names if name in encoding]
        for row, offsets in enumerate(encoding["offset_mapping"]):
            inputs = {name: encoding[name][row] for name in names}
            places: list[tuple[int, int] | None] = []
            for place, side in zip(offsets, encoding.sequence_ids(row), strict=True):
                places.append(tuple(place) if side == 1 else None)
            cut.append(Window(number, inputs, places))
    return cut


def _pieces(target: str, tokens: Sequence[tuple[int, int]], length: int, overlap: int) -> list[str]:
    """Returns the target in pieces of `length` tokens that overlap. tokens: the characters of
    each.
    """
    if len(tokens) <= length:
        return [target]
    last_start = max(len(tokens) - overlap, 1)
    step = max(length - overlap, 1)
    pieces = []
    for start in range(0, last_start, step):
        places = tokens[start : start + length]
        piece_start, _ = places[0]
        _, piece_end = places[-1]
        pieces.append(target[piece_start:piece_end])
    return pieces


def fewest_tokens(text: int, target: int, token_budget: int, overlap: int) -> tuple[int, int]:
    """Returns the lengths of the parts of a text and of a target whose windows have the fewest
    tokens in all.

    All are numbers of tokens. A window holds one part of each, at most `token_budget` together.
    Neighbouring parts share `overlap` tokens. Of equals the one with the longest part of the target
    is taken.
    """
    fewest = math.inf
    best = (0, 0)
    most_parts = math.ceil(target / overlap) + 1
    for target_parts in range(1, most_parts + 1):
        target_length = _length_of_part(target, target_parts, overlap)
        left = token_budget - target_length
        # so short a part of the text would be nearly all overlap
        if left < min(text, 2 * overlap):
            continue
        text_parts = 1
        if text > left:
            text_parts = math.ceil((text - overlap) / (left - overlap))
        text_length = _length_of_part(text, text_parts, overlap)
        window_count = target_parts * text_parts
        tokens = window_count * (text_length + target_length)
        if tokens < fewest:
            fewest = tokens
            best = (text_length, target_length)
    return best


def _length_of_part(tokens: int, parts: int, overlap: int) -> int:
    """Returns how many tokens each of so many parts has. Neighbours share `overlap` of them."""
    return math.ceil((tokens + (parts - 1) * overlap) / parts)


def supports(read: Sequence[Window]) -> Tokens:
    """Returns the probability of each token of the text, by its characters, from the windows'
    answers.
    """
    # by the token's characters and the target's piece
    answers: dict[tuple[int, int], dict[int, list[float]]] = {}
    for window in read:
        for place, right in zip(window.places, window.right, strict=True):
            if place is None:
                continue
            start, end = place
            if start < end:  # some tokenizers have tokens of no characters
                by_piece = answers.setdefault(place, defaultdict(list))
                by_piece[window.piece].append(right)
    # the mean over a piece's windows, and the highest over the pieces (see the top of this file)
    tokens: Tokens = {}
    for place, by_piece in answers.items():
        means = [sum(rights) / len(rights) for rights in by_piece.values()]
        tokens[place] = max(means)
    return tokens
