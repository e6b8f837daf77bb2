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
from importlib.metadata import version
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from tokenizers import Tokenizer

from spanreward.rewards.base.verdict import Sample
from spanreward.rewards.files.http_client import KEY, api_key
from spanreward.rewards.reward.batching import BatchingReward
from spanreward.rewards.reward.remote_reward import Description
from spanreward.rewards.reward.reward import Reward
from spanreward.training.serve.messages import Answer, Request, credit_of, openapi, sample_of

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
        routes = [
            Route("/score", self.score, methods=["POST"]),
            Route("/health", lambda _: JSONResponse(description.model_dump())),
            Route("/metrics", self.metrics),
            Route("/openapi.json", lambda _: JSONResponse(openapi(version("spanreward")))),
        ]
        self.application = Starlette(routes=routes, exception_handlers={HTTPException: self.refused})

    async def score(self, request: HttpRequest) -> Response:
        """Judges the rows of a request. Those of a client that goes away are judged too."""
        self.check_key(request)
        body = bytearray()
        try:
            await self.read(request, body)
            asked = await asyncio.to_thread(parsed, bytes(body))
            answer = await self.judged(asked)
        finally:
            self.bytes -= len(body)
        self.counts.update(f'spanreward_rows_total{{status="{verdict.status}"}}' for verdict in answer.verdicts)
        return Response(answer.model_dump_json(), media_type="application/json")

    async def read(self, request: HttpRequest, body: bytearray) -> None:
        """Adds what arrives to the body, while that is bounded."""
        if not request.headers.get("Content-Type", "").startswith("application/json"):
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
        except TimeoutError:
            raise HTTPException(408, f"the body did not arrive within {SECONDS:g} s", CLOSE) from None

    async def judged(self, asked: Request) -> Answer:
        tokenizer = self.tokenizers.get(asked.tokenizer or "")
        if asked.tokenizer is not None and tokenizer is None:
            served = f"served are {', '.join(self.tokenizers) or 'none'} (spanreward serve --tokenizer NAME)"
            raise HTTPException(422, f"the tokenizer {asked.tokenizer!r:.80} is not served: {served}")
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
        told = [
            (one, row.completion_ids, its.completion)
            for one, row, its in zip(verdicts, asked.rows, samples, strict=True)
        ]
        tokens = await asyncio.to_thread(lambda: [credit_of(*one, tokenizer) for one in told])
        return Answer(verdicts=verdicts, tokens=tokens)

    def samples(self, asked: Request) -> list[Sample]:
        samples = []
        for number, row in enumerate(asked.rows):
            try:
                if missing := self.reward.missing_column(row.model_extra or {}):
                    raise ValueError(f"{self.reward.__name__} needs the key {missing}")
                samples.append(sample_of(row))
            except ValueError as error:
                raise HTTPException(422, f"row {number}: {error}") from None
        return samples

    def check_key(self, request: HttpRequest) -> None:
        given = request.headers.get("Authorization", "").encode()
        if self.key and not hmac.compare_digest(given, f"Bearer {self.key}".encode()):
            raise HTTPException(401, f"the key is wrong or missing: put this server's into {KEY}", CLOSE)

    def metrics(self, request: HttpRequest) -> Response:
        self.check_key(request)
        now = {**self.counts, "spanreward_rows_held": self.rows, "spanreward_body_bytes_held": self.bytes}
        return PlainTextResponse("".join(f"{name} {value}\n" for name, value in sorted(now.items())))

    def refused(self, request: HttpRequest, error: Any) -> Response:
        self.counts[f'spanreward_refused_total{{code="{error.status_code}"}}'] += 1
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)


def parsed(body: bytes) -> Request:
    try:
        return Request.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        said = f"{where or 'the body'}: {first['msg']} (see /openapi.json)"
        raise HTTPException(422 if where else 400, said) from None
