"""A judge behind HTTP that is sent token ids: vLLM, or any OpenAI-compatible server that gives log-probabilities.

    # vllm serve Qwen/Qwen2.5-14B-Instruct --max-logprobs 20 --enable-prompt-tokens-details
    # (a build whose `vllm` command fails: python -m vllm.entrypoints.openai.api_server --model ... )
    judge = ServerJudge("http://127.0.0.1:8000", "Qwen/Qwen2.5-14B-Instruct")
    judge.rate(questions)
    ServerJudge("http://127.0.0.1:8000", "smollm2", spawn=True)     # starts that server itself, and stops it

The questions are encoded here, with the model's own tokenizer: a completion that contains `<|im_end|>` is plain text to
the model. A question too long for the model loses the end of its description where the server tells how long it may be,
as vLLM's does, and is a Failure otherwise.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from rewards.judges.encoding.chat import ChatEncoder
from rewards.judges.judge import Question
from rewards.judges.remote.remote_judge import RemoteJudge
from rewards.judges.remote.spawned_server import MAX_LOGPROBS
from rewards.judges.smollm2 import smollm2_folder

TOKEN_ID = "token_id:"


class ServerJudge(RemoteJudge):
    """A judge behind HTTP that is sent token ids: no text that a policy writes is a control token.

    `rate` and `write` raise ValueError also for a scale with an entry of several tokens, and for a model whose
    tokenizer is not there.

    Args:
        url: see RemoteJudge.
        model: as the server calls it.
        tokenizer: a folder, a hub id or `smollm2`; the model's own when None.
        settings: RemoteJudge's others.
    """

    path = "completions"

    def __init__(self, url: str, model: str, tokenizer: str | None = None, **settings: Any) -> None:
        super().__init__(url, model, **settings)
        self.tokenizer = tokenizer or model
        self._encoder: ChatEncoder | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_encoder": None}

    @property
    def encoder(self) -> ChatEncoder:
        """The model's tokenizer and chat template. Raises ValueError when there is none."""
        if self._encoder is None:
            self._encoder = ChatEncoder(_tokenizer(self.tokenizer))
        return self._encoder

    @property
    def asked_as(self) -> str:
        """`tokens-` and 12 hex digits of how chats become token ids."""
        tokenizer = self.encoder.tokenizer
        state = f"{tokenizer.backend_tokenizer.to_str()}\n{tokenizer.chat_template}"
        return f"tokens-{hashlib.sha256(state.encode()).hexdigest()[:12]}"

    def _rating_request(self, scale: Sequence[str], top: int) -> tuple[dict[str, Any], dict[str, Any]]:
        ids = sorted(number for numbers in self.encoder.scale(scale).values() for number in numbers)
        extras: dict[str, Any] = {"return_tokens_as_token_ids": True}
        if len(ids) <= MAX_LOGPROBS and not top:
            extras["logprob_token_ids"] = ids
        return {"logprobs": top or MAX_LOGPROBS}, extras

    def _word(self, token: str) -> str:
        """A server that knows `return_tokens_as_token_ids` names a token by its id, others by its text."""
        if not token.startswith(TOKEN_ID):
            return token
        number = int(token.removeprefix(TOKEN_ID))
        return self.encoder.words[number] if number < len(self.encoder.words) else ""

    def _room(self, questions: Sequence[Question], reserve: int) -> int | None:
        served = self.served if any(start < end for start, end in (q.description for q in questions)) else None
        return served.max_model_len - reserve if served is not None and served.max_model_len else None

    def _input(self, question: Question, room: int | None) -> tuple[str, int]:
        if room is None:
            return json.dumps({"prompt": self.encoder.encode(question.messages)}), 0
        ids, cut = self.encoder.fit(question, room)
        return json.dumps({"prompt": ids}), cut


def _tokenizer(where: str) -> Any:
    """A tokenizer without the weights that are beside it on the hub. Raises ValueError where there is none."""
    path = smollm2_folder() if where == "smollm2" else Path(where).expanduser()
    try:
        return AutoTokenizer.from_pretrained(path if path.is_dir() else where)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no tokenizer is found for {where!r}: give tokenizer=, a folder or hub id, or ask as a chat "
            "(ChatJudge, chat:URL#MODEL)"
        ) from error
