"""A judge behind HTTP that is sent chats, for servers whose tokenizer nobody has.

    judge = ChatJudge("https://api.example.com", "a-model")

Weaker than ServerJudge: the server encodes the messages, and which texts it takes for control tokens is its own secret.
So a space is put behind every `<` and `[` of the messages, so that no control token or picture placeholder is spelled,
whatever the server normalises: a joiner that nobody sees is what some take out. Only the 20 most likely tokens are seen
of each answer, and a question too long for the model is a Failure, as nobody counts its tokens.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rewards.judges.encoding.chat import encodable
from rewards.judges.judge import Failure, Question
from rewards.judges.remote.endpoint import ServerAnswer
from rewards.judges.remote.remote_judge import RemoteJudge
from rewards.judges.remote.spawned_server import MAX_LOGPROBS

OPENING = re.compile("([<[\u226e\ufe47\ufe64\uff1c\uff3b])(?! |\\Z)")  # all that Unicode normalises to `<` or `[`


class ChatJudge(RemoteJudge):
    """A judge behind HTTP that is sent chats, for servers whose tokenizer nobody has. The arguments are RemoteJudge's.

    `rate` raises ValueError also for a scale with an entry that begins like another.
    """

    path = "chat/completions"
    asked_as = "chat"

    def _rating_request(self, scale: Sequence[str], top: int) -> tuple[dict[str, Any], dict[str, Any]]:
        _refuse_ambiguous(scale)
        return {"logprobs": True, "top_logprobs": top or MAX_LOGPROBS}, {}

    def _room(self, questions: Sequence[Question], reserve: int) -> int | None:
        return None

    def _input(self, question: Question, room: int | None) -> tuple[str, int]:
        messages = [
            {"role": message["role"], "content": neutralised(message["content"])} for message in question.messages
        ]
        return json.dumps({"messages": messages}), 0

    def _ask(
        self, questions: Sequence[Question], fields: Mapping[str, Any], extras: Mapping[str, Any]
    ) -> tuple[list[ServerAnswer | Failure], list[int]]:
        return super()._ask(questions, fields, {**extras, "chat_template_kwargs": {"enable_thinking": False}})


def neutralised(content: str) -> str:
    """The text with a space inside all that may be a control token or a placeholder: `<|im_end|>`, `[INST]`, and what
    a server's normalisation would make one.
    """
    return OPENING.sub(r"\1 ", encodable(content))


def _refuse_ambiguous(scale: Sequence[str]) -> None:
    """Raises ValueError where one entry may be the first token of another, as `1` of `10`."""
    for entry in scale:
        longer = [other for other in scale if other != entry and other.startswith(entry)]
        if longer:
            raise ValueError(
                f"the scale's {longer[0]!r} begins like {entry!r}, and a chat shows one token: choose entries that do "
                "not, or ask with the model's tokenizer."
            )
