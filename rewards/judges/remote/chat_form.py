"""Questions as chats, for /v1/chat/completions: the one form in which a server gets pictures.

    form = ChatForm(detail="high")
    form.encoded(questions, UNBOUNDED).inputs[0].fields   # {"messages": [...]}

The server encodes the messages, and it is not known which texts become control tokens. Therefore a
space is added after every `<` and `[` of the messages, which breaks up control tokens and picture
placeholders. The templates of Qwen, Llama, Gemma, InternVL, LLaVA, Phi and Mistral write all of
theirs with one of these: `<|im_end|>`, `<start_of_turn>`, `<IMG_CONTEXT>`, `<|image_1|>`, `[INST]`.
Some servers remove invisible characters such as a joiner, so one of these would not do.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from spanreward.rewards.judges.encoding.chat import encodable
from spanreward.rewards.judges.encoding.prompt import Batch, Picture, encoded, ready
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.rows.pictures import as_data_url

# and what Unicode normalises to these
OPENING = re.compile("([<[\u226e\ufe47\ufe64\uff1c\uff3b])(?! |\\Z)")
# Bytes of one question's pictures as text. A request to Gemini may have 20 MB, to Anthropic 32, to
# OpenAI 50.
MAX_PICTURE_BYTES = 18_000_000
REMEMBERED_BYTES = 128_000_000  # of all pictures as text, until the judge sleeps
DETAILS = ("low", "high", "auto", "original")


@dataclass(frozen=True, slots=True, order=True)
class Chat:
    """A question's part of a request. Chats sort by their pictures, so that questions about one
    picture go out together and a server's prefix cache keeps it.
    """

    pictures: tuple[Picture, ...]
    texts: tuple[str, ...]
    fields: dict[str, Any] = field(compare=False)


class ChatForm:
    """Makes chats of questions. Each picture is encoded once until `forget`.

    Args:
        detail: how closely the model looks at pictures, for servers with such a setting; None
            leaves it to the server.
    """

    def __init__(self, detail: str | None = None) -> None:
        self.detail = detail
        self._urls: dict[str, str] = {}  # by the picture's key

    def forget(self) -> None:
        """Drops the encoded pictures."""
        self._urls = {}

    def encoded(self, questions: Sequence[Question], budget: int) -> Batch:
        """Encodes questions, which are never cut, whatever the budget.

        A question whose picture cannot be decoded, or whose pictures are too large for a request,
        is a Failure.
        """
        return encoded(ready(questions), self.chat, budget)

    def chat(self, question: Question, budget: int) -> tuple[Chat, int]:
        """Returns the question as a chat. Pictures stand before the text of the first user message,
        as `transformers:` and `vllm:` place them.

        Raises ValueError if there is no such message, or for pictures that are of no use.
        """
        parts = self._picture_parts(question.images)
        messages: list[dict[str, Any]] = []
        for message in question.messages:
            text = neutralised(message["content"])
            content: Any = text
            if parts and message["role"] == "user":
                content = [*parts, {"type": "text", "text": text}]
                parts = []
            messages.append({"role": message["role"], "content": content})
        if parts:
            raise ValueError(
                "a question with pictures needs a user message, before whose text they stand"
            )
        texts = tuple(message["content"] for message in question.messages)
        return Chat(question.images, texts, {"messages": messages}), 0

    def _picture_parts(self, pictures: Sequence[Picture]) -> list[dict[str, Any]]:
        """Returns the pictures as parts of a message. Raises ValueError where one cannot be
        decoded, and where together they are too large.
        """
        parts: list[dict[str, Any]] = []
        size = 0
        for picture in pictures:
            image_url = {"url": self._url(picture)}
            size += len(image_url["url"])
            if self.detail:
                image_url["detail"] = self.detail
            parts.append({"type": "image_url", "image_url": image_url})
        if size > MAX_PICTURE_BYTES:
            raise ValueError(
                f"the question's pictures ({len(pictures)}) take {size / 1e6:.0f} MB of a request, "
                f"and servers take {MAX_PICTURE_BYTES / 1e6:.0f}: show fewer or smaller ones"
            )
        return parts

    def _url(self, picture: Picture) -> str:
        """Returns a picture as a data url, encoded once for all questions that show it."""
        if picture.image is None:
            raise ValueError(picture.trouble)
        if picture.key not in self._urls:
            if sum(map(len, self._urls.values())) > REMEMBERED_BYTES:
                self._urls = {}
            self._urls[picture.key] = as_data_url(picture.image)
        return self._urls[picture.key]


def neutralised(content: str) -> str:
    """Adds a space inside everything that may be a control token or a placeholder, such as
    `<|im_end|>` or `[INST]`.
    """
    return OPENING.sub(r"\1 ", encodable(content))
