"""What servers in the manner of OpenAI, Gemini, Anthropic, Ollama and OpenRouter answer to a chat.

    MANNERS["openai"]({"model": "m", "max_tokens": 1, "logprobs": True, "top_logprobs": 20}, "4")
    # the status, and the JSON of the answer

Each takes a request and the text that the model writes. All of it is made up after the providers'
references: OpenAI's chat gives 20 log-probabilities at most and its thinking models none; Gemini's
OpenAI layer gives none for most models; Anthropic's ignores `logprobs`; Ollama's list is short and
leaves out the chosen token's bytes; OpenRouter keeps the connection with lines of comment, and
wraps its providers' errors.
"""

import json
import math
from collections.abc import Callable
from typing import Any

Body = dict[str, Any]
TOP = (("4", 0.6), ("5", 0.3), ("3", 0.05), ("four", 0.03))


def listed(count: int) -> list[dict[str, Any]]:
    return [
        {"token": token, "logprob": math.log(share), "bytes": list(token.encode())}
        for token, share in TOP[:count]
    ]


def answer(content: str | None, **fields: Any) -> Body:
    choice: Body = {
        "index": 0,
        "message": {"role": "assistant", "content": content, "refusal": None},
        "logprobs": None,
        "finish_reason": "stop",
    }
    choice.update(fields)
    usage = {"prompt_tokens": 40, "completion_tokens": 1, "total_tokens": 41}
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": usage}


def with_logprobs(body: Body, text: str, most: int) -> Body:
    if not body.get("logprobs"):
        return answer(text)
    chosen = listed(1)[0]
    content = [{**chosen, "top_logprobs": listed(min(most, body.get("top_logprobs", 0)))}]
    return answer(text, logprobs={"content": content, "refusal": None}, finish_reason="length")


def openai(body: Body, text: str) -> tuple[int, bytes]:
    if "chat_template_kwargs" in body or "repetition_penalty" in body:
        words = "Unrecognized request argument supplied"
        return 400, json.dumps({"error": {"message": words, "code": None}}).encode()
    return 200, json.dumps(with_logprobs(body, text, 20)).encode()


def openai_thinking(body: Body, text: str) -> tuple[int, bytes]:
    """A reasoning model: another name for the length, no temperature, at least 16 tokens, no
    log-probabilities, and nothing but thoughts in few tokens.
    """
    refusals = (
        (
            "max_tokens" in body,
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
        ),
        (
            "temperature" in body,
            "Unsupported value: 'temperature' does not support 0.0 with this model.",
        ),
        ("logprobs" in body, "You are not allowed to request logprobs from this model"),
        (
            body.get("max_completion_tokens", 99) < 16,
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, "
            "but got 1 instead.",
        ),
        (
            "chat_template_kwargs" in body or "repetition_penalty" in body,
            "Unknown parameter in the request",
        ),
    )
    for refused, words in refusals:
        if refused:
            status = 403 if "allowed" in words else 400
            return status, json.dumps({"error": {"message": words}}).encode()
    if body["max_completion_tokens"] < 1000:
        return 200, json.dumps(answer("", finish_reason="length")).encode()
    return 200, json.dumps(answer(text)).encode()


def gemini(body: Body, text: str) -> tuple[int, bytes]:
    if body.get("logprobs"):
        words = "Logprobs is not enabled for models/m"
        error = {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}
        return 400, json.dumps([{"error": error}]).encode()
    said = answer(text)
    del said["choices"][0]["logprobs"]
    return 200, json.dumps(said).encode()


def anthropic(body: Body, text: str) -> tuple[int, bytes]:
    """Its OpenAI layer ignores the fields that it does not have."""
    return 200, json.dumps(answer(text)).encode()


def ollama(body: Body, text: str) -> tuple[int, bytes]:
    return 200, json.dumps(with_logprobs(body, text, 3)).encode()


def openrouter(body: Body, text: str) -> tuple[int, bytes]:
    said = with_logprobs(body, text, 5)
    said["provider"] = "somebody"
    said["choices"][0]["message"]["reasoning"] = None
    return 200, b": OPENROUTER PROCESSING\n\n\n" + json.dumps(said).encode()


MANNERS: dict[str, Callable[[Body, str], tuple[int, bytes]]] = {
    "openai": openai,
    "openai thinking": openai_thinking,
    "gemini": gemini,
    "anthropic": anthropic,
    "ollama": ollama,
    "openrouter": openrouter,
}
GIVE_LOGPROBS = ("openai", "ollama", "openrouter")
