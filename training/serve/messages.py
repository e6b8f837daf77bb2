"""What a client of `spanreward serve` sends and gets, and the OpenAPI schema that says so.

asked = parsed(b'{"rows": [{"completion": "A dog.", "reference": "A cat."}]}')
sample_of(asked.rows[0])                    # Sample("", "A dog.", references=("A cat.",))
"""

from importlib.metadata import version
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError
from pydantic.json_schema import models_json_schema
from tokenizers import Tokenizer

from spanreward.rewards.base.verdict import Sample, Verdict
from spanreward.rewards.files.pictures import from_text
from spanreward.rewards.reward.remote_reward import PICTURES, Answer
from spanreward.rewards.reward.row import read_sample
from spanreward.training.grpo.credit import token_credit

Text = str | list[dict[str, Any]]


class Row(BaseModel, extra="allow"):
    """A completion with the metric's columns, such as `reference`. A picture is a text, data:image/png;base64,..."""

    completion: Text
    prompt: Text = ""
    completion_ids: list[Annotated[int, Field(ge=0, lt=1 << 32)]] | None = None


class Asked(BaseModel, extra="forbid"):
    """Rows, and for the credit of their `completion_ids` one of the tokenizers that /health names."""

    rows: list[Row] = Field(min_length=1, max_length=4096)
    tokenizer: str | None = None


def parsed(body: bytes) -> Asked:
    """Reads a body. Raises ValueError, with one sentence, for what is no request."""
    try:
        return Asked.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise ValueError(f"{where}: {first['msg']} (see /openapi.json)") from None


def sample_of(row: Row, number: int = 0) -> Sample:
    """Returns the row's sample. Raises ValueError for one that cannot be read; no path in it is opened."""
    columns = dict(row.model_extra or {})
    given = filter(None, [columns.pop(name) for name in PICTURES & columns.keys()])
    pictures = [one for several in given for one in (several if isinstance(several, list) else [several])]
    try:
        return read_sample({**columns, "images": list(map(from_text, pictures))}, row.completion, row.prompt)
    except ValueError as error:
        raise ValueError(f"row {number}: {error}") from None


def credit_of(verdict: Verdict, row: Row, sample: Sample, tokenizer: Tokenizer) -> list[float] | str:
    ids = row.completion_ids or []
    try:
        if tokenizer.decode(ids, skip_special_tokens=True) == sample.completion:
            return token_credit(verdict, ids, tokenizer)
    except ValueError as error:
        return str(error)
    return f"the row's {len(ids)} completion_ids do not decode to its completion"


def openapi() -> dict[str, Any]:
    """Returns the schema of the service."""
    kinds: list[Any] = [(Asked, "validation"), (Answer, "serialization")]
    places, models = models_json_schema(kinds, ref_template="#/components/schemas/{model}")
    asked, told = ({"content": {"application/json": {"schema": places[kind]}}} for kind in kinds)
    answers = {"200": {"description": "verdicts", **told}, "default": {"description": 'a refusal: {"error": "why"}'}}
    paths: dict[str, Any] = {"/score": {"post": {"requestBody": asked, "responses": answers}}}
    for path, about in (("/health", "what is served"), ("/metrics", "counts, as Prometheus reads them")):
        paths[path] = {"get": {"responses": {"200": {"description": about}}}}
    info = {"title": "spanreward serve", "version": version("spanreward")}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": models["$defs"]}}
