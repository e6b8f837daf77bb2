"""One reward as a Starlette application, which `spanreward serve` runs with uvicorn.

    RewardServer(configured(Service(reward, "posh, match", tokenizers={}).application)).run()
    # POST /score  {"rows": [{"completion": "A dog.", "reference": "A cat."}]}

Rows of all requests are judged together, in a thread. What clients can make the process hold is
bounded: bodies (request.py), the time that one may take to arrive, and rows that wait. Without a
key only programs on this machine may ask, and no page in a browser. A refusal is one sentence,
{"error": ...}.
"""

import asyncio
import hmac
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from pydantic.json_schema import models_json_schema
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from tokenizers import Tokenizer

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.files.http_client import KEY, LOOPBACK, api_key, legible
from spanreward.rewards.reward.batching import BatchingReward
from spanreward.rewards.reward.remote_reward import Answer, Description
from spanreward.rewards.reward.reward import Reward
from spanreward.training.grpo.credit import token_credit
from spanreward.training.serve.request import (
    ArrivingBody,
    Asked,
    Row,
    TooMuch,
    read_request,
    samples_of,
)

BODIES = 1 << 28  # bytes of all that are read or judged
BODY_SECONDS = 30.0  # that a body may take to arrive
QUEUE = 4096  # rows that are judged or wait
# close: the rest of the body is not read
AGAIN_HEADER = {"Retry-After": "1"}
CLOSING_HEADER = {"Connection": "close"}
ROWS_HELD = "spanreward_rows_held"
BYTES_HELD = "spanreward_body_bytes_held"


class Service:
    """The application and its counts. The key of its clients is SPANREWARD_API_KEY.

    Args:
        reward: what judges the rows.
        decided_by: what /health says of it: its name, its judge and what parses its texts.
        tokenizers: for the credit of tokens, by the names that clients give.

    Attributes:
        application: for uvicorn.
        counts: what /metrics says, by Prometheus's names.
    """

    def __init__(
        self, reward: Reward, decided_by: str, tokenizers: Mapping[str, Tokenizer]
    ) -> None:
        self.reward = reward
        self.tokenizers = tokenizers
        self.batching = BatchingReward(reward)
        self.key = api_key()
        self.counts = Counter({ROWS_HELD: 0, BYTES_HELD: 0})
        description = Description.model_validate(reward, from_attributes=True)
        health = description.model_dump()
        health["decided_by"] = decided_by
        health["tokenizers"] = list(tokenizers)
        routes = [
            Route("/health", answer_with(health)),
            Route("/openapi.json", answer_with(openapi())),
            Route("/score", self.score, methods=["POST"]),
            Route("/metrics", self.metrics),
        ]
        refusals = {HTTPException: self.refused, ValueError: self.refused}
        self.application = Starlette(routes=routes, exception_handlers=refusals)
        # it would send clients, and their keys, to the host that a header names
        self.application.router.redirect_slashes = False

    async def score(self, request: Request) -> Response:
        """Judges the rows of a request. Those of a client that goes away are judged too."""
        self.check_key(request)
        if media_type(request) != "application/json":
            raise HTTPException(
                415, "a body is JSON: send it with Content-Type: application/json", CLOSING_HEADER
            )
        body = ArrivingBody()
        try:
            await self.read(request, body)
            # in a thread: reading a large body would keep other clients waiting
            rows = await asyncio.to_thread(read_request, body.content)
            answer = await self.judged(rows)
        finally:
            self.counts[BYTES_HELD] -= len(body.content)
        for verdict in answer.verdicts:
            self.counts[f'spanreward_rows_total{{status="{verdict.status}"}}'] += 1
        return Response(answer.model_dump_json(), media_type="application/json")

    async def read(self, request: Request, body: ArrivingBody) -> None:
        """Adds what arrives to the body, while that is bounded. Raises HTTPException for a body
        that is too large, too slow, or one too many.
        """
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in request.stream():
                    # both, before any bound: `score` takes the whole body off again
                    self.counts[BYTES_HELD] += len(part)
                    body.add(part)
                    if self.counts[BYTES_HELD] > BODIES:
                        raise HTTPException(
                            429,
                            f"bodies of {BODIES:,} bytes are held: ask again",
                            AGAIN_HEADER | CLOSING_HEADER,
                        )
        except TooMuch as error:
            raise HTTPException(413, str(error), CLOSING_HEADER) from None
        except (TimeoutError, ClientDisconnect):
            raise HTTPException(
                408, f"the body did not arrive within {BODY_SECONDS:g} s", CLOSING_HEADER
            ) from None

    async def judged(self, request: Asked) -> Answer:
        """Returns the verdicts, and the tokens' credit where a tokenizer is named. Raises
        ValueError for what cannot be judged, and HTTPException where too many rows wait.
        """
        if request.tokenizer not in (None, *self.tokenizers):
            names = ", ".join(self.tokenizers) or "none"
            served = f"served are {names} (spanreward serve --tokenizer NAME)"
            raise ValueError(f"the tokenizer {request.tokenizer!r} is not served: {served}")
        if self.counts[ROWS_HELD] + len(request.rows) > QUEUE:
            raise HTTPException(
                429, f"{self.counts[ROWS_HELD]} rows wait, and {QUEUE} may: ask again", AGAIN_HEADER
            )
        self.counts[ROWS_HELD] += len(request.rows)
        try:
            samples = await asyncio.to_thread(samples_of, request.rows, self.reward)
            verdicts = await self.batching.verdicts(samples)
        finally:
            self.counts[ROWS_HELD] -= len(request.rows)
        if request.tokenizer is None:
            return Answer(verdicts=verdicts)
        credit = partial(credit_of, self.tokenizers[request.tokenizer])
        # the thread that makes the list computes the credits
        credits_to_compute = map(credit, verdicts, request.rows, samples)
        tokens = await asyncio.to_thread(list, credits_to_compute)
        return Answer(verdicts=verdicts, tokens=tokens)

    def check_key(self, request: Request) -> None:
        """Raises HTTPException for a request without the key, and where there is none, for one that
        a page in a browser may have made: it has an origin, or a name that leads to this machine.
        """
        if not self.key:
            # a page may lead a name of its own to 127.0.0.1, and then needs no Origin
            if "Origin" in request.headers or not names_this_machine(request):
                raise HTTPException(
                    403,
                    f"no page in a browser may ask, and only by the name 127.0.0.1 or localhost: "
                    f"set {KEY} where others are to",
                    CLOSING_HEADER,
                )
            return
        header = request.headers.get("Authorization", "")
        scheme, _, key = header.partition(" ")
        is_bearer = scheme.lower() == "bearer"
        # how long it takes does not tell how much of a key was right
        sent_key = key.encode()
        is_right = hmac.compare_digest(sent_key, self.key.encode())
        if not (is_bearer and is_right):
            raise HTTPException(
                401, f"the key is wrong or missing: put this server's into {KEY}", CLOSING_HEADER
            )

    def metrics(self, request: Request) -> Response:
        """Answers with the counts, one a line."""
        self.check_key(request)
        lines = []
        for name, value in sorted(self.counts.items()):
            lines.append(f"{name} {value}\n")
        return PlainTextResponse("".join(lines))

    def refused(self, request: Request, error: Exception) -> Response:
        """Answers with one sentence, {"error": ...}. A ValueError is the client's mistake, 422."""
        refusal = error
        if not isinstance(refusal, HTTPException):
            refusal = HTTPException(422, legible(str(error)))
        self.counts[f'spanreward_refused_total{{code="{refusal.status_code}"}}'] += 1
        return JSONResponse({"error": refusal.detail}, refusal.status_code, refusal.headers)


def media_type(request: Request) -> str:
    """Returns the media type of the body: "application/json" of "application/json;
    charset=utf-8".
    """
    header = request.headers.get("Content-Type", "")
    media, _, _ = header.partition(";")
    return media.strip().lower()


def names_this_machine(request: Request) -> bool:
    """Returns whether the request's Host is this machine, and not a name that was made to lead
    here.
    """
    host = request.headers.get("Host", "")  # with a port
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:  # of brackets that are not closed
        return False
    return name in ("localhost", "::1") or LOOPBACK.fullmatch(name) is not None


def credit_of(
    tokenizer: Tokenizer, verdict: Verdict, row: Row, sample: Sample
) -> list[float] | str:
    """Returns the credit of each token of a row's `completion_ids`, or a sentence that says why
    there is none.
    """
    ids = row.completion_ids or []
    try:
        # ids of another text, or by another tokenizer, would have credit for other words
        if tokenizer.decode(ids, skip_special_tokens=True) == sample.completion:
            return token_credit(verdict, ids, tokenizer)
    except ValueError as error:
        return str(error)
    return f"the row's {len(ids)} completion_ids do not decode to its completion"


def answer_with(body: Any) -> Callable[[Request], Response]:
    """Returns what answers every request with this body."""

    def answer(_: Request) -> Response:
        return JSONResponse(body)

    return answer


def json_content(schema: Any) -> dict[str, Any]:
    """Returns how OpenAPI names a body of JSON with this schema."""
    return {"content": {"application/json": {"schema": schema}}}


def openapi() -> dict[str, Any]:
    """Returns the schema of the service, as /openapi.json says it."""
    request_kind: Any = (Asked, "validation")
    response_kind: Any = (Answer, "serialization")
    # where each of the two stands among the models of all
    places, models = models_json_schema(
        [request_kind, response_kind], ref_template="#/components/schemas/{model}"
    )
    request = json_content(places[request_kind])
    response = json_content(places[response_kind])
    answers = {
        "200": {"description": "verdicts", **response},
        "default": {"description": 'a refusal: {"error": "why"}'},
    }
    post = {"requestBody": request, "responses": answers}
    paths: dict[str, Any] = {"/score": {"post": post}}
    for path, about in (
        ("/health", "what is served"),
        ("/metrics", "counts, as Prometheus reads them"),
    ):
        success = {"200": {"description": about}}
        paths[path] = {"get": {"responses": success}}
    info = {"title": "spanreward serve", "version": version("spanreward")}
    return {
        "openapi": "3.1.0",
        "info": info,
        "paths": paths,
        "components": {"schemas": models["$defs"]},
    }
