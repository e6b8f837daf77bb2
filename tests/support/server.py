"""A server that rates as it is told in the prompt, and fails as a test wants it to."""

import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.tokenizer import ENCODER

SCALE = ("1", "2", "3", "4", "5")
IDS = {entry: numbers[0] for entry, numbers in ENCODER.token_ids_by_entry(SCALE).items()}
SOON = 40.0  # seconds on a machine ten times slower; a server that hangs would hold us for longer
LOST = "lost connection"
CUT = "a body that ends too soon"


class Raw(bytes):
    """What the server writes instead of a response."""


class Server:
    """An OpenAI-compatible server on 127.0.0.1 which rates a prompt that says "give 4" with 4: p(4)
    = 0.8, p(2) = 0.1, and the rest on what only looks like a rating.

    behave(body, number) of the request with this number, from 0, is None for that answer; or a
    status; (status, headers) and perhaps bytes; the answer's bytes; Raw; an iterator of
    raw parts; a function that changes the answer; CUT; or LOST. hang: wait, before the answer, until the server stops. delay(body):
    seconds before it.
    """

    def __init__(self, port: int = 0, extended: bool = True) -> None:
        self.extended = extended  # knows vLLM's extra fields
        self.behave: Callable[[dict, int], Any] = lambda body, number: None
        self.delay: Callable[[dict], float] = lambda body: 0.0
        self.hang: Callable[[dict], bool] = lambda body: False
        self.bodies: list[dict] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.times: list[float] = []
        self.under_way = self.most = 0
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.models: Any = [{"id": "m", "root": "/weights/m"}]  # or a status in place of the list
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or each answer waits 40 ms for an acknowledgement

            def do_GET(self) -> None:
                if isinstance(outer.models, int):
                    return self.reply(outer.models, b"{}")
                return self.reply(200, json.dumps({"data": outer.models}).encode())

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.lock:
                    number = len(outer.bodies)
                    outer.bodies.append(body)
                    outer.paths.append(self.path)
                    outer.keys.append(self.headers["Authorization"])
                    outer.times.append(time.monotonic())
                    outer.under_way += 1
                    outer.most = max(outer.most, outer.under_way)
                if outer.hang(body):
                    outer.stopping.wait(3 * SOON)
                outer.stopping.wait(outer.delay(body))
                with outer.lock:
                    outer.under_way -= 1
                self.act(LOST if outer.stopping.is_set() else outer.behave(body, number), body)

            def act(self, how: Any, body: dict) -> None:
                if how == LOST:
                    self.close_connection = True
                elif how == CUT:
                    self.reply(200, json.dumps(outer.answer(body)).encode(), missing=20)
                elif isinstance(how, int):
                    self.reply(how, b'{"error": "so it is"}')
                elif isinstance(how, tuple):
                    self.reply(how[0], b"".join(how[2:]), how[1])
                elif isinstance(how, Raw):
                    self.wfile.write(how)
                    self.close_connection = True
                elif isinstance(how, Iterator):
                    for part in how:
                        self.wfile.write(part)
                elif isinstance(how, bytes):
                    self.reply(200, how)
                else:
                    answer = outer.answer(body)
                    if how is not None:
                        how(answer)
                    self.reply(200, json.dumps(answer).encode())

            def reply(
                self, status: int, content: bytes, headers: dict | None = None, missing: int = 0
            ) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content[: len(content) - missing])
                if missing or outer.stopping.is_set():
                    self.close_connection = True

            def log_message(self, *_: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: Any) -> None:
                pass  # a client that went away

        self.http = Quiet(("127.0.0.1", port), Handler)
        self.port = self.http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        serve = self.http.serve_forever
        threading.Thread(target=serve, args=(0.01,), daemon=True).start()

    def answer(self, body: dict) -> dict:
        text = text_of(body)
        wanted = re.findall("give (.)", text)[-1:]
        usage: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 1}
        usage["prompt_tokens_details"] = {"cached_tokens": 7}
        if body.get("max_tokens", body.get("max_completion_tokens")) > 1:
            said = f"text of {wanted}"
            choice: dict[str, Any] = {"text": said}
            if "messages" in body:
                choice = {"message": {"content": said}}
            return {"choices": [choice], "usage": usage}
        top = {"2": math.log(0.1), **{entry: math.log(0.8) for entry in wanted}}
        top |= {"50": math.log(0.05), "4.": -5.0}
        if "messages" in body:
            content = [{"token": token, "logprob": value} for token, value in top.items()]
            logprobs = {"content": [{"top_logprobs": content}]}
            choice = {"message": {"content": "x"}, "logprobs": logprobs}
        else:
            if self.extended and body.get("return_tokens_as_token_ids"):
                known = [(IDS[token], value) for token, value in top.items() if token in IDS]
                top = {f"token_id:{number}": value for number, value in known}
            choice = {"text": "x", "logprobs": {"top_logprobs": [top]}}
        return {"choices": [choice], "usage": usage}

    def stop(self) -> None:
        """As a killed process: nobody listens any more, and what was under way is lost."""
        self.stopping.set()
        self.http.shutdown()
        self.http.server_close()


def text_of(body: dict) -> str:
    if "messages" in body:
        content = body["messages"][-1]["content"]
        return content if isinstance(content, str) else content[-1]["text"]
    return ENCODER.tokenizer.decode(body["prompt"])
