"""A judge that reads a text once together with its target, and rates the text's phrases by a token
classifier. The target is the text by which the phrases are judged, such as a completion. No
published metric uses this judge.

    judge = EncoderJudge("KRLabsOrg/lettucedect-base-modernbert-en-v1")
    dog = PresenceProbe("A cat.", "entity", Mention("dog"), source="A dog.", places=((2, 5),))
    judge.rate([Question([], probe=dog)])

The model is a transformers token classifier over the pair (context, answer) with two labels, 0
supported and 1 unsupported. This is the layout of LettuceDetect (Kovács and Recski 2025, arXiv
2502.17125). The context is the target, and the answer is the text that the question was made from.
A phrase's probability of support is the mean over its tokens. The scale's last entry gets this
probability, and the scale's first entry gets the rest.

A pair that fits into the encoder is one window. A longer pair is cut into several windows: the
text, the target or both are cut into parts of equal length. The lengths are chosen so that the
encoder reads the fewest tokens. Neighbouring parts overlap by about a sentence. Each window has one
part of the text and one part of the target.

A token may be in several windows. First its probability is averaged over the windows with the same
part of the target. Then the highest of these means counts, because one part of the target is enough
to support a token.

A decoder reads each token only with the tokens before it. But the tokens after "a dog" decide that
"a dog" is wrong in "a dog is gone". So a decoder reads the text twice (Springer et al. 2024, arXiv
2402.15449) if that fits into one window, and only the second reading counts.
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
from spanreward.rewards.judges.encoding.chat import encodable_text
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating
from spanreward.rewards.judges.local.local_judge import rank_index
from spanreward.rewards.judges.model_files import files_hash, model_folder
from spanreward.rewards.judges.probe import PhraseProbe, PresenceProbe

BATCH_WINDOWS = {"cpu": 8, "cuda": 32}  # few on a CPU, where padding costs more than a call
UNSUPPORTED_LABEL = 1
OVERLAP_TOKENS = 32  # about one and a half sentences
SLACK_TOKENS = 4  # additional tokens that a cut inside a word can cause
LINE_BREAK = "\n"  # between target and text, if the tokenizer puts no token there
# By a token's characters [start, end) in the text: the probability that the target supports the
# token.
TokenSupport = dict[tuple[int, int], float]


@dataclass(slots=True)
class Window:
    """One input of the encoder.

    Args:
        piece: the number of the part of the target that the window has.
        inputs: the encoder's inputs by name, with a value per token.
        places: the characters [start, end) in the text of each token. None for a token of the
            target and for a special token.
        right: the encoder's answer, filled in later: the probability, for each token, that the
            target supports the token.
    """

    piece: int
    inputs: dict[str, list[int]]
    places: list[tuple[int, int] | None]
    right: list[float] = field(default_factory=list)


class EncoderJudge(Judge):
    """A judge that reads each (text, target) once within a `with`, whatever the number of
    questions. The judge writes no texts.

    The model runs on this rank's GPU in bfloat16, or on the CPU in float32. With a GPU the model is
    moved to main memory at the end of the outermost `with`.

    Args:
        model: a hub id or a folder with a token classifier of two labels, as safetensors, and a
            fast tokenizer. The model is loaded at the first question or by `start`.
    """

    reads_source = True
    sees_pictures = False

    def __init__(self, model: str) -> None:
        self.model = model
        # The tokenizer, the model, and whether the model is a decoder. None before loading.
        self._loaded: tuple[Any, Any, bool] | None = None
        self._read: dict[tuple[str, str], TokenSupport] = {}  # until the outermost `with` ends

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state for pickle: the model's name without the model."""
        return {**super().__getstate__(), "_loaded": None, "_read": {}}

    @cached_property
    def name(self) -> str:
        """The model's name with a hash of its files. A folder's name alone is not enough, because
        another training may write to the same folder.
        """
        folder = model_folder(self.model)
        return f"encoder:{self.model}@{files_hash(folder)}"

    def start(self) -> None:
        """Loads the model.

        Raises FileNotFoundError if its files are missing, and ValueError if it is no trained token
        classifier with two labels.
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
        """Frees the model. The next question loads it again."""
        self._loaded = None

    def _wake(self) -> None:
        """Moves the model to the GPU, if there is one."""
        if torch.cuda.is_available():
            self.start()
            _, model, _ = self._loaded  # type: ignore[misc]  # started
            model.to(f"cuda:{rank_index()}", torch.bfloat16)

    def _sleep(self) -> None:
        """Moves the model to main memory, and forgets all texts that were read."""
        self._read = {}
        if torch.cuda.is_available() and self._loaded is not None:
            _, model, _ = self._loaded
            model.to("cpu")

    def rate_each(
        self, questions: Sequence[Question], scale: Sequence[str]
    ) -> list[Rating | Failure]:
        """Returns one rating per question. A question is a Failure (UNPARSED) unless its probe is a
        PresenceProbe with a source.
        """
        pairs: dict[tuple[str, str], None] = {}  # the distinct (text, target), in order
        for question in questions:
            probe = _phrase_probe_of(question)
            if probe is not None:
                pairs[probe.source, probe.text] = None
        # The encoder reads the pairs that it has not read within this `with`.
        with self, self.usage.clock("seconds"):
            new = [pair for pair in pairs if pair not in self._read]
            for pair, tokens_read in zip(new, self.read(new), strict=True):
                self._read[pair] = tokens_read
            tokens_by_pair = self._read  # kept here, because the end of the `with` empties `_read`
        ratings: list[Rating | Failure] = []
        for question in questions:
            probe = _phrase_probe_of(question)
            if probe is not None:
                tokens = tokens_by_pair[probe.source, probe.text]
                ratings.append(_rate_phrase(probe, tokens, scale))
            else:
                self.usage.unparsed += 1
                kind = type(question.probe).__name__
                why = f"an encoder rates phrases with a source, got {kind}"
                ratings.append(Failure(Status.UNPARSED, why))
        return ratings

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[TokenSupport]:
        """Returns, for each (text, target), the probability in [0, 1] that the target supports each
        token of the text.

        The keys are the tokens' characters [start, end) in the text. Example: for ("a dog", "the
        cat"), the result may be [{(0, 1): 0.9, (2, 5): 0.1}].
        """
        if not pairs:
            return []
        self.start()
        tokenizer, model, twice = self._loaded  # type: ignore[misc]  # started
        longest = min(max_readable_tokens(model), tokenizer.model_max_length)
        windows_by_pair: list[list[Window]] = []
        all_windows: list[Window] = []
        for text, target in pairs:
            windows_of_pair = windows_of(tokenizer, text, target, longest, twice)
            windows_by_pair.append(windows_of_pair)
            all_windows.extend(windows_of_pair)
        # Windows are sorted by length, so that a batch has little padding.
        all_windows.sort(key=lambda window: len(window.places))
        batch = BATCH_WINDOWS[model.device.type]
        for start in range(0, len(all_windows), batch):
            self._classify(tokenizer, model, all_windows[start : start + batch])
        return [token_supports(windows_of_pair) for windows_of_pair in windows_by_pair]

    @torch.inference_mode()
    def _classify(self, tokenizer: Any, model: Any, batch: Sequence[Window]) -> None:
        """Runs the model on some windows, and sets `right` of each window: the probability, for
        each token, that the target supports the token.
        """
        inputs = [window.inputs for window in batch]
        padded = tokenizer.pad(inputs, return_tensors="pt").to(model.device)
        logits = model(**padded).logits.float()  # (windows, tokens, labels)
        right = 1 - logits.softmax(-1)[..., UNSUPPORTED_LABEL]
        self.usage.prompt_tokens += sum(len(window.places) for window in batch)
        for row, window in zip(right.tolist(), batch, strict=True):
            window.right = row[: len(window.places)]  # without the padding, on the right

    def write_each(self, questions: Sequence[Question], max_tokens: int) -> list[str | Failure]:
        """Returns an answer per question. This judge cannot write, so most answers are a Failure
        (UNPARSED).

        The exception is a question for the name of a thing (PhraseProbe), which has an answer that
        the metric makes by a rule.
        """
        refused = Failure(Status.UNPARSED, "the encoder judge writes no text")
        texts: list[str | Failure] = []
        for question in questions:
            probe = question.probe
            if isinstance(probe, PhraseProbe):
                texts.append(probe.by_rule)
            else:
                texts.append(refused)
        return texts


def _phrase_probe_of(question: Question) -> PresenceProbe | None:
    """Returns the question's probe if it is about a phrase of a text, the probe's source. Returns
    None for a question that an encoder cannot rate, such as one about the fluency of a text.
    """
    probe = question.probe
    if isinstance(probe, PresenceProbe) and probe.source:
        return probe
    return None


def _rate_phrase(probe: PresenceProbe, tokens: TokenSupport, scale: Sequence[str]) -> Rating:
    """Returns the rating of a probe's phrase. The scale's last entry gets the mean probability of
    the phrase's tokens, and the first entry gets the rest. A phrase without a place is rated as the
    whole text.
    """
    chosen: list[float] = []
    for (start, end), probability in tokens.items():
        # A token that is partly inside the phrase counts.
        for phrase_start, phrase_end in probe.places:
            if start < phrase_end and phrase_start < end:
                chosen.append(probability)
                break
    if not chosen:
        chosen = list(tokens.values())
    support = 0.0
    if chosen:
        support = sum(chosen) / len(chosen)
    if probe.kind == "denied":
        # The words deny the thing. If the denial is supported, the thing is not there, so the
        # support of the thing is the opposite.
        support = 1 - support
    probabilities = dict.fromkeys(scale, 0.0)
    probabilities[scale[0]] = 1 - support
    probabilities[scale[-1]] = support
    return Rating(probabilities)


def padding_tokenizer(folder: Path) -> Any:
    """Returns the folder's tokenizer, which pads on the right. A tokenizer without a padding token
    pads with its token for the end.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="right", trust_remote_code=False)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return tokenizer


def max_readable_tokens(model: Any) -> int:
    """Returns the most tokens that the model can read at once.

    Some models use fewer positions than they have: RoBERTa begins after the position of the
    padding, and so reads 512 tokens with 514 positions.
    """
    positions = model.config.max_position_embeddings
    words = model.get_input_embeddings()
    first_position = 0
    for part in model.modules():
        if not isinstance(part, torch.nn.Embedding) or part is words:
            continue
        # The embedding of positions is recognised by its size.
        if part.num_embeddings == positions and part.padding_idx is not None:
            first_position = max(first_position, part.padding_idx + 1)
    return positions - first_position


@torch.no_grad()
def is_decoder(model: Any) -> bool:
    """Returns whether the model reads each token only with the tokens before it.

    The test: with another last token, the output for the first token does not change.
    """
    ids = torch.tensor([[5, 5], [5, 6]], device=model.device)
    first, second = model(ids).logits[:, 0].float()
    return torch.allclose(first, second)


def windows_of(
    tokenizer: Any,
    text: str,
    target: str,
    longest: int,
    twice: bool = False,
) -> list[Window]:
    """Returns the windows of a (text, target), each of at most `longest` tokens.

    A text that spells a special token is read as plain text. twice: for a decoder, puts the text
    also at the end of the target, if everything then fits into one window.
    """
    text = encodable_text(text)
    target = encodable_text(target)
    separator = _separator_of_pair(tokenizer)
    if twice:
        target = _with_first_copy(tokenizer, text, target, separator, longest)
    # The lengths of both in tokens. A token's side is 0 in the target, 1 in the text, and None for
    # a special token.
    both = tokenizer(
        target + separator, text, return_offsets_mapping=True, split_special_tokens=True
    )
    sides = both.sequence_ids()
    target_places = []
    for place, side in zip(both["offset_mapping"], sides, strict=True):
        if side == 0:
            target_places.append(place)
    text_tokens = sides.count(1)
    other_tokens = sides.count(None) + SLACK_TOKENS  # of a window, in neither of the two
    overlap = min(OVERLAP_TOKENS, longest // 8)
    text_length, target_length = fewest_tokens(
        text_tokens, len(target_places), longest - other_tokens, overlap
    )
    # The minimum is for short pairs: the tokenizer needs windows longer than the overlap.
    window_tokens = max(text_length + target_length, 2 * overlap) + other_tokens
    # The target is cut into pieces here. The tokenizer cuts the text, once for each piece of the
    # target.
    windows = []
    for number, piece in enumerate(_target_pieces(target, target_places, target_length, overlap)):
        encoding = tokenizer(
            piece + separator,
            text,
            truncation="only_second",
            max_length=window_tokens,
            stride=overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            split_special_tokens=True,
        )
        windows += _windows_of_encoding(encoding, tokenizer.model_input_names, number)
    return windows


def _with_first_copy(tokenizer: Any, text: str, target: str, separator: str, longest: int) -> str:
    """Returns the target followed by a copy of the text, for a decoder, which reads the text twice.
    If the window would then be too long, the target is returned unchanged.

    Example: the target "A red cat." and the text "A dog." give "A red cat.\\nA dog.".

    separator: put between target and text. longest: the most tokens of a window.
    """
    doubled = f"{target}{LINE_BREAK}{text}"
    ids = tokenizer(doubled + separator, text, split_special_tokens=True)["input_ids"]
    if len(ids) + SLACK_TOKENS <= longest:
        return doubled
    return target


def _separator_of_pair(tokenizer: Any) -> str:
    """Returns a text to put between the two texts of a pair: "" if the tokenizer itself puts a
    special token there, such as BERT's [SEP], and otherwise a line break.
    """
    specials_of_pair = tokenizer.num_special_tokens_to_add(True)
    specials_of_single = tokenizer.num_special_tokens_to_add(False)
    if specials_of_pair > specials_of_single:
        return ""
    return LINE_BREAK


def _windows_of_encoding(encoding: Any, input_names: Sequence[str], piece: int) -> list[Window]:
    """Returns a window for each part into which the tokenizer has cut the text.

    Args:
        encoding: the tokenizer's result for one piece of the target and the whole text.
        input_names: the names of inputs that the model may take.
        piece: the number of the piece of the target.
    """
    names = [name for name in input_names if name in encoding]
    windows = []
    for row, offsets in enumerate(encoding["offset_mapping"]):
        inputs = {name: encoding[name][row] for name in names}
        places: list[tuple[int, int] | None] = []
        # a token's side is 1 in the text, 0 in the target, and None for a special token
        for place, side in zip(offsets, encoding.sequence_ids(row), strict=True):
            places.append(tuple(place) if side == 1 else None)
        windows.append(Window(piece, inputs, places))
    return windows


def _target_pieces(
    target: str,
    tokens: Sequence[tuple[int, int]],
    length: int,
    overlap: int,
) -> list[str]:
    """Returns the target cut into pieces of `length` tokens, with `overlap` tokens shared by
    neighbours.

    tokens: the characters [start, end) of each token in the target.
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
    """Returns the length of a part of the text and of a part of the target, so that all windows
    together have the fewest tokens.

    All arguments are numbers of tokens. text, target: the whole lengths. token_budget: the most
    tokens of a window, which has one part of the text and one part of the target. overlap: the
    tokens that neighbouring parts share. Of equally good lengths, the longest part of the target is
    chosen.

    Example: for a text of 300 tokens, a target of 260, a budget of 500 and an overlap of 32, the
    result is (166, 260): two windows, each with about half of the text and the whole target.
    """
    fewest = math.inf
    best = (0, 0)
    most_parts = math.ceil(target / overlap) + 1
    for target_parts in range(1, most_parts + 1):
        target_length = _length_of_part(target, target_parts, overlap)
        tokens_left = token_budget - target_length  # for a part of the text
        # Skip a part of the text that would be so short that nearly all of it is overlap.
        if tokens_left < min(text, 2 * overlap):
            continue
        text_parts = 1
        if text > tokens_left:
            text_parts = math.ceil((text - overlap) / (tokens_left - overlap))
        text_length = _length_of_part(text, text_parts, overlap)
        window_count = target_parts * text_parts
        tokens = window_count * (text_length + target_length)
        if tokens < fewest:
            fewest = tokens
            best = (text_length, target_length)
    return best


def _length_of_part(tokens: int, parts: int, overlap: int) -> int:
    """Returns the length of each part, in tokens, if a text of `tokens` tokens is cut into `parts`
    parts that share `overlap` tokens with their neighbours.
    """
    return math.ceil((tokens + (parts - 1) * overlap) / parts)


def token_supports(read: Sequence[Window]) -> TokenSupport:
    """Returns the probability of each token of the text, by its characters, from all windows of the
    text.

    Example: if a token has 0.2 and 0.4 in the windows with the first piece of the target, and 0.9
    with the second piece, the means are 0.3 and 0.9, and the result is 0.9.
    """
    # The answers by the token's characters, and then by the piece of the target.
    answers: dict[tuple[int, int], dict[int, list[float]]] = {}
    for window in read:
        for place, right in zip(window.places, window.right, strict=True):
            if place is None:
                continue
            start, end = place
            if start < end:  # some tokenizers have tokens without characters
                by_piece = answers.setdefault(place, defaultdict(list))
                by_piece[window.piece].append(right)
    # The mean over the windows with the same piece of the target, and the highest mean of all
    # pieces: one piece that supports the token is enough.
    tokens: TokenSupport = {}
    for place, by_piece in answers.items():
        means = [sum(rights) / len(rights) for rights in by_piece.values()]
        tokens[place] = max(means)
    return tokens
