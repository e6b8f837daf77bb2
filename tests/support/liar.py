"""A server of judges and readers that lies in every way we know. Each lie is named; a test asks for
it by its name.

TRANSPORT are lies of any HTTP server, RATINGS of a judge, GRAPHS of a reader. A lie is what
Server.behave returns: a status; (status, headers) and perhaps bytes; an answer's bytes; Raw bytes
of the wire; or a function that changes the honest answer.
"""

import gzip
import math
import zlib
from collections.abc import Callable
from typing import Any

from tests.support.server import CUT, LOST, Raw

SECRET = "sk-very/secret+key=="
ANSI = "\x1b[31mred\x1b[0m\r\nSet-Cookie: a=b\u202e\x07"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ECHO = (
    f'{{"error": "wrong key Bearer {SECRET} at https://me:{SECRET}@h/v1?api_key={SECRET} {ANSI}"}}'
).encode()

STATUSES = [204, 304, *(400, 401, 403, 404, 405, 408, 409, 413, 415, 418, 422, 425, 429, 451)]
STATUSES += [500, 501, 502, 503, 504, 507, 511, 599]
TRANSPORT: dict[str, Any] = {
    "connection lost": LOST,
    "body cut short": CUT,
    **{f"status {status}": status for status in STATUSES},
    "redirect to itself": (302, {"Location": "/v1/completions"}),
    "redirect elsewhere": (307, {"Location": f"http://127.0.0.1:9/?api_key={SECRET}"}),
    "redirect to a file": (301, {"Location": "file:///etc/passwd"}),
    "wait for a year": (429, {"Retry-After": "31536000"}),
    "wait since 1970": (503, {"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}),
    "wait for ever": (429, {"Retry-After": "9" * 400}),
    "gzip bomb": (200, {"Content-Encoding": "gzip"}, gzip.compress(bytes(1 << 24))),
    "deflate bomb": (200, {"Content-Encoding": "deflate"}, zlib.compress(bytes(1 << 24))),
    "an encoding of its own": (200, {"Content-Encoding": "rot13"}, b"{}"),
    "secret echoed in a refusal": (400, {}, ECHO),
    "secret echoed, unprocessable": (422, {}, ECHO),
    "secret echoed, teapot": (418, {}, ECHO),
    "megabytes of refusal": (400, {}, b"x" * (1 << 22)),
    "no HTTP": Raw(b"220 smtp.example.org ESMTP\r\n"),
    "nothing but a head": Raw(HEAD + b"Content-Length: 100\r\n\r\n"),
    "a negative length": Raw(HEAD + b"Content-Length: -5\r\n\r\n{}"),
    "a length in words": Raw(HEAD + b"Content-Length: many\r\n\r\n{}"),
    "two lengths": Raw(HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
    "chunks of nonsense": Raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
    "chunks without end": Raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{}"),
    "a head of a megabyte": Raw(HEAD + b"X-A: " + b"a" * (1 << 20) + b"\r\n\r\n{}"),
    "ANSI in a head": Raw(HEAD + b"X-A: \x1b[2J\x00\r\n\r\n{}"),
    "a status of five digits": Raw(b"HTTP/1.1 20000 OK\r\n\r\n"),
    "an older HTTP": Raw(b"HTTP/0.9 200 OK\r\n\r\n{}"),
    "empty body": b"",
    "HTML": b"<html><body>Sign in</body></html>",
    "an event stream": b'data: {"choices": []}\n\ndata: [DONE]\n\n',
    "UTF-16": '{"choices": []}'.encode("utf-16"),
    "no UTF-8": b'{"choices": "\xff\xfe"}',
    "half a character": b'{"choices": "\\ud800"}',
    "two values": b"{}{}",
    "NaN for a body": b"NaN",
    **{f"JSON {text}": text.encode() for text in ("null", "[]", "1", '"yes"', "{}", "true")},
    "nested 100,000 times": b"[" * 100_000 + b"]" * 100_000,
    "a key nested 100,000 times": b'{"choices": ' + b"[" * 100_000,
    "a number of 10,000 digits": b'{"choices": ' + b"9" * 10_000 + b"}",
    "megabytes of blanks": b" " * (1 << 22),
}


# asked again until the deadline, as the server's state may be the cause
PATIENT = {f"status {status}" for status in (408, 425, 429, 502, 503, 504)}
PATIENT |= {"connection lost", "body cut short", "no HTTP", "nothing but a head"}
PATIENT |= {"a negative length", "a length in words", "two lengths", "chunks of nonsense"}
PATIENT |= {"chunks without end", "a head of a megabyte", "ANSI in a head"}
PATIENT |= {"a status of five digits", "wait since 1970"}


def choice(**fields: Any) -> Callable[[dict], None]:
    """A lie: these fields in the answer's first choice."""
    return lambda answer: answer["choices"][0].update(fields)


def choices(value: Any) -> Callable[[dict], None]:
    return lambda answer: answer.update(choices=value)


def tops(*pairs: tuple[Any, Any]) -> Callable[[dict], None]:
    """A lie: these tokens with these log-probabilities, in the form of completions and of chats."""
    listed = [{"token": token, "logprob": value} for token, value in pairs]
    content = [{"token": "x", "top_logprobs": listed}]
    return choice(logprobs={"top_logprobs": [dict(pairs)], "content": content})


CHOICES: list[Any] = [None, [], {}, "a", [None], [1], [[]], [{}], 3]
NUMBERS = ["abc", "", "-1", "-7", "+20", " 20", "1e3", "0x10", "\uff11\uff16", "016"]
NUMBERS += ["9" * 5000, "512345"]
RATINGS: dict[str, Callable[[dict], None]] = {
    **{f"choices {value!r}": choices(value) for value in CHOICES},
    "no logprobs": choice(logprobs=None),
    "logprobs are a text": choice(logprobs="high"),
    "logprobs are a list": choice(logprobs=[1, 2]),
    "no tokens": choice(logprobs={"top_logprobs": None, "content": None}),
    "no first token": choice(logprobs={"top_logprobs": [], "content": []}),
    "a first token of None": choice(logprobs={"top_logprobs": [None], "content": [None]}),
    "tokens are a list": choice(logprobs={"top_logprobs": [["4", -0.1]], "content": [["4", -0.1]]}),
    "every token certain": tops(*((entry, 0.0) for entry in "12345")),
    "twice as much": tops(("4", math.log(0.9)), ("5", math.log(0.9)), ("2", math.log(0.2))),
    "all on others, twice as much": tops(("a", 0.0), ("b", 0.0), ("4", -2.0)),
    "above certain": tops(("4", 3.0)),
    "far above certain": tops(("4", 1e308)),
    "nearly nothing": tops(*((entry, -1e308) for entry in "12345")),
    "a log-probability in words": tops(("4", "certain")),
    "a log-probability in a list": tops(("4", [-0.1])),
    "no log-probability": tops(("4", None)),
    "other words": tops(("four", -0.1), ("good", -3.0)),
    "an empty token": tops(("", -0.01)),
    "a token of control characters": tops(("\x1b[31m4", -0.01)),
    "a thousand tokens": tops(*((f"w{n}", -8.0) for n in range(1000))),
    **{f"the token {name}": tops((f"token_id:{name}", -0.01)) for name in NUMBERS},
}
TWICE = choice(
    logprobs={"content": [{"top_logprobs": [{"token": "4", "logprob": math.log(0.45)}] * 2}]}
)
BARE: dict[str, bytes] = {  # JSON that Python's own writer cannot make
    "NaN for a log-probability": b'{"choices": [{"logprobs": {"top_logprobs": [{"4": NaN}]}}]}',
    "infinity for one": b'{"choices": [{"logprobs": {"top_logprobs": [{"4": Infinity}]}}]}',
    "minus infinity for one": b'{"choices": [{"logprobs": {"top_logprobs": [{"4": -Infinity}]}}]}',
    "1e999 for one": b'{"choices": [{"logprobs": {"top_logprobs": [{"4": 1e999}]}}]}',
}


def legible(note: str) -> bool:
    """Whether a note is one short line without control characters, and without the key."""
    hidden = SECRET not in note and "secret" not in note
    return hidden and note.isprintable() and 0 < len(note) < 700
