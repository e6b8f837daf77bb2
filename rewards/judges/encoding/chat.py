"""Chats as token ids, and ratings from log-probabilities, for judges that have a tokenizer.

    encoder = ChatEncoder(AutoTokenizer.from_pretrained(folder))
    encoder.encode([{"role": "user", "content": "Rate from 1 to 5: ..."}])     # [1, 4093, 198, ...]
    encoder.scale(("1", "2", "3"))  # {"1": (33, 216), ...}

The text of people and policies is data. The chat template is rendered around the messages'
contents, with thinking off. The contents are encoded without the tokenizer's added tokens, so a
completion's `<|im_end|>` is ten characters to the judge, and all control tokens come from the
template. A chat that is too long loses only the end of its description.

Many questions share all of a chat up to the end of its description. Where this tokenizer allows it
(join_place.py), what they share is encoded once, and each question costs its own tokens.
"""

import json
import math
import re
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenizers import AddedToken, Tokenizer

from spanreward.rewards.base.verdict import Status
from spanreward.rewards.judges.encoding.bounded_template import check_template
from spanreward.rewards.judges.encoding.join_place import JoinPlace, find_join_place
from spanreward.rewards.judges.encoding.prompt import Prompt
from spanreward.rewards.judges.encoding.tokenizer_files import TokenizerFiles
from spanreward.rewards.judges.judge import LARGEST_MASS, Failure, Question, Rating

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# with less probability on the scale, the judge answers something else than a rating
MIN_MASS = 0.05
LONGEST_WORD = 64  # characters; a longer run without spaces may be cut anywhere
AHEAD = 256  # questions whose texts are encoded together; their ids take about 1 MB
MAX_LONG_TEXTS = 64  # descriptions whose tokens are cached; 20,000 tokens take 0.8 MB
# beginnings whose ids are cached, more than a step's completions and references; 32,000 tokens take
# 128 kB
MAX_BEGINNINGS = 512
PLAIN = "plain"  # in place of a chat template
# Stands for a message's content while the template is rendered. Where a template changes it,
# `_layout` raises.
_SLOT = "slot-{}-for-content"
_SPACE_BEFORE = r"(?:(?<!\s)\s++)?"  # a run of white space is read once
_SLOTS = re.compile(r"(slot-\d+-for-content)")


class TextPiece(NamedTuple):
    """A text between two control tokens, or a part of one.

    Attributes:
        text: what is encoded.
        anchor_tokens: how many of its first tokens are those of the join place's anchor, which is
            no part of the chat.
        is_shared: whether many chats have it.
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
        ValueError: for a tokenizer that has no chat template, or one that does not end, is not of
            the `tokenizers` library, or encodes plain text as control tokens.
    """

    thinking = False  # whether the template lets a model think first, if the model can

    def __init__(self, tokenizer: "PreTrainedTokenizerBase | TokenizerFiles") -> None:
        if not tokenizer.is_fast:
            raise ValueError(
                f"{tokenizer.name_or_path} has no fast tokenizer: its control tokens cannot be "
                "kept apart"
            )
        if not tokenizer.chat_template:
            raise ValueError(
                f"{tokenizer.name_or_path} has no chat template: take an instruct model, or give "
                f"the judge's option chat_template, a Jinja file or {PLAIN!r}."
            )
        check_template(
            tokenizer.name_or_path, tokenizer.chat_template, tokenizer.special_tokens_map
        )
        # Any, because its methods declare unions of all that they may return
        self.tokenizer: Any = tokenizer
        # The template's own text has these as tokens, and the messages' contents have none of them.
        added = tokenizer.added_tokens_decoder
        control_ids: list[int] = []
        self._added: dict[str, int] = {}  # ids by text, with those that are no control tokens
        for number, token in added.items():
            if token.special:
                control_ids.append(number)
            content = token.content.strip()
            if content:
                self._added[content] = number
        self.control_ids = frozenset(control_ids)
        self._split = _added_token_pattern(added.values())
        self._plain = _without_added_tokens(tokenizer)
        self._ahead: dict[str, list[int]] = {}  # texts that were encoded together, and their ids
        # least recently used first, in 4 bytes a token
        self._beginnings: OrderedDict[str, array[int]] = OrderedDict()
        # What this class promises is tried once with each control token: as a plain text, it must
        # not come out as itself nor as another one.
        for text, number in self._added.items():
            if number not in self.control_ids:
                continue
            if not self.control_ids.isdisjoint(self._plain_ids(text)):
                raise ValueError(
                    f"{tokenizer.name_or_path} reads {text!r} in a plain text as its control token"
                )
        self._layouts: dict[tuple[str, ...], list[str | int]] = {}  # by the messages' roles
        self._starts = lru_cache(maxsize=MAX_LONG_TEXTS)(self._token_starts)

    @cached_property
    def join_place(self) -> JoinPlace | None:
        """Where a chat can be parted behind its description. Found at the first such chat."""
        return find_join_place(self._plain)

    def encode(self, messages: Sequence[Mapping[str, str]], description_end: int = 0) -> list[int]:
        """Returns the chat's ids, up to where the answer begins.

        description_end: many chats have the same text up to this offset of the last message; 0 for
        none. It changes no id. Raises ValueError for roles the template refuses.
        """
        ids: list[int] = []
        for piece in self._pieces(messages, description_end):
            if isinstance(piece, int):
                ids.append(piece)
            elif piece.is_shared:
                ids += self._shared_ids(piece.text)
            else:
                text_ids = self._plain_ids(piece.text)
                ids += text_ids[piece.anchor_tokens :]
        return ids

    def ahead(self, questions: Sequence[Question], budget: int) -> Iterator[Question]:
        """Yields the questions. The texts of AHEAD of them, but of those that will hardly fit
        into `budget` tokens, are encoded together, which the tokenizer does on all cores.
        """
        for start in range(0, len(questions), AHEAD):
            batch = questions[start : start + AHEAD]
            self._ahead = {}
            distinct: dict[str, None] = {}  # a set that keeps the order
            for question in batch:
                # with pictures, the layout and so the texts are those of another encoder
                if question.images or not self._may_fit(question, budget):
                    continue
                for text in self._new_texts(question):
                    distinct[text] = None
            texts = list(map(encodable, distinct))
            encodings = self._plain.encode_batch_fast(texts, add_special_tokens=False)
            for text, encoding in zip(distinct, encodings, strict=True):
                self._ahead[text] = encoding.ids
            # Whoever takes a question encodes it before the next, and finds its texts here.
            yield from batch
        self._ahead = {}

    def _may_fit(self, question: Question, budget: int) -> bool:
        """Returns whether to encode the whole question first. A description with more characters
        than the budget has tokens is probably too long. It would be encoded for nothing for each of
        its questions, where it cannot be encoded once for all of them.
        """
        start, end = question.description
        if end - start <= budget:
            return True
        content = question.messages[-1]["content"]
        return self._cut(content, end) > 0

    def _new_texts(self, question: Question) -> list[str]:
        """Returns the texts of the question that are to be encoded."""
        try:
            pieces = self._pieces(question.messages, question.description[1])
        except ValueError:  # the template refuses its roles, which `encode` says
            return []
        texts: list[str] = []
        for piece in pieces:
            if isinstance(piece, TextPiece) and piece.text not in self._beginnings:
                texts.append(piece.text)
        return texts

    def _pieces(
        self, messages: Sequence[Mapping[str, str]], description_end: int
    ) -> list[TextPiece | int]:
        """Returns the chat's control tokens as ids, and what stands between two of them as a text.

        The text that holds the description is parted behind it, if it can be. Its second part then
        begins with the join place's anchor.
        """
        contents = [message["content"] for message in messages]
        roles = tuple(message["role"] for message in messages)
        slots = 0  # those filled so far
        pieces: list[TextPiece | int] = []
        text = ""  # since the last control token, or since the description was parted from it
        anchor_tokens = 0  # of that text's anchor
        for part in self._layout(roles):
            if isinstance(part, int):
                # a control token ends the text before it
                if text:
                    pieces.append(TextPiece(text, anchor_tokens))
                pieces.append(part)
                text = ""
                anchor_tokens = 0
            elif not _SLOTS.fullmatch(part):
                # the template's own text
                text += part
            else:
                content = contents[slots]
                slots += 1
                cut = 0
                if slots == len(contents):  # the description is in the last message
                    cut = self._cut(content, description_end)
                if cut:
                    assert self.join_place is not None
                    beginning = text + content[:cut]
                    pieces.append(TextPiece(beginning, anchor_tokens, is_shared=True))
                    text = self.join_place.anchor + content[cut:]
                    anchor_tokens = self.join_place.anchor_tokens
                else:
                    text += content
        if text:
            pieces.append(TextPiece(text, anchor_tokens))
        return pieces

    def _cut(self, content: str, description_end: int) -> int:
        """Returns the offset at which to part the last message, 0 for none."""
        if not description_end or self.join_place is None:
            return 0
        return self.join_place.cut(content, description_end)

    def prompt(self, question: Question, budget: int) -> tuple[Prompt, int]:
        """Returns what `fit` does, as a Prompt without pictures."""
        ids, cut = self.fit(question, budget)
        return Prompt((), tuple(ids)), cut

    def fit(self, question: Question, budget: int) -> tuple[list[int], int]:
        """Returns the question's chat in at most `budget` tokens, and how many characters of the
        description were cut.

        A long description is encoded once for all questions that share it. Each question is then
        encoded twice: without the description, and with the part that fits (again if the tokens
        change at the cut). Raises ValueError if nothing of the description fits, or the chat has
        none and does not fit.
        """
        start, end = question.description
        # Most questions fit as they are.
        if self._may_fit(question, budget):
            ids = self.encode(question.messages, end)
            if len(ids) <= budget:
                return ids, 0
        # Without its description the question has `needed` tokens, so `left` of them are left.
        description = question.messages[-1]["content"][start:end]
        needed = len(self._encode_shortened(question, 0))
        starts = self._starts(description)
        left = budget - needed
        while left > 0:
            length = len(description)
            if left < len(starts):
                length = cut_place(description, starts[left])
            if length == 0:
                break
            ids = self._encode_shortened(question, length)
            if len(ids) <= budget:
                return ids, len(description) - length
            # The tokens at the cut are others within the chat, so it is still too long. Take away
            # what it has too many.
            excess = len(ids) - budget
            left = min(left, len(starts)) - excess
        without = " without its description" if description else ""
        raise ValueError(
            f"the question is {needed} tokens long{without}, and {self.tokenizer.name_or_path} has "
            f"room for {budget} beside the answer: take a judge with a longer context."
        )

    def _encode_shortened(self, question: Question, length: int) -> list[int]:
        """Returns the chat's ids with the first `length` characters of the description alone."""
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

    def scale(self, scale: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Returns the token ids of each entry: those whose whole text is the entry, except for
        leading spaces.

        Both "3" and " 3" count for "3", because a model may begin its answer with a space. Raises
        ValueError for an entry that is no single token, because a rating is one token.
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
        """Returns the template for these roles: its plain text, its control tokens as ids, and a
        slot for each content.
        """
        if roles not in self._layouts:
            slots = [_SLOT.format(number) for number in range(len(roles))]
            chat = self._chat(roles, slots)
            text = self._render(roles, chat)
            # A template that drops a message, or shows one twice, would hide or double a text.
            if _SLOTS.findall(text) != slots:
                raise ValueError(
                    f"the chat template does not show the messages of {', '.join(roles)} once, in "
                    "order"
                )
            layout: list[str | int] = []
            start = 0
            for match in self._split.finditer(text):
                before = text[start : match.start()]
                layout += _texts_and_slots(before)
                token = match[0].strip()  # it may have taken white space beside it
                layout.append(self._added[token])
                start = match.end()
            layout += _texts_and_slots(text[start:])
            self._layouts[roles] = layout
        return self._layouts[roles]

    def _render(self, roles: tuple[str, ...], chat: list[dict[str, Any]]) -> str:
        """Returns the chat as the template writes it. Raises ValueError where it does not."""
        options = {"add_generation_prompt": True, "enable_thinking": self.thinking}
        # first in another process: with these roles the template may do what it did not do before
        check_template(
            self.tokenizer.name_or_path,
            self.tokenizer.chat_template,
            self.tokenizer.special_tokens_map,
            [(chat, options)],
        )
        try:
            text: str = self.tokenizer.apply_chat_template(chat, tokenize=False, **options)
        except Exception as error:  # a stranger's template may raise anything
            raise ValueError(
                f"the chat template refuses the roles {', '.join(roles)}: {error}"
            ) from error
        return text

    def _chat(self, roles: Sequence[str], contents: Sequence[str]) -> list[dict[str, Any]]:
        """Returns a chat of messages with these roles and contents, as the template gets it."""
        chat = []
        for role, content in zip(roles, contents, strict=True):
            chat.append({"role": role, "content": content})
        return chat

    def _shared_ids(self, text: str) -> "array[int]":
        """Returns the ids of a beginning, which are kept for the other chats that have it."""
        if text in self._beginnings:
            self._beginnings.move_to_end(text)
        else:
            self._beginnings[text] = array("I", self._plain_ids(text))
            if len(self._beginnings) > MAX_BEGINNINGS:
                self._beginnings.popitem(last=False)
        return self._beginnings[text]

    def _plain_ids(self, text: str) -> list[int]:
        """Returns the ids of a text as plain characters, without control tokens."""
        if text in self._ahead:
            return self._ahead[text]
        return self._plain.encode(encodable(text), add_special_tokens=False).ids

    def _token_starts(self, text: str) -> Sequence[int]:
        """Returns the character offset at which each token of the text begins."""
        encoding = self._plain.encode(encodable(text), add_special_tokens=False)
        return [start for start, _ in encoding.offsets]


def chat_template(setting: str, tokenizer: "PreTrainedTokenizerBase") -> str:
    """Returns the Jinja template of a file. PLAIN shows the messages' texts, with an empty line
    between two of them and with the tokens around them that the tokenizer puts around any text.
    Raises ValueError where there is no file.
    """
    if setting != PLAIN:
        if not Path(setting).is_file():
            raise ValueError(
                f"chat_template is a Jinja file or {PLAIN!r}, and there is no file {setting}."
            )
        return Path(setting).read_text("utf-8")
    # of any text, here "a": the special tokens before it and behind it
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("a").input_ids)
    special = set(tokenizer.all_special_tokens)
    before = list(takewhile(special.__contains__, tokens))
    after = list(takewhile(special.__contains__, reversed(tokens)))
    after.reverse()
    texts = "{{ messages | map(attribute='content') | join('\n\n') }}"
    return "".join(before) + texts + "".join(after)


def _texts_and_slots(text: str) -> list[str]:
    """Returns a part of a rendered template in pieces: the slots, and the texts between them."""
    pieces = _SLOTS.split(text)  # which keeps the slots, because they are a group of the pattern
    return [piece for piece in pieces if piece]


def encodable(text: str) -> str:
    """Replaces lone surrogates by `?`, because they cannot be encoded and would make the whole
    question fail.
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def cut_place(text: str, end: int) -> int:
    """Returns where to cut the text: at `end` or the last place before it between two words,
    because half a word may be another word. In a run of LONGEST_WORD characters without a space it
    is `end`.
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
    """Reads a rating as PoSh's published code does: a softmax over those of the likeliest tokens
    that contain an entry.

    logprobs: of the likeliest tokens, by id. words: the text of each id. cut: as in Rating.
    UNPARSED if no token contains an entry, or as `rating_from_logprobs`.
    """
    # Models pad their vocabulary with ids that have no word.
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
    """Reads a distribution over the scale from natural log-probabilities by token id. A missing
    token counts as 0.

    scale: the token ids of each entry. UNPARSED if a log-probability is NaN or above 0, if the
    tokens have more than LARGEST_MASS together, or if less than min_mass of the probability is on
    the scale.
    """
    # Above 0 only by rounding. "not <=" and not ">": NaN is neither.
    wrong = [value for value in logprobs.values() if not value <= 1e-3]
    if wrong:
        return Failure(Status.UNPARSED, f"the judge gave {wrong[0]} as a log-probability")
    total = sum(map(math.exp, logprobs.values()))
    if total > LARGEST_MASS:
        return Failure(
            Status.UNPARSED, f"the judge gave {total:.0%} of probability, which is no distribution"
        )
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


def _added_token_pattern(tokens: Iterable[AddedToken]) -> re.Pattern[str]:
    """Returns a pattern of the added tokens that are more than white space, the longest first."""
    patterns = []
    # The longest first: the pattern takes the first that matches, such as `<|im|>` before `<|im`.
    longest_first = sorted(tokens, key=lambda token: -len(token.content))
    for token in longest_first:
        if not token.content.strip():
            continue
        pattern = re.escape(token.content)
        # Some tokens take the white space beside them too.
        if token.lstrip:
            pattern = _SPACE_BEFORE + pattern
        if token.rstrip:
            pattern += r"\s*+"
        patterns.append(pattern)
    return re.compile("|".join(patterns) or "(?!)")  # the latter matches nothing


def _without_added_tokens(tokenizer: "PreTrainedTokenizerBase | TokenizerFiles") -> Tokenizer:
    """Returns a copy of the tokenizer that encodes `<|im_end|>` as ten characters. Added tokens of
    white space still apply.

    No token is removed, because the ids after it would change. A Unigram vocabulary (T5) also has
    the control tokens as pieces of plain text; there they get names that no text has, because a
    space never reaches the vocabulary.
    """
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    if state["model"]["type"] == "Unigram":
        special = [token for token in state["added_tokens"] if token["special"]]
        control = {token["content"] for token in special}
        renamed = set()
        vocabulary = []
        for text, score in state["model"]["vocab"]:
            if text in control:
                renamed.add(text)
                vocabulary.append([f" {text}", score])
            else:
                vocabulary.append([text, score])
        state["model"]["vocab"] = vocabulary
        # The vocabulary no longer has their names, under which they would be looked up.
        state["added_tokens"] = [
            token for token in state["added_tokens"] if token["content"] not in renamed
        ]
    # All others count as control tokens, which `encode_special_tokens` below encodes as characters.
    # An added token of white space, such as Gemma's runs of newlines, is none and still applies.
    for token in state["added_tokens"]:
        token["special"] = bool(token["content"].strip())
    # The template writes what a post-processor would add, and nothing is cut or filled up here.
    state["post_processor"] = None
    state["truncation"] = None
    state["padding"] = None
    plain = Tokenizer.from_str(json.dumps(state))
    plain.encode_special_tokens = True  # as plain characters
    return plain
