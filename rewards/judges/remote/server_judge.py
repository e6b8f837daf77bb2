"""A judge behind HTTP that gets token ids: vLLM, or any OpenAI-compatible server that returns
log-probabilities.

    # vllm serve Qwen/Qwen2.5-14B-Instruct --generation-config vllm --enable-prompt-tokens-details
    judge = ServerJudge("http://127.0.0.1:8000", "Qwen/Qwen2.5-14B-Instruct")
    judge.rate(questions)

The questions are encoded here with the model's tokenizer, so a completion's `<|im_end|>` is plain
text to the model. If a question is too long and the server reports its limit, as vLLM does, the
question's description loses its end. If the server reports no limit, such a question is a Failure.
Token ids cannot contain pictures, so a question with pictures is sent to the same server as a chat
(chat_form.py).
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from spanreward.rewards.judges.encoding.chat import ChatEncoder
from spanreward.rewards.judges.encoding.prompt import Batch, encode_batch
from spanreward.rewards.judges.encoding.tokenizer_files import TOKENIZER_FILES, TokenizerFiles
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.judges.model_files import model_folder
from spanreward.rewards.judges.remote.endpoint import MAX_LOGPROBS
from spanreward.rewards.judges.remote.remote_judge import CHAT_PATH, UNBOUNDED_TOKENS, RemoteJudge

COMPLETIONS_PATH = "completions"  # below /v1/
TOKEN_ID = "token_id:"
TOKEN_ID_TEXT = re.compile(f"{TOKEN_ID}(0|[1-9][0-9]{{0,8}})")


@dataclass(frozen=True, slots=True, order=True)
class TokenIds:
    """A question's part of a request. TokenIds are sorted by their ids, so that prompts with the
    same beginning are sent one after another.
    """

    ids: list[int]

    @property
    def fields(self) -> dict[str, Any]:
        return {"prompt": self.ids}


class ServerJudge(RemoteJudge):
    """A judge behind HTTP that gets token ids, so no text of a policy becomes a control token.

    `rate` and `write` raise ValueError if there is no tokenizer, and `rate` raises ValueError for a
    scale with an entry of several tokens.

    Args:
        tokenizer: a folder, a hub id or `smollm2`; None means the tokenizer of `model`.
        url, model, settings: the arguments of RemoteJudge.
    """

    def __init__(
        self,
        url: str,
        model: str,
        tokenizer: str | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(url, model, **settings)
        self.tokenizer = tokenizer or model

    @cached_property
    def encoder(self) -> ChatEncoder:
        """The model's tokenizer and chat template. Raises ValueError if there is no tokenizer."""
        try:
            folder = model_folder(self.tokenizer, files=TOKENIZER_FILES)  # without the weights
            return ChatEncoder(TokenizerFiles(folder))
        except OSError as error:
            raise ValueError(
                f"no tokenizer is found for {self.tokenizer!r}: give tokenizer=, a folder or hub "
                f"id, or ask as a chat (ChatJudge, chat:URL#MODEL); {error}"
            ) from error

    @property
    def asked_as(self) -> str:
        """`tokens-` and 12 hex digits that depend on the tokenizer and the chat template."""
        return f"tokens-{self._encoding}"

    @cached_property
    def _encoding(self) -> str:
        """12 hex digits that depend on everything that decides the ids of a chat."""
        tokenizer = self.encoder.tokenizer
        state = f"{tokenizer.backend_tokenizer.to_str()}\n{tokenizer.chat_template}"
        return hashlib.sha256(state.encode()).hexdigest()[:12]

    def _path(self, question: Question) -> str:  # token ids cannot contain pictures
        return CHAT_PATH if question.images else COMPLETIONS_PATH

    def _rating_fields(
        self, path: str, scale: Sequence[str], top: int
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the request's fields that ask for log-probabilities, and further fields that not
        every server takes.

        top: how many of the likeliest tokens a rating is read from, 0 for the scale's tokens.

        Raises ValueError for an entry of several tokens.
        """
        ids_by_entry = self.encoder.token_ids_by_entry(scale)
        ids = sorted(chain.from_iterable(ids_by_entry.values()))
        # Tokens are asked for as ids and not as texts, because two tokens may have one text. vLLM
        # can return exactly the scale's tokens; other servers return the likeliest tokens.
        extras: dict[str, Any] = {"return_tokens_as_token_ids": True}
        if len(ids) <= MAX_LOGPROBS and not top:
            extras["logprob_token_ids"] = ids
        # Completions and chats have different names for the number of log-probabilities.
        count = top or MAX_LOGPROBS
        fields: dict[str, Any] = {"logprobs": count}
        if path == CHAT_PATH:
            fields = {"logprobs": True, "top_logprobs": count}
        return fields, extras

    def _word(self, token: str) -> str:
        """Returns the text of a token in the server's answer. A server that knows
        `return_tokens_as_token_ids` answers with an id, such as "token_id:19". The text is "" for
        an id that the tokenizer lacks.
        """
        if not token.startswith(TOKEN_ID):
            return token
        match = TOKEN_ID_TEXT.fullmatch(token)
        if match is None:
            return ""
        number = int(match[1])
        words = self.encoder.words
        if number < len(words):
            return words[number]
        return ""

    def _budget(self, path: str, questions: Sequence[Question], reserve: int) -> int:
        """Returns the most tokens that a question may have: the server's limit without `reserve`,
        or UNBOUNDED_TOKENS if the server reports no limit.
        """
        # Only a question with a description can be cut. If no question has a description, the
        # server is not asked for its limit.
        if path == CHAT_PATH or not any(map(has_description, questions)):
            return UNBOUNDED_TOKENS
        served = self.served
        if served is None or not served.max_model_len:
            return UNBOUNDED_TOKENS
        return served.max_model_len - reserve

    def _encode_batch(self, path: str, questions: Sequence[Question], budget: int) -> Batch:
        if path == CHAT_PATH:
            return super()._encode_batch(path, questions, budget)
        questions_ahead = self.encoder.encode_ahead(questions, budget)
        return encode_batch(questions_ahead, self._ids, budget)

    def _ids(self, question: Question, budget: int) -> tuple[TokenIds, int]:
        """Returns the question's token ids as a part of a request, and how many characters of its
        description were cut.
        """
        ids, cut = self.encoder.fit(question, budget)
        return TokenIds(ids), cut


def has_description(question: Question) -> bool:
    """Returns whether the question has a description, which may be cut."""
    start, end = question.description
    return start < end
