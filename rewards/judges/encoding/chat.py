"""Chats as token ids, and ratings from log-probabilities, for judges that have a tokenizer.

    encoder = ChatEncoder(AutoTokenizer.from_pretrained(folder))
    encoder.encode([{"role": "user", "content": "Rate from 1 to 5: ..."}])     # [1, 4093, 198, ...]
    encoder.token_ids_by_entry(("1", "2", "3"))  # {"1": (33, 216), ...}

Texts of people and policies cannot add control tokens to a chat. The chat template is rendered with
a slot in place of each message's content, with thinking off. The contents are encoded without the
tokenizer's added tokens, so `<|im_end|>` in a completion is ten plain characters for the judge. All
control tokens come from the template. A chat that is too long loses only the end of its
description (`Question.description`).

The chats of many questions are equal up to the end of the description. If the tokenizer allows it
(join_place.py), this common beginning is encoded once, and then only the rest of each question.
"""

import math
import re
from array import array
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.encoding.bounded_template import check_template
from spanreward.rewards.judges.encoding.join_place import JoinPlace, find_join_place
from spanreward.rewards.judges.encoding.plain_tokenizer import added_token_pattern, plain_tokenizer
from spanreward.rewards.judges.encoding.prompt import Prompt
from spanreward.rewards.judges.encoding.tokenizer_files import TokenizerFiles
from spanreward.rewards.judges.judge import LARGEST_MASS, Failure, Question, Rating

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MIN_MASS = 0.05  # with less probability on the scale, the judge's answer is no rating
LONGEST_WORD = 64  # characters; `cut_place` cuts a longer run without spaces anywhere
QUESTIONS_AHEAD = 256  # questions whose texts are encoded together; the ids take about 1 MB
MAX_LONG_TEXTS = 64  # descriptions whose token offsets are cached; 20,000 tokens take 0.8 MB
# Beginnings of chats whose ids are cached: more than the completions and references of one step.
# The ids of a beginning of 32,000 tokens take 128 kB.
MAX_BEGINNINGS = 512
PLAIN_TEMPLATE = "plain"  # the setting for bare texts instead of a chat template
# The text that replaces a message's content while the template is rendered. `_layout` raises if a
# template changes this text.
_SLOT_FORM = "slot-{}-for-content"
_SLOT_PATTERN = re.compile(r"(slot-\d+-for-content)")


class TextPiece(NamedTuple):
    """The text between two control tokens of a chat, or a part of this text.

    Attributes:
        text: the text to encode.
        anchor_tokens: how many of the first tokens belong to the anchor (`JoinPlace.anchor`), which
            is not in the chat. `encode` drops these tokens.
        is_shared: whether many chats begin with this text.
    """

    text: str
    anchor_tokens: int = 0
    is_shared: bool = False


class ChatEncoder:
    """Encodes chats with a model's tokenizer and chat template. No text of a message becomes a
    control token.

    Args:
        tokenizer: transformers' fast tokenizer, or TokenizerFiles.

    Raises:
        ValueError: if the tokenizer is not of the `tokenizers` library, has no chat template, or
            encodes a plain text as a control token; or if the template needs too much time or
            memory.
    """

    thinking = False  # whether the template lets a model think before its answer

    def __init__(self, tokenizer: "PreTrainedTokenizerBase | TokenizerFiles") -> None:
        _check_usable(tokenizer)
        # Any, because the tokenizer's methods declare wide unions as their results
        self.tokenizer: Any = tokenizer
        # Added tokens, such as `<|im_end|>`, are tokens only in the template's own text. The same
        # characters in a message's content are encoded as plain characters.
        added = tokenizer.added_tokens_decoder
        self.control_ids = frozenset(number for number, token in added.items() if token.special)
        self._added: dict[str, int] = {}  # id by text, of all added tokens, control token or not
        for number, token in added.items():
            content = token.content.strip()
            if content:
                self._added[content] = number
        self._split = added_token_pattern(added.values())
        self._plain = plain_tokenizer(tokenizer)
        # ids by text, of the texts that `encode_ahead` encoded
        self._ids_ahead: dict[str, list[int]] = {}
        # ids by the beginning of a chat, 4 bytes a token, the least recently used first
        self._beginnings: OrderedDict[str, array[int]] = OrderedDict()
        self._layouts: dict[tuple[str, ...], list[str | int]] = {}  # by the messages' roles
        self._cached_token_starts = lru_cache(maxsize=MAX_LONG_TEXTS)(self._token_starts)
        self._check_control_tokens()

    def _check_control_tokens(self) -> None:
        """Raises ValueError if the text of a control token, encoded as plain text, gives a control
        token. A completion with this text could then end the judge's prompt early.
        """
        for text, number in self._added.items():
            if number not in self.control_ids:
                continue
            if not self.control_ids.isdisjoint(self._plain_ids(text)):
                raise ValueError(
                    f"{self.tokenizer.name_or_path} reads {text!r} in a plain text as its control "
                    "token"
                )

    @cached_property
    def join_place(self) -> JoinPlace | None:
        """The place next to the description at which a chat can be divided and encoded in two
        parts; None if the tokenizer has no such place. The first use computes the place.
        """
        return find_join_place(self._plain)

    def encode(self, messages: Sequence[Mapping[str, str]], description_end: int = 0) -> list[int]:
        """Returns the token ids of the chat, including those with which the template begins the
        judge's answer.

        description_end: the offset in the last message up to which many chats have the same text,
        or 0. The offset makes `encode` faster and changes no id. Raises ValueError for roles that
        the template refuses.
        """
        ids: list[int] = []
        for piece in self._pieces(messages, description_end):
            if isinstance(piece, int):
                ids.append(piece)
            elif piece.is_shared:
                ids += self._shared_ids(piece.text)
            else:
                text_ids = self._plain_ids(piece.text)
                # without the anchor, a word that is only there while the text is encoded
                ids += text_ids[piece.anchor_tokens :]
        return ids

    def encode_ahead(self, questions: Sequence[Question], budget: int) -> Iterator[Question]:
        """Yields the questions, and encodes the texts of QUESTIONS_AHEAD questions at a time in
        advance, on all cores. The caller's `encode` of a question then only looks the ids up.

        budget: the most tokens of a chat. Questions that hardly fit are not encoded in advance,
        because they will be shortened.
        """
        for start in range(0, len(questions), QUESTIONS_AHEAD):
            batch = questions[start : start + QUESTIONS_AHEAD]
            self._ids_ahead = {}
            distinct: dict[str, None] = {}  # a set that keeps the order
            for question in batch:
                # A chat with pictures has other texts, because placeholders of its pictures divide
                # it. A copy of this encoder makes these texts (`PictureChatEncoder`).
                if question.images or not self._may_fit(question, budget):
                    continue
                for text in self._new_texts(question):
                    distinct[text] = None
            texts = list(map(encodable_text, distinct))
            encodings = self._plain.encode_batch_fast(texts, add_special_tokens=False)
            for text, encoding in zip(distinct, encodings, strict=True):
                self._ids_ahead[text] = encoding.ids
            # The caller encodes each question before it takes the next, and so finds its texts in
            # `_ids_ahead`.
            yield from batch
        self._ids_ahead = {}

    def _may_fit(self, question: Question, budget: int) -> bool:
        """Returns whether `fit` should try the whole question before it shortens the description.

        A description of more than `budget` characters is probably too long, so the trial is likely
        in vain. It costs little if the chat can be divided behind the description: the ids of the
        first part, with the description, are then cached for all questions on the description.
        """
        start, end = question.description
        is_short = end - start <= budget
        if is_short:
            return True
        content = question.messages[-1]["content"]
        can_be_divided = self._cut_offset(content, end) > 0
        return can_be_divided

    def _new_texts(self, question: Question) -> list[str]:
        """Returns the texts of the question whose ids are not cached."""
        try:
            pieces = self._pieces(question.messages, question.description[1])
        except ValueError:  # the template refuses the roles; `encode` raises the same error later
            return []
        texts: list[str] = []
        for piece in pieces:
            if isinstance(piece, TextPiece) and piece.text not in self._beginnings:
                texts.append(piece.text)
        return texts

    def _pieces(
        self, messages: Sequence[Mapping[str, str]], description_end: int
    ) -> list[TextPiece | int]:
        """Returns the chat in order: each control token as an id, and each text between two control
        tokens as a TextPiece.

        The text with the description is divided at the join place, if the tokenizer has a join
        place. Many chats share the text before the join place. The text behind the join place
        begins with the anchor, whose tokens `encode` drops (`JoinPlace`).
        """
        pieces: list[TextPiece | int] = []
        text = ""  # the text since the last control token or join place
        anchor_tokens = 0  # how many tokens of `text` belong to the anchor
        for part in self._filled_layout(messages, description_end):
            if isinstance(part, str):
                text += part
                continue
            # A control token or the join place ends the text before it, and begins a new text.
            ends_at_join_place = isinstance(part, JoinPlace)
            if text:
                pieces.append(TextPiece(text, anchor_tokens, is_shared=ends_at_join_place))
            if isinstance(part, JoinPlace):
                text = part.anchor
                anchor_tokens = part.anchor_tokens
            else:
                pieces.append(part)
                text = ""
                anchor_tokens = 0
        if text:
            pieces.append(TextPiece(text, anchor_tokens))
        return pieces

    def _filled_layout(
        self, messages: Sequence[Mapping[str, str]], description_end: int
    ) -> list[str | int | JoinPlace]:
        """Returns the chat in order: texts, control tokens as ids, and the join place at which the
        last message is divided, if the message can be divided.

        Example: [1, "user\\n", "TEXT: a kite.", JoinPlace(...), "\\n\\nIs it red?", 2].
        """
        contents = [message["content"] for message in messages]
        roles = tuple(message["role"] for message in messages)
        parts: list[str | int | JoinPlace] = []
        slots = 0  # the number of slots that are filled
        for part in self._layout(roles):
            if isinstance(part, int) or not _SLOT_PATTERN.fullmatch(part):
                parts.append(part)  # a control token, or the template's own text
                continue
            # the slot of the next message
            content = contents[slots]
            slots += 1
            cut = 0
            if slots == len(contents):  # the description is in the last message
                cut = self._cut_offset(content, description_end)
            if cut:
                assert self.join_place is not None
                parts += [content[:cut], self.join_place, content[cut:]]
            else:
                parts.append(content)
        return parts

    def _cut_offset(self, content: str, description_end: int) -> int:
        """Returns the offset at which to divide the last message, or 0 to keep it in one part."""
        if not description_end or self.join_place is None:
            return 0
        return self.join_place.cut(content, description_end)

    def prompt(self, question: Question, budget: int) -> tuple[Prompt, int]:
        """Returns the question as a Prompt of at most `budget` tokens, without pictures, and how
        many characters of the description were cut (`fit`).
        """
        ids, cut = self.fit(question, budget)
        return Prompt((), tuple(ids)), cut

    def fit(self, question: Question, budget: int) -> tuple[list[int], int]:
        """Returns at most `budget` token ids of the question's chat, and how many characters of the
        description were cut to fit.

        A question that is too long is encoded twice: without the description, and with the
        beginning of the description that fits. Raises ValueError if no part of the description
        fits, or if a chat without a description does not fit.
        """
        start, end = question.description
        # Most questions fit without a cut.
        if self._may_fit(question, budget):
            ids = self.encode(question.messages, end)
            if len(ids) <= budget:
                return ids, 0
        needed = len(self._encode_shortened(question, 0))
        shortened = self._fit_shortened(question, budget, budget - needed)
        if shortened is not None:
            return shortened
        without = " without its description" if end > start else ""
        raise ValueError(
            f"the question is {needed} tokens long{without}, and {self.tokenizer.name_or_path} has "
            f"room for {budget} beside the answer: take a judge with a longer context."
        )

    def _fit_shortened(
        self, question: Question, budget: int, allowed: int
    ) -> tuple[list[int], int] | None:
        """Returns at most `budget` token ids of the question's chat with a shorter description, and
        how many characters were cut. Returns None if no part of the description fits.

        allowed: the number of tokens that the description may have.
        """
        start, end = question.description
        description = question.messages[-1]["content"][start:end]
        starts = self._cached_token_starts(description)
        while allowed > 0:
            # The token with the index `allowed`, from 0, is the first token too many, so the
            # description is cut where this token starts.
            length = len(description)
            if allowed < len(starts):
                length = cut_place(description, starts[allowed])
            if length == 0:
                return None
            ids = self._encode_shortened(question, length)
            if len(ids) <= budget:
                return ids, len(description) - length
            # The chat is still too long, because the text at the cut has more tokens within the
            # chat than alone. Cut as many tokens more as the chat exceeds the budget by.
            excess = len(ids) - budget
            allowed = min(allowed, len(starts)) - excess
        return None

    def _encode_shortened(self, question: Question, length: int) -> list[int]:
        """Returns the chat's ids with only the first `length` characters of the description."""
        start, end = question.description
        new_end = start + length
        messages = list(question.messages)
        last = messages.pop()
        content = last["content"]
        shortened = content[:new_end] + content[end:]
        messages.append({**last, "content": shortened})
        return self.encode(messages, new_end)

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the text of the judge's answer, without control tokens."""
        return self.tokenizer.decode(ids, skip_special_tokens=True)

    @cached_property
    def words(self) -> list[str]:
        """The text of each token id, decoded alone."""
        size = max(self.tokenizer.get_vocab().values()) + 1
        alone = [[number] for number in range(size)]
        return self.tokenizer.backend_tokenizer.decode_batch(alone, skip_special_tokens=False)

    def token_ids_by_entry(self, scale: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Returns the token ids of each entry of a scale: {"1": (33, 216), "2": (34, 217)} for the
        scale ("1", "2").

        The tokens "2" and " 2" belong to the entry "2", because a model may begin its answer with a
        space. Raises ValueError for an entry that is no single token.
        """
        ids: dict[str, list[int]] = {}
        for entry in scale:
            ids[entry] = []
        for number, word in enumerate(self.words):
            spelled = word.lstrip(" ")
            if spelled in ids:
                ids[spelled].append(number)
        for entry, numbers in ids.items():
            if not numbers:
                raise ValueError(
                    f"the scale entry {entry!r} is {len(self._plain_ids(entry))} tokens to "
                    f"{self.tokenizer.name_or_path}, and a rating reads one: choose entries of one "
                    "token, such as digits or capital letters."
                )
        return {entry: tuple(numbers) for entry, numbers in ids.items()}

    def _layout(self, roles: tuple[str, ...]) -> list[str | int]:
        """Returns the template for messages with these roles, rendered and divided into plain
        texts, slots for the contents (_SLOT_FORM), and ids of added tokens.
        """
        if roles not in self._layouts:
            slots = [_SLOT_FORM.format(number) for number in range(len(roles))]
            chat = self._chat(roles, slots)
            text = self._render(roles, chat)
            # Refuse a template that omits or repeats a message: the judge would read another chat.
            if _SLOT_PATTERN.findall(text) != slots:
                raise ValueError(
                    f"the chat template does not show the messages of {', '.join(roles)} once, in "
                    "order"
                )
            self._layouts[roles] = self._divided(text)
        return self._layouts[roles]

    def _divided(self, text: str) -> list[str | int]:
        """Returns a rendered template in parts: ids of added tokens, slots, and the other texts.

        Example: [1, "user\\n", "slot-0-for-content", 2] for
        "<|im_start|>user\\nslot-0-for-content<|im_end|>".
        """
        parts: list[str | int] = []
        start = 0  # the end of the last added token
        for match in self._split.finditer(text):
            parts += _texts_and_slots(text[start : match.start()])
            token = match[0].strip()  # the pattern also matches white space beside some tokens
            parts.append(self._added[token])
            start = match.end()
        parts += _texts_and_slots(text[start:])
        return parts

    def _render(self, roles: tuple[str, ...], chat: list[dict[str, Any]]) -> str:
        """Returns the chat as the template writes it. Raises ValueError if the template raises, or
        needs too much time or memory.
        """
        options = {"add_generation_prompt": True, "enable_thinking": self.thinking}
        # Try this chat in a child process first: for these roles the template may take a branch
        # that the chats of `__init__` did not reach, and never end.
        check_template(
            self.tokenizer.name_or_path,
            self.tokenizer.chat_template,
            self.tokenizer.special_tokens_map,
            [(chat, options)],
        )
        try:
            text: str = self.tokenizer.apply_chat_template(chat, tokenize=False, **options)
        except Exception as error:  # a downloaded template may raise any error
            raise ValueError(
                f"the chat template refuses the roles {', '.join(roles)}: {error}"
            ) from error
        return text

    def _chat(self, roles: Sequence[str], contents: Sequence[str]) -> list[dict[str, Any]]:
        """Returns the argument of the chat template: messages with these roles and contents."""
        chat = []
        for role, content in zip(roles, contents, strict=True):
            chat.append({"role": role, "content": content})
        return chat

    def _shared_ids(self, text: str) -> "array[int]":
        """Returns the ids of a chat's beginning, and caches the ids for other chats with the same
        beginning. With more than MAX_BEGINNINGS, the least recently used beginning is dropped.
        """
        if text in self._beginnings:
            self._beginnings.move_to_end(text)
        else:
            self._beginnings[text] = array("I", self._plain_ids(text))
            if len(self._beginnings) > MAX_BEGINNINGS:
                self._beginnings.popitem(last=False)
        return self._beginnings[text]

    def _plain_ids(self, text: str) -> list[int]:
        """Returns the ids of a text as plain characters, without control tokens."""
        if text in self._ids_ahead:
            return self._ids_ahead[text]
        return self._plain.encode(encodable_text(text), add_special_tokens=False).ids

    def _token_starts(self, text: str) -> Sequence[int]:
        """Returns the character offset at which each token of the text begins."""
        encoding = self._plain.encode(encodable_text(text), add_special_tokens=False)
        return [start for start, _ in encoding.offsets]


def chat_template(setting: str, tokenizer: "PreTrainedTokenizerBase") -> str:
    """Returns the Jinja template of a user's setting.

    setting: the path of a Jinja file, or PLAIN_TEMPLATE. The template for PLAIN_TEMPLATE shows the
    texts of the messages with empty lines between. Around the texts are the special tokens that the
    tokenizer puts around any text, such as `</s>`. Raises ValueError if the file does not exist.
    """
    if setting != PLAIN_TEMPLATE:
        if not Path(setting).is_file():
            raise ValueError(
                f"chat_template is a Jinja file or {PLAIN_TEMPLATE!r}, and there is no file "
                f"{setting}."
            )
        return Path(setting).read_text("utf-8")
    # Encode a short text to see which special tokens the tokenizer puts before and behind it.
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("a").input_ids)
    special = set(tokenizer.all_special_tokens)
    before = list(takewhile(special.__contains__, tokens))
    after = list(takewhile(special.__contains__, reversed(tokens)))
    after.reverse()
    texts = "{{ messages | map(attribute='content') | join('\n\n') }}"
    return "".join(before) + texts + "".join(after)


def _texts_and_slots(text: str) -> list[str]:
    """Returns a part of a rendered template in pieces: the slots, and the texts between slots."""
    pieces = _SLOT_PATTERN.split(text)  # `split` keeps the slots, because the pattern is one group
    return [piece for piece in pieces if piece]


def encodable_text(text: str) -> str:
    """Returns the text with `?` for lone surrogates, which the tokenizer cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def cut_place(text: str, end: int) -> int:
    """Returns the offset at which to cut a text: `end`, or the beginning of the word that `end`
    would divide, because a half word can be another word: "car" for "carpet". Without a space in
    the LONGEST_WORD characters before `end`, the cut is at `end`.
    """
    if end >= len(text) or text[end].isspace():
        return end
    first = max(0, end - LONGEST_WORD)
    for place in reversed(range(first, end)):
        if text[place].isspace():
            return place + 1
    return end


def rating_from_top(
    logprobs: Mapping[int, float],
    words: Sequence[str],
    scale: Sequence[str],
    cut: int = 0,
) -> Rating | Failure:
    """Returns a rating as PoSh's published code reads it: a softmax over those of the likeliest
    tokens whose text contains an entry of the scale.

    Args:
        logprobs: natural log-probabilities of the likeliest tokens, by token id.
        words: the text of each token id.
        cut: characters that were cut from the question's description (`Rating.cut`).

    Returns an UNPARSED Failure if no token contains an entry, or if the log-probabilities are no
    distribution (`rating_from_logprobs`).
    """
    # A model's vocabulary may end in padding ids, which have no text.
    spelled = [number for number in logprobs if number < len(words)]
    ids_by_entry: dict[str, list[int]] = {}
    for entry in scale:
        ids_by_entry[entry] = [number for number in spelled if entry in words[number]]
    return rating_from_logprobs(logprobs, ids_by_entry, min_mass=0.0, cut=cut)


def rating_from_logprobs(
    logprobs: Mapping[int, float],
    scale: Mapping[str, Sequence[int]],
    min_mass: float = MIN_MASS,
    cut: int = 0,
) -> Rating | Failure:
    """Returns a rating, which is a distribution over the scale, from token log-probabilities.

    Args:
        logprobs: natural log-probabilities by token id. A missing token has probability 0.
        scale: the token ids of each entry.
        min_mass: the least probability on the scale, in [0, 1].
        cut: characters that were cut from the question's description (`Rating.cut`).

    Returns an UNPARSED Failure in three cases: a log-probability is NaN or above 0; the
    probabilities sum to more than LARGEST_MASS; the tokens of the scale have less than min_mass.
    """
    fault = _fault_of_logprobs(logprobs.values())
    if fault:
        return Failure(Status.UNPARSED, fault)
    # The probability of an entry is the sum over its tokens.
    masses: dict[str, float] = {}
    for entry, ids in scale.items():
        listed = [number for number in ids if number in logprobs]
        masses[entry] = sum(math.exp(logprobs[number]) for number in listed)
    mass = sum(masses.values())
    if mass < min_mass or mass == 0.0:
        entries = ", ".join(scale)
        return Failure(
            Status.UNPARSED, f"the judge put {mass:.1%} on {entries}: it answered something else"
        )
    probabilities = {entry: share / mass for entry, share in masses.items()}
    return Rating(probabilities, min(mass, 1.0), cut)


def _fault_of_logprobs(logprobs: Collection[float]) -> str:
    """Returns why these numbers are no natural log-probabilities of different tokens, or ""."""
    # Rounding can give a little more than 0. `not <=` also finds NaN, which `>` would miss.
    wrong = [value for value in logprobs if not value <= 1e-3]
    if wrong:
        return f"the judge gave {wrong[0]} as a log-probability"
    total = sum(map(math.exp, logprobs))
    if total > LARGEST_MASS:
        return f"the judge gave {total:.0%} of probability, which is no distribution"
    return ""


def _check_usable(tokenizer: "PreTrainedTokenizerBase | TokenizerFiles") -> None:
    """Raises ValueError for a tokenizer that is not of the `tokenizers` library, for a missing chat
    template, and for a template that needs too much time or memory.
    """
    if not tokenizer.is_fast:
        raise ValueError(
            f"{tokenizer.name_or_path} has no fast tokenizer: its control tokens cannot be "
            "kept apart"
        )
    if not tokenizer.chat_template:
        raise ValueError(
            f"{tokenizer.name_or_path} has no chat template: take an instruct model, or give "
            f"the judge's option chat_template, a Jinja file or {PLAIN_TEMPLATE!r}."
        )
    check_template(tokenizer.name_or_path, tokenizer.chat_template, tokenizer.special_tokens_map)
