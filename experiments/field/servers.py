"""What a judge makes of each answer in servers.jsonl, from a real server on this machine.

    for case in server_cases(Path("../shared/field")): print(case)
    # its name, what is right, what comes out now

A case is one line: `status` and `body` of an answer (`then`: of the first only), `top_logprobs` of
a good answer, or `models`, the list at /v1/models. A refusal with 400 stands until a field that it
names has changed.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from spanreward.rewards.judges import Failure, Question
from spanreward.rewards.judges.remote.chat_judge import ChatJudge

GOOD = [["4", -0.2], ["5", -2.0], ["3", -3.5]]


def server_cases(folder: Path) -> list[tuple[str, str, str]]:
    """Returns each case's name, what is right, and what comes out: the rating or the failure, and
    after how many requests. A question has 20 seconds.
    """
    lines = (folder / "servers.jsonl").read_text("utf-8").splitlines()
    return [
        (case["case"], case["right"], outcome(case))
        for case in map(json.loads, filter(None, lines))
    ]


def outcome(case: dict[str, Any]) -> str:
    with serving(case) as (url, requests):
        judge = ChatJudge(url, "plain", deadline=20.0)
        if "models" in case:
            try:
                judge.start()
            except RuntimeError as error:
                return str(error).replace(url, "URL")
            return f"starts: {judge.served}"
        (answer,) = judge.rate([Question([{"role": "user", "content": "Rate from 1 to 5."}])])
    said = (
        answer.message
        if isinstance(answer, Failure)
        else f"mean {answer.mean:.2f}, mass {answer.mass:.2f}"
    )
    return f"{said.replace(url, 'URL')} ({len(requests)} requests)"


@contextmanager
def serving(case: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serves a case, and yields the url and the requests so far."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(200, case.get("models", {"data": [{"id": "plain"}]}))

        def do_POST(self) -> None:
            requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            told = "then" in case and len(requests) > 1
            words, last = json.dumps(case.get("body")), requests[-1]
            changed = any(
                name in words and last.get(name) != value for name, value in requests[0].items()
            )
            mended = case.get("status") == 400 and changed
            if "body" in case and not told and not mended:
                self.reply(case["status"], case["body"])
            else:
                top = [
                    {"token": token, "logprob": value}
                    for token, value in case.get("top_logprobs", GOOD)
                ]
                choice = {
                    "message": {"content": "4"},
                    "logprobs": {"content": [{"top_logprobs": top}]},
                }
                self.reply(200, {"choices": [choice]})

        def reply(self, status: int, said: Any) -> None:
            content = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(
            target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        yield f"http://127.0.0.1:{http.server_address[1]}", requests
        http.shutdown()


if __name__ == "__main__":
    for name, right, now in server_cases(Path("../shared/field")):
        print(f"{name}\n  right: {right}\n  now:   {now}")
