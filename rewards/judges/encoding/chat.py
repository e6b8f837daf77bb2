"""Chats as token ids, and ratings from log-probabilities: what all judges with a tokenizer of their own share.

    encoder = ChatEncoder(AutoTokenizer.from_pretrained(folder))
    encoder.encode([{"role": "user", "content": "Rate from 1 to 5: ..."}])     # [1, 4093, 198, ...]
    encoder.scale(("1", "2", "3"))                                             # {"1": (33, 216), ...}

What people and policies write is data. The chat template is rendered around the messages' contents, thinking off, and
the contents are encoded without the tokenizer's added tokens: a completion that contains `<|im_end|>` is these ten
characters to the judge, and the control tokens of an input are exactly the template's own. A chat that is too long
loses the end of its question's description and nothing else.
"""

import json
import math
import re
import unicodedata
from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from jinja2 import TemplateError
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from rewards.judges.encoding.prompt import Prompt
from rewards.judges.judge import Failure, Question, Rating
from rewards.verdict import Status

MIN_MASS = 0.05  # below this share of the probability on its scale, a judge is saying something else
LONGEST_WORD = 64  # characters; what is longer is no word, and may be cut anywhere
JOINER = "\u200d"  # ZERO WIDTH JOINER: it makes one emoji of two
SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
LONG_TEXTS = 64  # descriptions whose tokens are remembered; 20,000 tokens are 80 kB
_SLOT = "slot-{}-for-content"
_SLOTS = re.compile(r"slot-(\d+)-for-content")


class ChatEncoder:
    """A model's tokenizer and chat template, safe for contents that come from a policy: none becomes a control token.

    Raises ValueError for a tokenizer without a chat template, one that is not of the `tokenizers` library, and one that
    reads control tokens out of plain text.

    thinking: whether a template that can have the model think aloud first does so.
    """

    thinking = False

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        if not tokenizer.is_fast:
            raise ValueError(f"{tokenizer.name_or_path} has no fast tokenizer: its control tokens cannot be kept apart")
        if not tokenizer.chat_template:
            raise ValueError(f"{tokenizer.name_or_path} has no chat template: a judge must be an instruct model")
        self.tokenizer: Any = tokenizer  # its methods' declared types are unions of all they may return
        added = tokenizer.added_tokens_decoder
        self.control_ids = frozenset(number for number, token in added.items() if token.special)
        self._added = {token.content.strip(): number for number, token in added.items() if token.content.strip()}
        longest_first = sorted(added.values(), key=lambda token: -len(token.content))
        patterns = [_pattern(token) for token in longest_first if token.content.strip()]
        self._split = re.compile("|".join(patterns) or "(?!)")
        self._plain = _without_added_tokens(tokenizer)
        for text, number in self._added.items():
            if number in self.control_ids and not self.control_ids.isdisjoint(self._plain_ids(text)):
                raise ValueError(f"{tokenizer.name_or_path} reads {text!r} in a plain text as its control token")
        self._layouts: dict[tuple[str, ...], list[str | int]] = {}
        self._starts = lru_cache(maxsize=LONG_TEXTS)(self._token_starts)

    def encode(self, messages: Sequence[Mapping[str, str]]) -> list[int]:
        """The chat, up to where the judge's answer begins. Raises ValueError for roles the template does not take."""
        contents = iter(message["content"] for message in messages)
        ids: list[int] = []
        text = ""  # template and content between two control tokens are encoded in one piece, as they would be anyway
        for part in self._layout(tuple(message["role"] for message in messages)):
            if isinstance(part, int):
                ids += self._plain_ids(text)
                ids.append(part)
                text = ""
            else:
                text += next(contents) if _SLOTS.fullmatch(part) else part
        return ids + self._plain_ids(text)

    def prompt(self, question: Question, room: int) -> tuple[Prompt, int]:
        """What `fit` gives, as a Prompt."""
        ids, cut = self.fit(question, room)
        return Prompt((), tuple(ids)), cut

    def fit(self, question: Question, room: int) -> tuple[list[int], int]:
        """The question's chat in at most `room` tokens, and how many characters of its description that leaves out.

        A description that is too long is encoded once, however many questions share it; each of them then costs two
        encodings of what is asked: without the description, and with the part that fits (again where the tokens at the
        cut come out otherwise). Raises ValueError where nothing of the description, or of a chat without one, fits.
        """
        *others, last = question.messages
        start, end = question.description
        before, description, after = last["content"][:start], last["content"][start:end], last["content"][end:]

        def shortened(length: int) -> list[int]:
            return self.encode([*others, {**last, "content": before + description[:length] + after}])

        if len(description) <= room:  # in characters; otherwise it is too long, or near it
            ids = self.encode(question.messages)
            if len(ids) <= room:
                return ids, 0
        needed = len(shortened(0))
        starts = self._starts(description)
        left = room - needed
        while left > 0:
            length = cut_place(description, starts[left]) if left < len(starts) else len(description)
            if length == 0:
                break
            ids = shortened(length)
            if len(ids) <= room:
                return ids, len(description) - length
            left = min(left, len(starts)) - (len(ids) - room)
        without = " without its description" if description else ""
        raise ValueError(
            f"the question is {needed} tokens long{without}, and {self.tokenizer.name_or_path} has room for {room} "
            "beside the answer: take a judge with a longer context."
        )

    def decode(self, ids: Sequence[int]) -> str:
        """The judge's own words, without control tokens."""
        return self.tokenizer.decode(ids, skip_special_tokens=True)

    @cached_property
    def words(self) -> list[str]:
        """What each token id decodes to by itself."""
        size = max(self.tokenizer.get_vocab().values()) + 1
        return self.tokenizer.backend_tokenizer.decode_batch([[i] for i in range(size)], skip_special_tokens=False)

    def scale(self, scale: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """The token ids that stand for each entry: those that decode to it as a whole, leading spaces aside.

        Raises ValueError for an entry that no single token spells, as a rating reads one token.
        """
        wanted: dict[str, list[int]] = {entry: [] for entry in scale}
        for number, word in enumerate(self.words):
            if word.lstrip(" ") in wanted:
                wanted[word.lstrip(" ")].append(number)
        for entry, numbers in wanted.items():
            if not numbers:
                raise ValueError(
                    f"the scale entry {entry!r} is {len(self._plain_ids(entry))} tokens to "
                    f"{self.tokenizer.name_or_path}, and a rating reads one: choose entries of one token, such as "
                    "digits or capital letters."
                )
        return {entry: tuple(numbers) for entry, numbers in wanted.items()}

    def _layout(self, roles: tuple[str, ...]) -> list[str | int]:
        """The template rendered for these roles: plain text, control tokens as ids, and a slot for each content."""
        if roles not in self._layouts:
            chat = self._chat(roles, [_SLOT.format(number) for number in range(len(roles))])
            try:
                text = self.tokenizer.apply_chat_template(
                    chat, tokenize=False, add_generation_prompt=True, enable_thinking=self.thinking
                )
            except TemplateError as error:
                raise ValueError(f"the chat template refuses the roles {', '.join(roles)}: {error}") from error
            if _SLOTS.findall(text) != [str(number) for number in range(len(roles))]:
                raise ValueError(f"the chat template does not show the messages of {', '.join(roles)} once, in order")
            layout: list[str | int] = []
            start = 0
            for match in self._split.finditer(text):
                layout += [*_at_slots(text[start : match.start()]), self._added[match.group().strip()]]
                start = match.end()
            self._layouts[roles] = [*layout, *_at_slots(text[start:])]
        return self._layouts[roles]

    def _chat(self, roles: Sequence[str], contents: Sequence[str]) -> list[dict[str, Any]]:
        """The messages as the template takes them."""
        return [{"role": role, "content": content} for role, content in zip(roles, contents, strict=True)]

    def _plain_ids(self, text: str) -> list[int]:
        return self._plain.encode(encodable(text), add_special_tokens=False).ids

    def _token_starts(self, text: str) -> Sequence[int]:
        """The character at which each token of the text begins."""
        return array("I", [start for start, _ in self._plain.encode(encodable(text), add_special_tokens=False).offsets])


def encodable(text: str) -> str:
    """The text with `?` for lone surrogates: they cannot be encoded, and must not take the whole question down."""
    return text.encode("utf-8", "replace").decode("utf-8")


def cut_place(text: str, end: int) -> int:
    """Where to cut the text, at `end` or somewhat before: between words, or else between characters with their marks.

    Half a word may be another word, and half an emoji another emoji.
    """
    if end >= len(text) or text[end].isspace():
        return end
    first = max(0, end - LONGEST_WORD)
    spaces = [place for place in range(first, end) if text[place].isspace()]
    if spaces:
        return spaces[-1] + 1
    for place in range(end, first, -1):
        joined = text[place] == JOINER or text[place - 1] == JOINER
        if not joined and unicodedata.category(text[place])[0] != "M" and text[place] not in SKIN_TONES:
            return place
    return end


def rating_from_top(
    logprobs: Mapping[int, float], words: Sequence[str], scale: Sequence[str], cut: int = 0
) -> Rating | Failure:
    """A rating as PoSh's published code reads it: a softmax over the likeliest tokens that contain an entry.

    logprobs: of the likeliest tokens, by id; words: what each id decodes to. A token counts for every entry that its
    text contains, and however little probability these tokens have. UNPARSED where none contains any, or one of them
    has no log-probability.
    """
    spelled = {number: words[number] for number in logprobs if number < len(words)}  # models pad their vocabulary
    holding = {entry: [number for number, word in spelled.items() if entry in word] for entry in scale}
    return rating_from_logprobs(logprobs, holding, min_mass=0.0, cut=cut)


def rating_from_logprobs(
    logprobs: Mapping[int, float], scale: Mapping[str, Sequence[int]], min_mass: float = MIN_MASS, cut: int = 0
) -> Rating | Failure:
    """The distribution over the scale, from natural log-probabilities by token id; a token without one counts as 0.

    UNPARSED when one is no log-probability (NaN, above 0), or when less than min_mass of the probability fell on the
    scale.
    """
    wrong = [value for value in logprobs.values() if not value <= 1e-3]  # NaN compares as false
    if wrong:
        return Failure(Status.UNPARSED, f"the judge gave {wrong[0]} as a log-probability")
    masses = {entry: sum(math.exp(logprobs[i]) for i in ids if i in logprobs) for entry, ids in scale.items()}
    mass = sum(masses.values())
    if mass < min_mass or mass == 0.0:
        entries = ", ".join(scale)
        return Failure(Status.UNPARSED, f"the judge put {mass:.1%} on {entries}: it answered something else")
    return Rating({entry: value / mass for entry, value in masses.items()}, min(mass, 1.0), cut)


def _at_slots(text: str) -> list[str]:
    """The text with every slot as an element of its own."""
    return [part for part in re.split(rf"({_SLOT.format('[0-9]+')})", text) if part]


def _pattern(token: Any) -> str:
    """A regular expression for an added token, which may swallow the white space beside it."""
    return r"\s*" * token.lstrip + re.escape(token.content) + r"\s*" * token.rstrip


def _without_added_tokens(tokenizer: PreTrainedTokenizerBase) -> Tokenizer:
    """The same tokenizer, to which `<|im_end|>` is ten characters. Added runs of white space stay.

    No token is taken out, as those after it would move up to its number.
    """
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    for token in state["added_tokens"]:
        token["special"] = bool(token["content"].strip())
    state |= {"post_processor": None, "truncation": None, "padding": None}
    plain = Tokenizer.from_str(json.dumps(state))
    plain.encode_special_tokens = True  # special ones as the characters that they are
    return plain
