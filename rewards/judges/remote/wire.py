"""What an OpenAI-compatible server says, as far as judges read it: an answer, and the list of its models.

    answer = ServerAnswer.model_validate_json(b'{"choices": [{"text": "4"}]}')
    answer.text()               # "4"

Odd counts of tokens do not spoil a good answer. Everything else of another form raises pydantic's ValidationError.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field

from spanreward.rewards.files.http_client import legible


class TopLogprob(BaseModel):
    token: str
    logprob: float | None


class Position(BaseModel):
    top_logprobs: list[TopLogprob] | None = None


class Logprobs(BaseModel):
    """Per position of the answer: top_logprobs in completions, content in chats."""

    top_logprobs: list[dict[str, float | None] | None] | None = None
    content: list[Position] | None = None

    def first(self) -> list[tuple[str, float | None]]:
        """The first position's tokens and natural log-probabilities."""
        if self.top_logprobs:
            return list((self.top_logprobs[0] or {}).items())
        return [
            (top.token, top.logprob) for position in (self.content or [])[:1] for top in position.top_logprobs or []
        ]


class Message(BaseModel):
    content: str | None = None


class Choice(BaseModel):
    """text from completions, message from chats."""

    text: str | None = None
    message: Message | None = None
    logprobs: Logprobs | None = None


Count = Annotated[int, Field(ge=0, lt=1 << 40)]


class PromptDetails(BaseModel):
    cached_tokens: Count | None = None


class TokenCounts(BaseModel):
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    prompt_tokens_details: PromptDetails | None = None


class ServerAnswer(BaseModel):
    """The fields of a completion's or a chat's answer that judges read."""

    choices: list[Choice] = Field(min_length=1)
    usage: TokenCounts | Any = None  # of another form: the rest of the answer may still be good

    def text(self) -> str | None:
        choice = self.choices[0]
        return choice.message.content if choice.message is not None else choice.text


class Served(BaseModel):
    """A model in the server's list. root: where vLLM's weights are from. max_model_len: the most tokens of a prompt and
    its answer, None if the server does not say.
    """

    id: str
    root: Annotated[str, AfterValidator(legible)] | None = None
    max_model_len: int | None = None


class ServedList(BaseModel):
    data: list[Served]
