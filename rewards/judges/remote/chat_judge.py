"""A judge behind HTTP that gets chats, for servers whose tokenizer is not available.

    judge = ChatJudge("https://api.example.com", "a-model")

It is weaker than ServerJudge. The server encodes the messages, and it is not known which texts
become control tokens. Therefore a space is added after every `<` and `[` of the messages, which
breaks up control tokens and picture placeholders. (Some servers remove invisible characters such as
a joiner, so one of these would not do.) Only the 20 likeliest tokens of each answer are seen. A
question that is too long is a Failure, because its tokens are not counted.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from spanreward.rewards.judges.encoding.chat import encodable
from spanreward.rewards.judges.encoding.prompt import Batch, encoded
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.judges.remote.endpoint import MAX_LOGPROBS, Body
from spanreward.rewards.judges.remote.remote_judge import UNBOUNDED, RemoteJudge

# and what Unicode normalises to these
OPENING = re.compile("([<[\u226e\ufe47\ufe64\uff1c\uff3b])(?! |\\Z)")


class ChatJudge(RemoteJudge):
    """A judge behind HTTP that gets chats. The arguments are RemoteJudge's.

    `rate` raises ValueError also for a scale with an entry that begins like another.
    """

    path = "chat/completions"
    asked_as = "chat"
    extras: ClassVar[Body] = {"chat_template_kwargs": {"enable_thinking": False}}

    def _rating_request(
        self, scale: Sequence[str], top: int
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        for entry in scale:
            longer = [other for other in scale if other != entry and other.startswith(entry)]
            if longer:
                raise ValueError(
                    f"the scale's {longer[0]!r} begins like {entry!r}, and a chat shows one token: "
                    "choose entries that do not, or ask with the model's tokenizer."
                )
        return {"logprobs": True, "top_logprobs": top or MAX_LOGPROBS}, {}

    def _encoded(self, questions: Sequence[Question], reserve: int) -> Batch:
        return encoded(questions, chat_input, UNBOUNDED)


def chat_input(question: Question, budget: int) -> tuple[str, int]:
    """Returns the question's messages as JSON. They are not cut, whatever the budget."""
    messages = []
    for message in question.messages:
        messages.append({"role": message["role"], "content": neutralised(message["content"])})
    return json.dumps({"messages": messages}), 0


def neutralised(content: str) -> str:
    """Adds a space inside everything that may be a control token or a placeholder, such as
    `<|im_end|>` or `[INST]`.
    """
    return OPENING.sub(r"\1 ", encodable(content))
