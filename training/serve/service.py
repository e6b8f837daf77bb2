"""Serves one reward as a Starlette application, which `spanreward serve` runs with uvicorn.

    service = Service(reward, "posh, match", tokenizers={})
    RewardServer(uvicorn_settings(service.application)).run()
    # POST /score  {"rows": [{"completion": "A dog.", "reference": "A cat."}]}

The rows of all requests are judged together, in a thread. Limits keep clients from filling the
memory: on the size of bodies (request.py), on the time in which a body must arrive, and on the rows
that wait. Without a key, only programs on this machine may ask, and no page in a browser. A refused
request gets one sentence, {"error": ...}.
"""

import asyncio
import hmac
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
from spanreward.rewards.files.http_client import (
    KEY_VARIABLE,
    LOOPBACK_ADDRESS,
    api_key,
    safe_line,
)
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

MAX_BODY_BYTES = 1 << 28  # bytes of all bodies that are being read or judged
BODY_SECONDS = 30.0  # in which a body must arrive
MAX_QUEUED_ROWS = 4096  # rows that are being judged or wait
# a client may ask again after a second; a connection is closed if its body is not read to its end
AGAIN_HEADER = {"Retry-After": "1"}
CLOSING_HEADER = {"Connection": "close"}
ROWS_HELD = "spanreward_rows_held"
BYTES_HELD = "spanreward_body_bytes_held"


class Service:
    """The application and its counts. The environment variable SPANREWARD_API_KEY holds the
    clients' key.

    Args:
        reward: the reward that judges the rows.
        decided_by: what decides the verdicts, as a text for /health: the name, the judge and the
            parser of the reward, such as "posh, match".
        tokenizers: the tokenizers for the credit of tokens, by the names that clients send.

    Attributes:
        application: the application for uvicorn.
        counts: the counts of /metrics, by Prometheus's names.
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
        health["decided_by"] = decided_by  # a text for people, such as "posh, match"
        health["tokenizers"] = list(tokenizers)
        routes = [
            Route("/health", answer_with(health)),
            Route("/openapi.json", answer_with(openapi_schema())),
            Route("/score", self.score, methods=["POST"]),
            Route("/metrics", self.metrics),
        ]
        refusals = {HTTPException: self.refused, ValueError: self.refused}
        self.application = Starlette(routes=routes, exception_handlers=refusals)
        # a redirect would send clients, with their keys, to the host in the request's header
        self.application.router.redirect_slashes = False

    async def score(self, request: Request) -> Response:
        """Answers a request to /score with the verdicts on its rows.

        The rows are judged even if the client closes the connection meanwhile.
        """
        self.check_key(request)
        if media_type(request) != "application/json":
            raise HTTPException(
                415, "a body is JSON: send it with Content-Type: application/json", CLOSING_HEADER
            )
        body = ArrivingBody()
        try:
            await self.receive(request, body)  # also adds the bytes to the count BYTES_HELD
            # in a thread, because parsing a large body would keep other clients waiting
            asked = await asyncio.to_thread(read_request, body.content)
            answer = await self.answer_to(asked)
        finally:
            self.counts[BYTES_HELD] -= len(body.content)
        for verdict in answer.verdicts:
            self.counts[f'spanreward_rows_total{{status="{verdict.status}"}}'] += 1
        return Response(answer.model_dump_json(), media_type="application/json")

    async def receive(self, request: Request, body: ArrivingBody) -> None:
        """Adds the bytes of a request to `body`, and their number to the count BYTES_HELD, while
        they arrive.

        Raises HTTPException for a body that is too large or too slow, and if all bodies together
        have more than MAX_BODY_BYTES bytes. Then the count has the bytes that `body` has, so that
        `score` can subtract them again.
        """
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in request.stream():
                    # BYTES_HELD rises first: `add` may raise TooMuch, and has then added the part
                    self.counts[BYTES_HELD] += len(part)
                    body.add(part)
                    if self.counts[BYTES_HELD] > MAX_BODY_BYTES:
                        raise HTTPException(
                            429,
                            f"bodies of {MAX_BODY_BYTES:,} bytes are held: ask again",
                            AGAIN_HEADER | CLOSING_HEADER,
                        )
        except TooMuch as error:
            raise HTTPException(413, str(error), CLOSING_HEADER) from None
        except (TimeoutError, ClientDisconnect):
            raise HTTPException(
                408, f"the body did not arrive within {BODY_SECONDS:g} s", CLOSING_HEADER
            ) from None

    async def answer_to(self, request: Asked) -> Answer:
        """Returns the verdicts on the rows of a request, and the credit of their tokens if the
        request names a tokenizer.

        Raises ValueError for a row or a tokenizer that cannot be used, and HTTPException if too
        many rows wait.
        """
        self.check_tokenizer(request.tokenizer)
        samples, verdicts = await self.judge(request.rows)
        if request.tokenizer is None:
            return Answer(verdicts=verdicts)
        credit = partial(credit_of, self.tokenizers[request.tokenizer])
        # `map` computes nothing before the thread makes the list
        credits_to_compute = map(credit, verdicts, request.rows, samples)
        tokens = await asyncio.to_thread(list, credits_to_compute)
        return Answer(verdicts=verdicts, tokens=tokens)

    def check_tokenizer(self, name: str | None) -> None:
        """Raises ValueError for the name of a tokenizer that is not served. None is no name."""
        if name not in (None, *self.tokenizers):
            names = ", ".join(self.tokenizers) or "none"
            served = f"served are {names} (spanreward serve --tokenizer NAME)"
            raise ValueError(f"the tokenizer {name!r} is not served: {served}")

    async def judge(self, rows: Sequence[Row]) -> tuple[list[Sample], list[Verdict]]:
        """Returns the sample of each row and the verdict on it. The rows of several requests may be
        judged together.

        Raises ValueError for a row that cannot be used, and HTTPException if too many rows wait.
        """
        if self.counts[ROWS_HELD] + len(rows) > MAX_QUEUED_ROWS:
            raise HTTPException(
                429,
                f"{self.counts[ROWS_HELD]} rows wait, and {MAX_QUEUED_ROWS} may: ask again",
                AGAIN_HEADER,
            )
        self.counts[ROWS_HELD] += len(rows)
        try:
            samples = await asyncio.to_thread(samples_of, rows, self.reward)
            verdicts = await self.batching.verdicts(samples)
        finally:
            self.counts[ROWS_HELD] -= len(rows)
        return samples, verdicts

    def check_key(self, request: Request) -> None:
        """Raises HTTPException for a request that may not ask.

        If the service has a key, every request must send the key. If the service has no key, the
        request must not come from a page in a browser.
        """
        if self.key:
            check_bearer(request, self.key)
        else:
            check_no_page(request)

    def metrics(self, request: Request) -> Response:
        """Answers a request to /metrics with the counts, one per line."""
        self.check_key(request)
        lines = []
        for name, value in sorted(self.counts.items()):
            lines.append(f"{name} {value}\n")
        return PlainTextResponse("".join(lines))

    def refused(self, request: Request, error: Exception) -> Response:
        """Answers a refused request with one sentence, {"error": ...}. A ValueError is the client's
        mistake, status 422.
        """
        refusal = error
        if not isinstance(refusal, HTTPException):
            refusal = HTTPException(422, safe_line(str(error)))
        self.counts[f'spanreward_refused_total{{code="{refusal.status_code}"}}'] += 1
        return JSONResponse({"error": refusal.detail}, refusal.status_code, refusal.headers)


def check_no_page(request: Request) -> None:
    """Raises HTTPException for a request that a page in a browser may have made: it has an Origin
    header, or a Host that is not this machine. A page may point its own host name at 127.0.0.1, and
    its requests then need no Origin.
    """
    if "Origin" in request.headers or not names_this_machine(request):
        raise HTTPException(
            403,
            "only programs on this machine may ask, by the name 127.0.0.1 or localhost, and no "
            f"page in a browser: set {KEY_VARIABLE} to let others ask with this key",
            CLOSING_HEADER,
        )


def check_bearer(request: Request, expected_key: str) -> None:
    """Raises HTTPException for a request without the header "Authorization: Bearer KEY" and the
    right key.
    """
    header = request.headers.get("Authorization", "")
    scheme, _, key = header.partition(" ")
    is_bearer = scheme.lower() == "bearer"
    # `compare_digest`, because its time does not show how much of a key was right
    is_right_key = hmac.compare_digest(key.encode(), expected_key.encode())
    if not (is_bearer and is_right_key):
        raise HTTPException(
            401,
            f"the key is wrong or missing: put this server's into {KEY_VARIABLE}",
            CLOSING_HEADER,
        )


def media_type(request: Request) -> str:
    """Returns the media type of the body in lower case, without parameters.

    The header "application/json; charset=utf-8" gives "application/json".
    """
    header = request.headers.get("Content-Type", "")
    media, _, _ = header.partition(";")
    return media.strip().lower()


def names_this_machine(request: Request) -> bool:
    """Returns whether the request's Host is localhost or a loopback address.

    Any other name may be a web page's name that was pointed at this machine.
    """
    host = request.headers.get("Host", "")  # with a port
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:  # for a bracket that is not closed
        return False
    return name in ("localhost", "::1") or LOOPBACK_ADDRESS.fullmatch(name) is not None


def credit_of(
    tokenizer: Tokenizer, verdict: Verdict, row: Row, sample: Sample
) -> list[float] | str:
    """Returns the credit of each token in the row's `completion_ids`, or a sentence with the reason
    if there is no credit.
    """
    ids = row.completion_ids or []
    try:
        # ids of another text or tokenizer would get the credit of other words
        if tokenizer.decode(ids, skip_special_tokens=True) == sample.completion:
            return token_credit(verdict, ids, tokenizer)
    except ValueError as error:
        return str(error)
    return f"the row's {len(ids)} completion_ids do not decode to its completion"


def answer_with(body: Any) -> Callable[[Request], Response]:
    """Returns a function that answers every request with `body` as JSON."""

    def answer(_: Request) -> Response:
        return JSONResponse(body)

    return answer


def json_content(schema: Any) -> dict[str, Any]:
    """Returns OpenAPI's description of a JSON body with this schema."""
    return {"content": {"application/json": {"schema": schema}}}


def openapi_schema() -> dict[str, Any]:
    """Returns the OpenAPI schema of the service, for /openapi.json."""
    request_kind: Any = (Asked, "validation")
    response_kind: Any = (Answer, "serialization")
    # `references` has {"$ref": ...} for each of the two, and `models` has the schemas themselves
    references, models = models_json_schema(
        [request_kind, response_kind], ref_template="#/components/schemas/{model}"
    )
    request = json_content(references[request_kind])
    response = json_content(references[response_kind])
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
