"""The HTTP server that ServerReader asks. It reads with the pipeline and coreference of its process.

    with ReaderServer("127.0.0.1", 8077, LocalReader("en_core_web_trf", "maverick")) as server:
        server.serve_forever()

    GET  /reader                                         {"pipeline": ..., "coref": ..., "version": ...}
    POST /graphs {"texts": [...], "mode": "published"}   the same with "graphs": SceneGraph.to_dict of each text

The server reads one request after another. A refusal is one sentence of plain text: status 400 for a request of another
form, 413 for one of more than LARGEST_REQUEST bytes, 500 where the pipeline or the coreference fails on any text.
"""

import json
import logging
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel, ValidationError

from spanreward.rewards.language.coref import coref_name
from spanreward.rewards.language.parse import PLAIN_TEXT
from spanreward.rewards.language.pipeline import load_pipeline, pipeline_name
from spanreward.rewards.language.reader import LocalReader
from spanreward.rewards.language.rules import Mode
from spanreward.rewards.language.server_reader import LARGEST_REQUEST, ReaderInfo

log = logging.getLogger(__name__)


class ReadRequest(BaseModel):
    """The body of POST /graphs."""

    texts: list[str]
    mode: Mode


class ReaderServer(ThreadingHTTPServer):
    """An HTTP server that listens as soon as the reader has read a sentence. Port 0 takes a free port; see `url`.

    Raises what the reader raises on a plain sentence, and OSError where the port is taken.
    """

    daemon_threads = True

    def __init__(self, host: str, port: int, reader: LocalReader) -> None:
        reader.read([PLAIN_TEXT], "default")  # loads the models
        pipeline = pipeline_name(load_pipeline(reader.pipeline))
        self.reader = reader
        self.info = ReaderInfo(pipeline=pipeline, coref=coref_name(reader.coref), version=version("spanreward"))
        try:
            super().__init__((host, port), Handler)
        except OSError as error:
            raise OSError(f"cannot listen on {host}:{port} ({error.strerror}): choose another --port") from error

    @property
    def url(self) -> str:
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: ReaderServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60  # seconds until a client must send its next bytes

    def do_GET(self) -> None:
        if self.path == "/reader":
            self.answer(self.server.info.model_dump())
        else:
            self.refuse(404, "a reader answers GET /reader and POST /graphs.")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if self.path != "/graphs" or not length.isdecimal():
            self.refuse(400, "a reader answers POST /graphs with a Content-Length.")
        elif int(length) > LARGEST_REQUEST:
            self.refuse(413, f"a request has at most {LARGEST_REQUEST} bytes, this one has {length}: send fewer texts.")
        else:
            self.read(self.rfile.read(int(length)))

    def read(self, body: bytes) -> None:
        try:
            asked = ReadRequest.model_validate_json(body)
        except ValidationError:
            self.refuse(400, 'a request is {"texts": [...], "mode": "default", "reference" or "published"}.')
            return
        try:
            graphs = self.server.reader.read(asked.texts, asked.mode)
        except Exception as error:
            log.exception("%d texts could not be read", len(asked.texts))
            self.refuse(500, f"the reader cannot read ({type(error).__name__}: {' '.join(str(error).split())}).")
        else:
            self.answer({**self.server.info.model_dump(), "graphs": [graph.to_dict() for graph in graphs]})

    def answer(self, data: dict[str, Any]) -> None:
        self.send(200, "application/json", json.dumps(data).encode())

    def refuse(self, status: int, why: str) -> None:
        self.close_connection = True  # the body may be unread
        self.send(status, "text/plain; charset=utf-8", why.encode())

    def send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        log.info(format, *arguments)
