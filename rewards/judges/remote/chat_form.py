"""Questions as chats, for /v1/chat/completions. Only in this form does a server get pictures.

    form = ChatForm(detail="high")
    form.encode_batch(questions, UNBOUNDED_TOKENS).inputs[0].fields   # {"messages": [...]}

The server turns the messages into tokens, and this package does not know which texts become control
tokens. Therefore a space is added after every `<` and `[` of the messages, which breaks up control
tokens and picture placeholders. In the templates of Qwen, Llama, Gemma, InternVL, LLaVA, Phi and
Mistral every control token has a `<` or a `[`: `<|im_end|>`, `<start_of_turn>`, `<IMG_CONTEXT>`,
`<|image_1|>`, `[INST]`. An invisible character such as a joiner would not be enough, because some
servers remove invisible characters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from spanreward.rewards.judges.encoding.chat import encodable_text
from spanreward.rewards.judges.encoding.prompt import (
    Batch,
    Picture,
    encode_batch,
    with_converted_images,
)
from spanreward.rewards.judges.judge import Question
from spanreward.rewards.rows.pictures import as_data_url

# A `<` or `[` that is not at the end or before a space. The other characters look alike, and
# Unicode normalisation turns them into `<` or `[`.
OPENING_SIGN = re.compile("([<[\u226e\ufe47\ufe64\uff1c\uff3b])(?! |\\Z)")
# The most bytes of one question's pictures, encoded as text. A request to Gemini may have 20 MB, to
# Anthropic 32 MB, and to OpenAI 50 MB.
MAX_PICTURE_BYTES = 18_000_000
REMEMBERED_BYTES = 128_000_000  # the most bytes of encoded pictures that are kept
PICTURE_DETAILS = ("low", "high", "auto", "original")


@dataclass(frozen=True, slots=True, order=True)
class Chat:
    """A question's part of a request. Chats are sorted by their pictures, so that questions about
    one picture are sent one after another and a server's prefix cache can reuse the picture.

    Attributes:
        pictures, texts: the pictures and the messages' texts, by which chats are sorted.
        fields: the messages, as the request holds them.
    """

    pictures: tuple[Picture, ...]
    texts: tuple[str, ...]
    fields: dict[str, Any] = field(compare=False)


class ChatForm:
    """Turns questions into chats. Each picture is encoded once and kept until `forget`.

    Args:
        detail: how closely the model looks at pictures (one of PICTURE_DETAILS), for servers with
            such a setting. None leaves the choice to the server.
    """

    def __init__(self, detail: str | None = None) -> None:
        self.detail = detail
        self._urls: dict[str, str] = {}  # by the picture's key

    def forget(self) -> None:
        """Drops the encoded pictures."""
        self._urls = {}

    def encode_batch(self, questions: Sequence[Question], budget: int) -> Batch:
        """Returns the questions as chats. A chat is never cut, so `budget` has no effect.

        A question is a Failure if one of its pictures cannot be decoded, or if its pictures are too
        large for a request.
        """
        return encode_batch(with_converted_images(questions), self.chat, budget)

    def chat(self, question: Question, budget: int) -> tuple[Chat, int]:
        """Returns the question as a chat, and 0, the number of characters that were cut. The
        pictures stand before the text of the first user message, as in `transformers:` and `vllm:`.

        budget: not used, because the server cuts nothing. Raises ValueError if no message is a
        user's, if a picture cannot be decoded, or if the pictures are too large.
        """
        parts = self._picture_parts(question.images)
        messages: list[dict[str, Any]] = []
        for message in question.messages:
            text = without_control_tokens(message["content"])
            content: Any = text
            if parts and message["role"] == "user":
                content = [*parts, {"type": "text", "text": text}]
                parts = []  # later messages get no pictures
            messages.append({"role": message["role"], "content": content})
        if parts:  # no message was a user's
            raise ValueError(
                "a question with pictures needs a user message, before whose text they stand"
            )
        texts = tuple(message["content"] for message in question.messages)
        return Chat(question.images, texts, {"messages": messages}), 0

    def _picture_parts(self, pictures: Sequence[Picture]) -> list[dict[str, Any]]:
        """Returns the pictures as parts of a message. Raises ValueError if a picture cannot be
        decoded, or if the pictures together are too large for a request.
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
        """Returns a picture as a data url, encoded once for all questions that show the picture."""
        if picture.image is None:
            raise ValueError(picture.trouble)
        if picture.key not in self._urls:
            if sum(map(len, self._urls.values())) > REMEMBERED_BYTES:
                self._urls = {}
            self._urls[picture.key] = as_data_url(picture.image)
        return self._urls[picture.key]


def without_control_tokens(content: str) -> str:
    """Returns the text with a space inside each possible control token or placeholder: `[INST]`
    becomes `[ INST]`.
    """
    return OPENING_SIGN.sub(r"\1 ", encodable_text(content))
