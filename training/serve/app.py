"""One reward as a Starlette application, which `spanreward serve` runs with uvicorn.

    uvicorn.run(Service(reward, description, tokenizers={}).application, port=8400)
    # POST /score  {"rows": [{"completion": "A dog.", "reference": "A cat."}]}

Rows of all requests are judged together, in a thread. What clients can make the process hold is bounded: bytes of
bodies, the time that one may take to arrive, and rows that wait. A refusal is one sentence, {"error": ...}.
"""

import asyncio
import hmac
from collections import Counter
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from tokenizers import Tokenizer

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.files.http_client import KEY, api_key
from spanreward.rewards.reward.batching import BatchingReward
from spanreward.rewards.reward.remote_reward import Answer, Description
from spanreward.rewards.reward.reward import Reward
from spanreward.training.serve.messages import Asked, credit_of, openapi, parsed, sample_of

BODY, BODIES = 1 << 26, 1 << 28  # bytes of one request's body, and of all that are read or judged
SECONDS = 30.0  # that a body may take to arrive
QUEUE = 4096  # rows that are judged or wait
AGAIN, CLOSE = {"Retry-After": "1"}, {"Connection": "close"}  # close: the rest of the body is not read


class Service:
    """The application and its counts. tokenizers: by the names that clients give. The key is SPANREWARD_API_KEY."""

    def __init__(self, reward: Reward, description: Description, tokenizers: Mapping[str, Tokenizer]) -> None:
        self.reward, self.tokenizers = reward, tokenizers
        self.batching, self.key = BatchingReward(reward), api_key()
        self.bytes = self.rows = 0  # that are held now
        self.counts: Counter[str] = Counter()
        told = {"/health": description.model_dump(), "/openapi.json": openapi()}
        routes = [Route(path, lambda _, what=what: JSONResponse(what)) for path, what in told.items()]
        routes += [Route("/score", self.score, methods=["POST"]), Route("/metrics", self.metrics)]
        self.application = Starlette(routes=routes, exception_handlers={HTTPException: self.refused})

    async def score(self, request: Request) -> Response:
        """Judges the rows of a request. Those of a client that goes away are judged too."""
        self.check_key(request)
        body = bytearray()
        try:
            await self.read(request, body)
            answer = await self.judged(await asyncio.to_thread(parsed, bytes(body)))
        except ValueError as error:
            raise HTTPException(422, str(error)) from None
        finally:
            self.bytes -= len(body)
        self.counts.update(f'spanreward_rows_total{{status="{verdict.status}"}}' for verdict in answer.verdicts)
        return Response(answer.model_dump_json(), media_type="application/json")

    async def read(self, request: Request, body: bytearray) -> None:
        """Adds what arrives to the body, while that is bounded."""
        if not request.headers.get("Content-Type", "").lower().startswith("application/json"):
            raise HTTPException(415, "the body is JSON: send Content-Type: application/json", CLOSE)
        try:
            async with asyncio.timeout(SECONDS):
                async for part in request.stream():
                    body += part
                    self.bytes += len(part)
                    if len(body) > BODY:
                        raise HTTPException(413, f"a body has at most {BODY:,} bytes: send fewer rows at a time", CLOSE)
                    if self.bytes > BODIES:
                        raise HTTPException(429, f"bodies of {BODIES:,} bytes are held: ask again", AGAIN | CLOSE)
        except (TimeoutError, ClientDisconnect):
            raise HTTPException(408, f"the body did not arrive within {SECONDS:g} s", CLOSE) from None

    async def judged(self, asked: Asked) -> Answer:
        """Raises ValueError for what cannot be judged."""
        tokenizer = self.tokenizers.get(asked.tokenizer or "")
        if asked.tokenizer is not None and tokenizer is None:
            served = f"served are {', '.join(self.tokenizers) or 'none'} (spanreward serve --tokenizer NAME)"
            raise ValueError(f"the tokenizer {asked.tokenizer!r:.80} is not served: {served}")
        if self.rows + len(asked.rows) > QUEUE:
            raise HTTPException(429, f"{self.rows} rows wait, and {QUEUE} may: ask again", AGAIN)
        self.rows += len(asked.rows)
        try:
            samples = await asyncio.to_thread(self.samples, asked)
            verdicts = await self.batching.verdicts(samples)
        finally:
            self.rows -= len(asked.rows)
        if tokenizer is None:
            return Answer(verdicts=verdicts)
        told = zip(verdicts, asked.rows, samples, strict=True)
        tokens = await asyncio.to_thread(lambda: [credit_of(*one, tokenizer) for one in told])
        return Answer(verdicts=verdicts, tokens=tokens)

    def samples(self, asked: Asked) -> list[Sample]:
        for number, row in enumerate(asked.rows):
            if missing := self.reward.missing_column(row.model_extra or {}):
                raise ValueError(f"row {number}: {self.reward.__name__} needs the key {missing}")
        return [sample_of(row, number) for number, row in enumerate(asked.rows)]

    def check_key(self, request: Request) -> None:
        given = request.headers.get("Authorization", "").encode()
        if self.key and not hmac.compare_digest(given, f"Bearer {self.key}".encode()):
            raise HTTPException(401, f"the key is wrong or missing: put this server's into {KEY}", CLOSE)

    def metrics(self, request: Request) -> Response:
        self.check_key(request)
        now = {**self.counts, "spanreward_rows_held": self.rows, "spanreward_body_bytes_held": self.bytes}
        return PlainTextResponse("".join(f"{name} {value}\n" for name, value in sorted(now.items())))

    def refused(self, request: Request, error: Any) -> Response:
        self.counts[f'spanreward_refused_total{{code="{error.status_code}"}}'] += 1
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)
